"""100,000 malformed and hostile messages on the topic of a running watch, between good rows.

Real mosquitto, the watch as a process with --state and --metrics. Afterwards it must still be
running, have counted every message by kind, and have raised alarms. It need not be the same alarms
as without the bad messages, which is only told: rows with a wrong time that follow on each other
cut the stream into stretches, and those with a right time and wrong values are rows.

    python -m benchmarks.proof.hostile [--messages 100000] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.client as mqtt
from benchmarks.proof import verdict
from benchmarks.proof.mqtt import (
    BROKER,
    TOPIC,
    Watcher,
    free_port,
    history,
    new,
    rows_kept,
    undisturbed,
    wait_for,
)
from benchmarks.proof.plant import START, Plant, build
from tests.services.mosquitto import mosquitto

from causewatch.data.order import LATE_ROWS

ROWS = 4_000
HUGE = 10 << 20
MOST_HUGE = 200
"""Messages of 10 MB: 2 GB through the broker."""

NO_ROWS = ("fuzzed", "empty", "noise", "scalar", "deep", "deep list", "digits")
"""Messages that are no row."""
UNTIMED = ("no time", "bad time", "surrogate")
"""Rows without a time."""
BARE = ("nan", "infinite", "unknown", "surrogate")
"""Rows without any value that the model knows."""
TIMED = ("types", "nan", "infinite", "unknown", "utf-16", "1970", "2100")
"""Rows with a time. That of the good row before them, or a wrong one."""
OUT_OF_ORDER = ("late_rows", "odd_times", "clock_jumps", "duplicate_times", "gaps")
"""As what a row is counted that does not follow on the one before: as one of them."""


def fuzzed(good: bytes, chance: random.Random) -> bytes:
    """A good row with some bytes changed, cut off or doubled."""
    data = bytearray(good)
    for _ in range(chance.randrange(1, 8)):
        where = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                data[where] = chance.randrange(256)
            case 1:
                del data[where : where + chance.randrange(1, 40)]
            case _:
                data[where:where] = data[: chance.randrange(40)]
        if not data:
            return b""
    while _is_json(bytes(data)):  # by chance: break its end
        del data[-1:]
    return bytes(data)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def kinds(
    good: bytes, row: dict[str, float], chance: random.Random
) -> dict[str, Callable[[], bytes]]:
    """Makers of messages by what is wrong with them."""
    names = [name for name in row if name not in ("time", "seq")]

    def of(**more: object) -> bytes:
        return json.dumps({"time": row["time"]} | more).encode()

    return {
        "fuzzed": lambda: fuzzed(good, chance),
        "empty": lambda: b"",
        "noise": lambda: chance.randbytes(chance.randrange(1, 300)),
        "scalar": lambda: chance.choice((b"1", b'"row"', b"null", b"true", b"[1,2,3]", b"1e999")),
        "deep": lambda: b'{"a":' * 5000,
        "deep list": lambda: b"[" * 100_000,
        "digits": lambda: b'{"time":' + b"9" * 6000 + b"}",
        "types": lambda: of(
            **{name: chance.choice(["on", [], {}, None, True]) for name in names[1:]},
            **{names[0]: True},
        ),
        "nan": lambda: json.dumps({"time": row["time"], names[0]: float("nan")}).encode(),
        "infinite": lambda: of(**dict.fromkeys(names, 1e308)).replace(b"1e+308", b"1e999"),
        "unknown": lambda: of(**{f"X{chance.randrange(10**9)}": 1.0 for _ in range(20)}),
        "1970": lambda: json.dumps(row | {"time": "1970-01-01T00:00:00Z"}).encode(),
        "2100": lambda: json.dumps(row | {"time": "2100-01-01T00:00:00Z"}).encode(),
        "no time": lambda: json.dumps({name: 1.0 for name in names}).encode(),
        "bad time": lambda: json.dumps(
            row | {"time": chance.choice(["soon", [], {}, ""])}
        ).encode(),
        "utf-16": lambda: good.decode().encode("utf-16"),
        "surrogate": lambda: b'{"time": "\\ud800", "a": "\\udfff"}',
    }


def anomalies(events: list[dict[str, Any]]) -> list[str]:
    """Ids of the alarms that were raised about anomalies."""
    return [one["id"] for one in events if (one["event"], one["kind"]) == ("raised", "anomaly")]


def told(watcher: Watcher) -> Counter[str]:
    """What the watch has counted: problems by kind, and rows."""
    found = Counter[str]()
    for name, value in watcher.metrics().items():
        if name.startswith("causewatch_problems_total"):
            found[name.split('kind="')[1].split('"')[0]] += int(value)
        elif name.startswith("causewatch_rows_total"):
            found["rows"] += int(value)
    return +found


def settled(watcher: Watcher) -> Counter[str]:
    """The same, once nothing more comes in."""
    before, found = Counter[str](), told(watcher)
    while found != before:
        time.sleep(2.0)
        before, found = found, told(watcher)
    return found


def miscounted(sent: Counter[str], counted: Counter[str]) -> list[str]:
    """Where what was counted is not what was sent.

    A message that is no row is counted once. Rows count as such, whatever is in them; those without
    a time, or without any value, are counted as that besides. A row with a time that does not
    follow on the one before is counted once in `OUT_OF_ORDER`, and good rows may be among them:
    which of two rows has the wrong time is for the majority to say. So good rows are the most that
    can be counted there beyond the bad ones, as well as rows whose time was made up (`lost_time`);
    the few that may still wait for those to come are the most that can be missing.
    """

    def of(kinds: Collection[str], count: Counter[str]) -> int:
        return sum(count[kind] for kind in kinds)

    short = []
    for what, due, kinds in (
        ("messages that are no row", of(NO_ROWS, sent), ("not_json", "not_a_row", "too_deep")),
        ("messages of 10 MB", sent["10 MB"], ("too_large",)),
        ("rows", ROWS + of({*UNTIMED, *BARE, *TIMED}, sent), ("rows",)),
        ("rows without a time", of(UNTIMED, sent), ("bad_times", "lost_time")),
        ("rows without a value", of(BARE, sent), ("empty_rows",)),
    ):
        if of(kinds, counted) != due:
            short.append(f"{what}: {due} sent, {of(kinds, counted)} counted")
    found, due = of(OUT_OF_ORDER, counted), of(TIMED, sent)
    if not due - LATE_ROWS <= found <= due + ROWS + counted["lost_time"]:
        short.append(f"rows out of order: {due} sent, {found} counted")
    return short


def publish_all(
    client: mqtt.Client, plant: Plant, each: int, chance: random.Random
) -> Counter[str]:
    """Publish the rows with so many bad messages after each; gives what was sent besides them."""
    first, sent = int(START.astype(np.int64)), Counter[str]()
    for k, values in enumerate(plant.rows):
        row: dict[str, float] = {"time": first + k * 1_000_000_000}
        row |= dict(zip(plant.signals, np.round(values, 5).tolist(), strict=True))
        good = json.dumps(row).encode()
        makers = kinds(good, row, chance)
        last = client.publish(TOPIC, good, qos=1)
        for _ in range(each):
            kind = chance.choice(tuple(makers))
            last = client.publish(TOPIC, makers[kind](), qos=1)
            sent[kind] += 1
        if k % (ROWS // MOST_HUGE) == 0:
            last = client.publish(TOPIC, b'{"a": "' + b"x" * HUGE + b'"}', qos=1)
            sent["10 MB"] += 1
        if k % 20 == 0:
            last.wait_for_publish(120)
    last.wait_for_publish(120)
    return sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plant = build(folder, 20, ROWS, 1.0, every=500, lasting=60)
        broker = stack.enter_context(mosquitto(new(folder / "broker"), BROKER))
        watcher = Watcher(plant, broker.port, broker.port, folder, free_port(), sequence=False)
        stack.callback(watcher.close)
        watcher.start()
        assert wait_for(lambda: watcher.metrics().get("causewatch_source_up", 0) == 1, 60)
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.max_queued_messages_set(0)
        client.connect("127.0.0.1", broker.port)
        client.loop_start()
        began = time.monotonic()
        sent = publish_all(client, plant, given.messages // ROWS, chance)
        took = time.monotonic() - began
        client.loop_stop()
        client.disconnect()
        wait_for(lambda: rows_kept(folder) >= ROWS, 60)
        counted, alive = settled(watcher), watcher.alive
        watcher.stop()
        total = sum(sent.values())
        print(f"{total:,} bad messages between {ROWS:,} good rows in {took:.0f} s; alive: {alive}")
        print("  sent:   ", dict(sorted(sent.items())))
        print("  counted:", dict(sorted(counted.items())))
        raised, due = anomalies(history(folder)), anomalies(undisturbed(plant, folder / "calm"))
        print(f"  anomaly alarms raised: {len(raised)}, without the bad messages {len(due)},")
        print(f"  of which raised at the very same tick: {len(set(raised) & set(due))}")
    short = miscounted(sent, counted)
    if not alive:
        short.append("the watch is not alive")
    if not raised:
        short.append("no alarm was raised")
    verdict.end(short)


if __name__ == "__main__":
    main()
