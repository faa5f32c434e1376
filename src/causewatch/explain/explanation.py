"""`explain`: from an alarm to where it starts, what broke, what follows, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError, listing
from causewatch.explain.changes import Change, change_of
from causewatch.explain.checks import Check, checks_of
from causewatch.explain.ranking import Context, Ranking, confidences, rank
from causewatch.explain.sentence import cannot_tell, headline, unwell
from causewatch.markup import facts
from causewatch.model.normal import NormalModel
from causewatch.monitor.alarms import LEAST_CONFIDENCE, Alarm, BrokenLink, Cause, likely
from causewatch.monitor.course import Course

__all__ = ["Explanation", "context_of", "explain", "parts_of"]

Floats = NDArray[np.float64]

SURE = 0.5
"""Below this confidence of the best cause it is said that the origin cannot be told."""
MOST_CAUSES = 10
MOVED = 2.0
"""A signal has moved if its mean differs by this many normal standard deviations."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an alarm was raised.

    Attributes
    ----------
    alarm
        Which one.
    causes
        Signals where the trouble may have started, best first, each with a score (its evidence in
        units of its limit; what comes after the raise counts a quarter) and a confidence from 0 to
        1.
    abstained
        Whether the origin cannot be told; the causes are then candidates only.
    broken_links
        Links that no longer act as learnt: those into the first cause from others, then other ones,
        those to a signal's own past last; worst first in each.
    consequences
        Signals that are odd because of the causes, earliest first.
    unwatched
        Signals that the model does not watch, but that are known to act on one in trouble which
        nothing else explains; best first, with score and confidence as `causes` have.
    changes
        What happened to the signal that the headline names; empty if it abstains.
    checks
        What to look at next: signals whose readings would tell the candidates apart.
    headline
        One sentence for people.
    published_ranking
        Signals by the published method's criterion, worst first; empty where it was not computed.
    course, context, ranking
        What all of this was taken from; None if the alarm carried nothing.
    """

    alarm: Alarm
    causes: tuple[Cause, ...]
    abstained: bool
    broken_links: tuple[BrokenLink, ...]
    consequences: tuple[str, ...]
    changes: tuple[Change, ...]
    headline: str
    published_ranking: tuple[tuple[str, float], ...] = ()
    course: Course | None = field(default=None, repr=False)
    context: Context | None = field(default=None, repr=False)
    ranking: Ranking | None = field(default=None, repr=False)
    unwatched: tuple[Cause, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def suspects(self) -> tuple[Cause, ...]:
        """Causes and unwatched signals together, best first."""
        return tuple(sorted((*self.causes, *self.unwatched), key=lambda cause: -cause.score))

    @property
    def likely(self) -> tuple[Cause, ...]:
        """The causes to show: the first, and those whose confidence does not round to 0 %."""
        return likely(self.causes)

    def _repr_html_(self) -> str:
        explained = replace(
            self.alarm,
            headline=self.headline,
            causes=self.likely,
            broken_links=self.broken_links,
            abstained=self.abstained,
        )
        return explained._repr_html_() + facts(
            [
                ("follow from it", listing(self.consequences) if self.consequences else ""),
                ("look at next", " ".join(check.text for check in self.checks)),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the fields that an alarm's JSON line has too, and what follows."""
        return {
            "headline": self.headline,
            "abstained": self.abstained,
            "causes": [cause.to_dict() for cause in self.causes],
            "broken_links": [link.to_dict() for link in self.broken_links],
            "unwatched": [cause.to_dict() for cause in self.unwatched],
            "consequences": list(self.consequences),
            "checks": [check.to_dict() for check in self.checks],
            "published_ranking": [
                {"signal": name, "score": score} for name, score in self.published_ranking
            ],
        }


