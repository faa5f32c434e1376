"""Whether a run has said anything about its rows: a watch that judges nothing looks healthy."""

from __future__ import annotations

from collections.abc import Sequence

from causewatch.data import format_duration
from causewatch.errors import listing, plural
from causewatch.model import NormalModel

__all__ = ["too_little_judged"]

ENOUGH = 0.5
"""Share of the rows that must be judged for a run to say something."""
OTHER_PACE = 1.5
"""Rows that are so many times farther apart than in normal operation are too few for ticks."""


def too_little_judged(
    model: NormalModel,
    rows: int,
    judged: int,
    *,
    dropped: int = 0,
    apart: float | None = None,
    missing: Sequence[str] = (),
) -> str:
    """Why a run has judged less than half of its rows, as a sentence; empty if it has.

    Parameters
    ----------
    model
        What is normal.
    rows, judged
        How many rows there were, and how many of them are in ticks with a score.
    dropped
        How many more there were that could not be used.
    apart
        Usual time between two rows in seconds, where it is known.
    missing
        Signals that the rows do not have.
    """
    total = rows + dropped
    if total and judged >= ENOUGH * total:
        return ""
    plan = model.preprocessing
    if not total:
        return "Nothing was judged: there was no row; check the source and its format."
    if dropped > ENOUGH * total:
        why = f"{dropped:,} could not be used; check the format, and the times"
    elif apart is not None and apart > OTHER_PACE * model.interval and model.clock != "rows":
        why = (
            f"they are {format_duration(apart)} apart, and those the model was learnt from"
            f" {format_duration(model.interval)}, with ticks of {model.tick}; learn from rows like"
            " these"
        )
    elif missing:
        why = f"signals are missing ({listing(missing)}); check their names"
    else:
        why = (
            f"too many values are missing, or too few ticks of {model.tick} follow each other"
            f" without a gap, of which a mechanism needs {plan.max_lag + 1}"
        )
    count = f"Only {judged:,}" if judged else "None"
    return f"{count} of {plural(total, 'row')} could be judged: {why}."
