"""Whole lines out of text that comes in pieces, from files that grow and are rotated."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError, TableError
from causewatch.streaming.sources.followed import FileText, rotated
from causewatch.streaming.sources.lines import LONGEST_LINE, MOST_LINES, Lines, StdinText
from causewatch.testing import until


class Pieces:
    """Text in given pieces; None stands for a pause."""

    endless = False
    files = 1

    def __init__(self, *pieces):
        self.pieces = list(pieces)

    def read(self, wait=0.0):
        return self.pieces.pop(0) if self.pieces else b""

    def close(self):
        pass


def drained(lines):
    found = []
    while not lines.ended:
        found.append(lines.read())
    return found


def present(lines):
    """What can be read at present, also in files that follow."""
    return b"".join(lines.read() for _ in range(20))


def place(text, lines):
    """As a position of a source says it."""
    return {"bytes": lines.taken, **text.mark()}


def add(path, data):
    with path.open("ab") as file:
        file.write(data)


@pytest.fixture
def follow():
    """Follow a file; all are closed in the end."""
    opened = []

    def start(path, after=None):
        text = FileText(path, follow=True, after=after)
        opened.append(text)
        return text, Lines(text, text.at)

    yield start
    for text in opened:
        text.close()


@given(st.lists(st.none() | st.text("ab\n", min_size=1).map(str.encode), max_size=12))
def test_pieces_of_any_size_give_the_same_lines(pieces):
    lines = Lines(Pieces(*pieces))
    found = drained(lines)
    text = b"".join(piece for piece in pieces if piece)
    assert b"".join(found).rstrip(b"\n") == text.rstrip(b"\n")
    assert all(part == b"" or part.endswith(b"\n") for part in found)
    assert lines.taken == len(text)


def test_a_line_that_never_ends_is_thrown_away():
    big = b"x" * (LONGEST_LINE // 2 + 1)
    lines = Lines(Pieces(b"a\n", big, big, big, b"x\nb\n", b"c"))
    assert b"".join(drained(lines)) == b"a\nb\nc\n"
    assert lines.too_long == 1
    assert lines.taken == 2 + 3 * len(big) + 2 + 2 + 1


def test_a_line_without_end_counts_for_as_long_as_it_goes_on():
    piece = b"x" * (LONGEST_LINE // 4 + 1)
    lines = Lines(Pieces(*[piece] * 40))
    drained(lines)
    assert lines.too_long == 10


def test_a_gzip_file_that_unfolds_beyond_reason_is_given_up(tmp_path, caplog):
    path, zeros = tmp_path / "bomb.csv.gz", bytes(1 << 20)
    with gzip.open(path, "wb") as packed:
        packed.write(b"time,a\n")
        for _ in range(100):
            packed.write(zeros)
    source = FileText(path)
    lines = Lines(source)
    drained(lines)
    assert lines.ended
    assert source.damaged == 1
    assert "unfolds to more than 500 times its size" in caplog.text
    assert source.at < 20 << 20
    source.close()


def test_not_all_lines_come_at_once():
    lines = Lines(Pieces(b"a\n" * (2 * MOST_LINES + 1) + b"b"))
    assert lines.read() == b"a\n" * MOST_LINES
    assert lines.taken == 2 * MOST_LINES
    assert lines.read() == b"a\n" * MOST_LINES
    assert drained(lines) == [b"a\n", b"b\n"]
    assert lines.taken == 2 * (2 * MOST_LINES + 1) + 1


@pytest.mark.parametrize("kind", ["plain", "gzip", "utf16", "old mac"])
def test_files_go_on_after_any_number_of_bytes(kind, tmp_path):
    text = "é,1\n" * 4000
    path = tmp_path / "file"
    data = {"utf16": text.encode("utf-16"), "old mac": text.replace("\n", "\r").encode()}.get(
        kind, text.encode()
    )
    path.write_bytes(gzip.compress(data) if kind == "gzip" else data)
    source = FileText(path)
    whole = b"".join(drained(Lines(source)))
    assert whole.decode().removeprefix("\ufeff") == text
    mark = source.mark()
    source.close()
    for size in (0, 7, 4095, 9876):
        source = FileText(path, after={"bytes": size, **mark})
        assert source.known
        assert source.sample(1000).startswith(whole[:1000])
        assert b"".join(drained(Lines(source))) == whole[size:]
        source.close()
    for other in ({"head": "another"}, {"bytes": 1_000_000}):
        source = FileText(path, after={"bytes": 9876, **mark, **other})
        assert (source.known, source.at) == (False, 0)
        source.close()


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(os.urandom(100_000).hex().encode()))
    with pytest.raises(SettingError, match="cannot be followed"):
        FileText(path, follow=True)
    path.write_bytes(path.read_bytes()[:50_000])
    text = FileText(path)
    with pytest.raises(TableError, match="is damaged"):
        text.sample(1 << 20)
    text.close()
    # What comes before the damage is read, and the damage counted.
    text = FileText(path)
    assert drained(Lines(text)) != []
    assert text.damaged == 1
    text.close()
    with pytest.raises(TableError, match="No such file"):
        FileText(tmp_path / "nowhere")


def test_standard_input_without_a_file_behind_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"a\nb")))
    lines, found = Lines(StdinText()), []

    def ended():
        found.append(lines.read(0.1))
        return lines.ended

    assert until(ended)
    assert b"".join(found) == b"a\nb\n"
    assert lines.read(0.1) == b""
    lines.close()


# Files that grow


def test_a_file_that_grows_is_cut_and_replaced(tmp_path, follow):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb")
    source, lines = follow(path)
    assert lines.read() == b"a\n"
    assert lines.read() == b""
    add(path, b"b\nc\n")
    assert lines.read() == b"bb\nc\n"
    path.write_bytes(b"d\n")
    assert present(lines) == b"d\n"
    other = tmp_path / "new"
    other.write_bytes(b"first\nof another\n")
    other.replace(path)
    assert present(lines) == b"first\nof another\n"
    assert (lines.files, lines.taken, lines.cut) == (3, len(b"first\nof another\n"), 0)
    mark = source.mark()
    path.unlink()
    assert present(lines) == b""
    assert source.mark() == mark
    source.close()
    assert source.mark() == mark
    path.write_bytes(b"first\nof another\nand more\n")
    again = FileText(path, after={"bytes": 6, **mark})
    assert again.known
    again.close()


def test_a_line_without_an_end_does_not_run_into_the_next_file(tmp_path, follow):
    path, other = tmp_path / "log", tmp_path / "new"
    path.write_bytes(b"a\nhalf")
    _, lines = follow(path)
    assert lines.read() == b"a\n"
    other.write_bytes(b"new\n")
    other.replace(path)
    assert present(lines) == b"new\n"
    assert (lines.taken, lines.cut) == (4, 1)


def test_a_file_that_is_cut_and_grows_again_before_the_next_look(tmp_path, follow):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    _, lines = follow(path)
    assert present(lines) == b"a\nb\n"
    path.write_bytes(b"c\nd\ne\nf\n")
    assert present(lines) == b"c\nd\ne\nf\n"


def test_a_file_that_is_written_anew_with_more_in_it_goes_on(tmp_path, follow):
    path, other = tmp_path / "log", tmp_path / "new"
    path.write_bytes(b"a\nb\nc")
    _, lines = follow(path)
    assert present(lines) == b"a\nb\n"
    other.write_bytes(b"a\nb\ncc\nd\n")
    other.replace(path)
    assert present(lines) == b"cc\nd\n"
    assert lines.files == 1


# Rotation: real renames, copies and compression


def shift(path, ending=""):
    """Rename ``log`` to ``log.1`` and those before it accordingly."""
    for number in (3, 2, 1):
        older = path.with_name(f"{path.name}.{number}{ending}")
        if older.exists():
            older.rename(path.with_name(f"{path.name}.{number + 1}{ending}"))
    path.rename(path.with_name(f"{path.name}.1"))


def pack(path):
    """Compress as gzip does, which keeps the time of the last change."""
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    os.utime(packed, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    path.unlink()


def test_names_of_rotated_files(tmp_path):
    names = [
        "log.csv.2.gz", "log.csv.1", "log.csv-20260101", "log.csv.2026-01-02", "log-20260103.csv",
        "log.2026-01-04T10:00.csv.gz",
    ]  # fmt: skip
    for k, name in enumerate([*names, "log.csv", "log.csv.bak", "xlog.csv.1", "log.csv2"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (k, k))
    assert [one.name for one in rotated(tmp_path / "log.csv")] == names
    assert rotated(tmp_path / "nowhere" / "log.csv") == []


def test_a_file_is_rotated_while_it_is_followed(tmp_path, follow):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    _, lines = follow(path)
    assert present(lines) == b"a\nb\n"
    with path.open("ab") as writer:
        shift(path)
        path.touch()  # as programs do that rotate for others
        assert present(lines) == b""
        writer.write(b"late\n")  # by a writer that has not noticed yet
    assert present(lines) == b"late\n"
    add(path, b"c\n")
    assert present(lines) == b"c\n"
    # Twice between two looks.
    add(path, b"d\n")
    shift(path)
    path.write_bytes(b"e\nf\n")
    shift(path)
    path.write_bytes(b"g\n")
    assert present(lines) == b"d\ne\nf\ng\n"
    assert lines.cut == 0


def test_a_file_is_copied_and_cut_while_it_is_followed(tmp_path, follow):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    source, lines = follow(path)
    assert present(lines) == b"a\nb\n"
    add(path, b"c\nd")
    lines.read()
    add(path, b"d\n")
    shutil.copy2(path, tmp_path / "log.1")
    os.truncate(path, 0)
    assert present(lines) == b"dd\n"
    assert place(source, lines)["bytes"] == 9
    add(path, b"e\n")
    assert present(lines) == b"e\n"
    assert lines.taken == 2


@pytest.mark.parametrize("read_on", [False, True])
@pytest.mark.parametrize("kind", ["rename", "compress", "date", "copy", "twice", "twice packed"])
def test_a_file_is_rotated_while_nobody_looks(kind, read_on, tmp_path, follow):
    """The rest is found in the rotated file, from there to its end, then the new file."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"time,a\n1,1\n")
    source, lines = follow(path)
    assert present(lines) == b"time,a\n1,1\n"
    saved = place(source, lines)
    add(path, b"2,2\n")
    if read_on:  # after the checkpoint
        assert present(lines) == b"2,2\n"
    source.close()
    add(path, b"3,3\n")
    expected = b"2,2\n3,3\n"
    if kind == "copy":
        shutil.copy2(path, tmp_path / "log.csv.1")
        os.truncate(path, 0)
    elif kind == "date":
        path.rename(tmp_path / "log-2026-11-16.csv")
    else:
        shift(path)
    if kind == "compress":
        pack(tmp_path / "log.csv.1")
    if kind.startswith("twice"):
        if kind == "twice packed":
            pack(tmp_path / "log.csv.1")
        path.write_bytes(b"time,a\n4,4\n")
        expected += b"time,a\n4,4\n"
        shift(path, ".gz" if kind == "twice packed" else "")
    source, lines = follow(path, saved)
    assert source.known
    assert (source.at, source.inode) == (saved["bytes"], saved["inode"])
    assert present(lines) == expected  # also while there is no new file yet
    saved = place(source, lines)
    source.close()
    add(path, b"time,a\n5,5\n")
    source, lines = follow(path, saved)
    assert present(lines) == b"time,a\n5,5\n"
    assert not source.lost


