"""Tables that are in memory: dataframes of any library, arrays, and what other readers made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.notes import Tally
from causewatch.data.raw import block_rows, clean_names
from causewatch.data.table import SourceFile
from causewatch.errors import TableError, shorten

__all__ = ["FrameTable", "from_array", "from_dataframe"]

INDEX_TYPES = ("DatetimeIndex", "TimedeltaIndex")


class FrameTable:
    """A polars frame as a raw table (see :class:`causewatch.data.raw.RawTable`).

    Parameters
    ----------
    frame
        The rows, with unique column names.
    name
        What messages call it.
    time_hint
        The column that is known to be the time.
    source
        The file it came from.
    first_row
        The number messages give to its first row.
    """

    decimal = "."
    separator = None

    def __init__(
        self,
        frame: pl.DataFrame,
        name: str = "dataframe",
        *,
        time_hint: str | None = None,
        source: SourceFile | None = None,
        first_row: int = 0,
        tally: Tally | None = None,
    ) -> None:
        self.name = name
        self.columns = tuple(frame.columns)
        self.time_hint = time_hint
        self.tally = tally or Tally()
        self._frame = frame
        self.file = source
        self.rows = len(frame)
        self._first_row = first_row

    def head(self) -> pl.DataFrame:
        """The first rows."""
        return self._frame.head(block_rows(self._frame.width))

    def blocks(self, columns: Sequence[str], tally: Tally) -> Iterator[pl.DataFrame]:
        """All rows of `columns`."""
        yield from self._frame.select(columns).iter_slices(block_rows(len(columns)))

    def place(self, row: int) -> str:
        """The number of a row."""
        return f"row {self._first_row + row}"


def from_array(array: NDArray[Any]) -> FrameTable:
    """A raw table of a 2-D array; its signals are called ``x0``, ``x1`` …."""
    if array.ndim != 2:
        message = (
            f"The array has {array.ndim} dimensions; rows × signals, i.e. 2 dimensions, are needed."
        )
        raise TableError(message)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        message = f"The array holds {array.dtype}, not numbers ({error})."
        raise TableError(message) from error
    names = [f"x{i}" for i in range(array.shape[1])]
    return FrameTable(pl.DataFrame(numbers, schema=names, orient="row"), "array")


def from_dataframe(native: Any) -> FrameTable | None:
    """A raw table of a dataframe of any library narwhals knows; None if it is no dataframe."""
    tally = Tally()
    hint: str | None = None
    extra: list[pl.Series] = []
    if nw.dependencies.is_pandas_dataframe(native):
        names = clean_names([str(name) for name in native.columns], "The dataframe", tally)
        index = native.index
        if type(index).__name__ in INDEX_TYPES:
            hint = str(index.name) if index.name is not None else "time"
            while hint in names:
                hint += "_index"
            extra = [_index_times(index, hint)]
        native = native.set_axis(list(names), axis=1)
    try:
        frame = nw.from_native(native, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect("polars")
    except nw.exceptions.NarwhalsError as error:
        message = f"The dataframe cannot be read ({shorten(str(error), 200)})."
        raise TableError(message) from error
    if not isinstance(frame, nw.DataFrame):
        return None
    if frame.implementation.is_pandas():
        found = pl.DataFrame([*extra, *(_pandas_column(column) for column in frame.iter_columns())])
    else:
        found = frame.to_polars()
        found.columns = list(clean_names(found.columns, "The dataframe", tally))
    return FrameTable(found, time_hint=hint, tally=tally)


def _index_times(index: Any, name: str) -> pl.Series:
    """The times of a pandas index."""
    zone = getattr(index, "tz", None)
    plain = index.tz_convert("UTC").tz_localize(None) if zone is not None else index
    times = _series(name, plain.to_numpy())
    return times.dt.replace_time_zone("UTC") if zone is not None else times


def _series(name: str, times: NDArray[Any]) -> pl.Series:
    """Times as polars takes them: it knows no whole seconds, minutes or hours."""
    kind = times.dtype.kind
    if kind in "mM" and np.datetime_data(times.dtype)[0] not in ("ms", "us", "ns"):
        times = times.astype(f"{kind}8[ms]")
    return pl.Series(name, times)


def _pandas_column(column: nw.Series[Any]) -> pl.Series:
    """A pandas column, without asking for pyarrow."""
    dtype = column.dtype
    if dtype.is_numeric():
        return pl.Series(column.name, column.cast(nw.Float64()).to_numpy())
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is None:
            return _series(column.name, column.to_numpy())
        plain = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _series(column.name, plain.to_numpy()).dt.replace_time_zone("UTC")
    if dtype == nw.Duration:
        return _series(column.name, column.to_numpy())
    missing = column.is_null().to_list()
    cells = [
        None if empty else str(cell) for cell, empty in zip(column.to_list(), missing, strict=True)
    ]
    return pl.Series(column.name, cells, dtype=pl.String)
