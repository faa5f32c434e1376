"""Rules about links, expanded into what is allowed and required among certain signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from causewatch.discovery.knowledge_file import inside
from causewatch.errors import KnowledgeError, listing, shorten
from causewatch.graph import Link

__all__ = ["Constraints", "Rule", "Study", "fits", "matching"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Links from the signals `source` to the signals `target`, at one lag or at any."""

    source: str
    target: str
    lag: int | None = None
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Knowledge about links, spelled out for certain signals and lags.

    Attributes
    ----------
    signals
        Names, in the order of the arrays.
    allowed, required
        ``[i, j, lag]``, the lag axis from 0 to the longest lag: whether signal i may (must) be a
        cause of signal j at that lag. Lags below the shortest one are neither, nor is a signal as
        its own cause at lag 0. Read-only.
    """

    signals: tuple[str, ...]
    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_]

    def allows(self, link: Link) -> bool:
        """Whether the link may exist; False for signals and lags that were not under study."""
        return self._look_up(self.allowed, link)

    def requires(self, link: Link) -> bool:
        """Whether the link must exist."""
        return self._look_up(self.required, link)

    def required_links(self) -> list[Link]:
        """All links that must exist."""
        return [
            Link(self.signals[i], self.signals[j], lag)
            for i, j, lag in np.argwhere(self.required).tolist()
        ]

    def _look_up(self, array: NDArray[np.bool_], link: Link) -> bool:
        if not {link.source, link.target} <= set(self.signals):
            return False
        i, j = self.signals.index(link.source), self.signals.index(link.target)
        return 0 <= link.lag < array.shape[2] and bool(array[i, j, link.lag])


@dataclass(frozen=True, slots=True)
class Study:
    """The signals and lags that rules are to be expanded for.

    Attributes
    ----------
    signals
        Signals under study.
    known
        All signals a rule may speak of, those under study included.
    groups, roles
        Group and role of each known signal that has one.
    min_lag, max_lag
        Lags under study.
    """

    signals: tuple[str, ...]
    known: tuple[str, ...]
    groups: Mapping[str, str]
    roles: Mapping[str, str]
    min_lag: int
    max_lag: int

    def constraints(self, required: Sequence[Rule], forbidden: Sequence[Rule]) -> Constraints:
        """Expand the rules; a link both required and forbidden is a `KnowledgeError`."""
        count = len(self.signals)
        forbidding = np.full((count, count, self.max_lag + 1), -1, dtype=np.int32)
        for number, rule in enumerate(forbidden):
            lags = slice(None) if rule.lag is None else slice(rule.lag, rule.lag + 1)
            for i, j in self._pairs(rule):
                forbidding[i, j, lags] = number
        allowed = forbidding < 0
        must = np.zeros_like(allowed)
        for rule in required:
            lags_asked = self._lags(rule)
            for i, j in self._pairs(rule):
                free = [lag for lag in lags_asked if allowed[i, j, lag]]
                if not free:
                    link = Link(self.signals[i], self.signals[j], lags_asked[0])
                    other = forbidden[forbidding[i, j, lags_asked[0]]]
                    msg = (
                        f"{rule.place} requires {link}, but {inside(other.place)} forbids it;"
                        " remove one of the two."
                    )
                    raise KnowledgeError(msg)
                must[i, j, free] = True
        allowed[:, :, : self.min_lag] = False
        allowed[np.arange(count), np.arange(count), 0] = False
        allowed.flags.writeable = must.flags.writeable = False
        return Constraints(self.signals, allowed, must)

    def _lags(self, rule: Rule) -> Sequence[int]:
        """The lags at which a required link is kept."""
        if rule.lag is None:
            return range(max(1, self.min_lag), self.max_lag + 1)
        if not self.min_lag <= rule.lag <= self.max_lag:
            msg = (
                f"{rule.place} requires a link at lag {rule.lag}, but lags from {self.min_lag} to"
                f" {self.max_lag} ticks are under study; change this lag or the longest one."
            )
            raise KnowledgeError(msg)
        return [rule.lag]

    def _pairs(self, rule: Rule) -> list[tuple[int, int]]:
        """Signal numbers at the ends of a rule's links, as far as they are under study.

        A signal's own past is meant only where both ends are the same name, written out.
        """
        sources = self._members(rule.source, rule.place)
        targets = self._members(rule.target, rule.place)
        own = rule.source == rule.target and rule.source in self.known
        if own and rule.lag == 0:
            msg = f"{rule.place} makes a signal its own cause at lag 0; use a lag of 1 or more."
            raise KnowledgeError(msg)
        number = {name: k for k, name in enumerate(self.signals)}
        return [
            (number[source], number[target])
            for source in sources
            for target in targets
            if source in number and target in number and (own or source != target)
        ]

    def _members(self, end: str, place: str) -> list[str]:
        """The names that one end of a rule stands for."""
        kind, _, value = end.partition(":")
        if end in self.known or kind not in ("group", "role"):
            return matching(end, self.known, place)
        said = self.groups if kind == "group" else self.roles
        found = [name for name in self.known if said.get(name) == value]
        if not found:
            there = listing(dict.fromkeys(said.values()))
            msg = f"{place}: no signal has the {kind} {shorten(value)!r}; available: {there}."
            raise KnowledgeError(msg)
        return found


def fits(pattern: str, name: str) -> bool:
    """Whether a name is meant by a name or shell pattern; upper and lower case differ."""
    return pattern == name or fnmatchcase(name, pattern)


def matching(pattern: str, names: Sequence[str], place: str) -> list[str]:
    """The names that fit; a `KnowledgeError` if there is none."""
    found = [name for name in names if fits(pattern, name)]
    if not found:
        close = get_close_matches(pattern, names, n=3)
        hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        msg = (
            f"{place}: no signal is called {shorten(pattern)!r}.{hint} Available: {listing(names)}."
        )
        raise KnowledgeError(msg)
    return found
