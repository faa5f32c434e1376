"""How long to wait before the next try."""

from __future__ import annotations

import random

__all__ = ["Backoff"]


class Backoff:
    """Growing pauses between tries, each with some chance in it.

    Parameters
    ----------
    first, longest
        Seconds of the first pause and of the longest.
    chance
        Where chance comes from. Without it many clients of one server would come back together.
    """

    def __init__(
        self, first: float = 0.5, longest: float = 5.0, chance: random.Random | None = None
    ) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()
        self.tries = 0

    def next(self) -> float:
        """Seconds to wait now: between half and the whole of a pause that doubles each time."""
        pause = min(self._longest, self._first * 2.0 ** min(self.tries, 32))
        self.tries += 1
        return pause * self._chance.uniform(0.5, 1.0)

    def reset(self) -> None:
        """It has worked."""
        self.tries = 0
