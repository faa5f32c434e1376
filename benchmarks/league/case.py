"""Cutting recordings to what is counted, and splits to other ticks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from causewatch.data.datasets.base import Recording
from causewatch.data.datasets.shaping import keep_rows
from causewatch.data.table import TimeTable
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.split import joined
from causewatch.evaluation.comparison import Case
from causewatch.model.passes import survey_of
from causewatch.preprocess import default_preprocessing

__all__ = ["counted_from", "data_hash", "other_ticks", "slice_of", "without_events"]


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


def counted_from(recording: Recording, row: int) -> Recording:
    """The same recording; its first rows are watched but not counted."""
    labels = recording.table.labels
    assert labels is not None
    labels = np.where(np.arange(len(labels)) < row, np.nan, labels)
    return replace(recording, table=replace(recording.table, labels=labels))


def without_events(recording: Recording) -> Recording:
    """A recording of normal operation as one to watch: every row is labelled normal."""
    table = recording.table
    return replace(recording, table=replace(table, labels=np.zeros(len(table))), events=())


def slice_of(recording: Recording, start: int, stop: int) -> Recording:
    """Some rows of a recording, and the events that touch them."""
    table = keep_rows(recording.table, start, stop)
    first, last = int(table.time[0]), int(table.time[-1])
    events = tuple(
        replace(event, start=max(event.start, first))
        for event in recording.events
        if event.start <= last and event.end > first
    )
    return replace(recording, table=table, events=events)


def other_ticks(split: Split, factor: float) -> Split:
    """The same split with ticks of `factor` times the length, and a longest lag to match."""
    every = factor * split.every
    survey, sample = survey_of(joined(split.learn), lambda what, share: None)
    plan = default_preprocessing(survey, sample, every=every)
    return replace(split, every=every, max_lag=plan.max_lag)


def data_hash(cases: Sequence[Case]) -> str:
    """The first digits of the SHA-256 of all that figures depend on: rows, splits and truth."""
    digest = hashlib.sha256()
    for case in cases:
        split = case.split
        settings = (split.every, split.max_lag, split.false_alarm_every, split.seed)
        _add(digest, ["case", settings, len(split.learn), len(split.limits), len(case.recordings)])
        for table in (*split.learn, *split.limits):
            _add_table(digest, table)
        for recording in case.recordings:
            _add(digest, [recording.name, recording.events])
            _add_table(digest, recording.table)
    return digest.hexdigest()[:16]


def _add_table(digest: _Digest, table: TimeTable) -> None:
    _add(digest, [table.signals, table.values.shape, table.interval, table.clock])
    for array in (table.starts, table.time, table.values, table.labels):
        if array is None:
            _add(digest, ["none"])
        else:
            _add(digest, [array.dtype.str, array.shape])
            digest.update(np.ascontiguousarray(array).tobytes())


def _add(digest: _Digest, facts: list[object]) -> None:
    text = repr(facts).encode()
    digest.update(f"{len(text)}:".encode() + text)
