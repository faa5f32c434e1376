"""Replays in their processes: queued, listened to, ended, forgotten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from causewatch.errors import SettingError, StreamError, UnknownNameError
from causewatch.server.replays import process as replay_process
from causewatch.server.replays.replays import ENDINGS, Replays, ReplaySettings
from causewatch.testing import until
from causewatch.testing.waiting import PATIENCE
from small_plant import build

USUAL = ReplaySettings()

# Processes that play the part of the real one, which takes seconds to begin.
START = "import json, sys, time; order = json.loads(sys.stdin.readline())\n"
SAY = "def say(**what): print(json.dumps(what), flush=True)\n"
WAITS = START + SAY + "say(progress=0.25); time.sleep(600)"
ENDS = START + SAY + "say(result={'name': order['name'], 'file': order['file']})"


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plant"))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "plant.cwm"
    path.write_bytes(b"a model")
    return path


@pytest.fixture
def part(monkeypatch):
    """Let processes do something else."""

    def play(program):
        monkeypatch.setattr(replay_process, "COMMAND", (sys.executable, "-c", program))

    return play


@pytest.fixture
def replays(model, tmp_path):
    with closing(Replays(model, tmp_path)) as replays:
        yield replays


def send(replays, name="a.csv", content=b"content", settings=USUAL):
    path = replays.new_file()
    path.write_bytes(content)
    try:
        return replays.begin(name, path, settings).id
    finally:
        assert not path.exists()


def wait(replays, id, *states):
    wanted = states or ("done", "failed", "stopped")
    assert until(lambda: replays.get(id).state in wanted), replays.get(id)
    return replays.get(id)


def files(replays):
    own = {"model.cwm", "lock"}
    return sorted(one.name for one in replays._folder.iterdir() if one.name not in own)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# With the real process


def test_a_recording_is_replayed(plant, tmp_path):
    with closing(Replays(plant.model, tmp_path)) as replays:
        content = plant.test.read_bytes()
        first = send(replays, "today.csv", content, ReplaySettings(limit=0.5))
        second = send(replays, "other.csv", content.replace(b"S0", b"T0"))
        found = wait(replays, first)
        assert (found.state, found.error, found.progress) == ("done", None, 1.0)
        said = json.loads(found.to_json())
        assert said.keys() == {*found.to_dict(), "result"}
        assert said["settings"]["limit"] == 0.5
        assert said["result"]["rows"] == 700
        assert len(said["result"]["alarms"]) == said["result"]["raised"] > 2
        explained = [one for one in said["result"]["alarms"] if not one["abstained"]]
        assert {"S02", "S04"} <= {one["causes"][0]["signal"] for one in explained}
        found = wait(replays, second)
        assert found.state == "failed"
        assert found.error.startswith("other.csv has none of the model's signals:")
        assert found.result is None
        assert json.loads(found.to_json())["result"] is None
        assert [one.id for one in replays.list()] == [second, first]
        assert until(lambda: files(replays) == [])
    assert list(tmp_path.iterdir()) == []


def test_the_process_gives_way_and_is_bounded(plant, tmp_path):
    with closing(Replays(plant.model, tmp_path, memory=60 << 20)) as replays:
        id = send(replays, "today.csv", plant.test.read_bytes())
        seen = {}
        while (found := replays.get(id)).state in ("waiting", "running"):
            process = replays._jobs[id].process
            pid = getattr(getattr(process, "_process", None), "pid", None)
            if pid is not None:
                try:
                    seen["nice"] = os.getpriority(os.PRIO_PROCESS, pid)
                except ProcessLookupError:
                    pass
            time.sleep(0.005)
        assert found.state == "failed"  # nothing can be read in so little memory
        assert "memory" in found.error
    assert seen["nice"] == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)


def test_a_process_that_is_killed(plant, tmp_path):
    with closing(Replays(plant.model, tmp_path)) as replays:
        id = send(replays, "today.csv", plant.test.read_bytes())
        assert until(lambda: getattr(replays._jobs[id].process, "_process", None) is not None)
        os.kill(replays._jobs[id].process._process.pid, signal.SIGKILL)
        found = wait(replays, id)
        assert found.state == "failed"
        assert found.error.startswith("The replay of today.csv broke off (exit status -9);")
        assert until(lambda: files(replays) == [])


def test_nobody_listens_any_more(plant, tmp_path):
    """If the server is killed, the process ends by itself, and quietly."""
    recording = tmp_path / "a.csv"
    recording.write_bytes(plant.test.read_bytes())
    order = {
        "model": str(plant.model),
        "file": str(recording),
        "name": "a.csv",
        "settings": {},
        "memory": 2 << 30,
    }
    with subprocess.Popen(
        replay_process.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdout.close()
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == b""


# With others in its place


def test_only_the_ending_of_a_name_is_used(replays, part):
    part(ENDS)
    for name in ("../../up.CSV", "/etc/passwd.xlsx", "a\0\n<img src=x>.parquet", "\udc80.gz"):
        found = wait(replays, send(replays, name))
        assert found.state == "done"
        result = json.loads(found.result)
        path = Path(result["file"])
        assert path.parent == replays._folder
        assert path.name == found.id + "." + name.rpartition(".")[2].lower()
        assert result["name"] == found.name
        assert found.name.isprintable()
        found.name.encode()
    assert len(wait(replays, send(replays, "x" * 5000 + ".csv")).name) <= 120


@pytest.mark.parametrize("name", ["", "a", "csv", "a.exe", "a.csv.zip", "a.", ".csv/x", "a.csv "])
def test_other_kinds_are_refused(replays, name):
    with pytest.raises(SettingError, match=r"not of a kind .* must end in one of \.csv, .*\.$"):
        replays.check(name)
    with pytest.raises(SettingError):
        send(replays, name)
    assert replays.list() == []
    assert files(replays) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_known_kinds_are_taken(replays, ending):
    replays.check("a" + ending.upper())


def test_states_and_progress(replays, part):
    part(WAITS)
    first, second = send(replays), send(replays)
    assert until(lambda: replays.get(first).progress == 0.25)
    found = replays.get(first)
    assert (found.state, found.error, found.result) == ("running", None, None)
    assert found.begun.endswith("Z")
    found = replays.get(second)
    assert (found.state, found.progress) == ("waiting", None)
    assert found.to_dict() == {
        "id": second,
        "name": "a.csv",
        "state": "waiting",
        "progress": None,
        "error": None,
        "settings": USUAL.to_dict(),
        "begun": found.begun,
    }


def test_one_runs_and_few_wait(replays, part):
    part(WAITS)
    ids = [send(replays)]
    wait(replays, ids[0], "running")
    ids += [send(replays) for _ in range(3)]
    with pytest.raises(StreamError, match=r"3 recordings wait to be replayed already; try again"):
        replays.check("a.csv")
    with pytest.raises(StreamError, match="3 recordings wait"):
        send(replays)
    assert [replays.get(id).state for id in ids] == ["running", *["waiting"] * 3]
    assert replays.stop(ids[2]).state == "stopped"
    assert files(replays) == sorted(f"{id}.csv" for id in (ids[0], ids[1], ids[3]))
    ids.append(send(replays))
    replays.stop(ids[0])
    wait(replays, ids[1], "running")  # the next in line
    assert [replays.get(id).state for id in ids[3:]] == ["waiting"] * 2


def test_few_are_sent_at_a_time(replays):
    coming = [replays.new_file() for _ in range(4)]
    assert {one.stat().st_mode & 0o777 for one in coming} == {0o600}
    with pytest.raises(StreamError, match="4 recordings are being sent already; try again"):
        replays.new_file()
    coming[0].unlink()
    assert replays.new_file().exists()


def test_stopping_ends_the_process(replays, part):
    part(WAITS)
    id = send(replays)
    assert until(lambda: replays.get(id).progress is not None)
    pid = replays._jobs[id].process._process.pid
    found = replays.stop(id)
    assert (found.state, found.error, found.progress) == ("stopped", None, None)
    assert until(lambda: not is_running(pid))
    assert until(lambda: files(replays) == [])
    assert replays.stop(id).state == "stopped"
    part(ENDS)
    done = wait(replays, send(replays))
    assert replays.stop(done.id).state == "done"


def test_stopping_at_the_very_beginning(replays, part, monkeypatch):
    """Between taking a recording from the queue and the start of its process."""
    part(WAITS)
    reached, go_on = threading.Event(), threading.Event()
    plain = subprocess.Popen

    def slow(*arguments, **more):
        reached.set()
        assert go_on.wait(PATIENCE)
        return plain(*arguments, **more)

    monkeypatch.setattr(replay_process.subprocess, "Popen", slow)
    id = send(replays)
    assert reached.wait(PATIENCE)
    assert replays.stop(id).state == "stopped"
    go_on.set()
    assert until(lambda: files(replays) == [])
    assert replays.get(id).state == "stopped"


def test_stopping_before_there_is_a_process(replays, part, monkeypatch):
    part(WAITS)
    reached, go_on = threading.Event(), threading.Event()
    plain = replays._process

    def slow(job):
        reached.set()
        assert go_on.wait(PATIENCE)
        return plain(job)

    monkeypatch.setattr(replays, "_process", slow)
    id = send(replays)
    assert reached.wait(PATIENCE)
    assert replays.stop(id).state == "stopped"
    go_on.set()
    assert until(lambda: files(replays) == [])
    assert replays.get(id).state == "stopped"


def test_removing_forgets(replays, part):
    part(WAITS)
    running, waiting = send(replays), send(replays)
    assert until(lambda: replays.get(running).progress is not None)
    pid = replays._jobs[running].process._process.pid
    replays.remove(waiting)
    replays.remove(running)
    assert replays.list() == []
    assert until(lambda: not is_running(pid))
    assert until(lambda: files(replays) == [])
    for call in (replays.get, replays.stop, replays.remove):
        with pytest.raises(UnknownNameError, match="There is no replay"):
            call(running)


def test_only_the_last_results_are_kept(model, tmp_path, part):
    part(ENDS)
    with closing(Replays(model, tmp_path, most=2)) as replays:
        ids = []
        for _ in range(4):
            ids.append(send(replays))
            wait(replays, ids[-1])
        assert [one.id for one in replays.list()] == [ids[3], ids[2]]
        part(WAITS)
        running = send(replays)
        wait(replays, running, "running")
        assert [one.id for one in replays.list()] == [running, ids[3], ids[2]]


def test_a_process_that_takes_too_long(model, tmp_path, part):
    part(WAITS)
    with closing(Replays(model, tmp_path, seconds=0.5)) as replays:
        found = wait(replays, send(replays))
        assert (found.state, found.progress) == ("failed", None)
        assert found.error == "a.csv took longer than 0 s; replay a shorter part."


@pytest.mark.parametrize(
    "program",
    [
        "",
        "import sys; sys.exit(3)",
        "print('hello', flush=True)",
        "print('[1, 2]', flush=True)",
        'print(\'{"progress": "x"}\', flush=True)',
        "print('[' * 100000, flush=True)",
        "print('{\"result\": {}', end='', flush=True)",
        "import os; os.abort()",
        "import os, time; os.close(1); time.sleep(600)",
    ],
)
def test_a_process_that_says_nonsense(replays, part, program):
    part(program)
    found = wait(replays, send(replays))
    assert found.state == "failed"
    assert found.error.startswith("The replay of a.csv broke off (exit status ")
    part(ENDS)
    assert wait(replays, send(replays)).state == "done"  # and the next one runs


def test_a_result_that_never_ends(replays, part, monkeypatch):
    monkeypatch.setattr(replay_process, "MOST_LINE", 1 << 20)
    part("import sys\nwhile True: sys.stdout.write('x' * 100000)")
    assert wait(replays, send(replays)).state == "failed"


def test_a_process_that_cannot_be_started(replays, monkeypatch):
    monkeypatch.setattr(replay_process, "COMMAND", ("/nonexistent/python",))
    found = wait(replays, send(replays))
    assert found.state == "failed"
    assert found.error == "The replay cannot be started: No such file or directory."


@pytest.mark.parametrize("where", ["run", "__init__"])
def test_trouble_that_nobody_foresaw(replays, part, monkeypatch, caplog, where):
    part(ENDS)

    def fail(*_):
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(replay_process.ReplayProcess, where, fail)
        found = wait(replays, send(replays))
    assert (found.state, found.progress, found.result) == ("failed", None, None)
    assert found.error == "The replay of a.csv failed, and should not have; see the log."
    (said,) = [one for one in caplog.records if "Unexpected trouble" in one.message]
    assert said.exc_info[0] is ZeroDivisionError
    assert wait(replays, send(replays)).state == "done"  # and the next one runs
    assert until(lambda: files(replays) == [])


def test_a_recording_that_cannot_be_removed(replays, part, monkeypatch):
    part(ENDS)
    plain = Path.unlink

    def fail(path, **more):
        if path.suffix == ".csv":
            raise PermissionError
        plain(path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        assert wait(replays, send(replays)).state == "done"
    assert wait(replays, send(replays)).state == "done"


def test_closing_ends_everything(model, tmp_path, part):
    part(WAITS)
    replays = Replays(model, tmp_path)
    folder = replays._folder
    assert folder.stat().st_mode & 0o777 == 0o700
    first, _ = send(replays), send(replays)
    assert until(lambda: replays.get(first).progress is not None)
    pid = replays._jobs[first].process._process.pid
    replays.close()
    assert not is_running(pid)
    assert not folder.exists()
    replays.close()
    for call in (replays.new_file, lambda: replays.check("a.csv")):
        with pytest.raises(StreamError, match="the server is ending"):
            call()
    path = tmp_path / "late.csv"
    path.touch()
    with pytest.raises(StreamError, match="the server is ending"):
        replays.begin("a.csv", path, USUAL)
    assert not path.exists()
    assert {one.state for one in replays.list()} == {"stopped"}


def test_the_model_is_that_of_the_beginning(model, tmp_path, part):
    part(START + SAY + "say(result=open(order['model']).read())")
    with closing(Replays(model, tmp_path)) as replays:
        model.write_bytes(b"another one")
        assert json.loads(wait(replays, send(replays)).result) == "a model"


def test_a_place_that_is_none(model, tmp_path):
    with pytest.raises(SettingError, match="There is no place for replays"):
        Replays(model, tmp_path / "none")
    with pytest.raises(SettingError, match="There is no place for replays"):
        Replays(tmp_path / "none.cwm", tmp_path)
    assert list(tmp_path.iterdir()) == [model]


def test_what_a_killed_server_has_left_goes(model, tmp_path):
    left, young, foreign = (tmp_path / f"causewatch-replays-{n}" for n in range(3))
    other = tmp_path / "other"
    link = tmp_path / "causewatch-replays-link"
    for one in (left, young, other):
        one.mkdir()
        (one / "a.csv").touch()
    foreign.touch()
    link.symlink_to(other)
    for one in (left, other, foreign):
        os.utime(one, (0, 0))
    with closing(Replays(model, tmp_path)) as first:
        assert not left.exists()
        os.utime(first._folder, (0, 0))
        with closing(Replays(model, tmp_path)) as second:  # leaves alone what is in use
            assert first.new_file().exists()
            assert first._folder != second._folder
    assert {one.name for one in tmp_path.iterdir()} == {
        *(one.name for one in (model, young, foreign, other, link)),
    }
    assert (other / "a.csv").exists()


def test_a_recording_that_is_not_there(replays, tmp_path):
    with pytest.raises(StreamError, match="cannot be kept"):
        replays.begin("a.csv", tmp_path / "none", USUAL)
    assert replays.list() == []
