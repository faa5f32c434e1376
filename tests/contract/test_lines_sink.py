"""The alarm file keeps the contract of a sink."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from causewatch.streaming.sinks.lines import LinesSink
from causewatch.testing import SinkContract


class LinesRig:
    """A folder, which can be moved out of the way: a disk that is not mounted."""

    there_at_first = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "plant"
        self._folder.mkdir()
        self._away = folder / "away"
        self._path = self._folder / "alarms.jsonl"

    def sink(self) -> LinesSink:
        return LinesSink(self._path)

    def received(self) -> list[dict[str, Any]]:
        if not self._path.is_file():
            return []
        return [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]

    def down(self) -> None:
        shutil.move(self._folder, self._away)

    def up(self) -> None:
        shutil.move(self._away, self._folder)


class TestLinesSink(SinkContract):
    """A file whose folder may go away, but must be there at first."""

    @pytest.fixture
    def rig(self, tmp_path: Path) -> LinesRig:
        return LinesRig(tmp_path)


class TestLinesSinkAway:
    """Where its folder goes away when there are lines in it."""

    def test_a_folder_that_is_away_is_an_error_to_try_again(self, tmp_path: Path) -> None:
        from causewatch.streaming.sink import DeliveryError, Notice

        folder, away = tmp_path / "mount", tmp_path / "away"
        folder.mkdir()
        sink = LinesSink(folder / "alarms.jsonl")
        sink.open(None)
        try:
            sink.send([Notice(1, "line 1", {"id": "1"})])
            shutil.move(folder, away)
            with pytest.raises(DeliveryError, match="no such file or directory"):
                sink.send([Notice(2, "line 1", {"id": "2"})])
            shutil.move(away, folder)
            sink.send([Notice(2, "line 1", {"id": "2"})])
        finally:
            sink.close()
        lines = (folder / "alarms.jsonl").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines] == ["1", "2"]
