"""A real nats-server with JetStream, on loopback."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from causewatch.testing.waiting import PATIENCE

from .ports import free_port


class NatsServer:
    """May be stopped, killed and started again: same port, same store."""

    def __init__(self, program: str, folder: Path, config: str = "") -> None:
        self._program = program
        self.port = free_port()
        self._file = folder / "nats.conf"
        self._file.write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{folder}" }}\n{config}\n'
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

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
                with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                    if probe.recv(4) == b"INFO":
                        return
            except OSError:
                pass
            assert self._process.poll() is None, "nats-server has ended"
            assert time.monotonic() < end, "nats-server does not answer"
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

    def do(self, work: Any, **login: Any) -> Any:
        """Call ``await work(client, jetstream)`` on a connection of its own."""
        return asyncio.run(self._do(work, login))

    async def _do(self, work: Any, login: dict[str, Any]) -> Any:
        import nats

        client = await nats.connect(f"nats://{self.address}", **login)
        try:
            return await work(client, client.jetstream(timeout=PATIENCE))
        finally:
            await client.close()

    def add_stream(self, name: str, subjects: Sequence[str], **settings: Any) -> None:
        async def work(client: Any, js: Any) -> None:
            await js.add_stream(name=name, subjects=list(subjects), **settings)

        self.do(work)

    def delete_stream(self, name: str) -> None:
        async def work(client: Any, js: Any) -> None:
            await js.delete_stream(name)

        self.do(work)

    def publish(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish, and wait until the stream has all of them, in this order."""

        async def work(client: Any, js: Any) -> None:
            acks = [await js.publish_async(subject, data) for subject, data in messages]
            await asyncio.wait_for(asyncio.gather(*acks), PATIENCE)

        self.do(work)

    def messages(self, stream: str) -> list[bytes]:
        """What a stream has, oldest first."""

        async def work(client: Any, js: Any) -> list[bytes]:
            state = (await js.stream_info(stream)).state
            numbers = range(state.first_seq, state.last_seq + 1)
            return [(await js.get_msg(stream, number)).data for number in numbers]

        return list(self.do(work))


@contextmanager
def nats_server(folder: Path, config: str = "", *, start: bool = True) -> Iterator[NatsServer]:
    """A server for the time of a test."""
    pytest.importorskip("nats", reason="nats-py is not installed")
    program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")
    if program is None:
        pytest.skip("nats-server is not installed")
    server = NatsServer(program, folder, config)
    if start:
        server.start()
    try:
        yield server
    finally:
        server.kill()
