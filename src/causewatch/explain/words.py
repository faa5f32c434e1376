"""Names, numbers and times as sentences about alarms show them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from causewatch.data import format_moment, number, numbers
from causewatch.explain.ranking import Context
from causewatch.explain.view import clean

__all__ = [
    "middle",
    "moment",
    "name_of",
    "names_of",
    "number",
    "numbers",
    "quantity",
    "short_names",
]

LONGEST_NAME = 40


def name_of(name: str, context: Context) -> str:
    """What people call a signal; without characters that would turn the sentence round."""
    return middle(clean(context.labels.get(name, name)), LONGEST_NAME)


def middle(text: str, most: int) -> str:
    """`text` with its middle left out where it is longer than `most` characters.

    >>> middle("AHU: Heating Coil Valve Control Signal", 24)
    'AHU: Heatin…Signal'
    """
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    tail = text[len(text) - (most - 1 - head) :]
    word = re.search(r"[\s._/]", tail[: 2 * len(tail) // 3])  # rather whole words
    return f"{text[:head].rstrip()}…{tail[word.end() :] if word else tail}"


def short_names(names: Sequence[str], most: int) -> list[str]:
    """Names of at most `most` characters that can still be told apart.

    Where the middle of names would be left out that tells them apart, what they begin with in
    common is left out instead.

    >>> short_names(["Temperature of supply air, raw", "Temperature of return air, raw"], 20)
    ['…supply air, raw', '…return air, raw']
    """
    names = [clean(name) for name in names]
    short = [middle(name, most) for name in names]
    for text in {text for text in short if short.count(text) > 1}:
        same = [k for k in range(len(names)) if short[k] == text]
        columns = enumerate(zip(*(names[k] for k in same), strict=False))
        common = next((at for at, signs in columns if len(set(signs)) > 1), 0)
        for k in same:
            short[k] = f"…{middle(names[k][common:], most - 1)}"
    return short


def names_of(names: Sequence[str], word: str, context: Context, most: int = 4) -> str:
    """Names in a row, with a word before the last; further ones are counted."""
    shown = [name_of(name, context) for name in names]
    if len(shown) > most:
        return f"{', '.join(shown[:most])} {word} {len(shown) - most} more"
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def moment(time: int, context: Context) -> str:
    """A time with its date, as exact as ticks are."""
    return format_moment(time, context.clock, context.every)


def quantity(value: float, signal: str, context: Context) -> str:
    """A number with its unit, where that is known."""
    return with_unit(number(value), signal, context)


def with_unit(text: str, signal: str, context: Context) -> str:
    """A number as text with the unit of the signal, where that is known."""
    unit = clean(context.units.get(signal, ""))
    return f"{text} {unit}" if unit else text
