"""The NAB score: a slow twin, and what the benchmark's own program says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, NotEnoughDataError, SettingError, UnknownNameError
from causewatch.evaluation.metrics.nab import nab

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics" / "ranges.json"
PROFILES = {"standard": (0.11, 1.0), "reward_low_fp": (0.22, 1.0), "reward_low_fn": (0.11, 2.0)}


def rows(count, ranges):
    flags = np.zeros(count, dtype=np.int64)
    for start, stop in ranges:
        flags[start:stop] = 1
    return flags


def slow(labels, alarm, profile, probation):
    """Row by row; None if every window lies in the probation."""
    false_weight, missed_weight = PROFILES[profile]

    def sigma(y):
        return 2 / (1 + math.exp(5 * y)) - 1

    quiet = min(math.floor(probation * len(labels)), probation * 5000)
    windows, best, cost, before = [], {}, 0.0, None
    for row, flag in enumerate(labels):
        if flag:
            if not row or not labels[row - 1]:
                stop = row
                while stop < len(labels) and labels[stop]:
                    stop += 1
                window = (row, stop)
            before = window
            if row >= quiet:
                if window not in windows:
                    windows.append(window)
                if alarm[row]:
                    start, stop = window
                    value = sigma(-(stop - row) / (stop - start)) / sigma(-1)
                    best[window] = max(best.get(window, 0.0), value)
        elif alarm[row] and row >= quiet:
            far = math.inf
            if before is not None and before[1] - before[0] > 1:
                far = (row - before[1] + 1) / (before[1] - before[0] - 1)
            cost += false_weight * (1 if far > 3 else -sigma(far))
    if not windows:
        return None
    raw = sum(best.values()) - cost - missed_weight * (len(windows) - len(best))
    null = -missed_weight * len(windows)
    return 100 * (raw - null) / (len(windows) - null)


@st.composite
def recordings(draw, most=60):
    """Labels with at least one anomalous row, and alarms, maybe none."""
    count = draw(st.integers(1, most))
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    labels, alarm = np.array(draw(flags)), np.array(draw(flags))
    start = draw(st.integers(0, count - 1))
    labels[start : start + draw(st.integers(1, count))] = True
    return labels, alarm


@given(recordings(), st.sampled_from(list(PROFILES)), st.sampled_from([0.0, 0.15, 0.5]))
def test_it_is_the_slow_twin(recording, profile, probation):
    expected = slow(*recording, profile, probation)
    if expected is None:
        with pytest.raises(NotEnoughDataError, match="probation"):
            nab(*recording, profile=profile, probation=probation)
    else:
        found = nab(*recording, profile=profile, probation=probation)
        assert found == pytest.approx(expected, abs=1e-9)


@given(recordings(), st.sampled_from(list(PROFILES)))
def test_nothing_is_0_and_all_at_once_is_100(recording, profile):
    labels, _ = recording
    at_once = labels & ~np.concatenate([[False], labels[:-1]])
    assert nab(labels, np.zeros(len(labels)), profile=profile, probation=0) == 0
    assert nab(labels, at_once, profile=profile, probation=0) == pytest.approx(100)
    assert nab(labels, labels, profile=profile, probation=0) == pytest.approx(100)


def test_it_says_what_the_benchmark_says():
    frozen, compared = json.loads(GOLDEN.read_text()), 0
    for case in frozen["recordings"]:
        labels, alarm = (rows(case["rows"], case[name]) for name in ("events", "alarms"))
        for entry in case["nab"]:
            profile, probation = entry["settings"]
            found = nab(labels, alarm, profile=profile, probation=probation)
            assert found == pytest.approx(entry["said"][0], abs=frozen["about"]["tolerance"])
            compared += 1
    assert compared > 60


def test_early_is_better_and_false_alarms_cost_more_further_behind():
    labels = rows(1000, [(400, 500)])
    early, late = (nab(labels, rows(1000, [(row, row + 1)])) for row in (410, 490))
    assert 100 > early > late > 0
    base = rows(1000, [(400, 401)])
    near, far, farther = (
        nab(labels, base | rows(1000, [(row, row + 1)])) for row in (510, 600, 900)
    )
    assert 100 > near > far > farther
    assert nab(labels, rows(1000, [(600, 1000)])) < -1000  # every row of a long one costs


def test_the_profiles_weigh_what_their_names_say():
    labels = rows(1000, [(400, 500), (700, 800)])
    noisy = rows(1000, [(400, 401), (700, 701), (990, 995)])
    assert nab(labels, noisy, profile="reward_low_fp") < nab(labels, noisy)
    assert nab(labels, noisy, profile="reward_low_fn") > nab(labels, noisy)
    late = rows(1000, [(495, 496), (795, 796)])
    assert nab(labels, late, profile="reward_low_fn") > nab(labels, late)  # better than never


def test_nothing_counts_in_the_probation():
    labels = rows(1000, [(50, 80), (400, 500)])
    alarm = rows(1000, [(0, 100), (400, 401)])
    assert nab(labels, alarm) == pytest.approx(100)
    assert nab(labels, alarm, probation=0) < 0
    # The share is of 5000 rows at most: of 20 000 rows the first 750 do not count, not 3000.
    labels, alarm = rows(20_000, [(2000, 2100)]), rows(20_000, [(749, 751), (2000, 2001)])
    assert nab(labels, alarm) == pytest.approx(100 - 100 * 0.11 / 2)


def test_behind_a_window_of_one_row_a_false_alarm_costs_all():
    # The benchmark's own program divides by zero here.
    found = nab([0, 1, 0, 0], [0, 1, 1, 0], probation=0)
    assert found == pytest.approx(100 - 100 * 0.11 / 2)


def test_a_long_recording_is_left_alone():
    random = np.random.default_rng(0)
    labels, alarm = np.cumsum(random.random((2, 450_000)) < 0.02, axis=1) % 2
    labels.flags.writeable = alarm.flags.writeable = False
    assert nab(labels, alarm) < 0
    found = nab(labels[:9000], alarm[:9000])
    assert found == pytest.approx(slow(labels[:9000], alarm[:9000], "standard", 0.15))


def test_what_makes_no_sense_is_refused_in_a_sentence():
    with pytest.raises(SettingError, match="2 labels"):
        nab([0, 1], [0, 1, 1])
    with pytest.raises(CausewatchError, match="nothing to detect"):
        nab([0, 0], [0, 1])
    with pytest.raises(UnknownNameError, match="'standard'"):
        nab([0, 1], [0, 1], profile="standart")
    with pytest.raises(SettingError, match="probation is 2"):
        nab([0, 1], [0, 1], probation=2)
