"""``causewatch dataset``: public datasets from the user's own copy, as files the others read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, progress, refuse_existing, shown
from causewatch.errors import SettingError, UnknownNameError, plural
from causewatch.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

    from causewatch.data.datasets import Dataset, KnownDataset, Recording
    from causewatch.data.table import Note

__all__ = ["register"]

ABOUT = """Load a public dataset from your own copy of its files.

Without NAME, lists the datasets that are known; with NAME alone, says what that one is and where to
get it. With PATH (a folder, or files) says which version was found, what it holds and what is odd
about it.

With --out, writes to DIR what 'causewatch simulate' writes, too: normal.csv to learn from (or
normal-1.csv, normal-2.csv, …), test.csv (or one file per recording) with a last column label (1
anomalous, 0 normal, empty not known), and causes.json (name, start, end and signals of everything
known to have gone wrong, and its file if there are several)."""

EXAMPLES = """Examples:

\b
  causewatch dataset
  causewatch dataset swat
  causewatch dataset swat ~/SWaT/SWaT_Dataset_Normal_v1.csv ~/SWaT/SWaT_Dataset_Attack_v0.csv
  causewatch dataset skab ~/SKAB/data --out skab --json"""


def register(app: typer.Typer) -> None:
    """Add ``dataset``."""
    app.command("dataset", help=ABOUT, epilog=EXAMPLES, short_help="Load a public dataset.")(
        dataset
    )


def dataset(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which dataset.", show_default=False)
    ] = None,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Its folder or its files.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write to; made if it is not there."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List, describe or load datasets."""
    from causewatch.data.datasets import DATASETS, load_dataset

    if name is not None and name not in DATASETS:
        raise UnknownNameError(name, "dataset", DATASETS)
    if not paths:
        if out is not None:
            message = "There is nothing to write to --out; name a dataset and its files, too."
            raise SettingError(message)
        _list([DATASETS[name]] if name else DATASETS.values(), as_json)
        return
    assert name is not None
    if out is not None:  # before the long work: the files that are written in nearly every case
        usual = ("normal.csv", "normal-1.csv", "test.csv", "causes.json")
        refuse_existing([out / file for file in usual], force)
    with progress(f"reading {name}"):
        loaded = load_dataset(name, *paths)
    written: list[Path] = []
    files = _file_names(loaded)
    if out is not None:
        with progress(f"writing {name}"):
            written = _write(loaded, files, paths, out, force)
    if as_json:
        print_json(_summary(loaded, files, written))
    else:
        _print(loaded, written)


def _list(entries: Iterable[KnownDataset], as_json: bool) -> None:
    if as_json:
        fields = ("name", "title", "about", "origin", "files")
        print_json([{field: getattr(entry, field) for field in fields} for entry in entries])
        return
    for entry in entries:
        print(f"{entry.name}: {entry.title}")
        for title, text in (("", entry.about), ("From: ", entry.origin), ("Give: ", entry.files)):
            print(f"  {title}{text}")


def _file_names(loaded: Dataset) -> list[str]:
    """What the files of all recordings are called, those to learn from first."""
    count = len(loaded.normal)
    normal = ["normal.csv"] if count == 1 else [f"normal-{n}.csv" for n in range(1, count + 1)]
    if len(loaded.test) == 1:
        return [*normal, "test.csv"]
    taken = set(normal)
    names = list(normal)
    for recording in loaded.test:
        plain = re.sub(r"[^\w.,=+-]+", "-", recording.name).strip("-.") or "test"
        unique, number = plain, 1
        while f"{unique}.csv" in taken:
            number += 1
            unique = f"{plain}-{number}"
        taken.add(f"{unique}.csv")
        names.append(f"{unique}.csv")
    return names


def _causes(loaded: Dataset, files: list[str]) -> list[dict[str, Any]]:
    """Everything that went wrong, as causes.json has it."""
    several = len(loaded.test) > 1
    causes = []
    for recording, file in zip(loaded.test, files[len(loaded.normal) :], strict=True):
        for cause in recording.causes:
            cause.pop("file", None)
            causes.append({**cause, "file": file} if several else cause)
    return causes


