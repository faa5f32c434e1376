"""The audit log: nothing is done that was not noted, and nothing breaks its lines."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import stat
import threading

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError, StreamError
from causewatch.server import ServeSettings
from causewatch.server.access import audit as audit_module
from causewatch.server.access.audit import MOST_LINE, Audit
from causewatch.server.access.tokens import Visitor
from causewatch.testing.waiting import PATIENCE
from services.dashboard import Dashboard, a_plant

ANNA = Visitor("anna", "operate")
NOW = 1_451_296_800.5


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture
def audit(path):
    return Audit(path, lambda: NOW)


def note(audit, about="3f2a", text="valve", outcome="done", visitor=ANNA):
    audit.note(visitor, "10.0.0.1", "ack", about, text, outcome)


ENTRY = {
    "time": "2015-12-28T10:00:00.500Z",
    "who": "anna",
    "role": "operate",
    "from": "10.0.0.1",
    "action": "ack",
    "about": "3f2a",
    "text": "valve",
    "outcome": "done",
}


def test_a_line_says_who_did_what(audit, path):
    note(audit)
    assert json.loads(path.read_text()) == ENTRY
    assert audit.latest(5) == [ENTRY]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_somebody_without_a_name(audit):
    note(audit, visitor=Visitor(None, "operate"))
    assert audit.latest(1)[0]["who"] is None


def test_a_line_is_on_disk_before_the_call_returns(audit, monkeypatch):
    done = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (done.append(os.fstat(file).st_size), real(file)))
    note(audit)
    assert len(done) == 1
    assert done[0] > 100


def test_a_later_run_adds_to_the_file(audit, path):
    note(audit, "first")
    note(Audit(path), "second")
    assert [entry["about"] for entry in audit.latest(5)] == ["second", "first"]


hostile = st.text(st.characters(exclude_categories=[]), max_size=60)


@given(about=hostile, text=hostile, outcome=hostile, name=hostile)
def test_whatever_is_said_is_one_line_of_plain_text(tmp_path_factory, about, text, outcome, name):
    path = tmp_path_factory.mktemp("audit") / "log"
    audit = Audit(path, lambda: NOW)
    audit.note(Visitor(name, "look"), "::1", "comment", about, text, outcome)
    note(audit)
    lines = path.read_bytes().decode().split("\n")
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)
    found = audit.latest(5)[1]
    said = (found["who"], found["about"], found["text"], found["outcome"])
    # Two halves of one character may have been said apart; JSON puts them together.
    whole = [json.loads(json.dumps(one)) for one in (name, about, text, outcome)]
    assert list(said) == whole


@pytest.mark.parametrize("sign", ["a", "\x00", "\U000e0001", "😀", "\u202e", '"', "\\"])
def test_lines_are_bounded(audit, path, sign):
    long = sign * 1_000_000
    audit.note(Visitor(long, "operate"), long, long, long, long, long)
    assert len(path.read_bytes()) < MOST_LINE
    note(audit)
    first, second = audit.latest(10)
    assert first == ENTRY
    assert len(second["text"]) == 4000
    assert second["text"].endswith("…")


# Reading


def test_the_latest_come_first_over_many_blocks(audit, monkeypatch):
    monkeypatch.setattr(audit_module, "BLOCK", 97)
    for number in range(60):
        note(audit, str(number), "x" * (number * 7 % 300))
    assert [entry["about"] for entry in audit.latest(7)] == list(map(str, range(59, 52, -1)))
    assert [entry["about"] for entry in audit.latest(1000)] == list(map(str, range(59, -1, -1)))
    assert audit.latest(0) == audit.latest(-3) == []


def test_what_is_none_of_ours_is_left_out(audit, path):
    note(audit, "first")
    odd = [b"", b"nonsense", b"[1]", b"3", b'{"time": 1}', b"\xff\xfe", b"[" * 5000]
    odd.append(json.dumps(ENTRY | {"text": {"a": 1}}).encode())
    odd.append(json.dumps(ENTRY | {"more": "x", "about": "kept"}).encode())
    with path.open("ab") as file:
        file.write(b"\n".join(odd) + b"\n")
    note(audit, "last")
    found = audit.latest(50)
    assert [entry["about"] for entry in found] == ["last", "kept", "first"]
    assert all(list(entry) == list(ENTRY) for entry in found)


@pytest.mark.parametrize("size", [2 * MOST_LINE + 1, 3 * MOST_LINE, 10 * MOST_LINE + 17])
@pytest.mark.parametrize("ends", [b"\n", b""])
@pytest.mark.parametrize("begins", [b"", json.dumps(ENTRY).encode()])
@pytest.mark.parametrize("filler", [b"y", b" "])
def test_a_huge_line_of_somebody_else_is_passed_over(audit, path, size, ends, begins, filler):
    note(audit, "first")
    with path.open("ab") as file:
        file.write(begins + filler * size + ends)
    assert [entry["about"] for entry in audit.latest(9)] == ["first"]
    note(audit, "last")
    assert [entry["about"] for entry in audit.latest(9)] == ["last", "first"]


def test_little_is_read_of_a_large_file(audit, path, monkeypatch):
    with path.open("wb") as file:
        file.truncate(1 << 33)  # a hole
    with path.open("ab") as file:
        file.write(b"\n")
    note(audit)
    read = []
    real = os.read
    monkeypatch.setattr(os, "read", lambda file, size: (read.append(size), real(file, size))[1])
    assert audit.latest(1) == [ENTRY]
    assert sum(read) <= 2 * audit_module.BLOCK
    monkeypatch.setattr(audit_module, "MOST_READ", 1 << 20)
    read.clear()
    assert audit.latest(5) == [ENTRY]
    assert sum(read) <= 1 << 20


def test_a_file_that_was_moved_away_is_begun_anew(audit, path, tmp_path):
    note(audit, "first")
    path.rename(tmp_path / "old")
    assert audit.latest(5) == []
    note(audit, "second")
    assert [entry["about"] for entry in audit.latest(5)] == ["second"]


# Trouble


def test_a_line_that_was_cut_short_does_not_spoil_the_next(audit, path):
    note(audit, "first")
    with path.open("ab") as file:
        file.write(b'{"time": "2015')
    note(audit, "second")
    assert [entry["about"] for entry in audit.latest(5)] == ["second", "first"]


@pytest.mark.parametrize("where", ["write", "fsync"])
def test_on_a_full_disk_the_file_stays_as_it_was(audit, path, monkeypatch, where):
    note(audit)
    before = path.read_bytes()
    real = os.write

    def half(file, data):
        if os.fstat(file).st_size > len(before):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, bytes(data[:20]))

    def never(file):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, where, half if where == "write" else never)
    with pytest.raises(StreamError, match=r"cannot be written: .*not done\.") as caught:
        note(audit, text="secret words")
    assert "secret words" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", [".", "absent/audit", "pipe"])
def test_places_of_no_use_are_known_at_once(tmp_path, place):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StreamError, match="cannot be written"):
        Audit(tmp_path / place)


def test_many_threads_and_no_torn_line(audit, path):
    threads = [
        threading.Thread(target=lambda: [note(audit, text="x" * 500) for _ in range(10)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 80


@pytest.fixture
def locked(audit, path, monkeypatch):
    """The file of an audit log that another program keeps locked."""
    monkeypatch.setattr(audit_module, "PATIENCE", 0.1)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def test_a_file_that_stays_locked_is_not_waited_for_for_ever(audit, path, locked):
    done = []
    kept = r"cannot be written: another program has kept it locked for 0\.1 s; .*not done\."
    with pytest.raises(StreamError, match=kept), audit.around(ANNA, "::1", "ack", "3f2a"):
        done.append(1)
    with pytest.raises(StreamError, match=kept):
        Audit(path)
    assert not done
    fcntl.flock(locked, fcntl.LOCK_UN)
    note(audit)
    assert audit.latest(5) == [ENTRY]


def test_a_file_that_is_locked_for_a_moment_is_waited_for(audit, locked, monkeypatch):
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        fcntl.flock(locked, fcntl.LOCK_UN)

    monkeypatch.setattr(audit_module.time, "sleep", sleep)
    note(audit)
    assert len(slept) == 1
    assert audit.latest(5) == [ENTRY]


def test_those_who_wait_for_a_locked_file_do_not_wait_for_each_other(audit, locked, monkeypatch):
    # Whoever comes second finds the time of the first one used up, too.
    monkeypatch.setattr(audit_module, "PATIENCE", 0.0)
    with audit._lock, pytest.raises(StreamError, match="others have been noting something"):
        note(audit)


def test_operators_are_told_that_the_audit_log_is_locked(tmp_path, path, monkeypatch):
    monkeypatch.setattr(audit_module, "PATIENCE", 0.1)
    settings = ServeSettings(port=0, audit=path)
    with Dashboard(a_plant(), tmp_path, settings=settings) as shown:
        alarm = f"{shown.url}/api/alarms/{shown.raise_alarm()}/comment"
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            answer = httpx.post(alarm, json={"text": "valve"}, timeout=PATIENCE)
        assert answer.status_code == 503
        assert "another program has kept it locked" in answer.text
        assert httpx.post(alarm, json={"text": "valve"}, timeout=PATIENCE).status_code == 200


# Before and after


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "done"),
        (SettingError("It is over."), "refused: It is over."),
        (ValueError("secret"), "failed: ValueError"),
        (KeyboardInterrupt(), "failed: interrupted"),
    ],
)
def test_an_action_is_noted_before_and_after(audit, error, outcome):
    def act():
        with audit.around(ANNA, "10.0.0.1", "ack", "3f2a", "valve"):
            assert audit.latest(5) == [ENTRY | {"outcome": "asked"}]
            if error is not None:
                raise error

    if error is None:
        act()
    else:
        with pytest.raises(type(error)):
            act()
    assert [entry["outcome"] for entry in audit.latest(5)] == [outcome, "asked"]


def test_what_cannot_be_noted_is_not_done(audit, monkeypatch):
    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    done = []
    with pytest.raises(StreamError), audit.around(ANNA, "::1", "ack", "3f2a"):
        done.append(1)
    assert not done


def test_what_was_done_is_not_denied_when_the_disk_fills_meanwhile(audit, monkeypatch, caplog):
    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with audit.around(ANNA, "::1", "ack", "3f2a"):
        monkeypatch.setattr(os, "write", full)
    assert "An action is over (done)" in caplog.text
    assert [entry["outcome"] for entry in audit.latest(5)] == ["asked"]


# Without a file


def test_without_a_file_the_last_are_kept_and_each_is_logged(caplog):
    audit = Audit(None, lambda: NOW)
    with caplog.at_level(logging.INFO):
        for number in range(1100):
            note(audit, str(number))
    assert len(caplog.records) == 1100
    assert json.loads(caplog.messages[-1]) == ENTRY | {"about": "1099"}
    found = audit.latest(10_000)
    assert len(found) == 1000
    assert (found[0]["about"], found[-1]["about"]) == ("1099", "100")
    assert audit.latest(1) == found[:1]
