"""Counting what is wrong with a live stream, with bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from causewatch.data.notes import Tally
from causewatch.data.table import Note

__all__ = ["Problems"]


class Problems:
    """Counts by kind, for ever, and the notes since they were last looked at.

    Kinds are fixed words. What a note is *about* comes from a bounded set (the columns of the
    model), so that memory stays bounded whatever the stream holds.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()  # how often each kind was met
        self._new = Tally()

    def add(self, kind: str, text: str, count: int = 1, about: str = "") -> None:
        """Count `count` more of `kind` and note it; see `causewatch.data.notes.Tally.add`."""
        self.count(kind, count)
        self.note(kind, text, count, about)

    def note(self, kind: str, text: str, count: int = 1, about: str = "") -> None:
        """Note what is counted elsewhere."""
        self._new.add(kind, text, count, about)

    def count(self, kind: str, count: int = 1) -> None:
        """Count `count` more of `kind` without a note: too frequent to be shown each time."""
        self.counts[kind] += count

    def drain(self) -> tuple[Note, ...]:
        """The notes since the last call."""
        notes, self._new = self._new.notes(), Tally()
        return notes

    def snapshot(self) -> dict[str, Any]:
        """The counts; notes that nobody has looked at are not kept."""
        return dict(self.counts)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.counts = Counter(state)
        self._new = Tally()
