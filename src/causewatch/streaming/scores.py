"""Scores on disk: one row per tick, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from causewatch.data import Clock, format_time
from causewatch.data.spreadsheet import as_text
from causewatch.errors import SettingError, StreamError
from causewatch.files import cut_back

if TYPE_CHECKING:
    from causewatch.monitor import Tick

__all__ = ["ScoreFile", "check_header", "check_scores"]

COLUMNS = ("time", "score", "alarm")
MOST_UNWRITTEN = 1_000_000
"""Bytes that may wait for room; a checkpoint holds them. Scores that come then are lost."""


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
    if there != _row(_header(signals)).rstrip("\n"):
        msg = (
            f"{path.name!r} was begun with other columns; go on with or without --per-signal as"
            " before, or name another file for --scores."
        )
        raise SettingError(msg)


def _header(signals: Sequence[str]) -> list[str]:
    return [*COLUMNS, *map(as_text, signals)]


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

    Attributes
    ----------
    lost
        Rows for which there was no room, not even to wait.
    """

    def __init__(self, path: Path, signals: Sequence[str] = ()) -> None:
        self.path = path
        self.lost = 0
        self._parquet = path.suffix.lower() == ".parquet"
        self._place = path.with_name(f".{path.name}.csv") if self._parquet else path
        self._signals = tuple(signals)
        self._buffer = io.StringIO()
        self._writer = csv.writer(self._buffer, lineterminator="\n")
        self._file: io.FileIO | None = None
        self._unwritten = b""

    @property
    def begun(self) -> bool:
        """Whether the file is open."""
        return self._file is not None

    @property
    def unwritten(self) -> str:
        """What could not be written so far."""
        return self._unwritten.decode()

    def begin(self, keep: int | None = None, again: bool = False, unwritten: str = "") -> None:
        """Begin the file anew, or go on with one of which `keep` bytes belong to the state.

        What is newer than that is taken back only if it is written `again`. What the state holds
        `unwritten` comes behind those bytes, unless it stands there already.
        """
        self._unwritten = unwritten.encode()
        if keep is not None and self.path.is_file():
            check_header(self.path, self._signals)
            kept = keep if again else self.path.stat().st_size
            self._unwritten = self._unwritten[max(0, kept - keep) :]
            if not self._unwritten:
                cut_back(self.path, kept)
            elif self.path.stat().st_size > kept:  # its last line may be one that goes on
                os.truncate(self.path, kept)
        self._file = io.FileIO(self._place, "w" if keep is None else "a")
        if keep is None or not (self.path.stat().st_size or unwritten):
            self._writer.writerow(_header(self._signals))

    def add(self, tick: Tick, clock: Clock) -> None:
        """One complete tick."""
        if len(self._unwritten) > MOST_UNWRITTEN:
            self.lost += 1
            return
        score = "" if tick.score is None else f"{tick.score:.6g}"
        time = "" if tick.time is None else format_time(tick.time, clock)
        row = [time, score, int(tick.alarm)]
        if self._signals:
            evidence = tick.signals
            for name in self._signals:
                value = evidence[name] if tick.score is not None else float("nan")
                row.append(f"{value:.6g}" if value == value else "")
        self._writer.writerow(row)

    def flush(self, settle: bool = False) -> int:
        """Write everything; gives the size of the file.

        Parameters
        ----------
        settle
            Whether to wait until it is on the disk: a checkpoint that knows the size must not
            outlive what it counts when the power goes.

        Raises
        ------
        StreamError
            If that is not possible now; nothing is lost by trying again.
        """
        assert self._file is not None, "begin comes first"
        self._unwritten += self._buffer.getvalue().encode()
        self._buffer.seek(0)
        self._buffer.truncate()
        try:
            while self._unwritten:
                # Unbuffered, so that it is known how much of it was written when a disk is full.
                self._unwritten = self._unwritten[self._file.write(self._unwritten) :]
            if settle:
                os.fsync(self._file.fileno())
            return self._file.seek(0, os.SEEK_END)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            msg = f"The scores cannot be written to {self.path.name!r}: {reason}."
            raise StreamError(msg) from error

    def settled(self) -> int:
        """The size of the file, with what was written before `flush` failed on the disk."""
        assert self._file is not None, "begin comes first"
        try:
            os.fsync(self._file.fileno())
        except OSError:  # a full disk is full already; more than that is for the next `flush`
            pass
        return self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Finish the file, if it was begun."""
        if self._file is None:
            return
        try:
            self.flush()
        finally:
            self._file.close()
            self._file = None
        if self._parquet:
            import polars as pl

            schema: dict[str, type[pl.DataType]] = dict.fromkeys(self._signals, pl.Float64)
            known = {"time": pl.String, "score": pl.Float64, "alarm": pl.Int8}
            pl.scan_csv(self._place, schema={**known, **schema}).sink_parquet(self.path)
            self._place.unlink()
