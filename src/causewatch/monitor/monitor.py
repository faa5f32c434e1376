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
    PublishedDetector,
    PublishedOptions,
)
from causewatch.errors import SettingError
from causewatch.model import NormalModel
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents, BrokenLink
from causewatch.monitor.course import Course, Recorder
from causewatch.monitor.health import STREAM, HealthChange, HealthWatch, SignalHealth
from causewatch.monitor.intake import Intake, TickRow
from causewatch.monitor.patience import Patience
from causewatch.monitor.policy import AlarmPolicy
from causewatch.monitor.settling import Settling
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
DRIFTED, UNDRIFTED = 1.0, 0.7
"""Drift, in spreads, from which on it is a matter of health, and below which it no longer is."""
REFILLED = 32
"""Ticks after a gap in which no alarm is cleared: the statistics begin again from nothing."""
DRIFT_LOOK = 32
"""Drift is slow: it is looked at every so many ticks."""

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
        """Forget everything seen: alarms, drift, health, feedback."""
        model, watching = self.model, self.model.watching
        self._intake = Intake(
            model.preprocessing,
            model.interval,
            _clock(model.clock),
            extra=watching.guarded,
            gap=watching.gap,
        )
        self._detector = self._new_detector()
        self._guards = Guards(watching.ranges)
        self._health = HealthWatch(
            self._names,
            watching.habits,
            hold=model.preprocessing.hold,
            rows_expected=model.preprocessing.every / model.interval,
        )
        self._policy = AlarmPolicy(
            self.settings,
            self._names,
            fingerprint(model),
            self.stream,
            _clock(model.clock),
            describe=self._described,
            health_only=(STREAM,),
        )
        self._recorder = Recorder(self._names, RECORDED)
        self._settling = Settling(len(self._names), len(model.signals))
        self._patience = Patience(len(self._names), model.preprocessing.every)
        self._drifted = np.zeros(len(model.signals), dtype=np.bool_)
        self._ticks = 0
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

    @property
    def columns(self) -> tuple[str, ...]:
        """The model's signals, then the guarded ones: what a row may hold."""
        return self._names

    @property
    def clock(self) -> Clock:
        """What the times of ticks and alarms count."""
        return self._intake.clock

    def use_clock(self, clock: Clock) -> None:
        """Say what times count before the first row, where `update_ns` is used."""
        self._intake.settle(clock)

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
            "settling": self._settling.snapshot(),
            "patience": self._patience.snapshot(),
            "drifted": self._drifted.copy(),
            "openings": {id: course.to_state() for id, course in self._openings.items()},
            "ticks": self._ticks,
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
        self._settling.restore(state["settling"])
        self._patience.restore(state["patience"])
        self._drifted = np.asarray(state["drifted"]).copy()
        self._openings = {
            id: Course.from_state(self._names, one) for id, one in state["openings"].items()
        }
        self._ticks = int(state["ticks"])
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
        changes = self._health.update(
            row.time, row.columns, row.fresh, new_stretch=row.new_stretch, pace=row.pace
        )
        values = row.values
        if not self._health.well:
            # What a dead sensor last showed is no cause of anything.
            values = np.where(self._health.absent[: len(values)], np.nan, values)
        self._since_gap = 0 if row.new_stretch else self._since_gap + 1
        found = self._detector.update(values, row.new_stretch)
        score, signals, expected, innovation = self._assemble(found, row)
        limit = self._settling.limits(signals, found.score)
        if changes:
            self._policy.health(row.time, {c.now.signal: _problem(c.now) for c in changes})
        self._recorder.add(row.time, score, row.columns, expected, innovation, signals)
        hold = self._since_gap < REFILLED  # trouble before a gap has not ended because of it
        events = self._policy.update(row.time, score, signals, hold, limit)
        if score is not None:
            events, more = self._settle(row.time, score, signals, events)
            changes += more
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

    def _assemble(
        self, found: Evidence, row: TickRow
    ) -> tuple[float | None, Floats, Floats, Floats]:
        """Evidence of mechanisms and guards together, widened where feedback asks for it."""
        innovation = getattr(self._detector, "innovation", found.signals)
        score, signals, expected = found.score, found.signals, found.expected
        if len(self._guards):
            guard = self._guards.update(row.extra, row.values)
            signals = np.concatenate([signals, guard])
            expected = np.concatenate([expected, self._guards.expected()])
            innovation = np.concatenate([innovation, guard])
            if score is not None:
                score = max(score, float(np.nan_to_num(guard).max()))
        if self._policy.marks:
            signals = signals / self._policy.factors
            if score is not None:
                score = float(np.nanmax(signals))
        return score, signals, expected, innovation

    def _settle(
        self, time: int, score: float, signals: Floats, events: AlarmEvents
    ) -> tuple[AlarmEvents, list[HealthChange]]:
        """Drift becomes a matter of health; what is odd alone for hours is accepted."""
        changes: list[HealthChange] = []
        alone = self._patience.update(score, signals)
        if alone is not None:
            self._accept(alone)
            name = self._names[alone]
            detail = "has been off its model for hours with nothing else wrong; taken as normal now"
            changes += self._health.mark_drifted(name, time, detail)
            events = _joined(events, self._policy.demote(time, name))
        self._ticks += 1
        if self._ticks % DRIFT_LOOK == 0 and isinstance(self._detector, InnovationDetector):
            drift = np.abs(self._detector.drift)
            far = drift > np.where(self._drifted, UNDRIFTED, DRIFTED)
            if (far != self._drifted).any():
                noted = self._note_drift(time, drift, far)
                self._policy.health(time, {c.now.signal: _problem(c.now) for c in noted})
                changes += noted
        return events, changes

    def _note_drift(self, time: int, drift: Floats, far: NDArray[np.bool_]) -> list[HealthChange]:
        changes: list[HealthChange] = []
        for k in np.flatnonzero(far != self._drifted).tolist():
            if far[k]:
                detail = f"has drifted by {drift[k]:.1f} times its usual spread"
                changes += self._health.mark_drifted(self._names[k], time, detail)
            else:
                changes += self._health.unmark(self._names[k], time)
        self._drifted = far
        return changes

    def _accept(self, signal: int) -> None:
        number = len(self.model.signals)
        if signal >= number:
            self._guards.accept(signal - number)
        elif isinstance(self._detector, InnovationDetector):
            self._detector.accept(signal)

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
        digest.update(repr(model.watching.limits.overall).encode())
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


def _joined(first: AlarmEvents, second: AlarmEvents) -> AlarmEvents:
    return AlarmEvents.of([*first, *second])
