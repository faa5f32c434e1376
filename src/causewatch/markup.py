"""HTML for notebooks: whatever names hold, it is text in it and never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bold", "facts", "grid"]


def bold(text: str) -> str:
    """A line in bold."""
    return f"<p><strong>{escape(text)}</strong></p>"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """A table of names, each with what is to be said about it; empty ones are left out."""
    rows = [
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in pairs
        if value not in ("", None)
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def grid(head: Sequence[str], rows: Sequence[Sequence[object]], most: int = 20) -> str:
    """A table of at most so many rows, and how many more there are; nothing without rows."""
    if not rows:
        return ""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    cells = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(cell))}</td>' for cell in row)}</tr>"
        for row in rows[:most]
    )
    more = f"<p>and {len(rows) - most:,} more</p>" if len(rows) > most else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table>{more}"


def _cell(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
