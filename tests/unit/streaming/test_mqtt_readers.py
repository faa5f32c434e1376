"""Rows and tags in MQTT messages, good and bad."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

from causewatch.streaming.message_rows import TagOptions, moment
from causewatch.streaming.source import Limits, Wanted
from causewatch.streaming.sources.mqtt_readers import (
    Reader,
    RowsReader,
    TagsReader,
)
from causewatch.streaming.tags import Tag, TagMap

NS = 1_000_000_000
T0 = 1_767_225_600


def rows_reader(sequence: str = "") -> RowsReader:
    return RowsReader(Wanted(("a", "b"), 1.0, limits=Limits(payload=1000)), sequence)


def tags_reader(topic: str = "plant/#", tags: TagMap | None = None) -> TagsReader:
    wanted = Wanted(("a", "b"), 1.0, tags=tags or TagMap(), limits=Limits(payload=1000))
    return TagsReader(wanted, TagOptions(), topic)


def take(reader: Reader, payload: Any, topic: str = "plant/rows", received: int = 0) -> None:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    reader.take(topic, data, received, False)


def test_rows() -> None:
    reader = rows_reader()
    assert reader.missing == ()
    take(reader, {"time": 1, "a": 2.5})
    assert reader.missing == ("b",)
    take(reader, {"time": 2, "a": 2.5, "b": None})
    assert list(reader.rows().named) == [({"a": 2.5}, 1), ({"a": 2.5, "b": None}, 2)]
    assert len(reader.rows()) == 0
    assert reader.missing == ()


def counted(reader: RowsReader, *numbers: Any, topic: str = "plant/rows") -> list[Any]:
    for number in numbers:
        take(reader, {"time": 0, "a": number, "n": number}, topic)
    return [row["a"] for row, _ in reader.rows().named]


def test_a_count_shows_lost_and_repeated_rows() -> None:
    reader = rows_reader("n")
    assert counted(reader, 5, 6, 9, 9, 8, 10) == [5, 6, 9, 10]
    assert reader.problems == {"lost_rows": 2, "duplicates": 2}


def test_the_count_is_no_signal_and_goes_through_a_checkpoint() -> None:
    reader = rows_reader("n")
    take(reader, {"time": 0, "a": 1, "n": 1})
    take(reader, {"time": 0, "values": {"a": 1, "n": 2}})
    assert [dict(row) for row, _ in reader.rows().named] == [{"a": 1}, {"a": 1}]
    again = rows_reader("n")
    again.restore(json.loads(json.dumps(reader.snapshot())))
    assert counted(again, 2, 3) == [3]


def test_each_topic_has_its_own_count() -> None:
    reader = rows_reader("n")
    assert counted(reader, 5, 6) == [5, 6]
    assert counted(reader, 1, 2, topic="plant/other") == [1, 2]
    assert reader.problems == {}


@pytest.mark.parametrize("first", [0, 1])
def test_a_sender_may_begin_anew(first: int) -> None:
    reader = rows_reader("n")
    assert counted(reader, 500, 501, first, first + 1) == [500, 501, first, first + 1]
    assert reader.problems == {"sequence_restarts": 1}


@pytest.mark.parametrize("count", [None, "7", 1.5, True, -1, 10**30])
def test_a_count_that_is_none(count: Any) -> None:
    reader = rows_reader("n")
    assert counted(reader, count) == [count]
    assert reader.problems == {"bad_sequence": 1}


def test_retained_rows_are_left_out() -> None:
    reader = rows_reader()
    reader.take("plant/rows", b'{"a": 1}', 0, True)
    assert reader.problems == {"retained": 1}
    assert len(reader.rows()) == 0


def test_tags_with_times() -> None:
    reader = tags_reader()
    for second in range(3):
        take(reader, {"value": second, "time": T0 + second}, "plant/a")
        take(reader, {"value": 2.0 * second, "timestamp": (T0 + second) * 1000}, "plant/b")
    batch = reader.rows()
    assert batch.times.tolist() == [T0 * NS, (T0 + 1) * NS]
    assert batch.values.tolist() == [[0.0, 0.0], [1.0, 2.0]]
    assert reader.clock == "utc"


def test_plain_numbers_take_the_time_they_come() -> None:
    reader = tags_reader()
    take(reader, b"1.5", "plant/a", T0 * NS)
    take(reader, b" -2e3 ", "plant/b", T0 * NS + 1)
    take(reader, b"true", "plant/a", (T0 + 2) * NS)
    take(reader, b"3", "plant/a", (T0 + 3) * NS)
    batch = reader.rows()
    assert np.array_equal(
        batch.values, [[1.5, np.nan], [1.5, -2000.0], [1.0, -2000.0]], equal_nan=True
    )


def test_no_rows_are_made_up_while_no_values_come() -> None:
    """Nor after a restart: nobody knows whether nothing has changed, or nobody is there."""
    reader = tags_reader()
    take(reader, b"1.5", "plant/a", T0 * NS)
    take(reader, b"2.5", "plant/b", (T0 + 1) * NS)
    assert len(reader.rows()) == 1
    assert len(reader.rows()) == 0
    again = tags_reader()
    again.restore(json.loads(json.dumps(reader.snapshot())))
    assert len(again.rows()) == 0
    # The next value tells that the others are still what they were.
    take(again, b"3.5", "plant/a", (T0 + 60) * NS)
    assert len(again.rows()) == 59


def test_tags_of_a_map() -> None:
    tags = TagMap({"line1/T": Tag("line1/T", "a", factor=0.5, offset=10.0)})
    reader = tags_reader(tags=tags)
    take(reader, {"value": 4, "time": T0}, "plant/line1/T")
    take(reader, {"value": 4, "time": T0}, "plant/line1/F")
    take(reader, {"value": 4, "time": T0 + 1}, "plant/line1/T")
    assert reader.rows().values[0, 0] == 12.0
    assert reader.problems == {"unknown_tags": 1}
    assert reader.missing == ("b",)


def test_values_that_are_none_are_missing() -> None:
    reader = tags_reader()
    for second, value in enumerate([None, "on", [1], math.inf, 10**400]):
        take(reader, {"value": value, "time": T0 + second}, "plant/a")
    assert np.isnan(reader.rows().values).all()
    assert reader.problems == {"bad_values": 4}


@pytest.mark.parametrize("when", ["yesterday", True, [], 12.5, -1, 1e30, math.nan, "", 10**400])
def test_times_that_are_none(when: Any) -> None:
    reader = tags_reader()
    take(reader, {"value": 1, "time": when}, "plant/a")
    assert reader.problems == {"bad_times": 1}


@pytest.mark.parametrize(
    ("when", "wanted"),
    [
        (T0, T0 * NS),
        (T0 + 0.25, T0 * NS + NS // 4),
        (T0 * 1000 + 1, T0 * NS + 1_000_000),
        (T0 * 1_000_000 + 1, T0 * NS + 1_000),
        (T0 * NS + 1, T0 * NS + 1),
        ("2026-01-01T00:00:00Z", T0 * NS),
        ("2026-01-01T01:00:00+01:00", T0 * NS),
        (" 2026-01-01 00:00:00.5 ", T0 * NS + NS // 2),
    ],
)
def test_times(when: Any, wanted: int) -> None:
    assert moment(when) == wanted


def test_a_tag_without_a_value_is_no_tag() -> None:
    reader = tags_reader()
    take(reader, {"time": T0}, "plant/a")
    assert reader.problems == {"not_a_row": 1}


def test_hostile_messages_are_read_or_refused() -> None:
    chance = random.Random(2)
    good = json.dumps({"time": T0, "values": {"a": 1.5, "b": -2}, "n": 7, "value": 3}).encode()
    odd = [
        b"",
        b"null",
        b"[" * 900,
        b'{"a":' * 150,
        b'{"time": {"time": 1}, "value": {}}',
        b'{"values": 5, "time": []}',
        b'{"value": NaN, "time": Infinity}',
        b'{"value": 1e999, "time": -1e999}',
        b"9" * 999,
        b'{"a": "\\ud800", "time": "\\ud800", "value": "\\ud800"}',
        b"\xff\xfe{}",
        b"1" * 1001,
        b'{"time": "1970-01-01", "value": 1}',
        b'{"time": "2100-01-01", "value": 1}',
        b'{"time": "9999-12-31T23:59:59.999999-23:59", "value": 1}',
    ]
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        odd.append(bytes(data))
    readers: list[Reader] = [rows_reader("n"), tags_reader()]
    for reader in readers:
        for payload in odd:
            reader.take("plant/a", payload, T0 * NS, False)
        assert reader.problems["not_json"] > 100
        reader.rows()
        json.dumps(reader.snapshot())
