"""`Watch`: rows from a source, through the monitor, into the store, on to whoever wants to know.

One thread does all of it. Between two batches of rows it writes, in one transaction of the store,
the state of the monitor, where the source stands, and the events of alarms these rows led to. Only
then are rows acknowledged and events told. So a kill at any moment loses nothing that was told, and
tells nothing twice.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

import numpy as np

from causewatch.data import Clock
from causewatch.data.apart import ReadingStoppedError, stops_when
from causewatch.data.table import NANOSECONDS
from causewatch.errors import StreamError, listing
from causewatch.monitor import Alarm, Monitor, Tick, too_little_judged
from causewatch.monitor.alarms import Event
from causewatch.monitor.health import STREAM
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.counts import Counts
from causewatch.streaming.courier import Courier, stop_all
from causewatch.streaming.feeding import take
from causewatch.streaming.liveness import Liveness
from causewatch.streaming.reports import LISTED, Reports
from causewatch.streaming.requests import answer
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.silence import Silence
from causewatch.streaming.sink import Sink, Status
from causewatch.streaming.source import Batch, Source, is_connected
from causewatch.streaming.standing import Standing
from causewatch.streaming.store.base import Checkpoint, Retention, Store
from causewatch.streaming.views import Observer, View

__all__ = ["Watch"]

log = logging.getLogger(__name__)

T = TypeVar("T")

WAIT = 0.2
"""Seconds to wait for rows at a time."""
SAVE_EVERY: Mapping[str, float] = {"replayed": 10.0, "redelivered": 0.2, "lost": 2.0}
"""Seconds between two checkpoints, by what the source guarantees: rows that can be read again cost
only the time to do so, unacknowledged ones pile up at whoever sends them."""
SHARE = 0.2
"""Share of the time that checkpoints may take where rows wait to be acknowledged."""
LOOK_EVERY, STATUS_EVERY, FORGET_EVERY = 0.5, 0.5, 600.0
"""Seconds between two looks for what people ask, two reports on how it stands, two times of
forgetting."""
ANSWER_EVERY = 0.2
"""Seconds between two looks for what people ask when that is all there is to do."""
NAP = 0.05
"""Seconds for which a pause does not notice that the watch is to end."""
MOST_UNWRITTEN = 1_000_000
"""Bytes of scores that may wait for room; a checkpoint holds them. With more, watching waits."""
FORGET_PARTS = 20
"""Parts in which history is forgotten at a time; the rest waits for the next time."""
ENOUGH = 20
"""Rows after which a signal that has not come is said to be missing: some tags come later."""
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
        self.couriers = tuple(Courier(sink, store) for sink in sinks)
        before = monitor.health.get(STREAM)
        self.liveness = Liveness(
            monitor.model.preprocessing.every / monitor.model.interval,
            monitor.model.preprocessing.max_lag + 1,
            monitor.model.preprocessing.every,
            blind=before is not None and before.state == "not_judged",
            now=now,
        )
        self._standing = Standing(
            name, monitor, source, self.counts, self.liveness, self.couriers, observers, wall
        )
        self.stop = False  # whether it is to end; may be set in any thread, or by a signal handler
        self.trouble = ""  # why the store takes nothing, while it does not
        self.ended = False  # whether there are no more rows, and people are still answered
        self._store = store
        self._keep = keep
        self._saved = saved
        self._observers = tuple(observers)
        self._scores = scores
        self._reports = reports
        self._retention = retention or Retention() if keep else IN_MEMORY
        self._silence = silence or Silence()
        self._left_out = 0  # messages that the source had left out when the last row came
        self._no_rows = False  # whether none of those that came since could be used
        self._now, self._wall = now, wall
        # Until there is a tick, what people do happens at the last one of the earlier run.
        self._time = int(saved.monitor["time"] or 0) if saved is not None else 0
        self._told: list[tuple[Event, Alarm, dict[str, Any]]] = []  # not yet in the store
        self._whole = True  # whether every row polled has gone through the monitor
        self._behind = False  # whether rows have been taken since the last checkpoint
        self._connected = False  # whether it was said that the connection stands
        self._known = False  # whether it was said which signals the source has
        self._scores_away = ""  # why scores cannot be written, while they cannot
        self._score_bytes = 0  # of the file of scores that belong to the state
        self._cost = 0.0  # seconds that the last checkpoint took
        self.started = self._saved_at = self._looked_at = self._said_at = self._forgot_at = now()

    @property
    def undelivered(self) -> int:
        """Events that sinks have not got."""
        return sum(courier.waiting + courier.forgotten for courier in self.couriers)

    @property
    def unjudged(self) -> str:
        """Why less than half of the rows were judged, as a sentence; empty if it was not so.

        A run with a state is a part of a longer one, and may have too few rows to be judged.
        """
        counts, model = self.counts, self.monitor.model
        dropped = counts.dropped
        rows = counts.rows + counts.dropped_before - dropped  # those that the monitor kept
        plan = model.preprocessing
        least = (plan.max_lag + 2) * max(1.0, plan.every / model.interval)
        if self._keep and rows + dropped < least:
            return ""
        return too_little_judged(
            model,
            rows,
            counts.rows_judged,
            dropped=dropped,
            apart=counts.apart,
            missing=self.source.missing,
        )

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
                began = self._now()
                dropped = self.counts.dropped_before
                try:
                    with stops_when(lambda: self.stop):
                        batch = self.source.poll(WAIT)
                except ReadingStoppedError:
                    break
                ended = self.source.ended
                self._say_that_it_is_connected()
                dropped = self.counts.dropped_before - dropped
                if len(batch) or dropped:
                    self._silence.heard()
                    self._left_out, self._no_rows = self.counts.left_out, False
                else:
                    silent = self._silence.waited(self._now() - began)
                    if not ended:
                        self._no_row_comes(silent)
                self._take(batch, dropped)
            if ended and not self._keep:
                # With a state the source may be gone on with later, and the open tick with it.
                tick = self.monitor.flush()
                for one in tick.all if tick.complete else ():
                    self._judged(one)
            self._look_for_requests()
            self._save()
            # What a state holds can be written by the run that goes on with it.
            self._flush_scores(wait=not (self._keep and self.stop))
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
            if self._told:
                self._save()
            self._standing.tell(self.last, self.trouble, self._scores_away)
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
            written = self._written(after)
            fault = self._store.faults()  # before anything is written
            if self._keep:
                self._save()  # what is begun from now on belongs to this state
            if self._scores is not None:
                goes_on = saved is not None and written[0] is not None
                self._scores.begin(*written, saved.unwritten if saved and goes_on else "")
            if self._reports is not None:
                self._reports.begin([alarm for _, alarm in self._store.history(most=LISTED)])
            for courier in self.couriers:
                courier.start()
            self._store.expect([courier.sink.name for courier in self.couriers])
            if fault:
                self._say_that_the_state_is_not_whole(fault)
        except BaseException:
            self._whole = False
            self._close()
            raise

    def _say_that_the_state_is_not_whole(self, fault: str) -> None:
        """Raise an alarm, which sinks that are new here get, too; the watch goes on all the same.

        It is dated with the last tick, or by the clock of the machine.
        """
        log.warning("%s", fault)
        self._time = self._time or _clock_time(self._wall(), self.monitor.clock)
        for event, alarm in self.monitor.incomplete(fault, self._time):
            self._note(event, alarm)

    def _written(self, after: Mapping[str, Any]) -> tuple[int | None, bool]:
        """How much of the file of scores belongs to the state, and whether the rest comes again."""
        size = None
        if self._scores is not None and self._saved is not None:
            size = self._saved.outputs.get(str(self._scores.path.absolute()))
        self._score_bytes = size or 0
        return size, self.source.guarantee != "lost" and self._goes_on(after)

    def _goes_on(self, after: Mapping[str, Any]) -> bool:
        """Whether the source begins exactly where the saved state stands."""
        return bool(after) and self.source.position() == after

    def _close(self) -> None:
        """Close everything, whatever becomes of the rest."""
        with ExitStack() as last_first:
            if self._scores is not None:
                last_first.callback(self._close_scores)
            if self._reports is not None:
                last_first.callback(self._reports.close)
            last_first.callback(lambda: self._standing.observe(self.status()))
            last_first.callback(stop_all, self.couriers, PATIENCE if self._whole else 0.0)
            last_first.callback(self.source.close)

    def _close_scores(self) -> None:
        assert self._scores is not None
        try:
            self._scores.close()
        except StreamError:
            if not (self._keep and self._scores_away):  # else the state holds them
                raise

    # Rows

    def _take(self, batch: Batch, dropped: int) -> None:
        """Take in a batch; the source has dropped rows that would have come with it."""
        rows = len(batch)
        if dropped and not rows:
            self._came(dropped)
        if rows:
            self._whole, self._behind = False, True
            left = rows

            def came(taken: int) -> None:
                # Nobody knows between which rows the source has dropped others: evenly, then.
                nonlocal left, dropped
                share = dropped * taken // left if left > taken else dropped
                left, dropped = left - taken, dropped - share
                self._came(taken + share, later=dropped)

            for tick in take(self.monitor, self.source, batch, came):
                self._judged(tick)
            if self.liveness.blind:
                self._say_that_rows_are_not_judged()
            self._whole = True
            self.counts.batch(batch)
            self._say_what_comes()
            for note in self.monitor.notes():
                # What is missing may have come under another name.
                astray = note.kind == "extra_columns" and self.source.missing
                log.log(logging.WARNING if astray else logging.DEBUG, "%s", note.text)
        now = self._now()
        if now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            self._look_for_requests()
        self._flush_scores()
        if self._told or self._is_time_to_save(rows, now):
            self._save()
        if now - self._said_at >= STATUS_EVERY:
            self._said_at = now
            self._standing.tell(self.last, self.trouble, self._scores_away)
        for view in self.views:
            view.look(self)

    def _no_row_comes(self, silent: bool) -> None:
        """Say so if that has lasted too long: of messages that make none, else of the silence."""
        lasted = self._silence.lasted
        if silent or lasted >= self.liveness.patience:
            messages, self._left_out = self.counts.left_out - self._left_out, self.counts.left_out
            if messages:
                self.counts.made_no_row(messages)
                self._came(messages, lasted)
                self._no_rows = self.liveness.blind
        if not silent or self._no_rows:  # the alarm says what about the messages
            return
        if self.last is None and self._time == 0:  # never a row: what would its time be now?
            self._time = _clock_time(self._wall(), self.monitor.clock)
        detail = self._silence.sentence(self.source.name, self.source.status, self._wall())
        for event, alarm in self.monitor.silent(detail, self._time, self._silence.lasted):
            self._note(event, alarm)

    def _came(self, rows: int, lasted: float = 0.0, later: int = 0) -> None:
        """Rows have come, for so many seconds; say so if they are not judged.

        Of the rows dropped so far some are still to come.
        """
        blind = self.liveness.blind
        dropped = self.counts.dropped - later
        self.liveness.came(rows, dropped, lambda: self.counts.problems, lasted)
        if self.liveness.blind and not blind:
            log.warning("%s", self._say_that_rows_are_not_judged())

    def _say_that_rows_are_not_judged(self) -> str:
        """Rows come and are of no use: an alarm, if there is none about it yet; gives why."""
        if self.last is None and self._time == 0:
            self._time = _clock_time(self._wall(), self.monitor.clock)
        detail = self.liveness.sentence(self.source.name, self.counts.problems, self._wall())
        for event, alarm in self.monitor.not_judged(detail, self._time):
            self._note(event, alarm)
        return detail

    def _judged(self, tick: Tick) -> None:
        """A tick is complete."""
        self.last = tick
        if tick.time is not None:
            self._time = tick.time
        self.counts.tick(tick)
        blind = self.liveness.blind
        empty = tick.score is None and bool(np.isnan(tick.values.array).all())
        thin = tick.rows < self.monitor.model.watching.habits.least_rows
        self.liveness.tick(tick.score is not None, empty, thin)
        if blind and not self.liveness.blind:
            self.monitor.judged_again()
        for view in self.views:
            view.tick(self, tick)
        if self._scores is not None:
            self._scores.add(tick, self.monitor.clock)
        for event, alarm in tick.events:
            self._note(event, alarm)

    def _note(self, event: Event, alarm: Alarm) -> None:
        """An event, to be stored and told with the next checkpoint."""
        self._told.append((event, alarm, alarm.to_dict(event, self.monitor.clock)))

    def _say_that_it_is_connected(self) -> None:
        """Say once that the connection stands, to those who have one."""
        if not self._connected and is_connected(self.source.status):
            self._connected = True
            log.info("%s: %s.", self.source.name, self.source.status)

    def _say_what_comes(self) -> None:
        """Say once how many of the signals the source has; some tags come later than others."""
        missing, columns = self.source.missing, self.monitor.model.watched
        enough = self.counts.rows >= ENOUGH or self.source.ended
        if self._known or (missing and not enough):
            return
        self._known = True
        if self._connected and not missing:
            log.info("%s gives all %d signals of the model.", self.source.name, len(columns))
        if missing:
            # A mechanism without one of its causes says nothing about its effect.
            gone = set(missing)
            blind = {
                link.target: None
                for link in self.monitor.model.graph
                if link.source in gone and link.target not in gone
            }
            also = f" cannot be judged without: {listing(blind)};" if blind else ""
            log.warning(
                "%d of the %d signals %s not in %s: %s; reported as missing;%s the others are"
                " watched.",
                len(missing),
                len(columns),
                "is" if len(missing) == 1 else "are",
                self.source.name,
                listing(missing),
                also,
            )

    # The store

    def _is_time_to_save(self, rows: int, now: float) -> bool:
        since = now - self._saved_at
        # Whoever sends may wait for acknowledgements before sending more, also of what gave no row.
        pressing = getattr(self.source, "pressing", False)
        if since >= SAVE_EVERY[self.source.guarantee]:
            return self._behind or pressing
        return pressing and not rows and since * SHARE >= self._cost

    def _look_for_requests(self) -> None:
        """Do what people have asked for."""
        try:
            waiting = self._store.asked()
        except StreamError as error:  # it can wait; the next checkpoint says what is wrong
            log.debug("%s", error)
            return
        answers, events = answer(waiting, self.monitor, self._present())
        for event, alarm in events:
            self._note(event, alarm)
        if answers:
            self._save(answers)
        if self._now() - self._forgot_at >= FORGET_EVERY:
            self._forgot_at = self._now()
            with suppress(StreamError):  # there is a next time
                for _ in range(FORGET_PARTS):
                    if not self._store.forget(self._retention, self._wall()):
                        break

    def _present(self) -> int:
        """The time of the stream; where no rows come, what it would be if they did."""
        silence = self._silence
        return self._time + (round(silence.lasted * NANOSECONDS) if silence.on else 0)

    def _save(self, answers: Mapping[int, Mapping[str, Any]] | None = None) -> None:
        """One transaction; then acknowledge and tell."""
        began = self._now()
        told, self._told = self._told, []
        checkpoint = self._checkpoint() if self._keep else None
        events = [body for _, _, body in told]
        if checkpoint is not None or events or answers:
            self._insist(self._store.name, partial(self._store.save, checkpoint, events, answers))
        self.source.committed()
        self._behind = False
        self._saved_at = self._now()
        self._cost = self._saved_at - began
        for observer in self._observers:
            observer.checkpoint(self._cost)
        if told:
            for courier in self.couriers:
                courier.tell()
        for event, alarm, body in told:
            self.counts.event(event, alarm)
            line = json.dumps({**body, "watch": self.name}, ensure_ascii=False, allow_nan=False)
            for view in self.views:
                view.event(self, event, alarm, line)
            for observer in self._observers:
                observer.event(body)
            if self._reports is not None:
                self._reports.event(event, alarm)

    def _insist(self, where: str, write: Callable[[], T]) -> T:
        """Write somewhere, and wait for it if it is away or full.

        Meanwhile no rows are taken and none acknowledged, so that whoever sends them keeps them.
        """
        backoff = Backoff()
        while True:
            try:
                done = write()
            except StreamError as error:
                if self.stop:
                    raise
                if not self.trouble:
                    log.warning("%s Watching waits until it can be written to.", error)
                self.trouble = str(error)
                self._standing.tell(self.last, self.trouble, self._scores_away)
                for view in self.views:
                    view.look(self)
                self._pause(backoff.next())
            else:
                if self.trouble:
                    log.warning("%s can be written to again.", where)
                self.trouble = ""
                return done

    def _flush_scores(self, settle: bool = False, wait: bool = False) -> int:
        """Write scores, if any are wanted; gives the size of their file. See `ScoreFile.flush`.

        Where that cannot be done they wait, up to `MOST_UNWRITTEN`, and watching goes on; `wait`
        until it can.
        """
        scores = self._scores
        if scores is None or not scores.begun:
            return self._score_bytes
        flush = partial(scores.flush, settle)
        if wait or len(scores.unwritten) > MOST_UNWRITTEN:
            size = self._insist(str(scores.path), flush)
            self._scores_away = ""
            return size
        try:
            size = flush()
        except StreamError as error:
            if not self._scores_away:
                log.warning("%s Watching goes on; they are written as soon as that can be.", error)
                self._scores_away = str(error)
                self._standing.tell(self.last, self.trouble, self._scores_away)
            return scores.settled()
        if self._scores_away:
            log.warning("%s can be written to again.", scores.path)
            self._scores_away = ""
        return size

    def _checkpoint(self) -> Checkpoint:
        outputs = {}
        if self._scores is not None:
            self._score_bytes = self._flush_scores(settle=True)
            outputs[str(self._scores.path.absolute())] = self._score_bytes
        return Checkpoint(
            monitor=self.monitor.snapshot(),
            clock=self.monitor.clock,
            settings=asdict(self.monitor.settings),
            source={"name": self.source.name, "position": self.source.position()},
            outputs=outputs,
            unwritten="" if self._scores is None else self._scores.unwritten,
            counts={"rows": self.counts.rows_before + self.counts.rows},
            saved_at=self._wall(),
        )

    def status(self) -> Status:
        """How the watch stands."""
        return self._standing.status(self.last, self.trouble, self._scores_away)


def _clock_time(wall: float, clock: Clock) -> int:
    """The present time in nanoseconds on the clock of a stream; 0 where that cannot be known."""
    if clock == "naive":
        wall += time.localtime(wall).tm_gmtoff
    return int(wall * 1e9) if clock in ("utc", "naive") else 0