def _write(
    loaded: Dataset, files: list[str], given: Sequence[Path], out: Path, force: bool
) -> list[Path]:
    """Write every recording and then causes.json; returns the paths."""
    targets = [out / name for name in (*files, "causes.json")]
    refuse_existing(targets, force)
    read = {one.resolve() for one in given}
    for target in targets:
        if target.resolve() in read or target.resolve().parent in read:
            message = (
                f"{str(target)!r} lies where the dataset itself is read from; give --out another"
                " folder."
            )
            raise SettingError(message)
    from causewatch.cli.dataset_csv import recording_csv

    out.mkdir(parents=True, exist_ok=True)
    recordings = (*loaded.normal, *loaded.test)
    for number, (recording, target) in enumerate(zip(recordings, targets[:-1], strict=True)):
        write_atomically(target, recording_csv(recording, labelled=number >= len(loaded.normal)))
    causes = json.dumps(_causes(loaded, files), ensure_ascii=False, indent=1)
    write_atomically(targets[-1], causes + "\n")
    return targets


def _notes(loaded: Dataset) -> list[Note]:
    """What to know about the dataset, then about the tables; of one kind only the first."""
    notes = list(loaded.notes)
    counts: dict[str, int] = {}
    first: dict[str, Note] = {}
    for recording in (*loaded.normal, *loaded.test):
        for note in recording.table.notes:
            counts[note.kind] = counts.get(note.kind, 0) + 1
            first.setdefault(note.kind, note)
    for kind, note in first.items():
        more = f" ({counts[kind] - 1} more of this kind)" if counts[kind] > 1 else ""
        notes.append(replace(note, text=note.text + more))
    return notes


def _summary(loaded: Dataset, files: list[str], written: list[Path]) -> dict[str, Any]:
    recordings = [*loaded.normal, *loaded.test]
    described = [
        {**_describe(recording), "file": file}
        for recording, file in zip(recordings, files, strict=True)
    ]
    return {
        "name": loaded.name,
        "version": loaded.version,
        "normal": described[: len(loaded.normal)],
        "test": described[len(loaded.normal) :],
        "stages": {stage: list(signals) for stage, signals in loaded.stages.items()},
        "causes": _causes(loaded, files),
        "notes": [{"kind": n.kind, "count": n.count, "text": n.text} for n in _notes(loaded)],
        "files": [str(path) for path in written],
    }


def _describe(recording: Recording) -> dict[str, Any]:
    import numpy as np

    from causewatch.data.table import format_time

    table = recording.table
    labels = table.labels
    return {
        "name": recording.name,
        "category": recording.category,
        "rows": len(table),
        "signals": len(table.signals),
        "interval_s": table.interval,
        "from": format_time(int(table.time[0]), table.clock),
        "to": format_time(int(table.time[-1]), table.clock),
        "events": len(recording.events),
        "anomalous_rows": None if labels is None else int(np.sum(labels == 1)),
        "sources": [{"name": f.name, "sha256": f.sha256, "rows": f.rows} for f in table.files],
    }


MOST_SHOWN = 12
"""How many recordings the text lists of each kind."""


def _print(loaded: Dataset, written: list[Path]) -> None:
    print(shown(loaded.version))
    for title, recordings in (("To learn from", loaded.normal), ("To watch", loaded.test)):
        print(f"{title}:{'' if recordings else ' nothing'}")
        for recording in recordings[:MOST_SHOWN]:
            facts = _describe(recording)
            events = f", {plural(facts['events'], 'event')}" if facts["events"] else ""
            print(
                f"  {shown(recording.name)}: {facts['rows']:,} rows, "
                f"{plural(facts['signals'], 'signal')}, "
                f"{facts['from']} to {facts['to']}{events}"
            )
        if len(recordings) > MOST_SHOWN:
            print(f"  and {len(recordings) - MOST_SHOWN} more")
    for note in _notes(loaded):
        print(f"Note: {shown(note.text)}")
    if written:
        more = len(written) - MOST_SHOWN
        paths = ", ".join(str(path) for path in written[:MOST_SHOWN])
        print(f"Wrote {paths}{f' and {more} more' if more > 0 else ''}.")
