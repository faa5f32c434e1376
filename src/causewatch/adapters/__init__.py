"""Other libraries’ shapes: scikit-learn, river, PyOD.

Each detector is loaded when it is first used, and only then the library whose shape it has; where
that is not installed, one sentence says what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causewatch.adapters.pyod import PyodDetector
    from causewatch.adapters.river import RiverDetector
    from causewatch.adapters.sklearn import CausalAnomalyDetector
    from causewatch.extras import MissingExtraError

__all__ = ["CausalAnomalyDetector", "MissingExtraError", "PyodDetector", "RiverDetector"]

_MODULE_OF = {
    "CausalAnomalyDetector": "causewatch.adapters.sklearn",
    "MissingExtraError": "causewatch.extras",
    "PyodDetector": "causewatch.adapters.pyod",
    "RiverDetector": "causewatch.adapters.river",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        message = f"module 'causewatch.adapters' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
