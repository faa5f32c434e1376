"""A small watch on MQTT rows in a process of its own, to be killed: run as a script.

It keeps the position of its source and the rows it has in one file, as a watch does in one
transaction. The rows must be numbered from 0 on; of wrong ones it keeps what it got instead.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EMPTY: dict[str, Any] = {"position": {}, "rows": 0, "wrong": []}


def consume(url: str, file: Path) -> None:
    """Go on where the file stands, until killed."""
    from causewatch.streaming.address import parse_address
    from causewatch.streaming.source import Wanted
    from causewatch.streaming.sources.mqtt import MqttSource

    saved = json.loads(file.read_text())
    source = MqttSource(parse_address(url), Wanted(("a", "b", "c"), 1.0))
    source.open(saved["position"])
    chance = random.Random(os.getpid())
    while True:
        found = [row["a"] for row, _ in source.poll(0.01).named]
        for number in found:
            if number == saved["rows"]:
                saved["rows"] += 1
            else:
                saved["wrong"].append([saved["rows"], number])
        if source.pressing and (not found or chance.random() < 0.3):
            saved["position"] = source.position()
            fresh = file.with_suffix(".new")
            fresh.write_text(json.dumps(saved))
            fresh.rename(file)  # the transaction
            source.committed()


class Nursery:
    """Starts watches soon: a process that has loaded everything and splits off copies of itself."""

    def __init__(self, url: str, file: Path) -> None:
        self._file = file
        file.write_text(json.dumps(EMPTY))
        self._process = subprocess.Popen(
            [sys.executable, __file__, url, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def saved(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._file.read_text())
        return found

    def run(self) -> int:
        """Start a watch; gives its process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def kill(self, pid: int) -> None:
        """Kill a watch, and wait until it is gone."""
        os.kill(pid, signal.SIGKILL)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{pid}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def close(self) -> None:
        self._process.communicate("", 120)


@contextmanager
def nursery(url: str, file: Path) -> Iterator[Nursery]:
    """A nursery for the time of a test."""
    made = Nursery(url, file)
    try:
        yield made
    finally:
        made.close()


def main(url: str, file: Path) -> None:
    import paho.mqtt.client  # noqa: F401

    for line in sys.stdin:
        if line.strip() == "run":
            pid = os.fork()
            if not pid:
                consume(url, file)
        else:
            pid, _ = os.waitpid(int(line), 0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
