"""Sparkplug B: payloads, births, deaths, gaps."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from causewatch.streaming.payloads import BadPayloadError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.sparkplug import SparkplugNodes
from causewatch.streaming.sources.sparkplug_payload import (
    MOST_METRICS,
    decode_payload,
    encode_rebirth,
)
from causewatch.streaming.tags import Tag, TagMap
from services import sparkplug as sp

NOW = 1_767_225_600_000  # ms
MS = 1_000_000
BASE = "spBv1.0/plant"


def nodes(*columns: str, tags: TagMap | None = None, ask: bool = True) -> SparkplugNodes:
    return SparkplugNodes(Wanted(columns, 1.0, tags=tags or TagMap()), ask=ask)


def take(
    made: SparkplugNodes, topic: str, data: bytes, received: int = NOW * MS
) -> dict[str, tuple[float, int]]:
    found, _ = made.take(f"{BASE}/{topic}", data, received)
    return {signal: (value, when // MS - NOW) for signal, value, when in found}


def birth(*metrics: bytes, seq: int = 0, death: int | None = None, timestamp: int = NOW) -> bytes:
    own = [] if death is None else [sp.metric("bdSeq", death, sp.INT64)]
    return sp.payload([*own, *metrics], seq=seq, timestamp=timestamp)


@pytest.mark.parametrize(
    ("datatype", "value"),
    [
        (sp.INT8, -128),
        (sp.INT8, 127),
        (sp.INT16, -32_768),
        (sp.INT32, -1),
        (sp.INT32, 2**31 - 1),
        (sp.INT64, -(2**53)),
        (sp.UINT8, 255),
        (sp.UINT16, 65_535),
        (sp.UINT32, 2**32 - 1),
        (sp.UINT64, 2**53),
        (sp.FLOAT, 0.5),
        (sp.DOUBLE, -1e300),
        (sp.BOOLEAN, True),
        (sp.BOOLEAN, False),
    ],
)
def test_numbers_of_every_type(datatype: int, value: float) -> None:
    data = sp.payload([sp.metric("a", value, datatype)], seq=3, timestamp=NOW)
    found = decode_payload(data)
    assert (found.seq, found.timestamp) == (3, NOW)
    assert found.metrics[0].number(None) == value


def test_small_numbers_may_be_written_with_their_own_bits() -> None:
    data = sp.payload([sp.metric("a", 0xFF, sp.INT8), sp.metric("b", 0xFFFE, sp.INT16)])
    assert [one.number(None) for one in decode_payload(data).metrics] == [-1, -2]


def test_what_is_null_or_text_is_no_number() -> None:
    data = sp.payload([sp.metric("a", None, sp.DOUBLE), sp.metric("b", "on", sp.STRING)])
    null, text = (one.number(None) for one in decode_payload(data).metrics)
    assert null is not None
    assert math.isnan(null)
    assert text is None


def test_fields_that_are_not_known_are_stepped_over() -> None:
    one = sp.metric("a", 1.5, sp.DOUBLE) + sp.block(8, b"metadata") + sp.block(18, b"\xff" * 9)
    found = decode_payload(sp.payload([one], seq=1) + sp.block(20, b"?") + sp.number(77, 1))
    assert found.metrics[0].number(None) == 1.5


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 20,
        b"\x0b",  # a group
        sp.varint(2 << 3 | 2) + b"\x7f",  # longer than there is
        sp.block(2, sp.block(1, b"\xff\xfe")),  # a name that is no text
        b"\x80",
        sp.varint(2 << 3 | 2) + b"\xff" * 9 + b"\x01",
        b'{"time": 1, "a": 2}',
    ],
)
def test_nonsense_is_an_error(data: bytes) -> None:
    with pytest.raises(BadPayloadError) as caught:
        decode_payload(data)
    assert caught.value.kind == "not_sparkplug"


def test_any_bytes_are_read_or_refused() -> None:
    chance = random.Random(1)
    good = birth(sp.metric("a", 1.5, sp.DOUBLE, alias=3, quality=192), seq=7)
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        made = nodes("a")
        try:
            made.take(f"{BASE}/NBIRTH/n", bytes(data[: chance.randint(0, len(data))]), NOW * MS)
        except BadPayloadError:
            continue
        json.dumps(made.snapshot())


def test_too_many_metrics() -> None:
    with pytest.raises(BadPayloadError) as caught:
        decode_payload(sp.block(2, b"") * (MOST_METRICS + 1))
    assert caught.value.kind == "too_large"


def test_compressed_payloads_are_counted_as_such() -> None:
    with pytest.raises(BadPayloadError) as caught:
        decode_payload(sp.block(4, b"SPBV1.0_COMPRESSED") + sp.block(5, b"..."))
    assert caught.value.kind == "compressed"


def test_births_data_and_aliases() -> None:
    made = nodes("a", "b")
    first = birth(
        sp.metric("a", 1, sp.INT32, alias=1, timestamp=NOW - 5000),
        sp.metric("b", 2.5, sp.DOUBLE, alias=2),
        sp.metric("Node Control/Rebirth", False, sp.BOOLEAN),
    )
    assert take(made, "NBIRTH/n", first) == {"a": (1.0, 0), "b": (2.5, 0)}
    data = sp.payload(
        [
            sp.metric(None, -4, sp.INT32, alias=1, timestamp=NOW + 900, says_type=False),
            sp.metric("b", 3.5, sp.DOUBLE),
        ],
        seq=1,
        timestamp=NOW + 1000,
    )
    assert take(made, "NDATA/n", data) == {"a": (-4.0, 900), "b": (3.5, 1000)}
    assert made.problems == {}
    assert made.requests() == []


def test_metrics_of_devices() -> None:
    made = nodes("plant/n/pump/speed", "level")
    take(made, "NBIRTH/n", birth())
    assert take(made, "DBIRTH/n/pump", birth(sp.metric("speed", 5, sp.INT32, alias=9), seq=1)) == {
        "plant/n/pump/speed": (5.0, 0)
    }
    assert take(made, "DBIRTH/n/tank", birth(sp.metric("level", 7, sp.INT32), seq=2)) == {
        "level": (7.0, 0)
    }
    data = sp.payload([sp.metric(None, 6, sp.INT32, alias=9)], seq=3, timestamp=NOW + 1)
    assert take(made, "DDATA/n/pump", data) == {"plant/n/pump/speed": (6.0, 1)}


def test_names_of_a_tag_map() -> None:
    tags = TagMap(
        {
            "plant/n/t": Tag("plant/n/t", "T", factor=0.1, offset=-40.0),
            "flow": Tag("flow", "F"),
        }
    )
    made = nodes("T", "F", "P", tags=tags)
    found = take(
        made,
        "NBIRTH/n",
        birth(
            sp.metric("t", 500, sp.INT32),
            sp.metric("flow", 2, sp.INT32),
            sp.metric("P", 3, sp.INT32),
            sp.metric("T", 99, sp.INT32),  # the map says what T is
        ),
    )
    assert found == {"T": (10.0, 0), "F": (2.0, 0), "P": (3.0, 0)}
    assert made.problems == {"unknown_tags": 1}


def test_two_metrics_of_one_name(caplog: pytest.LogCaptureFixture) -> None:
    made = nodes("speed")
    take(made, "NBIRTH/n", birth())
    take(made, "DBIRTH/n/pump1", birth(sp.metric("speed", 1, sp.INT32, alias=1), seq=1))
    assert take(made, "DBIRTH/n/pump2", birth(sp.metric("speed", 2, sp.INT32), seq=2)) == {}
    assert made.problems["ambiguous_tags"] == 1
    assert "plant/n/pump1/speed" in caplog.text
    again = nodes("speed")
    again.restore(json.loads(json.dumps(made.snapshot())))
    assert take(again, "DBIRTH/n/pump2", birth(sp.metric("speed", 3, sp.INT32), seq=3)) == {}


def test_quality_and_null_are_missing() -> None:
    made = nodes("a", "b", "c", "d")
    found = take(
        made,
        "NBIRTH/n",
        birth(
            sp.metric("a", 1, sp.INT32, quality=192),
            sp.metric("b", 1, sp.INT32, quality=0),
            sp.metric("c", None, sp.INT32),
            sp.metric("d", "x", sp.STRING),
        ),
    )
    assert found["a"] == (1.0, 0)
    assert all(math.isnan(found[name][0]) for name in "bcd")
    assert made.problems == {"bad_status": 1, "bad_values": 1}


def test_deaths_make_values_missing() -> None:
    made = nodes("a", "b")
    take(made, "NBIRTH/n", birth(sp.metric("a", 1, sp.INT32), death=4))
    take(made, "DBIRTH/n/d", birth(sp.metric("b", 1, sp.INT32), seq=1, timestamp=NOW + 10))
    dead = take(made, "DDEATH/n/d", sp.payload(seq=2, timestamp=NOW + 500))
    assert list(dead) == ["b"]
    assert math.isnan(dead["b"][0])
    assert dead["b"][1] == 500
    # The death of an earlier life comes late, and means nothing.
    assert take(made, "NDEATH/n", sp.payload([sp.metric("bdSeq", 3, sp.INT64)])) == {}
    dead = take(made, "NDEATH/n", sp.payload([sp.metric("bdSeq", 4, sp.INT64)]))
    assert list(dead) == ["a"]
    assert dead["a"][1] == 500  # with its last message
    # Whoever speaks after death must be born again.
    take(made, "NDATA/n", sp.payload([sp.metric(None, 1, alias=1)], seq=3, timestamp=NOW))
    assert made.problems["unknown_aliases"] == 1
    assert len(made.requests()) == 1


def test_a_birth_without_some_metrics_makes_them_missing() -> None:
    made = nodes("a", "b", "c")
    take(made, "NBIRTH/n", birth(sp.metric("a", 1, sp.INT32), sp.metric("b", 1, sp.INT32)))
    take(made, "DBIRTH/n/d", birth(sp.metric("c", 1, sp.INT32), seq=1))
    found = take(made, "NBIRTH/n", birth(sp.metric("a", 2, sp.INT32)))
    assert found["a"] == (2.0, 0)
    assert math.isnan(found["b"][0])
    assert math.isnan(found["c"][0])


def test_a_gap_is_counted_and_aliases_are_not_believed_until_the_next_birth() -> None:
    made = nodes("a")
    first = birth(sp.metric("a", 1, sp.INT32, alias=1), seq=0)
    take(made, "NBIRTH/n", first)

    def data(seq: int, **how: Any) -> bytes:
        return sp.payload([sp.metric(value=2, datatype=sp.INT32, **how)], seq=seq, timestamp=NOW)

    for seq in range(1, 256):
        assert take(made, "NDATA/n", data(seq, alias=1))
    assert take(made, "NDATA/n", data(0, alias=1))  # round and round
    assert made.problems == {}
    assert take(made, "NDATA/n", data(4, alias=1)) == {}
    assert made.problems == {"lost_messages": 3, "unknown_aliases": 1}
    [(topic, asked)] = made.requests()
    assert topic == f"{BASE}/NCMD/n"
    [rebirth] = decode_payload(asked).metrics
    assert (rebirth.name, rebirth.number(None)) == ("Node Control/Rebirth", 1.0)
    assert take(made, "NDATA/n", data(5, name="a")) == {"a": (2.0, 0)}  # names are believed
    assert made.requests() == []  # asked already
    take(made, "NDATA/n", data(6, alias=1), received=(NOW + 11_000) * MS)
    assert len(made.requests()) == 1  # no answer: asked again
    take(made, "NBIRTH/n", first)
    assert take(made, "NDATA/n", data(1, alias=1))
    assert made.problems["lost_messages"] == 3


def test_an_unknown_node_is_asked_for_its_birth() -> None:
    made = nodes("a")
    data = sp.payload([sp.metric(None, 2, alias=1)], seq=9, timestamp=NOW)
    assert take(made, "NDATA/n", data) == {}
    assert [topic for topic, _ in made.requests()] == [f"{BASE}/NCMD/n"]


def test_nobody_is_asked_where_that_is_not_wanted() -> None:
    made = nodes("a", ask=False)
    take(made, "NDATA/n", sp.payload(seq=9))
    assert made.requests() == []


def test_it_goes_on_from_a_snapshot() -> None:
    made = nodes("a", "b")
    take(made, "NBIRTH/n", birth(sp.metric("a", 1, sp.INT8, alias=1), seq=254))
    take(made, "DBIRTH/n/d", birth(sp.metric("b", 1, sp.INT32, alias=2), seq=255))
    state = made.snapshot()
    assert json.loads(json.dumps(state)) == state
    again = nodes("a", "b")
    again.restore(state)
    data = sp.payload([sp.metric(None, 255, alias=1)], seq=0, timestamp=NOW)
    assert take(again, "NDATA/n", data) == {"a": (-1.0, 0)}
    assert list(take(again, "DDEATH/n/d", sp.payload(seq=1, timestamp=NOW))) == ["b"]
    assert again.problems == {}


def test_what_is_not_of_nodes_is_passed_over() -> None:
    made = nodes("a")
    for topic in ("spBv1.0/STATE/host", f"{BASE}/NCMD/n", f"{BASE}/DCMD/n/d"):
        assert made.take(topic, b"anything", NOW) == ([], None)
    for topic in ("other/plant/NDATA/n", BASE, f"{BASE}/NDATA", f"{BASE}/DDATA/n", f"{BASE}/X/n"):
        with pytest.raises(BadPayloadError):
            made.take(topic, b"", NOW)


def test_a_rebirth_is_what_the_encoder_of_the_tests_writes() -> None:
    wanted = sp.payload(
        [sp.metric("Node Control/Rebirth", True, sp.BOOLEAN, timestamp=NOW)], timestamp=NOW
    )
    assert encode_rebirth(NOW) == wanted
