"""Who may come in: passwords, certificates, topics, and options that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from causewatch.errors import CausewatchError
from causewatch.streaming.address import parse_address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.mqtt import MqttSource
from causewatch.streaming.sources.sparkplug_payload import decode_payload
from causewatch.testing import until
from services import sparkplug
from services.mosquitto import Listener, make_certificates, mosquitto

SECRET = "correct horse"
ROW = [("plant/rows", b'{"time": 1, "a": 2}')]


def source_of(url: str) -> MqttSource:
    wanted = Wanted(("a", "b", "c"), 1.0)
    return MqttSource(parse_address(url), wanted, backoff=Backoff(0.05, 0.05))


def is_connected(source: MqttSource) -> bool:
    return until(lambda: source.status == "connected")


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RIGHT", SECRET)
    monkeypatch.setenv("WRONG", "battery staple")
    with mosquitto(tmp_path, users={"watch": SECRET}) as broker:
        url = f"mqtt://watch@{broker.address}/plant/rows?version={version}&password_env="
        source = source_of(url + "WRONG")
        source.open({})
        assert until(lambda: "not authori" in source.status.lower()), source.status
        source.close()
        source = source_of(url + "RIGHT")
        source.open({})
        assert is_connected(source)
        said = json.dumps([source.name, source.status, source.position(), caplog.text])
        assert SECRET not in said
        assert "battery" not in said
        source.close()


def test_certificates(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    ours.mkdir()
    other.mkdir()
    with mosquitto(ours, tls=True, client_certificates=True, persistent=False) as broker:
        make_certificates(other)
        url = f"mqtts://{broker.address}/plant/rows"
        mine = f"cert={ours}/client.pem&key={ours}/client.key"
        for options, reason in (
            (f"ca={other}/ca.pem&{mine}", "not trusted"),
            (mine, "not trusted"),
            (f"ca={ours}/ca.pem", "trying again"),
        ):
            source = source_of(f"{url}?{options}")
            source.open({})
            assert until(lambda source=source, reason=reason: reason in source.status)  # type: ignore[misc]
            source.close()
        source = source_of(f"{url}?ca={ours}/ca.pem&{mine}")
        source.open({})
        assert is_connected(source)
        source.close()
    for options in (f"ca={tmp_path}/absent", f"ca={ours}/ca.pem&cert={ours}/mosquitto.conf"):
        with pytest.raises(CausewatchError, match=r"cannot be read|do not hold a certificate"):
            source_of(f"mqtts://localhost/plant/rows?{options}")


def test_tls_that_is_meant_must_be_said(tmp_path: Path) -> None:
    """The password would go out readable otherwise, and the files would not even be looked at."""
    with pytest.raises(CausewatchError, match=r"'ca' is for TLS.*mqtts://"):
        source_of(f"mqtt://broker/plant/rows?ca={tmp_path}/absent")


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1:1", False), ("broker.invalid", True)])
def test_a_password_without_tls(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, host: str, warned: bool
) -> None:
    monkeypatch.setenv("RIGHT", SECRET)
    source = source_of(f"mqtt://anna@{host}/plant/rows?password_env=RIGHT")
    source.open({})
    source.close()
    assert ("the password is sent readable" in caplog.text) == warned


def test_rows_come_through_tls(tmp_path: Path) -> None:
    with mosquitto(tmp_path, tls=True, persistent=False) as broker:
        source = source_of(f"mqtts://{broker.address}/plant/rows?ca={tmp_path}/ca.pem")
        source.open({})
        assert is_connected(source)
        broker.publish([ROW[0]] * 200, tls=tmp_path / "ca.pem")
        found = 0

        def all_there() -> bool:
            nonlocal found
            found += len(source.poll(0.05))
            source.committed()
            return found >= 200

        assert until(all_there)
        source.close()


def test_a_topic_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "acl").write_text("topic read plant/public/#\n")
    # This mosquitto grants the subscription, and sends nothing.
    with mosquitto(tmp_path, [f"acl_file {tmp_path}/acl"], persistent=False) as broker:
        source = source_of(f"mqtt://{broker.address}/plant/rows")
        source.open({})
        assert is_connected(source)
        broker.publish(ROW)
        assert len(source.poll(0.2)) == 0
        source.close()


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_topic_that_is_refused_is_asked_for_again(tmp_path: Path, version: str) -> None:
    plugin = next(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"), None)
    if plugin is None:
        pytest.skip("mosquitto_dynamic_security.so is not installed")
    rights = tmp_path / "rights.json"

    def grant(subscribe: bool) -> None:
        may = {"publishClientSend": True, "publishClientReceive": True, "unsubscribe": True}
        rights.write_text(json.dumps({"defaultACLAccess": {**may, "subscribe": subscribe}}))

    grant(False)
    settings = [f"plugin {plugin}", f"plugin_opt_config_file {rights}"]
    with mosquitto(tmp_path, settings) as broker:
        source = source_of(f"mqtt://{broker.address}/plant/rows?version={version}")
        seen: set[str] = set()
        source.open({})
        assert until(
            lambda: seen.add(source.status) or source.problems.get("reconnects", 0) >= 3  # type: ignore[func-returns-value]
        )
        assert until(lambda: "refuses the topic plant/rows" in source.status), source.status
        assert "connected" not in seen
        broker.stop()
        grant(True)
        broker.start()
        assert is_connected(source)
        broker.publish(ROW)
        assert until(lambda: len(source.poll(0.05)) == 1)
        source.close()


@pytest.mark.parametrize(
    "url",
    [
        "mqtt://broker",
        "mqtt:///plant/rows",
        "mqtt://broker/plant/#/rows",
        "mqtt://broker/plant/a+",
        "mqtt://broker/plant/rows?qos=2",
        "mqtt://broker/plant/rows?qos=high",
        "mqtt://broker/plant/rows?version=4",
        "mqtt://broker/plant/rows?format=xml",
        "mqtt://broker/plant/rows?keepalive=0s",
        "mqtt://broker/plant/rows?keepalive=100000s",
        "mqtt://broker/plant/rows?clientid=7",
        "mqtt://broker/plant/rows?format=tags&sequence=n",
        "mqtt://broker/plant/rows?late=-1s&format=tags",
        "mqtt://broker/plant/rows?ca=ca.pem",
        "mqtt://broker/plant/rows?cert=client.pem",
        "mqtts://broker/plant/rows?key=client.key",
    ],
)
def test_options_that_make_no_sense(url: str) -> None:
    with pytest.raises(CausewatchError):
        source_of(url)


def test_a_session_is_the_same_in_every_run_and_differs_between_addresses() -> None:
    def session(url: str) -> str:
        return str(source_of(url).position()["session"])

    assert session("mqtt://Broker/a?qos=1") == session("mqtt://broker/a")
    others = ["mqtt://broker/a", "mqtt://broker/b", "mqtt://x/a", "mqtt://u@broker/a"]
    assert len({session(url) for url in others}) == 4
    assert len(session(others[0])) <= 23
    assert session("mqtt://broker/a?session=line-1") == "line-1"


def test_a_position_of_another_session_is_not_used(tmp_path: Path) -> None:
    source = source_of("mqtt://127.0.0.1:1/a")
    source.open({**source.position(), "session": "another", "known": "damaged"})
    source.close()
    source = source_of("mqtt://127.0.0.1:1/a")
    with pytest.raises(CausewatchError, match="damaged"):
        source.open({**source.position(), "known": "damaged"})
    source.close()


def test_sparkplug_nodes_are_asked_to_be_born_again(tmp_path: Path) -> None:
    with mosquitto(tmp_path, persistent=False) as broker:
        source = source_of(f"mqtt://{broker.address}/spBv1.0/plant/#?format=sparkplug")
        assert source.guarantee == "lost"
        source.open({})
        assert is_connected(source)
        node = Listener(broker.port, "spBv1.0/plant/NCMD/node")
        data = sparkplug.payload([sparkplug.metric(None, 1, alias=1)], seq=5, timestamp=1)
        broker.publish([("spBv1.0/plant/NDATA/node", data)], qos=0)
        assert until(lambda: len(source.poll(0.01)) == 0 and len(node.messages) == 1)
        node.close()
        assert decode_payload(node.messages[0].payload).metrics[0].name == "Node Control/Rebirth"
        source.close()
