"""Two-valued signals: who is one, what is expected of it, and what is a surprise."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.detectors.equations import Equations
from causewatch.detectors.switches import Switches, find_switches, levels_of


def lines(rows, links):
    links = sorted(links, key=lambda link: (link[1], link[0], link[2]))
    source, target, lag = (np.array(part, dtype=np.intp) for part in zip(*links, strict=True))
    size = rows.shape[1]
    empty = Equations(
        signals=size,
        max_lag=int(lag.max()),
        source=source,
        target=target,
        lag=lag,
        coefficient=np.zeros(len(links)),
        intercept=np.zeros(size),
        spread=np.ones(size),
    )
    return empty.refitted([rows])


LINKS = [(0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 2, 1)]


def plant(ticks=4000, seed=0, low=0.0, high=1.0, levels=2):
    """Column 1 switches with column 0 and its own past; column 2 follows it."""
    random = np.random.default_rng(seed)
    rows = np.zeros((ticks, 3))
    state = 0.0
    for t in range(1, ticks):
        rows[t, 0] = 0.8 * rows[t - 1, 0] + random.normal()
        inner = 1.2 * rows[t - 1, 0] + 1.0 * (2 * state - 1) + random.logistic()
        state = float(inner > 0) if levels == 2 else float(np.clip(np.round(inner / 3 + 0.5), 0, 1))
        if levels == 3:
            state = 0.5 * float(inner > -2) + 0.5 * float(inner > 2)
        rows[t, 1] = low + (high - low) * state
        rows[t, 2] = 0.5 * rows[t - 1, 1] + random.normal()
    return rows


def judged(switches, equations, rows):
    """What is expected of column 1, and its innovation."""
    causes = rows[:-1][:, equations.source]
    expected = switches.add(np.zeros((len(rows) - 1, rows.shape[1])), causes)
    innovation = switches.rescale((rows[1:] - expected) / equations.spread, expected)
    return expected, innovation


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0, 1, 1, 0, 1], [0, 1]),
        ([2.5, -1.0, 2.5, np.nan], [-1.0, 2.5]),
        ([0, 1, 2, 1, 0], [0, 1, 2]),
        ([3.0, 3.0], None),
        ([], None),
        ([np.nan], None),
        (np.arange(100), None),
        # Averages of ten rows: mostly at the levels, some between.
        ([0] * 40 + [1] * 40 + [0.1, 0.3, 0.4, 0.7, 0.9, 0.2], [0, 1]),
        # Bounds that are reached now and then do not make a switch.
        ([0] * 5 + [1] * 5 + list(np.linspace(0.01, 0.99, 90)), None),
        # Nor do values beyond the levels.
        ([0] * 40 + [1] * 40 + [-0.2, 1.3, 0.5, 0.6], None),
        ([0.1 + 0.2, 0.3, 0.3, 0.7, 0.1 * 7], [0.3, 0.7]),
    ],
)
def test_levels(values, found):
    levels = levels_of(np.array(values, dtype=float))
    if found is None:
        assert levels is None
    else:
        np.testing.assert_allclose(levels, found)


def test_the_switch_is_found_and_its_probability_is_right():
    rows = plant(low=-3.0, high=5.0)
    equations = lines(rows, LINKS)
    switches = find_switches(equations, [rows])
    assert switches.target.tolist() == [1]
    unseen = plant(seed=1, low=-3.0, high=5.0)
    expected, innovation = judged(switches, equations, unseen)
    inner = 1.2 * unseen[:-1, 0] + (unseen[:-1, 1] - 1.0) / 4.0
    truth = -3.0 + 8.0 / (1.0 + np.exp(-inner))
    assert np.abs(expected[:, 1] - truth).max() < 0.5
    assert innovation[:, 1].mean() == pytest.approx(0.0, abs=0.08)
    assert innovation[:, 1].var() == pytest.approx(1.0, abs=0.15)


def test_causes_say_nothing_about_what_is_left():
    """Otherwise a statistic of innovation times cause would be off in normal operation."""
    rows = plant()
    equations = lines(rows, LINKS)
    switches = find_switches(equations, [rows])
    expected, _ = judged(switches, equations, rows)
    off = rows[1:, 1] - expected[:, 1]
    for cause in (rows[:-1, 0], rows[:-1, 1]):
        assert np.corrcoef(off, cause)[0, 1] == pytest.approx(0.0, abs=0.01)


def test_the_unexpected_is_a_surprise_and_the_open_is_none():
    rows = plant()
    equations = lines(rows, LINKS)
    switches = find_switches(equations, [rows])

    def innovation(cause, value):
        causes = np.array([cause if s == 0 else 0.0 for s in equations.source])
        now = np.array([0.0, value, 0.0])
        expected = switches.add(np.zeros(3), causes)
        return switches.rescale((now - expected) / equations.spread, expected)[1]

    assert innovation(-4.0, 1.0) > 5.0
    assert innovation(6.0, 0.0) < -5.0
    assert 0.0 < innovation(6.0, 1.0) < 0.2
    assert 0.5 < innovation(0.8, 1.0) < 1.5
    line = (1.0 - equations.intercept[1] - equations.coefficient[1] * -4.0) / equations.spread[1]
    assert innovation(-4.0, 1.0) > line


def test_others_are_left_alone_and_so_is_what_was_given():
    rows = plant()
    equations = lines(rows, LINKS)
    switches = find_switches(equations, [rows])
    expected, given = np.full(3, 0.4), np.array([1.0, 2.0, 3.0])
    rescaled = switches.rescale(given, expected)
    assert rescaled[[0, 2]].tolist() == [1.0, 3.0]
    assert given.tolist() == [1.0, 2.0, 3.0]
    causes = rows[7][equations.source]
    assert switches.add(np.full(3, 9.0), causes)[[0, 2]].tolist() == [9.0, 9.0]


def test_three_levels():
    rows = plant(levels=3, high=2.0)
    equations = lines(rows, LINKS)
    switches = find_switches(equations, [rows])
    assert switches.target.tolist() == [1]
    assert len(switches.gap) == 2
    expected, innovation = judged(switches, equations, plant(levels=3, high=2.0, seed=1))
    assert expected[:, 1].min() >= 0.0
    assert expected[:, 1].max() <= 2.0
    assert innovation[:, 1].mean() == pytest.approx(0.0, abs=0.08)
    assert innovation[:, 1].var() == pytest.approx(1.0, abs=0.2)


def test_averages_of_rows():
    random = np.random.default_rng(0)
    drive = np.repeat(random.normal(size=3000), 3)
    fine = np.zeros((30_000, 2))
    fine[:, 0] = np.repeat(drive, 10)[: len(fine)]
    switch_at = np.roll(fine[:, 0], 13) + 0.3 * np.repeat(random.normal(size=6000), 5)
    fine[:, 1] = switch_at > 0
    rows = fine.reshape(-1, 10, 2).mean(axis=1)
    between = (rows[:, 1] > 0) & (rows[:, 1] < 1)
    assert 0.05 < between.mean() < 0.4
    equations = lines(rows, [(0, 1, 1), (0, 1, 2), (1, 1, 1)])
    switches = find_switches(equations, [rows])
    assert switches.target.tolist() == [1]
    half = rows[1500:]
    again = switches.refitted(equations, [rows[:1500]])
    causes = np.stack([half[2 - k : len(half) - k, 0] for k in (1, 2)] + [half[1:-1, 1]], axis=1)
    expected = again.add(np.zeros((len(causes), 2)), causes)
    innovation = again.rescale((half[2:] - expected) / equations.spread, expected)[:, 1]
    assert innovation.var() == pytest.approx(1.0, abs=0.35)


def test_a_constant_chance_gains_nothing():
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=2000), random.random(2000) < 0.3]).astype(float)
    assert find_switches(lines(rows, [(0, 1, 1), (1, 1, 1)]), [rows]) is None


def test_no_switch_no_switches():
    random = np.random.default_rng(0)
    rows = random.normal(size=(500, 2))
    assert find_switches(lines(rows, [(0, 1, 1)]), [rows]) is None
    assert find_switches(lines(rows, [(0, 1, 1)]), []) is None


def test_a_certain_switch_stays_finite():
    random = np.random.default_rng(0)
    rows = np.zeros((2000, 2))
    rows[:, 0] = random.normal(size=2000)
    rows[1:, 1] = rows[:-1, 0] > 0
    equations = lines(rows, [(0, 1, 1)])
    switches = find_switches(equations, [rows])
    assert all(np.isfinite(array).all() for array in switches.arrays().values())
    _, innovation = judged(switches, equations, rows * 1e6)
    assert np.isfinite(innovation).all()


def test_missing_stays_missing():
    rows = plant()
    equations = lines(rows, LINKS)
    switches = find_switches(equations, [rows])
    causes = rows[5][equations.source]
    causes[equations.source == 0] = np.nan
    expected = switches.add(np.zeros(3), causes)
    assert np.isnan(expected).tolist() == [False, True, False]
    assert np.isnan(switches.rescale(np.zeros(3), expected)).tolist() == [False, True, False]


def test_one_tick_is_the_same_as_many_stored_or_not():
    rows = np.column_stack([plant(), plant(seed=5, levels=3)])
    links = LINKS + [(a + 3, b + 3, lag) for a, b, lag in LINKS]
    equations = lines(rows, links)
    switches = find_switches(equations, [rows])
    assert switches.target.tolist() == [1, 4]
    stored = {name: array.copy() for name, array in switches.arrays().items()}
    again = Switches.from_arrays(stored)
    causes = rows[:60][:, equations.source]
    many = switches.add(np.zeros((60, 6)), causes)
    scaled = switches.rescale(np.ones((60, 6)), many)
    for k in (0, 17, 59):
        one = again.add(np.zeros(6), causes[k])
        np.testing.assert_allclose(one, many[k], rtol=1e-12)
        np.testing.assert_allclose(again.rescale(np.ones(6), one), scaled[k], rtol=1e-12)


def test_refitted_to_the_same_ticks_changes_nothing():
    rows = np.column_stack([plant(), plant(seed=5, levels=3)])
    links = LINKS + [(a + 3, b + 3, lag) for a, b, lag in LINKS]
    equations = lines(rows, links)
    switches = find_switches(equations, [rows])
    again = switches.refitted(equations, [rows])
    for name, array in switches.arrays().items():
        np.testing.assert_allclose(again.arrays()[name], array, rtol=1e-6, atol=1e-9)
