"""Fifty viewers of the dashboard: how late events are, and what viewers cost.

51 simulated signals, one tick for each row, real `causewatch serve` processes on loopback; the
viewers are in a process of their own.

delay   Rows come at 10 Hz through a pipe. For every viewer and tick: from the writing of the row to
        the arrival of the event that holds its tick. (p99 of at most 100 ms is asked for.)
pace    A recording as fast as possible, with 50 viewers and with none in turn: what the watch takes
        in, as a ratio. (At least 0.9 is asked for.)
memory  50 viewers at 10 Hz that never read, and then go; resident memory all along. (At most 1 MiB
        more for each of them, and that all of them were given up by then, is asked for. The watch
        itself is young and grows as well; benchmarks.proof.memory is about that.)

    python -m benchmarks.proof.viewers [--only delay,pace,memory] [--viewers 50]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.proof import verdict
from benchmarks.proof.memory import resident
from benchmarks.proof.plant import Plant, build

SIGNALS, RATE = 51, 10
MOST_DELAY = 100.0
"""Milliseconds from row to event, of which 99 % of the events may take no more."""
LEAST_PACE = 0.9
"""Of the pace without viewers."""
MOST_MEMORY = 1.0
"""MiB for each viewer that never reads."""
WINDOW, SETTLE = 2.0, 1.0
"""Seconds in which a pace is measured, and before that: fifty who come or go at once cost more."""
TICKS = re.compile(rb'"ticks":\[\[([0-9.]+),')


def a_plant(folder: Path, rows: int, every: int) -> Plant:
    """Rows with something wrong for five seconds now and then; each row is a tick."""
    return build(folder, SIGNALS, rows, 1 / RATE, every, lasting=50, tick=1 / RATE)


@contextmanager
def served(plant: Plant, source: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A dashboard, and its port."""
    command = [*(sys.executable, "-m", "causewatch", "serve", str(plant.model), source)]
    process = subprocess.Popen(
        [*command, "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        found = re.search(rb"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert found is not None, "the page did not come up"
        yield process, int(found[1])
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def look_on(port: int, count: int, told: Connection) -> None:
    """Be so many viewers until told to stop; then tell when which tick arrived."""

    async def one(arrived: list[tuple[float, float]], ready: asyncio.Semaphore) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await writer.drain()
        await reader.readuntil(b"event: hello")
        ready.release()
        while True:
            line = await reader.readline()
            now = time.time()
            if not line:
                return
            for found in TICKS.finditer(line):
                arrived.append((float(found[1]), now))

    async def every() -> list[tuple[float, float]]:
        arrived: list[tuple[float, float]] = []
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(one(arrived, ready)) for _ in range(count)]
        for _ in range(count):
            await ready.acquire()
        told.send("ready")
        while not told.poll():
            await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return arrived

    found = asyncio.run(every())
    told.recv()
    told.send(found)


def take_in(port: int, count: int, told: Connection) -> None:
    """Be so many viewers that take everything and look at nothing, between "on" and "off".

    Viewers sit at machines of their own. Here they share one with the watch, and what they do with
    what they get must not be counted as a cost of the watch.
    """
    connections: list[socket.socket] = []
    room = bytearray(1 << 18)
    while True:
        if told.poll(0.05):  # as few calls as will do
            order = told.recv()
            for one in connections:
                one.close()
            connections = []
            if order == "on":
                for _ in range(count):
                    one = socket.create_connection(("127.0.0.1", port))
                    one.sendall(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    one.recv(12)
                    connections.append(one)
            told.send(order)
            if order == "end":
                return
        for one in connections:
            with suppress(BlockingIOError):
                one.recv_into(room, flags=socket.MSG_DONTWAIT)


@contextmanager
def viewers(port: int, count: int, into: list[tuple[float, float]]) -> Iterator[None]:
    """So many viewers while this lasts; what arrived is added to `into`."""
    mine, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=look_on, args=(port, count, theirs)
    )
    process.start()
    assert mine.recv() == "ready"
    try:
        yield
    finally:
        mine.send("stop")
        into += mine.recv()
        process.join(30)


def lines_of(plant: Plant) -> tuple[bytes, list[bytes], list[float]]:
    """Header, rows as CSV, and their times in seconds."""
    times = plant.times()
    rows = [
        f"{when}Z,{','.join(f'{value:.5f}' for value in row)}\n".encode()
        for when, row in zip(times, plant.rows, strict=True)
    ]
    head = (",".join(("time", *plant.signals)) + "\n").encode()
    return head, rows, (times.astype(np.int64) / 1e9).tolist()


def delay(folder: Path, count: int, seconds: float) -> list[str]:
    """How late events are; gives what fell short."""
    plant = build(
        folder, SIGNALS, round(seconds * RATE), 1 / RATE, every=300, lasting=50, tick=1 / RATE
    )
    head, rows, times = lines_of(plant)
    written: dict[float, float] = {}
    arrived: list[tuple[float, float]] = []
    with served(plant, "-") as (process, port):
        assert process.stdin is not None
        process.stdin.write(head)
        process.stdin.flush()
        with viewers(port, count, arrived):
            began = time.monotonic()
            for k, (line, when) in enumerate(zip(rows, times, strict=True)):
                time.sleep(max(0.0, began + k / RATE - time.monotonic()))
                written[round(when, 3)] = time.time()
                process.stdin.write(line)
                process.stdin.flush()
            time.sleep(1.0)
        process.stdin.close()
    late = sorted(1e3 * (now - written[round(t, 3)]) for t, now in arrived)
    if not late:
        return ["delay: no event arrived"]
    p50, p99 = (late[min(len(late) - 1, round(share * len(late)))] for share in (0.5, 0.99))
    print(
        f"delay: {count} viewers, {len(rows)} rows of {SIGNALS} signals at {RATE} Hz:"
        f" {len(late):,} events arrived; row to event p50 {p50:.1f} ms, p99 {p99:.1f} ms,"
        f" longest {late[-1]:.1f} ms (p99 of {MOST_DELAY:g} ms asked for)"
    )
    return verdict.above("delay of events, p99", p99, MOST_DELAY, " ms")


def pace(folder: Path, count: int, rows: int, rounds: int) -> list[str]:
    """What viewers cost the watch: within one run, with them and without them in turn."""
    plant = a_plant(folder, rows, 3000)
    test = plant.write(folder / "test.csv")
    per_row = test.stat().st_size / rows
    found: list[float] = []
    fed = Fed(test)
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = spawn.Pipe()
    with served(plant, "-") as (process, port):
        others = spawn.Process(target=take_in, args=(port, count, theirs))
        others.start()
        fed.feed(process)
        time.sleep(5.0)
        for number in range(2 * rounds + 1):
            order = "on" if number % 2 else "off"
            mine.send(order)
            assert mine.recv() == order
            time.sleep(SETTLE)
            found.append(fed.rate() / per_row)
            if fed.over:
                break
        mine.send("end")
        fed.stop()
        others.join(30)
    # Each against the mean of its neighbours: what else the machine does mostly changes slowly.
    ratios = [
        2 * with_them / (before + after)
        for before, with_them, after in zip(found[::2], found[1::2], found[2::2], strict=False)
    ]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(
        f"pace: {SIGNALS} signals as fast as possible, {statistics.median(found[::2]):,.0f} rows/s;"
        f" {len(ratios)} times {WINDOW:g} s with {count} viewers, each against the time before and"
        f" after without: {middle:.3f} of the pace ({LEAST_PACE:g} asked for), quartiles {low:.3f}"
        f" to {high:.3f}"
    )
    return verdict.below("pace with viewers", middle, LEAST_PACE)


class Fed:
    """Writes a file into a process as fast as it takes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sent = 0
        self._stop = False
        self.over = False

    def feed(self, process: subprocess.Popen[bytes]) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._work, args=(process,), daemon=True)
        self._thread.start()

    def rate(self) -> float:
        """Bytes per second in a window of time."""
        began, sent = time.monotonic(), self._sent
        time.sleep(WINDOW)
        return (self._sent - sent) / (time.monotonic() - began)

    def stop(self) -> None:
        """No more."""
        self._stop = True
        self._thread.join(30)

    def _work(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with self._path.open("rb") as file:
            while not self._stop and (part := file.read(1 << 14)):
                process.stdin.write(part)  # waits while the watch has enough
                process.stdin.flush()
                self._sent += len(part)
        self.over = not self._stop
        process.stdin.close()


def memory(folder: Path, count: int, seconds: float) -> list[str]:
    """What viewers that never read cost; gives what fell short."""
    plant = build(
        folder, SIGNALS, round(seconds * RATE), 1 / RATE, every=300, lasting=50, tick=1 / RATE
    )
    head, rows, _ = lines_of(plant)
    found: list[int] = []
    most = 0
    with served(plant, "-") as (process, port):
        assert process.stdin is not None
        process.stdin.write(head)
        deaf: list[socket.socket] = []
        began = time.monotonic()
        for k, line in enumerate(rows):
            time.sleep(max(0.0, began + k / RATE - time.monotonic()))
            process.stdin.write(line)
            process.stdin.flush()
            if k == len(rows) // 10:
                before = resident(process.pid)
                for _ in range(count):
                    one = socket.socket()
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    one.connect(("127.0.0.1", port))
                    one.sendall(b"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    deaf.append(one)
            if k > len(rows) // 10 and k % RATE == 0:
                found.append(resident(process.pid))
                most = max(most, _viewers(port))
        left = _viewers(port)
        for one in deaf:
            one.close()
        process.stdin.close()
    print(
        f"memory: {count} viewers that never read, {seconds:.0f} s at {RATE} Hz:"
        f" {before / 1024:.1f} MiB before them, at most {max(found) / 1024:.1f} MiB with them,"
        f" {found[-1] / 1024:.1f} MiB at the end; {most} looked on at most, {left} at the end"
    )
    each = (max(found) - before) / 1024 / count
    short = verdict.above("memory for each viewer", each, MOST_MEMORY, " MiB")
    short += verdict.below("viewers that looked on", most, count)
    return short + verdict.above("viewers that never read and were not given up", left, 0)


def _viewers(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/now", timeout=20) as answer:
        found: dict[str, Any] = json.load(answer)
    return int(found["status"]["viewers"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="delay,pace,memory")
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0, help="of delay; memory takes twice")
    parser.add_argument("--rows", type=int, default=800_000, help="of pace")
    parser.add_argument("--rounds", type=int, default=14, help="of pace")
    given = parser.parse_args()
    short: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what in given.only.split(","):
            if what == "delay":
                short += delay(folder, given.viewers, given.seconds)
            elif what == "pace":
                short += pace(folder, given.viewers, given.rows, given.rounds)
            else:
                short += memory(folder, given.viewers, 2 * given.seconds)
    verdict.end(short)


if __name__ == "__main__":
    main()
