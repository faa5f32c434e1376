"""The alarms of one stream: which there are, how they are told and described, and their state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import Clock, format_time
from causewatch.errors import SettingError, UnknownNameError, listing
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, Event
from causewatch.monitor.feedback import Feedback, NormalMark
from causewatch.monitor.shelves import Shelf, Shelves
from causewatch.monitor.tracks import Track

__all__ = ["AlarmBook", "Pending", "Told"]

VERSION = 3
"""Of the layout of a snapshot."""

Told = list[tuple[Event, Alarm]]
"""What has happened so far in a step."""


@dataclass(slots=True)
class Pending:
    """A health problem that has not lasted long enough for an alarm."""

    problem: str
    onset: int
    ticks: int = 0


class AlarmBook:
    """See `causewatch.monitor.policy.AlarmPolicy`, which has the parameters."""

    def __init__(
        self,
        settings: AlarmSettings,
        signals: Sequence[str],
        fingerprint: str,
        stream: str,
        clock: Clock,
        describe: Callable[[Alarm], Alarm] | None = None,
        health_only: Sequence[str] = (),
        effects: NDArray[np.bool_] | None = None,
    ) -> None:
        self.settings = settings
        self.signals = tuple(signals)
        self._names = (*self.signals, *health_only)  # the order of all arrays in here
        if not self.signals or len(set(self._names)) < len(self._names):
            msg = f"The signals are {listing(self._names)}; at least one is needed, each once."
            raise SettingError(msg)
        self._fingerprint, self._stream, self._clock = fingerprint, stream, clock
        self._describe = describe
        self._effects = None
        if effects is not None:
            beside = len(health_only)
            self._effects = np.pad(effects, (0, beside))
        self._index = {name: k for k, name in enumerate(self._names)}
        self._tick = 0  # ticks so far
        self._streak = 0  # ticks in a row that speak for a new alarm
        self._onset = 0  # time of the first of them
        self._anomalies: list[Track] = []  # oldest first, as are the others
        self._health: dict[str, Track] = {}
        self._pending: dict[str, Pending] = {}
        self._recent: list[Track] = []
        self._accepted: list[str] = []  # signals whose mechanisms are to be moved
        self._shelves = Shelves(self._names)
        self._feedback = Feedback(self.signals)

    # What there is

    @property
    def active(self) -> tuple[Alarm, ...]:
        """Every alarm that is on, shelved ones included, oldest first."""
        tracks = sorted(
            [*self._anomalies, *self._health.values()], key=lambda track: track.raised_tick
        )
        return tuple(self._now(track) for track in tracks)

    @property
    def recent(self) -> tuple[Alarm, ...]:
        """Cleared alarms still remembered, the last one first."""
        return tuple(self._now(track) for track in reversed(self._recent))

    @property
    def on(self) -> bool:
        """Whether an anomaly alarm is on that is not shelved."""
        return any(track.alarm.shelved_until is None for track in self._anomalies)

    @property
    def factors(self) -> NDArray[np.float64]:
        """How many times wider than learnt each limit is; evidence must be divided by it."""
        return self._feedback.factors

    @property
    def marks(self) -> tuple[NormalMark, ...]:
        """What operators said was normal."""
        return self._feedback.marks

    @property
    def shelves(self) -> tuple[Shelf, ...]:
        """What is shelved, the first to expire first."""
        return self._shelves.all

    def alarm(self, id: str) -> Alarm:
        """The alarm with this id, on or still remembered."""
        return self._now(self._find(id))

    # State

    def snapshot(self) -> dict[str, Any]:
        """Everything as plain values (JSON), so that `restore` goes on exactly from here."""
        return {
            "version": VERSION,
            "fingerprint": self._fingerprint,
            "stream": self._stream,
            "signals": list(self._names),
            "tick": self._tick,
            "streak": self._streak,
            "onset": self._onset,
            "anomalies": [track.snapshot(self._names) for track in self._anomalies],
            "health": {name: one.snapshot(self._names) for name, one in self._health.items()},
            "pending": {
                name: [one.problem, one.onset, one.ticks] for name, one in self._pending.items()
            },
            "recent": [track.remembered(self._names) for track in self._recent],
            "shelves": self._shelves.snapshot(),
            "marks": self._feedback.snapshot(),
            "accepted": list(self._accepted),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `snapshot` of the same model and stream."""
        mine = {
            "version": VERSION,
            "fingerprint": self._fingerprint,
            "stream": self._stream,
            "signals": list(self._names),
        }
        for name, value in mine.items():
            if name not in state or state[name] != value:
                msg = (
                    f"The alarm state has another {name} than this monitor; "
                    "start with a state of the same model and stream, or without one."
                )
                raise SettingError(msg)
        shelves, feedback = Shelves(self._names), Feedback(self.signals)
        try:
            counters = [int(state[name]) for name in ("tick", "streak", "onset")]
            anomalies = [Track.restored(one, self._names) for one in state["anomalies"]]
            health = {
                name: Track.restored(one, self._names) for name, one in state["health"].items()
            }
            pending = {name: Pending(*one) for name, one in state["pending"].items()}
            recent = [Track.restored(json.loads(one), self._names) for one in state["recent"]]
            shelves.restore(state["shelves"])
            feedback.restore(state["marks"])
            accepted = [str(name) for name in state["accepted"]]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            msg = f"The alarm state is damaged ({error!r}); start with another one, or without."
            raise SettingError(msg) from error
        self._tick, self._streak, self._onset = counters
        self._anomalies, self._health, self._pending = anomalies, health, pending
        self._recent, self._shelves, self._feedback = recent, shelves, feedback
        self._accepted = accepted

    # For those who build on this

    def _tracks(self) -> list[Track]:
        return [*self._anomalies, *self._health.values()]

    def _now(self, track: Track) -> Alarm:
        return track.picture(self._names, track.alarm.updated_at)

    def _find(self, id: str) -> Track:
        known = [*self._tracks(), *reversed(self._recent)]
        for track in known:
            if track.alarm.id == id:
                return track
        raise UnknownNameError(id, "alarm", [track.alarm.id for track in known])

    def _forget(self, track: Track) -> None:
        """Move a track from those that are on to the remembered ones."""
        if track.alarm.kind == "anomaly":
            self._anomalies = [one for one in self._anomalies if one is not track]
        else:
            self._health = {name: one for name, one in self._health.items() if one is not track}
            track.problem = None
        track.until_tick = self._tick
        self._recent = [*self._recent, track][-self.settings.remember :]

    def _tell(self, event: Event, track: Track, time: int, told: Told, **changes: Any) -> None:
        """An event with the picture of now, described anew."""
        alarm = self._described(replace(track.picture(self._names, time), **changes), track)
        told.append((event, track.told(alarm)))

    def _unshelved(self, track: Track, time: int, told: Told) -> None:
        """An alarm is off the shelf: raised again if it is still on."""
        if track.alarm.on:
            self._tell("raised", track, time, told, shelved_until=None)
        else:
            track.alarm = replace(track.alarm, updated_at=time, shelved_until=None)
            # Its ticks, which a state does not keep of what is over, went with the other events.
            told.append(("updated", replace(track.alarm, course=None)))

    def _described(self, alarm: Alarm, track: Track) -> Alarm:
        """`alarm` with its explanation. Nothing else is taken over from `describe`."""
        track.look_tick = self._tick
        # Looks that nothing has called for become rarer the longer the alarm lasts.
        age = self._tick - track.raised_tick
        track.next_look = self._tick + max(self.settings.update_every, age)
        if self._describe is None:
            return replace(alarm, headline=self._headline(alarm))
        found = self._describe(alarm)
        return replace(
            alarm,
            onset=min(found.onset, alarm.raised_at),
            causes=found.causes,
            broken_links=found.broken_links,
            headline=found.headline or self._headline(alarm),
            abstained=found.abstained,
            course=found.course,
            model=found.model,
        )

    def _headline(self, alarm: Alarm) -> str:
        """A sentence for an alarm that nobody explains."""
        names = listing(alarm.signals, most=3)
        if alarm.kind == "health":
            return f"{names}: {alarm.problem}"
        return f"{names} above the limit since {format_time(alarm.onset, self._clock)}"
