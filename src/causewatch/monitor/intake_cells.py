"""From a live row to numbers, by the rules that tables are read by."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.data.cells import LARGEST, MISSING, WORDS
from causewatch.errors import TableError, listing, shorten
from causewatch.monitor.intake_problems import Problems
from causewatch.monitor.stateful import Stateful

__all__ = ["MOST_EXTRA", "RowReader", "misfit"]

Floats = NDArray[np.float64]

MOST_EXTRA = 100
"""Names of unknown columns that are remembered; further ones are not told apart."""

NAN = float("nan")


class RowReader(Stateful):
    """Reads rows as numbers in the order of the columns; NaN where there is none.

    Parameters
    ----------
    columns
        The columns wanted.
    order
        The columns of a row without names, in order; by name, none of them is news.
    problems
        Where to count what is wrong.
    beside
        Names of what else a row may hold; none of them is news.
    """

    STATE = ("_size", "_extra", "_absent", "_absent_size")

    def __init__(
        self,
        columns: Sequence[str],
        order: Sequence[str],
        problems: Problems,
        beside: Sequence[str] = (),
    ) -> None:
        self._columns = tuple(columns)
        self._order = tuple(order)
        self._known = frozenset((*order, *beside))
        self._problems = problems
        self._get = operator.itemgetter(*columns, columns[0])  # a tuple even for one column
        place = {name: k for k, name in enumerate(order)}
        self._places = [place[name] for name in columns]
        self._size = -1  # number of cells of the last row whose names were looked at
        self._extra: list[str] = []  # unknown names seen, in order
        self._absent: set[str] = set()  # columns missing in the last row, and its size
        self._absent_size = 0

    def read(self, row: Mapping[str, Any] | Sequence[Any] | NDArray[Any]) -> Floats:
        """The numbers of a row: a new array."""
        if isinstance(row, Mapping):
            if len(row) != self._size:
                self._look_at_names(row)
            try:
                cells = self._get(row)[:-1]
                self._absent.clear()
            except KeyError:
                cells = self._with_gaps(row)
        else:
            cells = self._in_order(row)
        values = self._as_numbers(cells)
        if np.count_nonzero(np.abs(values) <= LARGEST) < len(values):
            self._check(values)
        return values

    def _as_numbers(self, cells: Any) -> Floats:
        """The cells as numbers, all at once where they are numbers already."""
        try:
            values = np.array(cells)
        except (ValueError, TypeError, OverflowError):  # lists, dates and the like among the cells
            return self._one_by_one(cells)
        if values.ndim == 1 and values.dtype.kind in "fiub" and values.itemsize <= 8:
            return values.astype(np.float64, copy=False)
        return self._one_by_one(cells)

    def _in_order(self, row: Any) -> Any:
        """The cells of a row without names."""
        if isinstance(row, np.ma.MaskedArray):
            row = [None if cell is np.ma.masked else cell for cell in row]
        what = f"A row is an object of type {type(row).__name__}"
        flat = isinstance(row, np.ndarray) and row.ndim == 1
        if flat or (isinstance(row, Sequence) and not isinstance(row, (str, bytes))):
            if len(row) == len(self._order):
                array = isinstance(row, np.ndarray)
                return row[self._places] if array else [row[place] for place in self._places]
            what = f"A row is {len(row)} values"
        raise misfit(what, self._order)

    def _with_gaps(self, row: Mapping[str, Any]) -> list[Any]:
        """The cells of a row that lacks columns; blanks around names play no part."""
        absent = {name for name in self._columns if name not in row}
        if absent != self._absent or len(row) != self._absent_size:  # mostly as in the row before
            padded = {name.strip(): name for name in row if isinstance(name, str)}
            named = {name: row[padded[name]] for name in absent if name in padded}
            if named:
                return self._with_gaps({**row, **named})
            for name in absent - self._absent:
                text = f"Column {shorten(name)} is not in the stream; it is missing, not zero."
                self._problems.note("missing_columns", text, about=name)
            self._absent, self._absent_size = absent, len(row)
        self._problems.count("missing_columns", len(absent))
        return list(map(row.get, self._columns, repeat(NAN)))

    def _look_at_names(self, row: Mapping[str, Any]) -> None:
        """Note unknown columns, each once."""
        self._size = len(row)
        for name in row:
            if name in self._known:
                continue
            plain = shorten(str(name).strip())
            if plain in self._known or plain in self._extra:
                continue
            if len(self._extra) >= MOST_EXTRA:
                return
            self._extra.append(plain)
            text = f"Columns that the model does not know: {{count}}, the first {plain!r}; ignored."
            self._problems.add("extra_columns", text)

    def _one_by_one(self, cells: Any) -> Floats:
        return np.array([self._number(k, cell) for k, cell in enumerate(cells)], dtype=np.float64)

    def _number(self, column: int, cell: Any) -> float:
        """One cell as a number; NaN and a count where it is none."""
        if type(cell) is float:
            return cell
        if cell is None:
            return NAN
        if isinstance(cell, (Real, Decimal, np.bool_)):
            try:
                return float(cell)
            except OverflowError:
                return float("inf")  # counted as such with the others
            except ValueError:
                return NAN
        number = _text_as_number(cell) if isinstance(cell, str) else None
        if number is None:
            name = self._columns[column]
            text = (
                f"Cells of {shorten(name)} that are no numbers: {{count}}, the first"
                f" {shorten(repr(cell))}; they are missing, not zero."
            )
            self._problems.add("text_cells", text, about=name)
            return NAN
        return number

    def _check(self, values: Floats) -> None:
        """Make what is no measured number missing, and count it; changes its argument."""
        large = np.flatnonzero(np.abs(values) > LARGEST)
        for k in large.tolist():
            name = self._columns[k]
            text = (
                f"Values of {shorten(name)} that are infinite or beyond {LARGEST:g}: {{count}};"
                " they are missing, not zero."
            )
            self._problems.add("infinite", text, about=name)
        values[large] = NAN
        missing = int(np.count_nonzero(np.isnan(values)))
        self._problems.count("missing", missing)
        if missing == len(values):
            self._problems.add(
                "empty_rows",
                "Rows without any value: {count}; the stream lives, its signals do not.",
            )


def misfit(what: str, order: Sequence[str]) -> TableError:
    """The error for values without names that are not one for each column of `order`."""
    return TableError(
        f"{what}, but {len(order)} values in the order of the recording learnt from"
        f" ({listing(order)}), or values by name, are needed."
    )


def _text_as_number(text: str) -> float | None:
    """Text as the table reader reads it: a number, a word for one, NaN for missing, else None."""
    plain = text.strip().lower()
    if "_" not in plain and plain.isascii():  # Python takes 1_0 and other digits, the reader not
        try:
            return float(plain)
        except ValueError:
            pass
    if plain in MISSING:
        return NAN
    return WORDS.get(plain)
