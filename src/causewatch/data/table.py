"""The one shape in which numbers travel: signals over time, cut into stretches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.data.writing import Writing

__all__ = [
    "Clock",
    "Note",
    "Sample",
    "SourceFile",
    "TableSource",
    "TimeTable",
    "format_moment",
    "format_time",
    "read_time",
]

Clock = Literal["naive", "utc", "elapsed", "rows"]
"""What `TimeTable.time` counts: nanoseconds since 1970 without a zone (``naive``), the same in UTC
(``utc``), nanoseconds since some start (``elapsed``), or rows, one second each, where no time is
known (``rows``)."""

NANOSECONDS = 1_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sample:
    """One row: a time and a mapping from signal to value (NaN or absent: missing)."""

    time: datetime | float | None
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Where rows came from: the file's name (never its folder), SHA-256 and number of data rows."""

    name: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader should know about how a table was read.

    `kind` is a stable word for programs (``"duplicate_times"``), `count` how often it happened,
    `text` the sentence for people, naming column, row and remedy.
    """

    kind: str
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class TimeTable:
    """Signals over time. Time is axis 0; NaN is a missing value, never zero.

    Attributes
    ----------
    signals
        Column names.
    values
        Rows × signals, float64.
    time
        Non-decreasing inside a stretch; its unit is set by `clock` (nanoseconds).
    starts
        Row numbers at which a stretch begins. Lags never reach across two stretches. Row 0 is
        in it unless `continues`.
    continues
        Whether row 0 goes on from the last row of the chunk before (see `TableSource`).
    interval
        Usual time between two rows, in seconds.
    clock
        What `time` counts.
    labels
        Truth by row where a label column was named: 1 anomalous, 0 normal, NaN not counted.
    file_rows
        Which row of its file each row is, counted from 0 without the header and on over several
        files; ascending. None if no row was left out, so that they are those of the table.
    files
        Where the rows came from.
    notes
        What the reader did and found.
    writing
        How the text it was read from is written; None if it is not known.
    """

    signals: tuple[str, ...]
    values: NDArray[np.float64]
    time: NDArray[np.int64]
    starts: NDArray[np.intp]
    interval: float
    clock: Clock = "rows"
    continues: bool = False
    labels: NDArray[np.float64] | None = None
    file_rows: NDArray[np.int64] | None = None
    files: tuple[SourceFile, ...] = ()
    notes: tuple[Note, ...] = field(default=())
    writing: Writing | None = None

    def __len__(self) -> int:
        return len(self.values)

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """The table in pieces of at most `rows` rows; this makes a table a `TableSource`."""
        for start in range(0, max(len(self), 1), rows):
            stop = min(start + rows, len(self))
            inside = (self.starts >= start) & (self.starts < stop)
            starts = self.starts[inside] - start
            yield TimeTable(
                signals=self.signals,
                values=self.values[start:stop],
                time=self.time[start:stop],
                starts=starts,
                interval=self.interval,
                clock=self.clock,
                continues=not (len(starts) and starts[0] == 0),
                labels=None if self.labels is None else self.labels[start:stop],
                file_rows=self._file_rows(start, stop),
                files=self.files,
                notes=self.notes,
            )

    def _file_rows(self, start: int, stop: int) -> NDArray[np.int64]:
        if self.file_rows is None:
            return np.arange(start, stop, dtype=np.int64)
        return self.file_rows[start:stop]

    def with_note(self, note: Note) -> TimeTable:
        """The table with one more note."""
        return replace(self, notes=(*self.notes, note))

    def stretches(self) -> list[slice]:
        """Row ranges without a gap."""
        bounds = sorted({0, *self.starts.tolist(), len(self)})
        return [slice(a, b) for a, b in pairwise(bounds)]


class TableSource(Protocol):
    """Rows that can be read again and again, in pieces, without holding all of them in memory."""

    @property
    def signals(self) -> Sequence[str]:
        """Column names."""

    @property
    def interval(self) -> float:
        """Usual time between two rows, in seconds."""

    @property
    def clock(self) -> Clock:
        """What times count."""

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """Where the rows come from; complete once :meth:`chunks` has been read to its end."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the reader did and found; complete once :meth:`chunks` has been read to its end."""

    @property
    def writing(self) -> Writing | None:
        """How the text that the rows are read from is written; None if it is not known."""

    def chunks(self, rows: int = 1 << 16) -> Iterator[TimeTable]:
        """All rows in order, in tables of at most about `rows` rows."""


def format_time(time: int, clock: Clock) -> str:
    """`time` for people and files: ISO 8601 for clock times, seconds or row number otherwise.

    >>> format_time(1_451_296_800_500_000_000, "naive")
    '2015-12-28T10:00:00.500'
    >>> format_time(90 * 1_000_000_000, "elapsed")
    '90s'
    """
    seconds, rest = divmod(int(time), NANOSECONDS)
    if clock == "rows":
        return f"row {seconds}"
    if clock == "elapsed":
        return f"{seconds + rest / NANOSECONDS:.12g}s"
    moment = EPOCH + timedelta(seconds=seconds, microseconds=rest // 1000)
    text = moment.replace(tzinfo=None).isoformat(
        timespec="milliseconds" if rest % 1_000_000 == 0 else "microseconds"
    )
    text = text.removesuffix(".000")
    return text + "Z" if clock == "utc" else text


def read_time(text: str) -> int:
    """The time that `format_time` was given; raises `ValueError` or `OverflowError` for others.

    >>> [read_time(text) for text in ("row 7", "90.5s", "2015-12-28T10:00:00.500")]
    [7000000000, 90500000000, 1451296800500000000]
    """
    if text.startswith("row "):
        return int(text.removeprefix("row ")) * NANOSECONDS
    if text.endswith("s"):
        return round(float(text.removesuffix("s")) * NANOSECONDS)
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
    return (since.days * 86_400 + since.seconds) * NANOSECONDS + since.microseconds * 1000


def format_moment(time: int, clock: Clock, every: float = 1.0) -> str:
    """`time` in sentences: as exact as ticks of `every` seconds are, and no more.

    >>> format_moment(1_451_296_800_537_000_000, "naive")
    '2015-12-28 10:00:00'
    >>> format_moment(1_451_296_800_537_000_000, "utc", every=0.2)
    '2015-12-28 10:00:00.5 UTC'
    >>> format_moment(90 * 1_000_000_000, "elapsed")
    '90 s'
    """
    digits = next((k for k, least in enumerate((1.0, 0.1)) if every >= least), 3)
    step = NANOSECONDS // 10**digits
    text = format_time(int(time) // step * step, clock)
    if clock == "rows":
        return text
    if clock == "elapsed":
        return f"{text.removesuffix('s')} s"
    day, _, clock_time = text.removesuffix("Z").partition("T")
    whole, _, fraction = clock_time.partition(".")
    shown = f"{whole}.{fraction[:digits]}".rstrip("0").rstrip(".") if fraction[:digits] else whole
    return f"{day} {shown} UTC" if clock == "utc" else f"{day} {shown}"
