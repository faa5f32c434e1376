"""Rankings of causes: from their definitions, all orders counted for chance, and references."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from causewatch.evaluation.metrics.causes import (
    ac_at_k,
    avg_at_k,
    chance_ac_at_k,
    chance_avg_at_k,
    chance_map_at_k,
    chance_mrr,
    map_at_k,
    mrr,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "metrics" / "ranges.json"
SIGNALS = "abcdef"


def slow_ac(rankings, truths, k, mode="any"):
    total = 0.0
    for ranking, truth in zip(rankings, truths, strict=True):
        common = len(set(ranking[:k]) & set(truth))
        total += min(1, common) if mode == "any" else common / min(k, len(truth))
    return total / len(truths)


def slow_map(rankings, truths, k):
    total = 0.0
    for ranking, truth in zip(rankings, truths, strict=True):
        shares = [
            len(set(ranking[:rank]) & set(truth)) / rank
            for rank in range(1, min(k, len(ranking)) + 1)
            if ranking[rank - 1] in truth
        ]
        total += sum(shares) / min(k, len(truth))
    return total / len(truths)


def slow_mrr(rankings, truths):
    total = 0.0
    for ranking, truth in zip(rankings, truths, strict=True):
        ranks = [rank for rank, signal in enumerate(ranking, 1) if signal in truth]
        total += 1 / ranks[0] if ranks else 0
    return total / len(truths)


ranking = st.permutations(SIGNALS).flatmap(
    lambda order: st.integers(0, len(SIGNALS)).map(lambda count: order[:count])
)
events = st.lists(
    st.tuples(ranking, st.sets(st.sampled_from(SIGNALS), min_size=1)), min_size=1, max_size=6
)


@given(events, st.integers(1, 8))
def test_they_are_the_slow_twins(pairs, k):
    rankings, truths = zip(*pairs, strict=True)
    for mode in ("any", "share"):
        expected = [slow_ac(rankings, truths, j, mode) for j in range(1, k + 1)]
        assert ac_at_k(rankings, truths, k, mode=mode) == pytest.approx(expected[-1], abs=1e-12)
        assert avg_at_k(rankings, truths, k, mode=mode) == pytest.approx(np.mean(expected))
    assert map_at_k(rankings, truths, k) == pytest.approx(slow_map(rankings, truths, k), abs=1e-12)
    assert mrr(rankings, truths) == pytest.approx(slow_mrr(rankings, truths), abs=1e-12)


@settings(max_examples=40)
@given(events, st.integers(1, 8))
def test_signals_may_be_renamed_and_events_reordered(pairs, k):
    rankings, truths = zip(*pairs, strict=True)
    turned = [[name.upper() for name in one] for one in reversed(rankings)]
    true = [{name.upper() for name in one} for one in reversed(truths)]
    assert map_at_k(turned, true, k) == pytest.approx(map_at_k(rankings, truths, k))
    assert ac_at_k(turned, true, k) == pytest.approx(ac_at_k(rankings, truths, k))
    assert mrr(turned, true) == pytest.approx(mrr(rankings, truths))


@settings(max_examples=60)
@given(st.integers(1, 5), st.data())
def test_chance_is_the_mean_over_all_orders(count, data):
    signals = SIGNALS[:count]
    truth = set(signals[: data.draw(st.integers(1, count))])
    k = data.draw(st.integers(1, 7))
    orders = list(permutations(signals))
    same = [truth] * len(orders)
    size = [len(truth)]
    for mode in ("any", "share"):
        level = chance_ac_at_k(size, count, k, mode=mode)
        assert level == pytest.approx(slow_ac(orders, same, k, mode), abs=1e-12)
        level = chance_avg_at_k(size, count, k, mode=mode)
        assert level == pytest.approx(avg_at_k(orders, same, k, mode=mode), abs=1e-12)
    assert chance_map_at_k(size, count, k) == pytest.approx(slow_map(orders, same, k), abs=1e-12)
    assert chance_mrr(size, count) == pytest.approx(slow_mrr(orders, same), abs=1e-12)


def test_they_say_what_causrca_and_rcaeval_say():
    frozen = json.loads(GOLDEN.read_text())
    close = {"rel": 0, "abs": frozen["about"]["tolerance"]}
    compared = 0
    for case in frozen["causes"]:
        rankings, truths, said = case["rankings"], case["truths"], case["said"]
        sizes, signals = [len(one) for one in truths], case["signals"]
        for k in range(1, 8):
            assert map_at_k(rankings, truths, k) == pytest.approx(said["map"][k - 1], **close)
            if "ac" in said:
                for mode in ("any", "share"):  # one true signal each: the same
                    found = [
                        ac_at_k(rankings, truths, k, mode=mode),
                        avg_at_k(rankings, truths, k, mode=mode),
                        chance_ac_at_k(sizes, signals, k, mode=mode),
                        chance_avg_at_k(sizes, signals, k, mode=mode),
                    ]
                    names = ("ac", "avg", "chance_ac", "chance_avg")
                    assert found == pytest.approx([said[name][k - 1] for name in names], **close)
                compared += 1
    assert compared == 14


def test_missed_and_abstained_events_count_as_zero():
    truths = [{"a"}, {"b"}, {"c"}, {"d"}]
    rankings = [["a"], [], (), ["d", "a"]]
    assert ac_at_k(rankings, truths, 1) == 0.5
    assert map_at_k(rankings, truths, 3) == 0.5
    assert mrr(rankings, truths) == 0.5


def test_several_true_signals():
    rankings, truths = [["x", "a", "b", "y"]], [{"a", "b", "c"}]
    assert ac_at_k(rankings, truths, 2) == 1.0  # any is a hit
    assert ac_at_k(rankings, truths, 2, mode="share") == 0.5
    assert map_at_k(rankings, truths, 3) == pytest.approx((1 / 2 + 2 / 3) / 3)
    assert map_at_k([["a"]], [{"a", "b", "c"}], 1) == 1.0
    assert mrr(rankings, truths) == 0.5


def test_chance_for_many_signals_and_events_of_several_plants():
    assert chance_ac_at_k([1], 1000, 1) == pytest.approx(0.001)
    assert chance_ac_at_k([1, 3], [10, 51], 5) == pytest.approx(
        (0.5 + 1 - 46 * 45 * 44 / (51 * 50 * 49)) / 2
    )
    assert chance_mrr([1], 3) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert chance_ac_at_k([2], 3, 7) == chance_ac_at_k([2], 2, 1) == 1.0
    assert 0 < chance_mrr([100], 5000) < 1  # numbers far beyond a float on the way


METRICS = [lambda r, t: ac_at_k(r, t, 1), lambda r, t: map_at_k(r, t, 3), mrr]


@pytest.mark.parametrize("metric", METRICS)
def test_what_makes_no_sense_is_refused_in_a_sentence(metric):
    with pytest.raises(SettingError, match="1 rankings for 2 events"):
        metric([["a"]], [{"a"}, {"b"}])
    with pytest.raises(NotEnoughDataError, match="no event"):
        metric([], [])
    with pytest.raises(SettingError, match="Event 0 has no true signal"):
        metric([["a"]], [set()])
    with pytest.raises(SettingError, match="names a signal twice"):
        metric([["a", "a"]], [{"a"}])
    with pytest.raises(SettingError, match="a text where a list"):
        metric(["LIT101"], [{"LIT101"}])


def test_settings_that_make_no_sense_are_refused_in_a_sentence():
    for metric in (ac_at_k, avg_at_k, map_at_k):
        with pytest.raises(SettingError, match="k is 0"):
            metric([["a"]], [{"a"}], 0)
    for level in (chance_ac_at_k, chance_avg_at_k, chance_map_at_k):
        with pytest.raises(SettingError, match="k is 0"):
            level([1], 3, 0)
    with pytest.raises(UnknownNameError, match="'share'"):
        ac_at_k([["a"]], [{"a"}], 1, mode="shares")
    with pytest.raises(SettingError, match="4 true signals of 3"):
        chance_mrr([4], 3)
    with pytest.raises(SettingError, match="2 numbers of signals for 1 events"):
        chance_mrr([1], [3, 3])
    with pytest.raises(NotEnoughDataError, match="no event"):
        chance_mrr([], 3)
