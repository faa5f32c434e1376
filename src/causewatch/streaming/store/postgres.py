"""`PostgresStore`: the stores of many watches on one PostgreSQL server.

A lost connection is made again. Everything but a save can be repeated without harm, and a save can
tell whether it was kept before (`causewatch.streaming.store.saving`). The watch holds an advisory
lock, which the server ends with the connection; a new connection takes it again before anything is
written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from causewatch.errors import ModelFileError, SettingError, listing, shorten
from causewatch.streaming.address import Address, Login, Tls, options_of, parse_address
from causewatch.streaming.backoff import Backoff
from causewatch.streaming.store.attachments import Room
from causewatch.streaming.store.postgres_channel import Channel
from causewatch.streaming.store.saving import clean
from causewatch.streaming.store.sql import SqlStore
from causewatch.streaming.store.tables import MAKING, POSTGRES, VERSION, Talk, schema

__all__ = ["PostgresOptions", "PostgresStore"]

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds for which a server that is away is waited for, where a call can be repeated."""
LONGEST_NAME = 200
ABOUT = (
    "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relname = 'about' AND n.nspname = %s"
)
TUNING = (
    # Arrays hardly get shorter by packing, and a checkpoint should cost little.
    "ALTER TABLE pieces ALTER COLUMN content SET STORAGE EXTERNAL",
    # Every save leaves old pieces behind: let their room be used again soon.
    "ALTER TABLE pieces SET (autovacuum_vacuum_scale_factor = 0,"
    " autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_scale_factor = 0,"
    " toast.autovacuum_vacuum_threshold = 5000)",
    "ALTER TABLE watches SET (fillfactor = 50)",
)


@dataclass(frozen=True)
class PostgresOptions(Login, Tls):
    """Options of a ``postgresql://`` address.

    Attributes
    ----------
    socket
        Folder of the server's Unix socket, instead of a host.
    schema
        Where the tables are.
    sslmode
        How much of TLS is asked for, as in libpq. ``verify-full`` if `ca` is given.
    """

    socket: str = ""
    schema: str = "causewatch"
    sslmode: Literal["", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = ""


class PostgresStore(SqlStore):
    """The memory of one watch, on a server. Nothing connects before it is used.

    Parameters
    ----------
    url
        ``postgresql://[user@]host[:port]/database``; what is not in it is taken from the usual
        places (``PGHOST``, ``PGUSER``, ``PGPASSWORD``, ``~/.pgpass``, …). Never with a password.
    watch
        Name of the watch, by which its rows are known.
    now
        The time in seconds since 1970.
    patience
        Seconds to wait for a server that went away.
    backoff
        Pauses between tries.
    room
        How much may be attached to alarms.
    """

    def __init__(
        self,
        url: str,
        watch: str,
        *,
        now: Callable[[], float] = time.time,
        patience: float = PATIENCE,
        backoff: Callable[[], Backoff] = lambda: Backoff(0.05, 2.0),
        room: Room | None = None,
    ) -> None:
        address = parse_address(url)
        options = options_of(address, PostgresOptions)
        if not watch or clean(watch) != watch or len(watch) > LONGEST_NAME:
            msg = (
                f"The watch is called {shorten(watch)!r}; give it a name of 1 to {LONGEST_NAME}"
                " signs, by which the server tells it from others."
            )
            raise SettingError(msg)
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", options.schema):
            msg = (
                f"The schema is called {shorten(options.schema)!r}; small letters, digits and _ are"
                " expected."
            )
            raise SettingError(msg)
        super().__init__(f"{address.name!r} ({shorten(watch)})", watch, watch, now, room)
        self._schema = options.schema
        wanted = _parameters(address, options)
        self._channel = Channel(
            self._name, wanted, options.schema, watch, patience, backoff, self._mutex
        )
        self._prepared: Any = None  # the connection on which the tables were seen last

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only watch that writes here; raises `InUseError` if another one does."""
        with self._mutex:
            self._channel.lock()
            self._saver.forget()
        try:
            self._write(lambda talk: None)  # makes the tables, or says why that cannot be
            with self._holding():
                yield
        finally:
            self._channel.unlock()

    def check(self) -> None:
        """Raise `SettingError` unless a watch has kept something here."""
        there = [name for (name,) in self._rows("SELECT watch FROM watches ORDER BY watch")]
        if self._key not in there:
            msg = (
                f"{self._name} holds no state of a watch of this name; it has those of"
                f" {listing(there)}."
            )
            raise SettingError(msg)

    def close(self) -> None:
        """No more; safe to call twice."""
        self._channel.close()

    def _read(self, work: Callable[[Talk], T], nothing: T) -> T:
        def look(connection: Any, again: bool) -> T:
            if not self._prepare(connection, make=False):
                return nothing
            return work(Talk(connection.cursor(), POSTGRES, again=again))

        return self._channel.patiently(look, wait=True)

    def _write(self, work: Callable[[Talk], T], *, wait: bool = True) -> T:
        def change(connection: Any, again: bool) -> T:
            self._prepare(connection, make=True)
            with connection.transaction():
                return work(Talk(connection.cursor(), POSTGRES, again=again))

        return self._channel.patiently(change, wait=wait)

    def _prepare(self, connection: Any, *, make: bool) -> bool:
        """Whether the tables are there; made if need be and wanted."""
        if self._prepared is connection:
            return True
        if not self._are_there(connection):
            if not make:
                return False
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (MAKING,))
                if not self._are_there(connection):  # nobody was faster
                    self._make(connection)
        self._prepared = connection
        return True

    def _make(self, connection: Any) -> None:
        there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._schema,))
        if there.fetchone() is None:  # who may not make one can have one made for them
            connection.execute(f"CREATE SCHEMA {self._schema}")
        for statement in (*schema(POSTGRES), *TUNING):
            connection.execute(statement)
        connection.execute("CREATE TABLE about (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO about (version) VALUES (%s)", (VERSION,))

    def _are_there(self, connection: Any) -> bool:
        # Not to_regclass, which may still remember what was there before a lock was waited for.
        if connection.execute(ABOUT, (self._schema,)).fetchone() is None:
            return False
        ((version,),) = connection.execute("SELECT MAX(version) FROM about").fetchall()
        if version is None or not 1 <= version <= VERSION:
            msg = (
                f"The tables in {self._name} have format version {version}; this release reads up"
                f" to version {VERSION}: install a newer causewatch."
            )
            raise ModelFileError(msg)
        return True


def _parameters(address: Address, options: PostgresOptions) -> dict[str, Any]:
    """What libpq is told; what is left out it takes from the environment."""
    if options.socket and address.host:
        msg = f"{address.name!r} names a host and a socket; give one of them."
        raise SettingError(msg)
    found: dict[str, Any] = {
        "host": options.socket or address.host,
        "port": address.port,
        "dbname": address.path,
        "user": options.user,
        "password": options.password(),
        "sslmode": options.sslmode or ("verify-full" if options.ca else ""),
        "sslrootcert": options.ca,
        "sslcert": options.cert,
        "sslkey": options.key,
    }
    return {name: value for name, value in found.items() if value} | {
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }
