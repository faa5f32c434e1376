"""Names in CSV files: nothing that a spreadsheet would compute, and the same when read again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.cli.dataset_csv import recording_csv
from causewatch.data import read_table
from causewatch.data.datasets.base import Recording
from causewatch.data.raw import clean_name
from causewatch.data.spreadsheet import as_text, from_text
from causewatch.monitor import Tick
from causewatch.monitor.tick import Named
from causewatch.streaming.scores import ScoreFile, check_header
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import open_file_source

NAMES = ("=cmd|'/c calc'!A1", "+a", "-b", "@SUM(1)", "'c", "d")


def are_safe(path: Path) -> bool:
    header = next(csv.reader(path.read_text().splitlines()))
    return not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in header)


def are_read_back(path: Path, ignore: tuple[str, ...] = ()) -> None:
    table = read_table(path, ignore=ignore)
    assert table.signals == NAMES
    assert not [note for note in table.notes if note.kind == "padded_names"]
    source = open_file_source(str(path), Wanted(NAMES, 1.0))
    source.open({})
    try:
        assert len(source.poll(1.0))
        assert source.missing == ()
    finally:
        source.close()


def test_scores(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    scores = ScoreFile(path, NAMES)
    scores.begin()
    place = {name: k for k, name in enumerate(NAMES)}
    for k in range(20):
        scores.add(Tick(k * 10**9, True, 0.5, signals=Named(place, np.arange(6.0) + k)), "utc")
    scores.close()
    assert are_safe(path)
    are_read_back(path, ("score", "alarm"))
    check_header(path, NAMES)  # goes on with it


def test_recordings(write, tmp_path: Path) -> None:
    names = [as_text(name) for name in NAMES]
    lines = [",".join(f"{k}.{column}" for column in range(6)) for k in range(20)]
    table = read_table(write(",".join(names) + "\n" + "\n".join(lines) + "\n"))
    path = tmp_path / "written.csv"
    path.write_bytes(recording_csv(Recording("run", table), labelled=False))
    assert are_safe(path)
    are_read_back(path)


@given(st.text(st.sampled_from("'=+-@\t\r\n a"), max_size=6))
def test_what_is_written_is_read(text: str) -> None:
    assert from_text(as_text(text)) == text or text.startswith("'")
    name = clean_name(text)
    assert clean_name(as_text(name)) == name
    assert as_text(name)[:1] not in set("=+-@\t\r\n")


@pytest.mark.parametrize("name", ["'c", "''=c", "a=b"])
def test_other_names_stay(name: str) -> None:
    assert as_text(name) == name
    assert clean_name(name) == name
