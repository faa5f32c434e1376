"""When polls are made."""

from __future__ import annotations

import threading

from causewatch.streaming.sources.modbus_device import Schedule


class Stop(threading.Event):
    """An event that is waited for in the time of a test."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0

    def wait(self, timeout: float | None = None) -> bool:
        """Time passes."""
        assert timeout is not None
        assert timeout >= 0
        self.now += timeout
        return False


def run(took: list[float], every: float = 1.0) -> tuple[list[float], list[int]]:
    """Polls that take so long: when they began, and what was left out before each."""
    stop = Stop()
    schedule = Schedule(every, lambda: stop.now)
    began, skipped = [], []
    for seconds in took:
        skipped.append(schedule.wait(stop))
        began.append(round(stop.now - 100.0, 9))
        stop.now += seconds
    return began, skipped


def test_polls_stand_on_a_grid_whatever_they_take() -> None:
    """The time that a poll takes is not added to the interval."""
    assert run([0.1, 0.7, 0.0, 0.9, 0.1]) == ([0.0, 1.0, 2.0, 3.0, 4.0], [0, 0, 0, 0, 0])


def test_a_poll_that_is_late_is_made_at_once_and_the_next_is_on_the_grid() -> None:
    """Less than an interval late is not missed."""
    assert run([1.4, 0.1, 0.1]) == ([0.0, 1.4, 2.0], [0, 0, 0])


def test_polls_that_are_too_late_are_left_out_and_counted() -> None:
    """They do not pile up: polls and those left out together are the whole schedule."""
    began, skipped = run([0.0, 5.3, 0.1, 0.1])
    assert began == [0.0, 1.0, 6.3, 7.0]
    assert skipped == [0, 0, 4, 0]
    assert len(began) + sum(skipped) == 8  # 0 to 7 s


def test_short_intervals_do_not_drift() -> None:
    """A thousand polls at 10 ms end where they should."""
    began, skipped = run([0.003] * 1000, every=0.01)
    assert abs(began[-1] - 9.99) < 1e-6
    assert not sum(skipped)
