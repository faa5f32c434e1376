"""Detectability: the figures are true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import causewatch as cw
from causewatch.detectors import InnovationDetector
from causewatch.detectors.detectability import WITHIN, detectability
from causewatch.errors import SettingError
from causewatch.simulate import random_system

RUNS, BEFORE = 40, 200


@pytest.fixture(scope="module")
def plant():
    return random_system(4, links=4, seed=1)


@pytest.fixture(scope="module")
def model(plant):
    return cw.learn(plant.simulate(3000, seed=2).values, every=1.0, max_lag=3)


@pytest.fixture(scope="module")
def figures(model):
    return detectability(model.equations, model.watching.limits)


def noticed(model, rows, limits=None):
    """Whether the score passes the limit in the ticks after the quiet beginning."""
    detector = InnovationDetector(model.equations, limits or model.watching.limits)
    scores = [detector.update(row, new_stretch=k == 0).score for k, row in enumerate(rows)]
    return max(score or 0.0 for score in scores[BEFORE:]) > 1.0


@pytest.fixture(scope="module")
def quiet(plant, model):
    """Normal rows in which the model sees nothing."""
    long = plant.simulate(3 * RUNS * (BEFORE + WITHIN), seed=3).values
    pieces = np.array_split(long, 3 * RUNS)
    return [rows for rows in pieces if not noticed(model, rows)][:RUNS]


def share_noticed(model, quiet, signal, error, limits=None):
    hits = 0
    for rows in quiet:
        moved = rows.copy()
        moved[BEFORE:, signal] += error
        hits += noticed(model, moved, limits)
    return hits / len(quiet)


@pytest.mark.parametrize("kind", ["bias", "drift"])
def test_sensor_faults_are_noticed_half_of_the_time_at_the_figure(model, figures, quiet, kind):
    shape = np.ones(WITHIN) if kind == "bias" else np.arange(1.0, WITHIN + 1)
    sizes = getattr(figures, kind)
    shares = {
        factor: [
            share_noticed(model, quiet, signal, factor * sizes[signal] * shape)
            for signal in range(2)
        ]
        for factor in (0.5, 1.0, 1.3)
    }
    assert max(shares[0.5]) <= 0.2
    assert 0.25 <= np.mean(shares[1.0]) <= 0.75
    assert min(shares[1.3]) >= 0.7


def test_figures_are_true_where_only_memories_see_and_what_enters_them_is_cut(model, quiet):
    limits = model.watching.limits
    table = limits.statistics.copy()
    table[0] = np.inf  # of a single tick
    slow = replace(limits, statistics=table)
    size = float(detectability(model.equations, slow, signals=[0]).bias[0])
    assert 0.25 <= share_noticed(model, quiet, 0, np.full(WITHIN, size), slow) <= 0.75
    assert share_noticed(model, quiet, 0, np.full(WITHIN, 0.5 * size), slow) <= 0.2
    # However large it is, one tick alone fills no memory.
    assert np.isinf(detectability(model.equations, slow, within=1, signals=[0]).bias[0])


def heated(rows, seed, past, lost=0.0):
    """A heater that is turned up and down slowly, and a temperature that follows it.

    `past` of the temperature stays from tick to tick. After the quiet beginning the heater has
    `lost` so large a share of its effect, counted from its mean.
    """
    random = np.random.default_rng(seed)
    effect = np.where(np.arange(rows) < BEFORE, 2.0, 2.0 * (1.0 - lost))
    heater, temperature = np.zeros((2, rows))
    for t in range(1, rows):
        moved = effect[t] * heater[t - 1] + random.normal()
        heater[t] = 0.95 * heater[t - 1] + 0.3 * random.normal()
        temperature[t] = past * temperature[t - 1] + moved
    return np.column_stack([heater, temperature])


@pytest.mark.parametrize("past", [0.0, 0.5, 0.98])
def test_mechanism_changes_are_noticed_half_of_the_time_at_the_figure(past):
    model = cw.learn(heated(4000, 1, past), every=1.0, max_lag=2)
    size = float(detectability(model.equations, model.watching.limits, signals=[1]).mechanism[1])

    def share(factor):
        runs = [heated(BEFORE + WITHIN, 100 + k, past, factor * size) for k in range(RUNS)]
        return float(np.mean([noticed(model, rows) for rows in runs]))

    assert share(0.4) <= 0.2
    assert 0.25 <= share(1.0) <= 0.75
    assert share(2.0) >= 0.75


def test_the_past_of_a_signal_alone_is_no_mechanism_that_could_get_weaker(model):
    equations = model.equations
    own = equations.source == equations.target
    alone = replace(
        equations,
        **{
            name: getattr(equations, name)[own]
            for name in ("source", "target", "lag", "coefficient")
        },
    )
    limits = replace(model.watching.limits, links=model.watching.limits.links[own])
    assert own.any()
    assert np.isinf(detectability(alone, limits).mechanism).all()


def test_figures_scale_with_the_signals_unit(model, figures):
    """A signal in other units has the same detectability in them."""
    equations, limits = model.equations, model.watching.limits
    unit = np.array([1000.0, 1.0, 0.01, 1.0])
    other = replace(
        equations,
        coefficient=equations.coefficient * unit[equations.target] / unit[equations.source],
        intercept=equations.intercept * unit,
        spread=equations.spread * unit,
    )
    arrays = {name: getattr(limits, name) * unit for name in ("centre", "scale", "low", "high")}
    moved = replace(limits, **arrays)
    scaled = detectability(other, moved)
    np.testing.assert_allclose(scaled.bias, figures.bias * unit, rtol=1e-6)
    np.testing.assert_allclose(scaled.drift, figures.drift * unit, rtol=1e-6)
    np.testing.assert_allclose(scaled.mechanism, figures.mechanism, rtol=1e-6)


def widened(limits, factor):
    return replace(limits, statistics=factor * limits.statistics)


def test_wider_limits_need_larger_changes(model, figures):
    limits = model.watching.limits
    wider = detectability(model.equations, widened(limits, 1.5))
    assert np.all(wider.bias > figures.bias)
    assert np.all(wider.drift > figures.drift)
    assert np.all(wider.mechanism >= figures.mechanism)


def test_what_is_out_of_reach_is_never_noticed(model):
    """Changes of up to some thousand spreads are tried: limits beyond are never passed."""
    limits = widened(model.watching.limits, 1e6)
    hidden = detectability(model.equations, limits)
    assert np.isinf(hidden.bias).all()
    assert np.isinf(hidden.drift).all()
    assert np.isinf(hidden.mechanism).all()


def test_more_time_notices_smaller_changes(model, figures):
    longer = detectability(model.equations, model.watching.limits, within=40)
    assert np.all(longer.drift < figures.drift)
    assert np.all(longer.bias <= figures.bias * 1.05)


def test_an_effect_can_give_its_cause_away(model):
    """A signal whose own limits are out of reach is seen by what it should have caused."""
    limits = model.watching.limits
    blind = limits.statistics.copy()
    blind[:, 0] = np.inf
    equations = model.equations
    children = set(equations.target[equations.source == 0].tolist()) - {0}
    assert children
    seen = detectability(equations, replace(limits, statistics=blind), signals=[0])
    assert np.isfinite(seen.bias[0])
    assert np.isnan(seen.bias[1:]).all()


def test_a_signal_without_causes_has_no_mechanism(model):
    equations = model.equations
    none = np.empty(0, dtype=np.intp)
    bare = replace(equations, source=none, target=none, lag=none, coefficient=np.empty(0))
    limits = model.watching.limits
    figures = detectability(bare, replace(limits, links=np.empty(0)))
    assert np.isinf(figures.mechanism).all()
    assert np.isfinite(figures.bias).all()


def test_the_same_model_gives_the_same_figures(model, figures):
    again = detectability(model.equations, model.watching.limits, signals=[2])
    assert again.bias[2] == figures.bias[2]
    with pytest.raises(SettingError, match="at least 1"):
        detectability(model.equations, model.watching.limits, within=0)
