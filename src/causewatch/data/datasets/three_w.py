"""3W: oil wells of Petrobras, real recordings with the events that wells suffer from.

8 signals at 1 Hz, times without a zone: pressure and temperature at the gauge downhole (``P-PDG``),
in the subsea tree (``P-TPT``, ``T-TPT``), before and behind the production choke (``P-MON-CKP``,
``T-JUS-CKP``) and the gas lift choke (``P-JUS-CKGL``, ``T-JUS-CKGL``), and the gas lift flow
(``QGL``). Not every well has them all: a sensor may have no value, or never change. Files are
called ``WELL-00001_20170201020207`` (well, first moment), those with an event often with its number
in front.

Column ``class`` says by row what is going on: 0 is normal, 1 to 9 a steady event and 101 to 109
the way into it. Rows that are not labelled count as neither. A recording with anomalous rows is one
to watch, with one event from the first of them to the last; the others are to learn from. Nobody
labelled the signals an event is of. Where a ``causes.json`` lies beside the files or a folder
above, its signals are taken; they are the instruments nearest to the place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.causes import CauseEntry, causes_beside, known_signals
from causewatch.data.datasets.checks import check_columns, check_order, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import keep_signals, label_events
from causewatch.data.table import Note, TimeTable
from causewatch.errors import TableError, listing

__all__ = ["load"]

TITLE = "3W"
NAME = re.compile(r"(?:\d_)?(WELL-\d+)_(\d{14})")
SIGNALS = ("P-PDG", "P-TPT", "T-TPT", "P-MON-CKP", "T-JUS-CKP", "P-JUS-CKGL", "T-JUS-CKGL", "QGL")
TIME, LABELS = "timestamp", "class"
EVENTS = {
    1: "abrupt increase of BSW (water fraction)",
    2: "spurious closure of the downhole safety valve (DHSV)",
    3: "severe slugging",
    4: "flow instability",
    5: "rapid productivity loss",
    6: "quick restriction in the production choke (PCK)",
    7: "scaling in the production choke (PCK)",
    8: "hydrate in the production line",
    9: "hydrate in the service line",
}
NEAREST = "The signals are the instruments nearest to the place, not an official label."


def load(paths: Sequence[Path]) -> Dataset:
    """Load recordings of 3W.

    Parameters
    ----------
    paths
        Folders or files of recordings of wells; there must be both normal ones and ones with an
        event.
    """
    expected = "files named like WELL-00001_20170201020207.parquet"
    files = [path for path in find_files(paths, TITLE, expected) if _well(path)]
    causes = causes_beside(files)
    recordings = [_read(path, causes.get(path, [])) for path in files]
    normal = [recording for recording in recordings if not recording.events]
    test = [recording for recording in recordings if recording.events]
    if not normal or not test:
        missing = "recording with an event" if normal else "normal recording"
        message = f"No {missing} of {TITLE} was found; expected {expected}, of both kinds."
        raise TableError(message)
    have_values = np.any([np.isfinite(r.table.values).any(axis=0) for r in recordings], axis=0)
    signals = [signal for signal, has in zip(SIGNALS, have_values, strict=True) if has]
    normal, test = ([_keep(recording, signals) for recording in part] for part in (normal, test))
    notes = _notes(recordings, [signal for signal in SIGNALS if signal not in signals])
    return Dataset("3w", _version(normal, test), tuple(normal), tuple(test), notes=notes)


def _well(path: Path) -> str:
    """The well a recording is of; empty where the file is not called like one."""
    match = NAME.fullmatch(plain_name(path))
    return match[1] if match else ""


def _read(path: Path, causes: Sequence[CauseEntry]) -> Recording:
    columns = check_columns(path, (TIME, LABELS, *SIGNALS), TITLE)
    more = [column for column in columns if column not in (TIME, LABELS, *SIGNALS)]
    whole = read_published(path, time=TIME, ignore=more, keep=[LABELS])
    lacking = [name for name in (LABELS, *SIGNALS) if name not in whole.signals]
    if lacking:
        message = f"{path.name} holds no numbers in {listing(lacking)}; download it again."
        raise TableError(message)
    # Read again with labels that are no signal: a row with nothing but a label is an empty row.
    table = read_published(path, time=TIME, labels=LABELS, ignore=more)
    notes = tuple(note for note in table.notes if note.kind != "empty_columns")
    table = keep_signals(replace(table, notes=notes), SIGNALS)
    assert table.labels is not None
    rows = np.searchsorted(whole.time, table.time)
    kinds = whole.values[rows, whole.signals.index(LABELS)]
    if not (known := kinds[np.isfinite(table.labels)]).size:
        message = f"No row of {path.name} is labelled; leave it out, it may be normal or not."
        raise TableError(message)
    signals = _causes_of(table, causes, path)
    kind = Counter((known[known != 0] % 100).astype(int).tolist())
    if not kind:
        return Recording(plain_name(path), table, (), _well(path))
    check_order(path.name, table)
    events = _event(table, kind.most_common(1)[0][0], signals)
    return Recording(plain_name(path), table, events, _well(path))


def _causes_of(table: TimeTable, causes: Sequence[CauseEntry], path: Path) -> tuple[str, ...]:
    """The signals of the one event of a recording, as its list of causes has them."""
    named = {known_signals(entry, table, path) for entry in causes}
    if causes and not np.any(table.labels == 1):
        wrong = "an event of it, and no row of it is labelled as one"
    elif len(named) > 1:
        wrong = f"{len(named)} different lists of signals for its one event"
    else:
        return next(iter(named), ())
    message = f"causes.json does not fit {path.name}: it has {wrong}; correct it."
    raise TableError(message)


def _event(table: TimeTable, kind: int, signals: tuple[str, ...]) -> tuple[Event, ...]:
    """The one event of a recording; rows inside that are not labelled do not part it."""
    runs = label_events(table)
    name = f"{kind}: {EVENTS.get(kind, 'unknown event')}"
    about = NEAREST if signals else ""
    return (Event(name, runs[0].start, runs[-1].end, signals, about),)


def _keep(recording: Recording, signals: Sequence[str]) -> Recording:
    """The recording with these signals; an event names none that is not among them."""
    events = tuple(
        replace(event, signals=tuple(signal for signal in event.signals if signal in signals))
        for event in recording.events
    )
    return replace(recording, table=keep_signals(recording.table, signals), events=events)


def _version(normal: Sequence[Recording], test: Sequence[Recording]) -> str:
    wells = sorted({recording.category for recording in (*normal, *test)})
    return (
        f"3W: {len(normal)} normal recordings and {len(test)} with an event, of {listing(wells)}."
    )


def _notes(recordings: Sequence[Recording], absent: Sequence[str]) -> tuple[Note, ...]:
    wells = sorted({recording.category for recording in recordings})
    notes = [
        _dead(well, [recording.table for recording in recordings if recording.category == well])
        for well in wells
    ]
    text = f"Left out, as no recording has a value of it: {listing(absent)}."
    notes += [Note("left_out", len(absent), text)]
    notes += [_not_labelled(recordings), _no_causes(recordings)]
    return tuple(note for note in notes if note.count)


def _dead(well: str, tables: Sequence[TimeTable]) -> Note:
    """Which sensors of a well have no value, or never change, and in how many recordings."""
    dead = []
    for place, signal in enumerate(SIGNALS):
        columns = [table.values[:, place] for table in tables]
        empty = sum(not np.isfinite(column).any() for column in columns)
        still = sum(_is_still(column[np.isfinite(column)]) for column in columns)
        for count, how in ((empty, "no value"), (still, "never changes")):
            if count:
                share = "" if count == len(tables) else f" in {count} of {len(tables)}"
                dead.append((signal, f"{signal} ({how}{share})"))
    text = f"Dead sensors of {well}: {', '.join(what for _, what in dead)}."
    return Note("dead_sensors", len({signal for signal, _ in dead}), text)


def _is_still(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    return len(values) > 0 and bool(np.all(values == values[0]))


def _not_labelled(recordings: Iterable[Recording]) -> Note:
    labels = [
        recording.table.labels for recording in recordings if recording.table.labels is not None
    ]
    count = sum(int(np.isnan(each).sum()) for each in labels)
    text = f"Rows that are not labelled and count as neither normal nor anomalous: {count:,}."
    return Note("not_labelled", count, text)


def _no_causes(recordings: Iterable[Recording]) -> Note:
    events = [event for recording in recordings for event in recording.events]
    unknown = sum(not event.signals for event in events)
    known = len(events) - unknown
    text = f"Events of which no signal is known: {unknown} of {len(events)}." + (
        f" {NEAREST}" if known else ""
    )
    return Note("causes", len(events), text)
