"""Patience: what is odd alone for long is a new normal."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.monitor.patience import HOURS, LEAST_TICKS, Patience

NAN = float("nan")
HOUR = 3600.0  # ticks of an hour: the least number of ticks decides


def run(patience, signals, ticks):
    """Numbers of the ticks at which a signal's time was up, and which."""
    row = np.array(signals, dtype=float)
    score = float(np.nanmax(row))
    found = ((k, patience.update(score, row)) for k in range(ticks))
    return [(k, signal) for k, signal in found if signal is not None]


def test_time_is_up_after_enough_ticks_alone():
    ((when, signal),) = run(Patience(3, HOUR), [0.1, 5.0, 0.2], LEAST_TICKS + 50)
    assert signal == 1
    assert when == LEAST_TICKS  # the first tick begins the count


def test_short_ticks_must_fill_the_hours():
    most = round(HOURS * 3600 / 5.0)
    assert most > LEAST_TICKS
    assert [when for when, _ in run(Patience(2, 5.0), [5.0, 0.0], most + 1)] == [most]


def test_it_begins_again_when_its_time_was_up():
    assert len(run(Patience(2, HOUR), [5.0, 0.0], 3 * LEAST_TICKS)) == 2


@pytest.mark.parametrize("between", [[0.9, 0.0], [5.0, 1.1], [1.2, 3.0]])
def test_an_end_of_the_trouble_company_or_another_signal_begin_the_count_again(between):
    patience = Patience(2, HOUR)
    assert run(patience, [5.0, 0.0], LEAST_TICKS - 10) == []
    assert run(patience, between, 1) == []
    assert run(patience, [5.0, 0.0], LEAST_TICKS - 10) == []
    assert len(run(patience, [5.0, 0.0], 50)) == 1


def test_trouble_in_company_is_never_accepted():
    assert run(Patience(3, HOUR), [5.0, 2.0, 0.0], 2 * LEAST_TICKS) == []


def test_missing_evidence_is_no_company():
    assert len(run(Patience(3, HOUR), [NAN, 5.0, NAN], LEAST_TICKS + 1)) == 1


def test_what_others_normally_do_is_no_company():
    """In normal operation some signal is near its limit at one tick in thirty or more."""
    patience = Patience(2, HOUR)
    found = []
    for k in range(2 * LEAST_TICKS):
        other = 0.95 if k % 30 == 0 else 0.3
        found.append(patience.update(5.0, np.array([5.0, other])))
    assert 0 in found


def test_a_restored_count_goes_on():
    first, second = Patience(2, HOUR), Patience(2, HOUR)
    run(first, [5.0, 0.0], 3 * LEAST_TICKS // 4)
    second.restore(first.snapshot())
    rest = run(first, [5.0, 0.0], LEAST_TICKS)
    assert rest == run(second, [5.0, 0.0], LEAST_TICKS)
    assert rest
