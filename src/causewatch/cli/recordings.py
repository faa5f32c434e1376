"""Simulated recordings as files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from causewatch.errors import UnknownNameError
from causewatch.files import write_atomically

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["START", "Recorded", "chosen", "to_csv", "write_all"]

START = datetime(2026, 1, 1)
"""When simulated recordings begin."""


class Recorded(Protocol):
    """Signals over time."""

    @property
    def signals(self) -> tuple[str, ...]:
        """Column names."""

    @property
    def values(self) -> NDArray[np.float64]:
        """Rows × signals."""


def to_csv(
    recording: Recorded,
    start: datetime,
    labels: NDArray[np.int8] | None = None,
    *,
    interval: float = 1.0,
    digits: int | None = None,
) -> str:
    """A recording as CSV text; a missing value is an empty cell.

    Parameters
    ----------
    recording
        What to write.
    start
        Time of the first row.
    labels
        A last column.
    interval
        Seconds between two rows.
    digits
        Decimal places of numbers; those that single precision needs if not given. Whole numbers
        have no decimal point.
    """
    import numpy as np
    import polars as pl

    steps = np.round(np.arange(len(recording.values)) * (1000.0 * interval)).astype(
        "timedelta64[ms]"
    )
    columns = [pl.Series("time", np.datetime64(start, "ms") + steps)]
    for name, values in zip(recording.signals, recording.values.T, strict=True):
        whole = bool((np.isnan(values) | (values == np.rint(values))).all())
        column = pl.Series(name, values).fill_nan(None)
        if whole:
            column = column.cast(pl.Int64)
        elif digits is None:
            column = column.cast(pl.Float32)
        else:
            column = column.round(digits)
        columns.append(column)
    if labels is not None:
        columns.append(pl.Series("label", labels))
    form = "%Y-%m-%dT%H:%M:%S" + ("" if (1000.0 * interval) % 1000.0 == 0.0 else "%.3f")
    return pl.DataFrame(columns).write_csv(datetime_format=form)


def write_all(contents: dict[Path, str]) -> None:
    """Write files, each whole or not at all, into folders that are made if they are not there."""
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def chosen(
    attacks: str, known: tuple[str, ...], every: tuple[str, ...], **sets: tuple[str, ...]
) -> tuple[str, ...]:
    """The attacks that ``--attacks`` asks for.

    Parameters
    ----------
    attacks
        ``all``, ``none``, the name of one of `sets`, or names with commas between.
    known
        Names there are.
    every
        What ``all`` means.
    **sets
        Names for several attacks.
    """
    named: dict[str, Any] = {"all": every, "none": (), **sets}
    if attacks in named:
        return tuple(named[attacks])
    names = tuple(name.strip() for name in attacks.split(","))
    for name in names:
        if name not in known:
            raise UnknownNameError(name, "attack", (*named, *known))
    return names
