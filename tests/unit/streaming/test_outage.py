"""Watching goes on while what it writes cannot be written, and catches up afterwards."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import causewatch as cw
from causewatch.errors import StreamError
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Monitor
from causewatch.simulate import random_system
from causewatch.streaming import keeping, outbox, runner, scores
from causewatch.streaming.outage import Outage
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.runner import Watch
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.sinks.lines import LinesSink
from causewatch.streaming.source import Batch, nothing
from causewatch.streaming.store import sqlite
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.streaming.views import View
from causewatch.testing import MemorySink, MemorySource, until

Rows = tuple[list[dict[str, float]], list[float]]
Events = list[dict[str, Any]]
FIRST = 60
"""Rows that come before something happens to the store."""


@pytest.fixture(scope="module")
def model() -> NormalModel:
    return cw.learn(random_system(4, seed=21).simulate(2500, seed=22).values)


@pytest.fixture(scope="module")
def rows(model: NormalModel) -> Rows:
    """Rows with two faults in them."""
    values = random_system(4, seed=21).simulate(420, seed=23).values
    values[100:140, 1] += 9.0
    values[260:300, 3] -= 9.0
    named = [dict(zip(model.signals, row, strict=True)) for row in values.tolist()]
    return named, [float(k) for k in range(420)]


def monitor_of(model: NormalModel) -> Monitor:
    return Monitor(model, describe=describe)


@pytest.fixture(scope="module")
def wanted(model: NormalModel, rows: Rows) -> Events:
    """The events that a monitor alone raises."""
    monitor, events = monitor_of(model), []
    for row, when in zip(*rows, strict=True):
        for tick in monitor.update(row, when).all:
            events += tick.events.to_dicts(monitor.clock)
    return events


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    monkeypatch.setattr(keeping, "LONGEST", 0.1)
    monkeypatch.setattr(runner, "SAVE_EVERY", dict.fromkeys(runner.SAVE_EVERY, 0.05))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Another process has the database, and does not let go of it."""
    connection = sqlite3.connect(folder / "watch.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


@contextmanager
def too_long(folder: Path) -> Iterator[None]:
    """No file may grow, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """The disk is full to the last byte."""
    filler = folder / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    try:
        yield
    finally:
        filler.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes, where one can be had."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    try:
        made = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("a small disk needs the right to mount one")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def running(watch: Watch) -> Iterator[None]:
    thread = threading.Thread(target=watch.run)
    thread.start()
    try:
        yield
    finally:
        watch.stop = True
        thread.join()


def problems(sink: MemorySink) -> list[tuple[str, str | None]]:
    return [(one.body["event"], one.body["problem"]) for one in sink.notices]


def from_rows(bodies: Any) -> Events:
    """Those that rows led to."""
    return [dict(body) for body in bodies if body["problem"] != "not_kept"]


Breaking = Callable[[Path], Any]


def judged_without(
    breaking: Breaking, folder: Path, model: NormalModel, rows: Rows, wanted: Events
) -> None:
    """What is broken is told, watching goes on, and all is there in the end, once."""
    store, sink = SqliteStore(folder), MemorySink()
    source = MemorySource(model.signals, rows[0][:FIRST], rows[1][:FIRST], endless=True, most=7)
    watch = Watch(monitor_of(model), source, store, keep=True, sinks=[sink])
    with store.lock(), running(watch):
        assert until(lambda: FIRST in source.commits)
        with breaking(folder):
            source.add(rows[0][FIRST:200], rows[1][FIRST:200])
            assert until(lambda: watch.counts.ticks == 200)
            assert until(lambda: from_rows(one.body for one in sink.notices)[1:] != [])
            assert until(lambda: ("raised", "not_kept") in problems(sink))
            status = watch.status()
            assert status.unkept
            assert status.blind == ""
            assert [alarm["problem"] for alarm in status.alarms if alarm["kind"] == "health"]
            assert max(source.commits) < 200
        source.add(rows[0][200:], rows[1][200:])
        assert until(lambda: 420 in source.commits)
        assert until(lambda: ("cleared", "not_kept") in problems(sink))
        assert until(lambda: watch.undelivered == 0)
        assert watch.status().unkept == ""
        assert watch.status().waiting == 0
    assert from_rows(store.events()) == wanted
    assert from_rows(one.body for one in sink.notices) == wanted
    assert len({one.key for one in sink.notices}) == len(sink.notices)
    kept = [one for one in store.events() if one["problem"] == "not_kept"]
    assert [one["event"] for one in kept] == ["cleared"]
    assert "could be written from" in kept[0]["headline"]
    saved = store.load()
    assert saved is not None
    assert saved.source["position"]["rows"] == 420
    assert store.delivered(sink.name) == (len(wanted) + 1, None)
    store.close()


@pytest.mark.parametrize("breaking", [locked, too_long])
def test_watching_goes_on_without_its_store(
    breaking: Breaking, model: NormalModel, rows: Rows, wanted: Events, tmp_path: Path
) -> None:
    judged_without(breaking, tmp_path / "state", model, rows, wanted)


def test_watching_goes_on_with_a_full_disk(
    small_disk: Path, model: NormalModel, rows: Rows, wanted: Events
) -> None:
    judged_without(full, small_disk, model, rows, wanted)


class Killed(BaseException):
    """As sudden as a kill."""


class Mortal(SqliteStore):
    """Nothing reaches the disk once it is dead, also not from other threads."""

    dead = False

    def _write(self, work: Callable[[Any], Any], *, wait: bool = True) -> Any:
        def living(talk: Any) -> Any:
            if self.dead:
                reason = "There is nobody any more."
                raise StreamError(reason)
            return work(talk)

        return super()._write(living, wait=wait)


class Dying(View):
    """Dies when so many ticks have been judged and told."""

    def __init__(self, ticks: int, sink: MemorySink, store: Mortal) -> None:
        self.ticks, self.sink, self.store = ticks, sink, store

    def look(self, watch: Watch) -> None:
        if watch.counts.ticks >= self.ticks and watch.trouble:
            assert until(lambda: ("raised", "not_kept") in problems(self.sink))
            assert until(lambda: watch.undelivered == 0)
            self.store.dead = True
            raise Killed


@pytest.mark.parametrize("first", [FIRST, 115])
def test_a_kill_meanwhile_loses_and_doubles_nothing(
    first: int,
    model: NormalModel,
    rows: Rows,
    wanted: Events,
    tmp_path: Path,
) -> None:
    """Where rows can be read again: who drops repeated keys has everything once."""
    folder, lines = tmp_path / "state", tmp_path / "alarms.jsonl"
    told: list[Any] = []
    for ticks in (first, 150, 200, 0):
        store, sink = Mortal(folder), MemorySink()
        with store.lock():
            saved, monitor = store.load(), monitor_of(model)
            if saved is not None:
                monitor.restore(saved.monitor)
            source = MemorySource(model.signals, *rows, most=7)
            # The first run keeps something, and then the database is locked for two.
            view = Stopping(ticks) if saved is None else Dying(ticks, sink, store)
            watch = Watch(
                monitor,
                source,
                store,
                keep=True,
                saved=saved,
                sinks=[LinesSink(lines, anew=saved is None), sink],
                views=[view] if ticks else [],
            )
            if ticks in (150, 200):
                with locked(folder), pytest.raises(Killed):
                    watch.run()
            else:
                watch.run()
        told += sink.notices
        store.close()
    store = Mortal(folder)
    assert from_rows(store.events()) == wanted
    events = [one for one in told if one.number]
    by_key = {one.key: dict(one.body) for one in events}
    assert len(events) > len(wanted)  # some were told again
    assert list(by_key.values()) == wanted
    in_file = from_rows(map(json.loads, lines.read_text().splitlines()))
    assert [one | {"watch": None} for one in in_file] == [one | {"watch": None} for one in wanted]
    store.close()


class Stopping(View):
    """Ends the watch in good order after so many ticks."""

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks

    def look(self, watch: Watch) -> None:
        watch.stop = watch.counts.ticks >= self.ticks


class Waiting(MemorySource):
    """Sends no more than twenty rows before they are acknowledged, as a broker may."""

    guarantee = "redelivered"
    free = 20

    @property
    def pressing(self) -> bool:
        return self.free < 20

    def poll(self, wait: float) -> Batch:
        self._most = min(7, self.free)
        if not self._most:
            return nothing(len(self.columns))
        batch = super().poll(wait)
        self.free -= len(batch)
        return batch

    def committed(self) -> None:
        super().committed()
        self.free = 20


def test_who_waits_for_acknowledgements_gets_them(
    model: NormalModel, rows: Rows, wanted: Events, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(tmp_path)
    source = Waiting(model.signals, *rows, endless=True)
    watch = Watch(monitor_of(model), source, store, keep=True)
    with store.lock(), running(watch):
        assert until(lambda: source.commits != [])
        with locked(tmp_path):
            assert until(lambda: watch.counts.ticks == 420)
        assert until(lambda: from_rows(store.events()) == wanted)
    if "gets them" not in caplog.text:  # all came before the database was locked
        assert source.commits[-1] == 420
    store.close()


def test_only_so_much_waits(
    model: NormalModel, rows: Rows, wanted: Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rows are taken for whose events there is no room; whoever sends them keeps them."""
    monkeypatch.setattr(outbox, "MOST_EVENTS", 1)
    store = SqliteStore(tmp_path)
    source = MemorySource(model.signals, rows[0][:FIRST], rows[1][:FIRST], endless=True, most=7)
    watch = Watch(monitor_of(model), source, store, keep=True)
    with store.lock(), running(watch):
        assert until(lambda: FIRST in source.commits)
        with locked(tmp_path):
            source.add(rows[0][FIRST:], rows[1][FIRST:])
            assert until(lambda: watch.status().blind != "")
            assert watch.counts.ticks < 120
        assert until(lambda: from_rows(store.events()) == wanted)
        assert until(lambda: watch.status().blind == "")
    store.close()


def test_scores_without_room_are_counted(
    model: NormalModel, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "MOST_UNWRITTEN", 300)
    place = tmp_path / "scores.csv"
    source = MemorySource(model.signals, *rows, most=7)

    class Full(ScoreFile):
        def flush(self, settle: bool = False) -> int:
            if not 20 < watch.counts.ticks < 300:
                return super().flush(settle)
            file, self._file = self._file, Closed(self._file)  # type: ignore[assignment]
            try:
                return super().flush(settle)
            finally:
                self._file = file

    class Closed:
        def __init__(self, file: Any) -> None:
            self.fileno = file.fileno
            self.seek = file.seek

        def write(self, text: bytes) -> int:
            raise OSError(28, "No space left on device")

    store = MemoryStore()
    watch = Watch(monitor_of(model), source, store, scores=Full(place))
    assert watch.run()
    lost = watch.status().scores_lost
    assert 200 < lost < 280
    assert place.read_text().count("\n") == 1 + 420 - lost
    (cleared,) = [one for one in store.events() if one["problem"] == "not_kept"]
    assert cleared["headline"].endswith(f"{lost} rows of scores are missing.")


def test_the_alarm_tells_what_has_changed_alone() -> None:
    outage = Outage("line 1")
    assert outage.step(("", ""), 5, 0.0) is None
    event, alarm = outage.step(("State away.", ""), 5, 0.0) or (None, None)
    assert (event, alarm and alarm.headline) == ("raised", "State away.")
    assert outage.step(("State away, still.", ""), 6, 1.0) is None
    event, both = outage.step(("State away.", "Scores away."), 7, 2.0) or (None, None)
    assert (event, both and both.headline) == ("updated", "State away. Scores away.")
    event, over = outage.step(("", ""), 9, 60.0, "3 rows are missing.") or (None, None)
    assert event == "cleared"
    assert over is not None
    assert alarm is not None
    assert over.id == alarm.id
    assert over.cleared_at == 9
    assert over.headline == (
        "Not all could be written from 1970-01-01 00:00:00 to 1970-01-01 00:01:00 UTC."
        " State away. Scores away. It can now. 3 rows are missing."
    )


def test_deliveries_never_overtake_the_store() -> None:
    """After a kill an event with such a number would never be sent."""
    store = MemoryStore("line 1")
    store.save(None, [body(1)])
    out = Outbox(store)
    assert out.newest == 1
    out.add([body(2), body(3)])
    assert out.newest == 1
    assert out.notices(1) == []
    out.show()
    ahead = out.notices(1)
    assert [one.number for one in ahead] == [2, 3]
    out.deliver("desk", 3, "mark")
    assert store.delivered("desk") is None
    store.save(None, out.waiting)
    out.kept(2)
    assert store.delivered("desk") == (3, "mark")
    assert [one.key for one in store.notices(1)] == [one.key for one in ahead]
    store.close()


def body(number: int) -> Mapping[str, Any]:
    return {
        "id": f"{number:012x}", "event": "raised", "time": "row 1", "kind": "anomaly",
        "raised_at": "row 1", "cleared_at": None, "headline": "x", "abstained": False,
        "normal": False, "peak_score": 1.5, "acknowledged_by": None, "shelved_until": None,
        "causes": [], "broken_links": [], "comments": [], "problem": None,
    }  # fmt: skip
