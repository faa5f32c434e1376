"""Bags of messages as robots record them: ROS 1 files, ROS 2 folders, MCAP files.

rosbags reads them. A recording that was cut off is read as far as it goes; see `bag_repair`.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from causewatch.errors import StreamError, shorten
from causewatch.extras import needed
from causewatch.streaming.sources.bag_database import Database, holds_messages
from causewatch.streaming.sources.bag_repair import index_again, scan_again

__all__ = ["Bag", "Message", "is_bag", "open_bag"]

log = logging.getLogger(__name__)

ROS1 = b"#ROSBAG V"
MCAP = b"\x89MCAP0\r\n"
SQLITE = b"SQLite format 3\x00"
STORAGES = (".db3", ".mcap")
INFORMATION = "rosbag2_bagfile_information"
COMPRESSION = re.compile(r"^\s*compression_mode:\s*[\"']?(\w+)", re.MULTILINE)

Raw = tuple[Any, int, bytes]
"""The connection of a message, the time it was recorded (ns), and its bytes."""


class Message(NamedTuple):
    """A message as it was recorded, at `time` (nanoseconds)."""

    topic: str
    time: int
    data: bytes
    connection: Any


class Storage(Protocol):
    """One file, or a folder that rosbags reads as a whole."""

    @property
    def connections(self) -> list[Any]:
        """Topics and their types."""

    def messages(self, connections: Collection[Any]) -> Iterator[Raw]:
        """Messages in the order in which they were recorded."""

    def close(self) -> None:
        """No more is wanted."""


@dataclass
class _Reader:
    """A reader of rosbags, and the way of reading that is to be used."""

    reader: Any
    read: Callable[[Collection[Any]], Iterator[Raw]]

    @property
    def connections(self) -> list[Any]:
        return list(self.reader.connections)

    def messages(self, connections: Collection[Any]) -> Iterator[Raw]:
        return self.read(connections)

    def close(self) -> None:
        with suppress(Exception):
            self.reader.close()


class Bag:
    """An open bag.

    Parameters
    ----------
    path
        Where it is.
    storages
        Its files.
    ros1
        Whether messages are written as in ROS 1.
    cut
        Which of its files are known not to go on to their end.
    lost
        How many others cannot be read at all.
    """

    def __init__(
        self,
        path: Path,
        storages: Sequence[Storage],
        *,
        ros1: bool = False,
        cut: Collection[int] = (),
        lost: int = 0,
    ) -> None:
        self.path = path
        self.ros1 = ros1
        self._storages = storages
        self._cut = set(cut)
        self._lost = lost

    @property
    def damaged(self) -> int:
        """Files of it that do not go on to their end."""
        return len(self._cut) + self._lost

    @property
    def connections(self) -> list[Any]:
        """Topics and their types, as rosbags describes them; a topic may be there twice."""
        return [one for storage in self._storages for one in storage.connections]

    @property
    def topics(self) -> dict[str, str]:
        """The type of each topic."""
        return {one.topic: one.msgtype for one in sorted(self.connections, key=lambda c: c.topic)}

    def messages(self, topics: Collection[str]) -> Iterator[Message]:
        """The messages of some topics; where a file is damaged it ends, and that is counted."""
        for number, storage in enumerate(self._storages):
            wanted = [one for one in storage.connections if one.topic in topics]
            if not wanted:
                continue
            try:
                for connection, time, data in storage.messages(wanted):
                    yield Message(connection.topic, time, data, connection)
            except Exception as error:  # whatever a reader makes of bytes that make no sense
                if number in self._cut:
                    continue
                self._cut.add(number)
                log.warning(
                    "%s is damaged; what comes before was read (%s).",
                    self.path.name,
                    shorten(str(error)) or type(error).__name__,
                )

    def close(self) -> None:
        """No more is wanted."""
        for storage in self._storages:
            storage.close()


def is_bag(path: str | Path) -> bool:
    """Whether this is a bag, by what is inside."""
    path = Path(path)
    try:
        if path.is_dir():
            return INFORMATION in _metadata(path) or any(map(is_bag, _files(path)))
        if not path.is_file():  # a pipe would be waited for, and what is read from it be gone
            return False
        with path.open("rb") as file:
            head = file.read(16)
    except (OSError, ValueError):  # the latter for names that no file can have
        return False
    if head.startswith(SQLITE):
        return holds_messages(path)
    return head.startswith((ROS1, MCAP))


def open_bag(path: str | Path) -> Bag:
    """Open a bag; raises if nothing of it can be read."""
    path = Path(path)
    needed("rosbags.highlevel", "ros")
    try:
        if path.is_dir():
            return _open_folder(path)
        with path.open("rb") as file:
            ros1 = file.read(len(ROS1)) == ROS1
        storage, cut = _open_file(path)
    except OSError as error:
        msg = f"{path.name} cannot be read: {error.strerror or error}."
        raise StreamError(msg) from error
    return Bag(path, [storage], ros1=ros1, cut=[0] if cut else ())


def _open_folder(path: Path) -> Bag:
    packed = COMPRESSION.search(_metadata(path))
    if packed is not None and packed[1].lower() != "none":
        reader = needed("rosbags.rosbag2", "ros").Reader(path)
        try:
            reader.open()
        except Exception as error:
            raise _unreadable(path, error) from error
        return Bag(path, [_Reader(reader, reader.messages)])
    opened: list[tuple[Storage, bool]] = []
    lost: list[StreamError] = []
    for file in _files(path):
        try:
            opened.append(_open_file(file))
        except StreamError as error:
            log.warning("%s", error)
            lost.append(error)
    if not opened:
        msg = f"{path.name} cannot be read as a bag: it holds no .db3 and no .mcap file."
        raise lost[0] if lost else StreamError(msg)
    cut = [number for number, (_, damaged) in enumerate(opened) if damaged]
    return Bag(path, [storage for storage, _ in opened], cut=cut, lost=len(lost))


def _open_file(path: Path) -> tuple[Storage, bool]:
    """One file, and whether it is cut off."""
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(SQLITE):
        try:
            database = Database(path)
        except sqlite3.Error as error:
            raise _unreadable(path, error) from error
        if database.cut:
            log.warning("%s is cut off; it is read as far as it goes.", path.name)
        return database, database.cut
    if head.startswith(ROS1):
        kind, repair = needed("rosbags.rosbag1", "ros").Reader, index_again
    elif head.startswith(MCAP):
        kind, repair = needed("rosbags.rosbag2.storage_mcap", "ros").McapReader, scan_again
    else:
        msg = f"{path.name} cannot be read as a bag: it begins like no bag."
        raise StreamError(msg)
    reader = kind(path)
    cut = False
    try:
        reader.open()
    except Exception as error:  # there is no end to what a reader may stumble over
        reader = kind(path)
        try:
            repair(reader)
        except Exception:
            if reader.bio:
                reader.bio.close()
            raise _unreadable(path, error) from error
        log.warning("%s is cut off; it is read as far as it goes.", path.name)
        cut = True
    # By its index, a reader would refuse MCAP files that have none and are not quite in order.
    return _Reader(reader, getattr(reader, "messages_scan", reader.messages)), cut


def _unreadable(path: Path, error: Exception) -> StreamError:
    reason = shorten(str(error)) or type(error).__name__
    return StreamError(f"{path.name} cannot be read as a bag: {reason.rstrip('.')}.")


def _metadata(path: Path) -> str:
    """``metadata.yaml``; nothing if it is not there, as in a recording that was cut off."""
    try:
        return (path / "metadata.yaml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _files(path: Path) -> list[Path]:
    """The files of a folder in the order in which they were written: bag_2 before bag_10."""
    return sorted(
        (one for one in path.iterdir() if one.suffix in STORAGES and one.is_file()),
        key=lambda one: [int(part) if part.isdigit() else part for part in _parts(one.stem)],
    )


def _parts(name: str) -> list[str]:
    # Text and numbers in turn, beginning with text, so that like is compared with like.
    return re.split(r"(\d+)", name)
