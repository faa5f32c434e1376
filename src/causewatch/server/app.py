"""The web application: the page, the programming interface, and how errors are told."""

from __future__ import annotations

import hashlib
import mimetypes
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from causewatch.errors import CausewatchError, StreamError, UnknownNameError, shorten
from causewatch.server.api import alarms, audit, live, model, replays
from causewatch.server.schemas import Failure
from causewatch.server.served import Served

__all__ = ["PAGES", "create_app", "static_files"]

PAGES = ("/", "/graph", "/signals", "/history", "/alarm/{id}", "/model")
"""Addresses of the page; what each shows is decided there."""
ABOUT = """What a running watch knows, and what operators may do about its alarms.

Times `t` are seconds on the clock of the stream: since 1970 where it has dates, else since its
beginning, or row numbers. A score or evidence of 1 is the limit of an alarm. Whatever goes wrong is
told as `{"error": "one sentence"}`.

Where tokens are set, give one as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic;
without one only `/healthz` answers. Actions need the role operate and a body of type
`application/json`."""
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}
WRONG: dict[int | str, dict[str, Any]] = {
    400: {"model": Failure, "description": "The request makes no sense."},
    401: {"model": Failure, "description": "A token is needed."},
    403: {"model": Failure, "description": "The role does not allow it."},
    404: {"model": Failure, "description": "There is no such thing."},
    405: {"model": Failure, "description": "Another method is expected; `Allow` says which."},
    408: {"model": Failure, "description": "The rest of the request did not come."},
    413: {"model": Failure, "description": "The request is too large."},
    414: {"model": Failure, "description": "The address is too long."},
    415: {"model": Failure, "description": "The body is of another type."},
    421: {"model": Failure, "description": "This server has another name."},
    422: {"model": Failure, "description": "A value makes no sense."},
    429: {"model": Failure, "description": "Too many failed attempts."},
    503: {"model": Failure, "description": "It cannot be done at present."},
}


def create_app(served: Served) -> FastAPI:
    """The application, without the guard that stands before it (`server.access.guard`)."""
    app = FastAPI(
        title="causewatch",
        version=version("causewatch"),
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=WRONG,
    )
    for part in (live, alarms, model, replays, audit):
        app.include_router(part.router(served))
    _add_page(app)
    app.add_middleware(_Heads)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _wrong_value)
    app.add_exception_handler(CausewatchError, _our_error)
    return app


class _Heads:
    """Answers HEAD as GET; the server leaves the body out. Streams, which never end, excepted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"] != live.STREAM:
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


def static_files() -> dict[str, tuple[bytes, str, str]]:
    """Content, type and tag of everything the page is made of, by path; a few hundred kB."""
    found: dict[str, tuple[bytes, str, str]] = {}
    waiting = [("", files("causewatch.server") / "static")]
    while waiting:
        path, folder = waiting.pop()
        for one in folder.iterdir():
            name = f"{path}/{one.name}"
            if one.is_dir():
                waiting.append((name, one))
                continue
            content = one.read_bytes()
            ending = "." + one.name.rpartition(".")[2]
            kind = TYPES.get(ending) or mimetypes.guess_type(one.name)[0] or "text/plain"
            if kind.startswith("text/"):
                kind += "; charset=utf-8"
            found[name] = (content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return found


def _add_page(app: FastAPI) -> None:
    # Read once: nothing that is asked for is ever a path on the disk.
    known = static_files()

    async def page(request: Request) -> Response:
        return _file(request, known["/index.html"])

    async def nowhere(request: Request, error: Exception) -> Response:
        # People get the page, which says so; programs, and the parts of the page, get a sentence.
        wants = request.headers.get("accept", "")
        path = request.url.path
        if "text/html" in wants and not path.startswith(("/api", "/static", "/healthz")):
            found = _file(request, known["/index.html"])
            found.status_code = 404
            return found
        return await _http_error(request, error)

    async def part(request: Request) -> Response:
        name = "/" + request.path_params["name"]
        if name not in known:
            raise HTTPException(404, f"There is no file {shorten(name)!r} here.")
        return _file(request, known[name])

    app.add_exception_handler(404, nowhere)
    for path in PAGES:
        app.add_route(path, page, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_route("/static/{name:path}", part, methods=["GET", "HEAD"], include_in_schema=False)


def _file(request: Request, found: tuple[bytes, str, str]) -> Response:
    content, kind, tag = found
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def _failure(status: int, text: str, headers: Any = None) -> JSONResponse:
    # Text from outside may hold halves of characters, which UTF-8 cannot.
    said = text.encode("utf-8", "replace").decode()
    return JSONResponse({"error": said}, status, headers=headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said, headers = str(error.detail), error.headers
    if error.status_code == 404 and said == "Not Found":
        said = "There is nothing at this address; /api/openapi.json lists what there is."
    elif said == "There was an error parsing the body":
        said = "The body cannot be read; it must be JSON in UTF-8."
    elif error.status_code == 405 and said == "Method Not Allowed":
        said = f"{shorten(request.method, 20)} is not answered at this address."
        headers = {"Allow": ", ".join(_methods(request))}
    return _failure(error.status_code, said, headers)


def _methods(request: Request) -> list[str]:
    """Everything that is answered at an address; a route that refuses knows only its own."""
    asked = [{**request.scope, "method": one} for one in ("DELETE", "GET", "POST")]
    routes = request.app.routes
    return [one["method"] for one in asked if any(r.matches(one)[0] is Match.FULL for r in routes)]


async def _wrong_value(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = shorten(".".join(str(part) for part in first["loc"][1:]) or "the body", 60)
    kind = first["type"]
    if kind == "missing":
        return _failure(422, f"{where} is missing.")
    if kind == "extra_forbidden":
        return _failure(422, f"{where} is not known here; /api/openapi.json lists what is.")
    if kind == "json_invalid":
        return _failure(422, "The body is not JSON.")
    if where == "id" and kind == "string_pattern_mismatch":
        return _failure(422, "An id has hexadecimal digits only, as many as it was given out with.")
    said = first["msg"].replace("Input should", "it should").replace("String should", "it should")
    return _failure(422, f"{where} makes no sense: {shorten(said, 200)}.")


async def _our_error(request: Request, error: Exception) -> Response:
    status = (
        404
        if isinstance(error, UnknownNameError)
        else 503
        if isinstance(error, StreamError)
        else 409
    )
    return _failure(status, str(error))
