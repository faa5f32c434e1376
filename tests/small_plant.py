"""A small plant for tests of the commands: a model, and a recording with two faults in it."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
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
    """Simulate five signals, learn from them, and bias two of them in turn.

    Rows 200 to 260 of the recording have S02 off, rows 450 to 500 S04.
    """
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
    test = folder / "faulty.csv"
    frame.write_csv(test)
    return SmallPlant(model, test, test.read_text(encoding="utf-8").splitlines(keepends=True))
