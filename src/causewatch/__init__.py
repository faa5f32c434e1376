"""Learn which signals of a plant cause which others, and explain when that changes.

The public names are loaded when they are first used, so that ``import causewatch`` and the command
line start at once.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causewatch.data import Sample, TimeTable, open_table, read_table, replay
    from causewatch.discovery import Knowledge, LaggedMoments, load_knowledge, pcmci
    from causewatch.errors import CausewatchError
    from causewatch.explain import Explanation, describe, draw, explain, write_report
    from causewatch.graph import CausalGraph, Link, Strength
    from causewatch.model import Mechanism, NormalModel, learn, load
    from causewatch.monitor import Alarm, AlarmSettings, Monitor, Tick
    from causewatch.preprocess import Finding
    from causewatch.watched import Watched, score, watch

_HOME = {
    "causewatch.data": ("Sample", "TimeTable", "open_table", "read_table", "replay"),
    "causewatch.discovery": ("Knowledge", "LaggedMoments", "load_knowledge", "pcmci"),
    "causewatch.errors": ("CausewatchError",),
    "causewatch.explain": ("Explanation", "describe", "draw", "explain", "write_report"),
    "causewatch.graph": ("CausalGraph", "Link", "Strength"),
    "causewatch.model": ("Mechanism", "NormalModel", "learn", "load"),
    "causewatch.monitor": ("Alarm", "AlarmSettings", "Monitor", "Tick"),
    "causewatch.preprocess": ("Finding",),
    "causewatch.watched": ("Watched", "score", "watch"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = version("causewatch")
__all__ = [
    "Alarm",
    "AlarmSettings",
    "CausalGraph",
    "CausewatchError",
    "Explanation",
    "Finding",
    "Knowledge",
    "LaggedMoments",
    "Link",
    "Mechanism",
    "Monitor",
    "NormalModel",
    "Sample",
    "Strength",
    "Tick",
    "TimeTable",
    "Watched",
    "describe",
    "draw",
    "explain",
    "learn",
    "load",
    "load_knowledge",
    "open_table",
    "pcmci",
    "read_table",
    "replay",
    "score",
    "watch",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        message = f"module 'causewatch' has no attribute {name!r}"
        raise AttributeError(message)
    home = import_module(_MODULE_OF[name])
    # The package ``explain`` can be called like the function it is named after.
    value = home if name == "explain" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
