"""A PostgreSQL server for tests: a cluster in a temporary folder, run by a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from causewatch.testing.waiting import PATIENCE

__all__ = ["Postgres", "running_postgres"]


class Postgres:
    """A running server.

    Attributes
    ----------
    folder
        Of its Unix socket.
    port
        On the loopback interface; also part of the socket's name.
    """

    def __init__(self, programs: Path, folder: Path, port: int, user: str | None) -> None:
        self._programs = programs
        self._data = folder / "data"
        self._as = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}",
                                            "--init-groups"]  # fmt: skip
        self.folder = folder
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Over the loopback interface."""
        return f"postgresql://watcher@127.0.0.1:{self.port}/postgres"

    @property
    def socket_url(self) -> str:
        """Over the Unix socket. The port is part of the socket's name."""
        return f"postgresql://watcher@:{self.port}/postgres?socket={self.folder}"

    def make(self) -> None:
        """Make the cluster. Nothing of it need survive a power cut."""
        password = self.folder / "password"
        password.write_text("secret\n")
        password.chmod(0o644)
        subprocess.run(
            [*self._as, self._programs / "initdb", "-D", self._data, "-U", "watcher", "-N",
             "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}",
             "--locale=C", "--encoding=UTF8"],
            check=True, capture_output=True, cwd=self.folder,
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._as, self._programs / "postgres", "-D", self._data, "-p", str(self.port),
                 "-k", self.folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
                 "-c", "shared_buffers=16MB", "-c", "max_connections=40", "-c", "timezone=UTC"],
                stdout=log, stderr=log, cwd=self.folder,
            )  # fmt: skip
        until = time.monotonic() + PATIENCE
        asking = [self._programs / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)]
        while subprocess.run(asking, check=False).returncode:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT is its fast mode, SIGQUIT the immediate one, which it recovers from."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A fresh server, which ends with the block."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    program = found[-1] if found else shutil.which("postgres")
    if program is None:
        pytest.skip("PostgreSQL is not installed")
    user = _user()
    # Not pytest's own folder: another user must be able to come in. Names of sockets are short.
    with tempfile.TemporaryDirectory(prefix="cw-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = Postgres(Path(program).resolve().parent, folder, port, user)
        server.make()
        try:
            server.start()
            yield server
        finally:
            server.stop()


def _user() -> str | None:
    """As whom to run it: the server refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    if shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and setpriv is not installed")
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    pytest.skip("PostgreSQL does not run as root, and there is no other user")
