"""Counting what happens while a table is read, one sentence per kind and column."""

from __future__ import annotations

from causewatch.data.table import Note

__all__ = ["Tally"]


class Tally:
    """Collects notes; what happens again under the same key is counted, not repeated."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, kind: str, text: str, count: int = 1, about: str = "") -> None:
        """Count `count` more of `kind`.

        The sentence is kept from the first time; ``{count}`` in it is replaced by the final count.
        `about` (a column, a file) keeps notes of one kind apart.
        """
        if count <= 0:
            return
        before, first = self._found.get((kind, about), (0, text))
        self._found[kind, about] = (before + count, first)

    def extend(self, other: Tally) -> None:
        """Add everything `other` has counted."""
        for (kind, about), (count, text) in other._found.items():
            self.add(kind, text, count, about)

    def count(self, kind: str) -> int:
        """How often `kind` was counted so far."""
        return sum(count for (found, _), (count, _) in self._found.items() if found == kind)

    def notes(self) -> tuple[Note, ...]:
        """Everything so far, in the order in which it was first seen."""
        return tuple(
            Note(kind, count, text.replace("{count}", f"{count:,}"))
            for (kind, _), (count, text) in self._found.items()
        )
