"""Fields of messages: how they are written, how they are read, and which there are.

A field is written ``/topic.field.field``: ``/imu/data.linear_acceleration.x``,
``/joint_states.position[0]``. ``/joint_states.position[name=HeadYaw]`` is the element at the place
where the field ``name`` of the same message says HeadYaw, and
``/tf.transforms[child_frame_id=arm].transform.translation.x`` the element whose own field does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from causewatch.errors import SettingError, StreamError, UnknownNameError, listing, shorten
from causewatch.extras import needed

__all__ = ["Codec", "Field", "FieldReader", "fields_of", "parse_field", "reader_of"]

FieldReader = Callable[[Any], Any]
"""Gives the value of a field in a message; None if this message does not have it."""

LONGEST_ARRAY = 64
"""Longer ones are pictures and the like, whose elements are no signals."""

NO_SIGNALS = ("header", "structure_needs_at_least_one_member")
"""Fields that say when and where; the second stands in for none at all."""

_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4  # kinds of types, as rosbags numbers them
_TEXT = ("string", "wstring")
_STEP = re.compile(r"\.([A-Za-z_]\w*)(?:\[([^\[\]]*)\])?")
_WHOLE = re.compile(rf"(?P<topic>[^.\[\]\s]+)(?P<steps>(?:{_STEP.pattern})*)")


@dataclass(frozen=True, slots=True)
class Field:
    """A topic, and the way to a number in its messages: names, each with what its brackets say."""

    topic: str
    steps: tuple[tuple[str, str | None], ...]

    def __str__(self) -> str:
        return self.topic + "".join(
            f".{name}" + ("" if inside is None else f"[{inside}]") for name, inside in self.steps
        )


def parse_field(text: str) -> Field | None:
    """A field as it is written; None if it is not written like one. ``/topic`` is ``/topic.data``.

    >>> str(parse_field("/joint_states.position[name=HeadYaw]"))
    '/joint_states.position[name=HeadYaw]'
    """
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        return None
    steps = tuple((one[1], one[2]) for one in _STEP.finditer(found["steps"]))
    return Field(found["topic"], steps or (("data", None),))


class Codec:
    """Reads the messages of one connection; raises `StreamError` if their type is not known.

    The definition of a type is in the bag, or known for the distribution of ROS.

    Parameters
    ----------
    connection
        As rosbags describes it.
    ros1
        Whether messages are written as in ROS 1.
    distro
        The distribution of ROS 2 whose types are meant where a bag does not define its own.
    """

    def __init__(self, connection: Any, *, ros1: bool, distro: str) -> None:
        self.type: str = connection.msgtype
        self._store = self._types(connection, f"ros2_{distro}" if not ros1 else "ros1_noetic")
        if self.type not in self._store.fielddefs:
            msg = (
                f"The type {shorten(self.type)!r} of {shorten(connection.topic)} is neither defined"
                f" in the bag nor known in ROS 2 {distro}; name another distribution with distro=,"
                " or leave the topic out."
            )
            raise StreamError(msg)
        decode = self._store.deserialize_ros1 if ros1 else self._store.deserialize_cdr
        self._decode: Callable[[bytes, str], Any] = decode

    def decode(self, data: bytes) -> Any:
        """A message; raises anything if its bytes make no sense."""
        return self._decode(data, self.type)

    def fields(self, kind: str) -> dict[str, Any]:
        """The fields of a type: for each what rosbags says about it."""
        return dict(self._store.fielddefs[kind][1])

    def _types(self, connection: Any, name: str) -> Any:
        system: Any = needed("rosbags.typesys", "ros")
        definition = connection.msgdef
        try:
            if definition.format.name == "NONE":
                return system.get_typestore(system.Stores(name))
            types: dict[str, Any] = {}
            if definition.format.name == "MSG":
                types = system.get_types_from_msg(definition.data, connection.msgtype)
            else:
                # One definition after the other, between lines of "=", each with a title.
                for part in re.split(r"={80}\n", definition.data):
                    text = re.sub(r"\AIDL: .*\n", "", part)
                    if text.strip():
                        types |= system.get_types_from_idl(text)
            store = system.get_typestore(system.Stores.EMPTY)
            store.register(types)
        except Exception as error:  # a parser may fail in many ways on what is no definition
            reason = shorten(str(error)) or type(error).__name__
            msg = (
                f"The bag defines the type {shorten(connection.msgtype)!r} of"
                f" {shorten(connection.topic)} in a way that cannot be read: {reason}."
            )
            raise StreamError(msg) from error
        return store


def reader_of(field: Field, codec: Codec) -> FieldReader:
    """What reads a field in messages; raises if their type does not have it."""
    steps: list[FieldReader] = []
    kind, base = codec.type, None
    for number, (name, inside) in enumerate(field.steps):
        so_far = str(Field(field.topic, field.steps[:number]))
        if base is not None:
            msg = f"{so_far} is a number; leave out what follows in {shorten(str(field))!r}."
            raise SettingError(msg)
        here = codec.fields(kind)
        if name not in here:
            raise UnknownNameError(name, f"field of {so_far} ({kind}), in {field}:", here)
        node, what = here[name]
        if node in (_ARRAY, _SEQUENCE):
            element, of = what[0]
            steps.append(_element(field, name, inside, here, codec, element, of))
            node, what = element, of
        elif inside is not None:
            msg = f"{so_far}.{name} is no array; leave out [{inside}] in {shorten(str(field))!r}."
            raise SettingError(msg)
        else:
            steps.append(attrgetter(_attribute(name)))
        if node == _NAME:
            kind = what
        else:
            base = what[0]
    if base is None:
        msg = (
            f"{shorten(str(field))!r} is a {kind}, no number; go on with one of its fields:"
            f" {listing(codec.fields(kind))}."
        )
        raise SettingError(msg)
    if base in _TEXT:
        msg = f"{shorten(str(field))!r} is text, no number; choose another field."
        raise SettingError(msg)
    return _chained(steps)


def _chained(steps: Sequence[FieldReader]) -> FieldReader:
    if len(steps) == 1:
        return steps[0]

    def read(message: Any) -> Any:
        for step in steps:
            if message is None:
                return None
            message = step(message)
        return message

    return read


def _element(
    field: Field,
    name: str,
    inside: str | None,
    here: dict[str, Any],
    codec: Codec,
    element: int,
    of: Any,
) -> FieldReader:
    """What reads one element of an array."""
    get = attrgetter(_attribute(name))
    if inside is not None and inside.isdigit():
        place = int(inside)

        def at(message: Any) -> Any:
            values = get(message)
            return values[place] if place < len(values) else None

        return at
    key, sign, said = (inside or "").partition("=")
    key = key.strip()
    if not sign or not key:
        msg = (
            f"{shorten(str(field))!r} is an array of which one element is to be named, such as"
            f" {name}[0] or {name}[name=HeadYaw]."
        )
        raise SettingError(msg)
    beside = key in here and here[key][0] in (_ARRAY, _SEQUENCE) and _is_text(here[key][1][0])
    if not beside and (element != _NAME or not _is_text(codec.fields(of).get(key))):
        texts = [one for one, (node, what) in here.items() if node == _SEQUENCE]
        raise UnknownNameError(key, f"field of names for {field}:", texts)
    return _beside(_attribute(key), get, said) if beside else _whose(_attribute(key), get, said)


def _beside(key: str, get: FieldReader, said: str) -> FieldReader:
    """The element at the place where another array says `said`."""
    names_of = attrgetter(key)
    place = 0  # where it was last; usually all messages have the same order

    def read(message: Any) -> Any:
        nonlocal place
        names, values = names_of(message), get(message)
        if place >= len(names) or names[place] != said:
            if said not in names:
                return None
            place = names.index(said)
        return values[place] if place < len(values) else None

    return read


def _whose(key: str, get: FieldReader, said: str) -> FieldReader:
    """The element of which a field says `said`."""
    named = attrgetter(key)
    return lambda message: next((one for one in get(message) if named(one) == said), None)


def _is_text(node: Any) -> bool:
    return node is not None and node[0] == _BASE and node[1][0] in _TEXT


def _attribute(name: str) -> str:
    """What rosbags calls a field: words of Python itself get a line below."""
    found: str = needed("rosbags.typesys.base", "ros").normalize_fieldname(name)
    return found


def fields_of(topic: str, codec: Codec, messages: Sequence[Any]) -> list[Field]:
    """The numbers in messages of a topic, without their headers, as far as examples show them."""
    start = Field(topic, ())
    found = (field for message in messages for field in _inside(start, codec, codec.type, message))
    return list(dict.fromkeys(found))


def _inside(field: Field, codec: Codec, kind: str, message: Any) -> Iterator[Field]:
    here = codec.fields(kind)
    for name, (node, what) in here.items():
        if name in NO_SIGNALS:
            continue
        value = getattr(message, _attribute(name))
        if node == _NAME:
            yield from _inside(_longer(field, name), codec, what, value)
        elif node == _BASE:
            if what[0] not in _TEXT:
                yield _longer(field, name)
        elif len(value) <= LONGEST_ARRAY and not _is_text(what[0]):
            for mark, one in zip(_marks(node, here, message, len(value)), value, strict=True):
                there = _longer(field, name, mark)
                if what[0][0] == _NAME:
                    yield from _inside(there, codec, what[0][1], one)
                else:
                    yield there


def _marks(node: int, here: dict[str, Any], message: Any, size: int) -> list[str]:
    """What stands in the brackets: names where the message has some for its elements."""
    named = "name" in here and here["name"][0] == _SEQUENCE and _is_text(here["name"][1][0])
    if node == _SEQUENCE and named and len(message.name) == size:
        return [f"name={one}" for one in message.name]
    return [str(number) for number in range(size)]


def _longer(field: Field, name: str, inside: str | None = None) -> Field:
    return Field(field.topic, (*field.steps, (name, inside)))
