"""What a case of `benchmarks.proof.blind` is played on: a plant, a watch, and who looks at both."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.proof.mqtt import free_port
from benchmarks.proof.plant import Plant
from numpy.typing import NDArray

from causewatch.model import load
from causewatch.monitor import Monitor
from causewatch.streaming.store.open import open_store

__all__ = ["BOUND", "Feed", "Looks", "Service"]

LOOK = 0.25
"""Seconds between two looks at a service."""
TURNS = ("raised", "cleared")
"""Events that are the beginning or the end of an alarm."""
BOUND = 30.0
"""Seconds for which nothing may be judged without a word; three working intervals here are less."""
NAME = "watch"
ABOUT_ROWS = ("not_judged", "silent", "missing", "stale", "wrong_rate")
"""Problems of alarms that tell that rows, or their values, do not come as they should."""
TAKEN = "causewatch_rows_total"
NO_ROWS = ("bad_lines", "not_json")
PROBLEM = 'causewatch_problems_totalkind="{}"'

Row = NDArray[np.float64]
Form = Callable[[int, Row], list[bytes]]


class Feed:
    """Sends rows at the pace of a clock.

    Parameters
    ----------
    plant
        Whose rows.
    send
        Where they go.
    form
        The messages that make a row.
    start
        Time of the first row, nanoseconds.

    Attributes
    ----------
    now, step
        Time of the next row, and from each to the one after; cases change both.
    form
        Cases change it.
    sent
        Messages so far.
    rows
        Rows so far, with their times, as they should be judged.
    """

    def __init__(self, plant: Plant, send: Callable[[bytes], None], form: Form, start: int) -> None:
        self._plant = plant
        self._send = send
        self.form = form
        self.now, self.step = start, round(plant.interval * 1e9)
        self.pace = plant.interval
        self.sent = 0
        self.rows: list[tuple[int, Row]] = []

    def go(self, seconds: float) -> None:
        """Send rows for so long."""
        begun = time.monotonic()
        for number in range(round(seconds / self.pace)):
            time.sleep(max(0.0, begun + number * self.pace - time.monotonic()))
            row = self._plant.rows[len(self.rows)]
            self.rows.append((self.now, row))
            for message in self.form(self.now, row):
                self._send(message)
                self.sent += 1
            self.now += self.step

    def tell(self, message: bytes) -> None:
        """Send what is no row."""
        self._send(message)

    def raised(self) -> set[str]:
        """Ids of the anomaly alarms that an undisturbed watch of these rows raises."""
        monitor = Monitor(load(self._plant.model))
        events = []
        for when, row in self.rows:
            for tick in monitor.update_ns(row, when).all:
                events += tick.events.to_dicts(monitor.clock)
        return anomalies(events)


def anomalies(events: Sequence[dict[str, Any]]) -> set[str]:
    """Ids of the alarms that were raised about the plant."""
    return {e["id"] for e in events if (e["event"], e["kind"]) == ("raised", "anomaly")}


@dataclass
class Looks:
    """What was seen of a service from outside, by the time in seconds."""

    told: dict[str, float] = field(default_factory=dict)
    """When each way of telling told of trouble first, since the trouble began."""
    words: dict[str, str] = field(default_factory=dict)
    green: float = 0.0
    """The longest time without a judged row after which `/healthz` still answered 200."""
    still: float = 0.0
    """The longest time without a judged row."""


class Service:
    """``causewatch watch`` as a process, and somebody who looks at it four times a second.

    Parameters
    ----------
    plant
        What is watched.
    source
        Where rows come from; with further options.
    folder
        For its files.
    state, scores
        Where these go.
    """

    def __init__(
        self, plant: Plant, source: Sequence[str], folder: Path, state: str, scores: Path
    ) -> None:
        self.looks = Looks()
        self._state = state
        self._port = free_port()
        self._events, self._log = folder / "alarms.jsonl", folder / "watch.log"
        command = [
            *(sys.executable, "-m", "causewatch", "watch", str(plant.model), *source),
            *("--state", state, "--alarms", str(self._events), "--scores", str(scores), "--json"),
            *("--metrics", f"127.0.0.1:{self._port}"),
        ]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        self.came = self.judged = self.missed = 0
        self._judged_at = self._begun = time.monotonic()
        self._trouble: float | None = None
        self._feeding = False
        self._said: tuple[int, int] = (0, 0)
        self._over = threading.Event()
        self._looker = threading.Thread(target=self._look_on, daemon=True)
        self._looker.start()

    def wait(self, ready: Callable[[], bool], seconds: float = 120.0) -> bool:
        """Wait for something to be seen of it."""
        end = time.monotonic() + seconds
        while not ready() and time.monotonic() < end:
            time.sleep(LOOK)
        return ready()

    def up(self) -> bool:
        """Whether it answers and its source is open."""
        return self._metrics().get("causewatch_source_up", 0.0) == 1.0

    def feeding(self, on: bool) -> None:
        """From now on rows come, or none: where none come there is nothing to judge."""
        self._feeding, self._judged_at = on, time.monotonic()

    def trouble(self) -> None:
        """It begins now: whatever is told from now on is about it."""
        self._said = (self._size(self._events), self._size(self._log))
        self._trouble = time.monotonic()

    def child(self) -> int | None:
        """The process of its own that reads files for it."""
        with suppress(OSError):
            for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
                for number in children.read_text().split():
                    return int(number)
        return None

    def close(self) -> None:
        """End it as a service manager would."""
        self._over.set()
        self._looker.join()
        if self.process.poll() is None:
            with suppress(OSError):
                os.kill(self.process.pid, signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def history(self) -> list[dict[str, Any]]:
        """The events in its state, once it has ended."""
        store = open_store(self._state, NAME)
        try:
            return list(store.events())
        finally:
            store.close()

    def delivered(self) -> Counter[tuple[str, ...]]:
        """How often its sink got the beginning and the end of each alarm."""
        lines = self._events.read_text().splitlines() if self._events.exists() else []
        return _turns([json.loads(line) for line in lines])

    def kept(self) -> Counter[tuple[str, ...]]:
        """The same from its state."""
        return _turns(self.history())

    def log(self) -> str:
        """What it said in the terminal."""
        return self._log.read_text(errors="replace")

    # Looking

    def _look_on(self) -> None:
        while not self._over.wait(LOOK):
            code, text = self._health()
            metrics = self._metrics() if code else {}
            now = time.monotonic()
            judged = int(metrics.get("causewatch_rows_judged_total", self.judged))
            if judged > self.judged:
                self.judged, self._judged_at = judged, now
            if metrics:
                self.missed = int(metrics.get(PROBLEM.format("lost_rows"), 0.0))
                bad = sum(metrics.get(PROBLEM.format(kind), 0.0) for kind in NO_ROWS)
                self.came = int(metrics.get(TAKEN, 0.0) + bad) + self.missed
            if self._feeding:
                self.looks.still = max(self.looks.still, now - self._judged_at)
            if code == 200 and self._feeding:
                self.looks.green = max(self.looks.green, now - self._judged_at)
            if self._trouble is None:
                continue
            if code == 503:
                self._tell("probe", text)
            elif not code:
                self._tell("no answer", "the probe is not answered")
            for event in self._new(self._events, self._said[0]):
                with suppress(ValueError):
                    said = json.loads(event)
                    if said["event"] == "raised" and said.get("problem") in ABOUT_ROWS:
                        self._tell("sink", said["headline"])
            for line in self._new(self._log, self._said[1]):
                self._tell("terminal", line)

    def _tell(self, how: str, words: str) -> None:
        assert self._trouble is not None
        if how not in self.looks.told and words.strip():
            self.looks.told[how] = time.monotonic() - self._trouble
            self.looks.words[how] = words.strip()

    def _health(self) -> tuple[int, str]:
        try:
            with self._asked("healthz") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def _metrics(self) -> dict[str, float]:
        with suppress(OSError), self._asked("metrics") as answer:
            text = re.sub(r"\{.*?(kind=\"\w+\")?\}", r"\1", answer.read().decode())
            found = re.findall(r"^(\S+) (\S+)$", text, re.MULTILINE)
            return {name: float(value) for name, value in found}
        return {}

    def _asked(self, what: str) -> Any:
        return urllib.request.urlopen(f"http://127.0.0.1:{self._port}/{what}", timeout=1)

    @staticmethod
    def _size(path: Path) -> int:
        return path.stat().st_size if path.exists() else 0

    @staticmethod
    def _new(path: Path, after: int) -> list[str]:
        with suppress(OSError), path.open("rb") as file:
            file.seek(after)
            return file.read().decode(errors="replace").splitlines()
        return []


def _turns(events: Sequence[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    return Counter((e["id"], e["event"], e["time"]) for e in events if e["event"] in TURNS)
