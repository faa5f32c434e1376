"""The principal-component filter that the paper puts before RNN and TCN on SWaT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError

__all__ = ["PrincipalFilter"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrincipalFilter:
    """Keeps what signals have in common, and drops the rest as noise.

    That there is a filter is published; how many components it keeps is not.

    Attributes
    ----------
    directions
        Components × signals, orthonormal, by falling variance.
    """

    directions: Floats

    @classmethod
    def learn(cls, ticks: Sequence[Floats], share: float) -> PrincipalFilter:
        """The fewest components that hold a share of the variance.

        Parameters
        ----------
        ticks
            Standardised ticks × signals, by stretch.
        share
            Share of the variance to keep, above 0 and at most 1.
        """
        if not 0.0 < share <= 1.0:
            msg = (
                f"The principal-component filter was asked to keep {share:g} of the variance; give"
                " a share above 0 and at most 1, such as 0.95."
            )
            raise SettingError(msg)
        rows = np.concatenate(ticks)
        variance, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
        variance, vectors = np.maximum(variance[::-1], 0.0), vectors[:, ::-1].T
        kept = np.cumsum(variance) / max(float(variance.sum()), np.finfo(float).tiny)
        # The last shares differ from 1 by rounding only; then all components are kept.
        count = min(int(np.searchsorted(kept, share * (1.0 - 1e-12))) + 1, len(variance))
        chosen = vectors[:count]
        # An eigenvector has no sign of its own: its largest entry is made positive.
        largest = np.abs(chosen).argmax(axis=1)
        signs = np.sign(chosen[np.arange(count), largest])
        return cls(chosen * signs[:, None])

    def reduce(self, ticks: Floats) -> Floats:
        """Ticks × signals as ticks × components."""
        reduced: Floats = ticks @ self.directions.T
        return reduced

    def restore(self, components: Floats) -> Floats:
        """Ticks × components as ticks × signals."""
        restored: Floats = components @ self.directions
        return restored
