"""Rows of CSV text, line by line as they arrive.

Cells and times are understood as in a recording that a model is learnt from. But a recording is
refused if a line of it makes no sense, while a watch must not end because of one: such lines are
counted and left out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from causewatch.data import Clock, Writing
from causewatch.data.cells import read_numbers
from causewatch.data.columns import TIME_NAMES, TimeColumn, find_time, note_lost, plain
from causewatch.data.day_order import contrary, settle
from causewatch.data.dialect import detect_dialect
from causewatch.data.frames import FrameTable
from causewatch.data.notes import Tally
from causewatch.data.raw import clean_name, clean_names
from causewatch.data.table import NANOSECONDS
from causewatch.data.times import detect_format
from causewatch.errors import CausewatchError, TableError, UnknownNameError
from causewatch.streaming.source import Batch, Wanted, joined, no_signals, nothing
from causewatch.streaming.sources.csv_cells import CsvCells, cleaned
from causewatch.streaming.sources.signs import other_signs
from causewatch.streaming.sources.tables import Column, matching, not_in

__all__ = ["CsvRows"]

log = logging.getLogger(__name__)

FIRST_ROWS = 3
"""Rows of a live stream that are waited for before it is decided what its columns are."""


class CsvRows:
    """Turns lines of CSV, in any of its dialects, into rows.

    Parameters
    ----------
    name
        What messages call the text.
    wanted
        What the watch wants.
    rows
        Rows of the text that were read before.
    first_row
        Number of its first row, where rows are counted.
    former
        The `example` of an earlier file, by which this one may be judged.
    moved
        Whether `former` is of this text: a header in its middle by which it goes on.

    Attributes
    ----------
    example
        Lines above the data and some of the data.
    held
        Bytes that wait until it is known what they are.
    """

    def __init__(
        self,
        name: str,
        wanted: Wanted,
        *,
        rows: int = 0,
        first_row: int = 0,
        former: bytes = b"",
        moved: bool = False,
    ) -> None:
        self._name = name
        self._wanted = wanted
        said = wanted.reading
        self._reading = replace(
            said,
            time=None if said.time is None else clean_name(said.time),
            ignore=tuple(clean_name(name) for name in said.ignore),
        )
        self._interval = round(wanted.interval * NANOSECONDS)
        self._none = nothing(len(wanted.columns))
        self._first_row = first_row
        self.rows = rows
        self._bad_lines = self._bad_times = self._text_cells = self._infinite = 0
        self._cells: CsvCells | None = None
        self._time: TimeColumn | None = None
        self._columns: list[Column] = []
        self.clock: Clock | None = None
        self.missing: tuple[str, ...] = ()
        self._header = b""  # lines above the data
        self.example = b""
        self._former = former
        self._borrowed = False  # whether the header is that of an earlier file
        self._guessed = False  # whether so far only that file says what the columns are
        self._has_header = False  # whether there seems to be one in this file
        self._foreign = False  # whether this file has other columns altogether
        self._judged = 0  # bytes by which it was decided what the columns are
        self._new = True  # whether that is still to be decided
        self._moved = moved  # whether it was decided by a header further down in this text
        self._moving = False  # whether it is to be decided by one
        self._above = 0  # lines above the data that are still to come
        self._before = b""  # lines read in an earlier run, which help to decide
        self._first = b""  # lines that wait until it is decided
        self.held = 0
        self._warned: set[str] = set()

    def begin(self, sample: bytes, taken: int, whole: bool) -> None:
        """Find out what the columns are, by the beginning of the text.

        Of this, `taken` bytes were read in an earlier run. Without the `whole` text, a few lines
        are not enough.
        """
        sample = sample[: sample.rfind(b"\n") + 1]
        if self._moved:
            self._begin(self._former)
            self._new = False
        elif _lines_of(sample) > FIRST_ROWS or whole:
            self._judge(self._until_header(self._cleaned(sample)))
            self._judged = len(sample) if _lines_of(sample) > FIRST_ROWS else 0
            above = _lines_of(self._cleaned(sample[:taken]))
            self._above = 0 if self._borrowed else max(0, self._skip - above)
            self._new = False
        elif _lines_of(self._former) > FIRST_ROWS:
            self._begin(self._former)
            self._new, self._borrowed, self._guessed = not taken, taken > 0, not taken
        else:
            self._before, self._judged = self._cleaned(sample[:taken]), taken
        self._bad_lines = 0  # they are counted when they are read

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        found = {
            "bad_lines": self._bad_lines,
            "bad_times": self._bad_times,
            "text_cells": self._text_cells,
            "infinite": self._infinite,
        }
        return {kind: count for kind, count in found.items() if count}

    def extra(self) -> dict[str, Any]:
        """What a position must hold for the columns to be judged alike in a later run."""
        found: dict[str, Any] = {}
        if self._judged and not self._new:
            found["judged"] = self._judged
        example = self.example or self._former
        if example and (self._borrowed or self._new or self._moved):
            found["example"] = example.decode()
        if self._moved:
            found["moved"] = True
        return found

    def new_file(self) -> None:
        """Another file has taken the place of the former one."""
        self._moved = self._moving = False
        self._judge_anew()

    def _judge_anew(self) -> None:
        self._new, self._judged, self._foreign = True, 0, False
        self._first, self.held, self._above, self._before = b"", 0, 0, b""

    def take(self, lines: bytes, last: bool) -> Batch:
        """The rows of some lines; `last` if there will be no more."""
        at = self._next_header(lines)
        if at is None:
            return self._take(lines, last)
        batches = [self._take(lines[:at], True)] if at else []
        while at is not None:
            self._judge_anew()
            self._moving = True
            lines = lines[at:]
            at = self._next_header(lines)
            batches.append(self._take(lines[:at], last or at is not None))
        return joined(batches)

    def _until_header(self, data: bytes) -> bytes:
        """The beginning of a text, up to where another header stands in its middle."""
        first = data.lstrip().partition(b"\n")[0]
        word = max(re.findall(rb"\w+", first), key=len, default=b"")
        if not word or data.count(word) < 2:  # as nearly always
            return data
        kept = vars(self).copy()
        few = b"".join(data.splitlines(keepends=True)[: 4 * FIRST_ROWS])
        try:
            self._begin(few)
            return data[: self._next_header(data)]
        except CausewatchError:  # it must be judged by more of it
            return data
        finally:
            vars(self).update(kept)

    def _next_header(self, lines: bytes) -> int | None:
        """Where a header stands in the middle of the text; from there on it names the columns.

        It names the time, and at least half of the signals that there were. One that only says
        again what the columns are is a line that makes no sense.
        """
        if self._cells is None or not (used := self._columns):
            return None
        times = self._time.columns if self._time else ()
        if not (key := next((n for n in (*times, *(c.name for c in used)) if n.isascii()), "")):
            return None
        above = max(self._above, int(self._new and not self._first))  # there one is expected
        at = len(lines) - len(_without_lines(lines, above))
        word = max(key.split(), key=len).encode()
        while (place := lines.find(word, at)) >= 0:
            start = lines.rfind(b"\n", 0, place) + 1
            at = lines.find(b"\n", place) + 1 or len(lines)
            names = self._cells.names_in(lines[start:at])
            known = sum(column.name in names for column in used)
            same = names == self._names
            if not same and {*times} <= {*names} and 2 * known >= len(used):
                return start
        return None

    def _take(self, lines: bytes, last: bool) -> Batch:
        """Lines with no header but at their beginning."""
        data = self._cleaned(lines)
        if self._new:
            self._first, self.held = self._first + data, self.held + len(lines)
            few = _lines_of(self._before + self._first) <= FIRST_ROWS
            if self._cells is not None and self._first.startswith(self._header):
                # The columns are what they were.
                self._above, self._borrowed, self._judged = self._skip, False, 0
            elif self._cells is not None and self._is_row(self._first):
                self._above, self._borrowed, self._judged = 0, True, 0
            elif few and not last:
                return self._none
            else:
                self._begin_file(self._before + self._first, few)
            data, self._first, self.held, self._new = self._first, b"", 0, False
            self._guessed = False
            self._moved = self._moved or self._moving
        if self._foreign:
            self._bad_lines += sum(bool(line.strip()) for line in data.split(b"\n"))
            return self._none
        while data and self._above:
            end = data.find(b"\n") + 1
            self._above -= bool(data[:end].strip())
            data = data[end:]
        return self._rows_of(data) if data else self._none

    def _is_row(self, data: bytes) -> bool:
        """Whether the first line makes sense with the columns as they were."""
        line = data.lstrip()[: data.lstrip().find(b"\n") + 1]
        kept = vars(self).copy()
        batch = self._rows_of(line) if line else self._none
        vars(self).update(kept)
        return len(batch) > 0 and not bool(np.isnan(batch.values).all())

    def _begin_file(self, data: bytes, few: bool) -> None:
        """Find out what the columns are; of a further file, which may go on without a header."""
        if self._cells is None or self._guessed:
            self._judge(data)
            self._judged = 0 if few else self._judged + self.held
            self._above = 0 if self._before or self._borrowed else self._skip
        else:
            clock, kept = self.clock, vars(self).copy()
            foreign = False
            try:
                self._begin(data)
                fits = self.clock == clock
            except CausewatchError:
                fits, foreign = False, self._has_header
            if fits:
                self._above, self._borrowed = self._skip, False
            else:
                vars(self).update(kept)  # the columns are taken to be what they were
                self._above, self._borrowed = 0, bool(self._header)
                self._foreign = foreign  # unless it says that it has others
            self._judged = 0

    def _judge(self, data: bytes) -> None:
        """Find out what the columns are, with the header of an earlier file if it needs one."""
        kept = vars(self).copy()
        try:
            self._begin(data)
        except CausewatchError:
            if not self._former or not data.strip():
                raise
            vars(self).update(kept)
            self._begin(self._former + data)
            if not self._is_row(data):
                raise
            self._borrowed = True

    def _begin(self, data: bytes) -> None:
        if not data.strip():
            msg = (
                f"{self._name} holds no line that could be read; CSV with a header or JSON lines"
                " are expected."
            )
            raise TableError(msg)
        said = self._reading
        texts = data[: data.rfind(b"\n") + 1].decode().splitlines()
        dialect = detect_dialect(
            texts, self._name, said.separator, said.decimal, self._wanted.usual
        )
        sentence = other_signs(
            self._name,
            self._wanted.usual,
            Writing(separator=dialect.separator, decimal=dialect.decimal),
            separator=said.separator,
            decimal=said.decimal,
        )
        if sentence:
            self._warn("other_signs", sentence)
        self._names = clean_names(dialect.names, self._name, Tally())
        self._skip, self._has_header = dialect.skip, dialect.has_header
        if len(self._names) != dialect.cells:
            msg = (
                f"{self._name} has {len(self._names)} names in its header but {dialect.cells} cells"
                " in most rows; repair the header or give the separator."
            )
            raise TableError(msg)
        for name in said.ignore:
            if name not in self._names:
                raise UnknownNameError(name, "column", self._names)
        rows = _without_lines(data, dialect.skip)
        self._header = data[: len(data) - len(rows)]
        self.example = self._header + b"".join(rows.splitlines(keepends=True)[: FIRST_ROWS + 1])
        self._cells = CsvCells(dialect, self._names)
        head, _ = self._cells.frame(rows, self._names)
        self._time = self._find_time(head)
        used = {*said.ignore, *(self._time.columns if self._time else ())}
        self._columns = matching(self._names, self._wanted, used)
        if not self._columns:
            raise no_signals(self._name, self._names, self._wanted.columns)
        self.missing = not_in(self._columns, self._wanted)
        if self._wanted.counted:
            self._time, self.clock = None, "rows"
        else:
            self.clock = self._time.format.clock if self._time else "elapsed"

    def _find_time(self, head: pl.DataFrame) -> TimeColumn | None:
        said = self._reading
        raw = FrameTable(head, self._name)
        # A tag that the map knows is no time, whatever it is called.
        ignore = (*said.ignore, *(name for name in self._names if name in self._wanted.tags.tags))
        usual = self._wanted.usual
        found = find_time(raw, head, said.time, said.time_format, ignore, usual)
        if found is None and len(head):
            # Times that do not move in the first few rows are times all the same.
            for name in self._names:
                if plain(name) in TIME_NAMES and name not in (*ignore, *self._wanted.columns):
                    form, guessed = detect_format(head[name], name, raw.decimal)
                    if form is not None:
                        found = TimeColumn((name,), form, guessed)
                        break
        if self._wanted.counted:
            return found  # its times do not matter
        tally = Tally()
        if found is None:
            note_lost(raw, head, ignore, usual, tally)
        found = settle(raw, head, found, usual, tally)
        for note in tally.notes():
            self._warn(note.kind, note.text)
        return found

    def _warn(self, kind: str, sentence: str) -> None:
        """Say something about this text once, however often it is judged."""
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning("%s", sentence)

    def _rows_of(self, data: bytes) -> Batch:
        """Whole lines as numbers."""
        time = self._time
        names = [column.name for column in self._columns]
        assert self._cells is not None
        frame, bad_lines = self._cells.frame(data, [*names, *(time.columns if time else ())])
        self._bad_lines += bad_lines
        if time is None:
            first = self._first_row + self.rows
            times = np.arange(first, first + len(frame), dtype=np.int64) * self._interval
        self.rows += len(frame)
        if time is not None:
            found = time.parse(frame)
            times = found.ns
            bad = len(frame) - int(found.ok.sum())
            if bad:
                self._bad_times += bad
                sentence = contrary(self._name, time.cells(frame).filter(~found.ok), time)
                if sentence:
                    self._warn("other_order", sentence)
                times = times[found.ok]
                frame = frame.filter(found.ok)
        values = np.full((len(frame), len(self._wanted.columns)), np.nan)
        for column in self._columns:
            numbers = read_numbers(frame[column.name], self._cells.decimal)
            values[:, column.place], large = column.convert(numbers.values)
            self._infinite += len(numbers.infinite) + large
            self._text_cells += len(numbers.bad)
        return Batch(values, times)

    def _cleaned(self, data: bytes) -> bytes:
        data, bad = cleaned(data)
        self._bad_lines += bad
        return data


def _lines_of(data: bytes) -> int:
    return sum(bool(line.strip()) for line in data.split(b"\n", 40))


def _without_lines(data: bytes, count: int) -> bytes:
    """`data` without its first `count` lines that are not blank, and blank ones before these."""
    begin = 0
    while count and begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        count -= bool(data[begin:end].strip())
        begin = end
    return data[begin:]
