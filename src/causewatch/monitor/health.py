"""`HealthWatch`: the health of signals, kept apart from anomaly.

A dead sensor is reported as a dead sensor. The rules are written down in
``docs/watching-rules.md``; each state is judged against what the signal did in normal operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, format_duration, number, numbers
from causewatch.detectors.habits import NormalHabits, unchanged
from causewatch.errors import SettingError
from causewatch.monitor.stateful import Stateful
from causewatch.preprocess.ticks import FullTick

__all__ = [
    "STREAM",
    "HealthChange",
    "HealthState",
    "HealthWatch",
    "SignalHealth",
    "out_of_range_text",
    "unlike_text",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

HealthState = Literal[
    "ok", "missing", "stale", "frozen", "out_of_range", "unlike", "rate_wrong", "not_judged",
    "silent", "incomplete", "not_kept",
]  # fmt: skip

STATES: tuple[HealthState, ...] = (
    "ok", "unlike", "out_of_range", "frozen", "stale", "missing", "rate_wrong", "not_judged",
    "silent", "incomplete", "not_kept",
)  # fmt: skip
"""By number; of several that hold for a signal at once the last is its state."""
OK, UNLIKE, OUT_OF_RANGE, FROZEN, STALE, MISSING = range(6)

UNLIKE_STATE: HealthState = "unlike"
"""The signal is no longer as learnt; people accept that, or learn a new model."""
STREAM = "(stream)"
"""Stands in place of a signal's name where the stream as a whole is concerned."""

MARGIN = 0.5
"""Out of range: beyond the learnt range by more than this share of it. Health is no second
detector: this is for wrong units, wrong wiring, and a plant far from what was learnt."""
BACK = 0.25
"""And no longer, once within this share of it."""
LONGER = 3
"""Clearly longer than ever in normal operation: so many times."""
LEAST_FROZEN = 10
"""Ticks for which a signal must stand still at least to be called frozen."""
OFTEN_STILL = 0.5
"""A signal that stands still at more than this share of normal ticks is never called frozen."""
ABSURD = 1e6
"""What is so many times as large as anything in normal operation (or as 1, where that is larger) is
no reading at all, and counts as missing: no plant does that, a broken converter or gateway does."""
OUTSIDE = 3
"""Ticks in a row beyond that margin before a signal is called out of range: a spike is none."""
CALM = 5
"""Ticks in a row without a finding before a signal is well again."""
RATE, RATE_BACK = 1.5, 1.25
"""The rate is wrong from this factor on, and right again within this one."""


@dataclass(frozen=True, slots=True)
class SignalHealth:
    """The health of one signal: its state, since when (nanoseconds), and a sentence."""

    signal: str
    state: HealthState
    since: int
    detail: str


@dataclass(frozen=True, slots=True)
class HealthChange:
    """A signal's health changed: from which state, and how it is now."""

    before: HealthState
    now: SignalHealth


