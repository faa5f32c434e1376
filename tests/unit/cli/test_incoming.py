"""Whole lines out of text that comes in pieces."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.cli.incoming import LONGEST_LINE, FileText, Lines, sample_of
from causewatch.errors import SettingError, TableError


class Pieces:
    """Text in given pieces; None stands for a pause."""

    endless = False
    files = 1

    def __init__(self, *pieces):
        self.pieces = list(pieces)

    def read(self):
        return self.pieces.pop(0) if self.pieces else b""

    def close(self):
        pass


def drained(lines):
    found = []
    while not lines.ended:
        found.append(lines.read())
    return found


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


def test_lines_may_be_given_back():
    lines = Lines(Pieces(b"a\nb\n", b"c\n"))
    first = lines.read()
    lines.unread(first)
    assert lines.taken == 0
    assert b"".join(drained(lines)) == b"a\nb\nc\n"


@pytest.mark.parametrize("kind", ["plain", "gzip", "utf16", "old mac"])
def test_files_go_on_after_any_number_of_bytes(kind, tmp_path):
    text = "é,1\n" * 1000
    path = tmp_path / "file"
    data = {"utf16": text.encode("utf-16"), "old mac": text.replace("\n", "\r").encode()}.get(
        kind, text.encode()
    )
    path.write_bytes(gzip.compress(data) if kind == "gzip" else data)
    whole = sample_of(path, 1 << 20)
    assert whole.decode().removeprefix("\ufeff") == text
    source = FileText(path)
    source.skip(1234)
    assert b"".join(drained(Lines(source))) == whole[1234:]
    source.close()


def test_a_file_that_grows_is_cut_and_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("causewatch.cli.incoming.WAIT", 0.0)
    path = tmp_path / "log"
    path.write_bytes(b"a\nb")
    source = FileText(path, follow=True)
    lines = Lines(source)
    assert lines.read() == b"a\n"
    assert lines.read() == b""
    with path.open("ab") as file:
        file.write(b"b\nc\n")
    assert lines.read() == b"bb\nc\n"
    path.write_bytes(b"d\n")
    assert b"".join(lines.read() for _ in range(3)) == b"d\n"
    other = tmp_path / "new"
    other.write_bytes(b"first\nof another\n")
    other.replace(path)
    assert b"".join(lines.read() for _ in range(3)) == b"first\nof another\n"
    assert (lines.files, lines.taken) == (3, len(b"first\nof another\n"))
    head = source.head(6)
    path.unlink()
    assert lines.read() == b""
    assert source.head(6) == head
    source.close()
    assert source.head(6) == head
    path.write_bytes(b"first\n")
    again = FileText(path)
    assert again.is_known(6, head)
    again.close()


def test_a_line_without_an_end_does_not_run_into_the_next_file(tmp_path, monkeypatch):
    monkeypatch.setattr("causewatch.cli.incoming.WAIT", 0.0)
    path, other = tmp_path / "log", tmp_path / "new"
    path.write_bytes(b"a\nhalf")
    source = FileText(path, follow=True)
    lines = Lines(source)
    assert lines.read() == b"a\n"
    other.write_bytes(b"new\n")
    other.replace(path)
    assert b"".join(lines.read() for _ in range(3)) == b"new\n"
    assert lines.taken == 4
    source.close()


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"a\n" * 10_000))
    with pytest.raises(SettingError, match="cannot be followed"):
        FileText(path, follow=True)
    path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(TableError, match="is damaged"):
        sample_of(path, 1 << 20)
