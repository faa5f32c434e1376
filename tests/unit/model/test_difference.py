"""What changed between two models: what is reported, in which words, and what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import causewatch as cw
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.graph import Link
from causewatch.model import diff
from causewatch.model.difference import LinkChange, _holm

NAMES = ("pump", "flow", "level")


def rows_of(seed, rows=1500, *, flow=0.8, level=0.6, lag=1):
    """A pump drives a flow, which fills a tank after some ticks."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, 3))
    for t in range(3, rows):
        values[t, 1] += flow * values[t - 1, 0]
        values[t, 2] += level * values[t - lag, 1] + 0.5 * values[t - 1, 2]
    return values


def learnt(seed, *, names=NAMES, every=1.0, **system):
    import pandas as pd

    frame = pd.DataFrame(rows_of(seed, **system), columns=list(NAMES))[list(names)]
    return cw.learn(frame, every=every, max_lag=3)


@pytest.fixture(scope="module")
def before():
    return learnt(1)


@pytest.fixture(scope="module")
def weaker():
    return learnt(2, flow=0.4)


def test_nothing_is_said_where_nothing_changed(before):
    result = diff(before, learnt(3))
    assert result.changes == ()
    assert result.links >= 3
    assert len(result.graph()) == 0


def test_the_link_that_changed_is_named_and_no_other(before, weaker):
    (change,) = diff(before, weaker).changes
    assert change.link == Link("pump", "flow", 1)
    assert change.kind == "weaker"
    assert change.low < change.after - change.before < change.high < 0
    assert change.p_value < 1e-6
    assert change.sentence(10.0).startswith(
        "the dependence of flow on pump after 10 s is weaker (+"
    )


def test_the_other_way_round_is_the_mirror(before, weaker):
    (there,) = diff(before, weaker).changes
    (back,) = diff(weaker, before).changes
    assert (back.kind, back.link) == ("stronger", there.link)
    assert back.after / back.before == pytest.approx(there.before / there.after)


@pytest.mark.parametrize(
    ("flow", "kind", "words"),
    [
        (0.0, "gone", "flow no longer depends on pump after 1 s"),
        (-0.8, "reversed", "the dependence of flow on pump after 1 s has the other sign"),
    ],
)
def test_every_kind_has_its_words(before, flow, kind, words):
    changes = diff(before, learnt(4, flow=flow)).changes
    assert changes[0].kind == kind
    assert changes[0].sentence(1.0).startswith(words)


def test_a_link_that_came(before):
    (change,) = diff(learnt(5, flow=0.0), before).changes
    assert change.kind == "new"
    assert change.sentence(1.0).startswith("flow depends on pump after 1 s, which it did not (")


def test_another_delay_is_one_change(before):
    (change,) = diff(before, learnt(6, lag=3)).changes
    assert (change.kind, change.link) == ("moved", Link("flow", "level", 3))
    assert change.moved_from == 1
    assert change.sentence(60.0).startswith("level follows flow 3 min later, no longer 1 min later")


def test_sentences_about_the_own_past():
    own = Link("level", "level", 2)
    words = [
        LinkChange(own, kind, 0.1, 0.5, 0.3, 0.5, 0.0).sentence(1.0) for kind in ("new", "gone")
    ]
    assert words[0].startswith("level depends on its own value 2 s before, which it did not")
    assert words[1].startswith("level no longer depends on its own value 2 s before")


def test_signals_of_one_model_alone_are_named_and_not_compared(before):
    result = diff(before, learnt(7, names=("pump", "flow")))
    assert result.only_before == ("level",)
    assert result.only_after == ()
    assert not any("level" in (k.link.source, k.link.target) for k in result.changes)


def test_plain_data_says_it_all(before, weaker):
    (change,) = diff(before, weaker).to_dict()["changes"]
    assert change["source"] == "pump"
    assert change["lag_s"] == 1.0
    assert change["moved_from_s"] is None
    assert "weaker" in change["sentence"]


def test_what_cannot_be_compared_says_why(before):
    with pytest.raises(SettingError, match=r"learn one of them again with --every 1s"):
        diff(before, learnt(1, every=2.0))
    with pytest.raises(SettingError, match="The new model does not hold the moments"):
        diff(before, replace(before, moments=None))
    with pytest.raises(SettingError, match="alpha is 2"):
        diff(before, before, alpha=2.0)
    other = cw.learn(rows_of(1), every=1.0, max_lag=3)
    with pytest.raises(SettingError, match="no signal in common"):
        diff(before, other)


def test_too_few_ticks_are_an_error(before):
    few = replace(before, moments=type(before.moments)(before.signals, max_lag=3))
    with pytest.raises(NotEnoughDataError, match="too few to compare"):
        diff(before, few)


def test_p_values_are_corrected_as_by_holm():
    assert _holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert _holm(np.array([])).tolist() == []


def test_a_mechanism_without_noise_is_compared_too():
    def exact(seed, weight):
        rows = np.random.default_rng(seed).normal(size=(1000, 2))
        rows[1:, 1] = weight * rows[:-1, 0]
        return cw.learn(rows, every=1.0, max_lag=2)

    (change,) = diff(exact(1, 0.8), exact(2, -0.8)).changes
    assert (change.kind, change.link.lag) == ("reversed", 1)
    assert diff(exact(1, 0.8), exact(3, 0.8)).changes == ()


def test_bent_links_are_not_compared(before):
    bent = cw.learn(rows_of(1), every=1.0, max_lag=3, test="features")
    with pytest.raises(SettingError, match="learnt with the features test"):
        diff(bent, bent)


def test_no_link_is_lost_where_several_delays_changed():
    def delayed(seed, *lags):
        rows = np.random.default_rng(seed).normal(size=(3000, 2))
        driven = rows[:, 1].copy()
        for lag in lags:
            driven[lag:] += 0.7 * rows[:-lag, 0]
        return cw.learn(np.column_stack([rows[:, 0], driven]), every=1.0, max_lag=4)

    changes = diff(delayed(1, 1, 2), delayed(2, 4)).changes
    assert {(k.kind, k.link.lag) for k in changes} == {("gone", 1), ("gone", 2), ("new", 4)}
