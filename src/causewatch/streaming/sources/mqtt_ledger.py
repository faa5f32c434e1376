"""`Ledger`: which messages of a session are in, and which of them may come again.

What can be on its way. The broker numbers each message of quality of service 1 and keeps it until
we acknowledge that number; only then may it give the number to another message. When a connection
begins within a session, it sends again what it has no acknowledgement of, in the old order, with
the old numbers and a mark that says so (DUP). That may be

- what was polled and is not in a checkpoint yet,
- what is in a checkpoint and was acknowledged, but the acknowledgement was lost on its way,
- what still waits in the inbox (it is polled from there first, so this is the first case), and
- what we never saw, or polled after the last checkpoint before a kill: that is wanted.

So the ledger holds number and digest of everything polled until the broker has shown that it got
the acknowledgement. A message with the mark, whose number and digest are in it, is a repetition: it
is acknowledged and left out. Nothing in the inbox needs to be thrown away when a connection breaks,
and nothing depends on how much of it was polled at that moment.

The broker shows that it got an acknowledgement by answering something that was sent after it, since
it takes what we send in order (`receipt`); or by using the number for a message without the mark;
or, for those of an earlier connection, by sending a message without the mark, since the repeated
ones come first.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from hashlib import blake2b

from causewatch.streaming.mqtt_client import Connection

__all__ = ["Ledger", "digest"]

DIGEST = 6
"""Bytes of a digest. Only a number given out twice can be mistaken, so few are enough."""
ENTRY = struct.Struct(f"!H{DIGEST}s")


def digest(topic: str, payload: bytes) -> bytes:
    """What a message is known by, besides its number."""
    made = blake2b(payload, digest_size=DIGEST)
    made.update(b"\0" + topic.encode("utf-8", "surrogatepass"))
    return made.digest()


@dataclass(slots=True)
class _Entry:
    digest: bytes
    connection: int  # it came with last
    sent: int = 0  # number of the commit in which it was acknowledged; 0: not yet


class Ledger:
    """See the module. For one thread."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._owed: dict[int, None] = {}  # numbers to acknowledge, in the order they came
        self._session = 0
        self._connection = 0
        self._repeats_over = True  # whether this connection has sent all it sends again
        self._commits = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def owing(self) -> bool:
        """Whether there is something to acknowledge."""
        return bool(self._owed)

    def session(self, number: int) -> None:
        """Say which session it is now; nothing of an earlier one comes again."""
        if number > self._session:
            self._session = number
            self._entries.clear()
            self._owed.clear()

    def take(self, connection: Connection, packet: int, mark: bytes, repeated: bool) -> bool:
        """Note a message; False if it is a repetition."""
        self.session(connection.session)
        if connection.session != self._session:
            return True  # of a session that is over: cannot come again, or be acknowledged
        if connection.number > self._connection:
            self._connection, self._repeats_over = connection.number, False
            self._owed.clear()  # an acknowledgement counts only where its message came
        entry = self._entries.get(packet)
        known = entry is not None and repeated and entry.digest == mark
        if not repeated and not self._repeats_over:
            self._repeats_over = True
            self._entries = {
                number: one
                for number, one in self._entries.items()
                if one.connection == self._connection
            }
        if entry is not None and known:
            if entry.connection != connection.number:
                entry.connection, entry.sent = connection.number, 0
                self._owed[packet] = None
            return False
        self._entries[packet] = _Entry(mark, connection.number)
        self._owed[packet] = None
        return True

    def commit(self, connection: Connection | None) -> tuple[list[int], int]:
        """Everything polled is in a checkpoint: numbers to acknowledge in this connection, in the
        order they came, and a number for the receipt."""  # noqa: D205, D209
        owed = list(self._owed)
        self._owed.clear()
        self._commits += 1
        if connection is None or connection.number != self._connection:
            return [], self._commits  # they come again, and are acknowledged then
        for packet in owed:
            self._entries[packet].sent = self._commits
        return owed, self._commits

    def receipt(self, connection: int, commit: int) -> None:
        """The broker has got what was acknowledged in this connection up to this commit."""
        self._entries = {
            number: one
            for number, one in self._entries.items()
            if one.connection != connection or not 0 < one.sent <= commit
        }

    def save(self) -> str:
        """All that may come again, as text."""
        packed = b"".join(ENTRY.pack(number, one.digest) for number, one in self._entries.items())
        return base64.b64encode(packed).decode("ascii")

    def load(self, text: str) -> None:
        """Go on from what `save` gave; raises ValueError if it is damaged."""
        packed = base64.b64decode(text, validate=True)
        try:
            self._entries = {number: _Entry(mark, 0) for number, mark in ENTRY.iter_unpack(packed)}
        except struct.error as error:
            raise ValueError(str(error)) from error
