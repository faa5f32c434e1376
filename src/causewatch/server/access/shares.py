"""`Shares`: places that are few, shared out fairly among addresses.

There is no number of places that is right for one address: a wall of screens behind a gateway, or a
proxy with everybody behind it, is one address as well. So anybody may have free places, and only
when all are taken does it matter who has how many: then the address that has most gives way.
Nobody with few connections can be kept out by somebody with many, whatever they are.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Shares", "net_of"]

Holder = TypeVar("Holder")


class Shares(Generic[Holder]):
    """Who has a place, by address.

    Parameters
    ----------
    most
        Places over all.
    idle_since
        Since when a holder has made no use of its place, by any clock; None if it does use it.
    """

    def __init__(
        self, most: int, idle_since: Callable[[Holder], float | None] = lambda holder: None
    ) -> None:
        self.most = most
        self._idle_since = idle_since
        self._nets: dict[Holder, str] = {}  # in the order in which they came
        self._counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._nets)

    @property
    def full(self) -> bool:
        """Whether all places are taken."""
        return len(self._nets) >= self.most

    def held(self, net: str) -> int:
        """How many places an address (`net_of` it) has."""
        return self._counts.get(net, 0)

    def add(self, net: str, holder: Holder) -> None:
        """Give a place away."""
        self._nets[holder] = net
        self._counts[net] = self.held(net) + 1

    def discard(self, holder: Holder) -> None:
        """Take a place back; nothing happens if there is none."""
        net = self._nets.pop(holder, None)
        if net is None:
            return
        left = self._counts[net] - 1
        if left:
            self._counts[net] = left
        else:
            del self._counts[net]

    def giver(self, net: str) -> Holder | None:
        """Who has to give way to one more from an address; None if nobody.

        First those who make no use of their place, unless they come from an address that has fewer
        places. Then the latest of the address that has most, if it has more even after that.
        """
        mine = self.held(net)
        idle = [
            (self._counts[theirs], -since, holder)
            for holder, theirs in self._nets.items()
            if self._counts[theirs] >= mine and (since := self._idle_since(holder)) is not None
        ]
        if idle:
            return max(idle, key=lambda one: one[:2])[2]
        most = max(self._counts.values(), default=0)
        if most <= mine + 1:
            return None
        return next(one for one in reversed(self._nets) if self._counts[self._nets[one]] == most)


def net_of(address: str) -> str:
    """By what is counted: whoever has one IPv6 address mostly has all of its /64.

    >>> net_of("2001:db8::1"), net_of("::ffff:10.0.0.1"), net_of("10.0.0.1")
    ('2001:db8::/64', '10.0.0.1', '10.0.0.1')
    """
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), 64), strict=False))
