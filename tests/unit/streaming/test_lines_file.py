"""The alarm file: every event in it once, whatever happens to the watch, the file and the disk."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import StreamError, UnknownNameError
from causewatch.streaming.sink import DeliveryError, Notice
from causewatch.streaming.sinks.lines import LinesSink
from causewatch.testing import until


def notices(first: int, last: int) -> list[Notice]:
    """Events that are told by their number."""
    return [Notice(k, "line 1", {"id": str(k), "text": "é" * (k % 5)}) for k in range(first, last)]


def lines(first: int, last: int) -> bytes:
    return "".join(one.to_json() + "\n" for one in notices(first, last)).encode()


@contextmanager
def opened(path: Path, mark: Any = None, **settings: Any) -> Iterator[LinesSink]:
    sink = LinesSink(path, **settings)
    sink.open(mark)
    try:
        yield sink
    finally:
        sink.close()


def test_the_name_is_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert LinesSink(Path("alarms.jsonl")).name == str(tmp_path / "alarms.jsonl")


def test_other_formats(tmp_path: Path) -> None:
    with opened(tmp_path / "a", format="cef") as sink:
        sink.send(notices(1, 3))
    assert [line[:6] for line in (tmp_path / "a").read_text().splitlines()] == ["CEF:0|"] * 2
    with pytest.raises(UnknownNameError, match="no format 'xml'"):
        LinesSink(tmp_path / "a", format="xml")


@given(kept=st.integers(0, 4), extra=st.integers(0, 400), more=st.integers(0, 3))
def test_what_a_kill_leaves_behind_is_not_doubled(kept: int, extra: int, more: int) -> None:
    """Whatever part of a delivery was written when the watch was killed, with or without a mark."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alarms.jsonl"
        mark = None
        if kept:
            with opened(path) as sink:
                mark = json.loads(json.dumps(sink.send(notices(1, 1 + kept))))
        written = lines(1 + kept, 8)[:extra]
        with path.open("ab") as file:
            file.write(written)
        with opened(path, mark) as sink:
            sink.send(notices(1 + kept, 8 + more))
            sink.send(notices(8 + more, 10 + more))
        assert path.read_bytes() == lines(1, 10 + more)


def test_a_watch_killed_again_and_again_writes_each_event_once(tmp_path: Path) -> None:
    """A child that sends and notes its marks, as a courier does, is killed at any moment."""
    path, note = tmp_path / "alarms.jsonl", tmp_path / "note"
    chance, total = random.Random(5), 1500

    def known() -> tuple[int, Any]:
        return tuple(json.loads(note.read_text())) if note.exists() else (0, None)

    def work() -> None:
        sent, mark = known()
        sink = LinesSink(path)
        sink.open(mark)
        while sent < total:
            upto = min(total, sent + 20)
            mark = sink.send(notices(sent + 1, upto + 1))
            sent = upto
            (tmp_path / "new").write_text(json.dumps([sent, mark]))
            (tmp_path / "new").replace(note)

    kills = 0
    while (before := known()[0]) < total:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of forks
            child = os.fork()
        if not child:
            try:
                work()
            finally:
                os._exit(0)
        if chance.random() < 0.8:  # some are killed before they have got anywhere
            assert until(lambda before=before: known()[0] > before)
        time.sleep(chance.uniform(0.0, 0.005))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        assert kills < 500, "it does not come to an end"
    assert kills > 2
    assert path.read_bytes() == lines(1, total + 1)


