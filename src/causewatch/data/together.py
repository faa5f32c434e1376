"""Several recordings of one run: a table each, read alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from causewatch.data.day_order import CONTRARY, agreed
from causewatch.data.raw import file_name
from causewatch.data.source import open_table
from causewatch.data.table import Note, TableSource

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
    telling = {
        _name(source): writing
        for source, writing in zip(sources, writings, strict=True)
        if writing is not None and writing.order is not None and not writing.guessed
    }
    order, contradiction = agreed({name: w.order for name, w in telling.items() if w.order})
    opened: list[TableSource] = []
    for source, table, writing in zip(sources, tables, writings, strict=True):
        if writing is None or not writing.guessed:
            opened.append(table)
        elif contradiction:
            opened.append(table.with_note(Note(CONTRARY, 1, contradiction)))
        elif order is None:
            opened.append(table)
        else:
            usual = next(w for w in telling.values() if w.order == order)
            opened.append(open_table(source, **{**options, "usual": usual}))
    return opened


def _name(source: Any) -> str:
    """What messages call a source: its file, or the first of several."""
    if isinstance(source, (list, tuple)):
        return _name(source[0])
    return file_name(Path(source)) if isinstance(source, (str, Path)) else "a table"
