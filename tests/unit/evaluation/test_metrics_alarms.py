"""Alarms counted as an operator does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.evaluation.metrics.alarms import (
    delays,
    event_recall,
    false_alarms,
    false_alarms_per_day,
    first_alarms,
    share_under_alarm,
)

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=8)


@given(alarms=spans, events=spans)
def test_every_alarm_and_event_is_judged_as_the_definition_says(
    alarms: list[tuple[int, int]], events: list[tuple[int, int]]
) -> None:
    alarms.sort()
    raised = np.array([a for a, _ in alarms], dtype=np.int64)
    cleared = np.array([a + length for a, length in alarms], dtype=np.int64)
    starts = np.array([a for a, _ in events], dtype=np.int64)
    ends = np.array([a + length + 1 for a, length in events], dtype=np.int64)

    first = first_alarms(raised, starts, ends)
    false = false_alarms(raised, cleared, starts, ends)

    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        inside = [n for n, at in enumerate(raised) if start <= at < end]
        assert first[k] == (inside[0] if inside else -1)
    for n, (on, off) in enumerate(zip(raised, cleared, strict=True)):
        moments = set(range(on, max(off, on + 1)))
        touched = any(moments & set(range(a, b)) for a, b in zip(starts, ends, strict=True))
        assert false[n] == (not touched)


def test_an_alarm_that_is_always_on_notices_nothing_but_is_not_false_either() -> None:
    first = first_alarms([0], [10, 40], [20, 50])
    assert first.tolist() == [-1, -1]
    assert event_recall(first) == 0.0
    assert false_alarms([0], [np.iinfo(np.int64).max], [10, 40], [20, 50]).tolist() == [False]
    labels = np.zeros(60)
    labels[10:20] = labels[40:50] = 1
    assert share_under_alarm(labels, np.ones(60, dtype=bool)) == 1.0


def test_delays_run_from_the_start_of_the_event_to_its_first_alarm() -> None:
    raised = np.array([12, 13, 60])
    first = first_alarms(raised, [10, 30, 55], [20, 40, 70])
    late = delays(raised, [10, 30, 55], first)
    assert late[[0, 2]].tolist() == [2.0, 5.0]
    assert np.isnan(late[1])


def test_false_alarms_are_per_day_of_the_recording() -> None:
    assert false_alarms_per_day(3, 2 * 86_400) == 1.5
    with pytest.raises(SettingError, match="lasts 0 s"):
        false_alarms_per_day(3, 0.0)


def test_alarms_out_of_order_and_unequal_lengths_are_refused() -> None:
    with pytest.raises(SettingError, match="order"):
        first_alarms([3, 1], [0], [9])
    with pytest.raises(SettingError, match="2 entries and ends has 1"):
        first_alarms([3], [0, 1], [9])
    with pytest.raises(SettingError, match="equally many"):
        share_under_alarm([0, 1], [True])
