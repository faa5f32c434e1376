"""A sample of a recording of any length: blocks of consecutive rows, spread evenly over it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from causewatch.data.table import TimeTable

__all__ = ["BlockSample", "LastRows"]

Floats = NDArray[np.float64]


class BlockSample:
    """Keeps every `stride`-th block of rows; the stride doubles whenever there are too many.

    A block never reaches across two stretches; a recording that fits is kept whole.

    Parameters
    ----------
    signals
        How many.
    block
        Rows per block.
    most
        Blocks kept at most.
    """

    def __init__(self, signals: int, *, block: int = 4096, most: int = 16) -> None:
        self._block = block
        self._most = most
        self._stride = 1
        self._number = 0  # of the block being filled
        self._kept: list[tuple[int, Floats, bool]] = []  # number, rows, whether a stretch begins
        self._rows = 0  # kept
        self._open = np.empty((0, signals))
        self._new = True

    def update(self, chunk: TimeTable) -> None:
        """Take in the rows of the next chunk."""
        for piece in chunk.stretches():
            if not (chunk.continues and piece.start == 0):
                self._close()
                self._new = True
            rows = chunk.values[piece]
            while len(rows):
                room = self._block - len(self._open)
                self._open = np.concatenate([self._open, rows[:room]])
                rows = rows[room:]
                if len(self._open) == self._block:
                    self._close()

    def stretches(self) -> list[Floats]:
        """The rows kept; blocks that follow each other are joined."""
        self._close()
        joined: list[list[Floats]] = []
        last = -2
        for number, rows, new in self._kept:
            if number == last + 1 and not new:
                joined[-1].append(rows)
            else:
                joined.append([rows])
            last = number
        return [np.concatenate(parts) for parts in joined]

    def _close(self) -> None:
        """End the block being filled."""
        if len(self._open) == 0:
            return
        if self._number % self._stride == 0:
            self._kept.append((self._number, self._open, self._new))
            self._rows += len(self._open)
        self._open = self._open[:0]
        self._new = False
        self._number += 1
        # Short stretches make short blocks, so it is rows that are counted.
        while self._rows > self._block * self._most:
            self._stride *= 2
            self._kept = [one for one in self._kept if one[0] % self._stride == 0]
            self._rows = sum(len(rows) for _, rows, _ in self._kept)


class LastRows:
    """Keeps the last rows of a recording, stretch by stretch.

    Parameters
    ----------
    most
        Rows kept at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[tuple[Floats, bool]] = []  # rows, whether a stretch begins with them
        self._rows = 0

    def update(self, chunk: TimeTable) -> None:
        """Take in the rows of the next chunk."""
        for piece in chunk.stretches():
            rows = chunk.values[piece]
            if len(rows):
                self._parts.append((rows, not (chunk.continues and piece.start == 0)))
                self._rows += len(rows)
        while self._parts and self._rows - len(self._parts[0][0]) >= self._most:
            self._rows -= len(self._parts.pop(0)[0])
        if self._rows > self._most:
            rows, _ = self._parts[0]
            self._parts[0] = rows[self._rows - self._most :], True
            self._rows = self._most

    def stretches(self) -> list[Floats]:
        """The rows kept, oldest first."""
        joined: list[list[Floats]] = []
        for rows, new in self._parts:
            if new or not joined:
                joined.append([])
            joined[-1].append(rows)
        return [np.concatenate(parts) for parts in joined]
