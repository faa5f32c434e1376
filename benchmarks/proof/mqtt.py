"""A real mosquitto, a plant that publishes, and a watch with --state between them.

``steady``   2,000 rows/s of 50 signals for five minutes: none lost; from the publication of a row
             to the arrival of the alarm event that its tick led to, 99 % within 50 ms.
``kills``    the watch is killed -9 fifty times at random moments while the plant publishes.
``restart``  the broker is stopped and started again, cleanly, several times.
``cut``      the network between broker and watch is cut several times.
``broker``   the broker itself is killed -9: what it loses is noticed and counted.

In all but the last, every row arrives once and the history of alarms is that of an undisturbed
watch of the same rows from a file.

    python -m benchmarks.proof.mqtt [--only steady] [--seconds 300] [--kills 50] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as mqtt
from benchmarks.proof import verdict
from benchmarks.proof.plant import START, Plant, build
from tests.services.mosquitto import Mosquitto, mosquitto
from tests.services.proxy import Proxy, proxy

from causewatch.streaming.store.open import open_store

TOPIC, ALARMS = "plant/rows", "plant/alarms"
SIGNALS = 50
BROKER = ("max_inflight_messages 0", "set_tcp_nodelay true")
"""As docs/connect/mqtt.md advises for many rows a second."""
MOST_DELAY = 50.0
"""Milliseconds from row to alarm event, of which 99 % of the events may take no more."""


class Watcher:
    """The watch as a process that can be killed and started again with the same command."""

    def __init__(
        self,
        plant: Plant,
        port: int,
        sink_port: int,
        folder: Path,
        metrics: int,
        sequence: bool = True,
    ) -> None:
        self._log = (folder / "watch.log").open("ab")
        self._metrics = metrics
        source = f"mqtt://127.0.0.1:{port}/{TOPIC}?session=proof"
        source += "&sequence=seq" if sequence else ""
        self._command = [
            *(sys.executable, "-m", "causewatch", "watch", str(plant.model), source),
            *("--state", str(folder / "state"), "--metrics", f"127.0.0.1:{metrics}", "--json"),
            *("--sink", f"mqtt://127.0.0.1:{sink_port}/{ALARMS}"),
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=self._log)

    def kill(self) -> None:
        """Kill it, -9."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """End it as a service manager would."""
        if self.process is not None and self.alive:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def close(self) -> None:
        """End it and its log."""
        self.stop()
        self._log.close()

    def metrics(self) -> dict[str, float]:
        """What it tells Prometheus, by name and labels; empty while it does not answer."""
        with suppress(OSError):
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._metrics}/metrics", timeout=2
            ) as it:
                text = it.read().decode()
            found = re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
            return {name: float(value) for name, value in found}
        return {}


def new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def rows_seen(watcher: Watcher) -> float:
    """Rows that the watch has taken in since it was started."""
    found = watcher.metrics().items()
    return max((v for k, v in found if k.startswith("causewatch_rows_total")), default=0)


def rows_kept(folder: Path) -> int:
    """Rows in the last checkpoint, over all runs."""
    store = open_store(str(folder / "state"), "watch")
    try:
        saved = store.load()
        return 0 if saved is None else saved.counts.get("rows", 0)
    finally:
        store.close()


def history(folder: Path) -> list[dict[str, Any]]:
    store = open_store(str(folder / "state"), "watch")
    try:
        return list(store.events())
    finally:
        store.close()


def publish(
    plant: Plant, folder: Path, port: int, rate: float, *more: str
) -> subprocess.Popen[bytes]:
    np.save(folder / "rows.npy", plant.rows)
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "benchmarks.proof.publisher", str(port), TOPIC),
            *(str(folder / "rows.npy"), str(folder / "sent.npy")),
            *(str(round(plant.interval * 1e9)), str(rate), *more),
        ]
    )


def undisturbed(plant: Plant, folder: Path) -> list[dict[str, Any]]:
    """The history of a watch of the same rows from a file."""
    folder.mkdir()
    test = plant.write(folder / "test.csv")
    subprocess.run(
        [
            *(sys.executable, "-m", "causewatch", "watch", str(plant.model), str(test)),
            *("--state", str(folder / "state"), "--json"),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return history(folder)


def wait_for(found: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found():
            return True
        time.sleep(0.2)
    return False


def steady(seconds: float, rate: float) -> list[str]:
    """Rows at a steady pace; gives what fell short."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # Twenty rows to a tick; a fault of half a second every two.
        plant = build(
            folder,
            SIGNALS,
            round(seconds * rate),
            1 / rate,
            every=round(2 * rate),
            lasting=round(rate / 2),
            per_tick=20,
        )
        broker = stack.enter_context(mosquitto(new(folder / "broker"), BROKER))
        arrived: list[tuple[float, dict[str, Any]]] = []
        listener = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        listener.on_message = lambda client, data, message: arrived.append(
            (time.time(), json.loads(message.payload))
        )
        listener.connect("127.0.0.1", broker.port)
        listener.subscribe(ALARMS, qos=1)
        listener.loop_start()
        watcher = Watcher(plant, broker.port, broker.port, folder, free_port())
        stack.callback(watcher.close)
        watcher.start()
        assert wait_for(lambda: watcher.metrics().get("causewatch_source_up", 0) == 1, 60)
        publisher = publish(plant, folder, broker.port, rate, "--raw")
        publisher.wait()
        total = len(plant.rows)
        wait_for(lambda: rows_seen(watcher) >= total, 60)
        seen, told = rows_seen(watcher), watcher.metrics()
        time.sleep(1.0)
        alive = watcher.alive
        watcher.stop()
        listener.loop_stop()
        listener.disconnect()
        sent = np.load(folder / "sent.npy")
        first = int(START.astype(np.int64))
        delays = []
        for when, event in arrived:
            moment = int(np.datetime64(event["time"].rstrip("Z"), "ns").astype(np.int64))
            row = round((moment - first) / (plant.interval * 1e9))
            if 0 <= row < total:
                delays.append((when - sent[row]) * 1e3)
        lost = {k: v for k, v in told.items() if "problems_total" in k and v}
        share = np.percentile(delays or [np.nan], [50, 99, 100])
        print(
            f"steady: {total:,} rows of {SIGNALS} signals, {rate:,.0f} rows/s for {seconds:.0f} s;"
            f" {seen:,.0f} watched, {total - seen:,.0f} lost; problems {lost or 'none'};"
            f" {len(delays)} alarm events, from publication of the row to arrival of the event"
            f" p50 {share[0]:.1f} ms, p99 {share[1]:.1f} ms, longest {share[2]:.1f} ms"
        )
    short = verdict.above("steady: rows lost", total - seen, 0)
    short += verdict.above("steady: rows that came twice", seen - total, 0)
    short += verdict.above("steady: row to alarm event, p99", float(share[1]), MOST_DELAY, " ms")
    return short if alive else [*short, "steady: the watch is not alive"]


