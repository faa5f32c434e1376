"""From cells to numbers: what counts as a number, as missing, and as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["MISSING", "Numbers", "is_supported", "read_labels", "read_numbers", "shown"]

MISSING = frozenset(
    {
        "", "-", "--", "?", "nan", "na", "n/a", "null", "none", "nil", "#n/a", "#na", "#nv",
        "#value!", "#ref!", "#num!", "#name?", "#null!", "#div/0!", "1.#qnan", "-1.#ind",
        "bad", "bad input", "bad data", "no data", "nodata", "no value", "i/o timeout",
        "comm fail", "not connected",
    }
)  # fmt: skip
"""Words (lower case) that stand for a missing value in a column of numbers."""

USUAL = frozenset({"", "-", "--", "?", "nan", "na", "n/a", "null", "none", "nil"})
"""Those that say no more than that; the others say that something failed."""

WORDS = {
    "true": 1.0, "false": 0.0, "on": 1.0, "off": 0.0, "open": 1.0, "opened": 1.0, "closed": 0.0,
}  # fmt: skip
"""Words (lower case) that stand for a number."""

LARGEST = 1e100
"""Numbers beyond this size are not measured; they count as infinite, so that no sum overflows."""

NORMAL_LABELS = frozenset({"normal", "false", "0", "no", "off", "ok", "good", "benign", "healthy"})
"""Words (lower case) of a label that say that nothing is wrong."""
EMPTY_LABELS = frozenset({"", "nan", "na", "n/a", "null", "none"})
NOT_LABELLED = -999.0


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column as numbers.

    Attributes
    ----------
    values
        NaN where missing; never infinite.
    bad
        Positions of cells that are neither a number nor a known word for missing.
    infinite
        Positions of cells that are infinite or beyond `LARGEST`; missing in `values`.
    failures
        Positions of cells such as ``#VALUE!`` or ``Bad Input``; missing in `values`.
    """

    values: NDArray[np.float64]
    bad: NDArray[np.intp]
    infinite: NDArray[np.intp]
    failures: NDArray[np.intp]

    @property
    def is_text(self) -> bool:
        """Whether more than 5 % of the cells that are not missing are no numbers."""
        found = int(np.isfinite(self.values).sum()) + len(self.bad)
        return len(self.bad) > 0.05 * found


def is_supported(dtype: pl.DataType) -> bool:
    """Whether a column of this type can hold numbers at all."""
    return (
        dtype.is_numeric()
        or dtype in (pl.Boolean, pl.String, pl.Null)
        or isinstance(dtype, (pl.Categorical, pl.Enum))
    )


def read_numbers(cells: pl.Series, decimal: str = ".") -> Numbers:
    """Read a column of any supported type as numbers.

    Parameters
    ----------
    cells
        Text, numbers or truth values.
    decimal
        The decimal mark of text cells. With a decimal comma a point makes a cell unreadable:
        ``1.234,5`` could be a thousands separator or a mistake, so it is not guessed.
    """
    text: pl.Series | None = None
    if cells.dtype == pl.String or isinstance(cells.dtype, (pl.Categorical, pl.Enum)):
        text = cells.cast(pl.String)
        if decimal == ",":
            text = text.str.replace_all(".", "?", literal=True)
            text = text.str.replace_all(",", ".", literal=True)
        numbers = text.cast(pl.Float64, strict=False)
    else:
        numbers = cells.cast(pl.Float64, strict=False)
    values = numbers.to_numpy().copy()
    bad = failures = np.zeros(0, dtype=np.intp)
    if text is not None and numbers.null_count() > text.null_count():
        failed = (numbers.is_null() & text.is_not_null()).arg_true()
        words = text.gather(failed).str.strip_chars().str.to_lowercase()
        second = words.cast(pl.Float64, strict=False).fill_null(
            words.replace_strict(WORDS, default=None, return_dtype=pl.Float64)
        )
        at = failed.to_numpy().astype(np.intp)
        values[at] = second.to_numpy()
        bad = at[(second.is_null() & ~words.is_in(list(MISSING))).to_numpy()]
        failures = at[words.is_in(list(MISSING - USUAL)).to_numpy()]
    infinite = np.flatnonzero(np.abs(values) > LARGEST)
    values[infinite] = np.nan
    return Numbers(values, bad, infinite, failures)


def read_labels(cells: pl.Series, decimal: str = ".") -> NDArray[np.float64]:
    """Truth by row: 1 anomalous, 0 normal, NaN not counted.

    Nonzero numbers and any text that is none of `NORMAL_LABELS` are anomalous; −999 and empty cells
    are not counted.
    """
    if cells.dtype == pl.String or isinstance(cells.dtype, (pl.Categorical, pl.Enum)):
        text = cells.cast(pl.String).str.strip_chars().str.to_lowercase().fill_null("")
        if decimal == ",":
            text = text.str.replace_all(",", ".", literal=True)
        numbers = text.cast(pl.Float64, strict=False)
        word = numbers.is_null().to_numpy()
        values = numbers.fill_null(np.nan).to_numpy().copy()
        normal = text.is_in(list(NORMAL_LABELS)).to_numpy()
        empty = text.is_in(list(EMPTY_LABELS)).to_numpy()
        values[word] = np.where(normal, 0.0, np.where(empty, np.nan, 1.0))[word]
    else:
        values = cells.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()
    counted = ~np.isnan(values) & (values != NOT_LABELLED)
    return np.where(counted, (values != 0).astype(np.float64), np.nan)


def shown(cells: pl.Series, row: int) -> str:
    """A cell as text; a time in a year that no calendar knows as the number that it is."""
    try:
        return str(cells[row])
    except (ValueError, OverflowError):
        return str(cells.to_physical()[row])
