"""causRCA: a CNC vertical lathe in normal work, and its digital twin with faults. Version 1.0.0.

About 90 tags, mostly on and off, recorded as a list of changes (``time_s,node,value,type``).
``real_op`` holds 170 recordings of up to ten minutes of normal production: the recordings to learn
from. ``dig_twin`` holds 100 runs of the real controller on a simulated machine, in 19 scenarios of
three groups (coolant, hydraulics, probe). In each run one or more tags were manipulated: these are
the signals of its event, from ``cause_start_at`` to ``cause_end_at``. Rows after that and before
the alarms are resolved are neither normal nor faulty (label NaN).

From changes to a table:

- A value holds until its next change; values are taken every second unless `grid` says otherwise.
  Most tags are published once a second, a sixth of the on/off pulses is shorter.
- Truth values are 1 and 0. The four tags with names or line numbers (program, tool) become the
  numbers of ``categorical_encoding.json``, by which more or less means nothing.
- A run of the twin lists only tags that change in it. A tag of normal work that a recording does
  not list holds its usual value, the one it has for the longest time in normal work. Pass
  ``fill=False`` to have it missing instead.
- Tags that never occur in normal work (most alarms, ``Hyd_Pressure``) are in the tables of their
  group only, and missing where a run does not list them. Nothing can be learned about them, and
  in 4 scenarios one of them is among the manipulated tags (in 2 the only one).

Before you trust a figure measured here:

- ``cause_start_at`` comes before the fault shows. In coolant and hydraulics no manipulated tag
  changes until 18 to 62 s later (median 36 s and 43 s). A fault of the probe holds a tag that
  should move, so that tag may not change at all. Delays of detection include this time.
- Of the 14 manipulated tags 10 never change in normal work. Links to and from them cannot be
  learned; that they change at all is what gives the fault away.
- The twin works with tools normal production does not use: ``T_ActToolIdent`` has values never
  seen in normal work in 94 runs, before the fault begins. Leave it out of the signals to learn.

Changes are stamped when the controller publishes them, so the order of changes within a second is
not certain. The experts' causal graph is given by
:func:`causewatch.data.datasets.causrca_graph.expert_graph`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from causewatch.data.datasets.base import Dataset, Event, Recording
from causewatch.data.datasets.causrca_graph import find_stages
from causewatch.data.datasets.causrca_tables import (
    Encoding,
    complete_table,
    read_encoding,
    read_json,
    read_tables,
    tags_of,
    usual_values,
)
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import event_labels
from causewatch.data.notes import Tally
from causewatch.data.raw import file_name
from causewatch.data.table import NANOSECONDS, Note, TimeTable
from causewatch.errors import TableError, listing, shorten

__all__ = ["load"]

TITLE = "causRCA"
NORMAL, FAULT = "dataset_real_op_", "faultDataset_"
NORMAL_FILES, FAULT_FILES = 170, 100
GRID = 1.0
SOON = 5.0
"""Seconds within which one expects a fault to show."""
TIMES = ("cause_start_at", "cause_end_at", "alarms_resolved_at")


def load(paths: Sequence[Path], *, grid: float | None = GRID, fill: bool = True) -> Dataset:
    """Load causRCA.

    Parameters
    ----------
    paths
        The folder that holds ``real_op`` and ``dig_twin``, or these two folders.
    grid
        Seconds between two rows; chosen from the data if None.
    fill
        Whether a tag that a recording does not list holds its usual value.
    """
    expected = "the folders real_op and dig_twin with CSV files"
    files = find_files(paths, TITLE, expected)
    normal = [path for path in files if path.name.startswith(NORMAL)]
    faults = [path for path in files if path.name.startswith(FAULT)]
    if not normal or not faults:
        missing = "real_op (normal work)" if not normal else "dig_twin (faults)"
        message = f"No recording of {TITLE} was found in {missing}; expected {expected}."
        raise TableError(message)
    tally = Tally()
    encoding = read_encoding([*normal[0].parents][:2], tally)
    tables = read_tables(normal, encoding, grid, tally)
    tags = tags_of(tables)
    usual = usual_values(tables, tags) if fill else {}
    learned = tuple(
        Recording(plain_name(path), complete_table(table, tags, usual, tally), category="normal")
        for path, table in zip(normal, tables, strict=True)
    )
    test = _faults(faults, encoding, grid, tags, usual, tally)
    return Dataset(
        "causrca",
        _version(len(learned), len(test)),
        learned,
        test,
        find_stages(files, {signal for one in test for signal in one.table.signals}),
        (*tally.notes(), *_limits(learned, test)),
    )


def _faults(
    files: Sequence[Path],
    encoding: Encoding,
    grid: float | None,
    tags: Sequence[str],
    usual: Mapping[str, float],
    tally: Tally,
) -> tuple[Recording, ...]:
    """The runs of the digital twin; those of one group have the same columns."""
    truth = {path: _truth(path) for path in files}
    found: list[Recording] = []
    for group in dict.fromkeys(truth[path]["group"] for path in files):
        runs = [path for path in files if truth[path]["group"] == group]
        tables = read_tables(runs, encoding, grid, tally)
        more = [tag for tag in tags_of(tables) if tag not in tags]
        for path, table in zip(runs, tables, strict=True):
            complete = complete_table(table, (*tags, *more), usual, tally)
            found.append(_fault(path, complete, truth[path]))
    return tuple(found)


def _fault(path: Path, table: TimeTable, truth: Mapping[str, Any]) -> Recording:
    start, end, resolved = (int(table.time[0]) + round(truth[key] * NANOSECONDS) for key in TIMES)
    if table.time[-1] < end:
        message = (
            f"{file_name(path)} ends after {(table.time[-1] - table.time[0]) / 1e9:g} s, before "
            f"its fault does ({truth['cause_end_at']:g} s); it was cut short, download it again."
        )
        raise TableError(message)
    name = f"{truth['group']} {truth['exp_id']}"
    event = Event(name, start, end, tuple(truth["manipulatedVars"]), truth["what"])
    labels = event_labels(table, [event])
    labels[(table.time >= end) & (table.time < resolved)] = np.nan
    run = f"{truth['group']}-{truth['exp_id']}-{path.parent.name}"
    return Recording(run, replace(table, labels=labels), (event,), str(truth["group"]))


def _truth(path: Path) -> dict[str, Any]:
    """What was done in a run: the scenario's description and the run's times."""
    times = read_json(path.parent / "causes.json", path)
    scenario = path.parents[1]
    about = read_json(scenario / f"{scenario.name}_description.json", path)
    try:
        words = [about["scenario"]["instead_failure"], *(d["name"] for d in about["diagnoses"])]
        truth: dict[str, Any] = {
            "group": str(about["group"]),
            "exp_id": str(about["exp_id"]),
            "manipulatedVars": [str(tag) for tag in about["manipulatedVars"]],
            "what": " ".join(f"{word.rstrip('. ')}." for word in words),
        }
        for key in TIMES:
            truth[key] = float(times[key])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = (
            f"The truth of {file_name(path)} cannot be read ({shorten(repr(error))}); causes.json "
            "and the description of its scenario must be as published."
        )
        raise TableError(message) from error
    return truth


def _version(normal: int, faults: int) -> str:
    found = f"{normal} normal recordings and {faults} runs with faults"
    if (normal, faults) == (NORMAL_FILES, FAULT_FILES):
        return f"causRCA version 1.0.0 (Zenodo, 2025), complete: {found}."
    return f"causRCA, not version 1.0.0 as a whole (170 and 100): {found}."


def _limits(normal: Sequence[Recording], test: Sequence[Recording]) -> list[Note]:
    """Say what a model learned from normal work cannot know, and how late faults show."""
    signals = normal[0].table.signals
    # fmin and fmax leave missing values out, also where a column has no others
    low = np.fmin.reduce([np.fmin.reduce(one.table.values) for one in normal])
    high = np.fmax.reduce([np.fmax.reduce(one.table.values) for one in normal])
    still = {tag for tag, lo, hi in zip(signals, low, high, strict=True) if lo == hi}
    manipulated = {tag for one in test for tag in one.events[0].signals}
    notes = Tally()
    absent = manipulated.difference(signals)
    runs = sum(bool(absent.intersection(one.events[0].signals)) for one in test)
    text = (
        f"Manipulated tags that never occur in normal work: {listing(sorted(absent))}, in {runs} "
        "runs; a model learned from normal work cannot name them."
    )
    notes.add("unlearned", text, runs)
    constant = sorted(manipulated.intersection(still))
    text = (
        f"Manipulated tags that never change in normal work: {listing(constant)}; no links can be "
        "learned for them."
    )
    notes.add("constant", text, len(constant))
    late = [delay for one in test if (delay := _delay(one)) > SOON]
    text = (
        f"Runs in which no manipulated tag changes in the first {SOON:g} s after cause_start_at: "
        f"{{count}} (median {np.median(late or [0]):.0f} s); delays of detection include this time."
    )
    notes.add("late_effect", text, len(late))
    return list(notes.notes())


def _delay(run: Recording) -> float:
    """Seconds from the start of the event to the first change of a manipulated tag."""
    event, table = run.events[0], run.table
    after = int(table.time.searchsorted(event.start))
    columns = [table.signals.index(tag) for tag in event.signals if tag in table.signals]
    before = table.values[max(after - 1, 0), columns]
    changed = np.flatnonzero((table.values[after:, columns] != before).any(axis=1))
    if not len(changed):
        return float("inf")
    return float(table.time[after + changed[0]] - event.start) / NANOSECONDS
