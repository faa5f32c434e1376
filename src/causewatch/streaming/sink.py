"""`Sink`: where the events of alarms go.

A sink works in a thread of its own (`causewatch.streaming.courier`), so it may wait for its
network; the watch never waits for it. What could not be sent stays in the alarm store and is sent
later, in order. `causewatch.testing.SinkContract` is the test suite for sinks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from causewatch.errors import CausewatchError

__all__ = ["DeliveryError", "Notice", "Sink", "Status"]


class DeliveryError(CausewatchError):
    """Something could not be delivered now; it is tried again later.

    Parameters
    ----------
    reason
        One sentence.
    sent
        How many notices of the call were delivered before that.
    """

    def __init__(self, reason: str, sent: int = 0) -> None:
        super().__init__(reason)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Notice:
    """One event of an alarm, as it is told to the outside.

    Attributes
    ----------
    number
        Counts the events of a watch from 1 on, without gaps; anew with every new store. 0 for what
        is told beside them: that the store cannot be written to.
    watch
        Name of the watch; others may have the same.
    body
        The event as in the JSON lines of alarms.
    series
        Random text that the store of the watch keeps, so that its numbers are not taken for those
        of another.
    """

    number: int
    watch: str
    body: Mapping[str, Any]
    series: str = ""

    @property
    def key(self) -> str:
        """What a receiver knows a repetition by: ``watch/series/number-digest``.

        It is the same for the same event, whenever it is sent, and no other event has it. The
        number alone would not do: what is told before the store has it can be lost with a kill,
        and then another event gets its number.

        >>> Notice(7, "line 1", {}, "b3d0c52a9e417f68").key
        'line 1/b3d0c52a9e417f68/7-44136fa3'
        """
        series = f"{self.series}/" if self.series else ""
        digest = hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.watch}/{series}{self.number}-{digest}"

    def to_json(self) -> str:
        """The event as one line of JSON, with the name of the watch."""
        body = {**self.body, "watch": self.watch}
        return json.dumps(body, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True)
class Status:
    """How a watch stands: the latest only, for those who show it.

    Attributes
    ----------
    watch
        Its name.
    time
        Of the last tick, as text; None before the first.
    score
        Of the last tick judged; 1.0 is the limit.
    alarms
        The alarms that are on, as in their JSON lines.
    unwell
        Signals that are not well, and what is the matter.
    rows, ticks
        Taken in by this run.
    lag
        Seconds between the time of the last row and now; None where times are no dates.
    signals
        Evidence of each signal at the last tick; 1.0 is the limit.
    problems
        What was wrong with rows, counted by kind.
    source
        How the source stands, in words.
    blind
        Why the rows that come are not judged, in a sentence; empty while they are.
    unkept
        Why what is to be kept cannot be written, in a sentence; empty while it can.
    waiting
        Events that are not kept yet.
    scores_lost
        Rows that are missing in the file of scores, as it could not be written for too long.
    came, judged
        Rows that came in this run, also those that were dropped; and how many of them ended in a
        judged tick.
    judged_age
        Seconds since the last judged tick, on the clock of the machine; None if there was none.
    """

    watch: str
    time: str | None = None
    score: float | None = None
    alarms: Sequence[Mapping[str, Any]] = ()
    unwell: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    ticks: int = 0
    lag: float | None = None
    signals: Mapping[str, float] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    blind: str = ""
    unkept: str = ""
    waiting: int = 0
    scores_lost: int = 0
    came: int = 0
    judged: int = 0
    judged_age: float | None = None


class Sink(Protocol):
    """A receiver of events. All calls come from one thread.

    A sink that leaves events out for good, or tells them in part, has an attribute ``problems``
    that counts them by kind; it is shown in ``/metrics``.
    """

    @property
    def name(self) -> str:
        """What people call it, without secrets; deliveries are remembered by it."""

    def open(self, mark: Any) -> None:
        """Begin; `mark` is what the last `send` of an earlier run returned, None at first.

        Raises a `CausewatchError` other than `DeliveryError` for what trying again cannot mend.
        A server that does not answer is a matter for `send`.
        """

    def send(self, notices: Sequence[Notice]) -> Any:
        """Deliver these, in order; raises `DeliveryError` if that cannot be done now.

        Waits a few seconds at most. Returns a mark (plain JSON) with which a sink that can tell
        takes back what is newer than the last mark kept; None for others.
        """

    def look(self, status: Status) -> None:
        """How the watch stands, about twice a second; most sinks do not care."""

    def close(self) -> None:
        """No more; safe to call twice, and before `open`."""
