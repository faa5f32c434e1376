"""Hostile recordings: files that are broken, odd, huge or not what their name says.

Every maker is a function of a random generator and a path. It returns the bytes of the file, or
writes the file itself and returns None. `TABLES` holds all of them with all their seeds; the same
seed gives the same file.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import pickle
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Rng = np.random.Generator
Maker = Callable[[Rng, Path], bytes | None]
Rows = list[list[str]]


@dataclass(frozen=True)
class Hostile:
    """One hostile file: `must_fail` says whether anything but a refusal is wrong."""

    maker: Maker
    seed: int
    must_fail: bool
    name: str

    def __str__(self) -> str:
        return f"{self.maker.__name__}-{self.seed}"

    def write(self, folder: Path) -> Path:
        """Make the file in `folder`."""
        path = folder / self.name
        content = self.maker(np.random.default_rng(self.seed), path)
        if content is not None:
            path.write_bytes(content)
        return path


TABLES: list[Hostile] = []


def hostile(
    seeds: int = 1, *, must_fail: bool = False, name: str = "normal.csv"
) -> Callable[[Maker], Maker]:
    """List a maker `seeds` times in `TABLES`."""

    def add(maker: Maker) -> Maker:
        TABLES.extend(Hostile(maker, seed, must_fail, name) for seed in range(seeds))
        return maker

    return add


# Building blocks --------------------------------------------------------------------------------


def signals(rng: Rng, rows: int = 160, columns: int = 3) -> np.ndarray:
    """A chain in which each signal causes the next one."""
    values = rng.normal(size=(rows, columns))
    for k in range(1, columns):
        values[1:, k] += 0.8 * values[:-1, k - 1]
    return values


def clock(second: int) -> str:
    """A time, given in seconds after the start."""
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def good(rng: Rng, rows: int = 160, columns: int = 3) -> Rows:
    """The cells of a faultless table with a header."""
    cells = [[clock(i), *(f"{v:.4f}" for v in row)] for i, row in enumerate(signals(rng, rows, columns))]
    return [["time", *(f"S{k}" for k in range(columns))], *cells]


def text(rows: Rows, separator: str = ",", end: str = "\n") -> str:
    """The cells as text."""
    return end.join(separator.join(row) for row in rows) + end


def csv(rows: Rows) -> bytes:
    """The cells as a CSV file."""
    return text(rows).encode("utf-8", "surrogatepass")


def with_times(rng: Rng, times: Callable[[int], str], rows: int = 120) -> bytes:
    """A table whose times are `times(row)`."""
    table = good(rng, rows)
    for i, row in enumerate(table[1:]):
        row[0] = times(i)
    return csv(table)


def with_values(values: np.ndarray) -> bytes:
    """A table of these numbers."""
    rows = [[clock(i), *(repr(float(v)) for v in row)] for i, row in enumerate(values)]
    return csv([["time", *(f"S{k}" for k in range(values.shape[1]))], *rows])


def somewhere(rng: Rng, rows: int, share: float = 0.1) -> list[int]:
    """Some row numbers below the header."""
    return sorted(rng.choice(np.arange(1, rows), size=max(1, int(share * rows)), replace=False).tolist())


# Nothing, or hardly anything --------------------------------------------------------------------

SCRAPS = [
    b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\n", b"\n" * 5000, b"\r\n\r\n", b" ", b"\t\t\n",
    b"\0", b'"', b'""', b'"\n', b",", b",,,\n,,,\n", b"time,A,B\n", b"time,A,B", b"time,A,B\n\n\n",
    b"time,A,B\n2026-01-01T00:00:00,1,2\n", b"1\n", b"1,2\n", b"1\n2\n3\n", b"a\nb\nc\n", b"#\n#\n",
    b"time,A,B\n,,\n,,\n,,\n", b"\x1a", b"nan,nan\nnan,nan\nnan,nan\n", b"\r\r\r", b"=1+1\n", b"{}\n",
    b'{"time": 1, "A": 2}\n' * 50, b"<html><body><table></table></body></html>\n" * 30,
    b"-----BEGIN PGP MESSAGE-----\n" * 20, b"\xff" * 100, b"\xf0\x28\x8c\x28\n" * 20, b";;;\n;1;\n" * 9,
    b"\xef\xbb\xbf\xef\xbb\xbf\n", b"time\n" + b"2026-01-01\n" * 9, b"A,A,A\n1,1,1\n2,2,2\n",
]  # fmt: skip


@hostile(len(SCRAPS), must_fail=True)
def scrap(rng: Rng, path: Path) -> bytes:
    return SCRAPS[int(np.random.default_rng(0).permutation(1)[0]) + _SCRAP_OF[rng.bytes(8)]]


_SCRAP_OF = {np.random.default_rng(k).bytes(8): k for k in range(len(SCRAPS))}
