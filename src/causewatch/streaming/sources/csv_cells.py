"""Lines of CSV as cells of text; what makes no sense is left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from causewatch.data.csv_lines import cells_of
from causewatch.data.dialect import BLANKS, Dialect
from causewatch.data.raw import clean_name

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

        Also how many lines were left out because they make no sense.
        """
        place = {name: k for k, name in enumerate(self._names)}
        order = sorted({place[name] for name in names})
        frame, bad = cells_of(
            data, self._dialect.separator, self._dialect.cells, order, blank_rows=False
        )
        frame.columns = [self._names[k] for k in order]
        return frame.select(names), len(bad)

    def names_in(self, line: bytes) -> tuple[str, ...]:
        """The cells of a line, as names of columns."""
        text, separator = line.decode("utf-8", "replace").strip(), self._dialect.separator
        cells = text.split() if separator == BLANKS else text.split(separator)
        return tuple(clean_name(cell.strip().strip('"')) for cell in cells)


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
