"""A reproduction as tables and sentences: the same ones for the screen and for a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from causewatch.evaluation.paper_counting import PaperCount
from causewatch.evaluation.reproduction.figures import PUBLISHED, SOURCE
from causewatch.evaluation.reproduction.outcome import AttackOutcome, MethodOutcome, Reproduction

__all__ = ["ResultTable", "explanations", "markdown", "method_table", "sentences", "title"]

MOST_NAMES = 6
"""So many attacked signals are listed; the robot's attacks have dozens."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A title, a head and rows of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def title(result: Reproduction) -> str:
    """What it is, on what; says so if it is simulated."""
    simulated = "SIMULATED, not the paper's data: " if result.simulated else ""
    return f"{simulated}{result.title}"


def method_table(result: Reproduction) -> ResultTable:
    """Every method: published figures, both countings, times."""
    published = PUBLISHED[result.dataset]
    where = "SWaT" if result.dataset == "swat" else "Pepper"
    head = [
        "method",
        f"published for {where}",
        _marked(result, "paper's counting"),
        _marked(result, "every step"),
        "alarm on",
        "without attacks",
        "learnt in",
        "one step",
    ]
    rows: list[tuple[str, ...]] = []
    for one in result.methods.values():
        scores = published.scores.get(one.name)
        share = one.untouched_share
        rows.append(
            (
                one.name,
                "–" if scores is None else " / ".join(f"{100 * x:.0f} %" for x in scores),
                _scores(one.counts.published),
                _scores(one.counts.strict),
                f"{100 * one.counts.alarm_share:.1f} %",
                "–" if share is None else f"{100 * share:.1f} %",
                _learnt(one, published.learn_s.get(one.name)),
                _step(one, published.tick_ms if one.name == "paper" else None),
            )
        )
    if all(one.untouched_share is None for one in result.methods.values()):
        head.remove("without attacks")
        rows = [(*row[:5], *row[6:]) for row in rows]
    name = f"Precision / recall / F1: {title(result)}"
    return ResultTable(name, tuple(head), tuple(rows))


def explanations(result: Reproduction) -> ResultTable:
    """Every attack: what the published criterion puts on top."""
    group = "stage" if result.dataset == "swat" else "part"
    head = (
        _marked(result, "attack"),
        "attacked [not in the model]",
        "steps with alarm",
        "top 10 %",
        f"attacked {group} in it",
        "attacked signal in it",
    )
    rows = tuple(
        (
            one.name,
            _attacked(one),
            f"{one.alarmed:,} of {one.steps:,}",
            _few(one.top, result.dataset) or "–",
            "yes" if one.stage_hit else "no",
            "yes" if one.signal_hit else "no",
        )
        for one in result.attacks
    )
    return ResultTable(f"What the published method names: {title(result)}", head, rows)


def sentences(result: Reproduction) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Headings with what is to be said under each."""
    stage = sum(one.stage_hit for one in result.attacks)
    signal = sum(one.signal_hit for one in result.attacks)
    group = "stage" if result.dataset == "swat" else "part"
    named = (
        f"In the top 10 %: a signal of an attacked {group} for {stage} of {len(result.attacks)}"
        f" attacks, an attacked signal for {signal}.",
        *(f"The paper: {text}" for text in PUBLISHED[result.dataset].explanations),
    )
    gets: dict[str, list[str]] = {}
    for method in result.methods.values():
        gets.setdefault(method.gets, []).append(method.name)
    model = (
        f"The published model: a step every {_rows(result.step)}, lags up to {result.max_lag},"
        f" {result.signals} signals (the paper: {PUBLISHED[result.dataset].signals}),"
        f" {result.links:,} links."
    )
    means = tuple(f"{one.name}: {' '.join(one.meaning)}" for one in result.methods.values())
    return (
        ("What the figures mean", means),
        ("What was named", named),
        (
            "How they came about",
            (
                model,
                *(f"{', '.join(names)}: {text}." for text, names in gets.items()),
                f"All are counted at every {_ordinal(result.step)} row.",
                f"Published figures: {SOURCE}.",
                *result.left_out,
                *result.notes,
            ),
        ),
    )


def markdown(result: Reproduction) -> str:
    """Everything as one Markdown page."""
    parts = [f"# The paper's table again: {title(result)}"]
    for table in (method_table(result), explanations(result)):
        lines = [f"**{table.title}**", "", _line(table.head), _line("---" for _ in table.head)]
        parts.append("\n".join([*lines, *(_line(row) for row in table.rows)]))
    for heading, said in sentences(result):
        parts.append(f"## {heading}\n\n" + "\n".join(f"- {text}" for text in said))
    return "\n\n".join(parts) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _marked(result: Reproduction, text: str) -> str:
    return f"{text} (simulated)" if result.simulated else text


def _scores(count: PaperCount) -> str:
    return f"{count.precision:.3f} / {count.recall:.3f} / {count.f1:.3f}"


def _learnt(one: MethodOutcome, published: float | None) -> str:
    beside = "" if published is None else f" (published {published:.0f} s)"
    return f"{one.timing.learn_s:.1f} s{beside}"


def _step(one: MethodOutcome, published: tuple[float, float] | None) -> str:
    timing = one.timing
    spread = "" if timing.tick_ms_std is None else f" ± {_short(timing.tick_ms_std)}"
    beside = "" if published is None else f" (published {published[0]:g} ± {published[1]:g} ms)"
    return f"{_short(timing.tick_ms_mean)}{spread} ms{beside}"


def _short(number: float) -> str:
    """Two figures, or all of them before the point."""
    if number >= 10.0:
        return f"{number:,.0f}"
    return f"{number:.2g}" if number >= 0.001 else "< 0.001"


def _attacked(one: AttackOutcome) -> str:
    """The attacked signals; those that the model does not hold in brackets."""
    names = [name if name in one.known else f"[{name}]" for name in one.signals]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _few(names: tuple[str, ...], dataset: str) -> str:
    most = MOST_NAMES if dataset == "pepper" else len(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _rows(step: int) -> str:
    return "row" if step == 1 else f"{step} rows"


def _ordinal(number: int) -> str:
    if number == 1:
        return "single"
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"
