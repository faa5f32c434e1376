"""Rows in messages: JSON objects, of limited size, that may hold any nonsense.

A row is ``{"time": …, "FIT101": 2.4, …}`` or ``{"time": …, "values": {"FIT101": 2.4, …}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from causewatch.data.columns import TIME_NAMES, plain
from causewatch.data.times import EXCEL, in_format
from causewatch.streaming.source import Wanted

__all__ = ["BadPayloadError", "RowDecoder", "decode_json"]

LONGEST_NAME = 200
"""Characters that are kept of names nobody asked for, and of texts that stand for a value."""

MOST_NAMES = 1_000
"""Names that are looked at beside those of the model."""

MOST_OTHERS = 200
"""Names nobody asked for that are kept of a row which has more than that."""

PLAIN = frozenset({float, int, bool, type(None)})


class BadPayloadError(ValueError):
    """A message that makes no sense; `kind` is what it is counted as.

    Kinds: ``too_large``, ``too_deep``, ``not_json``, ``not_a_row``.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def decode_json(payload: bytes, most: int) -> Any:
    """The JSON of a message of at most `most` bytes; raises `BadPayloadError`.

    NaN and infinities, which JSON has no word for and Python writes all the same, are read as
    numbers; whether they are welcome is for others to say.
    """
    if len(payload) > most:
        raise BadPayloadError("too_large")  # noqa: EM101
    try:
        return json.loads(payload)
    except RecursionError:
        raise BadPayloadError("too_deep") from None  # noqa: EM101
    except ValueError:  # no JSON, no text, or a number of thousands of digits
        raise BadPayloadError("not_json") from None  # noqa: EM101


class RowDecoder:
    """Turns messages into rows.

    What comes out is safe to keep, count and show: values that are lists or objects, and texts too
    long to be a value, are replaced by a short text that is no number; names that nobody asked for
    are shortened; of very many of them only some are kept. If a key is there twice, the last one
    counts.

    Parameters
    ----------
    wanted
        What the watch wants.

    Attributes
    ----------
    time_name
        The key that holds the time, once one was found.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._known = frozenset(wanted.columns) | frozenset(tag.tag for tag in wanted.tags)
        self._names: dict[str, bool] = {}  # whether names met before are names of a time
        self.time_name = wanted.reading.time

    def row(self, payload: bytes) -> tuple[Mapping[str, Any], Any]:
        """Values by signal, and the time as it was written (None if there is none)."""
        return self.of(self.read(payload))

    def read(self, payload: bytes) -> dict[str, Any]:
        """The object that a message is."""
        found = decode_json(payload, self._wanted.limits.payload)
        if not isinstance(found, dict):
            raise BadPayloadError("not_a_row")  # noqa: EM101
        return found

    def of(self, found: dict[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """The row that an object is, which may be changed."""
        said = self._wanted.reading
        inner = found.get("values")
        row = inner if isinstance(inner, dict) else found
        when = None
        for place in (found,) if row is found else (found, row):
            if self.time_name is None or self.time_name not in place:
                self._find_time(place)
            if self.time_name is not None and self.time_name in place:
                when = _safe(place.pop(self.time_name))
                break
        form = said.time_format
        if form is not None and isinstance(when, (str, int, float) if form == EXCEL else str):
            with suppress(ValueError, OverflowError):  # else it is a bad time, and counted as one
                when = in_format(when, form)
        for name in said.ignore:
            row.pop(name, None)
        return self._wanted.tags.row(self._tame(row)), when

    def _find_time(self, row: Mapping[str, Any]) -> None:
        """Look for a usual name of a time among the first names of a row."""
        if self._wanted.reading.time is not None:
            return
        if len(self._names) > MOST_NAMES:
            self._names.clear()
        for name in islice(row, MOST_NAMES):
            is_time = self._names.get(name)
            if is_time is None:
                is_time = len(name) <= LONGEST_NAME and plain(name) in TIME_NAMES
                is_time = self._names[name[:LONGEST_NAME]] = is_time and name not in self._known
            if is_time:
                self.time_name = name
                return

    def _tame(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row without anything that is too long, too deep or too much."""
        known = self._known
        if len(row) > MOST_NAMES + len(known):
            some = {name: row[name] for name in known if name in row}
            others = islice((name for name in row if name not in known), MOST_OTHERS)
            row = some | {name: row[name] for name in others}
        strange = [
            name
            for name, value in row.items()
            if type(value) not in PLAIN or (name not in known and not _is_short(name))
        ]
        for name in strange:
            value = _safe(row.pop(name))
            row[name if name in known else _safe_text(name)] = value
        return row


def _is_short(text: str) -> bool:
    return len(text) <= LONGEST_NAME and text.isascii()


def _safe(value: Any) -> Any:
    """A value that can be kept and shown."""
    if isinstance(value, str):
        return _safe_text(value)
    if isinstance(value, list | dict):
        return "[…]" if isinstance(value, list) else "{…}"
    return value


def _safe_text(text: str) -> str:
    """A text without halves of characters, which could not be written; cut if it is long.

    The mark of the cut makes sure that half a number is no number.
    """
    short = text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "…"
    return short if short.isascii() else short.encode("utf-8", "replace").decode("utf-8")
