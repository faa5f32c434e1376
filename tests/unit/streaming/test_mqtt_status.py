"""What the MQTT sink tells, besides the contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from causewatch.errors import CausewatchError
from causewatch.streaming.address import parse_address
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.sinks.mqtt import MqttSink
from causewatch.testing import FakeClock, example_event, until
from causewatch.testing.waiting import PATIENCE
from services.mosquitto import Listener, Mosquitto, mosquitto
from services.proxy import proxy


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path, persistent=False) as running:
        yield running


def states(listener: Listener) -> list[dict[str, Any]]:
    return [json.loads(message.payload) for message in listener.messages]


def test_online_status_and_offline(broker: Mosquitto) -> None:
    clock = FakeClock()
    listener = Listener(broker.port, "watch/status")
    sink = MqttSink(parse_address(f"mqtt://{broker.address}/alarms?status=watch/status"), now=clock)
    sink.open(None)
    assert until(lambda: [one["state"] for one in states(listener)] == ["online"])
    sink.look(Status("line 1", score=float("nan"), signals={"a": 0.5, "b": float("inf")}, rows=7))
    sink.look(Status("line 1", rows=8))  # too soon
    assert until(lambda: len(listener.messages) == 2)
    said = states(listener)[1]
    assert said["state"] == "online"
    assert (said["watch"], said["rows"], said["score"]) == ("line 1", 7, None)
    assert said["signals"] == {"a": 0.5, "b": None}
    clock.sleep(1.0)
    sink.look(Status("line 1", rows=9))
    assert until(lambda: states(listener)[-1].get("rows") == 9)
    sink.close()
    assert until(lambda: states(listener)[-1]["state"] == "offline")
    assert len(listener.messages) == 4
    late = Listener(broker.port, "watch/status")
    assert until(lambda: len(late.messages) == 1)  # for those who come later
    assert states(late)[0]["state"] == "offline"
    late.close()
    listener.close()


def test_the_broker_says_offline_when_the_watch_cannot(broker: Mosquitto) -> None:
    listener = Listener(broker.port, "watch/status")
    with proxy(broker.port) as wire:
        sink = MqttSink(parse_address(f"mqtt://127.0.0.1:{wire.port}/alarms?status=watch/status"))
        sink.open(None)
        assert until(lambda: len(listener.messages) == 1)
        wire.cut()
        assert until(lambda: states(listener)[-1] == {"state": "offline"})
        wire.mend()
        assert until(lambda: states(listener)[-1]["state"] == "online")
        sink.close()
    listener.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_formats_keys_and_retained_events(broker: Mosquitto, version: str) -> None:
    listener = Listener(broker.port, "alarms/#")
    for format in ("json", "diagnostics", "cef"):
        sink = MqttSink(
            parse_address(
                f"mqtt://{broker.address}/alarms/{format}?format={format}&retain=true"
                f"&version={version}"
            )
        )
        sink.open(None)
        sink.send([Notice(3, "line 1", example_event(3), "a5")])
        sink.close()
    assert until(lambda: len(listener.messages) == 3)
    plain, robots, security = (message.payload for message in listener.messages)
    assert json.loads(plain)["id"] == "000000000003"
    assert "status" in json.loads(robots)
    assert security.startswith(b"CEF:0|")
    if version == "5":
        assert listener.messages[0].properties.UserProperty == [("key", "line 1/a5/3-937e2b64")]
    late = Listener(broker.port, "alarms/json")
    assert until(lambda: len(late.messages) == 1)
    late.close()
    listener.close()


def test_what_is_not_confirmed_is_not_delivered(broker: Mosquitto) -> None:
    listener = Listener(broker.port, "alarms")
    with proxy(broker.port) as wire:
        sink = MqttSink(parse_address(f"mqtt://127.0.0.1:{wire.port}/alarms"))
        sink.open(None)
        notices = [Notice(k, "line 1", example_event(k)) for k in range(1, 60)]
        sink.send(notices[:2])
        wire.answers = False
        sink._patience = 0.5
        with pytest.raises(DeliveryError, match="did not confirm") as caught:
            sink.send(notices[2:4])
        assert caught.value.sent == 0
        wire.mend()
        assert until(lambda: len(listener.messages) == 4)
        sink._patience = PATIENCE
        sink.send(notices[4:])  # more than the broker takes at once
        assert until(lambda: len(listener.messages) == 59)
        numbers = [int(json.loads(one.payload)["id"], 16) for one in listener.messages]
        assert numbers == list(range(1, 60))
        sink.close()
    listener.close()


@pytest.mark.parametrize(
    "url",
    [
        "mqtt://broker",
        "mqtt:///alarms",
        "mqtt://broker/alarms/#",
        "mqtt://broker/alarms?status=a/%2B",
        "mqtt://broker/alarms?format=xml",
        "mqtt://broker/alarms?qos=0",
        "mqtt://broker/alarms?keepalive=0s",
    ],
)
def test_options_that_make_no_sense(url: str) -> None:
    with pytest.raises(CausewatchError):
        MqttSink(parse_address(url))


def test_it_is_not_open() -> None:
    with pytest.raises(DeliveryError):
        MqttSink(parse_address("mqtt://broker/alarms")).send([])
