"""A watch: rows in, one transaction per checkpoint, nothing lost or told twice."""

from __future__ import annotations

import errno
import random
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import causewatch as cw
from causewatch.data import apart
from causewatch.errors import StreamError
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, Monitor, Tick
from causewatch.monitor.alarms import Event
from causewatch.simulate import random_system
from causewatch.streaming import keeping, runner
from causewatch.streaming.runner import Watch
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.source import Batch
from causewatch.streaming.store.base import Checkpoint, Retention
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.streaming.views import View
from causewatch.testing import FakeClock, MemorySink, MemorySource, until
from causewatch.testing.waiting import PATIENCE

ROWS = 420
Rows = tuple[list[dict[str, float]], list[float]]


@pytest.fixture(scope="module")
def model() -> NormalModel:
    return cw.learn(random_system(4, seed=21).simulate(2500, seed=22).values)


@pytest.fixture(scope="module")
def rows(model: NormalModel) -> Rows:
    """Rows with two faults in them."""
    values = random_system(4, seed=21).simulate(ROWS, seed=23).values
    values[100:140, 1] += 9.0
    values[260:300, 3] -= 9.0
    named = [dict(zip(model.signals, row, strict=True)) for row in values.tolist()]
    return named, [float(k) for k in range(ROWS)]


def monitor_of(model: NormalModel) -> Monitor:
    return Monitor(model, describe=describe)


@pytest.fixture(scope="module")
def wanted(model: NormalModel, rows: Rows) -> list[dict[str, Any]]:
    """The events that a monitor alone raises."""
    monitor, found = monitor_of(model), []
    for row, when in zip(*rows, strict=True):
        for tick in monitor.update(row, when).all:
            found += tick.events.to_dicts(monitor.clock)
    assert {one["event"] for one in found} >= {"raised", "cleared"}
    return found


