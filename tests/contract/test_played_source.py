"""A recording that is played keeps the contract of sources, in smaller batches than it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from causewatch.streaming.played import PlayedSource
from causewatch.streaming.source import Source, Wanted
from causewatch.streaming.sources.files import open_file_source
from causewatch.testing import SourceContract


class Rig:
    """A log that grows, as JSON lines or CSV, played three rows at a time."""

    columns = ("a", "b", "c")
    behind = 0
    whole = True

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._kind = kind
        self._write("time,a,b,c\n" if kind == "csv" else "")

    def _write(self, text: str) -> None:
        with self._path.open("a") as file:
            file.write(text)

    def source(self) -> Source:
        """See `SourceRig`."""
        log = open_file_source(str(self._path), Wanted(self.columns, 1.0), follow=True)
        return PlayedSource(log, 1.0, 30.0)

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        """See `SourceRig`."""
        for row, when in zip(rows, times, strict=True):
            if self._kind == "csv":
                cells = [when.isoformat(), *(str(row[name]) for name in self.columns)]
                self._write(",".join(cells) + "\n")
            else:
                self._write(json.dumps({"time": when.isoformat(), **row}) + "\n")

    def nonsense(self) -> int:
        """See `SourceRig`."""
        self._write("nonsense\n\x00\n")
        return 2

    def finish(self) -> None:
        """See `SourceRig`."""


class TestPlayedSource(SourceContract):
    """Rows as arrays and as mappings."""

    @pytest.fixture(params=["csv", "json"])
    def rig(self, tmp_path: Path, request: pytest.FixtureRequest) -> Rig:
        """A log and its player."""
        return Rig(tmp_path / "log", request.param)
