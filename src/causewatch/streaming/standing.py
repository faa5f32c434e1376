"""`Standing`: how a watch stands, for sinks and observers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from causewatch.data import format_time
from causewatch.monitor import Monitor, Tick
from causewatch.monitor.health import STREAM
from causewatch.streaming.counts import Counts
from causewatch.streaming.courier import Courier
from causewatch.streaming.inbox import Inbox
from causewatch.streaming.keeping import Keeper
from causewatch.streaming.liveness import Liveness
from causewatch.streaming.outage import Outage
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.played import PlayedSource
from causewatch.streaming.score_output import ScoreOutput
from causewatch.streaming.sink import Status
from causewatch.streaming.source import Source
from causewatch.streaming.views import Observer

__all__ = ["Standing"]


class Standing:
    """Says how a watch stands.

    Parameters
    ----------
    name
        Of the watch.
    monitor, source, counts, liveness
        What is asked.
    keeper, outbox, scores, outage
        Where its outputs go, and the alarm about them.
    couriers, observers
        Who is told.
    wall
        The time in seconds since 1970.
    """

    def __init__(
        self,
        name: str,
        monitor: Monitor,
        source: Source,
        counts: Counts,
        liveness: Liveness,
        keeper: Keeper,
        outbox: Outbox,
        scores: ScoreOutput,
        outage: Outage,
        couriers: Sequence[Courier],
        observers: Sequence[Observer],
        wall: Callable[[], float],
    ) -> None:
        self._name, self._monitor, self._source, self._counts = name, monitor, source, counts
        self._liveness = liveness
        self._keeper, self._outbox = keeper, outbox
        self._scores, self._outage = scores, outage
        self._couriers, self._observers, self._wall = couriers, observers, wall

    def status(self, last: Tick | None) -> Status:
        """How it stands after the `last` tick."""
        clock, scores = self._monitor.clock, self._scores
        time = None if last is None else last.time
        on = [*self._monitor.alarms.active, *filter(None, [self._outage.alarm])]
        return Status(
            watch=self._name,
            time=None if time is None else format_time(time, clock),
            score=None if last is None else last.score,
            alarms=[alarm.to_dict("updated", clock) for alarm in on],
            unwell={name: health.state for name, health in self._monitor.health.items()},
            rows=self._counts.rows,
            ticks=self._counts.ticks,
            lag=self._lag(time),
            signals={} if last is None or last.score is None else dict(last.signals),
            problems=self._counts.problems,
            source=self._source.status,
            blind=self._blind(),
            unkept=" ".join(filter(None, (self._keeper.trouble, scores.trouble))),
            waiting=self._keeper.waiting,
            scores_lost=scores.lost,
            came=self._liveness.rows,
            judged=self._liveness.judged,
            judged_age=self._liveness.age,
        )

    def _blind(self) -> str:
        """Why rows come and are not judged, while that is so."""
        stream = self._monitor.health.get(STREAM)
        if stream is not None and stream.state == "not_judged":
            return stream.detail
        if self._liveness.empty:
            return f"Rows come from {self._source.name} and are not judged: no signal has a value."
        if self._outbox.full:  # there is no room for what they would lead to
            return "No rows are taken: too many events wait to be kept."
        return ""

    def _lag(self, time: int | None) -> float | None:
        """How far a tick is behind the clock, in seconds; None where that says nothing."""
        # A recording that is played is as old as it is.
        played = isinstance(self._source, PlayedSource) or self._source.ended
        if time is None or played or self._monitor.clock != "utc":
            return None
        return self._wall() - time / 1e9

    def tell(self, last: Tick | None) -> None:
        """Tell everybody, if there is anybody."""
        if self._observers or self._couriers:
            status = self.status(last)
            for courier in self._couriers:
                courier.tell(status)
            self.observe(status)

    def observe(self, status: Status) -> None:
        """Tell observers, and how queues and sinks stand."""
        inbox: Inbox[Any] | None = getattr(self._source, "inbox", None)
        for observer in self._observers:
            observer.look(status)
            if inbox is not None:
                observer.inbox(len(inbox), inbox.waits, inbox.turned_away)
            for courier in self._couriers:
                name, problems = courier.sink.name, courier.problems
                observer.delivery(name, courier.errors, courier.waiting, problems)
