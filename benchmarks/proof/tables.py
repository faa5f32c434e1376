"""Mutations of everything that is read from outside, and a forged spreadsheet.

Parquet files, spreadsheets, CSV, gzip, model files and states, each mutated `--files` times; every
other spreadsheet, gzip and model file is mutated inside, with its checksums put right. Each is read
or refused in one sentence; anything else, or the end of this process, falls short. Then a watch
goes through a folder of such tables, again and again: it lives, names those that it sets aside, and
does not try them again.

    python -m benchmarks.proof.tables [--files 20000] [--first 0] [--watched 400] [--restarts 1000]
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import resource
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.common import GIB, MIB, launch
from benchmarks.proof import verdict

import causewatch as cw
from causewatch.data import read_table
from causewatch.errors import CausewatchError
from causewatch.streaming.store.open import open_store
from causewatch.streaming.store.sqlite_file import FILE

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from mutated import GOOD, forged_book, mutated, mutated_inside

SHARE = 0.5
"""Of the files, how many have to get past the header."""
INSIDE = ("xlsx", "csv.gz", "cwm")


def model() -> bytes:
    """A model of tables like the good one."""
    walks = np.random.default_rng(1).normal(size=(3000, 3))
    frame = pl.DataFrame(
        {
            "time": [datetime(2025, 12, 1) + timedelta(seconds=k) for k in range(len(walks))],
            "a": walks[:, 0],
            "b": np.roll(walks[:, 0], 1) + 0.5 * walks[:, 1],
            "count": walks[:, 2].round(),
            "switch": (walks[:, 1] > 0).astype(float),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "good.cwm"
        cw.learn(frame, every=1.0).save(path)
        return path.read_bytes()


def state(good: bytes) -> bytes:
    """The database of a watch of the good table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "good.cwm").write_bytes(good)
        (folder / "table.csv").write_bytes(GOOD["csv"])
        command = ("watch", folder / "good.cwm", folder / "table.csv", "--state", folder / "state")
        done = launch((sys.executable, "-m", "causewatch", *command))
        assert done.code == 0, done.errors
        return (folder / "state" / FILE).read_bytes()


def watches(path: Path) -> None:
    """Load a model, and watch some rows with it."""
    monitor = cw.Monitor(cw.load(path))
    for k in range(5):
        monitor.update_ns(np.zeros(len(monitor.model.watched)), k * 10**9)


def opens(path: Path) -> None:
    """Open a state, and read all that is in it."""
    folder = path.parent / "state"
    folder.mkdir(mode=0o700)
    shutil.copy(path, folder / FILE)
    (folder / FILE).chmod(0o600)
    try:
        store = open_store(str(folder), "watch")
        try:
            with store.lock():
                store.load()
                list(store.events())
        finally:
            store.close()
    finally:
        shutil.rmtree(folder)


READ: Mapping[str, Callable[[Path], object]] = {"cwm": watches, "db": opens}
"""How a file with this ending is read; others are tables."""


def begins_well(kind: str, good: bytes, data: bytes) -> bool:
    """Whether a mutated file still looks like one of its kind, so that its contents are read."""
    match kind:
        case "parquet":
            return (data[:4], data[-8:]) == (good[:4], good[-8:])
        case "db":
            return data[:100] == good[:100]
        case "csv":
            return data.partition(b"\n")[0] == good.partition(b"\n")[0]
        case "csv.gz":
            try:
                text, usual = gzip.decompress(data), gzip.decompress(good)
            except Exception:
                return False
            return begins_well("csv", usual, text)
        case _:
            try:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    return archive.testzip() is None
            except Exception:
                return False


