"""How alarms come and go: the numbers an operator may change."""

from __future__ import annotations

from dataclasses import dataclass

from causewatch.errors import SettingError, shorten

__all__ = ["AlarmSettings"]


MOST_TICKS = 100_000_000
"""Three years of one tick a second."""
MOST_HOURS = 10_000
MOST_ALARMS = 10_000
MOST_FACTOR = 1e6


@dataclass(frozen=True, slots=True)
class AlarmSettings:
    """When alarms are raised, updated, cleared, merged and forgotten. Durations are in ticks.

    Attributes
    ----------
    raise_after
        Ticks in a row above the limit before an alarm is raised.
    clear_below
        Its signals must stay below this share of the limit …
    clear_after
        … for so many ticks before an alarm is cleared.
    merge_within
        Trouble of the signals that raised an alarm opens it again within so many ticks after
        clearing …
    merge_hours
        … or within as long as it had lasted, at most so many hours.
    join_within
        An alarm that no signal has joined for so many ticks is settled: others that get loud raise
        one of their own.
    lost_after
        A signal without evidence keeps its alarm on for so many ticks.
    update_every
        Least number of ticks between two updates of an alarm.
    update_factor
        An update is due once the score has grown by this factor since the last event.
    health_after
        Ticks for which a signal must be unhealthy before a health alarm is raised.
    remember
        How many cleared alarms are kept for merging and feedback.
    """

    raise_after: int = 1
    clear_below: float = 0.8
    clear_after: int = 3
    merge_within: int = 10
    merge_hours: float = 4.0
    join_within: int = 10
    lost_after: int = 120
    update_every: int = 5
    update_factor: float = 1.5
    health_after: int = 5
    remember: int = 50

    def __post_init__(self) -> None:
        for name in ("raise_after", "clear_after", "lost_after", "update_every", "health_after"):
            self._check(name, 1, MOST_TICKS, "ticks")
        for name in ("merge_within", "join_within"):
            self._check(name, 0, MOST_TICKS, "ticks")
        self._check("remember", 1, MOST_ALARMS, "alarms")
        if not 0 < self.clear_below <= 1:
            msg = f"clear_below is {self.clear_below}; it must be above 0 and at most 1."
            raise SettingError(msg)
        if not 0 <= self.merge_hours <= MOST_HOURS:
            msg = (
                f"merge_hours is {self.merge_hours}; it must be a number of hours from 0 to"
                f" {MOST_HOURS}."
            )
            raise SettingError(msg)
        if not 1 <= self.update_factor <= MOST_FACTOR:
            msg = (
                f"update_factor is {self.update_factor}; it must be a number from 1 to"
                f" {MOST_FACTOR:.0f}."
            )
            raise SettingError(msg)

    def _check(self, name: str, least: int, most: int, what: str) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            msg = (
                f"{name} is {shorten(repr(value))}; it must be a whole number of {what}, at least"
                f" {least} and at most {most}."
            )
            raise SettingError(msg)
