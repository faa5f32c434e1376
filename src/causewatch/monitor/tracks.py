"""`Track`: an alarm and what the policy counts about it from tick to tick."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.alarms import Alarm

__all__ = ["Track"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Track:
    """An alarm and the counters behind it. Arrays have one entry per signal.

    Attributes
    ----------
    alarm
        As it was at its last event; `picture` brings it up to date.
    member, first
        Signals that the alarm is about, and those that raised it.
    evidence, raw
        The largest evidence of each member so far, and the same before any widening of limits
        (NaN: none).
    peak, reported
        The largest score so far (0: none yet), and the peak at the last event.
    dirty
        Whether there is something new to tell.
    raised_tick, joined_tick, look_tick, next_look, until_tick
        Ticks at which it was raised, the last signal joined (effects of members left out), it was
        last described, it is described again even if nothing is new, and it was cleared.
    below, lost
        Ticks in a row towards clearing, and in which some member was unknown and no other loud.
    problem
        What is wrong now with the signal of a health alarm, None if nothing.
    written
        See `remembered`.
    """

    alarm: Alarm
    member: Mask
    first: Mask
    evidence: Floats
    raw: Floats
    peak: float = 0.0
    reported: float = 0.0
    dirty: bool = False
    raised_tick: int = 0
    joined_tick: int = 0
    look_tick: int = 0
    next_look: int = 0
    until_tick: int = 0
    below: int = 0
    lost: int = 0
    problem: str | None = None
    written: tuple[Alarm, str] | None = None

    @classmethod
    def new(cls, alarm: Alarm, signals: int, tick: int) -> Self:
        """A track of an alarm without members, raised at `tick`."""
        member, first = np.zeros((2, signals), dtype=np.bool_)
        evidence, raw = np.full((2, signals), np.nan)
        track = cls(alarm, member, first, evidence, raw, raised_tick=tick, joined_tick=tick)
        track.look_tick = track.next_look = track.until_tick = tick
        return track

    def join(self, which: Mask, level: Floats, raw: Floats) -> None:
        """Signals become members, with their evidence at this tick."""
        self.member |= which
        self.see(level, raw)
        self.dirty = True

    def leave(self, signal: int) -> None:
        """A signal is no longer a member."""
        self.member[signal] = False
        self.evidence[signal] = self.raw[signal] = np.nan
        self.dirty = True

    def see(self, level: Floats, raw: Floats) -> tuple[float, bool]:
        """Note this tick's evidence; the largest among members, and whether all were known."""
        levels = level[self.member]
        self.evidence[self.member] = np.fmax(self.evidence[self.member], levels)
        self.raw[self.member] = np.fmax(self.raw[self.member], raw[self.member])
        largest = float(np.fmax.reduce(levels))
        if largest > self.peak:
            self.peak = largest
        return largest, not np.isnan(levels).any()

    def picture(self, names: Sequence[str], time: int) -> Alarm:
        """The alarm as of now."""
        places = np.flatnonzero(self.member)
        order = places[np.argsort(-np.nan_to_num(self.evidence[places]), kind="stable")]
        signals = {names[k]: _plain(self.evidence[k]) for k in order.tolist()}
        return replace(self.alarm, updated_at=time, peak_score=self.peak or None, signals=signals)

    def note_event(self, alarm: Alarm) -> Alarm:
        """The alarm has changed to `alarm`, and an event says so."""
        self.alarm = alarm
        self.reported = self.peak
        self.dirty = False
        return alarm

    def snapshot(self, names: Sequence[str]) -> dict[str, Any]:
        """Everything as plain values; arrays by name, members only."""
        places = np.flatnonzero(self.member).tolist()
        return {
            "alarm": self.alarm.to_state(),
            "first": [names[k] for k in np.flatnonzero(self.first).tolist()],
            "evidence": {names[k]: _plain(self.evidence[k]) for k in places},
            "raw": {names[k]: _plain(self.raw[k]) for k in places},
            **{name: getattr(self, name) for name in COUNTERS},
        }

    def remembered(self, names: Sequence[str]) -> str:
        """As `snapshot`, as text, for an alarm that is over.

        Such a one changes only together with `alarm`, and there may be many of them in a state that
        is saved several times a second: so the text is kept.
        """
        if self.written is None or self.written[0] is not self.alarm:
            self.written = (self.alarm, json.dumps(self.snapshot(names)))
        return self.written[1]

    @classmethod
    def restored(cls, state: Mapping[str, Any], names: Sequence[str]) -> Self:
        """See `snapshot`."""
        evidence, raw = state["evidence"], state["raw"]
        return cls(
            Alarm.from_state(state["alarm"]),
            member=np.array([name in evidence for name in names]),
            first=np.array([name in state["first"] for name in names]),
            # A number that is missing is NaN.
            evidence=np.array([evidence.get(name) for name in names], dtype=np.float64),
            raw=np.array([raw.get(name) for name in names], dtype=np.float64),
            **{name: state[name] for name in COUNTERS},
        )


COUNTERS = tuple(
    field.name
    for field in fields(Track)
    if field.name not in ("alarm", "member", "first", "evidence", "raw", "written")
)
"""What a track holds beside its alarm and its arrays; all plain values."""


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
