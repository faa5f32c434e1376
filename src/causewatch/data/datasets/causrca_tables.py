"""The event lists of causRCA as tables: words to numbers, one grid, values of silent tags."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.cells import read_numbers
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.shaping import keep_rows
from causewatch.data.files import open_file
from causewatch.data.notes import Tally
from causewatch.data.raw import file_name
from causewatch.data.table import NANOSECONDS, SourceFile, TimeTable
from causewatch.errors import TableError, listing, shorten

__all__ = [
    "Encoding",
    "complete_table",
    "read_encoding",
    "read_json",
    "read_tables",
    "tags_of",
    "usual_values",
]

COLUMNS = ("time_s", "node", "value", "type")
ENCODING = "categorical_encoding.json"
Encoding = Mapping[str, Mapping[str, float]]
"""Numbers by tag and word."""


def read_json(path: Path, wanted_by: Path) -> Any:
    """The content of a JSON file that belongs to the recording `wanted_by`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = (
            f"{path.name} of {file_name(wanted_by)} cannot be read ({shorten(str(error))}); "
            "download the dataset again."
        )
        raise TableError(message) from error


def read_encoding(folders: Sequence[Path], tally: Tally) -> Encoding:
    """The published numbers for words, from the first folder that has them; else none."""
    for folder in folders:
        if (path := folder / ENCODING).is_file():
            found = read_json(path, path)
            if isinstance(found, dict) and all(isinstance(v, dict) for v in found.values()):
                return found
            message = f"{ENCODING} is not as published: numbers by tag and word are needed."
            raise TableError(message)
    text = f"{ENCODING} was not found beside real_op; tags whose values are text are left out."
    tally.add("no_encoding", text)
    return {}


def read_tables(
    files: Sequence[Path], encoding: Encoding, grid: float | None, tally: Tally
) -> list[TimeTable]:
    """One table per file, all with the same columns; a tag a file does not list is missing."""
    events = [_events(path, encoding, tally) for path in files]
    whole = read_published([frame for frame, _ in events], time="time_s", long=True, grid=grid)
    # Values on a grid have no gaps, so each file is one stretch.
    return [
        replace(keep_rows(whole, rows.start, rows.stop), files=(file,), notes=())
        for rows, (_, file) in zip(whole.stretches(), events, strict=True)
    ]


def _events(path: Path, encoding: Encoding, tally: Tally) -> tuple[pl.DataFrame, SourceFile]:
    """The events of one file with numbers as values, and the file."""
    raw = open_file(path, ",", ".")
    if missing := [name for name in COLUMNS if name not in raw.columns]:
        message = (
            f"{raw.name} is not a file of causRCA: it lacks the columns {listing(missing)}, and "
            f"has {listing(raw.columns)}."
        )
        raise TableError(message)
    frame = pl.concat(list(raw.blocks(COLUMNS[:3], tally)))
    node = frame["node"].cast(pl.String)
    values = frame["value"].cast(pl.String)
    numbers = read_numbers(values)
    value = numbers.values.copy()
    bad = np.zeros(len(frame), dtype=np.bool_)
    bad[numbers.bad] = True
    for tag, words in encoding.items():
        rows = (node == tag).fill_null(value=False).to_numpy()
        value[rows] = (
            values.filter(rows)
            .replace_strict(words, default=None, return_dtype=pl.Float64)
            .fill_null(np.nan)
            .to_numpy()
        )
        bad[rows] = np.isnan(value[rows])
    text = "Values that are neither numbers nor words of the published encoding: {count}; missing."
    tally.add("text_cells", text, int(bad.sum()))
    assert raw.file is not None
    seconds = frame["time_s"].cast(pl.Float64, strict=False)
    if seconds.null_count():
        row = int(seconds.is_null().arg_max() or 0)
        message = (
            f"{raw.name}, {raw.place(row)}: {frame['time_s'][row]!r} is not a time in seconds."
        )
        raise TableError(message)
    # As a duration, so that no reader has to guess what the numbers mean.
    times = (seconds * NANOSECONDS).round().cast(pl.Int64).cast(pl.Duration("ns"))
    return frame.with_columns(time_s=times, value=pl.Series(value)), raw.file


def tags_of(tables: Sequence[TimeTable]) -> list[str]:
    """Tags that have a value in some table; all tables have the same columns."""
    seen = np.zeros(len(tables[0].signals), dtype=np.bool_)
    for table in tables:
        seen |= np.isfinite(table.values).any(axis=0)
    return [tag for tag, has in zip(tables[0].signals, seen.tolist(), strict=True) if has]


def usual_values(tables: Sequence[TimeTable], tags: Sequence[str]) -> dict[str, float]:
    """The value each tag has for the longest time."""
    usual: dict[str, float] = {}
    places = {tag: place for place, tag in enumerate(tables[0].signals)}
    for tag in tags:
        column = np.concatenate([table.values[:, places[tag]] for table in tables])
        values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        usual[tag] = float(values[counts.argmax()])
    return usual


def complete_table(
    table: TimeTable, tags: Sequence[str], usual: Mapping[str, float], tally: Tally
) -> TimeTable:
    """The table with the columns `tags`; one without any value holds its usual value, if known."""
    places = {tag: place for place, tag in enumerate(table.signals)}
    values: NDArray[np.float64] = np.full((len(table), len(tags)), np.nan)
    filled: list[str] = []
    for column, tag in enumerate(tags):
        if tag in places:
            values[:, column] = table.values[:, places[tag]]
        if tag in usual and np.isnan(values[:, column]).all():
            values[:, column] = usual[tag]
            filled.append(tag)
    text = (
        "Tags that a recording does not list, and that hold their usual value of normal work in "
        "it: {count} over all recordings."
    )
    tally.add("filled", text, len(filled))
    return replace(table, signals=tuple(tags), values=values)
