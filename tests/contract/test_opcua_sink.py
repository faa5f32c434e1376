"""The OPC UA sink: its nodes and events as an OPC UA client sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.services.opcua import certificate, no_rubbish
from tests.services.ports import free_port

from causewatch.errors import SettingError, StreamError
from causewatch.streaming.address import parse_address
from causewatch.streaming.background import BackgroundLoop
from causewatch.streaming.opcua_security import quiet
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.sinks.opcua import URI, OpcuaSink
from causewatch.testing import SinkContract, example_event, until
from causewatch.testing.waiting import PATIENCE

pytest.importorskip("asyncua", reason="asyncua is not installed")


class Viewer:
    """An OPC UA client that notes what it is told, in a thread of its own."""

    def __init__(self, url: str) -> None:
        quiet()
        self.url = url
        self.bodies: list[dict[str, Any]] = []
        self.events: list[Any] = []
        self._loop = BackgroundLoop("viewer")
        self.client: Any = None
        self.away = False

    def run(self, work: Any) -> Any:
        return self._loop.run(work, 20.0)

    def connect(self, prepare: Any = None) -> None:
        self.run(self._connect(prepare))

    async def _connect(self, prepare: Any) -> None:
        from asyncua import Client

        # The client asks the server every so often whether it is well, and hangs up if no answer
        # comes within as long again: a second by default, too short for a busy machine.
        client = Client(self.url, timeout=PATIENCE, watchdog_intervall=60)
        if prepare is not None:
            await prepare(client)
        await client.connect()
        self.client = client
        subscription = await client.create_subscription(20, self)
        await subscription.subscribe_events()
        await subscription.subscribe_data_change(self.node("LastAlarm/Json"), queuesize=100)

    def node(self, path: str) -> Any:
        return self.client.get_node(f"ns=2;s={path}")

    def read(self, path: str) -> Any:
        return self.run(self.node(path).read_data_value(raise_on_bad_status=False))

    async def datachange_notification(self, node: Any, value: Any, data: Any) -> None:
        if value is not None:
            self.bodies.append(json.loads(value))

    async def event_notification(self, event: Any) -> None:
        self.events.append(event)

    def disconnect(self) -> None:
        if self.client is not None:
            client, self.client = self.client, None
            self.run(client.disconnect())

    def close(self) -> None:
        self.disconnect()
        self._loop.close()


class WatchedSink(OpcuaSink):
    """A sink at which somebody looks as soon as it is open, until it has seen everything.

    Unless the viewer is away.
    """

    def __init__(self, url: str, viewer: Viewer) -> None:
        super().__init__(parse_address(url))
        self.viewer = viewer
        self.sent = 0

    def open(self, mark: Any) -> None:
        with no_rubbish():
            super().open(mark)
        self._before = len(self.viewer.bodies)
        if self.viewer.away:
            return
        self.viewer.connect()
        # What the last run showed is shown again, and is nothing new.
        shown = 0 if mark is None else 1
        assert until(lambda: len(self.viewer.bodies) >= self._before + shown)
        del self.viewer.bodies[self._before :]

    def send(self, notices: Any) -> Any:
        mark = super().send(notices)
        self.sent += len(notices)
        assert self.viewer.away or until(
            lambda: len(self.viewer.bodies) >= self._before + self.sent
        )
        return mark

    def close(self) -> None:
        self.viewer.disconnect()
        super().close()


class Rig:
    """An OPC UA client."""

    never_away = "the sink is a server itself, which shows the last event to whoever comes later"

    def __init__(self) -> None:
        self.url = f"opc.tcp://127.0.0.1:{free_port()}/causewatch"
        self.viewer = Viewer(self.url)

    def sink(self) -> OpcuaSink:
        return WatchedSink(self.url, self.viewer)

    def received(self) -> list[dict[str, Any]]:
        return list(self.viewer.bodies)

    def down(self) -> None:
        self.viewer.away = True

    def up(self) -> None:
        self.viewer.connect()
        self.viewer.away = False


class TestOpcuaSink(SinkContract):
    """An OPC UA client looks at the sink."""

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        rig = Rig()
        yield rig
        rig.viewer.close()


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[tuple[OpcuaSink, Viewer]]:
    """A sink that asks for a password and encrypts, and a client who has looked already."""
    folder = tmp_path
    cert, key = certificate(folder, "sink", "urn:causewatch:test:sink")
    own, own_key = certificate(folder, "viewer", "urn:causewatch:test:viewer")
    secret = folder / "password"
    secret.write_text("open sesame\n")
    url = f"opc.tcp://127.0.0.1:{free_port()}/causewatch"
    options = {
        "security": "Basic256Sha256,SignAndEncrypt",
        "cert": str(cert),
        "key": str(key),
        "user": "viewer",
        "password_file": str(secret),
    }
    sink = OpcuaSink(parse_address(url, options))
    with no_rubbish():
        sink.open(None)
    viewer = Viewer(url)

    async def prepare(client: Any) -> None:
        from asyncua.crypto.security_policies import SecurityPolicyBasic256Sha256

        client.application_uri = "urn:causewatch:test:viewer"
        await client.set_security(
            SecurityPolicyBasic256Sha256, str(own), str(own_key), server_certificate=str(cert)
        )
        client.set_user("viewer")
        client.set_password("open sesame")

    viewer.prepare = prepare  # type: ignore[attr-defined]
    viewer.connect(prepare)
    yield sink, viewer
    viewer.close()
    sink.close()


def test_nodes_show_how_the_watch_stands(shown: tuple[OpcuaSink, Viewer]) -> None:
    """All of a status can be read; what is not known has no value and a bad status."""
    sink, viewer = shown
    alarms = [{"id": "1", "acknowledged_by": "Eve"}, {"id": "2", "acknowledged_by": None}]
    sink.look(
        Status(
            "line 1",
            time="2026-01-01T00:00:00Z",
            score=1.25,
            alarms=alarms,
            unwell={"FIT101": "frozen"},
            rows=120,
            ticks=12,
            signals={"LIT301": 2.5, "AIT/2 01": float("nan")},
            problems={"bad_times": 3, "late_values": 4},
            source="connected",
        )
    )
    wanted = {
        "Watch": "line 1",
        "Status": "connected",
        "Time": "2026-01-01T00:00:00Z",
        "Score": 1.25,
        "AlarmOn": True,
        "ActiveAlarms": 2,
        "Acknowledged": 1,
        "Unacknowledged": 1,
        "UnwellSignals": 1,
        "Rows": 120,
        "Ticks": 12,
        "Problems": 7,
        "Signals/LIT301": 2.5,
    }
    assert {path: viewer.read(path).Value.Value for path in wanted} == wanted
    for path in ("Lag", "Signals/AIT/2 01"):
        told = viewer.read(path)
        assert told.Value is None or told.Value.Value is None
        assert told.StatusCode.is_bad()


def test_nodes_are_written_only_when_they_change(shown: tuple[OpcuaSink, Viewer]) -> None:
    """The timestamp of a value says when it became so."""
    sink, viewer = shown
    sink.look(Status("line 1", score=0.5, rows=1))
    before = viewer.read("Score").SourceTimestamp
    rows = viewer.read("Rows").SourceTimestamp
    sink.look(Status("line 1", score=0.5, rows=2))
    assert viewer.read("Score").SourceTimestamp == before
    assert viewer.read("Rows").SourceTimestamp > rows


def test_an_event_is_sent_and_the_last_alarm_is_shown(shown: tuple[OpcuaSink, Viewer]) -> None:
    """A client that subscribed to events gets one for each notice, the same id for the same."""
    sink, viewer = shown
    count = len(viewer.events)
    notice = Notice(10, "line 1", example_event(10))
    mark = sink.send([notice])
    sink.send([notice])
    assert until(lambda: len(viewer.events) >= count + 2)
    one, two = viewer.events[count : count + 2]
    assert one.EventId == two.EventId
    assert one.Message.Text == f"raised: {notice.body['headline']}"
    assert one.Severity == 1000
    assert one.SourceName == "line 1"
    assert one.Time.isoformat().startswith("2026-01-01T00:00:10")
    assert viewer.read("LastAlarm/Id").Value.Value == notice.body["id"]
    assert viewer.read("LastAlarm/FirstCause").Value.Value == "LIT301"
    assert json.loads(viewer.read("LastAlarm/Json").Value.Value) == json.loads(notice.to_json())
    assert mark["Number"] == 10
    sink.send([Notice(11, "line 1", {"id": "\ud800", "event": "cleared", "time": "row 7"})])
    assert viewer.read("LastAlarm/FirstCause").StatusCode.is_bad()
    assert until(lambda: len(viewer.events) >= count + 3)
    assert viewer.events[-1].Severity == 200


def test_clients_can_change_nothing(shown: tuple[OpcuaSink, Viewer]) -> None:
    """Neither values nor nodes, even for one who is let in."""
    from asyncua import ua

    _, viewer = shown
    with pytest.raises(ua.UaStatusCodeError):
        viewer.run(viewer.node("Score").write_value(9.0))
    with pytest.raises(ua.UaStatusCodeError):
        viewer.run(viewer.client.nodes.objects.add_variable(2, "Mine", 1.0))
    with pytest.raises(ua.UaStatusCodeError):
        viewer.run(viewer.client.delete_nodes([viewer.node("Score")]))
    assert viewer.run(viewer.client.get_namespace_array())[2] == URI


def test_who_does_not_know_the_password_is_turned_away(shown: tuple[OpcuaSink, Viewer]) -> None:
    """A wrong password, none, and a channel that is not protected."""
    from asyncua import ua

    _, viewer = shown

    async def wrong(client: Any) -> None:
        await viewer.prepare(client)  # type: ignore[attr-defined]
        client.set_password("open barley")

    async def nobody(client: Any) -> None:
        await viewer.prepare(client)  # type: ignore[attr-defined]
        client._username = None

    async def plain(client: Any) -> None:
        client.set_user("viewer")
        client.set_password("open sesame")

    for prepare in (wrong, nobody, plain):
        other = Viewer(viewer.url)
        try:
            with pytest.raises((ua.UaError, ConnectionError, TimeoutError)):
                other.connect(prepare)
        finally:
            other.close()


def test_a_place_that_is_taken_is_said(shown: tuple[OpcuaSink, Viewer]) -> None:
    """Trying again would not help."""
    sink = OpcuaSink(parse_address(shown[0].name))
    with pytest.raises(StreamError, match="taken"):
        sink.open(None)
    with pytest.raises(DeliveryError, match="not open"):
        sink.send([Notice(1, "line 1", example_event(1))])


def test_other_computers_need_protection_and_a_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alarms are shown to this computer only, unless somebody says otherwise."""
    monkeypatch.setenv("SINK_PASSWORD", "x")
    file = tmp_path / "sink.pem"
    file.write_text("not read before it is opened")
    safe = {"security": "Basic256Sha256", "cert": str(file), "key": str(file)}
    login = {"user": "viewer", "password_env": "SINK_PASSWORD"}
    everywhere = "opc.tcp://0.0.0.0:4841/causewatch"
    for options in ({}, safe, login):
        with pytest.raises(SettingError, match="other computers"):
            OpcuaSink(parse_address(everywhere, options))
    assert OpcuaSink(parse_address(everywhere, safe | login)).name == everywhere
    assert OpcuaSink(parse_address(everywhere, {"anyone": True})).name == everywhere
    with pytest.raises(SettingError, match="password"):
        OpcuaSink(parse_address("opc.tcp://127.0.0.1:4841/", {"user": "viewer"}))
    with pytest.raises(SettingError, match="cert"):
        OpcuaSink(parse_address("opc.tcp://127.0.0.1:4841/", {"security": "Basic256Sha256"}))
    with pytest.raises(SettingError, match="policy"):
        OpcuaSink(parse_address("opc.tcp://127.0.0.1:4841/", {"security": "Basic128Rsa15"}))
