"""When a big event is over, and what counts as a new one after it."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.monitor.settling import (
    CALM,
    DECAY,
    ONSET,
    RECOVERED,
    RECOVERY,
    RISE,
    SHARE,
    Settling,
)

BEGUN = [[2.0, 0.1]] * ONSET
"""The first ticks of an event: what comes next counts towards its peak."""


def run(settling, *ticks):
    """Limits of each tick as an array."""
    found = []
    for tick in ticks:
        evidence = np.array(tick, dtype=float)
        limits = settling.limits(evidence, float(np.nanmax(evidence[:2])))
        found.append(np.broadcast_to(limits, evidence.shape).copy())
    return found


def test_without_trouble_the_limit_is_one():
    assert (np.array(run(Settling(3, 2), [0.3, 0.9, 0.0], [1.0, 0.2, 5.0])) == 1.0).all()


def test_an_unknown_score_changes_nothing():
    settling = Settling(2, 2)
    run(settling, [8.0, 0.1])
    before = settling.snapshot()
    assert settling.limits(np.full(2, np.nan), None) == 1.0
    assert settling.snapshot()["peak"] == before["peak"]
    assert (settling.snapshot()["left"] == before["left"]).all()


def test_an_event_is_held_against_a_share_of_its_peak():
    *first, second, third = run(Settling(2, 2), *BEGUN, [10.0, 0.1], [6.0, 0.1])
    assert (np.array(first) == 1.0).all()
    assert second == pytest.approx([SHARE * 10.0] * 2)
    assert third == pytest.approx([SHARE * 10.0 * DECAY] * 2)


def test_what_settles_nearby_is_quiet_and_what_went_quiet_is_watched():
    settling = Settling(2, 2)
    *before, after = run(settling, *BEGUN, [10.0, 0.1], *([[3.0, 0.1]] * CALM))
    assert min(limit[0] for limit in before[ONSET:]) > 3.0
    assert after == pytest.approx([RISE * 3.0, RECOVERY])
    (limits,) = run(settling, [3.2, 2.4])  # the second signal is a new event
    assert limits[0] > 3.2
    assert limits[1] == pytest.approx(RECOVERY * RECOVERED)
    assert settling.snapshot()["peak"] == 1.0  # begun; its height is not known yet


def test_after_a_strong_event_limits_are_higher_for_a_while():
    strong, weak = Settling(3, 2), Settling(3, 2)
    begun = [[*tick, 0.0] for tick in BEGUN]
    *_, after = run(strong, *begun, [10.0, 0.1, 0.0], *([[0.1, 0.1, 0.0]] * CALM))
    assert after == pytest.approx([RECOVERY, RECOVERY, 1.0])  # a guarded signal is out or is not
    limits = run(strong, *([[0.1, 0.1, 0.0]] * 1200))
    assert 900 < sum(limit[1] > 1.0 for limit in limits) < 1100
    *_, after = run(weak, *begun, [3.0, 0.1, 0.0], *([[0.1, 0.1, 0.0]] * CALM))
    assert (np.array(after) == 1.0).all()


def test_what_stays_wrong_is_reported_again_in_the_end():
    settling = Settling(2, 2)
    run(settling, *BEGUN, [10.0, 0.1], *([[3.0, 0.1]] * CALM))
    limits = run(settling, *([[3.0, 0.1]] * 1500))
    above = [k for k, limit in enumerate(limits) if limit[0] < 3.0]
    assert above
    assert above[0] > 300


def test_guarded_signals_make_no_event():
    settling = Settling(3, 2)
    assert (np.array(run(settling, [0.2, 0.2, 9.0], [0.4, 0.2, 9.0])) == 1.0).all()
    assert settling.snapshot()["peak"] == 0.0
    run(settling, [9.0, 0.2, 9.0], *([[0.4, 0.2, 9.0]] * CALM))
    assert settling.snapshot()["left"][2] == 0.0


def test_what_falls_further_after_an_event_is_watched_the_closer():
    settling = Settling(2, 2)
    run(settling, *BEGUN, [10.0, 0.1], *([[3.0, 0.1]] * CALM))
    (limits,) = run(settling, [1.2, 0.1])
    assert limits[0] == pytest.approx(RISE * 1.2)


def test_a_dip_does_not_end_an_event():
    settling = Settling(2, 2)
    dip = [[4.0, 0.1]] * (CALM - 1)
    *_, last = run(settling, *BEGUN, [10.0, 0.1], *dip, [6.0, 0.1], *dip)
    assert last[0] == last[1] == pytest.approx(SHARE * 10.0 * DECAY ** (2 * CALM - 1))


def test_the_jump_that_an_event_begins_with_is_not_its_peak():
    """A spoofed signal: a jump of 60, then 3 and slowly more while the fault lasts."""
    settling = Settling(2, 2)
    fault = [[30.0, 0.1], [60.0, 0.1], [20.0, 0.1], *([[3.0 + 0.1 * k, 0.1] for k in range(100)])]
    limits = run(settling, *fault)
    assert all(tick[0] > limit[0] for tick, limit in zip(fault, limits, strict=True))


def test_a_jump_later_in_an_event_counts():
    """The way back is a jump too; what long memories still hold after it is no trouble."""
    settling = Settling(2, 2)
    run(settling, *BEGUN, *([[9.0, 0.1]] * 50))
    *_, last = run(settling, [40.0, 0.1], *([[8.0, 0.1]] * CALM))
    assert last[0] == pytest.approx(RISE * 8.0)


def test_an_event_may_end_before_its_height_is_known():
    settling = Settling(2, 2)
    assert CALM < ONSET
    run(settling, [30.0, 0.1], *([[0.5, 0.1]] * CALM))
    assert settling.snapshot()["peak"] == 0.0


@pytest.mark.parametrize("begun", [1, ONSET - 1, ONSET, ONSET + 3])
def test_a_restored_one_goes_on(begun):
    first, second = Settling(2, 2), Settling(2, 2)
    run(first, *([[2.0, 0.1]] * begun), [10.0, 0.1], [3.0, 0.1])
    second.restore(first.snapshot())
    rest = [[3.2, 1.4], [7.0, 0.0], [1.0, 0.2], *([[4.0, 0.2]] * ONSET)]
    assert (np.array(run(first, *rest)) == np.array(run(second, *rest))).all()
