"""Watching live: sources, sinks, the store, and the runner between them.

The names are loaded when they are first used: whoever only lists alarms needs no monitor.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causewatch.streaming.open import open_sink, open_source
    from causewatch.streaming.plan import Place, Plan
    from causewatch.streaming.runner import Watch
    from causewatch.streaming.service import prepare
    from causewatch.streaming.sink import DeliveryError, Notice, Sink, Status
    from causewatch.streaming.source import Batch, Guarantee, Limits, Reading, Source, Wanted
    from causewatch.streaming.store.base import Checkpoint, Retention, Store
    from causewatch.streaming.store.open import open_store
    from causewatch.streaming.tag_file import read_tags
    from causewatch.streaming.tags import Tag, TagMap

_HOME = {
    "open": ("open_sink", "open_source"),
    "plan": ("Place", "Plan"),
    "runner": ("Watch",),
    "service": ("prepare",),
    "sink": ("DeliveryError", "Notice", "Sink", "Status"),
    "source": ("Batch", "Guarantee", "Limits", "Reading", "Source", "Wanted"),
    "store.base": ("Checkpoint", "Retention", "Store"),
    "store.open": ("open_store",),
    "tag_file": ("read_tags",),
    "tags": ("Tag", "TagMap"),
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "Batch",
    "Checkpoint",
    "DeliveryError",
    "Guarantee",
    "Limits",
    "Notice",
    "Place",
    "Plan",
    "Reading",
    "Retention",
    "Sink",
    "Source",
    "Status",
    "Store",
    "Tag",
    "TagMap",
    "Wanted",
    "Watch",
    "open_sink",
    "open_source",
    "open_store",
    "prepare",
    "read_tags",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
