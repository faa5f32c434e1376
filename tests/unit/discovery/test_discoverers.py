"""Discoverers: from ticks to a graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import naive
from causewatch.data.table import TimeTable
from causewatch.discovery import Granger, Knowledge, LaggedMoments, Pcmci, normal_scores, pcmci
from causewatch.errors import SettingError, UnknownNameError
from causewatch.graph import Link
from causewatch.simulate import random_system
from recordings import stable


def ticks_of(values, starts=(0,)):
    return TimeTable(
        signals=tuple(f"x{k}" for k in range(values.shape[1])),
        values=values,
        time=np.arange(len(values), dtype=np.int64),
        starts=np.asarray(starts, dtype=np.intp),
        interval=1.0,
    )


def discover(discoverer, values, max_lag=2, starts=(0,), **more):
    ticks = ticks_of(values, starts)
    moments = LaggedMoments(ticks.signals, max_lag=max_lag).update_stretches(values, starts)
    return discoverer.discover(ticks, moments, **more)


def rules(text, signals, max_lag=2):
    plant = Knowledge.from_dict(text)
    return plant.resolve(signals, max_lag, 1)


def chain(seed=1, rows=600):
    """x0 drives x1 after one tick, x1 drives x2 after two; x3 is noise."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4))
    values[1:, 1] += 0.8 * values[:-1, 0]
    values[2:, 2] += 0.8 * values[:-2, 1]
    return values


CHAIN = {Link("x0", "x1", 1), Link("x1", "x2", 2)}


@pytest.mark.parametrize("min_lag", [0, 1])
def test_pcmci_is_pcmci(min_lag):
    values = stable(3, 5, 300)
    graph = discover(Pcmci(alpha=0.05, min_lag=min_lag), values)
    assert graph == pcmci(values, max_lag=2, min_lag=min_lag, alpha=0.05).graph


@pytest.mark.parametrize("min_lag", [0, 1])
def test_above_mean_keeps_what_is_stronger_than_the_mean_of_all_tested(min_lag):
    values = stable(4, 5, 400)
    value, p_value, _ = naive.pcmci(values, max_lag=2, min_lag=min_lag, alpha=0.05)
    mean = np.abs(value[:, :, min_lag:]).mean()
    expected = {
        Link(f"x{i}", f"x{j}", lag)
        for i, j, lag in np.argwhere((p_value <= 0.05) & (np.abs(value) > mean)).tolist()
    }
    found = discover(Pcmci(alpha=0.05, min_lag=min_lag, above_mean=True), values)
    assert set(found) == expected
    for link in found:
        place = int(link.source[1]), int(link.target[1]), link.lag
        assert found[link].value == pytest.approx(value[place], abs=1e-9)
        assert found[link].p_value == pytest.approx(p_value[place], abs=1e-9)


def test_false_discovery_correction_only_takes_away():
    values = stable(5, 6, 300)
    plain, corrected = (discover(Pcmci(fdr=fdr), values) for fdr in (False, True))
    assert set(corrected) < set(plain)


@pytest.mark.parametrize(
    "discoverer",
    [
        Pcmci(alpha=0.01, above_mean=True),
        Pcmci(alpha=0.01, above_mean=True, test="rank"),
        Pcmci(alpha=0.05, above_mean=True, test="knn", max_samples=200),
        Granger(alpha=0.01),
    ],
    ids=["linear", "rank", "knn", "granger"],
)
def test_all_of_them_find_a_plain_chain_and_report_progress(discoverer):
    shares = []
    found = discover(discoverer, chain(), progress=shares.append)
    assert set(found) >= CHAIN
    assert len(found) <= len(CHAIN) + 2
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("discoverer", [Pcmci(above_mean=True), Granger()])
def test_knowledge_is_obeyed(discoverer):
    names = tuple(f"x{k}" for k in range(4))
    constraints = rules({"required": ["x3 -> x0 (2)"], "forbidden": ["x0 -> x1"]}, names)
    found = discover(discoverer, chain(), constraints=constraints)
    assert Link("x3", "x0", 2) in found
    assert Link("x1", "x2", 2) in found
    assert not [link for link in found if (link.source, link.target) == ("x0", "x1")]


