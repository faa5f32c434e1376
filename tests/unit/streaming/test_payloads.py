"""Messages that hold rows, and messages that hold anything."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.streaming.payloads import BadPayloadError, RowDecoder, decode_json
from causewatch.streaming.source import Limits, Reading, Wanted
from causewatch.streaming.tags import Tag, TagMap

COLUMNS = ("a", "b")
KINDS = {"too_large", "too_deep", "not_json", "not_a_row"}


def decoder(**settings_: Any) -> RowDecoder:
    return RowDecoder(Wanted(COLUMNS, 1.0, **settings_))


@pytest.mark.parametrize(
    ("payload", "row", "when"),
    [
        ('{"time": "2026-01-01", "a": 1, "b": 2.5}', {"a": 1, "b": 2.5}, "2026-01-01"),
        ('{"a": 1, "Time Stamp": 5}', {"a": 1}, 5),
        ('{"a": 1, "timing": 5}', {"a": 1, "timing": 5}, None),
        ('{"ts": 7, "values": {"a": 1}, "site": "x"}', {"a": 1}, 7),
        ('{"values": {"a": 1, "t": 7}}', {"a": 1}, 7),
        ('{"values": 3, "a": 1}', {"values": 3, "a": 1}, None),
        ('{"a": null, "b": true}', {"a": None, "b": True}, None),
        ('{"a": "Bad", "b": ""}', {"a": "Bad", "b": ""}, None),
        ('{"a": [1, 2], "b": {"c": 1}}', {"a": "[…]", "b": "{…}"}, None),
        ('{"a": 1, "a": 2}', {"a": 2}, None),
        ('{"time": [1], "a": 2}', {"a": 2}, "[…]"),
        ('{"a": 1e999, "b": -Infinity}', {"a": math.inf, "b": -math.inf}, None),
        ("{}", {}, None),
    ],
)
def test_rows(payload: str, row: dict[str, Any], when: Any) -> None:
    assert decoder().row(payload.encode()) == (row, when)


def test_not_a_number_is_read_as_one() -> None:
    row, _ = decoder().row(b'{"a": NaN}')
    assert math.isnan(row["a"])


def test_what_the_user_says_about_rows() -> None:
    reading = Reading(time="when", time_format="%d.%m.%Y %H:%M", ignore=("site",))
    target = decoder(reading=reading)
    payload = b'{"time": 3, "when": " 02.01.2026 10:30 ", "site": "x", "a": 1}'
    assert target.row(payload) == ({"time": 3, "a": 1}, datetime(2026, 1, 2, 10, 30))
    assert target.row(b'{"when": "tomorrow", "a": 1}') == ({"a": 1}, "tomorrow")
    assert target.row(b'{"time": 3, "a": 1}') == ({"time": 3, "a": 1}, None)


def test_times_may_be_days_of_a_spreadsheet() -> None:
    target = decoder(reading=Reading(time_format="excel"))
    for when in (45000.25, "45000.25"):
        payload = json.dumps({"time": when, "a": 1}).encode()
        assert target.row(payload) == ({"a": 1}, datetime(2023, 3, 15, 6))
    for when in (7, True, "x", 1e300):
        assert target.row(json.dumps({"time": when}).encode()) == ({}, when)


def test_a_signal_with_the_name_of_a_time_is_a_signal() -> None:
    target = RowDecoder(Wanted(("t", "a"), 1.0))
    assert target.row(b'{"t": 20.5, "a": 1, "date": 5}') == ({"t": 20.5, "a": 1}, 5)
    tagged = decoder(tags=TagMap({"t": Tag("t", "a")}))
    assert tagged.row(b'{"t": 20.5, "date": 5}') == ({"a": 20.5}, 5)


def test_tags_are_renamed_and_converted() -> None:
    long = "plant/" + "x" * 300
    tags = TagMap({long: Tag(long, "a", 2.0, 1.0)})
    row, _ = decoder(tags=tags).row(json.dumps({long: 3, "other": 4, "b": [1]}).encode())
    assert row == {"a": 7.0, "other": 4, "b": "[…]"}


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"\0\1\2", "not_json"),
        (b"\xff\xfe\xff", "not_json"),
        (b'{"a": \xff}', "not_json"),
        (b"{'a': 1}", "not_json"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not_json"),
        (b'{"a": 1} x', "not_json"),
        (b"[" * 500_000, "too_deep"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b"1", "not_a_row"),
        (b"null", "not_a_row"),
        (b'"text"', "not_a_row"),
        (b'[{"a": 1}]', "not_a_row"),
        (b" " * ((1 << 20) + 1), "too_large"),
    ],
)
def test_what_makes_no_sense_is_named(payload: bytes, kind: str) -> None:
    with pytest.raises(BadPayloadError) as caught:
        decoder().row(payload)
    assert caught.value.kind == kind


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_are_read(encoding: str) -> None:
    assert decoder().row('{"a": 1, "ü": 2}'.encode(encoding)) == ({"a": 1, "ü": 2}, None)


def assert_safe(row: Any, when: Any, wanted: int = len(COLUMNS)) -> None:
    """Whatever becomes of it, it can be written, shown and kept."""
    assert len(row) <= 1000 + wanted
    for name in row:
        assert len(name) <= 201
        name.encode()
    for value in [*row.values(), when]:
        assert isinstance(value, float | int | bool | str | None | datetime)
        if isinstance(value, str):
            assert len(value) <= 201
            value.encode()


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps({f"k{n}": n for n in range(60_000)} | {"a": 5, "t": 9}).encode(),
        b'{"' + b"k" * 1_000_000 + b'": 1, "a": 5}',
        b'{"a": 5, "b": "' + b"1" * 1_000_000 + b'"}',
        b'{"a": 5, "b": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"a": 5, "time": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"a": 5, "\\ud800": "\\udfff", "time": "\\ud800"}',
        b'{"a": 5, "\xed\xa0\x80": 1}',
        b'{"a": 5, "x\\u0000y": "\\u0000"}',
        b'{"a": 5, "b": ' + b"9" * 4000 + b"}",
        b'{"a": 5, "b": 1' + b"0" * 500_000 + b".5}",
        b'{"a": 5, "b": 0.' + b"1" * 1_000_000 + b"}",
    ],
)
def test_hostile_rows_come_out_tame(payload: bytes) -> None:
    row, when = decoder().row(payload)
    assert row["a"] == 5
    assert_safe(row, when)


def test_the_time_is_found_among_many_names_only_if_it_is_one_of_the_first() -> None:
    many = {f"k{n}": n for n in range(3_000)}
    target = decoder()
    assert target.row(json.dumps({"time": 9, **many}).encode())[1] == 9
    assert target.row(json.dumps({**many, "time": 9}).encode())[1] == 9  # now it is known
    assert decoder().row(json.dumps({**many, "time": 9}).encode())[1] is None


names = st.one_of(
    st.sampled_from(["a", "b", "time", "values", "t", ""]),
    st.text(max_size=5),
    st.text(min_size=250, max_size=260),
)
anything: Any = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**400), 10**400),
        st.floats(),
        st.text(st.characters(), max_size=10),
        st.text(min_size=250, max_size=260),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(
    payloads=st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.dictionaries(names, anything, max_size=6).map(lambda one: json.dumps(one).encode()),
            anything.map(lambda one: json.dumps(one).encode()),
            st.tuples(
                st.dictionaries(names, anything, max_size=3).map(
                    lambda one: json.dumps(one).encode("utf-16")
                ),
                st.integers(0, 100),
            ).map(lambda pair: pair[0][: pair[1]]),
        ),
        max_size=4,
    ),
    tagged=st.booleans(),
    time=st.sampled_from([None, "time", "a"]),
    form=st.sampled_from([None, "%Y", "%G-%V-%u", "excel"]),
)
def test_any_message_is_a_row_or_refused(
    payloads: list[bytes], tagged: bool, time: str | None, form: str | None
) -> None:
    target = decoder(
        reading=Reading(time=time, time_format=form),
        tags=TagMap({"b": Tag("b", "b", 1e300, -1.0)} if tagged else {}),
        limits=Limits(payload=2000),
    )
    for payload in payloads:
        try:
            row, when = target.row(payload)
        except BadPayloadError as error:
            assert error.kind in KINDS  # noqa: PT017
        else:
            assert_safe(row, when)


def test_the_limit_is_one_of_bytes() -> None:
    assert decode_json(b"[1]", 3) == [1]
    with pytest.raises(BadPayloadError, match="too_large"):
        decode_json(b"[1]", 2)
