"""The open book on one alarm: what the policy must know from tick to tick."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.alarms import Alarm

__all__ = ["Track"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Track:
    """An alarm and the counters behind it.

    `alarm` is as it was at its last event; `picture` brings it up to date. Arrays have one entry
    per signal: `member` says which signals the alarm is about, `first` which of them raised it;
    `evidence` is the largest evidence
    of each member so far, `raw` the same before any widening of limits (NaN: none).
    """

    __slots__ = (
        "alarm",
        "below",
        "dirty",
        "evidence",
        "first",
        "joined_tick",
        "look_tick",
        "lost",
        "member",
        "next_look",
        "peak",
        "problem",
        "raised_tick",
        "raw",
        "reported",
        "until_tick",
        "written",
    )

    def __init__(self, alarm: Alarm, signals: int, tick: int) -> None:
        self.alarm = alarm
        self.member: Mask = np.zeros(signals, dtype=np.bool_)
        self.first: Mask = np.zeros(signals, dtype=np.bool_)
        self.evidence: Floats = np.full(signals, np.nan)
        self.raw: Floats = np.full(signals, np.nan)
        self.peak = 0.0  # largest score so far; 0: none yet
        self.reported = 0.0  # the peak at the last event
        self.dirty = False  # whether there is something new to tell
        self.raised_tick = tick
        self.joined_tick = tick  # when the last signal joined, effects of members left out
        self.look_tick = tick  # when it was last described
        self.next_look = tick  # when it is described again even if nothing is new
        self.until_tick = tick  # when it was cleared
        self.below = 0  # ticks in a row towards clearing
        self.lost = 0  # ticks in a row in which some member was unknown, and no other loud
        self.written: tuple[Alarm, str] | None = None  # see `remembered`
        # Health alarms only:
        self.problem: str | None = None  # what is wrong now, None if nothing

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
        mine = level[self.member]
        self.evidence[self.member] = np.fmax(self.evidence[self.member], mine)
        self.raw[self.member] = np.fmax(self.raw[self.member], raw[self.member])
        own = float(np.fmax.reduce(mine))
        if own > self.peak:
            self.peak = own
        return own, not np.isnan(mine).any()

    def picture(self, names: Sequence[str], time: int) -> Alarm:
        """The alarm as of now."""
        places = np.flatnonzero(self.member)
        found = self.evidence[places]
        order = np.argsort(-np.nan_to_num(found), kind="stable")
        signals = {
            names[int(places[k])]: None if np.isnan(found[k]) else float(found[k]) for k in order
        }
        return replace(self.alarm, updated_at=time, peak_score=self.peak or None, signals=signals)

    def told(self, alarm: Alarm) -> Alarm:
        """`alarm` has gone out as an event."""
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
        track = cls(Alarm.from_state(state["alarm"]), len(names), 0)
        for k, name in enumerate(names):
            track.first[k] = name in state["first"]
            if name in state["evidence"]:
                track.member[k] = True
                track.evidence[k] = _number(state["evidence"][name])
                track.raw[k] = _number(state["raw"][name])
        for name in COUNTERS:
            setattr(track, name, state[name])
        return track


COUNTERS = (
    "peak",
    "reported",
    "dirty",
    "raised_tick",
    "joined_tick",
    "look_tick",
    "next_look",
    "until_tick",
    "below",
    "lost",
    "problem",
)
"""What a track holds beside its alarm and its arrays; all plain values."""


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
