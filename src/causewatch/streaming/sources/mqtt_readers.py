"""What the messages of an MQTT broker say: rows, tags or Sparkplug B."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from causewatch.data import Clock
from causewatch.streaming.message_rows import (
    RowMessages,
    TagMessages,
    TagOptions,
    assembler_of,
)
from causewatch.streaming.payloads import BadPayloadError, RowDecoder
from causewatch.streaming.source import Batch, Wanted
from causewatch.streaming.sources.sparkplug import SparkplugNodes
from causewatch.streaming.wildcards import MQTT

__all__ = ["Reader", "RowsReader", "SparkplugReader", "TagsReader"]

MOST_SENDERS = 10_000
"""Topics whose rows are counted by `sequence`."""


class Reader(Protocol):
    """Makes rows of messages."""

    @property
    def clock(self) -> Clock | None:
        """What its times count; None if each row tells."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns that have not come so far; none before the first row."""

    @property
    def problems(self) -> Mapping[str, int]:
        """What was left out so far, by kind."""

    def take(self, topic: str, payload: bytes, received: int, retained: bool) -> None:
        """Read a message, received at a time in nanoseconds; if it is bad, it is counted."""

    def rows(self) -> Batch:
        """The rows that are complete."""

    def requests(self) -> list[tuple[str, bytes]]:
        """What is to be published: topics and payloads."""

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on, as plain JSON."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""


class RowsReader:
    """Messages that are rows.

    Parameters
    ----------
    wanted
        What the watch wants.
    sequence
        Key under which the sender counts its rows; none if empty.
    """

    clock: Clock | None = None

    def __init__(self, wanted: Wanted, sequence: str = "") -> None:
        self._decoder = RowDecoder(wanted)
        self._messages = RowMessages(wanted)
        self._sequence = sequence
        self._last: dict[str, int] = {}  # count of the last row, by topic

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Reader`."""
        return self._messages.missing

    @property
    def problems(self) -> Counter[str]:
        """See `Reader`."""
        return self._messages.problems

    def take(self, topic: str, payload: bytes, received: int, retained: bool) -> None:
        """See `Reader`."""
        if retained:
            self.problems["retained"] += 1  # some earlier row, nobody knows which
            return
        try:
            found = self._decoder.read(payload)
        except BadPayloadError as error:
            self.problems[error.kind] += 1
            return
        if self._sequence and self._is_repeated(topic, found):
            self.problems["duplicates"] += 1
            return
        self._messages.add(found)

    def _is_repeated(self, topic: str, row: dict[str, Any]) -> bool:
        """Whether the sender's count says that this row was here; counts rows that are not.

        A count of 0 or 1 below the last one is a sender that begins anew.
        """
        inner = row.get("values")
        count = row.pop(self._sequence, None)
        if count is None and isinstance(inner, dict):
            count = inner.pop(self._sequence, None)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 63:
            self.problems["bad_sequence"] += 1
            return False
        last = self._last.get(topic)
        if last is not None and count <= last:
            if count > 1 or count == last:
                return True
            self.problems["sequence_restarts"] += 1
        elif last is not None and count > last + 1:
            self.problems["lost_rows"] += count - last - 1
        if last is not None or len(self._last) < MOST_SENDERS:
            self._last[topic] = count
        return False

    def rows(self) -> Batch:
        """See `Reader`."""
        return self._messages.rows()

    def requests(self) -> list[tuple[str, bytes]]:
        """See `Reader`."""
        return []

    def snapshot(self) -> dict[str, Any]:
        """See `Reader`."""
        return {"counts": dict(self._last)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Reader`."""
        self._last = dict(state["counts"])


class TagsReader:
    """Messages that are values, each tag with a topic of its own.

    A value without a time has the time at which it came. Time goes on with messages alone: while
    none come, nobody knows whether nothing has changed or nobody is there, and no row is made up.

    Parameters
    ----------
    wanted
        What the watch wants.
    options
        How rows are made.
    topic
        The filter: what a topic has beyond its fixed part is the tag.
    """

    clock: Clock | None = "utc"

    def __init__(self, wanted: Wanted, options: TagOptions, topic: str) -> None:
        self._messages = TagMessages(wanted, options)
        self._base = MQTT.fixed_part(topic)

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Reader`."""
        return self._messages.missing

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Reader`."""
        return self._messages.problems

    def take(self, topic: str, payload: bytes, received: int, retained: bool) -> None:
        """See `Reader`. A retained value is the present one."""
        self._messages.take(topic.removeprefix(self._base), payload, received)

    def rows(self) -> Batch:
        """See `Reader`."""
        return self._messages.rows()

    def requests(self) -> list[tuple[str, bytes]]:
        """See `Reader`."""
        return []

    def snapshot(self) -> dict[str, Any]:
        """See `Reader`."""
        return self._messages.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Reader`."""
        self._messages.restore(state)


class SparkplugReader:
    """Messages of Sparkplug B nodes.

    Parameters
    ----------
    wanted
        What the watch wants.
    options
        How rows are made.
    ask
        Whether nodes may be asked to be born again.
    """

    clock: Clock | None = "utc"

    def __init__(self, wanted: Wanted, options: TagOptions, *, ask: bool) -> None:
        self._assembler = assembler_of(options, wanted)
        self._nodes = SparkplugNodes(wanted, ask=ask)
        self._bad: Counter[str] = Counter()

    @property
    def missing(self) -> tuple[str, ...]:
        """See `Reader`."""
        return self._assembler.missing

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Reader`."""
        return self._nodes.problems + Counter(self._assembler.problems) + self._bad

    def take(self, topic: str, payload: bytes, received: int, retained: bool) -> None:
        """See `Reader`."""
        try:
            found, time = self._nodes.take(topic, payload, received)
        except BadPayloadError as error:
            self._bad[error.kind] += 1
            return
        for signal, value, when in found:
            self._assembler.take(signal, value, when)
        if time is not None:
            self._assembler.alive(time)

    def rows(self) -> Batch:
        """See `Reader`."""
        return self._assembler.rows()

    def requests(self) -> list[tuple[str, bytes]]:
        """See `Reader`."""
        return self._nodes.requests()

    def snapshot(self) -> dict[str, Any]:
        """See `Reader`."""
        return {"rows": self._assembler.snapshot(), "nodes": self._nodes.snapshot()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Reader`."""
        self._assembler.restore(state["rows"])
        self._nodes.restore(state["nodes"])
