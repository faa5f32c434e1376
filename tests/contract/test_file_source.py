"""Files, growing files, folders and standard input keep the contract of sources."""

from __future__ import annotations

import json
import os
import sys
import threading
from datetime import datetime

import polars as pl
import pytest

from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import open_file_source
from causewatch.testing import SourceContract, until

COLUMNS = ("a", "b", "c")
WANTED = Wanted(COLUMNS, 1.0)


def csv_line(row, when):
    return ",".join([when.isoformat(), *(str(row[name]) for name in COLUMNS)]) + "\n"


def json_line(row, when):
    return json.dumps({"time": when.isoformat(), **row}) + "\n"


class FileRig:
    """A program that writes a log."""

    columns = COLUMNS
    behind = 0
    whole = True

    def __init__(self, path, kind, follow):
        self.path, self.kind, self.follow = path, kind, follow
        self.begin()

    def begin(self):
        self.write("" if self.kind == "json" else "time,a,b,c\n")

    def write(self, text):
        with self.path.open("a") as file:
            file.write(text)

    def source(self):
        return open_file_source(str(self.path), WANTED, follow=self.follow)

    def send(self, rows, times):
        line = json_line if self.kind == "json" else csv_line
        self.write("".join(map(line, rows, times)))

    def nonsense(self):
        self.write('nonsense\n{"half\n\x00\n')
        return 3

    def finish(self):
        pass


class FolderRig(FileRig):
    """A program that begins a new file with every few rows."""

    def __init__(self, path, kind, follow):
        self.folder, self.number = path, 0
        path.mkdir()
        super().__init__(path / "part0", kind, follow)

    def source(self):
        return open_file_source(str(self.folder), WANTED, follow=self.follow)

    def send(self, rows, times):
        for k in range(0, len(rows), 5):
            super().send(rows[k : k + 5], times[k : k + 5])
            self.number += 1
            self.path = self.folder / f"part{self.number}"
            self.begin()

    def nonsense(self):
        (self.folder / f"part{self.number}a").write_bytes(b"PK\x03\x04 no archive")
        return 1 + super().nonsense()


class TestFollowedFile(SourceContract):
    """A log that grows."""

    @pytest.fixture(params=["csv", "json"])
    def rig(self, tmp_path, request):
        return FileRig(tmp_path / "log", request.param, follow=True)


class TestFile(SourceContract):
    """A log that is read to its end."""

    @pytest.fixture
    def rig(self, tmp_path):
        return FileRig(tmp_path / "log.csv", "csv", follow=False)


class ParquetRig:
    """A historian that writes its whole table anew."""

    columns = COLUMNS
    behind = 0
    whole = True

    def __init__(self, path):
        self.path, self.rows, self.times = path, [], []
        # Those of another day, before any are sent: a table of fewer than two is refused.
        self.write([dict.fromkeys(COLUMNS, 0.0)] * 2, [datetime(2025, 1, k) for k in (1, 2)])

    def write(self, rows, times):
        types = {"time": pl.Datetime("us", "UTC"), **dict.fromkeys(COLUMNS, pl.Float64)}
        told = [{"time": when, **row} for row, when in zip(rows, times, strict=True)]
        pl.DataFrame(told, schema=types).write_parquet(self.path)

    def source(self):
        return open_file_source(str(self.path), WANTED)

    def send(self, rows, times):
        self.rows += rows
        self.times += times
        self.write(self.rows, self.times)

    def nonsense(self):
        return 0  # its columns are numbers, whatever is in them

    def finish(self):
        pass


class TestParquet(SourceContract):
    """A table that is no text."""

    @pytest.fixture
    def rig(self, tmp_path):
        return ParquetRig(tmp_path / "history.parquet")


class TestFollowedFolder(SourceContract):
    """A folder to which files are added."""

    @pytest.fixture(params=["csv", "json"])
    def rig(self, tmp_path, request):
        return FolderRig(tmp_path / "dumps", request.param, follow=True)


class TestFolder(SourceContract):
    """A folder that is read to its end."""

    @pytest.fixture
    def rig(self, tmp_path):
        return FolderRig(tmp_path / "dumps", "csv", follow=False)


class StdinRig(FileRig):
    """A program at the other end of a pipe; what nobody reads before the end is gone."""

    whole = False

    def __init__(self, path, kind, monkeypatch):
        self.monkeypatch, self.streams, self.writer = monkeypatch, [], None
        super().__init__(path, kind, follow=False)

    def write(self, text):
        if self.writer is not None:
            os.write(self.writer, text.encode())

    def source(self):
        self.over()  # a watch that is started again has another pipe
        reader, self.writer = os.pipe()
        self.streams.append(os.fdopen(reader, "rb", buffering=0))
        self.monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": self.streams[-1]}))
        self.begin()
        return open_file_source("-", WANTED)

    def finish(self):
        if self.writer is not None:
            os.close(self.writer)
            self.writer = None

    def over(self):
        """No more comes, and nobody reads any more."""
        self.finish()
        assert until(lambda: "standard input" not in [one.name for one in threading.enumerate()])
        while self.streams:
            self.streams.pop().close()


class TestStandardInput(SourceContract):
    """A pipe holds some of what nobody reads as yet, but nothing for the next watch."""

    @pytest.fixture(params=["csv", "json"])
    def rig(self, tmp_path, request, monkeypatch):
        rig = StdinRig(tmp_path, request.param, monkeypatch)
        yield rig
        rig.over()

    def _hears(self, source):
        return source.status != "not open"
