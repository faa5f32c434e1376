"""Which alarms somebody asks for."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict

from causewatch.data.spreadsheet import as_text
from causewatch.server.api.tables import Time
from causewatch.server.plant import seconds_in
from causewatch.server.served import Served

__all__ = ["Wanted", "csv_lines", "json_lines", "some"]

PAGE = 200
"""Alarms read from the store at a time."""
MOST_READ = 5000
"""Alarms looked through for one answer; the rest is asked for with its cursor."""
COLUMNS = (
    "id", "kind", "raised_at", "cleared_at", "onset", "peak_score", "headline", "causes",
    "confidence", "abstained", "problem", "acknowledged_by", "acknowledged_at", "shelved_until",
    "normal", "merged", "signals", "comments",
)  # fmt: skip


class _Filters(BaseModel):
    model_config = ConfigDict(frozen=True)

    on: bool | None = None
    kind: Literal["anomaly", "health"] | None = None
    signal: str | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None

    def admit(self, alarm: Mapping[str, Any]) -> bool:
        """Whether an alarm is asked for."""
        if self.on is not None and (alarm["cleared_at"] is None) != self.on:
            return False
        if self.kind is not None and alarm["kind"] != self.kind:
            return False
        named = {*alarm["signals"], *(one["signal"] for one in alarm["causes"])}
        if self.signal is not None and self.signal not in named:
            return False
        end = seconds_in(alarm["cleared_at"])
        begin = seconds_in(alarm["raised_at"])
        if self.since is not None and end is not None and end < self.since:
            return False
        if self.until is not None and begin is not None and begin > self.until:
            return False
        if not self.text:
            return True
        said = [alarm["headline"], alarm["id"], *named, *(c["text"] for c in alarm["comments"])]
        return self.text.casefold() in "\n".join(said).casefold()


def _filters(
    on: Annotated[bool | None, Query(description="Whether it is on.")] = None,
    kind: Literal["anomaly", "health"] | None = None,
    signal: Annotated[str | None, Query(description="A signal that it concerns.")] = None,
    since: Annotated[Time | None, Query(description="Not over before this time.")] = None,
    until: Annotated[Time | None, Query(description="Not raised after this time.")] = None,
    text: Annotated[
        str | None, Query(max_length=200, description="Words of its sentence or comments.")
    ] = None,
) -> _Filters:
    return _Filters(on=on, kind=kind, signal=signal, since=since, until=until, text=text)


Wanted = Annotated[_Filters, Depends(_filters)]


def some(
    served: Served, wanted: _Filters, before: int | None, most: int
) -> tuple[list[dict[str, Any]], int | None]:
    """Alarms that are asked for, latest raised first, and where those that follow begin."""
    found: list[dict[str, Any]] = []
    read = 0
    while read < MOST_READ:
        page = served.store.history(before, PAGE)
        for number, alarm in page:
            before = number
            read += 1
            if wanted.admit(alarm):
                found.append(served.feed.with_peak(alarm))
                if len(found) == most:
                    return found, before
        if len(page) < PAGE:
            return found, None
    return found, before


def _all(served: Served, wanted: _Filters) -> Iterator[dict[str, Any]]:
    before: int | None = None
    while True:
        found, before = some(served, wanted, before, PAGE)
        yield from found
        if before is None:
            return


def json_lines(served: Served, wanted: _Filters) -> Iterator[str]:
    """A JSON array of all alarms that are asked for, piece by piece."""
    yield "["
    for k, alarm in enumerate(_all(served, wanted)):
        yield (",\n" if k else "\n") + json.dumps(alarm, ensure_ascii=True, allow_nan=False)
    yield "\n]\n"


def csv_lines(served: Served, wanted: _Filters) -> Iterator[str]:
    """The same as CSV, one line for each; no cell is one that a spreadsheet would compute."""
    yield _line(COLUMNS)
    for alarm in _all(served, wanted):
        first = alarm["causes"][0] if alarm["causes"] else {}
        row = {
            **alarm,
            "causes": "; ".join(one["signal"] for one in alarm["causes"]),
            "confidence": first.get("confidence"),
            "signals": "; ".join(alarm["signals"]),
            "comments": "; ".join(f"{one['by']}: {one['text']}" for one in alarm["comments"]),
        }
        yield _line(["" if row[name] is None else row[name] for name in COLUMNS])


def _line(cells: Any) -> str:
    text = io.StringIO()
    # In quotation marks, as some spreadsheets split cells at semicolons, too.
    csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC).writerow(
        [_cell(one) for one in cells]
    )
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Text that neither a spreadsheet nor a terminal takes for more than text."""
    if not isinstance(value, str):
        return value
    shown = "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in value)
    return as_text(shown)
