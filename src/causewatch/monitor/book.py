"""The alarms of one stream: which are on or remembered, and how events about them are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import Clock, format_time
from causewatch.errors import UnknownNameError, listing
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents, Event, Kind, alarm_id
from causewatch.monitor.shelves import Shelves
from causewatch.monitor.tracks import Track

__all__ = ["AlarmBook"]

HOUR = 3600 * 1_000_000_000


class AlarmBook:
    """The alarms of one stream.

    What happens at a tick, or by one action of a person, is a *step*: `begin` says when it is,
    `tell` collects events, and `end` gives them. The parameters are those of `AlarmPolicy`.
    """

    def __init__(
        self,
        settings: AlarmSettings,
        names: Sequence[str],
        fingerprint: str,
        stream: str,
        clock: Clock,
        describe: Callable[[Alarm], Alarm] | None,
    ) -> None:
        self.settings = settings
        self.names = tuple(names)  # the order of all arrays
        self.index = {name: k for k, name in enumerate(names)}
        self.fingerprint, self.stream, self.clock = fingerprint, stream, clock
        self._describe = describe
        self.tick = 0  # ticks so far
        self.jumps = 0  # how often time has gone back
        self.jump_tick = -1  # the last tick before it did so last
        self.anomalies: list[Track] = []  # oldest first, as are the others
        self.health: dict[str, Track] = {}
        self.recent: list[Track] = []
        self.shelves = Shelves(self.names)
        self.begin(0)

    @property
    def on(self) -> list[Track]:
        """Alarms that are on."""
        return [*self.anomalies, *self.health.values()]

    def now(self, track: Track) -> Alarm:
        """The alarm as it is now, as of its last event."""
        return track.picture(self.names, track.alarm.updated_at)

    def find(self, id: str) -> Track:
        """The alarm with this id, on or still remembered."""
        known = [*self.on, *reversed(self.recent)]
        for track in known:
            if track.alarm.id == id:
                return track
        raise UnknownNameError(id, "alarm", [track.alarm.id for track in known])

    def snapshot(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "tick": self.tick,
            "jumps": self.jumps,
            "jump_tick": self.jump_tick,
            "anomalies": [track.snapshot(self.names) for track in self.anomalies],
            "health": {name: track.snapshot(self.names) for name, track in self.health.items()},
            "recent": [track.remembered(self.names) for track in self.recent],
            "shelves": self.shelves.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `snapshot`."""
        self.tick = int(state["tick"])
        self.jumps = int(state.get("jumps", 0))  # states of before have neither
        self.jump_tick = int(state.get("jump_tick", -1))
        self.anomalies = [Track.restored(track, self.names) for track in state["anomalies"]]
        self.health = {
            name: Track.restored(track, self.names) for name, track in state["health"].items()
        }
        self.recent = [Track.restored(json.loads(text), self.names) for text in state["recent"]]
        self.shelves.restore(state["shelves"])

    # Steps

    def jump_back(self) -> None:
        """Time goes back: what has ended before it is not opened again, and moments come again."""
        self.jumps += 1
        self.jump_tick = self.tick

    def begin(self, time: int) -> None:
        """Begin a step at `time`."""
        self.time = int(time)  # a number of numpy's would not go into JSON
        self._events: list[tuple[Event, Alarm]] = []
        self._back: list[Track] = []

    def expire(self, now: int) -> None:
        """End the shelves that are over; `end` adds events about the alarms that were on them."""
        if now < self.shelves.next_expiry:
            return
        self.shelves.expire(now)
        for track in (*self.on, *self.recent):
            until = track.alarm.shelved_until
            if until is not None and until <= now:
                track.alarm = replace(track.alarm, shelved_until=None)
                self._back.append(track)

    def tell(self, event: Event, track: Track, **changes: Any) -> None:
        """Add an event with the picture of now, described anew."""
        alarm = replace(track.picture(self.names, self.time), **changes)
        self._events.append((event, track.note_event(self._described(alarm, track))))

    def tell_if_new(self, track: Track) -> None:
        """Describe an alarm anew, and tell of it if something has changed."""
        alarm = self._described(track.picture(self.names, self.time), track)
        if track.dirty or _gist(alarm) != _gist(track.alarm):
            self._events.append(("updated", track.note_event(alarm)))

    def note(self, event: Event, track: Track, **changes: Any) -> None:
        """Add an event with the picture of now, without describing it anew."""
        track.alarm = replace(track.picture(self.names, self.time), **changes)
        self._events.append((event, track.alarm))

    def tell_unshelved(self, track: Track) -> None:
        """Tell that an alarm is off the shelf: raised again if it is still on."""
        if track.alarm.on:
            self.tell("raised", track, shelved_until=None)
        else:
            track.alarm = replace(track.alarm, updated_at=self.time, shelved_until=None)
            # Its ticks, which a state does not keep of what is over, went with the other events.
            self._events.append(("updated", replace(track.alarm, course=None)))

    def end(self) -> AlarmEvents:
        """End the step and return its events."""
        for track in self._back:
            others = [event for event in self._events if event[1].id != track.alarm.id]
            if track.alarm.on or len(others) == len(self._events):  # not cleared just now
                self._events = others  # one event is enough
                self.tell_unshelved(track)
        return AlarmEvents.of(self._events)

    # Beginning and end of an alarm

    def open(
        self, kind: Kind, which: NDArray[np.bool_], onset: int, signal: str = ""
    ) -> tuple[Event, Track]:
        """Open the alarm that signals raise: the one cleared a moment ago, or a new one.

        The event is for the caller to tell. `signal` is part of the id of a health alarm.
        """
        for track in reversed(self.recent):
            alarm = track.alarm
            same = alarm.kind == kind and not alarm.normal and (track.first & which).any()
            if same and self._soon(track):
                self.recent = [other for other in self.recent if other is not track]
                track.alarm = replace(
                    alarm,
                    cleared_at=None,
                    shelved_until=None,
                    acknowledged=None,
                    merged=alarm.merged + 1,
                )
                track.below = track.lost = 0
                return "updated", track
        id = alarm_id(self.fingerprint, self.stream, self.time, signal, self.jumps)
        alarm = Alarm(id, kind, raised_at=self.time, onset=onset, updated_at=self.time)
        track = Track.new(alarm, len(self.names), self.tick)
        track.member |= which
        track.first |= which
        return "raised", track

    def _soon(self, track: Track) -> bool:
        """Whether an alarm was cleared so lately that trouble of its signals is the same."""
        if track.until_tick <= self.jump_tick:
            return False
        if self.tick - track.until_tick <= self.settings.merge_within:
            return True
        cleared = track.alarm.cleared_at or 0
        lasted = cleared - track.alarm.raised_at
        return 0 <= self.time - cleared <= min(lasted, self.settings.merge_hours * HOUR)

    def close(self, track: Track, **changes: Any) -> None:
        """Clear an alarm; it is remembered for a while."""
        if track.alarm.kind == "anomaly":
            self.anomalies = [other for other in self.anomalies if other is not track]
        else:
            self.health = {name: other for name, other in self.health.items() if other is not track}
            track.problem = None
        track.until_tick = self.tick
        self.recent = [*self.recent, track][-self.settings.remember :]
        self.tell("cleared", track, cleared_at=self.time, **changes)

    # Descriptions

    def _described(self, alarm: Alarm, track: Track) -> Alarm:
        """`alarm` with its explanation. Nothing else is taken over from `describe`."""
        track.look_tick = self.tick
        # Looks that nothing has called for become rarer the longer the alarm lasts.
        age = self.tick - track.raised_tick
        track.next_look = self.tick + max(self.settings.update_every, age)
        if self._describe is None:
            return replace(alarm, headline=self._headline(alarm))
        described = self._describe(alarm)
        return replace(
            alarm,
            onset=min(described.onset, alarm.raised_at),
            causes=described.causes,
            broken_links=described.broken_links,
            headline=described.headline or self._headline(alarm),
            abstained=described.abstained,
            course=described.course,
            model=described.model,
        )

    def _headline(self, alarm: Alarm) -> str:
        """A sentence for an alarm that nobody explains."""
        names = listing(alarm.signals, most=3)
        if alarm.kind == "health":
            return f"{names}: {alarm.problem}"
        return f"{names} above the limit since {format_time(alarm.onset, self.clock)}"


def _gist(alarm: Alarm) -> tuple[object, ...]:
    """What of an explanation is worth an update when it changes."""
    return (*(cause.signal for cause in alarm.causes[:3]), alarm.abstained)
