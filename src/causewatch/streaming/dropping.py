"""Noticing that rows come and none of them can be used."""

from __future__ import annotations

from collections.abc import Mapping

from causewatch.streaming.counts import DROPPED

__all__ = ["Dropping"]

MANY = 100
"""Rows dropped in a row after which it is worth a sentence."""


class Dropping:
    """Tells, once each time, that everything that comes is dropped.

    A source that sends nonsense is not silent, and single rows that make no sense are only counted:
    without this nobody would notice a file that goes on in another format.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._dropped = 0  # when the last row came that could be used
        self._told = False

    def look(self, rows: int, problems: Mapping[str, int]) -> str:
        """The sentence, or nothing.

        Parameters
        ----------
        rows
            How many have come that could be used.
        problems
            What was dropped or went wrong so far, counted by kind.
        """
        dropped = sum(problems.get(kind, 0) for kind in DROPPED)
        if rows != self._rows:
            self._rows, self._dropped, self._told = rows, dropped, False
            return ""
        count = dropped - self._dropped
        if self._told or count < MANY:
            return ""
        self._told = True
        worst = max(DROPPED, key=lambda kind: problems.get(kind, 0))
        return (
            f"None of the last {count} rows could be used (most were {worst.replace('_', ' ')});"
            " is it still the same format?"
        )
