"""Normal operation cut into a part to learn from and a part for limits, the same for everyone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from causewatch.data import format_duration, parse_span
from causewatch.data.table import TimeTable
from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.verdicts import Progress
from causewatch.model.account import start_up_of
from causewatch.model.learning import usual_false_alarm_every
from causewatch.model.passes import survey_of
from causewatch.model.watching import LEAST_TICKS
from causewatch.preprocess import default_preprocessing

__all__ = ["SHARE", "joined", "make_split"]

SHARE = 0.7
"""Share of normal operation that is learnt from, as in the published experiments."""


def make_split(
    normal: Sequence[TimeTable],
    *,
    share: float = SHARE,
    every: float | None = None,
    max_lag: int | None = None,
    false_alarm_every: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Split:
    """Cut normal operation once, for every detector.

    A start-up at the beginning is left out by the rule of `causewatch.learn`. The first rows of
    what is left, whatever table they lie in, are for learning; the others for limits.

    Parameters
    ----------
    normal
        Recordings of normal operation, in order, with the same signals.
    share
        Share of the rows to learn from.
    every, max_lag
        Length of a tick in seconds, and how many ticks back detectors may look; chosen from the
        rows to learn from by the rule of the default preset if not given.
    false_alarm_every
        Expected time between two false alarms in seconds; if not given, what `causewatch.learn`
        would aim at: mostly a day, or half of the recording where rows have no times.
    seed
        For everything random.
    progress
        Told what is being done.
    """
    if not 0.0 < share < 1.0:
        msg = f"The share to learn from is {share:g}; it must lie between 0 and 1."
        raise SettingError(msg)
    if false_alarm_every is not None and not 0.0 < false_alarm_every < float("inf"):
        msg = f"--false-alarm-every is {false_alarm_every:g} s; it must be a positive time."
        raise SettingError(msg)
    if not sum(map(len, normal)):
        msg = "There are no rows of normal operation to learn from; give a recording."
        raise NotEnoughDataError(msg)
    tell = progress or (lambda what, share: None)
    tables = _without_start_up(_alike(normal), tell)
    rows = sum(map(len, tables))
    cut = round(share * rows)
    learn, limits = _part(tables, 0, cut), _part(tables, cut, rows)
    _check_length(learn, limits, every)
    survey, sample = survey_of(joined(learn), tell)
    plan = default_preprocessing(survey, sample, every=every, max_lag=max_lag)
    _check_length(learn, limits, plan.every, plan.max_lag)
    if false_alarm_every is None:
        ticks = int(rows * tables[0].interval / plan.every)
        times = tables[0].clock != "rows"
        false_alarm_every = usual_false_alarm_every(plan.every, ticks, times=times)
    return Split(learn, limits, plan.every, plan.max_lag, false_alarm_every, seed)


def joined(tables: Sequence[TimeTable]) -> TimeTable:
    """Tables one after the other as one; where rows do not follow each other, a stretch begins."""
    if len(tables) == 1:
        return tables[0]
    starts, before = [], 0
    for number, table in enumerate(tables):
        own = set(table.starts.tolist()) | {0}
        if number and len(table) and len(tables[number - 1]):
            # A table that was cut in two goes on where its first part ends.
            step = (int(table.time[0]) - int(tables[number - 1].time[-1])) / 1e9
            if 0.0 < step < 1.5 * table.interval:
                own.discard(0)
        starts += [before + start for start in sorted(own)]
        before += len(table)
    return replace(
        tables[0],
        values=np.concatenate([table.values for table in tables]),
        time=np.concatenate([table.time for table in tables]),
        starts=np.array(starts, dtype=np.intp),
        labels=None,
        file_rows=None,
    )


def _alike(tables: Sequence[TimeTable]) -> tuple[TimeTable, ...]:
    """The tables with the columns of the first one in its order, and without labels."""
    first, found = tables[0], []
    for table in tables:
        if table.signals == first.signals:
            found.append(replace(table, labels=None))
            continue
        for name in first.signals:
            if name not in table.signals:
                raise UnknownNameError(name, "signal in a further recording", table.signals)
        order = [table.signals.index(name) for name in first.signals]
        values = table.values[:, order]
        found.append(replace(table, signals=first.signals, values=values, labels=None))
    return tuple(table for table in found if len(table))


def _without_start_up(tables: tuple[TimeTable, ...], tell: Progress) -> tuple[TimeTable, ...]:
    """The tables without the start-up that they begin with, if they do."""
    whole = joined(tables)
    if (np.diff(whole.time) < 0).any():
        return tables  # times that several tables share do not say where a start-up ends
    survey, _ = survey_of(whole, tell)
    start_up = start_up_of(survey)
    if start_up is None:
        return tables
    _, end = parse_span("..".join(start_up.span or ())).bounds(whole.clock)
    return _part(tables, int(np.searchsorted(whole.time, end)), len(whole))


def _part(tables: Sequence[TimeTable], start: int, stop: int) -> tuple[TimeTable, ...]:
    """Rows `start` to `stop` (half-open) of all tables together, as tables."""
    found, before = [], 0
    for table in tables:
        rows = slice(max(0, start - before), max(0, min(len(table), stop - before)))
        before += len(table)
        if rows.stop <= rows.start:
            continue
        inside = table.starts[(table.starts > rows.start) & (table.starts < rows.stop)]
        found.append(
            replace(
                table,
                values=table.values[rows],
                time=table.time[rows],
                starts=np.append(0, inside - rows.start).astype(np.intp),
                continues=False,
                file_rows=None,
            )
        )
    return tuple(found)


def _check_length(
    learn: Sequence[TimeTable],
    limits: Sequence[TimeTable],
    every: float | None,
    max_lag: int = 0,
) -> None:
    """Enough ticks in both parts."""
    for what, tables in (("to learn from", learn), ("for alarm limits", limits)):
        rows = sum(map(len, tables))
        interval = tables[0].interval if tables else 1.0
        length = max(every or 0.0, interval)
        ticks = int(rows * interval / length)
        if ticks < LEAST_TICKS + max_lag:
            msg = (
                f"{rows:,} rows of normal operation are left {what}, {ticks:,} ticks of"
                f" {format_duration(length)}, but at least {LEAST_TICKS + max_lag} are needed;"
                " give a longer recording or a shorter --every."
            )
            raise NotEnoughDataError(msg)
