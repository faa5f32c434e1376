"""Judge nine detectors on every recording, alike, and write ``docs/results/league.md``.

Usage: ``python -m benchmarks.league [--report | --develop] [--ablate] [--intervals] [--limits]
[--quick] [--only COLUMN,…] [--detectors NAME,…] [--every 1min] [--jobs N] [--cells DIR]``.

Each detector learns from the same normal rows and gets its limits from normal rows alone; then it
is counted strictly, as ``causewatch compare`` and ``evaluate`` count. Without ``--report`` or
``--develop`` both parts are judged. ``--ablate`` leaves parts of detectors out, ``--intervals``
halves and doubles the working interval, ``--limits`` moves the limit; each writes a page of its
own instead. Every cell is a file in ``--cells``, so an interrupted run goes on where it stopped.
``--quick`` runs a small simulated recording and writes no page.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.common import ROOT, data_folder, machine
from benchmarks.league.cells import LeagueError, Task, code_hash, computed
from benchmarks.league.page import (
    ablation_tables,
    columns_table,
    interval_tables,
    league_tables,
    limit_tables,
)
from benchmarks.league.recordings import COLUMNS, PARTS
from benchmarks.league.simulated import SEEDS
from benchmarks.league.variants import ABLATED, DETECTORS, Variant

from causewatch.data import format_duration, parse_duration
from causewatch.errors import CausewatchError, SettingError, UnknownNameError

FOLDER = ROOT / "docs" / "results"
CELLS = ROOT / "league-cells"
MOVED = ("default", "plain", "p2")
"""Detectors whose interval and limit are moved."""
LONG = ("3w well 1", "3w well 3", "causrca", "plant", "plant sparse", "plant life", "robot")
"""Columns that take a detector minutes: parts and limits are tried on them only if asked for."""
OTHER_INTERVALS = (0.5, 2.0)
LIMITS = (0.5, 0.7, 1.0, 1.4, 2.0, 4.0)

READING = """
Every detector learns from the same rows of normal operation and takes its limit from normal rows
alone: the first 70 % are for learning, the rest for limits. `default`, `plain` and `p2` take both
from all of them, each half judged by what the other half taught; `plain` and `p2` know no time
between false alarms, the others aim at the asked one. Counting is strict, by
row ([evaluating.md](../evaluating.md), [baselines.md](../baselines.md)). *Raised*: an alarm of its
own began within the event; *seen*: an alarm was on at some time in it. *Coverage*: mean share of
an event under alarm. The best figure of a column is bold, whatever the detector: silence has no
false alarms and an alarm that is always on misses no row, so read the tables together.
"""


@dataclass(frozen=True)
class Page:
    """A page that can be made: its file, title, and the tasks it needs."""

    file: str
    title: str
    about: str


PAGES = {
    "league": Page("league.md", "The league", READING),
    "ablate": Page(
        "ablation.md",
        "What each part of a detector is worth",
        "Figures of the detector without a part less those of the whole detector: a part pays"
        " where its absence lowers F1 or raises the normal time under alarm. In brackets the same"
        " for both halves of what was watched (every other recording, or a single one cut in the"
        " middle): a change that differs in sign between them is noise. Columns that take minutes"
        " a detector are left out (`--only` asks for them).",
    ),
    "intervals": Page(
        "intervals.md",
        "Half and twice the working interval",
        "The working interval is chosen from the rows learnt from. Columns where a tick is a row"
        " are left out.",
    ),
    "limits": Page(
        "limits.md",
        "Moving the limit",
        "Limits as learnt from normal operation, multiplied by a factor; every recording is watched"
        " anew for each. Columns that take minutes a detector are left out (`--only` asks for"
        " them).",
    ),
}


def main(options: Sequence[str] | None = None) -> None:
    """Judge what was asked for, print and write the page; without options those of the program."""
    try:
        code = code_hash()  # of what runs: before anything else can change a file
    except LeagueError as error:
        stop(str(error))
    given = arguments(options)
    folder = data_folder()
    columns = chosen(given, folder)
    kind, parts = given.kind, given.parts
    tasks = [
        task
        for part in parts
        for column in columns
        if part in COLUMNS[column].parts
        for task in tasks_of(kind, column, part, given.detectors, given.every)
    ]
    if not tasks:
        stop("There is nothing to judge: no column asked for has the part asked for.")
    try:
        given.cells.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        stop(f"Cells cannot be kept in {str(given.cells)!r}: {error.strerror}.")
    began = time.perf_counter()
    try:
        cells = dict(run(tasks, given.cells, folder, given.jobs, code))
        if kind == "intervals":
            # Where a tick is a row, the interval is that of the recording and not chosen.
            longer = [task for task, cell in cells.items() if cell["tick_s"] > 1.01 * cell["row_s"]]
            cells = {task: cells[task] for task in longer}
            others = [replace(task, interval=k) for task in longer for k in OTHER_INTERVALS]
            cells |= dict(run(others, given.cells, folder, given.jobs, code))
    except (LeagueError, BrokenProcessPool, OSError) as error:
        print(f"{error} Cells measured so far are kept in {given.cells}.", file=sys.stderr)
        raise SystemExit(1) from error
    except KeyboardInterrupt:
        print(f"\nInterrupted; cells measured so far are kept in {given.cells}.", file=sys.stderr)
        sys.stderr.flush()
        os._exit(130)  # at once: processes that still measure end with this one
    text = body(kind, cells, parts)
    head = head_of(kind, cells, parts, given, code)
    print(f"{head}\n{text}", flush=True)
    print(f"{len(tasks)} cells in {(time.perf_counter() - began) / 60:.1f} min", file=sys.stderr)
    whole = not (given.quick or given.only or given.chosen or len(parts) < len(PARTS))
    if whole and folder is not None:
        path = FOLDER / PAGES[kind].file
        path.write_text(f"{head}\n{text}\n", encoding="utf-8")
        print(f"Wrote {path.relative_to(ROOT)}.", file=sys.stderr)
    else:
        print("No page was written: the run was not a whole one.", file=sys.stderr)


def arguments(options: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.league", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--report", dest="parts", action="store_const", const=("report",),
                      help="only recordings that nothing was developed on")  # fmt: skip
    part.add_argument("--develop", dest="parts", action="store_const", const=("develop",),
                      help="only recordings that may be developed on")  # fmt: skip
    kind = parser.add_mutually_exclusive_group()
    for name, words in (
        ("ablate", "what each part of default, plain and p2 is worth"),
        ("intervals", "half, chosen and twice the working interval"),
        ("limits", "figures against the limit"),
    ):
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=words)
    parser.add_argument("--quick", action="store_true", help="a small simulated recording")
    parser.add_argument("--only", metavar="COLUMN,…", help="columns by name")
    parser.add_argument("--detectors", metavar="NAME,…", help="detectors by name")
    parser.add_argument("--every", metavar="1min", help="length of a tick, for all columns")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--cells", type=Path, default=CELLS, metavar="DIR", help="folder of cells")
    parser.set_defaults(parts=None, kind="league")
    given = parser.parse_args(options)
    given.chosen = given.detectors is not None or given.every is not None
    given.named = given.detectors
    if given.quick and given.parts == ("develop",):
        parser.error("--quick has a report part only")
    if given.quick and given.only is not None:
        parser.error("--quick and --only exclude each other")
    given.parts = given.parts or (("report",) if given.quick else PARTS)
    if given.jobs < 1:
        parser.error(f"--jobs is {given.jobs}; it must be at least 1")
    try:
        given.every = None if given.every is None else parse_duration(given.every)
        given.detectors = (
            DETECTORS if given.detectors is None
            else names_in(given.detectors, DETECTORS, "detector")
        )  # fmt: skip
        given.only = None if given.only is None else names_in(given.only, list(COLUMNS), "column")
        given.named = given.detectors if given.named is not None else None
    except CausewatchError as error:
        parser.error(str(error))
    if given.every is not None and given.kind == "intervals":
        parser.error("--every and --intervals exclude each other")
    if given.kind != "league":
        given.detectors = tuple(name for name in given.detectors if name in MOVED)
        if not given.detectors:
            parser.error(f"--{given.kind} is for {', '.join(MOVED)} only")
    return given


def stop(sentence: str) -> NoReturn:
    """End: what was asked for cannot be done."""
    print(sentence, file=sys.stderr)
    raise SystemExit(2)


def names_in(text: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    """Names with commas between, each of them known, each once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        msg = f"No {what} is named; there are {', '.join(known)}."
        raise SettingError(msg)
    for name in names:
        if name not in known:
            raise UnknownNameError(name, what, known)
    return names


