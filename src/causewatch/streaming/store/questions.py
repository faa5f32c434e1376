"""Who has what people asked for: the watch, or still the one who asked.

A watch marks what it is about to do. What is marked cannot be taken back any more, and what was
taken back is not there to be marked. So nobody is told that nothing was done while it is being
done. The mark is that of the lock under which it was made: after a kill the next holder of the lock
finds the question again, and may do it or take it back.
"""

from __future__ import annotations

from collections.abc import Collection

from causewatch.streaming.store.saving import Saver
from causewatch.streaming.store.tables import Talk

__all__ = ["take", "withdraw"]


def take(talk: Talk, watch: str, numbers: Collection[int], holder: str) -> set[int]:
    """Mark questions for the `holder` of the lock; gives those that are still there."""
    _see_to_the_column(talk)
    return {
        number
        for number in sorted(numbers)
        if talk.run(
            "UPDATE questions SET taken_by = ? WHERE watch = ? AND number = ? AND answer IS NULL",
            holder, watch, number,
        )
    }  # fmt: skip


def withdraw(talk: Talk, watch: str, number: int, holder: str | None, saver: Saver) -> bool:
    """Take a question back; False if it was answered, or a watch is about to do so.

    Parameters
    ----------
    talk
        A transaction.
    watch
        Whose question it is.
    number
        Of the question.
    holder
        The mark of whoever takes it back, if they hold the lock: then other marks are those of a
        watch that has lost it.
    saver
        Sees to it that such a watch cannot do it after all.
    """
    _see_to_the_column(talk)
    found = talk.locked(
        "SELECT answer, taken_by FROM questions WHERE watch = ? AND number = ?", watch, number
    )
    if not found:
        return talk.again  # it was us, a moment ago
    ((answer, taker),) = found
    if answer is not None or (taker is not None and holder in (None, taker)):
        return False
    if taker is not None:
        saver.sign(talk)
    talk.run("DELETE FROM questions WHERE watch = ? AND number = ?", watch, number)
    return True


def _see_to_the_column(talk: Talk) -> None:
    if not talk.has_column("questions", "taken_by"):
        talk.make_additions()
