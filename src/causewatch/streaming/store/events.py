"""What an event of an alarm must hold so that everybody who reads it can rely on it.

An event is kept as JSON that ends with a checksum of the rest; those of the first releases have
none.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

__all__ = ["is_event", "read_event", "write_event"]

DIGITS = 8
"""Of a checksum; what is last in an event without one is no text of that length."""
ENDING = re.compile(rf', "checksum": "([0-9a-f]{{{DIGITS}}})"}}\Z')

EVENT: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "event", "time", "kind", "raised_at", "headline"), str),
    **dict.fromkeys(("cleared_at", "acknowledged_by", "shelved_until"), (str, type(None))),
    "peak_score": (int, float, type(None)),
    **dict.fromkeys(("abstained", "normal"), bool),
}
PARTS: Mapping[str, tuple[str, ...]] = {
    "causes": ("signal", "confidence"),
    "broken_links": ("source", "target", "lag", "observed", "normal"),
    "comments": ("by", "time", "text"),
}
"""What an event must hold, and what each member of its lists."""


def is_event(event: Any) -> bool:
    """Whether it is one that a watch writes."""
    if not isinstance(event, dict):
        return False
    if not all(name in event and isinstance(event[name], kind) for name, kind in EVENT.items()):
        return False
    return all(
        isinstance(event.get(name), list)
        and all(isinstance(one, dict) and all(key in one for key in keys) for one in event[name])
        for name, keys in PARTS.items()
    )


def write_event(event: Mapping[str, Any]) -> str:
    """An event as it is kept: JSON in ASCII, so that every database takes every sign.

    >>> write_event({"id": "a"})
    '{"id": "a", "checksum": "af678071"}'
    """
    text = json.dumps(event, allow_nan=False)
    return f'{text[:-1]}, "checksum": "{_checksum(text)}"}}'


def read_event(body: Any) -> dict[str, Any] | None:
    """An event as it was kept; None if it is damaged or something else, whoever wrote it."""
    text = _checked(body)
    if text is None:
        return None
    try:
        event = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    if not is_event(event) or (text is body and _had_checksum(event)):
        return None
    return dict(event)


def _checked(body: Any) -> Any:
    """The JSON without its checksum; the same where there is none, None where it is wrong."""
    found = ENDING.search(body) if isinstance(body, str) else None
    if found is None:
        return body
    text = body[: found.start()] + "}"
    return text if _checksum(text) == found[1] else None


def _had_checksum(event: Mapping[str, Any]) -> bool:
    """Whether an event ends with what was a checksum before it was damaged."""
    name, last = list(event.items())[-1]
    return name == "checksum" or (isinstance(last, str) and len(last) == DIGITS)


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'replace')):0{DIGITS}x}"