def test_a_header_alone_does_not_make_a_file_known_again(tmp_path, follow):
    path, before = tmp_path / "log", tmp_path / "log.1"
    before.write_bytes(b"time,a\n1,1\n")
    path.write_bytes(b"time,a\n")
    source, lines = follow(path)
    assert present(lines) == b"time,a\n"
    saved = place(source, lines)
    # Rotated with a row in it: the number of the file tells.
    add(path, b"2,2\n")
    shift(path)
    path.write_bytes(b"time,a\n3,3\n")
    source, lines = follow(path, saved)
    assert present(lines) == b"2,2\ntime,a\n3,3\n"
    # Yesterday's file is not taken for today's that was cut.
    os.truncate(path, 7)
    source, lines = follow(path, saved | {"inode": 0})
    assert present(lines) == b""


def test_what_is_nowhere_to_be_found_is_lost(tmp_path, follow):
    path = tmp_path / "log"
    path.write_bytes(b"a\nb\n")
    source, lines = follow(path)
    assert present(lines) == b"a\nb\n"
    saved = place(source, lines)
    path.write_bytes(b"c\nd\n")
    source, lines = follow(path, saved)
    assert (source.known, source.lost) == (False, True)
    assert present(lines) == b"c\nd\n"
    path.unlink()
    with pytest.raises(TableError, match="No such file"):
        FileText(path, follow=True, after=saved)
