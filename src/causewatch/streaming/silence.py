"""Silence: no rows come from a source that should send some.

A monitor knows only the time of its rows, which stands still where none come. So the watch counts
by its own clock how long it has waited for rows, and tells the monitor.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from causewatch.data import parse_duration
from causewatch.errors import CausewatchError, SettingError, shorten
from causewatch.streaming.open import is_address

__all__ = ["NEVER", "Silence", "parse_silence", "usual_silence"]

NEVER = 0.0
"""In place of a duration: silence is no matter."""
LEAST = 60.0
"""Seconds of silence at least before it is reported, unless said otherwise: a server that is
started anew is no alarm."""
ROWS, TICKS = 20, 3
"""And so many usual times between two rows, or ticks, at least."""


class Silence:
    """Counts for how long no rows have come.

    Parameters
    ----------
    after
        Seconds from which on it is silence; `NEVER` if that is no matter.

    Attributes
    ----------
    lasted
        Seconds so far.
    """

    def __init__(self, after: float = NEVER) -> None:
        self._after = after
        self.lasted = 0.0

    @property
    def on(self) -> bool:
        """Whether it is silence by now."""
        return NEVER < self._after <= self.lasted

    def heard(self) -> None:
        """Rows have come."""
        self.lasted = 0.0

    def waited(self, seconds: float) -> bool:
        """Nothing has come for so long, beside what was told before; gives whether it is silence.

        Only the time spent waiting for the source counts: while a store is away nobody listens.
        """
        self.lasted += seconds
        return self.on

    def sentence(self, source: str, status: str, wall: float) -> str:
        """What to tell people; `wall` is the present time in seconds since 1970."""
        since = datetime.fromtimestamp(wall - self.lasted, UTC).strftime("%Y-%m-%d %H:%M:%S")
        return f"No rows have come from {source} since {since} UTC ({status})."


def usual_silence(where: str, interval: float, every: float) -> float:
    """Seconds of silence that are a matter for alarm, for a source of this name or address.

    Files and folders may be written whenever somebody likes.
    """
    is_live = where == "-" or (is_address(where) and not where.startswith("bag:"))
    return max(LEAST, ROWS * interval, TICKS * every) if is_live else NEVER


def parse_silence(said: Any) -> float:
    """Seconds from what a user says: a duration such as ``90s`` or ``5min``, or ``never``."""
    if said == "never":
        return NEVER
    try:
        found = parse_duration(said) if isinstance(said, str) else float(said)
    except (CausewatchError, TypeError, ValueError):
        found = math.nan
    if isinstance(said, bool) or not 0.0 < found < math.inf:
        msg = (
            f"The longest silence is {shorten(repr(said))}; a duration such as 90s or 5min, or"
            " never, is expected."
        )
        raise SettingError(msg)
    return found
