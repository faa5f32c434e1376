"""Origins are told from consequences."""

from dataclasses import replace

import numpy as np
import pytest
from alarm_story import (
    ONSET,
    at,
    biased_sensor,
    changed_mechanism,
    context,
    course,
    equations,
    rows,
)
from hypothesis import given
from hypothesis import strategies as st

from causewatch.detectors.equations import Equations
from causewatch.explain.ranking import OPENING, Context, confidences, rank
from causewatch.monitor.course import Course


def ranked(seen, raised=ONSET):
    found = rank(seen, context(), at(raised))
    return found, [seen.signals[k] for k in found.order]


def with_evidence(evidence):
    seen = course(rows())
    return replace(seen, evidence=evidence, score=evidence.max(axis=1))


def test_the_largest_evidence_at_the_raise_comes_first():
    evidence = np.full((110, 4), 0.1)
    evidence[ONSET] = [0.9, 1.5, 1.2, 0.1]
    evidence[ONSET + 1 :] = [0.9, 1.5, 4.0, 0.1]  # it spreads to P101
    found, names = ranked(with_evidence(evidence))
    assert names == ["LIT301", "P101", "FIT101", "AIT202"]
    assert found.total.tolist() == [0.9, 1.5, 1.2, 0.1]


def test_what_comes_later_takes_the_first_place_only_if_it_is_four_times_stronger():
    evidence = np.full((110, 4), 0.1)
    evidence[ONSET, 0], evidence[ONSET + 1 :, 3] = 2.0, 7.9
    assert ranked(with_evidence(evidence))[1][:2] == ["FIT101", "AIT202"]
    evidence[ONSET + 5, 3] = 8.1
    assert ranked(with_evidence(evidence))[1][:2] == ["AIT202", "FIT101"]


def test_what_comes_after_the_opening_changes_nothing():
    evidence = np.full((110, 4), 0.1)
    evidence[ONSET, 0], evidence[ONSET + OPENING :, 3] = 2.0, 1e6
    found, names = ranked(with_evidence(evidence))
    assert names[0] == "FIT101"
    assert found.total[3] == 0.1


def test_one_signal_alone_over_its_limit_is_the_first_cause():
    evidence = np.full((110, 4), 0.99)
    evidence[ONSET, 2] = 1.01
    assert ranked(with_evidence(evidence))[1][0] == "P101"


def test_a_changed_mechanism_shows_at_its_own_signal():
    found, names = ranked(changed_mechanism())
    assert names[0] == "LIT301"
    assert abs(int(found.onset[1]) - ONSET) <= 2


def test_a_guarded_signal_counts_in_full_however_bad_things_were_before_it():
    values = np.hstack([rows(), np.zeros((110, 2))])
    values[ONSET:, 4] = values[ONSET + 15 :, 5] = 1.0
    names = ("FIT101", "LIT301", "P101", "AIT202", "P102", "P302")
    seen = course(values, names)
    found = rank(seen, context(), at(ONSET))
    assert [names[k] for k in found.order[:2]] == ["P102", "P302"]
    assert found.total[5] > 0.4 * found.total[4]
    assert found.onset[4:].tolist() == [ONSET, ONSET + 15]


def test_a_known_cause_that_moved_no_later_is_the_origin():
    values = np.hstack([rows(), np.zeros((110, 3))])
    values[ONSET:, 4:6] = values[ONSET + 15 :, 6] = 1.0
    names = ("FIT101", "LIT301", "P101", "AIT202", "Pump off", "Level low", "Motor hot")
    seen = course(values, names)
    plain = rank(seen, context(), at(ONSET))
    assert plain.total[4] == plain.total[5]  # nothing tells them apart
    # The motor got hot after the pump had stopped, so it did not stop it.
    found = rank(seen, context(causes={4: (5, 6)}, unwatched={6: ("Cooling",)}), at(ONSET))
    assert [names[k] for k in found.order[:2]] == ["Level low", "Pump off"]
    assert found.total[4] < 0.6 * plain.total[4]
    assert found.unwatched["Cooling"] == pytest.approx(found.total[6])


def test_missing_values_and_short_courses_do_no_harm():
    seen = biased_sensor()
    values = seen.values.copy()
    values[ONSET + 3, 0] = values[ONSET + 5, 1] = np.nan
    assert ranked(course(values))[1][0] == "LIT301"
    for ticks in (1, 2, 4):
        few = course(rows()[:ticks])
        found = rank(few, context(), at(0))
        assert np.isfinite(found.total).all()


@given(st.permutations(range(4)))
def test_the_order_of_columns_does_not_matter(order):
    seen, law, usual = biased_sensor(), equations(), context()
    place = np.argsort(order)
    turned = Equations(
        4, 2, place[law.source], place[law.target], law.lag, law.coefficient,
        law.intercept[order], law.spread[order],
    )  # fmt: skip
    shuffled = Course(
        tuple(seen.signals[k] for k in order), seen.time, seen.values[:, order],
        seen.expected[:, order], seen.innovation[:, order], seen.evidence[:, order], seen.score,
    )  # fmt: skip
    other = Context(turned, usual.centre[order], usual.scale[order], 10.0, "naive")
    plain = rank(seen, usual, at(ONSET)).total
    np.testing.assert_allclose(rank(shuffled, other, at(ONSET)).total, plain[order], rtol=1e-9)


def test_confidences_are_shares():
    shares = confidences(np.array([40.0, 10.0, 0.0, -1.0]))
    assert 0.99 < shares.sum() < 1.0
    assert shares[0] > 0.99 > 0.01 > shares[1] > shares[2] == shares[3] == 0.0
    assert (confidences(np.zeros(3)) == 0).all()
    even = confidences(np.array([1.0, 1.0]))
    assert even[0] == even[1] < 0.5  # a third origin is possible
    assert confidences(np.array([1e9])).sum() == pytest.approx(1.0)
