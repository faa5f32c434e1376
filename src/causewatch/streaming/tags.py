"""`TagMap`: which tag of the plant is which signal of the model, and in which unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from causewatch.errors import listing

__all__ = ["Tag", "TagMap"]


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag of the plant.

    Attributes
    ----------
    tag
        What the plant calls it: a topic, a node id, a register, a key of a JSON object.
    signal
        What the model calls it.
    factor, offset
        The signal is ``factor * value + offset``: between the unit of the plant and the model's.
    stale
        Seconds after which its last value no longer counts; None for the source's own rule.
    """

    tag: str
    signal: str
    factor: float = 1.0
    offset: float = 0.0
    stale: float | None = None

    def convert(self, value: float) -> float:
        """A value of the plant in the unit of the model."""
        return self.factor * value + self.offset


@dataclass(frozen=True)
class TagMap:
    """Tags by what the plant calls them. Without any, every tag is a signal of the same name."""

    tags: Mapping[str, Tag] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tags)

    def __iter__(self) -> Iterator[Tag]:
        return iter(self.tags.values())

    def get(self, tag: str) -> Tag | None:
        """The tag of this name; None if the map has tags, and not this one."""
        return self.tags.get(tag) if self.tags else Tag(tag, tag)

    @cached_property
    def signals(self) -> frozenset[str]:
        """The signals that have a tag."""
        return frozenset(tag.signal for tag in self)

    def row(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row of the plant with the names and units of the model.

        Names that the map does not have stay as they are, unless the map says that a signal of that
        name comes from another tag: then they are left out. What is no number is left as it is, for
        the monitor to count.
        """
        if not self.tags:
            return values
        found = {}
        for name, value in values.items():
            tag = self.tags.get(name)
            if tag is None:
                if name not in self.signals:
                    found[name] = value
            elif isinstance(value, int | float) and not isinstance(value, bool):
                try:
                    found[tag.signal] = tag.convert(value)
                except OverflowError:  # a whole number of hundreds of digits
                    found[tag.signal] = value
            else:
                found[tag.signal] = value
        return found

    def check(self, columns: Sequence[str]) -> list[str]:
        """What does not fit the signals of a model, as sentences; none if everything does."""
        if not self.tags:
            return []
        found = []
        known = set(columns)
        bare = [name for name in columns if name not in self.signals]
        if bare:
            found.append(
                f"{_number(len(bare), 'signal')} of the model without a tag: {listing(bare)};"
                " missing unless rows bring them under their own names."
            )
        idle = [f"{tag.tag} (to {tag.signal})" for tag in self if tag.signal not in known]
        if idle:
            found.append(
                f"{_number(len(idle), 'tag')} to signals that the model does not know:"
                f" {listing(idle)}; they are not used."
            )
        return found


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
