"""Hostile recordings, continued: compressed files, other formats, what is no regular file."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import pickle
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

import polars as pl
import xlsxwriter
from hostile import TABLES, Hostile, Task, csv, good, hostile, signals

BOMBS = [b"\0", b"\n", b"1,2\n", b'"', b"a", b","]


@hostile(len(BOMBS), must_fail=True, huge=True, name="normal.csv.gz")
def gzip_bomb(task: Task) -> bytes:
    """A good table first, then a gigabyte of nothing much."""
    unit = BOMBS[task.seed]
    megabyte = gzip.compress(unit * ((1 << 20) // len(unit)))
    return gzip.compress(csv(good(task.rng))) + megabyte * 1024


@hostile(8, must_fail=True, name="normal.csv.gz")
def damaged_gzip(task: Task) -> bytes:
    data = bytearray(gzip.compress(csv(good(task.rng))))
    at = int(task.rng.integers(10, len(data) - 10))
    if task.seed % 2:
        return bytes(data[:at])
    data[at] ^= 1 << int(task.rng.integers(8))
    return bytes(data)


@hostile(2, name="normal.csv.gz")
def gzip_with_a_tail(task: Task) -> bytes:
    return gzip.compress(csv(good(task.rng))) + [bytes(100), b"garbage"][task.seed]


@hostile(1, name="normal.csv")
def header_that_goes_on(task: Task) -> bytes:
    """A million separators after the header."""
    return csv(good(task.rng)).replace(b"\n", b"," * 1_000_000 + b"\n", 1)


# Parquet and spreadsheets


def columns_of_a_kind(task: Task) -> pl.DataFrame:
    """A time and columns of one odd type."""
    rows = 120
    values = signals(task.rng, rows, 3)
    start = datetime(2026, 1, 1)
    times = pl.Series("time", [start + timedelta(seconds=i) for i in range(rows)])
    makers: list[Callable[[float], object]] = [
        lambda v: [v, v],
        lambda v: {"a": v},
        lambda v: str(v).encode(),
        lambda v: Decimal(f"{v:.6f}"),
        lambda v: date(2026, 1, 1) + timedelta(days=int(v * 100)),
        lambda v: timedelta(seconds=v),
        lambda v: start + timedelta(seconds=v),
        lambda v: None,
        lambda v: v > 0,
        lambda v: "on" if v > 0 else "off",
        lambda v: int(v * 100) % 200,
        lambda v: [],
    ]
    make = makers[task.seed]
    made = [pl.Series(f"S{k}", [make(v) for v in values[:, k].tolist()]) for k in range(3)]
    return pl.DataFrame([times, *made])


@hostile(12, name="normal.parquet")
def parquet_of_odd_columns(task: Task) -> None:
    columns_of_a_kind(task).write_parquet(task.path)


def table_of(task: Task) -> pl.DataFrame:
    return pl.read_csv(csv(good(task.rng)))


def parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


@hostile(5, must_fail=True, name="normal.parquet")
def poor_parquet(task: Task) -> bytes:
    table = table_of(task)
    return [
        parquet(table.clear()),
        parquet(table.head(1)),
        parquet(table.select("time")),
        parquet(pl.DataFrame()),
        b"PAR1" + task.rng.bytes(500) + b"PAR1",
    ][task.seed]


@hostile(24, name="normal.parquet")
def damaged_parquet(task: Task) -> bytes:
    """Flipped bytes, which may go unseen in a Parquet file, and files cut short."""
    data = bytearray(parquet(table_of(task)))
    at = int(task.rng.integers(len(data)))
    if task.seed % 3 == 0:
        return bytes(data[:at])
    for _ in range(task.seed):
        data[int(task.rng.integers(len(data)))] ^= 1 << int(task.rng.integers(8))
    return bytes(data)


@hostile(3, name="normal.parquet")
def false_parquet(task: Task) -> bytes:
    return [csv(good(task.rng)), b"PAR1\n" + csv(good(task.rng)), b"PAR2"][task.seed]


def book(rows: list[list[object]], *, merged: str = "", formula: str = "") -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True, "default_date_format": "yyyy"}) as made:
        sheet = made.add_worksheet()
        if merged:
            sheet.merge_range(0, 0, 0, 3, merged)
        for i, row in enumerate(rows, start=2 * bool(merged)):
            for k, cell in enumerate(row):
                sheet.write(i, k, cell)
            if formula and i % 9 == 1:
                sheet.write_formula(i, 1, formula, value="#N/A")
    return buffer.getvalue()


def cells_of(task: Task) -> list[list[object]]:
    header, *rows = good(task.rng, 60)
    return [list(header), *([row[0], *map(float, row[1:])] for row in rows)]


@hostile(10, name="normal.xlsx")
def odd_spreadsheet(task: Task) -> bytes:
    rows = cells_of(task)
    start = datetime(2026, 1, 1)
    dated = [[start + timedelta(seconds=i), *row[1:]] for i, row in enumerate(rows[1:])]
    return [
        lambda: book(rows, merged="Plant 7"),
        lambda: book(rows, formula="=NA()"),
        lambda: book([rows[0], *dated]),
        lambda: book([rows[0], *([row[0], "#N/A", *row[2:]] for row in rows[1:])]),
        lambda: book([]),
        lambda: book([[]] * 5 + rows),
        lambda: book(rows[:1]),
        lambda: book([[None, "x"]] * 200),
        lambda: book([[row[0], str(row[1]), True, *row[3:]] for row in rows]),
        lambda: book([[*row, *[""] * 300] for row in rows]),
    ][task.seed]()


@hostile(16, name="normal.xlsx")
def damaged_spreadsheet(task: Task) -> bytes:
    data = bytearray(book(cells_of(task)))
    at = int(task.rng.integers(len(data)))
    if task.seed % 3 == 0:
        return bytes(data[:at])
    for _ in range(task.seed):
        data[int(task.rng.integers(len(data)))] ^= 1 << int(task.rng.integers(8))
    return bytes(data)


@hostile(5, must_fail=True, name="normal.xlsx")
def false_spreadsheet(task: Task) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        if task.seed == 1:
            archive.writestr("xl/worksheets/sheet1.xml", bytes(100 << 20))
        if task.seed == 2:
            archive.writestr("xl/workbook.xml", '<!DOCTYPE x [<!ENTITY a "aa">]><x>&a;</x>')
    return [*[buffer.getvalue()] * 3, csv(good(task.rng)), task.rng.bytes(900)][task.seed]


# Other files under a false name


@hostile(8, must_fail=True)
def other_kind_of_file(task: Task) -> bytes | None:
    if task.seed == 0:
        with zipfile.ZipFile(task.path, "w") as archive:
            archive.writestr("normal.csv", csv(good(task.rng)))
        return None
    if task.seed == 1:
        with sqlite3.connect(task.path) as base:
            base.execute("create table normal (time text, value real)")
        base.close()
        return None
    return [
        pickle.dumps(signals(task.rng)),
        b"\x89PNG\r\n\x1a\n" + zlib.compress(task.rng.bytes(2000)),
        b"\x7fELF\x02\x01\x01" + task.rng.bytes(4000),
        b"%PDF-1.7\n1 0 obj << >> endobj\n" * 40,
        codecs.encode(task.rng.bytes(3000), "base64"),
        b"BZh9" + task.rng.bytes(500),
    ][task.seed - 2]


# What is no regular file


@hostile(8, must_fail=True, name="normal")
def no_file(task: Task) -> None:
    """A folder, a pipe, endless devices, dead ends."""
    path, kinds = task.path, ["/dev/zero", "/dev/null", "/dev/tty", "normal", "nowhere"]
    if task.seed == 0:
        path.mkdir()
    elif task.seed == 1:
        os.mkfifo(path)
    elif task.seed < 7:
        path.symlink_to(kinds[task.seed - 2])


ODD_FILE_NAMES = ["-", "a b.csv", "[x]*?.csv", "\x1b[2J.csv", "new\nline.csv", "\u202egnp.csv",
                  os.fsdecode(b"\xff\xfe.csv"), "%s{0}.csv", "x" * 250 + ".csv", "'\".csv",
                  "normal", ".csv", "~.csv", "$HOME.csv", "http:x.csv"]  # fmt: skip


def good_file(task: Task) -> bytes:
    return csv(good(task.rng))


def ragged_file(task: Task) -> bytes:
    table = good(task.rng)
    return csv([*table, *[["1"]] * len(table)])


for _number, _name in enumerate(ODD_FILE_NAMES):
    TABLES.append(Hostile(good_file, _number, must_fail=False, name=_name))
    TABLES.append(Hostile(ragged_file, _number, must_fail=True, name=_name))
