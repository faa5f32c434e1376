"""What the demo leaves behind: the report in HTML, and the result as plain data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from causewatch.cli.demo_run import KEYS, Learnt, Watched
from causewatch.data import format_time
from causewatch.explain.report import write_report as write_page
from causewatch.explain.story import Story, write_story
from causewatch.simulate.run import Run

__all__ = ["PAGES", "result_dict", "write_report"]

PAGES = "alarms"
"""Folder of the pages of alarms."""
PAGE = re.compile(r"[0-9a-f]{12}\.html")
NANOSECONDS = 1_000_000_000
MORE = {
    "graph.html": "the causal graph, to be moved, filtered and searched",
    "graph.svg": "the picture of the graph",
    "causes.json": "the truth about the attacks",
    "alarms.jsonl": "everything that happened to alarms, one JSON line each",
    "scores.csv": "the score of every tick",
    "model.cwm": "the model, for 'causewatch inspect' and 'causewatch watch'",
    "normal.csv": "the day that was learnt from",
    "test.csv": "the afternoon that was watched",
}


def write_report(
    learnt: Learnt, watched: Watched, test: Run, paths: dict[str, Path], seed: int
) -> None:
    """Write ``index.html`` and a page for every alarm."""
    model, outcome = learnt.model, watched.outcome
    folder = paths["index.html"].parent / PAGES
    folder.mkdir(exist_ok=True)
    pages = {one.alarm.id: f"{PAGES}/{one.alarm.id}.html" for one in outcome.entries}
    for old in folder.iterdir():  # of an earlier run in the same folder
        if PAGE.fullmatch(old.name) and old.stem not in pages:
            old.unlink()
    for one in outcome.entries:
        write_page(
            one.alarm,
            paths["index.html"].parent / pages[one.alarm.id],
            model,
            home="../index.html",
            about={"watched": "test.csv", "model": "model.cwm"},
        )
    origin, counts = model.provenance, watched.run.counts
    first, last = (format_time(int(moment), watched.clock) for moment in watched.time[[0, -1]])
    story = Story(
        title="An afternoon at the water plant",
        lead=[
            "causewatch learnt from a day of normal operation of a simulated water plant which"
            " signals cause which others. Then it watched the afternoon that followed. It knew"
            " neither whether and when the plant would be attacked, nor how.",
            " ".join(outcome.sentences),
        ],
        facts=[
            ("learnt from", f"{origin.rows:,} rows, {_span(origin.first, origin.last)}"),
            ("signals", f"{len(model.signals)} and {len(model.watching.guarded)} guarded"),
            ("links between them", f"{learnt.links}"),
            ("learnt in", f"{learnt.seconds:.1f} s"),
            ("watched", f"{counts.rows:,} rows, {_span(first, last)}"),
            ("one tick", model.tick),
            ("seed", str(seed)),
        ],
        chapters=outcome.chapters,
        entries=outcome.entries,
        rules=outcome.rules,
        time=watched.time,
        score=watched.score,
        clock=watched.clock,
        lanes=_lanes(watched, test),
        units={name: model.knowledge.unit_of(name) or "" for name in KEYS},
        graph=paths["graph.svg"].read_bytes(),
        graph_caption="Arrows point from cause to effect; a time says how long the effect takes.",
        pages=pages,
        more=list(MORE.items()),
    )
    write_story(story, paths["index.html"])


def _span(first: str, last: str) -> str:
    return f"{first} to {last}".replace("T", " ")


def _lanes(watched: Watched, test: Run) -> dict[str, Any]:
    """The key signals at the last row of every tick."""
    last = len(test.values) - 1
    first = int(watched.time[-1]) - round(last * test.interval * NANOSECONDS)
    rows = (watched.time - first) / (test.interval * NANOSECONDS)
    rows = np.clip(np.rint(rows).astype(np.int64), 0, last)
    columns = {name: test.signals.index(name) for name in KEYS if name in test.signals}
    return {name: test.values[rows, column] for name, column in columns.items()}


def result_dict(
    learnt: Learnt, watched: Watched, paths: dict[str, Path], seed: int, seconds: float
) -> dict[str, Any]:
    """Everything the demo found, for ``--json``."""
    model, run = learnt.model, watched.run
    return {
        "seed": seed,
        "report": str(paths["index.html"]),
        "files": [str(path) for path in paths.values()],
        "learnt": {
            "rows": model.provenance.rows,
            "signals": len(model.signals),
            "guarded": len(model.watching.guarded),
            "links": learnt.links,
            "every_s": model.preprocessing.every,
            "seconds": round(learnt.seconds, 3),
        },
        "watched": run.counts.to_dict(watched.seconds, True),
        "outcome": watched.outcome.to_dict(watched.clock),
        "seconds": round(seconds, 3),
    }
