"""`Channel`: a connection to a PostgreSQL server, made again when it is lost, with its lock."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from causewatch.errors import CausewatchError, StreamError, shorten
from causewatch.extras import needed
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.store.saving import InUseError

__all__ = ["Channel"]

log = logging.getLogger(__name__)

T = TypeVar("T")

AWAY = ("08", "57P01", "57P02", "57P03", "25006")
"""How codes begin that say the server is going, or another one has taken its place."""
ONCE_MORE = ("40001", "40P01")
"""Two transactions were in each other's way."""
SESSION = {
    "statement_timeout": "60s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
    # The server notices within a minute that a client's machine is gone, and ends its lock.
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""Rows are acknowledged after a commit, so it must be on disk whatever the server's habit is."""
BACKEND = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
HOLDER = (
    "SELECT l.pid, a.backend_start, a.application_name FROM pg_locks l"
    " LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND l.classid::bigint = %s AND l.objid::bigint = %s"
)
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"


class _LostError(Exception):
    """The connection is gone, or there is none; what was done last may count or not."""


class Channel:
    """A connection for several threads, used by one at a time.

    Parameters
    ----------
    name
        Of the store, for messages.
    wanted
        What libpq is told.
    schema
        Where the tables are.
    watch
        Whose lock it may hold.
    patience
        Seconds to wait for a server that went away.
    backoff
        Pauses between tries.
    mutex
        Held while the connection is used.
    """

    def __init__(
        self,
        name: str,
        wanted: Mapping[str, Any],
        schema: str,
        watch: str,
        patience: float,
        backoff: Callable[[], Backoff],
        mutex: threading.RLock,
    ) -> None:
        self._name = name
        self._wanted = wanted
        self._schema = schema
        self._patience = patience
        self._backoff = backoff
        self._mutex = mutex
        said = f"{schema}/{watch}".encode()
        digest = hashlib.blake2b(said, digest_size=8, person=b"causewatch").digest()
        self._key = int.from_bytes(digest, "big", signed=True)
        self._psycopg: Any = None
        self._backend: tuple[Any, ...] | None = None  # of the last connection, at the server
        self._was_up = False
        self._closed = False
        self.connection: Any = None
        self.locked = False

    def patiently(self, work: Callable[[Any, bool], T], *, wait: bool) -> T:
        """Do something with a connection; once more on a new one as long as connections get lost.

        Without `wait` only once more and at once: the server may have been started anew since the
        last call, and a connection does not tell. `work` is told whether it was tried before.
        """
        until = time.monotonic() + (self._patience if wait else 0.0)
        backoff = self._backoff()
        while True:
            try:
                with self._mutex:  # nobody else has to wait while this one sleeps
                    return self._once(work, again=backoff.tries > 0)
            except _LostError as error:
                pause = backoff.next()
                over = backoff.tries > 1 and time.monotonic() + pause > until
                if over or not self._was_up or self._closed:
                    msg = (
                        f"The store {self._name} cannot be reached ({error}); see whether the"
                        " server is running and lets you in."
                    )
                    raise StreamError(msg) from error.__cause__
                if wait:
                    time.sleep(pause)

    def lock(self) -> None:
        """Take the lock of the watch and hold it, also on later connections."""
        if self.locked:
            raise self._in_use(_myself())
        self.patiently(lambda connection, again: self._take_lock(connection), wait=True)
        self.locked = True

    def unlock(self) -> None:
        """Let the lock go."""
        with self._mutex:
            self.locked = False
            if self.connection is not None:
                with suppress(self._psycopg.Error):  # then the server has ended it
                    self.connection.execute("SELECT pg_advisory_unlock(%s)", (self._key,))

    def close(self) -> None:
        """No more; safe to call twice."""
        with self._mutex:
            self._closed = True
            self._drop()

    def _once(self, work: Callable[[Any, bool], T], *, again: bool) -> T:
        if self._closed:
            msg = f"The store {self._name} is closed."
            raise StreamError(msg)
        self._psycopg = self._psycopg or needed("psycopg", "postgres")
        try:
            return work(self._connected(), again)
        except CausewatchError:
            raise
        except self._psycopg.Error as error:
            code = error.sqlstate or ""
            if code in ONCE_MORE:
                raise _LostError(_first_line(error)) from error
            if code.startswith(AWAY) or self.connection is None or self.connection.closed:
                self._drop()
                raise _LostError(_first_line(error)) from error
            msg = (
                f"The store {self._name} does not do what it should ({_first_line(error)}); see to"
                " it that this user may use its tables and that the server has room."
            )
            raise StreamError(msg) from error

    def _connected(self) -> Any:
        """A connection that holds the lock if this watch does."""
        if self.connection is not None:
            return self.connection
        connection = self._psycopg.connect(
            autocommit=True, application_name=_myself(), **self._wanted
        )
        try:
            for name, value in {**SESSION, "search_path": self._schema}.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            connection.execute(DURABLE)
            if self.locked:
                self._take_lock_again(connection)
            self._backend = connection.execute(BACKEND).fetchone()
        except BaseException:
            connection.close()
            raise
        if self._was_up:
            log.info("The store %s is back.", self._name)
        self.connection, self._was_up = connection, True
        return connection

    def _drop(self) -> None:
        """Let go of a connection that is of no use any more."""
        if self.connection is not None:
            if not self._closed:
                log.warning("The connection to the store %s is lost.", self._name)
            with suppress(self._psycopg.Error):
                self.connection.close()
            self.connection = None

    def _take_lock(self, connection: Any) -> None:
        """Take the lock; whoever is known to be gone is not waited for any longer."""
        until = time.monotonic() + self._patience
        high, low = divmod(self._key % (1 << 64), 1 << 32)
        while True:
            taken = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._key,))
            if taken.fetchone()[0]:
                return
            holders = connection.execute(HOLDER, (high, low)).fetchall()
            # Without a holder it has gone at this very moment.
            pid, started, program = holders[0] if holders else (None, None, None)
            ours = self._backend == (pid, started)  # an earlier connection, cut off by the network
            if (holders and not (ours or _is_dead(program))) or time.monotonic() > until:
                raise self._in_use(program or "unknown")
            connection.execute(END, (pid, started))
            time.sleep(0.02)

    def _take_lock_again(self, connection: Any) -> None:
        """Take the lock on a new connection, unless somebody was faster."""
        try:
            self._take_lock(connection)
        except InUseError as error:
            msg = (
                f"Another watch has begun to use {self._name} while the connection was lost; stop"
                " one of the two."
            )
            raise InUseError(msg) from error

    def _in_use(self, holder: str) -> InUseError:
        return InUseError(
            f"{self._name} is in use by a running watch ({shorten(holder)}); stop that first, or"
            " name this watch otherwise."
        )


def _myself() -> str:
    """Who is connected, for those who look at the server: at most 63 bytes."""
    host = socket.gethostname().encode("ascii", "replace").decode()
    among = _processes()
    return f"causewatch {os.getpid()}{among and '.'}{among}@{host}"[:63]


def _processes() -> str:
    """By which the processes of this boot and this container are known; empty if by nothing.

    Numbers of processes mean something among these only. Names of machines do not tell: clones and
    containers may have the same. The number of a namespace is given out again when the last of its
    processes has ended; who then looks for one of them finds, rightly, none.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
        namespace = os.stat("/proc/self/ns/pid")
    except OSError:
        return ""
    said = b"%b %d %d" % (boot, namespace.st_dev, namespace.st_ino)
    return hashlib.blake2b(said, digest_size=8).hexdigest() if boot else ""


def _is_dead(program: str | None) -> bool:
    """Whether whoever has this name was one of the processes that we can see, and has ended."""
    found = re.fullmatch(r"causewatch (\d+)\.([0-9a-f]+)@.*", program or "")
    if found is None or found[2] != _processes():
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it is there, but not ours
        pass
    return False


def _first_line(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return shorten(said[0] if said else type(error).__name__, 120)
