"""When something changes in the plant while it operates normally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from causewatch.errors import SettingError
from causewatch.simulate.plant.interventions import Intervention

__all__ = ["PlantChange", "check_changes"]


@dataclass(frozen=True, slots=True)
class PlantChange:
    """One change in normal operation, from row `start` on.

    Parameters
    ----------
    name
        What it is called in ``changes.json``.
    intervention
        What is changed.
    description
        What is changed and what comes of it.
    start
        First row, counted from 0.
    end
        Row from which on it is taken back; None if it lasts.
    """

    name: str
    intervention: Intervention
    description: str
    start: int = 0
    end: int | None = None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.end is not None and self.end <= self.start):
            message = (
                f"A change needs 0 <= start < end, but {self.name!r} has start {self.start} and"
                f" end {self.end}."
            )
            raise SettingError(message)

    @property
    def signals(self) -> tuple[str, ...]:
        """The tags in which it shows first."""
        return self.intervention.signals

    def at(self, start: int, end: int | None = None) -> PlantChange:
        """The same change at other rows."""
        return replace(self, start=start, end=end)


def check_changes(changes: Sequence[PlantChange], rows: int) -> None:
    """Raise if a change lies outside the recording or two of them change the same."""
    for change in changes:
        last = change.start + 1 if change.end is None else change.end
        if last > rows:
            message = (
                f"Change {change.name!r} is at row {last - 1:,}, but the recording has only"
                f" {rows:,} rows; let it start and end earlier."
            )
            raise SettingError(message)
    for place, first in enumerate(changes):
        for second in changes[place + 1 :]:
            same = first.intervention.kind == second.intervention.kind
            if same and first.signals == second.signals and _overlap(first, second):
                message = (
                    f"Changes {first.name!r} and {second.name!r} are both in force on"
                    f" {first.signals[0]}; let one end before the other starts."
                )
                raise SettingError(message)


def _overlap(first: PlantChange, second: PlantChange) -> bool:
    return (first.end is None or second.start < first.end) and (
        second.end is None or first.start < second.end
    )
