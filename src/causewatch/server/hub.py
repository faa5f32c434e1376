"""`Hub`: server-sent events to everyone who looks on.

A frame is made once, however many look on, and at most so many times a second. Every viewer has a
short queue of frames, which are shared. One that does not keep up loses what is in its queue, and
with the next frame is told everything anew, as one who has just come: however many such there are,
that is written once. So nobody's coming or slowness costs the watch, the others or memory.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.server.feed import Feed
from causewatch.server.plant import seconds_of
from causewatch.server.trail import PARTS, Run

__all__ = ["Hub", "Viewer", "frame", "numbers", "parts_of"]

GAP, LONGEST_GAP = 0.05, 1.0
"""Least seconds between two frames: at up to 400 ticks a second, and at 8,000 and more."""
RUSH = 8_000.0
"""Ticks a second for each second of gap. Where they come that fast the watch has no time to lose,
and nobody can follow them anyway."""
MOST_TICKS = 4
"""Ticks of a frame at most; of more, some are skipped (they can be asked for)."""
QUEUE = 64
"""Frames that wait for a viewer at most."""
DIGITS = {"values": 9, "expected": 9, "evidence": 4}
"""Digits of each part: counters run to many, evidence needs few."""
QUIET = 1.0
"""Seconds after which viewers are told how the watch stands, whatever happens."""


class Viewer:
    """A queue of frames.

    Attributes
    ----------
    behind
        Whether it must be told everything anew: it has just come, or something was dropped.
    over
        Whether nobody looks on any more.
    """

    def __init__(self, most: int = QUEUE) -> None:
        self._most = most
        self._frames: deque[bytes] = deque()
        self._there = asyncio.Event()
        self.behind = True
        self.over = False

    def greet(self, everything: bytes) -> None:
        """Begin with everything; what waited is part of it."""
        self.behind = False
        self._frames.clear()
        self.put(everything)

    def put(self, frame: bytes) -> None:
        """One more frame; if there are too many, all of them are given up."""
        if len(self._frames) >= self._most:
            self._frames.clear()
            self.behind = True
        else:
            self._frames.append(frame)
            self._there.set()

    def close(self) -> None:
        """No more frames."""
        self.over = True
        self._there.set()

    async def take(self) -> bytes:
        """What waits, at least one frame unless it is over; nothing if frames were dropped."""
        await self._there.wait()
        self._there.clear()
        found = b"".join(self._frames)
        self._frames.clear()
        return found


class Hub:
    """Tells viewers what a feed knows. It lives in the loop of the web server.

    Parameters
    ----------
    feed
        What is known.
    boot
        Names this run of the server.
    columns
        How many signals there are.
    now, wall
        The time in seconds: any that never goes back, and since 1970.
    """

    def __init__(
        self,
        feed: Feed,
        boot: str,
        columns: int,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._feed = feed
        self._boot = boot
        self._columns = range(columns)
        self._now, self._wall = now, wall
        self._viewers: set[Viewer] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = False
        self._timer: asyncio.TimerHandle | None = None  # until the next frame
        self._sent = 0  # ticks that viewers have been told
        self._gap = GAP
        self._sent_at = self._status_at = now()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to listen to the feed; called in the loop."""
        self._loop = loop
        self._feed.wake = self.wake

    def stop(self) -> None:
        """No more frames; may be called in any thread."""
        self._feed.wake = lambda: None
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        for viewer in self._viewers:
            viewer.close()

    def wake(self) -> None:
        """There is something new; called by the watch, in its thread."""
        # Once is enough until the frame is made: waking a loop costs a system call.
        if not self._woken and self._loop is not None:
            self._woken = True
            with suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(self._soon)

    @property
    def viewers(self) -> int:
        """How many look on."""
        return len(self._viewers)

    async def frames(self, viewer: Viewer) -> AsyncGenerator[bytes]:
        """Everything, from now on, for one viewer, until it is closed."""
        self._viewers.add(viewer)
        try:
            self._soon()
            while not viewer.over and self._loop is not None:
                found = await viewer.take()
                if found:
                    yield found
        finally:
            self._viewers.discard(viewer)

    def now(self) -> dict[str, Any]:
        """Everything that is known at present."""
        feed = self._feed
        count = feed.trail.count
        run = feed.trail.after(count - 1, 1, self._columns)
        last = len(run) - 1
        nothing: list[float | None] = [None] * len(self._columns)
        parts = parts_of(run, last) if last >= 0 else dict.fromkeys(PARTS, nothing)
        time_ = int(run.time[last]) if last >= 0 else feed.last_time
        return {
            "boot": self._boot,
            "clock": feed.clock,
            "n": count,
            "t": seconds_of(time_),
            "time": feed.moment(time_),
            "score": numbers(run.score)[last] if last >= 0 else None,
            "alarm": bool(run.alarm[last]) if last >= 0 else False,
            **parts,
            "alarms": feed.alarms,
            "status": self.status(),
        }

    def status(self) -> dict[str, Any]:
        """How the watch stands."""
        # The clock may have become known since the watch last said how it stands.
        return {**self._feed.status, "clock": self._feed.clock, "viewers": self.viewers}

    def _soon(self) -> None:
        """Have a frame sent as soon as one may be."""
        if self._timer is None and self._loop is not None:
            wait = self._sent_at + self._gap - self._now()
            self._timer = self._loop.call_later(max(0.0, wait), self._send)

    def _send(self) -> None:
        self._timer = None
        self._woken = False  # first: what comes from now on needs another frame
        since, now = self._sent_at, self._now()
        self._sent_at = now
        feed = self._feed
        events: dict[tuple[str, str], str] = {}
        for _ in range(len(feed.waiting)):
            what, line = feed.waiting.popleft()
            events.pop(what, None)  # where the same happened to an alarm again, the last counts
            events[what] = line
        before, self._sent = self._sent, feed.trail.count
        anew, feed.anew = feed.anew, False
        if not self._viewers:
            return
        parts: list[bytes] = []
        if self._sent > before:
            pace = (self._sent - before) / max(now - since, GAP)
            self._gap = min(LONGEST_GAP, max(GAP, pace / RUSH))
            parts.append(self._ticks(before))
        for line in events.values():
            parts.append(f"event: alarm\ndata: {line}\n\n".encode("utf-8", "replace"))
        if events or now - self._status_at >= QUIET:
            self._status_at = now
            parts.append(frame("status", self.status()))
        self._tell(b"".join(parts), anew)

    def _tell(self, made: bytes, anew: bool) -> None:
        """Give everybody a frame, and those who need it everything."""
        everything = b""
        for viewer in self._viewers:
            if anew or viewer.behind:
                everything = everything or frame("hello", self.now())
                viewer.greet(everything)
            elif made:
                viewer.put(made)

    def _ticks(self, before: int) -> bytes:
        run = self._feed.trail.after(before, MOST_TICKS, self._columns)
        skipped = max(0, self._sent - before - len(run))
        told = {"n": self._sent, "at": self._wall(), "skipped": skipped, "ticks": _rows(run)}
        if self._feed.status["peaks"]:
            told["peaks"] = self._feed.status["peaks"]
        return frame("ticks", told)


def frame(event: str, data: dict[str, Any]) -> bytes:
    """One server-sent event."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"event: {event}\ndata: {text}\n\n".encode("utf-8", "replace")


def numbers(values: NDArray[np.float64], digits: int = 6) -> list[float | None]:
    """Numbers for JSON, shortened; None where there is none."""
    form = f"%.{digits}g"
    return [float(form % x) if -1e300 < x < 1e300 else None for x in values.tolist()]


def parts_of(run: Run, tick: int) -> dict[str, list[float | None]]:
    """What is known of every signal at a tick."""
    return {name: numbers(run.parts[name][tick], DIGITS[name]) for name in PARTS}


def _rows(run: Run) -> list[list[Any]]:
    score, on, time = numbers(run.score), run.alarm.tolist(), run.time.tolist()
    return [
        [seconds_of(time[k]), score[k], int(on[k]), *parts_of(run, k).values()]
        for k in range(len(run))
    ]
