"""A small plant for tests of the commands: a model, and a recording with two faults in it."""

from __future__ import annotations

import contextlib
import io
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from causewatch.cli import main

ROWS = 700


@dataclass(frozen=True)
class SmallPlant:
    """Paths of the model and of the recording, and the recording's lines."""

    model: Path
    test: Path
    lines: list[str]


def build(folder: Path) -> SmallPlant:
    """Five signals: a model of them, and a recording in which two of them are biased in turn.

    Rows 200 to 260 of the recording have S02 off, rows 450 to 500 S04.
    """
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    test = folder / "faulty.csv"
    lines = test.read_text(encoding="utf-8").splitlines(keepends=True)
    return SmallPlant(folder / "plant.cwm", test, lines)


@cache
def _files() -> dict[str, bytes]:
    """What is simulated and learnt, once for all tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make(folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _make(folder: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(
            ["simulate", "random", "--out", str(folder), "--rows", "3000", "--test-rows", str(ROWS),
             "--signals", "5", "--attacks", "none", "--seed", "11"]
        )  # fmt: skip
        assert code == 0
        model = folder / "plant.cwm"
        normal = str(folder / "normal.csv")
        assert main(["learn", normal, "--out", str(model)]) == 0
    frame = pl.read_csv(folder / "test.csv").drop("label")
    row = pl.int_range(pl.len())
    frame = frame.with_columns(
        pl.col("S02") + 6.0 * row.is_between(200, 259),
        pl.col("S04") - 6.0 * row.is_between(450, 499),
    )
    frame.write_csv(folder / "faulty.csv")
