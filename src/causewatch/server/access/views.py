"""`Views`: live views, which last, and of which there are only so many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from causewatch.server.access.exchange import Refusal
from causewatch.server.access.shares import Shares, net_of

__all__ = ["Views"]

LEAVING = 2.0
"""Seconds that a view may take to end."""


class _View:
    """One live view, from outside."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self.ended = False
        self.over = asyncio.Event()

    async def end(self) -> None:
        """End it for somebody else; returns when it is over, or after a while."""
        self.ended = True
        if self._task is not None:
            self._task.cancel()
        try:
            await asyncio.wait_for(self.over.wait(), LEAVING)
        except TimeoutError:
            return  # what cannot be ended is told by whoever counts what is there


class Views:
    """Shares out live views among addresses, as `Shares` does.

    Parameters
    ----------
    most
        How many there may be at once.
    """

    def __init__(self, most: int) -> None:
        self._shares: Shares[_View] = Shares(most)

    async def look(self, address: str, answer: Callable[[], Awaitable[None]]) -> None:
        """Answer with a live view until it is over, or another address needs its place.

        Raises
        ------
        Refusal
            If there is no place.
        """
        net = net_of(address)
        gone = None
        if self._shares.full:
            gone = self._shares.giver(net)
            if gone is None:
                raise Refusal(503, self._no_place(net), ((b"retry-after", b"60"),))
            self._shares.discard(gone)
        view = _View()
        self._shares.add(net, view)
        try:
            if gone is not None:
                await gone.end()
            await answer()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not view.ended or task is None:
                raise
            task.uncancel()  # meant for the view, not for whoever serves it
        finally:
            self._shares.discard(view)
            view.over.set()

    def _no_place(self, net: str) -> str:
        return (
            f"All {self._shares.most} live views are taken, {self._shares.held(net)} of them from"
            " your address; close one, or try again later."
        )
