"""Rows from the messages of a log that can be read again: each a row, or one value of one tag.

A value is a plain number, or ``{"value": 2.4, "time": "2026-01-01T00:00:00Z"}``. Without a time of
its own it has the time that the log gave its message. Both are the same when a message is read
again, so the rows are as well; no clock of ours plays a part.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from causewatch.data import Clock
from causewatch.data.columns import TIME_NAMES, plain
from causewatch.data.table import NANOSECONDS
from causewatch.data.times import EXCEL, in_format
from causewatch.streaming.address import Seconds
from causewatch.streaming.assembly import RowAssembler
from causewatch.streaming.payloads import BadPayloadError, RowDecoder, decode_json
from causewatch.streaming.source import Batch, Wanted, nothing

__all__ = [
    "MessageOptions",
    "MessageReader",
    "RowMessages",
    "TagMessages",
    "TagOptions",
    "assembler_of",
    "moment",
    "reader_of",
    "value_in",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = (NANOSECONDS, 1_000_000, 1_000, 1)
"""Nanoseconds of what numbers since 1970 may count: seconds, milli-, micro- or nanoseconds."""
NOT_LATE = Seconds(0.0)


@dataclass(frozen=True)
class TagOptions:
    """Options of sources that make rows of tags.

    Attributes
    ----------
    every
        Time between two rows; as in the normal recording if not given.
    late
        How late values may come.
    stale
        After so long the last value of a tag no longer counts; never if not given.
    """

    every: Seconds | None = None
    late: Seconds = NOT_LATE
    stale: Seconds | None = None


@dataclass(frozen=True)
class MessageOptions(TagOptions):
    """Options of sources whose messages are rows or values.

    Attributes
    ----------
    format
        What a message is: a row, or the value of a tag.
    """

    format: Literal["rows", "tags"] = "rows"


class MessageReader(Protocol):
    """Makes rows of messages."""

    @property
    def clock(self) -> Clock | None:
        """What its times count; None if each row tells."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns that have not come so far; none before the first row."""

    @property
    def problems(self) -> Counter[str]:
        """What was left out so far, counted by kind."""

    def take(self, tag: str | None, payload: bytes, stamp: int | None) -> None:
        """A message; `stamp` is the time that the log says, in nanoseconds since 1970."""

    def rows(self) -> Batch:
        """The rows that are complete."""

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on, as plain JSON."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""


def reader_of(options: MessageOptions, wanted: Wanted) -> MessageReader:
    """What reads messages of the format that was asked for."""
    return RowMessages(wanted) if options.format == "rows" else TagMessages(wanted, options)


def assembler_of(options: TagOptions, wanted: Wanted) -> RowAssembler:
    """What makes rows of values, as was asked for."""
    return RowAssembler(
        wanted.columns,
        options.every or wanted.interval,
        stale={tag.signal: tag.stale for tag in wanted.tags if tag.stale is not None},
        default_stale=options.stale,
        late=options.late,
    )


class RowMessages:
    """Messages that are rows. It remembers nothing that the rows to come depend on."""

    clock: Clock | None = None

    def __init__(self, wanted: Wanted) -> None:
        self._columns = wanted.columns
        self._decoder = RowDecoder(wanted)
        self._unseen = set(wanted.columns)
        self._any = False  # whether there was a row
        self._named: list[tuple[Mapping[str, Any], Any]] = []
        self.problems: Counter[str] = Counter()

    @property
    def missing(self) -> tuple[str, ...]:
        """See `MessageReader`."""
        return tuple(name for name in self._columns if self._any and name in self._unseen)

    def take(self, tag: str | None, payload: bytes, stamp: int | None) -> None:
        """See `MessageReader`."""
        try:
            found = self._decoder.read(payload)
        except BadPayloadError as error:
            self.problems[error.kind] += 1
        else:
            self.add(found)

    def add(self, found: dict[str, Any]) -> None:
        """A message that was decoded already; it may be changed."""
        row, when = self._decoder.of(found)
        self._any = True
        if self._unseen:
            self._unseen.difference_update(row)
        self._named.append((row, when))

    def rows(self) -> Batch:
        """See `MessageReader`."""
        none = nothing(len(self._columns))
        named, self._named = self._named, []
        return Batch(none.values, none.times, named)

    def snapshot(self) -> dict[str, Any]:
        """See `MessageReader`."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `MessageReader`."""


