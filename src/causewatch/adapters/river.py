"""`RiverDetector`: the shape of a river anomaly detector."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from causewatch.adapters.rows import Rows, learn_rows
from causewatch.detectors import DetectorSettings
from causewatch.discovery import Discoverer, Knowledge
from causewatch.errors import NotEnoughDataError, SettingError, TableError
from causewatch.extras import needed
from causewatch.model import NormalModel
from causewatch.model.watching import LEAST_TICKS
from causewatch.monitor import Monitor
from causewatch.monitor.intake_cells import RowReader
from causewatch.monitor.intake_problems import Problems

__all__ = ["RiverDetector"]

log = logging.getLogger(__name__)

_base = needed("river.base", extra="river")


class RiverDetector(_base.AnomalyDetector):  # type: ignore[misc, name-defined]
    """Learns from the first rows which signals cause which others, then watches the rest.

    The first `warm_up` rows must be normal operation: they are kept, a model is learnt from them,
    and they are let go. Until then the score is 0. Afterwards `learn_one` takes a row in, and
    `score_one` says what score the row would get if it came next, without taking it in. A score
    of 1.0 is the alarm limit. Rows are dictionaries whose keys may come and go: what is not there
    is missing, never zero.

    Parameters
    ----------
    warm_up
        Rows to learn from, at least 30. If nothing can be learnt from them, as when nearly all
        values are missing, they are dropped and as many new ones are awaited.
    time
        The key under which rows have their time; without it rows count as one second each.
    preset, every, max_lag, alpha, knowledge, false_alarm_every
        As for :func:`causewatch.learn`.
    method, test, fdr, keep_start_up, keep_wild, confidence, seed, detector
        As for :func:`causewatch.learn`.

    Examples
    --------
    >>> from causewatch.simulate import random_system
    >>> system = random_system(4, seed=1)
    >>> detector = RiverDetector(warm_up=600)
    >>> for row in system.simulate(700, seed=2).values:
    ...     detector.learn_one(dict(zip("abcd", row)))
    >>> x = dict(zip("abcd", row))
    >>> detector.score_one(x) < 1 < detector.score_one({**x, "a": x["a"] + 20})
    True
    """

    def __init__(
        self,
        warm_up: int = 1000,
        *,
        time: str | None = None,
        preset: str = "default",
        every: float | str | None = None,
        max_lag: int | None = None,
        alpha: float | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        false_alarm_every: float | str | None = None,
        method: str | Discoverer = "pcmci",
        test: str = "linear",
        fdr: bool = False,
        keep_start_up: bool = False,
        keep_wild: bool = False,
        confidence: int = 0,
        seed: int = 0,
        detector: DetectorSettings | None = None,
    ) -> None:
        if warm_up < LEAST_TICKS:
            msg = f"warm_up is {warm_up}; at least {LEAST_TICKS} rows are needed to learn from."
            raise SettingError(msg)
        self.warm_up = warm_up
        self.time = time
        self.preset = preset
        self.every = every
        self.max_lag = max_lag
        self.alpha = alpha
        self.knowledge = knowledge
        self.false_alarm_every = false_alarm_every
        self.method = method
        self.test = test
        self.fdr = fdr
        self.keep_start_up = keep_start_up
        self.keep_wild = keep_wild
        self.confidence = confidence
        self.seed = seed
        self.detector = detector
        self._first: list[dict[str, Any]] = []  # rows to learn from
        self._monitor: Monitor | None = None
        self._score = 0.0
        # A row that was scored is in the monitor already, and here is the way back. As a rule the
        # same row is learnt next, and the way back is not needed: a snapshot costs less than a
        # row, going back several times as much.
        self._tried: dict[str, Any] | None = None
        self._before: tuple[dict[str, Any], float] | None = None

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Take in a row."""
        row = _named(x)
        if self._monitor is None:
            self._first.append(row)
            if len(self._first) >= self.warm_up:
                self._learn()
        elif row == self._tried:
            self._tried = self._before = None
        else:
            self._go_back()
            self._take_in(self._monitor, row)

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """The score that the row would get if it came next; 0 until a model is learnt.

        A row that completes no tick, or of which nothing can be said, has the score of the tick
        before.
        """
        if self._monitor is None:
            return 0.0
        row = _named(x)
        if row != self._tried:
            self._go_back()
            self._before = (self._monitor.snapshot(), self._score)
            self._take_in(self._monitor, row)
            self._tried = row
        return self._score

    @property
    def model(self) -> NormalModel | None:
        """What was learnt; None until then."""
        return None if self._monitor is None else self._monitor.model

    @property
    def monitor(self) -> Monitor | None:
        """The monitor with the rows learnt so far, e.g. for its alarms; None until then."""
        self._go_back()
        return self._monitor

    def _learn(self) -> None:
        """A model of the first rows, which the monitor is then shown."""
        rows, self._first = self._first, []
        try:
            model = learn_rows(self._table(rows), self._settings())
        except (NotEnoughDataError, TableError) as error:
            log.warning(
                "%d rows were dropped, nothing can be learnt from them: %s", len(rows), error
            )
            return
        self._monitor = Monitor(model)
        for row in rows:
            self._take_in(self._monitor, row)

    def _table(self, rows: list[dict[str, Any]]) -> Rows:
        """Rows as numbers, read as the monitor reads them; the order of keys plays no part."""
        names = tuple(sorted({name for row in rows for name in row if name != self.time}))
        if not names:
            msg = f"{len(rows)} rows without any signal arrived; give rows with values by name."
            raise NotEnoughDataError(msg)
        reader = RowReader(names, names, Problems())
        values = np.stack([reader.read(row) for row in rows])
        times = None
        if self.time is not None:
            times = pl.Series([row.get(self.time) for row in rows], strict=False)
        return Rows(names, values, times)

    def _settings(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self._get_params().items()
            if name not in ("warm_up", "time")
        }

    def _take_in(self, monitor: Monitor, row: Mapping[str, Any]) -> None:
        time = None
        if self.time is not None:
            time = row.get(self.time)
            row = {name: value for name, value in row.items() if name != self.time}
        score = monitor.update(row, time).score
        if score is not None:
            self._score = score

    def _go_back(self) -> None:
        """Undo the row that was only scored."""
        if self._before is not None and self._monitor is not None:
            state, self._score = self._before
            self._monitor.restore(state)
        self._tried = self._before = None

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self._monitor is not None:
            state["_monitor"] = (self._monitor.model, self._monitor.snapshot())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_monitor"] is not None:
            model, seen = state["_monitor"]
            self._monitor = Monitor(model)
            self._monitor.restore(seen)


def _named(x: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy of a row whose keys are text: river's may be anything."""
    return {name if type(name) is str else str(name): value for name, value in x.items()}
