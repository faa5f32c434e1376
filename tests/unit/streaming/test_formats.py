"""Formats: what a receiver reads is what was told, whatever signs it holds."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from causewatch.errors import UnknownNameError
from causewatch.streaming.formats import CONTENT_TYPES, FORMATS, VERSION, formatted, severity
from causewatch.streaming.sink import Notice
from causewatch.testing import example_event

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from('|=\\\n\r\t\x00\x1b\x7f\x85\u2028" cs1='), st.characters(codec="utf-8")
    ),
    max_size=40,
) | st.sampled_from(["", " ", "\\", "\\\\", "a=b", "a |b", "end\\", " cs2=x", "\r\n", "\ud800"])


def read_cef(line: str) -> tuple[list[str], dict[str, str]]:
    """A parser written from the rules of CEF, and from nothing else."""
    assert line.startswith("CEF:0|")
    fields, field, at = [], "", len("CEF:0|")
    while len(fields) < 6:
        if line[at] == "\\":
            assert line[at + 1] in "\\|", "an escape that the header does not have"
            field += line[at + 1]
            at += 2
        elif line[at] == "|":
            fields.append(field)
            field = ""
            at += 1
        else:
            field += line[at]
            at += 1
    rest = line[at:]
    # A key begins after a blank and ends with an equals sign that nothing stands before.
    keys = list(re.finditer(r"(?:^| )([A-Za-z0-9]+)=", rest))
    found = {}
    for one, following in zip(keys, [*keys[1:], None], strict=True):
        raw = rest[one.end() : len(rest) if following is None else following.start()]
        value = re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), raw)
        assert re.fullmatch(r"(?:[^\\=]|\\[\\=nr])*", raw), "an escape that values do not have"
        found[one[1]] = value
    return fields, found


def shown(text: str, *, keep: str = "") -> str:
    """What becomes of `text` by rule: a blank for control characters, a mark for halves."""
    made = CONTROL.sub(lambda m: m[0] if m[0] in keep else " ", text)
    return re.sub("[\ud800-\udfff]", "\ufffd", made)


@given(headline=HOSTILE, signal=HOSTILE, watch=HOSTILE, by=HOSTILE, problem=HOSTILE)
def test_every_field_of_cef_is_read_back(
    headline: str, signal: str, watch: str, by: str, problem: str
) -> None:
    body = example_event(1) | {
        "headline": headline,
        "signals": {signal: 2.0},
        "causes": [{"signal": signal, "confidence": 0.25}],
        "acknowledged_by": by,
        "problem": problem,
    }
    notice = Notice(7, watch, body, "b3d0c52a9e417f68")
    line = formatted(notice, "cef")
    assert len(line.splitlines()) == 1
    line.encode()
    fields, found = read_cef(line)
    name = shown(headline) if headline else "An alarm without a headline"
    assert fields == ["causewatch", "causewatch", VERSION, "anomaly-updated", name, "8"]
    lines = "\r\n"
    assert found.get("msg", "") == shown(headline, keep=lines)
    assert found["cs1"] == shown(watch, keep=lines)
    assert found["cs2"] == shown(signal, keep=lines) + " (25 %)"
    assert found.get("cs3", "") == shown(signal, keep=lines)
    assert found["cs5"] == shown(by, keep=lines)
    assert found["cs6"] == shown(problem, keep=lines)
    assert found["cn1"] == "7"
    assert found["flexString2Label"] == "key"
    assert found["flexString2"] == shown(notice.key, keep=lines)
    assert found["externalId"] == body["id"]
    assert found["rt"] == "1767225601000"
    for key in ("cs1", "cs2", "cs5", "cs6", "cn1", "cfp1"):
        assert found[f"{key}Label"].isalpha()


def test_cef_holds_to_its_longest() -> None:
    body = example_event(1) | {"headline": "x" * 9000, "signals": {"y" * 9000: 1.0}}
    fields, found = read_cef(formatted(Notice(1, "line 1", body), "cef"))
    assert len(fields[4]) == 512
    assert len(found["msg"]) == 1023
    assert len(found["cs3"]) == 4000
    assert found["msg"].endswith("…")


@pytest.mark.parametrize(
    ("time", "told"),
    [
        ("2026-01-02T03:04:05.678Z", {"rt": "1767323045678"}),
        ("2026-01-02T03:04:05.678901Z", {"rt": "1767323045678"}),
        ("2026-01-02T03:04:05", {"rt": "Jan 02 2026 03:04:05.000"}),
        ("90.5s", {"flexString1Label": "time", "flexString1": "90.5s"}),
        ("row 12", {"flexString1Label": "time", "flexString1": "row 12"}),
    ],
)
def test_times_of_every_clock(time: str, told: dict[str, str]) -> None:
    body = example_event(1) | {"time": time}
    _, found = read_cef(formatted(Notice(1, "line 1", body), "cef"))
    times = {key: found[key] for key in ("rt", "flexString1Label", "flexString1") if key in found}
    assert times == told


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"event": "cleared"}, 2),
        ({"event": "updated", "normal": True}, 2),
        ({"event": "acknowledged"}, 3),
        ({"event": "shelved"}, 3),
        ({"event": "raised", "kind": "health"}, 5),
        ({"event": "raised", "peak_score": None}, 7),
        ({"event": "raised", "peak_score": 1.2}, 7),
        ({"event": "raised", "peak_score": 2.0}, 8),
        ({"event": "updated", "peak_score": 5.0}, 9),
        ({"event": "raised", "peak_score": 1e9}, 10),
    ],
)
def test_severity(changes: dict[str, Any], expected: int) -> None:
    assert severity({"kind": "anomaly", "peak_score": 9.0} | changes) == expected


@given(headline=HOSTILE, signal=HOSTILE, watch=HOSTILE)
def test_json_comes_back_whole(headline: str, signal: str, watch: str) -> None:
    body = example_event(2) | {"headline": headline, "signals": {signal: 1.0}}
    line = formatted(Notice(3, watch, body), "json")
    assert "\n" not in line
    assert json.loads(line.encode()) == body | {"watch": watch}


def check_message(store: Any, kind: str, message: Any) -> None:
    """Whether JSON has exactly the fields of a message of ROS, all the way down."""
    base, plain, sequence = 1, {"string": str, "byte": int, "int32": int, "uint32": int}, 4
    _, fields = store.fielddefs[kind]
    assert list(message) == [name for name, _ in fields]
    for name, (node, what) in fields:
        if node == base:
            assert type(message[name]) is plain[what[0]], name
        elif node == sequence:
            for one in message[name]:
                check_message(store, what[0][1], one)
        else:
            check_message(store, what, message[name])


@given(headline=HOSTILE, signal=HOSTILE, watch=HOSTILE)
def test_diagnostics_are_a_message_of_ros(headline: str, signal: str, watch: str) -> None:
    body = example_event(1) | {"headline": headline, "signals": {signal: 1.0}}
    message = json.loads(formatted(Notice(3, watch, body), "diagnostics").encode())
    check_message(STORE, "diagnostic_msgs/msg/DiagnosticArray", message)
    status = message["status"][0]
    assert (status["message"], status["hardware_id"]) == (headline, watch)
    values = {one["key"]: one["value"] for one in status["values"]}
    assert values.get("signals", "") == signal
    assert message["header"]["stamp"] == {"sec": 1767225601, "nanosec": 0}


STORE = get_typestore(Stores.ROS2_HUMBLE)


def test_diagnostics_can_be_written_by_ros() -> None:
    """The fields make a message that the library of another project takes and gives back."""
    told = json.loads(formatted(Notice(3, "line 1", example_event(1)), "diagnostics"))
    types = STORE.types
    status = told["status"][0]
    values = [types["diagnostic_msgs/msg/KeyValue"](**one) for one in status["values"]]
    header = types["std_msgs/msg/Header"](
        types["builtin_interfaces/msg/Time"](**told["header"]["stamp"]),
        told["header"]["frame_id"],
    )
    array = types["diagnostic_msgs/msg/DiagnosticArray"](
        header, [types["diagnostic_msgs/msg/DiagnosticStatus"](**status | {"values": values})]
    )
    kind = "diagnostic_msgs/msg/DiagnosticArray"
    back: Any = STORE.deserialize_cdr(STORE.serialize_cdr(array, kind), kind)
    assert back.status[0].message == status["message"]
    assert back.status[0].level == status["level"]


@pytest.mark.parametrize(
    ("event", "kind", "problem", "level"),
    [
        ("cleared", "anomaly", None, "OK"),
        ("cleared", "health", "missing", "OK"),
        ("acknowledged", "anomaly", None, "WARN"),
        ("shelved", "anomaly", None, "WARN"),
        ("raised", "anomaly", None, "ERROR"),
        ("updated", "anomaly", None, "ERROR"),
        ("raised", "health", "frozen", "WARN"),
        ("raised", "health", "missing", "STALE"),
        ("updated", "health", "stale", "STALE"),
    ],
)
def test_levels(event: str, kind: str, problem: str | None, level: str) -> None:
    constants = {
        name: value for name, _, value in STORE.fielddefs["diagnostic_msgs/msg/DiagnosticStatus"][0]
    }
    body = example_event(1) | {"event": event, "kind": kind, "problem": problem}
    message = json.loads(formatted(Notice(3, "line 1", body), "diagnostics"))
    assert message["status"][0]["level"] == constants[level]


@pytest.mark.parametrize("time", ["row 3", "90s", "9999-01-01T00:00:00Z", "0001-01-01T00:00:00"])
def test_a_time_that_ros_cannot_hold_is_none(time: str) -> None:
    body = example_event(1) | {"time": time}
    message = json.loads(formatted(Notice(3, "line 1", body), "diagnostics"))
    assert message["header"]["stamp"] == {"sec": 0, "nanosec": 0}


def test_an_event_without_anything_can_be_told() -> None:
    for format in FORMATS:
        assert formatted(Notice(1, "line 1", {}), format)
        assert format in CONTENT_TYPES


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"no format .xml..*json, cef, diagnostics"):
        formatted(Notice(1, "line 1", {}), "xml")
