"""The lines of a TOML text: which key stands where, so that messages can say so.

`tomllib` gives the content without places. Here the same text is read once more, for its places
alone: only text that `tomllib` has accepted may be given.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from causewatch.errors import SettingError

__all__ = ["KeyPath", "key_lines", "line_of", "read_text", "read_toml"]

KeyPath = tuple[str | int, ...]
"""Names of tables and keys; numbers of the entries of lists, from 0."""

DEEPEST = 20
"""Tables inside each other."""
MOST_BYTES = 10_000_000
"""A larger file is no configuration."""

BARE = re.compile(r"[A-Za-z0-9_-]+")
REST = re.compile(r"[^\s,\]\}#]+(?: [0-9:.]+[Zz0-9:.+-]*)?")  # numbers, and dates with a blank
PLACE = re.compile(r" \(at (?:line (\d+), column \d+|(end of document))\)$")


def read_toml(path: Path, what: str) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The content of a TOML file and the line of each key; `what` is what people call the file.

    Raises `SettingError` if it cannot be read or is no TOML.
    """
    text = read_text(path, what)
    try:
        content = tomllib.loads(text)
        if _is_deep(content):
            raise RecursionError
        return content, key_lines(text)
    except tomllib.TOMLDecodeError as error:
        said = PLACE.search(str(error))
        why = PLACE.sub("", str(error)).rstrip(".")
        line = int(said[1]) if said and said[1] else text.count("\n") + 1
        msg = f"{path.name}, line {line}: {why[:1].lower()}{why[1:]}; this is no valid TOML."
        raise SettingError(msg) from None
    except ValueError:  # Python reads no number of thousands of digits
        msg = f"{path.name} holds a number that is too long; no setting needs one."
        raise SettingError(msg) from None
    except RecursionError:
        msg = f"{path.name} is nested too deeply; a few levels are all that is needed."
        raise SettingError(msg) from None


def _is_deep(content: dict[str, Any]) -> bool:
    """Whether tables stand in tables beyond any sense."""
    level: list[Any] = [content]
    for _ in range(DEEPEST):
        level = [
            one
            for table in level
            for one in (table.values() if isinstance(table, dict) else table)
            if isinstance(one, dict | list)
        ]
        if not level:
            return False
    return True


def read_text(path: Path, what: str) -> str:
    """A text file of reasonable size, in UTF-8."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no name of a file"
        msg = f"The {what} {path} cannot be read: {reason}."
        raise SettingError(msg) from None
    if len(raw) > MOST_BYTES:
        msg = (
            f"The {what} {path} is larger than {MOST_BYTES // 1_000_000} MB; check that it is the"
            " right file."
        )
        raise SettingError(msg)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        msg = f"{path.name}, line {line}: this is not UTF-8 text; save the file as UTF-8."
        raise SettingError(msg) from None


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a key, or else of the table that it would stand in; 1 if there is none."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""The line of every key, table and entry of a list, by its path.

    >>> key_lines('[source]\nurl = "mqtt://broker/rows"\n')
    {('source',): 1, ('source', 'url'): 2}
    """
    return _Scanner(text.replace("\r\n", "\n")).scan()


class _Scanner:
    """Walks over a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.counted = 0  # up to where line breaks have been counted …
        self.line = 1  # … and the line there
        self.lines: dict[KeyPath, int] = {}
        self.sizes: dict[KeyPath, int] = {}  # entries so far of each list of tables

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self.skip(" \t\n"):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
        return self.lines

    def header(self) -> KeyPath:
        """``[table]`` or ``[[list of tables]]``."""
        line = self.here()
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        path = self.note((), self.key(), line, several)
        self.lines[path] = line  # also if it was part of another's name before
        self.skip(" \t")
        self.at += 2 if several else 1
        return path

    def pair(self, table: KeyPath) -> None:
        """``key = value``."""
        line = self.here()
        path = self.note(table, self.key(), line)
        self.skip(" \t")
        self.at += 1  # the sign of equality
        self.skip(" \t")
        self.value(path)

    def note(self, table: KeyPath, names: list[str], line: int, several: bool = False) -> KeyPath:
        """Remember where a key stands; its path, with the entries of lists it goes through."""
        path = table
        for number, name in enumerate(names):
            path = (*path, name)
            self.lines.setdefault(path, line)
            if several and number == len(names) - 1:
                self.sizes[path] = self.sizes.get(path, 0) + 1
            if path in self.sizes:
                path = (*path, self.sizes[path] - 1)
                self.lines.setdefault(path, line)
        return path

    def key(self) -> list[str]:
        """A key, dotted or not."""
        names = []
        while True:
            self.skip(" \t")
            begin = self.at
            if self.text[self.at] in "\"'":
                self.string()
                names.append(str(tomllib.loads(f"k = {self.text[begin : self.at]}")["k"]))
            else:
                found = BARE.match(self.text, self.at)
                assert found is not None
                self.at = found.end()
                names.append(found[0])
            self.skip(" \t")
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def value(self, path: KeyPath) -> None:
        first = self.text[self.at]
        if first in "\"'":
            self.string()
        elif first == "[":
            self.entries(path)
        elif first == "{":
            self.inline(path)
        else:
            found = REST.match(self.text, self.at)
            assert found is not None
            self.at = found.end()

    def string(self) -> None:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            self.at += 3
            while not self.text.startswith(quote * 3, self.at):
                self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
            self.at += 3
            while self.text.startswith(quote, self.at):  # up to two more belong to the text
                self.at += 1
            return
        self.at += 1
        while self.text[self.at] != quote:
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += 1

    def entries(self, path: KeyPath) -> None:
        """A list, over as many lines as it likes."""
        self.at += 1
        number = 0
        while True:
            self.skip(" \t\n,")
            if self.text[self.at] == "]":
                break
            self.lines[(*path, number)] = self.here()
            self.value((*path, number))
            number += 1
        self.at += 1

    def inline(self, path: KeyPath) -> None:
        """A table in braces."""
        self.at += 1
        while True:
            self.skip(" \t\n,")
            if self.text[self.at] == "}":
                break
            self.pair(path)
        self.at += 1

    def skip(self, blanks: str) -> bool:
        """Go over blanks and comments; False at the end of the text."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in blanks:
                self.at += 1
            else:
                return True
        return False

    def here(self) -> int:
        """The line where it stands; breaks are counted once, so all of it takes linear time."""
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line
