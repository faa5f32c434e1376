"""`Writing`: how the text of a recording is written, so that later files can be read alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["Order", "Writing"]

Order = Literal["day first", "month first"]
"""Which of the two comes first in a date such as ``05/08/2009``."""

ORDERS: tuple[Order, ...] = ("day first", "month first")

_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", " ": "blanks", "|": "|", ".": "point"}


@dataclass(frozen=True, slots=True)
class Writing:
    """How the text of a recording is written.

    It decides what a later file of the same plant leaves open, and never goes against what that
    file says itself.

    Attributes
    ----------
    time
        Column of the times; None if there is none.
    time_format
        How they are written: ``day first``, ``year first`` and so on, or a strptime format; None
        where they are no text.
    separator, decimal
        Signs between columns and before decimals; None if the recording is no text file.
    guessed
        Whether the recording itself does not tell day and month apart.
    date_sign
        Sign between day and month; None if it is not known.
    time_of_day
        Column of the times of day, where `time` holds the dates alone.
    """

    time: str | None = None
    time_format: str | None = None
    separator: str | None = None
    decimal: str | None = None
    guessed: bool = False
    date_sign: str | None = None
    time_of_day: str | None = None

    @property
    def is_custom(self) -> bool:
        """Whether the times are written in a strptime format that somebody gave."""
        return "%" in (self.time_format or "")

    @property
    def order(self) -> Order | None:
        """Whether day or month comes first; None where that is no question."""
        if not self.is_custom:
            return next((order for order in ORDERS if order == self.time_format), None)
        parts = re.findall(r"%[-_0^#]?([dmYyDFBbh])", (self.time_format or ""))
        if parts[:1] == ["D"] or parts[:2] == ["m", "d"]:
            return "month first"
        return "day first" if parts[:2] == ["d", "m"] else None

    def __str__(self) -> str:
        """For people."""
        words = []
        if self.time is not None:
            form = f", {self.time_format}" if self.time_format is not None else ""
            guess = " (a guess: no date tells)" if self.guessed else ""
            beside = f" and {self.time_of_day!r}" if self.time_of_day is not None else ""
            words.append(f"times in {self.time!r}{beside}{form}{guess}")
        if self.separator is not None:
            words.append(f"{_NAMES.get(self.separator, self.separator)} between columns")
        if self.decimal is not None:
            words.append(f"decimal {_NAMES.get(self.decimal, self.decimal)}")
        return ", ".join(words)
