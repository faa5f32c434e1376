"""HAI: boiler, turbine and water treatment coupled by a simulator, with attacks on control loops.

Known versions, one row per second:

=============  =======  =====================================================================
version        signals  files
=============  =======  =====================================================================
20.07          59       ``train1.csv`` …, ``test1.csv`` …, separated by ``;``, gzipped; columns
                        ``time``, ``attack``, ``attack_P1`` … ``attack_P3``
21.03          78       the same with ``,``
22.04          86       ``timestamp`` and ``Attack`` only
23.05          86       ``hai-train1.csv`` …, ``hai-test1.csv`` …, labels in ``label-test1.csv`` …
HAIEnd 23.05   225      ``end-train1.csv`` …, ``end-test1.csv`` …, labels as above
=============  =======  =====================================================================

SHA-256 sums are public for 22.04 and 23.05 (as the publisher's Git repository states them) and for
the gzipped files of 20.07; files are compared with them. Labels say when an attack takes place, and
up to 21.03 in which process; which signals it acts on is not in the files. Separate labels are
joined by row, as both files have the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.checks import read_published
from causewatch.data.datasets.files import compare_hashes, find_files, plain_name, read_columns
from causewatch.data.datasets.hai_hashes import PUBLISHED
from causewatch.data.datasets.shaping import keep_signals, label_events
from causewatch.data.raw import file_name
from causewatch.data.table import Note, TimeTable
from causewatch.errors import SettingError, TableError, listing

__all__ = ["load"]

NAME = re.compile(r"(hai-|end-)?(train|test)(\d+)", re.IGNORECASE)
LABEL_NAME = re.compile(r"label-?test(\d+)", re.IGNORECASE)
PROCESS = re.compile(r"attack[_.](p\d)", re.IGNORECASE)
SIGNALS = {
    "20.07": (59,),
    "21.03": (78, 79),
    "22.04": (86,),
    "23.05": (86,),
    "HAIEnd 23.05": (225,),
}
"""How many signals each version has; 21.03 counts 78 in its description."""

EXPECTED = "train*.csv and test*.csv of one version (23.05 also label-test*.csv)"


def load(paths: Sequence[Path]) -> Dataset:
    """Load one version of HAI from its folder or from its files."""
    files = find_files(paths, "HAI", EXPECTED)
    named = _named(files)
    _check_files(named, files)
    labels = {found[1]: path for path in files if (found := LABEL_NAME.fullmatch(plain_name(path)))}
    notes: list[Note] = []
    tables: list[TimeTable] = []
    recordings: dict[str, list[Recording]] = {"train": [], "test": []}
    style = ""
    for path, (prefix, kind, number) in named.items():
        table, processes = _read(path)
        if kind == "test" and table.labels is None:
            table = replace(table, labels=_separate_labels(path, table, labels.get(number), number))
        if not tables:
            style = _style(prefix, bool(processes), len(table.signals))
        table = _same_signals(table, tables[0], file_name(path)) if tables else table
        tables.append(table)
        recordings[kind].append(_recording(path, table, processes, kind))
    for recording in recordings["train"]:
        if recording.events:
            text = f"{recording.name} is for training but holds rows labelled as attacks."
            notes.append(Note("labelled_training", len(recording.events), text))
    sources = [source for table in tables for source in table.files]
    notes += compare_hashes(sources, PUBLISHED.get(style, {}))
    return Dataset(
        "hai",
        _version(style, len(tables[0].signals), recordings["train"], recordings["test"]),
        tuple(recordings["train"]),
        tuple(recordings["test"]),
        _processes(tables[0].signals),
        tuple(notes),
    )


def _named(files: Sequence[Path]) -> dict[Path, tuple[str, str, str]]:
    """Prefix, kind and number of the files to read, by path.

    Of a file that is there both packed and unpacked, the unpacked one is read.
    """
    chosen: dict[tuple[Path, str], Path] = {}
    parts: dict[Path, tuple[str, str, str]] = {}
    for path in files:
        if found := NAME.fullmatch(plain_name(path)):
            parts[path] = ((found[1] or "").lower(), found[2].lower(), found[3])
            key = (path.parent, plain_name(path).lower())
            if key not in chosen or path.suffix.lower() != ".gz":
                chosen[key] = path
    train_first = sorted(chosen.values(), key=lambda path: parts[path][1] == "test")
    return {path: parts[path] for path in train_first}


def _check_files(named: dict[Path, tuple[str, str, str]], files: Sequence[Path]) -> None:
    """Raise unless there are files to learn from and to watch, all of one version."""
    places = {path.parent for path in named}
    prefixes = {prefix for prefix, _, _ in named.values()}
    if len(places) > 1 or len(prefixes) > 1:
        found = listing(
            (file_name(place) for place in sorted(places))
            if len(places) > 1
            else (file_name(path) for path in named)
        )
        message = f"There is more than one version of HAI ({found}); give the files of one."
        raise SettingError(message)
    for wanted, what in (("train", "to learn from"), ("test", "with attacks")):
        if all(kind != wanted for _, kind, _ in named.values()):
            found = listing((file_name(path) for path in files), 4)
            message = (
                f"There is no file {wanted}*.csv {what}; HAI consists of {EXPECTED}, found {found}."
            )
            raise TableError(message)


def _read(path: Path) -> tuple[TimeTable, dict[str, NDArray[np.bool_]]]:
    """One file with its labels if it has them, and by process which rows are attacked there."""
    name = file_name(path)
    columns = read_columns(path)
    plain = {column.lower(): column for column in columns}
    time = plain.get("timestamp") or plain.get("time")
    if time is None:
        message = (
            f"{name} has no column timestamp or time; HAI consists of {EXPECTED}, found "
            f"{listing(columns, 4)}."
        )
        raise TableError(message)
    table = read_published(
        path,
        time=time,
        labels=plain.get("attack") or plain.get("label"),
        keep=[column for column in columns if PROCESS.fullmatch(column)],
    )
    processes = {
        found[1].upper(): table.values[:, place] == 1
        for place, signal in enumerate(table.signals)
        if (found := PROCESS.fullmatch(signal))
    }
    return keep_signals(table, [s for s in table.signals if not PROCESS.fullmatch(s)]), processes


def _separate_labels(
    path: Path, table: TimeTable, labels: Path | None, number: str
) -> NDArray[np.float64]:
    """The labels of a test file, which stand in a file of their own."""
    if labels is None:
        message = (
            f"{file_name(path)} has no labels and there is no label-test{number}.csv beside it; "
            "give that file, too."
        )
        raise TableError(message)
    columns = read_columns(labels)
    marks = next((c for c in columns if c.lower() in ("label", "attack")), None)
    if marks is None:
        message = f"{file_name(labels)} has no column label; found {listing(columns, 4)}."
        raise TableError(message)
    # Without their times, so that no row is moved or left out: both files have the same rows.
    ignore = [column for column in columns if column != marks]
    read = read_published(labels, ignore=ignore, keep=[marks])
    rows, wanted = len(read), table.files[0].rows
    if rows != wanted or rows != len(table):
        message = (
            f"{file_name(labels)} has {rows:,} rows, {file_name(path)} has {wanted:,} of which "
            f"{len(table):,} can be used; one of them is cut short or of another version."
        )
        raise TableError(message)
    found = read.values[:, 0]
    return np.where(np.isnan(found), np.nan, (found != 0).astype(np.float64))


def _same_signals(table: TimeTable, first: TimeTable, name: str) -> TimeTable:
    """`table` with the signals of the first file, in its order."""
    if table.signals == first.signals:
        return table
    missing = [signal for signal in first.signals if signal not in table.signals]
    more = [signal for signal in table.signals if signal not in first.signals]
    if missing or more:
        message = (
            f"{name} and {first.files[0].name} have different columns: {listing(missing, 3)} and "
            f"{listing(more, 3)} are in one of them only; give the files of one version."
        )
        raise TableError(message)
    return keep_signals(table, first.signals)


def _recording(
    path: Path, table: TimeTable, processes: dict[str, NDArray[np.bool_]], kind: str
) -> Recording:
    events = []
    for event in label_events(table, lambda number: f"{plain_name(path)} attack {number}"):
        inside = (table.time >= event.start) & (table.time < event.end)
        where = [name for name, rows in processes.items() if np.any(rows[inside])]
        events.append(_described(event, where))
    return Recording(plain_name(path), table, tuple(events), kind)


def _described(event: Event, where: list[str]) -> Event:
    return replace(event, description=f"in process {listing(where)}") if where else event


def _style(prefix: str, processes: bool, signals: int) -> str:
    """Which version names, labels and number of signals belong to."""
    if prefix:
        return "23.05" if prefix == "hai-" else "HAIEnd 23.05"
    if not processes:
        return "22.04"
    return "20.07" if signals < (SIGNALS["20.07"][0] + SIGNALS["21.03"][0]) / 2 else "21.03"


def _version(
    style: str, signals: int, train: Sequence[Recording], test: Sequence[Recording]
) -> str:
    title = style if style.startswith("HAI") else f"HAI {style}"
    files = f"files to learn from: {len(train)}, with attacks: {len(test)}"
    if signals in SIGNALS[style]:
        return f"{title}: {signals} signals, {files}."
    return (
        f"Names and labels are those of {title}, but there are {signals} signals where it has "
        f"{SIGNALS[style][0]}; {files}."
    )


def _processes(signals: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """P1 boiler, P2 turbine, P3 water treatment, P4 simulator; other names belong to none."""
    groups: dict[str, list[str]] = {}
    for signal in signals:
        if found := re.match(r"(P[1-4])[_.]", signal):
            groups.setdefault(found[1], []).append(signal)
    return {group: tuple(found) for group, found in sorted(groups.items())}