class Seen(View):
    """Looks on, and notes in which order things happen."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def event(self, watch: Watch, event: Event, alarm: Alarm, line: str) -> None:
        self.lines.append(line)

    def look(self, watch: Watch) -> None:
        pass


def test_events_are_those_of_the_monitor(
    model: NormalModel, rows: Rows, wanted: list[dict[str, Any]]
) -> None:
    store, sink, seen = MemoryStore(), MemorySink(), Seen()
    source = MemorySource(model.signals, *rows)
    watch = Watch(monitor_of(model), source, store, sinks=[sink], views=[seen], keep=True)
    assert watch.run()
    assert list(store.events()) == wanted
    assert [dict(one.body) for one in sink.notices] == wanted
    assert len(seen.lines) == len(wanted)
    assert watch.counts.rows == ROWS
    store.close()


class Connected(MemorySource):
    """Has a connection, and says so."""

    status = "connected"  # type: ignore[assignment]


@pytest.mark.parametrize("gone", [False, True])
def test_a_connection_and_what_comes_through_it_are_told_at_once(
    gone: bool, model: NormalModel, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    """Before anything is judged, and once."""
    caplog.set_level("INFO", logger="causewatch.streaming")
    told: list[int] = []  # lines after each row

    class Counting(View):
        def look(self, watch: Watch) -> None:
            told.append(len(caplog.messages))

    source = Connected(model.signals, rows[0][:60], rows[1][:60], most=1)
    if gone:
        source.missing = model.signals[:1]
    store = MemoryStore()
    Watch(monitor_of(model), source, store, views=[Counting()]).run()
    store.close()
    first, second = caplog.messages
    assert first == "memory: connected."
    if gone:
        assert "1 of the 4 signals is not in memory: " in second
        assert told[:21] == [1] * 19 + [2, 2]
    else:
        assert second == "memory gives all 4 signals of the model."
        assert told[0] == 2


class Killed(BaseException):
    """As sudden as a kill: nothing may rely on what comes after it."""


class Fragile(MemorySource):
    """Dies at a certain poll; each takes four seconds of a fake clock."""

    def __init__(self, polls: int, clock: FakeClock, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.left = polls
        self.now = clock

    def poll(self, wait: float) -> Batch:
        self.now.sleep(4.0)
        self.left -= 1
        if self.left < 0:
            raise Killed
        return super().poll(wait)


class DyingStore(SqliteStore):
    """Dies before or after one of its writes."""

    when = (10**9, False)

    def save(
        self,
        checkpoint: Checkpoint | None,
        events: Sequence[Mapping[str, Any]],
        answers: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        left, after = self.when
        self.when = (left - 1, after)
        if left == 0 and not after:
            raise Killed
        super().save(checkpoint, events, answers)
        if left == 0:
            raise Killed


def test_a_watch_that_dies_anywhere_goes_on_as_if_it_had_not(
    model: NormalModel, rows: Rows, wanted: list[dict[str, Any]], tmp_path: Path
) -> None:
    calm = ScoreFile(tmp_path / "calm.csv")
    store = SqliteStore(tmp_path / "calm")
    source = MemorySource(model.signals, *rows, most=7)
    Watch(monitor_of(model), source, store, keep=True, scores=calm).run()
    last = store.load()
    assert last is not None
    store.close()

    chance, deaths, clock = random.Random(5), 0, FakeClock()
    sink = MemorySink()
    while True:
        dying = DyingStore(tmp_path / "dying")
        dying.when = (chance.randrange(8), chance.random() < 0.5)
        fragile = Fragile(chance.randrange(1, 12), clock, model.signals, *rows, most=7)
        saved, monitor = dying.load(), monitor_of(model)
        if saved is not None:
            monitor.restore(saved.monitor)
        scores = ScoreFile(tmp_path / "dying.csv")
        watch = Watch(
            monitor, fragile, dying, keep=True, saved=saved, scores=scores, sinks=[sink], now=clock
        )
        try:
            ended = watch.run()
        except Killed:
            ended = False
            deaths += 1
        found = list(dying.events())
        assert found == wanted[: len(found)]
        now = dying.load()
        dying.close()
        if ended:
            break
    assert deaths > 8
    assert found == wanted
    assert [dict(one.body) for one in sink.notices] == wanted
    assert now is not None
    assert now.source == last.source
    assert now.counts == last.counts
    assert (tmp_path / "dying.csv").read_text() == (tmp_path / "calm.csv").read_text()
    for name, value in now.monitor["recorder"].items():
        assert np.array_equal(value, last.monitor["recorder"][name], equal_nan=True)


class Order(MemorySource):
    """Notes what is committed, and what the store holds at that moment."""

    def __init__(self, store: MemoryStore, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.store = store
        self.held: list[tuple[int, int]] = []

    def committed(self) -> None:
        saved = self.store.load()
        assert saved is not None
        self.held.append((self._at, saved.source["position"]["rows"]))


def test_rows_are_acknowledged_only_after_the_checkpoint(model: NormalModel, rows: Rows) -> None:
    store = MemoryStore()
    source = Order(store, model.signals, *rows)
    Watch(monitor_of(model), source, store, keep=True).run()
    assert source.held[-1] == (ROWS, ROWS)
    assert all(polled == saved for polled, saved in source.held)
    store.close()


def test_a_pressing_source_is_acknowledged_soon(
    model: NormalModel, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender that waits for acknowledgements must not wait for the usual time."""
    monkeypatch.setattr(runner, "SAVE_EVERY", dict.fromkeys(runner.SAVE_EVERY, 3600.0))
    store = MemoryStore()
    source = MemorySource(model.signals, rows[0][:20], rows[1][:20], endless=True)
    source.pressing = True  # type: ignore[attr-defined]
    watch = Watch(monitor_of(model), source, store, keep=True)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        assert until(lambda: 20 in source.commits)
    finally:
        watch.stop = True
        thread.join()
        store.close()


def test_a_watch_without_a_state_acknowledges_too(model: NormalModel, rows: Rows) -> None:
    """Otherwise whoever sends would stop sending once enough is unacknowledged."""
    store = MemoryStore()
    source = MemorySource(model.signals, rows[0][:90], rows[1][:90], most=10)
    clock = FakeClock()
    watch = Watch(monitor_of(model), source, store, now=lambda: clock() + 11.0 * source._at)
    watch.run()
    assert source.commits[0] <= 20
    assert source.commits[-1] == 90
    assert store.load() is None
    store.close()


class Away(MemoryStore):
    """Cannot be written to for a while."""

    left = 0

    def save(self, *args: Any, **more: Any) -> None:
        if self.left:
            self.left -= 1
            reason = "The database is away."
            raise StreamError(reason)
        super().save(*args, **more)


