"""`AnomalyAlarms`: the alarms about evidence; `causewatch.monitor.policy` has the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.book import AlarmBook
from causewatch.monitor.feedback import MARGIN
from causewatch.monitor.stateful import Stateful
from causewatch.monitor.tracks import Track

__all__ = ["AnomalyAlarms"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LARGEST = 1e9
"""Scores and evidence are cut here: infinity is no number to remember."""


class AnomalyAlarms(Stateful):
    """Raises, follows and clears the anomaly alarms of a book.

    Parameters
    ----------
    book
        The alarms.
    effects
        Which signals are direct causes of which others; None: not known.
    """

    STATE = ("streak", "onset", "answered")

    def __init__(self, book: AlarmBook, effects: Mask | None) -> None:
        self._book = book
        self._effects = effects
        if effects is not None:
            self._effects = np.pad(effects, (0, len(book.names) - len(effects)))
        self.streak = 0  # ticks in a row that speak for a new alarm
        self.onset = 0  # time of the first of them
        # Signals of events that were called normal and are not over: of which alarm, up to which
        # evidence they belong to it, and for how many ticks they have been quiet.
        self.answered: dict[str, list[Any]] = {}

    def step(self, score: float, evidence: Floats, raw: Floats | None, hold: bool) -> None:
        """Go on by one tick whose score is known; the rest is as for `AlarmPolicy.update`."""
        book = self._book
        evidence = _spread(min(max(score, 0.0), LARGEST), evidence)
        level = self._padded(evidence)
        own = level if raw is None else self._padded(np.minimum(raw, LARGEST))
        loud = (level > 1.0) & ~book.shelves.muted["anomaly"]
        if self.answered:
            loud &= ~self._still_normal(level)
        for track in book.anomalies:
            loud &= ~track.member
        visible = [track for track in book.anomalies if track.alarm.shelved_until is None]
        if self._effects is not None and loud.any():
            for track in visible:
                follows = loud & self._effects[track.member & (level > 1.0)].any(axis=0)
                if follows.any():
                    track.join(follows, level, own)
                    loud &= ~follows
        open_track = next((track for track in visible if not self._settled(track)), None)
        if open_track is not None and loud.any():
            open_track.join(loud, level, own)
            open_track.joined_tick = book.tick
        for track in book.anomalies:
            self._follow(track, level, own, hold)
        if open_track is None and loud.any():
            self._rise(loud, level, own)
        else:
            self.streak = 0

    def answer(self, track: Track, widened: Floats) -> None:
        """The event of an alarm is normal: its signals raise nothing more until it is over.

        Their limits are so many times `widened` from now on.
        """
        names, evidence = self._book.names, MARGIN * np.nan_to_num(track.evidence)
        evidence[: len(widened)] /= widened
        members = np.flatnonzero(track.member).tolist()
        normal = {names[k]: [track.alarm.id, float(evidence[k]), 0] for k in members}
        self.answered = {**self.answered, **normal}

    def take_back(self, id: str) -> None:
        """The event of an alarm is not normal after all."""
        self.answered = {name: one for name, one in self.answered.items() if one[0] != id}

    def _still_normal(self, level: Floats) -> Mask:
        """Signals that are no louder than in an event that was called normal and goes on."""
        rules, normal = self._book.settings, np.zeros(len(level), dtype=np.bool_)
        left = {}
        for name, (id, largest, quiet) in self.answered.items():
            k = self._book.index[name]
            normal[k] = level[k] <= largest
            quiet = quiet + 1 if level[k] < rules.clear_below else 0
            if quiet < max(rules.clear_after, rules.merge_within):
                left[name] = [id, largest, quiet]
        self.answered = left
        return normal

    def _padded(self, values: Floats) -> Floats:
        """`values` with those of names that have a health but no evidence, which is unknown."""
        beside = len(self._book.names) - len(values)
        return np.concatenate([values, np.full(beside, np.nan)])

    def _settled(self, track: Track) -> bool:
        """Whether the trouble has stopped spreading, or somebody has seen it."""
        quiet = self._book.tick - track.joined_tick >= self._book.settings.join_within
        return quiet or track.alarm.acknowledged is not None

    def _rise(self, loud: Mask, level: Floats, own: Floats) -> None:
        """Open or raise an alarm for loud signals that belong to none, once they have lasted."""
        book = self._book
        if self.streak == 0:
            self.onset = book.time
        self.streak += 1
        if self.streak < book.settings.raise_after:
            return
        event, track = book.open("anomaly", loud, self.onset)
        track.join(loud, level, own)
        track.joined_tick = book.tick
        book.anomalies.append(track)
        self.streak = 0
        book.tell(event, track)

    def _follow(self, track: Track, level: Floats, own: Floats, hold: bool) -> None:
        """Clear an alarm that is on, or update it if there is something new."""
        book, rules = self._book, self._book.settings
        largest, complete = track.see(level, own)
        if hold or largest >= rules.clear_below:
            track.below = track.lost = 0
        elif complete or track.lost >= rules.lost_after:
            track.below += 1
        else:
            track.lost += 1
        if track.below >= rules.clear_after:
            book.close(track)
        elif track.alarm.shelved_until is None:
            if track.peak > track.reported * rules.update_factor:
                track.dirty = True
            spaced = book.tick - track.look_tick >= rules.update_every
            if (track.dirty and spaced) or book.tick >= track.next_look:
                book.tell_if_new(track)

    def release(self, place: int) -> None:
        """Take a signal out of its alarm; one with nothing else in it is cleared."""
        for track in self._book.anomalies:
            if track.member[place]:
                if track.member.sum() == 1:
                    self._book.close(track)
                else:
                    track.leave(place)


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
    scaled = signals * (score / top)
    scaled[signals == top] = score  # to the last digit, in spite of rounding
    return scaled
