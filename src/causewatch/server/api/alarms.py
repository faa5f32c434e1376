"""Alarms: the history, one of them, its report, and what operators do about them."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from causewatch.errors import SettingError, StreamError
from causewatch.explain.described import retold
from causewatch.explain.report import report
from causewatch.monitor import Alarm
from causewatch.server.access.tokens import Visitor
from causewatch.server.api.filters import Wanted, csv_lines, json_lines, some
from causewatch.server.api.tables import (
    Most,
    Names,
    columns_of,
    content,
    nanoseconds,
    series_of,
)
from causewatch.server.plant import seconds_in, seconds_of
from causewatch.server.schemas import Act, AlarmPage, AlarmStory, Events, Failure, Series
from causewatch.server.served import Served
from causewatch.server.trail import Run, thin
from causewatch.streaming.store.base import Store

__all__ = ["router"]

Id = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="Twelve hexadecimal digits.")]
Action = Literal["ack", "comment", "shelve", "unshelve", "normal", "undo", "accept"]

PATIENCE = 10.0
"""Seconds in which the watch must have done what was asked for, or at least have taken it."""
MORE_PATIENCE = 10.0
"""Seconds more for what it has taken, which cannot be taken back any longer."""
POLL = 0.03
ACTING = 20
"""Actions that may wait for the watch at the same time."""
WAITING = 4
"""Reports that may wait for being drawn."""
AROUND = 60
"""Ticks that are shown before and after an alarm."""
MOST_EVENTS = 200
"""Events of an alarm that are given: the last ones."""
REPORTS = 8
"""Reports kept: the same one is often asked for again."""
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; sandbox"
)
"""Of a report: it brings its styles with it, and has no script."""
LIST = {"type": "array", "items": {"$ref": "#/components/schemas/AlarmBody"}}
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"model": Failure, "description": "It makes no sense for this alarm now."},
    504: {"model": Failure, "description": "It may still be done; what came of it is not known."},
}


class UnansweredError(HTTPException):
    """Something was asked for and may be done, but nobody knows yet what came of it.

    None of our other errors: after those, as the audit log says, nothing was done.
    """

    def __init__(self, said: str) -> None:
        super().__init__(504, said)


def router(served: Served) -> APIRouter:
    """See `causewatch.server.api`."""
    api = APIRouter(tags=["alarms"])
    store, album = served.store, served.album
    reports, acting = _Reports(served), CapacityLimiter(ACTING)

    @api.get("/api/alarms", response_model=AlarmPage)
    def alarms(
        wanted: Wanted,
        before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
        most: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> Response:
        """The history, latest raised first, in pages."""
        found, following = some(served, wanted, before, most)
        return JSONResponse({"alarms": found, "next": following})

    @api.get(
        "/api/alarms.json", response_class=Response, responses=content("application/json", LIST)
    )
    def as_json(wanted: Wanted) -> Response:
        """The history as a file."""
        return _download(json_lines(served, wanted), "application/json", "alarms.json")

    @api.get("/api/alarms.csv", response_class=Response, responses=content("text/csv"))
    def as_csv(wanted: Wanted) -> Response:
        """The history as a table."""
        return _download(csv_lines(served, wanted), "text/csv; charset=utf-8", "alarms.csv")

    @api.get("/api/alarms/{id}", response_model=AlarmStory)
    def story(id: Id) -> Response:
        """All that is known about an alarm."""
        alarm = store.alarm(id)
        if alarm is None:
            raise _no_alarm(id)
        alarm = served.feed.with_peak(alarm)
        events = [_with_last(one) for one in deque(store.events(id), maxlen=MOST_EVENTS)]
        kept = album.find(id)
        told = None if kept is None or kept.model is None else retold(kept).to_dict()
        there = kept is not None or len(_since(served, alarm, None, [])) > 0
        return JSONResponse(
            {"alarm": alarm, "events": events, "explanation": told, "course": there}
        )

    @api.get("/api/alarms/{id}/course", response_model=Series)
    def course(id: Id, signal: Names = (), most: Most = 2000) -> Response:
        """The ticks around an alarm: how it began, and the rest of it as long as it is kept."""
        which = columns_of(served, signal)
        run = thin(_whole(served, id, which), most)
        first = seconds_of(int(run.time[0])) if len(run) else None
        return JSONResponse({"kept_from": first, **series_of(run, signal)})

    @api.get("/api/alarms/{id}/report", response_class=Response, responses=content("text/html"))
    async def page(id: Id) -> Response:
        """The report of an alarm, as a page that needs nothing else."""
        made = await reports.find(id)
        return HTMLResponse(made, headers={"Content-Security-Policy": POLICY})

    @api.post("/api/alarms/{id}/{action}", response_model=Events, responses=REFUSED)
    async def act(id: Id, action: Action, body: Act, request: Request) -> Response:
        """Acknowledge (`ack`), `comment`, `shelve` for some `seconds`, `unshelve`, say that this
        was `normal`, take that back (`undo`), or `accept` a signal as it is."""  # noqa: D205, D209
        visitor = request.state.visitor
        by = visitor.name or " ".join(body.by.split()) or "operator"
        asked: dict[str, Any] = {"action": action, "id": id, "by": by, "text": body.text}
        if action == "shelve":
            if body.seconds is None:
                raise HTTPException(422, "Shelving needs seconds: for how long.")
            asked["seconds"] = body.seconds
        seen = "".join(body.text.split())
        if action == "comment" and not any(sign.isprintable() for sign in seen):
            raise HTTPException(422, "A comment needs text.")
        # Without tokens nobody is asked who they are; what they say is noted all the same.
        who = visitor if visitor.name else Visitor(f"{by} (says so)", visitor.role)
        address = request.client.host if request.client else ""

        def work() -> list[dict[str, Any]]:
            if store.alarm(id) is None:
                raise _no_alarm(id)
            with served.audit.around(who, address, action, id, body.text):
                return _done(served, asked)

        # Threads of their own: whoever waits for the watch must not keep others from looking.
        return JSONResponse({"events": await to_thread.run_sync(work, limiter=acting)})

    return api


def _done(served: Served, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """What came of an action, once the running watch has seen to it."""
    number = served.store.ask(asked)
    try:
        answer = _answer(served.store, number)
    except StreamError as error:
        msg = (
            "Whether this will be done is not known, because the store does not answer; look at the"
            " alarm again before you repeat it."
        )
        raise UnansweredError(msg) from error
    if answer is None:
        msg = f"The watch did not answer within {PATIENCE:.0f} s; nothing was done, try again."
        raise StreamError(msg)
    if "error" in answer:
        raise SettingError(str(answer["error"]))
    events: list[dict[str, Any]] = list(answer["events"])
    return events


def _answer(store: Store, number: int) -> Mapping[str, Any] | None:
    """What the watch says to a question; None if it was taken back, so that nothing is done."""
    answer = _wait_for_answer(store, number, PATIENCE)
    if answer is not None or store.withdraw(number):
        return answer
    answer = _wait_for_answer(store, number, MORE_PATIENCE)
    if answer is None:
        msg = (
            f"The watch has begun this, but not ended it within {PATIENCE + MORE_PATIENCE:.0f} s;"
            " it will be done as soon as possible, do not repeat it."
        )
        raise UnansweredError(msg)
    return answer


def _wait_for_answer(store: Store, number: int, seconds: float) -> Mapping[str, Any] | None:
    end = time.monotonic() + seconds
    while (answer := store.answer(number)) is None and time.monotonic() < end:
        time.sleep(POLL)
    return answer


def _with_last(event: dict[str, Any]) -> dict[str, Any]:
    """An event with its last comment only: each event of an alarm repeats the earlier ones."""
    return {**event, "comments": event["comments"][-1:]}


def _no_alarm(id: str) -> HTTPException:
    return HTTPException(404, f"There is no alarm {id}; it may have been forgotten.")


def _kept(served: Served, id: str) -> Alarm:
    alarm = served.album.find(id)
    if alarm is None:
        if served.store.alarm(id) is None:
            raise _no_alarm(id)
        raise HTTPException(404, f"The ticks around alarm {id} are not kept.")
    return alarm


def _whole(served: Served, id: str, columns: list[int]) -> Run:
    """The ticks kept with an alarm, and those after them that are still in memory."""
    body = served.store.alarm(id)
    if body is None:
        raise _no_alarm(id)
    alarm = served.album.find(id)
    if alarm is None:
        later = _since(served, body, None, columns)
        if not len(later):
            raise HTTPException(404, f"The ticks around alarm {id} are not kept.")
        return later
    kept = _run(alarm, columns)
    later = _since(served, body, int(kept.time[-1]) + 1, columns)
    return Run(
        np.concatenate([kept.time, later.time]),
        np.concatenate([kept.score, later.score]),
        np.concatenate([kept.alarm, later.alarm]),
        {name: np.concatenate([part, later.parts[name]]) for name, part in kept.parts.items()},
    )


def _since(served: Served, alarm: dict[str, Any], begin: int | None, columns: list[int]) -> Run:
    """Ticks in memory from `begin`, or from before the alarm, until it is over, and some more."""
    around = AROUND * served.plant["every"]
    first, last = seconds_in(alarm["onset"]), seconds_in(alarm["cleared_at"])
    if begin is None:
        begin = nanoseconds(None if first is None else first - around)
    return served.feed.trail.since(
        begin, nanoseconds(None if last is None else last + around), columns
    )


def _run(alarm: Alarm, columns: list[int]) -> Run:
    kept = alarm.course
    assert kept is not None
    which = np.asarray(columns, dtype=np.intp)
    parts = {"values": kept.values, "expected": kept.expected, "evidence": kept.evidence}
    until = alarm.cleared_at
    on = (kept.time >= alarm.raised_at) & (until is None or kept.time < (until or 0))
    return Run(kept.time, kept.score, on, {name: part[:, which] for name, part in parts.items()})


def _download(lines: Any, kind: str, name: str) -> StreamingResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type=kind, headers=headers)


class _Reports:
    """Reports of alarms, drawn one at a time: drawing takes a second of the whole program."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._one = CapacityLimiter(1)
        self._waiting = 0
        self._made: OrderedDict[tuple[str, int], str] = OrderedDict()

    async def find(self, id: str) -> str:
        if self._waiting > WAITING:
            msg = "Too many reports are being drawn; try again in a few seconds."
            raise StreamError(msg)
        self._waiting += 1
        try:
            return await to_thread.run_sync(self._draw, id, limiter=self._one)
        finally:
            self._waiting -= 1

    def _draw(self, id: str) -> str:
        alarm = _kept(self._served, id)
        if alarm.model is None:
            msg = f"Alarm {id} was raised by another model, so there is no report of it here."
            raise HTTPException(404, msg)
        key = (id, alarm.updated_at)
        if key not in self._made:
            about = {"watched": self._served.source, "model": self._served.file}
            self._made[key] = report(retold(alarm), about=about)
            while len(self._made) > REPORTS:
                self._made.popitem(last=False)
        return self._made[key]
