"""Forgetting old history, a little at a time."""

from __future__ import annotations

from causewatch.streaming.store.base import Retention
from causewatch.streaming.store.saving import DAY, Mark, row_of
from causewatch.streaming.store.tables import Talk

__all__ = ["AT_ONCE", "forget"]

AT_ONCE = 1000
"""Events that go in one transaction, so that nobody waits long for it."""


def forget(
    talk: Talk, watch: str, keep: Retention, now: float, most_waiting: int | None = None
) -> int:
    """Forget at most `AT_ONCE` events; gives how many.

    Alarms that are on stay with all of their events, and so does whatever a sink has still to get:
    of that only the latest `most_waiting`, if that is given.
    """
    last, kept, save = row_of(talk, watch)
    talk.run(
        "DELETE FROM questions WHERE watch = ? AND answered_at IS NOT NULL AND answered_at < ?",
        watch, now - DAY,
    )  # fmt: skip
    behind = talk.rows("SELECT MIN(number) FROM deliveries WHERE watch = ? AND wanted = 1", watch)
    got = last if behind[0][0] is None else int(behind[0][0])
    if most_waiting is not None:
        got = max(got, last - most_waiting)
    gone = 0
    concerned: set[str] = set()  # alarms that have lost events, and may be gone themselves
    if keep.days is not None:
        mark = Mark.of(save)
        present = now if mark.at is None else mark.at + mark.age(now)
        gone = _too_old(talk, watch, present - keep.days * DAY, got, concerned)
    if keep.events is not None and kept - gone > keep.events and gone < AT_ONCE:
        most = min(kept - gone - keep.events, AT_ONCE - gone)
        gone += _too_many(talk, watch, most, got, concerned)
    if gone:
        talk.run("UPDATE watches SET kept = kept - ? WHERE watch = ?", gone, watch)
    if concerned and talk.has_table("attachments"):
        # One by one: a server that does not know how many there are would compare all with all.
        talk.many(
            "DELETE FROM attachments WHERE watch = ? AND id = ?"
            " AND NOT EXISTS (SELECT 1 FROM alarms a WHERE a.watch = ? AND a.id = ?)",
            [(watch, id, watch, id) for id in sorted(concerned)],
        )
    return gone


def _too_old(talk: Talk, watch: str, before: float, got: int, concerned: set[str]) -> int:
    """Forget alarms whose last event was written before a time, with all their events."""
    gone = 0
    for (id,) in talk.rows(
        "SELECT id FROM alarms WHERE watch = ? AND is_on = 0 AND written_at < ?"
        " AND last_event <= ? ORDER BY written_at LIMIT ?",
        watch, before, got, AT_ONCE,
    ):  # fmt: skip
        concerned.add(id)
        left = AT_ONCE - gone
        numbers = talk.rows(
            "SELECT number FROM events WHERE watch = ? AND id = ? ORDER BY number LIMIT ?",
            watch, id, left,
        )  # fmt: skip
        if numbers:
            gone += talk.run(
                "DELETE FROM events WHERE watch = ? AND id = ? AND number <= ?",
                watch, id, numbers[-1][0],
            )  # fmt: skip
        if len(numbers) == left:  # perhaps not all of them: its turn comes again
            break
        talk.run("DELETE FROM alarms WHERE watch = ? AND id = ?", watch, id)
    return gone


def _too_many(talk: Talk, watch: str, most: int, got: int, concerned: set[str]) -> int:
    """Forget the oldest events of alarms that are over."""
    found = talk.rows(
        "SELECT e.number, e.id FROM events e"
        " LEFT JOIN alarms a ON a.watch = e.watch AND a.id = e.id"
        " WHERE e.watch = ? AND e.number <= ? AND COALESCE(a.is_on, 0) = 0"
        " ORDER BY e.number LIMIT ?",
        watch, got, most,
    )  # fmt: skip
    talk.many(
        "DELETE FROM events WHERE watch = ? AND number = ?",
        [(watch, number) for number, _ in found],
    )
    # Older events of the same alarm went before its last one, so with that nothing is left of it.
    talk.many(
        "DELETE FROM alarms WHERE watch = ? AND id = ? AND last_event = ?",
        [(watch, id, number) for number, id in found],
    )
    concerned.update(id for _, id in found)
    return len(found)
