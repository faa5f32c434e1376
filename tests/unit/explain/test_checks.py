"""What to look at next: signals that tell the candidates apart."""

from dataclasses import replace

import numpy as np
import pytest
from alarm_story import NAMES, ONSET, alarm, biased_sensor, context, course, equations, rows

from causewatch.explain.checks import Prediction, checks_of
from causewatch.explain.explanation import explain
from causewatch.explain.ranking import rank
from causewatch.explain.report import report
from causewatch.explain.words import number
from causewatch.monitor.alarms import Cause


def test_an_effect_tells_a_change_from_a_wrong_reading():
    seen = biased_sensor(12.0)
    evidence = np.full_like(seen.evidence, 0.1)
    evidence[ONSET:, 1] = 2.0
    known = context(units={"P101": "l/min"})
    told = explain(alarm(), course=replace(seen, evidence=evidence), context=known)
    (check,) = told.checks
    assert check.signal == "P101"
    (prediction,) = check.predictions
    assert prediction.cause == "LIT301"
    assert prediction.amount == pytest.approx(24.0, abs=4.0)  # twice what LIT301 is off by
    assert prediction.after == 20.0
    assert check.text.startswith("P101 rises by about ")
    assert (
        "l/min within 20 s if LIT301 has really changed, and stays as it is if only the reading of"
        " LIT301 is wrong. So far it has " in check.text
    )
    assert check.text.endswith(f"by {number(abs(check.seen), 2)} l/min.")
    before, after = seen.values[ONSET - 10 : ONSET, 2], seen.values[ONSET + 2 : ONSET + 12, 2]
    assert check.seen == np.median(after) - np.median(before)
    assert check.text in report(told)
    assert told.to_dict()["checks"][0]["signal"] == "P101"


def test_two_candidates_are_told_apart_by_what_only_one_of_them_moves():
    values = rows()
    values[ONSET:, 1] += 12.0
    values[ONSET:, 3] -= 12.0
    seen = course(values)
    evidence = np.full_like(seen.evidence, 0.1)
    evidence[ONSET:, 1], evidence[ONSET:, 3] = 2.0, 1.8
    seen = replace(seen, evidence=evidence)
    ranking = rank(seen, context(), int(seen.time[ONSET]))
    candidates = [Cause("LIT301", 2.0, 0.6), Cause("AIT202", 1.8, 0.3)]
    (check,) = checks_of(seen, context(), ranking, candidates)
    assert check.signal == "P101"
    assert check.predictions[1] == Prediction("AIT202", 0.0, 0.0)
    assert "and stays as it is if it is AIT202." in check.text
    # A candidate that hardly counts is passed over: then a wrong reading is what remains.
    (check,) = checks_of(seen, context(), ranking, [candidates[0], Cause("AIT202", 0.5, 0.01)])
    assert "if only the reading of LIT301 is wrong." in check.text


def test_effects_of_several_lags_and_steps_add_up():
    """LIT301 acts on P101 twice, once each way; what is left cannot be seen."""
    law = equations()
    law = replace(
        law,
        source=np.append(law.source, 1),
        target=np.append(law.target, 2),
        lag=np.append(law.lag, 1),
        coefficient=np.append(law.coefficient, -2.0),
    )
    seen = biased_sensor(12.0)
    known = replace(context(), equations=law)
    ranking = rank(seen, known, int(seen.time[ONSET]))
    assert checks_of(seen, known, ranking, [Cause("LIT301", 2.0, 0.9)])[0].predictions[0].amount
    law = replace(law, coefficient=np.append(law.coefficient[:-1], -2.0 / 1.3))
    known = replace(known, equations=law)
    assert checks_of(seen, known, ranking, [Cause("LIT301", 2.0, 0.9)]) == ()


def test_a_candidate_without_a_mechanism_predicts_nothing():
    values = np.column_stack([rows(), np.ones(110)])
    values[ONSET:, 4] = 2.0
    seen = course(values, names=(*NAMES, "P203"))
    ranking = rank(seen, context(), int(seen.time[ONSET]))
    assert checks_of(seen, context(), ranking, [Cause("P203", 2.0, 0.9)]) == ()


def test_nothing_is_predicted_beyond_the_normal_range():
    """What was never learnt is not said; a signal at its upper end cannot rise."""
    seen = biased_sensor(12.0)
    ranking = rank(seen, context(), int(seen.time[ONSET]))
    now = float(np.median(seen.values[ONSET - 10 : ONSET, 2]))
    for high, amount in ((now + 7.0, 7.0), (now + 1.0, None)):
        known = context(low=np.full(4, -99.0), high=np.array([99.0, 99.0, high, 99.0]))
        checks = checks_of(seen, known, ranking, [Cause("LIT301", 2.0, 0.9)])
        assert [check.predictions[0].amount for check in checks] == ([amount] if amount else [])


def test_a_switch_goes_on_or_not_at_all():
    seen = biased_sensor(12.0)
    values = seen.values.copy()
    values[:, 2] = 0.0
    values[ONSET + 2 :, 2] = 1.0
    seen = replace(seen, values=values, low=values, high=values)
    ranking = rank(seen, context(), int(seen.time[ONSET]))
    known = context(
        low=np.array([-99.0, -99.0, 0.0, -99.0]), high=np.array([99.0, 99.0, 1.0, 99.0])
    )
    known = replace(known, centre=np.full(4, 0.5), scale=np.array([1.2, 1.8, 0.5, 1.2]))
    (check,) = checks_of(seen, known, ranking, [Cause("LIT301", 2.0, 0.9)])
    assert check.text.startswith("P101 goes on within 20 s if LIT301 has really changed, and stays")
    assert check.text.endswith("So far it has gone on.")


def test_at_the_raise_it_is_too_early_to_say_what_it_did():
    seen = course(biased_sensor(12.0).values[: ONSET + 1])
    ranking = rank(seen, context(), int(seen.time[ONSET]))
    (check,) = checks_of(seen, context(), ranking, [Cause("LIT301", 2.0, 0.9)])
    assert np.isnan(check.seen)
    assert check.to_dict()["seen"] is None
    assert "So far" not in check.text


def test_a_signal_without_effects_gives_nothing_to_look_at():
    values = rows()
    values[ONSET:, 3] += 12.0
    assert explain(alarm(), course=course(values), context=context()).checks == ()
