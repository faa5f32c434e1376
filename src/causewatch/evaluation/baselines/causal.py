"""The product itself in the shape of the others: the default preset and the published method."""

from __future__ import annotations

from datetime import UTC, datetime

from causewatch.data.table import TimeTable
from causewatch.detectors import DetectorSettings
from causewatch.discovery import Discoverer
from causewatch.errors import SettingError
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.split import joined
from causewatch.evaluation.thresholds import with_limit
from causewatch.evaluation.verdicts import Progress, Verdicts, watch
from causewatch.model import NormalModel, learn
from causewatch.monitor import AlarmSettings

__all__ = ["Default", "Paper"]

SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""Noted in the models: these are never stored, and the same split shall give the same model."""


class _Causal:
    """A model of causes, watching as the product does.

    Parameters
    ----------
    settings
        When alarms come and go.
    """

    name = ""

    def __init__(self, *, settings: AlarmSettings | None = None) -> None:
        self._settings = settings
        self._model: NormalModel | None = None

    @property
    def model(self) -> NormalModel:
        """What was learnt."""
        if self._model is None:
            msg = f"{self.name} has not learnt anything yet; call fit first."
            raise SettingError(msg)
        return self._model

    def move_limit(self, factor: float) -> None:
        """Multiply the alarm limits learnt, to see what depends on them."""
        self._model = with_limit(self.model, factor)

    def watch(self, table: TimeTable, progress: Progress | None = None) -> Verdicts:
        """Show the recording to a fresh monitor."""
        return watch(self.model, table, settings=self._settings, progress=progress)


class Default(_Causal):
    """The default preset.

    Limits come from normal operation judged by mechanisms fitted to its other half, so it learns
    from all of it, as ``causewatch learn`` does.

    Parameters
    ----------
    settings
        When alarms come and go.
    detector
        The numbers of the detector.
    method
        What finds the links.
    """

    name = "default"

    def __init__(
        self,
        *,
        settings: AlarmSettings | None = None,
        detector: DetectorSettings | None = None,
        method: str | Discoverer = "pcmci",
    ) -> None:
        super().__init__(settings=settings)
        self._detector, self._method = detector, method

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Learn causes and mechanisms, then limits."""
        self._model = learn(
            joined((*split.learn, *split.limits)),
            every=split.every,
            max_lag=split.max_lag,
            false_alarm_every=split.false_alarm_every,
            keep_start_up=True,  # the split has left it out
            seed=split.seed,
            detector=self._detector,
            method=self._method,
            progress=progress,
            now=SOME_DAY,
        )


class Paper(_Causal):
    """The published method: interval, lags, links and limits by its own rules.

    It gets all of normal operation: its scripts look for links in the whole recording, and take the
    first 70 % of it for coefficients and limits themselves. No time between false alarms can be
    asked of it.
    """

    name = "paper"

    def fit(self, split: Split, progress: Progress | None = None) -> None:
        """Learn as the published scripts do."""
        whole = joined((*split.learn, *split.limits))
        self._model = learn(whole, preset="paper", seed=split.seed, progress=progress, now=SOME_DAY)
