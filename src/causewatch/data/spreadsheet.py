"""Text that a spreadsheet takes for text.

A cell of CSV that begins like a formula is computed by spreadsheets, whoever wrote it. So such text
is written with an apostrophe before it, which spreadsheets know as the mark of text. Names of
columns are read back without it (`causewatch.data.raw.clean_name`), so no name begins with one
before such a sign, and what is written and read again is the same.
"""

from __future__ import annotations

__all__ = ["as_text", "from_text"]

MARK = "'"
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet takes for the beginning of something to compute, or skips before it."""


def as_text(text: str) -> str:
    """Text for a cell that nothing computes.

    >>> as_text("=1+1"), as_text("LIT301")
    ("'=1+1", 'LIT301')
    """
    return MARK + text if text.startswith(FORMULA) else text


def from_text(cell: str) -> str:
    """What was written with `as_text`.

    >>> from_text("'=1+1"), from_text("'s"), from_text("=1+1")
    ('=1+1', "'s", '=1+1')
    """
    return cell[len(MARK) :] if cell.startswith(tuple(MARK + sign for sign in FORMULA)) else cell
