"""The process in which a recording is replayed: ``python -m causewatch.server.replays.child``.

One JSON object on standard input says what to do; JSON lines on standard output say how far it is,
and last what came of it. The process gives way to others and may use only so much memory, so
whatever is in the recording, the watch goes on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from causewatch.data.files import ParquetTable
from causewatch.errors import CausewatchError
from causewatch.model import load
from causewatch.monitor import Monitor, Tick
from causewatch.server.replays.settings import ReplaySettings
from causewatch.server.replays.thinning import Thinned
from causewatch.server.replays.what_if import monitor_with
from causewatch.streaming.feeding import take
from causewatch.streaming.open import open_source
from causewatch.streaming.source import Reading, Source, Wanted
from causewatch.streaming.tags import Tag, TagMap

__all__ = ["MOST_ALARMS", "MOST_POINTS", "main", "replay"]

MOST_ALARMS = 500
"""Alarms of which a result tells, the latest."""
MOST_POINTS = 2000
"""Points of the score that it has."""
SAY_EVERY = 0.3
"""Seconds between two words about how far it is."""
WAIT = 0.2
"""Seconds to wait for rows at a time; a file never needs them."""
NICE = 10
PACKED = b"\x1f\x8b"
PARQUET = b"PAR1"

Say = Callable[[Literal["progress", "result", "error"], Any], None]


def replay(order: Mapping[str, Any], say: Say, now: Callable[[], float] = time.monotonic) -> None:
    """Replay a recording, and say what came of it.

    Parameters
    ----------
    order
        Paths of the ``model`` and the ``file``, the ``name`` of the file for people, and
        ``settings``, ``reading`` and ``tags``.
    say
        Is told ``progress`` (0 to 1), and at the end the ``result``, or an ``error`` in one
        sentence.
    now
        The time in seconds.
    """
    path, name = Path(order["file"]), str(order["name"])
    try:
        say("result", _replay(order, path, say, now))
    except CausewatchError as error:
        # The file has a name of our own, which means nothing to anybody.
        say("error", str(error).replace(path.name, name))
    except MemoryError:
        msg = f"{name} needs more memory than a replay may use; replay a shorter part of it."
        say("error", msg)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        # As far as is known nothing in a file leads here.
        what = type(error).__name__
        say("error", f"{name} could not be replayed ({what}); see what 'causewatch watch' says.")


def _replay(
    order: Mapping[str, Any], path: Path, say: Say, now: Callable[[], float]
) -> dict[str, Any]:
    settings = ReplaySettings(**order["settings"])
    model = load(Path(order["model"]))
    monitor = monitor_with(model, settings.alarms, settings.limit)
    source = open_source(
        str(path),
        Wanted(
            model.watched,
            model.interval,
            model.clock == "rows",
            _reading(order.get("reading")),
            TagMap({one["tag"]: Tag(**one) for one in order.get("tags") or ()}),
            usual=model.provenance.writing,
        ),
    )
    try:
        source.open({})
        outcome, far = _Outcome(monitor), _Progress(path)
        said = now()
        while not source.ended:
            batch = source.poll(WAIT)
            outcome.rows += len(batch)
            for tick in take(monitor, source, batch):
                outcome.add(tick)
            monitor.notes()  # which would pile up
            if now() - said >= SAY_EVERY:
                said = now()
                share = far.share(source, outcome.rows)
                if share is not None:
                    say("progress", share)
        last = monitor.flush()
        for tick in last.all if last.complete else ():
            outcome.add(tick)
        return outcome.to_dict(source)
    finally:
        source.close()


def _reading(said: Mapping[str, Any] | None) -> Reading:
    given = dict(said or {})
    given["ignore"] = tuple(given.get("ignore") or ())
    return Reading(**given)


class _Outcome:
    """What came of the ticks so far, in bounded memory."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.rows = 0
        self._ticks = 0
        self._alarmed = 0
        self._raised = 0
        self._alarms: dict[str, dict[str, Any]] = {}  # in the order of raising
        self._score = Thinned(MOST_POINTS)

    def add(self, tick: Tick) -> None:
        self._ticks += 1
        self._alarmed += tick.alarm
        if tick.time is not None:
            self._score.add(tick.time, tick.score)
        for event, alarm in tick.events:
            if event == "raised":
                self._raised += 1
            elif alarm.id not in self._alarms:
                continue  # one of those that are too many
            self._alarms[alarm.id] = alarm.to_dict(event, self._monitor.clock)
            if len(self._alarms) > MOST_ALARMS:
                del self._alarms[next(iter(self._alarms))]

    def to_dict(self, source: Source) -> dict[str, Any]:
        problems = dict(self._monitor.problems)
        for kind, count in source.problems.items():
            problems[kind] = problems.get(kind, 0) + count
        return {
            "rows": self.rows,
            "ticks": self._ticks,
            "clock": self._monitor.clock,
            "raised": self._raised,
            "under_alarm_share": self._alarmed / self._ticks if self._ticks else 0.0,
            "alarms": list(reversed(self._alarms.values())),
            **self._score.to_dict(),
            "problems": {kind: count for kind, count in sorted(problems.items()) if count},
            "missing": list(source.missing),
        }


class _Progress:
    """How much of a file has been read, where that can be told."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            start = file.read(4)
        self._bytes = 0 if start.startswith(PACKED) else path.stat().st_size
        self._rows = ParquetTable(path).rows if start == PARQUET else 0

    def share(self, source: Source, rows: int) -> float | None:
        if self._rows:
            return min(1.0, rows / self._rows)
        done = source.position().get("bytes")
        return min(1.0, done / self._bytes) if self._bytes and isinstance(done, int) else None


def main() -> None:
    """Do what standard input says."""
    order = json.loads(sys.stdin.buffer.readline())
    _give_way(int(order["memory"]))
    # Whatever a library prints must not get among the lines.
    wire = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(what: str, about: Any) -> None:
        line = json.dumps({what: about}, ensure_ascii=True, allow_nan=False)
        wire.write(line.encode() + b"\n")
        wire.flush()

    with suppress(BrokenPipeError):  # nobody wants to know any more
        replay(order, say)
        wire.close()


def _give_way(memory: int) -> None:
    """Let others go first, and bound the memory, where the system can do so."""
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    with suppress(ImportError):
        import resource

        # Of data, not of addresses: libraries reserve many of those and never use them.
        for kind, most in (("RLIMIT_DATA", memory), ("RLIMIT_CORE", 0)):
            with suppress(OSError, ValueError, AttributeError):
                resource.setrlimit(getattr(resource, kind), (most, most))


if __name__ == "__main__":
    main()
