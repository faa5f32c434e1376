"""`SqliteStore`: the store of one watch in a folder, and `MemoryStore` for those who keep nothing.

The file is in WAL mode: readers never wait for the watch nor the watch for them. A commit is on
disk when it returns (``synchronous=FULL``), because rows are acknowledged right after it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from causewatch.errors import ModelFileError, SettingError, StreamError
from causewatch.streaming.store.attachments import Room
from causewatch.streaming.store.lock import lock_folder
from causewatch.streaming.store.sql import SqlStore
from causewatch.streaming.store.sqlite_file import (
    FILE,
    make_file,
    open_to_others,
    sentences,
    sync_folder,
    to_wal,
    transaction,
)
from causewatch.streaming.store.tables import SQLITE, VERSION, Talk, schema
from causewatch.streaming.store.witness import Witness

__all__ = ["FILE", "MemoryStore", "SqliteStore"]

log = logging.getLogger(__name__)

T = TypeVar("T")

FORMAT = 0x43575354
"""Says in the file that it is one of ours."""
PATIENCE = 4.0
"""Seconds to wait for another writer."""
WAL_BYTES = 4 << 20
"""The log next to the file is cut back to this length once everything in it is in the file."""
SMALLEST = 512
"""Bytes of the smallest page that SQLite knows."""
IN_MEMORY = Room(most=50, size=64 << 20)
"""What may be attached to alarms where nothing is on disk."""
MOST_WAITING = 10_000
"""Events that wait there for a sink that is away; of more than these the oldest may go."""
OLDEST = (3, 37, 0)
"""The first SQLite with strict tables."""
SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA wal_autocheckpoint = 500",
    f"PRAGMA journal_size_limit = {WAL_BYTES}",
    "PRAGMA trusted_schema = OFF",  # nothing in a foreign file is run
    "PRAGMA cell_size_check = ON",
)


class SqliteStore(SqlStore):
    """The memory of one watch, in the file ``watch.db`` of a folder.

    Nothing is made before the first `lock` or change.

    Parameters
    ----------
    folder
        The folder, of this watch alone, on a local disk.
    watch
        Name of the watch; that of the folder if it is empty.
    now
        The time in seconds since 1970.
    room
        How much may be attached to alarms.
    """

    def __init__(
        self,
        folder: Path,
        watch: str = "",
        *,
        now: Callable[[], float] = time.time,
        room: Room | None = None,
    ) -> None:
        folder = Path(folder)
        super().__init__(repr(str(folder)), watch or folder.absolute().name, "", now, room)
        self._folder = folder
        self._place = str(folder / FILE)
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._ready = False  # whether the tables are there
        self._closed = False
        self._witness: Witness | None = None  # while the lock is held
        self._looked = False  # whether what the witness says was held against what is there
        self._look_at_folder()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only watch that writes here; raises `InUseError` if another one does."""
        self._make_folder()
        with lock_folder(self._folder), self._looking(), self._holding():
            with self._mutex:
                self._saver.forget()
                self._connect(make=True)
            if open_to_others(self._folder):
                log.warning(
                    "The state in %s is open to other users, who can read it and hold up writing;"
                    " close it with 'chmod -R go= %s'.",
                    self._name,
                    self._folder,
                )
            yield

    def check(self) -> None:
        """Raise `SettingError` unless a watch has kept something here."""
        with self._mutex:
            if self._connect(make=False) is None:
                msg = (
                    f"{self._name} holds no state of a watch; name the folder given to"
                    " 'causewatch watch --state'."
                )
                raise SettingError(msg)

    def _saved(self, number: int) -> None:
        """A save is on disk: the witness knows. One that knows of later ones has to be asked."""
        if self._witness is not None:
            self._witness.note(number, anew=self._looked)

    def _missing_saves(self, number: int) -> int:
        """How many later saves the witness knows."""
        self._looked = True
        return 0 if self._witness is None else max(0, self._witness.last - number)

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """The witness looks on meanwhile."""
        witness = Witness(self._folder)
        with witness.look():
            self._witness, self._looked = witness, False
            try:
                yield
            finally:
                self._witness = None

    def _write_lightly(self, work: Callable[[Talk], T]) -> T:
        """Change something without waiting for the disk."""
        with self._mutex, sentences(self._name):
            connection = self._connect(make=True)
            assert connection is not None
            connection.execute("PRAGMA synchronous = NORMAL")
            try:
                return self._write(work)
            finally:
                self._wait_for_the_disk_again(connection)

    def _wait_for_the_disk_again(self, connection: sqlite3.Connection) -> None:
        """Let commits be on disk as ever; a connection that does not is not used any longer."""
        try:
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            log.warning("%s is opened anew: %s.", self._name, error)
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            # What could not be moved from the log into the file is moved by the next one.
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection, self._ready = None, False

    def close(self) -> None:
        """No more; safe to call twice."""
        with self._mutex:
            self._closed = True
            self._drop()

    def _read(self, work: Callable[[Talk], T], nothing: T) -> T:
        with self._mutex, sentences(self._name):
            connection = self._connect(make=False)
            return nothing if connection is None else work(Talk(connection.cursor(), SQLITE))

    def _write(self, work: Callable[[Talk], T], *, wait: bool = True) -> T:
        with self._mutex, sentences(self._name):
            connection = self._connect(make=True)
            assert connection is not None
            self._look_whether_moved()
            with transaction(connection):
                return work(Talk(connection.cursor(), SQLITE))

    # Opening

    def _look_at_folder(self) -> None:
        if self._folder.exists() and not self._folder.is_dir():
            msg = f"{self._name} is a file; name a folder for the state."
            raise SettingError(msg)
        old = self._folder / "state.zip"
        if old.is_file() and not os.path.exists(self._place):
            msg = (
                f"{self._name} was written by an earlier release, which kept its state in"
                f" {old.name!r}; name a new folder to begin anew, the old alarms stay readable in"
                " 'alarms.jsonl'."
            )
            raise SettingError(msg)

    def _make_folder(self) -> None:
        if self._folder.is_dir():
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(self._folder.parent)
        except OSError as error:
            msg = f"The folder {self._name} cannot be made: {error.strerror}."
            raise StreamError(msg) from error

    def _connect(self, *, make: bool) -> sqlite3.Connection | None:
        """The connection; None if there is no store yet and none is to be made."""
        if self._closed:
            msg = f"The store {self._name} is closed."
            raise StreamError(msg)
        if self._connection is None:
            # Never with `open`: closing a file again would end SQLite's own locks on it.
            if not os.path.exists(self._place):
                if not make:
                    return None
                self._make_folder()
                make_file(self._place)
            with sentences(self._name):
                self._connection = self._open()
        if not self._ready:
            with sentences(self._name):
                self._ready = self._prepare(self._connection, make=make)
        return self._connection if self._ready else None

    def _open(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < OLDEST:
            msg = (
                f"SQLite {sqlite3.sqlite_version} is too old to keep a state; version 3.37 or"
                " later is needed."
            )
            raise StreamError(msg)
        self._look_whether_cut_short()
        connection = sqlite3.connect(
            self._place, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        # What is damaged is read all the same: its checksum tells.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            for one in SETTINGS:
                connection.execute(one)
            self._inode = self._on_disk()
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection, *, make: bool) -> bool:
        """Whether the tables are there; made if need be and wanted."""
        try:
            if self._are_there(connection):
                return True
            if not make:
                return False
            to_wal(connection, PATIENCE)
            with transaction(connection):
                if not self._are_there(connection):  # nobody was faster
                    for statement in schema(SQLITE):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {FORMAT}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
            return True
        except BaseException:
            connection.close()
            self._connection = None
            raise

    def _are_there(self, connection: sqlite3.Connection) -> bool:
        ((format_,),) = connection.execute("PRAGMA application_id").fetchall()
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        ((tables,),) = connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()
        if not tables:
            return False
        if format_ != FORMAT:
            msg = (
                f"{FILE!r} in {self._name} is a database, but not one of causewatch; name another"
                " folder."
            )
            raise ModelFileError(msg)
        if not 1 <= version <= VERSION:
            msg = (
                f"{FILE!r} in {self._name} has format version {version}; this release reads up to"
                f" version {VERSION}: install a newer causewatch."
            )
            raise ModelFileError(msg)
        return True

    def _look_whether_cut_short(self) -> None:
        """Raise for a few bytes that SQLite would take for an empty file."""
        with suppress(OSError):
            if 0 < os.stat(self._place).st_size < SMALLEST:
                msg = (
                    f"{FILE!r} in {self._name} is no database, and was left as it is; remove it, or"
                    " name another folder."
                )
                raise ModelFileError(msg)

    def _on_disk(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._place)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _look_whether_moved(self) -> None:
        """Raise if the file was taken away: what is written to it now nobody would find."""
        if self._on_disk() != self._inode:
            msg = (
                f"{FILE!r} in {self._name} was removed or replaced while it was in use; start the"
                " watch again."
            )
            raise ModelFileError(msg)


class MemoryStore(SqliteStore):
    """A store that ends with the process: for a watch that keeps no state.

    Memory is not to grow for as long as a sink is away, so only so many events wait for it.
    """

    _most_waiting = MOST_WAITING

    def __init__(self, watch: str = "", *, now: Callable[[], float] = time.time) -> None:
        super().__init__(Path(), watch or "watch", now=now, room=IN_MEMORY)
        self._name = "memory"
        self._place = ":memory:"
        self._holder = "memory"  # as if it were always locked

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Nobody else can write here."""
        yield

    def check(self) -> None:
        """There is always something here."""

    def _write_lightly(self, work: Callable[[Talk], T]) -> T:
        """There is no disk to wait for."""
        return self._write(work)

    def _look_at_folder(self) -> None:
        pass

    def _look_whether_moved(self) -> None:
        pass

    def _connect(self, *, make: bool) -> sqlite3.Connection | None:
        del make
        if self._connection is None and not self._closed:
            self._connection = self._open()
        return super()._connect(make=True)
