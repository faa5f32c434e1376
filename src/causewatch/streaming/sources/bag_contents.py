"""What is in a bag, and which of it is which signal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from causewatch.data.table import NANOSECONDS
from causewatch.errors import SettingError, StreamError, listing
from causewatch.streaming.address import Seconds
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.bag_fields import (
    Codec,
    Field,
    fields_of,
    parse_field,
    reader_of,
)
from causewatch.streaming.sources.bag_files import Bag, Message
from causewatch.streaming.tags import Tag

__all__ = ["BagOptions", "Contents", "Use"]

log = logging.getLogger(__name__)

Use = tuple[Tag, Callable[[Any], Any]]
"""A signal, and what reads it in a message."""

LATE = Seconds(1.0)
EXAMPLES, LOOKED_AT = 20, 20_000
"""Messages of each topic that are looked at when a bag is opened, and of all at most."""
JOINTS = "sensor_msgs/msg/JointState"
PARTS = ("position", "velocity", "effort")


@dataclass(frozen=True)
class BagOptions:
    """Options of ``bag://``.

    Attributes
    ----------
    time
        Whether the time of a message is that of its header, where it has one, or that at which it
        was recorded.
    stale
        Seconds after which a last value no longer counts; the longer one of 10 s and three rows if
        None.
    late
        Seconds that values may come late.
    distro
        The distribution of ROS 2 whose types are meant where a bag does not define its own.
    """

    time: Literal["header", "log"] = "header"
    stale: Seconds | None = None
    late: Seconds = LATE
    distro: Literal[
        "dashing", "eloquent", "foxy", "galactic", "humble", "iron", "jazzy", "kilted", "lyrical"
    ] = "humble"


class Contents:
    """Topics and fields of an open bag.

    Parameters
    ----------
    bag
        The bag.
    options
        How its messages are to be read.
    """

    def __init__(self, bag: Bag, options: BagOptions) -> None:
        self._bag = bag
        self._options = options
        self._codecs: dict[tuple[str, str], Codec | StreamError] = {}

    def decode(self, message: Message) -> tuple[int, Any]:
        """A message and its time in nanoseconds; raises anything if its bytes make no sense."""
        found = self._codec(message.connection).decode(message.data)
        if self._options.time == "header":
            told = getattr(getattr(found, "header", None), "stamp", None)
            if told is not None and (told.sec or told.nanosec):
                return told.sec * NANOSECONDS + told.nanosec, found
        return message.time, found

    def examples(self, topics: Collection[str]) -> dict[str, list[tuple[int, Any]]]:
        """The first messages of some topics."""
        found: dict[str, list[tuple[int, Any]]] = {topic: [] for topic in topics}
        left = dict.fromkeys(topics, EXAMPLES)
        for number, message in enumerate(self._bag.messages(topics) if left else ()):
            if message.topic in left:
                with suppress(Exception):  # it is counted when it is read for its values
                    found[message.topic].append(self.decode(message))
                left[message.topic] -= 1
                if not left[message.topic]:
                    del left[message.topic]
            if not left or number >= LOOKED_AT:
                break
        return found

    def fields(self) -> dict[str, list[Field]]:
        """The numbers in the messages of each topic whose type is known."""
        known = {}
        for topic in self._bag.topics:
            with suppress(StreamError):
                known[topic] = self._codec_of(topic)
        return {
            topic: fields_of(topic, known[topic], [message for _, message in messages])
            for topic, messages in self.examples(known).items()
        }

    def find(self, wanted: Wanted) -> tuple[dict[str, list[Use]], tuple[str, ...]]:
        """What reads each signal, by topic, and the signals that are not there.

        Raises if a field that is asked for does not exist, or if nothing is there.
        """
        tags = list(wanted.tags) or [Tag(name, name) for name in wanted.columns]
        places = self._places([tag for tag in tags if tag.signal in wanted.columns])
        examples = self.examples({field.topic for _, field in places})
        uses: dict[str, list[Use]] = {}
        seen = set()
        for tag, field in places:
            read = reader_of(field, self._codec_of(field.topic))
            uses.setdefault(field.topic, []).append((tag, read))
            there = [message for _, message in examples[field.topic]]
            if not there or any(read(message) is not None for message in there):
                seen.add(tag.signal)
            else:
                log.warning(
                    "%s holds nothing in the first messages of %s.", field, self._bag.path.name
                )
        if not places:
            raise self._nothing(tags)
        return uses, tuple(name for name in wanted.columns if name not in seen)

    def _places(self, tags: Iterable[Tag]) -> list[tuple[Tag, Field]]:
        """Tags that are there, and the field of each."""
        found: dict[str, tuple[Tag, Field]] = {}
        joints: dict[str, str] | None = None  # looked for if there is need
        for tag in tags:
            field = self._field(tag.tag)
            if field is None:
                joints = self._joints() if joints is None else joints
                field = _joint(tag.tag, joints)
            if field is None:
                continue
            if tag.signal in found:
                msg = (
                    f"The signal {tag.signal!r} has two fields, {found[tag.signal][0].tag!r} and"
                    f" {tag.tag!r}; give it one."
                )
                raise SettingError(msg)
            found[tag.signal] = (tag, field)
        return list(found.values())

    def _field(self, text: str) -> Field | None:
        """The field that is written out, if its topic is there; with or without its slash."""
        field, topics = parse_field(text), self._bag.topics
        if field is not None:
            bare = field.topic.removeprefix("/")
            for topic in (field.topic, f"/{bare}", bare):
                if topic in topics:
                    return Field(topic, field.steps)
        return None

    def _joints(self) -> dict[str, str]:
        """The topic of each joint; those that are in several topics are left out."""
        topics = [topic for topic, kind in self._bag.topics.items() if kind == JOINTS]
        found: dict[str, set[str]] = {}
        for topic, messages in self.examples(topics).items():
            for _, message in messages:
                for name in message.name:
                    found.setdefault(name, set()).add(topic)
        return {name: min(where) for name, where in found.items() if len(where) == 1}

    def _codec_of(self, topic: str) -> Codec:
        return self._codec(next(one for one in self._bag.connections if one.topic == topic))

    def _codec(self, connection: Any) -> Codec:
        key = (connection.msgtype, connection.msgdef.data)
        found = self._codecs.get(key)
        if found is None:
            try:
                found = Codec(connection, ros1=self._bag.ros1, distro=self._options.distro)
            except StreamError as error:
                found = error  # it would take as long to fail again for every message
            self._codecs[key] = found
        if isinstance(found, StreamError):
            raise found
        return found

    def _nothing(self, tags: Iterable[Tag]) -> StreamError:
        fields = [str(one) for found in self.fields().values() for one in found[:3]]
        signals, topics = listing([tag.tag for tag in tags], 6), listing(self._bag.topics)
        return StreamError(
            f"{self._bag.path.name} has none of the model's signals ({signals}); its topics are"
            f" {topics}, fields of them {listing(fields)}: say in a tag map which field is which"
            " signal."
        )


def _joint(text: str, joints: Mapping[str, str]) -> Field | None:
    """The field of a joint that is named alone or with position, velocity or effort."""
    name, _, part = text.rpartition(".")
    if part not in PARTS:
        name, part = text, PARTS[0]
    return Field(joints[name], ((part, f"name={name}"),)) if name in joints else None
