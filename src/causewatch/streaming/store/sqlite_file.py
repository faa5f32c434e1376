"""What SQLite needs told about its file, and what it says put into sentences."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from causewatch.errors import ModelFileError, StreamError, shorten

__all__ = [
    "FILE",
    "make_file",
    "open_to_others",
    "sentences",
    "sync_folder",
    "to_wal",
    "transaction",
]

FILE = "watch.db"
REASONS = {
    sqlite3.SQLITE_BUSY: "somebody else has been writing for too long; try again",
    sqlite3.SQLITE_LOCKED: "somebody else has been writing for too long; try again",
    sqlite3.SQLITE_FULL: "make room on the disk; nothing of this was kept, all of the rest was",
    sqlite3.SQLITE_IOERR: "the disk refuses; see whether it is full or broken",
    sqlite3.SQLITE_READONLY: "see to it that you may write to the folder and its files",
    sqlite3.SQLITE_PERM: "see to it that you may write to the folder and its files",
    sqlite3.SQLITE_CANTOPEN: "see to it that you may write to the folder and its files",
}
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
CONTRADICTS = (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA)
"""A table or a row is not there, or there twice: no waiting mends that."""


@contextmanager
def sentences(name: str) -> Iterator[None]:
    """Turn what SQLite says into one sentence about the store of this `name`."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes what is damaged
        msg = (
            f"{FILE!r} in {name} is damaged, and was left as it is; restore it from a copy, or name"
            " another folder."
        )
        raise ModelFileError(msg) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (*DAMAGED, *CONTRADICTS):
            what = "is damaged or no database" if code in DAMAGED else "contradicts itself"
            msg = (
                f"{FILE!r} in {name} {what}, and was left as it is"
                f" ({shorten(str(error))}); restore it from a copy, or name another folder."
            )
            raise ModelFileError(msg) from error
        reason = REASONS.get(code, "try again, or name another folder")
        msg = f"The state in {name} cannot be used ({shorten(str(error))}): {reason}."
        raise StreamError(msg) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. The only writer from its beginning on, so it never fails half-way."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise


def to_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Use a log. SQLite does not wait by itself for others who are just doing the same."""
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def make_file(path: str) -> None:
    """Make the file for its owner only; SQLite makes those next to it alike.

    Only a file that is not there is opened: closing one that SQLite has open would end its locks.
    """
    with suppress(OSError):  # of which SQLite tells, or somebody was faster
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_to_others(folder: Path) -> bool:
    """Whether other users may open the file, or put another in its place."""
    if os.name != "posix":
        return False
    file, place = (os.stat(one).st_mode for one in (folder / FILE, folder))
    return bool(place & 0o022 or (file & 0o077 and place & 0o011))


def sync_folder(folder: Path) -> None:
    """Let the entry of a new folder survive a power cut."""
    with suppress(OSError):  # not every system can
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
