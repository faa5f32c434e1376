"""What-if replays of recordings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path as File
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from causewatch.errors import SettingError, listing, shorten
from causewatch.monitor.alarm_settings import MOST_TICKS
from causewatch.server.access.tokens import Visitor
from causewatch.server.replays.replays import Replay, ReplaySettings
from causewatch.server.replays.settings import HIGHEST, LOWEST
from causewatch.server.schemas import Failure, ReplayBody, ReplayList
from causewatch.server.served import Served

__all__ = ["router"]

Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="Sixteen hexadecimal digits.")]
Name = Annotated[str, Query(min_length=1, max_length=300, description="Of the recording.")]

PIECE = 1 << 20
"""Bytes that are written at a time."""
COUNT = {"minimum": 1, "maximum": MOST_TICKS}
BOUNDS: dict[str, dict[str, float]] = {
    "limit": {"minimum": LOWEST, "maximum": HIGHEST},
    "clear_below": {"exclusiveMinimum": 0, "maximum": 1},
    "merge_within": {**COUNT, "minimum": 0},
    "join_within": {**COUNT, "minimum": 0},
}
"""What a replay's settings may be, for the description; the settings check themselves."""
UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The recording: CSV, JSON lines, Parquet, XLSX, …; told by its name.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    # What may be otherwise is what a replay knows, so it is taken from there.
    "parameters": [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": {"type": "integer" if kind is int else "number", **BOUNDS.get(name, COUNT)},
        }
        for name, kind in get_type_hints(ReplaySettings).items()
    ],
}
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"model": Failure, "description": "It cannot be replayed."},
}


def router(served: Served) -> APIRouter:
    """See `causewatch.server.api`."""
    api = APIRouter(tags=["replays"])
    replays = served.replays

    @api.get("/api/replays", response_model=ReplayList)
    def every() -> Response:
        """All replays, the latest first, without their results."""
        return JSONResponse({"replays": [one.to_dict() for one in replays.list()]})

    @api.post(
        "/api/replays",
        status_code=202,
        response_model=ReplayBody,
        openapi_extra=UPLOAD,
        responses=REFUSED,
    )
    async def begin(request: Request, name: Name) -> Response:
        """Replay a recording through the model, with other limits and settings if you like.

        It runs beside the watch, which takes no notice.
        """
        settings = _settings(request, served.settings)
        replays.check(name)
        visitor = request.state.visitor
        address = request.client.host if request.client else ""
        path = replays.new_file()
        try:
            await _receive(request, path)
            replay = await asyncio.to_thread(start, visitor, address, name, path, settings)
        finally:
            path.unlink(missing_ok=True)
        return JSONResponse(replay.to_dict(), 202)

    def start(
        visitor: Visitor, address: str, name: str, path: File, settings: ReplaySettings
    ) -> Replay:
        with served.audit.around(visitor, address, "replay", name):
            return replays.begin(name, path, settings)

    @api.get("/api/replays/{id}", response_model=ReplayBody)
    def one(id: Id) -> Response:
        """One replay; with its result once it is done."""
        return Response(replays.get(id).to_json(), media_type="application/json")

    @api.delete("/api/replays/{id}", response_model=ReplayBody)
    def remove(id: Id, request: Request) -> Response:
        """Stop a replay if it is still going on, else forget it."""
        address = request.client.host if request.client else ""
        replay = replays.get(id)
        with served.audit.around(request.state.visitor, address, "remove replay", replay.name):
            if replay.state in ("waiting", "running"):
                replay = replays.stop(id)
            else:
                replays.remove(id)
        return JSONResponse(replay.to_dict())

    return api


def _settings(request: Request, usual: Mapping[str, Any]) -> ReplaySettings:
    given: dict[str, Any] = {}
    known = {*get_type_hints(ReplaySettings), "name"}
    if unknown := [name for name in request.query_params if name not in known]:
        what = shorten(unknown[0], 40)
        msg = f"{what} is no setting of a replay; there are {listing(sorted(known))}."
        raise HTTPException(422, msg)
    for name, kind in get_type_hints(ReplaySettings).items():
        said = request.query_params.get(name)
        if said is None:
            continue
        try:
            given[name] = kind(said)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise HTTPException(422, f"{name} must be {what}.") from None
    try:
        return ReplaySettings.of(usual, **given)
    except SettingError as error:
        raise HTTPException(422, str(error)) from error


async def _receive(request: Request, path: File) -> None:
    """Write the body to a file as it comes; the guard has limited its size."""
    with path.open("wb") as file:
        waiting: list[bytes] = []
        size = 0
        async for piece in request.stream():
            waiting.append(piece)
            size += len(piece)
            if size >= PIECE:
                await asyncio.to_thread(file.writelines, waiting)
                waiting, size = [], 0
        await asyncio.to_thread(file.writelines, waiting)
