"""Rows of real bags of all kinds."""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.services.bags import (
    KINDS,
    START,
    TOPICS,
    Item,
    Types,
    rows_of,
    values_of,
    walk,
    write_bag,
)

from causewatch.errors import SettingError, StreamError, UnknownNameError
from causewatch.streaming.address import parse_address
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources import bags
from causewatch.streaming.sources.bag_contents import BagOptions
from causewatch.streaming.sources.bags import BagSource, is_bag
from causewatch.streaming.tags import Tag, TagMap

pytest.importorskip("rosbags", reason="rosbags is not installed")

COLUMNS = (
    "HeadYaw.position",
    "LShoulder.velocity",
    "/imu/data.linear_acceleration.x",
    "/imu/data.linear_acceleration.z",
    "/battery",
)
NUMBER = "std_msgs/msg/Float64"


def read(source: BagSource, after: Any = None, most: int | None = None) -> list[tuple[Any, ...]]:
    """All rows, or the first ones, of a source that is opened for that."""
    source.open(after or {})
    return rows_of(source, most)


def resample(
    items: list[Item], columns: tuple[str, ...], every: float, stale: float
) -> list[tuple[Any, ...]]:
    """The slow, obvious way: for each row look through all values of each signal."""
    sent = values_of(items)
    step = round(every * 1e9)
    recorded = [
        (item[2], when)
        for name in columns
        for item, (when, _) in zip(
            [one for one in items if _topic_of(name) == one[0]], sent[name], strict=True
        )
    ]
    first = min(recorded)[1]
    last = max(when for _, when in recorded)
    rows = []
    for number in range(-(-first // step), -(-last // step) + 1):
        at = number * step
        row: list[float | None] = []
        for name in columns:
            before = [(when, k) for k, (when, _) in enumerate(sent[name]) if when <= at]
            value = None
            if before and at - max(before)[0] <= stale * 1e9:
                value = sent[name][max(before)[1]][1]
            row.append(value)
        rows.append((at, *row))
    return rows


def _topic_of(name: str) -> str:
    return name.partition(".")[0] if name.startswith("/") else "/joint_states"


@pytest.mark.parametrize("kind", [*KINDS, "mcap file"])
@pytest.mark.parametrize("every", [0.02, 0.07])
def test_rows_are_those_of_a_slow_and_obvious_resampling(
    tmp_path: Path, kind: str, every: float
) -> None:
    """Joints at 50 Hz, an inertial sensor at 100 Hz, a battery at 1 Hz that is soon stale."""
    items = walk(kind, 3.0)
    path = write_bag(tmp_path / "run.bag", kind, items, TOPICS)
    assert is_bag(path)
    options = BagOptions(stale=0.4)  # type: ignore[arg-type]
    source = BagSource(str(path), Wanted(COLUMNS, every), options)
    try:
        found = read(source)
        assert found == resample(items, COLUMNS, every, 0.4)
        assert any(row[-1] is None for row in found)
        assert any(row[-1] is not None for row in found)
        assert source.problems == {}
        assert source.missing == ()
        assert source.clock == "utc"
    finally:
        source.close()


@pytest.mark.parametrize(
    "kind", ["ros1+bz2", "ros1+lz4", "mcap+storage", "sqlite3+message", "sqlite3+file"]
)
def test_compressed_bags_hold_the_same_rows(tmp_path: Path, kind: str) -> None:
    """However they are compressed."""
    items = walk(kind.partition("+")[0], 1.5)
    plain = BagSource(
        write_bag(tmp_path / "a", kind.partition("+")[0], items, TOPICS), Wanted(COLUMNS, 0.02)
    )
    packed = BagSource(write_bag(tmp_path / "b", kind, items, TOPICS), Wanted(COLUMNS, 0.02))
    assert is_bag(tmp_path / "b")
    try:
        assert read(packed) == read(plain)
    finally:
        plain.close()
        packed.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_in_pieces_gives_the_same_rows(tmp_path: Path, kind: str) -> None:
    """Killed and resumed at any poll, as long as the position is that of the rows given out."""
    path = write_bag(tmp_path / "run.bag", kind, walk(kind, 4.0), TOPICS)
    whole = BagSource(path, Wanted(COLUMNS, 0.02))
    everything = read(whole)
    whole.close()
    found: list[Any] = []
    after: dict[str, Any] = {}
    for _ in range(200):
        source = BagSource(path, Wanted(COLUMNS, 0.02))
        found += read(source, after, most=1)
        after = json.loads(json.dumps(source.position()))
        source.poll(0.0)  # and lost, since no checkpoint holds it
        ended = source.ended
        source.close()
        if ended:
            break
    assert found == everything
    source = BagSource(path, Wanted(COLUMNS, 0.02))
    assert read(source, after) == []
    source.close()


@pytest.mark.parametrize("change", ["other values", "shorter"])
def test_another_bag_under_the_same_name_is_begun_anew(
    tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is known again by its first messages, not by its size."""
    path = write_bag(tmp_path / "run.bag", "mcap", walk("mcap", 2.0), TOPICS)
    source = BagSource(path, Wanted(COLUMNS, 0.02))
    read(source)
    after = source.position()
    source.close()
    items = walk("mcap", 2.0, seed=2) if change == "other values" else walk("mcap", 1.0)
    write_bag(path, "mcap", items, TOPICS)
    source = BagSource(path, Wanted(COLUMNS, 0.02))
    fresh = BagSource(path, Wanted(COLUMNS, 0.02))
    try:
        with caplog.at_level(logging.WARNING):
            assert read(source, after) == read(fresh)
        assert "is another bag than the one watched before" in caplog.text
        assert source.problems["other_bags"] == 1
    finally:
        source.close()
        fresh.close()


def test_a_bag_that_has_grown_goes_on(tmp_path: Path) -> None:
    """Without a row twice, and without a position lost while it is being found again."""
    items = walk("sqlite3", 2.0)
    cut = [item for item in items if item[2] < START + 1_000_000_000]
    path = write_bag(tmp_path / "run.bag", "sqlite3", cut, TOPICS)
    source = BagSource(path, Wanted(("HeadYaw",), 0.1))
    first = read(source)
    after = source.position()
    source.close()
    write_bag(path, "sqlite3", items, TOPICS)
    source = BagSource(path, Wanted(("HeadYaw",), 0.1))
    source.open(after)
    assert source.position() == after  # before anything was read
    source.close()
    second = read(source := BagSource(path, Wanted(("HeadYaw",), 0.1)), after)
    source.close()
    whole = read(source := BagSource(path, Wanted(("HeadYaw",), 0.1)))
    source.close()
    assert [row[0] for row in first + second] == [row[0] for row in whole]
    assert first[:-1] + second == whole[: len(first) - 1] + whole[len(first) :]


def test_tags_name_fields_and_change_units(tmp_path: Path) -> None:
    """Of those that are not there the signal is missing; limits of staleness are by tag."""
    items = walk("ros1", 1.0)
    path = write_bag(tmp_path / "run.bag", "ros1", items, TOPICS)
    tags = [
        Tag("/joint_states.position[name=HeadPitch]", "pitch", 57.3, 1.0),
        Tag("joint_states.position[1]", "same"),
        Tag("/lidar.range", "range"),
        Tag("/joint_states.effort[0]", "effort"),
        Tag("/battery", "volt", stale=0.05),
        Tag("/imu/data.orientation.w", "not wanted"),
    ]
    wanted = Wanted(
        ("pitch", "same", "range", "effort", "volt"),
        0.02,
        tags=TagMap({tag.tag: tag for tag in tags}),
    )
    source = BagSource(path, wanted)
    try:
        rows = read(source)
        assert source.missing == ("range", "effort")
        for row in rows[3:]:
            assert row[1] == pytest.approx(57.3 * row[2] + 1.0)
            assert row[3] is row[4] is None
        assert sum(row[5] is not None for row in rows) == 3  # at 0, 20 and 40 ms
    finally:
        source.close()


@pytest.mark.parametrize(
    ("tags", "error", "said"),
    [
        (["/joint_states.angle[0]"], UnknownNameError, "effort"),
        (["/nothing.x"], StreamError, r"topics are /battery, /camera, /imu/data, /joint_states"),
        (["/nothing.x"], StreamError, "orientation.z, /joint_states.position.name=HeadYaw"),
        (["/battery", "/battery.data"], SettingError, "has two fields"),
    ],
)
def test_what_does_not_exist_is_one_clear_error(
    tmp_path: Path, tags: list[str], error: type[Exception], said: str
) -> None:
    """When the bag is opened."""
    path = write_bag(tmp_path / "run.bag", "mcap", walk("mcap", 0.2), TOPICS)
    source = BagSource(path, Wanted(("s",), 1.0, tags=TagMap({tag: Tag(tag, "s") for tag in tags})))
    with pytest.raises(error, match=said):
        source.open({})
    assert source.status == "closed"


def test_types_that_only_the_bag_defines(tmp_path: Path) -> None:
    """The definition is in the bag."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store: Any = get_typestore(Stores.ROS1_NOETIC)
    store.register(get_types_from_msg("float64 from\nint32[2] counts", "plant/msg/Pump"))
    with Writer(tmp_path / "run.bag") as writer:
        pump = writer.add_connection("/pump", "plant/msg/Pump", typestore=store)
        for k in range(4):
            message = store.types["plant/msg/Pump"](k / 2, np.array([k, -k], dtype=np.int32))
            data = bytes(store.serialize_ros1(message, "plant/msg/Pump"))
            writer.write(pump, START + k * 1_000_000_000, data)
    source = BagSource(tmp_path / "run.bag", Wanted(("/pump.from", "/pump.counts[1]"), 1.0))
    try:
        assert [row[1:] for row in read(source)] == [(0, 0), (0.5, -1), (1, -2), (1.5, -3)]
    finally:
        source.close()


def test_older_bags_that_define_no_types(tmp_path: Path) -> None:
    """The types of a distribution are used; a topic whose type is unknown harms no other."""
    path = write_bag(tmp_path / "run", "sqlite3", walk("sqlite3", 1.0), TOPICS)
    wanted = Wanted(("HeadYaw", "/imu/data.linear_acceleration.x"), 0.02)
    source = BagSource(path, wanted)
    rows = read(source)
    source.close()
    with sqlite3.connect(next(path.glob("*.db3"))) as database:
        database.execute("DROP TABLE message_definitions")
        database.execute("UPDATE topics SET type = 'plant/msg/Cell' WHERE name = '/battery'")
    database.close()
    source = BagSource(path, wanted)
    assert read(source) == rows
    source.close()
    with pytest.raises(StreamError, match="'plant/msg/Cell' of /battery is neither defined"):
        BagSource(path, Wanted(("/battery", "HeadYaw"), 0.02)).open({})


def test_times_of_headers_and_of_recording(tmp_path: Path) -> None:
    """A header without a time, and messages without a header, have the time of recording."""
    types = Types("mcap")
    kind = TOPICS["/joint_states"]
    items: list[Item] = [
        ("/joint_states", kind, START + 3_000_000_000, types.joints(START, [1.0, 0.0, 0.0])),
        ("/joint_states", kind, START + 4_000_000_000, types.joints(0, [2.0, 0.0, 0.0])),
    ]
    path = write_bag(tmp_path / "run", "mcap", items, TOPICS)
    by: dict[str, list[int]] = {}
    for which in ("header", "log"):
        source = BagSource(
            parse_address(f"bag://{path}?time={which}&late=10s"), Wanted(("HeadYaw",), 1.0)
        )
        by[which] = [(row[0] - START) // 1_000_000_000 for row in read(source)]
        source.close()
    assert by == {"header": [0, 1, 2, 3, 4], "log": [3, 4]}


def test_the_clock_of_a_simulation_is_no_date(tmp_path: Path) -> None:
    """It counts from 0."""
    types = Types("mcap")
    items: list[Item] = [
        ("/battery", NUMBER, k * 1_000_000_000, types.number(float(k))) for k in range(5, 9)
    ]
    path = write_bag(tmp_path / "run", "mcap", items, TOPICS)
    source = BagSource(path, Wanted(("/battery",), 1.0))
    try:
        assert [row[0] // 1_000_000_000 for row in read(source)] == [5, 6, 7, 8]
        assert source.clock == "elapsed"
    finally:
        source.close()


def test_messages_that_make_no_sense_are_counted(tmp_path: Path) -> None:
    """And so are those that are too large, and numbers that are none."""
    types = Types("sqlite3")
    second = 1_000_000_000
    items: list[Item] = [
        ("/battery", NUMBER, START, types.number(1.0)),
        ("/battery", NUMBER, START + second, b"\x00\x01\x00\x00\x07"),
        ("/battery", NUMBER, START + 2 * second, bytes(100)),
        ("/battery", NUMBER, START + 3 * second, types.number(math.nan)),
        ("/battery", NUMBER, START + 4 * second, types.number(math.inf)),
        ("/battery", NUMBER, START + 5 * second, types.number(2.0)),
    ]
    path = write_bag(tmp_path / "run", "sqlite3", items, TOPICS)
    source = BagSource(path, Wanted(("/battery",), 1.0, limits=Limits(payload=50)))
    try:
        assert [row[1] for row in read(source)] == [1.0, 1.0, 1.0, None, None, 2.0]
        assert source.problems == {"bad_messages": 1, "too_large": 1, "bad_values": 2}
    finally:
        source.close()


def test_a_poll_is_short_however_long_the_bag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With rows so rare that none comes for a long time: each poll takes one slice of time."""
    path = write_bag(tmp_path / "run", "mcap", walk("mcap", 15.0), TOPICS)
    monkeypatch.setattr(bags, "SLICE", 0.0)
    source = BagSource(path, Wanted(COLUMNS, 3600.0))
    source.open({})
    polls = 0
    try:
        while not source.ended:
            source.poll(0.0)
            polls += 1
        assert polls > 20
    finally:
        source.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("bag://run.bag", "names no bag"),
        ("bag:///", "names no bag"),
        ("bag:///run.bag?time=noon", "one of header, log"),
        ("bag:///run.bag?distro=windows", "one of dashing"),
    ],
)
def test_addresses_that_make_no_sense(url: str, said: str) -> None:
    """Are refused before anything is opened."""
    with pytest.raises(SettingError, match=said):
        BagSource(parse_address(url), Wanted(("a",), 1.0))


def test_joints_of_several_publishers(tmp_path: Path) -> None:
    """Each message holds some of the joints only; a joint in two topics must be said by tags."""
    types = Types("mcap")
    kind = TOPICS["/joint_states"]
    topics = {**TOPICS, "/other_joints": kind}
    items: list[Item] = []
    for k in range(4):
        at = START + k * 100_000_000
        items += [
            ("/joint_states", kind, at, types.joints(at, [k], ["A"])),
            ("/joint_states", kind, at, types.joints(at, [k, -k], ["C", "B"])),
            ("/other_joints", kind, at, types.joints(at, [k], ["C"])),
        ]
    path = write_bag(tmp_path / "run", "mcap", items, topics)
    source = BagSource(path, Wanted(("A.position", "B", "C.position", "D.velocity"), 0.1))
    try:
        assert [row[1:] for row in read(source)] == [(k, -k, None, None) for k in range(4)]
        assert source.missing == ("C.position", "D.velocity")
    finally:
        source.close()
