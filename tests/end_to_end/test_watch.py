"""Watching as a process: rows as they arrive, stopped at any time, seen in a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from causewatch.cli import main
from causewatch.testing import until
from causewatch.testing.waiting import PATIENCE
from small_plant import ROWS, build

PROGRAM = [sys.executable, "-m", "causewatch"]


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plant"))


@pytest.fixture(scope="module")
def whole(plant, tmp_path_factory):
    """The alarms of the recording, watched in one go."""
    path = tmp_path_factory.mktemp("whole") / "alarms.jsonl"
    assert main(["watch", str(plant.model), str(plant.test), "--alarms", str(path)]) == 0
    return path.read_text()


def start(plant, *arguments, **pipes):
    return subprocess.Popen(
        [*PROGRAM, "watch", str(plant.model), *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        **pipes,
    )


def feed(stream, lines):
    stream.writelines(lines)
    stream.close()


def test_an_alarm_comes_before_the_stream_ends(plant, whole):
    with start(plant, "-", "--json", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        run.stdin.writelines(plant.lines[:230])
        run.stdin.flush()
        first = json.loads(run.stdout.readline())  # while the pipe is open
        assert first["event"] == "raised"
        assert "S02" in first["signals"]
        # Not `communicate`: it would lose what `readline` has read beyond the first line.
        feeding = threading.Thread(target=feed, args=(run.stdin, plant.lines[230:]))
        feeding.start()
        rest, said = run.stdout.read(), run.stderr.read()
        feeding.join(PATIENCE)
        assert run.wait(PATIENCE) == 0
    *others, summary = map(json.loads, rest.splitlines())
    assert [first, *others] == list(map(json.loads, whole.splitlines()))
    assert summary["rows"] == ROWS
    assert said == ""


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nobody_reads_any_more(plant, options):
    reader, writer = os.pipe()
    run = start(plant, plant.test, *options, stdout=writer)
    os.close(writer)
    os.close(reader)
    _, said = run.communicate(timeout=PATIENCE)
    assert (run.returncode, said) == (0, "")


def test_a_growing_file_is_followed_stopped_and_gone_on_with(plant, whole, tmp_path, capsys):
    source, state, alarms = tmp_path / "log.csv", tmp_path / "state", tmp_path / "a.jsonl"
    source.write_text(plant.lines[0])
    command = (source, "--follow", "--state", state, "--alarms", alarms)
    run = start(plant, *command, stdout=subprocess.PIPE)
    assert until(alarms.exists), "it did not begin"
    with source.open("a") as log:
        for k in range(1, 231):
            log.write(plant.lines[k][:10])  # a row may come in two parts
            log.flush()
            log.write(plant.lines[k][10:])
    assert until(lambda: "raised" in alarms.read_text()), "no alarm came"

    # People act on it while it runs; a second watch is refused.
    id = json.loads(alarms.read_text().splitlines()[0])["id"]
    options = ["--state", str(state)]
    assert main(["alarms", "ack", id, "--by", "Ann", *options]) == 0
    assert f"{id}  acknowledged" in capsys.readouterr().out
    assert main(["alarms", "unshelve", id, *options]) == 2
    assert "There is no shelved alarm" in capsys.readouterr().err
    assert main(["watch", str(plant.model), str(source), *options]) == 2
    assert "in use by a running watch" in capsys.readouterr().err

    run.send_signal(signal.SIGHUP)  # as when a terminal is closed; others are told SIGTERM
    shown, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 130
    assert said == f"causewatch: interrupted; the state is in {str(state)!r}.\n"
    assert "\nSource     log.csv: 230 rows" in shown

    with source.open("a") as log:
        log.writelines(plant.lines[231:])
    assert main(["watch", str(plant.model), *map(str, (source, *command[2:]))]) == 0
    assert f"{ROWS - 230} rows after the first 230" in capsys.readouterr().out
    found = [json.loads(line) for line in alarms.read_text().splitlines()]
    (seen,) = [one for one in found if one["event"] == "acknowledged"]
    assert seen["acknowledged_by"] == "Ann"
    # Apart from what Ann did, everything is as without the interruption.
    kept = ("id", "event", "time", "headline", "causes", "signals")
    assert [[one[name] for name in kept] for one in found if one is not seen] == [
        [one[name] for name in kept] for one in map(json.loads, whole.splitlines())
    ]


def test_the_view_in_a_terminal(plant, tmp_path):
    source = tmp_path / "log.csv"
    source.write_text("".join(plant.lines[:230]))
    terminal, other = pty.openpty()
    run = subprocess.Popen(
        [*PROGRAM, "watch", str(plant.model), str(source), "--follow"],
        stdin=other,
        stdout=other,
        stderr=other,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    )
    os.close(other)
    shown, stopped = b"", False
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # how the end of a terminal looks
                break
            if not piece:
                break
            shown += piece
        if not stopped and b"229 rows" in shown and "▲".encode() in shown:
            run.send_signal(signal.SIGINT)
            stopped = True
    os.close(terminal)
    text = shown.decode()
    assert run.wait(PATIENCE) == 130, text
    for words in ("log.csv", "alarm limit 1", "S02", "raised", "Source     log.csv: 229 rows"):
        assert words in text
    assert "Traceback" not in text
    assert '{"id"' not in text
