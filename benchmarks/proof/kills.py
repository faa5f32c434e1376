"""Kill -9 a watch of a file again and again: its alarm log ends as if it had never been disturbed.

Each pass watches the whole file; it is killed several times, at a random moment or inside the
writing of a checkpoint, and started again with the same command. At the end of a pass the file of
alarms, the history in the store, the scores and the state of the monitor must be those of an
undisturbed pass, byte for byte.

    python -m benchmarks.proof.kills [--kills 200] [--inside 50] [--seed 1]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.proof.plant import Plant, build

from causewatch.monitor.state import pack
from causewatch.streaming.store.open import open_store

PER_PASS = 6
"""Kills in one pass at most."""


@dataclass
class Tally:
    """What was done."""

    passes: int = 0
    kills: int = 0
    inside: int = 0
    save_s: list[float] = field(default_factory=list)


def command(plant: Plant, test: Path, folder: Path) -> list[str]:
    return [
        *("watch", str(plant.model), str(test), "--state", str(folder / "state")),
        *("--alarms", str(folder / "alarms.jsonl"), "--scores", str(folder / "scores.csv")),
    ]


def outcome(folder: Path) -> dict[str, str]:
    """Fingerprints of everything a pass leaves behind."""
    store = open_store(str(folder / "state"), "watch")
    try:
        saved = store.load()
        assert saved is not None
        parts = {f"monitor {name}": part for name, part in saved.monitor.items()}
        state = {name: digest(part) for name, part in (parts | {"source": saved.source}).items()}
        history = "\n".join(map(repr, store.events()))
    finally:
        store.close()
    return {
        "alarms": hashlib.sha256((folder / "alarms.jsonl").read_bytes()).hexdigest(),
        "scores": hashlib.sha256((folder / "scores.csv").read_bytes()).hexdigest(),
        "history": hashlib.sha256(history.encode()).hexdigest(),
        **state,
    }


def digest(part: Any) -> str:
    """A fingerprint of some part of a state."""
    arrays: dict[str, Any] = {}
    found = hashlib.sha256(repr(pack(part, arrays)).encode())
    for name, array in arrays.items():
        found.update(name.encode() + array.tobytes())
    return found.hexdigest()


def start(arguments: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    """A victim, and the end of the pipe on which it tells of checkpoints."""
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.proof.victim", str(theirs), *arguments],
        pass_fds=(theirs,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    return process, ours


def listen(pipe: int, wait: float) -> bytes | None:
    """What the victim says within `wait` seconds; None if nothing, empty if it is gone."""
    ready, _, _ = select.select([pipe], [], [], max(0.0, wait))
    return os.read(pipe, 4096) if ready else None


def disturb(
    arguments: list[str], chance: random.Random, inside: bool, usual: float, longest: float
) -> tuple[str, float | None]:
    """Start a watch and kill it; gives how it ended and how long a checkpoint took, if one did.

    ``inside`` and ``between`` are kills, ``ended`` means that the watch was quicker.
    """
    process, pipe = start(arguments)
    took = None
    try:
        if inside:
            skip = chance.randrange(1, 12)  # the first ones come at once
            heard = b""
            while heard.count(b"(") <= skip:
                said = listen(pipe, 60.0)
                if not said:
                    return _ended(process), took
                heard += said
            time.sleep(chance.uniform(0.0, usual))
            process.send_signal(signal.SIGKILL)
            process.wait()
            while said := listen(pipe, 0.0):
                heard += said
            return ("inside" if heard.endswith(b"(") else "between"), took
        end = time.monotonic() + chance.uniform(0.0, longest)
        entered = None
        while (left_s := end - time.monotonic()) > 0:
            said = listen(pipe, left_s)
            if said == b"":
                return _ended(process), took
            if said:
                now = time.perf_counter()
                if said.endswith(b"("):
                    entered = now
                elif entered is not None:
                    took, entered = now - entered, None
        if process.poll() is not None:
            return _ended(process), took
        process.send_signal(signal.SIGKILL)
        process.wait()
        tail = b""
        while said := listen(pipe, 0.0):
            tail += said
        open_ = entered is not None if not tail else tail.endswith(b"(")
        return ("inside" if open_ else "between"), took
    finally:
        os.close(pipe)
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _ended(process: subprocess.Popen[bytes]) -> str:
    _, error = process.communicate(timeout=60)
    if process.returncode != 0:
        msg = f"A watch ended with {process.returncode}: {error.decode()}"
        raise SystemExit(msg)
    return "ended"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--inside", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=12_000)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        plant = build(top, 20, arguments.rows, 1.0, every=250, lasting=40)
        test = plant.write(top / "test.csv")
        calm = top / "calm"
        calm.mkdir()
        began = time.monotonic()
        status, _ = disturb(command(plant, test, calm), chance, False, 0.0, 600.0)
        longest = time.monotonic() - began
        assert status == "ended", status
        wanted = outcome(calm)
        events = (calm / "alarms.jsonl").read_bytes().count(b"\n")
        print(f"Undisturbed: {arguments.rows:,} rows, {events} events, {longest:.1f} s")
        usual = 0.004
        while tally.kills < arguments.kills or tally.inside < arguments.inside:
            folder = top / f"pass{tally.passes}"
            folder.mkdir()
            line, done = command(plant, test, folder), False
            for _ in range(PER_PASS):
                inside = chance.random() < 0.5
                status, took = disturb(line, chance, inside, 1.5 * usual, 0.8 * longest)
                if took is not None:
                    tally.save_s.append(took)
                    usual = sorted(tally.save_s)[len(tally.save_s) // 2]
                if status == "ended":
                    done = True
                    break
                tally.kills += 1
                tally.inside += status == "inside"
            if not done:
                status, _ = disturb(line, chance, False, 0.0, 3600.0)
                assert status == "ended", status
            tally.passes += 1
            found = outcome(folder)
            wrong = [what for what in wanted if found[what] != wanted[what]]
            if wrong:
                msg = f"After {tally.kills} kills, other than undisturbed: {wrong}"
                raise SystemExit(msg)
            if sys.stderr.isatty() or tally.passes % 10 == 0:
                print(f"  {tally.passes} passes, {tally.kills} kills, {tally.inside} inside")
    print(
        f"{tally.kills} kills -9 in {tally.passes} passes, {tally.inside} of them inside the"
        f" writing of a checkpoint (usually {usual * 1e3:.1f} ms): alarm file, history, scores and"
        " state of the monitor equal to the undisturbed run's every time."
    )


if __name__ == "__main__":
    main()
