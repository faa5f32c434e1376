"""Curved links: what is chosen, what is added, and where it stops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from causewatch.detectors.curves import Curves, choose_curves
from causewatch.detectors.equations import Equations
from causewatch.simulate import random_system


def lines(rows, links, max_lag=None):
    """Straight lines along (source, target, lag) triples, fitted to rows."""
    links = sorted(links, key=lambda link: (link[1], link[0], link[2]))
    source, target, lag = (np.array(part, dtype=np.intp) for part in zip(*links, strict=True))
    size = rows.shape[1]
    empty = Equations(
        signals=size,
        max_lag=max_lag or int(lag.max()),
        source=source,
        target=target,
        lag=lag,
        coefficient=np.zeros(len(links)),
        intercept=np.zeros(size),
        spread=np.ones(size),
    )
    return empty.refitted([rows])


def bent(ticks=3000, seed=0):
    """Column 1 follows a kink of column 0, column 2 a line of it, column 3 a line of column 1."""
    random = np.random.default_rng(seed)
    rows = np.zeros((ticks, 4))
    rows[:, 0] = random.normal(size=ticks)
    for t in range(1, ticks):
        rows[t, 1] = 2.0 * np.abs(rows[t - 1, 0]) + random.normal()
        rows[t, 2] = 0.8 * rows[t - 1, 0] + 0.3 * rows[t - 1, 2] + random.normal()
        rows[t, 3] = 0.5 * rows[t - 1, 1] + random.normal()
    return rows


BENT_LINKS = [(0, 1, 1), (0, 2, 1), (2, 2, 1), (1, 3, 1)]


def gated(ticks=3000, seed=0):
    """Column 2 follows column 0 only while the switch, column 1, is on."""
    random = np.random.default_rng(seed)
    rows = np.zeros((ticks, 3))
    rows[:, 0] = random.normal(5.0, 1.0, ticks)
    rows[:, 1] = np.where(np.sin(np.arange(ticks) / 20) > 0.2, 30.0, 10.0)
    on = rows[:-1, 1] > 20
    rows[1:, 2] = np.where(on, 1.5 * rows[:-1, 0], 0.0) + random.normal(size=ticks - 1)
    return rows


def left(equations, rows):
    return np.nanvar(equations.innovations(rows) * equations.spread, axis=0)


def test_only_the_bent_mechanism_is_curved_and_it_leaves_the_noise():
    rows = bent()
    straight = lines(rows, BENT_LINKS)
    curves = choose_curves(straight, [rows])
    assert curves.target.tolist() == [1]
    curved = replace(straight, curves=curves, spread=curves.spread)
    unseen = bent(seed=1)
    assert left(straight, unseen)[1] > 2.0
    assert left(curved, unseen)[1] == pytest.approx(1.0, abs=0.12)
    assert curves.spread[1] == pytest.approx(1.0, abs=0.05)
    others = [0, 2, 3]
    np.testing.assert_array_equal(curves.spread[others], straight.spread[others])


def test_the_line_stays_the_best_line():
    rows = bent()
    straight = lines(rows, BENT_LINKS)
    curves = choose_curves(straight, [rows])
    added = curves.add(np.zeros((len(rows) - 1, 4)), rows[:-1][:, straight.source])[:, 1]
    assert added.mean() == pytest.approx(0.0, abs=1e-6)
    assert added @ (rows[:-1, 0] - rows[:-1, 0].mean()) / len(added) == pytest.approx(0, abs=1e-6)


def test_a_product_with_a_switch():
    rows = gated()
    straight = lines(rows, [(0, 2, 1), (1, 2, 1)])
    curves = choose_curves(straight, [rows])
    assert curves.target.tolist() == [2]
    assert len(curves.features.gated) == 1
    curved = replace(straight, curves=curves, spread=curves.spread)
    unseen = gated(seed=1)
    assert left(straight, unseen)[2] > 1.4
    assert left(curved, unseen)[2] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("kind", ["linear", "heavy"])
def test_linear_systems_stay_straight(kind):
    wrong = 0
    for seed in range(20):
        system = random_system(8, kind=kind, seed=seed)
        rows = system.simulate(1500, seed=seed + 100).values
        links = [(e.source, e.target, e.lag) for e in system.edges]
        curves = choose_curves(lines(rows, links, system.max_lag), [rows])
        wrong += 0 if curves is None else len(curves.target)
    assert wrong == 0


def test_one_tick_is_the_same_as_many():
    for rows, links in ((bent(), BENT_LINKS), (gated(), [(0, 2, 1), (1, 2, 1)])):
        straight = lines(rows, links)
        curves = choose_curves(straight, [rows])
        causes = rows[:5000][:, straight.source]
        many = curves.add(np.zeros((len(causes), rows.shape[1])), causes)
        for k in (0, 1, 2047, 2048, len(causes) - 1):
            one = curves.add(np.zeros(rows.shape[1]), causes[k])
            np.testing.assert_allclose(one, many[k], rtol=1e-12, atol=1e-12)


def test_far_outside_the_learnt_range_nothing_more_is_added():
    rows = bent()
    straight = lines(rows, BENT_LINKS)
    curves = choose_curves(straight, [rows])
    low, high = np.quantile(rows[:, 0], [0.001, 0.999])
    beyond = 0.5 * (high - low) * 1.05

    def added(value):
        causes = np.zeros(len(straight.source))
        causes[straight.source == 0] = value
        return curves.add(np.zeros(4), causes)[1]

    assert added(high + beyond) == added(high + 100) == added(1e9)
    assert added(low - beyond) == added(low - 100) == added(-1e9)
    assert added(high) != added(high + beyond)


def test_missing_stays_missing_and_harms_no_other():
    rows = bent()
    straight = lines(rows, BENT_LINKS)
    curves = choose_curves(straight, [rows])
    causes = rows[5][straight.source]
    causes[straight.source == 0] = np.nan
    found = curves.add(np.zeros(4), causes)
    assert np.isnan(found).tolist() == [False, True, False, False]


def test_missing_ticks_are_left_out_of_the_choice():
    rows = bent()
    straight = lines(rows, BENT_LINKS)
    holes = rows.copy()
    holes[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
    curves = choose_curves(straight, [holes])
    assert curves.target.tolist() == [1]
    assert np.isfinite(curves.weight).all()


def test_refitted_keeps_the_features_and_takes_the_new_line():
    rows, other = bent(), bent(seed=3) * 2.0
    curves = choose_curves(lines(rows, BENT_LINKS), [rows])
    line = lines(other, BENT_LINKS)
    again = curves.refitted(line, [other])
    np.testing.assert_array_equal(again.features.knot, curves.features.knot)
    assert again.spread[1] == pytest.approx(2.0, abs=0.3)
    curved = replace(line, curves=again, spread=again.spread)
    assert left(curved, other)[1] < 0.8 * left(line, other)[1]


def test_refitted_to_the_same_ticks_changes_nothing():
    rows = gated()
    straight = lines(rows, [(0, 2, 1), (1, 2, 1)])
    curves = choose_curves(straight, [rows])
    again = curves.refitted(straight, [rows])
    for name, array in curves.arrays().items():
        np.testing.assert_allclose(again.arrays()[name], array, rtol=1e-9)


def test_stored_and_read_back():
    rows = gated()
    straight = lines(rows, [(0, 2, 1), (1, 2, 1)])
    curves = choose_curves(straight, [rows])
    again = Curves.from_arrays({name: array.copy() for name, array in curves.arrays().items()})
    causes = rows[:50][:, straight.source]
    np.testing.assert_array_equal(
        again.add(np.zeros((50, 3)), causes), curves.add(np.zeros((50, 3)), causes)
    )


def test_short_recordings_and_collinear_causes():
    rows = bent(ticks=120)
    assert choose_curves(lines(rows, BENT_LINKS), [rows]) is None
    assert choose_curves(lines(bent(), BENT_LINKS), []) is None
    rows = bent()
    rows[:, 2] = 3.0 * rows[:, 0] + 1.0
    straight = lines(rows, [(0, 1, 1), (2, 1, 1)])
    curves = choose_curves(straight, [rows])
    curved = replace(straight, curves=curves, spread=curves.spread)
    assert left(curved, rows)[1] == pytest.approx(1.0, abs=0.12)


def test_stretches_do_not_touch():
    rows = bent()
    straight = lines(rows, BENT_LINKS)
    pieces = [rows[:1000], rows[1000:1001], rows[1001:]]
    curves = choose_curves(straight, pieces)
    assert curves.target.tolist() == [1]
