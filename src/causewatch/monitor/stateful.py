"""`Stateful`: objects that can be saved and go on exactly from where they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from causewatch.errors import SettingError

__all__ = ["Stateful"]


class Stateful:
    """An object whose future depends on the attributes named in `STATE`, and on no others.

    Attributes are plain values, arrays, collections of plain values, or objects that have
    `snapshot` and `restore` themselves.
    """

    STATE: ClassVar[tuple[str, ...]]

    def snapshot(self) -> dict[str, Any]:
        """The state as numbers, text, arrays, and lists and dictionaries of them."""
        return {name.lstrip("_"): _saved(getattr(self, name)) for name in self.STATE}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot: the future is bitwise the same as without interruption."""
        for name in self.STATE:
            value, saved = getattr(self, name), state[name.lstrip("_")]
            if hasattr(value, "restore"):
                value.restore(saved)
            else:
                setattr(self, name, _like(value, saved))


def _saved(value: Any) -> Any:
    """A copy of `value` that what comes after does not reach into."""
    if hasattr(value, "snapshot"):
        return value.snapshot()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, bool):
        return int(value)
    return list(value) if isinstance(value, (list, tuple)) else value


def _like(value: Any, saved: Any) -> Any:
    """What was `saved`, of the type and shape of `value`; None stands for any type.

    A tuple holds the names of columns, which must be the same.
    """
    if value is None or saved is None:
        return saved
    if isinstance(value, np.ndarray):
        restored = np.array(saved, dtype=value.dtype)
        fits = restored.shape == value.shape
    else:
        restored = type(value)(saved)
        fits = not isinstance(value, tuple) or restored == value
    if not fits:
        msg = "The state is one of other columns; restore a state of the same model."
        raise SettingError(msg)
    return restored
