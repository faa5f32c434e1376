"""Never silently blind: trouble of every kind against the running service, with real servers.

Each case starts ``causewatch watch`` with a state, scores, a sink (a file of alarms) and probes,
feeds it ten rows a second, lets something go wrong, and mostly lets it end. Printed are: rows sent
and judged; seconds until somebody was told, and how (the probe, the sink, the terminal); rows that
came neither to be judged nor to be counted as dropped, and rows counted twice; beginnings and ends
of alarms that the sink did not get, or got twice; and the longest time without a judged row after
which ``/healthz`` still answered 200, while rows were sent. It may be 30 s.

    python -m benchmarks.proof.blind [--case NAME]… [--at-once 4] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import paho.mqtt.client as mqtt
import polars as pl
import pytest
from benchmarks.common import ROOT, machine, table
from benchmarks.proof import verdict
from benchmarks.proof.mqtt import BROKER, TOPIC, new
from benchmarks.proof.plant import Plant, build
from benchmarks.proof.stage import BOUND, Feed, Form, Row, Service, anomalies
from tests.services.mosquitto import Mosquitto, mosquitto
from tests.services.postgres import running_postgres

INTRODUCTION = (
    "# Never silently blind",
    "Trouble of every kind against the running service, with real servers (mosquitto, PostgreSQL):"
    " ten rows a second of a simulated plant with a fault every 15 s, and somebody who looks at the"
    " probe, the sink and the terminal four times a second.",
    "*Told after*: since the trouble began; 30 s are allowed. *Rows lost*: sent, and neither judged"
    " nor counted as dropped. *Alarms lost*: beginnings and ends that the sink did not get, and"
    " where every row can be judged, alarms that are not those of an undisturbed monitor. *Stood"
    " still for*: the longest time without a judged row while rows were sent. *Green"
    " for*: the longest time without a judged row after which `/healthz` still answered 200 while"
    " rows were sent; 30 s are allowed.",
    "Made by `python -m benchmarks.proof.blind --write`.",
)
PAGE = ROOT / "docs" / "results" / "blind.md"
SIGNALS, INTERVAL, ROWS = 8, 0.1, 4000
HOUR = 3600 * 10**9
CALM, LONG, AFTER = 15.0, 40.0, 15.0
"""Seconds before, during and after most troubles."""
FULL, AWAY = 60.0, 60.0
"""Seconds for which the disk is full (for ten minutes) and PostgreSQL gone."""
SLOW = 10.0
"""Seconds between two rows of the slow plant."""
DISK = "8m"
SHARE = 0.9
"""Of the rows that can be judged, as many must be."""


@dataclass
class Outcome:
    """What came of a case."""

    name: str
    sent: int
    judged: int
    told: Mapping[str, float]
    words: Mapping[str, str]
    lost_rows: int
    doubled_rows: int
    lost_alarms: int
    doubled_alarms: int
    still: float
    green: float
    missed: int
    short: tuple[str, ...] = ()

    def cells(self) -> list[object]:
        """A line of the table."""
        first = sorted((after, how) for how, after in self.told.items())
        told = ", ".join(f"{how} {after:.1f} s" for after, how in first) or "–"
        missed = f"; {self.missed} lost by the broker, counted" if self.missed else ""
        still, green = f"{self.still:.1f} s", f"{self.green:.1f} s"
        return [
            *(self.name, f"{self.sent:,}", f"{self.judged:,}", told),
            *(self.lost_rows, self.doubled_rows, self.lost_alarms, self.doubled_alarms),
            *(still, f"**{green}**" if self.green > BOUND else green),
            "; ".join(self.short) or f"as asked for{missed}",
        ]


HEAD = (
    *("case", "rows in", "judged", "told after", "rows lost", "doubled"),
    *("alarms lost", "doubled", "stood still for", "green for", "verdict"),
)


class Stage:
    """A case being played.

    Parameters
    ----------
    name
        Of the case.
    plants
        A plant by the seconds between two of its rows.
    stack
        Ends what was begun.
    """

    def __init__(self, name: str, plants: Mapping[float, Plant], stack: ExitStack) -> None:
        self.name = name
        self.plant = plants[INTERVAL]
        self.slow = plants[SLOW]
        self.stack = stack
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cw-blind-")))
        self.state, self.scores = str(self.folder / "state"), self.folder / "scores.csv"
        self.allowed = BOUND  # seconds for which judging may stand still where rows can be judged
        self.broker: Mosquitto
        self.service: Service
        self.feed: Feed

    def start(self, *source: str) -> None:
        """Start the watch."""
        self.service = Service(self.plant, source, self.folder, self.state, self.scores)
        self.stack.callback(self.service.close)

    def feed_by(self, send: Callable[[bytes], None], form: Form) -> None:
        """Let rows come this way."""
        self.feed = Feed(self.plant, send, form, int(time.time() * 1e9))
        self.service.feeding(True)

    def mqtt(self, *, numbered: bool = False) -> None:
        """Rows as JSON by a broker, `numbered` where it may lose some."""
        self.numbered = numbered
        self.broker = self.stack.enter_context(
            mosquitto(new(self.folder / "broker"), BROKER, saves=True)
        )
        address = f"mqtt://127.0.0.1:{self.broker.port}/{TOPIC}?session=blind"
        address += "&sequence=seq" if numbered else ""
        self.start(address)
        assert self.service.wait(self.service.up), self.service.log()
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="plant")
        client.reconnect_delay_set(0.1, 0.5)
        client.connect("127.0.0.1", self.broker.port)
        client.loop_start()
        self.stack.callback(client.loop_stop)
        self.stack.callback(client.disconnect)
        self.feed_by(lambda message: client.publish(TOPIC, message, qos=1), self.as_json)

    def csv(self) -> None:
        """Rows as lines of a file that is followed."""
        path = self.folder / "log.csv"
        file = self.stack.enter_context(path.open("wb", buffering=0))
        file.write(",".join(("time", *self.plant.signals)).encode() + b"\n")
        self.start(str(path), "--follow")
        assert self.service.wait(self.service.up), self.service.log()
        self.feed_by(file.write, self.as_line)

    def as_json(self, when: int, row: Row) -> list[bytes]:
        """A row as one message."""
        return [self.message(when, row)]

    def message(self, when: int | str, row: Row, prefix: str = "") -> bytes:
        """A row as JSON."""
        names = (prefix + name for name in self.plant.signals)
        number = {"seq": self.rows} if self.numbered else {}
        values = dict(zip(names, row.round(5).tolist(), strict=True))
        return json.dumps({"time": when, **number, **values}).encode()

    def as_line(self, when: int, row: Row) -> list[bytes]:
        """A row as a line of CSV."""
        cells = (f"{np.datetime64(when, 'ns')}Z", *map("{:.5f}".format, row))
        return [",".join(cells).encode() + b"\n"]

    def go(self, seconds: float) -> None:
        """Let rows come."""
        self.feed.go(seconds)

    def outcome(self, judgeable: int, *, must_tell: bool = True, whole: bool = False) -> Outcome:
        """What was seen.

        So many rows are `judgeable`; `whole` if the alarms must be those of an undisturbed watch.
        """
        service, feed = self.service, self.feed
        service.wait(lambda: service.came >= feed.sent, 20)
        service.feeding(False)
        time.sleep(1.0)
        alive = service.process.poll() is None
        service.close()
        sent, kept, got = feed.sent, service.kept(), service.delivered()
        looks = service.looks
        found = Outcome(
            name=self.name,
            sent=sent,
            judged=service.judged,
            told=looks.told,
            words=looks.words,
            lost_rows=max(0, sent - service.came),
            doubled_rows=max(0, service.came - sent),
            lost_alarms=(kept - got).total(),
            doubled_alarms=sum(count - 1 for count in got.values() if count > 1),
            still=looks.still,
            green=looks.green,
            missed=service.missed,
        )
        judgeable -= service.missed  # rows that the broker lost, and the watch counted
        whole = whole and not service.missed
        if whole:
            missing = feed.raised() ^ anomalies(service.history())
            found.lost_alarms += len(missing)
        short = [] if alive else ["the watch ended"]
        after = min(looks.told.values(), default=np.inf)
        if must_tell and not after <= BOUND:
            short.append(f"told after {after:.0f} s" if looks.told else "nobody was told")
        if found.green > BOUND:
            short.append("green while blind")
        if whole and found.still > self.allowed:
            short.append(f"judging stood still for {found.still:.0f} s")
        if found.judged < SHARE * judgeable:
            short.append(f"{judgeable:,} rows could be judged")
        for count, what in (
            (found.lost_rows, "rows lost"),
            (found.doubled_rows, "rows doubled"),
            (found.lost_alarms, "alarms not as undisturbed" if whole else "alarms lost"),
            (found.doubled_alarms, "alarms doubled"),
        ):
            if count:
                short.append(f"{count} {what}")
        return replace(found, short=tuple(short))

    @property
    def rows(self) -> int:
        """Rows of the plant so far."""
        return len(self.feed.rows)


def disturbed(stage: Stage, form: Form | None = None, step: int | None = None) -> int:
    """Rows as they should be, then in this form or with this step; gives how many of the former."""
    stage.go(CALM)
    usual, every, good = stage.feed.form, stage.feed.step, stage.rows
    stage.service.trouble()
    stage.feed.form, stage.feed.step = form or usual, every if step is None else step
    stage.go(LONG)
    stage.feed.form, stage.feed.step = usual, every
    before = stage.rows
    stage.go(AFTER)
    return good + stage.rows - before


def still(stage: Stage) -> Outcome:
    """The plant's clock stands still."""
    stage.mqtt()
    return stage.outcome(disturbed(stage, step=0))


