"""What each page of ``docs/results`` is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
from benchmarks.accuracy.batadal import report as batadal_report
from benchmarks.accuracy.causrca import report as causrca_report
from benchmarks.common import table
from benchmarks.results import cases
from benchmarks.results.page import Page, comparison_table, data_hash, figure, share

import causewatch as cw
from causewatch.data.datasets.catalogue import load_dataset
from causewatch.data.datasets.shaping import keep_rows
from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.base import Detector
from causewatch.evaluation.baselines.split import joined
from causewatch.evaluation.card import ReportCard, report_card
from causewatch.evaluation.comparison import Case, ComparisonRow, Refused, compare_one
from causewatch.evaluation.reproduction import reproduce, simulate_case
from causewatch.evaluation.reproduction.tables import markdown
from causewatch.evaluation.thresholds import LimitRow, sweep
from causewatch.evaluation.verdicts import watch

__all__ = ["PAGES"]

ALL = (
    "default", "paper", "rnn", "tcn", "tce", "var", "own_past", "pca", "dynamic_pca",
    "isolation_forest", "half_space_trees", "random", "always_on", "switch",
)  # fmt: skip
PLANT_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
YARDSTICKS = ("random", "always_on", "switch")
"""Not detectors: what figures are worth can be seen by them."""
LIGHT = ("default", "var", "pca", "random", "always_on", "switch")
READING = """
Every detector learns from the same rows of normal operation and takes its limit from the same
further ones, by the same rule; then it is counted strictly (see [evaluating.md](../evaluating.md)
and [baselines.md](../baselines.md)). The best figure of a column is bold, whatever the detector:
silence has no false alarms and an alarm that is always on misses no row, so read the columns
together. `always_on` and `switch` notice no event, since they raise nothing while one lasts.
"""


def _compared(
    names: Sequence[str], some: Sequence[Case]
) -> tuple[list[ComparisonRow], dict[str, Detector], list[Refused]]:
    rows, learnt, refused = [], {}, []
    for name in names:
        began = perf_counter()
        try:
            row, detectors = compare_one(name, some)
        except NotEnoughDataError as error:
            refused.append(Refused(name, str(error)))
            continue
        rows.append(row)
        learnt[name] = detectors[0]
        print(f"  {name}: {perf_counter() - began:.0f} s", flush=True)
    return rows, learnt, refused


def _comparison(names: Sequence[str], some: Sequence[Case], more: str = "") -> str:
    rows, _, refused = _compared(names, some)
    left = "".join(f"\n`{one.name}` cannot be compared: {one.reason}\n" for one in refused)
    return f"{comparison_table(rows)}\n{left}{_where(rows)}{READING}{more}"


def _where(rows: Sequence[ComparisonRow]) -> str:
    """In words: where the default is ahead of other detectors, and where it is not."""
    ours = next((row for row in rows if row.name == "default"), None)
    others = [row for row in rows if row.name not in ("default", *YARDSTICKS)]
    # Figures that silence would win are compared among those that notice something.
    others = [row for row in others if row.card.events_detected]
    if ours is None or not others:
        return ""
    figures: dict[str, tuple[Callable[[ReportCard], float | None], bool]] = {
        "VUS-PR": (lambda card: card.vus_pr, True),
        "F1 at the limit": (lambda card: card.f1, True),
        "events noticed": (lambda card: card.event_recall, True),
        "false alarms a day": (lambda card: card.false_alarms_per_day, False),
        "normal time under alarm": (lambda card: card.false_alarm_time_share, False),
        "cause named first": (lambda card: card.ac_at_1, True),
        "cause in the first three": (lambda card: card.ac_at_3, True),
    }
    ahead, behind = [], []
    for name, (get, up) in figures.items():
        own = get(ours.card)
        known = [(get(row.card), row.name) for row in others]
        rest = [(value, who) for value, who in known if value is not None]
        if own is None or not rest:
            continue
        best, who = (max if up else min)(rest)
        if (own >= best) if up else (own <= best):
            ahead.append(name)
        else:
            behind.append(f"{name} ({figure(own)}; {who} {figure(best)})")
    said = f"\n`default` is ahead of all that notice anything in: {', '.join(ahead) or 'nothing'}."
    if behind:
        said += f" It is not in: {', '.join(behind)}."
    return said + "\n"


def plant(folder: Path | None, quick: bool) -> Page:
    """All detectors on the simulated water plant."""
    (case,) = cases.plant(develop=quick, days=1 if quick else 3)
    some = [Case(case.split, case.recordings[:1])] if quick else [case]
    calm = cases.plant_normal(develop=quick, days=1 if quick else 3)
    names = LIGHT if quick else ALL
    rows, learnt, _ = _compared(names, some)
    quiet = []
    for row in rows:
        said = learnt[row.name].watch(calm)
        days = len(calm) * calm.interval / 86_400
        quiet.append([row.name, f"{len(said.alarms) / days:.2f}", share(float(said.alarm.mean()))])
    body = (
        f"{comparison_table(rows)}\n{_where(rows)}{READING}\n"
        "Days on which nothing is done to the plant (between attacks it is recovering from them):\n"
        f"\n{table(['detector', 'alarms a day', 'time under alarm'], quiet)}\n"
    )
    tables = [*case.split.learn, *case.split.limits, *(one.table for one in case.recordings), calm]
    seeds = "three days learnt from: seed 601; normal days: 620; attacks: 640–643; none used before"
    return Page("plant", "The simulated water plant", True, seeds, data_hash(tables), body)


def robot(folder: Path | None, quick: bool) -> Page:
    """Detectors on the simulated robot."""
    (case,) = cases.robot(develop=quick)
    slow = ("paper", "rnn", "tcn", "tce", "half_space_trees")
    names = LIGHT if quick else [name for name in ALL if name not in slow]
    some = [Case(case.split, case.recordings[:1])] if quick else [case]
    more = (
        "\nThe published method, the networks and the half-space trees are left out: with 255"
        " columns they take\ntoo long for this page (see [reproducing.md](../reproducing.md)).\n"
    )
    tables = [*case.split.learn, *case.split.limits, *(one.table for one in case.recordings)]
    return Page(
        "robot",
        "The simulated robot",
        True,
        "seed 611 and those after it, not used before",
        data_hash(tables),
        _comparison(names, some, more),
    )


def tep(folder: Path | None, quick: bool) -> Page:
    """Detectors on Tennessee Eastman."""
    assert folder is not None
    some = cases.tep(folder)
    tables = [one.table for one in some[0].recordings]
    more = (
        "\nFaults 3, 9 and 15 are generally held to be undetectable and are counted all the same."
        " Limits\nare for one false alarm in ten days.\n"
    )
    return Page(
        "tep",
        "Tennessee Eastman",
        False,
        "faults 1–21, `_te` files; the default was developed on the others",
        data_hash(tables),
        _comparison(LIGHT if quick else ALL, some, more),
    )


def skab(folder: Path | None, quick: bool) -> Page:
    """Detectors on SKAB, one split for each experiment."""
    assert folder is not None
    some = cases.skab(folder)[: 3 if quick else None]
    tables = [case.recordings[0].table for case in some]
    more = (
        "\nEach of the 33 experiments is learnt from its first 400 rows (280 to learn, 120 for"
        " limits) and\ncounted after them. The rule “row 570 or later” has F1 0.816.\n"
    )
    return Page(
        "skab",
        "SKAB",
        False,
        "`valve1` was not looked at while developing, `other` and `valve2` were",
        data_hash(tables),
        _comparison(LIGHT if quick else ALL, some, more),
    )


def batadal(folder: Path | None, quick: bool) -> Page:
    """Detectors on BATADAL, and the default attack by attack."""
    assert folder is not None
    some = cases.batadal(folder)
    tables = [*some[0].split.learn, *some[0].split.limits, *(r.table for r in some[0].recordings)]
    own = "" if quick else f"\n## The default, attack by attack\n\n{batadal_report(folder)}"
    return Page(
        "batadal",
        "BATADAL",
        False,
        "limits frozen on `dataset03`; `dataset04` was looked at while developing",
        data_hash(tables),
        _comparison(LIGHT if quick else ALL, some) + own,
    )


def causrca(folder: Path | None, quick: bool) -> Page:
    """Graphs and root causes on causRCA."""
    assert folder is not None
    data = load_dataset("causrca", folder / "causrca")
    return Page(
        "causrca",
        "causRCA",
        False,
        "developed on runs with odd numbers, reported on even ones and on all",
        data_hash(one.table for one in data.test),
        # The page has a heading of its own.
        causrca_report(folder / "causrca", quick=quick).split("\n", 1)[1],
    )


def paper(folder: Path | None, quick: bool) -> Page:
    """The paper's tables on the simulated plant."""
    case = simulate_case("swat", 31 if quick else 701, quick=quick)
    names = ("paper", "switch") if quick else ("paper", "rnn", "tcn", "tce", "default", "switch")
    found = reproduce(case, names, seed=31 if quick else 701)
    tables = [one.table for one in case.tests]
    return Page("paper", "The paper's tables", True, "seed 701", data_hash(tables), markdown(found))


