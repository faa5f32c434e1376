"""What people know about a plant: its stages, roles, and links that must or cannot exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from causewatch.discovery.constraints import Constraints, Rule, Study, fits, matching
from causewatch.discovery.knowledge_file import Item, from_plain, inside, read_items
from causewatch.errors import HIDDEN, KnowledgeError, SettingError, shorten

__all__ = ["Constraints", "Fact", "Knowledge", "Rule", "load_knowledge"]

ROLES = ("sensor", "actuator")
ARROW = re.compile(r"\s*(?:->|→)\s*")
LAG = re.compile(r"[0-9]{1,6}")
LAG_FIRST = re.compile(rf"\(({LAG.pattern})\)\s*(.+)")
LAG_LAST = re.compile(rf"(.+?)\s*\(({LAG.pattern})\)")


@dataclass(frozen=True, slots=True)
class Fact:
    """What is said of the signals that fit `pattern`: a group, a role, a unit or a label."""

    pattern: str
    value: str
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Stages, roles, units, labels, and links that must or cannot exist. Empty by default.

    Names may be shell patterns (``P10*``); the ends of links may also be ``group:Stage 1`` or
    ``role:sensor``. Two objects are equal if they say the same in the same order, wherever they
    were read from.

    Attributes
    ----------
    stages
        Names of the groups, in process order.
    groups, roles, units, labels
        What is said of signals, entry by entry.
    required, forbidden
        Links that are always kept, and links that are never considered.

    Examples
    --------
    >>> plant = Knowledge.from_dict(
    ...     {"groups": {"Stage 1": ["LIT1*", "P1*"]}, "required": ["P101 -> LIT101 (1)"]}
    ... )
    >>> plant.group_of("P101")
    'Stage 1'
    >>> [str(link) for link in plant.resolve(["LIT101", "P101"], max_lag=2).required_links()]
    ['P101 →(1) LIT101']
    """

    stages: tuple[str, ...] = ()
    groups: tuple[Fact, ...] = ()
    roles: tuple[Fact, ...] = ()
    units: tuple[Fact, ...] = ()
    labels: tuple[Fact, ...] = ()
    required: tuple[Rule, ...] = ()
    forbidden: tuple[Rule, ...] = ()

    def group_of(self, signal: str) -> str | None:
        """The group (stage) a signal belongs to, None where nothing is said."""
        return _said_of(signal, self.groups, "group")

    def role_of(self, signal: str) -> str | None:
        """``"sensor"`` or ``"actuator"``, None where nothing is said."""
        return _said_of(signal, self.roles, "role")

    def unit_of(self, signal: str) -> str | None:
        """The unit a signal is measured in, None where nothing is said."""
        return _said_of(signal, self.units, "unit")

    def label_of(self, signal: str) -> str | None:
        """What people call a signal, None where nothing is said."""
        return _said_of(signal, self.labels, "label")

    def groups_for(self, signals: Iterable[str]) -> dict[str, list[str]]:
        """The signals by group, in process order, without empty groups and ungrouped signals."""
        found: dict[str, list[str]] = {stage: [] for stage in self.stages}
        for signal in signals:
            group = self.group_of(signal)
            if group is not None:
                found[group].append(signal)
        return {stage: members for stage, members in found.items() if members}

    def resolve(
        self,
        signals: Sequence[str],
        max_lag: int,
        min_lag: int = 1,
        known: Iterable[str] = (),
    ) -> Constraints:
        """What this means for links among `signals` at lags from `min_lag` to `max_lag`.

        Parameters
        ----------
        signals
            The signals under study, in the order the arrays shall have.
        max_lag, min_lag
            The lags under study, in ticks.
        known
            Further signals of the recording that are not under study (constant ones, say). What
            is said of them is checked and otherwise passed over.

        Raises
        ------
        KnowledgeError
            If a name or pattern fits no signal, or two entries contradict each other.
        """
        if not 0 <= min_lag <= max_lag:
            msg = f"The lags go from {min_lag} to {max_lag}; expected 0 <= min_lag <= max_lag."
            raise SettingError(msg)
        names = tuple(dict.fromkeys([*signals, *known]))
        said: dict[str, dict[str, str]] = {}
        for kind, facts in self._facts().items():
            for fact in facts:
                matching(fact.pattern, names, fact.place)
            values = {name: _said_of(name, facts, kind) for name in names}
            said[kind] = {name: value for name, value in values.items() if value is not None}
        study = Study(tuple(signals), names, said["group"], said["role"], min_lag, max_lag)
        return study.constraints(self.required, self.forbidden)

    def required_pairs(self, signals: Iterable[str]) -> list[tuple[str, str]]:
        """Cause and effect of every required link, whatever its lag, in the order of the rules.

        Patterns, groups and roles stand for those of `signals` that they fit. A name written out
        is taken as it is, so that a link from a signal that nobody records is known, too. A
        signal's own past is left out.
        """
        names = tuple(dict.fromkeys(signals))
        found: dict[tuple[str, str], None] = {}
        for rule in self.required:
            for source in self._ends(rule.source, names):
                for target in self._ends(rule.target, names):
                    if source != target:
                        found[source, target] = None
        return list(found)

    def _ends(self, end: str, names: Sequence[str]) -> list[str]:
        """What one end of a rule stands for."""
        kind, _, value = end.partition(":")
        if end not in names and kind in ("group", "role"):
            said = self.group_of if kind == "group" else self.role_of
            return [name for name in names if said(name) == value]
        found = [name for name in names if fits(end, name)]
        return found or ([] if any(sign in end for sign in "*?[") else [end])

    def to_dict(self) -> dict[str, Any]:
        """Plain data in the form of a knowledge file; the order of ``groups`` has a meaning."""
        return {
            "groups": {
                stage: [fact.pattern for fact in self.groups if fact.value == stage]
                for stage in self.stages
            },
            "roles": {fact.pattern: fact.value for fact in self.roles},
            "units": {fact.pattern: fact.value for fact in self.units},
            "labels": {fact.pattern: fact.value for fact in self.labels},
            "required": [_plain(rule) for rule in self.required],
            "forbidden": [_plain(rule) for rule in self.forbidden],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Knowledge:
        """The knowledge that :meth:`to_dict`, or a file of the same form, described."""
        return _knowledge(from_plain(data, "The knowledge"))

    def _facts(self) -> dict[str, tuple[Fact, ...]]:
        return {
            "group": self.groups,
            "role": self.roles,
            "unit": self.units,
            "label": self.labels,
        }


def load_knowledge(path: str | os.PathLike[str]) -> Knowledge:
    """Read plant knowledge from a YAML or JSON file.

    Raises
    ------
    KnowledgeError
        If the file cannot be read or is not of the expected form; the message names the line.
    """
    return _knowledge(read_items(path))


def _said_of(signal: str, facts: Sequence[Fact], kind: str) -> str | None:
    """The one value that the facts give a signal."""
    found = [fact for fact in facts if fits(fact.pattern, signal)]
    for other in found[1:]:
        if other.value != found[0].value:
            msg = (
                f"{other.place} gives {shorten(signal)!r} the {kind} {shorten(other.value)!r},"
                f" but {inside(found[0].place)} gives it the {kind} {shorten(found[0].value)!r};"
                " remove one of the two."
            )
            raise KnowledgeError(msg)
    return found[0].value if found else None


def _plain(rule: Rule) -> dict[str, str | int]:
    ends: dict[str, str | int] = {"source": rule.source, "target": rule.target}
    return ends if rule.lag is None else ends | {"lag": rule.lag}


def _knowledge(item: Item) -> Knowledge:
    """The content of a file as knowledge."""
    sections = _mapping(
        item, "sections", ("groups", "roles", "units", "labels", "required", "forbidden")
    )
    nothing = Item(None, item.place)
    groups = _mapping(sections.get("groups", nothing), "group names and lists of signals")
    facts = {
        section: tuple(
            Fact(pattern, _text(value), value.place)
            for pattern, value in _mapping(
                sections.get(section, nothing), f"signals and {section}"
            ).items()
        )
        for section in ("roles", "units", "labels")
    }
    for fact in facts["roles"]:
        if fact.value not in ROLES:
            expected = " or ".join(ROLES)
            msg = f"{fact.place} gives the role {shorten(fact.value)!r}; expected {expected}."
            raise KnowledgeError(msg)
    return Knowledge(
        stages=tuple(groups),
        groups=_members(groups),
        roles=facts["roles"],
        units=facts["units"],
        labels=facts["labels"],
        required=tuple(map(_rule, _list(sections.get("required", nothing), "links"))),
        forbidden=tuple(map(_rule, _list(sections.get("forbidden", nothing), "links"))),
    )


def _members(groups: Mapping[str, Item]) -> tuple[Fact, ...]:
    facts: dict[str, Fact] = {}
    for stage, members in groups.items():
        for member in _list(members, "signals"):
            fact = Fact(_text(member), stage, member.place)
            # The same text in two groups is a contradiction whatever the signals are.
            _said_of(fact.pattern, [facts.get(fact.pattern, fact), fact], "group")
            facts.setdefault(fact.pattern, fact)
    return tuple(facts.values())


def _rule(item: Item) -> Rule:
    """A link, written as ``source -> target (lag)`` or as a mapping."""
    if isinstance(item.value, dict):
        parts = _mapping(item, "a link", ("source", "target", "lag"))
        for end in ("source", "target"):
            if end not in parts:
                msg = (
                    f"{item.place} is a link without {end}; expected source, target and maybe lag."
                )
                raise KnowledgeError(msg)
        lag = parts.get("lag")
        number = None if lag is None or lag.value is None else _text(lag)
        if number is not None and not LAG.fullmatch(number):
            msg = (
                f"{item.place} has the lag {shorten(number)!r}; expected a whole number of"
                " ticks, 0 or more."
            )
            raise KnowledgeError(msg)
        return Rule(
            _text(parts["source"]),
            _text(parts["target"]),
            None if number is None else int(number),
            item.place,
        )
    ends = ARROW.split(_text(item))
    if len(ends) != 2 or not all(ends):
        msg = (
            f"{item.place} is not a link; expected 'source -> target', 'source -> target (lag)' or"
            " a mapping with source, target and maybe lag."
        )
        raise KnowledgeError(msg)
    source, target = ends
    if found := LAG_FIRST.fullmatch(target):
        return Rule(source, found[2], int(found[1]), item.place)
    if found := LAG_LAST.fullmatch(target):
        return Rule(source, found[1], int(found[2]), item.place)
    return Rule(source, target, None, item.place)


def _mapping(item: Item, what: str, keys: Sequence[str] = ()) -> dict[str, Item]:
    """An item as a mapping, with these keys only where `keys` are given; nothing is empty."""
    if item.value is None:
        return {}
    if not isinstance(item.value, dict):
        msg = f"{item.place} is {item.kind}; expected a mapping of {what}."
        raise KnowledgeError(msg)
    for key, value in item.value.items():
        _visible(key, value)
        if keys and key not in keys:
            close = get_close_matches(key, keys, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            msg = (
                f"{value.place}: there is no key {shorten(key)!r} here.{hint} Expected:"
                f" {', '.join(keys)}."
            )
            raise KnowledgeError(msg)
    return item.value


def _list(item: Item, what: str) -> list[Item]:
    """An item as a list; nothing is empty, and a single text is a list of one."""
    if item.value is None:
        return []
    if isinstance(item.value, str):
        return [item]
    if not isinstance(item.value, list):
        msg = f"{item.place} is {item.kind}; expected a list of {what}."
        raise KnowledgeError(msg)
    return item.value


def _text(item: Item) -> str:
    """An item as a text that is not empty."""
    if not isinstance(item.value, str) or not item.value.strip():
        msg = f"{item.place} holds {item.kind} where a name or text was expected."
        raise KnowledgeError(msg)
    return _visible(item.value, item)


def _visible(text: str, item: Item) -> str:
    """A text, if all of it can be seen."""
    if HIDDEN.search(text):
        msg = (
            f"{item.place} holds {shorten(text)!r}, with control characters or signs that turn the"
            " direction of writing; leave them out."
        )
        raise KnowledgeError(msg)
    return text
