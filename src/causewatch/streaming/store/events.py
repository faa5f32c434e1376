"""What an event of an alarm must hold so that everybody who reads it can rely on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["is_event", "read_event"]

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


def read_event(body: str) -> dict[str, Any] | None:
    """An event from its JSON; None if it is something else, whoever wrote it."""
    try:
        event = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    return event if is_event(event) else None