def limits(folder: Path | None, quick: bool) -> Page:
    """How figures move with the limit, for the default and for the published method."""
    assert folder is not None
    (case,) = cases.plant(develop=quick, days=1 if quick else 3)
    parts = []
    whole = joined((*case.split.learn, *case.split.limits))
    models = {
        "default": cw.learn(whole, keep_start_up=True),
        "paper": cw.learn(whole, preset="paper"),
    }
    days = case.recordings[:1]
    calm = cases.plant_normal(develop=quick, days=1 if quick else 3)
    said = watch(models["default"], calm)
    parts.append(
        "The default is learnt here as `causewatch learn` does it, without a split: limits are from"
        f" all rows.\nOn {len(calm) // 86_400} days on which nothing is done to the plant it raises"
        f" {len(said.alarms)} alarms, on for {share(float(said.alarm.mean()))} of the time."
    )
    for name, model in models.items():
        rows = sweep(model, days, (0.5, 1.0, 2.0) if quick else PLANT_FACTORS)
        parts.append(f"## {name}, simulated plant\n\n{_limit_table(rows)}")
    (tennessee,) = cases.tep(folder)
    model = cw.learn(
        joined(tennessee.split.learn), calibrate=joined(tennessee.split.limits),
        false_alarm_every=tennessee.split.false_alarm_every,
    )  # fmt: skip
    parts.append(
        f"## default, Tennessee Eastman\n\n{_limit_table(sweep(model, tennessee.recordings))}"
    )
    words = (
        "Limits as learnt from normal operation, multiplied by a factor; the recording is watched"
        " anew for\neach. Which factor is best can be told only with the labels: none of this"
        " decides what is shipped.\n"
    )
    return Page(
        "limits",
        "Moving the limit",
        True,
        "plant: seeds 601 and 640, ten attacks; Tennessee Eastman: real files of a simulated plant",
        data_hash(one.table for one in days),
        words + "\n" + "\n\n".join(parts),
    )


