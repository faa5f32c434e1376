"""Archives: what is written is read, and whatever else arrives is refused in one sentence."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import stat
import zipfile
import zlib

import numpy as np
import pytest

from causewatch import archive as module
from causewatch.archive import read_archive, write_archive
from causewatch.errors import ModelFileError

KIND, VERSION = "moments", 3
CONTENT = {"name": "Füllstand", "numbers": [1, 2.5, None], "deep": {"a": True}}
ARRAYS = {
    "plain": np.arange(6.0).reshape(2, 3),
    "whole": np.array([1, -2], dtype=np.int16),
    "flag": np.array(True),
    "none": np.empty((0, 4)),
}


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "small.cwm"
    write_archive(target, KIND, VERSION, CONTENT, ARRAYS)
    return target


def is_intact(found):
    content, arrays = found
    return (
        content == CONTENT
        and list(arrays) == list(ARRAYS)
        and all(
            arrays[k].dtype == ARRAYS[k].dtype and np.array_equal(arrays[k], ARRAYS[k])
            for k in ARRAYS
        )
    )


def assert_refused(path, words=None):
    with pytest.raises(ModelFileError, match=words) as caught:
        read_archive(path, KIND, VERSION)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert len(message) < 300


def rebuilt(path, members):
    """A well-formed zip of these members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def forged(path, members, changes=()):
    """An archive with right checksums, whatever its members hold."""
    header = {
        "kind": KIND,
        "version": VERSION,
        "members": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in members.items()
        },
        **dict(changes),
    }
    rebuilt(path, {"header.json": json.dumps(header).encode(), **members})


def test_what_is_written_is_read(path):
    assert is_intact(read_archive(path, KIND, VERSION))
    assert is_intact(read_archive(str(path), KIND, VERSION + 1))  # an older file


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_archive(tmp_path / "again", KIND, VERSION, CONTENT, ARRAYS)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_writing_replaces_the_old_file_and_leaves_nothing_else(path):
    write_archive(path, KIND, VERSION, {"new": 1}, {})
    assert read_archive(path, KIND, VERSION) == ({"new": 1}, {})
    assert os.listdir(path.parent) == [path.name]


def test_a_failed_write_leaves_the_old_file(path):
    with pytest.raises(ValueError, match="pickle"):
        write_archive(path, KIND, VERSION, {}, {"bad": np.array([object()])})
    with pytest.raises(ValueError, match="JSON"):
        write_archive(path, KIND, VERSION, {"bad": float("nan")}, {})
    assert is_intact(read_archive(path, KIND, VERSION))
    assert os.listdir(path.parent) == [path.name]


def test_an_interrupted_write_leaves_the_old_file(path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_archive(path, KIND, VERSION, {"new": 1}, {})
    assert is_intact(read_archive(path, KIND, VERSION))
    assert os.listdir(path.parent) == [path.name]


def test_a_new_file_has_ordinary_permissions(path):
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_no_flipped_byte_gives_wrong_content(path):
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for position in rng.choice(len(data), size=min(300, len(data)), replace=False):
        broken = bytearray(data)
        broken[position] ^= int(rng.integers(1, 256))
        refused += is_refused_or_intact(path, bytes(broken))
    assert refused > 100


def test_no_value_of_a_zip_field_gives_wrong_content(path):
    """Every value of every byte of the first member's two zip headers, and of the zip's end."""
    data = path.read_bytes()
    central, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    places = [*range(30), *range(central, central + 46), *range(end, end + 22)]
    for position in places:
        for bit in range(8):
            broken = bytearray(data)
            broken[position] ^= 1 << bit
            is_refused_or_intact(path, bytes(broken))
    for method in (*range(21), *range(90, 100)):  # how the member says it is packed
        for position in (8, central + 10):
            broken = bytearray(data)
            broken[position] = method
            is_refused_or_intact(path, bytes(broken))


def test_a_file_cut_short_is_refused(path):
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        assert is_refused_or_intact(path, data[:length])


def is_refused_or_intact(path, data):
    """Whether the file is refused; if it is not, it must hold what it held before."""
    path.write_bytes(data)
    try:
        found = read_archive(path, KIND, VERSION)
    except ModelFileError:
        return True
    assert is_intact(found)
    return False


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"time,a,b\n1,2,3\n",
        np.random.default_rng(2).bytes(500),
        pickle.dumps({"a": 1}),
        b"\x93NUMPY\x01",
    ],
    ids=["empty", "two bytes", "text", "noise", "pickle", "npy"],
)
def test_other_files_are_refused(path, data):
    path.write_bytes(data)
    assert_refused(path, "not a causewatch moments file")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert_refused(tmp_path / "gone.cwm", "no file 'gone.cwm'")
    assert_refused(tmp_path, "folder")


