"""Rows come and are not judged."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Monitor
from causewatch.server.probes import MetricsServer
from causewatch.simulate import random_system
from causewatch.streaming.liveness import Liveness
from causewatch.streaming.metrics import Metrics
from causewatch.streaming.runner import Watch
from causewatch.streaming.silence import Silence
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import FileSource
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.testing import FakeClock, MemorySink, MemorySource
from causewatch.testing.waiting import PATIENCE

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
SYSTEM = random_system(4, seed=21)


@pytest.fixture(scope="module")
def model() -> NormalModel:
    values = SYSTEM.simulate(3000, seed=22).values
    table = pl.DataFrame(values, schema=list("abcd"))
    times = pl.Series("time", [START - timedelta(seconds=3000 - k) for k in range(3000)])
    return cw.learn(table.insert_column(0, times), every=2.0)


def test_a_state_that_is_not_whole_is_an_alarm(model: NormalModel, tmp_path: Path) -> None:
    """Told once, at the start; watching goes on with the rest."""

    def run(until: int) -> list[dict[str, Any]]:
        store = SqliteStore(tmp_path / "state")
        with store.lock():
            saved, monitor = store.load(), Monitor(model, describe=describe)
            if saved is not None:
                monitor.restore(saved.monitor)
            values = [dict(zip("abcd", row, strict=True)) for row in normal(until).tolist()]
            times = [START + timedelta(seconds=k) for k in range(until)]
            source = MemorySource(model.signals, values, times)
            sink = MemorySink()
            more = {"saved": saved, "sinks": [sink], "now": FakeClock()}
            Watch(monitor, source, store, keep=True, **more).run()
            told = [dict(notice.body) for notice in sink.notices]
        store.close()
        return told

    assert run(60) == []
    (tmp_path / "state" / "watch.db").unlink()
    raised, cleared = run(180)
    assert (raised["event"], raised["problem"], raised["kind"]) == (
        "raised",
        "incomplete",
        "health",
    )
    assert "is not whole: it lacks 2 saves of an earlier run" in raised["headline"]
    assert cleared["event"] == "cleared"
    assert run(240) == []


def normal(rows: int) -> np.ndarray[Any, Any]:
    return SYSTEM.simulate(rows, seed=23).values


def watched(
    model: NormalModel,
    seconds: Sequence[float],
    values: Any = None,
    kind: str | None = "health",
    **more: Any,
) -> list[dict[str, Any]]:
    """The events of a watch whose rows come at these seconds of the plant."""
    table = normal(len(seconds)) if values is None else values
    rows = [dict(zip("abcd", row, strict=True)) for row in table.tolist()]
    times = [START + timedelta(seconds=second) for second in seconds]
    source = MemorySource(model.signals, rows, times, most=more.pop("most", 100))
    store = MemoryStore()
    Watch(Monitor(model, describe=describe), source, store, now=FakeClock(), **more).run()
    events = list(store.events())
    store.close()
    return events if kind is None else [event for event in events if event["kind"] == kind]


def about_rows(events: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(e["event"], e["problem"]) for e in events if "(stream)" in e["signals"]]


STEADY = [float(k) for k in range(300)]


def test_rows_that_are_judged_are_no_matter(model: NormalModel) -> None:
    assert about_rows(watched(model, STEADY)) == []
    assert about_rows(watched(model, STEADY, most=1)) == []


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_a_clock_that_stands_still(model: NormalModel, most: int) -> None:
    still = STEADY[:100] + [99.0] * 200
    (raised,) = watched(model, still, most=most)
    assert (raised["event"], raised["kind"]) == ("raised", "health")
    assert raised["problem"] == "not_judged"
    assert raised["headline"].startswith("Rows come from memory and are not judged: ")
    assert "have the time of the row before: the clock stands still" in raised["headline"]
    assert "; the last tick was judged at 2" in raised["headline"] or most == 1000


@pytest.mark.parametrize("step", [0.0, 1e-6])
@pytest.mark.parametrize("rows", [10, 30, 300])
def test_what_comes_meanwhile_says_nothing_about_the_plant(
    model: NormalModel, rows: int, step: float
) -> None:
    """The tick of such rows is a mean over far more time than it seems."""
    still = STEADY[:100] + [99.0 + step * k for k in range(rows)] + STEADY[100:140]
    drifting = normal(len(still)) + np.linspace(0.0, 30.0, len(still))[:, None]
    drifting[:100], drifting[100 + rows :] = normal(100), normal(40)
    events = watched(model, still, drifting, kind=None)
    assert {event["kind"] for event in events} <= {"health"}


@pytest.mark.parametrize("most", [1, 1000])
def test_a_clock_that_hardly_moves(model: NormalModel, most: int) -> None:
    slow = STEADY[:100] + [99.0 + 1e-6 * k for k in range(200)]
    (raised,) = watched(model, slow, most=most)
    assert "their clock hardly moves" in raised["headline"]


def test_it_is_over_once_judging_goes_on(model: NormalModel) -> None:
    some = STEADY[:100] + [99.0] * 100 + [float(k) for k in range(100, 300)]
    events = about_rows(watched(model, some, normal(400)))
    assert events[0] == ("raised", "not_judged")
    assert [event for event, _ in events].index("cleared") == len(events) - 1


@pytest.mark.parametrize("most", [1, 1000])
def test_rows_that_come_too_slowly(model: NormalModel, most: int) -> None:
    """One finding: mechanisms cannot be judged by rows that are held constant."""
    slow = [4.0 * k for k in range(100)]
    (raised,) = watched(model, slow, normal(400)[::4], kind=None, most=most)
    assert (raised["event"], raised["problem"]) == ("raised", "rate_wrong")


@pytest.mark.parametrize("most", [1, 1000])
def test_a_second_sender_that_is_ahead(model: NormalModel, most: int) -> None:
    """Every row of the first sender is late, though ticks come as ever."""
    both = [second for k in range(100) for second in (float(k), k + 1.5)]
    values = np.repeat(normal(100), 2, axis=0)
    (raised,) = [e for e in watched(model, both, values, most=most) if e["event"] == "raised"]
    assert "are late, that is older than rows that came before them" in raised["headline"]


def test_some_late_rows_are_no_matter(model: NormalModel) -> None:
    late = [second for k in range(300) for second in ((float(k), k - 5.0) * (k % 8 == 0) or (k,))]
    assert about_rows(watched(model, late, normal(len(late)))) == []
    burst = STEADY[:100] + STEADY[50:60] + STEADY[100:]
    assert about_rows(watched(model, burst, normal(310))) == []


def test_holes_are_no_matter(model: NormalModel) -> None:
    holes = [k + 1000.0 * (k // 40) for k in range(300)]
    assert about_rows(watched(model, holes)) == []
    values = normal(300)
    values[100:250] = np.nan  # each signal is missing, which is reported as such
    events = watched(model, STEADY, values)
    assert about_rows(events) == []
    assert {event["problem"] for event in events} == {"missing"}


def test_stretches_too_short_to_be_judged_are_not_watched(model: NormalModel) -> None:
    """No hole is a matter of its own, but between such holes no tick ever has a score."""
    holes = [k + 20.0 * (k // 2) for k in range(300)]
    gaps = [20.0 * k for k in range(300)]
    for seconds in (holes, gaps):
        (raised,) = [e for e in watched(model, seconds) if e["problem"] == "not_judged"]
        assert "come after a gap" in raised["headline"]


# Files that grow


def lines(first: int, last: int, end: str = "") -> str:
    values = normal(600)
    return "".join(
        f"{(START + timedelta(seconds=k)).isoformat()},"
        + ",".join(f"{x:.6f}" for x in values[k])
        + f"{end}\n"
        for k in range(first, last)
    )


class Scripted(FileSource):
    """A followed file to which more is written whenever all of it has been read."""

    def __init__(self, path: Path, model: NormalModel, parts: Sequence[str]) -> None:
        self.clock_now = FakeClock()
        wanted = Wanted(model.signals, model.interval)
        super().__init__(
            str(path), wanted, follow=True, now=self.clock_now, sleep=self.clock_now.sleep
        )
        self._file, self._parts, self.left = path, list(parts), len(parts) + 1

    def poll(self, wait: float) -> Any:
        batch = super().poll(wait)
        if self._reader is not None and self._reader.idle:
            self.left -= 1
            if self._parts:
                with self._file.open("a") as file:
                    file.write(self._parts.pop(0))
        return batch

    @property
    def ended(self) -> bool:
        return self.left <= 0


def followed(path: Path, model: NormalModel, *parts: str) -> list[dict[str, Any]]:
    path.write_text("time,a,b,c,d\n" + lines(0, 100))
    store, source = MemoryStore(), Scripted(path, model, parts)
    watch = Watch(
        Monitor(model, describe=describe), source, store, silence=Silence(0.1), now=FakeClock()
    )
    watch.run()
    events = list(store.events())
    store.close()
    return events


def test_a_followed_file_gains_a_column(model: NormalModel, tmp_path: Path) -> None:
    events = followed(tmp_path / "log.csv", model, lines(100, 200, ",5"), lines(200, 400))
    assert events[0]["problem"] == "not_judged"
    assert "100 of the last 1" in events[0]["headline"]
    assert "are lines that cannot be read" in events[0]["headline"]
    assert events[-1]["event"] == "cleared"


def test_one_bad_line_in_ten_is_no_matter(model: NormalModel, tmp_path: Path) -> None:
    """Though 45 of them are read at once, with the good ones between them."""
    good = lines(100, 500).splitlines(keepends=True)
    mixed = "".join("what?\n" * (k % 9 == 0) + line for k, line in enumerate(good))
    assert followed(tmp_path / "log.csv", model, mixed) == []


def test_a_header_in_the_middle_says_so(model: NormalModel, tmp_path: Path) -> None:
    swapped = "".join(
        ",".join([t, b, a, c, d]) + "\n"
        for t, a, b, c, d in (line.split(",") for line in lines(100, 300).splitlines())
    )
    assert followed(tmp_path / "a.csv", model, "time,b,a,c,d\n" + swapped) == []
    gained = "time,a,b,c,d,e\n" + lines(100, 300, ",5")
    assert followed(tmp_path / "b.csv", model, gained) == []


# A state to go on from


def test_a_restart_is_no_matter(model: NormalModel, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state")

    def go_on(seconds: Sequence[float], first: int) -> list[tuple[str, str]]:
        saved, monitor = store.load(), Monitor(model, describe=describe)
        if saved is not None:
            monitor.restore(saved.monitor)
        values = normal(first + len(seconds))[first:]
        rows = [dict(zip("abcd", row, strict=True)) for row in values.tolist()]
        times = [START + timedelta(seconds=second) for second in seconds]
        source = MemorySource(model.signals, rows, times)
        source.name = f"memory {first}"
        Watch(monitor, source, store, keep=True, saved=saved, now=FakeClock()).run()
        return about_rows(list(store.events()))

    assert go_on(STEADY[:100], 0) == []
    for k in range(100, 130, 3):  # again and again
        assert go_on([float(k), k + 1.0, k + 2.0], k) == []
    assert go_on([129.0] * 40, 130) == [("raised", "not_judged")]
    assert go_on([129.0] * 40, 170) == [("raised", "not_judged")]  # it is not told again
    assert go_on([float(k) for k in range(130, 400)], 130)[-1][0] == "cleared"
    store.close()


# The rule


def nothing_wrong() -> Mapping[str, int]:
    return {}


def test_the_rule() -> None:
    clock = FakeClock()
    liveness = Liveness(2.0, 3, now=clock)
    assert (liveness.blind, liveness.useless, liveness.age) == (False, 0.0, None)
    for _ in range(100):
        liveness.came(2, 0, nothing_wrong)
        liveness.tick(True)
        clock.sleep(2.0)
    assert (liveness.rows, liveness.judged, liveness.age) == (200, 200, 2.0)
    clock.sleep(1e6)  # no rows: nothing to say
    assert not liveness.blind
    liveness.came(24, 0, nothing_wrong)
    assert not liveness.blind
    liveness.came(1, 0, nothing_wrong)
    assert liveness.blind
    liveness.tick(True)
    assert not liveness.blind


def test_the_first_ticks_of_a_stretch_count_neither_way() -> None:
    liveness = Liveness(20.0, 3)
    for _ in range(3):
        liveness.came(20, 0, nothing_wrong)
        liveness.tick(False)
    assert liveness.useless == 0.0
    for _ in range(2):
        liveness.came(20, 0, nothing_wrong)
        liveness.tick(False)
    assert not liveness.blind
    liveness.came(20, 0, nothing_wrong)
    assert liveness.blind
    for _ in range(100):  # nor do those without any value
        liveness.came(20, 0, nothing_wrong)
        liveness.tick(False, empty=True)
    assert liveness.blind


def test_it_says_that_rows_come_too_slowly() -> None:
    liveness = Liveness(1.0, 3)
    for _ in range(40):
        liveness.came(1, 0, nothing_wrong)
        liveness.tick(False)
        liveness.tick(False, thin=True)
    assert liveness.blind
    assert "they come too slowly" in liveness.sentence("a pipe", {}, 0.0)
    for _ in range(100):
        liveness.came(1, 0, nothing_wrong)
        liveness.tick(False)
    assert "too many signals or earlier ticks are missing" in liveness.sentence("a pipe", {}, 0.0)


@pytest.mark.parametrize("rows_per_tick", [1, 10, 100])
def test_it_sees_again_for_good(rows_per_tick: int) -> None:
    liveness, blind = Liveness(float(rows_per_tick), 3, blind=True), []
    for _ in range(100 * rows_per_tick):
        liveness.came(1, 0, nothing_wrong)
        blind.append(liveness.blind)
        if liveness.rows % rows_per_tick == 0:
            liveness.tick(True)
    assert blind == sorted(blind, reverse=True)
    assert 40 < sum(blind) <= max(80, 8 * rows_per_tick)


def test_it_depends_on_the_rows_alone() -> None:
    def share(pieces: int) -> float:
        liveness, dropped = Liveness(1.0, 3), 0
        for _ in range(0, 60, pieces):
            dropped += pieces // 3
            liveness.came(pieces, dropped, nothing_wrong)
        return liveness.useless

    assert share(3) == pytest.approx(share(30))


# Who is told


def test_probes_and_metrics(model: NormalModel) -> None:
    clock = FakeClock()
    metrics = Metrics("line 1", now=clock)
    server, store = MetricsServer(metrics, port=0), MemoryStore()

    def ask(path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    values = normal(500)
    rows = [dict(zip("abcd", row, strict=True)) for row in values.tolist()]
    source = MemorySource(model.signals, endless=True)
    watch = Watch(Monitor(model, describe=describe), source, store, observers=[metrics], now=clock)
    answers = []

    def script() -> Iterator[None]:
        source.add(rows[:100], [START + timedelta(seconds=k) for k in range(100)])
        yield
        answers.append((ask("/healthz"), ask("/metrics")))
        source.add(rows[:100], [START + timedelta(seconds=99)] * 100)
        yield
        answers.append((ask("/healthz"), ask("/metrics")))
        source.add(rows[100:], [START + timedelta(seconds=k) for k in range(100, 500)])
        yield
        answers.append((ask("/healthz"), ask("/metrics")))
        source.finish()
        yield

    steps, poll = script(), source.poll

    def scripted(wait: float) -> Any:
        batch = poll(0.0)
        if not len(batch):
            watch._standing.tell(watch.last)
            next(steps)
        return batch

    source.poll = scripted  # type: ignore[method-assign]
    watch.run()
    server.close()
    store.close()
    (well, before), (ill, during), (again, after) = answers
    assert (well[0], again[0]) == (200, 200)
    assert ill[0] == 503
    assert ill[1].startswith("Rows come from memory and are not judged: ")
    assert "causewatch_judging 1.0" in before[1]
    assert "causewatch_judging 0.0" in during[1]
    assert 'signal_unwell{signal="(stream)",state="not_judged"} 1.0' in during[1]
    assert 'alarms_on{kind="health"} 1.0' in during[1]
    assert "causewatch_rows_came_total 200.0" in during[1]
    # All but the last tick, which is still open, and perhaps the first ones.
    judged = re.search(r"^causewatch_rows_judged_total (\d+)", during[1], re.MULTILINE)
    assert judged is not None
    assert 90 <= int(judged[1]) < 100
    assert "causewatch_judged_age_seconds 0.0" in during[1]
    assert "causewatch_judging 1.0" in after[1]


class Foreign(MemorySource):
    """Gives its rows, then messages that make none, ten in each second of waiting."""

    status = "connected"

    def __init__(self, model: NormalModel, clock: FakeClock, kind: str, seconds: int) -> None:
        self.later = [dict(zip("abcd", row, strict=True)) for row in normal(400).tolist()]
        times = [START + timedelta(seconds=k) for k in range(100)]
        super().__init__(model.signals, self.later[:100], times, endless=True)
        self.clock_now, self.kind, self.left, self.count = clock, kind, seconds, 0

    @property
    def problems(self) -> Mapping[str, int]:  # type: ignore[override]
        return {self.kind: self.count}

    def poll(self, wait: float) -> Any:
        batch = super().poll(0.0)
        if not len(batch) and self.left:
            self.clock_now.sleep(1.0)
            self.count += 10 if self.left > 30 else 0
            self.left -= 1
            if not self.left:
                times = [START + timedelta(seconds=k) for k in range(100, 400)]
                self.add(self.later[100:], times)
                self.finish()
        return batch


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("unknown_tags", "are values of tags that nobody knows"),
        ("not_json", "cannot be used (not json)"),
        ("reconnects", ""),
    ],
)
def test_messages_that_make_no_row(model: NormalModel, kind: str, why: str) -> None:
    clock, store = FakeClock(), MemoryStore()
    source = Foreign(model, clock, kind, 120)
    monitor = Monitor(model, describe=describe)
    Watch(monitor, source, store, silence=Silence(60.0), now=clock).run()
    events = list(store.events())
    store.close()
    assert why in events[0]["headline"]
    problem = "not_judged" if why else "silent"
    assert about_rows(events) == [("raised", problem), ("cleared", problem)]


def test_messages_that_make_no_row_are_told_of_before_silence_would_be(model: NormalModel) -> None:
    clock, store = FakeClock(), MemoryStore()
    source = Foreign(model, clock, "not_json", 58)
    monitor = Monitor(model, describe=describe)
    Watch(monitor, source, store, silence=Silence(60.0), now=clock).run()
    events = list(store.events())
    store.close()
    assert about_rows(events) == [("raised", "not_judged"), ("cleared", "not_judged")]


# Slow plants


class Paced(MemorySource):
    """Gives a row now and then."""

    def __init__(self, model: NormalModel, clock: FakeClock, pace: float, *rows: Any) -> None:
        super().__init__(model.signals, *rows, most=1)
        self.clock_now, self.pace = clock, pace

    def poll(self, wait: float) -> Any:
        self.clock_now.sleep(self.pace)
        return super().poll(0.0)


def paced(
    model: NormalModel, pace: float, seconds: Sequence[float], values: Any
) -> tuple[list[tuple[str, str]], str]:
    """What was told about the rows, and why the probe says that nothing is judged."""
    rows = [dict(zip("abcd", row, strict=True)) for row in values.tolist()]
    times = [START + timedelta(seconds=second) for second in seconds]
    clock, store = FakeClock(), MemoryStore()
    source = Paced(model, clock, pace, rows, times)
    watch = Watch(Monitor(model, describe=describe), source, store, now=clock)
    watch.run()
    events = about_rows([event for event in store.events() if event["kind"] == "health"])
    store.close()
    return events, watch.status().blind


def test_a_slow_plant_need_not_wait_for_many_rows(
    model: NormalModel, caplog: pytest.LogCaptureFixture
) -> None:
    still = STEADY[:100] + [99.0] * 8  # three ticks' worth, and the one that is open
    assert paced(model, 0.5, still, normal(108)) == ([], "")
    assert paced(model, 10.0, still, normal(108))[0] == [("raised", "not_judged")]
    assert "6 of the last 16 have the time of the row before" in caplog.text
    assert paced(model, 10.0, STEADY[:100], normal(100)) == ([], "")


def test_probes_are_told_when_no_signal_has_a_value(model: NormalModel) -> None:
    values = normal(160)
    values[100:] = np.nan
    events, blind = paced(model, 1.0, STEADY[:160], values)
    assert events == []  # each signal is reported as missing
    assert blind == "Rows come from memory and are not judged: no signal has a value."
    assert paced(model, 1.0, STEADY[:115], values[:115])[1] == ""
    values[130:] = normal(160)[130:]
    assert paced(model, 1.0, STEADY[:160], values)[1] == ""


def test_a_reason_is_never_more_than_there_was() -> None:
    liveness = Liveness(1.0, 3)
    liveness.came(15, 0, nothing_wrong)
    text = liveness.sentence("plant", {"not_json": 60}, 0.0)
    assert "60 of the last 60 cannot be used (not json)" in text
