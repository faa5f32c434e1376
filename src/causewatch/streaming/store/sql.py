"""`SqlStore`: all of a store that SQLite and PostgreSQL have in common."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

from causewatch.errors import SettingError, StreamError, phrases, plural, shorten
from causewatch.streaming.sink import Notice
from causewatch.streaming.store.attachments import Attachments, Room
from causewatch.streaming.store.base import Asked, Checkpoint, Retention
from causewatch.streaming.store.events import read_event, write_event
from causewatch.streaming.store.forgetting import forget
from causewatch.streaming.store.packing import MOST_BYTES, damaged, from_pieces, to_pieces
from causewatch.streaming.store.questions import take, withdraw
from causewatch.streaming.store.saving import InUseError, Mark, Saver, as_json, clean
from causewatch.streaming.store.series import find_series, make_series, replace_series
from causewatch.streaming.store.tables import Talk

__all__ = ["InUseError", "SqlStore"]

log = logging.getLogger(__name__)

T = TypeVar("T")

PAGE = 500
"""Events read at a time: no look at the history stays open for long."""
MOST_QUESTIONS = 1000
"""So many may wait for an answer; nobody asks more than that by hand."""
LONGEST_QUESTION = 64 << 10
MOST_DAMAGED = 1000
"""Damaged events that are named."""
CHECKED = 100_000
"""Events, the latest, that are looked through when a watch begins; about two seconds."""

LAST = (
    "SELECT a.first_event, e.number, a.id, e.body FROM alarms a JOIN events e"
    " ON e.watch = a.watch AND e.number = a.last_event"
)
"""Asks for alarms as they were at their last event."""


class SqlStore(ABC):
    """The memory of one watch in a database.

    Parameters
    ----------
    name
        What people call the store, without secrets.
    watch
        Name of the watch, for those who are told of its events.
    key
        What it is called in the tables.
    now
        The time in seconds since 1970.
    room
        How much may be attached to alarms.
    """

    _most_waiting: int | None = None
    """Events kept for a sink that does not take them; None for any number."""

    def __init__(
        self,
        name: str,
        watch: str,
        key: str,
        now: Callable[[], float],
        room: Room | None = None,
    ) -> None:
        self._name = name
        self._watch = watch
        self._key = key
        self._now = now
        self._mutex = threading.RLock()  # one connection, used by one thread at a time
        self._saver = Saver(key, name)
        self._newest = 0  # number of the last event that was seen here
        self._damaged: dict[int, str] = {}  # events that were named, and of which alarm they are
        self._series = ""  # what tells its events from those of others, once it is known
        self._holder: str | None = None  # the mark of this lock, while it is held
        self._taken: set[int] = set()  # questions that bear it
        self._attachments = Attachments(key, name, room or Room(), self._read, self._write_lightly)

    # What each database does in its own way

    @abstractmethod
    def _read(self, work: Callable[[Talk], T], nothing: T) -> T:
        """Look at the tables; gives `nothing` where there are none yet."""

    @abstractmethod
    def _write(self, work: Callable[[Talk], T], *, wait: bool = True) -> T:
        """Change something: all of it or nothing, on disk when this returns.

        `wait` says whether a database that is away for a moment is waited for.
        """

    def _write_lightly(self, work: Callable[[Talk], T]) -> T:
        """Change something that a power cut may undo again, if that is quicker."""
        return self._write(work)

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Be the only watch that writes here; raises `InUseError` if another one does."""

    @abstractmethod
    def check(self) -> None:
        """Raise `SettingError` unless a watch has kept something here."""

    @abstractmethod
    def close(self) -> None:
        """No more; safe to call twice."""

    def _saved(self, number: int) -> None:
        """A save of this number is on disk."""
        del number

    def _missing_saves(self, number: int) -> int:
        """How many saves there were after this one, the last that is known."""
        del number
        return 0

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """The lock is held meanwhile."""
        self._look_for_series()
        self._holder, self._taken = uuid.uuid4().hex, set()
        try:
            yield
        finally:
            self._holder = None

    # States and events

    @property
    def name(self) -> str:
        """What people call it, without secrets."""
        return self._name

    @property
    def watch(self) -> str:
        """Name of the watch."""
        return self._watch

    @property
    def series(self) -> str:
        """Random text that tells the events of this store from those of others."""
        return self._look_for_series()

    def load(self) -> Checkpoint | None:
        """The state that was saved last; raises `ModelFileError` if it is damaged."""

        def look(talk: Talk) -> list[tuple[Any, ...]]:
            sizes = talk.rows("SELECT SUM(LENGTH(content)) FROM pieces WHERE watch = ?", self._key)
            if (sizes[0][0] or 0) > MOST_BYTES:
                raise damaged(self._name, f"it has {sizes[0][0]:,} bytes")
            # One statement, so that all of it is of the same save while a watch goes on saving.
            return talk.rows(
                "SELECT w.save, w.size, w.checksum, p.content FROM watches w"
                " LEFT JOIN pieces p ON p.watch = w.watch WHERE w.watch = ? ORDER BY p.number",
                self._key,
            )

        with self._mutex:
            none: list[tuple[Any, ...]] = []
            rows = self._read(look, none)
            if rows:
                self._saver.found(rows[0][0])
        if not rows or rows[0][2] is None:
            return None
        pieces = [bytes(content) for *_, content in rows if content is not None]
        if sum(map(len, pieces)) != rows[0][1]:
            raise damaged(self._name, "some of it is missing")
        return from_pieces(pieces, bytes(rows[0][2]), self._name)

    def save(
        self,
        checkpoint: Checkpoint | None,
        events: Sequence[Mapping[str, Any]],
        answers: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        """Keep a state, the events since the last one, and answers: all of it or nothing.

        After a `StreamError` nobody may know whether it was kept. Calling this again with the same
        events, and new ones after them, is safe: none of them is kept twice. Raises `InUseError` if
        another watch has written since this one has read or written.
        """
        packed = None if checkpoint is None else to_pieces(checkpoint)
        lines = tuple(map(write_event, events))
        replies = [
            (as_json(answer), self._now(), self._key, number)
            for number, answer in (answers or {}).items()
        ]

        def work(talk: Talk) -> tuple[str, int]:
            written = self._saver.write(talk, packed, events, lines, self._now())
            talk.many(
                "UPDATE questions SET answer = ?, answered_at = ?"
                " WHERE watch = ? AND number = ? AND answer IS NULL",
                replies,
            )
            return written

        with self._mutex:
            save, self._newest = self._write(work, wait=False)
            self._saver.done(save)
            self._saved(Mark.of(save).number)

    def faults(self) -> str:
        """What is missing or damaged, as a sentence; see `Store`.

        The log of SQLite may have been removed, or an older copy of the file put in its place; of
        events the latest `CHECKED` are held against their checksums.
        """
        rows = self._rows("SELECT save, kept FROM watches WHERE watch = ?", self._key)
        save, kept = rows[0] if rows else ("", 0)
        saves = self._missing_saves(Mark.of(save).number)
        ((there,),) = self._rows("SELECT COUNT(*) FROM events WHERE watch = ?", self._key) or [(0,)]
        for _ in self._events(self.last - CHECKED, None, PAGE):
            pass
        lacks = [plural(saves, "save") + " of an earlier run"] if saves else []
        lacks += [plural(kept - there, "event")] if kept > there else []
        if lacks:
            self._write(lambda talk: self._begin_anew(talk, there))
        damaged = [f"event {number} of alarm {alarm}" for number, alarm in self._damaged.items()]
        told = [f"it lacks {' and '.join(lacks)} (a log was removed, or an older copy put back)"]
        told = (told if lacks else []) + ([f"damaged: {phrases(damaged)}"] if damaged else [])
        if not told:
            return ""
        return f"The state in {self._name} is not whole: {'; '.join(told)}; the rest is used."

    def _begin_anew(self, talk: Talk, kept: int) -> None:
        """Go on from what there is, with other keys of events: their numbers are used again."""
        talk.run("UPDATE watches SET kept = ? WHERE watch = ?", kept, self._key)
        replace_series(talk, self._key)
        self._series = ""

    @property
    def last(self) -> int:
        """Number of the last event; 0 if there is none."""
        rows = self._rows("SELECT last_event FROM watches WHERE watch = ?", self._key)
        last = int(rows[0][0]) if rows else 0
        self._newest = max(self._newest, last)
        return last

    @property
    def newest(self) -> int:
        """Number of the last event that was written here, or seen by `last`; asks nobody."""
        return self._newest

    def notices(self, after: int, most: int = 256) -> list[Notice]:
        """Events after this number, oldest first."""
        found: list[Notice] = []
        for number, event in self._events(after, None, max(1, most)):
            if len(found) >= most:
                break
            found.append(Notice(number, self._watch, event, self._look_for_series()))
        return found

    def _look_for_series(self) -> str:
        """What tells the events of this watch from those of others; empty if it has none yet."""
        if not self._series:
            found = self._read(lambda talk: find_series(talk, self._key), None)
            if found is None:
                found = self._write(lambda talk: make_series(talk, self._key))
            self._series = found or ""
        return self._series

    def events(self, id: str | None = None) -> Iterator[dict[str, Any]]:
        """The history, oldest first; of one alarm if `id` is given."""
        return (event for _, event in self._events(0, id, PAGE))

    def _events(
        self, after: int, id: str | None, page: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Numbered events, page by page; those that are damaged are named and left out."""
        one = "" if id is None else " AND id = ?"
        statement = (
            f"SELECT number, id, body FROM events WHERE watch = ? AND number > ?{one}"
            " ORDER BY number LIMIT ?"
        )
        which = () if id is None else (clean(id),)
        while True:
            rows = self._rows(statement, self._key, after, *which, page)
            for number, alarm, body in rows:
                event = self._event(number, alarm, body)
                if event is not None:
                    yield int(number), event
            if len(rows) < page:
                return
            after = rows[-1][0]

    def _event(self, number: int, alarm: str, body: Any) -> dict[str, Any] | None:
        """An event as it was kept; one that is damaged is named, once."""
        event = read_event(body)
        if event is None and number not in self._damaged and len(self._damaged) < MOST_DAMAGED:
            self._damaged[number] = shorten(str(alarm))
            log.warning(
                "Event %s, of alarm %s, in %s is damaged and left out; restore it from a copy if"
                " it is needed.",
                number,
                self._damaged[number],
                self._name,
            )
        return event

    def _last_event(self, number: int, alarm: str, body: Any) -> dict[str, Any] | None:
        """The last event of an alarm, or the last one that can be read; None if there is none."""
        event = self._event(number, alarm, body)
        return event or next(iter(deque(self.events(alarm), maxlen=1)), None)

    def alarms(self, *, on: bool | None = None) -> list[dict[str, Any]]:
        """Every alarm as it was at its last event, the latest raised first."""
        some = "" if on is None else f" AND a.is_on = {int(on)}"
        rows = self._rows(f"{LAST} WHERE a.watch = ?{some} ORDER BY a.first_event DESC", self._key)
        return [event for _, *row in rows if (event := self._last_event(*row)) is not None]

    def history(
        self, before: int | None = None, most: int = 100
    ) -> list[tuple[int, dict[str, Any]]]:
        """Some alarms as they were at their last event, the latest raised first.

        Each comes with a number; given as `before`, the alarms raised before it follow. Numbers
        stay the same, whatever happens to an alarm.
        """
        found: list[tuple[int, dict[str, Any]]] = []
        while len(found) < most:
            page = min(most - len(found), PAGE)
            older = "" if before is None else " AND a.first_event < ?"
            rows = self._rows(
                f"{LAST} WHERE a.watch = ?{older} ORDER BY a.first_event DESC LIMIT ?",
                self._key, *(() if before is None else (before,)), page,
            )  # fmt: skip
            for first, *row in rows:
                event = self._last_event(*row)
                if event is not None:
                    found.append((int(first), event))
            if len(rows) < page:
                break
            before = int(rows[-1][0])
        return found

    def alarm(self, id: str) -> dict[str, Any] | None:
        """One alarm as it was at its last event; None if it is not known, or forgotten."""
        rows = self._rows(f"{LAST} WHERE a.watch = ? AND a.id = ?", self._key, clean(id))
        return self._last_event(*rows[0][1:]) if rows else None

    # Attachments

    def attach(self, id: str, content: bytes) -> None:
        """Keep something with an alarm, instead of what was kept with it before.

        Meant for a thread of its own: a large one takes a while, in which the watch can write as
        ever. A power cut may undo it.
        """
        self._attachments.put(clean(id), content)

    def attached(self, id: str) -> bytes | None:
        """What is kept with an alarm; None if nothing is, or no longer."""
        return self._attachments.get(clean(id))

    # Sinks

    def expect(self, sinks: Collection[str]) -> None:
        """From now on nothing is kept for sinks other than these.

        What the others have got stays known, in case they come back.
        """
        names = [(self._key, clean(sink)) for sink in sorted(sinks)]

        def work(talk: Talk) -> None:
            talk.run("UPDATE deliveries SET wanted = 0 WHERE watch = ?", self._key)
            talk.many("UPDATE deliveries SET wanted = 1 WHERE watch = ? AND sink = ?", names)

        self._write(work)

    def delivered(self, sink: str) -> tuple[int, Any] | None:
        """Number of the last event that a sink has got, and its mark; None if it is new here."""
        rows = self._rows(
            "SELECT number, mark FROM deliveries WHERE watch = ? AND sink = ?",
            self._key,
            clean(sink),
        )
        if not rows:
            return None
        try:
            return int(rows[0][0]), json.loads(rows[0][1])
        except (ValueError, RecursionError):
            return int(rows[0][0]), None

    def deliver(self, sink: str, number: int, mark: Any = None) -> None:
        """Remember how far a sink has got. From now on nothing is forgotten that it has not.

        A power cut may undo this: then what was delivered last is sent again.
        """
        said = as_json(mark)
        self._write_lightly(
            lambda talk: talk.run(
                "INSERT INTO deliveries (watch, sink, number, mark, wanted)"
                " VALUES (?, ?, ?, ?, 1) ON CONFLICT (watch, sink) DO UPDATE SET"
                " number = excluded.number, mark = excluded.mark, wanted = 1",
                self._key, clean(sink), number, said,
            )
        )  # fmt: skip

    # Questions and answers

    def ask(self, action: Mapping[str, Any]) -> int:
        """Leave something to be done by the running watch; gives the number to ask about it."""
        try:
            said = as_json(action)
        except (TypeError, ValueError) as error:
            msg = "What is asked for must be plain JSON; leave out whatever is not."
            raise SettingError(msg) from error
        if len(said) > LONGEST_QUESTION:
            msg = f"What is asked for has {len(said):,} signs; at most {LONGEST_QUESTION:,} fit."
            raise SettingError(msg)
        self.check()
        token = uuid.uuid4().hex  # by which a repetition is known

        def work(talk: Talk) -> int:
            waiting = "SELECT COUNT(*) FROM questions WHERE watch = ? AND answer IS NULL"
            if talk.rows(waiting, self._key)[0][0] >= MOST_QUESTIONS:
                msg = (
                    f"{MOST_QUESTIONS:,} requests wait in {self._name} already; see to it that its"
                    " watch is running."
                )
                raise StreamError(msg)
            talk.run(
                "INSERT INTO questions (watch, token, question) VALUES (?, ?, ?)"
                " ON CONFLICT (token) DO NOTHING",
                self._key, token, said,
            )  # fmt: skip
            return int(talk.rows("SELECT number FROM questions WHERE token = ?", token)[0][0])

        return self._write(work)

    def asked(self) -> list[Asked]:
        """What was asked for and not yet answered, oldest first.

        Whoever holds the lock takes it with this: from then on nobody else can take it back.
        """
        rows = self._rows(
            "SELECT number, question FROM questions WHERE watch = ? AND answer IS NULL"
            " ORDER BY number LIMIT ?",
            self._key, MOST_QUESTIONS,
        )  # fmt: skip
        found = [Asked(int(number), _mapping(said) or {}) for number, said in rows]
        return found if self._holder is None else self._take(found, self._holder)

    def _take(self, found: list[Asked], holder: str) -> list[Asked]:
        """Those that nobody has taken back meanwhile; writes only if some of them are new."""
        new = {one.number for one in found} - self._taken
        if new:
            got = self._write(lambda talk: take(talk, self._key, new, holder), wait=False)
            found = [one for one in found if one.number not in new - got]
        self._taken = {one.number for one in found}
        return found

    def answer(self, number: int) -> Mapping[str, Any] | None:
        """What came of it: ``{"events": […]}`` or ``{"error": "…"}``; None if nothing yet.

        An answer is given once, and kept for a day if nobody wants it.
        """
        rows = self._rows(
            "SELECT answer FROM questions"
            " WHERE watch = ? AND number = ? AND answer IS NOT NULL",
            self._key, number,
        )  # fmt: skip
        if not rows:
            return None
        with suppress(StreamError):  # then it goes tomorrow
            self._write(
                lambda talk: talk.run(
                    "DELETE FROM questions WHERE watch = ? AND number = ?", self._key, number
                ),
                wait=False,
            )
        return _mapping(rows[0][0]) or {"error": "The answer cannot be read."}

    def withdraw(self, number: int) -> bool:
        """Take back what was asked for; False if it has been answered, or the watch has taken it.

        Whoever holds the lock may also take back what an earlier holder has taken.
        """
        return self._write(
            lambda talk: withdraw(talk, self._key, number, self._holder, self._saver)
        )

    # Age

    def forget(self, keep: Retention, now: float) -> int:
        """Forget the oldest history, but nothing that a sink has still to get.

        In memory only the latest of that is kept.

        Gives how many events went: at most a thousand, so that nobody waits long. Call it again
        from time to time.
        """

        def work(talk: Talk) -> int:
            gone = forget(talk, self._key, keep, now, self._most_waiting)
            self._attachments.tidy(talk)
            return gone

        return self._write(work)

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._read(lambda talk: talk.rows(statement, *values), [])


def _mapping(text: str) -> dict[str, Any] | None:
    """A JSON object; None if it is something else, whoever wrote it."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
