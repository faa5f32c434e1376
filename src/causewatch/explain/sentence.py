"""One plain sentence for an alarm: what happened, since when, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from causewatch.errors import listing
from causewatch.explain.changes import Change
from causewatch.explain.ranking import Context
from causewatch.explain.view import interval
from causewatch.explain.words import (
    moment,
    name_of,
    names_of,
    number,
    numbers,
    quantity,
    with_unit,
)
from causewatch.monitor.alarms import BrokenLink

__all__ = ["HEALTH", "LONGEST", "cannot_tell", "happened", "headline", "unwell"]

LONGEST = 200
"""Characters of a headline."""
REVERSED, LOST, WEAKER = -0.3, 0.5, 1.0
"""A link is reversed, lost, or weaker below these multiples of its normal coefficient."""

HEALTH = {
    "missing": "{} sends no value.",
    "stale": "{} has sent no value for a while; its last one is held.",
    "frozen": "{} stands still.",
    "out_of_range": "{} is far outside the range it had in normal operation.",
    "unlike": "{} is no longer as learnt.",
    "rate_wrong": "Rows come at another rate than in normal operation.",
    "not_judged": "Rows come and are not judged.",
    "silent": "No rows come.",
    "incomplete": "What an earlier run left is not whole.",
    "not_kept": "What is seen cannot be kept.",
}
"""A sentence for each state of health."""


def headline(change: Change, consequences: Sequence[str], context: Context) -> str:
    """The sentence for the signal where trouble started, at most `LONGEST` long."""
    text = happened(change, context)
    for ending in (*_follow(consequences, context), ""):
        if len(text) + len(ending) < LONGEST:
            return f"{text}{ending}."
    return f"{text[: LONGEST - 2].rstrip()}…"


def cannot_tell(names: Sequence[str], at: int | None, context: Context) -> str:
    """The sentence for an alarm whose origin cannot be told."""
    when = "" if at is None else f" at {moment(at, context)}"
    text = f"The plant left its normal behaviour{when}, but where it starts cannot be told"
    for most in (3, 2, 1):
        listed = f": {names_of(names[:most], 'or', context)}"
        if names and len(text) + len(listed) < LONGEST:
            return f"{text}{listed}."
    return f"{text}."


def unwell(names: Sequence[str], problem: str | None) -> str:
    """The sentence for a finding about the health of signals that brings none of its own."""
    listed = listing(names, most=3)
    if problem in HEALTH:
        return HEALTH[problem].format(listed)
    return f"{listed}: {problem or 'cannot be trusted'}."


def happened(change: Change, context: Context) -> str:
    """What happened to one signal and when, without a full stop."""
    what = WORDS[change.kind](change, context)
    lasting = change.kind in ("stuck", "level", "drift", "noise", "twin", "link", "other")
    lasting = lasting or (change.kind in ("value", "switched") and np.isnan(change.before))
    word = "since" if lasting else "at"
    name = name_of(change.signal, context)
    return f"{name} {what} {word} {moment(change.at, context)}"


def _value(change: Change, context: Context) -> str:
    if np.isnan(change.before):
        if np.isnan(change.low) or change.low <= change.after <= change.high:
            return f"has been at {quantity(change.after, change.signal, context)}"
        now, low, high = numbers(change.after, change.low, change.high)
        normal = low if low == high else f"{low} to {high}"
        return f"has been at {with_unit(now, change.signal, context)} instead of {normal}"
    if change.what in ("switch", "valve"):
        return _switched(change, context)
    before, after = numbers(change.before, change.after)
    after = with_unit(after, change.signal, context)
    if change.what == "sensor":
        verb = "rose" if change.after > change.before else "fell"
        return f"{verb} from {before}, where it hardly ever moved, to {after}"
    return f"was changed from {before} to {after}"


def _switched(change: Change, context: Context) -> str:
    valve = change.what == "valve"
    if np.isnan(change.before):
        state = number(change.after)
        return f"has stayed at {state}, against what its causes say,"
    on = change.after > change.before
    word = ("opened" if on else "closed") if valve else f"switched {'on' if on else 'off'}"
    return f"was {word} ({number(change.before)} → {number(change.after)})"


def _twin(change: Change, context: Context) -> str:
    other = name_of(context.twins[change.signal], context)
    return f"has differed from {other}, which it always equalled,"


def _stuck(change: Change, context: Context) -> str:
    value = with_unit(number(change.after), change.signal, context)
    if change.what == "counter":
        return f"has stopped counting at {value}"
    if change.what in ("switch", "valve"):
        return f"has stayed at {value} for longer than ever"
    return f"has been stuck at {value}"


def _range(change: Change, context: Context) -> str:
    above = change.after > change.high
    low, high, value = numbers(change.low, change.high, change.after)
    verb, side = ("rose", "above") if above else ("fell", "below")
    value = with_unit(value, change.signal, context)
    return f"{verb} to {value}, {side} its normal range ({low} to {high})"


def _level(change: Change, context: Context) -> str:
    side = "above" if change.amount > 0 else "below"
    return f"has read {_amount(change, context)} {side} what its causes say"


def _drift(change: Change, context: Context) -> str:
    side = "above" if change.amount > 0 else "below"
    return f"has drifted to {_amount(change, context)} {side} what its causes say"


def _jump(change: Change, context: Context) -> str:
    if change.what == "counter":
        return f"jumped by {_amount(change, context)}"
    way = "up" if change.amount > 0 else "down"
    return f"jumped {way} by {_amount(change, context)}"


def _noise(change: Change, context: Context) -> str:
    return f"has been {number(change.amount)} times noisier than usual"


def _link(change: Change, context: Context) -> str:
    if change.link is None:
        return _other(change, context)
    return link_words(change.link, context)


def _other(change: Change, context: Context) -> str:
    return "has not behaved as its causes say"


WORDS = {
    "value": _value,
    "twin": _twin,
    "stuck": _stuck,
    "switched": _switched,
    "range": _range,
    "link": _link,
    "drift": _drift,
    "level": _level,
    "jump": _jump,
    "noise": _noise,
    "other": _other,
}
"""What is said of each kind of change, after the name of the signal."""


def _amount(change: Change, context: Context) -> str:
    return with_unit(number(abs(change.amount)), change.signal, context)


def link_words(broken: BrokenLink, context: Context) -> str:
    """How a signal no longer follows another, after its name."""
    link = broken.link
    source = "its own past" if link.is_auto else name_of(link.source, context)
    lag = f" (after {interval(link.lag * context.every, context.clock)})" if link.lag else ""
    ratio = broken.observed / broken.normal if broken.normal else float("inf")
    if not np.isfinite(ratio):
        return f"has followed {source}{lag}, as it never did,"
    if ratio < REVERSED:
        return f"has followed {source}{lag} the other way round"
    if ratio < LOST:
        return f"has not followed {source}{lag}"
    return f"has followed {source}{lag} more {'strongly' if ratio > WEAKER else 'weakly'}"


def _follow(names: Sequence[str], context: Context) -> list[str]:
    """Endings that name what follows, the fullest first."""
    if not names:
        return []
    endings = []
    for most in (3, 2, 1):
        listed = names_of(names, "and", context, most=most)
        verb = "follows" if len(names) == 1 else "follow"
        endings.append(f"; {listed} {verb} from it")
    count = "1 signal follows" if len(names) == 1 else f"{len(names)} signals follow"
    return [*endings, f"; {count} from it"]
