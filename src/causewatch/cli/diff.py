"""``causewatch diff``: what is different between two models or recordings of a plant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import complain, print_json, refuse_existing
from causewatch.cli.summary import console
from causewatch.errors import SettingError

if TYPE_CHECKING:
    from causewatch.model import NormalModel

__all__ = ["register"]

ABOUT = """Show what changed in a plant between two models: links that came, went or changed.

Each of the two is a model (.cwm) or a recording of normal operation, from which one is learnt in
passing. A link is reported if its coefficient differs by more than chance explains, given how many
links there are; the chance of reporting anything where nothing changed is --alpha. This is what to
ask after maintenance, or before a model is replaced."""

EXAMPLES = """Examples:

\b
  causewatch diff before.cwm after.cwm
  causewatch diff before.cwm after.csv --graph changes.svg
  causewatch diff march.csv april.csv --json"""


def register(app: typer.Typer) -> None:
    """Add ``diff``."""
    about = "What changed between two models."
    app.command("diff", help=ABOUT, epilog=EXAMPLES, short_help=about)(diff)


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A model (.cwm) or a recording.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The same, of later.")],
    alpha: Annotated[
        float,
        typer.Option(metavar="P", help="Chance of reporting anything where nothing changed."),
    ] = 0.01,
    graph: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the links that changed: .svg, .png, .html, .gml, .dot or .json.",
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show what is different."""
    from causewatch.explain import draw
    from causewatch.explain.picture import SUFFIXES
    from causewatch.model.difference import diff as difference

    if graph is not None:
        refuse_existing([graph], force)
        if graph.suffix.lower() not in SUFFIXES:
            msg = f"Cannot draw {graph.name!r}; expected one of {', '.join(SUFFIXES)}."
            raise SettingError(msg)
    models = _both(old, new)
    result = difference(*models, alpha=alpha)
    if graph is not None and result.changes:
        title = f"What changed from {old.stem} to {new.stem}"
        draw(result.graph(), graph, min_strength=0.0, title=title, every=result.every)
    if as_json:
        print_json({"old": str(old), "new": str(new)} | result.to_dict())
        return
    out = console()
    for which, names in (("old", result.only_before), ("new", result.only_after)):
        if names:
            out.print(f"Only the {which} model has {', '.join(names)}; they are not compared.")
    count = len(result.changes)
    links = f"{result.links} links were looked at; chance of any false change {alpha:g}"
    if not count:
        undrawn = "" if graph is None else f" {graph} was not written."
        out.print(f"Nothing changed ({links}).{undrawn}")
        return
    out.print(f"{count} {'link' if count == 1 else 'links'} changed ({links}).")
    for change in result.changes:
        shift = f", by {change.low:+.2f} to {change.high:+.2f}" if change.kind != "moved" else ""
        sentence = change.sentence(result.every, result.clock)
        out.print(f"- {sentence}{shift}, p = {change.p_value:.1g}")
    out.print("Sizes are standard deviations of the effect for one of the cause; ranges hold 95 %.")
    if graph is not None:
        out.print(f"Graph      {graph}")


def _both(old: Path, new: Path) -> tuple[NormalModel, NormalModel]:
    """The two models; a recording is learnt from with the ticks of the other one."""
    from causewatch.model import learn, load

    models = {path: load(path) for path in (old, new) if path.suffix.lower() == ".cwm"}
    for path, other in ((old, new), (new, old)):
        if path not in models:
            known = models.get(other)
            if known is None:
                models[path] = learn(path)
            else:
                plan = known.preprocessing
                models[path] = learn(path, every=plan.every, max_lag=plan.max_lag)
            for finding in models[path].report:
                if finding.kind == "outlying":
                    complain(f"{path.name}: {finding.text}")
    return models[old], models[new]
