"""`Failures`: who guesses tokens has to wait."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from causewatch.server.access.shares import net_of

__all__ = ["Failures"]

MOST_FAILURES = 10
WINDOW = 60.0
"""Seconds in which so many failures lock an address, and for which they do."""
MOST_ADDRESSES = 10_000


class Failures:
    """Counts wrong tokens by address, and says who has to wait.

    Somebody whose token was accepted from an address before is never made to wait there, so that
    others behind the same address (a proxy, a gateway) cannot lock them out by guessing.

    Parameters
    ----------
    now
        A clock, in seconds.
    log
        Where each lock is written, once.
    """

    def __init__(self, now: Callable[[], float], log: logging.Logger) -> None:
        self._now, self._log = now, log
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._locked: OrderedDict[str, float] = OrderedDict()
        self._known: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def wait(self, address: str, digest: bytes) -> int | None:
        """Seconds that this address has to wait with this token; None if it need not."""
        net = net_of(address)
        until = self._locked.get(net)
        if until is None or (net, digest) in self._known:
            return None
        left = until - self._now()
        if left <= 0:
            del self._locked[net]
            return None
        return max(1, math.ceil(left))

    def failed(self, address: str, digest: bytes) -> None:
        """Count a wrong token."""
        net, now = net_of(address), self._now()
        self._known.pop((net, digest), None)  # accepted before, and taken away since
        times = self._times.pop(net, None) or deque(maxlen=MOST_FAILURES)
        times.append(now)
        if len(times) < MOST_FAILURES or now - times[0] >= WINDOW:
            _keep(self._times, net, times)
            return
        _keep(self._locked, net, now + WINDOW)
        self._log.warning(
            "%d wrong tokens came from %s within %.0f s; it has to wait for %.0f s.",
            MOST_FAILURES,
            net,
            WINDOW,
            WINDOW,
        )

    def accepted(self, address: str, digest: bytes) -> None:
        """Remember a token that was right."""
        _keep(self._known, (net_of(address), digest), None)


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    """Keep the latest; memory must not grow with the number of those who ask."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_ADDRESSES:
        kept.popitem(last=False)
