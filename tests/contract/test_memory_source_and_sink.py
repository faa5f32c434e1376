"""The memory source and sink pass the suites they are there to try out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pytest

from causewatch.streaming.sink import Sink
from causewatch.streaming.source import Source
from causewatch.testing import MemorySink, MemorySource, SinkContract, SourceContract


class Plant:
    """Sends rows to memory sources."""

    columns = ("a", "b", "c")
    behind = 0
    whole = True

    def __init__(self) -> None:
        self.rows: list[Mapping[str, float]] = []
        self.times: list[datetime] = []
        self.sources: list[MemorySource] = []
        self.finished = False

    def source(self) -> Source:
        made = MemorySource(self.columns, self.rows, self.times, endless=not self.finished, most=2)
        self.sources.append(made)
        return made

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        self.rows += rows
        self.times += times
        for source in self.sources:
            source.add(rows, times)

    def nonsense(self) -> int:
        return 0

    def finish(self) -> None:
        self.finished = True


class TestMemorySource(SourceContract):
    """The suite for sources."""

    @pytest.fixture
    def rig(self) -> Plant:
        return Plant()


class Receiver:
    """Has memory sinks."""

    def __init__(self) -> None:
        self.sinks: list[MemorySink] = []
        self.is_down = False

    def sink(self) -> Sink:
        made = MemorySink()
        made.down = self.is_down
        self.sinks.append(made)
        return made

    def received(self) -> list[dict[str, Any]]:
        return [dict(one.body) for sink in self.sinks for one in sink.notices]

    def down(self) -> None:
        self.is_down = True

    def up(self) -> None:
        for sink in self.sinks:
            sink.down = False


class TestMemorySink(SinkContract):
    """The suite for sinks."""

    @pytest.fixture
    def rig(self) -> Receiver:
        return Receiver()
