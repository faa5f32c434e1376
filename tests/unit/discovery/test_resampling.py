"""How sure links are: replicas of the recording against replicas made of its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_discoverers import CHAIN, chain

import causewatch as cw
from causewatch.discovery import confidence_of_links, pcmci, resampling
from causewatch.errors import ModelFileError, NotEnoughDataError, SettingError
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.simulate import random_system

WEAK = Link("x3", "x0", 1)


def graph_of(*links, signals=("x0", "x1", "x2", "x3")):
    return CausalGraph(signals, {link: Strength(0.5, 0.0) for link in links})


def test_true_links_are_in_all_replicas_and_false_ones_are_not():
    sure = confidence_of_links([chain()], graph_of(*CHAIN, WEAK), max_lag=2, alpha=0.01)
    for link in CHAIN:
        assert sure[link].share == 1.0
        assert 0.4 < sure[link].low < sure[link].high < 0.9
        assert (sure[link].first_lag, sure[link].last_lag) == (link.lag, link.lag)
    assert sure[WEAK].share < 0.5
    assert sure[WEAK].low < 0.05


def test_a_replica_with_each_block_once_is_the_recording():
    values, graph = chain(), graph_of(*CHAIN)
    blocks = resampling._blocks([values], 2)
    test = resampling.PartialCorrelation(
        resampling._Resampled(graph.signals, 2, blocks.sum(axis=0))
    )
    expected = pcmci(values, max_lag=2)
    value, p_value = test.test((0, 1), (1, 0), [(1, 1), (3, 2)])
    assert test.windows == expected.windows
    whole = resampling.PartialCorrelation(
        cw.discovery.LaggedMoments(4, max_lag=2).update(values)
    ).test((0, 1), (1, 0), [(1, 1), (3, 2)])
    assert value == pytest.approx(whole[0], abs=1e-12)
    assert p_value == pytest.approx(whole[1], rel=1e-6)


def test_blocks_are_those_of_rows_drawn_with_their_windows():
    values = chain(rows=200)
    values[50, 1] = np.nan
    blocks = resampling._blocks([values[:120], values[120:]], 2)
    assert 10 <= len(blocks) <= 50
    # Windows: 116 and 76, less the five that the missing value is in.
    assert round(blocks[:, -1, -1].sum()) == 116 + 76 - 5


def test_the_same_seed_draws_the_same_replicas():
    graph = graph_of(*CHAIN)
    first, again, other = (
        confidence_of_links([chain()], graph, max_lag=2, alpha=0.01, replicas=20, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_nine_in_ten_of_the_sure_links_are_true_and_most_true_links_are_sure():
    right = sure = true = kept = 0
    for seed in range(4):
        system = random_system(8, max_lag=2, seed=seed)
        values = system.simulate(800, seed=seed + 100).values
        truth = {Link(f"x{e.source}", f"x{e.target}", e.lag) for e in system.edges}
        graph = pcmci(values, max_lag=2, alpha=0.01).graph
        shares = confidence_of_links([values], graph, max_lag=2, alpha=0.01, replicas=100)
        certain = {link for link, about in shares.items() if about.share >= 0.9}
        right, sure = right + len(certain & truth), sure + len(certain)
        true, kept = true + len(truth), kept + len(truth & certain)
    assert right / sure >= 0.9
    assert kept / true >= 0.7


def test_nothing_to_resample_says_so():
    with pytest.raises(NotEnoughDataError, match="make 2 blocks to resample from"):
        confidence_of_links([chain(rows=40)], graph_of(*CHAIN), max_lag=2, alpha=0.01)
    with pytest.raises(SettingError, match="There are to be 0 replicas; expected 1 to 10,000"):
        confidence_of_links([chain()], graph_of(), max_lag=2, alpha=0.01, replicas=0)
    assert confidence_of_links([chain()], graph_of(), max_lag=2, alpha=0.01) == {}


def test_a_model_keeps_how_sure_its_links_are(tmp_path):
    model = cw.learn(chain(), every=1.0, max_lag=2, confidence=20)
    assert set(model.confidence) == set(model.graph)
    model.save(tmp_path / "sure.cwm")
    assert cw.load(tmp_path / "sure.cwm").confidence == model.confidence
    plain = cw.learn(chain(), every=1.0, max_lag=2)
    plain.save(tmp_path / "plain.cwm")
    assert cw.load(tmp_path / "plain.cwm").confidence == {}


def test_other_tests_have_no_replicas():
    with pytest.raises(SettingError, match="--confidence needs the linear test"):
        cw.learn(chain(), every=1.0, max_lag=2, confidence=20, test="features")


def test_what_does_not_fit_together_says_so():
    graph = graph_of(*CHAIN)
    with pytest.raises(SettingError, match="There are to be 1000000000 replicas"):
        confidence_of_links([chain()], graph, max_lag=2, alpha=0.01, replicas=10**9)
    with pytest.raises(SettingError, match="max_lag is 1; the graph has lags up to 2"):
        confidence_of_links([chain()], graph, max_lag=1, alpha=0.01)
    with pytest.raises(SettingError, match=r"shape \(600, 3\); expected ticks × 4 signals"):
        confidence_of_links([chain()[:, :3]], graph, max_lag=2, alpha=0.01)
    with pytest.raises(SettingError, match="alpha is nan"):
        confidence_of_links([chain()], graph, max_lag=2, alpha=float("nan"))
    with pytest.raises(NotEnoughDataError, match="0 ticks"):
        confidence_of_links([], graph, max_lag=2, alpha=0.01)


def test_a_file_with_an_impossible_share_is_refused(tmp_path):
    model = cw.learn(chain(), every=1.0, max_lag=2, confidence=20)
    wrong = {link: replace(about, share=40.0) for link, about in model.confidence.items()}
    replace(model, confidence=wrong).save(tmp_path / "wrong.cwm")
    with pytest.raises(ModelFileError, match="the confidence of a link is impossible"):
        cw.load(tmp_path / "wrong.cwm")
