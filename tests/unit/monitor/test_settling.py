"""The limit after a big event."""

from __future__ import annotations

import pytest

from causewatch.monitor.settling import DECAY, SHARE, Settling


def test_small_scores_leave_the_limit_alone():
    settling = Settling()
    assert {settling.limit(score) for score in (0.0, 0.4, 1.0, 1.9, 2.0)} == {1.0}


def test_after_a_big_event_the_limit_is_a_share_of_its_peak():
    settling = Settling()
    assert settling.limit(30.0) == SHARE * 30.0
    assert settling.limit(5.0) == pytest.approx(SHARE * 30.0 * DECAY)
    assert settling.limit(40.0) == SHARE * 40.0


def test_the_event_itself_is_above_the_limit_while_it_lasts():
    settling = Settling()
    for score in (3.0, 10.0, 30.0, 29.0, 25.0):
        assert score > settling.limit(score)


def test_the_ordinary_limit_comes_back_for_good():
    settling = Settling()
    settling.limit(10.0)
    limits = [settling.limit(0.5) for _ in range(2000)]
    assert limits == sorted(limits, reverse=True)
    assert limits[1000] > 1.0
    assert limits[-1] == 1.0


def test_what_stays_wrong_is_above_the_limit_again_one_day():
    settling = Settling()
    settling.limit(10.0)
    above = [score > settling.limit(score) for score in [3.0] * 2000]
    assert not above[0]
    assert above[-1]
    assert above == sorted(above)  # once above, always above
