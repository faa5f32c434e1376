"""Day or month first: what a file itself tells, what others of its run tell, and what is usual."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from causewatch.data.columns import LOST_TIME, MOSTLY_TIMES, TimeColumn
from causewatch.data.notes import Tally
from causewatch.data.raw import RawTable
from causewatch.data.times import DAY, TextTimes, clock_format, detect_format
from causewatch.data.writing import Order, Writing
from causewatch.errors import shorten

__all__ = [
    "CONTRARY",
    "DOUBTS",
    "agreed",
    "contrary",
    "format_of",
    "is_open",
    "order_of",
    "other_order",
    "settle",
    "told_by",
]

CONTRARY = "contrary_orders"
DOUBTS = ("day_or_month_first", "other_order", "usual_order", CONTRARY, LOST_TIME)
"""Kinds of notes about times that a user must see."""

FEW_DATES = 3
"""Dates that speak against what is usual are stray if they are fewer than this, and far away."""

FAR = 3.0
"""Stray dates make the way through all times longer than so many times that of the others."""

_CELL = re.compile(
    r"\s*\d{1,2}(?P<sign>[-/.])\d{1,2}[-/.](?P<year>\d+)"
    r"(?:(?P<gap>[Tt]|\s+)(?P<clock>\d{1,2}(?::\d+){0,2}(?:[.,]\d+)?(?:\s*[AaPp][Mm])?))?"
    r"(?P<zone>\s*(?:Z|z|UTC|GMT|[+-]\d.*))?\s*"
)


def order_of(time: TimeColumn | None) -> Order | None:
    """Whether day or month comes first in a column of times; None where that is no question."""
    form = None if time is None else time.format
    if isinstance(form, TextTimes) and form.layout in ("day first", "month first"):
        return "day first" if form.layout == "day first" else "month first"
    return None


def other_order(order: Order) -> Order:
    """The order that it is not."""
    return "month first" if order == "day first" else "day first"


def agreed(orders: Mapping[str, Order]) -> tuple[Order | None, str]:
    """What files of one run tell together, and a sentence if they contradict each other.

    Parameters
    ----------
    orders
        What each file that tells says, by its name.
    """
    names = {order: name for name, order in orders.items()}
    if len(names) < 2:
        return next(iter(names), None), ""
    return None, (
        f"The times of {names['month first']} are written month first and those of"
        f" {names['day first']} day first, so they do not tell how those of other files are meant;"
        " give the time format, or read files that are written alike together."
    )


def is_open(time: TimeColumn, head: pl.DataFrame) -> bool:
    """Whether the first rows of a file make times in the other order of day and month, too."""
    order = order_of(time)
    if order is None:
        return False
    return _in_order(time, other_order(order), guessed=False).parse(head).share > MOSTLY_TIMES


def settle(
    raw: RawTable,
    head: pl.DataFrame,
    time: TimeColumn | None,
    usual: Writing | None,
    tally: Tally,
    run: Callable[[], Order | None] = lambda: None,
) -> TimeColumn | None:
    """A column of times whose day and month are told apart as well as can be.

    A file that tells them apart itself is read as it says; a note says so if that is not usual. A
    few stray dates do not tell. For a file that does not, the other files of the run decide, then
    what is usual, if its dates are written with the same sign.

    Parameters
    ----------
    raw, head, time
        The table, its first rows, and its times as far as these rows tell.
    usual
        How earlier recordings of the plant are written.
    tally
        Where to note what a reader should know.
    run
        Finds what other files of the run tell.
    """
    order = order_of(time)
    if time is None or order is None:
        return time
    expected = _expected(time, usual)
    why = ", as only that makes them steady"
    if not time.guessed and _is_stray(time.cells(head), time, expected):
        assert expected is not None
        return _in_order(time, expected, guessed=False)
    if time.guessed:
        own = told_by(raw, head, time, usual)
        other = run() if own is None else None
        told = own or other or expected
        if told is None:
            _note_guess(raw, head, time, "", tally)
            return time
        time, order = _in_order(time, told, guessed=own is None and other is None), told
        why = ", as other files tell" if other else why
        if time.guessed:
            _note_guess(raw, head, time, ", as other recordings of this plant are written", tally)
    if expected is not None and expected != order:
        _note_other(raw, head, time, expected, why, tally)
    return time


def _expected(time: TimeColumn, usual: Writing | None) -> Order | None:
    """The usual order of dates with such a sign between day and month."""
    if usual is None:
        return None
    assert isinstance(time.format, TextTimes)
    known = usual.date_sign is not None and time.format.sign is not None
    return None if known and usual.date_sign != time.format.sign else usual.order


def _is_stray(cells: pl.Series, time: TimeColumn, expected: Order | None) -> bool:
    """Whether only a few dates, far from all others, speak against the expected order."""
    if expected is None or expected == order_of(time):
        return False
    as_said = time.format.parse(cells)
    as_usual = _in_order(time, expected, guessed=False).format.parse(cells)
    against = as_said.ok & ~as_usual.ok
    dates = np.unique(as_said.ns[against] // DAY)
    few = 0 < len(dates) < FEW_DATES and 2 * int(against.sum()) < len(cells)
    return few and as_said.path > FAR * as_usual.path


def told_by(
    raw: RawTable, head: pl.DataFrame, time: TimeColumn, usual: Writing | None
) -> Order | None:
    """What a file itself tells: its first rows or, where they leave it open, the later ones.

    A few stray dates do not tell that the order is not the usual one.
    """
    if order_of(time) is None:
        return None
    expected = _expected(time, usual)
    if not time.guessed:
        return None if _is_stray(time.cells(head), time, expected) else order_of(time)
    before: pl.Series | None = None
    for frame in raw.blocks(time.columns, Tally()):
        cells = time.cells(frame)
        if not len(cells):
            continue
        form, guessed = detect_format(
            cells if before is None else pl.concat([before, cells]), "", raw.decimal
        )
        if form is not None and not guessed:
            column = TimeColumn(time.columns, form)
            if not _is_stray(cells, column, expected):
                return order_of(column)
        before = cells.tail(1)
    return None


def contrary(name: str, cells: pl.Series, time: TimeColumn) -> str:
    """A sentence, if some of the cells that are no times would be times in the other order."""
    order = order_of(time)
    if order is None:
        return ""
    other = _in_order(time, other_order(order), guessed=False)
    right = cells.filter(pl.Series(other.format.parse(cells).ok))
    if not len(right):
        return ""
    return (
        f"The rows of {name} were read {order}, but {shorten(str(right[0]))!r} cannot be: rows"
        f" like it are left out. If all are written {other_order(order)}, others are on wrong days:"
        f" give {_option(right[0], other_order(order))}."
    )


def format_of(cell: str, order: Order) -> str:
    """The strptime format of a time such as `cell`, whose day and month are in this order.

    >>> format_of("5/8/2009 3:00", "month first")
    '%m/%d/%Y %H:%M'
    """
    parts = _CELL.fullmatch(cell)
    if parts is None:
        return "%d/%m/%Y %H:%M:%S" if order == "day first" else "%m/%d/%Y %H:%M:%S"
    first, second = ("%d", "%m") if order == "day first" else ("%m", "%d")
    form = f"{first}{parts['sign']}{second}{parts['sign']}"
    form += "%Y" if len(parts["year"]) == 4 else "%y"
    if parts["gap"]:
        form += parts["gap"] + clock_format(parts["clock"])
    if zone := parts["zone"]:
        form += " " * (len(zone) - len(zone.lstrip())) + "%z"
    return form


def _option(cell: object, order: Order) -> str:
    return f"--time-format {format_of(str(cell), order)!r}"


def _in_order(time: TimeColumn, order: Order, *, guessed: bool) -> TimeColumn:
    assert isinstance(time.format, TextTimes)
    return replace(time, format=replace(time.format, layout=order), guessed=guessed)


def _note_guess(
    raw: RawTable, head: pl.DataFrame, time: TimeColumn, why: str, tally: Tally
) -> None:
    order = order_of(time)
    assert order is not None
    cells = time.cells(head)
    cells = cells.filter(pl.Series(time.format.parse(cells).ok))
    tally.add(
        "usual_order" if why else "day_or_month_first",
        f"The times of {raw.name} do not tell day and month apart and were read {order}{why}; give "
        f"{_option(cells[0], other_order(order))} if that is wrong.",
        about=raw.name,
    )


def _note_other(
    raw: RawTable, head: pl.DataFrame, time: TimeColumn, expected: Order, why: str, tally: Tally
) -> None:
    order = order_of(time)
    assert order is not None
    cells = time.cells(head)
    cells = cells.filter(pl.Series(time.format.parse(cells).ok))
    against = cells.filter(
        pl.Series(~_in_order(time, expected, guessed=False).format.parse(cells).ok)
    )
    remedy = f"give {_option(cells[0], expected)}"
    if len(against):
        cell = shorten(str(against[0]))
        why = f" ({cell!r})"
        remedy = f"rows such as {cell!r} are, too: correct them, and {remedy}"
    tally.add(
        "other_order",
        f"The times of {raw.name} are written {order}{why}, but those of other recordings of this"
        f" plant {expected}; they were read {order}. If that is wrong, {remedy}.",
        about=raw.name,
    )
