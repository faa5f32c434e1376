"""The league as Markdown: one table for each figure, detectors by recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common import table
from benchmarks.league.recordings import COLUMNS

__all__ = ["ablation_tables", "columns_table", "interval_tables", "league_tables", "limit_tables"]

Cell = Mapping[str, Any]
Cells = Mapping[tuple[str, str], Cell]
"""By row (detector) and column."""

PART_WORDS = {
    "report": "reported recordings: nothing was developed on them",
    "develop": "develop recordings: whatever is developed may look at them",
}
NONE = "–"


@dataclass(frozen=True)
class Measure:
    """A figure of the league.

    Attributes
    ----------
    title
        For the heading.
    show, value
        How a cell shows it, and its value.
    best
        Picks the best of several values; None: none is.
    beside
        Rows to read it by that are the same for every detector.
    """

    title: str
    show: Callable[[Cell], str]
    value: Callable[[Cell], float | None]
    best: Callable[[Sequence[float]], float] | None
    beside: tuple[tuple[str, Callable[[Cell], str]], ...] = ()


def _figure(name: str) -> Callable[[Cell], float | None]:
    return lambda cell: cell["figures"][name]


def _shown(name: str, form: str) -> Callable[[Cell], str]:
    def show(cell: Cell) -> str:
        value = cell["figures"][name]
        return NONE if value is None else format(value, form)

    return show


def _events(cell: Cell) -> str:
    figures = cell["figures"]
    if not figures["events"]:
        return NONE
    return f"{figures['events_detected']} / {figures['events_seen']} of {figures['events']}"


def _delay(cell: Cell) -> str:
    value = cell["figures"]["median_delay_s"]
    return NONE if value is None else duration(value)


def _a_day(cell: Cell) -> float | None:
    figures = cell["figures"]
    return figures["false_alarms"] / figures["normal_days"] if figures["normal_days"] else None


def _false_alarms(cell: Cell) -> str:
    a_day = _a_day(cell)
    return NONE if a_day is None else f"{a_day:.3g} ({cell['figures']['false_alarms']})"


def _normal_time(cell: Cell) -> str:
    return duration(86_400 * cell["figures"]["normal_days"])


def duration(seconds: float) -> str:
    """A time with at most three digits in the unit that suits it."""
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{round(seconds, 3):.3g} s"


MEASURES = (
    Measure("Strict F1 at the shipped limit", _shown("f1", ".3f"), _figure("f1"), max),
    Measure("VUS-PR", _shown("vus_pr", ".3f"), _figure("vus_pr"), max),
    Measure("Events raised / seen", _events, _figure("events_detected"), max),
    Measure("Coverage", _shown("coverage", ".0%"), _figure("coverage"), max),
    Measure("Median delay", _delay, _figure("median_delay_s"), None),
    Measure("False alarms in a day of normal operation (and how many)", _false_alarms,
            _a_day, min,
            (("*asked*", lambda cell: f"{cell['asked_a_day']:.3g}"),
             ("*normal time watched*", _normal_time))),
    Measure("Normal time under alarm", _shown("false_alarm_time_share", ".1%"),
            _figure("false_alarm_time_share"), min),
    Measure("AC@1", _shown("ac_at_1", ".0%"), _figure("ac_at_1"), max),
    Measure("AC@3", _shown("ac_at_3", ".0%"), _figure("ac_at_3"), max),
)  # fmt: skip
COSTS = (
    Measure("Learning, seconds", lambda cell: f"{cell['learn_s']:.1f}", lambda cell: None, None),
    Measure("Watching, µs per tick",
            lambda cell: NONE if cell["tick_us"] is None else f"{cell['tick_us']:.0f}",
            lambda cell: None, None),
)  # fmt: skip
"""Differ from run to run."""


def league_tables(cells: Cells, part: str) -> str:
    """All figures of one part."""
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    parts = [f"## {part.capitalize()}: {PART_WORDS[part]}", standing(cells, rows, columns)]
    for measure in MEASURES:
        text = _measure_table(cells, rows, columns, measure)
        if text:
            parts.append(f"### {measure.title} ({part})\n\n{text}")
    refusals = _refusals(cells)
    if refusals:
        parts.append(f"### Refused ({part})\n\n{refusals}")
    parts += [
        f"### {measure.title} ({part})\n\n{_measure_table(cells, rows, columns, measure)}"
        for measure in COSTS
    ]
    return "\n\n".join(part for part in parts if part)


def _measure_table(
    cells: Cells, rows: Sequence[str], columns: Sequence[str], measure: Measure
) -> str:
    """One figure; the best value of a column is bold. Columns without it are left out."""
    shown = [
        column
        for column in columns
        if any(measure.show(cells[row, column]) != NONE for row in rows if (row, column) in cells)
    ]
    best = {}
    for column in shown:
        values = [measure.value(cells[row, column]) for row in rows if (row, column) in cells]
        known = [value for value in values if value is not None]
        best[column] = measure.best(known) if measure.best and known else None
    lines = []
    for row in rows:
        line = [f"`{row}`"]
        for column in shown:
            cell = cells.get((row, column))
            text = "" if cell is None else measure.show(cell)
            value = None if cell is None else measure.value(cell)
            line.append(f"**{text}**" if value is not None and value == best[column] else text)
        lines.append(line)
    for title, show in measure.beside:
        lines.append([title, *(show(_any_cell(cells, column)) for column in shown)])
    return table(["detector", *shown], lines) if shown else ""


def _any_cell(cells: Cells, column: str) -> Cell:
    """For what is the same for every detector."""
    return next(cell for (_, name), cell in cells.items() if name == column)


def standing(cells: Cells, rows: Sequence[str], columns: Sequence[str]) -> str:
    """In words: where the default stands in F1 and VUS-PR, and which detector is first."""
    if "default" not in rows:
        return ""
    lines = []
    for name, title in (("f1", "F1"), ("vus_pr", "VUS-PR")):
        places = []
        for column in columns:
            values = {
                row: cells[row, column]["figures"][name]
                for row in rows
                if (row, column) in cells and cells[row, column]["figures"][name] is not None
            }
            if "default" not in values or len(values) < 2:
                continue
            order = sorted(values, key=lambda row: -values[row])
            place = 1 + sum(value > values["default"] for value in values.values())
            last = " (last)" if place == len(values) else ""
            first = order[0] if order[0] != "default" else order[1]
            places.append(
                f"{column} {place} of {len(values)}{last}, {values['default']:.2f}"
                f" against {values[first]:.2f} of `{first}`"
            )
        if places:
            lines.append(f"Place of `default` in {title}: " + "; ".join(places) + ".")
    return "\n\n".join(lines)


def _refusals(cells: Cells) -> str:
    lines = [
        f"- `{row}` on {column}, {len(cell['refused'])} of {cell['cases']} cases: "
        + cell["refused"][0]
        for (row, column), cell in cells.items()
        if cell["refused"]
    ]
    return "\n".join(lines)


def columns_table(cells: Cells, part: str) -> str:
    """What each column of a part is."""
    lines = []
    for column in dict.fromkeys(column for _, column in cells):
        cell = _any_cell(cells, column)
        figures = cell["figures"]
        lines.append(
            [
                column,
                COLUMNS[column].about,
                "real" if COLUMNS[column].real else "simulation",
                NONE if figures["events"] is None else figures["events"],
                duration(cell["tick_s"]),
                duration(cell["row_s"]),
                f"`{cell['data']}`",
            ]
        )
    head = ["column", "what", "", "events", "tick", "row", "data"]
    return f"### Columns ({part})\n\n" + table(head, lines)


# Ablation, intervals, limits


def ablation_tables(cells: Cells, detector: str, part: str) -> str:
    """What each part of a detector is worth: figures without it less those with it.

    In brackets the same for the two halves of what was watched: the noise.
    """
    columns = list(dict.fromkeys(column for _, column in cells))
    rows = [row for row in dict.fromkeys(row for row, _ in cells) if row != detector]
    texts = [f"### Without a part of `{detector}` ({part})"]
    figures = (("F1", "f1", "+.3f"), ("Normal time under alarm", "false_alarm_time_share", "+.3f"),
               ("Share of events raised", "raised", "+.2f"))  # fmt: skip
    for title, name, form in figures:
        lines = []
        for row in rows:
            line = [row.removeprefix(f"{detector} ")]
            for column in columns:
                full, less = cells.get((detector, column)), cells.get((row, column))
                line.append("" if full is None or less is None else _change(full, less, name, form))
            lines.append(line)
        texts.append(f"{title}, change:\n\n" + table(["", *columns], lines))
    return "\n\n".join(texts)


def _value(figures: Mapping[str, Any], name: str) -> float | None:
    if name == "raised":
        return figures["events_detected"] / figures["events"] if figures["events"] else None
    value: float | None = figures[name]
    return value


def _change(full: Cell, less: Cell, name: str, form: str) -> str:
    pairs = [(full["figures"], less["figures"])]
    pairs += list(zip(full["halves"], less["halves"], strict=True))
    changes = []
    for before, after in pairs:
        one, two = _value(before, name), _value(after, name)
        changes.append(NONE if one is None or two is None else format(two - one, form))
    if changes[0] == NONE:
        return NONE
    return f"{changes[0]} ({changes[1]}, {changes[2]})"


def interval_tables(cells: Mapping[tuple[str, str, float], Cell], part: str) -> str:
    """F1 and normal time under alarm at half, chosen and twice the working interval."""
    texts = [f"### Half, chosen and twice the working interval ({part})"]
    keys = list(dict.fromkeys((row, column) for row, column, _ in cells))
    lines = []
    for row, column in keys:
        chosen = cells[row, column, 1.0]
        line = [column, f"`{row}`", duration(chosen["tick_s"])]
        for factor in (0.5, 1.0, 2.0):
            cell = cells.get((row, column, factor))
            line.append(NONE if cell is None else _f1_and_on(cell))
        lines.append(line)
    if not lines:
        return "\n\n".join([*texts, "In every column a tick is a row: none is shorter or longer."])
    head = ["column", "detector", "chosen tick", "half", "chosen", "twice"]
    return "\n\n".join([*texts, "F1, normal time under alarm:", table(head, lines)])


def limit_tables(cells: Mapping[tuple[str, str, float], Cell], part: str) -> str:
    """F1, normal time under alarm and events raised against the limit."""
    factors = sorted({factor for _, _, factor in cells})
    lines = []
    for row, column in dict.fromkeys((row, column) for row, column, _ in cells):
        line = [column, f"`{row}`"]
        for factor in factors:
            cell = cells.get((row, column, factor))
            line.append(NONE if cell is None else f"{_f1_and_on(cell)}{_raised(cell)}")
        lines.append(line)
    head = ["column", "detector", *(f"limit × {factor:g}" for factor in factors)]
    return "\n\n".join(
        [
            f"### Other limits ({part})",
            "F1, normal time under alarm, events raised. Which limit is best can be told only with"
            " the labels: none of this decides what is shipped.",
            table(head, lines),
        ]
    )


def _f1_and_on(cell: Cell) -> str:
    figures = cell["figures"]
    f1 = NONE if figures["f1"] is None else f"{figures['f1']:.3f}"
    on = figures["false_alarm_time_share"]
    return f"{f1}, {NONE if on is None else format(on, '.1%')}"


def _raised(cell: Cell) -> str:
    figures = cell["figures"]
    return f", {figures['events_detected']}" if figures["events"] else ""
