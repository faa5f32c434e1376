"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["number", "numbers"]


def number(value: float, digits: int = 3) -> str:
    """So many significant digits, one more before the point, without an exponent if possible.

    >>> number(0.03456), number(12.0), number(379593.4), number(1.39e6)
    ('0.0346', '12', '379600', '1,390,000')
    """
    if value == 0 or not np.isfinite(value):
        return f"{value:g}".replace("-", "−")
    size = int(np.floor(np.log10(abs(value))))
    if not -4 <= size < 12:
        return f"{value:.{digits}g}".replace("-", "−")
    places = digits - 1 - size
    if places < 0:
        places = min(0, digits - size)
    text = f"{round(value, places):{',' if size >= 6 else ''}.{max(0, places)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def numbers(*values: float) -> list[str]:
    """Several numbers; those that three digits do not tell apart have as many as show how far off.

    >>> numbers(2.98, 2.98072), numbers(65.0, 58.001, 58.002)
    (['2.9800', '2.9807'], ['65', '58.001', '58.002'])
    """
    texts = [number(value) for value in values]
    for text in set(texts):
        alike = [k for k, other in enumerate(texts) if other == text]
        for k, finer in zip(alike, _apart([values[k] for k in alike]), strict=True):
            texts[k] = finer
    return texts


def _apart(values: Sequence[float]) -> list[str]:
    """Numbers that are nearly equal, all with the same decimals."""
    texts = [number(value) for value in values]
    if len(set(values)) == 1 or not np.isfinite(values).all():
        return texts
    step = np.diff(sorted(set(values))).min()
    for digits in range(4, 16):
        texts = [number(value, digits) for value in values]
        shown = np.array([float(text.replace(",", "").replace("−", "-")) for text in texts])
        if np.abs(shown - values).max() <= 0.1 * step:  # what their difference looks like is right
            break
    places = max(len(text.partition(".")[2]) for text in texts)
    return [_padded(text, places) for text in texts]


def _padded(text: str, places: int) -> str:
    """A number with zeros at its end up to so many decimals."""
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals.ljust(places, '0')}" if places and "e" not in text else text
