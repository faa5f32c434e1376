"""Bags that were cut off or are damaged, and files that are no bags."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.services.bags import TOPICS, Item, Types, rows_of, walk, write_bag

from causewatch.errors import CausewatchError, StreamError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.bags import BagSource, is_bag

pytest.importorskip("rosbags", reason="rosbags is not installed")

COLUMNS = ("HeadYaw.position", "/imu/data.linear_acceleration.x")
KINDS = ("ros1", "ros1+lz4", "sqlite3", "mcap", "mcap file", "mcap+storage")


def read(path: Path) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    """All rows with their times, and what went wrong."""
    source = BagSource(path, Wanted(COLUMNS, 0.02))
    source.open({})
    try:
        return rows_of(source), dict(source.problems)
    finally:
        source.close()


def data_file(path: Path) -> Path:
    """The file that holds the messages."""
    if path.is_file():
        return path
    return next(one for one in path.iterdir() if one.suffix in (".db3", ".mcap"))


def copied(whole: Path, path: Path) -> Path:
    """A copy of a bag to be damaged."""
    if whole.is_dir():
        shutil.copytree(whole, path)
    else:
        shutil.copy(whole, path)
    return path


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[Any]]]:
    """A whole bag of each kind, and its rows."""
    folder = tmp_path_factory.mktemp("bags")
    found = {}
    for kind in KINDS:
        # With pictures in between there are several chunks, each of which may be the last one.
        items = walk(kind.partition("+")[0], 6.0, camera=True)
        path = write_bag(folder / kind.replace(" ", "_"), kind, items, TOPICS)
        found[kind] = (path, read(path)[0])
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.97, 0.6])
def test_the_part_that_is_left_is_read(
    tmp_path: Path, bags: dict[str, tuple[Path, list[Any]]], kind: str, share: float
) -> None:
    """Its rows are those of the whole bag, and that it was cut is counted."""
    whole, wanted = bags[kind]
    path = copied(whole, tmp_path / "cut.bag")
    file = data_file(path)
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.truncate(int(size * share))
    if path.is_dir():
        (path / "metadata.yaml").unlink()  # it is written last
    assert is_bag(path)
    found, problems = read(path)
    assert problems.pop("damaged") == 1
    assert problems == {}
    # The last second may lack values that were recorded behind the cut.
    assert found[:-50] == wanted[: len(found) - 50]
    assert len(found) > 0.35 * share * len(wanted)


@pytest.mark.parametrize("kind", ["ros1", "ros1+lz4", "sqlite3", "mcap", "mcap+storage"])
@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_were_changed_never_stop_it(
    tmp_path: Path, bags: dict[str, tuple[Path, list[Any]]], kind: str, seed: int
) -> None:
    """It reads what it can, or says in one sentence that it cannot."""
    whole, wanted = bags[kind]
    path = copied(whole, tmp_path / "bent.bag")
    file = data_file(path)
    random = np.random.default_rng(seed)
    data = bytearray(file.read_bytes())
    first = 0 if seed % 2 else 8192
    for place in random.integers(first, len(data), size=1 + seed * 20):
        data[place] ^= int(random.integers(1, 256))
    file.write_bytes(data)
    refused = None
    found, problems = [], {}
    try:
        found, problems = read(path)
    except CausewatchError as error:
        refused = str(error)
    if refused is not None:
        assert refused.endswith(".")
        assert "\n" not in refused
    else:  # a number that was changed cannot be noticed
        assert len(found) == len(wanted) or problems


def test_a_recording_that_was_killed_while_a_chunk_was_open(tmp_path: Path) -> None:
    """ROS 1 writes the length of a chunk, and the index, only when they are complete."""
    path = write_bag(tmp_path / "whole.bag", "ros1", walk("ros1", 4.0), TOPICS)
    wanted, _ = read(path)
    from rosbags.rosbag1 import Reader

    with Reader(path) as reader:
        places = sorted(reader.chunks)
        last = places[-1]
        chunk = reader.chunks[last]
    data = bytearray(path.read_bytes()[: chunk.datapos + chunk.datasize])
    data[chunk.datapos - 4 : chunk.datapos] = bytes(4)
    index = data.index(b"index_pos=") + len(b"index_pos=")
    data[index : index + 8] = bytes(8)
    active = tmp_path / "run.bag.active"
    active.write_bytes(data)
    found, problems = read(active)
    assert found == wanted
    assert problems == {"damaged": 1}


def test_what_the_journal_of_a_database_holds_is_read(tmp_path: Path) -> None:
    """A recorder that was killed leaves its last messages there."""
    path = write_bag(tmp_path / "run", "sqlite3", walk("sqlite3", 1.0), TOPICS)
    wanted, _ = read(path)
    file = data_file(path)
    database = sqlite3.connect(file)
    database.execute("PRAGMA journal_mode=WAL")
    kept = database.execute("SELECT id, topic_id, timestamp, data FROM messages").fetchall()
    half = len(kept) // 2
    database.execute("DELETE FROM messages WHERE id > ?", (kept[half][0],))
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", kept[half + 1 :])
    database.commit()
    copy = tmp_path / "killed"
    copy.mkdir()
    for one in path.iterdir():
        shutil.copy(one, copy / one.name)
    database.close()
    assert any(one.name.endswith("-wal") for one in copy.iterdir())
    assert read(copy)[0] == wanted


def test_folders_of_several_files(tmp_path: Path) -> None:
    """In the order of their numbers; one that is no bag at all is counted."""
    items = walk("mcap", 3.0)
    whole = write_bag(tmp_path / "whole", "mcap", items, TOPICS)
    folder = tmp_path / "split"
    folder.mkdir()
    third = len(items) // 3
    for number, part in (
        (2, items[:third]),
        (9, items[third : 2 * third]),
        (10, items[2 * third :]),
    ):
        file = write_bag(tmp_path / f"part{number}", "mcap file", part, TOPICS)
        shutil.copy(file, folder / f"run_{number}.mcap")
    assert is_bag(folder)
    assert read(folder) == (read(whole)[0], {})
    (folder / "run_11.mcap").write_bytes(b"")
    assert read(folder) == (read(whole)[0], {"damaged": 1})


def test_messages_that_are_not_in_order_in_an_mcap_file(tmp_path: Path) -> None:
    """As recorders write them that save time; within the second that values may come late."""
    items = walk("mcap", 2.0)
    wanted, _ = read(write_bag(tmp_path / "a", "mcap", items, TOPICS))
    random = np.random.default_rng(3)
    mixed: list[Item] = sorted(items, key=lambda item: item[2] + int(random.integers(0, 5 * 10**7)))
    mixed.remove(items[0])
    mixed.insert(0, items[0])
    found, problems = read(write_bag(tmp_path / "b", "mcap", mixed, TOPICS))
    assert found == wanted
    assert problems == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#ROSBAG V2.0\n", "run.bag cannot be read as a bag"),
        (b"#ROSBAG V1.2\n" + bytes(100), "run.bag cannot be read as a bag"),
        (b"\x89MCAP0\r\n", "run.bag cannot be read as a bag"),
        (b"\x89MCAP0\r\n\x01" + bytes(60), "run.bag cannot be read as a bag"),
        (b"time,a\n1,2\n", "it begins like no bag"),
    ],
)
def test_what_cannot_be_opened_at_all_is_one_sentence(
    tmp_path: Path, content: bytes, said: str
) -> None:
    """That names the file."""
    path = tmp_path / "run.bag"
    path.write_bytes(content)
    with pytest.raises(StreamError, match=said) as error:
        BagSource(path, Wanted(COLUMNS, 1.0)).open({})
    assert str(error.value).count(". ") == 0


def test_what_is_a_bag_and_what_is_not(tmp_path: Path) -> None:
    """By what is inside, not by its name."""
    (tmp_path / "table.bag").write_text("time,a\n1,2\n")
    assert not is_bag(tmp_path / "table.bag")
    assert not is_bag(tmp_path / "absent.bag")
    assert not is_bag(tmp_path)
    database = sqlite3.connect(tmp_path / "other.db3")
    database.execute("CREATE TABLE alarms (id)")
    database.commit()
    database.close()
    assert not is_bag(tmp_path / "other.db3")
    assert not is_bag(tmp_path)
    types = Types("sqlite3")
    items: list[Item] = [("/battery", TOPICS["/battery"], 1, types.number(1.0))]
    path = write_bag(tmp_path / "x", "sqlite3", items, TOPICS)
    renamed = tmp_path / "renamed.dat"
    shutil.copy(data_file(path), renamed)
    assert is_bag(path)
    assert is_bag(renamed)
    with pytest.raises(StreamError, match=r"absent.bag cannot be read: No such file"):
        BagSource(tmp_path / "absent.bag", Wanted(COLUMNS, 1.0)).open({})
