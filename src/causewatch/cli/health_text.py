"""What is wrong with a signal, or with the rows as a whole, in a few words."""

from __future__ import annotations

from causewatch.cli.output import shown
from causewatch.errors import quoted
from causewatch.monitor.health import STREAM

__all__ = ["UNWELL", "health_text", "state_text"]

UNWELL = "◆"
"""The sign of ill health, as on the page."""

OF_ROWS = {"silent": "no rows come", "rate_wrong": "rows come at another rate"}
"""Words for the states of the stream as a whole, which has no name that people know."""


def state_text(state: str) -> str:
    """A state of health: ``out of range``."""
    return OF_ROWS.get(state, state.replace("_", " "))


def health_text(signal: str, state: str, between: str = " ") -> str:
    """Who is not well, and what it is: ``LIT301 frozen``."""
    if signal == STREAM:
        return state_text(state)
    return f"{shown(quoted(signal))}{between}{state_text(state)}"
