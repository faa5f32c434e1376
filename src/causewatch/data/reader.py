"""From raw cells to tables: numbers, times, labels and stretches, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.cells import read_labels, read_numbers, shown
from causewatch.data.columns import TimeColumn
from causewatch.data.day_order import contrary
from causewatch.data.notes import Tally
from causewatch.data.order import GAP, Orderer, Pace
from causewatch.data.raw import RawTable
from causewatch.data.table import NANOSECONDS, Clock, TimeTable
from causewatch.errors import TableError, shorten

__all__ = ["Piece", "Plan", "first_times", "measure_pace", "read_pieces"]

MOST_BACK = 0.2
"""Share of steps back in time above which a table is refused."""

FEW_BAD_TIMES = 0.001
"""Rows with an unreadable time are dropped if they are at most this share, else an error."""

STRAY_ROWS, STRAY_SHARE = 2, 0.01
"""So many are dropped of short recordings, too, if they are at most this share."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to read one raw table: which column is what."""

    raw: RawTable
    signals: tuple[str, ...]
    time: TimeColumn | None
    labels: str | None
    clock: Clock
    suspects: tuple[str, ...] = ()  # columns that look like labels; a table may lack them

    @property
    def needed(self) -> tuple[str, ...]:
        """Every column that the table must have."""
        time = self.time.columns if self.time else ()
        label = (self.labels,) if self.labels else ()
        return tuple(dict.fromkeys((*time, *self.signals, *label)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that has to be read."""
        there = [column for column in self.suspects if column in self.raw.columns]
        return tuple(dict.fromkeys((*self.needed, *there)))


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows.

    `start` says which begin a stretch (before ordering: which follow dropped rows), `row` which
    rows of the files they are, `suspected` what columns that look like labels say of them.
    """

    values: Floats
    time: NDArray[np.int64]
    labels: Floats | None
    start: NDArray[np.bool_]
    row: NDArray[np.int64]
    suspected: Floats | None = None

    def __len__(self) -> int:
        return len(self.time)

    def take(self, rows: slice | NDArray[np.bool_]) -> Piece:
        """Only some of the rows."""
        labels = None if self.labels is None else self.labels[rows]
        suspected = None if self.suspected is None else self.suspected[rows]
        start, row = self.start[rows], self.row[rows]
        return Piece(self.values[rows], self.time[rows], labels, start, row, suspected)

    @classmethod
    def of(cls, table: TimeTable) -> Piece:
        """The rows of a table."""
        start = np.zeros(len(table), dtype=np.bool_)
        start[table.starts] = True
        row = table.file_rows
        if row is None:
            row = np.arange(len(table), dtype=np.int64)
        return cls(table.values, table.time, table.labels, start, row)

    def moved(self, rows: int) -> NDArray[np.int64] | None:
        """Which of `rows` rows of the files they are, for a table; None if all, in order."""
        plain = np.array_equal(self.row, np.arange(rows))
        return None if plain else self.row

    @staticmethod
    def join(pieces: Sequence[Piece]) -> Piece:
        """One piece of several."""
        if len(pieces) == 1:
            return pieces[0]
        labels = [piece.labels for piece in pieces if piece.labels is not None]
        suspected = [piece.suspected for piece in pieces if piece.suspected is not None]
        return Piece(
            np.concatenate([piece.values for piece in pieces]),
            np.concatenate([piece.time for piece in pieces]),
            np.concatenate(labels) if labels else None,
            np.concatenate([piece.start for piece in pieces]),
            np.concatenate([piece.row for piece in pieces]),
            np.concatenate(suspected) if suspected else None,
        )


class _Converter:
    """Turns blocks of cells into rows with a time, dropping those that have none."""

    def __init__(self, plan: Plan, first_row: int, tally: Tally) -> None:
        self._plan = plan
        self._tally = tally
        self._offset = first_row
        self.rows = 0
        self._bad_times = 0
        self._first_bad = self._contrary = ""
        self._dropped_last = False

    def convert(self, frame: pl.DataFrame) -> Piece:
        """The usable rows of a block."""
        plan = self._plan
        values = np.empty((len(frame), len(plan.signals)))
        for position, column in enumerate(plan.signals):
            values[:, position] = self._numbers(frame[column])
        empty = np.isfinite(values).sum(axis=1) == 0
        self._tally.add(
            "empty_rows",
            f"Rows without any value: {{count}}, the first in {self._place(empty)}; they were "
            "dropped.",
            int(empty.sum()),
        )
        keep = np.logical_not(empty)
        first = self._offset + self.rows
        row = np.arange(first, first + len(frame), dtype=np.int64)
        if plan.time is None:
            time = row * NANOSECONDS
        else:
            times = plan.time.parse(frame.filter(keep) if empty.any() else frame)
            time, ok = np.zeros(len(frame), dtype=np.int64), np.zeros(len(frame), dtype=np.bool_)
            time[keep], ok[keep] = times.ns, times.ok
            bad = keep & ~ok
            if bad.any():
                self._note_bad_time(frame, bad)
            keep &= ok
        labels = read_labels(frame[plan.labels], plan.raw.decimal) if plan.labels else None
        if labels is not None:
            self._tally.add(
                "not_labelled",
                f"Rows of {plan.raw.name} that are not labelled and count as neither normal nor "
                "anomalous: {count}.",
                int(np.isnan(labels[keep]).sum()),
                plan.raw.name,
            )
        self.rows += len(frame)
        after_dropped = np.concatenate([[self._dropped_last], ~keep[:-1]])[: len(frame)]
        self._dropped_last = bool(not keep[-1]) if len(frame) else self._dropped_last
        piece = Piece(values, time, labels, after_dropped, row, self._suspected(frame))
        return piece if keep.all() else piece.take(keep)

    def _suspected(self, frame: pl.DataFrame) -> Floats | None:
        """What columns that look like labels say, if there are any."""
        suspects = self._plan.suspects
        if not suspects:
            return None
        verdicts = np.full((len(frame), len(suspects)), np.nan)
        for position, column in enumerate(suspects):
            if column in frame.columns:
                verdicts[:, position] = read_labels(frame[column], self._plan.raw.decimal)
        return verdicts

    def check_times(self) -> None:
        """Raise if more than a handful of times could not be read."""
        few = max(FEW_BAD_TIMES * self.rows, min(STRAY_ROWS, STRAY_SHARE * self.rows))
        if self._bad_times > few:
            message = f"{self._first_bad}; correct it, or give the time column and time format."
            raise TableError(message)
        self._tally.add(
            "bad_times",
            f"Rows whose time cannot be read: {{count}}, the first: {self._first_bad}; they were "
            "dropped.",
            self._bad_times,
            self._plan.raw.name,
        )
        if self._contrary:
            self._tally.add("other_order", self._contrary, about=self._plan.raw.name)

    def _numbers(self, cells: pl.Series) -> Floats:
        column = cells.name
        numbers = read_numbers(cells, self._plan.raw.decimal)
        for kind, found, what in (
            ("text_cells", numbers.bad, "that are no numbers"),
            ("infinite", numbers.infinite, "that are infinite or too large"),
            ("failed_cells", numbers.failures, "that hold an error in place of a number"),
        ):
            if len(found):
                row = int(found[0])
                self._tally.add(
                    kind,
                    f"Cells of column {shorten(column)!r} {what}: {{count}}, the first "
                    f"{shorten(str(cells[row]))!r} in {self._plan.raw.place(self.rows + row)} of "
                    f"{self._plan.raw.name}; they count as missing.",
                    len(found),
                    column,
                )
        return numbers.values

    def _note_bad_time(self, frame: pl.DataFrame, bad: NDArray[np.bool_]) -> None:
        assert self._plan.time is not None
        if not self._first_bad:
            row = int(np.argmax(bad))
            cell = " ".join(shown(frame[column], row) for column in self._plan.time.columns)
            where = f"{self._plan.raw.name}, {self._plan.raw.place(self.rows + row)}"
            names = "', '".join(shorten(column) for column in self._plan.time.columns)
            self._first_bad = f"{where}: {shorten(cell)!r} in column '{names}' is not a time"
        self._bad_times += int(bad.sum())
        if not self._contrary:
            cells = self._plan.time.cells(frame).filter(pl.Series(bad))
            self._contrary = contrary(self._plan.raw.name, cells, self._plan.time)

    def _place(self, rows: NDArray[np.bool_]) -> str:
        found = int(np.argmax(rows)) if rows.any() else 0
        return f"{self._plan.raw.place(self.rows + found)} of {self._plan.raw.name}"


def first_times(plan: Plan, head: pl.DataFrame) -> NDArray[np.int64]:
    """The times of the first rows; raises if there are too few rows or times are unreadable."""
    converter = _Converter(plan, 0, Tally())
    rows = converter.convert(head)
    converter.check_times()
    if len(rows) < 2:
        message = f"{plan.raw.name} has {len(rows)} usable rows, at least 2 are needed."
        raise TableError(message)
    return rows.time


def measure_pace(plan: Plan, head: pl.DataFrame, tally: Tally) -> Pace:
    """Interval and gap of a table, by its first rows."""
    time = first_times(plan, head)
    if plan.time is None:
        return Pace(NANOSECONDS, int(GAP * NANOSECONDS))
    _check_order(plan, time)
    pace = Pace.measure(time)
    if pace is None:
        message = (
            f"The times of {plan.raw.name} (column {shorten(plan.time.columns[0])!r}) never "
            "increase; name another column as time."
        )
        raise TableError(message)
    if pace.irregular:
        tally.add(
            "irregular",
            f"The rows of {plan.raw.name} do not follow each other at a regular interval; only "
            f"steps of more than {pace.gap / NANOSECONDS:.6g} s begin a new stretch.",
        )
    return pace


def _check_order(plan: Plan, time: NDArray[np.int64]) -> None:
    """Raise if rows run backwards in time or have no order: causes would come after effects."""
    steps = np.diff(time)
    back = int(np.sum(steps < 0))
    if back > MOST_BACK * max(1, int(np.sum(steps != 0))):
        newest_first = not np.any(steps > 0)
        how = "run backwards in time (newest first)" if newest_first else "are not in order"
        message = (
            f"The rows of {plan.raw.name} {how}: {back:,} of the first {len(steps):,} steps"
            " go back; sort them by time, oldest first."
        )
        raise TableError(message)


def read_pieces(plan: Plan, pace: Pace, first_row: int, tally: Tally) -> Iterator[Piece]:
    """All usable rows of one raw table in order, cut into stretches.

    Parameters
    ----------
    plan
        Which column is what.
    pace
        The usual interval and what makes a gap.
    first_row
        Number of the first row: rows are counted on over several files.
    tally
        Where to count what happens.
    """
    converter = _Converter(plan, first_row, tally)
    orderer = Orderer(pace, plan.clock, tally)
    waiting: list[Piece] = []
    for frame in plan.raw.blocks(plan.columns, tally):
        waiting.append(converter.convert(frame))
        rows = Piece.join(waiting)
        ordered = orderer.push(rows.time, final=False, after_dropped=rows.start)
        waiting = [rows.take(slice(len(ordered.keep), None))]
        if len(ordered.keep):
            yield _apply(rows, ordered.keep, ordered.time, ordered.start)
    converter.check_times()
    if waiting and len(rows := Piece.join(waiting)):
        ordered = orderer.push(rows.time, final=True, after_dropped=rows.start)
        yield _apply(rows, ordered.keep, ordered.time, ordered.start)


def _apply(
    rows: Piece, keep: NDArray[np.bool_], time: NDArray[np.int64], start: NDArray[np.bool_]
) -> Piece:
    decided = rows.take(slice(0, len(keep)))
    piece = replace(decided, time=time, start=start)
    return piece if keep.all() else piece.take(keep)
