"""What tells the numbered events of one watch from those of any other.

Watches may have the same name, and numbers begin anew with every new store. So there is a random
text with the row of a watch, made once and kept: with it the key of an event (`Notice.key`) is used
by no other event.

The column came later than the others. Releases that do not know it leave it alone; a row of theirs
gets its text when a watch takes the lock, or looks for events to deliver.
"""

from __future__ import annotations

import secrets

from causewatch.streaming.store.tables import Talk

__all__ = ["find_series", "make_series", "new_series", "replace_series"]

BYTES = 8
"""Of chance; written as twice as many signs."""


def new_series() -> str:
    """A text that nobody else has."""
    return secrets.token_hex(BYTES)


def find_series(talk: Talk, watch: str) -> str | None:
    """The text of a watch; None if it has none yet."""
    if not talk.has_column("watches", "series"):
        return None
    found = talk.rows("SELECT series FROM watches WHERE watch = ?", watch)
    return found[0][0] if found else None


def replace_series(talk: Talk, watch: str) -> None:
    """Another text from now on: numbers of events that were lost are used again."""
    talk.see_to_column("watches", "series")
    talk.run("UPDATE watches SET series = ? WHERE watch = ?", new_series(), watch)


def make_series(talk: Talk, watch: str) -> str | None:
    """The same, made if there is none; None if there is no row of the watch either."""
    talk.see_to_column("watches", "series")
    talk.run(
        "UPDATE watches SET series = ? WHERE watch = ? AND series IS NULL",
        new_series(), watch,
    )  # fmt: skip
    return find_series(talk, watch)
