"""`Monitor`: the one long-lived object that watches a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import format_moment
from causewatch.data.table import NANOSECONDS, Clock, Note
from causewatch.detectors import PublishedOptions
from causewatch.errors import SettingError, UnknownNameError
from causewatch.model import NormalModel
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents, BrokenLink
from causewatch.monitor.course import Course, Recorder
from causewatch.monitor.health import (
    STREAM,
    HealthChange,
    HealthWatch,
    SignalHealth,
    unlike_text,
)
from causewatch.monitor.intake import Intake
from causewatch.monitor.intake_rows import row_and_time
from causewatch.monitor.judging import Judge
from causewatch.monitor.policy import AlarmPolicy
from causewatch.monitor.stateful import Stateful
from causewatch.monitor.tick import Named, Tick
from causewatch.preprocess.ticks import FullTick

__all__ = ["Monitor"]

Floats = NDArray[np.float64]

RECORDED = 256
"""Ticks kept for explaining an alarm."""
OPENING = 160
"""An alarm is explained by its first ticks, at most so many, and by what was before them: later
the trouble has spread, and where it began can no longer be seen."""
MOST_LINKS = 10
"""Broken links that an alarm names at most."""
REFILLED = 32
"""Ticks after a gap in which no alarm is cleared: the statistics begin again from nothing."""

Describe = Callable[[Alarm], Alarm]


class Monitor(Stateful):
    """Watches a stream with a learnt model.

    Rows go in one at a time; they are averaged to ticks exactly as learning did. Every call of
    `update` returns a `Tick`, which says whether a tick was completed, how anomalous it is, and
    which alarms were raised, updated or cleared. Cost and memory per row never grow.

    Parameters
    ----------
    model
        What is normal.
    settings
        How alarms come and go.
    stream
        A name for the stream; it is part of what makes the ids of alarms.
    describe
        Completes an alarm before it is given out, e.g. with an explanation
        (:func:`causewatch.explain.describe`); it must depend on the alarm alone.
    options
        Of the published detector, for models of the `paper` preset.

    Examples
    --------
    >>> import causewatch as cw
    >>> from causewatch.simulate import random_system
    >>> system = random_system(5, seed=1)
    >>> model = cw.learn(system.simulate(2000, seed=2).values)
    >>> monitor = Monitor(model)
    >>> for row in system.simulate(100, seed=3).values:
    ...     tick = monitor.update(row)
    >>> tick.complete, tick.score < 1
    (True, True)
    """

    STATE = (
        "stream",
        "_intake",
        "_health",
        "_policy",
        "_recorder",
        "_since_gap",
        "_time",
    )

    def __init__(
        self,
        model: NormalModel,
        *,
        settings: AlarmSettings | None = None,
        stream: str = "",
        describe: Describe | None = None,
        options: PublishedOptions | None = None,
    ) -> None:
        self.model = self._on_clock = model
        self.settings = settings or AlarmSettings()
        self.stream = stream
        self._describe = describe
        self._options = options
        self._names = model.watched
        if STREAM in self._names:
            msg = (
                f"A signal of the model is called {STREAM!r}, which is what the whole stream is"
                " called here; rename the column, and learn again."
            )
            raise SettingError(msg)
        self._index = {name: k for k, name in enumerate(self._names)}
        self.reset()

    def reset(self) -> None:
        """Forget everything seen: alarms, lifted limits, health, feedback."""
        model, watching = self.model, self.model.watching
        self._intake = Intake(
            model.preprocessing,
            model.interval,
            model.clock,
            extra=watching.guarded,
            gap=watching.gap,
            times=_time_names(model),
        )
        self._judge = Judge(model, self._options)
        # The published method knows standing still as a matter of health, and no effects.
        published = watching.published is not None
        self._health = HealthWatch(
            self._names,
            watching.habits,
            hold=model.preprocessing.hold,
            rows_expected=model.preprocessing.every / model.interval,
            frozen=published,
            every=model.preprocessing.every,
            clock=model.clock,
        )
        self._policy = AlarmPolicy(
            self.settings,
            self._names,
            model.fingerprint,
            self.stream,
            model.clock,
            describe=self._described,
            health_only=(STREAM,),
            effects=None if published else model.equations.effects,
        )
        self._recorder = Recorder(self._names, RECORDED)
        self._since_gap = REFILLED
        self._openings: dict[str, Course] = {}
        self._time: int | None = None

    def update(
        self,
        row: Any,
        time: datetime | float | str | None = None,
    ) -> Tick:
        """Take in one row.

        Parameters
        ----------
        row
            Values by signal: a mapping, a `Sample`, a pandas series, a NumPy record. Or values in
            the order of the recording learnt from, one for each of `model.columns`. What is missing
            is missing, never zero; what the model does not know is ignored and counted.
        time
            When. If it is not given, the row may say: a sample, the name of a series, or a value
            called ``time``, or as the time column of the recording learnt from was.
        """
        values, own = row_and_time(row)
        return self._answer(self._intake.row(values, own if time is None else time))

    def update_ns(self, values: Floats, time: int) -> Tick:
        """Take in one row as an array in the order of `model.watched`, its time in nanoseconds.

        The quick way in for rows that have been read and checked already.
        """
        return self._answer(self._intake.row_ns(values, time))

    def flush(self) -> Tick:
        """End the stream: judge the tick still open, if it is to be kept."""
        return self._answer(self._intake.flush())

    def silent(self, detail: str, time: int | None = None, lasted: float = 0.0) -> AlarmEvents:
        """Raise an alarm because no rows come; the next tick clears it.

        A monitor has no clock of its own, so whoever feeds it must notice, and say so again now and
        then while it lasts. To the stream its time stands still meanwhile: the alarm begins with
        the last tick.

        Parameters
        ----------
        detail
            A sentence, for people.
        time
            When, in nanoseconds, if there has not been any tick.
        lasted
            Seconds since the last row. Shelves end while nothing comes, too.
        """
        at = self._time if self._time is not None else time or 0
        self._health.silent(at, detail)
        return self._policy.alert(at, STREAM, "silent", at + round(lasted * NANOSECONDS))

    def not_judged(self, detail: str, time: int | None = None) -> AlarmEvents:
        """Rows come and are not judged: raises an alarm until `judged_again`.

        Only whoever feeds a monitor knows about the rows that never reach it, so whoever does must
        notice. Parameters as for `silent`.
        """
        at = self._time if self._time is not None else time or 0
        self._health.not_judged(at, detail)
        return self._policy.alert(at, STREAM, "not_judged", at)

    def incomplete(self, detail: str, time: int | None = None) -> AlarmEvents:
        """Raise an alarm because a saved state is not whole; the next tick clears it.

        Parameters as for `silent`.
        """
        at = self._time if self._time is not None else time or 0
        self._health.incomplete(at, detail)
        return self._policy.alert(at, STREAM, "incomplete", at)

    def judged_again(self) -> None:
        """Rows are judged again; the alarm is cleared after some more ticks, as any other."""
        at = self._time or 0
        self._note_health(at, self._health.judged(at))

    @property
    def clock(self) -> Clock:
        """What the times of ticks and alarms count."""
        return self._intake.clock

    def use_clock(self, clock: Clock, *, put_right: bool = False) -> None:
        """Say what times count before the first row, where `update_ns` is used.

        Times of a table that was read are `put_right`: daylight-saving changes are undone in them,
        and an hour that is missing on such a night is a gap.
        """
        self._intake.settle(clock, put_right=put_right)

    @property
    def alarms(self) -> AlarmPolicy:
        """The alarms: which are on, and what an operator may do about them."""
        return self._policy

    @property
    def health(self) -> Mapping[str, SignalHealth]:
        """Signals that are not well."""
        return self._health.now

    @property
    def problems(self) -> Mapping[str, int]:
        """What was wrong with rows so far, counted by kind."""
        return self._intake.problems

    def notes(self) -> tuple[Note, ...]:
        """What was noticed about rows since the last call."""
        return self._intake.drain()

    @property
    def course(self) -> Course:
        """The last ticks."""
        return self._recorder.course()

    def broken_links(self) -> tuple[BrokenLink, ...]:
        """Links that do not act as learnt at present, worst first."""
        return self._judge.broken_links()

    def published_ranking(self) -> Mapping[str, float]:
        """Signals by the published criterion, for models of the `paper` preset."""
        return self._judge.published_ranking()

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on: numbers, text, arrays, lists and dictionaries."""
        return super().snapshot() | {
            "model": self.model.fingerprint,
            **self._judge.snapshot(),
            "openings": {id: course.to_state() for id, course in self._openings.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot: the future is bitwise the same as without interruption."""
        if state.get("model") != self.model.fingerprint:
            msg = (
                "The saved state belongs to another model; use the model it was saved with, or"
                " start with an empty state."
            )
            raise SettingError(msg)
        self.stream = state["stream"]
        self.reset()
        super().restore(state)
        self._judge.restore(state)
        self._openings = {
            id: Course.from_state(self._names, arrays) for id, arrays in state["openings"].items()
        }

    def _answer(self, full: Sequence[FullTick]) -> Tick:
        if not full:
            return Tick(self._time, complete=False)
        ticks = [self._complete(tick) for tick in full]
        if len(ticks) == 1:
            return ticks[0]
        return replace(ticks[-1], earlier=tuple(ticks[:-1]))

    def _complete(self, tick: FullTick) -> Tick:
        """One complete tick."""
        if self._time is not None and tick.time <= self._time:
            self._policy.jump_back()
        self._time = tick.time
        if self.model.watching.published is None:  # that method takes every number as it is
            tick = self._health.readings(tick)
        for name, sentence in self._health.absurd.items():
            self._intake.note("no_readings", sentence, about=name)
        changes: list[HealthChange] = []
        for name in self._policy.take_accepted():
            changes += self.accept(name, tick.time)
        changes += self._health.update(
            tick.time,
            tick.values,
            tick.fresh,
            new_stretch=tick.new_stretch,
            pace=self._intake.pace,
            rows=tick.rows,
        )
        self._since_gap = 0 if tick.new_stretch else self._since_gap + 1
        dead = None if self._health.quiet else self._health.absent
        judgement = self._judge.judge(tick, dead, self._policy.factors)
        score, evidence = judgement.score, judgement.evidence
        for k in judgement.unlike:
            text = self._unlike_text(k, tick, judgement.expected[k])
            changes += self._health.mark_unlike(self._names[k], tick.time, text)
        self._note_health(tick.time, changes)
        self._recorder.add(
            tick.time,
            score,
            tick.values,
            judgement.expected,
            judgement.innovation,
            evidence,
            tick.low,
            tick.high,
        )
        # Before the update: an alarm must not be raised and given up in the same tick.
        released = [
            event
            for k in judgement.lifted
            if not evidence[k] > 1.0
            for event in self._policy.release(tick.time, self._names[k])
        ]
        hold = self._since_gap < REFILLED  # trouble before a gap has not ended because of it
        events = self._policy.update(tick.time, score, evidence, hold, judgement.raw)
        return Tick(
            tick.time,
            True,
            score,
            self._policy.on,
            Named(self._index, evidence),
            Named(self._index, judgement.expected),
            AlarmEvents.of([*released, *events]) if released else events,
            tuple(changes),
            values=Named(self._index, tick.values),
            rows=tick.rows,
        )

    def _unlike_text(self, column: int, tick: FullTick, expected: float) -> str:
        """What to say of a signal that is no longer as learnt."""
        name, habits = self._names[column], self.model.watching.habits
        alarms = (*self._policy.active, *self._policy.recent)
        began = next((alarm.onset for alarm in alarms if name in alarm.signals), tick.time)
        since = format_moment(began, self.clock, self.model.preprocessing.every)
        value, low, high = tick.values[column], habits.low[column], habits.high[column]
        return unlike_text(name, float(value), float(low), float(high), float(expected), since)

    def accept(self, signal: str, time: int | None = None) -> list[HealthChange]:
        """Take a signal as it is now for normal, until a new model is learnt.

        The answer to a finding that it is no longer as learnt: its limit is the learnt one again,
        about where it is now. Gives what changes in its health by that.
        """
        if signal not in self._index:
            raise UnknownNameError(signal, "signal", self._names)
        self._judge.accept(self._index[signal])
        at = time if time is not None else self._time or 0
        changes = self._health.unmark(signal, at)
        self._note_health(at, changes)
        return changes

    def _note_health(self, time: int, changes: Sequence[HealthChange]) -> None:
        """Tell the alarm policy what is wrong with signals."""
        states = {change.now.signal: change.now.state for change in changes}
        self._policy.health(
            time, {name: None if state == "ok" else state for name, state in states.items()}
        )

    def _described(self, alarm: Alarm) -> Alarm:
        """An alarm with what is needed to explain it."""
        if alarm.kind == "anomaly":
            concerned = set(alarm.signals)
            links = [broken for broken in self.broken_links() if broken.link.target in concerned]
            alarm = replace(
                alarm,
                broken_links=tuple(links[:MOST_LINKS]),
                course=self._opening(alarm),
                model=self._model_on_clock(),
            )
        else:
            health = next((self._health.now.get(name) for name in alarm.signals), None)
            if health is not None and health.state == alarm.problem:
                alarm = replace(alarm, headline=health.detail)
        return alarm if self._describe is None else self._describe(alarm)

    def _model_on_clock(self) -> NormalModel:
        """The model as if learnt on the clock of this stream: sentences tell its times by that."""
        if self._on_clock.clock != self.clock:
            self._on_clock = replace(self.model, clock=self.clock)
        return self._on_clock

    def _opening(self, alarm: Alarm) -> Course:
        """The first ticks of an alarm and what was before them."""
        course = self._recorder.course()
        kept = self._openings.get(alarm.id)
        if kept is None or np.count_nonzero(course.time > alarm.raised_at) <= OPENING:
            kept = course
        on = {other.id for other in self._policy.active}
        self._openings = {id: course for id, course in self._openings.items() if id in on}
        self._openings[alarm.id] = kept
        return kept


def _time_names(model: NormalModel) -> tuple[str, ...]:
    """What the time of a row may be called in it."""
    writing = model.provenance.writing
    learnt = () if writing is None or writing.time is None else (writing.time,)
    return (*learnt, "time")
