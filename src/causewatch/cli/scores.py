"""Scores on disk: one row per tick, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from causewatch.data import Clock, format_time
from causewatch.errors import SettingError
from causewatch.monitor.state import cut_back

if TYPE_CHECKING:
    from causewatch.monitor import Tick

__all__ = ["ScoreFile", "check_header", "check_scores"]

COLUMNS = ("time", "score", "alarm")


def check_scores(path: Path, resumable: bool) -> None:
    """Raise unless scores can be written to a file of this name."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        msg = f"--scores is {path.name!r}; it must end in .csv or .parquet."
        raise SettingError(msg)
    if resumable and ending == ".parquet":
        msg = "A Parquet file of scores cannot be gone on with later; with --state, use .csv."
        raise SettingError(msg)


def check_header(path: Path, signals: Sequence[str]) -> None:
    """Raise if a file that is gone on with was begun with other columns."""
    if not path.is_file() or not path.stat().st_size:
        return
    with path.open("rb") as file:
        there = file.readline().decode("utf-8", "replace").rstrip("\n")
    if there != _row([*COLUMNS, *signals]).rstrip("\n"):
        msg = (
            f"{path.name!r} was begun with other columns; go on with or without --per-signal as"
            " before, or name another file for --scores."
        )
        raise SettingError(msg)


def _row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


class ScoreFile:
    """Writes one row per tick: ``time,score,alarm``, and the evidence of every signal if wanted.

    Parquet is written as CSV beside the file first and turned into Parquet at the end, so that
    memory does not grow with the stream.

    Parameters
    ----------
    path
        File to write.
    signals
        Signals whose evidence is written too.
    keep
        Bytes of an existing file to go on after; None to begin anew.
    """

    def __init__(self, path: Path, signals: Sequence[str] = (), keep: int | None = None) -> None:
        self.path = path
        self._parquet = path.suffix.lower() == ".parquet"
        self._place = path.with_name(f".{path.name}.csv") if self._parquet else path
        self._signals = tuple(signals)
        if keep is not None and path.is_file():
            cut_back(path, keep)
        self._file = self._place.open("w" if keep is None else "a", encoding="utf-8", newline="")
        self._buffer = io.StringIO()
        self._writer = csv.writer(self._buffer, lineterminator="\n")
        if keep is None or not path.stat().st_size:
            self._writer.writerow([*COLUMNS, *self._signals])

    def add(self, tick: Tick, clock: Clock) -> None:
        """One complete tick."""
        score = "" if tick.score is None else f"{tick.score:.6g}"
        time = "" if tick.time is None else format_time(tick.time, clock)
        row = [time, score, int(tick.alarm)]
        if self._signals:
            evidence = tick.signals
            for name in self._signals:
                value = evidence[name] if tick.score is not None else float("nan")
                row.append(f"{value:.6g}" if value == value else "")
        self._writer.writerow(row)

    def flush(self) -> int:
        """Bring everything to the disk; gives the size of the file."""
        self._file.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()
        self._file.flush()
        return self._file.tell()

    def close(self) -> None:
        """Finish the file."""
        self.flush()
        self._file.close()
        if self._parquet:
            import polars as pl

            schema: dict[str, type[pl.DataType]] = dict.fromkeys(self._signals, pl.Float64)
            known = {"time": pl.String, "score": pl.Float64, "alarm": pl.Int8}
            pl.scan_csv(self._place, schema={**known, **schema}).sink_parquet(self.path)
            self._place.unlink()
