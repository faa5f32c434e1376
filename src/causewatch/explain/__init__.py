"""Showing people what was learned and what went wrong: pictures, pages, sentences, reports.

The names are loaded when they are first used: pictures need matplotlib, which takes its time.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causewatch.explain.described import describe
    from causewatch.explain.explanation import Explanation, explain
    from causewatch.explain.picture import draw
    from causewatch.explain.report import write_report

__all__ = ["Explanation", "describe", "draw", "explain", "write_report"]

_HOME = {
    "Explanation": "explanation",
    "describe": "described",
    "draw": "picture",
    "explain": "explanation",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        message = f"module 'causewatch.explain' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"causewatch.explain.{_HOME[name]}"), name)
    globals()[name] = value
    return value


class _Callable(ModuleType):
    """A package with the name of its main function: ``causewatch.explain`` must be both."""

    def __call__(self, *given: Any, **named: Any) -> Explanation:
        """See `causewatch.explain.explain`."""
        found: Explanation = self.explain(*given, **named)
        return found


sys.modules[__name__].__class__ = _Callable
