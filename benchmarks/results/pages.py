"""What each page of ``docs/results`` is made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks.accuracy.causrca import report as causrca_report
from benchmarks.common import table
from benchmarks.league.case import data_hash
from benchmarks.league.recordings import COLUMNS, cases_of
from benchmarks.results.page import Page, figure, share, tables_hash

import causewatch as cw
from causewatch.data.datasets.catalogue import load_dataset
from causewatch.evaluation.baselines.split import joined
from causewatch.evaluation.card import report_card
from causewatch.evaluation.reproduction import reproduce, simulate_case
from causewatch.evaluation.reproduction.tables import markdown
from causewatch.evaluation.verdicts import watch

__all__ = ["PAGES"]


def causrca(folder: Path | None, quick: bool) -> Page:
    """Graphs and root causes on causRCA."""
    assert folder is not None
    data = load_dataset("causrca", folder / "causrca")
    return Page(
        "causrca",
        "causRCA",
        False,
        "developed on runs with odd numbers, reported on even ones and on all",
        tables_hash(recording.table for recording in data.test),
        # The page has a heading of its own.
        causrca_report(folder / "causrca", quick=quick).split("\n", 1)[1],
    )


def paper(folder: Path | None, quick: bool) -> Page:
    """The paper's tables on the simulated plant."""
    case = simulate_case("swat", 31 if quick else 701, quick=quick)
    names = ("paper", "switch") if quick else ("paper", "rnn", "tcn", "tce", "default", "switch")
    found = reproduce(case, names, seed=31 if quick else 701)
    tables = [one.table for one in case.tests]
    return Page(
        "paper", "The paper's tables", True, "seed 701", tables_hash(tables), markdown(found)
    )


def pepper(folder: Path | None, quick: bool) -> Page:
    """The paper's tables on the simulated robot, with step and lag of the published rule."""
    seed = 31 if quick else 701
    case = simulate_case("pepper", seed, quick=quick)
    names = ("paper", "switch") if quick else ("paper", "rnn", "tcn", "tce", "default", "switch")
    result = reproduce(case, names, seed=seed)
    data = tables_hash(recording.table for recording in case.tests)
    title = "The paper's tables on the simulated robot"
    return Page("pepper", title, True, f"seed {seed}", data, markdown(result))


def discoverers(folder: Path | None, quick: bool) -> Page:
    """Other discoverers and independence tests, everything else the same."""
    assert folder is not None
    settings: dict[str, dict[str, Any]] = {
        "PCMCI, linear (default)": {},
        "PCMCI, linear, false discovery rate": {"fdr": True},
        "PCMCI, rank": {"test": "rank"},
        "Granger (every cause at once)": {"method": "granger"},
    }
    (tennessee,) = cases_of(COLUMNS["tep"], folder, "report")
    experiments = cases_of(COLUMNS["skab"], folder, "report")[: 2 if quick else None]
    lines = []
    for name, how in settings.items():
        model = cw.learn(
            joined(tennessee.split.learn), calibrate=joined(tennessee.split.limits),
            false_alarm_every=tennessee.split.false_alarm_every, **how,
        )  # fmt: skip
        verdicts = [watch(model, recording.table) for recording in tennessee.recordings]
        card = report_card(tennessee.recordings, verdicts)
        cells: list[object] = [name, len(model.graph), figure(card.f1)]
        cells += [share(card.false_alarm_time_share), share(card.ac_at_3)]
        verdicts, links, began = [], [], perf_counter()
        for case in experiments:
            rows = joined((*case.split.learn, *case.split.limits))
            model = cw.learn(rows, **how)
            links.append(len(model.graph))
            verdicts.append(watch(model, case.recordings[0].table))
        card = report_card([case.recordings[0] for case in experiments], verdicts)
        cells += [f"{np.mean(links):.0f}", figure(card.f1), share(card.false_alarm_time_share)]
        cells.append(f"{(perf_counter() - began) / len(experiments):.1f}")
        lines.append(cells)
        print(f"  {name}", flush=True)
    head = [
        "discoverer", "TEP links", "TEP F1", "TEP normal time under alarm", "TEP cause in three",
        "SKAB links", "SKAB F1", "SKAB normal time under alarm", "SKAB s each",
    ]  # fmt: skip
    return Page(
        "discoverers",
        "Other discoverers",
        False,
        "Tennessee Eastman `_te` files; SKAB `valve1`",
        f"`{data_hash([tennessee, *experiments])}`",
        table(head, lines) + "\n\nMechanisms are linear in all rows;"
        " what differs is which links are kept.\nThe nearest-neighbour test is not in the table: it"
        " takes minutes for each of these recordings.\n",
    )


PAGES: dict[str, tuple[Callable[[Path | None, bool], Page], bool]] = {
    "paper": (paper, False),
    "pepper": (pepper, False),
    "causrca": (causrca, True),
    "discoverers": (discoverers, True),
}
"""How each page is made, and whether it needs the real recordings."""
