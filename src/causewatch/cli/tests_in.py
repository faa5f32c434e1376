"""Recordings with known truth, as commands take them from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.errors import SettingError

if TYPE_CHECKING:
    from causewatch.data import TimeTable
    from causewatch.evaluation.verdicts import Progress

__all__ = [
    "Causes",
    "Grace",
    "Ignore",
    "Labels",
    "TimeColumn",
    "TimeFormat",
    "grace_of",
    "read_tables",
    "reading",
]

Labels = Annotated[str | None, typer.Option(metavar="COL", help="Column of labels by row.")]
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
    typer.Option(metavar="FORMAT", help="How times are written, e.g. '%d/%m/%Y %H:%M'."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,…", help="Columns to leave out; may be given several times."),
]


def reading(
    labels: str | None, time: str | None, time_format: str | None, ignore: list[str] | None
) -> dict[str, Any]:
    """What the user says about recordings, as `causewatch.read_table` takes it."""
    names = [name.strip() for part in ignore or () for name in part.split(",") if name.strip()]
    return {"labels": labels, "time": time, "time_format": time_format, "ignore": names}


def read_tables(
    paths: Sequence[Path], options: dict[str, Any], tell: Progress
) -> dict[str, TimeTable]:
    """The recordings by file name."""
    from causewatch.data import read_table

    tables: dict[str, TimeTable] = {}
    for path in paths:
        if path.name in tables:
            msg = f"{path.name!r} was given twice; recordings are told apart by their names."
            raise SettingError(msg)
        tell(f"reading {path.name}", None)
        tables[path.name] = read_table(path, **options)
    return tables


def grace_of(text: str) -> float:
    """Seconds of ``--grace``; unlike other durations it may be 0."""
    from causewatch.data import parse_duration

    if text.strip().rstrip("smhd ").strip("0.") == "" and "0" in text:
        return 0.0
    return parse_duration(text)