def test_a_new_state_is_waited_for(
    model: NormalModel,
    rows: Rows,
    wanted: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(runner.Backoff, "next", lambda self: 0.001)
    store = Away()
    store.left = 5
    source = MemorySource(model.signals, *rows)
    assert Watch(monitor_of(model), source, store, keep=True).run()
    assert [one for one in store.events() if one["problem"] != "not_kept"] == wanted
    said = [record.message for record in caplog.records]
    assert f"The database is away. {runner.NOT_BEGUN}" in said
    assert not [one for one in said if "Watching goes on" in one]
    assert "memory can be written to again." in said
    store.close()


@pytest.mark.parametrize("new_scores", [False, True])
def test_an_old_state_is_waited_for_where_files_are_begun(
    new_scores: bool,
    model: NormalModel,
    rows: Rows,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(runner.Backoff, "next", lambda self: 0.001)
    store = Away()
    first = MemorySource(model.signals, rows[0][:50], rows[1][:50])
    assert Watch(monitor_of(model), first, store, keep=True).run()
    saved, monitor = store.load(), monitor_of(model)
    assert saved is not None
    monitor.restore(saved.monitor)
    store.left = 5
    scores = ScoreFile(tmp_path / "s.csv", ()) if new_scores else None
    second = MemorySource(model.signals, *rows)
    assert Watch(monitor, second, store, keep=True, saved=saved, scores=scores).run()
    (said,) = [one.message for one in caplog.records if "is away." in one.message]
    assert said.endswith(runner.NOT_BEGUN if new_scores else keeping.GOES_ON)
    store.close()


def test_what_people_ask_is_done_and_answered(model: NormalModel, rows: Rows) -> None:
    store = MemoryStore()
    source = MemorySource(model.signals, rows[0][:130], rows[1][:130], endless=True)
    watch = Watch(monitor_of(model), source, store, keep=True)
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        assert until(lambda: bool(store.alarms(on=True)))
        id = store.alarms(on=True)[0]["id"]
        asked = store.ask({"action": "ack", "id": id, "by": "Ada", "text": "seen"})
        wrong = store.ask({"action": "dance", "id": id, "by": "Ada"})
        answers: dict[int, Any] = {}
        for number in (asked, wrong):
            assert until(lambda n=number: answers.setdefault(n, store.answer(n)) or answers.pop(n))  # type: ignore[misc]
    finally:
        watch.stop = True
        thread.join()
    assert answers[asked]["events"][0]["acknowledged_by"] == "Ada"
    assert "no action" in answers[wrong]["error"].lower()
    assert store.alarms()[0]["acknowledged_by"] == "Ada"
    store.close()


def test_a_disk_that_is_full_of_scores_is_waited_for(
    model: NormalModel, rows: Rows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    resource = pytest.importorskip("resource")
    undisturbed, full = tmp_path / "undisturbed.csv", tmp_path / "full.csv"
    source = MemorySource(model.signals, *rows)
    Watch(monitor_of(model), source, MemoryStore(), scores=ScoreFile(undisturbed)).run()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Mender(View):
        """Makes room as soon as there is trouble."""

        said = ""

        def look(self, watch: Watch) -> None:
            if watch.trouble:
                self.said = watch.trouble
                assert watch.status().unkept == watch.trouble
                resource.setrlimit(resource.RLIMIT_FSIZE, before)

    mender, source = Mender(), MemorySource(model.signals, *rows)
    watch = Watch(monitor_of(model), source, MemoryStore(), scores=ScoreFile(full), views=[mender])
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        assert watch.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert mender.said == "The scores cannot be written to 'full.csv': file too large."
    assert "full.csv can be written to again." in caplog.text
    assert full.read_bytes() == undisturbed.read_bytes()


@pytest.mark.parametrize(("late", "warned"), [(10, False), (50, True)])
def test_tags_that_come_a_little_later_are_not_missing(
    model: NormalModel, rows: Rows, caplog: pytest.LogCaptureFixture, late: int, warned: bool
) -> None:
    class Tags(MemorySource):
        polled = 0

        @property
        def missing(self) -> tuple[str, ...]:
            return () if self.polled > late else model.signals[:1]

        def poll(self, wait: float) -> Batch:
            batch = super().poll(wait)
            self.polled += 1
            return batch

    source = Tags(model.signals, *rows, most=1)
    Watch(monitor_of(model), source, MemoryStore()).run()
    assert ("1 of the 4 signals is not in" in caplog.text) == warned


class Numbers:
    """An observer."""

    def __init__(self) -> None:
        self.statuses: list[Status] = []
        self.events = self.checkpoints = 0
        self.problems: dict[str, int] = {}

    def look(self, status: Status) -> None:
        self.statuses.append(status)

    def event(self, body: Mapping[str, Any]) -> None:
        self.events += 1

    def checkpoint(self, seconds: float) -> None:
        self.checkpoints += 1

    def delivery(self, sink: str, errors: int, waiting: int, problems: Mapping[str, int]) -> None:
        self.problems = dict(problems)

    def inbox(self, waiting: int, waits: int, turned_away: int) -> None:
        pass


def test_observers_hear_how_it_stands(
    model: NormalModel, rows: Rows, wanted: list[dict[str, Any]]
) -> None:
    store, numbers = MemoryStore(), Numbers()
    source = MemorySource(model.signals, *rows)
    Watch(monitor_of(model), source, store, name="line 1", observers=[numbers]).run()
    last = numbers.statuses[-1]
    assert (last.watch, last.rows, last.source) == ("line 1", ROWS, "ended")
    assert set(last.signals) == set(model.signals)
    assert numbers.events == len(wanted)
    assert numbers.checkpoints
    store.close()


class Late(MemorySink):
    """Takes nothing before it may, and then one event at a time."""

    def __init__(self) -> None:
        super().__init__("late")
        self.may = threading.Event()

    def send(self, notices: Sequence[Notice]) -> Any:
        assert self.may.wait(PATIENCE)
        self.notices += notices[:1]
        if len(notices) > 1:
            reason = "One at a time."
            raise DeliveryError(reason, 1)


def test_events_that_memory_did_not_keep_for_a_sink_are_told(
    model: NormalModel,
    rows: Rows,
    wanted: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MemoryStore, "_most_waiting", 0)
    store, sink, numbers = MemoryStore(), Late(), Numbers()

    class Forgetful(View):
        gone = 0

        def look(self, watch: Watch) -> None:
            if not self.gone:
                self.gone = store.forget(Retention(days=None, events=0), 0.0)
                if self.gone:
                    sink.may.set()

    view, source = Forgetful(), MemorySource(model.signals, *rows, most=7)
    watch = Watch(monitor_of(model), source, store, sinks=[sink], views=[view], observers=[numbers])
    watch.run()
    lost = numbers.problems["forgotten"]
    assert 0 < lost <= view.gone
    assert watch.undelivered == lost
    assert len(sink.notices) == len(wanted) - lost
    store.close()


def test_views_are_told_every_tick_with_what_was_seen(model: NormalModel, rows: Rows) -> None:
    class Ticks(View):
        def __init__(self) -> None:
            self.ticks: list[Tick] = []

        def tick(self, watch: Watch, tick: Tick) -> None:
            self.ticks.append(tick)

    seen = Ticks()
    source = MemorySource(model.signals, *rows)
    watch = Watch(monitor_of(model), source, MemoryStore(), views=[seen])
    assert watch.run()
    monitor, wanted = monitor_of(model), []
    for row, when in zip(*rows, strict=True):
        wanted += [tick for tick in monitor.update(row, when).all if tick.complete]
    wanted += [tick for tick in monitor.flush().all if tick.complete]
    assert len(seen.ticks) == len(wanted) == watch.counts.ticks
    for mine, other in zip(seen.ticks, wanted, strict=True):
        assert mine.time == other.time
        np.testing.assert_array_equal(mine.values.array, other.values.array)
    assert dict(seen.ticks[0].values) == dict(
        zip(model.signals, seen.ticks[0].values.array.tolist(), strict=False)
    )


def test_people_are_answered_after_the_end(model: NormalModel, rows: Rows) -> None:
    store = MemoryStore()
    watch = Watch(monitor_of(model), MemorySource(model.signals, *rows), store)
    ended: list[bool] = []
    said: list[Any] = []

    def ask() -> None:
        id = store.alarms()[0]["id"]
        number = store.ask({"action": "comment", "id": id, "by": "Ada", "text": "seen"})

        def answered() -> bool:
            said.append(store.answer(number))  # an answer is given once
            return said[-1] is not None

        until(answered)
        watch.stop = True

    person = threading.Thread(target=ask)

    def stay() -> None:
        ended.append(watch.ended)
        person.start()

    assert watch.run(stay)
    person.join()
    assert ended == [True]
    assert said[-1]["events"][0]["comments"][-1]["text"] == "seen"
    assert list(store.events())[-1]["comments"][-1]["by"] == "Ada"


class FullScores(ScoreFile):
    """A file of scores for which there is no room for some time, or never."""

    def __init__(self, path: Path, room: Callable[[int], bool]) -> None:
        super().__init__(path)
        self.tries, self._room = 0, room

    def flush(self, settle: bool = False) -> int:
        self.tries += 1
        file = self._file
        assert file is not None
        if not self._room(self.tries):
            self._file = NoRoom(file)  # type: ignore[assignment]
        try:
            return super().flush(settle)
        finally:
            self._file = file


class NoRoom:
    """Room for half a line, and then for no more."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = 30

    def write(self, text: bytes) -> int:
        if not self._left:
            raise OSError(errno.ENOSPC, "No space left on device")
        left, self._left = self._left, 0
        return int(self._file.write(text[:left]))


def test_watching_goes_on_while_scores_cannot_be_written(
    model: NormalModel,
    rows: Rows,
    wanted: list[dict[str, Any]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    calm, told = tmp_path / "calm.csv", []
    source = MemorySource(model.signals, *rows, most=7)
    Watch(monitor_of(model), source, MemoryStore(), scores=ScoreFile(calm)).run()

    class Told(View):
        def look(self, watch: Watch) -> None:
            status = watch.status()
            told.append((watch.counts.ticks, status.unkept, status.blind))

    store = MemoryStore()
    source = MemorySource(model.signals, *rows, most=7)
    scores = FullScores(tmp_path / "full.csv", lambda tries: not 3 < tries < 20)
    Watch(monitor_of(model), source, store, scores=scores, views=[Told()]).run()
    full = [ticks for ticks, why, _ in told if why.endswith("no space left on device.")]
    assert full[-1] - full[0] > 50
    assert not any(blind for *_, blind in told)
    assert "Watching goes on; they are written as soon as that can be." in caplog.text
    assert "full.csv can be written to again." in caplog.text
    assert [one for one in store.events() if one["problem"] != "not_kept"] == wanted
    assert (tmp_path / "full.csv").read_bytes() == calm.read_bytes()


@pytest.mark.parametrize("first", [0, 3])
def test_scores_that_could_not_be_written_are_in_the_state(
    first: int, model: NormalModel, rows: Rows, wanted: list[dict[str, Any]], tmp_path: Path
) -> None:
    calm, full = tmp_path / "calm.csv", tmp_path / "full.csv"
    store = SqliteStore(tmp_path / "calm")
    source = MemorySource(model.signals, *rows, most=7)
    Watch(monitor_of(model), source, store, keep=True, scores=ScoreFile(calm)).run()
    store.close()

    class Leaving(View):
        def look(self, watch: Watch) -> None:
            watch.stop = watch.counts.ticks > 100

    store = SqliteStore(tmp_path / "full")
    source = MemorySource(model.signals, *rows, most=7)
    scores = FullScores(full, lambda tries: tries <= first)
    assert not Watch(
        monitor_of(model), source, store, keep=True, scores=scores, views=[Leaving()]
    ).run()
    assert full.stat().st_size < calm.stat().st_size / 2
    saved, monitor = store.load(), monitor_of(model)
    assert saved is not None
    assert saved.unwritten
    monitor.restore(saved.monitor)
    source = MemorySource(model.signals, *rows, most=7)
    Watch(monitor, source, store, keep=True, saved=saved, scores=ScoreFile(full)).run()
    assert list(store.events()) == wanted
    assert full.read_bytes() == calm.read_bytes()
    saved = store.load()
    assert saved is not None
    assert saved.unwritten == ""
    store.close()


def test_a_watch_that_is_to_end_does_not_wait_for_a_file(
    model: NormalModel, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "COMMAND", (sys.executable, "-c", "input()"))
    process = apart.ReadingProcess(patience=600.0)

    class Stuck(MemorySource):
        def poll(self, wait: float) -> Batch:
            if self.position()["rows"] < 100:
                return super().poll(wait)
            watch.stop = True  # as a signal handler does
            process.ask(Path("any"), "parquet_shape")
            raise AssertionError

    store = MemoryStore()
    watch = Watch(monitor_of(model), Stuck(model.signals, *rows, most=100), store, keep=True)
    assert not watch.run()
    saved = store.load()
    assert saved is not None
    assert saved.source["position"] == {"rows": 100}
