"""What to look at next: signals that tell the candidates apart."""

from dataclasses import replace

import numpy as np
import pytest
from alarm_story import ONSET, alarm, biased_sensor, context, course, rows

from causewatch.explain.checks import Prediction, checks_of
from causewatch.explain.explanation import explain
from causewatch.explain.ranking import rank
from causewatch.explain.report import report


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
    assert check.text.endswith(
        "l/min within 20 s if LIT301 has really changed, and stays as it is if only the reading of"
        " LIT301 is wrong."
    )
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
    (check,) = checks_of(seen, context(), ranking, [1, 3])
    assert check.signal == "P101"
    assert check.predictions[1] == Prediction("AIT202", 0.0, 0.0)
    assert check.text.endswith("and stays as it is if AIT202 has really changed.")


def test_a_signal_without_effects_gives_nothing_to_look_at():
    values = rows()
    values[ONSET:, 3] += 12.0
    assert explain(alarm(), course=course(values), context=context()).checks == ()
