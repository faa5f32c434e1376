"""`AlarmPolicy`: the life of alarms, and what people may do to them.

Rules
-----
- The score says how much is wrong, the evidence of the signals where. A signal above 1 is *loud*.
- Loud signals raise an alarm, or join the one that is on. An alarm is about the signals in it: it
  is cleared when these have stayed below `clear_below` for `clear_after` ticks.
- An alarm to which no signal has been added for `join_within` ticks is *settled*, and so is one
  that is acknowledged. Others that get loud raise an alarm of their own, so that an alarm stuck on
  one signal hides nothing.
- A direct effect of a member that is loud joins also a settled alarm: with an odd cause, it is no
  event of its own.
- Trouble that comes back is the same trouble: the signals that raised an alarm open it again within
  `merge_within` ticks after clearing, and within as long as it had lasted (at most `merge_hours`).
  Not so where time has gone back in between.
- A tick without a score (warming up, a gap) counts for the windows above and changes nothing else.
  A member without evidence keeps its alarm on, for `lost_after` ticks at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import Clock, format_time
from causewatch.errors import SettingError, UnknownNameError, listing
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents, Event, Remark, likely
from causewatch.monitor.anomaly_alarms import AnomalyAlarms
from causewatch.monitor.book import AlarmBook
from causewatch.monitor.feedback import MARGIN, WIDEST, Feedback, NormalMark
from causewatch.monitor.health import UNLIKE_STATE as UNLIKE
from causewatch.monitor.health_alarms import HealthAlarms
from causewatch.monitor.shelves import Shelf
from causewatch.monitor.tracks import Track

__all__ = ["AlarmPolicy"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

VERSION = 4
"""Of the layout of a snapshot."""
MOST_COMMENTS = 20
"""How many remarks an alarm keeps; the oldest go first."""

NOTHING = AlarmEvents()


class AlarmPolicy:
    """The alarms of one stream: scores raise and clear them, tick by tick, and people act on them.

    Every action of a person returns the events it caused, to be written down as those of a tick
    are. Who did it and when is passed in; nothing here reads a clock.

    Parameters
    ----------
    settings
        When alarms come and go.
    signals
        Names, in the order of the evidence.
    fingerprint
        What identifies the model; with stream and time it makes the ids of alarms.
    stream
        Name of the stream.
    clock
        What times count; only for sentences.
    describe
        Explains an alarm: gets it and gives it back with causes, broken links, headline, and onset
        filled in. Called when an alarm is raised, cleared, or has changed, and then ever more
        rarely. Must not depend on anything that a restored monitor would not know.
    health_only
        Names beside `signals` that have a health but no evidence: columns the model leaves out,
        the stream as a whole.
    effects
        Which signals are direct causes of which others (signals × signals); none if not given.
    """

    def __init__(
        self,
        settings: AlarmSettings,
        signals: Sequence[str],
        fingerprint: str,
        stream: str,
        clock: Clock,
        describe: Callable[[Alarm], Alarm] | None = None,
        health_only: Sequence[str] = (),
        effects: Mask | None = None,
    ) -> None:
        self.signals = tuple(signals)
        names = (*self.signals, *health_only)
        if not self.signals or len(set(names)) < len(names):
            msg = f"The signals are {listing(names)}; at least one is needed, each once."
            raise SettingError(msg)
        self._book = AlarmBook(settings, names, fingerprint, stream, clock, describe)
        self._anomalies = AnomalyAlarms(self._book, effects)
        self._health = HealthAlarms(self._book)
        self._feedback = Feedback(self.signals)
        self._accepted: list[str] = []  # signals whose mechanisms are to be moved

    # What there is

    @property
    def active(self) -> tuple[Alarm, ...]:
        """Every alarm that is on, shelved ones included, oldest first."""
        tracks = sorted(self._book.on, key=lambda track: track.raised_tick)
        return tuple(self._book.now(track) for track in tracks)

    @property
    def recent(self) -> tuple[Alarm, ...]:
        """Cleared alarms still remembered, the last one first."""
        return tuple(self._book.now(track) for track in reversed(self._book.recent))

    @property
    def on(self) -> bool:
        """Whether an anomaly alarm is on that is not shelved."""
        return any(track.alarm.shelved_until is None for track in self._book.anomalies)

    @property
    def factors(self) -> Floats:
        """How many times wider than learnt each limit is; evidence must be divided by it."""
        return self._feedback.factors

    @property
    def marks(self) -> tuple[NormalMark, ...]:
        """What operators said was normal."""
        return self._feedback.marks

    @property
    def shelves(self) -> tuple[Shelf, ...]:
        """What is shelved, the first to expire first."""
        return self._book.shelves.all

    def alarm(self, id: str) -> Alarm:
        """The alarm with this id, on or still remembered."""
        return self._book.now(self._book.find(id))

    # What the monitor says

    def update(
        self,
        time: int,
        score: float | None,
        signals: Floats,
        hold: bool = False,
        raw: Floats | None = None,
    ) -> AlarmEvents:
        """Go on by one tick.

        Parameters
        ----------
        time
            Of the tick, in nanoseconds.
        score
            1.0 is the limit; None or NaN: unknown.
        signals
            Evidence per signal in units of its limit as it is now; NaN: unknown. Its largest entry
            should be the score; where it is not, it is scaled to be.
        hold
            Whether the detector has reason to think that the trouble goes on unseen. No anomaly
            alarm is cleared then.
        raw
            The same in units of the model's limits, where these have been widened or lifted.
        """
        book = self._book
        book.tick += 1
        known = score if score is not None and score == score else None
        busy = book.anomalies or book.health or self._health.pending or self._anomalies.answered
        if not busy and (known is None or known <= 1.0) and time < book.shelves.next_expiry:
            if known is not None:
                self._anomalies.streak = 0
            return NOTHING
        book.begin(time)
        book.expire(time)
        self._health.step()
        if known is not None:
            self._anomalies.step(known, signals, raw, hold)
        return book.end()

    def jump_back(self) -> None:
        """The next tick is not later than the one before: a clock set back, another recording."""
        self._book.jump_back()

    def health(self, time: int, changes: Mapping[str, str | None]) -> None:
        """Take note of signals whose health has changed: what is wrong, or None if nothing is.

        Alarms follow from the next `update` on.
        """
        self._health.note(time, changes)

    def alert(self, time: int, name: str, problem: str, now: int) -> AlarmEvents:
        """Raise a health alarm at once: for what lasts already, while no ticks come to count.

        It is raised once, however often it is called. `time` is that of the last tick, and `now`
        what it would be if ticks came: shelves end by it.
        """
        self._book.begin(time)
        self._book.expire(now)
        self._health.note(time, {name: problem})
        self._health.raise_now(name)
        return self._book.end()

    def release(self, time: int, signal: str) -> AlarmEvents:
        """Take a signal out of its anomaly alarm: what is wrong with it is a matter of its health.

        An alarm with nothing else in it is cleared.
        """
        if signal not in self.signals:
            raise UnknownNameError(signal, "signal", self.signals)
        self._book.begin(time)
        self._anomalies.release(self._book.index[signal])
        return self._book.end()

    # What people do

    def acknowledge(self, id: str, *, by: str, at: int, comment: str = "") -> AlarmEvents:
        """Note who has seen the alarm first; nobody else can, unless it is opened again."""
        track = self._book.find(id)
        remark = _remark(by, at, comment)
        if (first := track.alarm.acknowledged) is not None:
            when = format_time(first.at, self._book.clock)
            msg = f"Alarm {id} was acknowledged by {first.by} already ({when}); comment on it."
            raise SettingError(msg)
        return self._note("acknowledged", [track], remark, acknowledged=remark)

    def comment(self, id: str, *, by: str, at: int, text: str) -> AlarmEvents:
        """Add a remark to the alarm; its text must be readable."""
        if not any(sign.isprintable() for sign in "".join(text.split())):
            msg = "The comment is empty; a comment needs text."
            raise SettingError(msg)
        return self._note("updated", [self._book.find(id)], _remark(by, at, text))

    def shelve(
        self, what: str | Iterable[str], *, until: int, by: str, at: int, comment: str = ""
    ) -> AlarmEvents:
        """Put an alarm (its id) or signals (a collection of names) out of sight for a time.

        Nothing is raised for these signals until then. An alarm still on is then raised again.
        Shelving signals shelves the alarms that are about them alone.
        """
        book = self._book
        if until <= at:
            msg = (
                f"Shelving until {format_time(until, book.clock)} would be over at "
                f"{format_time(at, book.clock)}; give a later time."
            )
            raise SettingError(msg)
        remark = _remark(by, at, comment)
        if isinstance(what, str):
            tracks = [book.find(what)]
        else:
            names = self._known(what)
            book.shelves.add(Shelf(names, until, by, at))
            tracks = self._about(names)
        for track in tracks:
            members = tuple(self._members(track))
            book.shelves.add(Shelf(members, until, by, at, track.alarm.kind, track.alarm.id))
        return self._note("shelved", tracks, remark, shelved_until=until)

    def unshelve(self, what: str | Iterable[str], *, at: int) -> AlarmEvents:
        """Take an alarm (its id) or signals (a collection of names) off the shelf.

        Alarms still on are raised again, under their own id.
        """
        book, shelves = self._book, self._book.shelves
        if isinstance(what, str):
            if what not in shelves.alarms:
                raise UnknownNameError(what, "shelved alarm", shelves.alarms)
            shelves.remove_alarm(what)
            tracks = [track for track in (*book.on, *book.recent) if track.alarm.id == what]
        else:
            names, shelved = self._known(what), shelves.signals
            for name in names:
                if name not in shelved:
                    raise UnknownNameError(name, "shelved signal", shelved)
            shelves.remove_signals(names)
            tracks = self._about(names)
            for track in tracks:
                shelves.remove_alarm(track.alarm.id)
        book.begin(at)
        for track in tracks:
            if track.alarm.shelved_until is not None:
                book.tell_unshelved(track)
        return book.end()

    def accept(self, id: str, *, by: str, at: int, comment: str = "") -> AlarmEvents:
        """Accept a signal as it is now: clears the finding that it is no longer as learnt.

        The mechanism of the signal moves to where it is; `take_accepted` hands it to the monitor.
        """
        track = self._book.find(id)
        if track.problem != UNLIKE or not track.alarm.on:
            msg = (
                f"Alarm {id} does not say that a signal is no longer as learnt; only that can be"
                " accepted."
            )
            raise SettingError(msg)
        remark = _remark(by, at, comment)
        self._accepted += self._members(track)
        return self._clear(track, remark)

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
        """Mark an alarm as normal: widens limits, and clears the alarm if it is on.

        Each limit becomes `MARGIN` times the largest value its signal has reached in the alarm, at
        most `WIDEST` times the learnt one.
        They are those of `signals`, or else of the causes that the alarm names, and of no others.
        Without `signals` it is the event that was normal: until it is over, none of the alarm's
        signals raises another one, unless it gets louder than it was. `undo_normal` takes it back.
        """
        track = self._book.find(id)
        places = self._concerned(track, signals)
        wider = np.clip(np.nan_to_num(MARGIN * track.raw), 1.0, WIDEST)
        factors = {self._book.names[k]: float(wider[k]) for k in places}
        remark = _remark(by, at, comment)
        before = self.factors
        self._feedback.add(NormalMark(id, by, at, factors))
        if signals is None and track.alarm.on:
            self._anomalies.answer(track, self.factors / before)
        return self._clear(track, remark, normal=True)

    def undo_normal(self, id: str, *, by: str, at: int, comment: str = "") -> AlarmEvents:
        """Take `mark_normal` back: the limits are as they were without it.

        No event if the alarm itself has been forgotten in the meantime.
        """
        remark = _remark(by, at, comment)
        marked = [mark.alarm for mark in self.marks]
        if id not in marked:
            raise UnknownNameError(id, "alarm marked as normal", marked)
        self._feedback.remove(id)
        self._anomalies.take_back(id)
        tracks = [track for track in self._book.recent if track.alarm.id == id]
        return self._note("updated", tracks, remark, normal=False)

    def retire(self, names: Sequence[str], *, by: str, at: int) -> AlarmEvents:
        """Leave signals alone that nobody watches any longer.

        Alarms about nothing else are cleared; shelves and marks are those of the other signals.
        """
        gone = set(names)
        for name in names:
            self._health.pending.pop(name, None)
        self._feedback.forget(gone)
        remark = _remark(by, at, "Its signals are watched no longer.")
        book, ended = self._book, []
        for track in book.on:
            left = [name for name in self._members(track) if name not in gone]
            if not left:
                ended.append(track)
            for name in () if not left else gone & set(self._members(track)):
                track.leave(book.index[name])
        book.shelves.forget(gone)
        self._accepted = [name for name in self._accepted if name not in gone]
        book.begin(at)
        for track in ended:
            book.shelves.remove_alarm(track.alarm.id)
            comments = _with(track.alarm.comments, remark)
            book.close(track, comments=comments, shelved_until=None)
        return book.end()

    def _note(
        self, event: Event, tracks: Iterable[Track], remark: Remark, **changes: Any
    ) -> AlarmEvents:
        """Change alarms as a person says; nothing is described anew."""
        self._book.begin(remark.at)
        for track in tracks:
            comments = _with(track.alarm.comments, remark)
            self._book.note(event, track, comments=comments, **changes)
        return self._book.end()

    def _clear(self, track: Track, remark: Remark, **changes: Any) -> AlarmEvents:
        """Clear an alarm that a person has dealt with, if it is on, and take it off the shelf."""
        self._book.shelves.remove_alarm(track.alarm.id)
        changes |= {
            "acknowledged": track.alarm.acknowledged or remark,  # the first who saw it
            "shelved_until": None,
        }
        if not track.alarm.on:
            return self._note("updated", [track], remark, **changes)
        self._book.begin(remark.at)
        comments = _with(track.alarm.comments, remark)
        self._book.close(track, comments=comments, **changes)
        return self._book.end()

    def _concerned(self, track: Track, signals: Iterable[str] | None) -> list[int]:
        """Signals of an alarm whose limits are to be widened."""
        id, index = track.alarm.id, self._book.index
        known = np.flatnonzero(track.raw > 0).tolist()
        if not known:
            msg = f"Alarm {id} has no evidence whose limit could be widened; shelve it instead."
            raise SettingError(msg)
        names = [self._book.names[k] for k in known]
        if signals is not None:
            wanted = self._known(signals)
            for name in wanted:
                if name not in names:
                    raise UnknownNameError(name, f"signal of alarm {id}", names)
            return [index[name] for name in wanted]
        causes = {cause.signal for cause in likely(track.alarm.causes)}
        places = [k for k, name in zip(known, names, strict=True) if name in causes]
        return places or [max(known, key=lambda k: float(track.raw[k]))]

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        """`names`, each once, if all are signals."""
        unique = tuple(dict.fromkeys(names))
        if not unique:
            msg = "No signal was named; name at least one."
            raise SettingError(msg)
        for name in unique:
            if name not in self._book.index:
                raise UnknownNameError(name, "signal", self._book.names)
        return unique

    def _members(self, track: Track) -> list[str]:
        return [self._book.names[k] for k in np.flatnonzero(track.member).tolist()]

    def _about(self, names: Iterable[str]) -> list[Track]:
        """Alarms that are on and about no other signals than these."""
        return [track for track in self._book.on if set(self._members(track)) <= set(names)]

    # State

    def snapshot(self) -> dict[str, Any]:
        """Everything as plain values (JSON), so that `restore` goes on exactly from here."""
        return {
            **self._identity(),
            **self._anomalies.snapshot(),
            **self._health.snapshot(),
            **self._book.snapshot(),
            "marks": self._feedback.snapshot(),
            "accepted": list(self._accepted),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `snapshot` of the same model and stream."""
        for name, value in self._identity().items():
            if name not in state or state[name] != value:
                msg = (
                    f"The alarm state has another {name} than this monitor; "
                    "start with a state of the same model and stream, or without one."
                )
                raise SettingError(msg)
        self._book.restore(state)
        self._anomalies.restore(state)
        self._health.restore(state)
        self._feedback.restore(state["marks"])
        self._accepted = list(state["accepted"])

    def _identity(self) -> dict[str, Any]:
        """What a state must have in common with this policy."""
        return {
            "version": VERSION,
            "fingerprint": self._book.fingerprint,
            "stream": self._book.stream,
            "signals": list(self._book.names),
        }


def _remark(by: str, at: int, text: str) -> Remark:
    if not by.strip():
        msg = "The name of the person is empty; say who it was."
        raise SettingError(msg)
    return Remark(by, at, text)


def _with(comments: tuple[Remark, ...], remark: Remark) -> tuple[Remark, ...]:
    return (*comments, remark)[-MOST_COMMENTS:] if remark.text else comments