def test_a_file_that_may_not_be_read_is_refused(path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.zipfile, "ZipFile", denied)
    assert_refused(path, "permission")


def test_a_foreign_zip_is_refused(path):
    rebuilt(path, {"readme.txt": b"hello"})
    assert_refused(path, "not a causewatch moments file")
    np.savez(path.with_suffix(".npz"), a=np.zeros(3))
    assert_refused(path.with_suffix(".npz"), "not a causewatch moments file")


def test_another_kind_and_a_newer_version_are_refused(path):
    write_archive(path, "model", VERSION, CONTENT, ARRAYS)
    assert_refused(path, "holds 'model', but a moments was expected")
    write_archive(path, KIND, VERSION + 1, CONTENT, ARRAYS)
    assert_refused(path, "version 4.*newer causewatch")


def test_a_zip_bomb_is_not_unfolded(path, monkeypatch):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b"{}")
        archive.writestr("content.json", bytes(50 << 20))
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("was unfolded"))
    assert_refused(path, "would unfold")


def test_a_zip_bomb_that_understates_its_size_is_refused(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", bytes(20 << 20))
    data = path.read_bytes()
    size, small = (20 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little")
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, small))
    assert_refused(path)


def test_too_many_members_are_refused(path):
    rebuilt(path, {f"m{k}": b"" for k in range(module.MOST_MEMBERS + 1)})
    assert_refused(path)


class Trap:
    """Unpickling it would leave a mark."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


def npy(array, **more):
    buffer = io.BytesIO()
    np.save(buffer, array, **more)
    return buffer.getvalue()


def test_nothing_in_an_archive_is_executed(path):
    objects = npy(np.array([Trap()], dtype=object), allow_pickle=True)
    for data in (objects, pickle.dumps(Trap()), npy(np.zeros(2)).replace(b"'<f8'", b"'|O' ")):
        forged(path, {"content.json": b"{}", "arrays/x.npy": data})
        assert_refused(path)
        assert not Trap.sprung


def header_of(text):
    """An npy member with this text for a header."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x00\x00\x00",
        header_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (9, 9)}\n"),
        header_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (10**9, 10**9)}\n"),
        header_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,)}\n"),
        header_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}\n"),
        header_of(b"{'descr': '<f8'\n"),
        header_of(b"{'descr': 'nonsense', 'fortran_order': False, 'shape': ()}\n"),
        header_of(b"  '''\n(\n"),
        header_of(b" a\n  b\n c\n"),
        header_of(b"\xff\xfe"),
        header_of(b"__import__('os').abort()\n"),
        header_of(b"(" * 5000),
        b"PK\x05\x06" + bytes(18),
        b"PK\x03\x04 not a zip",
    ],
    ids=range(16),
)
def test_a_member_that_is_no_array_is_refused(path, data):
    forged(path, {"content.json": b"{}", "arrays/x.npy": data})
    assert_refused(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"3", b"{", b"\xff", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
    ids=range(7),
)
def test_content_that_is_no_object_is_refused(path, content):
    forged(path, {"content.json": content})
    assert_refused(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": None},
        {"kind": ["moments"]},
        {"kind": "x\n" * 1000},
        {"version": "3"},
        {"version": None},
        {"version": 10**30},
        {"members": None},
        {"members": []},
        {"members": "content.json"},
        {"members": {}},
        {"members": {"content.json": None}},
        {"members": {"content.json": {}}},
        {"members": {"content.json": {"sha256": "0" * 64}}},
        {"members": {"../../gone": {"sha256": "0" * 64}}},
    ],
    ids=range(14),
)
def test_a_header_that_makes_no_sense_is_refused(path, changes):
    forged(path, {"content.json": b"{}"}, changes)
    assert_refused(path)


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b"1" * 5000], ids=range(6)
)
def test_a_header_that_is_no_object_is_refused(path, header):
    rebuilt(path, {"header.json": header, "content.json": b"{}"})
    assert_refused(path)


def test_names_in_messages_stay_on_one_line(tmp_path):
    path = tmp_path / ("a\nb" + "x" * 200)
    assert_refused(path, "There is no file")
    path.write_bytes(zlib.compress(b"x"))
    assert_refused(path)
