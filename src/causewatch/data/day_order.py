"""Day or month first: what a file itself tells, what others of its run tell, and what is usual."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import polars as pl

from causewatch.data.columns import MOSTLY_TIMES, TimeColumn
from causewatch.data.notes import Tally
from causewatch.data.raw import RawTable
from causewatch.data.times import TextTimes, detect_format
from causewatch.data.writing import Order, Writing
from causewatch.errors import shorten

__all__ = [
    "CONTRARY",
    "DOUBTS",
    "agreed",
    "contrary",
    "is_open",
    "order_of",
    "other_order",
    "settle",
    "told_by",
]

CONTRARY = "contrary_orders"
DOUBTS = ("day_or_month_first", "other_order", CONTRARY)
"""Kinds of notes about day and month that a user must see."""

_EXAMPLE = {"day first": "%d/%m/%Y %H:%M:%S", "month first": "%m/%d/%Y %H:%M:%S"}


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

    A file that tells them apart itself is read as it says; a note says so if that is not usual. For
    one that does not, the other files of the run decide, then what is usual.

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
    expected = None if usual is None else usual.order
    why = ", as only that makes them steady"
    if time.guessed:
        own = told_by(raw, time)
        other = run() if own is None else None
        told = own or other or expected
        if told is None:
            _note_guess(raw, tally)
            return time
        time, order = _in_order(time, told, guessed=own is None and other is None), told
        why = ", as other files tell" if other else why
    if expected is not None and expected != order:
        _note_other(raw, head, time, expected, why, tally)
    return time


def told_by(raw: RawTable, time: TimeColumn) -> Order | None:
    """What the rows of a whole file tell, where its first rows leave it open."""
    before: pl.Series | None = None
    for frame in raw.blocks(time.columns, Tally()):
        cells = time.cells(frame)
        if not len(cells):
            continue
        form, guessed = detect_format(
            cells if before is None else pl.concat([before, cells]), "", raw.decimal
        )
        if form is not None and not guessed:
            return order_of(TimeColumn(time.columns, form))
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
        " like it are left out, and others may be on wrong days. Give the time format, e.g. "
        f"{_EXAMPLE[other_order(order)]!r}."
    )


def _in_order(time: TimeColumn, order: Order, *, guessed: bool) -> TimeColumn:
    assert isinstance(time.format, TextTimes)
    return replace(time, format=replace(time.format, layout=order), guessed=guessed)


def _note_guess(raw: RawTable, tally: Tally) -> None:
    tally.add(
        "day_or_month_first",
        f"The times of {raw.name} do not tell day and month apart and were read day first; give "
        f"the time format (e.g. {_EXAMPLE['month first']!r}) if that is wrong.",
        about=raw.name,
    )


def _note_other(
    raw: RawTable, head: pl.DataFrame, time: TimeColumn, expected: Order, why: str, tally: Tally
) -> None:
    order = order_of(time)
    assert order is not None
    cells = time.cells(head)
    wrong = cells.filter(
        pl.Series(~_in_order(time, expected, guessed=False).format.parse(cells).ok)
    )
    wrong = wrong.filter(pl.Series(time.format.parse(wrong).ok)) if len(wrong) else wrong
    if len(wrong):
        why = f" ({shorten(str(wrong[0]))!r})"
    tally.add(
        "other_order",
        f"The times of {raw.name} are written {order}{why}, but those of earlier recordings of this"
        f" plant {expected}; they were read {order}. If that is wrong, give the time format, e.g. "
        f"{_EXAMPLE[expected]!r}.",
        about=raw.name,
    )
