"""One plain sentence for an alarm: what changed, since when, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, format_duration, format_time
from causewatch.errors import shorten
from causewatch.explain.ranking import CLIP, Context, Ranking, offsets
from causewatch.explain.view import clean
from causewatch.monitor.alarms import BrokenLink
from causewatch.monitor.course import Course

__all__ = ["LONGEST", "Change", "ChangeKind", "burst", "cannot_tell", "change_of", "headline"]

Floats = NDArray[np.float64]

LONGEST = 200
"""Characters of a headline."""
LONGEST_NAME = 40
NOISY = 2.0
"""A signal is called noisier from this factor of its usual spread on."""
OFF = 2.0
"""A level is off if its mean is this many times what chance would make it."""

NEARLY_ALL, LONGEST_BURST = 0.8, 3
"""A signal is said to have jumped if so few ticks hold this share of its squared innovations."""

ChangeKind = Literal["guard", "twin", "frozen", "link", "level", "jump", "noise", "other"]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one signal.

    Attributes
    ----------
    signal
        Which one.
    kind
        ``guard``: a constant signal moved; ``twin``: it no longer equals another one;
        ``frozen``: it stands still; ``link``: a link acts otherwise; ``level``: it is off what its
        causes say; ``jump``: it was, all at once; ``noise``: it is noisier; ``other``.
    at
        Since when, in nanoseconds.
    link
        The broken link of ``link``.
    before, after
        Values of a ``guard`` before and after it moved; `after` is also where a signal is frozen.
    amount
        How far a ``level`` is off or a ``jump`` went, in the signal's units; the factor of
        ``noise``.
    """

    signal: str
    kind: ChangeKind
    at: int
    link: BrokenLink | None = None
    before: float = float("nan")
    after: float = float("nan")
    amount: float = float("nan")


def change_of(
    course: Course,
    context: Context,
    ranking: Ranking,
    column: int,
    broken_links: Sequence[BrokenLink],
) -> Change:
    """Say what happened to the signal in `column` of the course."""
    name = course.signals[column]
    values = course.values[:, column]
    onset, stop = int(ranking.onset[column]), ranking.stop
    onset = min(onset, ranking.raised)  # an alarm is never raised before its trouble
    at = int(course.time[onset]) if len(course) else 0
    if column >= context.equations.signals:
        return _guard(name, course, ranking, column, context)
    stands = ranking.frozen[column] > 0.5 * ranking.own[column]
    if stands and np.isfinite(values[stop - 1]):
        same = values[:stop] == values[stop - 1]
        first = stop - 1 - int(np.argmin(same[::-1])) + 1 if not same.all() else 0
        return Change(name, "frozen", int(course.time[first]), after=float(values[stop - 1]))
    broken = [one for one in broken_links if one.link.target == name and one.deviation > 1.0]
    # Noise and offsets break the link to a signal's own past as well, which says little.
    worst = max(broken, key=lambda one: (not one.link.is_auto, one.deviation), default=None)
    left = np.clip(course.innovation[onset:stop, column], -CLIP, CLIP)
    left = left[np.isfinite(left)]
    if len(left) < 2:
        return Change(name, "link" if worst else "other", at, link=worst)
    level = len(left) * float(left.mean()) ** 2
    factor = float(np.sqrt(np.mean(left**2)))
    by_link = worst is not None and ranking.coefficients[column] > max(level, 1.0)
    if by_link and not (factor > NOISY and _shapeless(left)):
        return Change(name, "link", at, link=worst)
    off = offsets(course.innovation[onset:stop, column], context.equations, column)
    spread = float(left.std())
    if level > OFF**2 * max(spread, 1.0) ** 2 or _is_off(off, context, column):
        return Change(name, "level", at, amount=_amount(off))
    if factor > NOISY:
        innovation = course.innovation[onset:stop, column]
        when = burst(innovation)
        if when is None:
            return Change(name, "noise", at, amount=factor)
        off = offsets(innovation[when], context.equations, column)
        amount = float(off[np.abs(off).argmax()])
        return Change(name, "jump", int(course.time[onset + when.start]), amount=amount)
    return Change(name, "link" if worst else "other", at, link=worst)


def headline(changes: Sequence[Change], consequences: Sequence[str], context: Context) -> str:
    """The sentence for one or several signals where trouble started, at most `LONGEST` long."""
    first = changes[0]
    text = f"{_said(first, context)} {_word(first)} {_moment(first.at, context.clock)}"
    if len(changes) > 1:
        others = _names([change.signal for change in changes[1:]], "and", context)
        text += f", and {others} changed as well"
    follow = _follow(consequences, "it" if len(changes) == 1 else "them", context)
    for ending in (*follow, ""):
        if len(text) + len(ending) < LONGEST:
            return f"{text}{ending}."
    return f"{text[: LONGEST - 2].rstrip()}…"


def cannot_tell(names: Sequence[str], at: int | None, context: Context) -> str:
    """The sentence for an alarm whose origin cannot be told."""
    when = "" if at is None else f" at {_moment(at, context.clock)}"
    text = f"The plant left its normal behaviour{when}, but where it starts cannot be told"
    for most in (3, 2, 1):
        listed = f": {_names(names[:most], 'or', context)}"
        if names and len(text) + len(listed) < LONGEST:
            return f"{text}{listed}."
    return f"{text}."


