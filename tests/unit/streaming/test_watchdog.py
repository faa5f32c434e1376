"""What systemd is told."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from causewatch.streaming.watchdog import Watchdog, watchdog_of
from causewatch.testing import FakeClock

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there is no systemd")


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """The socket of a systemd, and where it is."""
    place = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(place)
        ear.setblocking(False)
        yield place, ear


def words(ear: socket.socket) -> list[str]:
    """What has come since the last time."""
    found: list[str] = []
    while True:
        try:
            found += ear.recv(4096).decode().split("\n")
        except BlockingIOError:
            return found


def watch_like(**more: object) -> SimpleNamespace:
    status = SimpleNamespace(blind="", unkept="", source="connected")
    about = {"blind": False, "pending": False, "ended": False, "status": lambda: status}
    return SimpleNamespace(**about | more)


def test_a_watch_at_work_says_so(heard: tuple[str, socket.socket]) -> None:
    place, ear = heard
    clock = FakeClock()
    dog, watch = Watchdog(place, 40.0, clock), watch_like()
    dog.look(watch)
    assert words(ear) == ["READY=1", "WATCHDOG=1", "STATUS=connected"]
    clock.sleep(5.0)
    dog.look(watch)
    assert words(ear) == []
    clock.sleep(5.0)
    dog.look(watch)
    assert words(ear) == ["WATCHDOG=1"]


@pytest.mark.parametrize("reason", ["pending", "ended"])
def test_a_blind_watch_is_started_again_unless_that_would_harm(
    heard: tuple[str, socket.socket], reason: str
) -> None:
    place, ear = heard
    clock = FakeClock()
    dog, watch = Watchdog(place, 40.0, clock), watch_like(blind=True)
    dog.look(watch)
    assert words(ear) == ["READY=1", "STATUS=connected"]
    setattr(watch, reason, True)
    dog.look(watch)
    assert words(ear) == ["WATCHDOG=1"]
    setattr(watch, reason, False)
    clock.sleep(11.0)
    dog.look(watch)
    assert words(ear) == []
    watch.blind = False
    dog.look(watch)
    assert words(ear) == ["WATCHDOG=1"]


def test_what_is_wrong_stands_in_the_status(heard: tuple[str, socket.socket]) -> None:
    place, ear = heard
    status = SimpleNamespace(blind="", unkept="The disk\nis full.", source="connected")
    Watchdog(place).look(watch_like(status=lambda: status))
    assert words(ear) == ["READY=1", "STATUS=The disk is full."]


def test_nobody_has_to_listen(tmp_path: Path) -> None:
    Watchdog(str(tmp_path / "nobody"), 1.0).look(watch_like())


@pytest.mark.parametrize(
    ("environment", "every"),
    [
        ({}, None),
        ({"NOTIFY_SOCKET": "vsock:2:1"}, None),
        ({"NOTIFY_SOCKET": "/run/x"}, 0.0),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "8000000"}, 2.0),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "8000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "8000000", "WATCHDOG_PID": str(os.getpid())}, 2),
        ({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "often"}, 0.0),
    ],
)
def test_what_systemd_asks_for(environment: dict[str, str], every: float | None) -> None:
    dog = watchdog_of(environment)
    assert (None if dog is None else dog._every) == every
