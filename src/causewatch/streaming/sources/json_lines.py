"""Rows of JSON lines: objects with a time and one value per signal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from causewatch.data import Clock
from causewatch.streaming.payloads import BadPayloadError, RowDecoder
from causewatch.streaming.source import Batch, Wanted, no_signals, nothing

__all__ = ["JsonRows", "is_json"]

Row = tuple[Mapping[str, Any], Any]


class JsonRows:
    """Turns lines into rows.

    Parameters
    ----------
    name
        What messages call the text.
    wanted
        What the watch wants.
    rows
        Rows that were read before.
    """

    clock: Clock | None = None
    example = b""
    held = 0

    def __init__(self, name: str, wanted: Wanted, *, rows: int = 0) -> None:
        self._name = name
        self._wanted = wanted
        self._decoder = RowDecoder(wanted)
        self._none = nothing(len(wanted.columns))
        self._known = False  # whether it is known which signals there are
        self._bad_lines = 0
        self._goes_on = rows > 0
        self.rows = rows
        self.missing: tuple[str, ...] = ()

    @property
    def problems(self) -> Mapping[str, int]:
        """See `Source`."""
        return {"bad_lines": self._bad_lines} if self._bad_lines else {}

    def begin(self, sample: bytes) -> None:
        """Find out which signals there are; raises if there are none of the model's."""
        self._look(self._rows(sample))
        self._bad_lines = 0  # they are counted when they are read
        self._decoder = RowDecoder(self._wanted)

    def new_file(self) -> None:
        """Another file has taken the place of the former one."""

    def take(self, lines: bytes, last: bool) -> Batch:
        """The rows of some lines; `last` if there will be no more."""
        rows = self._rows(lines)
        self.rows += len(rows)
        self._look(rows)
        return Batch(self._none.values, self._none.times, rows)

    def extra(self) -> dict[str, Any]:
        """What a position must hold to go on with these rows."""
        return {}

    def _rows(self, lines: bytes) -> list[Row]:
        found = []
        for line in lines.splitlines():
            if not line.strip():
                continue
            try:
                found.append(self._decoder.row(line))
            except BadPayloadError:
                self._bad_lines += 1
        return found

    def _look(self, rows: Sequence[Row]) -> None:
        if self._known or not rows:
            return
        self._known = True
        present = _names(rows)
        self.missing = tuple(name for name in self._wanted.columns if name not in present)
        if len(self.missing) == len(self._wanted.columns) and not self._goes_on:
            raise no_signals(self._name, sorted(present), self._wanted.columns)


def is_json(data: bytes) -> bool:
    """Whether text that begins so is JSON lines, perhaps with some nonsense among them."""
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 40) if line.strip()]
    objects = [line.lstrip().startswith(b"{") for line in lines]
    return bool(objects) and (objects[0] or 2 * sum(objects) >= len(objects))


def _names(rows: Iterable[Row]) -> set[str]:
    return {str(name).strip() for values, _ in rows for name in values}