def disturbed(
    name: str, rows: int, rate: float, disturb: Callable[..., str], *, exact: bool = True
) -> list[str]:
    """Publish rows while something goes wrong, and compare with an undisturbed watch.

    Gives what fell short. Where not all is `exact`, rows may be lost if they are counted as lost.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plant = build(folder, SIGNALS, rows, 1.0, every=500, lasting=60)
        broker = stack.enter_context(mosquitto(new(folder / "broker"), BROKER))
        between = stack.enter_context(proxy(broker.port))
        watcher = Watcher(plant, between.port, broker.port, folder, free_port())
        stack.callback(watcher.close)
        watcher.start()
        assert wait_for(lambda: watcher.metrics().get("causewatch_source_up", 0) == 1, 60)
        publisher = publish(plant, folder, broker.port, rate)
        stack.callback(lambda: publisher.poll() is None and publisher.kill())
        # Rows that are lost before the first one comes could be missed by nobody.
        assert wait_for(lambda: rows_seen(watcher) > 0, 60)
        said = disturb(watcher=watcher, broker=broker, proxy=between, publisher=publisher)
        publisher.wait()
        wait_for(lambda: rows_kept(folder) >= rows, 30 if not exact else 90)
        told, alive = watcher.metrics(), watcher.alive
        watcher.stop()
        kept = rows_kept(folder)
        found = history(folder)
        wanted = undisturbed(plant, folder / "calm")
        problems = {
            re.sub(r".*kind=\"(\w+)\".*", r"\1", k): int(v)
            for k, v in told.items()
            if "problems_total" in k and v
        }
        same = found == wanted
        print(
            f"{name}: {said}; {rows:,} rows published, {kept:,} watched; {len(found)} alarm events,"
            f" {len(wanted)} undisturbed, {'identical' if same else 'not the same'};"
            f" problems of the last run {problems or 'none'}"
        )
    short = [] if alive else [f"{name}: the watch is not alive"]
    if not exact:
        counted = kept + problems.get("lost_rows", 0)
        return short + verdict.below(f"{name}: rows watched, or counted as lost", counted, rows)
    if not (same and kept == rows):
        ids = [(one["id"], one["event"]) for one in found]
        doubled = len(ids) - len(set(map(str, ids)))
        short.append(f"{name}: not as undisturbed ({doubled} possible doubles)")
    return short


def kill_watch(count: int, chance: random.Random) -> Callable[..., str]:
    def disturb(watcher: Watcher, publisher: Any, **_: Any) -> str:
        for _ in range(count):
            # Starting takes about a second and a half of it.
            time.sleep(chance.uniform(0.2, 4.5))
            watcher.kill()
            watcher.start()
        busy = "still" if publisher.poll() is None else "no longer"
        return f"watch killed -9 {count} times, the plant was {busy} publishing at the last one"

    return disturb


def restart_broker(count: int, chance: random.Random) -> Callable[..., str]:
    def disturb(broker: Mosquitto, **_: Any) -> str:
        for _ in range(count):
            time.sleep(chance.uniform(1.0, 4.0))
            broker.stop()
            time.sleep(chance.uniform(0.2, 1.5))
            broker.start()
        return f"broker restarted {count} times"

    return disturb


def cut_network(count: int, chance: random.Random) -> Callable[..., str]:
    def disturb(proxy: Proxy, **_: Any) -> str:
        for _ in range(count):
            time.sleep(chance.uniform(1.0, 4.0))
            proxy.cut()
            time.sleep(chance.uniform(0.2, 2.0))
            proxy.mend()
        return f"network cut {count} times"

    return disturb


def kill_broker(count: int, chance: random.Random) -> Callable[..., str]:
    def disturb(broker: Mosquitto, **_: Any) -> str:
        for _ in range(count):
            time.sleep(chance.uniform(2.0, 4.0))
            broker.kill()
            time.sleep(0.5)
            broker.start()
        return f"broker killed -9 {count} times"

    return disturb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="steady,kills,restart,cut,broker")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wanted, chance = given.only.split(","), random.Random(given.seed)
    short: list[str] = []
    if "steady" in wanted:
        short += steady(given.seconds, given.rate)
    if "kills" in wanted:
        rows = given.kills * 700
        short += disturbed("kills", rows, 250.0, kill_watch(given.kills, chance))
    if "restart" in wanted:
        short += disturbed("restart", 8_000, 250.0, restart_broker(5, chance))
    if "cut" in wanted:
        short += disturbed("cut", 8_000, 250.0, cut_network(5, chance))
    if "broker" in wanted:
        short += disturbed("broker", 5_000, 250.0, kill_broker(2, chance), exact=False)
    verdict.end(short)


if __name__ == "__main__":
    main()
