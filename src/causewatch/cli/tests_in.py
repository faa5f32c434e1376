"""Recordings with known truth, as commands take them from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.output import refuse_existing, refuse_folders
from causewatch.errors import SettingError, listing

if TYPE_CHECKING:
    from causewatch.data import TimeTable
    from causewatch.evaluation.verdicts import Progress

__all__ = [
    "Causes",
    "Decimal",
    "Grace",
    "Ignore",
    "Labels",
    "Separator",
    "TimeColumn",
    "TimeFormat",
    "check_report",
    "grace_of",
    "on_clock",
    "read_tables",
    "reading",
    "remarks",
]

Labels = Annotated[
    list[str] | None, typer.Option("--labels", metavar="COL", help="Column of labels by row.")
]
Causes = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="Events: [{name, start, end, signals, file?}, …]."),
]
Grace = Annotated[
    str, typer.Option(metavar="0s", help="How long after an event an alarm still counts for it.")
]
TimeColumn = Annotated[
    str | None, typer.Option(metavar="COL", help="Time column, if it is not found.")
]
TimeFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="How times are written: '%d/%m/%Y %H:%M', or excel."),
]
Separator = Annotated[
    str | None, typer.Option(metavar="SIGN", help="What separates columns, if it is not found.")
]
Decimal = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Decimal sign, if it is not found.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,…", help="Columns to leave out; may be given several times."),
]


def reading(
    labels: str | None,
    time: str | None,
    time_format: str | None,
    ignore: list[str] | None,
    separator: str | None,
    decimal: str | None,
    keep: Sequence[str] = (),
) -> dict[str, Any]:
    """What the user says about recordings, as `causewatch.read_table` takes it.

    The columns to `keep` are signals of the model, whatever they look like.
    """
    names = [name.strip() for part in ignore or () for name in part.split(",") if name.strip()]
    return {
        "labels": labels,
        "time": time,
        "time_format": time_format,
        "ignore": names,
        "keep": keep,
        "separator": separator,
        "decimal": decimal,
    }


def read_tables(
    paths: Sequence[Path], options: dict[str, Any], tell: Progress
) -> dict[str, TimeTable]:
    """The recordings by file name; where several have the same, by path."""
    from causewatch.data import open_together, read_table

    short = [path.name for path in paths]
    names = [path.name if short.count(path.name) == 1 else str(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            msg = f"{name!r} was given twice; give each recording once."
            raise SettingError(msg)
    tables: dict[str, TimeTable] = {}
    for name, source in zip(names, open_together(paths, options), strict=True):
        tell(f"reading {name}", None)
        tables[name] = read_table(source)
    return tables


def check_report(report: Path | None, inputs: Sequence[Path], force: bool) -> None:
    """Raise unless a page can be written there, before any work is done."""
    if report is None:
        return
    refuse_folders([report])
    if not report.absolute().parent.is_dir():
        msg = f"There is no folder {str(report.parent)!r} to write {report.name!r} to."
        raise SettingError(msg)
    if any(report.exists() and path.exists() and report.samefile(path) for path in inputs):
        msg = f"{str(report)!r} is one of the files read; name another one for --report."
        raise SettingError(msg)
    refuse_existing([report], force)


def on_clock(table: TimeTable, clock: str, interval: float) -> TimeTable:
    """A recording on the clock of what was learnt: with times, or with rows that are counted."""
    from dataclasses import replace

    import numpy as np

    from causewatch.data.table import NANOSECONDS

    if (clock == "rows") == (table.clock == "rows"):
        return table
    number = table.file_rows
    if number is None:
        number = np.arange(len(table), dtype=np.int64)
    if clock == "rows":
        return replace(table, time=number * NANOSECONDS, clock="rows", interval=1.0)
    time = number * round(interval * NANOSECONDS)
    return replace(table, time=time, clock="elapsed", interval=interval)


def remarks(
    tables: dict[str, TimeTable], columns: Sequence[str], clock: str, options: dict[str, Any]
) -> list[str]:
    """What is to be said about recordings before they are watched; raises if nothing fits.

    The `options` are those they were read with.
    """
    from causewatch.data.day_order import DOUBTS
    from causewatch.streaming.sources.signs import other_signs

    said = []
    for name, table in tables.items():
        if clock != "rows":
            said += [note.text for note in table.notes if note.kind in DOUBTS]
        said += [note.text for note in table.notes if note.kind == "bad_lines"]
        signs = {sign: options[sign] for sign in ("separator", "decimal")}
        sentence = other_signs(name, options["usual"], table.writing, **signs)
        said += [sentence] if sentence else []
        absent = [column for column in columns if column not in table.signals]
        if len(absent) == len(columns):
            msg = (
                f"{name!r} has none of the {len(columns)} signals that were learnt"
                f" ({listing(columns)}); it has {listing(table.signals)}."
            )
            raise SettingError(msg)
        if absent:
            said.append(
                f"{name} lacks {len(absent)} of the {len(columns)} signals: {listing(absent)};"
                " the others are watched."
            )
        if clock == "rows" and table.clock != "rows":
            said.append(
                f"What was learnt had no times, so the rows of {name} are counted and taken as a"
                " second each: delays and false alarms a day are in rows."
            )
    return said


def grace_of(text: str) -> float:
    """Seconds of ``--grace``; unlike other durations it may be 0."""
    from causewatch.data import parse_duration

    if text.strip().rstrip("smhd ").strip("0.") == "" and "0" in text:
        return 0.0
    return parse_duration(text)