@pytest.mark.parametrize("discoverer", [Pcmci(), Granger(), Pcmci(test="rank")])
def test_stretches_are_not_joined(discoverer):
    """The second stretch starts elsewhere; joining them would make a link of the jump."""
    values = chain(rows=800)
    shifted = values.copy()
    shifted[400:] = values[400:][::-1] + 0.0
    joined = discover(discoverer, shifted)
    apart = discover(discoverer, shifted, starts=[0, 400])
    assert {link: round(s.value, 9) for link, s in joined.links.items()} != {
        link: round(s.value, 9) for link, s in apart.links.items()
    }


def test_the_rank_test_sees_through_outliers_and_distortion():
    values = chain(2)
    bent = np.sinh(3 * values)  # monotone, and with very long tails
    assert set(discover(Pcmci(alpha=1e-3, test="rank"), bent)) >= CHAIN
    one = discover(Pcmci(test="rank"), values)
    other = discover(Pcmci(test="rank"), bent)
    assert one == other  # ranks are the same


def test_the_rank_test_is_the_linear_test_on_normal_scores():
    values = chain(3)
    scores = normal_scores(values)
    assert discover(Pcmci(test="rank"), values) == discover(Pcmci(), scores)


def test_the_knn_test_sees_what_has_no_direction():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(500, 2))
    values[1:, 1] = values[:-1, 0] ** 2 + 0.2 * rng.normal(size=499)
    link = Link("x0", "x1", 1)
    assert link in discover(Pcmci(test="knn", max_samples=400), values, max_lag=1)
    assert link not in discover(Pcmci(alpha=0.01), values, max_lag=1)


def test_normal_scores():
    values = np.array([[3.0, 1.0], [1.0, np.nan], [2.0, 1.0], [9.0, 5.0]])
    scores = normal_scores(values)
    expected = stats.norm.ppf((np.array([3, 1, 2, 4]) - 0.5) / 4)
    np.testing.assert_allclose(scores[:, 0], expected)
    assert np.isnan(scores[1, 1])
    assert scores[0, 1] == scores[2, 1]  # ties
    np.testing.assert_allclose(scores[[0, 3], 1], stats.norm.ppf(np.array([1.0, 2.5]) / 3))


def slow_granger(values, max_lag, alpha):
    """Stepwise regression on the rows, one candidate at a time."""
    signals = values.shape[1]
    columns = naive.lagged_columns(values, max_lag)
    answers = naive.Answers(columns)
    candidates = [(k, lag) for lag in range(1, max_lag + 1) for k in range(signals)]
    level = alpha / len(candidates)
    found = set()
    for target in range(signals):
        chosen = []
        while len(chosen) < len(candidates):
            tried = {
                node: answers.test(node, (target, 0), chosen)
                for node in candidates
                if node not in chosen
            }
            best = max(tried, key=lambda node: abs(tried[node][0]))
            if tried[best][1] > level:
                break
            chosen.append(best)
        while chosen:
            given = {
                node: answers.test(node, (target, 0), [o for o in chosen if o != node])[1]
                for node in chosen
            }
            worst = max(given, key=given.get)
            if given[worst] <= level:
                break
            chosen.remove(worst)
        found |= {Link(f"x{k}", f"x{target}", lag) for k, lag in chosen}
    return found


@pytest.mark.parametrize("seed", range(3))
def test_granger_is_stepwise_regression(seed):
    values = stable(seed, 4, 300)
    assert set(discover(Granger(alpha=0.05), values)) == slow_granger(values, 2, 0.05)


@pytest.mark.parametrize("discoverer", [Pcmci(alpha=0.001, above_mean=True), Granger(alpha=0.01)])
def test_random_systems_are_recovered(discoverer):
    for seed in range(3):
        system = random_system(6, seed=seed)
        values = system.simulate(3000, seed=seed).values
        found = {
            (int(link.source[1]), int(link.target[1]), link.lag)
            for link in discover(discoverer, values, max_lag=3)
        }
        truth = {(edge.source, edge.target, edge.lag) for edge in system.edges}
        assert len(found & truth) >= 0.9 * len(truth)
        assert len(found & truth) >= 0.8 * len(found)


def test_most_parents_is_a_limit():
    found = discover(Granger(alpha=0.05, most_parents=1), stable(7, 5, 500))
    assert max(len(found.parents(name)) for name in found.signals) == 1


def test_settings_that_make_no_sense():
    with pytest.raises(SettingError, match="alpha is 0"):
        discover(Granger(alpha=0.0), chain())
    with pytest.raises(SettingError, match="alpha"):
        discover(Pcmci(alpha=1.5), chain())
    with pytest.raises(UnknownNameError, match="Available: linear, features, rank, knn"):
        discover(Pcmci(test="lineal"), chain())