def test_rotation_by_moving(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        sink.send(notices(1, 3))
        path.rename(tmp_path / "alarms.1")
        mark = sink.send(notices(3, 5))
        assert path.read_bytes() == lines(3, 5)
        sink.send(notices(5, 6))
    with opened(path, mark) as sink:  # the mark is one of the new file
        sink.send(notices(5, 7))
    assert (tmp_path / "alarms.1").read_bytes() + path.read_bytes() == lines(1, 7)


def test_rotation_just_before_a_kill(tmp_path: Path) -> None:
    """The mark is one of the old file, and the new one holds what has no mark."""
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        mark = sink.send(notices(1, 30))
        path.rename(tmp_path / "alarms.1")
        sink.send(notices(30, 33))
    with opened(path, mark) as sink:
        sink.send(notices(30, 35))
    assert path.read_bytes() == lines(30, 35)


@pytest.mark.parametrize("first", [2, 40])
def test_rotation_by_copying_and_shortening(tmp_path: Path, first: int) -> None:
    """The file is emptied under our hands; later it may be longer than the mark, or shorter."""
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        mark = sink.send(notices(1, first))
        os.truncate(path, 0)
        sink.send(notices(first, first + 20))
    with opened(path, mark) as sink:
        sink.send(notices(first, first + 22))
    assert path.read_bytes() == lines(first, first + 22)


def test_a_file_that_was_moved_and_put_back_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        mark = sink.send(notices(1, 9))
        sink.send(notices(9, 12))
    copy = path.read_bytes()
    path.unlink()
    path.write_bytes(copy)
    with opened(path, mark) as sink:
        assert path.read_bytes() == lines(1, 9)
        sink.send(notices(9, 13))
    assert path.read_bytes() == lines(1, 13)


def test_a_deleted_file_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        sink.send(notices(1, 3))
        path.unlink()
        sink.send(notices(3, 5))
    assert path.read_bytes() == lines(3, 5)


def test_anew_empties_a_file_without_a_mark_only(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    path.write_text("old\n")
    with opened(path, anew=True) as sink:
        mark = sink.send(notices(1, 3))
    assert path.read_bytes() == lines(1, 3)
    with opened(path, mark, anew=True) as sink:
        sink.send(notices(3, 4))
    assert path.read_bytes() == lines(1, 4)


def test_what_others_wrote_is_kept_and_its_last_line_ended(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    path.write_text("somebody else's")
    with opened(path) as sink:
        sink.send(notices(1, 2))
    assert path.read_bytes() == b"somebody else's\n" + lines(1, 2)


def test_a_mark_for_nothing_sent_cuts_nothing_off(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        mark = sink.send([])
        assert mark["bytes"] == 0
    path.write_text("somebody else's\n")
    with opened(path, mark) as sink:
        sink.send(notices(1, 2))
    assert path.read_bytes() == b"somebody else's\n" + lines(1, 2)


@pytest.mark.parametrize("mark", [{}, [], "mark", 3, {"bytes": "x"}, {"bytes": -1, "print": ""}])
def test_a_mark_of_somebody_else_does_no_harm(tmp_path: Path, mark: Any) -> None:
    path = tmp_path / "alarms.jsonl"
    path.write_bytes(lines(1, 3))
    with opened(path, mark) as sink:
        sink.send(notices(3, 4))
    assert path.read_bytes() == lines(1, 4)


@pytest.mark.parametrize("room", [0, 1, 30, 100])
def test_a_full_disk_leaves_no_half_line(tmp_path: Path, room: int) -> None:
    """The system refuses to let the file grow further, in the middle of a line."""
    path = tmp_path / "alarms.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(path) as sink:
        sink.send(notices(1, 3))
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(lines(1, 3)) + room, hard))
        try:
            with pytest.raises(DeliveryError, match="cannot be written: file too large") as failed:
                sink.send(notices(3, 60))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert failed.value.sent == 0
        assert path.read_bytes() == lines(1, 3)
        sink.send(notices(3, 60))
    assert path.read_bytes() == lines(1, 60)


def test_no_space_left_is_said(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with (
        opened(Path("/dev/full")) as sink,
        pytest.raises(DeliveryError, match="cannot be written: no space left on device"),
    ):
        sink.send(notices(1, 2))


def test_two_watches_cannot_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    with opened(path) as sink:
        with pytest.raises(StreamError, match="is in use by another watch; name another file"):
            LinesSink(path).open(None)
        sink.send(notices(1, 2))
    with opened(path):
        pass


def test_a_file_that_cannot_be_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="cannot be written: no such file or directory"):
        LinesSink(tmp_path / "nowhere" / "a").open(None)
    with pytest.raises(StreamError, match="cannot be written: is a directory"):
        LinesSink(tmp_path).open(None)


def test_a_pipe_is_written_as_long_as_somebody_reads(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with opened(path) as sink:
        with pytest.raises(DeliveryError, match="is a pipe that nobody reads"):
            sink.send(notices(1, 2))
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert sink.send(notices(1, 3)) is None
            assert os.read(reader, 1000) == lines(1, 3)
        finally:
            os.close(reader)
        with pytest.raises(DeliveryError, match="broken pipe"):
            sink.send(notices(3, 4))
