"""Liveness of judging: rows that come must end in judged ticks.

The rule. Each row that comes is of use once a tick with it in it is judged, and of no use if it is
dropped or as long as no tick is judged. The share of rows of no use is averaged over about the last
`ROWS` rows (`TICKS` ticks, if those are more). From `BLIND` on the watch is blind, although rows
come; it sees again once a tick is judged and the share is below `SEEING`.

Rows are the clock of this rule, not the wall: the same rows lead to the same decisions, however
fast they come, and where none come it says nothing (that is `causewatch.streaming.silence`). Where
rows are so slow that this takes long, the wall counts as well: rows that make `WORTH` ticks have
come for `Liveness.patience` and none was judged. Ticks that cannot have a score yet (the first ones
of a stretch), or in which no signal has a value (each of them is reported as missing), count
neither way; of the latter probes are told. See ``docs/watching-rules.md``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from causewatch.streaming.counts import NO_ROWS

__all__ = ["Liveness"]

ROWS, TICKS = 60, 6
"""Rows, and ticks, over which the share is averaged."""
BLIND, SEEING = 1 / 3, 1 / 6
"""Share of rows of no use from which on the watch is blind, and below which it sees again. Of two
senders one of which is always late, half of all rows are of no use. What is between them is more
than the rows of a tick that is still open can make."""
MOST = 1 / 2
"""The share is cut here, so that the watch sees again about as soon as it has gone blind."""

PATIENCE, INTERVALS, WORTH = 18.0, 1.8, 3
"""Seconds or ticks, whichever is longer, for which rows may come that make so many ticks' worth
without one being judged. Three rows, one to a tick, come within two intervals, more or less."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "bad_lines": "{} are lines that cannot be read, such as those with another number of cells",
        "bad_times": "{} have no time that can be read",
        "late_rows": "{} are late, that is older than rows that came before them",
        "odd_times": "{} have a time far from all others",
        "duplicate_times": "{} have the time of the row before: the clock stands still",
        "unknown_tags": "{} are values of tags that nobody knows",
        "late_values": "{} are values that come too late for their row",
        "duplicates": "{} were there before",
        "gaps": "{} come after a gap, and what is between gaps is too short to be judged",
    }
)
"""Why rows are not judged, by the kind of problem, with how many rows it concerns."""
SLOW = "their clock hardly moves or was set back, so that no tick is complete"
THIN = "they come too slowly, so that ticks have none of them, or too few"
UNSCORED = "ticks are complete but have no score, as too many signals or earlier ticks are missing"


class _Spell:
    """Rows that came since something was last right, and since when."""

    def __init__(self) -> None:
        self.rows = 0
        self.since = 0.0

    def add(self, rows: int, since: float) -> None:
        """Some more."""
        if not self.rows:
            self.since = since
        self.rows += rows

    def end(self) -> None:
        """All is right."""
        self.rows = 0


