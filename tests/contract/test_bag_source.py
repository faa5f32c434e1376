"""`BagSource` on real bags of all kinds keeps the contract of sources.

The plant writes the whole bag anew whenever it sends: a recording that goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from tests.services.bags import KINDS, START, Item, Types, write_bag

from causewatch.streaming.source import Source, Wanted
from causewatch.streaming.sources.bags import BagSource
from causewatch.testing import SourceContract

NUMBER = "std_msgs/msg/Float64"


class Rig:
    """See `causewatch.testing.SourceRig`."""

    columns = ("a", "b", "c")
    behind = 0
    whole = True

    def __init__(self, path: Path, kind: str) -> None:
        self._path = path
        self._kind = kind
        self._types = Types(kind)
        self._topics = {f"/{name}": NUMBER for name in (*self.columns, "other")}
        self._items: list[Item] = [("/other", NUMBER, START, self._types.number(0.0))]
        self._write()

    def source(self) -> Source:
        """See `SourceRig`."""
        return BagSource(str(self._path), Wanted(self.columns, 1.0))

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        """See `SourceRig`."""
        for row, when in zip(rows, times, strict=True):
            at = int(when.timestamp()) * 1_000_000_000
            for name in self.columns:
                self._items.append((f"/{name}", NUMBER, at, self._types.number(row[name])))
        self._write()

    def nonsense(self) -> int:
        """See `SourceRig`; bytes that are no number."""
        last = self._items[-1][2]
        self._items += [("/a", NUMBER, last, b"\x07"), ("/b", NUMBER, last, b"")]
        return 2

    def finish(self) -> None:
        """See `SourceRig`."""

    def _write(self) -> None:
        write_bag(self._path, self._kind, self._items, self._topics)


class TestBagSource(SourceContract):
    """Numbers in topics of their own."""

    @pytest.fixture(params=KINDS)
    def rig(self, request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
        """A bag that is written again and again."""
        pytest.importorskip("rosbags", reason="rosbags is not installed")
        return Rig(tmp_path / "run.bag", request.param)
