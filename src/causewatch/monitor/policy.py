"""The life of alarms: when they are raised, updated, cleared, merged and turned into others.

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
- A tick without a score (warming up, a gap) counts for the windows above and changes nothing else.
  A member without evidence keeps its alarm on, for `lost_after` ticks at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import UnknownNameError
from causewatch.monitor.alarms import Alarm, AlarmEvents, Event, Kind, alarm_id
from causewatch.monitor.book import Pending, Told
from causewatch.monitor.desk import AlarmDesk
from causewatch.monitor.tracks import Track

__all__ = ["AlarmPolicy"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

HOUR = 3600 * 1_000_000_000
LARGEST = 1e9
"""Scores and evidence are cut here: infinity is no number to remember."""

NOTHING = AlarmEvents()


class AlarmPolicy(AlarmDesk):
    """Turns scores into alarms, tick by tick, for one stream.

    What people do to alarms (`acknowledge`, `shelve`, `mark_normal` …) is described in `AlarmDesk`.

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
        self._tick += 1
        known = score is not None and score == score
        quiet = not known or score <= 1.0  # type: ignore[operator]
        if (
            quiet
            and not self._anomalies
            and not self._health
            and not self._pending
            and time < self._shelves.next_expiry
        ):
            if known:
                self._streak = 0
            return NOTHING
        time = int(time)  # a number of numpy's would not go into JSON
        told: Told = []
        back = self._expire(time) if time >= self._shelves.next_expiry else []
        if self._health or self._pending:
            self._check_health(time, told)
        if score is not None and known and not (quiet and not self._anomalies):
            self._check_anomalies(time, min(max(score, 0.0), LARGEST), signals, raw, hold, told)
        elif known:
            self._streak = 0
        self._tell_again(back, time, told)
        return AlarmEvents.of(told) if told else NOTHING

    def health(self, time: int, changes: Mapping[str, str | None]) -> None:
        """Take note of signals whose health has changed: what is wrong, or None if nothing is.

        Alarms follow from the next `update` on: raised once the problem has lasted `health_after`
        ticks, cleared once the signal has been well for `clear_after` ticks.
        """
        for name, problem in changes.items():
            if name not in self._index:
                raise UnknownNameError(name, "signal", self._names)
            if name in self._health:
                self._health[name].problem = problem
            elif problem is None:
                self._pending.pop(name, None)
            elif name in self._pending:
                self._pending[name].problem = problem
            else:
                self._pending[name] = Pending(problem, int(time))

    def alert(self, time: int, name: str, problem: str, now: int) -> AlarmEvents:
        """Raise a health alarm at once: for what lasts already, while no ticks come to count.

        It is raised once, however often it is called. `time` is that of the last tick, and `now`
        what it would be if ticks came: shelves end by it.
        """
        time, told = int(time), Told()
        back = self._expire(now) if now >= self._shelves.next_expiry else []
        self.health(time, {name: problem})
        track = self._health.get(name)
        if track is not None:
            if problem != track.alarm.problem and track.alarm.shelved_until is None:
                self._tell("updated", track, time, told, problem=problem)
        elif not self._shelves.muted["health"][self._index[name]]:
            self._raise_health(time, name, told)
        self._tell_again(back, time, told)
        return AlarmEvents.of(told)

    def release(self, time: int, signal: str) -> AlarmEvents:
        """Take a signal out of its anomaly alarm: what is wrong with it is a matter of its health.

        An alarm with nothing else in it is cleared.
        """
        if signal not in self.signals:
            raise UnknownNameError(signal, "signal", self.signals)
        k, told = self._index[signal], Told()
        for track in [track for track in self._anomalies if track.member[k]]:
            if track.member.sum() == 1:
                self._close(track, int(time), told)
            else:
                track.leave(k)
        return AlarmEvents.of(told)

    # Shelves and health

    def _expire(self, time: int) -> list[Track]:
        """End the shelves that are over; the alarms that were on them."""
        self._shelves.expire(time)
        back = []
        for track in (*self._tracks(), *self._recent):
            until = track.alarm.shelved_until
            if until is not None and until <= time:
                track.alarm = replace(track.alarm, shelved_until=None)
                back.append(track)
        return back

    def _tell_again(self, back: list[Track], time: int, told: Told) -> None:
        """Tell of what was on a shelf, unless it has just been cleared."""
        for track in back:
            if track.alarm.on or all(one[1].id != track.alarm.id for one in told):
                told[:] = [
                    one for one in told if one[1].id != track.alarm.id
                ]  # one event is enough
                self._unshelved(track, time, told)

    def _check_health(self, time: int, told: Told) -> None:
        rules = self.settings
        for track in list(self._health.values()):
            if track.problem is None:
                track.below += 1
                if track.below >= rules.clear_after:
                    self._close(track, time, told)
            else:
                track.below = 0
                if track.problem != track.alarm.problem and track.alarm.shelved_until is None:
                    self._tell("updated", track, time, told, problem=track.problem)
        muted = self._shelves.muted["health"]
        for name, wait in list(self._pending.items()):
            wait.ticks += 1
            if wait.ticks >= rules.health_after and not muted[self._index[name]]:
                self._raise_health(time, name, told)

    def _raise_health(self, time: int, name: str, told: Told) -> None:
        """The alarm for a problem that has been waiting."""
        wait = self._pending.pop(name)
        track, event = self._open_health(time, name, wait.onset)
        track.problem = wait.problem
        self._tell(event, track, time, told, problem=wait.problem)

    def _open_health(self, time: int, signal: str, onset: int) -> tuple[Track, Event]:
        """A health alarm to be told: the one cleared a moment ago, or a new one."""
        member = np.arange(len(self._names)) == self._index[signal]
        track = self._lately("health", member, time)
        event: Event = "updated"
        if track is None:
            id = alarm_id(self._fingerprint, self._stream, time, signal)
            alarm = Alarm(id, "health", raised_at=time, onset=onset, updated_at=time)
            track, event = Track(alarm, len(self._names), self._tick), "raised"
            track.member |= member
            track.first |= member
        self._health[signal] = track
        return track, event

    # Anomalies

    def _check_anomalies(
        self,
        time: int,
        score: float,
        signals: Floats,
        own: Floats | None,
        hold: bool,
        told: Told,
    ) -> None:
        # Names that have a health but no evidence come last in all arrays; theirs is unknown.
        level, raw = np.full((2, len(self._names)), np.nan)
        level[: len(signals)] = _spread(score, signals)
        raw[: len(signals)] = level[: len(signals)] if own is None else np.minimum(own, LARGEST)
        free = np.where(self._shelves.muted["anomaly"], np.nan, level)
        for track in self._anomalies:
            free[track.member] = np.nan
        visible = [track for track in self._anomalies if track.alarm.shelved_until is None]
        loud = free > 1.0
        if self._effects is not None and loud.any():
            for track in visible:
                follows = loud & self._effects[track.member & (level > 1.0)].any(axis=0)
                if follows.any():
                    track.join(follows, level, raw)
                    loud &= ~follows
        open_one = next((track for track in visible if not self._settled(track)), None)
        if open_one is not None:
            self._streak = 0
            if loud.any():
                open_one.join(loud, level, raw)
                open_one.joined_tick = self._tick
        for track in list(self._anomalies):
            self._follow(track, time, level, raw, hold, told)
        if open_one is None:
            if loud.any():
                self._rise(time, loud, level, raw, told)
            else:
                self._streak = 0

    def _settled(self, track: Track) -> bool:
        """Whether the trouble has stopped spreading, or somebody has seen it."""
        quiet = self._tick - track.joined_tick >= self.settings.join_within
        return quiet or track.alarm.acknowledged is not None

    def _rise(self, time: int, loud: Mask, level: Floats, raw: Floats, told: Told) -> None:
        """Loud signals that belong to no alarm: open one again, raise one, or wait."""
        if self._streak == 0:
            self._onset = time
        self._streak += 1
        if self._streak < self.settings.raise_after:
            return
        track = self._lately("anomaly", loud, time)
        event: Event = "updated"
        if track is None:
            id = alarm_id(self._fingerprint, self._stream, time)
            alarm = Alarm(id, "anomaly", raised_at=time, onset=self._onset, updated_at=time)
            track, event = Track(alarm, len(self._names), self._tick), "raised"
            track.first |= loud
        track.join(loud, level, raw)
        track.joined_tick = self._tick
        self._anomalies.append(track)
        self._streak = 0
        self._tell(event, track, time, told)

    def _follow(
        self,
        track: Track,
        time: int,
        level: Floats,
        raw: Floats,
        hold: bool,
        told: Told,
    ) -> None:
        """One tick of an alarm that is on: clear it, or see whether there is something to tell."""
        rules = self.settings
        _, complete = track.see(level, raw)
        own = float(np.fmax.reduce(level[track.member]))
        if hold or own >= rules.clear_below:
            track.below = track.lost = 0
        elif complete or track.lost >= rules.lost_after:
            track.below += 1
        else:
            track.lost += 1
        if track.below >= rules.clear_after:
            self._close(track, time, told)
            return
        if track.alarm.shelved_until is not None:
            return
        if track.peak > track.reported * rules.update_factor:
            track.dirty = True
        spaced = self._tick - track.look_tick >= rules.update_every
        if (track.dirty and spaced) or self._tick >= track.next_look:
            alarm = self._described(track.picture(self._names, time), track)
            if track.dirty or _gist(alarm) != _gist(track.alarm):
                told.append(("updated", track.told(alarm)))

    def _close(self, track: Track, time: int, told: Told) -> None:
        """Clear an alarm."""
        self._forget(track)
        self._tell("cleared", track, time, told, cleared_at=time)

    def _soon(self, track: Track, time: int) -> bool:
        """Whether an alarm was cleared so lately that trouble of its signals is the same."""
        if self._tick - track.until_tick <= self.settings.merge_within:
            return True
        cleared = track.alarm.cleared_at or 0
        lasted = cleared - track.alarm.raised_at
        return 0 <= time - cleared <= min(lasted, self.settings.merge_hours * HOUR)

    def _lately(self, kind: Kind, loud: Mask, time: int) -> Track | None:
        """The last alarm cleared a while ago that some of `loud` had raised, opened again."""
        for track in reversed(self._recent):
            alarm = track.alarm
            same = alarm.kind == kind and not alarm.normal and (track.first & loud).any()
            if same and self._soon(track, time):
                self._recent = [one for one in self._recent if one is not track]
                merged = alarm.merged + 1
                track.alarm = replace(
                    alarm, cleared_at=None, shelved_until=None, acknowledged=None, merged=merged
                )
                track.below = track.lost = 0
                return track
        return None


def _spread(score: float, signals: Floats) -> Floats:
    """Evidence scaled so that its largest entry is `score`.

    Where no signal has any, nobody knows where the trouble is: then every signal gets the score.
    """
    top = float(np.fmax.reduce(signals))
    if top == score:
        return signals
    if not top > 0.0:
        return np.full(len(signals), score)
    if top > LARGEST:
        signals = np.minimum(signals, LARGEST)
        top = LARGEST
    found = signals * (score / top)
    found[signals == top] = score  # to the last digit, in spite of rounding
    return found


def _gist(alarm: Alarm) -> tuple[object, ...]:
    """What of an explanation is worth an update when it changes."""
    return (*(cause.signal for cause in alarm.causes[:3]), alarm.abstained)
