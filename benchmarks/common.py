"""What the benchmarks share: timing, memory of fresh processes, tables, the page they fill."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = [
    "GIB",
    "MIB",
    "ROOT",
    "Cost",
    "Timed",
    "commit",
    "data_folder",
    "interleaved",
    "launch",
    "machine",
    "options",
    "publish",
    "seconds",
    "table",
]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
MIB, GIB = 1 << 20, 1 << 30


@dataclass(frozen=True)
class Timed:
    """Best wall and CPU time of several calls, in seconds, and what the last call returned."""

    wall: float
    cpu: float
    result: Any


@dataclass(frozen=True)
class Cost:
    """What one fresh process cost."""

    wall: float
    cpu: float
    peak: int
    """Largest resident memory, bytes."""
    code: int
    timed_out: bool
    output: str
    errors: str


def interleaved(
    calls: dict[str, Callable[[], Any]], repeats: dict[str, int] | None = None
) -> dict[str, Timed]:
    """Time several calls in turn, best of `repeats` each.

    One round calls each of them once, so that a busy moment of the machine hits all alike; a
    call that has had its repeats sits out the later rounds.
    """
    repeats = repeats or {}
    best: dict[str, Timed] = {}
    for turn in range(max(repeats.get(name, 3) for name in calls)):
        for name, call in calls.items():
            if turn >= repeats.get(name, 3):
                continue
            gc.collect()
            cpu, wall = time.process_time(), time.perf_counter()
            result = call()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            last = best.get(name, Timed(wall, cpu, None))
            best[name] = Timed(min(wall, last.wall), min(cpu, last.cpu), result)
    return best


def launch(
    command: Sequence[str | Path],
    *,
    address_space: int | None = None,
    timeout: float | None = None,
    environment: dict[str, str] | None = None,
) -> Cost:
    """Run a command in a fresh process and measure it; see ``benchmarks/launch.py``."""
    # Whoever forbids bytecode to be stored would have it compiled anew in each of our processes.
    around = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "cost.json"
        wrapper: list[str] = [sys.executable, "-S", "-E", str(ROOT / "benchmarks" / "launch.py")]
        wrapper += ["--report", str(report)]
        if address_space is not None:
            wrapper += ["--address-space", str(address_space)]
        if timeout is not None:
            wrapper += ["--timeout", str(timeout)]
        done = subprocess.run(
            [*wrapper, *map(str, command)],
            cwd=ROOT,
            env={**around, **(environment or {})},
            capture_output=True,
            text=True,
            check=True,
        )
        cost = json.loads(report.read_text(encoding="utf-8"))
    return Cost(**cost, output=done.stdout, errors=done.stderr)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def seconds(value: float) -> str:
    """A duration with three digits, in the unit that suits it."""
    if value < 1.0:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"


def commit() -> str:
    """The commit measured, with a plus if files were changed since."""
    try:
        run = [
            subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
            for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "src"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return run[0].stdout.strip() + ("+" if run[1].stdout.strip() else "")


def machine(*packages: str) -> str:
    """One line that says where and with what the figures were taken."""
    parts = [f"commit {commit()}", f"{os.cpu_count()} cores ({_processor()})"]
    parts.append(f"Python {platform.python_version()}")
    for name in ("numpy", *packages):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            parts.append(f"{name} not installed")
    return ", ".join(parts) + f"; {time.strftime('%Y-%m-%d')}."


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1].strip() if found else platform.machine()


def publish(section: str, text: str, *, quick: bool) -> None:
    """Print a section; after a full run, also write it between its markers in the docs page."""
    print(f"\n{text}\n", flush=True)
    if quick:
        return
    page = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    if begin not in page or end not in page:
        msg = f"{PAGE.name} has no markers for section {section!r}."
        raise SystemExit(msg)
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


def options(description: str | None, **more: dict[str, Any]) -> argparse.Namespace:
    """The command line of a benchmark: ``--quick``, and what else it takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--quick", action="store_true", help="a reduced run; does not write the docs page"
    )
    for name, settings in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    return parser.parse_args()


def data_folder() -> Path | None:
    """Where the real recordings are, if they are there."""
    named = os.environ.get("CAUSEWATCH_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None
