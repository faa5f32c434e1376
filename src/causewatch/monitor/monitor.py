"""`Monitor`: the one long-lived object that watches a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Sample
from causewatch.data.table import NANOSECONDS, Clock, Note
from causewatch.detectors import (
    Evidence,
    Guards,
    InnovationDetector,
    Lifts,
    PublishedDetector,
    PublishedOptions,
)
from causewatch.errors import SettingError, UnknownNameError
from causewatch.model import NormalModel
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents, BrokenLink
from causewatch.monitor.course import Course, Recorder
from causewatch.monitor.health import STREAM, HealthChange, HealthWatch, SignalHealth
from causewatch.monitor.intake import Intake, TickRow
from causewatch.monitor.policy import AlarmPolicy
from causewatch.monitor.tick import Named, Tick

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


class Monitor:
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

    def __init__(
        self,
        model: NormalModel,
        *,
        settings: AlarmSettings | None = None,
        stream: str = "",
        describe: Describe | None = None,
        options: PublishedOptions | None = None,
    ) -> None:
        self.model = model
        self.settings = settings or AlarmSettings()
        self.stream = stream
        self._describe = describe
        self._options = options
        self._names = (*model.signals, *model.watching.guarded)
        if STREAM in self._names:
            msg = (
                f"A signal of the model is called {STREAM!r}, which is what the whole stream is"
                " called here; rename the column, and learn again."
            )
            raise SettingError(msg)
        self._index = {name: k for k, name in enumerate(self._names)}
        self._links = list(model.graph)
        self.reset()

    def reset(self) -> None:
        """Forget everything seen: alarms, lifted limits, health, feedback."""
        model, watching = self.model, self.model.watching
        self._intake = Intake(
            model.preprocessing,
            model.interval,
            _clock(model.clock),
            extra=watching.guarded,
            gap=watching.gap,
        )
        self._detector = self._new_detector()
        settings = None if watching.limits is None else watching.limits.settings
        self._guards = Guards(watching.ranges, settings)
        self._health = HealthWatch(
            self._names,
            watching.habits,
            hold=model.preprocessing.hold,
            rows_expected=model.preprocessing.every / model.interval,
            frozen=settings is None,
            every=model.preprocessing.every,
        )
        self._policy = AlarmPolicy(
            self.settings,
            self._names,
            fingerprint(model),
            self.stream,
            _clock(model.clock),
            describe=self._described,
            health_only=(STREAM,),
            # The published method says nothing of effects.
            effects=None
            if settings is None
            else np.pad(model.equations.effects, (0, len(watching.guarded))),
        )
        self._recorder = Recorder(self._names, RECORDED)
        # Lifts belong to the default detector; the published one knows none.
        self._lifts: Lifts | None = None
        if settings is not None:
            every = model.preprocessing.every
            self._lifts = Lifts(model.equations, len(watching.guarded), every, settings)
        self._since_gap = REFILLED
        self._openings: dict[str, Course] = {}
        self._time: int | None = None

    def update(
        self,
        row: Sample | Mapping[str, Any] | Sequence[float] | NDArray[Any],
        time: datetime | float | str | None = None,
    ) -> Tick:
        """Take in one row.

        Parameters
        ----------
        row
            A `Sample`, a mapping from signal to value, or values in the order of the model's
            signals (then of its guarded ones). What is missing is missing, never zero; what the
            model does not know is ignored and counted.
        time
            When, if the row does not say.
        """
        if isinstance(row, Sample):
            return self._answer(self._intake.row(row.values, row.time if time is None else time))
        return self._answer(self._intake.row(row, time))

    def update_ns(self, values: Floats, time: int) -> Tick:
        """Take in one row as an array in the order of `columns`, with its time in nanoseconds.

        The quick way in for rows that have been read and checked already.
        """
        return self._answer(self._intake.row_ns(values, time))

    def flush(self) -> Tick:
        """The stream has ended: judge the tick still open, if it is to be kept."""
        return self._answer(self._intake.flush())

    def silent(self, detail: str, time: int | None = None, lasted: float = 0.0) -> AlarmEvents:
        """No rows come, though some should: raises an alarm until the next tick.

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

    def judged_again(self) -> None:
        """Rows are judged again; the alarm is cleared after some more ticks, as any other."""
        at = self._time or 0
        changes = self._health.judged(at)
        self._policy.health(at, {c.now.signal: _problem(c.now) for c in changes})

    @property
    def columns(self) -> tuple[str, ...]:
        """The model's signals, then the guarded ones: what a row may hold."""
        return self._names

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
        found = self._detector.links()
        normal = self.model.equations.coefficient
        worst = np.argsort(-np.nan_to_num(found.deviation), kind="stable")
        return tuple(
            BrokenLink(
                self._links[k],
                float(normal[k]),
                float(found.observed[k]),
                float(found.deviation[k]),
            )
            for k in worst.tolist()
            if found.deviation[k] > 1.0
        )

    def published_ranking(self) -> Mapping[str, float]:
        """Signals by the published criterion, for models of the `paper` preset."""
        if not isinstance(self._detector, PublishedDetector):
            return {}
        values = self._detector.ranking()
        order = np.argsort(-values, kind="stable").tolist()
        return {self.model.signals[k]: float(values[k]) for k in order}

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on: numbers, text, arrays, lists and dictionaries."""
        return {
            "model": fingerprint(self.model),
            "stream": self.stream,
            "intake": self._intake.snapshot(),
            "detector": self._detector.snapshot(),
            "guards": self._guards.snapshot(),
            "health": self._health.snapshot(),
            "policy": self._policy.snapshot(),
            "recorder": self._recorder.snapshot(),
            "lifts": {} if self._lifts is None else self._lifts.snapshot(),
            "openings": {id: course.to_state() for id, course in self._openings.items()},
            "since_gap": self._since_gap,
            "time": self._time,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot: the future is bitwise the same as without interruption."""
        if state.get("model") != fingerprint(self.model):
            msg = (
                "The saved state belongs to another model; use the model it was saved with, or"
                " start with an empty state."
            )
            raise SettingError(msg)
        self.stream = state["stream"]
        self.reset()
        self._intake.restore(state["intake"])
        self._detector.restore(state["detector"])
        self._guards.restore(state["guards"])
        self._health.restore(state["health"])
        self._policy.restore(state["policy"])
        self._recorder.restore(state["recorder"])
        if self._lifts is not None:
            self._lifts.restore(state["lifts"])
        self._openings = {
            id: Course.from_state(self._names, one) for id, one in state["openings"].items()
        }
        self._since_gap = int(state["since_gap"])
        self._time = state["time"]

    def _new_detector(self) -> InnovationDetector | PublishedDetector:
        watching = self.model.watching
        if watching.published is not None:
            return PublishedDetector(self.model.equations, watching.published, self._options)
        if watching.limits is None:
            msg = "This model has no alarm limits; learn it again with this release."
            raise SettingError(msg)
        if self._options is not None:
            msg = "Options of the published detector need a model learnt with --preset paper."
            raise SettingError(msg)
        return InnovationDetector(self.model.equations, watching.limits)

    def _answer(self, rows: Sequence[TickRow]) -> Tick:
        if not rows:
            return Tick(self._time, complete=False)
        ticks = [self._judge(row) for row in rows]
        if len(ticks) == 1:
            return ticks[0]
        return replace(ticks[-1], earlier=tuple(ticks[:-1]))

    def _judge(self, row: TickRow) -> Tick:
        """One complete tick."""
        self._time = row.time
        changes: list[HealthChange] = []
        for name in self._policy.take_accepted():
            changes += self.accept(name, row.time)
        changes += self._health.update(
            row.time, row.columns, row.fresh, new_stretch=row.new_stretch, pace=row.pace
        )
        values = row.values
        if not self._health.well:
            # What a dead sensor last showed is no cause of anything.
            values = np.where(self._health.absent[: len(values)], np.nan, values)
        self._since_gap = 0 if row.new_stretch else self._since_gap + 1
        found = self._judged(values, row)
        score, signals, raw, expected, innovation, full = self._held_against(found, row)
        changes += self._findings(row.time, full)
        if changes:
            self._policy.health(row.time, {c.now.signal: _problem(c.now) for c in changes})
        self._recorder.add(row.time, score, row.columns, expected, innovation, signals)
        hold = self._since_gap < REFILLED  # trouble before a gap has not ended because of it
        # Before the update: an alarm must not be raised and given up in the same tick.
        released = [
            self._policy.release(row.time, name)
            for name in full
            if not signals[self._index[name]] > 1.0
        ]
        events = self._policy.update(row.time, score, signals, hold, raw)
        if released:
            events = _joined(*released, events)
        return Tick(
            row.time,
            True,
            score,
            bool(self._policy.on),
            Named(self._index, signals),
            Named(self._index, expected),
            events,
            tuple(changes),
            values=Named(self._index, row.columns),
        )

    def _judged(self, values: Floats, row: TickRow) -> Evidence:
        """What the detector says about a tick."""
        if isinstance(self._detector, InnovationDetector):
            fresh = row.fresh[: len(values)]
            return self._detector.update(values, row.new_stretch, fresh)
        return self._detector.update(values, row.new_stretch)

    def _held_against(
        self, found: Evidence, row: TickRow
    ) -> tuple[float | None, Floats, Floats, Floats, Floats, tuple[str, ...]]:
        """Evidence of mechanisms and guards in units of the limits as they are now.

        This is the one place where limits are widened: by the factor of the model, by what
        operators called normal, and for signals that were loud alone for long. Gives the score,
        the evidence, the same in units of the model's limits, what was expected, the innovations,
        and the signals whose limit was lifted by this tick; evidence is in units of lifted limits
        from that tick on.
        """
        innovation = getattr(self._detector, "innovation", found.signals)
        raw, expected = found.signals, found.expected
        if len(self._guards):
            guard = self._guards.update(row.extra, row.values)
            raw = np.concatenate([raw, guard])
            expected = np.concatenate([expected, self._guards.expected()])
            innovation = np.concatenate([innovation, guard])
        if self.model.watching.factor != 1.0:
            raw = raw / self.model.watching.factor
        if found.score is None:
            return None, raw, raw, expected, innovation, ()
        held = raw / self._policy.factors if self._policy.marks else raw
        signals = held
        full: tuple[str, ...] = ()
        if self._lifts is not None:
            signals, lifted = self._lifts.step(held)
            if lifted is not None:
                signals = held / self._lifts.lift
                full = tuple(self._names[k] for k in np.flatnonzero(lifted).tolist())
        return float(np.nanmax(signals)), signals, raw, expected, innovation, full

    def _findings(self, time: int, full: tuple[str, ...]) -> list[HealthChange]:
        """Signals that are no longer as learnt become a matter of health."""
        changes: list[HealthChange] = []
        for name in full:
            detail = f"{name} has been off alone for hours, or again and again."
            changes += self._health.mark_unlike(name, time, detail)
        for place in np.flatnonzero(self._guards.unlike).tolist():
            name = self.model.watching.guarded[place]
            detail = f"{name} began with a value that it did not have in normal operation."
            changes += self._health.mark_unlike(name, time, detail)
        return changes

    def accept(self, signal: str, time: int | None = None) -> list[HealthChange]:
        """Take a signal as it is now for normal, until a new model is learnt.

        The answer to a finding that it is no longer as learnt: its limit is the learnt one again,
        about where it is now. Gives what changes in its health by that.
        """
        if signal not in self._index:
            raise UnknownNameError(signal, "signal", self._names)
        k, number = self._index[signal], len(self.model.signals)
        if k >= number:
            self._guards.accept(k - number)
        elif isinstance(self._detector, InnovationDetector):
            self._detector.accept(k)
        if self._lifts is not None:
            self._lifts.reset(k)
        at = time if time is not None else self._time or 0
        changes = self._health.unmark(signal, at)
        self._policy.health(at, {c.now.signal: _problem(c.now) for c in changes})
        return changes

    def _described(self, alarm: Alarm) -> Alarm:
        """An alarm with what is needed to explain it."""
        if alarm.kind == "anomaly":
            concerned = set(alarm.signals)
            links = [one for one in self.broken_links() if one.link.target in concerned]
            alarm = replace(
                alarm,
                broken_links=tuple(links[:MOST_LINKS]),
                course=self._opening(alarm),
                model=self.model,
            )
        else:
            health = next((self._health.now.get(name) for name in alarm.signals), None)
            if health is not None and health.state == alarm.problem:
                alarm = replace(alarm, headline=health.detail)
        return alarm if self._describe is None else self._describe(alarm)

    def _opening(self, alarm: Alarm) -> Course:
        """The first ticks of an alarm and what was before them."""
        course = self._recorder.course()
        kept = self._openings.get(alarm.id)
        if kept is None or np.count_nonzero(course.time > alarm.raised_at) <= OPENING:
            kept = course
        active = {one.id for one in self._policy.active} | {alarm.id}
        self._openings = {id: one for id, one in self._openings.items() if id in active}
        self._openings[alarm.id] = kept
        return kept


def fingerprint(model: NormalModel) -> str:
    """What identifies a model: equal models have equal ones."""
    digest = hashlib.sha256()
    equations = model.equations
    digest.update("\0".join([model.preset, *model.signals, model.provenance.created]).encode())
    for array in (equations.source, equations.target, equations.lag, equations.coefficient):
        digest.update(np.ascontiguousarray(array).tobytes())
    if model.watching.limits is not None:
        digest.update(model.watching.limits.statistics.tobytes())
    if model.watching.factor != 1.0:
        digest.update(repr(model.watching.factor).encode())
    return digest.hexdigest()[:16]


def _clock(name: str) -> Clock:
    clocks: dict[str, Clock] = {
        "naive": "naive",
        "utc": "utc",
        "elapsed": "elapsed",
        "rows": "rows",
    }
    return clocks[name]


def _problem(health: SignalHealth) -> str | None:
    return None if health.state == "ok" else health.state


def _joined(*events: AlarmEvents) -> AlarmEvents:
    return AlarmEvents.of([pair for some in events for pair in some])
