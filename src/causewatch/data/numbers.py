"""Numbers as people read them."""

from __future__ import annotations

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
    """Several numbers, with as many digits as it takes to tell them apart."""
    apart = len(set(values))
    for digits in (3, 6, 9, 12, 15):
        texts = [number(value, digits) for value in values]
        if len(set(texts)) == apart:
            break
    return texts
