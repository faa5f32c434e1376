"""`TickSource`: the ticks of a recording, to be read like one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from causewatch.data.derived import Derived
from causewatch.data.table import TableSource, TimeTable
from causewatch.preprocess.ticks import Ticker, stacked, tick_table

__all__ = ["TickRecipe", "TickSource"]


class TickRecipe(Protocol):
    """What `TickSource` needs to know: see `causewatch.preprocess.Preprocessing`."""

    @property
    def signals(self) -> Sequence[str]:
        """The columns to keep."""

    @property
    def every(self) -> float:
        """Length of a tick in seconds."""

    def ticker(self, interval: float) -> Ticker:
        """A fresh ticker for rows `interval` seconds apart."""


class TickSource(Derived):
    """The ticks of a source, as a source: read again and again, in pieces.

    Parameters
    ----------
    source
        The rows.
    preprocessing
        The columns to keep, the length of a tick, and a fresh `Ticker` for each pass.
    """

    def __init__(self, source: TableSource, preprocessing: TickRecipe) -> None:
        super().__init__(source)
        self._recipe = preprocessing
        names = list(source.signals)
        self._columns = np.array([names.index(name) for name in self.signals], dtype=np.intp)
        self.held = np.zeros(len(self.signals), dtype=np.int64)

    @property
    def signals(self) -> Sequence[str]:
        """The columns kept."""
        return self._recipe.signals

    @property
    def interval(self) -> float:
        """Length of a tick in seconds."""
        return self._recipe.every

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """All ticks in order, in tables of at most about `rows` ticks."""
        ticker = self._recipe.ticker(self._source.interval)
        last: TimeTable | None = None
        for chunk in self._source.chunks(rows):
            last = replace(
                chunk,
                signals=tuple(self.signals),
                values=chunk.values[:, self._columns],
                labels=None,
            )
            yield ticker.rows(last)
        if last is not None:
            yield tick_table(stacked(ticker.flush()), last, self.interval, len(self.signals))
        self.held = ticker.held
