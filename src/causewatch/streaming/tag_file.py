"""Reading a tag map: CSV, TOML, YAML or JSON, with messages that name the line.

A file lists tags, each with at least ``tag`` and ``signal``. In TOML, YAML and JSON it may also be
a table by tag, with a table or just the signal for each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from causewatch.data import parse_duration
from causewatch.errors import CausewatchError, SettingError, UnknownNameError, listing, shorten
from causewatch.streaming.lined import read_csv, read_yaml, show
from causewatch.streaming.tags import Tag, TagMap
from causewatch.streaming.toml_lines import KeyPath, line_of, read_toml
from causewatch.streaming.units import conversion, is_unit, unit_names

__all__ = ["read_tags", "tags_of"]

KEYS = ("tag", "signal", "unit", "model_unit", "factor", "offset", "stale", "description")
"""What may be said about a tag; the description is for people."""

WHAT = "tag file"

Place = Callable[[KeyPath], str]
"""Where something stands, for the beginning of a sentence."""


def read_tags(path: str | os.PathLike[str]) -> TagMap:
    """The tag map of a file; its ending says what it is, and without a known one it is CSV.

    Raises `SettingError` if it cannot be read, says something twice, or makes no sense.
    """
    file = Path(path)
    ending = file.suffix.lower()
    data: Any
    if ending == ".toml":
        data, lines = read_toml(file, WHAT)
    elif ending in (".yaml", ".yml", ".json"):
        data, lines = read_yaml(file, WHAT)
    else:
        data, lines = read_csv(file, WHAT, KEYS)
    root: KeyPath = ()
    if isinstance(data, dict) and isinstance(data.get("tags"), dict | list):
        if len(data) > 1:
            other = next(name for name in data if name != "tags")
            msg = (
                f"{file.name}, line {line_of(lines, (other,))}: {shorten(str(other))!r} stands"
                " beside the tags; a tag file holds nothing else."
            )
            raise SettingError(msg)
        data, root = data["tags"], ("tags",)
    found = tags_of(
        data, lambda where: f"{file.name}, line {line_of(lines, (*root, *where))}", file.name
    )
    if not found:
        msg = f"{file.name} names no tags; it needs at least one with its signal."
        raise SettingError(msg)
    return found


def tags_of(data: Any, place: Place, name: str) -> TagMap:
    """The tag map of some content: a list of tables, or a table by tag.

    Parameters
    ----------
    data
        What was read.
    place
        Says where something stands.
    name
        What people call the whole.
    """
    entries: list[tuple[KeyPath, dict[str, Any]]] = []
    if isinstance(data, list):
        for number, one in enumerate(data):
            if not isinstance(one, dict):
                msg = f"{place((number,))}: {show(one)} is no tag; a table with tag and signal is."
                raise SettingError(msg)
            entries.append(((number,), one))
    elif isinstance(data, dict):
        for tag, one in data.items():
            if isinstance(one, str):
                one = {"signal": one}
            if not isinstance(one, dict):
                msg = f"{place((tag,))}: {show(one)} is no signal of the tag {shorten(tag)!r}."
                raise SettingError(msg)
            if one.get("tag", tag) != tag:
                msg = f"{place((tag, 'tag'))}: the tag {shorten(tag)!r} is given another name here."
                raise SettingError(msg)
            entries.append(((tag,), {"tag": tag, **one}))
    else:
        msg = f"{name} holds {show(data)}; a list of tags or a table by tag is expected."
        raise SettingError(msg)
    return _build(entries, place, name)


def _build(entries: Sequence[tuple[KeyPath, dict[str, Any]]], place: Place, name: str) -> TagMap:
    tags: dict[str, Tag] = {}
    first: dict[tuple[str, str], KeyPath] = {}
    unknown: dict[str, str] = {}
    for where, said in entries:
        for key in said:
            if key not in KEYS:
                raise _at(place((*where, key)), UnknownNameError(str(key), "key of a tag", KEYS))
        tag = _text(said, "tag", where, place)
        signal = _text(said, "signal", where, place)
        for kind, one in (("tag", tag), ("signal", signal)):
            before = first.setdefault((kind, one), where)
            if before != where:
                msg = (
                    f"{place((*where, kind))}: the {kind} {shorten(one)!r} was named before"
                    f" ({place((*before, kind))}); each is named once."
                )
                raise SettingError(msg)
        units = _units(said, where, place)
        strange = {unit: place((*where, key)) for key, unit in units if not is_unit(unit)}
        for unit, at in strange.items():
            unknown.setdefault(unit, at)
        if not strange:
            factor, offset = _scale(said, [unit for _, unit in units], where, place)
            tags[tag] = Tag(tag, signal, factor, offset, _stale(said, where, place))
    if unknown:
        (unit, at), *others = unknown.items()
        more = listing(f"{shorten(one)!r} ({spot})" for one, spot in others)
        msg = (
            f"{at}: the unit {shorten(unit)!r} is not known{', nor are ' + more if others else ''};"
            f" known are {listing(unit_names(), 200)}, with prefixes such as k and in quotients"
            " such as l/min; for others give factor and offset."
        )
        raise SettingError(msg)
    return TagMap(tags)


def _units(said: Mapping[str, Any], where: KeyPath, place: Place) -> list[tuple[str, str]]:
    """The key and text of the two units, where there is anything to convert."""
    units = {}
    for key in ("unit", "model_unit"):
        value = said.get(key)
        if value is not None and not isinstance(value, str):
            msg = f"{place((*where, key))}: {key} is {show(value)}; a unit such as bar is expected."
            raise SettingError(msg)
        units[key] = (value or "").strip()
    if units["model_unit"] and not units["unit"]:
        msg = f"{place((*where, 'model_unit'))}: model_unit is given without unit; give both."
        raise SettingError(msg)
    # A unit alone is a note for people.
    needed = units["model_unit"] and units["model_unit"] != units["unit"]
    return list(units.items()) if needed else []


def _scale(
    said: Mapping[str, Any], units: Sequence[str], where: KeyPath, place: Place
) -> tuple[float, float]:
    """Factor and offset: first those that were given, then from the unit to the model's."""
    factor = _float(said, "factor", 1.0, where, place)
    offset = _float(said, "offset", 0.0, where, place)
    if factor == 0:
        msg = f"{place((*where, 'factor'))}: the factor is 0, which makes every value the same."
        raise SettingError(msg)
    if not units:
        return factor, offset
    try:
        by, plus = conversion(units[0], units[1])
    except SettingError as error:
        raise _at(place((*where, "unit")), error) from None
    return by * factor, by * offset + plus


