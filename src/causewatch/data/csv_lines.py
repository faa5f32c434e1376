"""Lines of a text table as cells; what makes no sense is left out, line by line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.dialect import BLANKS
from causewatch.data.records import (
    GARBAGE,
    NEWLINE,
    collapse_blanks,
    count_cells,
    without_open_quotes,
)

__all__ = ["cells_of"]


def cells_of(
    data: bytes, separator: str, cells: int, places: Sequence[int], *, blank_rows: bool
) -> tuple[pl.DataFrame, NDArray[np.intp]]:
    """Some columns of whole records as text, and the numbers of the records that make no sense.

    These have another number of cells, NUL bytes or misplaced quotation marks. A quotation mark
    that opens a cell of several lines, which then does not fit, spoils its own line only.

    Parameters
    ----------
    data
        Whole records in UTF-8.
    separator, cells
        What stands between cells, and how many there are.
    places
        The columns, ascending.
    blank_rows
        Whether a blank line is a row of empty cells; else it is left out without a word.
    """
    if separator == BLANKS:
        data = collapse_blanks(data)
    empty = pl.DataFrame(schema=dict.fromkeys(map(str, places), pl.String))
    if not data:
        return empty, np.zeros(0, dtype=np.intp)
    counts, blank, stops = count_cells(data, separator)
    if not _are_cells_of_several_lines(data, stops, separator, cells):
        data = without_open_quotes(data)
        counts, blank, stops = count_cells(data, separator)
    wrong = _wrong(data, counts != cells, blank, stops)
    good = ~wrong if blank_rows else ~(wrong | blank)
    rows = data
    if not good.all():
        starts = np.concatenate([[0], stops[:-1] + 1])
        rows = b"".join(data[a : b + 1] for a, b in zip(starts[good], stops[good], strict=True))
    if not rows:
        return empty, np.flatnonzero(wrong)
    if blank[good].any():
        rows = re.sub(rb"(?m)^(?=\r?\n)", separator.encode() * (cells - 1), rows)
    try:
        frame = pl.read_csv(
            io.BytesIO(rows),
            has_header=False,
            columns=list(places),
            separator=separator,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        frame = pl.DataFrame()
    if len(frame) != np.count_nonzero(good):
        frame, odd = _one_by_one(rows, separator, cells, places)
        wrong[np.flatnonzero(good)[odd]] = True
    frame.columns = [str(place) for place in places]
    return frame, np.flatnonzero(wrong)


def _are_cells_of_several_lines(
    data: bytes, stops: NDArray[np.intp], separator: str, cells: int
) -> bool:
    """Whether every record of several lines is one: its quotation marks stand where cells end."""
    if data.count(b"\n") == len(stops):
        return True
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == NEWLINE)
    several = np.unique(np.searchsorted(stops, np.setdiff1d(ends, stops, assume_unique=True)))
    starts = np.concatenate([[0], stops[:-1] + 1])
    records = (data[starts[at] : stops[at]] for at in several)
    return all(len(_strictly(record, separator)) == cells for record in records)


def _strictly(record: bytes, separator: str) -> list[str]:
    """The cells of a record; none if its quotation marks are misplaced."""
    text = record.decode().removesuffix("\r")
    try:
        [row] = csv.reader([text], delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return []
    return row


def _wrong(
    data: bytes,
    miscounted: NDArray[np.bool_],
    blank: NDArray[np.bool_],
    stops: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Which records have another number of cells, or NUL bytes."""
    wrong = miscounted & ~blank
    if GARBAGE in data:
        nul = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 0)
        wrong[np.searchsorted(stops, nul)] = True
    return wrong


def _one_by_one(
    rows: bytes, separator: str, cells: int, places: Sequence[int]
) -> tuple[pl.DataFrame, NDArray[np.intp]]:
    """Records among which some have misplaced quotation marks, and the numbers of these."""
    kept: list[list[str | None]] = []
    odd: list[int] = []
    _, _, stops = count_cells(rows, separator)
    begin = 0
    for number, end in enumerate(stops.tolist()):
        row = _strictly(rows[begin:end], separator)
        begin = end + 1
        if len(row) == cells:
            kept.append([row[place] or None for place in places])
        else:
            odd.append(number)
    schema = dict.fromkeys(map(str, places), pl.String)
    return pl.DataFrame(kept, schema=schema, orient="row"), np.array(odd, dtype=np.intp)
