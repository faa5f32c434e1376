"""The ring of the last ticks."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.monitor.course import FIELDS, Course, Recorder

SIGNALS = ("a", "b")


def filled(ticks, size=5):
    recorder = Recorder(SIGNALS, size)
    for k in range(ticks):
        rows = [np.array([10 * f + k, -k], dtype=float) for f in range(len(FIELDS))]
        recorder.add(k * 100, None if k == 0 else k / 10, *rows)
    return recorder


@pytest.mark.parametrize("ticks", [0, 1, 4, 5, 6, 13])
def test_the_last_ticks_oldest_first(ticks):
    course = filled(ticks).course()
    kept = range(max(0, ticks - 5), ticks)
    assert len(course) == len(kept)
    assert course.time.tolist() == [100 * k for k in kept]
    assert course.signals == SIGNALS
    for f, name in enumerate(FIELDS):
        found = getattr(course, name)
        assert found.shape == (len(kept), 2)
        assert found.tolist() == [[10 * f + k, -k] for k in kept]


def test_a_tick_without_a_score_has_none():
    score = filled(3).course().score
    assert np.isnan(score[0])
    assert score[1:].tolist() == [0.1, 0.2]


def test_a_course_is_a_copy():
    recorder = filled(5)
    course = recorder.course()
    before = course.values.copy()
    recorder.add(900, 1.0, *[np.full(2, 99.0)] * len(FIELDS))
    assert np.array_equal(course.values, before)
    course.values[:] = -1.0
    assert recorder.course().values[0].tolist() == [1.0, -1.0]


def test_what_was_given_may_be_changed_afterwards():
    recorder = Recorder(SIGNALS, 3)
    row = np.zeros(2)
    recorder.add(0, 0.5, *[row] * len(FIELDS))
    row[:] = 7.0
    assert recorder.course().values.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("ticks", [0, 3, 7])
def test_a_restored_ring_goes_on(ticks):
    first, second = filled(ticks), Recorder(SIGNALS, 5)
    saved = first.snapshot()
    second.restore(saved)
    for k in range(4):
        rows = [np.full(2, float(k))] * len(FIELDS)
        first.add(10_000 + k, 0.1, *rows)
        second.add(10_000 + k, 0.1, *rows)
    for name, value in first.course().to_state().items():
        assert np.array_equal(value, second.course().to_state()[name], equal_nan=True)
    assert saved["count"] == ticks  # the snapshot is not the ring itself


def test_a_course_comes_back_from_its_state():
    course = filled(7).course()
    back = Course.from_state(SIGNALS, course.to_state())
    assert back.signals == SIGNALS
    for name in ("time", "score", *FIELDS):
        assert np.array_equal(getattr(back, name), getattr(course, name), equal_nan=True)


def test_a_clock_that_was_set_back_begins_anew():
    recorder = filled(8)
    for k in range(3):
        recorder.add(300 + k, 0.0, *[np.full(2, float(k))] * len(FIELDS))
    course = recorder.course()
    assert course.time.tolist() == [300, 301, 302]
    assert course.values[:, 0].tolist() == [0, 1, 2]
