"""Rows for a model that counts rows, whatever their times."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import causewatch as cw
from causewatch.data import Clock
from causewatch.model import NormalModel
from causewatch.monitor import Monitor
from causewatch.simulate import random_system
from causewatch.streaming.address import Seconds, parse_address
from causewatch.streaming.feeding import take, ticks_of
from causewatch.streaming.message_rows import TagMessages, TagOptions
from causewatch.streaming.runner import SAVE_EVERY, Watch
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.source import Batch, Guarantee, Wanted
from causewatch.streaming.sources.mqtt_readers import SparkplugReader
from causewatch.streaming.store.sqlite import SqliteStore
from causewatch.testing import FakeClock
from services import sparkplug as sp

SECOND = 1_000_000_000
BEGIN = 1_767_225_600  # 2026
ROWS = 60
EVERY = 10  # seconds between two rows: a gap by the times, as the model knows only rows


@pytest.fixture(scope="module")
def model() -> NormalModel:
    found = cw.learn(random_system(2, seed=1).simulate(600, seed=2).values)
    assert (found.clock, found.interval, found.preprocessing.every) == ("rows", 1.0, 1.0)
    return found


@pytest.fixture(scope="module")
def values() -> list[list[float]]:
    return [row.tolist() for row in random_system(2, seed=1).simulate(ROWS, seed=3).values]


def wanted_of(model: NormalModel) -> Wanted:
    return Wanted(tuple(model.signals), model.interval, counted=True)


def tags(model: NormalModel, values: list[list[float]]) -> tuple[Clock | None, Batch]:
    reader = TagMessages(wanted_of(model), TagOptions(every=Seconds(float(EVERY))))
    for k, row in enumerate(values):
        for name, value in zip(model.signals, row, strict=True):
            reader.take(name, str(value).encode(), (BEGIN + EVERY * k) * SECOND)
    return reader.clock, reader.rows()


def sparkplug(model: NormalModel, values: list[list[float]]) -> tuple[Clock | None, Batch]:
    options = TagOptions(every=Seconds(float(EVERY)))
    reader = SparkplugReader(wanted_of(model), options, ask=False)
    for k, row in enumerate(values):
        metrics = [sp.metric(n, v, sp.DOUBLE) for n, v in zip(model.signals, row, strict=True)]
        when = BEGIN + EVERY * k
        data = sp.payload(metrics, seq=k, timestamp=1000 * when)
        kind = "NDATA" if k else "NBIRTH"
        reader.take(f"spBv1.0/plant/{kind}/node", data, when * SECOND, False)
    return reader.clock, reader.rows()


def opcua(model: NormalModel, values: list[list[float]]) -> tuple[Clock | None, Batch]:
    pytest.importorskip("asyncua", reason="asyncua is not installed")
    from causewatch.streaming.sources.opcua import OpcuaSource
    from causewatch.streaming.sources.opcua_values import Began, Message, Value

    address = parse_address("opc.tcp://127.0.0.1:4840/", {"late": 0, "every": EVERY})
    source = OpcuaSource(address, wanted_of(model))
    try:
        source.inbox.put(Began())
        for k, row in enumerate(values):
            when = (BEGIN + EVERY * k) * SECOND
            told = zip(model.signals, row, strict=True)
            source.inbox.put(
                Message([Value(n, v, when, when, True, False) for n, v in told], when, False, {})
            )
        return source.clock, source.poll(0.0)
    finally:
        source.close()


def dates(model: NormalModel, values: list[list[float]]) -> tuple[Clock | None, Batch]:
    moments = [(BEGIN + EVERY * k) * SECOND for k in range(len(values))]
    return "naive", Batch(np.array(values), np.array(moments, dtype=np.int64))


def elapsed(model: NormalModel, values: list[list[float]]) -> tuple[Clock | None, Batch]:
    moments = [(5 + EVERY * k) * SECOND for k in range(len(values))]
    return "elapsed", Batch(np.array(values), np.array(moments, dtype=np.int64))


@pytest.mark.parametrize("kind", [tags, sparkplug, opcua, dates, elapsed])
def test_a_model_that_counts_rows_gets_their_numbers(
    kind: Callable[..., tuple[Clock | None, Batch]],
    model: NormalModel,
    values: list[list[float]],
) -> None:
    """Steps of their times are no gaps, and it is said once that dates are not used."""
    clock, batch = kind(model, values)
    assert len(batch) >= ROWS - 1
    monitor, alone = Monitor(model), Monitor(model)
    ticks = list(take(monitor, SimpleNamespace(clock=clock), batch))  # type: ignore[arg-type]
    assert [tick.time for tick in ticks] == [k * SECOND for k in range(len(ticks))]
    assert len(ticks) >= len(batch) - 1
    assert monitor.clock == "rows"
    said = {} if kind is elapsed else {"times_not_used": 1}
    assert dict(monitor.problems) == said
    scores = [tick.score for row in batch.values for tick in alone.update(row).all if tick.complete]
    assert [tick.score for tick in ticks] == scores


def test_rows_that_the_source_has_counted_keep_their_numbers(
    model: NormalModel, values: list[list[float]]
) -> None:
    times = np.arange(7, 7 + ROWS, dtype=np.int64) * SECOND
    monitor, source = Monitor(model), SimpleNamespace(clock="rows")
    ticks = list(take(monitor, source, Batch(np.array(values), times)))  # type: ignore[arg-type]
    assert ticks[0].time == 7 * SECOND
    assert not monitor.problems


class Killed(BaseException):
    """As sudden as a kill."""


class TagLog:
    """Values of tags, one a message, in a log that can be read again; may die at some poll."""

    name, status, missing, ended = "log", "connected", (), False
    problems: Mapping[str, int] = {}

    def __init__(
        self,
        model: NormalModel,
        values: list[list[float]],
        guarantee: Guarantee,
        clock: FakeClock,
        polls: int = 10**9,
    ) -> None:
        self.guarantee = guarantee
        self._messages = [
            (name, json.dumps({"value": value, "time": moment(k)}).encode())
            for k, row in enumerate(values)
            for name, value in zip(model.signals, row, strict=True)
        ]
        options = TagOptions(every=Seconds(float(EVERY)))
        self._reader = TagMessages(wanted_of(model), options)
        self._now, self._left, self._at = clock, polls, 0

    @property
    def clock(self) -> Clock | None:
        return self._reader.clock

    def open(self, after: Mapping[str, Any]) -> None:
        if after:
            self._at = after["at"]
            self._reader.restore(after["rows"])

    def poll(self, wait: float) -> Batch:
        self._now.sleep(0.4 * SAVE_EVERY[self.guarantee])  # some polls are in no checkpoint
        self._left -= 1
        if self._left < 0:
            raise Killed
        for tag, payload in self._messages[self._at : self._at + 5]:
            self._reader.take(tag, payload, None)
        self._at += 5
        self.ended = self._at >= len(self._messages)
        return self._reader.rows()

    def position(self) -> dict[str, Any]:
        return {"at": self._at, "rows": self._reader.snapshot()}

    def committed(self) -> None:
        pass

    def close(self) -> None:
        pass


def moment(k: int) -> str:
    return datetime.fromtimestamp(BEGIN + EVERY * k, UTC).isoformat()


@pytest.mark.parametrize("guarantee", ["replayed", "redelivered"])
def test_rows_keep_their_numbers_when_the_watch_is_killed(
    guarantee: Guarantee, model: NormalModel, values: list[list[float]], tmp_path: Path
) -> None:
    clock, deaths = FakeClock(), 0

    def run(name: str, polls: int = 10**9) -> None:
        store = SqliteStore(tmp_path / name)
        saved, monitor = store.load(), Monitor(model)
        if saved is not None:
            monitor.restore(saved.monitor)
        source = TagLog(model, values, guarantee, clock, polls)
        scores = ScoreFile(tmp_path / f"{name}.csv")
        watch = Watch(monitor, source, store, keep=True, saved=saved, scores=scores, now=clock)
        try:
            assert watch.run()
        finally:
            store.close()

    run("calm")
    while True:
        try:
            run("dying", polls=4 + deaths % 3)
        except Killed:
            deaths += 1
        else:
            break
    assert deaths > 3
    lines = (tmp_path / "calm.csv").read_text()
    assert (tmp_path / "dying.csv").read_text() == lines
    rows = [line.split(",")[0] for line in lines.splitlines()[1:]]
    assert len(rows) >= ROWS - 2
    assert rows == [f"row {k}" for k in range(len(rows))]


def test_a_recording_is_counted_to_its_end(model: NormalModel, values: list[list[float]]) -> None:
    source = TagLog(model, values, "replayed", FakeClock())
    times = [tick.time for tick in ticks_of(Monitor(model), source)]
    assert times == [k * SECOND for k in range(len(times))]
    assert len(times) >= ROWS - 1
