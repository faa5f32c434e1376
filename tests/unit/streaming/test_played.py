"""Playing a recording."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from causewatch.streaming.played import PlayedSource
from causewatch.streaming.source import Batch

SECOND = 1_000_000_000


class Rows:
    """A source of two batches."""

    clock, missing, problems = "naive", ("C",), {"late_rows": 1}
    name, status, guarantee = "test.csv", "reading", "replayed"

    def __init__(self, rows=1000):
        self.values = np.arange(rows * 3, dtype=float).reshape(rows, 3)
        self.times = np.arange(rows, dtype=np.int64) * SECOND
        self.closed = self.ended = False
        self.given = self.commits = 0

    def open(self, after):
        self.given = after.get("rows", 0)

    def poll(self, wait):
        rows = len(self.times)
        part = slice(self.given, rows // 2 if self.given < rows // 2 else rows)
        self.given = part.stop
        self.ended = self.given == rows
        return Batch(self.values[part], self.times[part])

    def committed(self):
        self.commits += 1

    def position(self):
        return {"rows": self.given}

    def close(self):
        self.closed = True


class FakeClock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.time, self.naps = 0.0, []

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.time += seconds


def batches_of(source, after=None):
    source.open(after or {})
    while not source.ended:
        yield source.poll(0.2)


def played(rows, speed, clock=None, **more):
    clock = clock or FakeClock()
    return PlayedSource(rows, 1.0, speed, now=clock.now, sleep=clock.sleep, **more)


@pytest.mark.parametrize("speed", [0.0, 100.0, 1e6, 1.0])
def test_no_row_is_lost_or_changed(speed):
    rows = Rows()
    batches = list(batches_of(played(rows, speed)))
    np.testing.assert_array_equal(np.concatenate([one.values for one in batches]), rows.values)
    np.testing.assert_array_equal(np.concatenate([one.times for one in batches]), rows.times)


def test_it_takes_as_long_as_the_speed_says():
    clock = FakeClock()
    for _ in batches_of(played(Rows(1000), 100.0, clock)):
        pass
    assert clock.time == pytest.approx(10.0, abs=0.11)
    assert max(clock.naps) <= 0.11  # small steps: it can be seen, and be stopped


def test_as_fast_as_possible_never_waits():
    clock = FakeClock()
    for _ in batches_of(played(Rows(), 0.0, clock)):
        pass
    assert sum(clock.naps) == 0.0


def test_time_lost_in_between_is_caught_up():
    clock = FakeClock()
    for _ in batches_of(played(Rows(1000), 100.0, clock)):
        clock.time += 0.05  # somebody works on the rows
    assert clock.time == pytest.approx(10.0, abs=0.1)


@pytest.mark.parametrize("batches", [0, 1, 2, 5, 6, 9, 10])
def test_it_goes_on_after_the_rows_given_out(batches):
    """Rows that are held back come in the next run, none comes twice."""
    first, rows = played(Rows(), 1000.0), Rows()  # a hundred rows at a time
    before = list(islice(batches_of(first), batches))
    saved = first.position()
    after = list(batches_of(played(rows, 0.0), saved))
    assert sum(map(len, before)) == 100 * batches
    found = np.concatenate([one.times for one in before + after])
    np.testing.assert_array_equal(found, rows.times)


def test_the_position_stays_while_rows_of_an_earlier_run_are_skipped():
    """They may come in other batches than before."""
    feed = played(Rows(10), 0.0)
    feed.open({"source": {}, "given": 7})
    assert not len(feed.poll(0.0))
    assert feed.position() == {"source": {"rows": 5}, "given": 2}
    np.testing.assert_array_equal(feed.poll(0.0).times, np.arange(7, 10) * SECOND)
    assert feed.position() == {"source": {"rows": 10}, "given": 0}


def test_rows_are_acknowledged_when_none_is_held_back():
    rows = Rows()
    feed = played(rows, 1000.0)
    commits = []
    for _ in batches_of(feed):
        feed.committed()
        commits.append(rows.commits)
    assert commits == [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]


def test_the_rest_is_the_feeds_own():
    rows = Rows()
    feed = played(rows, 0.0)
    assert (feed.clock, feed.missing, feed.problems) == ("naive", ("C",), {"late_rows": 1})
    assert (feed.name, feed.status, feed.guarantee) == ("test.csv", "reading", "replayed")
    feed.close()
    assert rows.closed
    assert feed.ended


def test_rows_that_are_held_back_are_not_given_out_after_the_end():
    feed = played(Rows(), 1000.0)
    feed.open({})
    assert len(feed.poll(0.0)) == 100
    feed.close()
    assert not len(feed.poll(0.0))
    assert feed.position() == {"source": {"rows": 0}, "given": 100}
