"""`Watchdog`: tells systemd that a watch is at work, so that one that is stuck is started again.

Written after sd_notify(3): a datagram to the socket that ``NOTIFY_SOCKET`` names.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from causewatch.streaming.views import View

if TYPE_CHECKING:
    from causewatch.streaming.runner import Watch

__all__ = ["Watchdog", "watchdog_of"]

SHARE = 0.25
"""Share of its patience after which systemd hears from the watch again."""
STATUS_EVERY = 2.0
"""Seconds between two texts for ``systemctl status``, if they differ."""
LONGEST = 500
"""Signs of such a text."""


class Watchdog(View):
    """Looks on, and says so as long as rows that come are judged.

    A watch that is blind for longer than systemd is patient is ended and started again, as is one
    that is stuck. But not while something waits to be kept, which a kill would lose.

    Parameters
    ----------
    place
        Of the socket; an @ stands for a name that is in no folder.
    patience
        Seconds of systemd; 0 if it does not wait for signs of life.
    now
        The time in seconds.
    """

    def __init__(
        self, place: str, patience: float = 0.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._place = f"\0{place[1:]}" if place.startswith("@") else place
        self._every = patience * SHARE
        self._now = now
        self._begun = False
        self._fed_at = self._said_at = -float("inf")
        self._said = ""

    def look(self, watch: Watch) -> None:
        """See `View`."""
        now, words = self._now(), []
        if not self._begun:
            self._begun = True
            words.append("READY=1")
        alive = not watch.blind or watch.pending or watch.ended
        if alive and 0.0 < self._every <= now - self._fed_at:
            self._fed_at = now
            words.append("WATCHDOG=1")
        if now - self._said_at >= STATUS_EVERY:
            self._said_at = now
            status = watch.status()
            text = status.blind or status.unkept or status.source
            text = " ".join(text.split())[:LONGEST]
            if text != self._said:
                self._said = text
                words.append(f"STATUS={text}")
        if words:
            self._send("\n".join(words))

    def _send(self, text: str) -> None:
        with (
            suppress(OSError),  # nobody is there to hear it
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as way,
        ):
            way.setblocking(False)
            way.sendto(text.encode("utf-8", "replace"), self._place)


def watchdog_of(environment: Mapping[str, str] = os.environ) -> Watchdog | None:
    """What systemd asks for; None if it asks for nothing, or is not there."""
    place = environment.get("NOTIFY_SOCKET", "")
    if not place.startswith(("/", "@")) or not hasattr(socket, "AF_UNIX"):
        return None
    asked = environment.get("WATCHDOG_USEC", "")
    ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return Watchdog(place, int(asked) / 1e6 if asked.isdecimal() and ours else 0.0)
