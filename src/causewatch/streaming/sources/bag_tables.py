"""Bags as tables, to learn from, and what fields they have."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np

from causewatch.data import Note, SourceFile, TimeTable
from causewatch.data.table import NANOSECONDS
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.bag_contents import BagOptions, Contents
from causewatch.streaming.sources.bag_files import open_bag
from causewatch.streaming.sources.bags import BagSource
from causewatch.streaming.tags import TagMap

__all__ = ["fields_in_bag", "read_bag"]


def fields_in_bag(path: str | Path, options: BagOptions | None = None) -> tuple[str, ...]:
    """The fields of a bag that may be signals, as they are written in a tag map."""
    bag = open_bag(path)
    try:
        return _names(Contents(bag, options or BagOptions()))
    finally:
        bag.close()


def read_bag(
    path: str | Path,
    tags: TagMap | None = None,
    every: float | None = None,
    options: BagOptions | None = None,
) -> TimeTable:
    """A whole bag as a table, row by row as a watch would see it.

    Parameters
    ----------
    path
        The bag.
    tags
        Which field is which signal; without any, every field of `fields_in_bag` is one.
    every
        Seconds between two rows; if None, the usual time between two messages of the topic that
        most signals come from.
    options
        How to read it.
    """
    if every is not None and not every > 0:
        msg = f"A row every {every} s makes no sense; it must be more than 0."
        raise SettingError(msg)
    path, options, tags = Path(path), options or BagOptions(), tags or TagMap()
    bag = open_bag(path)
    try:
        contents = Contents(bag, options)
        columns = tuple(tag.signal for tag in tags) or _names(contents)
        if every is None:
            every = _pace(path.name, contents, Wanted(columns, 1.0, tags=tags))
    finally:
        bag.close()
    source = BagSource(path, Wanted(columns, every, tags=tags), options)
    source.open({})
    try:
        batches = []
        while not source.ended:
            batches.append(source.poll(1.0))
        problems, clock = source.problems, source.clock
    finally:
        source.close()
    values = np.concatenate([batch.values for batch in batches])
    times = np.concatenate([batch.times for batch in batches])
    if len(times) < 2:
        msg = f"{path.name}: {len(times)} rows are left, at least 2 are needed."
        raise NotEnoughDataError(msg)
    jumps = np.flatnonzero(np.diff(times) != round(every * NANOSECONDS)) + 1
    return TimeTable(
        signals=columns,
        values=values,
        time=times,
        starts=np.concatenate([[0], jumps]).astype(np.intp),
        interval=every,
        clock=clock or "utc",
        files=(SourceFile(path.name, _digest(path), len(times)),),
        notes=tuple(
            Note(kind, count, f"In {path.name}: {count:,} {kind.replace('_', ' ')}.")
            for kind, count in sorted(problems.items())
        ),
    )


def _names(contents: Contents) -> tuple[str, ...]:
    return tuple(str(field) for fields in contents.fields().values() for field in fields)


def _pace(name: str, contents: Contents, wanted: Wanted) -> float:
    """Seconds between two messages of the topic that most signals come from."""
    uses, _ = contents.find(wanted)
    signals = Counter({topic: len(found) for topic, found in sorted(uses.items())})
    examples = contents.examples(signals)
    for topic, _ in signals.most_common():
        steps = np.diff([stamp for stamp, _ in examples[topic]])
        steps = steps[steps > 0]
        if len(steps):
            return float(f"{np.median(steps) / NANOSECONDS:.3g}")  # nobody's clock is that exact
    msg = f"{name} has too few messages to see how often they come; say it with every."
    raise NotEnoughDataError(msg)


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder."""
    files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    found = hashlib.sha256()
    for one in files:
        with one.open("rb") as stream:
            while block := stream.read(1 << 20):
                found.update(block)
    return found.hexdigest()
