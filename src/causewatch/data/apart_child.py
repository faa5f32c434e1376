"""The process that reads Parquet files and spreadsheets; see `causewatch.data.apart`.

It is run by its path, and imports nothing of causewatch, and libraries when they are needed: so it
starts at once. Each line on standard input is a request as JSON. The answer is a line of JSON with
the number of bytes that follow, or the reason why there are none. Before it, an empty line each
second says that work is being done.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["main"]

SECONDS = 120
"""Processor time that a request may take."""
SHARE = 0.5
"""Of the memory of the machine, what this process may use."""
IDLE = 60.0
"""Seconds without a request after which it ends."""
BEAT, WORK = 1.0, 0.001
"""Seconds between two signs of life, and the processor time in between that counts as work."""
BOOK_LEAST, BOOK_TIMES = 1 << 30, 32
"""Memory that a spreadsheet may need: bytes, and bytes for each of its own when unfolded."""
FEW_CELLS = 4_000_000
"""So many cells of a spreadsheet may be empty; of more, each takes at least a byte of it."""


def parquet_shape(path: Path) -> bytes:
    """Column names and number of rows."""
    import polars as pl

    scan = pl.scan_parquet(path, glob=False)
    names = scan.collect_schema().names()
    return json.dumps([names, int(scan.select(pl.len()).collect().item())]).encode()


def parquet_rows(path: Path, columns: list[int], start: int, count: int) -> bytes:
    """Some rows of some columns."""
    import polars as pl

    scan = pl.scan_parquet(path, glob=False)
    names = scan.collect_schema().names()
    rows = scan.select([names[column] for column in columns]).slice(start, count).collect()
    return _packed(rows)


def book_cells(path: Path, size: int, skip: int, text: int | None) -> bytes:
    """The first sheet of a spreadsheet, or its first rows as text."""
    import fastexcel

    with _no_more_than(BOOK_LEAST + BOOK_TIMES * size):
        book = fastexcel.read_excel(path)
        if text is not None:
            sheet = book.load_sheet(0, header_row=None, n_rows=text, dtypes="string")
        else:
            sheet = book.load_sheet(0, header_row=None, skip_rows=skip)
        cells = sheet.total_height * sheet.width
        if cells > FEW_CELLS + size:
            msg = f"it claims {cells:,} cells in {size:,} bytes"
            raise ValueError(msg)
        return _packed(sheet.to_polars())


def _packed(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


ANSWERS: Mapping[str, Callable[..., bytes]] = {
    "parquet_shape": parquet_shape,
    "parquet_rows": parquet_rows,
    "book_cells": book_cells,
}


def main() -> None:
    """Answer until nobody asks any more."""
    _bound()
    wire = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    while True:
        idle = threading.Timer(IDLE, os._exit, (0,))
        idle.daemon = True
        idle.start()
        line = sys.stdin.buffer.readline()
        idle.cancel()
        if not line:
            return
        with _signs_of_life(wire):
            answer, data = _answer(json.loads(line))
        wire.write(json.dumps(answer).encode() + b"\n")
        wire.write(data)
        wire.flush()


@contextmanager
def _signs_of_life(wire: IO[bytes]) -> Iterator[None]:
    """Send an empty line each second in which something is done."""
    done = threading.Event()

    def beat() -> None:
        used = time.process_time()
        while not done.wait(BEAT):
            before, used = used, time.process_time()
            if used - before > WORK:
                wire.write(b"\n")
                wire.flush()

    beats = threading.Thread(target=beat, daemon=True)
    beats.start()
    try:
        yield
    finally:
        done.set()
        beats.join()


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    _allow_time()
    try:
        path = Path(request.pop("path"))
        data = ANSWERS[request.pop("do")](path, **request)
    except MemoryError:
        return {"reason": "it needs too much memory"}, b""
    except Exception as error:
        return {"reason": str(error).split("\n")[0]}, b""
    except BaseException:  # a panic of compiled code is no Exception
        return {"reason": "its contents make no sense"}, b""
    return {"bytes": len(data)}, data


def _bound() -> None:
    """Let this process go first when memory runs out, and bound it, where the system can."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        memory = int(SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        # Of data, not of addresses: libraries reserve many of those and never use them.
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


@contextmanager
def _no_more_than(memory: int) -> Iterator[None]:
    """Bound the memory further for a while."""
    try:
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        bounded = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_DATA, (bounded, most))
    except (ImportError, AttributeError, OSError, ValueError):  # the system cannot do so
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _allow_time() -> None:
    """Have the system end this process if a request takes too long, even if nobody waits for it."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
