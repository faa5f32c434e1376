"""``causewatch inspect``: what a model knows, and its graph as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.cli.detect_summary import (
    detectability_dicts,
    print_detectability,
    print_signal_detectability,
)
from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, refuse_existing
from causewatch.cli.summary import (
    console,
    model_dict,
    print_findings,
    print_links,
    print_model,
    signal_dict,
)
from causewatch.errors import UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.model import NormalModel

__all__ = ["register"]

ABOUT = """Show what a model knows: its signals, links and report; draw its graph.

The graph is written as a picture (.svg, .png), as a page to explore in a browser (.html, one file,
works offline), or as data (.gml, .dot, .json). Pictures show links stronger than --min-strength;
with many signals they show groups instead, which the page lets you open."""

EXAMPLES = """Examples:

\b
  causewatch inspect plant.cwm
  causewatch inspect plant.cwm --graph plant.svg
  causewatch inspect plant.cwm --graph plant.html --force
  causewatch inspect plant.cwm --signal LIT301
  causewatch inspect plant.cwm --json"""


def register(app: typer.Typer) -> None:
    """Add ``inspect``."""
    app.command("inspect", help=ABOUT, epilog=EXAMPLES, short_help="Look into a model.")(inspect)


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL.cwm", help="The model.")],
    graph: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the graph: .svg, .png, .html, .gml, .dot or .json."
        ),
    ] = None,
    min_strength: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0.0,
            max=1.0,
            help="Draw only links stronger than this (0 to 1); chosen for two links a signal unless"
            " given.",
        ),
    ] = None,
    signal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Show one signal: its causes and what it acts on."),
    ] = None,
    links: Annotated[int, typer.Option(metavar="N", min=0, help="How many links to print.")] = 15,
    notes: Annotated[bool, typer.Option("--notes", help="Print notes of the report too.")] = False,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show what a model knows."""
    from causewatch.data.raw import clean_name
    from causewatch.model import load

    if graph is not None:
        refuse_existing([graph], force)
    known = load(model)
    signal = None if signal is None else clean_name(signal)
    if signal is not None and signal not in known.signals:
        raise UnknownNameError(signal, "signal", known.signals)
    if graph is not None:
        _draw(known, graph, min_strength, model.stem)
    if as_json:
        about = model_dict(known) if signal is None else signal_dict(known, signal)
        about["detectability"] = detectability_dicts(known, None if signal is None else [signal])
        print_json({"model": str(model)} | about)
        return
    screen = console()
    if signal is not None:
        _print_signal(known, signal, screen)
    else:
        print_model(known, screen)
        if links:
            print_links(known, screen, links)
        print_detectability(known, screen)
        print_findings(known.report, screen, notes)
    if graph is not None:
        screen.print(f"Graph      {graph}")


def _draw(model: NormalModel, path: Path, min_strength: float | None, title: str) -> None:
    from causewatch.explain import draw

    names = {name: model.knowledge.label_of(name) for name in model.signals}
    draw(
        model.graph,
        path,
        groups=model.knowledge.groups_for(model.signals) or None,
        labels={name: label for name, label in names.items() if label},
        min_strength=min_strength,
        title=f"{title}: one tick is {model.tick}",
        every=None if model.clock == "rows" else model.preprocessing.every,
    )


def _print_signal(model: NormalModel, name: str, out: Console) -> None:
    """One signal: causes, effects, mechanism."""
    from causewatch.explain.view import interval

    mechanism, knowledge = model.mechanisms[name], model.knowledge
    every = model.preprocessing.every
    known = [knowledge.label_of(name), knowledge.role_of(name), knowledge.group_of(name)]
    about = ", ".join(text for text in known if text)
    unit = f" {knowledge.unit_of(name)}" if knowledge.unit_of(name) else ""
    out.print(f"{name}{f' ({about})' if about else ''}")
    out.print(f"  normally {model.centre[name]:.6g} ± {model.scale[name]:.3g}{unit}")
    out.print(
        f"  its causes explain {mechanism.explained:.1%} of its variance,"
        f" leaving ± {mechanism.spread:.3g}{unit}"
    )
    out.print("Caused by" if mechanism.coefficients else "Caused by nothing in the model")
    for link in model.graph.parents(name):
        value, weight = model.graph[link].value, mechanism.coefficients[link]
        after = interval(link.lag * every, model.clock)
        sure = model.confidence.get(link)
        seen = "" if sure is None else f", in {sure.share:.0%} of the replicas"
        out.print(
            f"  {link.source} →({after}) {name}   strength {value:+.2f}, coefficient {weight:.6g}"
            f"{seen}"
        )
    effects = [link for link in model.graph.children(name) if not link.is_auto]
    out.print("Acts on" if effects else "Acts on nothing in the model")
    for link in effects:
        after = interval(link.lag * every, model.clock)
        out.print(f"  {name} →({after}) {link.target}   strength {model.graph[link].value:+.2f}")
    print_signal_detectability(model, name, out)
