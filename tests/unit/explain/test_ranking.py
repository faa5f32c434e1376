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
    frozen_signal,
    rows,
)
from hypothesis import given
from hypothesis import strategies as st

from causewatch.detectors.equations import Equations
from causewatch.explain.ranking import Context, confidences, offsets, rank
from causewatch.monitor.course import Course


def ranked(seen, raised=ONSET):
    found = rank(seen, context(), at(raised))
    return found, [seen.signals[k] for k in found.order]


def test_a_wrong_sensor_is_the_origin_of_its_followers_trouble():
    seen = biased_sensor()
    loudest = seen.signals[int(seen.evidence[ONSET:].max(axis=0).argmax())]
    assert loudest == "P101"  # the largest evidence names a consequence
    found, names = ranked(seen)
    assert names[0] == "LIT301"
    assert found.explained[1, 2] > 0.7
    assert found.total[2] < found.own[2]


def test_a_changed_mechanism_shows_at_its_own_signal():
    seen = changed_mechanism()
    assert np.abs(seen.values[ONSET + 10 :, 2]).mean() > 8  # P101 is far from its usual place
    found, names = ranked(seen)
    assert names[0] == "LIT301"
    assert confidences(found.total)[1] > 0.9
    assert abs(int(found.onset[1]) - ONSET) <= 2


def test_evidence_that_the_detector_cuts_counts_by_its_innovation():
    values = rows()
    values[ONSET, 0] += 20.0  # FIT101 and AIT202 go off together, one by far the more
    values[ONSET, 3] += 200.0
    cut = course(values)
    cut = replace(cut, evidence=np.minimum(cut.evidence, 4.0))
    without = rank(cut, context(), at(ONSET))
    assert without.own[3] < 2.0 * without.own[0]
    spikes = np.array([5.0, 5.0, 5.0, 5.0])
    found = rank(cut, context(spikes=spikes), at(ONSET))
    assert found.own[3] > 5.0 * found.own[0]
    never = rank(cut, context(spikes=np.full(4, np.inf)), at(ONSET))
    assert never.total.tolist() == without.total.tolist()


def test_a_frozen_signal_is_found_by_its_standing_still():
    found, names = ranked(frozen_signal(), raised=ONSET + 12)
    assert names[0] == "AIT202"
    assert found.frozen[3] > 20
    assert (found.frozen[:3] == 0).all()


def test_a_signal_that_often_stands_still_is_not_frozen():
    values = rows()
    values[:, 3] = np.repeat(values[::10, 3], 10)
    found, _ = ranked(course(values), raised=ONSET)
    assert found.frozen[3] == 0


def test_a_changed_coefficient_is_found_though_its_innovations_are_of_usual_size():
    values = rows(ticks=160)
    quiet = course(values)
    law = equations()
    lost = values.copy()
    for t in range(ONSET, len(lost)):  # LIT301 no longer follows FIT101
        lost[t, 1] = 0.5 * lost[t - 1, 1] + quiet.innovation[t, 1]
    for t in range(ONSET, len(lost)):
        lost[t, 2] = 0.3 * lost[t - 1, 2] + 2.0 * lost[t - 2, 1] + quiet.innovation[t, 2]
    found, names = ranked(course(lost, law=law))
    assert names[0] == "LIT301"
    assert found.coefficients[1] > 5
    assert found.coefficients[2] == 0


def test_later_evidence_counts_less():
    def story(late):
        seen = course(rows())
        evidence = np.full_like(seen.evidence, 0.1)
        evidence[ONSET:, 0], evidence[ONSET + late :, 3] = 2.0, 2.2
        return Course(
            seen.signals, seen.time, seen.values, seen.expected, seen.innovation, evidence,
            evidence.max(axis=1),
        )  # fmt: skip

    assert ranked(story(0))[1][0] == "AIT202"
    assert ranked(story(20))[1][0] == "FIT101"


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


def test_offsets_recover_what_a_sensor_is_off_by():
    law = equations()
    values = np.zeros((40, 4))
    values[10:, 1] += 3.5
    off = offsets(law.innovations(values)[10:, 1], law, 1)
    np.testing.assert_allclose(off, 3.5)


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
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] > 0.8 > 0.2 > shares[1] > shares[2] == shares[3] == 0.0
    assert (confidences(np.zeros(3)) == 0).all()
    np.testing.assert_allclose(confidences(np.array([1e-9, 1e-9])), 0.5)
