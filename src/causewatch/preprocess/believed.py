"""Values that are believed: those of signals whose measurement failed now and then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from causewatch.data.derived import Derived
from causewatch.data.table import TableSource, TimeTable
from causewatch.preprocess.ticks import beyond

__all__ = ["Believed", "bounds_of"]

Floats = NDArray[np.float64]
Bounds = Mapping[str, tuple[float, float]]


def bounds_of(believed: Bounds, signals: Sequence[str]) -> tuple[Floats, Floats] | None:
    """Smallest and largest value that is believed, by signal; None if there are no bounds."""
    if not any(name in believed for name in signals):
        return None
    low, high = np.transpose([believed.get(name, (-np.inf, np.inf)) for name in signals])
    return low, high


class Believed(Derived):
    """A table without the values that are not believed; a :class:`causewatch.data.TableSource`.

    Parameters
    ----------
    source
        The table.
    believed
        Smallest and largest value that is believed, of some signals.
    """

    def __init__(self, source: TableSource, believed: Bounds) -> None:
        super().__init__(source)
        self._bounds = bounds_of(believed, source.signals)

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """All rows; values that are not believed are missing."""
        for chunk in self._source.chunks(rows):
            if self._bounds is None:
                yield chunk
            else:
                wild = beyond(chunk.values, *self._bounds)
                yield replace(chunk, values=np.where(wild, np.nan, chunk.values))
