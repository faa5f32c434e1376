"""`Address`: where a source or sink is, and the options given with it.

An address is a URL, ``mqtt://broker:1883/plant/rows?qos=1``, or a table of the configuration file
with a ``url`` and the same options as keys. Each connector says in a dataclass which options it
knows. Secrets are never part of an address: it names the environment variable or the file that
holds them.
"""

from __future__ import annotations

import math
import os
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NewType, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from causewatch.data import parse_duration
from causewatch.errors import CausewatchError, SettingError, UnknownNameError, shorten

__all__ = [
    "Address",
    "Login",
    "Seconds",
    "Tls",
    "check_secret",
    "options_of",
    "parse_address",
    "secret",
]

T = TypeVar("T")

Seconds = NewType("Seconds", float)
"""An option that is a duration: a number of seconds, or text such as ``5s`` or ``2min``."""

WORDS = {"true": True, "yes": True, "on": True, "1": True} | dict.fromkeys(
    ("false", "no", "off", "0"), False
)


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed URL.

    Attributes
    ----------
    scheme
        Before ``://``, in lower case.
    host, port
        Where; the port is None if none was named.
    path
        What follows, without the slash at its beginning.
    user
        As whom.
    options
        What was asked for after the question mark, or in the configuration.
    """

    scheme: str
    host: str = ""
    port: int | None = None
    path: str = ""
    user: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The address for people: without user and options."""
        port = "" if self.port is None else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        path = f"/{self.path}" if self.path else ""
        return f"{self.scheme}://{host}{port}{path}"


@dataclass(frozen=True)
class Login:
    """Options for those who ask who one is; the user may also stand in the URL."""

    user: str = ""
    password_env: str = ""
    password_file: str = ""

    def password(self) -> str | None:
        """The password, from where the options say it is; None if they say nothing."""
        return secret(self.password_env, self.password_file, "password")


@dataclass(frozen=True)
class Tls:
    """Options for connections that nobody else can read.

    Attributes
    ----------
    ca
        File with the certificates of those who vouch for the server; the system's own otherwise.
    cert, key
        Files of a certificate and its key, where the server asks for one.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""


def secret(env: str, file: str, what: str) -> str | None:
    """A secret from an environment variable or a file, of which at most one is named."""
    if env and file:
        msg = f"Both {what}_env and {what}_file are given; give one of them."
        raise SettingError(msg)
    if env:
        found = os.environ.get(env)
        if found is None:
            msg = f"The {what} is to be in the environment variable {env!r}, which is not set."
            raise SettingError(msg)
        return found
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            msg = f"The {what} is to be in {file!r}, which cannot be read: {reason}."
            raise SettingError(msg) from error
    return None


def check_secret(option: str, value: str) -> None:
    """Raise if an option names what holds a secret, and nothing is there.

    >>> check_secret("qos", "1")
    """
    what, _, where = option.rpartition("_")
    if where == "env":
        secret(value, "", what)
    elif where == "file" and what.endswith(("password", "secret", "token")):
        secret("", value, what)


def parse_address(url: str, options: Mapping[str, Any] | None = None) -> Address:
    """A URL, with further options from a configuration file.

    ``#`` is a sign like any other, since it is part of many topics.

    >>> parse_address("mqtt://broker/plant/rows?qos=0").path
    'plant/rows'
    """
    try:
        parts = urlsplit(url, allow_fragments=False)
        port = parts.port
        asked = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        # What comes before an @ may be a password, and the reason may quote it.
        why = f": {error}." if "@" not in url else "; look at what comes before the @."
        msg = f"{_without_user(url)!r} is no address{why}"
        raise SettingError(msg) from None
    if not parts.scheme or "://" not in url:
        msg = f"{_without_user(url)!r} is no address; one begins like mqtt://host/topic."
        raise SettingError(msg)
    if parts.password is not None:
        msg = (
            "An address must not hold a password, which others could read there; name what holds"
            " it with password_env=VARIABLE or password_file=FILE."
        )
        raise SettingError(msg)
    found: dict[str, Any] = {}
    for name, value in [*asked, *(options or {}).items()]:
        if name in found:
            msg = f"The option {shorten(name)!r} of {parts.scheme}:// is given twice; give it once."
            raise SettingError(msg)
        found[name] = value
    return Address(
        parts.scheme.lower(),
        parts.hostname or "",
        port,
        unquote(parts.path).removeprefix("/"),
        None if parts.username is None else unquote(parts.username),
        found,
    )


def _without_user(url: str) -> str:
    """A URL, or what was meant to be one, for a sentence: without what may be a password."""
    begin, _, rest = url.rpartition("@")
    scheme, mark, _ = begin.partition("://")
    return shorten(f"{scheme + mark if mark else ''}{rest}")


def options_of(address: Address, kind: type[T]) -> T:
    """The options of an address as the dataclass `kind`; raises for names and values unknown."""
    assert isinstance(kind, type)
    hints = typing.get_type_hints(kind)
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in address.options.items():
        if name not in known:
            raise UnknownNameError(name, f"option of {address.scheme}://", known)
        values[name] = _value(address, name, hints[name], value)
    if "user" in known and address.user is not None:
        values.setdefault("user", address.user)
    return kind(**values)


def _value(address: Address, name: str, hint: Any, value: Any) -> Any:
    """`value` as the type `hint`."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(one for one in typing.get_args(hint) if one is not type(None))
    expected = "text"
    try:
        if hint is bool:
            expected = "true or false"
            return value if isinstance(value, bool) else WORDS[str(value).lower()]
        if hint is int:
            expected = "a whole number"
            if isinstance(value, bool | float):
                raise ValueError
            return int(value)
        if hint is Seconds:
            expected = "a duration such as 5s"
            if isinstance(value, bool):
                raise ValueError
            try:
                found = float(value)  # also a plain 0, which is no duration by itself
            except ValueError:
                found = parse_duration(str(value))
            if not 0 <= found < float("inf"):
                raise ValueError
            return found
        if hint is float:
            expected = "a number"
            if isinstance(value, bool) or not math.isfinite(float(value)):
                raise ValueError
            return float(value)
        if typing.get_origin(hint) is tuple:
            expected = "names separated by commas"
            if isinstance(value, dict):
                raise TypeError
            parts = value.split(",") if isinstance(value, str) else list(value)
            return tuple(str(part).strip() for part in parts if str(part).strip())
        if typing.get_origin(hint) is typing.Literal:
            choices = typing.get_args(hint)
            expected = f"one of {', '.join(map(str, choices))}"
            return {str(one): one for one in choices}[str(value)]
        if isinstance(value, bool | list | dict):
            raise TypeError
    except (CausewatchError, KeyError, TypeError, ValueError, OverflowError) as error:
        msg = (
            f"The option {name!r} of {address.scheme}:// is {shorten(str(value))!r};"
            f" {expected} is expected."
        )
        raise SettingError(msg) from error
    return str(value)
