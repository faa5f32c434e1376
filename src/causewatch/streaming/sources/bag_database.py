"""Bags of ROS 2 that are SQLite files."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from causewatch.extras import needed

__all__ = ["Database", "holds_messages"]

MESSAGES = "SELECT topic_id, timestamp, data FROM messages {}"
TOPICS = "SELECT id, name, type FROM topics WHERE serialization_format = 'cdr' ORDER BY id"


def holds_messages(path: Path) -> bool:
    """Whether a SQLite file is a bag."""
    with suppress(sqlite3.Error), closing(_connected(path)[0]) as database:
        database.execute(MESSAGES.format("LIMIT 0"))
        database.execute(TOPICS)
        return True
    return False


class Database:
    """Messages in a SQLite file of ROS 2.

    They are read in the order of the table, which is that of recording: an index by time may be
    among what a damaged file has lost.

    Parameters
    ----------
    path
        The file; a `sqlite3.Error` if it holds no messages.

    Attributes
    ----------
    connections
        Topics and their types, as rosbags describes them.
    cut
        Whether the file is shorter than it should be.
    """

    def __init__(self, path: Path) -> None:
        self.connections: list[Any] = []
        self._database, self.cut = _connected(path)
        try:
            self.connections = self._topics()
        except Exception:
            self.close()
            raise

    def messages(self, connections: Collection[Any]) -> Iterator[tuple[Any, int, bytes]]:
        """Connection, time of recording (ns) and bytes of each message."""
        known = {one.id: one for one in connections}
        marks = ",".join("?" * len(known))
        found = self._database.execute(
            MESSAGES.format(f"WHERE topic_id IN ({marks}) ORDER BY id"), tuple(known)
        )
        for number, time, data in found:
            yield known[number], time, data

    def close(self) -> None:
        """No more is wanted."""
        self._database.close()

    def _topics(self) -> list[Any]:
        types: Any = needed("rosbags.interfaces", "ros")
        formats = types.MessageDefinitionFormat
        written = {"ros2msg": formats.MSG, "ros2idl": formats.IDL}
        definitions = {}
        with suppress(sqlite3.Error):  # older files have none
            definitions = {
                name: types.MessageDefinition(written.get(encoding, formats.NONE), text)
                for name, encoding, text in self._database.execute(
                    "SELECT topic_type, encoding, encoded_message_definition"
                    " FROM message_definitions"
                )
            }
        none = types.MessageDefinition(formats.NONE, "")
        self._database.execute(MESSAGES.format("LIMIT 0"))
        return [
            types.Connection(
                number,
                topic,
                kind,
                definitions.get(kind, none),
                "",
                0,
                types.ConnectionExtRosbag2("cdr", []),
                self,
            )
            for number, topic, kind in self._database.execute(TOPICS)
        ]


def _connected(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A database, read only, and whether it is cut off.

    It is read with its journal; without, if that cannot be read; else as far as the file goes.
    """
    where = f"file:{quote(str(path.absolute()))}?mode=ro"
    for url, cut in (
        (where, False),
        (f"{where}&immutable=1", False),
        (f"{where}&immutable=1", True),
    ):
        database = sqlite3.connect(url, uri=True, check_same_thread=False)
        try:
            if cut:  # then SQLite does not insist on all pages that its head promises
                database.execute("PRAGMA writable_schema=ON")
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            database.close()
            if cut:
                raise
        else:
            break
    return database, cut
