"""What is different between two models of the same plant: links that came, went or changed.

Two graphs differ by chance wherever a link is close to the level, so graphs are not compared link
by link. Each mechanism is fitted to both recordings on the causes that it has in either model, and
a link has changed if its coefficient has: the difference is held against its standard error, and
the p-values of all links are corrected together (Holm). A change of one mechanism leaves those of
its effects as they are.

Both fits also get the signal's own past up to the maximum lag, whether it is linked or not: what
is left then has hardly any memory, as standard errors take for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from causewatch.data import Clock, format_duration
from causewatch.discovery import LaggedMoments
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.kernels.regression import fit_from_covariance
from causewatch.model.normal import NormalModel

__all__ = ["Difference", "LinkChange", "diff"]

Floats = NDArray[np.float64]
Kind = Literal["new", "gone", "moved", "stronger", "weaker", "reversed"]

SURE = 1.959963984540054
"""Standard errors to either side that hold 95 %."""
EXACT = 1e-9
"""Standard errors are at least this share of a coefficient."""
SAME_TICK = 1e-6
"""Ticks whose lengths differ by no more than this share are the same."""


@dataclass(frozen=True)
class LinkChange:
    """A link whose coefficient is not what it was.

    Attributes
    ----------
    link
        The link; its lag is that of the new model, or of the old one where it is gone.
    kind
        ``new`` or ``gone``; ``moved``: to another delay; ``stronger`` or ``weaker``; ``reversed``:
        of the other sign.
    before, after
        The coefficient in each recording, in standard deviations of the effect for one of the
        cause (those of the old recording). Of a link that moved, that at its old delay in the old
        recording, and at its new one in the new recording.
    low, high
        95 % range of the difference at this lag.
    p_value
        Corrected for the number of links that were looked at.
    moved_from
        Lag, in ticks, of the link that went when this one came; None where the delay is the same.
    """

    link: Link
    kind: Kind
    before: float
    after: float
    low: float
    high: float
    p_value: float
    moved_from: int | None = None

    def sentence(self, every: float, clock: Clock | None = None) -> str:
        """What changed, in words; `every` is the length of a tick in seconds (`clock`: rows)."""
        cause, effect = self.link.source, self.link.target
        delay = format_duration(self.link.lag * every, clock)
        own = cause == effect
        name = f"{effect} on its own value {delay} before" if own else f"{effect} on {cause}"
        after = "" if own else f" after {delay}"
        sizes = f"{self.before:+.2f} → {self.after:+.2f}"
        if self.moved_from is not None:  # kind "moved"
            before = format_duration(self.moved_from * every, clock)
            return f"{effect} follows {cause} {delay} later, no longer {before} later ({sizes})"
        words = {
            "new": f"{effect} depends on {'its own value ' + delay + ' before' if own else cause}"
            f"{after}, which it did not ({sizes})",
            "gone": f"{effect} no longer depends on"
            f" {'its own value ' + delay + ' before' if own else cause}{after} ({sizes})",
            "stronger": f"the dependence of {name}{after} is stronger ({sizes})",
            "weaker": f"the dependence of {name}{after} is weaker ({sizes})",
            "reversed": f"the dependence of {name}{after} has the other sign ({sizes})",
        }
        return words[self.kind]


@dataclass(frozen=True)
class Difference:
    """What is different between two models.

    Attributes
    ----------
    changes
        Links that changed, the surest first.
    links
        How many were looked at.
    alpha
        Chance of reporting any link where nothing has changed.
    every, clock
        Length of a tick in seconds, or in rows where that is what is counted.
    only_before, only_after
        Signals that only one of the models has; nothing else is said of them.
    """

    changes: tuple[LinkChange, ...]
    links: int
    alpha: float
    every: float
    clock: Clock
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "alpha": self.alpha,
            "links": self.links,
            "every_s": self.every,
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "changes": [
                {
                    "source": change.link.source,
                    "target": change.link.target,
                    "lag": change.link.lag,
                    "lag_s": change.link.lag * self.every,
                    "kind": change.kind,
                    "before": change.before,
                    "after": change.after,
                    "difference_low": change.low,
                    "difference_high": change.high,
                    "p_value": change.p_value,
                    "moved_from_s": None
                    if change.moved_from is None
                    else change.moved_from * self.every,
                    "sentence": change.sentence(self.every, self.clock),
                }
                for change in self.changes
            ],
        }

    def graph(self) -> CausalGraph:
        """The links that changed, each as strong as it changed."""
        names = {name: None for k in self.changes for name in (k.link.source, k.link.target)}
        return CausalGraph(
            names,
            {k.link: Strength(_bounded(k.after - k.before), k.p_value) for k in self.changes},
        )


def diff(old: NormalModel, new: NormalModel, *, alpha: float = 0.01) -> Difference:
    """What is different between two models of the same plant.

    Parameters
    ----------
    old, new
        Models with ticks of the same length that hold the moments of what they were learnt from,
        as those of the default preset do.
    alpha
        Chance of reporting any link where nothing has changed.

    Examples
    --------
    >>> import numpy as np
    >>> import causewatch as cw
    >>> def recording(strength, seed):
    ...     rows = np.random.default_rng(seed).normal(size=(2000, 3))
    ...     rows[1:, 1] += strength * rows[:-1, 0]
    ...     return cw.learn(rows, max_lag=2)
    >>> result = diff(recording(0.8, 1), recording(0.4, 2))
    >>> [change.sentence(1.0) for change in result.changes]
    ['the dependence of x1 on x0 after 1 s is weaker (+0.62 → +0.30)']
    """
    if not 0.0 < alpha < 1.0:
        msg = f"alpha is {alpha:g}; it must lie between 0 and 1."
        raise SettingError(msg)
    every = old.preprocessing.every
    if abs(new.preprocessing.every - every) > SAME_TICK * every:
        msg = (
            f"A tick of the old model is {old.tick}, one of the new model {new.tick}; learn one of"
            f" them again with --every {format_duration(every).replace(' ', '')}."
        )
        raise SettingError(msg)
    both = [name for name in old.signals if name in set(new.signals)]
    if not both:
        msg = "The two models have no signal in common."
        raise SettingError(msg)
    sides = _Side(old, "old"), _Side(new, "new")
    changes = [change for target in both for change in _changes(*sides, target, set(both))]
    corrected = _holm(np.array([change.p_value for change in changes]))
    kept = [
        LinkChange(k.link, k.kind, k.before, k.after, k.low, k.high, float(p_value))
        for k, p_value in zip(changes, corrected, strict=True)
        if p_value <= alpha
    ]
    return Difference(
        changes=tuple(sorted(_moved(kept), key=lambda k: (k.p_value, -abs(k.after - k.before)))),
        links=len(changes),
        alpha=alpha,
        every=every,
        clock=new.clock,
        only_before=tuple(name for name in old.signals if name not in set(both)),
        only_after=tuple(name for name in new.signals if name not in set(both)),
    )


class _Side:
    """One of the models, as its moments."""

    def __init__(self, model: NormalModel, which: str) -> None:
        moments = model.moments
        if moments is None:
            msg = (
                f"The {which} model does not hold the moments of its recording, which a comparison"
                " needs: it is of the paper preset, or they were too large to keep."
            )
            raise SettingError(msg)
        test = model.provenance.settings.get("test", "linear")
        if test != "linear":
            msg = (
                f"The {which} model was learnt with the {test} test; coefficients say nothing of"
                " bent links: learn it with the linear test to compare it."
            )
            raise SettingError(msg)
        self.moments: LaggedMoments = moments
        self.graph, self.scale = model.graph, model.scale
        self._covariance = moments.covariance()
        if not np.isfinite(self._covariance).all():
            msg = f"The moments of the {which} model hold values that are too large to compare."
            raise SettingError(msg)
        self._place = {name: k for k, name in enumerate(moments.signals)}

    def fit(self, links: list[Link]) -> tuple[Floats, Floats]:
        """Coefficients of the causes of one signal, and their variances."""
        number = len(self._place)
        columns = np.array([k.lag * number + self._place[k.source] for k in links], dtype=np.intp)
        target = self._place[links[0].target]
        freedom = self.moments.windows - len(columns) - 1
        if freedom < 1:
            msg = (
                f"{self.moments.windows} ticks are too few to compare {links[0].target!r}, which"
                f" has {len(columns)} causes."
            )
            raise NotEnoughDataError(msg)
        weights, left = fit_from_covariance(self._covariance, target, columns)
        inverse = np.linalg.pinv(self._covariance[np.ix_(columns, columns)], hermitian=True)
        return weights, left / freedom * np.maximum(inverse.diagonal(), 0.0)


def _changes(old: _Side, new: _Side, target: str, both: set[str]) -> Iterator[LinkChange]:
    """All links into a signal, with the p-values of their differences."""
    before, after = (set(side.graph.parents(target)) for side in (old, new))
    links = sorted(link for link in before | after if link.source in both)
    reach = min(old.moments.reach, new.moments.reach)
    links = [link for link in links if link.lag <= reach]
    if not links:
        return
    most = max(link.lag for link in links)
    past = [Link(target, target, lag) for lag in range(1, most + 1)]
    fitted = [*links, *[link for link in past if link not in set(links)]]
    (first, first_variance), (second, second_variance) = old.fit(fitted), new.fit(fitted)
    for k, link in enumerate(links):
        scale = old.scale[link.source] / old.scale[target]
        error = float(np.sqrt(first_variance[k] + second_variance[k])) * scale
        sizes = float(first[k]) * scale, float(second[k]) * scale
        difference = sizes[1] - sizes[0]
        # A mechanism without noise leaves no doubt: rounding is what no digit shows.
        error = max(error, EXACT * max(abs(sizes[0]), abs(sizes[1]), EXACT))
        p_value = 2.0 * float(special.ndtr(-abs(difference) / error))
        yield LinkChange(
            link,
            _kind(link in before, link in after, *sizes),
            *sizes,
            difference - SURE * error,
            difference + SURE * error,
            p_value,
        )


def _kind(before: bool, after: bool, first: float, second: float) -> Kind:
    if before != after:
        return "new" if after else "gone"
    if first * second < 0:
        return "reversed"
    return "stronger" if abs(second) > abs(first) else "weaker"


def _moved(changes: list[LinkChange]) -> Iterator[LinkChange]:
    """Changes, with the one link that went and the one that came between two signals as one."""
    between: dict[tuple[str, str], list[LinkChange]] = {}
    for change in changes:
        if change.kind in ("new", "gone") and not change.link.is_auto:
            between.setdefault((change.link.source, change.link.target), []).append(change)
    for change in changes:
        pair = between.get((change.link.source, change.link.target), [])
        if len(pair) != 2 or pair[0].kind == pair[1].kind or change not in pair:
            yield change
        elif change.kind == "new":
            (former,) = (other for other in pair if other.kind == "gone")
            yield replace(
                change,
                kind="moved",
                before=former.before,
                p_value=max(change.p_value, former.p_value),
                moved_from=former.link.lag,
            )


def _holm(p_values: Floats) -> Floats:
    """P-values corrected so that `alpha` bounds the chance of any false one."""
    order = np.argsort(p_values)
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def _bounded(value: float) -> float:
    return max(-1.0, min(1.0, value))
