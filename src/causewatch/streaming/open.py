"""From what a user writes to a source or a sink."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.address import Address, parse_address
from causewatch.streaming.plan import Place
from causewatch.streaming.sink import Sink
from causewatch.streaming.source import Source, Wanted
from causewatch.streaming.wildcards import MQTT, NATS, Wildcards

__all__ = ["SINKS", "SOURCES", "feeds_back", "is_address", "open_sink", "open_source"]

HOME = "causewatch.streaming"

SOURCES: Mapping[str, tuple[str, str]] = {
    "mqtt": ("sources.mqtt", "MqttSource"),
    "mqtts": ("sources.mqtt", "MqttSource"),
    "opc.tcp": ("sources.opcua", "OpcuaSource"),
    "kafka": ("sources.kafka", "KafkaSource"),
    "nats": ("sources.nats", "NatsSource"),
    "tls": ("sources.nats", "NatsSource"),
    "modbus": ("sources.modbus", "ModbusSource"),
    "modbus+rtu": ("sources.modbus", "ModbusSource"),
    "bag": ("sources.bags", "BagSource"),
}
"""The module and class for each scheme. They are loaded when they are needed, since each wants a
library that not everybody has."""

SINKS: Mapping[str, tuple[str, str]] = {
    "mqtt": ("sinks.mqtt", "MqttSink"),
    "mqtts": ("sinks.mqtt", "MqttSink"),
    "opc.tcp": ("sinks.opcua", "OpcuaSink"),
    "kafka": ("sinks.kafka", "KafkaSink"),
    "nats": ("sinks.nats", "NatsSink"),
    "tls": ("sinks.nats", "NatsSink"),
    "webhook+http": ("sinks.webhook", "WebhookSink"),
    "webhook+https": ("sinks.webhook", "WebhookSink"),
    "http": ("sinks.webhook", "WebhookSink"),
    "https": ("sinks.webhook", "WebhookSink"),
    "syslog": ("sinks.syslog", "SyslogSink"),
    "syslog+tcp": ("sinks.syslog", "SyslogSink"),
    "syslog+tls": ("sinks.syslog", "SyslogSink"),
}

PATTERNS: Mapping[str, Wildcards] = {"mqtt": MQTT, "nats": NATS}
"""How those that have wildcards write them."""


def is_address(text: str) -> bool:
    """Whether this is the address of a server rather than a path."""
    return "://" in text


def feeds_back(source: Place, sink: Place) -> bool:
    """Whether what goes to the sink would come back from the source."""
    if not (is_address(source.where) and is_address(sink.where)):
        return False
    read, written = (parse_address(one.where, one.options) for one in (source, sink))
    kind = _kind(SOURCES, read.scheme)
    if not kind or kind != _kind(SINKS, written.scheme):
        return False
    if not read.path or not _same_server(read, written):
        return False
    if kind in PATTERNS:
        return PATTERNS[kind].covers(read.path, written.path)
    return read.path == written.path


def _kind(known: Mapping[str, tuple[str, str]], scheme: str) -> str:
    """What a scheme speaks, with or without TLS; empty if nobody knows it."""
    return known.get(scheme, ("", ""))[0].rpartition(".")[2]


def _same_server(one: Address, other: Address) -> bool:
    """Whether two addresses of a kind mean one server, with or without TLS.

    A server that speaks both has a port for each; those that are usual belong together.
    """
    from causewatch.streaming import kafka_settings, mqtt_options, nats_client

    nats = dict.fromkeys(("nats", "tls"), nats_client.PORT)
    usual = {**mqtt_options.PORTS, **nats, "kafka": kafka_settings.PORT}
    ports = [place.port or usual.get(place.scheme) for place in (one, other)]
    both_usual = ports == [usual.get(place.scheme) for place in (one, other)]
    return one.host == other.host and (ports[0] == ports[1] or both_usual)


def open_source(
    where: str,
    wanted: Wanted,
    *,
    follow: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Source:
    """A source that is not open yet.

    Parameters
    ----------
    where
        A file, a folder, ``-`` for standard input, or an address.
    wanted
        What the watch wants of it.
    follow
        Whether to wait for more at the end of a file or folder.
    options
        Further options of an address.
    """
    if not is_address(where):
        return _file(where, wanted, follow, options)
    address = parse_address(where, options)
    if follow:
        what = "A bag is read to its end" if address.scheme == "bag" else "A server never ends"
        msg = f"{what}; --follow is for files and folders that grow."
        raise SettingError(msg)
    made = _class(address, SOURCES, "source")(address, wanted)
    return cast(Source, made)


def open_sink(where: str, options: Mapping[str, Any] | None = None) -> Sink:
    """A sink that is not open yet, by its address; a path is a file of JSON lines."""
    if not is_address(where):
        from causewatch.streaming.sinks.lines import LinesSink

        if options:
            raise UnknownNameError(next(iter(options)), "option of a file", ())
        return LinesSink(Path(where))
    address = parse_address(where, options)
    return cast(Sink, _class(address, SINKS, "sink")(address))


def _file(where: str, wanted: Wanted, follow: bool, options: Mapping[str, Any] | None) -> Source:
    from causewatch.streaming.sources.bags import BagSource, is_bag
    from causewatch.streaming.sources.files import open_file_source

    if options:
        raise UnknownNameError(next(iter(options)), "option of a file", ())
    if re.match(r"[a-z][a-z0-9+.-]+:[^\\]*@", where, re.IGNORECASE) and not Path(where).exists():
        # Not shown: what stands before the @ may be a secret.
        msg = "The source looks like an address, but has no ://; one begins like mqtt://host/topic."
        raise SettingError(msg)
    if where != "-" and is_bag(where):
        if follow:
            msg = "A bag is read to its end; --follow is for files and folders that grow."
            raise SettingError(msg)
        return BagSource(where, wanted)
    return open_file_source(where, wanted, follow=follow)


def _class(
    address: Address, known: Mapping[str, tuple[str, str]], what: str
) -> Callable[..., Source | Sink]:
    if address.scheme not in known:
        raise UnknownNameError(address.scheme + "://", what, [f"{one}://" for one in known])
    module, name = known[address.scheme]
    return cast(Callable[..., Source | Sink], getattr(import_module(f"{HOME}.{module}"), name))
