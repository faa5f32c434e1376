"""Event lists of a historian (time, tag, value, quality) as a table with one column per tag.

A historian stores changes: a value holds until the next event of its tag. The events of all tags
are sampled at a regular interval; before its first event a tag is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.cells import is_supported, read_numbers, shown
from causewatch.data.columns import TIME_NAMES, TimeColumn, plain, writing_of
from causewatch.data.frames import FrameTable
from causewatch.data.notes import Tally
from causewatch.data.raw import MOST_COLUMNS, RawTable, check_name
from causewatch.data.spans import format_duration, parse_duration
from causewatch.data.table import NANOSECONDS, Clock
from causewatch.data.writing import Writing
from causewatch.errors import SettingError, TableError, listing, shorten

__all__ = ["choose_grid", "is_long", "read_long"]

TAG_NAMES = ("tag", "tagname", "tagid", "node", "nodeid", "point", "pointname", "signal",
             "signalname", "variable", "variablename", "sensor", "name")  # fmt: skip
VALUE_NAMES = ("value", "val", "values", "wert")
QUALITY_NAMES = ("quality", "status", "qualitycode", "statuscode")
GOOD = ("good", "ok", "0", "192", "0.0", "192.0", "")
FEW_BAD_TIMES = 0.001
MOST_CELLS = 100_000_000
"""A grid of more cells than this is made coarser."""

FindTime = Callable[[RawTable, pl.DataFrame, str], TimeColumn | None]


@dataclass(frozen=True, slots=True)
class _Roles:
    time: str
    tag: str
    value: str
    quality: str | None


@dataclass(frozen=True, slots=True)
class _Events:
    """The events of one file; `tag` holds positions in `tags`."""

    raw: RawTable
    time: NDArray[np.int64]
    tag: NDArray[np.intp]
    tags: tuple[str, ...]
    value: NDArray[np.float64]
    bad: NDArray[np.bool_]
    clock: Clock
    column: str
    writing: Writing


def is_long(raw: RawTable, time: str | None) -> bool:
    """Whether a table is an event list: columns for time, tag and value, and tags that repeat."""
    roles = _roles(raw, time)
    if roles is None or len(raw.columns) > 8:
        return False
    tags = raw.head()[roles.tag].drop_nulls()
    return (
        is_supported(tags.dtype)
        and read_numbers(tags, raw.decimal).is_text
        and tags.n_unique() < len(tags)
    )


def read_long(
    raws: Sequence[RawTable],
    time: str | None,
    grid: float | str | None,
    tally: Tally,
    find: FindTime,
) -> tuple[list[FrameTable], Writing]:
    """Event lists as tables with one column per tag, sampled at one interval.

    All tables get the columns of all tags of all files: a tag without an event in a file is
    missing there. `find` finds the times in a named column. Also how the first file is written.
    """
    files = [_events(raw, time, tally, find) for raw in raws]
    for other in files[1:]:
        if other.clock != files[0].clock:
            message = (
                f"The times of {other.raw.name} ({other.clock}) are of another kind than those of "
                f"{files[0].raw.name} ({files[0].clock}); read them separately."
            )
            raise TableError(message)
    tags = _number_tags(files, tally)
    step = choose_grid([(events.tag, events.time) for events in files], len(tags), grid, tally)
    tally.add(
        "long_format",
        f"{raws[0].name} is a list of events; the last value of each of its {len(tags)} tags was "
        f"taken every {format_duration(step / NANOSECONDS)}.",
    )
    return [_sample(events, tags, step) for events in files], files[0].writing


def choose_grid(
    events: Sequence[tuple[NDArray[np.intp], NDArray[np.int64]]],
    tags: int,
    grid: float | str | None,
    tally: Tally,
) -> int:
    """The sampling interval in nanoseconds.

    The median time between two events of the same tag, over all events. If fewer than half of
    these times are within 1 % of it, the recording is irregular and the median is rounded down
    to 1, 2 or 5 times a power of ten seconds.
    """
    span = max((int(time.max() - time.min()) for _, time in events if len(time)), default=0)
    least = span * max(tags, 1) // MOST_CELLS
    if grid is not None:
        step = round(parse_duration(str(grid)) * NANOSECONDS)
        if step <= least:
            message = (
                f"A grid of {grid} makes too large a table for {format_duration(span / 1e9)} and "
                f"{tags} tags; choose more than {format_duration(least / NANOSECONDS)}."
            )
            raise SettingError(message)
        return step
    steps = np.concatenate([_steps(tag, time) for tag, time in events])
    if not len(steps):
        message = "No tag has two events at different times; give the grid to sample at."
        raise TableError(message)
    middle = float(np.median(steps))
    if np.mean(np.abs(steps - middle) <= 0.01 * middle) < 0.5:
        middle = _round_down(middle)
    step = max(int(middle), 1)
    if step <= least:
        step = int(_round_down(float(least)) * 10)
        tally.add(
            "coarse_grid",
            f"Events are denser than the table can hold; they are sampled every "
            f"{format_duration(step / NANOSECONDS)}.",
        )
    return step


def _events(raw: RawTable, time: str | None, tally: Tally, find: FindTime) -> _Events:
    """All events of one file, as numbers."""
    roles = _roles(raw, time)
    if roles is None:
        message = (
            f"{raw.name} is not a list of events: columns for time, tag and value are needed, and "
            f"it has {listing(raw.columns)}."
        )
        raise TableError(message)
    columns = [c for c in (roles.time, roles.tag, roles.value, roles.quality) if c is not None]
    frame = pl.concat([raw.head().select(columns).clear(), *raw.blocks(columns, tally)])
    when = find(raw, frame, roles.time)
    assert when is not None
    times = when.parse(frame)
    tag = (
        frame[roles.tag]
        .cast(pl.String)
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
        .fill_null("")
    )
    usable = times.ok & (tag != "").to_numpy()
    if (unusable := int((~usable).sum())) > FEW_BAD_TIMES * len(frame):
        row = int(np.argmin(usable))
        cells = " ".join(shown(frame[column], row) for column in columns[:2])
        message = (
            f"{raw.name}, {raw.place(row)}: {shorten(cells)!r} is not a time and a tag; correct "
            "it, or give the time format."
        )
        raise TableError(message)
    tally.add(
        "bad_times",
        f"Events of {raw.name} without a readable time or tag, dropped: {{count}}.",
        unusable,
        raw.name,
    )
    numbers = read_numbers(frame[roles.value], raw.decimal)
    bad = np.zeros(len(frame), dtype=np.bool_)
    bad[numbers.bad] = True
    value = numbers.values
    if roles.quality is not None:
        quality = frame[roles.quality].cast(pl.String).str.strip_chars().str.to_lowercase()
        poor = ~quality.fill_null("").is_in(GOOD).to_numpy()
        tally.add(
            "bad_quality",
            f"Events of {raw.name} that are not of good quality and count as missing: {{count}}.",
            int((poor & usable).sum()),
            raw.name,
        )
        value = np.where(poor, np.nan, value)
    names = tuple(tag.unique(maintain_order=True).to_list())
    if len(names) > MOST_COLUMNS:
        message = (
            f"{raw.name} holds {len(names):,} tags, at most {MOST_COLUMNS:,} can be read; choose "
            "those of one plant."
        )
        raise TableError(message)
    for name in names:
        check_name(name, f"Column {shorten(roles.tag)!r} of {raw.name}")
    code = tag.replace_strict(names, list(range(len(names))), return_dtype=pl.Int64).to_numpy()
    return _Events(
        raw=raw,
        time=times.ns[usable],
        tag=code[usable],
        tags=names,
        value=value[usable],
        bad=bad[usable],
        clock=when.format.clock,
        column=roles.time,
        writing=writing_of(raw, when),
    )


def _number_tags(files: Sequence[_Events], tally: Tally) -> list[str]:
    """All tags whose values are numbers, in order of appearance; text is left out with a note."""
    bad: dict[str, int] = {}
    good: dict[str, int] = {}
    for events in files:
        wrong = np.bincount(events.tag[events.bad], minlength=len(events.tags))
        right = np.bincount(events.tag[np.isfinite(events.value)], minlength=len(events.tags))
        for tag, n_bad, n_good in zip(events.tags, wrong.tolist(), right.tolist(), strict=True):
            bad[tag] = bad.get(tag, 0) + n_bad
            good[tag] = good.get(tag, 0) + n_good
    bad.pop("", None)
    text = {tag: n for tag, n in bad.items() if n > 0.05 * (n + good[tag])}
    tally.add(
        "text_column",
        f"Tags left out because their values are text: {listing(text)}.",
        len(text),
    )
    for tag, n in bad.items():
        if tag not in text:
            tally.add(
                "text_cells",
                f"Values of tag {shorten(tag)!r} that are no numbers: {{count}}; they count as "
                "missing.",
                n,
                tag,
            )
    return [tag for tag in bad if tag not in text]


def _sample(events: _Events, tags: Sequence[str], step: int) -> FrameTable:
    """The last value of each tag at regular times."""
    order = np.lexsort((events.time, events.tag))
    tag, time, value = events.tag[order], events.time[order], events.value[order]
    first = int(time.min()) if len(time) else 0
    count = -(-(int(time.max()) - first) // step) + 1 if len(time) else 0
    grid = first + step * np.arange(count, dtype=np.int64)
    dtype = pl.Duration("ns") if events.clock == "elapsed" else pl.Datetime("ns")
    times = pl.Series(grid).cast(dtype)
    if events.clock == "utc":
        times = times.dt.replace_time_zone("UTC")
    name = events.column
    while name in tags:
        name += "_"
    columns = {name: times}
    bounds = dict(
        zip(
            events.tags,
            zip(
                np.searchsorted(tag, np.arange(len(events.tags)), "left").tolist(),
                np.searchsorted(tag, np.arange(len(events.tags)), "right").tolist(),
                strict=True,
            ),
            strict=True,
        )
    )
    for column in tags:
        begin, end = bounds.get(column, (0, 0))
        at = np.searchsorted(time[begin:end], grid, "right")
        held = np.concatenate([[np.nan], value[begin:end]])[at]
        columns[column] = pl.Series(held)
    return FrameTable(
        pl.DataFrame(columns), events.raw.name, time_hint=name, source=events.raw.file
    )


def _roles(raw: RawTable, time: str | None) -> _Roles | None:
    """Which column is what, by the usual names."""
    names = {plain(column): column for column in reversed(raw.columns)}
    when = time or next((c for c in raw.columns if plain(c) in TIME_NAMES), None)
    tag, value, quality = (
        next((names[name] for name in usual if name in names), None)
        for usual in (TAG_NAMES, VALUE_NAMES, QUALITY_NAMES)
    )
    if when is None or tag is None or value is None or when not in raw.columns:
        return None
    return _Roles(when, tag, value, quality)


def _steps(tag: NDArray[np.intp], time: NDArray[np.int64]) -> NDArray[np.int64]:
    """Times between events of the same tag."""
    order = np.lexsort((time, tag))
    steps = np.diff(time[order])
    found: NDArray[np.int64] = steps[(np.diff(tag[order]) == 0) & (steps > 0)]
    return found


def _round_down(nanoseconds: float) -> float:
    """The next smaller 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(max(nanoseconds, 1.0)))
    return float(power * max(m for m in (1, 2, 5) if m * power <= max(nanoseconds, 1.0)))
