"""Sentences about mistakes in a configuration file: the file, the line, the key, what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from causewatch.errors import CausewatchError, SettingError, UnknownNameError
from causewatch.streaming.lined import show
from causewatch.streaming.toml_lines import KeyPath, line_of

__all__ = ["Words", "is_secret", "table_of"]

SECRETS = frozenset({"password", "passwd", "passphrase", "secret", "token", "pwd", "apikey"})
"""Last words of names whose values nobody else may see."""

OPTION = re.compile(r"The option '.*' of \S+ is '(.*)'; (.* is expected\.)", re.DOTALL)

EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "string_too_short": "text",
    "string_too_long": "a single character",
    "model_type": "a table",
    "dict_type": "a table",
    "tuple_type": "a list",
}
"""What was expected, by what pydantic calls the mistake."""

BOUNDS = {
    "literal_error": "{expected}",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le}",
}


def is_secret(name: str) -> bool:
    """Whether a key of this name would hold a secret, not say where one is.

    >>> is_secret("sasl.password"), is_secret("password_file")
    (True, False)
    """
    return re.split(r"[._\- ]", name.lower())[-1] in SECRETS


def table_of(path: KeyPath) -> str:
    """A key for a sentence, with its table: ``[source] qos``."""
    names = [str(part) for part in path if not isinstance(part, int)]
    if len(names) < 2:
        return f"{names[0]} "
    several = len(path) > 1 and isinstance(path[1], int)
    table = ".".join(names[:-1])
    return f"[[{table}]] {names[-1]} " if several else f"[{table}] {names[-1]} "


class Words:
    """Makes errors about one file.

    Parameters
    ----------
    name
        What the file is called.
    lines
        Where its keys stand.
    """

    def __init__(self, name: str, lines: Mapping[KeyPath, int]) -> None:
        self._name = name
        self._lines = lines

    def has(self, path: KeyPath) -> bool:
        """Whether the file has this key."""
        return path in self._lines

    def place(self, path: KeyPath) -> str:
        """Where a key stands, for the beginning of a sentence."""
        return f"{self._name}, line {line_of(self._lines, path)}"

    def at(self, path: KeyPath, text: str) -> SettingError:
        """An error about a key."""
        return SettingError(f"{self.place(path)}: {text}")

    def wrong(self, path: KeyPath, value: Any, expected: str) -> SettingError:
        """An error about the value of a key."""
        return self.at(path, f"{table_of(path)}is {show(value)}; {expected} is expected.")

    def secret(self, path: KeyPath, where: KeyPath) -> SettingError:
        """An error about a secret at `path`, written at `where`; it is never shown."""
        name = path[-1]
        return self.at(
            where,
            f"{table_of(path)}is a secret, which does not belong here; name what holds it with"
            f' {name}_env = "VARIABLE" or {name}_file = "FILE".',
        )

    def unknown(self, path: KeyPath, kind: type[BaseModel]) -> SettingError:
        """An error about a key that does not exist."""
        table = table_of(path).removesuffix(f"{path[-1]} ").strip()
        what = f"key of {table}" if table else "key"
        return self.at(path, str(UnknownNameError(str(path[-1]), what, _keys(kind, path[:-1]))))

    def about(self, path: KeyPath, error: CausewatchError, option: str = "") -> SettingError:
        """The same from an error that somebody else raised; of an option, where it says so."""
        said = OPTION.fullmatch(str(error))
        if said and option:
            named = path if path[-1] == option else (*path[:-1], option)
            return self.at(path, f'{table_of(named)}is "{said[1]}"; {said[2]}')
        if isinstance(error, UnknownNameError):
            return self.at(path, str(error))
        return self.at(path, f"{table_of(path).strip()}: {error}")

    def of(self, errors: ValidationError, kind: type[BaseModel]) -> SettingError:
        """The first mistake that pydantic found in a file, in the order of lines."""
        found = [self._one(error, kind) for error in errors.errors()]
        return min(found, key=lambda one: one[0])[1]

    def _one(self, error: Any, kind: type[BaseModel]) -> tuple[int, SettingError]:
        path: KeyPath = tuple(part for part in error["loc"] if part != "options")
        line = line_of(self._lines, path)
        if error["type"] == "missing":
            return line, self.at(path, f"{table_of(path)}is missing; it says {_about(path)}.")
        if error["type"] == "extra_forbidden":
            return line, self.unknown(path, kind)
        if path == ("sinks",):
            return line, self.wrong(path, error["input"], "a list of tables, each [[sinks]],")
        if error["type"] in EXPECTED:
            expected = EXPECTED[error["type"]]
        elif error["type"] in BOUNDS:
            expected = BOUNDS[error["type"]].format(**error["ctx"])
        else:
            return line, self.at(path, f"{table_of(path)}makes no sense: {error['msg']}.")
        return line, self.wrong(path, error["input"], expected)


def _keys(kind: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys that the table at `path` may have."""
    part: Any = kind
    for name in path:
        if isinstance(name, str):
            hint = part.model_fields[name].annotation
            parts = [hint, *get_args(hint)]
            part = next(p for p in parts if isinstance(p, type) and issubclass(p, BaseModel))
    return [name for name in part.model_fields if name != "folder"]


def _about(path: KeyPath) -> str:
    return {"model": "which model to watch with", "source": "what to watch"}.get(
        str(path[-1]), "where that is"
    )