def _limit_table(rows: Iterable[LimitRow]) -> str:
    lines = []
    for row in rows:
        card = row.card
        late = "–" if card.median_delay_s is None else f"{card.median_delay_s:.0f} s"
        lines.append(
            [
                f"{row.factor:g}",
                figure(card.precision),
                figure(card.recall),
                figure(card.f1),
                f"{card.events_detected} of {card.events}",
                late,
                f"{card.false_alarms_per_day:.2f}",
                share(card.false_alarm_time_share),
            ]
        )
    head = ["limit ×", "precision", "recall", "F1", "events noticed", "median delay"]
    return table([*head, "false alarms a day", "normal time under alarm"], lines)


def discoverers(folder: Path | None, quick: bool) -> Page:
    """Other discoverers and independence tests, everything else the same."""
    assert folder is not None
    settings = {
        "PCMCI, linear (default)": {},
        "PCMCI, linear, false discovery rate": {"fdr": True},
        "PCMCI, rank": {"test": "rank"},
        "Granger (every cause at once)": {"method": "granger"},
    }
    (tennessee,) = cases.tep(folder)
    experiments = cases.skab(folder, groups=("valve1",))[: 2 if quick else None]
    lines = []
    for name, how in settings.items():
        model = cw.learn(
            joined(tennessee.split.learn), calibrate=joined(tennessee.split.limits),
            false_alarm_every=tennessee.split.false_alarm_every, **how,
        )  # fmt: skip
        said = [watch(model, one.table) for one in tennessee.recordings]
        card = report_card(tennessee.recordings, said)
        cells: list[object] = [name, len(model.graph), figure(card.f1)]
        cells += [share(card.false_alarm_time_share), share(card.ac_at_3)]
        said, links, began = [], [], perf_counter()
        for case in experiments:
            rows = keep_rows(case.recordings[0].table, 0, cases.SKAB_NORMAL)
            model = cw.learn(rows, **how)
            links.append(len(model.graph))
            said.append(watch(model, case.recordings[0].table))
        card = report_card([case.recordings[0] for case in experiments], said)
        cells += [f"{np.mean(links):.0f}", figure(card.f1), share(card.false_alarm_time_share)]
        cells.append(f"{(perf_counter() - began) / len(experiments):.1f}")
        lines.append(cells)
        print(f"  {name}", flush=True)
    head = [
        "discoverer", "TEP links", "TEP F1", "TEP normal time under alarm", "TEP cause in three",
        "SKAB links", "SKAB F1", "SKAB normal time under alarm", "SKAB s each",
    ]  # fmt: skip
    tables = [one.table for one in tennessee.recordings]
    return Page(
        "discoverers",
        "Other discoverers",
        False,
        "Tennessee Eastman `_te` files; SKAB `valve1`",
        data_hash(tables),
        table(head, lines) + "\n\nMechanisms are linear in all rows (with curves where they help);"
        " what differs is which links are kept.\nThe nearest-neighbour test is not in the table: it"
        " takes minutes for each of these recordings.\n",
    )


PAGES: dict[str, tuple[Callable[[Path | None, bool], Page], bool]] = {
    "plant": (plant, False),
    "robot": (robot, False),
    "paper": (paper, False),
    "tep": (tep, True),
    "skab": (skab, True),
    "batadal": (batadal, True),
    "causrca": (causrca, True),
    "limits": (limits, True),
    "discoverers": (discoverers, True),
}
"""How each page is made, and whether it needs the real recordings."""
