"""A page of results: what was measured, on what, by which commit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import ROOT, machine, table

from causewatch.data import TimeTable
from causewatch.evaluation.comparison import ComparisonRow

__all__ = ["FOLDER", "Page", "comparison_table", "data_hash", "figure", "share", "write"]

FOLDER = ROOT / "docs" / "results"


@dataclass(frozen=True)
class Page:
    """One file of ``docs/results``.

    Attributes
    ----------
    name, title
        Of the file and of the page.
    simulated
        Whether the figures are those of a simulation.
    seeds
        Which random numbers, and which were not looked at before.
    data
        SHA-256 of what was measured on.
    body
        Markdown.
    """

    name: str
    title: str
    simulated: bool
    seeds: str
    data: str
    body: str


def write(page: Page) -> Path:
    """Write a page; gives its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kind = "Figures of a **simulation**." if page.simulated else "Real recordings."
    head = (
        f"# {page.title}\n\n{kind} Made by `python -m benchmarks.results --only {page.name}`;"
        f" data {page.data};\n{page.seeds}.\n{machine('scipy', 'torch')}\n"
    )
    path = FOLDER / f"{page.name}.md"
    path.write_text(f"{head}\n{page.body.strip()}\n", encoding="utf-8")
    return path


def data_hash(tables: Iterable[TimeTable]) -> str:
    """The first digits of the SHA-256 of the numbers in some tables."""
    digest = hashlib.sha256()
    for one in tables:
        digest.update("\0".join(one.signals).encode())
        digest.update(one.time.tobytes())
        digest.update(one.values.tobytes())
    return f"`{digest.hexdigest()[:16]}`"


def figure(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash where it is not defined."""
    return "–" if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """A share in per cent, or a dash."""
    return "–" if value is None else f"{value:.1%}"


def comparison_table(rows: Sequence[ComparisonRow]) -> str:
    """Detectors side by side; the best of a column is bold."""
    columns = {
        "VUS-PR": ([row.card.vus_pr for row in rows], max, figure),
        "AUC-PR": ([row.card.auc_pr for row in rows], max, figure),
        "F1": ([row.card.f1 for row in rows], max, figure),
        "precision": ([row.card.precision for row in rows], max, figure),
        "recall": ([row.card.recall for row in rows], max, figure),
        "eTaPR F1": ([row.card.etapr_f1 for row in rows], max, figure),
        "events noticed": ([row.card.event_recall for row in rows], max, share),
        "false alarms a day": ([row.card.false_alarms_per_day for row in rows], min, figure),
        "normal time under alarm": (
            [row.card.false_alarm_time_share for row in rows],
            min,
            share,
        ),
        "cause first": ([row.card.ac_at_1 for row in rows], max, share),
        "in the first three": ([row.card.ac_at_3 for row in rows], max, share),
    }
    lines = []
    for k, row in enumerate(rows):
        cells: list[object] = [row.name]
        for values, best, show in columns.values():
            known = [value for value in values if value is not None]
            text = show(values[k])
            cells.append(f"**{text}**" if known and values[k] == best(known) else text)
        cells += [f"{row.learn_s:.1f}", f"{row.step_ms_mean:.2f} ± {row.step_ms_std:.2f}"]
        lines.append(cells)
    return table(["detector", *columns, "learnt in s", "step ms"], lines)
