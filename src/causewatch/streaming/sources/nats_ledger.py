"""`Ledger`: where in a stream one stands, and what has become of the stream meanwhile.

Numbers of messages alone do not tell: a stream may be deleted and made anew, a server may lose its
latest messages in a power cut and use their numbers again, and old messages may be dropped unread.
So the ledger also knows when the stream was made, and the server's time of the last message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from causewatch.data.table import NANOSECONDS
from causewatch.extras import needed
from causewatch.streaming.sources.nats_pull import Arrival, ConsumerLostError
from causewatch.streaming.wildcards import NATS

__all__ = ["Ledger", "Place"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a stream: behind the message `sequence`, which the server got at `stamp`."""

    stream: str = ""
    created: str = ""
    sequence: int = 0
    stamp: int = 0

    def behind(self, arrival: Arrival) -> Place:
        """The place behind a message of the same stream."""
        return Place(self.stream, self.created, arrival.sequence, arrival.stamp)


class Ledger:
    """See the module. Only the connection's thread writes in it.

    Parameters
    ----------
    name
        What people call the source.
    subject
        What is read.
    place
        Where to go on; an empty one for the first run.
    new
        Whether the first run begins with new messages.
    put
        Called with a place where the messages to come do not stand behind the last one: the watch
        has to know, in order.

    Attributes
    ----------
    place
        Behind the last message that has arrived.
    own
        Whether all messages of the stream are of our subject.
    problems
        What was lost, counted by kind.
    """

    def __init__(
        self,
        name: str,
        subject: str,
        place: Place,
        *,
        new: bool,
        put: Callable[[Place], Any],
    ) -> None:
        self._name = name
        self._subject = subject
        self._new = new
        self._put = put
        self.place = place
        self.own = False
        self.problems: dict[str, int] = {}
        self._checks = False  # whether the next message should be the last one known
        self._rewritten = False  # whether it was another one

    def count(self, kind: str, number: int = 1) -> None:
        """Something was lost or went wrong."""
        self.problems[kind] = self.problems.get(kind, 0) + number

    def begin(self, name: str, info: Any) -> dict[str, Any]:
        """Where a new consumer has to begin, and notice what has become of the stream meanwhile."""
        policy = needed("nats.js.api", "nats").DeliverPolicy
        last = self.place
        created = "" if info.created is None else info.created.isoformat()
        first_seq, last_seq = int(info.state.first_seq), int(info.state.last_seq)
        subjects = info.config.subjects or []
        self.own = bool(subjects) and all(NATS.covers(self._subject, one) for one in subjects)
        self._checks = False
        if not last.stream:
            sequence = last_seq if self._new else max(0, first_seq - 1)
            self._move(Place(name, created, sequence))
        elif (last.stream, last.created) != (name, created):
            self.count("stream_reset")
            log.warning("%s: the stream was made anew; it is read from its start.", self._name)
            self._move(Place(name, created, max(0, first_seq - 1)))
        elif self._rewritten or last_seq < last.sequence:
            self._rewritten = False
            self.count("stream_reset")
            log.warning("%s: the server has lost messages that were read already.", self._name)
            self._move(replace(last, sequence=0))
        else:
            self.check_first(first_seq)
            # Begin with the last message known, to see that it is still the same.
            self._checks = last.sequence >= first_seq and last.stamp > 0
        if self.place.stamp and not self.place.sequence:
            # Its numbers may have been used again since; its time is earlier than theirs. Older
            # messages of the same second are left out on arrival.
            began = datetime.fromtimestamp(self.place.stamp // NANOSECONDS, UTC)
            return {"deliver_policy": policy.BY_START_TIME, "opt_start_time": began}
        begin = self.place.sequence + (0 if self._checks else 1)
        return {"deliver_policy": policy.BY_START_SEQUENCE, "opt_start_seq": max(1, begin)}

    def _move(self, place: Place) -> None:
        self.place = place
        self._put(place)

    def check_first(self, first: int) -> None:
        """Count what the stream has dropped before it was read, if others' messages are in it.

        In a stream of our own the next message tells exactly how many were dropped.
        """
        dropped = first - self.place.sequence - 1
        if not self.own and self.place.sequence and dropped > 0:
            self.count("perhaps_lost_rows", dropped)
            log.warning(
                "%s: the stream has dropped %d messages before they were read, of which some may"
                " have been rows.",
                *(self._name, dropped),
            )
            self._move(replace(self.place, sequence=first - 1, stamp=0))  # counted once

    def take(self, arrival: Arrival) -> bool:
        """A message has come; gives whether it is a new one."""
        last = self.place
        if self._checks:
            self._checks = False
            if arrival.sequence == last.sequence:
                if arrival.stamp == last.stamp:
                    return False  # the same as ever
                self._rewritten = True
                raise ConsumerLostError("the stream was rewritten")  # noqa: EM101
        if arrival.sequence <= last.sequence or (not last.sequence and arrival.stamp <= last.stamp):
            return False  # of the same moment as the last one known, or before
        dropped = arrival.sequence - last.sequence - 1
        if self.own and dropped > 0 and (last.sequence or not last.stamp):
            self.count("lost_rows", dropped)
            log.warning("%s: the stream has dropped %d rows unread.", self._name, dropped)
        self.place = last.behind(arrival)
        return True
