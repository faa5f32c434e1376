"""`ReplaySettings`: what may be otherwise in a what-if replay than in the watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from causewatch.errors import SettingError, UnknownNameError
from causewatch.monitor import AlarmSettings
from causewatch.monitor.alarm_settings import MOST_TICKS

__all__ = ["ReplaySettings"]

LOWEST, HIGHEST = 0.1, 10.0
"""Limits that make sense, in units of the one that was learnt."""
USUAL = AlarmSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """How alarms come and go in a replay. Durations are in ticks.

    Attributes
    ----------
    limit
        Alarms are raised at this score instead of 1, of mechanisms and guarded signals alike. In
        the result 1.0 is the limit, as everywhere: scores are in units of this one.
    raise_after, clear_below, clear_after, merge_within, join_within
        See `causewatch.monitor.AlarmSettings`.
    health_after
        See there, too.
    """

    limit: float = 1.0
    raise_after: int = USUAL.raise_after
    clear_below: float = USUAL.clear_below
    clear_after: int = USUAL.clear_after
    merge_within: int = USUAL.merge_within
    join_within: int = USUAL.join_within
    health_after: int = USUAL.health_after

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                msg = f"{one.name} is {value!r}; it must be a number."
                raise SettingError(msg)
            if isinstance(value, int) and value > MOST_TICKS:
                msg = f"{one.name} is too large; it must be at most {MOST_TICKS:,}."
                raise SettingError(msg)
        if not LOWEST <= self.limit <= HIGHEST:
            msg = f"limit is {self.limit}; it must be from {LOWEST} to {HIGHEST}."
            raise SettingError(msg)
        _ = self.alarms  # which looks at the others

    @classmethod
    def of(cls, alarms: AlarmSettings | Mapping[str, Any], **changes: Any) -> Self:
        """The settings of a watch, with some changes; those that are None are none."""
        usual = asdict(alarms) if isinstance(alarms, AlarmSettings) else dict(alarms)
        names = [one.name for one in fields(cls)]
        for name in changes:
            if name not in names:
                raise UnknownNameError(name, "setting of a replay", names)
        known = {name: value for name, value in usual.items() if name in names}
        return cls(**known | {name: one for name, one in changes.items() if one is not None})

    @property
    def alarms(self) -> AlarmSettings:
        """For the monitor."""
        return AlarmSettings(
            **{name: value for name, value in asdict(self).items() if name != "limit"}
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)
