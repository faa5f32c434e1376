"""Sentences about how a recording changes while it lasts."""

from __future__ import annotations

import numpy as np

from causewatch.errors import listing, plural
from causewatch.preprocess.findings import (
    Finding,
    Period,
    exclude_option,
    ignore_option,
    number,
    percent,
)
from causewatch.preprocess.survey import SurveyResult
from causewatch.preprocess.survey_course import (
    Change,
    Course,
    Modes,
    Stretch,
    changes,
    modes,
    outlying,
    slow,
    startup,
)

__all__ = ["stationarity_findings"]

MOST_SPANS = 5
DAY = 86_400_000_000_000


def stationarity_findings(result: SurveyResult, columns: list[int]) -> list[Finding]:
    """What is not the same all through the recording, of the signals at the given places.

    Two-valued and few-valued signals should not be among them: their blocks are no measure of
    how normal they are.
    """
    course = Course.of(result, columns)
    if course is None:
        return []
    write = _Writer(result, course)
    sluggish = slow(course)
    in_modes = modes(course)
    found = write.modes(in_modes)
    for mode in in_modes:
        course = course.without(mode.column, mode.fitted)
    beginning = startup(course)
    found += write.startup(beginning)
    begin = 0 if beginning is None else beginning.end
    changed = changes(course, begin)
    found += write.changes(changed)
    known = {mode.column for mode in in_modes} | {change.column for change in changed}
    found += write.slow([pair for pair in sluggish if pair[0] not in known])
    for change in changed:
        if change.kind != "spread":
            course = course.without(change.column, change.fitted)
    return found + write.outlying(outlying(course, begin))


