"""Odd options of ``learn``, and hostile knowledge files; none of them may get through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_VALUES: dict[str, tuple[str, ...]] = {
    "every": ("", "0s", "-1s", "nan", "inf", "1e99d", "10 parsecs", "1ms", "1000d", "s", "٣ s²",
              "9" * 400, "auto ", "1h1"),
    "max-lag": ("", "0", "-1", "101", "1e9", "x", "9" * 5000, "1.5", "AUTO"),
    "alpha": ("", "0", "1", "nan", "-1", "2", "inf", "x", "1e-400"),
    "exclude": ("", "junk", "..", "a..b", "2026..2025", "0..5", "row 0..row 5", "1..2..3",
                "2026-01-01T00:00:00Z..", "0001-01-01..9999-12-31", "2030-01-01..2031-01-01",
                "row 9..row " + "9" * 30, "9" * 400 + "..", "2026-01-01..5", "..0001-01-01",
                "2026-13-01..2026-14-01"),
    "ignore": ("nope", "S0,S1,S2", "S0,S1", "time,S0,S1,S2,note", "s0", "x" * 100_000),
    "time": ("nope", "note", "", "S9", "\x1b[2J"),
    "time-format": ("%", "%Q", "junk", "%Y", "%" * 999, "%d.%m.%Y", "\n"),
    "labels": ("nope", "S9"),
    "separator": (";;", "é", "€", '"', "\n", ";", "abc", "\t"),
    "decimal": (";", ",", "..", "٫"),
    "preset": ("nope", "", "Default"),
    "method": ("nope", "", "PCMCI"),
    "test": ("nope", "", "\u202e"),
    "seed": ("x", "1.5", ""),
    "links": ("-1", "x"),
    "out": ("taken", "no/such/folder/x.cwm", ".", "", "spare"),
    "frobnicate": ("1",),
    "knowledge": ("nope.yaml", ".", "", "normal.csv"),
}  # fmt: skip

OPTIONS: list[tuple[str, ...]] = [
    *((f"--{name}={value}",) for name, values in _VALUES.items() for value in values),
    ("--out=normal.csv", "--force"),
    ("--out=./spare/../normal.csv", "--force"),
    ("--out=spare", "--force"),
    ("normal.csv\x7f",),
    ("x" * 5000,),
    ("",),
    ("--preset=paper", "--max-lag=0"),
    ("--preset=paper", "--every=1ms"),
    ("--preset=paper", "--ignore=S0,S1"),
    ("--test=knn", "--max-lag=99"),
    ("--decimal=,", "--separator=,"),
]


def _bomb(path: Path) -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for k in range(1, 12):
        aliases = ", ".join([f"*a{k - 1}"] * 9)
        lines.append(f"a{k}: &a{k} [{aliases}]")
    return "\n".join(lines).encode()


def _folder(path: Path) -> None:
    path.mkdir()


KNOWLEDGE: dict[str, Callable[[Path], bytes | None]] = {
    "folder": _folder,
    "bomb": _bomb,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "loop": lambda path: path.symlink_to(path.name),
    "binary": lambda path: bytes(range(256)) * 20,
    "broken": lambda path: b"groups: [a, b\nlinks: }{",
    "tabs": lambda path: b"\tgroups:\n\t\t- a\n",
    "tag": lambda path: b"groups: !!python/object/apply:os.abort []\n",
    "deep": lambda path: b"[" * 100_000,
    "deep-mapping": lambda path: b"".join(b" " * k + b"a:\n" for k in range(2_000)),
    "number": lambda path: b"7",
    "list": lambda path: b"- a\n- b\n",
    "text": lambda path: b"everything is fine",
    "nul": lambda path: b"groups:\0",
    "latin-1": lambda path: "größe: ä".encode("latin-1"),
    "utf-16": lambda path: "groups: {}".encode("utf-16")[:-1],
    "unknown": lambda path: b"frobnicate: 1\n",
    "signal": lambda path: b"required:\n  - NOPE -> S1\n",
    "itself": lambda path: b"a: &a\n  b: *a\n",
    "twice": lambda path: b"groups: {a: [S0]}\ngroups: {b: [S1]}\n",
    "escape": lambda path: b'"\\e[2J": 1\n',
    "long": lambda path: b"a: " + b"x" * (3 << 20),
    "two": lambda path: b"groups: {}\n---\ngroups: {}\n",
}
