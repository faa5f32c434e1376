"""``causewatch demo``: the whole story on the built-in water plant."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, progress, refuse_existing
from causewatch.errors import SettingError

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.cli.demo_run import Watched

__all__ = ["register"]

ABOUT = """Learn the built-in water plant, watch it under attack, and tell how that went.

A simulated day of normal operation is learnt from. Then an afternoon with five attacks is played at
high speed: in a terminal with a live view, otherwise as plain lines. At the end stands a table of
the attacks: how soon each was noticed, which signals were named as causes, and the truth. Attacks
that were missed and false alarms are shown as such. Every number comes from this run. With --serve
the afternoon is also shown in a browser, slowly enough to look around.

In DIR: index.html (the report, with a page for each alarm in alarms/), normal.csv, test.csv and
causes.json as 'causewatch simulate' writes them, model.cwm, alarms.jsonl, scores.csv, graph.svg
and graph.html."""

EXAMPLES = """Examples:

\b
  causewatch demo
  causewatch demo --serve
  causewatch demo --out plant --seed 7 --speed 300
  causewatch demo --attacks 8,17,21 --json"""

ATTACKS = ("drift", "21", "2", "27", "8")
"""Different in kind: a slow drift, a valve with its level spoofed, a standby pump, a tank filled
beyond its set-point, and a pressure that makes the plant wash its filter again and again."""
SPEED = 1800.0
"""Half an hour in a second."""
SERVED_SPEED = 120.0
"""Two minutes in a second, so that there is time to look around."""
FOLDER = "causewatch-demo"
"""Where it is written if nobody says."""
FILES = (
    "normal.csv", "test.csv", "causes.json", "model.cwm", "alarms.jsonl", "scores.csv", "graph.svg",
    "graph.html", "index.html",
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add ``demo``."""
    app.command("demo", help=ABOUT, epilog=EXAMPLES, short_help="The whole story in a minute.")(
        demo
    )


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to write to; made if it is not there.",
            show_default=f"{FOLDER}, or {FOLDER}-2 and so on if that is there",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of everything that is random.")
    ] = 1,
    attacks: Annotated[
        str,
        typer.Option(
            metavar="none|NAME,…",
            help="Attacks of the afternoon, in this order; 'causewatch simulate plant --list'"
            " shows the names; none: an afternoon without.",
        ),
    ] = ",".join(ATTACKS),
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            min=0.0,
            help="How many times faster than time the afternoon is played; 0: as fast as possible.",
            show_default=f"{SERVED_SPEED:g} with --serve, {SPEED:g} in a terminal, else 0",
        ),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Show the afternoon in a browser, and stay until Ctrl-C."),
    ] = False,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="For --serve; 0 for any.")
    ] = 8765,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Tell the whole story."""
    if serve and as_json:
        msg = "--serve shows the afternoon until Ctrl-C, and --json prints it when it is over."
        raise SettingError(msg)
    if serve:
        from causewatch.extras import needed

        needed("fastapi", "server")
    out = out or _free_folder(force)
    paths = {name: out / name for name in FILES}
    from causewatch.cli.demo_report import PAGES, result_dict, write_report

    refuse_existing([*paths.values(), out / PAGES], force)
    from causewatch.cli.demo_run import attacks_named, learn_normal, simulate, watch_test
    from causewatch.cli.demo_story import print_outcome
    from causewatch.cli.summary import console

    names = attacks_named(attacks)
    began = time.monotonic()
    screen = console()
    steps = _Steps(None if as_json else screen)
    after = "an afternoon with attacks" if names else "an afternoon"
    steps.begin(f"Simulating a normal day of a water plant, and {after}")
    with progress("simulating the plant") as told:
        normal, test = simulate(seed, names, paths, told)
    waited = len(names) - len(test.episodes)
    steps.end(
        f"{len(normal.values):,} and {len(test.values):,} rows of {len(normal.signals)} signals;"
        f" attacks: {', '.join(one.name for one in test.episodes) or 'none'}"
        + (f"; {waited} did not take place, what they waited for never came" if waited else "")
    )
    steps.begin("Learning from the normal day which signals cause which others")
    learnt = learn_normal(paths)
    steps.end(str(learnt))
    steps.begin("Watching the afternoon")
    live = screen.is_terminal and not as_json
    usual = SERVED_SPEED if serve else SPEED if live else 0.0
    pace = speed if speed is not None else usual

    def tell(watched: Watched) -> None:
        steps.end(str(watched))
        if not as_json:
            print_outcome(watched.outcome, screen, watched.clock)
        steps.begin("Writing the report")
        with progress("writing the report"):
            write_report(learnt, watched, test, paths, seed)
        steps.end(f"open {paths['index.html']} in a browser")
        if serve:
            screen.print("The page stays until Ctrl-C.")

    watched = watch_test(
        learnt.model, test, paths, pace, live, None if as_json else screen, tell,
        port if serve else None,
    )  # fmt: skip
    seconds = time.monotonic() - began
    if as_json:
        print_json(result_dict(learnt, watched, paths, seed, seconds))
    else:
        screen.print(f"All of this took {seconds:.0f} s.")


def _free_folder(force: bool) -> Path:
    """The usual folder, or one beside it, so that one demo after the other works."""
    names = itertools.chain([FOLDER], (f"{FOLDER}-{k}" for k in itertools.count(2)))
    return next(Path(name) for name in names if force or not os.path.lexists(name))


class _Steps:
    """Says what is being done and how long it took; nothing without a screen."""

    def __init__(self, screen: Console | None) -> None:
        self._screen = screen
        self._since = time.monotonic()

    def begin(self, text: str) -> None:
        """Something begins."""
        self._since = time.monotonic()
        if self._screen is not None:
            self._screen.print(f"{text} …", style="bold")

    def end(self, text: str) -> None:
        """It has ended, with this result."""
        if self._screen is not None:
            self._screen.print(f"  {text} ({time.monotonic() - self._since:.1f} s)")
