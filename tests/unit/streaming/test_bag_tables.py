"""Bags as tables to learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.services.bags import KINDS, START, TOPICS, Item, Types, walk, write_bag

from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.bag_tables import fields_in_bag, read_bag
from causewatch.streaming.sources.bags import BagSource
from causewatch.streaming.tags import Tag, TagMap

pytest.importorskip("rosbags", reason="rosbags is not installed")


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_holds_the_rows_that_a_watch_would_see(tmp_path: Path, kind: str) -> None:
    """So that what is learnt from it fits; its columns are tags that a watch understands."""
    path = write_bag(tmp_path / "run.bag", kind, walk(kind, 2.0), TOPICS)
    table = read_bag(path)
    assert table.signals == fields_in_bag(path)
    assert table.interval == 0.01  # most signals are of the inertial sensor
    assert table.clock == "utc"
    assert table.starts.tolist() == [0]
    assert [one.name for one in table.files] == ["run.bag"]
    source = BagSource(path, Wanted(table.signals, table.interval))
    source.open({})
    values = []
    while not source.ended:
        values.append(source.poll(0.1).values)
    source.close()
    assert np.array_equal(np.concatenate(values), table.values, equal_nan=True)
    assert "/joint_states.position[name=HeadYaw]" in table.signals
    assert len(list(table.chunks(50))) == -(-len(table) // 50)


def test_tags_and_interval_can_be_said(tmp_path: Path) -> None:
    """Then only those signals are read."""
    path = write_bag(tmp_path / "run.bag", "mcap", walk("mcap", 2.0), TOPICS)
    tags = TagMap({"HeadYaw": Tag("HeadYaw", "yaw", 2.0)})
    table = read_bag(path, tags, every=0.1)
    assert table.signals == ("yaw",)
    assert table.interval == 0.1
    assert set(np.diff(table.time)) == {100_000_000}
    assert read_bag(path, tags).interval == pytest.approx(0.02, rel=0.05)
    with pytest.raises(SettingError, match="must be more than 0"):
        read_bag(path, tags, every=0.0)


def test_a_pause_of_hours_begins_a_new_stretch(tmp_path: Path) -> None:
    """Lags never reach across it; what was wrong is noted."""
    types, kind = Types("mcap"), TOPICS["/battery"]
    times = [*range(20), *range(40_000, 40_020)]
    items: list[Item] = [
        ("/battery", kind, START + k * 1_000_000_000, types.number(float(k))) for k in times
    ]
    items.insert(3, ("/battery", kind, START + 2_000_000_000, b"?"))
    path = write_bag(tmp_path / "run", "mcap", items, TOPICS)
    table = read_bag(path, TagMap({"/battery": Tag("/battery", "volt")}), 1.0)
    assert len(table.starts) == 2
    assert {note.kind: note.count for note in table.notes}["bad_messages"] == 1


def test_a_bag_with_too_little_in_it(tmp_path: Path) -> None:
    """Is said to have too little."""
    types, kind = Types("mcap"), TOPICS["/battery"]
    items: list[Item] = [("/battery", kind, START, types.number(1.0))]
    path = write_bag(tmp_path / "run", "mcap", items, TOPICS)
    with pytest.raises(NotEnoughDataError, match="too few messages"):
        read_bag(path)
    with pytest.raises(NotEnoughDataError, match="1 rows are left"):
        read_bag(path, every=1.0)
