"""What is going on now, and what the last ticks were."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from causewatch.monitor.health import STREAM as STREAM_HEALTH
from causewatch.server.api.tables import Most, Names, Time, columns_of, nanoseconds, series_of
from causewatch.server.hub import DIGITS, Hub, Viewer, numbers
from causewatch.server.plant import seconds_of
from causewatch.server.schemas import Failure, Health, Now, Plant, Series, Session, Sparklines
from causewatch.server.served import Served
from causewatch.server.trail import thin

__all__ = ["router"]

STREAM = "/api/live"
LIMIT = 60.0
"""Seconds without a sign of life after which a watch is taken for stuck."""
STUCK = 30.0
"""Seconds that a viewer may take to accept a frame."""


def router(served: Served) -> APIRouter:
    """See `causewatch.server.api`."""
    api = APIRouter(tags=["now"])
    feed, hub = served.feed, served.hub

    @api.get(
        "/healthz",
        response_model=Health,
        responses={
            503: {
                "model": Health,
                "description": "The watch gives no sign of life, does not judge what comes, or"
                " cannot keep what it sees.",
            }
        },
    )
    async def health() -> Response:
        """Whether the watch is alive and judges the rows that come. Answers anybody."""
        age = feed.age
        if age is None:
            return JSONResponse({"ok": False, "text": "The watch has not begun yet."}, 503)
        if age > LIMIT:
            said = f"The watch gave its last sign of life {age:.0f} s ago."
            return JSONResponse({"ok": False, "text": said}, 503)
        text = ""
        if _stream_state(feed.status) == "not_judged" and not feed.status["ended"]:
            text = "The watch is running, but the rows that come are not judged."
        elif feed.status["trouble"]:
            text = "The watch is running, but what it sees cannot be written down."
        if text:
            return JSONResponse({"ok": False, "text": text}, 503)
        return JSONResponse({"ok": True, "text": _running(feed.status)})

    @api.get("/api/session", response_model=Session)
    async def session(request: Request) -> Any:
        """Who you are here, and what you may do."""
        visitor = request.state.visitor
        return {
            "name": visitor.name,
            "role": visitor.role,
            "version": version("causewatch"),
            "watch": served.watch,
            "boot": served.boot,
        }

    @api.get("/api/plant", response_model=Plant)
    async def plant() -> Response:
        """Signals and links: what does not change while the server runs."""
        about = {"watch": served.watch, "boot": served.boot, "source": served.source}
        return JSONResponse({**about, "clock": feed.clock, **served.plant})

    @api.get("/api/now", response_model=Now)
    async def now() -> Response:
        """Score, signals and alarms at the last tick, and how the watch stands."""
        return JSONResponse(hub.now())

    @api.get(
        STREAM,
        response_class=Response,
        responses={
            200: {
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
                "description": "Server-sent events.",
            },
            503: {"model": Failure, "description": "Too many look on already."},
        },
    )
    async def live() -> Response:
        """Everything as it happens, as server-sent events, until you hang up.

        - `hello`: as `/api/now`; first, and again whenever you did not keep up.
        - `ticks`: `{"n": ticks so far, "at": seconds since 1970 when it was sent, "skipped": ticks
          left out (ask /api/series for them), "ticks": [[t, score, alarm 0 or 1, [values],
          [expected], [evidence]], …], "peaks": as in the status, while alarms are on}`; at most 20
          times a second.
        - `alarm`: an alarm with its `event`, whenever something happened to it; if the same thing
          happened several times since the last frame, the last of them.
        - `status`: as in `/api/now`, about once a second.
        """
        return _Stream(hub)

    @api.get("/api/series", response_model=Series)
    def series(
        signal: Names = (),
        begin: Annotated[Time | None, Query(alias="from")] = None,
        end: Annotated[Time | None, Query(alias="to")] = None,
        most: Most = 2000,
    ) -> Response:
        """The score and some signals over time, as far back as ticks are kept."""
        trail = feed.trail
        which = columns_of(served, signal)
        run = thin(trail.since(nanoseconds(begin), nanoseconds(end), which), most)
        return JSONResponse({"kept_from": seconds_of(trail.first), **series_of(run, signal)})

    @api.get("/api/sparklines", response_model=Sparklines)
    def sparklines(
        ticks: Annotated[int, Query(ge=2, le=5000, description="How far back.")] = 300,
        most: Annotated[int, Query(ge=2, le=200, description="Points at most.")] = 60,
    ) -> Response:
        """The last values of all signals, for lines the size of a word."""
        trail = feed.trail
        columns = range(len(served.plant["signals"]))
        run = thin(trail.after(trail.count - ticks, ticks, columns), most)
        values = [numbers(column, DIGITS["values"]) for column in run.parts["values"].T]
        return JSONResponse({"t": [seconds_of(one) for one in run.time.tolist()], "values": values})

    return api


def _running(status: Mapping[str, Any]) -> str:
    """How a watch that is alive stands; nothing that is not for everybody."""
    if status["ended"]:
        return "The source has ended; the page stays."
    if status["away"] or _stream_state(status) == "silent":
        return "The watch is running, but no rows come."
    return "The watch is running."


def _stream_state(status: Mapping[str, Any]) -> str:
    """How the stream as a whole is."""
    stream = status["unwell"].get(STREAM_HEALTH)
    return "ok" if stream is None else str(stream["state"])


class _Stream(Response):
    """Frames of a hub to one viewer, who is given up on if he accepts none for a while."""

    media_type = "text/event-stream"

    def __init__(self, hub: Hub) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        viewer = Viewer()
        gone = asyncio.ensure_future(_hang_up(receive, viewer))
        frames = self._hub.frames(viewer)
        try:
            # No task for each frame: that would cost more than to send it.
            async for made in frames:
                async with asyncio.timeout(STUCK):
                    await send({"type": "http.response.body", "body": made, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except (TimeoutError, OSError):
            pass  # he takes nothing; the connection is given up with this
        finally:
            gone.cancel()
            await frames.aclose()


async def _hang_up(receive: Receive, viewer: Viewer) -> None:
    """Close a viewer once whoever it was has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    viewer.close()
