"""The tables of a store, and the few words in which SQLite and PostgreSQL differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["MAKING", "POSTGRES", "SQLITE", "VERSION", "Dialect", "Talk", "schema"]

VERSION = 1
"""Of the tables; a store with a higher one was written by a newer release, and cannot be used. It
stays the same when only tables and columns are added that others may leave alone."""
MAKING = 0x63617573_65776174
"""The lock that whoever makes tables on a server holds."""

TABLES = """
CREATE TABLE IF NOT EXISTS watches (
    watch TEXT PRIMARY KEY,
    last_event {integer} NOT NULL,
    kept {integer} NOT NULL,
    save TEXT NOT NULL,
    size {integer},
    checksum {blob},
    series TEXT
){strict};
CREATE TABLE IF NOT EXISTS pieces (
    watch TEXT NOT NULL,
    number {integer} NOT NULL,
    content {blob} NOT NULL,
    PRIMARY KEY (watch, number)
){strict};
CREATE TABLE IF NOT EXISTS events (
    watch TEXT NOT NULL,
    number {integer} NOT NULL,
    id TEXT NOT NULL,
    written_at {real} NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (watch, number)
){strict};
CREATE INDEX IF NOT EXISTS events_of_alarm ON events (watch, id, number);
CREATE TABLE IF NOT EXISTS alarms (
    watch TEXT NOT NULL,
    id TEXT NOT NULL,
    first_event {integer} NOT NULL,
    last_event {integer} NOT NULL,
    is_on {integer} NOT NULL,
    written_at {real} NOT NULL,
    PRIMARY KEY (watch, id)
){strict};
CREATE INDEX IF NOT EXISTS alarms_by_age ON alarms (watch, is_on, written_at);
CREATE TABLE IF NOT EXISTS deliveries (
    watch TEXT NOT NULL,
    sink TEXT NOT NULL,
    number {integer} NOT NULL,
    mark TEXT NOT NULL,
    wanted {integer} NOT NULL,
    PRIMARY KEY (watch, sink)
){strict};
CREATE TABLE IF NOT EXISTS questions (
    number {counter},
    watch TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    question TEXT NOT NULL,
    answer TEXT,
    answered_at {real},
    taken_by TEXT
){strict};
CREATE INDEX IF NOT EXISTS questions_of_watch ON questions (watch, number)
"""
"""``watches.save`` is another text after every save; ``alarms`` points to events, whose bodies are
written once."""

ADDITIONS = """
CREATE TABLE IF NOT EXISTS attachments (
    watch TEXT NOT NULL,
    id TEXT NOT NULL,
    number {integer} NOT NULL,
    size {integer} NOT NULL,
    PRIMARY KEY (watch, id)
){strict};
CREATE INDEX IF NOT EXISTS attachments_by_age ON attachments (watch, number);
CREATE TABLE IF NOT EXISTS attachment_pieces (
    watch TEXT NOT NULL,
    number {integer} NOT NULL,
    piece {integer} NOT NULL,
    content {blob} NOT NULL,
    PRIMARY KEY (watch, number, piece)
){strict};
CREATE INDEX IF NOT EXISTS alarms_by_first ON alarms (watch, first_event)
"""
"""What stores of the first releases do not have; see `causewatch.streaming.store.attachments`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database writes what others write otherwise.

    Attributes
    ----------
    placeholder
        Stands for a value.
    locking
        Ends a SELECT of rows that nobody else may change until the transaction ends. SQLite has one
        writer at a time anyway.
    tables, columns
        Ask for a table by its name, and for a column by those of its table and its own.
    making, tuning
        What is said before tables are made, so that nobody else makes them, and after the later
        ones.
    integer, real, blob, counter, strict
        Words in CREATE TABLE.
    """

    placeholder: str
    locking: str
    tables: str
    columns: str
    making: tuple[str, ...]
    tuning: tuple[str, ...]
    integer: str
    real: str
    blob: str
    counter: str
    strict: str


SQLITE = Dialect(
    placeholder="?",
    locking="",
    tables="SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?",
    columns="SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
    making=(),
    tuning=(),
    integer="INTEGER",
    real="REAL",
    blob="BLOB",
    counter="INTEGER PRIMARY KEY AUTOINCREMENT",
    strict=" STRICT",
)
POSTGRES = Dialect(
    placeholder="%s",
    locking=" FOR UPDATE",
    # Not to_regclass, which may still remember what was there before a lock was waited for.
    tables="SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relname = ? AND n.nspname = current_schema()",
    columns="SELECT 1 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relname = ? AND a.attname = ? AND n.nspname = current_schema()",
    making=(f"SELECT pg_advisory_xact_lock({MAKING})",),
    # What is attached is packed already.
    tuning=("ALTER TABLE attachment_pieces ALTER COLUMN content SET STORAGE EXTERNAL",),
    integer="BIGINT",
    real="DOUBLE PRECISION",
    blob="BYTEA",
    counter="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    strict="",
)


def schema(dialect: Dialect) -> list[str]:
    """The statements that make all tables."""
    return [*_statements(TABLES, dialect), *_additions(dialect)]


def _additions(dialect: Dialect) -> list[str]:
    """The statements that make the later tables, if they are not there."""
    return [*_statements(ADDITIONS, dialect), *dialect.tuning]


def _statements(tables: str, dialect: Dialect) -> list[str]:
    words = {
        name: getattr(dialect, name) for name in ("integer", "real", "blob", "counter", "strict")
    }
    return [one.strip() for one in tables.format(**words).split(";")]


class Talk:
    """One transaction, or one look at the database.

    Statements have a question mark for each value, whatever the database wants there.

    Parameters
    ----------
    cursor
        Of the database.
    dialect
        What it speaks.
    again
        Whether the same was tried before, and nobody knows how that ended.
    """

    def __init__(self, cursor: Any, dialect: Dialect, *, again: bool = False) -> None:
        self._cursor = cursor
        self._dialect = dialect
        self.again = again

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows that a statement gives."""
        self._cursor.execute(self._in_dialect(statement), values)
        found: list[tuple[Any, ...]] = self._cursor.fetchall()
        return found

    def run(self, statement: str, *values: Any) -> int:
        """Do something; gives how many rows it concerned."""
        self._cursor.execute(self._in_dialect(statement), values)
        return int(self._cursor.rowcount)

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Do the same for each of `rows`."""
        if rows:
            self._cursor.executemany(self._in_dialect(statement), rows)

    def locked(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows that nobody else may change until the transaction ends."""
        return self.rows(statement + self._dialect.locking, *values)

    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""
        return bool(self.rows(self._dialect.tables, name))

    def has_column(self, table: str, name: str) -> bool:
        """Whether there is such a column in a table."""
        return bool(self.rows(self._dialect.columns, table, name))

    def make_additions(self) -> None:
        """Make what a store of the first releases does not have."""
        for statement in (*self._dialect.making, *_additions(self._dialect)):
            self._cursor.execute(statement)
        self.see_to_column("questions", "taken_by")

    def see_to_column(self, table: str, name: str) -> None:
        """Make a column of text that a table of the first releases does not have."""
        if self.has_column(table, name):
            return
        for statement in self._dialect.making:
            self._cursor.execute(statement)
        if not self.has_column(table, name):  # nobody was faster
            self._cursor.execute(f"ALTER TABLE {table} ADD COLUMN {name} TEXT")

    def _in_dialect(self, statement: str) -> str:
        return statement.replace("?", self._dialect.placeholder)
