"""Which topics a pattern stands for: in MQTT, and in NATS, which has the same with other signs."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MQTT", "NATS", "Wildcards"]


@dataclass(frozen=True, slots=True)
class Wildcards:
    """How a protocol writes patterns.

    Attributes
    ----------
    between
        What stands between levels.
    one, rest
        What stands for any one level, and for all further ones.
    parent
        Whether `rest` also stands for no further level at all.
    hidden
        What topics begin with that no wildcard in the first level stands for; empty for none.
    """

    between: str
    one: str
    rest: str
    parent: bool = False
    hidden: str = ""

    def fixed_part(self, pattern: str) -> str:
        """What comes before the tags: all before the first wildcard, or before the last level.

        >>> NATS.fixed_part("plant.line1.>"), MQTT.fixed_part("plant/FIT101")
        ('plant.line1.', 'plant/')
        """
        levels = pattern.split(self.between)
        wild = (place for place, level in enumerate(levels) if level in (self.one, self.rest))
        return "".join(level + self.between for level in levels[: next(wild, -1)])

    def covers(self, wide: str, narrow: str) -> bool:
        """Whether every topic that `narrow` stands for is one that `wide` stands for.

        >>> NATS.covers("plant.>", "plant.a.*"), NATS.covers("plant.>", "plant")
        (True, False)
        >>> MQTT.covers("plant/#", "plant"), MQTT.covers("plant/+", "plant/#")
        (True, False)
        """
        wides, narrows = wide.split(self.between), narrow.split(self.between)
        if self.hidden and narrow.startswith(self.hidden) and wides[0] in (self.one, self.rest):
            return False
        for place, level in enumerate(wides):
            if level == self.rest:
                return len(narrows) > place or (self.parent and len(narrows) == place)
            if place >= len(narrows) or narrows[place] == self.rest:
                return False
            if level not in (self.one, narrows[place]):
                return False
        return len(wides) == len(narrows)


MQTT = Wildcards("/", "+", "#", parent=True, hidden="$")
NATS = Wildcards(".", "*", ">")