def _text(said: Mapping[str, Any], key: str, where: KeyPath, place: Place) -> str:
    value = said.get(key)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if value is None or value == "":
        msg = f"{place((*where, key))}: the {key} is missing; each tag needs tag and signal."
    else:
        msg = f"{place((*where, key))}: the {key} is {show(value)}; a name is expected."
    raise SettingError(msg)


def _float(
    said: Mapping[str, Any], key: str, default: float, where: KeyPath, place: Place
) -> float:
    value = said.get(key)
    if value is None or value == "":
        return default
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        msg = f"{place((*where, key))}: {key} is {show(value)}; a number such as 0.1 is expected."
        raise SettingError(msg)
    return found


def _stale(said: Mapping[str, Any], where: KeyPath, place: Place) -> float | None:
    value = said.get("stale")
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            return parse_duration(value)
        found = math.nan if isinstance(value, bool) else float(value)
    except (CausewatchError, TypeError, OverflowError):
        found = math.nan
    if not 0 < found < math.inf:
        msg = (
            f"{place((*where, 'stale'))}: stale is {show(value)}; a duration such as 30s or 5min"
            " is expected."
        )
        raise SettingError(msg)
    return found


def _at(place: str, error: CausewatchError) -> SettingError:
    text = str(error)
    return SettingError(f"{place}: {text[:1].lower()}{text[1:]}")
