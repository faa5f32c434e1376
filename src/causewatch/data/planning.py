"""Planning: which column of a table is what, judged by its first rows and the files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from causewatch.data.columns import (
    TimeColumn,
    choose_signals,
    find_time,
    note_days,
    note_lost,
    writing_of,
)
from causewatch.data.day_order import CONTRARY, agreed, is_open, settle, told_by
from causewatch.data.long import is_long, read_long
from causewatch.data.notes import Tally
from causewatch.data.opened import OpenedTable
from causewatch.data.raw import RawTable
from causewatch.data.reader import Plan, first_times, measure_pace
from causewatch.data.spans import Span
from causewatch.data.times import CustomTimes, TextTimes
from causewatch.data.writing import Order, Writing
from causewatch.errors import SettingError, TableError, UnknownNameError, listing, shorten

__all__ = ["Options", "plan_tables"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller said about the table."""

    time: str | None
    labels: str | None
    ignore: tuple[str, ...]
    keep: tuple[str, ...]
    exclude: tuple[Span, ...]
    time_format: str | None
    separator: str | None
    decimal: str | None
    long: bool | None
    grid: float | str | None
    usual: Writing | None


class _Run:
    """Files that are read together: what one does not tell about its times, another may."""

    def __init__(self, raws: Sequence[RawTable], options: Options, tally: Tally) -> None:
        self._raws = raws
        self._options = options
        self._tally = tally
        self._asked = False
        self._order: Order | None = None

    def find(self, raw: RawTable, head: pl.DataFrame, time: str | None = None) -> TimeColumn | None:
        """The times of a table, in the column `time` if it is known already."""
        column = self._column(raw, head, time)
        usual = self._options.usual
        return settle(raw, head, column, usual, self._tally, self._told)

    def _column(self, raw: RawTable, head: pl.DataFrame, time: str | None) -> TimeColumn | None:
        options = self._options
        name = options.time if time is None else time
        return find_time(raw, head, name, options.time_format, options.ignore, options.usual)

    def _told(self) -> Order | None:
        """What the files tell about day and month, if they agree; all of them are asked, once."""
        if self._asked:
            return self._order
        self._asked = True
        orders: dict[str, Order] = {}
        for raw in self._raws:
            if not set(self._raws[0].columns) <= set(raw.columns):
                continue
            head = raw.head()
            column = self._column(raw, head, None)
            if column is None:
                continue
            order = told_by(raw, head, column, self._options.usual)
            if order is not None:
                orders[raw.name] = order
        self._order, contradiction = agreed(orders)
        if contradiction:
            self._tally.add(CONTRARY, contradiction)
        return self._order


def _unfold(
    raws: list[RawTable], options: Options, tally: Tally, run: _Run
) -> tuple[list[RawTable], Writing | None]:
    """Turn event lists (time, tag, value) into ordinary tables, and tell how they are written."""
    if options.long is False or not (options.long or is_long(raws[0], options.time)):
        if options.grid is not None:
            message = (
                "A grid applies to tables with one row per event (time, tag, value) only, and "
                f"{raws[0].name} is none; leave it out."
            )
            raise SettingError(message)
        return raws, None
    tables, writing = read_long(raws, options.time, options.grid, tally, run.find)
    return list(tables), writing


def plan_tables(raws: list[RawTable], options: Options, tally: Tally) -> OpenedTable:
    """Decide by the first rows which column is what."""
    run = _Run(raws, options, tally)
    raws, writing = _unfold(raws, options, tally, run)
    if writing is not None:  # the times are no text any more
        options = replace(options, time_format=None, usual=None)
        run = _Run(raws, options, tally)
    first = raws[0]
    for name in (*options.ignore, *((options.labels,) if options.labels else ())):
        if name not in first.columns:
            raise UnknownNameError(name, "column", first.columns, first.name)
    head = first.head()
    time = run.find(first, head)
    if time is None:
        tally.add(
            "no_time",
            f"{first.name} has no time column; its rows are counted, one second each.",
        )
        note_lost(first, head, options.ignore, options.usual, tally)
    else:
        note_days(first, head, time, tally)
    if time is not None and options.labels in time.columns:
        msg = (
            f"The column {options.labels!r} holds the times of {first.name}, so it cannot hold"
            " labels; name the column of labels, or with --time another one for times."
        )
        raise SettingError(msg)
    used = {*options.ignore, options.labels, *(time.columns if time else ())}
    candidates = [column for column in first.columns if column not in used]
    signals, suspects = choose_signals(first, head, candidates, options.keep, options.labels, tally)
    clock = time.format.clock if time else "rows"
    plans = [Plan(first, signals, time, options.labels, clock, suspects)]
    pace = measure_pace(plans[0], head, tally)
    if len(raws) > 1:
        begins = [int(first_times(plans[0], head)[0])]
        for raw in raws[1:]:
            plan, begin = _plan_next(raw, plans[0], options, tally, run)
            plans.append(plan)
            begins.append(begin)
        if clock in ("naive", "utc"):
            plans = [plans[k] for k in np.argsort(begins, kind="stable")]
    return OpenedTable(plans, pace, options.exclude, tally, writing or writing_of(first, time))


def _plan_next(
    raw: RawTable, first: Plan, options: Options, tally: Tally, run: _Run
) -> tuple[Plan, int]:
    """Plan a further file: same columns, in any order, and the same clock; and its first time."""
    for column in first.needed:
        if column not in raw.columns:
            message = (
                f"{raw.name} has no column {shorten(column)!r}, which {first.raw.name} has; all "
                "files must have the same columns."
            )
            raise TableError(message)
    known = {*first.raw.columns, *options.ignore}
    more = [column for column in raw.columns if column not in known]
    tally.add(
        "extra_columns",
        f"Columns of {raw.name} that {first.raw.name} does not have were left out: "
        f"{listing(more)}.",
        len(more),
        raw.name,
    )
    head = raw.head()
    time = first.time
    if time is not None and (is_open(time, head) or not _reads(time, head)):
        time = run.find(raw, head, time.columns[0])
    clock = time.format.clock if time else "rows"
    if clock != first.clock:
        message = (
            f"The times of {raw.name} ({clock}) are of another kind than those of "
            f"{first.raw.name} ({first.clock}); read them separately."
        )
        raise TableError(message)
    plan = Plan(raw, first.signals, time, first.labels, clock, first.suspects)
    return plan, int(first_times(plan, head)[0])


def _reads(time: TimeColumn, head: pl.DataFrame) -> bool:
    """Whether the times of a further file are written as in the first."""
    if not isinstance(time.format, (TextTimes, CustomTimes)):
        return isinstance(time.format, CustomTimes)
    is_text = all(head[column].dtype == pl.String for column in time.columns)
    return is_text and time.parse(head).share > 0.99
