"""What people know about causes decides where trouble starts."""

import numpy as np
import pytest
from alarm_story import ONSET, alarm, context, course, rows
from hypothesis import given
from hypothesis import strategies as st

import causewatch as cw
from causewatch.data import TimeTable
from causewatch.discovery import Knowledge
from causewatch.explain.explanation import context_of, explain
from causewatch.explain.known import follow_known


def followed(weight, onset, causes, unwatched=None, linked=0):
    weight = np.array(weight, dtype=float)
    onset = np.array(onset, dtype=np.intp)
    return follow_known(weight, weight >= 6.0, onset, causes, unwatched or {}, linked)


def test_nothing_known_changes_nothing():
    weight, unwatched = followed([10.0, 20.0], [1, 2], {})
    assert weight.tolist() == [10.0, 20.0]
    assert unwatched == {}


def test_the_origin_takes_from_the_whole_chain():
    # 0 acts on 1, 1 on 2; 3 has nothing to do with it.
    weight, _ = followed([50.0, 100.0, 200.0, 40.0], [5, 5, 6, 5], {1: (0,), 2: (1,)})
    assert weight[1:].tolist() == [50.0, 50.0, 40.0]  # a half, and a half of a half
    assert weight[0] == 50.0 + 50.0 + 150.0


def test_a_cause_in_trouble_later_explains_nothing():
    weight, _ = followed([50.0, 100.0], [9, 5], {1: (0,)})
    assert weight.tolist() == [50.0, 100.0]
    weight, _ = followed([50.0, 100.0], [6, 5], {1: (0,)})  # the order is blurred by a tick
    assert weight.tolist() == [100.0, 50.0]


def test_a_cause_that_is_well_explains_nothing_of_a_mechanism():
    weight, _ = followed([1.0, 100.0], [0, 5], {1: (0,)}, linked=2)
    assert weight.tolist() == [1.0, 100.0]


def test_causes_that_are_well_are_suspects_in_proportion_to_their_evidence():
    weight, _ = followed([3.0, 1.0, 100.0], [0, 0, 10], {2: (0, 1)})
    assert weight.tolist() == [3.0 + 37.5, 1.0 + 12.5, 50.0]


def test_a_cause_that_nobody_records_is_a_suspect_only_if_no_other_explains_it():
    weight, unwatched = followed([100.0, 100.0], [5, 5], {}, {0: ("Pressure",)})
    assert unwatched == {"Pressure": 50.0}
    assert weight.tolist() == [50.0, 100.0]
    weight, unwatched = followed([100.0, 100.0], [5, 5], {0: (1,)}, {0: ("Pressure",)})
    assert unwatched == {}
    assert weight.tolist() == [50.0, 150.0]


def test_signals_that_explain_each_other_keep_what_they_have():
    weight, _ = followed([100.0, 80.0], [5, 5], {0: (1,), 1: (0,)})
    assert weight.tolist() == [100.0, 80.0]


@given(
    st.lists(st.floats(0.0, 300.0), min_size=4, max_size=4),
    st.lists(st.integers(0, 15), min_size=4, max_size=4),
    st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=3).map(tuple)),
)
def test_weight_is_moved_never_made_nor_lost(weight, onset, causes):
    causes = {k: tuple(c for c in dict.fromkeys(found) if c != k) for k, found in causes.items()}
    after, unwatched = followed(weight, onset, causes, {0: ("Pressure",)})
    assert (after >= 0.0).all()
    assert after.sum() + sum(unwatched.values()) == pytest.approx(sum(weight))


def test_an_explanation_names_what_nobody_records_apart_from_its_causes():
    values = np.hstack([rows(), np.zeros((110, 1))])
    values[ONSET:, 4] = 1.0
    seen = course(values, ("FIT101", "LIT301", "P101", "AIT202", "Alarm 7"))
    told = explain(alarm(ONSET), context=context(unwatched={4: ("Pressure",)}), course=seen)
    assert [one.signal for one in told.unwatched] == ["Pressure"]
    assert "Pressure" not in [one.signal for one in told.causes]
    assert {one.signal for one in told.suspects[:2]} == {"Pressure", "Alarm 7"}
    assert told.abstained
    assert "Pressure" in told.headline
    assert told.to_dict()["unwatched"][0]["signal"] == "Pressure"
    assert 0.9 < sum(one.confidence for one in told.suspects) < 1.0
    assert explain(alarm(ONSET), context=context(), course=seen).unwatched == ()


def test_the_links_of_a_knowledge_file_reach_guarded_and_unrecorded_signals():
    random = np.random.default_rng(3)
    moving = random.normal(size=(600, 2))
    moving[1:, 1] += 0.8 * moving[:-1, 0]
    values = np.column_stack([moving, np.ones(600), np.zeros(600), np.full(600, np.nan)])
    names = ("flow", "level", "pump ok", "alarm", "pressure")
    time = np.arange(600, dtype=np.int64) * 1_000_000_000
    table = TimeTable(names, values, time, np.array([0], dtype=np.intp), 1.0, "elapsed")
    links = ["pump ok -> alarm", "pressure -> alarm", "flow -> level"]
    model = cw.learn(table, every=1.0, knowledge=Knowledge.from_dict({"required": links}))
    found = context_of(model)
    place = {name: k for k, name in enumerate((*model.signals, *model.watching.guarded))}
    assert found.causes[place["alarm"]] == (place["pump ok"],)
    assert found.causes[place["level"]] == (place["flow"],)
    assert found.unwatched == {place["alarm"]: ("pressure",)}
