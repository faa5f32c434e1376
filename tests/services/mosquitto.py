"""A real mosquitto, on loopback."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from causewatch.testing.waiting import PATIENCE

from .ports import free_port

LOCALHOST = "127.0.0.1"


class Mosquitto:
    """May be stopped, killed and started again: same port, same store.

    Parameters
    ----------
    folder
        Where everything is kept.
    settings
        Further lines of the configuration.
    persistent
        Whether it keeps sessions on disk; written at a clean stop, or after each change if
        `saves` is true.
    users
        Passwords by user; anybody may come if there are none.
    tls
        Whether to speak TLS, with the certificates of `certificates`.
    client_certificates
        Whether clients must show one.
    """

    def __init__(
        self,
        program: str,
        folder: Path,
        settings: Sequence[str] = (),
        *,
        persistent: bool = True,
        saves: bool = False,
        users: dict[str, str] | None = None,
        tls: bool = False,
        client_certificates: bool = False,
    ) -> None:
        self._program = program
        self.folder = folder
        self.port = free_port()
        lines = [f"listener {self.port} {LOCALHOST}", "max_queued_messages 0", "log_type error"]
        lines.append(f"user {_owner(folder)}")
        if persistent:
            lines += ["persistence true", f"persistence_location {folder}/"]
        if saves:
            lines += ["autosave_on_changes true", "autosave_interval 1"]
        if users:
            passwords = folder / "passwords"
            passwords.write_text("")
            for name, password in users.items():
                subprocess.run(
                    ["mosquitto_passwd", "-b", str(passwords), name, password],
                    check=True,
                    capture_output=True,
                )
            lines += ["allow_anonymous false", f"password_file {passwords}"]
        else:
            lines.append("allow_anonymous true")
        if tls:
            make_certificates(folder)
            lines += [
                f"cafile {folder}/ca.pem",
                f"certfile {folder}/server.pem",
                f"keyfile {folder}/server.key",
            ]
            if client_certificates:
                lines += ["require_certificate true"]
        self._file = folder / "mosquitto.conf"
        self._file.write_text("\n".join([*lines, *settings]) + "\n")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{LOCALHOST}:{self.port}"

    def start(self) -> None:
        assert self._process is None
        self._process = subprocess.Popen(
            [self._program, "-c", str(self._file)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.create_connection((LOCALHOST, self.port), 1):
                    return
            except OSError:
                pass
            assert self._process.poll() is None, "mosquitto has ended"
            assert time.monotonic() < end, "mosquitto does not answer"
            time.sleep(0.01)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def publish(
        self,
        messages: Sequence[tuple[str, bytes]],
        qos: int = 1,
        retain: bool = False,
        tls: Path | None = None,
    ) -> None:
        """Publish, and wait until the broker has confirmed all of them, in this order."""
        with publisher(self.port, tls) as client:
            for topic, payload in messages:
                said = client.publish(topic, payload, qos=qos, retain=retain)
            said.wait_for_publish(PATIENCE)


@contextmanager
def publisher(port: int, tls: Path | None = None) -> Iterator[Any]:
    """A client of paho that is connected; with the certificate of an authority if `tls` is one."""
    import paho.mqtt.client as mqtt

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.max_inflight_messages_set(1000)
    if tls is not None:
        client.tls_set(str(tls))
    up = threading.Event()
    client.on_connect = lambda *_: up.set()
    client.connect(LOCALHOST, port)
    client.loop_start()
    try:
        assert up.wait(PATIENCE)
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


class Listener:
    """Somebody who writes down what is published."""

    def __init__(self, port: int, topic: str) -> None:
        import paho.mqtt.client as mqtt

        messages: list[Any] = []
        self.messages = messages
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self._client.reconnect_delay_set(1, 1)
        up = threading.Event()
        self._client.on_connect = lambda client, *_: client.subscribe(topic, 1)
        self._client.on_subscribe = lambda *_: up.set()
        self._client.on_message = lambda client, data, message: messages.append(message)
        self._client.connect(LOCALHOST, port)
        self._client.loop_start()
        assert up.wait(PATIENCE)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def make_certificates(folder: Path) -> None:
    """An authority (``ca.pem``), and certificates of a server and of a client by it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")

    def run(*command: str) -> None:
        subprocess.run(["openssl", *command], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
        "-subj", "/CN=authority")  # fmt: skip
    for name in ("server", "client"):
        run("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (folder / "more").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-extfile", "more")  # fmt: skip


def _owner(folder: Path) -> str:
    """Mosquitto started as root becomes this user, who must be able to write to the folder."""
    return folder.owner()


@contextmanager
def mosquitto(
    folder: Path, settings: Sequence[str] = (), *, start: bool = True, **how: Any
) -> Iterator[Mosquitto]:
    """A broker for the time of a test."""
    pytest.importorskip("paho.mqtt", reason="paho-mqtt is not installed")
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if program is None:
        pytest.skip("mosquitto is not installed")
    broker = Mosquitto(program, folder, settings, **how)
    if start:
        broker.start()
    try:
        yield broker
    finally:
        broker.kill()
