"""Several recordings of one run: a table each, read alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from causewatch.data.source import open_table
from causewatch.data.table import TableSource

__all__ = ["open_together"]


def open_together(sources: Sequence[Any], options: Mapping[str, Any]) -> list[TableSource]:
    """Open recordings of which one may tell what another leaves open: day or month first.

    Parameters
    ----------
    sources, options
        As for :func:`causewatch.open_table`; what one of the sources tells goes before `usual`.
    """
    tables = [open_table(source, **options) for source in sources]
    writings = [table.writing for table in tables]
    told = next((w for w in writings if w is not None and w.order and not w.guessed), None)
    if told is None:
        return tables
    return [
        open_table(source, **{**options, "usual": told}) if w is not None and w.guessed else table
        for source, table, w in zip(sources, tables, writings, strict=True)
    ]
