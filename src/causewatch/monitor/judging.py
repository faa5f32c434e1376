"""`Judge`: what speaks against each signal at a tick, in units of the limits as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors import (
    Guards,
    InnovationDetector,
    Lifts,
    PublishedDetector,
    PublishedOptions,
)
from causewatch.errors import SettingError
from causewatch.model import NormalModel
from causewatch.monitor.alarms import BrokenLink
from causewatch.monitor.stateful import Stateful
from causewatch.monitor.tick_rows import TickRows
from causewatch.preprocess.ticks import FullTick

__all__ = ["Judge", "Judgement"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Judgement:
    """What speaks against each signal at one tick; places are those of the columns.

    Attributes
    ----------
    score
        The largest evidence; None where nothing can be judged.
    evidence, raw
        By signal, in units of the limits as they are now, and of those of the model.
    expected, innovation
        By signal: what its causes said, and how far it is off.
    lifted
        Signals whose limit was lifted by this tick.
    unlike
        Signals that are no longer as learnt from this tick on.
    """

    score: float | None
    evidence: Floats
    raw: Floats
    expected: Floats
    innovation: Floats
    lifted: list[int]
    unlike: list[int]


class Judge(Stateful):
    """Holds ticks against a model: its mechanisms, its guards, and the lifts of their limits.

    This is the one place where limits are widened: by the factor of the model, by what operators
    called normal, and for signals that were loud alone for long.

    Parameters
    ----------
    model
        What is normal.
    options
        Of the published detector, for models of the `paper` preset.
    """

    STATE = ("_detector", "_guards", "_rows")

    def __init__(self, model: NormalModel, options: PublishedOptions | None) -> None:
        watching = model.watching
        self._model, self._signals = model, len(model.signals)
        self._detector: InnovationDetector | PublishedDetector
        self._lifts: Lifts | None = None  # the published detector knows none
        settings = None
        if watching.published is not None:
            self._detector = PublishedDetector(model.equations, watching.published, options)
        elif watching.limits is None:
            msg = "This model has no alarm limits; learn it again with this release."
            raise SettingError(msg)
        elif options is not None:
            msg = "Options of the published detector need a model learnt with --preset paper."
            raise SettingError(msg)
        else:
            settings = watching.limits.settings
            self._detector = InnovationDetector(model.equations, watching.limits)
            every, guarded = model.preprocessing.every, len(watching.guarded)
            self._lifts = Lifts(model.equations, guarded, every, settings)
        self._guards = Guards(watching.ranges, settings)
        self._rows = TickRows(watching.habits)

    def judge(self, tick: FullTick, dead: NDArray[np.bool_] | None, factors: Floats) -> Judgement:
        """Judge one tick.

        Parameters
        ----------
        tick
            Signals of the model, then guarded ones.
        dead
            Columns without a value of their own for long: what a dead sensor last showed is no
            cause of anything. None: there are none.
        factors
            By column: what limits are multiplied by.
        """
        number = self._signals
        seen, extra = tick.values[:number], tick.values[number:]
        values = seen if dead is None else np.where(dead[:number], np.nan, seen)
        if isinstance(self._detector, InnovationDetector):
            noise = self._rows.noise(tick.rows)
            if noise is None:
                values, noise = np.full(number, np.nan), 1.0
            fresh = tick.fresh[:number]
            result = self._detector.update(values, tick.new_stretch, fresh, noise)
            innovation = self._detector.innovation
        else:
            result = self._detector.update(values, tick.new_stretch)
            innovation = result.signals
        raw, expected = result.signals, result.expected
        if len(extra):
            guard = self._guards.update(extra, seen)
            raw = np.concatenate([raw, guard])
            expected = np.concatenate([expected, self._guards.expected()])
            innovation = np.concatenate([innovation, guard])
        raw = raw / self._model.watching.factor
        score, evidence = None, raw
        lifted: list[int] = []
        if result.score is not None:
            evidence = raw / factors
            if self._lifts is not None:
                held = evidence
                evidence, full = self._lifts.step(held)
                if full is not None:  # evidence is in units of lifted limits from this tick on
                    evidence, lifted = held / self._lifts.lift, np.flatnonzero(full).tolist()
            score = float(np.nanmax(evidence))
        begun = (number + np.flatnonzero(self._guards.unlike)).tolist()
        unlike = [*lifted, *begun]
        return Judgement(score, evidence, raw, expected, innovation, lifted, unlike)

    def accept(self, column: int) -> None:
        """Accept a signal as it is now: its limit is the learnt one again, about where it is."""
        if column >= self._signals:
            self._guards.accept(column - self._signals)
        elif isinstance(self._detector, InnovationDetector):
            self._detector.accept(column)
        if self._lifts is not None:
            self._lifts.reset(column)

    def broken_links(self) -> tuple[BrokenLink, ...]:
        """Links that do not act as learnt at present, worst first."""
        changes = self._detector.links()
        links = list(self._model.graph)
        normal = self._model.equations.coefficient
        worst = np.argsort(-np.nan_to_num(changes.deviation), kind="stable")
        return tuple(
            BrokenLink(
                links[k],
                float(normal[k]),
                float(changes.observed[k]),
                float(changes.deviation[k]),
            )
            for k in worst.tolist()
            if changes.deviation[k] > 1.0
        )

    def published_ranking(self) -> dict[str, float]:
        """Signals by the published criterion, for models of the `paper` preset."""
        if not isinstance(self._detector, PublishedDetector):
            return {}
        values = self._detector.ranking()
        order = np.argsort(-values, kind="stable").tolist()
        return {self._model.signals[k]: float(values[k]) for k in order}

    def snapshot(self) -> dict[str, Any]:
        """See `Stateful.snapshot`."""
        lifts = {} if self._lifts is None else self._lifts.snapshot()
        return super().snapshot() | {"lifts": lifts}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Stateful.restore`."""
        super().restore(state)
        if self._lifts is not None:
            self._lifts.restore(state["lifts"])