def _guard(name: str, course: Course, ranking: Ranking, column: int, context: Context) -> Change:
    if name in context.twins:
        other = course.signals.index(context.twins[name])
        there = slice(ranking.start, ranking.stop)
        apart = np.abs(course.values[there, column] - course.values[there, other])
        found = np.flatnonzero(np.nan_to_num(apart) > 1e-6 * max(float(context.scale[other]), 1e-9))
        if len(found):
            return Change(name, "twin", int(course.time[ranking.start + found[0]]))
    values = course.values[ranking.start : ranking.stop, column]
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return Change(name, "other", int(course.time[ranking.raised]))
    before = float(values[known[0]])
    moved = known[values[known] != before]
    if not len(moved):  # it moved before the first tick that is left
        return Change(name, "guard", int(course.time[ranking.start + known[0]]), after=before)
    at = int(course.time[ranking.start + moved[0]])
    return Change(name, "guard", at, before=before, after=float(values[moved[-1]]))


def burst(innovation: Floats) -> slice | None:
    """The few ticks in a row that hold nearly all of the surprise, if there are such.

    An offset that has just begun is a surprise or two (it may begin within a tick) behind quiet
    ticks, and no noise.
    """
    squares = np.clip(np.nan_to_num(innovation), -1e9, 1e9) ** 2
    for width in range(1, max(1, min(LONGEST_BURST, len(squares) // 4)) + 1):
        sums = np.convolve(squares, np.ones(width), "valid")
        start = int(sums.argmax())
        if sums[start] > NEARLY_ALL * squares.sum():
            return slice(start, start + width)
    return None


def _shapeless(left: Floats) -> bool:
    """Whether innovations change sign from tick to tick, as noise does."""
    return bool(np.mean(left[1:] * left[:-1] < 0) > 0.5)


def _amount(off: Floats) -> float:
    """How far a level is off since it went half the way there: the onset may lie a bit before."""
    size = np.abs(off)
    return float(np.median(off[int(np.argmax(size >= size.max() / 2)) :]))


def _is_off(off: Floats, context: Context, column: int) -> bool:
    """Whether a sensor stays away from where its causes put it, by more than it usually moves."""
    return bool(np.abs(np.median(off)) > OFF * context.scale[column])


def _said(change: Change, context: Context) -> str:
    name, unit = _name(change.signal, context), context.units.get(change.signal, "")
    unit = f" {unit}" if unit else ""
    if change.kind == "guard":
        if np.isnan(change.before):
            return f"{name}, constant in normal operation, is now {_number(change.after)}{unit}"
        return (
            f"{name}, constant in normal operation, moved from {_number(change.before)}"
            f" to {_number(change.after)}{unit}"
        )
    if change.kind == "twin":
        return f"{name} no longer equals {_name(context.twins[change.signal], context)}"
    if change.kind == "frozen":
        return f"{name} has stood still at {_number(change.after)}{unit}"
    if change.kind == "level":
        side = "above" if change.amount > 0 else "below"
        return f"{name} reads {_number(abs(change.amount))}{unit} {side} what its causes say"
    if change.kind == "jump":
        side = "above" if change.amount > 0 else "below"
        return f"{name} jumped {_number(abs(change.amount))}{unit} {side} what its causes say"
    if change.kind == "noise":
        return f"{name} has been {_number(change.amount)} times as noisy as usual"
    if change.kind == "link" and change.link is not None:
        return f"{name} {_link_said(change.link, context)}"
    return f"{name} stopped behaving as its causes say"


def _word(change: Change) -> str:
    """What stands before the time: some changes last, others happen."""
    lasting = change.kind in ("frozen", "level", "noise", "twin")
    return "since" if lasting or (np.isnan(change.before) and change.kind == "guard") else "at"


def _link_said(broken: BrokenLink, context: Context) -> str:
    link = broken.link
    source = "its own past" if link.is_auto else _name(link.source, context)
    lag = f" ({format_duration(link.lag * context.every)})" if link.lag else ""
    ratio = broken.observed / broken.normal if broken.normal else float("inf")
    if not np.isfinite(ratio):
        return f"began to follow {source}{lag}"
    if ratio < -0.3:
        return f"began to follow {source}{lag} the other way round"
    if ratio < 0.5:
        return f"stopped following {source}{lag}"
    return f"began to follow {source}{lag} more {'strongly' if ratio > 1.0 else 'weakly'}"


def _moment(time: int, clock: Clock) -> str:
    text = format_time(time, clock)
    if clock == "elapsed":
        return f"{text.removesuffix('s')} s"
    return text.split("T")[-1]  # the day is on the alarm; the sentence needs the time of day


def _follow(names: Sequence[str], whom: str, context: Context) -> list[str]:
    """Endings that name what follows, the fullest first."""
    if not names:
        return []
    endings = []
    for most in (3, 2, 1):
        listed = _names(names, "and", context, most=most)
        verb = "follows" if len(names) == 1 else "follow"
        endings.append(f"; {listed} {verb} from {whom}")
    count = "1 signal follows" if len(names) == 1 else f"{len(names)} signals follow"
    return [*endings, f"; {count} from {whom}"]


def _names(names: Sequence[str], word: str, context: Context, most: int = 4) -> str:
    shown = [_name(name, context) for name in names]
    if len(shown) > most:
        rest = len(shown) - most
        return f"{', '.join(shown[:most])} {word} {rest} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def _name(name: str, context: Context) -> str:
    return shorten(clean(context.labels.get(name, name)), LONGEST_NAME)


def _number(value: float) -> str:
    """Three digits, without an exponent where that is readable."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if 1e-4 <= abs(value) < 1e6:
        digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
        text = f"{value:.{digits}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    return f"{value:.3g}".replace("-", "−")