class HealthWatch(Stateful):
    """Follows the health of all columns of one stream, tick by tick.

    Parameters
    ----------
    columns
        Their names.
    habits
        How they behave in normal operation, in the same order.
    hold
        For how many ticks a missing value is replaced by the last one.
    rows_expected
        Rows that make a tick if none is missing: the length of a tick by the interval of the rows.
    frozen
        Whether standing still is a matter of health; the default detector takes it for evidence.
    every, clock
        Length of a tick in seconds, and what times count, for sentences.
    """

    # Ticks since the last value of its own, without any value, without a change, beyond the range,
    # and without a finding if not well; by column, as are the last values and the states.
    STATE = ("_age", "_gone", "_run", "_outside", "_calm", "_last", "_state", "quiet")

    def __init__(
        self,
        columns: Sequence[str],
        habits: NormalHabits,
        *,
        hold: int,
        rows_expected: float = 1.0,
        frozen: bool = True,
        every: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._every, self._clock = every, clock
        self._index = {name: k for k, name in enumerate(self._columns)}
        size = len(self._columns)
        if len(habits.low) != size:
            msg = (
                f"The habits are those of {len(habits.low)} signals, but {size} are watched;"
                " give the habits of the same signals."
            )
            raise SettingError(msg)
        self._habits = habits
        self._hold = hold
        usual = rows_expected / habits.rows_per_tick  # longer than 1 if rows are usually missing
        self._usual_pace = usual if np.isfinite(usual) else 1.0
        # Limits by column, made once. A signal that never varied has no range to leave: guards
        # watch it.
        width = habits.high - habits.low
        known = width > 0
        self._outer = _limits(habits, np.where(known, MARGIN * width, np.inf))
        self._inner = _limits(habits, np.where(known, BACK * width, np.inf))
        never = np.iinfo(np.int64).max
        watchable = known & (habits.still <= OFTEN_STILL) & frozen
        longest = np.maximum(LONGER * habits.longest_still, LEAST_FROZEN)
        self._frozen_after = np.where(watchable, longest, never)
        self._stale_after = np.clip(habits.longest_still, 1, max(1, hold))
        self._missing_after = LONGER * habits.longest_missing
        self._age, self._gone, self._run = np.zeros((3, size), dtype=np.int64)
        self._outside, self._calm = np.zeros((2, size), dtype=np.int64)
        self._last = np.full(size, np.nan)
        self._state = np.zeros(size, dtype=np.int8)
        extreme = np.fmax(np.abs(habits.low), np.abs(habits.high))
        # A signal that never varied does not tell its scale: a pressure in Pa may come alive.
        self._largest = ABSURD * np.fmax(np.where(known, 1.0, ABSURD), extreme)
        self._absurd: dict[int, float] = {}  # what was no reading at this tick, by column
        self._unlike: dict[str, tuple[int, str]] = {}  # since when, and a sentence
        self._now: dict[str, SignalHealth] = {}
        self.quiet = True  # whether all are well, with values of their own and in range
        self._set_limits()

    @property
    def absent(self) -> Bools:
        """Columns that have no value of their own for too long: stale or missing."""
        return np.asarray((self._state == STALE) | (self._state == MISSING))

    @property
    def now(self) -> Mapping[str, SignalHealth]:
        """The signals that are not well; `STREAM` stands for the stream as a whole."""
        return dict(self._now)

    def readings(self, tick: FullTick) -> FullTick:
        """The tick without what is no reading; call it before each `update`."""
        self._absurd.clear()
        bad = np.abs(tick.values) > self._largest
        if not np.count_nonzero(bad):
            return tick
        self._absurd = {k: float(tick.values[k]) for k in np.flatnonzero(bad).tolist()}
        values, low, high = (
            np.where(bad, np.nan, part) for part in (tick.values, tick.low, tick.high)
        )
        return tick._replace(values=values, low=low, high=high, fresh=tick.fresh & ~bad)

    @property
    def absurd(self) -> Mapping[str, str]:
        """A sentence for each signal whose value was no reading at this tick."""
        return {self._columns[k]: self._absurd_text(k) for k in self._absurd}

    def _absurd_text(self, column: int) -> str:
        low, high = float(self._habits.low[column]), float(self._habits.high[column])
        value, low_text, high_text = numbers(self._absurd[column], low, high)
        return (
            f"{self._columns[column]} sends {value}, which is no reading; in normal operation it"
            f" lay between {low_text} and {high_text}."
        )

    def update(
        self,
        time: int,
        values: Floats,
        fresh: Bools,
        *,
        new_stretch: bool = False,
        pace: float | None = None,
        rows: int = 1,
    ) -> list[HealthChange]:
        """Take in one tick; gives what changed.

        Parameters
        ----------
        time
            Of the tick, in nanoseconds.
        values
            By column; NaN where missing.
        fresh
            By column: whether a value of its own was there.
        new_stretch
            Whether the tick does not follow the one before.
        pace
            Of the rows; see `rate`.
        rows
            How many the tick was made of. One without any says nothing about any signal, only about
            the stream.
        """
        changes = self._over("silent", time, "Rows come again.")
        changes += self._over("incomplete", time, "Watching goes on with what is left.")
        if pace is not None:
            changes += self.rate(time, pace)
        if rows == 0:
            return changes
        if new_stretch:
            # How long a signal stood still is not known across a gap; what is frozen stays so.
            self._run[self._state != FROZEN] = 0
        if self.quiet and np.count_nonzero(fresh) == len(fresh):
            same = unchanged(values, self._last)
            self._last = values.copy()
        else:
            same = self._partly_fresh(values, fresh)
        self._run += 1
        self._run *= same
        low, high = self._limits
        out = (values < low) | (values > high)
        stuck = self._run >= self._frozen_after
        if self.quiet and not np.count_nonzero(out | stuck):
            return changes
        return changes + self._judge(time, values, out, stuck & fresh)

    def _partly_fresh(self, values: Floats, fresh: Bools) -> Bools:
        """Count ticks without values; returns where a signal counts as unchanged."""
        self.quiet = False
        self._age = np.where(fresh, 0, self._age + 1)
        gone = np.isnan(values) | (self._age > self._hold)
        self._gone = np.where(gone, self._gone + 1, 0)
        same = unchanged(values, self._last)
        self._last = np.where(fresh, values, self._last)
        # Without a value of its own a signal neither changes nor stands still.
        self._run -= ~fresh
        return same | ~fresh

    def _judge(self, time: int, values: Floats, out: Bools, stuck: Bools) -> list[HealthChange]:
        """Find the state of every signal."""
        wanted = np.zeros(len(values), dtype=np.int8)
        for name in self._unlike:
            wanted[self._index[name]] = UNLIKE
        there = self._gone == 0
        self._outside += 1
        self._outside *= out & there
        enough = np.where(self._state == OUT_OF_RANGE, 1, OUTSIDE)
        wanted[self._outside >= enough] = OUT_OF_RANGE
        wanted[stuck] = FROZEN
        wanted[(self._age > self._stale_after) & there] = STALE
        wanted[self._gone > self._missing_after] = MISSING
        # A signal is well again only after some ticks without a finding.
        better = (wanted == OK) & (self._state != OK)
        self._calm += 1
        self._calm *= better
        np.copyto(wanted, self._state, where=better & (self._calm < CALM))
        changes = []
        for k in np.flatnonzero(wanted != self._state).tolist():
            state = STATES[wanted[k]]
            since = self._unlike[self._columns[k]][0] if wanted[k] == UNLIKE else time
            changes.append(self._change(k, state, since, self._detail(k, state, values[k])))
        if changes:
            self._set_limits()
        self.quiet = not (self._state.any() or self._age.any() or self._outside.any())
        return changes

    def _change(self, column: int, state: HealthState, since: int, detail: str) -> HealthChange:
        """A column has another state."""
        self._state[column] = STATES.index(state)
        self._calm[column] = 0
        return self._record(self._columns[column], state, since, detail)

    def _record(self, name: str, state: HealthState, since: int, detail: str) -> HealthChange:
        """A column, or the stream, has another state."""
        before, now = self._state_of(name), SignalHealth(name, state, since, detail)
        if state == "ok":
            self._now.pop(name, None)
        else:
            self._now[name] = now
        return HealthChange(before, now)

    def _state_of(self, name: str) -> HealthState:
        return self._now[name].state if name in self._now else "ok"

    def _set_limits(self) -> None:
        """Set the range of each signal: narrower for signals on their way back."""
        out = self._state == OUT_OF_RANGE
        low, high = (np.where(out, *pair) for pair in zip(self._inner, self._outer, strict=True))
        self._limits = (low, high)

    def _detail(self, column: int, state: HealthState, value: float) -> str:
        """The sentence for a state."""
        name, habits = self._columns[column], self._habits
        if state == "missing" and column in self._absurd:
            return self._absurd_text(column)
        if state == "missing":
            return f"{name} sends no value."
        if state == "stale":
            return (
                f"{name} has sent no value for {self._lasting(self._age[column])}; its last one is"
                f" held for at most {self._lasting(self._hold)}."
            )
        if state == "frozen":
            return (
                f"{name} has stood still at {number(value)} for"
                f" {self._lasting(self._run[column])}; in normal operation it did so for at most"
                f" {self._lasting(habits.longest_still[column])}."
            )
        if state == "out_of_range":
            low, high = float(habits.low[column]), float(habits.high[column])
            return out_of_range_text(name, value, low, high)
        if state == "unlike":
            return self._unlike[name][1]
        return f"{name} is well again."

    def _lasting(self, ticks: float) -> str:
        """A number of ticks as a duration."""
        return format_duration(float(ticks) * self._every, self._clock)

    def mark_unlike(self, signal: str, since: int, detail: str) -> list[HealthChange]:
        """Set a signal to `unlike`, unless something worse holds for it."""
        column = self._index[signal]
        since, _ = self._unlike.get(signal, (since, detail))  # what it is may change
        self._unlike[signal] = (since, detail)
        if self._state[column] not in (OK, UNLIKE):
            return []
        self.quiet = False
        change = self._change(column, "unlike", since, detail)
        return [change] if change.before == "ok" else []

    def unmark(self, signal: str, time: int) -> list[HealthChange]:
        """Take back that a signal is not as learnt."""
        column = self._index[signal]
        self._unlike.pop(signal, None)
        if self._state[column] != UNLIKE:
            return []
        return [self._change(column, "ok", time, self._detail(column, "ok", np.nan))]

    def rate(self, time: int, pace: float) -> list[HealthChange]:
        """Judge how fast rows come; also to be called where rows come but no ticks.

        `pace` is the usual time between rows lately in units of the interval.
        """
        relative = pace / self._usual_pace  # on its way to what it will be: an average
        now = self._state_of(STREAM)
        if now == "not_judged":  # what is worse comes first
            return []
        wrong = now == "rate_wrong"
        bound = RATE_BACK if wrong else RATE
        if (relative > bound or relative * bound < 1.0) == wrong:
            return []
        if wrong:
            return [self._record(STREAM, "ok", time, "Rows come as fast as learnt again.")]
        if relative > 1.0:
            way = f"more than {relative:.2g} times as slowly"
        else:
            way = f"more than {1.0 / max(relative, 1e-9):.2g} times as fast"
        detail = f"Rows come {way} as in normal operation."
        return [self._record(STREAM, "rate_wrong", time, detail)]

    def silent(self, time: int, detail: str) -> None:
        """Set the stream to `silent`; the next tick takes that back."""
        self._blind("silent", time, detail)

    def incomplete(self, time: int, detail: str) -> None:
        """Set the stream to `incomplete`; the next tick takes that back."""
        self._blind("incomplete", time, detail)

    def not_judged(self, time: int, detail: str) -> None:
        """Set the stream to `not_judged`, until `judged`."""
        self._blind("not_judged", time, detail)

    def judged(self, time: int) -> list[HealthChange]:
        """Rows that come are judged again."""
        return self._over("not_judged", time, "Rows are judged again.")

    def _blind(self, state: HealthState, time: int, detail: str) -> None:
        if self._state_of(STREAM) != state:
            self._record(STREAM, state, time, detail)

    def _over(self, state: HealthState, time: int, detail: str) -> list[HealthChange]:
        if self._state_of(STREAM) != state:
            return []
        return [self._record(STREAM, "ok", time, detail)]

    def snapshot(self) -> dict[str, Any]:
        """See `Stateful.snapshot`."""
        return super().snapshot() | {
            "unlike": [[name, *marked] for name, marked in self._unlike.items()],
            "now": [[now.signal, now.state, now.since, now.detail] for now in self._now.values()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Stateful.restore`."""
        super().restore(state)
        self._unlike = {name: (int(since), text) for name, since, text in state["unlike"]}
        self._now = {fields[0]: SignalHealth(*fields) for fields in state["now"]}
        self._set_limits()


def out_of_range_text(signal: str, value: float, low: float, high: float) -> str:
    """The sentence for a signal far outside its range in normal operation, from `low` to `high`.

    >>> out_of_range_text("FIT201", 9.7, 1.2, 2.6)
    'FIT201 is at 9.7; in normal operation it lay between 1.2 and 2.6.'
    """
    now, least, most = numbers(value, low, high)
    return f"{signal} is at {now}; in normal operation it lay between {least} and {most}."


def unlike_text(
    signal: str, value: float, low: float, high: float, expected: float, since: str
) -> str:
    """The sentence for a signal that is no longer as learnt.

    Parameters
    ----------
    signal
        Which one.
    value
        What it shows.
    low, high
        Its range in normal operation.
    expected
        What its causes say; told where the value is within that range.
    since
        Since when, as text.

    Examples
    --------
    >>> unlike_text("LIT301", 65.0, 58.0, 62.0, 60.1, "10:40")
    'LIT301 has been at 65 instead of 58 to 62 since 10:40.'
    >>> unlike_text("LIT301", 61.0, 58.0, 62.0, 59.1, "10:40")
    'LIT301 has been at 61 instead of 59.1 since 10:40.'
    """
    if low <= value <= high:
        now, normal = numbers(value, expected)
    else:
        now, least, most = numbers(value, low, high)
        normal = least if least == most else f"{least} to {most}"
    return f"{signal} has been at {now} instead of {normal} since {since}."


def _limits(habits: NormalHabits, margin: Floats) -> tuple[Floats, Floats]:
    return habits.low - margin, habits.high + margin
