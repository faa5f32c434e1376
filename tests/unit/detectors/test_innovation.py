"""The default detector against its slow twin, and against what its rules promise."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import DetectorSettings, Equations, InnovationDetector, Limits
from causewatch.detectors.reestimate import reestimate

sys.path.insert(0, str(Path(__file__).parents[2]))
from naive_detector import NaiveDetector


def equations_of(signals, max_lag, links, intercept=None, spread=None):
    """Mechanisms from links (source, target, lag, coefficient)."""
    links = sorted(links, key=lambda link: (link[1], link[0], link[2]))
    return Equations(
        signals=signals,
        max_lag=max_lag,
        source=np.array([link[0] for link in links], dtype=np.intp),
        target=np.array([link[1] for link in links], dtype=np.intp),
        lag=np.array([link[2] for link in links], dtype=np.intp),
        coefficient=np.array([float(link[3]) for link in links]),
        intercept=np.zeros(signals) if intercept is None else np.array(intercept, dtype=float),
        spread=np.ones(signals) if spread is None else np.array(spread, dtype=float),
    )


def limits_of(equations, statistics=100.0, still=math.inf, **given):
    """Limits that are the same for all statistics of innovations, and one of standing still."""
    settings = given.get("settings", DetectorSettings())
    rows = len(settings.means) + len(settings.squares) + 1
    table = np.broadcast_to(np.asarray(statistics, float), (rows, equations.signals)).copy()
    table[-1] = still
    values = {
        "moving": 1.0,
        "links": np.ones(len(equations.source)),
        "centre": np.zeros(equations.signals),
        "scale": np.ones(equations.signals),
        "low": np.full(equations.signals, np.nan),
        "high": np.full(equations.signals, np.nan),
        "false_alarm_every": 1000.0,
        "supported": 1000.0,
    } | given
    return Limits(table, **values)


def drawn_system(rng, signals, max_lag, share, lag_0):
    """Random mechanisms: own pasts with some chance, links between signals with another."""
    links = []
    for target in range(signals):
        for source in range(signals):
            for lag in range(0 if lag_0 and source != target else 1, max_lag + 1):
                if rng.random() < share:
                    links.append((source, target, lag, rng.normal(scale=0.6)))
    intercept, spread = rng.normal(size=signals), rng.uniform(0.3, 2.0, size=signals)
    return equations_of(signals, max_lag, links, intercept, spread)


def drawn_limits(rng, equations):
    """Random limits, such that scores lie on both sides of one."""
    number = equations.signals
    largest = rng.uniform(2.0, 6.0, size=(4, number)) * np.array([1.0, 0.5, 0.6, 1.0])[:, None]
    largest[-1] = np.where(rng.random(number) < 0.3, np.inf, rng.uniform(1.0, 9.0, size=number))
    return limits_of(
        equations,
        largest,
        largest[-1],
        moving=rng.uniform(0.0, number),
        centre=rng.normal(size=number),
        scale=rng.uniform(0.5, 2.0, size=number),
        low=np.where(rng.random(number) < 0.2, np.nan, rng.uniform(-2.0, -0.5, size=number)),
        high=rng.uniform(0.5, 2.0, size=number),
    )


def drawn_stream(rng, signals, ticks, missing, gaps):
    """Rows with single missing values, bursts of them and rows without any value; and gaps."""
    rows = rng.normal(size=(ticks, signals)) * rng.uniform(0.5, 1.5, size=signals)
    rows[ticks // 2 :, 0] += 6.0
    for _ in range(ticks // 30):
        start, signal = rng.integers(ticks), rng.integers(signals)
        rows[start : start + rng.integers(2, 20), signal] = rows[start, signal]
    rows[rng.random(ticks) < 0.05] *= 1.0 + 1e-15  # rounded otherwise
    if missing:
        rows[rng.random(rows.shape) < 0.05] = np.nan
        rows[rng.random(rows.shape) < 0.005] = np.inf  # as good as missing
        for _ in range(ticks // 50):
            start, signal = rng.integers(ticks), rng.integers(signals)
            rows[start : start + rng.integers(2, 12), signal] = np.nan
        rows[rng.random(ticks) < 0.02] = np.nan
    new = np.zeros(ticks, dtype=bool)
    new[0] = True
    if gaps:
        new[rng.random(ticks) < 0.02] = True
    return rows, new


def same_as_twin(equations, limits, rows, new, fresh=None, accepted=None):
    """Run both; the scores, and the evidence of standing still."""
    fast, slow = InnovationDetector(equations, limits), NaiveDetector(equations, limits)
    given, got, wanted, still = rows.copy(), [], [], []
    for t, (row, begins) in enumerate(zip(rows, new.tolist(), strict=True)):
        own = None if fresh is None else fresh[t]
        evidence = fast.update(row, begins, own)
        score, heights, expected = slow.update(row, begins, own)
        assert (evidence.score is None) == (score is None)
        got.append([evidence.signals, evidence.expected, fast.innovation, *fast.sizes.copy()])
        wanted.append([heights, expected, slow.innovation, *slow.sizes])
        got[-1].append([np.nan if score is None else evidence.score])
        wanted[-1].append([np.nan if score is None else score])
        still.append(fast.sizes[-1].copy())
        if accepted == t:
            fast.accept(0)
            slow.accept(0)
    assert_allclose(
        np.concatenate([np.concatenate(tick) for tick in got]),
        np.concatenate([np.concatenate(tick) for tick in wanted]),
        rtol=1e-9,
        atol=1e-11,
    )
    assert_array_equal(rows, given)
    return np.array([tick[-1][0] for tick in wanted]), np.array(still)


SYSTEMS = {
    "dense": (4, 3, 0.4, False),
    "lag 0 too": (3, 2, 0.4, True),
    "some without links": (5, 2, 0.08, False),
    "no links at all": (3, 1, 0.0, False),
    "one signal": (1, 2, 0.9, False),
    "one signal without links": (1, 1, 0.0, False),
    "longer history than links": (3, 6, 0.03, False),
}


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("kind", SYSTEMS)
def test_it_equals_the_twin(kind, missing, gaps):
    seen, still = [], []
    for seed in range(3):
        rng = np.random.default_rng([seed, len(kind), missing, gaps])
        signals, max_lag, share, lag_0 = SYSTEMS[kind]
        equations = drawn_system(rng, signals, max_lag, share, lag_0)
        limits = drawn_limits(rng, equations)
        rows, new = drawn_stream(rng, signals, 150, missing, gaps)
        fresh = rng.random(rows.shape) < 0.9 if seed else None
        scores, stood = same_as_twin(equations, limits, rows, new, fresh, accepted=80)
        seen.append(scores)
        still.append(stood.max())
    scores = np.concatenate(seen)
    assert np.nanmax(scores) > 1.0
    assert np.nanmin(scores) < 0.7
    assert signals == 1 or max(still) > 2.0


def test_it_equals_the_twin_where_own_pasts_never_forget():
    equations = equations_of(
        2, 2, [(0, 0, 1, 1.6), (0, 0, 2, -0.7), (1, 1, 1, 1.0), (0, 1, 1, 0.2)]
    )
    rng = np.random.default_rng(3)
    rows = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    same_as_twin(equations, drawn_limits(rng, equations), rows, np.arange(200) == 0)


# Evidence and limits


@pytest.mark.parametrize(
    ("row", "limit"), [(0, 3.0), (1, 5085 / 4096), (2, math.sqrt(9 - 8 * (7 / 8) ** 4))]
)
def test_evidence_is_exactly_one_at_the_limit(row, limit):
    equations = equations_of(2, 1, [], spread=[1.0, 0.5])
    table = np.full((4, 2), 1e9)
    table[row] = limit
    detector = InnovationDetector(equations, limits_of(equations, table))

    def after_four(values):
        """Evidence at the last of four equal ticks: of one, a memory takes in less."""
        for tick in range(4):
            evidence = detector.update(np.array(values), tick == 0)
        return evidence

    # Of an innovation of 3, the mean over eight comes to 3 − 3 · (7/8)⁴, and the mean square, which
    # begins at 1, to 9 − 8 · (7/8)⁴.
    evidence = after_four([3.0, 0.0])
    assert evidence.signals[0] == 1.0
    assert evidence.score == 1.0
    after_four([0.0, 0.0])
    assert after_four([3.0 + 1e-9, 0.0]).score > 1.0
    assert after_four([-3.0, 0.0]).score == 1.0  # both sides alike
    assert after_four([0.0, 1.5]).signals[1] == 1.0  # in spreads


def test_evidence_of_standing_still_is_exactly_one_at_the_limit():
    equations = equations_of(3, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1e9, 7.0, moving=2.0))
    for tick in range(10):
        evidence = detector.update(np.array([5.0, tick, -tick]), tick == 0).signals
        assert evidence[0] == pytest.approx(max(tick / 7.0, 5e-9), abs=1e-8)
        assert max(evidence[1:]) < 1e-6
        assert (evidence[0] == 1.0) == (tick == 7)


def test_standing_still_for_hours_is_no_worse_than_for_minutes():
    equations = equations_of(2, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1e9, 3.0))
    evidence = [detector.update(np.array([5.0, tick]), tick == 0).signals[0] for tick in range(50)]
    assert_allclose(evidence[3:7], [1.0, 4 / 3, 5 / 3, 2.0])
    assert set(evidence[6:]) == {2.0}
    assert_allclose(detector.sizes[-1], [49.0, 0.0])  # though it is known for how long


def test_the_largest_evidence_is_the_score():
    equations = equations_of(3, 1, [])
    table = np.array([[2.0, 4.0, 8.0]] * 3 + [[np.inf] * 3])
    detector = InnovationDetector(equations, limits_of(equations, table))
    evidence = detector.update(np.array([3.0, -8.0, 12.0]), True)
    assert_array_equal(evidence.signals, [1.5, 2.0, 1.5])
    assert evidence.score == 2.0


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_what_enters_a_memory_is_cut_at_three_limits_and_a_single_tick_is_not(side):
    equations = equations_of(2, 1, [])
    table = np.array([[5.0, 5.0], [2.0, 2.5], [4.0, 3.0], [np.inf, np.inf]])
    for value in (1e6, 1e300):
        detector = InnovationDetector(equations, limits_of(equations, table))
        detector.update(np.array([side * value, side * value]), True)
        assert_array_equal(detector.sizes[0], value)
        assert_array_equal(detector.sizes[1], [3 * 2.0 / 8, 3 * 2.5 / 8])
        squares = [(7 + 3 * 16.0) / 8, (7 + 3 * 9.0) / 8]
        assert_allclose(detector.sizes[2], np.sqrt(squares), rtol=1e-15)
    detector.update(np.array([side * 6.0, side * math.sqrt(27.0)]), True)  # as far as it goes
    assert detector.sizes[1, 0] == 3 * 2.0 / 8
    assert_allclose(detector.sizes[2, 1], math.sqrt((7 + 3 * 9.0) / 8), rtol=1e-15)
    detector.update(np.array([side * 5.9, side * 5.1]), True)
    assert detector.sizes[1, 0] == pytest.approx(5.9 / 8)
    assert detector.sizes[2, 1] == pytest.approx(math.sqrt((7 + 5.1**2) / 8))


def test_other_settings_make_other_statistics():
    settings = DetectorSettings(means=(3,), squares=(), memory_cut=4.0)
    equations = equations_of(1, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1.0, settings=settings))
    evidence = detector.update(np.array([9.0]), True)
    assert detector.sizes.shape == (2, 1)
    assert evidence.score == pytest.approx(4.0 / 3)


@pytest.mark.parametrize("ticks", [1, 3, 60])
@pytest.mark.parametrize("size", [10.0, 1e6, 1e150])
def test_an_event_of_any_size_and_length_is_forgotten_in_nine_ticks(size, ticks):
    equations = equations_of(1, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1.5))
    for tick in range(ticks):
        assert detector.update(np.array([size]), tick == 0).score == size / 1.5
    # A mean is never above three limits, nor is a mean square above three squared limits; an eighth
    # of it is forgotten at a tick.
    scores = [detector.update(np.zeros(1)).score for _ in range(9)]
    assert (scores[0] > 1.0) == (ticks > 1)
    assert scores[-1] <= math.sqrt(3 * (7 / 8) ** 9) < 1.0
    assert detector.sizes[0] == 0.0


def test_a_wild_value_leaves_no_trace_in_the_next_tick():
    equations = equations_of(1, 1, [])
    detector = InnovationDetector(equations, limits_of(equations))
    for wild in (1e17, -1e300):
        detector.update(np.array([wild]))
        detector.update(np.array([0.5]))
        assert detector.sizes[0] == 0.5


def test_a_change_that_was_undone_is_soon_over():
    equations = equations_of(1, 1, [(0, 0, 1, 1.0)])
    detector = InnovationDetector(equations, limits_of(equations, 1.5))
    scores = [
        detector.update(np.array([50.0 if 30 <= t < 60 else 0.0]), t == 0).score for t in range(100)
    ]
    assert scores[30] > 1.0
    assert scores[60] > 1.0
    assert max(scores[76:]) < 0.8
    assert max(scores[46:60]) < 1.0  # nothing is remembered of where the signal is


# Snapshots


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 60))
def test_a_restored_detector_has_bitwise_the_same_future(seed, tick):
    rng = np.random.default_rng(seed)
    equations = drawn_system(rng, 3, 2, 0.3, True)
    limits = drawn_limits(rng, equations)
    rows, new = drawn_stream(rng, 3, 90, missing=True, gaps=True)
    whole = InnovationDetector(equations, limits)
    for row, begins in zip(rows[:tick], new[:tick].tolist(), strict=True):
        whole.update(row, begins)
    if seed % 2:
        whole.accept(seed % 3)
    state = whole.snapshot()
    kept = {name: array.copy() for name, array in state.items()}
    again = InnovationDetector(equations, limits)
    for row in rng.normal(size=(seed % 7, 3)):  # what it saw before must leave no trace
        again.update(row, False)
    again.restore(state)
    for row, begins in zip(rows[tick:], new[tick:].tolist(), strict=True):
        evidence, same = whole.update(row, begins), again.update(row, begins)
        assert evidence.score == same.score
        assert evidence.signals.tobytes() == same.signals.tobytes()
        assert evidence.expected.tobytes() == same.expected.tobytes()
        assert whole.sizes.tobytes() == again.sizes.tobytes()
        assert whole.innovation.tobytes() == again.innovation.tobytes()
    assert_array_equal(whole.links().observed, again.links().observed)
    for name, array in kept.items():  # a snapshot does not live on
        assert_array_equal(state[name], array)
    for name, array in whole.snapshot().items():
        assert_array_equal(again.snapshot()[name], array)


# Hostile values

WILD = st.sampled_from(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-320, 1e16, -3.0, 1.0, 2.0]
)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(WILD, WILD, WILD, st.booleans()), min_size=1, max_size=25),
    st.integers(0, 50),
)
@example([(np.inf, 1.0, 1.0, False)] * 3 + [(1.0, 1.0, 1.0, False)] * 5, 0)
@example([(1e300, 1.0, 1.0, False)] + [(1.0, 1.0, 1.0, False)] * 5, 0)
@example([(1.0, 1.0, 1e300, False)] + [(1.0, 1.0, 1.0, False)] * 5, 0)
def test_wild_values_never_break_it(ticks, seed):
    equations = drawn_system(np.random.default_rng(seed), 3, 2, 0.4, False)
    ends = {"low": np.array([-1.0, -1.0, np.nan]), "high": np.array([1.0, 1e300, np.nan])}
    limits = limits_of(equations, [[2.0, 2.0, np.inf]] * 4, **ends)  # one that says nothing
    detector = InnovationDetector(equations, limits)
    for *row, begins in ticks:
        values = np.array(row)
        evidence = detector.update(values, begins)
        assert evidence.score is None or np.isfinite(evidence.score)
        assert np.isnan(evidence.signals[~np.isfinite(values)]).all()
        assert not np.isinf(evidence.signals).any()
        assert np.isfinite(detector.sizes).all()
        assert np.isfinite(detector.links().observed).all()
    for _ in range(equations.max_lag + 1):  # and it recovers
        evidence = detector.update(np.zeros(3))
    assert np.isfinite(evidence.signals).all()


@pytest.mark.parametrize(("spread", "limit"), [(0.1, 2.0), (1.0, 0.5), (1e-6, 1e-9)])
def test_the_largest_numbers_do_not_overflow(spread, limit):
    links = [(0, 0, 1, 0.5), (0, 1, 1, 3.0)]
    equations = equations_of(2, 1, links, spread=[spread, spread])
    ends = {"low": np.full(2, -1e308), "high": np.full(2, 1.0)}
    for value in (1.7e308, -1.7e308, 1e302, 1e200, 1e160):
        detector = InnovationDetector(equations, limits_of(equations, limit, **ends))
        for now in (value, -value, 0.0, 0.0, 0.0):
            evidence = detector.update(np.array([now, now]))
            assert evidence.score is None or np.isfinite(evidence.score)
            assert not np.isinf(evidence.signals).any()
            assert np.isfinite(detector.sizes).all()
        assert np.isfinite(evidence.signals).all()


def test_infinite_causes_at_lag_0_do_not_warn():
    equations = equations_of(3, 1, [(0, 2, 0, 1.0), (1, 2, 0, -1.0)])
    detector = InnovationDetector(equations, limits_of(equations, 2.0))
    evidence = detector.update(np.array([np.inf, np.inf, 0.0]))
    assert np.isnan(evidence.signals).all()


# Missing values


def test_an_unknown_signal_is_nan_and_never_raises_the_score():
    equations = equations_of(2, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1.0))
    for _ in range(30):
        assert detector.update(np.array([0.1, 6.0])).score > 5
    evidence = detector.update(np.array([0.1, np.nan]))
    assert np.isnan(evidence.signals[1])
    assert evidence.score == evidence.signals[0] < 1.0
    back = detector.update(np.array([0.1, 6.0]))  # its statistics stayed as they were
    assert back.signals[1] > 5


def test_nothing_known_is_no_score():
    equations = equations_of(2, 1, [(0, 1, 1, 0.2)])
    detector = InnovationDetector(equations, limits_of(equations, 1.0))
    detector.update(np.ones(2))
    before = detector.snapshot()["statistics"]
    evidence = detector.update(np.full(2, np.nan))
    assert evidence.score is None
    assert np.isnan(evidence.signals).all()
    assert_array_equal(detector.snapshot()["statistics"], before)


HUB = [(0, 0, 1, 0.9), (0, 1, 1, 2.0), (0, 2, 1, 0.1), (3, 3, 1, 0.5)]
"""Signal 1 leans on signal 0, signal 2 hardly, signal 3 not at all."""


def hub_rows(ticks, seed=0):
    rng = np.random.default_rng(seed)
    noise, rows = rng.normal(size=(ticks, 4)), np.zeros((ticks, 4))
    for t in range(1, ticks):
        rows[t] = noise[t]
        for source, target, lag, coefficient in HUB:
            rows[t, target] += coefficient * rows[t - lag, source]
    return rows


def test_a_missing_hub_blinds_only_what_leans_on_it_and_blames_nobody():
    equations = equations_of(4, 1, HUB)
    detector = InnovationDetector(equations, limits_of(equations, [[4.5], [2.2], [2.5], [1.0]]))
    rows = hub_rows(300)
    rows[100:140, 0] = np.nan
    evidence = np.array([detector.update(row, t == 0).signals for t, row in enumerate(rows)])
    assert np.isnan(evidence[100:140, 0]).all()
    assert np.isnan(evidence[101:141, 1]).all()  # leans on what was missing one tick ago
    assert np.isfinite(evidence[142:, :2]).all()
    assert np.isfinite(evidence[1:, 2:]).all()
    assert np.nanmax(evidence[:, 1:]) < 1.0  # the hub itself strays far by nature


def test_a_missing_cause_is_replaced_by_what_its_own_causes_say():
    equations = equations_of(2, 2, [(0, 0, 1, 0.5), (0, 1, 2, 0.1)], intercept=[1.0, 0.0])
    detector = InnovationDetector(equations, limits_of(equations))
    detector.update(np.array([4.0, 0.0]), True)
    assert detector.update(np.array([np.nan, 0.0])).expected[0] == 3.0
    assert detector.update(np.array([np.nan, 0.0])).expected[0] == 2.5
    assert detector.update(np.array([0.0, 0.0])).expected[1] == pytest.approx(0.3)
    assert detector.update(np.array([0.0, 0.0])).expected[1] == pytest.approx(0.25)


def test_a_hub_missing_from_the_start_does_not_blind_what_does_not_lean_on_it():
    equations = equations_of(4, 1, HUB)
    detector = InnovationDetector(equations, limits_of(equations))
    rows = hub_rows(50)
    rows[:, 0] = np.nan
    evidence = np.array([detector.update(row, t == 0).signals for t, row in enumerate(rows)])
    assert np.isfinite(evidence[10:, 2]).all()


def test_a_missing_cause_at_lag_0_blinds_only_what_leans_on_it():
    equations = equations_of(3, 1, [(0, 0, 1, 0.5), (0, 1, 0, 0.1), (0, 2, 0, 2.0)])
    detector = InnovationDetector(equations, limits_of(equations))
    detector.update(np.array([4.0, 0.4, 8.0]), True)
    evidence = detector.update(np.array([np.nan, 0.2, 4.0]))
    assert_allclose(evidence.expected, [2.0, 0.2, 4.0])  # as if signal 0 had been 2
    assert_array_equal(np.isfinite(evidence.signals), [False, True, False])


def test_a_hub_missing_for_long_does_not_blame_its_children():
    # What stands in for it ends up at its centre, from which the hub strays far by nature: a child
    # that leans on it is not judged, and one that hardly does is not blamed.
    links = [(0, 0, 1, 0.99), (0, 1, 1, 0.4), (0, 2, 1, 0.05)]
    equations = equations_of(3, 1, links)
    rng = np.random.default_rng(0)
    rows = np.zeros((1500, 3))
    for t in range(1, len(rows)):
        rows[t] = rng.normal(size=3) + rows[t - 1, 0] * np.array([0.99, 0.4, 0.05])
    table = np.array([[5.0], [1e9], [1e9], [1e9]])
    limits = limits_of(equations, table, scale=rows.std(axis=0))
    healthy = InnovationDetector(equations, limits)
    for t, row in enumerate(rows):
        assert (healthy.update(row, t == 0).score or 0.0) < 1.0
    rows[300:, 0] = np.nan
    detector = InnovationDetector(equations, limits)
    evidence = np.array([detector.update(row, t == 0).signals for t, row in enumerate(rows)])
    assert np.isfinite(evidence[1:300]).all()
    assert np.isnan(evidence[301:, :2]).all()
    assert np.isfinite(evidence[1:, 2]).all()
    assert np.nanmax(evidence) < 1.0


# Causes beyond their normal range


def unit_range(signals, **others):
    """Every signal was between −1 and 1 in normal operation."""
    return {"low": np.full(signals, -1.0), "high": np.full(signals, 1.0)} | others


def taken_in(detector, values, begins=False):
    """Innovations and what the statistics take in of them, as the mean over one tick shows it."""
    detector.update(np.array(values), begins)
    return detector.innovation, detector.sizes[0]


@pytest.mark.parametrize(
    ("cause", "factor"),
    [
        (1.0, 1.0),
        (-1.0, 1.0),
        (0.0, 1.0),
        (1.2, math.sqrt(1 + 0.8**2)),
        (-1.2, math.sqrt(1 + 0.8**2)),
        (1.4, math.sqrt(1 + 1.6**2)),
        (1.4330127018922192, 2.0),
        (1.5, 2.0),
        (-7.0, 2.0),
        (1e9, 2.0),
    ],
)
def test_a_spread_is_widened_by_what_a_cause_adds_beyond_its_range_at_most_twofold(cause, factor):
    equations = equations_of(2, 1, [(0, 1, 1, -2.0)], spread=[1.0, 0.5])
    detector = InnovationDetector(equations, limits_of(equations, **unit_range(2)))
    taken_in(detector, [cause, 0.0], True)
    left, taken = taken_in(detector, [0.0, -2.0 * cause + 1.5])
    assert left[1] == pytest.approx(3.0)  # an innovation is what it is
    assert_allclose(taken, [0.0, 3.0 / factor], rtol=1e-12)
    assert detector.sizes[1, 1] == pytest.approx(3.0 / factor / 8, rel=1e-12)
    square = (3.0 / factor) ** 2
    assert detector.sizes[2, 1] == pytest.approx(math.sqrt((7 + square) / 8), rel=1e-12)
    _, taken = taken_in(detector, [0.0, 1.5])  # what the cause does now is within its range
    assert taken[1] == 3.0


def test_what_several_causes_add_is_combined_by_squares_each_at_its_lag():
    links = [(0, 3, 0, 1.0), (1, 3, 1, 0.5), (2, 3, 2, -1.0), (0, 3, 2, 0.5)]
    equations = equations_of(4, 2, links, spread=[1.0, 1.0, 1.0, 2.0])
    detector = InnovationDetector(equations, limits_of(equations, **unit_range(4)))
    for tick in range(5):
        left, taken = taken_in(detector, [2.0, 2.0, 2.0, 0.0], tick == 0)
    assert_allclose(left[3], -1.0)
    squares = 0.5**2 + 0.25**2 + 0.5**2 + 0.25**2
    assert_allclose(taken[3], 1.0 / math.sqrt(1 + squares), rtol=1e-12)
    for squares in (0.25**2 + 0.5**2 + 0.25**2, 0.5**2 + 0.25**2, 0.0):
        left, taken = taken_in(detector, [0.0, 0.0, 0.0, 4.0])
        assert_allclose(taken[3], np.abs(left[3]) / math.sqrt(1 + squares), rtol=1e-12)


def test_a_signal_beyond_its_own_range_has_the_spread_it_always_had():
    equations = equations_of(2, 1, [(0, 0, 1, 1.0), (1, 0, 1, 0.3)])
    detector = InnovationDetector(equations, limits_of(equations, **unit_range(2)))
    taken_in(detector, [50.0, 0.0], True)
    left, taken = taken_in(detector, [52.0, 0.0])
    assert left[0] == taken[0] == 2.0
    taken_in(detector, [52.0, 3.0])
    left, taken = taken_in(detector, [52.0, 0.0])
    assert_allclose(taken[0], np.abs(left[0]) / math.sqrt(1 + 0.6**2), rtol=1e-12)


def test_what_is_missing_or_was_never_seen_widens_nothing():
    equations = equations_of(3, 1, [(0, 0, 1, 9.0), (0, 2, 1, 0.3), (1, 2, 1, 0.3)])
    never = {"low": np.array([-1.0, np.nan, -1.0]), "high": np.array([1.0, np.nan, 1.0])}
    detector = InnovationDetector(equations, limits_of(equations, **never))
    taken_in(detector, [0.9, 70.0, 0.0], True)
    left, taken = taken_in(detector, [np.nan, 70.0, 23.0])  # its own past says 8.1
    assert_allclose(taken[2], np.abs(left[2]), rtol=1e-12)
    left, taken = taken_in(detector, [0.0, 70.0, 23.0])
    assert_allclose(left[2], 23.0 - 0.3 * 8.0 - 0.3 * 70.0)
    assert_allclose(taken[2], np.abs(left[2]), rtol=1e-12)


def test_how_far_a_spread_is_widened_is_a_setting():
    equations = equations_of(2, 1, [(0, 1, 1, 1.0)])
    for most, factor in ((1.0, 1.0), (1.25, 1.25), (9.0, math.sqrt(17.0))):
        settings = DetectorSettings(widen_most=most)
        limits = limits_of(equations, settings=settings, **unit_range(2))
        detector = InnovationDetector(equations, limits)
        taken_in(detector, [5.0, 0.0], True)
        _, taken = taken_in(detector, [0.0, 8.0])
        assert_allclose(taken[1], 3.0 / factor, rtol=1e-12)


def test_what_was_beyond_before_a_gap_is_forgotten():
    equations = equations_of(2, 3, [(0, 1, 1, 1.0), (0, 1, 3, 1.0)])
    limits = limits_of(equations, **unit_range(2))
    detector = InnovationDetector(equations, limits)
    for tick in range(5):
        detector.update(np.array([9.0, 0.0]), tick == 0)
    assert detector.snapshot()["beyond"].sum() == 4 * 8.0
    detector.update(np.zeros(2), True)
    state = detector.snapshot()
    assert_array_equal(state["beyond"], 0.0)
    assert_array_equal(state["counters"], [0, 0, 6])
    for _ in range(2):
        detector.update(np.zeros(2))
    left, taken = taken_in(detector, [0.0, 3.0])
    assert left[1] == taken[1] == 3.0


def test_a_value_beyond_its_range_is_kept_for_as_long_as_it_acts():
    equations = equations_of(2, 3, [(0, 1, 3, 1.0)])
    detector = InnovationDetector(equations, limits_of(equations, **unit_range(2)))
    detector.update(np.array([2.0, 0.0]), True)
    counts, sizes = [detector.snapshot()["counters"][1]], []
    for _ in range(5):
        sizes.append(taken_in(detector, [0.0, 1.0])[1][1])
        counts.append(detector.snapshot()["counters"][1])
    assert counts == [3, 2, 1, 0, 0, 0]
    assert_allclose(sizes, [0.0, 0.0, 1.0 / math.sqrt(2.0), 1.0, 1.0], rtol=1e-12)


def test_links_are_reestimated_and_signals_accepted_by_innovations_that_are_not_widened():
    equations = equations_of(2, 1, [(0, 1, 1, 1.0)])
    narrow, wide = (
        InnovationDetector(equations, limits_of(equations, **ends)) for ends in (unit_range(2), {})
    )
    rng = np.random.default_rng(0)
    rows = rng.normal(scale=3.0, size=(200, 2))
    rows[1:, 1] += 1.5 * rows[:-1, 0] + 4.0
    narrower = 0
    for t, row in enumerate(rows):
        first, second = narrow.update(row, t == 0), wide.update(row, t == 0)
        assert_array_equal(first.expected, second.expected)
        assert_array_equal(narrow.innovation, wide.innovation)
        narrower += narrow.sizes[0, 1] < wide.sizes[0, 1]
    assert narrower > 100
    assert_array_equal(narrow.links().observed, wide.links().observed)
    for detector in (narrow, wide):
        detector.accept(1)
    assert_array_equal(shift(narrow), shift(wide))


# Gaps


def test_statistics_start_from_nothing_after_a_gap():
    equations = equations_of(2, 1, [(0, 0, 1, 0.9), (0, 1, 1, 0.5)])
    detector = InnovationDetector(equations, limits_of(equations, 0.8, 3.0))
    for tick in range(50):
        score = detector.update(np.array([7.0, 9.0 + tick])).score
        assert (score is None) == (tick == 0)
    assert score > 1.0
    assert detector.update(np.array([7.0, 9.0]), new_stretch=True).score is None
    assert_array_equal(detector.sizes, [[0, 0], [0, 0], [1, 1], [0, 0]])
    for _ in range(20):  # what its causes say exactly: all is zero, and the squares miss one
        detector.update(np.array([0.0, 0.0]), new_stretch=True)
        evidence = detector.update(np.array([0.0, 0.0]))
        assert evidence.score == pytest.approx(math.sqrt(7 / 8) / 0.8)


def test_lags_do_not_reach_across_a_gap():
    equations = equations_of(2, 3, [(0, 1, 3, 1.0)])
    detector = InnovationDetector(equations, limits_of(equations))
    for _ in range(6):
        detector.update(np.array([50.0, 50.0]))
    for k in range(3):
        evidence = detector.update(np.zeros(2), new_stretch=k == 0)
        assert np.isnan(evidence.signals[1])
        assert np.isnan(evidence.expected[1])
    assert detector.update(np.zeros(2)).expected[1] == 0.0


# Accepting, links


def shift(detector):
    """By how much what is expected was moved."""
    return detector.snapshot()["shift"]


def test_accepting_moves_what_is_expected_of_one_signal_and_starts_it_afresh():
    equations = equations_of(2, 1, [(0, 1, 1, 0.5)], spread=[1.0, 2.0])
    detector = InnovationDetector(equations, limits_of(equations, 1.2, 5.0))
    rng = np.random.default_rng(0)
    for noise in rng.normal(scale=0.01, size=(40, 2)):
        detector.update(noise + np.array([3.0, 4.5]))
    before = detector.update(np.array([3.0, 4.5])).signals
    detector.accept(1)
    assert_allclose(shift(detector), [0.0, 3.0], atol=0.04)  # in the signal's own unit
    evidence = detector.update(np.array([3.0, 4.5]))
    assert evidence.expected[1] == pytest.approx(4.5, abs=0.04)
    assert evidence.signals[1] < 0.9
    assert evidence.signals[0] > 0.9 * before[0]


def test_accepting_a_signal_that_was_never_seen_changes_nothing():
    equations = equations_of(2, 1, [(0, 1, 1, 0.5)])
    detector = InnovationDetector(equations, limits_of(equations))
    detector.accept(0)
    for _ in range(5):
        detector.update(np.array([1.0, np.nan]))
    detector.accept(1)
    assert_array_equal(shift(detector), 0.0)


def test_accepting_twice_is_accepting_once():
    equations = equations_of(1, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1.0))
    for _ in range(40):
        detector.update(np.array([3.0]))
    detector.accept(0)
    detector.update(np.array([3.0]))
    detector.accept(0)
    assert_allclose(shift(detector), [3.0])


def test_what_was_accepted_is_kept_across_a_gap():
    equations = equations_of(1, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1.5))
    for _ in range(40):
        detector.update(np.array([3.0]))
    detector.accept(0)
    assert detector.update(np.array([3.0]), new_stretch=True).score < 1.0


@pytest.mark.parametrize(("since", "moved"), [(9, 3.0), (8, 1.5), (7, 0.0)])
def test_accepting_takes_the_median_of_the_last_sixteen_ticks(since, moved):
    equations = equations_of(1, 1, [])
    detector = InnovationDetector(equations, limits_of(equations, 1.0))
    for k in range(60):
        detector.update(np.array([3.0 if k >= 60 - since else 0.0]))
    detector.accept(0)
    assert_allclose(shift(detector), [moved])


def test_accepting_looks_no_farther_back_than_is_kept():
    equations = equations_of(1, 1, [])
    settings = DetectorSettings(link_window=2, accept_ticks=4)
    detector = InnovationDetector(equations, limits_of(equations, settings=settings))
    for value in (9.0, 1.0, 2.0, 6.0):
        detector.update(np.array([value]))
    detector.accept(0)
    assert_allclose(shift(detector), [2.0])  # the last three, each once


def ends(detector):
    """The range of each signal, as it is by now."""
    return detector.snapshot()["range"]


def test_accepting_extends_the_range_over_the_ticks_whose_median_it_takes():
    equations = equations_of(2, 1, [(0, 1, 1, 1.0)])
    detector = InnovationDetector(equations, limits_of(equations, **unit_range(2)))
    rows = np.zeros((40, 2))
    rows[:24, 0] = 9.0  # longer ago than sixteen ticks
    rows[24:, 0] = 3.0
    rows[[27, 31], 0] = 5.0, -2.0
    rows[33, 0] = np.nan
    rows[:, 1] = 7.0
    for t, row in enumerate(rows):
        detector.update(row, t == 0)
    detector.accept(0)
    assert_array_equal(ends(detector), [[-2.0, -1.0], [5.0, 1.0]])
    for cause, beyond in ((5.0, 0.0), (-2.0, 0.0), (5.5, 0.5), (-3.0, 1.0)):
        taken_in(detector, [cause, 0.0])
        left, taken = taken_in(detector, [0.0, cause + 3.0])
        assert left[1] == pytest.approx(3.0)
        assert_allclose(taken[1], left[1] / math.hypot(1.0, beyond), rtol=1e-12)
    detector.update(np.zeros(2), True)  # nor does a gap change what is normal
    assert_array_equal(ends(detector), [[-2.0, -1.0], [5.0, 1.0]])


def test_a_range_is_never_narrowed_nor_made_from_nothing():
    equations = equations_of(2, 1, [])
    never = {"low": np.array([-1.0, np.nan]), "high": np.array([1.0, np.nan])}
    limits = limits_of(equations, **never)
    detector = InnovationDetector(equations, limits)
    for signal in (0, 1):
        detector.accept(signal)
    assert_array_equal(ends(detector), [[-1.0, np.nan], [1.0, np.nan]])
    for value in (0.5, np.nan):
        for tick in range(20):
            detector.update(np.array([value, value]), tick == 0)
        for signal in (0, 1):
            detector.accept(signal)
        assert_array_equal(ends(detector), [[-1.0, np.nan], [1.0, np.nan]])
    for tick in range(20):
        detector.update(np.array([4.0, 4.0]), tick == 0)
    detector.accept(0)
    assert_array_equal(ends(detector)[:, 0], [-1.0, 4.0])
    assert_array_equal(limits.high, [1.0, np.nan])  # those of the model stay as they are


def test_a_missing_value_is_replaced_within_the_usual():
    equations = equations_of(2, 1, [(0, 0, 1, 10.0), (0, 1, 1, 0.01)])
    limits = limits_of(equations, centre=np.array([2.0, 0.0]), scale=np.array([0.5, 1.0]))
    for value, instead in ((50.0, 6.0), (-50.0, -2.0), (0.3, 3.0)):
        detector = InnovationDetector(equations, limits)
        detector.update(np.array([value, 0.0]), True)
        detector.update(np.array([np.nan, 0.0]))
        assert detector.update(np.zeros(2)).expected[1] == pytest.approx(0.01 * instead)
    # Where nothing is known of its causes either, it is the centre.
    detector = InnovationDetector(equations, limits)
    detector.update(np.array([np.nan, 0.0]), True)
    assert_allclose(detector.update(np.zeros(2)).expected, [20.0, 0.02])


@pytest.mark.parametrize("ticks", [1, 5, 21, 22, 23, 70])
def test_links_are_reestimated_from_the_last_ticks_in_order(ticks):
    rng = np.random.default_rng(ticks)
    equations = equations_of(3, 2, [(0, 0, 1, 0.5), (0, 1, 2, 1.0), (2, 1, 1, -0.5)])
    limits = limits_of(
        equations,
        links=np.array([0.1, 0.2, 0.3]),
        centre=np.array([1.0, 2.0, 3.0]),
        scale=np.array([1.0, 2.0, 3.0]),
        settings=DetectorSettings(link_window=20),
    )
    detector = InnovationDetector(equations, limits)
    rows, left = rng.normal(size=(ticks, 3)), []
    for t, row in enumerate(rows):
        detector.update(row, t == 0)
        left.append(detector.innovation)
    filler = np.full((max(0, 22 - ticks), 3), np.nan)
    change = reestimate(
        equations,
        np.concatenate([filler, rows[-22:]]),
        np.concatenate([filler, left[-22:]]),
        limits.centre,
        limits.scale,
        limits.settings,
    )
    evidence = detector.links()
    assert_allclose(evidence.observed, equations.coefficient + change, rtol=1e-12)
    assert_allclose(evidence.deviation, np.abs(change) / limits.links, rtol=1e-12)
    assert change.any() == (ticks > 1)


def test_a_changed_coefficient_shows_at_its_link():
    equations = equations_of(3, 1, [(0, 2, 1, 1.0), (1, 2, 1, 1.0)])
    detector = InnovationDetector(equations, limits_of(equations))
    rng = np.random.default_rng(5)
    last = np.zeros(3)
    for t in range(300):
        row = rng.normal(size=3)
        row[2] = 0.2 * row[2] + last[0] + 2.0 * last[1]
        detector.update(row, t == 0)
        last = row
    observed = detector.links().observed
    assert observed[0] == pytest.approx(1.0, abs=0.15)
    assert observed[1] == pytest.approx(1.85, abs=0.2)  # pulled a little towards no change


def test_a_model_without_lags_can_be_watched():
    equations = equations_of(2, 0, [(0, 1, 0, 0.5)])
    detector = InnovationDetector(equations, limits_of(equations))
    assert detector.update(np.array([1.0, 0.5])).score is not None
