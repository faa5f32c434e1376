"""Values far from all else that a signal ever was: failed measurements among normal rows."""

from __future__ import annotations

from causewatch.data.table import NANOSECONDS
from causewatch.errors import phrases, plural
from causewatch.preprocess.findings import Finding, Period, exclude_option, number
from causewatch.preprocess.survey import SignalSummary, SurveyResult
from causewatch.preprocess.survey_values import LEVELS, Far

__all__ = ["wild_findings", "wild_values"]

FAR = 5.0
"""Wild values are apart from the others by so many times the range of these."""
LEAST_RANGE = 0.05
"""That range counts as at least this share of its larger end: a step from 16 to 15 is not wild."""
LEAST_CONSTANT = 20.0
"""The range of a constant is its size, at least this: a valve may open from 0 to 100 % once."""
FEW, SHARE, CONSTANT_SHARE = 3, 0.01, 0.001
"""Wild values make up so many rows, or such a share of them, at most; more is another mode."""


def wild_values(signal: SignalSummary) -> tuple[tuple[Far, ...], float, float] | None:
    """The wild values of a signal, and the range of the others; None if there are none."""
    high, low = signal.highest, signal.lowest
    kinds = LEVELS if signal.values is None else len(signal.values)
    outliers = None
    for wild in range(1, kinds):  # as many as are wild
        for above in range(wild + 1):
            below = wild - above
            if above >= len(high) or below >= len(low):
                continue
            top, bottom = high[above].value, low[below].value
            out = (*high[:above], *low[:below])
            width = max(top - bottom, LEAST_RANGE * max(abs(top), abs(bottom)))
            share = SHARE
            if top == bottom:
                width, share = max(abs(top), LEAST_CONSTANT), CONSTANT_SHARE
            apart = [high[above - 1].value - top] if above else []
            apart += [bottom - low[below - 1].value] if below else []
            rows = sum(far.rows for far in out)
            if min(apart) > FAR * width and rows <= max(FEW, share * signal.count):
                outliers = out, bottom, top
    return outliers


def wild_findings(result: SurveyResult) -> list[Finding]:
    """A sentence about the wild values of all signals."""
    known = [(signal.name, wild) for signal in result.signals if (wild := wild_values(signal))]
    if not known:
        return []
    words, spans = [], []
    for name, (out, low, high) in known:
        start = min(far.first for far in out)
        spans.append(Period(start, start + round(result.interval * NANOSECONDS), result.clock))
        begin, rows = spans[-1].bounds[0], sum(far.rows for far in out)
        values = number(out[0].value) + (f" and {len(out) - 1} more" if len(out) > 1 else "")
        when = f"once, {begin}" if rows == 1 else f"{rows:,} rows, the first {begin}"
        usual = number(low) if low == high else f"{number(low)} to {number(high)}"
        words.append(f"{name} is {values} ({when}), otherwise {usual}")
    verb = "has" if len(known) == 1 else "have"
    option = exclude_option(spans[0])
    return [
        Finding(
            kind="wild_values",
            severity="warning",
            text=f"{plural(len(known), 'signal')} {verb} values far from all others: "
            f"{phrases(words, 5)}.",
            meaning="Failed measurements are learnt as normal: ranges and limits reach that far.",
            remedy=f"If they are, leave their rows out with {option}, or empty the cells.",
            signals=tuple(name for name, _ in known),
            span=spans[0].bounds,
        )
    ]
