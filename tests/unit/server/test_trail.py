"""The ring of ticks, against a list that keeps everything."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.monitor.tick import Named, Tick
from causewatch.server import trail as module
from causewatch.server.trail import PARTS, Run, Trail, thin

SECOND = 1_000_000_000
NAMES = {"a": 0, "b": 1, "c": 2}


def tick(number: int, score: float | None = None, alarm: bool = False) -> Tick:
    values = np.array([number, number + 0.25, np.nan])
    return Tick(
        number * SECOND,
        True,
        score,
        alarm,
        Named(NAMES, values / 100),
        Named(NAMES, values + 1),
        values=Named(NAMES, values),
    )


def small(size: int) -> Trail:
    trail = Trail(3, memory=0)
    assert trail.size == module.SPARE + 1
    return Trail(3, memory=size * (3 * 3 * 8 + 17))


@given(st.integers(0, 400), st.integers(70, 150), st.integers(0, 450), st.integers(0, 450))
def test_it_gives_what_a_list_would(count: int, size: int, begin: int, end: int) -> None:
    trail = small(size)
    for number in range(count):
        trail.add(tick(number, float(number)))
    kept = list(range(count)) if count < size else list(range(count - size + module.SPARE, count))
    wanted = [n for n in kept if begin <= n <= end]
    run = trail.since(begin * SECOND, end * SECOND, (1, 0))
    assert (run.time // SECOND).tolist() == wanted
    assert run.score.tolist() == wanted
    assert run.parts["values"].tolist() == [[n + 0.25, n] for n in wanted]
    assert run.parts["expected"].tolist() == [[n + 1.25, n + 1] for n in wanted]
    np.testing.assert_allclose(
        run.parts["evidence"], np.array([[n + 0.25, n] for n in wanted]).reshape(-1, 2) / 100
    )
    assert trail.first == (kept[0] * SECOND if kept else None)


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 20))
def test_what_is_new_ends_with_the_last_tick(count: int, number: int, most: int) -> None:
    trail = small(100)
    for k in range(count):
        trail.add(tick(k))
    run = trail.after(number, most, range(3))
    found = (run.time // SECOND).tolist()
    assert len(found) <= most
    assert all(k >= number for k in found)
    if number < count:
        assert found[-1] == count - 1
    assert found == sorted(set(found))


def test_what_is_missing_stays_missing() -> None:
    trail = small(100)
    trail.add(tick(1, None))
    run = trail.since(None, None, (2,))
    assert np.isnan(run.score).all()
    assert np.isnan(run.parts["values"]).all()


def test_alarms_are_kept() -> None:
    trail = small(100)
    for number in range(5):
        trail.add(tick(number, alarm=number == 3))
    assert trail.since(None, None, ()).alarm.tolist() == [False, False, False, True, False]


def test_memory_is_bounded() -> None:
    for columns in (1, 51, 240, 5000):
        trail = Trail(columns)
        taken = trail._rows.nbytes + trail._time.nbytes + trail._score.nbytes
        assert taken <= module.MEMORY * 1.01 or trail.size == module.SPARE + 1


def test_a_reader_never_sees_half_a_tick() -> None:
    """While somebody writes as fast as he can."""
    trail = small(80)
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set() and number < 200_000:
            trail.add(tick(number, float(number)))
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            run = trail.since(None, None, (0, 1))
            seconds = run.time / SECOND
            np.testing.assert_array_equal(run.score, seconds)
            np.testing.assert_array_equal(run.parts["values"][:, 0], seconds)
            np.testing.assert_array_equal(run.parts["expected"][:, 1], seconds + 1.25)
    finally:
        over.set()
        writer.join()


def a_run(count: int, seed: int = 1) -> Run:
    random = np.random.default_rng(seed)
    parts = {name: random.normal(size=(count, 2)) for name in PARTS}
    parts["values"][random.random((count, 2)) < 0.1] = np.nan
    score = random.random(count)
    score[random.random(count) < 0.1] = np.nan
    return Run(np.arange(count) * SECOND, score, random.random(count) < 0.1, parts)


@given(st.integers(0, 500), st.integers(1, 60), st.integers(0, 5))
def test_thinning_keeps_what_sticks_out(count: int, most: int, seed: int) -> None:
    run = a_run(count, seed)
    thinned = thin(run, most)
    assert len(thinned) <= max(most, 0) or count <= most
    if not count:
        return
    assert thinned.time[-1] == run.time[-1]
    if np.isfinite(run.score).any():
        assert np.nanmax(thinned.score) == np.nanmax(run.score)
    assert thinned.alarm.any() == run.alarm.any()
    off = np.abs(run.parts["values"] - run.parts["expected"])
    kept = np.abs(thinned.parts["values"] - thinned.parts["expected"])
    for column in range(2):
        if np.isfinite(off[:, column]).any():
            assert np.nanmax(kept[:, column]) == np.nanmax(off[:, column])


def test_thinned_ticks_belong_together() -> None:
    """Of each signal: value, expected and evidence are of the same tick."""
    run = a_run(1000)
    thinned = thin(run, 37)
    for column in range(2):
        whole = np.stack([run.parts[name][:, column] for name in PARTS], axis=1)
        for one in np.stack([thinned.parts[name][:, column] for name in PARTS], axis=1):
            same = np.isclose(whole, one, equal_nan=True).all(axis=1)
            assert same.any()


@pytest.mark.parametrize("columns", [(), (0,)])
def test_thinning_without_signals(columns: tuple[int, ...]) -> None:
    run = a_run(100)
    cut = Run(run.time, run.score, run.alarm, {k: v[:, columns] for k, v in run.parts.items()})
    assert thin(cut, 10).parts["values"].shape == (10, len(columns))