def chosen(given: argparse.Namespace, folder: Path | None) -> list[str]:
    """The columns to judge; real ones only where the recordings are there."""
    if given.only:
        absent = [name for name in given.only if is_absent(name, folder)]
        if absent:
            stop(f"The recordings of {', '.join(absent)} are absent; set CAUSEWATCH_DATA.")
        return list(given.only)
    wanted = [name for name, column in COLUMNS.items() if column.quick == given.quick]
    if given.kind in ("ablate", "limits"):
        wanted = [name for name in wanted if name not in LONG]
    absent = [name for name in wanted if is_absent(name, folder)]
    if absent:
        given.chosen = True  # so it is not a whole run
        print(f"The recordings of {', '.join(absent)} are absent (set CAUSEWATCH_DATA); these"
              " columns are left out.", file=sys.stderr)  # fmt: skip
    return [name for name in wanted if name not in absent]


def is_absent(name: str, folder: Path | None) -> bool:
    """Whether a column is of real recordings that are not there."""
    column = COLUMNS[name]
    return column.real and (folder is None or not (folder / column.folder).is_dir())


def tasks_of(
    kind: str, column: str, part: str, detectors: Sequence[str], every: float | None = None
) -> Iterator[Task]:
    """The cells of one column."""
    task = partial(Task, column, part, every=every)
    if kind == "league":
        yield from (task(Variant(name)) for name in detectors)
        return
    for name in detectors:
        if kind == "ablate":
            yield task(Variant(name))
            yield from (task(Variant(name, gone)) for gone in ABLATED[name])
        elif kind == "intervals":
            yield Task(column, part, Variant(name))
        else:
            yield from (task(Variant(name), factor=k) for k in LIMITS)


