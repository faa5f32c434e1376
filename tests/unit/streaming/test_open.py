"""From what a user writes to sources and sinks; what would feed itself is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from causewatch.cli import main
from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.open import feeds_back, open_sink, open_source
from causewatch.streaming.plan import Place
from causewatch.streaming.source import Wanted

WANTED = Wanted(("a", "b"), 1.0)


@pytest.mark.parametrize(
    ("source", "sink", "same"),
    [
        ("mqtt://b/plant/rows", "mqtt://b/plant/rows", True),
        ("mqtt://b/plant/#", "mqtt://b/plant/alarms", True),
        ("mqtt://b/plant/+", "mqtts://b/plant/alarms", True),
        ("mqtt://b/plant/+", "mqtt://b/plant/alarms/1", False),
        ("mqtt://b/plant/rows", "mqtt://c/plant/rows", False),
        ("mqtt://b/plant/rows", "mqtt://b:1884/plant/rows", False),
        ("mqtt://b/plant/#", "mqtt://b:1883/plant/alarms", True),
        ("mqtt://b:1883/plant/#", "mqtts://B:8883/plant/alarms", True),
        ("mqtts://b/plant/#", "mqtts://b:8883/plant/alarms", True),
        ("mqtt://b:8883/plant/#", "mqtts://b/plant/alarms", True),
        ("mqtts://b/plant/#", "mqtts://b:1883/plant/alarms", False),
        ("mqtt://b/plant/+", "mqtt://b/plant/line1.alarms", True),
        ("mqtt://b/+/alarms", "mqtt://b/plant.1/alarms", True),
        ("mqtt://b/plant/#", "mqtt://b/plant", True),
        ("mqtt://b/plant/#", "mqtt://b/plants", False),
        ("mqtt://b/plant/*", "mqtt://b/plant/alarms", False),
        ("nats://b/plant.>", "nats://b:4222/plant.alarms", True),
        ("nats://b/plant.>", "tls://b:4222/plant.alarms", True),
        ("nats://b/plant.>", "nats://b:4223/plant.alarms", False),
        ("nats://b/plant.*", "nats://b/plant.line1/alarms", True),
        ("nats://b/plant.>", "nats://b/plant", False),
        ("kafka://b/rows", "kafka://b:9092/rows", True),
        ("kafka://b/rows", "kafka://b/rows.alarms", False),
        ("nats://b/plant.>", "nats://b/plant.alarms", True),
        ("nats://b/plant.*", "nats://b/alarms", False),
        ("kafka://b/rows", "nats://b/rows", False),
        ("rows.csv", "mqtt://b/rows", False),
    ],
)
def test_a_sink_that_feeds_its_source_is_noticed(source: str, sink: str, same: bool) -> None:
    assert feeds_back(Place(source), Place(sink)) == same


def test_what_is_no_address_shows_no_secret() -> None:
    for where in ("mqtt:/u:geheim@host/x", "MQTT:u:geheim@host"):
        with pytest.raises(SettingError, match="looks like an address") as caught:
            open_source(where, WANTED)
        assert "geheim" not in str(caught.value)
    with pytest.raises(SettingError, match="must not hold a password") as caught:
        open_sink("mqtt://u:geheim@host/x")
    assert "geheim" not in str(caught.value)


def test_unknown_schemes_are_listed() -> None:
    with pytest.raises(UnknownNameError, match="mqtt://"):
        open_source("amqp://host/x", WANTED)
    with pytest.raises(UnknownNameError, match="syslog://"):
        open_sink("smtp://host/x")
    with pytest.raises(SettingError, match="never ends"):
        open_source("mqtt://host/x", WANTED, follow=True)


def test_configurations_without_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plant.toml"
    head = 'model = "m.cwm"\nsource = "rows.csv"\n'
    for more in (".".join("a" * 3000) + ".b = 1\n", "name = " + "9" * 5000 + "\n"):
        file.write_text(head + more)
        assert main(["watch", "--config", str(file), "--check"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("causewatch: plant.toml")
        assert len(said.splitlines()) == 1
