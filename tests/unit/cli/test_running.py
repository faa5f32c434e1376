"""How a running command is told to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from causewatch.cli.running import ENDING, interruptible, signals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    # As in a terminal: a job in the background, or under `nohup`, is started with some ignored.
    before = {one: signal.signal(one, signal.SIG_DFL) for one in ENDING}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize("number", ENDING)
def test_a_watch_stops_in_its_own_time_and_at_once_the_second_time(number: int) -> None:
    watch: Any = SimpleNamespace(stop=False)
    before = signal.getsignal(number)
    with signals(watch):
        signal.raise_signal(number)
        assert watch.stop
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [one for one in ENDING if one != signal.SIGINT])
def test_other_commands_are_interrupted(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    interruptible()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_what_is_to_be_ignored_is_ignored() -> None:
    """As `nohup` has it with closed terminals."""
    number, watch = ENDING[-1], SimpleNamespace(stop=False)
    signal.signal(number, signal.SIG_IGN)
    interruptible()
    with signals(watch):  # type: ignore[arg-type]
        signal.raise_signal(number)
    assert not watch.stop
