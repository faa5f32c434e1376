"""The limit after trouble: raised to a share of the recent peak, and falling back slowly."""

from __future__ import annotations

__all__ = ["Settling"]

SHARE = 0.5
"""The limit is at least this share of the recent peak …"""
DECAY = 0.999
"""… which is forgotten at this rate per tick."""


class Settling:
    """Says when a big event is over.

    After a big event a plant rarely returns to exactly where it was: it settles nearby, somewhat
    outside of what was learnt. Held against the ordinary limit, the alarm would stay on long after
    the event. Held against a share of the event's peak it clears when the event is over; the limit
    then falls back to the ordinary one, so that what stays wrong is reported again.
    """

    def __init__(self) -> None:
        self.peak = 0.0

    def limit(self, score: float) -> float:
        """The limit for the next tick's score, at least 1."""
        self.peak = max(self.peak * DECAY, score)
        return max(1.0, SHARE * self.peak)
