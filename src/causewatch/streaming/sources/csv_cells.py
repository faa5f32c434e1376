"""Lines of CSV as cells of text; what makes no sense is left out and counted."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from causewatch.data.dialect import BLANKS, Dialect
from causewatch.data.raw import clean_name
from causewatch.data.records import collapse_blanks, count_cells

__all__ = ["CsvCells", "cleaned"]


class CsvCells:
    """Cuts lines into cells.

    Parameters
    ----------
    dialect
        How the lines are written.
    names
        The columns.
    """

    def __init__(self, dialect: Dialect, names: Sequence[str]) -> None:
        self._dialect = dialect
        self._names = tuple(names)
        self.decimal = dialect.decimal

    def frame(self, data: bytes, names: Sequence[str]) -> tuple[pl.DataFrame, int]:
        """The columns `names` of whole lines.

        Also how many lines were left out because they have too few or too many cells.
        """
        separator = self._dialect.separator
        if separator == BLANKS:
            data = collapse_blanks(data)
        empty = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        if not data:
            return empty, 0
        cells, blank, stops = count_cells(data, separator)
        good = (cells == self._dialect.cells) & ~blank
        bad = int(np.count_nonzero(~good & ~blank))
        if not good.all():
            starts = np.concatenate([[0], stops[:-1] + 1])
            data = b"".join(data[a : b + 1] for a, b in zip(starts[good], stops[good], strict=True))
        if not data:
            return empty, bad
        place = {name: k for k, name in enumerate(self._names)}
        order = sorted({place[name] for name in names})
        try:
            frame = pl.read_csv(
                io.BytesIO(data),
                has_header=False,
                columns=order,
                separator=separator,
                infer_schema=False,
            )
        except pl.exceptions.PolarsError:
            frame = pl.DataFrame()
        expected = int(good.sum())
        if len(frame) != expected:
            frame = self._one_by_one(data, order)
            bad += expected - len(frame)
        frame.columns = [self._names[k] for k in order]
        return frame.select(names), bad

    def names_in(self, line: bytes) -> tuple[str, ...]:
        """The cells of a line, as names of columns."""
        text, separator = line.decode("utf-8", "replace").strip(), self._dialect.separator
        cells = text.split() if separator == BLANKS else text.split(separator)
        return tuple(clean_name(cell.strip().strip('"')) for cell in cells)

    def _one_by_one(self, data: bytes, order: Sequence[int]) -> pl.DataFrame:
        """Lines among which some have misplaced quotation marks."""
        kept = []
        for line in data.decode().removesuffix("\n").split("\n"):
            try:
                cells = next(csv.reader([line], delimiter=self._dialect.separator, strict=True), [])
            except csv.Error:
                cells = []
            if len(cells) == self._dialect.cells:
                kept.append([cells[k] for k in order])
        return pl.DataFrame(kept, schema={str(k): pl.String for k in order}, orient="row")


def cleaned(data: bytes) -> tuple[bytes, int]:
    """Lines as UTF-8, without those that have NUL bytes or quotation marks that never close.

    Also how many these were.
    """
    if not data:
        return data, 0
    bad = 0
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        data, bad = _without(data, lambda line: b"\0" in line)
    if b'"' in data:
        data, odd = _without(data, lambda line: line.count(b'"') % 2 == 1)
        bad += odd
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            data = data.decode("cp1252", "replace").encode()
    return data, bad


def _without(data: bytes, bad: Callable[[bytes], bool]) -> tuple[bytes, int]:
    lines = data.splitlines(keepends=True)
    kept = [line for line in lines if not bad(line)]
    return b"".join(kept), len(lines) - len(kept)