def explain(
    alarm: Alarm,
    model: NormalModel | None = None,
    *,
    course: Course | None = None,
    context: Context | None = None,
    broken_links: Sequence[BrokenLink] | None = None,
    published: Mapping[str, float] | None = None,
) -> Explanation:
    """Say where an alarm starts, what broke and what follows from it.

    Parameters
    ----------
    alarm
        The alarm; what it carries is used where the other arguments are left out.
    model
        The model that watched; needed only if the alarm does not carry it.
    course
        The ticks around the alarm.
    context
        The mechanisms and what is known about the signals, in place of a model.
    broken_links
        Links that no longer act as learnt.
    published
        The published method's criterion by signal, where it was computed.
    """
    if not isinstance(alarm, Alarm):
        msg = (
            "explain takes an alarm, such as those in monitor.update(row).raised; this is an"
            f" object of type {type(alarm).__name__}."
        )
        raise SettingError(msg)
    course = alarm.course if course is None else course
    model = alarm.model if model is None else model
    if context is None and model is not None:
        context = context_of(model)
    given = alarm.broken_links if broken_links is None else broken_links
    links = _in_order(given, ())
    paper = tuple(sorted((published or {}).items(), key=lambda pair: -pair[1]))
    if alarm.kind == "health":
        return _of_health(alarm, links, paper, context)
    if course is None or not len(course):
        return _without_course(alarm, links, paper, context)
    if context is None:
        msg = (
            f"The alarm {alarm.id} carries no model to explain it with; pass the one that"
            " watched, explain(alarm, model)."
        )
        raise SettingError(msg)
    ranking = rank(course, context, alarm.raised_at)
    absent = dict(ranking.unwatched)
    shares = confidences(np.concatenate([ranking.total, list(absent.values())]))
    share = shares[: len(ranking.total)]
    unwatched = tuple(
        Cause(name, score, float(sure))
        for (name, score), sure in zip(absent.items(), shares[len(share) :], strict=True)
    )
    order = [
        column
        for place, column in enumerate(ranking.order.tolist())
        if share[column] >= LEAST_CONFIDENCE or (place < 3 and share[column] > 0.0)
    ][:MOST_CAUSES]
    causes = tuple(
        Cause(course.signals[k], float(ranking.total[k]), float(share[k])) for k in order
    )
    named = [k for k in order[:1] if share[k] >= SURE]
    changes = tuple(change_of(course, context, ranking, k, links) for k in named)
    follow = _consequences(course, context, ranking, named)
    links = _in_order(links, [cause.signal for cause in causes[:1]])
    if named:
        sentence = headline(changes[0], follow, context)
    else:
        both = sorted((*causes[:3], *unwatched), key=lambda cause: -cause.score)
        names = [cause.signal for cause in both[:3] if cause.confidence >= LEAST_CONFIDENCE]
        sentence = cannot_tell(names, alarm.onset, context)
    return Explanation(
        alarm=alarm,
        causes=causes,
        abstained=not named,
        broken_links=links,
        consequences=follow,
        changes=changes,
        headline=sentence,
        published_ranking=paper,
        course=course,
        context=context,
        ranking=ranking,
        unwatched=tuple(sorted(unwatched, key=lambda cause: -cause.score)),
        checks=checks_of(course, context, ranking, causes),
    )


def parts_of(explanation: Explanation) -> tuple[Course, Context, Ranking]:
    """What an explanation was taken from; raises `SettingError` if its alarm carried nothing."""
    course, context, ranking = explanation.course, explanation.context, explanation.ranking
    if course is None or context is None or ranking is None:
        msg = (
            f"The alarm {explanation.alarm.id} carries no ticks, so there is nothing to draw; draw"
            " it from the monitor that raised it."
        )
        raise SettingError(msg)
    return course, context, ranking


def context_of(model: NormalModel) -> Context:
    """What `explain` needs of a model."""
    names = model.signals
    known = model.knowledge
    column = {name: k for k, name in enumerate(model.watched)}
    causes: dict[int, tuple[int, ...]] = {}
    unwatched: dict[int, tuple[str, ...]] = {}
    for source, target in known.required_pairs(column):
        if target not in column:
            continue
        at = column[target]
        if source in column:
            causes[at] = (*causes.get(at, ()), column[source])
        else:
            unwatched[at] = (*unwatched.get(at, ()), source)
    return Context(
        equations=model.equations,
        centre=np.array([model.centre[name] for name in names]),
        scale=np.array([model.scale[name] for name in names]),
        every=model.preprocessing.every,
        clock=model.clock,
        low=model.watching.habits.low,
        high=model.watching.habits.high,
        longest_still=model.watching.habits.longest_still,
        labels={name: text for name in names if (text := known.label_of(name))},
        units={name: text for name in names if (text := known.unit_of(name))},
        twins={
            name: names[twin]
            for name, twin in zip(
                model.watching.guarded, model.watching.ranges.twin.tolist(), strict=True
            )
            if twin >= 0
        },
        causes=causes,
        unwatched=unwatched,
    )


