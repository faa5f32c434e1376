"""Snapshots as JSON and arrays, so that they can be written down and read back, bit by bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WRONG_PARTS", "pack", "unpack"]

ARRAY, NUMBER = "array:", "number:"
"""How text begins in packed JSON that stands for an array, or for a number JSON has no word for."""
TEXT = "text:"
"""How text begins that would otherwise be mistaken for one of these."""
WRONG_PARTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What making sense of data that lacks a part can raise."""


def pack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """`value` as JSON that `unpack` turns back into the very same; arrays go into `arrays`."""
    if isinstance(value, np.generic):
        value = value.item()
    # What there is most of comes first: a state is packed every few moments.
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else NUMBER + repr(value)
    if kind is int or kind is bool or value is None:
        return value
    if kind is str:
        return TEXT + value if value.startswith((ARRAY, NUMBER, TEXT)) else value
    if isinstance(value, (list, tuple)):
        return [pack(item, arrays) for item in value]
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value
        return ARRAY + name
    if isinstance(value, Mapping):
        return {str(key): pack(item, arrays) for key, item in value.items()}
    return value


def unpack(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """What was packed; tuples have become lists."""
    if isinstance(value, dict):
        return {key: unpack(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if isinstance(value, str):
        if value.startswith(ARRAY):
            return arrays[value.removeprefix(ARRAY)]
        if value.startswith(NUMBER):
            return float(value.removeprefix(NUMBER))
        return value.removeprefix(TEXT)
    return value