class _Writer:
    """Turns blocks into times and columns into names."""

    def __init__(self, result: SurveyResult, course: Course) -> None:
        self.result = result
        self.course = course
        self.within_a_day = result.first // DAY == result.last // DAY

    def slow(self, found: list[tuple[int, float]]) -> list[Finding]:
        if not found:
            return []
        names = self.names([k for k, _ in found])
        fewest = max(2, round(found[0][1]))
        return [
            Finding(
                kind="slow",
                severity="info",
                text=f"{listing(names)} {_verb(names, 'moves', 'move')} so slowly that the "
                f"recording is worth only about {fewest} independent observations of "
                f"{names[0]}.",
                meaning="Whether such a signal drifts or only wanders cannot be told, and links "
                "among slow signals rest on little.",
                remedy="Record for longer.",
                signals=names,
            )
        ]

    def modes(self, found: list[Modes]) -> list[Finding]:
        if not found:
            return []
        found = sorted(found, key=lambda mode: -mode.size)
        names = self.names([mode.column for mode in found])
        worst = found[0]
        upper = worst.fitted == worst.fitted.max()
        high = number(self.course.value(worst.column, upper))
        low = number(self.course.value(worst.column, ~upper))
        return [
            Finding(
                kind="modes",
                severity="warning",
                text=f"There seem to be distinct operating modes: {names[0]} is around {high} "
                f"for {percent(worst.upper_share)} of the time and around {low} otherwise, with "
                f"{plural(worst.switches, 'change')} between the two"
                + (f"; also {listing(names[1:])}." if len(names) > 1 else "."),
                meaning="The strengths of links are averages over the modes and may be right in "
                "none of them.",
                remedy="Learn one model per mode, leaving the other out with --exclude, or make "
                "sure that a signal that tells the modes apart is included.",
                signals=names,
            )
        ]

    def startup(self, found: Stretch | None) -> list[Finding]:
        if found is None:
            return []
        period = self.period(0, found.end)
        names = self.names(found.columns)
        return [
            Finding(
                kind="startup",
                severity="warning",
                text=f"The recording seems to begin with a start-up: during "
                f"{period.text(self.within_a_day)} {listing(names, most=5)} "
                f"{_verb(names, 'is', 'are')} away from where the rest of the recording stays.",
                meaning="What is learned from a start-up does not hold later; links and limits "
                "are distorted.",
                remedy=f"Learn again with {exclude_option(period)}.",
                signals=names,
                span=period.bounds,
            )
        ]

    def changes(self, found: list[Change]) -> list[Finding]:
        shifts = sorted((c for c in found if c.kind == "shift"), key=lambda c: -abs(c.size))
        drifts = sorted((c for c in found if c.kind == "drift"), key=lambda c: -abs(c.size))
        spreads = sorted(
            (c for c in found if c.kind == "spread"), key=lambda c: -max(c.size, 1 / c.size)
        )
        moved = "Links and limits describe a mixture of before and after, and a level that has "
        moved += "moved once may move again: expect false alarms from it."
        out = []
        for kind, group, sentence, meaning in (
            ("level_shift", shifts, self._shift, moved),
            ("drift", drifts, self._drift, moved),
            (
                "spread_change",
                spreads,
                self._spread,
                "Limits are too wide for one part of the recording and too narrow for the other.",
            ),
        ):
            if not group:
                continue
            names = self.names([change.column for change in group])
            text = sentence(names[0], group[0])
            if len(names) > 1:
                text += f"; also {listing(names[1:])}"
            out.append(
                Finding(
                    kind=kind,
                    severity="warning",
                    text=text + ".",
                    meaning=meaning,
                    remedy="If one part is not typical, leave it out with --exclude; if "
                    f"{names[0]} is not needed, {ignore_option(names[:1])}.",
                    signals=names,
                )
            )
        return out

    def outlying(self, found: list[Stretch]) -> list[Finding]:
        out = []
        for stretch in found[:MOST_SPANS]:
            period = self.period(stretch.begin, stretch.end)
            names = self.names(stretch.columns)
            more = ""
            if stretch is found[0] and len(found) > MOST_SPANS:
                more = f"; the {MOST_SPANS} worst of {len(found)} such stretches are listed"
            out.append(
                Finding(
                    kind="outlying",
                    severity="warning",
                    text=f"your normal data may not be normal: {period.text(self.within_a_day)}, "
                    f"when {listing(names, most=5)} {_verb(names, 'is', 'are')} unlike the rest "
                    f"of the recording{more}.",
                    meaning="A disturbance learned as normal widens the limits and bends the "
                    "links of the signals concerned.",
                    remedy=f"If something was wrong then, learn again with "
                    f"{exclude_option(period)}.",
                    signals=names,
                    span=period.bounds,
                )
            )
        return out

    def _shift(self, name: str, change: Change) -> str:
        at = self.period(change.at, change.at + 1)
        when = Period(at.start, at.start, at.clock).text(self.within_a_day)
        when = when.split("–")[0].split(" to ")[0]
        later = np.arange(len(self.course)) >= change.at
        before, after = (self.course.value(change.column, part) for part in (~later, later))
        return (
            f"The level of {name} moves from {number(before)} to {number(after)}, "
            f"{number(abs(change.size))} times its usual spread, around {when} and stays there"
        )

    def _drift(self, name: str, change: Change) -> str:
        return (
            f"{name} drifts {'up' if change.size > 0 else 'down'} by {number(abs(change.size))} "
            "times its usual spread over the recording"
        )

    def _spread(self, name: str, change: Change) -> str:
        more = change.size > 1
        ratio = change.size if more else 1 / change.size
        return (
            f"{name} varies {number(ratio)} times as {'much' if more else 'little'} late in the "
            "recording as early in it"
        )

    def names(self, columns: tuple[int, ...] | list[int]) -> tuple[str, ...]:
        return tuple(self.result.signals[self.course.columns[k]].name for k in columns)

    def period(self, begin: int, end: int) -> Period:
        """Blocks `begin` up to `end` as a span of time that ends where the next row begins."""
        start = int(self.course.first[begin])
        step = round(self.result.interval * 1e9)
        stop = max(int(self.course.last[end - 1]), start) + step
        return Period(start, stop, self.result.clock)


def _verb(names: tuple[str, ...], one: str, several: str) -> str:
    return one if len(names) == 1 else several