def changed(kind: str, good: bytes, seed: int) -> bytes:
    """A mutation of a good file."""
    return (mutated_inside if kind in INSIDE and seed % 2 else mutated)(good, seed // 2)


def outcome(path: Path, read: Callable[[Path], object]) -> str:
    """What comes of reading a file."""
    try:
        read(path)
    except CausewatchError as error:
        return "refused" if "\n" not in str(error) else "refused in more than a sentence"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return type(error).__name__
    return "read"


def peak(who: int) -> float:
    """MiB."""
    return resource.getrusage(who).ru_maxrss * 1024 / MIB


def one_by_one(goods: Mapping[str, bytes], seeds: range) -> list[str]:
    """Read mutations of each kind; gives what fell short."""
    short, past = [], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for kind, good in goods.items():
            path, counts = Path(folder) / f"file.{kind}", Counter[str]()
            for seed in seeds:
                data = changed(kind, good, seed)
                path.write_bytes(data)
                past[kind] += begins_well(kind, good, data)
                came = outcome(path, READ.get(kind, read_table))
                counts[came] += 1
                if came not in ("read", "refused"):
                    short.append(f"{kind} of seed {seed}: {came}")
            print(f"{kind}: {dict(counts)}, {past[kind]} past the header", flush=True)
        path = Path(folder) / "forged.xlsx"
        path.write_bytes(forged_book())
        if (came := outcome(path, read_table)) != "refused":
            short.append(f"forged spreadsheet: {came}")
    share = past.total() / (len(goods) * len(seeds))
    return short + verdict.below("share of files past the header", share, SHARE)


def watched(good: bytes, files: int, restarts: int) -> list[str]:
    """Watch a folder of mutated tables, and again, and again; gives what fell short."""
    short, most = [], 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inbox = folder / "inbox"
        inbox.mkdir()
        (folder / "good.cwm").write_bytes(good)
        for seed in range(files):
            kind = tuple(TABLES)[seed % len(TABLES)]
            (inbox / f"{seed:06}.{kind}").write_bytes(changed(kind, TABLES[kind], seed))
        (inbox / "forged.xlsx").write_bytes(forged_book())
        (inbox / "good.csv").write_bytes(GOOD["csv"])
        command = ("watch", folder / "good.cwm", inbox, "--state", folder / "state", "--json")
        aside = 0
        for restart in range(1 + restarts):
            done = launch((sys.executable, "-m", "causewatch", *command), timeout=600)
            most = max(most, done.peak / MIB)
            again = len(re.findall("was set aside", done.errors))
            summary = json.loads((done.output.splitlines() or ["{}"])[-1])
            counted = summary.get("problems", {}).get("bad_files", 0)
            if done.code not in (0, 1) or "Traceback" in done.errors:
                short.append(f"run {restart} ended with {done.code}: {done.errors[-300:]}")
            if counted != again:
                short.append(f"run {restart}: {again} files named, {counted} counted")
            if not restart:
                aside = again
                rows = summary.get("rows", 0)
                print(f"watched: {files + 2} files, {aside} set aside, {rows} rows", flush=True)
            elif again:
                short.append(f"run {restart}: {again} files tried again")
    print(f"{restarts} restarts on the same folder and state; peak {most:.0f} MiB", flush=True)
    return [*short, *verdict.above("peak memory of the watch", most, GIB / MIB, " MiB")]


TABLES = {**GOOD, "csv.gz": gzip.compress(GOOD["csv"], mtime=0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--watched", type=int, default=400, help="files in the folder")
    parser.add_argument("--restarts", type=int, default=1000)
    given = parser.parse_args()
    good = model()
    goods = {**TABLES, "cwm": good, "db": state(good)}
    short = one_by_one(goods, range(given.first, given.first + given.files))
    for who, what in ((resource.RUSAGE_SELF, "this process"), (resource.RUSAGE_CHILDREN, "others")):
        print(f"peak memory of {what}: {peak(who):.0f} MiB", flush=True)
        short += verdict.above(f"peak memory of {what}", peak(who), GIB / MIB, " MiB")
    verdict.end(short + watched(good, given.watched, given.restarts))


if __name__ == "__main__":
    main()
