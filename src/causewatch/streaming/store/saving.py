"""`Saver`: one save, which may be repeated without harm when nobody knows whether it worked.

Every save leaves a text of its own in the database: its number, when it was, and chance. The saver
remembers which texts it may find there, so it can tell three things apart: its last save has not
arrived, its last save has arrived although the caller was told that it failed, and somebody else
has written meanwhile.

The ages of alarms count what was written, not the clock alone. Of the time between two saves a day
counts at most, and nothing if the clock went back by more than that: when it jumps, all that was
written before moves along.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from causewatch.errors import SettingError
from causewatch.streaming.store.packing import Packed
from causewatch.streaming.store.series import new_series
from causewatch.streaming.store.tables import Talk

__all__ = ["DAY", "InUseError", "Mark", "Saver", "as_json", "clean", "row_of"]

DAY = 86_400.0
"""Seconds; the most that the time between two saves counts."""


class InUseError(SettingError):
    """Another watch is using this store, or has used it meanwhile; waiting does not mend that."""


class Mark(NamedTuple):
    """The text that a save leaves in the database."""

    number: int
    """Of the save; 0 before the first, and for those of the first releases."""
    at: float | None
    """When it was, in seconds since 1970."""

    @classmethod
    def of(cls, text: str) -> Mark:
        """What a text says."""
        found = re.fullmatch(r"([0-9]{1,18}) (-?[0-9]{1,18}\.[0-9]{3}) [0-9a-f]+", text)
        return cls(int(found[1]), float(found[2])) if found else cls(0, None)

    def next(self, now: float | None) -> str:
        """The text of the save after this one; None for one that does not count as time."""
        at = self.at if now is None else now
        return uuid.uuid4().hex if at is None else f"{self.number + 1} {at:.3f} {uuid.uuid4().hex}"

    def age(self, now: float) -> float:
        """How much of the time since this save counts."""
        if self.at is None or abs(now - self.at) <= DAY:
            return now - (now if self.at is None else self.at)
        return DAY if now > self.at else 0.0


class _Saved(NamedTuple):
    """What the database holds after a certain save."""

    untold: tuple[str, ...]
    """Events that are there, though the caller was told that saving them failed."""
    digests: tuple[bytes, ...] | None
    """Of the pieces of the checkpoint; None if they are not known."""


class Saver:
    """Writes checkpoints and events of one watch.

    Parameters
    ----------
    watch
        Its key in the tables.
    name
        Of the store, for messages.
    """

    def __init__(self, watch: str, name: str) -> None:
        self._watch = watch
        self._name = name
        self._possible: dict[str, _Saved] | None = None

    def forget(self) -> None:
        """Others may have written: what is there now is as good as anything."""
        self._possible = None

    def found(self, save: str) -> None:
        """The state of this save was read: the next one goes on from it."""
        if self._possible is None or save not in self._possible:
            self._possible = {save: _Saved((), None)}

    def write(
        self,
        talk: Talk,
        packed: Packed | None,
        events: Sequence[Mapping[str, Any]],
        lines: tuple[str, ...],
        now: float,
    ) -> tuple[str, int]:
        """Write all that is new, within a transaction.

        Gives the text of this save (see `Mark`), and the number of the last event.

        Nothing counts before the transaction has ended well and `done` was called. After a failure
        the same events are to come again, first in the list.
        """
        last, kept, save = row_of(talk, self._watch)
        before, mark = self._before(save), Mark.of(save)
        if mark.at is not None and (jump := now - mark.at - mark.age(now)):
            talk.run(
                "UPDATE alarms SET written_at = written_at + ? WHERE watch = ?", jump, self._watch
            )
        known = len(before.untold) if lines[: len(before.untold)] == before.untold else 0
        fresh = list(zip(events, lines, strict=True))[known:]
        self._events(talk, fresh, last, now)
        if packed is not None:
            self._pieces(talk, packed, before.digests)
        this = mark.next(now)
        talk.run(
            "UPDATE watches SET last_event = ?, kept = ?, save = ? WHERE watch = ?",
            last + len(fresh), kept + len(fresh), this, self._watch,
        )  # fmt: skip
        digests = before.digests if packed is None else packed.digests
        self._possible = {save: before, this: _Saved(lines, digests)}
        return this, last + len(fresh)

    def sign(self, talk: Talk) -> None:
        """Write nothing but another text: whoever held the lock before can save no more."""
        _, _, save = row_of(talk, self._watch)
        before, this = self._before(save), Mark.of(save).next(None)
        talk.run("UPDATE watches SET save = ? WHERE watch = ?", this, self._watch)
        self._possible = {save: before, this: before}

    def done(self, save: str) -> None:
        """The transaction has ended well, and the caller is told so."""
        if self._possible is not None:
            self._possible = {save: _Saved((), self._possible[save].digests)}

    def _before(self, save: str) -> _Saved:
        """What is known of the save that is there; raises `InUseError` if it is another's."""
        if self._possible is None:
            self._possible = {save: _Saved((), None)}
        if save not in self._possible:
            msg = (
                f"Somebody else has written to {self._name} while this watch was using it; start"
                " the watch again, which then goes on from what is there."
            )
            raise InUseError(msg)
        return self._possible[save]

    def _events(
        self, talk: Talk, fresh: list[tuple[Mapping[str, Any], str]], last: int, now: float
    ) -> None:
        rows: list[tuple[Any, ...]] = []
        alarms: dict[str, tuple[Any, ...]] = {}
        for number, (event, line) in enumerate(fresh, last + 1):
            id = clean(event.get("id"))
            rows.append((self._watch, number, id, now, line))
            first = alarms[id][2] if id in alarms else number
            is_on = int(event.get("cleared_at") is None)
            alarms[id] = (self._watch, id, first, number, is_on, now)
        talk.many(
            "INSERT INTO events (watch, number, id, written_at, body) VALUES (?, ?, ?, ?, ?)", rows
        )
        talk.many(
            "INSERT INTO alarms (watch, id, first_event, last_event, is_on, written_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (watch, id) DO UPDATE SET"
            " last_event = excluded.last_event, is_on = excluded.is_on,"
            " written_at = excluded.written_at",
            list(alarms.values()),
        )

    def _pieces(self, talk: Talk, packed: Packed, before: tuple[bytes, ...] | None) -> None:
        """Write the pieces that differ from those that are there."""
        there = before or ()
        changed = [
            number
            for number, digest in enumerate(packed.digests)
            if number >= len(there) or there[number] != digest
        ]
        # An update in place leaves the pages alone that stay the same, a replacement would not.
        talk.many(
            "INSERT INTO pieces (watch, number, content) VALUES (?, ?, ?)"
            " ON CONFLICT (watch, number) DO UPDATE SET content = excluded.content",
            [(self._watch, number, packed.pieces[number]) for number in changed],
        )
        if before is None or len(before) > len(packed.digests):
            talk.run(
                "DELETE FROM pieces WHERE watch = ? AND number >= ?",
                self._watch, len(packed.digests),
            )  # fmt: skip
        talk.run(
            "UPDATE watches SET size = ?, checksum = ? WHERE watch = ?",
            packed.size, packed.checksum, self._watch,
        )  # fmt: skip


def row_of(talk: Talk, watch: str) -> tuple[int, int, str]:
    """Number of the last event, how many are kept, and the last save; nobody changes it now."""
    wanted = "SELECT last_event, kept, save FROM watches WHERE watch = ?"
    found = talk.locked(wanted, watch)
    if not found:
        talk.see_to_column("watches", "series")
        talk.run(
            "INSERT INTO watches (watch, last_event, kept, save, series)"
            " VALUES (?, 0, 0, '', ?) ON CONFLICT (watch) DO NOTHING",
            watch, new_series(),
        )  # fmt: skip
        found = talk.locked(wanted, watch)
    last, kept, save = found[0]
    return int(last), int(kept), str(save)


def clean(name: Any) -> str:
    """Text that every database takes: no half signs, no zero bytes."""
    return str(name).encode("utf-8", "replace").decode().replace("\0", "?")


def as_json(value: Any) -> str:
    """JSON in ASCII, so that every database takes every sign."""
    return json.dumps(value, allow_nan=False)
