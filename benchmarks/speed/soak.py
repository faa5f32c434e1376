"""A hostile stream, a million rows long: nothing breaks, nothing grows, nothing is silently zero.

Usage: ``python -m benchmarks.speed.soak [--rows 1000000] [--seed 1]``. Rows of a random system go
through `Monitor.update` as mappings. On their way they are lost, doubled, delayed, stuck, emptied,
scaled, renamed, filled with text, and their clock jumps. Printed are what was put in and what was
reported, the size of the state, and the time per row at the beginning and at the end. It ends with
code 1 if one of the expectations at its end does not hold.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from benchmarks.common import MIB, machine, table
from numpy.typing import NDArray

import causewatch as cw
from causewatch.explain.described import describe
from causewatch.monitor.state import pack
from causewatch.simulate import random_system

__all__: list[str] = []

Floats = NDArray[np.float64]
SIGNALS = 12
BLOCK = 1000
EVERY = 2.0
"""Rows per tick; rows come every second."""
START = 1_767_225_600.0
"""Time of the first row, in seconds since 1970."""
GRACE = 40
"""Rows after the end of a trouble within which it may still be reported."""

EVIDENCE = "evidence"
LASTING = {
    "NaN burst": (80, 400, ("missing",)),
    "column gone": (80, 400, ("missing",)),
    "stuck value": (150, 400, (EVIDENCE,)),
    "unit change": (80, 300, ("out_of_range",)),
}
"""Troubles of one signal: shortest and longest duration in rows, and the health they should show,
or that they should be evidence."""
START_EVERY = 400
"""Rows between two beginnings of such a trouble, on average."""

CHANCE = {
    "row lost": 0.01,
    "row twice": 0.01,
    "row late": 0.005,
    "text in a cell": 0.005,
    "odd cell": 0.005,
    "unknown column": 0.005,
    "time not readable": 0.002,
    "outage": 0.0005,
    "clock set back": 0.00005,
    "clock set forward": 0.00002,
}
"""Chance per row of troubles of a single row, or of the clock."""
COUNTED = {
    "row twice": "duplicate_times",
    "row late": "late_rows",
    "text in a cell": "text_cells",
    "time not readable": "bad_times",
    "outage": "gaps",
    "clock set back": "clock_jumps",
    "clock set forward": "clock_jumps",
}
TEXTS = ("##", "1,5", "overflow", "[-11059] No Good Data For Calculation", "12 bar", "é")
ODD: tuple[Any, ...] = (None, [1.0], b"1", float("inf"), -1e200, Decimal("1.5"), 10**400, {}, True)
BAD_TIMES: tuple[Any, ...] = ("yesterday", float("nan"), [], "2026-13-45", object())


@dataclass
class Trouble:
    """A trouble of one signal that lasts."""

    kind: str
    signal: int
    start: int
    end: int
    value: float = 0.0
    reported: bool = False


@dataclass
class Hostile:
    """Makes rows of a stream to which everything happens; seeded."""

    names: list[str]
    random: np.random.Generator
    injected: Counter[str] = field(default_factory=Counter)
    over: list[Trouble] = field(default_factory=list)
    on: list[Trouble] = field(default_factory=list)
    clock: float = START
    late: list[tuple[int, dict[str, Any], Any]] = field(default_factory=list)

    def block(self, first: int, values: Floats) -> Iterator[tuple[int, dict[str, Any], Any]]:
        """Number, values and time of each row that arrives."""
        chance = self.random.random((len(values), len(CHANCE)))
        starts = self.random.random(len(values)) < 1 / START_EVERY
        happens = {name: chance[:, k] < p for k, (name, p) in enumerate(CHANCE.items())}
        for k, numbers in enumerate(values):
            number = first + k
            self.clock += 1.0
            self._begin_and_end(number, numbers, bool(starts[k]))
            now = {name for name, hits in happens.items() if hits[k]}
            self._move_clock(now)
            row = self._row(number, numbers, now)
            yield from (one for one in self.late if one[0] <= number)
            self.late = [one for one in self.late if one[0] > number]
            if "row lost" in now:
                self.injected["row lost"] += 1
                continue
            if "row late" in now:
                self.injected["row late"] += 1
                self.late.append((number + int(self.random.integers(2, 8)), row, self.clock))
                continue
            when: Any = self.clock
            if "time not readable" in now:
                self.injected["time not readable"] += 1
                when = BAD_TIMES[self.random.integers(len(BAD_TIMES))]
            yield number, row, when
            if "row twice" in now and when is self.clock:
                self.injected["row twice"] += 1
                yield number, row, when

    def _begin_and_end(self, number: int, numbers: Floats, begins: bool) -> None:
        for one in [one for one in self.on if number >= one.end + GRACE]:
            self.on.remove(one)
            self.over.append(one)
        if not begins or len(self.on) >= SIGNALS // 3:
            return
        free = sorted(set(range(SIGNALS)) - {one.signal for one in self.on})
        signal = free[self.random.integers(len(free))]
        kind = list(LASTING)[self.random.integers(len(LASTING))]
        shortest, longest, _ = LASTING[kind]
        end = number + int(self.random.integers(shortest, longest))
        self.on.append(Trouble(kind, signal, number, end, float(numbers[signal])))

    def _move_clock(self, now: set[str]) -> None:
        for kind, shortest, longest in (
            ("outage", 10.0, 600.0),
            ("clock set back", -90_000.0, -3_700.0),
            ("clock set forward", 3.2e7, 4e7),
        ):
            if kind in now:
                self.injected[kind] += 1
                self.clock += round(self.random.uniform(shortest, longest))

    def _row(self, number: int, numbers: Floats, now: set[str]) -> dict[str, Any]:
        row: dict[str, Any] = dict(zip(self.names, numbers.tolist(), strict=True))
        for one in self.on:
            name = self.names[one.signal]
            if number >= one.end:  # over, but it may still be reported
                continue
            if one.kind == "NaN burst":
                row[name] = float("nan")
            elif one.kind == "column gone":
                row.pop(name, None)
            elif one.kind == "stuck value":
                row[name] = one.value
            else:
                row[name] *= 1000.0
        healthy = self.names[self.random.integers(SIGNALS)] if now else ""
        for kind, cells in (("text in a cell", TEXTS), ("odd cell", ODD)):
            if kind in now and healthy in row:
                self.injected[kind] += 1
                row[healthy] = cells[self.random.integers(len(cells))]
        if "unknown column" in now:
            self.injected["unknown column"] += 1
            row[f"new {self.random.integers(10**9)}"] = 1.0
        return row


@dataclass
class Seen:
    """What was measured on the way."""

    cost: list[float] = field(default_factory=list)
    state: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    ticks: int = 0
    alarmed: int = 0
    events: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    during: Counter[str] = field(default_factory=Counter)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    system = random_system(SIGNALS, max_lag=2, seed=7)
    normal = with_constant(system.simulate(20_000, seed=1).values)
    names = [*system.signals, "constant"]
    frame = pl.DataFrame(dict(zip(names, normal.T, strict=True)))
    frame = frame.insert_column(0, pl.Series("time", START - 1e6 + np.arange(len(normal))))
    model = cw.learn(frame, every=EVERY, false_alarm_every=20_000.0)
    print(machine(), flush=True)
    monitor = cw.Monitor(model, describe=describe)
    hostile = Hostile(names, np.random.default_rng(chosen.seed))
    seen = Seen()
    for first in range(0, chosen.rows, BLOCK):
        values = with_constant(system.simulate(BLOCK, seed=100 + first // BLOCK).values)
        run(monitor, hostile, first, values, seen)
        if first // BLOCK % max(1, chosen.rows // BLOCK // 20) == 0:
            gc.collect()
            seen.state.append(size_of(monitor.snapshot()))
            seen.resident.append(resident())
    hostile.over += hostile.on
    failed = report(monitor, hostile, seen, chosen.rows)
    for line in failed:
        print(f"NOT AS EXPECTED: {line}")
    raise SystemExit(1 if failed else 0)


def run(monitor: cw.Monitor, hostile: Hostile, first: int, values: Floats, seen: Seen) -> None:
    """One block of rows; only the monitor is timed."""
    spent = 0.0
    rows = 0
    for number, row, when in hostile.block(first, values):
        before = time.process_time()
        tick = monitor.update(row, when)
        spent += time.process_time() - before
        rows += 1
        for one in tick.all:
            seen.ticks += one.complete
            seen.alarmed += one.alarm
            for event, alarm in one.events:
                seen.events[f"{alarm.kind} {event}"] += 1
                if (alarm.kind, event) == ("anomaly", "raised"):
                    kinds = {trouble.kind for trouble in hostile.on}
                    dead = kinds and kinds <= {"NaN burst", "column gone"}
                    seen.during["only dead signals" if dead else "others" if kinds else "none"] += 1
            for trouble in hostile.on:
                if EVIDENCE in LASTING[trouble.kind][2]:
                    trouble.reported |= one.signals.get(hostile.names[trouble.signal], 0.0) > 1.0
            for change in one.health:
                credit(hostile, number, change.now.signal, change.now.state, seen)
    seen.cost.append(spent / max(1, rows))


def credit(hostile: Hostile, number: int, signal: str, state: str, seen: Seen) -> None:
    """Count a report of health for the trouble that it belongs to."""
    if state == "ok":
        return
    for one in hostile.on:
        if hostile.names[one.signal] == signal:
            if state in LASTING[one.kind][2]:
                one.reported = True
            else:
                seen.elsewhere[f"{state} during {one.kind}"] += 1
            return
    seen.elsewhere[f"{state} without one"] += 1


def report(monitor: cw.Monitor, hostile: Hostile, seen: Seen, rows: int) -> list[str]:
    """Print the tables; the expectations that do not hold."""
    failed = []
    lines: list[list[object]] = []
    for kind, (_, _, states) in LASTING.items():
        mine = [one for one in hostile.over if one.kind == kind and one.end + GRACE < rows]
        found = sum(one.reported for one in mine)
        shown = states[0] if states[0] == EVIDENCE else f"health {states[0]}"
        lines.append([kind, f"{len(mine):,}", shown, f"{found:,}"])
        if found < 0.98 * len(mine):
            failed.append(f"{kind}: only {found} of {len(mine)} reported as {states[0]}")
    for kind in CHANCE:
        counter = COUNTED.get(kind, "–")
        count = monitor.problems.get(counter, 0) if counter in monitor.problems else 0
        lines.append([kind, f"{hostile.injected[kind]:,}", counter, f"{count:,}"])
    print(table(["put in", "times", "reported as", "times"], lines))
    others = {
        kind: count for kind, count in monitor.problems.items() if kind not in COUNTED.values()
    }
    print(f"\nOther counts: {json.dumps(others)}")
    print(f"Health reported beside that: {json.dumps(dict(seen.elsewhere.most_common()))}")
    print(f"Events of alarms: {json.dumps(dict(sorted(seen.events.items())))}")
    print(f"Anomaly alarms raised, by the troubles that were on: {json.dumps(dict(seen.during))}")
    print(
        f"Ticks: {seen.ticks:,}, under an anomaly alarm {seen.alarmed / max(1, seen.ticks):.1%}\n"
    )
    tenth = max(1, len(seen.cost) // 10)
    first, last = (float(np.median(part)) for part in (seen.cost[:tenth], seen.cost[-tenth:]))
    sizes, memory = seen.state, seen.resident
    early = max(1, len(sizes) // 5)
    lines = [
        ["CPU per row", f"{first * 1e6:.0f} µs", f"{last * 1e6:.0f} µs", f"{last / first:.2f}"],
        [
            "state",
            *(f"{size / 1024:,.0f} KiB" for size in (max(sizes[:early]), max(sizes[early:]))),
        ],
        ["resident", *(f"{size / MIB:,.0f} MiB" for size in (memory[early - 1], memory[-1]))],
    ]
    lines[1].append(f"{max(sizes[early:]) / max(sizes[:early]):.2f}")
    lines[2].append(f"{memory[-1] / memory[early - 1]:.2f}")
    print(table(["", "first part", "last part", "ratio"], lines), flush=True)
    if last > 1.3 * first:
        failed.append(f"time per row grew by a factor of {last / first:.2f}")
    if max(sizes[early:]) > 1.5 * max(sizes[:early]):
        failed.append("the state grew")
    if memory[-1] > 1.1 * memory[early - 1] + 8 * MIB:
        failed.append("resident memory grew")
    return failed


def with_constant(values: Floats) -> Floats:
    return np.column_stack([values, np.full(len(values), 20.0)])


def size_of(state: dict[str, Any]) -> int:
    """Bytes of a stored state."""
    arrays: dict[str, NDArray[Any]] = {}
    text = json.dumps(pack(state, arrays))
    return len(text.encode()) + sum(array.nbytes for array in arrays.values())


def resident() -> int:
    """Bytes of memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
