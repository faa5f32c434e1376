"""What can be said about the addresses of a configuration file before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from causewatch.errors import CausewatchError, UnknownNameError
from causewatch.streaming.address import Address, options_of, parse_address
from causewatch.streaming.config_words import Words, is_secret, table_of
from causewatch.streaming.kafka_settings import PREFIX
from causewatch.streaming.lined import show
from causewatch.streaming.open import HOME, SINKS, SOURCES, is_address
from causewatch.streaming.toml_lines import KeyPath

__all__ = ["check_place", "checked_address", "options_class"]


def check_place(url: str, options: Mapping[str, Any], where: KeyPath, words: Words) -> None:
    """Raise for an address or options of a source or sink that make no sense.

    Parameters
    ----------
    url, options
        As written.
    where
        Where it stands in the file.
    words
        Makes errors.
    """
    at = (*where, "url") if words.has((*where, "url")) else where
    if not is_address(url):
        for name in options:
            path = (*where, *name.split("."))
            text = f"is an option of an address, but {show(url)} is a path"
            raise words.at(path, f"{table_of(path)}{text}; leave it out.")
        return
    address = checked_address(url, options, at, words)
    what = "source" if where[0] == "source" else "sink"
    known = SOURCES if what == "source" else SINKS
    if address.scheme not in known:
        unknown = UnknownNameError(address.scheme + "://", what, [f"{one}://" for one in known])
        raise words.about(at, unknown)
    kind = options_class(*known[address.scheme])
    for name, value in address.options.items():
        if address.scheme == "kafka" and name.startswith(PREFIX):
            continue  # it is passed on to the client library
        try:
            options_of(Address(address.scheme, options={name: value}), kind)
        except CausewatchError as error:
            place = (*where, *name.split(".")) if name in options else at
            raise words.about(place, error, name) from None


def checked_address(url: str, options: Mapping[str, Any], where: KeyPath, words: Words) -> Address:
    """An address, which holds no secret."""
    try:
        address = parse_address(url, options)
    except CausewatchError as error:
        raise words.about(where, error) from None
    for name in address.options:
        if is_secret(name):
            raise words.secret((*where[:-1], name), where)
    return address


def options_class(module: str, name: str) -> type[Any]:
    """The options of a connector: `XSourceOptions`, or `XOptions` for all it has to do with X."""
    home = import_module(f"{HOME}.{module}")
    stem = name.removesuffix("Source").removesuffix("Sink")
    found = getattr(home, f"{name}Options", None) or getattr(home, f"{stem}Options")
    assert isinstance(found, type)
    return found