class Liveness:
    """Follows whether the rows that come are judged; see the module.

    Parameters
    ----------
    rows_per_tick
        Rows that make a tick.
    warm_up
        Ticks at the beginning of a stretch that cannot have a score.
    every
        Seconds between two ticks.
    blind
        Whether the watch was blind when an earlier run ended.
    now
        The time in seconds, any that never goes back.

    Attributes
    ----------
    blind
        Whether rows come and are not judged.
    patience
        Seconds for which rows may come and nothing be judged.
    rows, judged
        Rows that came in this run, and those of them that ended in a judged tick.
    """

    def __init__(
        self,
        rows_per_tick: float,
        warm_up: int,
        every: float = 0.0,
        *,
        blind: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._over = max(ROWS, TICKS * rows_per_tick)
        self._worth = WORTH * rows_per_tick
        self._warm_up = warm_up
        self._now = now
        self._useless = MOST if blind else 0.0  # share, as far as the use of rows is known
        self._open = 0  # rows of which that is not known yet
        self._unscored = self._thin = 0  # ticks in a row without a score, and with too few rows
        self._dropped = 0
        self._judged_at: float | None = None
        self._unjudged, self._valueless = _Spell(), _Spell()
        self.blind = blind
        self.patience = max(PATIENCE, INTERVALS * every)
        self.rows = self.judged = 0
        self._well: tuple[int, Mapping[str, int]] = (0, {})  # rows and problems when all was well

    @property
    def useless(self) -> float:
        """The present share of rows of no use."""
        return 1.0 - (1.0 - self._useless) * math.exp(-self._open / self._over)

    @property
    def age(self) -> float | None:
        """Seconds since the last judged tick; None if there was none in this run."""
        return None if self._judged_at is None else self._now() - self._judged_at

    @property
    def empty(self) -> bool:
        """Whether rows have come for too long in which no signal has a value."""
        return self._is_too_long(self._valueless)

    def _is_too_long(self, spell: _Spell) -> bool:
        return spell.rows >= self._worth and self._now() - spell.since >= self.patience

    def came(
        self,
        rows: int,
        dropped: int,
        problems: Callable[[], Mapping[str, int]],
        lasted: float = 0.0,
    ) -> None:
        """Rows came; whether they are judged is not known yet.

        Parameters
        ----------
        rows
            How many, with those that were dropped.
        dropped
            How many rows were dropped so far.
        problems
            Says what was wrong with rows so far, by kind.
        lasted
            Seconds for which they have been coming.
        """
        lost, self._dropped = max(0, dropped - self._dropped), dropped
        self.rows += rows
        self._open = max(0, self._open + rows - lost)
        self._count(lost, useless=True)
        self._unjudged.add(rows, self._now() - lasted)
        share = self.useless
        if share >= BLIND or self._is_too_long(self._unjudged):
            self.blind = True
        elif share < SEEING and not self.blind and self._unjudged.rows == rows:
            # These are the first ones since a tick was judged.
            if self.rows - self._well[0] >= self._over / 4:
                self._well = (self.rows, dict(problems()))

    def tick(self, judged: bool, empty: bool = False, thin: bool = False) -> None:
        """A tick is complete: judged or not, `empty` of values, or `thin`, of too few rows."""
        rows, self._open = self._open, 0
        if empty:
            self._valueless.add(rows, self._now())
        elif judged:
            self._valueless.end()
        self._unscored = 0 if judged or empty else self._unscored + 1
        if self._unscored <= self._warm_up:
            self._unjudged.end()
        self._thin = self._thin + thin if self._unscored else 0
        if judged:
            self._judged_at = self._now()
            self.judged += rows
            self._count(rows, useless=False)
            if self.blind and self.useless < SEEING:
                self.blind = False
        elif self._unscored > self._warm_up:
            self._count(rows, useless=True)

    def _count(self, rows: int, useless: bool) -> None:
        """Let rows count for the share."""
        share = useless + (self._useless - useless) * math.exp(-rows / self._over)
        self._useless = min(share, MOST)

    def sentence(self, source: str, problems: Mapping[str, int], wall: float) -> str:
        """Why rows are not judged; `wall` is the present time in seconds since 1970."""
        rows, before = self._well
        kinds = (*REASONS, *NO_ROWS)
        worse = {kind: problems.get(kind, 0) - before.get(kind, 0) for kind in kinds}
        worst = max(worse, key=lambda kind: worse[kind])
        count = max(self.rows - rows, worse[worst])  # what made no row may not have counted as one
        if 4 * worse[worst] >= count:
            other = f"{{}} cannot be used ({worst.replace('_', ' ')})"
            why = REASONS.get(worst, other).format(f"{worse[worst]:,} of the last {count:,}")
        else:
            why = SLOW
            if self._unscored > self._warm_up:
                why = THIN if 3 * self._thin > self._unscored else UNSCORED
        since = ""
        if self.age is not None:
            moment = datetime.fromtimestamp(wall - self.age, UTC)
            since = f"; the last tick was judged at {moment:%Y-%m-%d %H:%M:%S} UTC"
        return f"Rows come from {source} and are not judged: {why}{since}."
