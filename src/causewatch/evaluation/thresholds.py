"""How a verdict depends on the alarm limit: the same model with its limits moved.

The recording is watched anew for every limit: a signal that is loud alone for long loses its say,
and when that is depends on the limit. Which limit is best can be told only with
the labels, so none of this may decide the limit that is shipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from causewatch.data.datasets.base import Recording
from causewatch.errors import SettingError
from causewatch.evaluation.card import ReportCard, report_card
from causewatch.evaluation.verdicts import Progress, watch
from causewatch.model import NormalModel

__all__ = ["FACTORS", "LimitRow", "sweep", "with_limit"]

FACTORS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0)
"""What limits are multiplied by, if nothing is said; 1 is the limit as learnt."""


@dataclass(frozen=True)
class LimitRow:
    """The report card of a model whose limits were multiplied by `factor`."""

    factor: float
    card: ReportCard

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the single events."""
        told = {key: value for key, value in self.card.to_dict().items() if key != "per_event"}
        return {"factor": self.factor, **told}


def with_limit(model: NormalModel, factor: float) -> NormalModel:
    """The same model with all alarm limits multiplied by `factor`."""
    if not 0.0 < factor < float("inf"):
        msg = f"The factor of the limits is {factor:g}; it must be positive and finite."
        raise SettingError(msg)
    return replace(model, watching=replace(model.watching, factor=model.watching.factor * factor))


def sweep(
    model: NormalModel,
    recordings: Sequence[Recording],
    factors: Sequence[float] = FACTORS,
    *,
    grace: float = 0.0,
    progress: Progress | None = None,
) -> Iterator[LimitRow]:
    """Report cards for moved limits, each as soon as it is known.

    Parameters
    ----------
    model
        With limits learnt from normal operation.
    recordings
        With known truth.
    factors
        What limits are multiplied by.
    grace, progress
        As for `report_card` and `watch`.
    """
    models = [(factor, with_limit(model, factor)) for factor in factors]
    columns = len(model.watched)
    for factor, moved in models:

        def tell(what: str, share: float | None, factor: float = factor) -> None:
            if progress is not None:
                progress(f"{what} with {factor:g} times the limit", share)

        verdicts = [watch(moved, one.table, progress=tell) for one in recordings]
        yield LimitRow(factor, report_card(recordings, verdicts, grace=grace, signals=columns))
