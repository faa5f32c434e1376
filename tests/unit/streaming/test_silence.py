"""A source that sends nothing though it should."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import causewatch as cw
from causewatch.errors import SettingError
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Monitor
from causewatch.simulate import random_system
from causewatch.streaming.runner import Watch
from causewatch.streaming.silence import NEVER, Silence, parse_silence, usual_silence
from causewatch.streaming.source import Batch
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.testing import FakeClock, MemorySource

PART = 60
"""Rows before and after a silence."""


@pytest.fixture(scope="module")
def model() -> NormalModel:
    return cw.learn(random_system(4, seed=21).simulate(2500, seed=22).values)


class Halting(MemorySource):
    """Gives its rows in two parts with some polls of ten seconds between them, then ends."""

    status = "connected"

    def __init__(self, model: NormalModel, clock: FakeClock, halt: int, first: int = PART) -> None:
        values = random_system(4, seed=21).simulate(2 * PART, seed=23).values.tolist()
        self.later = [dict(zip(model.signals, row, strict=True)) for row in values[first:]]
        rows = [dict(zip(model.signals, row, strict=True)) for row in values[:first]]
        super().__init__(model.signals, rows, [float(k) for k in range(first)], endless=True)
        self.left, self.now, self.first = halt, clock, first

    def poll(self, wait: float) -> Batch:
        batch = super().poll(0.0)
        if not len(batch):
            self.now.sleep(10.0)
            self.left -= 1
            if self.left == 0:
                self.add(self.later, [float(self.first + k) for k in range(len(self.later))])
                self.finish()
        return batch


def run(model: NormalModel, halt: int, after: float, **more: Any) -> list[dict[str, Any]]:
    clock, store = FakeClock(), MemoryStore()
    source = Halting(model, clock, halt, **more)
    monitor = Monitor(model, describe=describe)
    Watch(monitor, source, store, silence=Silence(after), now=clock).run()
    events = list(store.events())
    store.close()
    return events


def test_silence_is_an_alarm_until_rows_come(model: NormalModel) -> None:
    raised, cleared = run(model, halt=9, after=60.0)
    assert (raised["event"], cleared["event"]) == ("raised", "cleared")
    assert raised["id"] == cleared["id"]
    assert (raised["kind"], raised["problem"]) == ("health", "silent")
    assert raised["headline"].startswith("No rows have come from memory since ")
    assert raised["signals"] == {"(stream)": None}
    # To the stream its time stands still while nothing comes.
    assert raised["raised_at"] == raised["onset"] == f"row {PART - 1}"
    assert int(cleared["cleared_at"].removeprefix("row ")) > PART - 1


def test_a_short_silence_is_none(model: NormalModel) -> None:
    assert run(model, halt=5, after=60.0) == []


def test_it_may_be_no_matter(model: NormalModel) -> None:
    assert run(model, halt=50, after=NEVER) == []


def test_a_source_that_never_sent_anything_is_silent_too(model: NormalModel) -> None:
    raised, cleared = run(model, halt=9, after=60.0, first=0)
    assert raised["problem"] == "silent"
    assert cleared["event"] == "cleared"


def test_then_its_time_is_that_of_the_machine(model: NormalModel) -> None:
    """What the stream counts is not known yet; it is taken for what the recording counted."""
    clock, store = FakeClock(), MemoryStore()
    source = Halting(model, clock, halt=9, first=0)
    source.later = []
    monitor = Monitor(replace(model, clock="utc"), describe=describe)
    kept = Silence(60.0)
    Watch(monitor, source, store, silence=kept, now=clock, wall=lambda: 1_800_000_000.0).run()
    (raised,) = store.events()
    assert raised["raised_at"] == "2027-01-15T08:00:00Z"
    store.close()


def test_the_monitor_says_how_the_stream_is(model: NormalModel) -> None:
    monitor = Monitor(model, describe=describe)
    values = random_system(4, seed=21).simulate(PART, seed=23).values
    for k, row in enumerate(values[:30]):
        monitor.update(row, float(k))
    events = monitor.silent("Nothing comes.")
    assert [alarm.problem for alarm in events.raised] == ["silent"]
    assert monitor.health["(stream)"].detail == "Nothing comes."
    assert not monitor.silent("Nothing comes.")  # once
    tick = monitor.update(values[30], 30.0)
    assert [(one.before, one.now.state) for one in tick.health] == [("silent", "ok")]
    assert monitor.health == {}
    assert monitor.alarms.active  # until it has been well for some ticks


def test_shelved_silence_raises_nothing(model: NormalModel) -> None:
    monitor = Monitor(model, describe=describe)
    values = random_system(4, seed=21).simulate(PART, seed=23).values
    for k, row in enumerate(values[:30]):
        monitor.update(row, float(k))
    monitor.alarms.shelve(["(stream)"], until=10**15, by="Ann", at=29 * 10**9)
    assert not monitor.silent("Nothing comes.")
    assert monitor.health["(stream)"].state == "silent"
    for k, row in enumerate(values[30:], 30):
        assert not monitor.update(row, float(k)).events
    assert monitor.health == {}


def test_shelves_end_while_nothing_comes(model: NormalModel) -> None:
    monitor = Monitor(model, describe=describe)
    values = random_system(4, seed=21).simulate(PART, seed=23).values
    for k, row in enumerate(values[:30]):
        monitor.update(row, float(k))
    (raised,) = monitor.silent("Nothing comes.", lasted=60.0).raised
    monitor.alarms.shelve(raised.id, until=(29 + 120) * 10**9, by="Ann", at=29 * 10**9)
    assert not monitor.silent("Nothing comes.", lasted=119.0)
    assert [one.id for one in monitor.silent("Nothing comes.", lasted=120.0).raised] == [raised.id]
    assert not monitor.silent("Nothing comes.", lasted=121.0)
    # The same where the signal was shelved before there was an alarm.
    again = Monitor(model, describe=describe)
    again.update(values[0], 0.0)
    again.alarms.shelve(["(stream)"], until=100 * 10**9, by="Ann", at=0)
    assert not again.silent("Nothing comes.", lasted=60.0)
    assert [one.problem for one in again.silent("Nothing comes.", lasted=101.0).raised] == [
        "silent"
    ]


def test_it_is_not_told_again_after_a_restart(model: NormalModel, tmp_path: Path) -> None:
    class Cut(Halting):
        def poll(self, wait: float) -> Batch:
            if self.left == 2:
                raise KeyboardInterrupt
            return super().poll(wait)

    clock = FakeClock()
    store = SqliteStore(tmp_path / "state")
    watch = Watch(
        Monitor(model, describe=describe),
        Cut(model, clock, 9),
        store,
        keep=True,
        silence=Silence(60.0),
        now=clock,
    )
    with pytest.raises(KeyboardInterrupt):
        watch.run()
    saved = store.load()
    assert saved is not None
    monitor = Monitor(model, describe=describe)
    monitor.restore(saved.monitor)
    source = Halting(model, clock, 30)
    Watch(monitor, source, store, keep=True, saved=saved, silence=Silence(60.0), now=clock).run()
    assert [one["event"] for one in store.events()] == ["raised", "cleared"]
    store.close()


def test_no_signal_may_be_called_like_the_stream() -> None:
    values = random_system(2, seed=21).simulate(500, seed=22).values
    table = {"(stream)": values[:, 0], "other": values[:, 1]}
    model = cw.learn(pl.DataFrame(table))
    with pytest.raises(SettingError, match=r"called '\(stream\)', which .* rename the column"):
        Monitor(model)


def test_only_waiting_counts() -> None:
    silence = Silence(60.0)
    assert not silence.waited(59.0)
    assert silence.waited(1.0)
    assert silence.waited(0.0)
    silence.heard()
    assert not silence.waited(59.9)
    said = silence.sentence("mqtt://a/b", "trying again", 59.9 + 90.0)
    assert said == "No rows have come from mqtt://a/b since 1970-01-01 00:01:30 UTC (trying again)."


def test_what_is_usual() -> None:
    assert usual_silence("mqtt://broker/rows", 1.0, 10.0) == 60.0
    assert usual_silence("-", 1.0, 10.0) == 60.0
    assert usual_silence("opc.tcp://plc:4840", 60.0, 60.0) == 1200.0
    assert usual_silence("nats://host/rows", 1.0, 300.0) == 900.0
    for recorded in ("today.csv", "folder", "bag://run.mcap"):
        assert usual_silence(recorded, 1.0, 10.0) == NEVER


def test_what_a_user_may_say() -> None:
    assert parse_silence("never") == NEVER
    assert parse_silence("5min") == 300.0
    assert parse_silence(90) == 90.0
    for wrong in ("", "soon", "0s", "-1s", 0.0, -3.0, float("inf"), float("nan"), True, []):
        with pytest.raises(SettingError, match="or never, is expected"):
            parse_silence(wrong)
