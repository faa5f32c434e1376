"""Every error causewatch raises on purpose.

::

    CausewatchError
    ├── TableError         a table cannot be read or understood
    ├── UnknownNameError   a signal, column or option that does not exist
    ├── NotEnoughDataError too few usable rows for what was asked
    ├── KnowledgeError     a plant-knowledge file is wrong or contradicts itself
    ├── ModelFileError     a model or moments file is damaged, foreign or too new
    ├── SettingError       a setting that makes no sense, or contradicts another one
    └── StreamError        a source, a sink or a store cannot be used

Each message is one sentence: what arrived, what was expected, what to do.
The command line turns any of them into exit code 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = [
    "CausewatchError",
    "KnowledgeError",
    "ModelFileError",
    "NotEnoughDataError",
    "SettingError",
    "StreamError",
    "TableError",
    "UnknownNameError",
]

MOST_NAMES = 12
"""How many names an error lists before it says how many more there are."""

HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends, signs that turn the direction of writing, halves of characters:
what no name holds, and what could make a sentence show something else than it says."""

COMMA = re.compile(r",(?!\d{3}\b)")
"""A comma, but not that of 1,000."""


class CausewatchError(Exception):
    """Base of all errors raised on purpose."""


class TableError(CausewatchError):
    """A table cannot be read or understood."""


class UnknownNameError(CausewatchError):
    """A name that does not exist; the message lists the names that would have worked.

    Parameters
    ----------
    name
        The name that arrived.
    kind
        What the name was meant to be, e.g. ``"signal"``.
    available
        The names that would have worked.
    where
        The file in which it was looked for.
    """

    def __init__(self, name: str, kind: str, available: Iterable[str], where: str = "") -> None:
        names = list(available)
        close = get_close_matches(name, names, n=3)
        hint = f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
        super().__init__(
            f"There is no {kind} {shorten(name)!r}{f' in {where}' if where else ''}.{hint}"
            f" Available: {listing(names)}."
        )


class NotEnoughDataError(CausewatchError):
    """Too few usable rows for what was asked."""


class KnowledgeError(CausewatchError):
    """A plant-knowledge file is wrong or contradicts itself."""


class ModelFileError(CausewatchError):
    """A model or moments file is damaged, foreign, or written by a newer release."""


class SettingError(CausewatchError):
    """A setting that makes no sense, or contradicts another one."""


class StreamError(CausewatchError):
    """A source, a sink or a store cannot be reached, or does not do what it should."""


def listing(names: Iterable[str], most: int = MOST_NAMES) -> str:
    """Names for a sentence: at most `most` of them, then how many more there are.

    >>> listing(["Motorstrom, P-01 (A)", "Ventil"])
    "'Motorstrom, P-01 (A)', Ventil"
    """
    return phrases([quoted(name) for name in names], most)


def phrases(found: Sequence[str], most: int = MOST_NAMES) -> str:
    """As `listing`, for what is more than names."""
    if not found:
        return "none"
    shown = ", ".join(found[:most])
    return shown if len(found) <= most else f"{shown} and {len(found) - most} more"


def plural(count: int, word: str) -> str:
    """``1 signal``, ``2 signals``, ``12,000 rows``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def quoted(name: str) -> str:
    """A name as it stands among others: in quotes if one could not see where it ends."""
    short = shorten(name)
    clear = short.startswith("'") or not COMMA.search(short)
    return short if clear else repr(short)


def shorten(text: str, most: int = 60) -> str:
    r"""`text` on one line, at most `most` characters long, for use in a sentence.

    >>> shorten("Ventil\x1b[2J")
    'Ventil�[2J'
    """
    line = HIDDEN.sub("\ufffd", " ".join(str(text).split()))
    return line if len(line) <= most else line[: most - 1] + "…"