def _in_order(links: Sequence[BrokenLink], causes: Sequence[str]) -> tuple[BrokenLink, ...]:
    """Links into the causes from others, then other ones, those to a signal's own past last."""

    def key(broken: BrokenLink) -> tuple[bool, bool, float]:
        return broken.link.is_auto, broken.link.target not in causes, -broken.deviation

    return tuple(sorted(links, key=key))


def _consequences(
    course: Course, context: Context, ranking: Ranking, named: Sequence[int]
) -> tuple[str, ...]:
    """Signals that the causes act on, directly or not, and that are odd or have moved since."""
    equations = context.equations
    reached = {k for k in named if k < equations.signals}
    waiting = list(reached)
    while waiting:
        source = waiting.pop()
        for target in equations.target[equations.source == source].tolist():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    followers = []
    for column in sorted(reached - set(named)):
        since = _moved(course, context, ranking, column)
        if since is not None:
            followers.append((since, -float(ranking.own[column]), course.signals[column]))
    return tuple(name for *_, name in sorted(followers))


def _moved(course: Course, context: Context, ranking: Ranking, column: int) -> int | None:
    """The tick since which a signal is odd or has left its usual place, None if it has not."""
    odd = np.flatnonzero(course.evidence[ranking.raised : ranking.stop, column] > 1.0)
    if len(odd):
        return ranking.raised + int(odd[0])
    place = (course.values[:, column] - context.centre[column]) / context.scale[column]
    before = place[ranking.start : ranking.raised]
    after = place[ranking.raised : ranking.stop]
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    if not len(after):
        return None
    usual = float(before.mean()) if len(before) >= 5 else 0.0
    # Both must hold: far from the signal's normal place, and not there before the alarm.
    if min(abs(after.mean()), abs(after.mean() - usual)) > MOVED:
        return ranking.raised + int(np.argmax(np.abs(after) > MOVED))
    return None


def _of_health(
    alarm: Alarm,
    links: tuple[BrokenLink, ...],
    paper: tuple[tuple[str, float], ...],
    context: Context | None,
) -> Explanation:
    names = list(alarm.signals)
    sentence = alarm.headline or unwell(names, alarm.problem)
    causes = tuple(Cause(name, alarm.signals[name] or 0.0, 1.0 / len(names)) for name in names)
    return Explanation(alarm, causes, False, links, (), (), sentence, paper, context=context)


def _without_course(
    alarm: Alarm,
    links: tuple[BrokenLink, ...],
    paper: tuple[tuple[str, float], ...],
    context: Context | None,
) -> Explanation:
    """As the alarm was explained while it had ticks, else from its largest evidence alone."""
    if alarm.causes and alarm.headline:
        return Explanation(
            alarm,
            alarm.causes,
            alarm.abstained,
            links,
            (),
            (),
            alarm.headline,
            paper,
            context=context,
        )
    evidence = np.array([value or 0.0 for value in alarm.signals.values()])
    share = confidences(np.maximum(evidence, 0.0))
    order = np.argsort(-evidence, kind="stable")[:MOST_CAUSES].tolist()
    names = list(alarm.signals)
    causes = tuple(Cause(names[k], float(evidence[k]), float(share[k])) for k in order)
    listed = ", ".join(names[k] for k in order[:3]) or "none is known"
    sentence = f"The plant left its normal behaviour; signals concerned: {listed}."
    return Explanation(alarm, causes, True, links, (), (), sentence[:200], paper, context=context)
