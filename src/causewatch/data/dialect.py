"""How a text table is written: separator, decimal mark, title rows, header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from causewatch.data.cells import MISSING, WORDS
from causewatch.data.raw import check_columns
from causewatch.data.times import detect_format
from causewatch.data.writing import Writing
from causewatch.errors import SettingError, TableError

__all__ = ["BLANKS", "Dialect", "Layout", "detect_dialect", "find_header"]

BLANKS = " "
"""The separator that stands for runs of blanks and tabs."""

SEPARATORS = ("\t", ";", "|", ",")
SPELLED = {"tab": "\t", "\\t": "\t", "space": BLANKS, "blank": BLANKS}
SAMPLE = 200
MOST_TITLES = 20
LOOKED = 100
"""Cells of a row by which it is a header, or not."""

_POINT = re.compile(r"^\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*$")
_COMMA = re.compile(r"^\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*$")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a table begins: how many records stand before the data, and its raw column names."""

    skip: int
    names: tuple[str, ...]
    has_header: bool


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text table is written.

    `skip` records stand before the data; `names` are the header's cells, as they are; every data
    record has `cells` cells.
    """

    separator: str
    decimal: str
    skip: int
    names: tuple[str, ...]
    has_header: bool
    cells: int


def detect_dialect(
    lines: Sequence[str],
    source: str,
    separator: str | None,
    decimal: str | None,
    usual: Writing | None = None,
) -> Dialect:
    """Judge the first lines of a text table.

    Parameters
    ----------
    lines
        The first records of the file, without line ends.
    source
        The file's name for messages.
    separator, decimal
        What the user says they are; detected if None.
    usual
        How earlier recordings of the plant are written.
    """
    separator = SPELLED.get(separator, separator) if separator else separator
    if separator is not None and (
        len(separator) != 1 or not separator.isascii() or separator in '"\r\n'
    ):
        message = f"The separator {separator!r} is not one character of ASCII such as ',' or ';'."
        raise SettingError(message)
    if decimal not in (None, ".", ","):
        message = f"The decimal mark {decimal!r} is neither '.' nor ','."
        raise SettingError(message)
    if decimal == "," and separator == ",":
        message = "Separator and decimal mark cannot both be ','."
        raise SettingError(message)
    lines = [line for line in lines[:SAMPLE] if line.strip()]
    if not lines:
        message = f"{source} is empty; a table with at least two rows is needed."
        raise TableError(message)
    mark = separator or _usual_separator(lines, usual) or _detect_separator(lines)
    rows = [split(line, mark, source) for line in lines]
    check_columns(_usual_cells(rows), source)
    layout = find_header(rows)
    data = rows[layout.skip :]
    if decimal is None:
        decimal = "." if mark == "," else _detect_decimal(data, usual)
    cells = _usual_cells(data) if data else len(layout.names)
    names = layout.names
    named = max((place for place, name in enumerate(names) if name.strip()), default=-1)
    names = names[: max(cells, named + 1)]
    if not any(cell.strip() for row in data for cell in row[len(names) :]):
        names = (*names, *[""] * (cells - len(names)))
    return Dialect(mark, decimal, layout.skip, names, layout.has_header, cells)


def split(line: str, separator: str, source: str) -> list[str]:
    """The cells of one record."""
    if separator == BLANKS:
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        message = f"The first lines of {source} cannot be split into cells ({error})."
        raise TableError(message) from error


def find_header(rows: Sequence[Sequence[str]]) -> Layout:
    """Where the header is: below title rows that are mostly empty, or nowhere.

    A row above the header whose filled cells are text and at most half as many as usual is a title.
    A first row of numbers, times and missing values only is data.
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = min(_usual_cells(rows), max(filled))
    skip = 0
    while (
        skip < min(MOST_TITLES, len(rows) - 2)
        and filled[skip] <= usual / 2
        and not any(_is_value(cell) for cell in rows[skip][:LOOKED] if cell.strip())
    ):
        skip += 1
    first = rows[skip]
    if filled[skip] and all(_is_value(cell) for cell in first[:LOOKED]):
        return Layout(skip, tuple(f"x{i}" for i in range(len(first))), has_header=False)
    return Layout(skip + 1, tuple(first), has_header=True)


def _usual_cells(rows: Sequence[Sequence[str]]) -> int:
    """How many cells most rows have."""
    return Counter(len(row) for row in rows).most_common(1)[0][0]


def _is_value(cell: str) -> bool:
    """Whether a cell is a number, a time, or a word for one of these or for missing."""
    text = cell.strip().lower()
    if text in MISSING or text in WORDS or _COMMA.match(text):
        return True
    try:
        float(text)
    except ValueError:
        if not any(letter.isdigit() for letter in text):
            return False
    else:
        return True
    found, _ = detect_format(pl.Series([text], dtype=pl.String), "", ".")
    return found is not None


def _usual_separator(lines: Sequence[str], usual: Writing | None) -> str | None:
    """The usual separator, if it cuts the usual time column out of the header."""
    mark, time = (None, None) if usual is None else (usual.separator, usual.time)
    if mark is None or time is None:
        return None
    for line in lines[: MOST_TITLES + 1]:
        cells = line.split() if mark == BLANKS else line.split(mark)
        if len(cells) > 1 and time in (cell.strip().strip('"') for cell in cells):
            return mark
    return None


def _detect_separator(lines: Sequence[str]) -> str:
    """The separator found equally often in most lines."""
    for mark in SEPARATORS:
        counts = Counter(_count(line, mark) for line in lines)
        usual, lines_with = counts.most_common(1)[0]
        first = lines[: MOST_TITLES + 1]
        most = max(_count(line, mark) for line in first)
        # A header may end in signs that no row ends in.
        filled = max(_count(line.rstrip(f" {mark}"), mark) for line in first)
        if (
            usual > 0
            and lines_with >= 0.7 * len(lines)
            and min(abs(most - usual), abs(filled - usual)) <= 1
        ):
            return mark
    counts = Counter(len(line.split()) for line in lines)
    usual, lines_with = counts.most_common(1)[0]
    return BLANKS if usual > 1 and lines_with >= 0.9 * len(lines) else ","


def _count(line: str, mark: str) -> int:
    """How often `mark` stands outside quotation marks."""
    return sum(part.count(mark) for part in line.split('"')[::2])


def _detect_decimal(rows: Sequence[Sequence[str]], usual: Writing | None) -> str:
    points = commas = 0
    for row in rows:
        for cell in row:
            points += bool(_POINT.match(cell))
            commas += bool(_COMMA.match(cell))
    if points == commas and usual is not None and usual.decimal is not None:
        return usual.decimal
    return "," if commas > points else "."