def end_with(parent: int) -> None:
    """Let this process end soon after `parent` has, however that ended; it handles interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run(
    tasks: Sequence[Task], cells: Path, folder: Path | None, jobs: int, code: str
) -> Iterator[tuple[Task, dict[str, Any]]]:
    """All cells, in any order; progress goes to stderr.

    Tasks of one column follow each other, so that a process keeps its recordings.
    """
    pool = ProcessPoolExecutor(jobs, initializer=end_with, initargs=(os.getpid(),))
    began = time.perf_counter()
    try:
        waiting: dict[Future[dict[str, Any]], Task] = {
            pool.submit(computed, task, cells, folder, code): task for task in tasks
        }
        for number, future in enumerate(as_completed(waiting), 1):
            task = waiting[future]
            cell = future.result()
            spent = (time.perf_counter() - began) / 60
            print(f"[{number}/{len(tasks)}, {spent:.1f} min] {task.name}:"
                  f" {cell['wall_s']:.0f} s", file=sys.stderr, flush=True)  # fmt: skip
            yield task, cell
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def body(kind: str, cells: dict[Task, dict[str, Any]], parts: Sequence[str]) -> str:
    """The tables of a page."""
    texts = []
    for part in parts:
        mine = {
            task: cell
            for task, cell in cells.items()
            if task.part == part and "skipped" not in cell
        }
        ordered = sorted(mine, key=_order)
        if not ordered and kind != "intervals":
            continue
        if kind == "league":
            found = {(task.variant.name, task.column): mine[task] for task in ordered}
            texts += [league_tables(found, part), columns_table(found, part)]
        elif kind == "ablate":
            for detector in MOVED:
                found = {
                    (task.variant.name, task.column): mine[task]
                    for task in ordered
                    if task.variant.detector == detector
                }
                if found:
                    texts.append(ablation_tables(found, detector, part))
        elif kind == "intervals":
            texts.append(
                interval_tables(
                    {(t.variant.name, t.column, t.interval): mine[t] for t in ordered}, part
                )
            )
        else:
            texts.append(
                limit_tables({(t.variant.name, t.column, t.factor): mine[t] for t in ordered}, part)
            )
    return "\n\n".join(texts)


def _order(task: Task) -> tuple[int, int, int, float, float]:
    columns, rows = list(COLUMNS), list(DETECTORS)
    gone = (*ABLATED.get(task.variant.detector, ()), "")
    return (
        columns.index(task.column),
        rows.index(task.variant.detector),
        gone.index(task.variant.without) if task.variant.without else -1,
        task.interval,
        task.factor,
    )


def head_of(
    kind: str,
    cells: dict[Task, dict[str, Any]],
    parts: Sequence[str],
    given: argparse.Namespace,
    code: str,
) -> str:
    """Title, how the page was made, seeds."""
    page = PAGES[kind]
    option = "" if kind == "league" else f" --{kind}"
    option += " --quick" if given.quick else ""
    option += f" --{parts[0]}" if len(parts) < len(PARTS) and not given.quick else ""
    for name, value in (("only", given.only), ("detectors", given.named), ("every", given.every)):
        words = ",".join(value) if isinstance(value, tuple) else value and format_duration(value)
        option += f" --{name} '{words}'" if words else ""
    columns = [name for name in COLUMNS if any(task.column == name for task in cells)]
    known = {
        name: [f"{part} {SEEDS[name][part]}" for part in parts if part in SEEDS[name]]
        for name in columns
        if name in SEEDS
    }
    seeds = [f"{name} ({', '.join(words)})" for name, words in known.items()]
    about = []
    if seeds:
        about.append(
            "Figures of these columns are those of a **simulation**; seeds of what is learnt from"
            f" and of what is watched: {'; '.join(seeds)}."
        )
    if len(seeds) < len(columns):
        about.append(
            f"{'The other' if seeds else 'These'} columns are files as published: recordings of"
            " real plants and machines, but Tennessee Eastman and BATADAL, which are simulations of"
            " others."
        )
    skipped = dict.fromkeys(task.column for task, cell in cells.items() if "skipped" in cell)
    if kind != "intervals" and skipped:
        about.append(f"Left out, as such a tick is shorter than a row: {', '.join(skipped)}.")
    words = f"\n{page.about.strip()}\n" if page.about else ""
    return (
        f"# {page.title}\n\nMade by `python -m benchmarks.league{option}`; code `{code}`;"
        f" {machine('scipy', 'scikit-learn')}\n\n{' '.join(about)}\n{words}"
    )


if __name__ == "__main__":
    main()
