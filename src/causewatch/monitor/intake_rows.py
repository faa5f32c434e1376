"""The kinds of rows that people hold in hand: values by name or in order, and a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import narwhals as nw
import numpy as np

from causewatch.data.table import Sample

__all__ = ["row_and_time"]


def row_and_time(row: Any) -> tuple[Any, Any]:
    """The values of a row, as a mapping where they have names, and its time if it says one.

    A pandas series has the labels of its index as names, and its own name as time if that is one:
    so come the rows of `DataFrame.iterrows`.
    """
    if isinstance(row, (dict, list, tuple, np.ndarray)):
        return row, None
    if isinstance(row, Sample):
        return row.values, row.time
    if isinstance(row, np.void) and row.dtype.names is not None:
        return {name: row[name] for name in row.dtype.names}, None
    if nw.dependencies.is_pandas_series(row):
        cells = row.astype(object).where(row.notna(), None).tolist()  # NaT and NA are missing
        if not any(isinstance(label, str) for label in row.index):
            return cells, _time(row.name)  # numbered, not named
        names = [str(label) for label in row.index]
        return dict(zip(names, cells, strict=True)), _time(row.name)
    return row, None


def _time(name: Any) -> datetime | float | None:
    """The time that a row is called by in an index of times; None in any other index."""
    if isinstance(name, timedelta):
        return name.total_seconds()
    return name if isinstance(name, datetime) else None
