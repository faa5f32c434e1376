"""What people may do to alarms: acknowledge, comment, shelve, and say that this was normal.

Every action returns the events it caused, to be written down as those of a tick are. Who did it and
when is passed in; nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from causewatch.data.table import format_time
from causewatch.errors import SettingError, UnknownNameError
from causewatch.monitor.alarms import AlarmEvents, Event, Remark
from causewatch.monitor.book import AlarmBook, Told
from causewatch.monitor.feedback import MARGIN, WIDEST, NormalMark
from causewatch.monitor.health import UNLIKE_STATE as UNLIKE
from causewatch.monitor.shelves import Shelf
from causewatch.monitor.tracks import Track

__all__ = ["AlarmDesk"]

MOST_COMMENTS = 20
"""How many remarks an alarm keeps; the oldest go first."""


class AlarmDesk(AlarmBook):
    """The alarms of one stream, open to people."""

    def acknowledge(self, id: str, *, by: str, at: int, comment: str = "") -> AlarmEvents:
        """Somebody has seen the alarm; the first who says so counts, until it is opened again."""
        track = self._find(id)
        remark = Remark(_person(by), at, comment)
        if (first := track.alarm.acknowledged) is not None:
            when = format_time(first.at, self._clock)
            msg = f"Alarm {id} was acknowledged by {first.by} already ({when}); comment on it."
            raise SettingError(msg)
        return self._act("acknowledged", track, at, remark, acknowledged=remark)

    def comment(self, id: str, *, by: str, at: int, text: str) -> AlarmEvents:
        """Add a remark to the alarm; one that nobody could read is none."""
        if not any(sign.isprintable() for sign in "".join(text.split())):
            msg = "The comment is empty; a comment needs text."
            raise SettingError(msg)
        return self._act("updated", self._find(id), at, Remark(_person(by), at, text))

    def shelve(
        self, what: str | Iterable[str], *, until: int, by: str, at: int, comment: str = ""
    ) -> AlarmEvents:
        """Put an alarm (its id) or signals (a collection of names) out of sight for a time.

        Nothing is raised for these signals until then. An alarm still on is then raised again.
        Shelving signals shelves the alarms that are about them alone.
        """
        if until <= at:
            msg = (
                f"Shelving until {format_time(until, self._clock)} would be over at "
                f"{format_time(at, self._clock)}; give a later time."
            )
            raise SettingError(msg)
        remark = Remark(_person(by), at, comment)
        if isinstance(what, str):
            tracks = [self._find(what)]
        else:
            names = self._known(what)
            self._shelves.add(Shelf(names, until, by, at))
            tracks = self._about(names)
        told: Told = []
        for track in tracks:
            alarm = track.alarm
            members = tuple(self._names[k] for k in np.flatnonzero(track.member))
            self._shelves.add(Shelf(members, until, by, at, alarm.kind, alarm.id))
            told += self._act("shelved", track, at, remark, shelved_until=until)
        return AlarmEvents.of(told)

    def unshelve(self, what: str | Iterable[str], *, at: int) -> AlarmEvents:
        """Take an alarm (its id) or signals (a collection of names) off the shelf.

        Alarms still on are raised again, under their own id.
        """
        if isinstance(what, str):
            if not self._shelves.remove_alarm(what):
                raise UnknownNameError(what, "shelved alarm", self._shelves.alarms)
            known = (*self._tracks(), *self._recent)
            tracks = [track for track in known if track.alarm.id == what]
        else:
            names, shelved = self._known(what), self._shelves.signals
            for name in names:
                if name not in shelved:
                    raise UnknownNameError(name, "shelved signal", shelved)
            self._shelves.remove_signals(names)
            tracks = self._about(names)
            for track in tracks:
                self._shelves.remove_alarm(track.alarm.id)
        told: Told = []
        for track in tracks:
            if track.alarm.shelved_until is not None:
                self._unshelved(track, at, told)
        return AlarmEvents.of(told)

    def accept(self, id: str, *, by: str, at: int, comment: str = "") -> AlarmEvents:
        """Somebody says that a signal is right as it is now: the finding is answered.

        The mechanism of the signal moves to where it is; `take_accepted` hands it to the monitor.
        """
        track = self._find(id)
        if track.problem != UNLIKE or not track.alarm.on:
            msg = (
                f"Alarm {id} does not say that a signal is no longer as learnt; only that can be"
                " accepted."
            )
            raise SettingError(msg)
        remark = Remark(_person(by), at, comment)
        self._accepted += [self._names[k] for k in np.flatnonzero(track.member).tolist()]
        self._forget(track)
        self._shelves.remove_alarm(id)
        told: Told = []
        changes: dict[str, Any] = {"acknowledged": track.alarm.acknowledged or remark}
        if comment:
            changes["comments"] = _with(track.alarm.comments, remark)
        self._tell("cleared", track, at, told, cleared_at=at, shelved_until=None, **changes)
        return AlarmEvents.of(told)

    def take_accepted(self) -> list[str]:
        """Signals that were accepted since the last call."""
        accepted, self._accepted = self._accepted, []
        return accepted

    def mark_normal(
        self,
        id: str,
        *,
        by: str,
        at: int,
        comment: str = "",
        signals: Iterable[str] | None = None,
    ) -> AlarmEvents:
        """Somebody says that this was normal: widen limits.

        Each limit becomes `MARGIN` times the largest value its signal has reached in the alarm, at
        most `WIDEST` times the learnt one.
        They are those of `signals`, or else of the causes that the alarm names, and of no others.
        An alarm that is on is cleared. `undo_normal` takes it back.
        """
        track = self._find(id)
        places = self._concerned(track, signals)
        wider = np.clip(np.nan_to_num(MARGIN * track.raw), 1.0, WIDEST)
        factors = {self._names[k]: float(wider[k]) for k in places}
        remark = Remark(_person(by), at, comment)
        self._feedback.add(NormalMark(id, by, at, factors))
        self._shelves.remove_alarm(id)
        seen = track.alarm.acknowledged or remark  # who was the first to see it stays so
        changes: dict[str, Any] = {"normal": True, "acknowledged": seen, "shelved_until": None}
        if track.alarm.on:
            told: Told = []
            self._forget(track)
            changes["comments"] = _with(track.alarm.comments, remark)
            self._tell("cleared", track, at, told, cleared_at=at, **changes)
            return AlarmEvents.of(told)
        return self._act("updated", track, at, remark, **changes)

    def _concerned(self, track: Track, signals: Iterable[str] | None) -> list[int]:
        """Signals of an alarm whose limits are to be widened."""
        id, known = track.alarm.id, np.flatnonzero(track.raw > 0).tolist()
        if not known:
            msg = f"Alarm {id} has no evidence whose limit could be widened; shelve it instead."
            raise SettingError(msg)
        if signals is not None:
            places = [self._index[name] for name in self._known(signals)]
            for k in places:
                if k not in known:
                    raise UnknownNameError(
                        self._names[k], f"signal of alarm {id}", [self._names[k] for k in known]
                    )
            return places
        named = {cause.signal for cause in track.alarm.causes}
        places = [k for k in known if self._names[k] in named]
        return places or [max(known, key=lambda k: float(track.raw[k]))]

    def undo_normal(self, id: str, *, by: str, at: int, comment: str = "") -> AlarmEvents:
        """Take `mark_normal` back: the limits are as they were without it.

        No event if the alarm itself has been forgotten in the meantime.
        """
        remark = Remark(_person(by), at, comment)
        if not self._feedback.remove(id):
            names = [mark.alarm for mark in self.marks]
            raise UnknownNameError(id, "alarm marked as normal", names)
        for track in self._recent:
            if track.alarm.id == id:
                return self._act("updated", track, at, remark, normal=False)
        return AlarmEvents()

    def _act(
        self, event: Event, track: Track, at: int, remark: Remark, **changes: Any
    ) -> AlarmEvents:
        """An event made by a person: nothing is described anew, so news is still to be told."""
        if remark.text:
            changes["comments"] = _with(track.alarm.comments, remark)
        track.alarm = replace(track.picture(self._names, at), **changes)
        return AlarmEvents.of([(event, track.alarm)])

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        """`names`, each once, if all are signals."""
        found = tuple(dict.fromkeys(names))
        if not found:
            msg = "No signal was named; name at least one."
            raise SettingError(msg)
        for name in found:
            if name not in self._index:
                raise UnknownNameError(name, "signal", self._names)
        return found

    def _about(self, names: Iterable[str]) -> list[Track]:
        """Alarms that are on and about no other signals than these."""
        inside = np.zeros(len(self._names), dtype=np.bool_)
        inside[[self._index[name] for name in names]] = True
        return [track for track in self._tracks() if not (track.member & ~inside).any()]


def _person(name: str) -> str:
    if not name.strip():
        msg = "The name of the person is empty; say who it was."
        raise SettingError(msg)
    return name


def _with(comments: tuple[Remark, ...], remark: Remark) -> tuple[Remark, ...]:
    return (*comments, remark)[-MOST_COMMENTS:] if remark.text else comments
