"""What belongs to an alarm beyond its events, such as the ticks around it.

It may be large, and the watch must not wait for it. So it is written piece by piece, each in a
transaction of its own; it counts once a last, short one has put its line into the table. Pieces
without such a line (of what was replaced, forgotten, or cut off by a kill) are swept away a few at
a time. Forgetting an alarm takes its line away.

The tables came later than the others. Releases that do not know them leave them alone, so the
version of a store stays as it was, and several releases can share a server. They are made with a
new store, and in an older one when something is attached for the first time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from causewatch.errors import StreamError, shorten
from causewatch.streaming.store.tables import Talk

__all__ = ["LARGEST", "PIECE", "Attachments", "Room"]

T = TypeVar("T")

PIECE = 256 << 10
"""Bytes written in one transaction: nobody else waits for longer than these take."""
LARGEST = 16 << 20
"""Bytes that may be attached to one alarm."""
SWEPT = 4
"""Pieces swept away in one transaction; a database may overwrite what it removes."""
TOGETHER = 4
"""Pieces read at a time."""
PAUSE = 0.001
"""Seconds between two transactions, in which whoever waits for the store gets it."""
LOOKS = 3
"""How often something is looked for that is replaced while it is read."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much is kept; the oldest goes first.

    Attributes
    ----------
    most
        Alarms that have something attached.
    size
        Bytes altogether.
    """

    most: int = 500
    size: int = 512 << 20


class Reading(Protocol):
    """How a store is looked at: gives `nothing` where it has no tables yet."""

    def __call__(self, work: Callable[[Talk], T], nothing: T) -> T:
        """Do it."""


class Writing(Protocol):
    """How a store is changed, in one transaction."""

    def __call__(self, work: Callable[[Talk], T]) -> T:
        """Do it."""


class Attachments:
    """What is attached to the alarms of one watch. Safe to use from several threads.

    Parameters
    ----------
    watch
        Its key in the tables.
    name
        Of the store, for messages.
    room
        How much is kept.
    read, write
        Ways to the tables; the store is free for others between two calls.
    """

    def __init__(self, watch: str, name: str, room: Room, read: Reading, write: Writing) -> None:
        self._watch = watch
        self._name = name
        self._room = room
        self._read, self._write = read, write
        self._one_at_a_time = threading.Lock()
        self._writing = 0  # number of what is being written, not to be swept away

    def put(self, id: str, content: bytes) -> None:
        """Attach something to an alarm, instead of what was attached before."""
        if len(content) > LARGEST:
            msg = (
                f"What is to be kept with an alarm has {len(content):,} bytes; at most"
                f" {LARGEST:,} fit."
            )
            raise StreamError(msg)
        if not self._read(lambda talk: self._has_alarm(talk, id), False):
            raise self._no_alarm(id)
        view = memoryview(content)
        with self._one_at_a_time:
            try:
                self._write(self._begin)
                for place, start in enumerate(range(0, len(view), PIECE)):
                    self._put_piece(place, view[start : start + PIECE])
                    time.sleep(PAUSE)
                self._write(lambda talk: self._finish(talk, id, len(view)))
            finally:
                self._writing = 0
            with suppress(StreamError):  # it is attached; there is a next time to tidy up
                while self._write(self.tidy):
                    time.sleep(PAUSE)

    def get(self, id: str) -> bytes | None:
        """What is attached to an alarm."""
        for _ in range(LOOKS):
            found = self._read(lambda talk: self._find(talk, id), None)
            if found is None:
                return None
            number, size = found
            pieces: list[bytes] = []
            while more := self._some_pieces(number, len(pieces)):
                pieces += more
            if sum(map(len, pieces)) == size:
                return b"".join(pieces)
        return None

    def tidy(self, talk: Talk) -> int:
        """Sweep away some pieces that belong to nothing; gives how many."""
        if not talk.has_table("attachments"):
            return 0
        # No join: a server that does not know how many there are would compare all with all.
        heads = talk.rows("SELECT number FROM attachments WHERE watch = ?", self._watch)
        known = {self._writing, *(number for (number,) in heads)}
        for number, first in talk.rows(
            "SELECT number, MIN(piece) FROM attachment_pieces WHERE watch = ? GROUP BY number",
            self._watch,
        ):
            if number not in known:
                return talk.run(
                    "DELETE FROM attachment_pieces WHERE watch = ? AND number = ? AND piece < ?",
                    self._watch, number, first + SWEPT,
                )  # fmt: skip
        return 0

    # Steps of writing

    def _begin(self, talk: Talk) -> None:
        """Make the tables if need be, and take a number for the pieces."""
        if not talk.has_table("attachments"):
            talk.make_additions()
        newest = "SELECT MAX(number) FROM {} WHERE watch = ?"
        both = [
            talk.rows(newest.format(table), self._watch)[0][0] or 0
            for table in ("attachments", "attachment_pieces")
        ]
        self._writing = int(max(both)) + 1

    def _put_piece(self, piece: int, content: memoryview) -> None:
        values: tuple[Any, ...] = (self._watch, self._writing, piece, content)
        self._write(
            lambda talk: talk.run(
                "INSERT INTO attachment_pieces (watch, number, piece, content)"
                " VALUES (?, ?, ?, ?) ON CONFLICT (watch, number, piece)"
                " DO UPDATE SET content = excluded.content",
                *values,
            )
        )

    def _finish(self, talk: Talk, id: str, size: int) -> None:
        """All pieces are written: from now on they count, instead of any earlier ones."""
        if not self._has_alarm(talk, id):
            raise self._no_alarm(id)
        written = talk.rows(
            "SELECT SUM(LENGTH(content)) FROM attachment_pieces WHERE watch = ? AND number = ?",
            self._watch, self._writing,
        )  # fmt: skip
        if (written[0][0] or 0) != size:
            msg = (
                f"Somebody else has tidied up {self._name} meanwhile; see to it that only one watch"
                " uses it, and try again."
            )
            raise StreamError(msg)
        talk.run(
            "INSERT INTO attachments (watch, id, number, size) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (watch, id) DO UPDATE SET number = excluded.number, size = excluded.size",
            self._watch, id, self._writing, size,
        )  # fmt: skip
        self._make_room(talk)

    def _make_room(self, talk: Talk) -> None:
        """Let go of the oldest where there is too much; their pieces are swept away later."""
        left, doomed = self._room.size, []
        kept = talk.rows(
            "SELECT id, size FROM attachments WHERE watch = ? ORDER BY number DESC", self._watch
        )
        for place, (id, size) in enumerate(kept):
            left -= size
            if place >= self._room.most or left < 0:
                doomed.append((self._watch, id))
        talk.many("DELETE FROM attachments WHERE watch = ? AND id = ?", doomed)

    def _has_alarm(self, talk: Talk, id: str) -> bool:
        wanted = "SELECT 1 FROM alarms WHERE watch = ? AND id = ?"
        return bool(talk.rows(wanted, self._watch, id))

    def _no_alarm(self, id: str) -> StreamError:
        return StreamError(
            f"There is no alarm {shorten(id)!r} in {self._name} to keep something with; it may have"
            " been forgotten."
        )

    # Steps of reading

    def _find(self, talk: Talk, id: str) -> tuple[int, int] | None:
        """Number and size of what is attached to an alarm."""
        # An earlier release may have forgotten the alarm alone.
        if not talk.has_table("attachments") or not self._has_alarm(talk, id):
            return None
        found = talk.rows(
            "SELECT number, size FROM attachments WHERE watch = ? AND id = ?", self._watch, id
        )
        return (int(found[0][0]), int(found[0][1])) if found else None

    def _some_pieces(self, number: int, first: int) -> list[bytes]:
        """Some pieces from the `first` on; none at the end, or where one is missing."""
        none: list[tuple[Any, ...]] = []
        rows = self._read(
            lambda talk: talk.rows(
                "SELECT piece, content FROM attachment_pieces"
                " WHERE watch = ? AND number = ? AND piece >= ? ORDER BY piece LIMIT ?",
                self._watch, number, first, TOGETHER,
            ),
            none,
        )  # fmt: skip
        # Where one is missing in between, the rest is of no use.
        return [
            bytes(content) for place, (piece, content) in enumerate(rows, first) if piece == place
        ]
