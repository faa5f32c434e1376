"""`Watch`: rows from a source, through the monitor, into the store, on to whoever wants to know.

One thread does all of it. Between two batches of rows it writes, in one transaction of the store,
the state of the monitor, where the source stands, and the events of alarms these rows led to. Only
then are rows acknowledged and events told. So a kill at any moment loses nothing that was told, and
tells nothing twice.

Where the store takes nothing, watching goes on: events are told all the same, and wait in memory
with the state, until it does. See ``docs/adr/0009-watch.md``.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import Any

from causewatch.data.apart import ReadingStoppedError, stops_when
from causewatch.errors import StreamError, plural
from causewatch.monitor import Alarm, Monitor, Tick
from causewatch.monitor.alarms import Event
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.counts import Counts
from causewatch.streaming.courier import Courier, stop_all
from causewatch.streaming.feeding import take
from causewatch.streaming.introduction import Introduction
from causewatch.streaming.keeping import GOES_ON, Keeper
from causewatch.streaming.outage import Outage
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.reports import LISTED, Reports
from causewatch.streaming.requests import answer
from causewatch.streaming.score_output import ScoreOutput
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.silence import Silence
from causewatch.streaming.sink import Sink, Status
from causewatch.streaming.source import Batch, Source
from causewatch.streaming.standing import Standing
from causewatch.streaming.store.base import Checkpoint, Retention, Store
from causewatch.streaming.views import Observer, View
from causewatch.streaming.vigil import Vigil

__all__ = ["Watch"]

log = logging.getLogger(__name__)

WAIT = 0.2
"""Seconds to wait for rows at a time."""
SAVE_EVERY: Mapping[str, float] = {"replayed": 10.0, "redelivered": 0.2, "lost": 2.0}
"""Seconds between two checkpoints, by what the source guarantees: rows that can be read again cost
only the time to do so, unacknowledged ones pile up at whoever sends them."""
LONGEST = 3.0
"""Seconds between two tries to write, where there is nothing else to do."""
SHARE = 0.2
"""Share of the time that checkpoints may take where rows wait to be acknowledged."""
LOOK_EVERY, STATUS_EVERY, FORGET_EVERY = 0.5, 0.5, 600.0
"""Seconds between two looks for what people ask, two reports on how it stands, two times of
forgetting."""
ANSWER_EVERY = 0.2
"""Seconds between two looks for what people ask when that is all there is to do."""
NAP = 0.05
"""Seconds for which a pause does not notice that the watch is to end."""
NOT_BEGUN = "The watch has not begun: no row is judged until its beginning can be kept."
"""What it does while its store does not take the first state."""
IN_MEMORY = Retention(events=10_000)
"""History of a watch that keeps no state."""
PATIENCE = 5.0
"""Seconds that sinks have at the end to deliver what is left."""


class Watch:
    """A monitor at work.

    Parameters
    ----------
    monitor
        What judges the rows.
    source
        Where they come from.
    store
        What is not to be forgotten; locked by the caller.
    name
        What the watch is called.
    keep
        Whether the state is kept, so that a later run can go on. Otherwise only events are stored.
    saved
        The state to go on from, which the monitor has been restored to.
    sinks
        Where events go.
    views, observers
        Who looks on.
    scores
        File of scores, not begun.
    reports
        Pages about alarms.
    retention
        How much history is kept.
    silence
        When it is an alarm that no rows come; never by default.
    now, wall
        The time in seconds: any that never goes back, and since 1970.
    """

    def __init__(
        self,
        monitor: Monitor,
        source: Source,
        store: Store,
        *,
        name: str = "watch",
        keep: bool = False,
        saved: Checkpoint | None = None,
        sinks: Sequence[Sink] = (),
        views: Sequence[View] = (),
        observers: Sequence[Observer] = (),
        scores: ScoreFile | None = None,
        reports: Reports | None = None,
        retention: Retention | None = None,
        silence: Silence | None = None,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.monitor = monitor
        self.source = source
        self.name = name
        self.counts = Counts(monitor, source)
        self.last: Tick | None = None
        self.views = tuple(views)
        self._outbox = Outbox(store)
        self._keeper = Keeper(store, self._outbox, now)
        self._scores = ScoreOutput(scores, saved)
        self._outage = Outage(name)
        self.couriers = tuple(Courier(sink, self._outbox) for sink in sinks)
        begun = 0 if saved is None else int(saved.monitor["time"] or 0)
        self._vigil = Vigil(
            monitor, source, self.counts, silence or Silence(), self._note, begun, now, wall
        )
        self._standing = Standing(
            name, monitor, source, self.counts, self._vigil.liveness, self._keeper,
            self._outbox, self._scores, self._outage, self.couriers, observers, wall,
        )  # fmt: skip
        self.stop = False  # whether it is to end; may be set in any thread, or by a signal handler
        self.ended = False  # whether there are no more rows, and people are still answered
        self._store = store
        self._keep = keep
        self._saved = saved
        self._observers = tuple(observers)
        self._reports = reports
        self._retention = retention or Retention() if keep else IN_MEMORY
        self._now, self._wall = now, wall
        self._noted: list[tuple[Event, Alarm, dict[str, Any]]] = []  # not yet told
        self._whole = True  # whether every row polled has gone through the monitor
        self._behind = False  # whether rows have been taken since the last checkpoint
        self._introduction = Introduction(source, monitor.model)
        self._early = False  # whether rows were acknowledged that are not kept
        self._cost = 0.0  # seconds that the last checkpoint took
        self.started = self._saved_at = self._looked_at = self._said_at = self._forgot_at = now()

    @property
    def undelivered(self) -> int:
        """Events that sinks have not got."""
        return sum(courier.waiting + courier.forgotten for courier in self.couriers)

    @property
    def trouble(self) -> str:
        """Why what is to be kept cannot be written, in a sentence; empty while it can."""
        return self._keeper.trouble or self._scores.trouble

    @property
    def blind(self) -> bool:
        """Whether rows come and are not judged."""
        return self._vigil.liveness.blind

    @property
    def pending(self) -> bool:
        """Whether something waits to be kept, which a kill would lose."""
        return bool(self._keeper.trouble)

    @property
    def unjudged(self) -> str:
        """Why less than half of the rows were judged, as a sentence; empty if it was not so."""
        return self.counts.unjudged(in_parts=self._keep)

    @property
    def store(self) -> Store:
        """What is not to be forgotten; others may ask it about alarms, and leave requests there."""
        return self._store

    @property
    def last_time(self) -> int | None:
        """When the last tick was, be it in an earlier run; None if there never was any."""
        if self.last is not None:
            return self.last.time
        before = None if self._saved is None else self._saved.monitor["time"]
        return None if before is None else int(before)

    @property
    def seconds(self) -> float:
        """For how long it has been running."""
        return self._now() - self.started

    def run(self, stay: Callable[[], None] | None = None) -> bool:
        """Watch until the source ends or `stop` is set; gives whether it ended.

        Parameters
        ----------
        stay
            Where given, it is called when the source has ended, and then what people ask about
            alarms is answered until `stop` is set.
        """
        ended = False
        with stops_when(lambda: self.stop):
            self._begin()
        try:
            while not self.stop and not ended:
                if self._outbox.full:
                    self._insist(partial(self._save, at_once=True))
                began = self._now()
                dropped = self.counts.dropped_before
                try:
                    with stops_when(lambda: self.stop):
                        batch = self.source.poll(WAIT)
                except ReadingStoppedError:
                    break
                ended = self.source.ended
                self._introduction.polled()
                dropped = self.counts.dropped_before - dropped
                if len(batch) or dropped:
                    self._vigil.heard()
                elif not ended:
                    self._vigil.waited(self._now() - began)
                self._take(batch, dropped)
            if ended and not self._keep:
                # With a state the source may be gone on with later, and the open tick with it.
                tick = self.monitor.flush()
                for one in tick.all if tick.complete else ():
                    self._judged(one)
            self._look_for_requests()
            self._insist(partial(self._save, at_once=True))
            # What a state holds can be written by the run that goes on with it.
            if not (self._keep and self.stop):
                self._insist(self._scores.flush)
            self._say_whether_all_is_written()
            if self._noted:
                self._insist(partial(self._save, at_once=True))
            if ended and stay is not None:
                self.ended = True
                stay()
                self._answer_until_stopped()
        finally:
            self._close()
        return ended

    def _answer_until_stopped(self) -> None:
        """No rows come any more, but people still look at what there was."""
        while not self._pause(ANSWER_EVERY):
            self._look_for_requests()
            if self._noted or self._keeper.due:
                self._save()
            self._say_whether_all_is_written()
            self._standing.tell(self.last)
            for view in self.views:
                view.look(self)

    def _pause(self, seconds: float) -> bool:
        """Wait, but no longer than until `stop` is set; gives whether it is."""
        # A `threading.Event` would not do: a signal handler that sets one while its own thread
        # is about to wait for it waits for that thread, for ever.
        end = time.monotonic() + seconds
        while not self.stop and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, NAP))
        return self.stop

    # Beginning and end

    def _begin(self) -> None:
        """Open everything, the source where the saved state stands."""
        saved = self._saved
        after: dict[str, Any] = {}
        if saved is not None and saved.source.get("name") == self.source.name:
            after = saved.source["position"]
        try:
            self.source.open(after)
            if saved is not None and self._goes_on(after):
                self.counts.rows_before = saved.counts.get("rows", 0)
            fault = self._store.faults()  # before anything is written
            if self._keep:
                self._save_first(insist=saved is None or self._scores.is_new)
            self._scores.begin(self.source.guarantee != "lost" and self._goes_on(after))
            if self._reports is not None:
                self._reports.begin([alarm for _, alarm in self._store.history(most=LISTED)])
            for courier in self.couriers:
                courier.start()
            if fault:
                log.warning("%s", fault)
                self._vigil.incomplete(fault)
        except BaseException:
            self._whole = False
            self._close()
            raise

    def _save_first(self, insist: bool) -> None:
        """Save before anything is watched; `insist` where files are begun with this run.

        They belong to this state, which has to know it.
        """
        if insist:
            self._keeper.meanwhile = NOT_BEGUN
        if not self._save() and insist:
            self._insist(partial(self._save, at_once=True))
        self._keeper.meanwhile = GOES_ON

    def _goes_on(self, after: Mapping[str, Any]) -> bool:
        """Whether the source begins exactly where the saved state stands."""
        return bool(after) and self.source.position() == after

    def _close(self) -> None:
        """Close everything, whatever becomes of the rest."""
        with ExitStack() as last_first:
            last_first.callback(self._scores.close, self._keep)
            if self._reports is not None:
                last_first.callback(self._reports.close)
            last_first.callback(lambda: self._standing.observe(self.status()))
            last_first.callback(stop_all, self.couriers, PATIENCE if self._whole else 0.0)
            last_first.callback(self.source.close)

    # Rows

    def _take(self, batch: Batch, dropped: int) -> None:
        """Take in a batch; the source has dropped rows that would have come with it."""
        rows = len(batch)
        if dropped and not rows:
            self._vigil.came(dropped)
        if rows:
            self._whole, self._behind = False, True
            left = rows

            def came(taken: int) -> None:
                # Nobody knows between which rows the source has dropped others: evenly, then.
                nonlocal left, dropped
                share = dropped * taken // left if left > taken else dropped
                left, dropped = left - taken, dropped - share
                self._vigil.came(taken + share, later=dropped)

            for tick in take(self.monitor, self.source, batch, came):
                self._judged(tick)
            self._vigil.see()
            self._whole = True
            self.counts.batch(batch)
            self._introduction.rows(self.counts.rows)
            for note in self.monitor.notes():
                # What is missing may have come under another name.
                astray = note.kind == "extra_columns" and self.source.missing
                log.log(logging.WARNING if astray else logging.DEBUG, "%s", note.text)
        now = self._now()
        if now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            self._look_for_requests()
        self._scores.flush()
        if self._noted or self._is_time_to_save(rows, now):
            self._save()
        if self._keeper.trouble and self._is_pressing and not rows:
            self._acknowledge_early()
        self._say_whether_all_is_written()
        if now - self._said_at >= STATUS_EVERY:
            self._said_at = now
            self._standing.tell(self.last)
        for view in self.views:
            view.look(self)

    def _judged(self, tick: Tick) -> None:
        """A tick is complete."""
        self.last = tick
        self.counts.tick(tick)
        self._vigil.judged(tick)
        for view in self.views:
            view.tick(self, tick)
        self._scores.add(tick, self.monitor.clock)
        for event, alarm in tick.events:
            self._note(event, alarm)

    def _note(self, event: Event, alarm: Alarm) -> None:
        """An event, to be stored and told with the next checkpoint."""
        self._noted.append((event, alarm, alarm.to_dict(event, self.monitor.clock)))

    # The store

    def _is_time_to_save(self, rows: int, now: float) -> bool:
        if self._keeper.due:
            return True
        since = now - self._saved_at
        # Whoever sends may wait for acknowledgements before sending more, also of what gave no row.
        pressing = self._is_pressing
        if since >= SAVE_EVERY[self.source.guarantee]:
            return self._behind or pressing
        return pressing and not rows and since * SHARE >= self._cost

    @property
    def _is_pressing(self) -> bool:
        return bool(getattr(self.source, "pressing", False))

    def _look_for_requests(self) -> None:
        """Do what people have asked for."""
        self._keeper.ask()
        waiting = self._keeper.take_asked()
        if waiting:
            answers, events = answer(waiting, self.monitor, self._vigil.present)
            for event, alarm in events:
                self._note(event, alarm)
            self._keeper.answer(answers)
            self._save()
        if self._now() - self._forgot_at >= FORGET_EVERY:
            sinks = [courier.sink.name for courier in self.couriers]
            if self._keeper.forget(self._retention, self._wall(), sinks):
                self._forgot_at = self._now()

    def _save(self, at_once: bool = False) -> bool:
        """One transaction; then acknowledge and tell. Gives whether everything is kept now.

        What cannot be kept now is told all the same.
        """
        began = self._now()
        noted, self._noted = self._noted, []
        self._outbox.add([body for _, _, body in noted])
        kept = self._keeper.save(self._checkpoint if self._keep else None, at_once=at_once)
        self._saved_at = self._now()
        if kept:
            self._cost = self._saved_at - began
            self._behind = self._early = False
            self.source.committed()
            for observer in self._observers:
                observer.checkpoint(self._cost)
        else:
            self._outbox.show()
        if noted:
            self._tell(noted)
        return kept

    def _acknowledge_early(self) -> None:
        """Let whoever waits for acknowledgements send more, though a kill would lose the rows."""
        if not self._early:
            log.warning(
                "%s waits for acknowledgements, and gets them for rows that are not kept yet: a"
                " kill before they are would be a gap.",
                self.source.name,
            )
        self._early = True
        self.source.committed()

    def _tell(self, noted: Sequence[tuple[Event, Alarm, dict[str, Any]]]) -> None:
        """Tell everybody what has happened."""
        for courier in self.couriers:
            courier.tell()
        for event, alarm, body in noted:
            self.counts.event(event, alarm)
            line = json.dumps({**body, "watch": self.name}, ensure_ascii=False, allow_nan=False)
            for view in self.views:
                view.event(self, event, alarm, line)
            for observer in self._observers:
                observer.event(body)
            if self._reports is not None:
                self._reports.event(event, alarm)

    def _say_whether_all_is_written(self) -> None:
        """Raise an alarm while something cannot be written, and clear it afterwards."""
        lost = self._scores.lost
        change = self._outage.step(
            (self._keeper.trouble, self._scores.trouble),
            self._vigil.time,
            self._wall(),
            f"{plural(lost, 'row')} of scores are missing." if lost else "",
        )
        if change is None:
            return
        event, alarm = change
        body = alarm.to_dict(event, self.monitor.clock)
        if alarm.on:  # told beside the events, which may not be taken
            self._outbox.announce(body)
            self._tell([(event, alarm, body)])
        else:
            self._outbox.bulletin = None
            self._noted.append((event, alarm, body))
        self._standing.tell(self.last)

    def _insist(self, write: Callable[[], bool]) -> None:
        """Write, and wait for it if that cannot be done now.

        Meanwhile no rows are taken: there are none, or no room for what they would lead to.
        """
        backoff = Backoff(longest=LONGEST)
        while not write():
            if self.stop:
                reason = self.trouble or f"{self._store.name} does not answer."
                count = self._keeper.waiting
                msg = f"{reason} {plural(count, 'event')} cannot be kept."
                raise StreamError(msg)
            self._say_whether_all_is_written()
            self._standing.tell(self.last)
            for view in self.views:
                view.look(self)
            self._pause(backoff.next())

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            outputs=self._scores.settle(),
            monitor=self.monitor.snapshot(),
            clock=self.monitor.clock,
            settings=asdict(self.monitor.settings),
            source={"name": self.source.name, "position": self.source.position()},
            unwritten=self._scores.unwritten,
            counts={"rows": self.counts.rows_before + self.counts.rows},
            saved_at=self._wall(),
        )

    def status(self) -> Status:
        """How the watch stands."""
        return self._standing.status(self.last)
