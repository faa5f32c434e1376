"""Hostile recordings: files that are broken, odd, huge or not what their name says.

Every maker takes a `Task` (a seed, a random generator and a path) and returns the bytes of the
file, or writes the file itself and returns None. `TABLES` holds all of them with all their seeds;
the same seed gives the same file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Rows = list[list[str]]


@dataclass(frozen=True)
class Task:
    """What a maker works with."""

    seed: int
    rng: np.random.Generator
    path: Path


Maker = Callable[[Task], bytes | None]


@dataclass(frozen=True)
class Hostile:
    """One hostile file: with `must_fail`, anything but a refusal is wrong."""

    maker: Maker
    seed: int
    must_fail: bool
    name: str
    huge: bool = False

    def __str__(self) -> str:
        return f"{self.maker.__name__}-{self.seed}"

    def write(self, folder: Path) -> Path:
        """Make the file in `folder`."""
        path = folder / self.name
        content = self.maker(Task(self.seed, np.random.default_rng(self.seed), path))
        if content is not None:
            path.write_bytes(content)
        return path


TABLES: list[Hostile] = []


def hostile(
    seeds: int = 1, *, must_fail: bool = False, huge: bool = False, name: str = "normal.csv"
) -> Callable[[Maker], Maker]:
    """List a maker `seeds` times in `TABLES`."""

    def add(maker: Maker) -> Maker:
        TABLES.extend(Hostile(maker, seed, must_fail, name, huge) for seed in range(seeds))
        return maker

    return add


# Building blocks


def signals(rng: np.random.Generator, rows: int = 160, columns: int = 3) -> np.ndarray:
    """A chain in which each signal causes the next one."""
    values = rng.normal(size=(rows, columns))
    for k in range(1, columns):
        values[1:, k] += 0.8 * values[:-1, k - 1]
    return values


def clock(second: int) -> str:
    """A time, given in seconds after the start."""
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def good(rng: np.random.Generator, rows: int = 160, columns: int = 3) -> Rows:
    """The cells of a faultless table with a header."""
    values = signals(rng, rows, columns).tolist()
    header = ["time", *(f"S{k}" for k in range(columns))]
    return [header, *([clock(i), *(f"{v:.4f}" for v in row)] for i, row in enumerate(values))]


def text(rows: Rows, separator: str = ",", end: str = "\n") -> str:
    """The cells as text."""
    return end.join(separator.join(row) for row in rows) + end


def csv(rows: Rows) -> bytes:
    """The cells as a CSV file."""
    return text(rows).encode("utf-8", "surrogatepass")


def with_times(task: Task, time: Callable[[int], str], rows: int = 120) -> bytes:
    """A faultless table, except that its times are `time(row)`."""
    table = good(task.rng, rows)
    for i, row in enumerate(table[1:]):
        row[0] = time(i)
    return csv(table)


def with_values(values: np.ndarray) -> bytes:
    """A table of these numbers."""
    rows = [[clock(i), *map(repr, row)] for i, row in enumerate(values.tolist())]
    return csv([["time", *(f"S{k}" for k in range(values.shape[1]))], *rows])


def some_rows(task: Task, table: Rows, share: float = 0.1) -> list[list[str]]:
    """Some of the rows below the header."""
    chosen = task.rng.permutation(np.arange(1, len(table)))[: max(1, int(share * len(table)))]
    return [table[i] for i in sorted(chosen.tolist())]


# Nothing, or hardly anything

SCRAPS = [
    b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\n", b"\n" * 5000, b"\r\n\r\n", b" ",
    b"\t\t\n", b"\0", b'"', b'""', b'"\n', b",", b",,,\n,,,\n", b"time,A,B\n", b"time,A,B",
    b"time,A,B\n\n\n", b"time,A,B\n2026-01-01T00:00:00,1,2\n", b"1\n", b"1,2\n", b"1\n2\n3\n",
    b"a\nb\nc\n", b"#\n#\n", b"time,A,B\n,,\n,,\n,,\n", b"\x1a", b"nan,nan\n" * 3, b"\r\r\r",
    b"=1+1\n", b"{}\n", b'{"time": 1, "A": 2}\n' * 50, b"<html><table></table></html>\n" * 30,
    b"-----BEGIN PGP MESSAGE-----\n" * 20, b"\xff" * 100, b"\xf0\x28\x8c\x28\n" * 20,
    b";;;\n;1;\n" * 9, b"\xef\xbb\xbf\xef\xbb\xbf\n", b"time\n" + b"2026-01-01\n" * 9,
    b"A,A,A\n1,1,1\n2,2,2\n", b"time,A,B\n2026-01-01,1,2\n2026-01-02,2,1\n", b"\x1b[2J\n" * 9,
    b"\x1f\x8b", b"PAR1", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", b"SQLite format 3\0", b"%PDF-1.7\n",
]  # fmt: skip


@hostile(len(SCRAPS), must_fail=True)
def scrap(task: Task) -> bytes:
    return SCRAPS[task.seed]


@hostile(12, must_fail=True)
def random_bytes(task: Task) -> bytes:
    return task.rng.bytes(10 ** (task.seed % 4 + 1))


@hostile(8, must_fail=True)
def random_letters(task: Task) -> bytes:
    letters = np.frombuffer(b'0123456789.,;-+eE"\n\r\t abc', dtype=np.uint8)
    return task.rng.choice(letters, size=3000).tobytes()


@hostile(60)
def scattered_damage(task: Task) -> bytes:
    """A good file, some bytes of which are replaced, removed, doubled or moved."""
    data = bytearray(csv(good(task.rng, 120)))
    for _ in range(int(task.rng.integers(1, 8))):
        at, size = int(task.rng.integers(len(data))), int(task.rng.integers(1, 40))
        kind = task.rng.integers(5)
        if kind == 0:
            data[at : at + 1] = task.rng.bytes(1)
        elif kind == 1:
            del data[at : at + size]
        elif kind == 2:
            data[at:at] = data[at : at + size]
        elif kind == 3:
            data[at:at] = task.rng.choice([b'"', b"\n", b",", b"\r", b"\xff", b"\0", b"\xe2\x80"])
        else:
            data[at : at + 1] = bytes([data[at] ^ 1 << int(task.rng.integers(8))])
    return bytes(data)


@hostile(8)
def cut_short(task: Task) -> bytes:
    data = csv(good(task.rng))
    return data[: int(task.rng.integers(len(data)))]


# Encodings and line ends

ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "latin-1",
             "utf-7", "cp037", "cp1252", "utf-8-sig", "shift_jis", "gb18030", "koi8-r"]  # fmt: skip


@hostile(2 * len(ENCODINGS))
def encoded(task: Task) -> bytes:
    table = good(task.rng)
    table[0][1:3] = [["Wärme", "Größe"], ["温度", "Давление"]][task.seed // len(ENCODINGS)]
    return text(table).encode(ENCODINGS[task.seed % len(ENCODINGS)], "replace")


@hostile(4)
def mixed_encodings(task: Task) -> bytes:
    table = good(task.rng)
    table[0][1] = "Größe"
    half = text(table[:80]).encode(ENCODINGS[task.seed])
    return half + text(table[80:]).encode("latin-1")


@hostile(6)
def nul_inside(task: Task) -> bytes:
    data = bytearray(csv(good(task.rng)))
    at = int(task.rng.integers(len(data)))
    data[at:at] = bytes(1 + task.seed * 100)
    return bytes(data)


@hostile(3)
def lone_surrogates(task: Task) -> bytes:
    table = good(task.rng)
    table[[0, 5, 0][task.seed]][1] = "\ud800x"
    return csv(table) if task.seed < 2 else text(table).encode("utf-16", "surrogatepass")


@hostile(3, must_fail=True)
def odd_number_of_utf16_bytes(task: Task) -> bytes:
    return text(good(task.rng)).encode("utf-16")[: -1 - 2 * task.seed]


@hostile(6)
def line_ends(task: Task) -> bytes:
    ends = ["\r", "\r\n", "\n\r", "\r\r\n", "\x0b", "\u2028"]
    return text(good(task.rng), end=ends[task.seed]).encode()


@hostile(4)
def mixed_line_ends(task: Task) -> bytes:
    ends = ["\n", "\r\n", "\r", "\n\n"][: task.seed + 1]
    return "".join(text([row], end=str(task.rng.choice(ends))) for row in good(task.rng)).encode()


# Quotation marks and rows of the wrong length


@hostile(8)
def unclosed_quote(task: Task) -> bytes:
    table = good(task.rng)
    row = [0, 1, len(table) - 1, *task.rng.integers(2, 150, size=5).tolist()][task.seed]
    table[row][task.seed % 4] = '"' + table[row][task.seed % 4]
    return csv(table)


@hostile(8)
def odd_quotes(task: Task) -> bytes:
    table = good(task.rng)
    forms = ['"{}"', '"{}\n"', '""{}""', '{}""', '"{}" ', ' "{}"', '"{},1"', '"""{}"""']
    for row in some_rows(task, table, 0.3):
        row[2] = forms[task.seed].format(row[2])
    return csv(table)


@hostile(10)
def ragged(task: Task) -> bytes:
    table = good(task.rng)
    row = table[[1, len(table) - 1, *task.rng.integers(2, 150, size=8).tolist()][task.seed]]
    row[:] = row[:2] if task.seed % 2 else [*row, "7"]
    return csv(table)


@hostile(4, must_fail=True)
def all_ragged(task: Task) -> bytes:
    rows = [["1"] * int(n) for n in task.rng.integers(1, 9, size=60)]
    return csv(rows)


@hostile(4)
def header_of_other_length(task: Task) -> bytes:
    table = good(task.rng)
    table[0] = [table[0][:1], table[0][:2], [*table[0], "X", "Y"], table[0] * 3][task.seed]
    return csv(table)


# Names

NAMES = [
    ["A", "A", "A"], ["", "", ""], [" ", "  ", "\t"], ["A\x00", "B", "C"], ["A\x1b[31m", "B", "C"],
    ["[bold]A[/]", "[/]", "<script>alert(1)</script>"], ['"A\nB"', '"C\rD"', "E"],
    ["\u202eA", "\u200fB", "\u2066C"], ["\x7f", "\x85", "\x9b31m"], ["1", "2", "x"],
    ["../../A", "/B", "C:\\D"], ["A" * 1000, "B" * 999, "C"], ["time", "time", "time"],
    ["A → B", "→(1)", "A"], ["%s%n", "{count}", "{0}"], ["x0", "x1", "nan"], ["é", "e\u0301", "E"],
    ["😀", "👩‍👩‍👧", "\ufffd"], ["label", "attack", "fault"], ["$(reboot)", "`x`", "'; DROP TABLE"],
    ["\ufeffA", "B\ufeff", "\ufeff"], ["A.1", "A", "A"], ["column_2", "", "column_4"],
]  # fmt: skip


@hostile(len(NAMES))
def odd_names(task: Task) -> bytes:
    table = good(task.rng)
    table[0][1:] = NAMES[task.seed]
    return csv(table)


@hostile(3, must_fail=True)
def huge_name(task: Task) -> bytes:
    table = good(task.rng, 20)
    table[0][1] = "x" * [1_001, 200_000, 1 << 20][task.seed]
    return csv(table)


@hostile(must_fail=True, huge=True)
def many_names_alike(task: Task) -> bytes:
    return csv([["x"] * 20_000, *(["1"] * 20_000 for _ in range(3))])


@hostile(must_fail=True, huge=True)
def hundred_thousand_columns(task: Task) -> bytes:
    return csv([[f"c{k}" for k in range(100_000)], *(["1"] * 100_000 for _ in range(3))])


# Numbers

NUMBERS = [
    "1e400", "-1e400", "1_000", "1,234.5", "0x10", "١٢٣", "NaN", "nan(7)", "-nan", "inf",
    "-Infinity", "1e-320", "4.9e-324", "1e200", "1e300", "9" * 400, "+-3", "--3", "1e",
    "e1", ".", "-", "1.2.3", "1e1e1",
    "½", "−3", "1 000", "$5", "5%", "1d10", "1f", "TRUE", "#REF!", "()",
    "[]", "NULL", "​1",
    "1e308", "-1e308", "1.7976931348623159e308", "0b1", "1/0", "２", "\u00a01",
]  # fmt: skip


@hostile(len(NUMBERS))
def odd_numbers(task: Task) -> bytes:
    table = good(task.rng)
    for row in some_rows(task, table, [0.01, 0.04, 0.6][task.seed % 3]):
        row[2] = f'"{NUMBERS[task.seed]}"'
    return csv(table)


@hostile(3, must_fail=True)
def no_numbers(task: Task) -> bytes:
    word = ["on the way", "", "n/a"][task.seed]
    return csv([["time", "A", "B"], *([clock(i), word, word] for i in range(50))])


@hostile(9, must_fail=True)
def nothing_to_learn_from(task: Task) -> bytes:
    """One signal, constants, duplicates, the same in other units, too few rows, hardly a change."""
    one, rng = signals(task.rng, 100, 1), task.rng
    switch = (np.arange(100) > 50).astype(float)[:, None]
    return with_values(
        [
            one,
            np.ones((100, 4)),
            np.hstack([one, one]),
            np.hstack([one, 2 * one + 1, -one]),
            rng.normal(size=(3, 50)),
            np.hstack([switch, 1 - switch]),
            np.hstack([one, np.full((100, 3), np.nan)]),
            np.where(np.eye(100)[:, :4] > 0, 1.0, np.nan),
            rng.normal(size=(4, 2)),
        ][task.seed]
    )


def rough_values(task: Task) -> np.ndarray:
    """Numbers that trip arithmetic."""
    rng = task.rng
    base = signals(rng, 60 if task.seed == 11 else 200, 50 if task.seed == 11 else 3)
    rows = len(base)
    turns = np.where(np.arange(rows) % 2, 1.0, -1.0)[:, None]
    rare = (rng.random((rows, 1)) < 0.06).astype(float)
    return [
        lambda: base * 1e200,
        lambda: turns * 1e308 * rng.choice([0.5, 1.0], size=base.shape),
        lambda: base * np.array([1e-150, 1.0, 1e150]),
        lambda: base * np.array([1e-300, 1.0, 1.0]),
        lambda: np.hstack([base, rng.integers(1, 99, size=(rows, 1)) * 5e-324]),
        lambda: np.hstack([base, rare]),
        lambda: np.hstack([base, base[:, :1] + base[:, 1:2]]),
        lambda: base * 1e140,
        lambda: 1e15 + base,
        lambda: 1e18 + base * 1e3,
        lambda: np.hstack([base, turns]),
        lambda: base,
        lambda: base * 5e-324 * 1e3,
        lambda: np.where(rng.random(base.shape) < 0.01, 1e149, base),
        lambda: np.where(rng.random(base.shape) < 0.3, np.nan, base),
        lambda: np.round(base * 0.3),
        lambda: np.hstack([base, np.cumsum(np.exp(base * 9), axis=0)]),
        lambda: np.vstack([base, base * 1e145]),
        lambda: np.vstack([base * 1e-160, base * 1e-150]),
        lambda: np.hstack([base, np.sin(np.arange(rows) / 9)[:, None]]),
    ][task.seed]()


ROUGH = 20


@hostile(ROUGH)
def rough_numbers(task: Task) -> bytes:
    return with_values(rough_values(task))


# Times

TIMES: list[Callable[[int], str]] = [
    lambda i: "31/02/2026",
    lambda i: f"0000-01-01T00:{i // 60:02}:{i % 60:02}",
    lambda i: f"9999-12-31T00:{i // 60:02}:{i % 60:02}",
    lambda i: f"10000-01-01T00:{i // 60:02}:{i % 60:02}",
    lambda i: str(-2_000_000_000 + i),
    lambda i: [clock(i), f"01.01.2026 00:{i // 60:02}", f"1/1/26 {i} PM"][i % 3],
    lambda i: clock(i) + ["Z", "+01:00", "-11:30", ""][i % 4],
    lambda i: clock(7),
    lambda i: clock(5000 - i),
    lambda i: clock(i % 2),
    lambda i: ("1500" if i > 60 else "2500") + clock(i)[4:],
    lambda i: ("1900" if i < 60 else "2100") + clock(i)[4:],
    lambda i: str(i * 10**17),
    lambda i: f"{clock(i)}.{i * 7919 % 1_000_000:06}",
    lambda i: "" if i % 10 else clock(i),
    lambda i: "" if i == 60 else clock(i),
    lambda i: "" if i < 60 else clock(i),
    lambda i: f"1e{i}",
    lambda i: str(2**63 + i),
    lambda i: "9" * 30,
    lambda i: f"{clock(i)}+99:99",
    lambda i: f"{clock(i)[:-2]}{i % 90:02}",
    lambda i: f"25:{i % 60:02}:00",
    lambda i: f"2026-02-{i % 40:02}",
    lambda i: f"{i}.{i}.{i}",
    lambda i: f"{clock(i)}.{'9' * 40}",
    lambda i: str(i**8),
    lambda i: clock(i * i),
    lambda i: clock(i + (i > 60) * 80_000),
    lambda i: f"{1e-12 * i!r}",
    lambda i: clock(int(i * 7919 % 120)),
    lambda i: "now",
]


@hostile(len(TIMES))
def odd_times(task: Task) -> bytes:
    return with_times(task, TIMES[task.seed])


# Events of a historian


@hostile(9, must_fail=True)
def events(task: Task) -> bytes:
    """Event lists with nothing in them, or with far too much."""
    tag, value, count = [
        (lambda i: "A", lambda i: str(i * 7 % 11), 200),
        (lambda i: f"T{i % 2}", lambda i: "open to doubt", 200),
        (lambda i: f"T{i // 2}", lambda i: "1", 200_000),
        (lambda i: "", lambda i: "1", 200),
        (lambda i: f"T{i % 3}", lambda i: "", 200),
        (lambda i: f"T{i % 3}", lambda i: "5", 200),
        (lambda i: "T" * 2000 + str(i % 3), lambda i: str(i % 7), 200),
        (lambda i: f"T\x1b[2J{i % 3}", lambda i: str(i * i % 17), 200),
        (lambda i: f"T{i % 3}", lambda i: str(i), 3),
    ][task.seed]
    rows = [[clock(i % 80_000), tag(i), value(i)] for i in range(count)]
    return csv([["time", "tag", "value"], *rows])


@hostile(4)
def events_of_odd_times(task: Task) -> bytes:
    time = [TIMES[13], TIMES[11], lambda i: str(i**8), lambda i: clock(5000 - i)][task.seed]
    values = signals(task.rng, 200, 1)[:, 0].tolist()
    rows = [[time(i), f"T{i % 3}", repr(v)] for i, v in enumerate(values)]
    return csv([["time", "tag", "value", "quality"], *([*row, "good"] for row in rows)])


# Huge


@hostile(must_fail=True, huge=True)
def header_of_50_megabytes(task: Task) -> bytes:
    return b"time," + b"x" * (50 << 20) + b"\n1,2\n2,3\n"


@hostile(must_fail=True, huge=True)
def line_of_30_megabytes(task: Task) -> bytes:
    return b"1," * (15 << 20)


@hostile(must_fail=True, huge=True)
def million_rows_of_two_alike(task: Task) -> bytes:
    return b"A,B\n" + b"1,1\n2,2\n3,3\n1,1\n" * 250_000


@hostile(must_fail=True, huge=True)
def millions_of_lines_of_garbage(task: Task) -> bytes:
    return b"A,B\n" + b"1,2\n2,1\n3,5\n" * 4_000_000 + b"x\n" * 6_000_000


@hostile(must_fail=True, huge=True)
def blank_lines_and_many_columns(task: Task) -> bytes:
    """Every blank line is a row: cells that take no bytes."""
    header = ",".join(f"c{k}" for k in range(1_000)).encode()
    return header + b"\n" + b"\n" * (6 << 20)
