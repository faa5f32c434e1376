"""`DetectorSettings`: every number that decides what the default detector says."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from causewatch.errors import SettingError

__all__ = ["DetectorSettings"]

INFINITE = float("inf")
SECONDS_PER_HOUR = 3600.0
LEAST = {
    "means": 1,
    "squares": 1,
    "clip": 1,
    "memory_cut": 1,
    "widen_most": 1,
    "kept_margin": 1.001,
    "guard_least": 1e-12,
    "guard_most": 1,
    "lift_ticks": 1,
    "lift_over": 1,
    "lift_most": 1,
    "link_memory": 1,
    "link_window": 2,
    "accept_ticks": 1,
    "smallest": 1e-300,
}
"""Below these the detector does not work; of other numbers 0 is the least."""


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """The numbers of the default detector; a model stores those it was calibrated with.

    Durations are in ticks unless the name says otherwise.

    Attributes
    ----------
    means
        Memories of the weighted means of innovations: 1 sees a jump, 8 an offset that is too small
        to see at once. Longer ones linger after an event and cost more than they find.
    squares
        Memories of the weighted mean squares of innovations, which see noise and oscillation.
    clip
        While limits are learnt, what enters a memory is cut at this many spreads: one wild value in
        normal operation must not put a limit out of reach.
    memory_cut
        Once there are limits it is cut at this many times the limit instead, so that an event fills
        a memory no further than it can soon forget. A memory of one tick takes everything.
    widen_most
        A mechanism whose causes are beyond the range they were learnt in counts as less exact, by
        this factor at most: so far it is trusted anywhere.
    standstill
        Whether standing still for longer than ever is evidence.
    still_least
        Ticks of standing still that are never evidence.
    still_changes
        Standing still says something of signals that change in at least this share of normal
        ticks; others are counters, switches, and sensors that are read rarely or rounded.
    still_most
        Evidence of a standstill is at most this: one that lasts for hours is no worse than one of
        minutes, and a lift must be able to pass it.
    margin
        A limit is this many times the largest value in normal operation.
    kept_margin
        Where normal operation, replayed as it is watched, passes a limit all the same, the limit is
        raised to this many times what it showed.
    margin_growth
        The margin grows with this power of the time between false alarms that is asked for, in
        units of the usual one: the tail of a maximum is heavy, but not that heavy.
    guards
        Whether signals without a mechanism are held against their range.
    guard_margin
        How far outside its range such a signal is at evidence 1, as a share of the range …
    guard_least
        … and at least, as a share of its size, or of 1 where that is larger.
    guard_most
        Margins; a guarded signal that is farther outside its range is not told from one that is so
        far outside. What no digit shows is no difference.
    twin_margin
        How far twins may be apart, as a share of their range: two clocks never agree to the row.
    lifts
        Whether a signal that is loud alone for hours, or again and again, becomes a matter of
        health and loses its say for a while.
    lift_hours
        How long a signal may be loud alone: at least so many hours, the better part of a shift …
    lift_ticks
        … and at least so many ticks, if they are long.
    lift_raise
        What a raise counts, whoever else is loud, as a share of that time …
    lift_apart
        … if the signal was quiet for this share of it before, and for more than
        `lift_quiet` ticks.
    lift_quiet
        See `lift_apart`.
    lift_leak
        What a quiet tick takes away, in ticks.
    lift_fade
        A lift decays by so many ticks of that time for each tick at which the signal is within the
        limit that was learnt.
    lift_over
        A limit is lifted to this many times the peak …
    lift_most
        … and by at most this factor each time, so that worse trouble on the same signal raises. The
        limit of a guarded signal is lifted over its peak.
    lift_company
        How many others may be loud while a signal counts as alone.
    lean
        A mechanism leans on a cause whose usual variation moves it by this many spreads: it is not
        judged while that cause is missing.
    cause_clip
        A missing value is replaced by what its causes say, within so many standard deviations of
        the mean; odd causes are cut here when links are re-estimated.
    link_memory
        Ticks after which what was seen counts for a third when links are re-estimated.
    link_pull
        Weight, in ticks, that pulls re-estimated coefficients towards no change.
    link_window
        Ticks kept for re-estimating links.
    link_least
        A change of a coefficient that moves the target by no more than this share of its spread,
        when the cause is one standard deviation away, is never a broken link.
    accept_ticks
        Ticks whose median is taken for normal when an operator accepts a signal as it is.
    smallest
        A statistic, or a spread as a share of the signal's size, is nothing but rounding if it is
        not larger.
    """

    means: tuple[int, ...] = (1, 8)
    squares: tuple[int, ...] = (8,)
    clip: float = 9.0
    memory_cut: float = 3.0
    widen_most: float = 2.0
    standstill: bool = True
    still_least: float = 10.0
    still_changes: float = 0.5
    still_most: float = 2.0
    margin: float = 1.5
    kept_margin: float = 1.05
    margin_growth: float = 0.05
    guards: bool = True
    guard_margin: float = 0.5
    guard_least: float = 5e-4
    guard_most: float = 1e12
    twin_margin: float = 0.05
    lifts: bool = True
    lift_hours: float = 4.0
    lift_ticks: float = 500.0
    lift_raise: float = 0.25
    lift_apart: float = 1.0 / 30.0
    lift_quiet: int = 6
    lift_leak: float = 1.0 / 3.0
    lift_fade: float = 1.0 / 24.0
    lift_over: float = 1.3
    lift_most: float = 2.0
    lift_company: int = 1
    lean: float = 0.5
    cause_clip: float = 8.0
    link_memory: float = 32.0
    link_pull: float = 5.0
    link_window: int = 128
    link_least: float = 0.01
    accept_ticks: int = 16
    smallest: float = 1e-12

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), LEAST.get(field.name, 0)
            if not _sound(value, field.default, least):
                msg = (
                    f"{field.name} is {value!r}; expected is something like {field.default!r},"
                    f" no number below {least:g}."
                )
                raise SettingError(msg)
        if not self.means:
            msg = "means is empty; the detector needs at least one weighted mean."
            raise SettingError(msg)

    def lift_capacity(self, every: float) -> float:
        """Ticks of `every` seconds for which a signal may be loud alone."""
        return max(self.lift_hours * SECONDS_PER_HOUR / every, self.lift_ticks)


def _sound(value: Any, default: Any, least: float) -> bool:
    """Whether a value is of the kind of the default, finite and large enough."""
    if isinstance(default, tuple):
        return isinstance(value, tuple) and all(_sound(item, default[0], least) for item in value)
    kinds = (int, float) if isinstance(default, float) else (type(default),)
    same = isinstance(value, kinds) and isinstance(value, bool) == isinstance(default, bool)
    return same and least <= value < INFINITE
