"""Rows from the messages of a log."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.streaming.address import Seconds
from causewatch.streaming.message_rows import MessageOptions, RowMessages, TagMessages, moment
from causewatch.streaming.source import Reading, Wanted
from causewatch.streaming.tags import Tag, TagMap

SECOND = 10**9
BEGIN = 1_767_225_600 * SECOND  # 2026
TAGS = MessageOptions(format="tags")


def values(*pairs: tuple[str, bytes, int | None], **wanted: Any) -> TagMessages:
    made = TagMessages(Wanted(("a", "b"), 1.0, **wanted), TAGS)
    for tag, payload, stamp in pairs:
        made.take(tag, payload, stamp)
    return made


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("2026-01-01T00:00:00Z", BEGIN),
        ("2026-01-01T01:00:00.5+01:00", BEGIN + SECOND // 2),
        ("2026-01-01 00:00:00", BEGIN),
        (1_767_225_600, BEGIN),
        (1_767_225_600.25, BEGIN + SECOND // 4),
        (1_767_225_600_001, BEGIN + 10**6),
        (1_767_225_600_000_001, BEGIN + 10**3),
        (BEGIN + 1, BEGIN + 1),
        ("noon", None),
        (12, None),
        (1e300, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (True, None),
        ([], None),
        (None, None),
    ],
)
def test_times_as_people_write_them(told: Any, found: int | None) -> None:
    assert moment(told) == found


def test_times_of_a_form_of_their_own() -> None:
    assert moment("01.01.2026 00:00", "%d.%m.%Y %H:%M") == BEGIN
    assert moment("2026-01-01T00:00:00Z", "%d.%m.%Y %H:%M") is None


def test_a_value_has_its_own_time_or_that_of_its_message() -> None:
    told = json.dumps({"value": 3, "t": "2026-01-01T00:00:01Z"}).encode()
    made = values(("a", b"1.5", BEGIN), ("b", told, BEGIN + 9), ("a", b"2", BEGIN + 2 * SECOND))
    batch = made.rows()
    assert batch.times.tolist()[:2] == [BEGIN, BEGIN + SECOND]
    assert np.array_equal(batch.values[:2], [[1.5, np.nan], [1.5, 3.0]], equal_nan=True)
    assert made.clock == "utc"
    assert not made.problems


def test_what_makes_no_sense_is_counted_by_kind() -> None:
    made = values(
        ("a", b"{", BEGIN),
        ("a", b"1", None),
        ("a", b'{"val": 1}', BEGIN),
        ("a", b'{"value": 1, "time": "noon"}', BEGIN),
        ("a", b'{"value": "much"}', BEGIN),
        ("c", b"1", BEGIN),
    )
    made.take(None, b"1", BEGIN)
    assert made.problems == {
        "not_json": 1,
        "bad_times": 2,
        "not_a_row": 1,
        "bad_values": 1,
        "unknown_tags": 1,
        "no_tag": 1,
    }


def test_no_value_is_never_the_last_one() -> None:
    made = values(
        ("a", b"1", BEGIN), ("a", b"null", BEGIN + SECOND), ("b", b"5", BEGIN + 2 * SECOND)
    )
    assert np.isnan(made.rows().values[1, 0])
    assert not made.problems


def test_tags_have_their_names_units_and_limits() -> None:
    tags = TagMap({"x": Tag("x", "a", factor=2.0, stale=1.0)})
    made = values(("x", b"1", BEGIN), ("a", b"1", BEGIN), tags=tags)
    made.take("x", b"4", BEGIN + 5 * SECOND)
    batch = made.rows()
    assert batch.values[:4, 0].tolist()[:2] == [2.0, 2.0]
    assert np.isnan(batch.values[2:4, 0]).all()
    assert made.problems == {"unknown_tags": 1}
    assert made.missing == ("b",)


def test_a_snapshot_is_all_that_rows_to_come_depend_on() -> None:
    rng = np.random.default_rng(0)
    messages = [
        ("ab"[k % 2], b"%d" % k, BEGIN + int(rng.integers(-2, 3) + k) * SECOND // 3)
        for k in range(200)
    ]
    options = MessageOptions(format="tags", late=Seconds(2.0), stale=Seconds(10.0))

    def run(cuts: set[int]) -> list[Any]:
        made = TagMessages(Wanted(("a", "b"), 1.0), options)
        rows: list[Any] = []
        for k, message in enumerate(messages):
            made.take(*message)
            batch = made.rows()
            rows += zip(batch.times.tolist(), batch.values.tolist(), strict=True)
            if k in cuts:
                saved = json.loads(json.dumps(made.snapshot()))
                made = TagMessages(Wanted(("a", "b"), 1.0), options)
                made.restore(saved)
        return rows

    assert len(run(set())) > 50
    assert repr(run({3, 50, 51, 120})) == repr(run(set()))


def test_rows_say_which_columns_they_lack() -> None:
    made = RowMessages(Wanted(("a", "b"), 1.0, reading=Reading(time="when")))
    assert made.missing == ()
    made.take(None, b'{"when": 5, "a": 1}', None)
    assert made.missing == ("b",)
    assert list(made.rows().named) == [({"a": 1}, 5)]
    assert not len(made.rows())


@given(payload=st.binary() | st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["value", "time", "a"]), inner),
).map(lambda found: json.dumps(found).encode()))  # fmt: skip
def test_nothing_that_comes_can_break_it(payload: bytes) -> None:
    for made in (RowMessages(Wanted(("a",), 1.0)), TagMessages(Wanted(("a",), 1.0), TAGS)):
        made.take("a", payload, BEGIN)
        made.rows()
        json.dumps(made.snapshot())