def micro(stage: Stage) -> Outcome:
    """It moves by microseconds."""
    stage.mqtt()
    return stage.outcome(disturbed(stage, step=1000))


def slow(stage: Stage) -> Outcome:
    """It stands still, at a plant with a row in 10 s."""
    stage.plant = stage.slow
    stage.mqtt()
    stage.feed.pace = INTERVAL
    stage.go(6.0)
    good = stage.rows
    stage.feed.pace, stage.feed.step = SLOW, 0
    stage.go(SLOW)  # the row of the last time that is new
    stage.service.feeding(True)
    stage.service.trouble()
    stage.go(5 * SLOW)
    return stage.outcome(good - 1)


def second(stage: Stage) -> Outcome:
    """A second publisher is half a second ahead."""
    stage.mqtt()

    def both(when: int, row: Row) -> list[bytes]:
        return [stage.message(when, row), stage.message(when + HOUR // 7200, row)]

    disturbed(stage, both)
    return stage.outcome(stage.rows)


def column(stage: Stage) -> Outcome:
    """A followed CSV file gains a column."""
    stage.csv()

    def wider(when: int, row: Row) -> list[bytes]:
        return [line[:-1] + b",1.5\n" for line in stage.as_line(when, row)]

    return stage.outcome(disturbed(stage, wider))


def swapped(stage: Stage) -> Outcome:
    """A header in the middle of a followed CSV file swaps two columns."""
    stage.csv()
    first, other, *rest = stage.plant.signals
    stage.go(CALM)
    stage.service.trouble()
    header = ",".join(("time", other, first, *rest)).encode() + b"\n"

    def form(when: int, row: Row) -> list[bytes]:
        return stage.as_line(when, np.concatenate([row[1::-1], row[2:]]))

    stage.feed.tell(header)
    stage.feed.form = form
    stage.go(LONG)
    return stage.outcome(stage.rows, must_tell=False, whole=True)


def bad(stage: Stage) -> Outcome:
    """Four of five messages are no JSON."""
    stage.mqtt()

    def form(when: int, row: Row) -> list[bytes]:
        return [b"{" * (stage.rows % 5 > 0) + stage.message(when, row)]

    return stage.outcome(disturbed(stage, form))


def garbage(stage: Stage) -> Outcome:
    """All messages are no JSON."""
    stage.mqtt()
    return stage.outcome(disturbed(stage, lambda when, row: [b"{" + stage.message(when, row)]))


def duplicate(stage: Stage) -> Outcome:
    """Each row is sent five times."""
    stage.mqtt()
    good = disturbed(stage, lambda when, row: 5 * stage.as_json(when, row))
    return stage.outcome(good, must_tell=False)


def unknown(stage: Stage) -> Outcome:
    """All rows hold names that nobody knows."""
    stage.mqtt()
    return stage.outcome(disturbed(stage, lambda when, row: [stage.message(when, row, "X")]))


def database(stage: Stage) -> Outcome:
    """PostgreSQL, which holds the state, is gone for a minute."""
    server = stage.stack.enter_context(running_postgres())
    stage.state = server.socket_url
    stage.mqtt()
    stage.go(CALM)
    stage.service.trouble()
    server.stop()
    stage.go(AWAY)
    server.start()
    stage.go(AFTER)
    return stage.outcome(stage.rows, whole=True)


def broker(stage: Stage) -> Outcome:
    """The broker is killed for ten seconds; afterwards the plant's clock is a day ahead."""
    stage.mqtt(numbered=True)
    stage.go(CALM)
    stage.service.trouble()
    stage.broker.kill()
    stage.go(10.0)
    stage.broker.start()
    stage.feed.now += 24 * HOUR
    stage.go(LONG)
    return stage.outcome(stage.rows, must_tell=False, whole=True)


def stepped(stage: Stage, by: int) -> Outcome:
    """The clock of the rows is set."""
    stage.mqtt()
    stage.go(CALM)
    stage.service.trouble()
    stage.feed.now += by
    stage.go(LONG)
    return stage.outcome(stage.rows, must_tell=False, whole=True)


def forward(stage: Stage) -> Outcome:
    """NTP sets the clock an hour forward."""
    return stepped(stage, HOUR)


def back(stage: Stage) -> Outcome:
    """NTP sets the clock an hour back."""
    return stepped(stage, -HOUR)


def saving(stage: Stage, at: str, by: int) -> Outcome:
    """The wall clock changes, in rows that tell its time."""
    stage.mqtt()
    stage.feed.form = lambda when, row: [stage.message(str(np.datetime64(when, "ns")), row)]
    stage.feed.now = int(np.datetime64(at, "ns").astype(np.int64)) - round(CALM * 1e9)
    stage.go(CALM)
    stage.service.trouble()
    shift = by
    usual = stage.feed.form
    stage.feed.form = lambda when, row: usual(when + shift, row)
    stage.go(LONG)
    return stage.outcome(stage.rows, must_tell=False, whole=True)


def spring(stage: Stage) -> Outcome:
    """Daylight saving begins."""
    return saving(stage, "2026-03-29T02:00:00", HOUR)


def autumn(stage: Stage) -> Outcome:
    """Daylight saving ends."""
    return saving(stage, "2026-10-25T03:00:00", -HOUR)


def disk(stage: Stage) -> Outcome:
    """The disk of state and scores is full for ten minutes, played in one."""
    small = new(stage.folder / "small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", small], check=True)
    stage.stack.callback(subprocess.run, ["umount", "-l", small], check=False)
    stage.state, stage.scores = str(small / "state"), small / "scores.csv"
    stage.mqtt()
    stage.go(CALM)
    stage.service.trouble()
    fill(small / "full")
    stage.go(FULL)
    (small / "full").unlink()
    stage.go(AFTER)
    return stage.outcome(stage.rows, whole=True)


def fill(path: Path) -> None:
    """Take up all of a disk."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def stopped(stage: Stage) -> Outcome:
    """The service is stopped (SIGSTOP), and goes on 40 s later."""
    stage.mqtt()
    stage.go(CALM)
    stage.service.trouble()
    stage.allowed += LONG
    os.kill(stage.service.process.pid, signal.SIGSTOP)
    stage.go(LONG)
    os.kill(stage.service.process.pid, signal.SIGCONT)
    stage.go(AFTER)
    return stage.outcome(stage.rows, whole=True)


def child(stage: Stage) -> Outcome:
    """Its process that reads Parquet files is stopped."""
    inbox, waiting, number = new(stage.folder / "inbox"), list[tuple[int, Row]](), 0

    def drop(when: int, row: Row) -> list[bytes]:
        nonlocal number
        waiting.append((when, row))
        if len(waiting) == 25:
            times = np.array([time for time, _ in waiting]).astype("datetime64[ns]")
            values = np.array([values for _, values in waiting]).round(5)
            frame = pl.DataFrame({"time": times}).with_columns(
                pl.Series(name, values[:, k]) for k, name in enumerate(stage.plant.signals)
            )
            frame.with_columns(pl.col("time").dt.replace_time_zone("UTC")).write_parquet(
                stage.folder / "next"
            )
            (stage.folder / "next").rename(inbox / f"part{number:04}.parquet")
            number += 1
            waiting.clear()
        return [b""]

    stage.start(str(inbox), "--follow")
    assert stage.service.wait(stage.service.up), stage.service.log()
    stage.feed_by(lambda message: None, drop)
    stage.go(CALM)
    stage.service.trouble()
    reader = stage.service.child()
    assert reader is not None, "no process of its own reads"
    os.kill(reader, signal.SIGSTOP)
    stage.go(LONG)
    return stage.outcome(stage.rows, whole=True)


CASES: Mapping[str, Callable[[Stage], Outcome]] = {
    "clock stands still": still,
    "clock moves by microseconds": micro,
    "clock stands still, a row in 10 s": slow,
    "second publisher half a second ahead": second,
    "followed CSV gains a column": column,
    "header swaps two columns": swapped,
    "most rows bad": bad,
    "all rows bad": garbage,
    "rows five times": duplicate,
    "rows of unknown names": unknown,
    "PostgreSQL gone for a minute": database,
    "broker killed, back with another clock": broker,
    "NTP step +1 h": forward,
    "NTP step -1 h": back,
    "daylight saving begins": spring,
    "daylight saving ends": autumn,
    "disk full (ten minutes in one)": disk,
    "service stopped for 40 s": stopped,
    "reading child stopped": child,
}


def plants(folder: Path) -> dict[float, Plant]:
    """A plant by the seconds between two of its rows."""
    found = {}
    for interval in (INTERVAL, SLOW):
        place = new(folder / f"every {interval:g}")
        found[interval] = build(place, SIGNALS, ROWS, interval, 150, 20, tick=interval)
    return found


def played(name: str, ready: Mapping[float, Plant]) -> Outcome | str:
    """What came of a case, or why it was left out."""
    with ExitStack() as stack:
        try:
            return CASES[name](Stage(name, ready, stack))
        except (pytest.skip.Exception, subprocess.CalledProcessError) as error:
            return f"{name}: left out ({error})"
        except Exception as error:
            traceback.print_exc()
            return f"{name}: broke off ({error!r})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; repeatable")
    parser.add_argument("--at-once", type=int, default=4, help="cases played at the same time")
    parser.add_argument("--write", action="store_true", help="write the page of the docs")
    given = parser.parse_args()
    names = given.case or list(CASES)
    short, lines, notes = [], [], []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.at_once) as pool:
        ready = plants(Path(folder))
        for outcome in pool.map(lambda name: played(name, ready), names):
            if isinstance(outcome, str):
                notes.append(outcome)
                short += [outcome] * ("broke off" in outcome)
                print(outcome, flush=True)
                continue
            lines.append(outcome.cells())
            print(" | ".join(map(str, outcome.cells())), flush=True)
            for how, words in outcome.words.items():
                print(f"    {how}: {words}", flush=True)
            short += [f"{outcome.name}: {what}" for what in outcome.short]
    if given.write:
        PAGE.write_text("\n\n".join([*INTRODUCTION, machine(), table(HEAD, lines), *notes]) + "\n")
    verdict.end(short)


if __name__ == "__main__":
    main()
