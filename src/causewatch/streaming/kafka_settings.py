"""How a Kafka cluster is reached: what the source and the sink have in common.

Options are those of an address, so they are read by everybody who may see it: no secret is among
them. Names that begin with ``rdkafka.`` go to the client library as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import Address, Login, Tls, secret

__all__ = ["KafkaOptions", "client_settings", "reason_of", "split_options", "topic_of"]

PORT = 9092
PREFIX = "rdkafka."
OURS = frozenset(
    {
        "auto.offset.reset",
        "auto.commit.enable",
        "bootstrap.servers",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.idempotence",
        "enable.partition.eof",
        "group.id",
        "isolation.level",
        "metadata.broker.list",
        "plugin.library.paths",
        "request.required.acks",
        "sasl.kerberos.kinit.cmd",
        "ssl.engine.id",
        "ssl.engine.location",
        "ssl.providers",
        "acks",
    }
)
"""Settings on which the guarantees rest, or that run foreign code: not for passing through."""
TOPIC_PREFIX = "topic."
"""What the library takes off the name of a setting before it looks it up."""
SECRET_WORDS = ("password", "secret", "sasl.jaas", "key.pem", "oauthbearer.config")
"""Parts of the names of settings that hold secrets."""


@dataclass(frozen=True)
class KafkaOptions(Login, Tls):
    """Options of every ``kafka://`` address.

    Attributes
    ----------
    brokers
        Further brokers to begin with, ``host:port``.
    security_protocol
        ``PLAINTEXT``, ``SSL``, ``SASL_PLAINTEXT`` or ``SASL_SSL``; by default what the other
        options call for, and with a user always over TLS.
    sasl_mechanism
        How the user is proved: ``PLAIN``, ``SCRAM-SHA-256``, ``SCRAM-SHA-512`` …
    key_password_env, key_password_file
        What holds the password of the key file.
    """

    brokers: tuple[str, ...] = ()
    security_protocol: str = ""
    sasl_mechanism: str = ""
    key_password_env: str = ""
    key_password_file: str = ""


def split_options(address: Address) -> tuple[Address, dict[str, Any]]:
    """The address with its own options only, and those for the client library."""
    own: dict[str, Any] = {}
    passed: dict[str, Any] = {}
    for name, value in address.options.items():
        if not name.startswith(PREFIX):
            own[name] = value
            continue
        setting = name.removeprefix(PREFIX)
        if setting.removeprefix(TOPIC_PREFIX) in OURS:
            msg = f"The setting {setting!r} is causewatch's own matter; leave it out."
            raise SettingError(msg)
        if any(word in setting for word in SECRET_WORDS):
            msg = (
                f"The setting {shorten(setting)!r} holds a secret, which others could read in an"
                " address; use password_env, password_file, key or key_password_file instead."
            )
            raise SettingError(msg)
        passed[setting] = str(value).lower() if isinstance(value, bool) else value
    return replace(address, options=own), passed


def topic_of(address: Address) -> str:
    """The topic that an address names."""
    if not address.host or not address.path or "/" in address.path:
        msg = f"{address.name} names no topic; write kafka://host:9092/topic."
        raise SettingError(msg)
    return address.path


def client_settings(
    address: Address, options: KafkaOptions, passed: Mapping[str, Any]
) -> dict[str, Any]:
    """Settings of the client library to reach the cluster.

    Reads the password, so it is called when the connection is made and its result never kept.
    """
    host = f"[{address.host}]" if ":" in address.host else address.host
    brokers = (f"{host}:{address.port or PORT}", *options.brokers)
    protocol = options.security_protocol.upper()
    if not protocol:
        tls = bool(options.ca or options.cert or options.key)
        protocol = "SASL_SSL" if options.user else "SSL" if tls else "PLAINTEXT"
    found: dict[str, Any] = {
        "bootstrap.servers": ",".join(brokers),
        "security.protocol": protocol,
        "client.id": "causewatch",
        # The library would write each failed try to standard error; errors come by callback.
        "log_level": 0,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 5_000,
        "socket.keepalive.enable": True,
    }
    if options.user:
        found["sasl.username"] = options.user
        found["sasl.mechanism"] = options.sasl_mechanism or "PLAIN"
        password = options.password()
        if password is not None:
            found["sasl.password"] = password
    elif options.sasl_mechanism:
        found["sasl.mechanism"] = options.sasl_mechanism
    key_password = secret(options.key_password_env, options.key_password_file, "key_password")
    named = {
        "ssl.ca.location": options.ca,
        "ssl.certificate.location": options.cert,
        "ssl.key.location": options.key,
        "ssl.key.password": key_password,
    }
    found.update({name: value for name, value in named.items() if value})
    found.update(passed)
    return found


def reason_of(error: Any) -> str:
    """A client library's error or exception for a sentence: one line, without addresses of code."""
    inner = error.args[0] if isinstance(error, Exception) and error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return shorten(text.rstrip("."), 160) or type(error).__name__
