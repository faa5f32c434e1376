"""What a Kafka topic has: its partitions, and from which offset to which each of them reaches.

Asked without waiting: an answer is looked for at each poll, so a cluster that does not answer holds
up nobody.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from causewatch.extras import needed
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.kafka_settings import reason_of

__all__ = ["News", "TopicWatch"]

log = logging.getLogger(__name__)

LOOK_EVERY = 30.0
"""Seconds between two looks for new partitions."""
PATIENCE = 10.0
"""Seconds that the cluster has for an answer."""
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""What the id of a topic looks like where the broker knows none."""


@dataclass
class News:
    """What has changed.

    Attributes
    ----------
    begin
        Partitions to begin reading, and where.
    gone
        Partitions to leave.
    trouble
        What is wrong, in words.
    done
        Whether nothing more is awaited: if there is no trouble, all partitions are being read.
    """

    begin: dict[int, int] = field(default_factory=dict)
    gone: tuple[int, ...] = ()
    trouble: str = ""
    done: bool = True


class TopicWatch:
    """Looks after the partitions of a topic.

    Parameters
    ----------
    client
        The library's client for questions.
    topic
        Name of the topic.
    topic_id
        What the cluster called the topic of this name when it was read last; empty at first.
    offsets
        The next offset of each partition; kept up to date by whoever reads.
    start
        Where partitions begin when the topic is read for the first time.
    problems
        Where to count what was lost.
    now
        A clock that never goes back.

    Attributes
    ----------
    assigned
        Partitions that are being read.
    """

    def __init__(
        self,
        client: Any,
        topic: str,
        *,
        topic_id: str,
        offsets: dict[int, int],
        start: Literal["earliest", "latest"],
        problems: Counter[str],
        now: Callable[[], float],
    ) -> None:
        self._client = client
        self._topic = topic
        self.topic_id = topic_id
        self._offsets = offsets
        self._newest = start == "latest" and not offsets
        self._problems = problems
        self._now = now
        self._kafka = needed("confluent_kafka", "kafka")
        self._admin = needed("confluent_kafka.admin", "kafka")
        self._backoff = Backoff(0.2, 5.0)
        self._look_at = 0.0
        self._description: Future[Any] | None = None
        self._bounds: dict[int, tuple[Future[Any], Future[Any]]] = {}
        self.assigned: set[int] = set()

    @property
    def asking(self) -> bool:
        """Whether an answer is awaited."""
        return self._description is not None or bool(self._bounds)

    def hurry(self) -> None:
        """Something is wrong: ask soon."""
        self._look_at = min(self._look_at, self._now() + self._backoff.next())

    def release(self, partition: int) -> None:
        """A partition does not have the offset it was to be read from: see what it has."""
        self.assigned.discard(partition)
        self.hurry()

    def look(self) -> News | None:
        """Ask if it is time to, and see what the answers say; None if there is nothing new."""
        if self._bounds:
            return self._begin()
        if self._description is None:
            if self._now() >= self._look_at:
                names = self._kafka.TopicCollection([self._topic])
                asked = self._client.describe_topics(names, request_timeout=PATIENCE)
                self._description = asked[self._topic]
            return None
        if not self._description.done():
            return None
        description, self._description = self._description, None
        try:
            found = description.result()
        except self._kafka.KafkaException as error:
            return self._trouble(error)
        gone = self._identify(str(found.topic_id))
        new = frozenset(one.id for one in found.partitions) - self.assigned
        if new:
            self._ask_bounds(new)
            return News(gone=gone, done=False)
        self._rest()
        return News(gone=gone)

    def _identify(self, topic_id: str) -> tuple[int, ...]:
        """Notice a topic that was deleted and made anew; gives the partitions to stop reading."""
        if topic_id == NO_ID:
            return ()
        before, self.topic_id = self.topic_id, topic_id
        if not before or before == topic_id:
            return ()
        gone = tuple(self.assigned)
        self.assigned.clear()
        self._offsets.clear()
        self._newest = False
        self._reset(f"The topic {self._topic!r} was deleted and made anew")
        return gone

    def _reset(self, what: str) -> None:
        self._problems["topic_reset"] += 1
        log.warning("%s; reading begins with its oldest message.", what)

    def _ask_bounds(self, partitions: frozenset[int]) -> None:
        places = {one: self._kafka.TopicPartition(self._topic, one) for one in partitions}
        spec = self._admin.OffsetSpec
        lows = self._client.list_offsets(
            {place: spec.earliest() for place in places.values()}, request_timeout=PATIENCE
        )
        highs = self._client.list_offsets(
            {place: spec.latest() for place in places.values()}, request_timeout=PATIENCE
        )
        low = {place.partition: future for place, future in lows.items()}
        high = {place.partition: future for place, future in highs.items()}
        self._bounds = {one: (low[one], high[one]) for one in partitions}

    def _begin(self) -> News | None:
        """Where to begin reading the partitions that are not read, once that is known."""
        if not all(future.done() for pair in self._bounds.values() for future in pair):
            return None
        bounds, self._bounds = self._bounds, {}
        news = News()
        for partition, (low, high) in sorted(bounds.items()):
            try:
                first, end = int(low.result().offset), int(high.result().offset)
            except self._kafka.KafkaException as error:
                news.trouble = reason_of(error)
                continue
            news.begin[partition] = self._place(partition, first, end)
        self.assigned.update(news.begin)
        if news.trouble:
            self._look_at = self._now() + self._backoff.next()
        else:
            self._newest = False  # partitions that come later are read from their beginning
            self._rest()
        return news

    def _place(self, partition: int, first: int, end: int) -> int:
        """The offset to go on with in a partition that reaches from `first` to `end`."""
        known = self._offsets.get(partition)
        if known is None:
            return end if self._newest else first
        if known < first:
            # Some of them may have been markers of transactions, or compacted away.
            self._problems["lost_rows"] += first - known
            log.warning(
                "Partition %d of the topic %r no longer has the messages from %d to %d: up to %d"
                " rows are lost.",
                *(partition, self._topic, known, first - 1, first - known),
            )
            return first
        if known > end:
            self._reset(
                f"Partition {partition} of the topic {self._topic!r} ends before what was read of"
                " it, so it was made anew"
            )
            return first
        return known

    def _rest(self) -> None:
        self._backoff.reset()
        self._look_at = self._now() + LOOK_EVERY

    def _trouble(self, error: Any) -> News:
        self._look_at = self._now() + self._backoff.next()
        inner = error.args[0]
        if inner.code() == self._kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
            return News(trouble=f"there is no topic {self._topic!r} yet")
        return News(trouble=reason_of(error))
