"""Reads a knowledge file into texts, lists and mappings that remember where they stand.

YAML is parsed by PyYAML up to its events and no further: nothing is ever built from a tag or
multiplied by an alias, `on`, `no` and `007` stay the names they are, and everything knows its line.
JSON is read the same way, being a subset of YAML.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from causewatch.errors import KnowledgeError, shorten

__all__ = ["Item", "from_plain", "inside", "read_items"]

MOST_BYTES = 1_000_000
DEEPEST = 10
ENOUGH = "four levels are all that is needed"
NULLS = {"", "~", "null", "Null", "NULL"}


@dataclass(frozen=True, slots=True)
class Item:
    """A text, list or mapping of a file, and its place: a line, for use in a sentence."""

    value: str | list[Item] | dict[str, Item] | None
    place: str

    @property
    def kind(self) -> str:
        """What it is, for use in a sentence."""
        if self.value is None:
            return "nothing"
        if isinstance(self.value, str):
            return f"the text {shorten(self.value)!r}"
        return "a list" if isinstance(self.value, list) else "a mapping"


def read_items(path: str | os.PathLike[str]) -> Item:
    """The content of a YAML or JSON file.

    Raises
    ------
    KnowledgeError
        If the file cannot be read, is larger than a megabyte, is nested more than ten deep, uses
        aliases or tags, holds a key twice, or is not YAML.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except OSError as error:
        msg = f"The knowledge file {file} cannot be read: {error.strerror}."
        raise KnowledgeError(msg) from None
    if len(raw) > MOST_BYTES:
        msg = (
            f"The knowledge file {file} is larger than {MOST_BYTES // 1_000_000} MB; a knowledge"
            " file names signals and links only, so check that it is the right file."
        )
        raise KnowledgeError(msg)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        msg = f"The knowledge file {file} is not UTF-8 text; save it as UTF-8."
        raise KnowledgeError(msg) from None
    if file.suffix.lower() == ".json":
        text = text.replace("\t", " ")  # YAML does not indent by tabs; JSON texts hold none
    try:
        return _Reader(text, file.name).read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" at line {mark.line + 1}" if mark else ""
        msg = f"{file.name} is not valid YAML{line}: {error.problem or error.context}."
        raise KnowledgeError(msg) from None
    except yaml.YAMLError as error:
        msg = f"{file.name} is not valid YAML: {shorten(str(error), 120)}."
        raise KnowledgeError(msg) from None


def from_plain(data: object, place: str, depth: int = 1) -> Item:
    """The same from plain data (as read from JSON); `place` says what it is part of."""
    if depth > DEEPEST:
        msg = f"{shorten(place)} is nested more than {DEEPEST} deep; {ENOUGH}."
        raise KnowledgeError(msg)
    if data is None:
        return Item(None, place)
    if isinstance(data, Mapping):
        values = {str(k): from_plain(v, f"{place}, {k}", depth + 1) for k, v in data.items()}
        return Item(values, place)
    if isinstance(data, list | tuple):
        entries = enumerate(data, start=1)
        return Item([from_plain(v, f"{place}, entry {k}", depth + 1) for k, v in entries], place)
    return Item(str(data), place)


class _Reader:
    """Builds items from the events of PyYAML's parser."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.splitlines()
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.SafeLoader))

    def read(self) -> Item:
        """The one document of the text."""
        content = Item(None, self.name)
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    msg = f"{self.place(event)} starts a second document; a file may hold one only."
                    raise KnowledgeError(msg)
                content = self.item(next(self.events), 1)
        return content

    def place(self, event: Any) -> str:
        """A line for use in a sentence: its number, the file's name, its text."""
        line = event.start_mark.line
        text = self.lines[line].strip() if line < len(self.lines) else ""
        return f"Line {line + 1} of {self.name} ({shorten(text)})"

    def item(self, event: Any, depth: int) -> Item:
        """The item that starts with an event."""
        place = self.place(event)
        if isinstance(event, yaml.AliasEvent):
            msg = (
                f"{place} uses an alias (*), which knowledge files do not support; write the names"
                " out, and put a pattern such as '*101' in quotes."
            )
            raise KnowledgeError(msg)
        if depth > DEEPEST:
            msg = f"{place} is nested more than {DEEPEST} deep; {ENOUGH}."
            raise KnowledgeError(msg)
        if event.tag is not None:
            msg = f"{place} uses the tag {shorten(event.tag)!r}; remove it, all values are texts."
            raise KnowledgeError(msg)
        if isinstance(event, yaml.MappingStartEvent):
            return Item(self.mapping(depth + 1), place)
        if isinstance(event, yaml.SequenceStartEvent):
            return Item([self.item(child, depth + 1) for child in self.until_end()], place)
        if event.implicit[0] and event.value in NULLS:
            return Item(None, place)
        # JSON writes characters beyond 16 bits as two escapes, which YAML does not join.
        text = event.value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return Item(text, place)

    def mapping(self, depth: int) -> dict[str, Item]:
        """The items of a mapping that has just started."""
        items: dict[str, Item] = {}
        places: dict[str, str] = {}
        for event in self.until_end():
            key = self.item(event, depth)
            if not isinstance(key.value, str):
                msg = f"{key.place} has {key.kind} as a key; keys must be texts."
                raise KnowledgeError(msg)
            if key.value in items:
                msg = (
                    f"{key.place} repeats the key {shorten(key.value)!r} of"
                    f" {inside(places[key.value])}; merge the two."
                )
                raise KnowledgeError(msg)
            items[key.value], places[key.value] = self.item(next(self.events), depth), key.place
        return items

    def until_end(self) -> Iterator[Any]:
        """The events that start the children of a list or mapping."""
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
                return
            yield event


def inside(place: str) -> str:
    """A place in the middle of a sentence."""
    return place[:1].lower() + place[1:]
