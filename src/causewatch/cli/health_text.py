"""What is wrong with a signal, or with the rows as a whole, in a few words."""

from __future__ import annotations

from causewatch.cli.output import shown
from causewatch.errors import quoted
from causewatch.monitor.health import STREAM

__all__ = ["UNWELL", "health_text", "state_text"]

UNWELL = "◆"
"""The sign of ill health, as on the page."""

WORDS = {
    "incomplete": "state not whole",
    "silent": "no rows come",
    "not_judged": "rows come and are not judged",
    "rate_wrong": "rows come at another rate",
    "not_kept": "what is seen cannot be kept",
    "unlike": "no longer as learnt",
}
"""Words for states whose name does not say enough. All but the last are of the stream as a whole,
which has no name that people know."""


def state_text(state: str) -> str:
    """A state of health: ``out of range``."""
    return WORDS.get(state, state.replace("_", " "))


def health_text(signal: str, state: str, between: str = " ") -> str:
    """Who is not well, and what it is: ``LIT301 frozen``."""
    if signal == STREAM:
        return state_text(state)
    return f"{shown(quoted(signal))}{between}{state_text(state)}"
