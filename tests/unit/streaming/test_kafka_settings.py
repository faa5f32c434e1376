"""How a Kafka cluster is reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from causewatch.errors import CausewatchError, SettingError, UnknownNameError
from causewatch.streaming.address import options_of, parse_address
from causewatch.streaming.kafka_settings import KafkaOptions, client_settings, split_options
from causewatch.streaming.sinks.kafka import KafkaSink
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.kafka import KafkaSource


def settings(url: str, **options: Any) -> dict[str, Any]:
    address, passed = split_options(parse_address(url, options))
    return client_settings(address, options_of(address, KafkaOptions), passed)


def source(url: str) -> KafkaSource:
    return KafkaSource(parse_address(url), Wanted(("a",), 1.0))


def test_brokers_come_from_the_address_and_the_option() -> None:
    found = settings("kafka://one/rows?brokers=two:9093,three:9094")
    assert found["bootstrap.servers"] == "one:9092,two:9093,three:9094"
    assert found["security.protocol"] == "PLAINTEXT"
    assert settings("kafka://[::1]:9095/rows")["bootstrap.servers"] == "[::1]:9095"


def test_a_user_is_told_over_tls_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PASSWORD", "s3cret")
    found = settings("kafka://me@one/rows?password_env=PASSWORD&sasl_mechanism=SCRAM-SHA-512")
    assert found["security.protocol"] == "SASL_SSL"
    assert found["sasl.mechanism"] == "SCRAM-SHA-512"
    assert (found["sasl.username"], found["sasl.password"]) == ("me", "s3cret")
    plain = settings("kafka://me@one/rows?security_protocol=sasl_plaintext")
    assert plain["security.protocol"] == "SASL_PLAINTEXT"
    assert "sasl.password" not in plain


def test_certificates_and_their_password(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("opens the key\n")
    found = settings("kafka://one/rows?ca=a.pem&cert=c.pem", key="k.pem")
    assert found["security.protocol"] == "SSL"
    assert found["ssl.ca.location"] == "a.pem"
    assert found["ssl.certificate.location"] == "c.pem"
    assert found["ssl.key.location"] == "k.pem"
    assert "ssl.key.password" not in found
    found = settings("kafka://one/rows", key_password_file=str(tmp_path / "word"))
    assert found["ssl.key.password"] == "opens the key"


def test_further_settings_go_to_the_client_library() -> None:
    found = settings("kafka://one/rows?rdkafka.client.rack=b", **{"rdkafka.check.crcs": True})
    assert found["client.rack"] == "b"
    assert found["check.crcs"] == "true"


@pytest.mark.parametrize(
    "name",
    ["enable.auto.commit", "group.id", "acks", "isolation.level", "topic.auto.offset.reset"],
)
def test_settings_that_guarantees_rest_on_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"'{name}' is causewatch's own matter"):
        source(f"kafka://one/rows?rdkafka.{name}=1")


@pytest.mark.parametrize(
    "name",
    [
        "plugin.library.paths",
        "sasl.kerberos.kinit.cmd",
        "ssl.engine.id",
        "ssl.engine.location",
        "ssl.providers",
    ],
)
def test_settings_that_run_foreign_code_are_refused(name: str) -> None:
    url = f"kafka://one/rows?rdkafka.{name}=1"
    for made in (source, lambda url: KafkaSink(parse_address(url))):
        with pytest.raises(SettingError, match=f"'{name}' is causewatch's own matter"):
            made(url)


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.password", "ssl.key.pem"])
def test_secrets_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="holds a secret") as caught:
        KafkaSink(parse_address(f"kafka://one/rows?rdkafka.{name}=hush"))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["kafka://one", "kafka://one/", "kafka:///rows", "kafka://one/rows/more"]
)
def test_an_address_names_a_topic(url: str) -> None:
    with pytest.raises(SettingError, match="names no topic"):
        source(url)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="strat"):
        source("kafka://one/rows?strat=latest")
    with pytest.raises(SettingError, match="one of earliest, latest"):
        source("kafka://one/rows?start=newest")


def test_what_the_library_does_not_know_is_said_when_it_opens() -> None:
    for made in (
        source("kafka://one/rows?rdkafka.no.such.thing=1"),
        KafkaSink(parse_address("kafka://one/rows?rdkafka.no.such.thing=1")),
    ):
        try:
            with pytest.raises(CausewatchError, match="no\\.such\\.thing"):
                made.open({})
        finally:
            made.close()