class TagMessages:
    """Messages that are values of tags; see `RowAssembler` for the rule.

    Parameters
    ----------
    wanted
        What the watch wants.
    options
        How rows are made.
    """

    clock: Clock | None = "utc"

    def __init__(self, wanted: Wanted, options: TagOptions) -> None:
        self._wanted = wanted
        self._assembler = assembler_of(options, wanted)
        self._problems: Counter[str] = Counter()

    @property
    def problems(self) -> Counter[str]:
        """See `MessageReader`."""
        return self._problems + Counter(self._assembler.problems)

    @property
    def missing(self) -> tuple[str, ...]:
        """See `MessageReader`."""
        found = self._assembler.missing
        return () if len(found) == len(self._wanted.columns) else found

    def take(self, tag: str | None, payload: bytes, stamp: int | None) -> None:
        """See `MessageReader`."""
        if tag is None:
            self._problems["no_tag"] += 1
            return
        known = self._wanted.tags.get(tag)
        if known is None:
            self._problems["unknown_tags"] += 1
            return
        try:
            value, told = value_in(payload, self._wanted)
        except BadPayloadError as error:
            self._problems[error.kind] += 1
            return
        time = stamp if told is None else moment(told, self._wanted.reading.time_format)
        if time is None:
            self._problems["bad_times"] += 1
            return
        number = math.nan
        if value is not None:  # which says that there is no value now
            try:
                number = known.convert(float(value))
            except (TypeError, ValueError, OverflowError):
                self._problems["bad_values"] += 1
        self._assembler.take(known.signal, number, time)

    def rows(self) -> Batch:
        """See `MessageReader`."""
        return self._assembler.rows()

    def snapshot(self) -> dict[str, Any]:
        """See `MessageReader`."""
        return self._assembler.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `MessageReader`."""
        self._assembler.restore(state)


def value_in(payload: bytes, wanted: Wanted) -> tuple[Any, Any]:
    """The value of a tag in a message, and its time as it was written; None if there is none."""
    found = decode_json(payload, wanted.limits.payload)
    if not isinstance(found, dict):
        return found, None
    if "value" not in found:
        raise BadPayloadError("not_a_row")  # noqa: EM101
    name = wanted.reading.time or next((key for key in found if plain(key) in TIME_NAMES), None)
    return found["value"], None if name is None else found.get(name)


def moment(told: Any, form: str | None = None) -> int | None:
    """A time as somebody wrote it, in nanoseconds since 1970; None if it is none.

    Numbers count seconds, milliseconds, microseconds or nanoseconds since 1970, by their size;
    times without a zone are taken as UTC.

    >>> moment("2026-01-01T00:00:00Z") == moment(1_767_225_600) == moment(1_767_225_600_000)
    True
    >>> moment(45_000, "excel") == moment("2023-03-15")
    True
    """
    try:
        if isinstance(told, str) or (form == EXCEL and isinstance(told, int | float)):
            found = in_format(told, form) if form else datetime.fromisoformat(str(told).strip())
            since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - EPOCH
            seconds = since.days * 86_400 + since.seconds
            return seconds * NANOSECONDS + since.microseconds * 1_000
        if isinstance(told, bool) or not isinstance(told, int | float):
            return None
        # As in `causewatch.data.times`: numbers of this size count from 1970.
        least, most = 5e8 * NANOSECONDS, 5e9 * NANOSECONDS
        unit = next((one for one in UNITS if least <= abs(told) * one <= most), None)
        if unit is None:
            return None
        whole = math.floor(told)
        return whole * unit + round((told - whole) * unit)
    except (OverflowError, ValueError):
        return None
