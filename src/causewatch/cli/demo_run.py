"""The three acts of the demo: simulate, learn, watch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causewatch.cli.demo_story import Outcome, chapters_of, judge
from causewatch.cli.demo_view import Collected, PlainView, PlayedView
from causewatch.cli.output import progress_of
from causewatch.cli.recordings import chosen, to_csv, write_all
from causewatch.cli.running import signals, warnings
from causewatch.data import Clock
from causewatch.discovery.knowledge import Knowledge
from causewatch.explain import draw
from causewatch.explain.described import describe
from causewatch.model import NormalModel, learn
from causewatch.monitor import Monitor
from causewatch.simulate import PLANT_ATTACKS, WaterPlant, plant_attacks
from causewatch.simulate.plant.tags import STAGES
from causewatch.simulate.run import Run
from causewatch.streaming.played import PlayedSource
from causewatch.streaming.runner import Watch
from causewatch.streaming.scores import ScoreFile
from causewatch.streaming.sinks.lines import LinesSink
from causewatch.streaming.source import Reading, Wanted
from causewatch.streaming.sources.files import open_file_source
from causewatch.streaming.store.sqlite import MemoryStore
from causewatch.streaming.views import View

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.explain.story import Chapter

__all__ = [
    "KEYS",
    "Learnt",
    "Watched",
    "attacks_named",
    "learn_normal",
    "simulate",
    "watch_test",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

START = datetime(2026, 1, 1, 12)
"""Noon: what follows a normal day is then an afternoon."""
NORMAL_ROWS, TEST_ROWS = 86_400, 21_600
DIGITS = 5
"""Decimal places of the recordings: no sensor of the plant shows more."""
KEYS = ("LIT101", "LIT301", "LIT401", "DPIT301", "FIT201", "FIT401")
"""Signals shown while watching and in the report."""
UNITS = {"LIT": "mm", "FIT": "m³/h", "PIT": "kPa", "DPIT": "kPa"}
"""By the letters of a tag."""
GRACE = 1800.0
"""Seconds after an attack in which alarms are its aftermath: tanks have to find their level again,
and chemicals have to be washed out."""
CLOCK: Clock = "naive"
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Learnt:
    """The model, and how long it took."""

    model: NormalModel
    seconds: float

    @property
    def links(self) -> int:
        """Links between different signals."""
        return sum(not link.is_auto for link in self.model.graph)

    def __str__(self) -> str:
        guarded = len(self.model.watching.guarded)
        return (
            f"{len(self.model.signals)} signals, {self.links} links between them, ticks of"
            f" {self.model.tick}; {guarded} signals that stand still are guarded"
        )


@dataclass(frozen=True, eq=False)
class Watched:
    """The watch, how it fared, and the score of every tick (NaN where there is none)."""

    run: Watch
    outcome: Outcome
    time: Ints
    score: Floats
    clock: Clock
    seconds: float

    def __str__(self) -> str:
        counts = self.run.counts
        return f"{counts.rows:,} rows in {counts.ticks:,} ticks; {counts.alarms} alarms raised"


def attacks_named(attacks: str) -> tuple[str, ...]:
    """The attacks that ``--attacks`` asks for."""
    known = tuple(PLANT_ATTACKS)
    return chosen(attacks, known, known)


def simulate(
    seed: int,
    names: tuple[str, ...],
    paths: dict[str, Path],
    tell: Callable[[float], None] | None = None,
) -> tuple[Run, Run]:
    """A normal day and the afternoon after it: one run of the plant, cut in two and written.

    Parameters
    ----------
    seed
        Of the plant and of where the attacks stand.
    names
        Attacks of the afternoon.
    paths
        Where to write ``normal.csv``, ``test.csv`` and ``causes.json``.
    tell
        Told which share is done.
    """
    attacks = [
        replace(one, start=one.start + NORMAL_ROWS, end=one.end + NORMAL_ROWS)
        for one in plant_attacks(TEST_ROWS, names, seed)
    ]
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    second = START.hour * 3600
    run = WaterPlant(seed).simulate(NORMAL_ROWS + TEST_ROWS, attacks, second=second, progress=tell)
    episodes = tuple(
        replace(one, start=one.start - NORMAL_ROWS, end=one.end - NORMAL_ROWS)
        for one in run.episodes
    )
    normal = Run(run.signals, run.values[:NORMAL_ROWS], run.interval)
    test = Run(run.signals, run.values[NORMAL_ROWS:], run.interval, episodes)
    begin = START + timedelta(seconds=NORMAL_ROWS)
    write_all(
        {
            paths["normal.csv"]: to_csv(normal, START, digits=DIGITS),
            paths["test.csv"]: to_csv(test, begin, test.labels, digits=DIGITS),
            paths["causes.json"]: json.dumps(test.causes, ensure_ascii=False, indent=1) + "\n",
        }
    )
    return normal, test


def learn_normal(paths: dict[str, Path]) -> Learnt:
    """Learn from ``normal.csv``; writes the model and pictures of its graph."""
    tags = [tag for members in STAGES.values() for tag in members]
    units = {tag: UNITS.get(tag.rstrip("0123456789"), "") for tag in tags}
    known = Knowledge.from_dict(
        {
            "groups": {name: list(members) for name, members in STAGES.items()},
            "units": {tag: unit for tag, unit in units.items() if unit},
        }
    )
    began = time.monotonic()
    with progress_of() as tell:
        model = learn(str(paths["normal.csv"]), knowledge=known, progress=tell)
        seconds = time.monotonic() - began
        model.save(paths["model.cwm"])
        tell("drawing the graph", None)
        for name in ("graph.svg", "graph.html"):
            draw(
                model.graph,
                paths[name],
                groups=model.knowledge.groups_for(model.signals),
                title=f"Water plant: one tick is {model.tick}",
                every=model.preprocessing.every,
            )
    return Learnt(model, seconds)


def watch_test(
    model: NormalModel,
    test: Run,
    paths: dict[str, Path],
    speed: float,
    live: bool,
    screen: Console | None,
    tell: Callable[[Watched], None] = lambda watched: None,
    port: int | None = None,
) -> Watched:
    """Play ``test.csv`` to a monitor; writes alarms and scores.

    Parameters
    ----------
    model
        What is normal.
    test
        The recording, for the truth about it.
    paths
        Where to read and write.
    speed
        How many times faster than time it is played; 0 for as fast as possible.
    live
        Whether the screen is a terminal.
    screen
        Who looks on; None for nobody.
    tell
        Called with the result when the recording is over.
    port
        Where to show it in a browser, until somebody interrupts; None for nowhere.
    """
    monitor = Monitor(model, describe=describe)
    chapters = chapters_of(test.episodes, _first_moment(), test.interval)
    wanted = Wanted(model.watched, model.interval, reading=Reading(ignore=("label",)))
    recording = open_file_source(str(paths["test.csv"]), wanted)
    source = PlayedSource(recording, model.interval, speed)
    collected, watched = Collected(), list[Watched]()
    seen: View | None = None  # by whoever sits at the terminal
    units = {name: model.knowledge.unit_of(name) or "" for name in KEYS}
    if live and screen is not None:
        seen = PlayedView(screen, chapters, CLOCK, units)
    elif screen is not None:
        seen = PlainView(screen, chapters, CLOCK)
    with ExitStack() as stack:
        store = stack.enter_context(closing(MemoryStore()))
        run = Watch(
            monitor,
            source,
            store,
            sinks=[LinesSink(paths["alarms.jsonl"], anew=True)],
            views=[collected] if seen is None else [collected, seen],
            scores=ScoreFile(paths["scores.csv"]),
        )
        picture = stack.enter_context(ExitStack())

        def over() -> None:
            picture.close()  # what is told now stands below it
            run.views = tuple(view for view in run.views if view is not seen)
            watched.append(_judged(run, chapters, collected, paths["scores.csv"]))
            tell(watched[0])

        if port is not None and screen is not None:
            from causewatch.server import ServeSettings
            from causewatch.server.service import serving

            stack.enter_context(warnings())
            server = stack.enter_context(serving(run, paths["model.cwm"], ServeSettings(port=port)))
            screen.print(f"  The page is at {server.address}", style="bold", highlight=False)
            stack.enter_context(signals(run))
        if isinstance(seen, PlayedView):
            picture.enter_context(seen)
        if port is None:
            run.run()
            over()
        elif not run.run(over):
            raise KeyboardInterrupt
    return watched[0]


def _judged(run: Watch, chapters: Sequence[Chapter], collected: Collected, scores: Path) -> Watched:
    """How the watch fared."""
    when, score, on = _read_scores(scores)
    outcome = judge(
        chapters,
        collected.alarms.values(),
        list(zip(when.tolist(), on.tolist(), strict=True)),
        run.monitor.model.preprocessing.every,
        GRACE,
    )
    return Watched(run, outcome, when, score, CLOCK, run.seconds)


def _first_moment() -> int:
    """Time of the first row of the afternoon."""
    first = START + timedelta(seconds=NORMAL_ROWS)
    return round((first - datetime(1970, 1, 1)).total_seconds()) * NANOSECONDS


def _read_scores(path: Path) -> tuple[Ints, Floats, NDArray[np.bool_]]:
    """Times in nanoseconds, scores, and whether an alarm was on, as the watch wrote them."""
    import polars as pl

    schema = {"time": pl.Datetime("ns"), "score": pl.Float64(), "alarm": pl.Int8()}
    table = pl.read_csv(path, schema=schema)
    return (
        table["time"].cast(pl.Int64).to_numpy(),
        table["score"].fill_null(float("nan")).to_numpy(),
        table["alarm"].to_numpy() > 0,
    )
