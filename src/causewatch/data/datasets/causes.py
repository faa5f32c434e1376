"""``causes.json``: what went wrong in which recording, when and where."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causewatch.data.datasets.base import Event
from causewatch.data.datasets.checks import check_order
from causewatch.data.raw import clean_name, file_name
from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.errors import TableError, listing, shorten

__all__ = [
    "CauseEntry",
    "Moment",
    "causes_beside",
    "known_signals",
    "needed_causes",
    "read_causes",
    "row_events",
]

Moment = int | str
"""A row number of the file, counted from 0, or a time as text."""


@dataclass(frozen=True, slots=True)
class CauseEntry:
    """One entry of ``causes.json``, checked for its form only.

    Attributes
    ----------
    name
        What the event is called.
    start, end
        Times, or row numbers of the file (from 0, without the header), half-open.
    signals
        Where it acts; empty where that is not known.
    file
        Name of the recording it belongs to; None if there is only one, or if its times tell.
    description
        For people.
    """

    name: str
    start: Moment
    end: Moment
    signals: tuple[str, ...] = ()
    file: str | None = None
    description: str = ""


def read_causes(path: str | os.PathLike[str]) -> list[CauseEntry]:
    """Read ``causes.json``: a list of ``{"name", "start", "end", "signals", "file"?}``."""
    path = Path(path)
    try:
        told = json.loads(path.read_bytes())
    except OSError as error:
        msg = f"Cannot read {path.name!r}: {error.strerror or error}."
        raise TableError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{path.name!r} is not JSON ({shorten(str(error))}); give the list of events."
        raise TableError(msg) from error
    if not isinstance(told, list):
        msg = f"{path.name!r} holds no list; expected [{{name, start, end, signals}}, …]."
        raise TableError(msg)
    return [_entry(one, number, path.name) for number, one in enumerate(told, 1)]


def _entry(told: Any, number: int, file: str) -> CauseEntry:
    place = f"Event {number} in {file!r}"
    if not isinstance(told, Mapping):
        msg = f"{place} is {_as_json(told)}; expected {{name, start, end, signals}}."
        raise TableError(msg)
    try:
        json.dumps(told, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        msg = f"{place} has half of a character ({error.object[error.start]!a}); write it whole."
        raise TableError(msg) from error
    missing = [key for key in ("name", "start", "end", "signals") if key not in told]
    if missing:
        msg = f"{place} has no {missing[0]!r}; expected {{name, start, end, signals}}."
        raise TableError(msg)
    for key in ("start", "end"):
        moment = told[key].strip() if isinstance(told[key], str) else told[key]
        if isinstance(moment, bool) or not isinstance(moment, (int, str)) or moment == "":
            msg = (
                f"{place}: {key!r} is {_as_json(told[key])}; write a time such as"
                " '2026-01-01T14:02:00', or a row number counted from 0."
            )
            raise TableError(msg)
    signals = told["signals"]
    if not isinstance(signals, list) or not all(isinstance(one, str) for one in signals):
        msg = f"{place}: 'signals' is {_as_json(signals)}; write a list of names, or []."
        raise TableError(msg)
    belongs = told.get("file")
    if belongs is not None and not isinstance(belongs, str):
        msg = f"{place}: 'file' is {_as_json(belongs)}; write the name of a recording."
        raise TableError(msg)
    return CauseEntry(
        str(told["name"]),
        told["start"],
        told["end"],
        tuple(dict.fromkeys(clean_name(signal) for signal in signals)),
        belongs,
        str(told.get("description", "")),
    )


def _as_json(value: object) -> str:
    """A value as it stands in the file."""
    return shorten(json.dumps(value, ensure_ascii=False))


def causes_beside(files: Iterable[Path]) -> dict[Path, list[CauseEntry]]:
    """What ``causes.json`` says of each file: the one in its folder, else in the folder above.

    An entry without ``file`` is of the only file there is; raises if there are several.
    """
    files = tuple(files)
    read: dict[Path, list[CauseEntry]] = {}
    by_file: dict[Path, list[CauseEntry]] = {}
    for file in files:
        for folder in (file.parent, file.parent.parent):
            path = folder / "causes.json"
            if path not in read:
                read[path] = read_causes(path) if path.is_file() else []
            _refuse_homeless(read[path], files)
            entries = [
                entry
                for entry in read[path]
                if entry.file is None or Path(entry.file).name == file.name
            ]
            if entries:
                by_file[file] = entries
                break
    return by_file


def _refuse_homeless(entries: Iterable[CauseEntry], files: Sequence[Path]) -> None:
    """Raise if an entry does not say which of several files it is of."""
    homeless = [entry.name for entry in entries if entry.file is None]
    if homeless and len(files) > 1:
        message = (
            f"causes.json does not say of which of {len(files)} recordings the event "
            f"{shorten(homeless[0])!r} is; give it a 'file' with the name of its recording."
        )
        raise TableError(message)


def needed_causes(files: Sequence[Path], title: str, expected: str) -> dict[Path, list[CauseEntry]]:
    """What ``causes.json`` says of each file; raises if it leaves one out, or there is none."""
    if not files:
        message = f"No recording of {title} was found; expected {expected}."
        raise TableError(message)
    causes = causes_beside(files)
    missing = [file_name(path) for path in files if path not in causes]
    if missing:
        message = (
            f"No causes.json beside the recordings of {title} says what went wrong in "
            f"{listing(missing, 3)}; expected {expected}."
        )
        raise TableError(message)
    return causes


def row_events(entries: Iterable[CauseEntry], table: TimeTable, path: Path) -> tuple[Event, ...]:
    """Entries whose start and end are row numbers, as events of the table of their file, by start.

    Raises if an entry does not fit the table, or its times go back.
    """
    check_order(file_name(path), table)
    events = [_row_event(entry, table, path) for entry in entries]
    return tuple(sorted(events, key=lambda event: event.start))


def known_signals(entry: CauseEntry, table: TimeTable, path: Path) -> tuple[str, ...]:
    """The signals of an entry; raises if the table of its file does not have them."""
    unknown = [signal for signal in entry.signals if signal not in table.signals]
    if unknown:
        name = file_name(path)
        message = f"causes.json names {listing(unknown)} of {name}, which has no such signals."
        raise TableError(message)
    return entry.signals


def _row_event(entry: CauseEntry, table: TimeTable, path: Path) -> Event:
    name, start, end = file_name(path), entry.start, entry.end
    signals = known_signals(entry, table, path)
    if any(file.rows != len(table) for file in table.files):
        message = f"Rows of {name} cannot be used, so row numbers of causes.json do not fit."
        raise TableError(message)
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(table)):
        message = (
            f"causes.json has an event of {name} from {start!r} to {end!r}; rows between 0 and "
            f"{len(table)} are expected."
        )
        raise TableError(message)
    last = int(table.time[end - 1]) + round(table.interval * NANOSECONDS)
    return Event(entry.name, int(table.time[start]), last, signals, entry.description)
