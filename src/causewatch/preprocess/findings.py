"""What a learning run found out about its own data, in sentences."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from scipy import stats

from causewatch.data.table import NANOSECONDS, Clock, format_time
from causewatch.errors import ModelFileError, plural, shorten

__all__ = [
    "Finding",
    "Period",
    "Severity",
    "enough_rows",
    "exclude_option",
    "ignore_option",
    "number",
    "percent",
]

Severity = Literal["info", "warning", "problem"]

MINUTE = 60 * NANOSECONDS


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the data or the model show that a person should know.

    Attributes
    ----------
    kind
        A stable word for programs, such as ``"startup"``; `docs/report.md` lists them.
    severity
        ``"info"``, ``"warning"``, or ``"problem"`` if the result should not be trusted as it is.
    text
        One sentence: what was found, with names, numbers and times.
    meaning
        What it means for the result.
    remedy
        What to do; empty if there is nothing to do.
    signals
        The signals concerned, the worst first.
    span
        Start and end (exclusive) as :func:`causewatch.data.table.format_time` writes them.
    """

    kind: str
    severity: Severity
    text: str
    meaning: str
    remedy: str = ""
    signals: tuple[str, ...] = ()
    span: tuple[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        data = asdict(self)
        data["signals"] = list(self.signals)
        data["span"] = None if self.span is None else list(self.span)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """The finding that :meth:`to_dict` described."""
        try:
            severity, span = data["severity"], data["span"]
            if severity not in get_args(Severity):
                raise ValueError(severity)
            return cls(
                kind=str(data["kind"]),
                severity=severity,
                text=str(data["text"]),
                meaning=str(data["meaning"]),
                remedy=str(data["remedy"]),
                signals=tuple(str(name) for name in data["signals"]),
                span=None if span is None else (str(span[0]), str(span[1])),
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            message = (
                f"A stored finding is incomplete or wrong at {shorten(str(error))}; it needs kind, "
                "severity (info, warning or problem), text, meaning, remedy, signals and span."
            )
            raise ModelFileError(message) from error


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open span of time and how people write it.

    Clock times of periods longer than ten minutes are rounded outward to whole minutes.
    """

    start: int
    end: int
    clock: Clock

    @property
    def bounds(self) -> tuple[str, str]:
        """Both ends, in full."""
        start, end = self.start, self.end
        if self.clock in ("naive", "utc") and end - start > 10 * MINUTE:
            start, end = start // MINUTE * MINUTE, -(-end // MINUTE) * MINUTE
        return format_time(start, self.clock), format_time(end, self.clock)

    def text(self, within_a_day: bool) -> str:
        """The period for a sentence; `within_a_day` if the whole recording lies in one day."""
        start, end = self.bounds
        if self.clock not in ("naive", "utc"):
            return f"{start} to {end}"
        if within_a_day and start[:10] == end[:10]:
            return f"{_short(start)}–{_short(end)}"
        if start[:10] == end[:10]:
            return f"{start[:10]} {_short(start)}–{_short(end)}"
        return f"{start[:10]} {_short(start)} to {end[:10]} {_short(end)}"


def _short(time: str) -> str:
    clock = time[11:].removesuffix("Z")
    return clock[:5] if clock[5:] in ("", ":00") else clock


def exclude_option(period: Period) -> str:
    """The option of ``causewatch learn`` that leaves the period out."""
    start, end = (_typed(bound) for bound in period.bounds)
    return f"--exclude {shlex.quote(f'{start}..{end}')}"


def _typed(time: str) -> str:
    """A time as one would type it: without seconds that are zero."""
    zone = "Z" if time.endswith("Z") else ""
    bare = time.removesuffix("Z")
    return bare[:16] + zone if len(bare) == 19 and bare.endswith(":00") else time


def ignore_option(names: Iterable[str]) -> str:
    """The option of ``causewatch learn`` that leaves signals out."""
    return f"--ignore {shlex.quote(','.join(names))}"


def number(value: float) -> str:
    """A number with three significant digits, whole numbers in full."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share for a sentence."""
    value = 100 * share
    if 0 < value < 0.1:
        return "less than 0.1 %"
    if 99.9 < value < 100:
        return "more than 99.9 %"
    return f"{value:.1f} %" if value < 10 else f"{value:.0f} %"


def enough_rows(
    windows: int,
    signals: int,
    max_lag: int,
    largest_parent_count: int | None = None,
    *,
    alpha: float = 0.05,
) -> Finding:
    """Whether there are enough windows for this many signals and lags.

    Parameters
    ----------
    windows
        Usable windows: moments at which a signal and all lags are present.
    signals, max_lag
        What is tested: ``signals² · max_lag`` candidate links.
    largest_parent_count
        Most parents any signal got; None before learning: then every candidate counts, which is
        the worst case.
    alpha
        Significance level of a link.

    Notes
    -----
    A link's test conditions on the parents of both its ends. With that many numbers estimated,
    ``windows − conditions − 2`` degrees of freedom are left, and Fisher's transformation gives
    the smallest partial correlation that is found four times out of five.
    """
    candidates = signals * max_lag
    conditions = candidates if largest_parent_count is None else 2 * largest_parent_count
    freedom = windows - conditions - 2
    tests = signals * candidates
    false = tests * alpha
    chance = f"About {number(round(false, 1) if false < 10 else round(false))} of the "
    chance += f"{plural(tests, 'candidate link')} would pass at alpha {number(alpha)} by chance"
    asked = f"{plural(signals, 'signal')} and {plural(max_lag, 'lag')}"
    if freedom < 5:
        return Finding(
            kind="too_few_rows",
            severity="problem",
            text=f"{plural(windows, 'usable window')} cannot support {asked}: a test may have to "
            f"estimate {conditions:,} numbers.",
            meaning=f"Links cannot be told from chance. {chance}.",
            remedy="Record for longer, lower --max-lag, or leave signals out with --ignore.",
        )
    reach = (stats.norm.isf(alpha / 2) + stats.norm.isf(0.2)) / math.sqrt(max(freedom - 1, 1))
    smallest = math.tanh(float(reach))
    severity: Severity = "problem" if smallest > 0.5 else "warning" if smallest > 0.2 else "info"
    verdict = {"info": "enough", "warning": "few", "problem": "too few"}[severity]
    size = f"{smallest:.2f}" if smallest >= 0.01 else "0.01"
    return Finding(
        kind="enough_rows" if severity == "info" else "too_few_rows",
        severity=severity,
        text=f"{plural(windows, 'usable window')} {'is' if windows == 1 else 'are'} {verdict} for "
        f"{asked}: partial correlations of {size} and more are found four times out of five.",
        meaning=f"Weaker links are likely to be missed. {chance}"
        + (", so a smaller alpha would be wiser." if false > 5 * signals else "."),
        remedy=""
        if severity == "info"
        else "Record for longer, lower --max-lag, or leave signals out with --ignore.",
    )
