"""``causewatch reproduce``: the paper's tables from the user's own copy of its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import complain, print_json, progress_of, refuse_existing, shown
from causewatch.errors import SettingError
from causewatch.files import write_atomically

if TYPE_CHECKING:
    from causewatch.evaluation.reproduction import Case, Reproduction
    from causewatch.evaluation.reproduction.tables import ResultTable
    from causewatch.evaluation.verdicts import Progress

__all__ = ["register"]

ABOUT = """The paper's table of results, from your own copy of its data.

DATASET is swat or pepper. Learns from the normal recording as the published scripts do, watches the
one with attacks, and counts twice: as the paper does (hits and misses only inside the chosen
attacks, false alarms only in the normal recording), and at every step of the attack recording.
Beside that: the published figures, the neural networks of the paper or any other method that
'causewatch compare --list' shows, learning time, time of one online step, and for each attack the
"top 10 %" of signals by the paper's criterion. In words: what the figures mean.

Without files, the built-in water plant or robot stands in; everything is then marked as simulated.

The published method always runs: it sets the step at which all are counted. How long this takes is
said in docs/reproducing.md."""

EXAMPLES = """Examples:

\b
  causewatch reproduce swat --normal SWaT_Dataset_Normal_v1.csv --attack SWaT_Dataset_Attack_v0.csv
  causewatch reproduce pepper --normal normal.csv \\
      --attack JointControl.csv LedsControl.csv WheelsControl.csv --report pepper.md
  causewatch reproduce swat
  causewatch reproduce swat --methods paper,default,switch --step 206 --max-lag 2 --json"""

SEED = 701
"""The first of the seeds that the simulated figures in the documentation are from; none of them was
used for development."""
WIDE = 200
"""Width of tables that go into a file or a pipe."""


def register(app: typer.Typer) -> None:
    """Add ``reproduce``."""
    app.command("reproduce", help=ABOUT, epilog=EXAMPLES, short_help="The paper's tables.")(
        reproduce
    )


def reproduce(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="swat or pepper.")],
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Further recordings with attacks, after --attack.",
            show_default=False,
        ),
    ] = None,
    normal: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The normal recording.")
    ] = None,
    attack: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The recording with attacks; several of Pepper.",
            show_default=False,
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Which methods beside the published one.",
            show_default="paper,rnn,tcn,tce, without what is not installed",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS", help="Rows per step instead of what the published rule finds."
        ),
    ] = None,
    max_lag: Annotated[
        int | None,
        typer.Option(metavar="N", help="Longest lag in steps instead of what that rule finds."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of everything that is random.")
    ] = SEED,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Short simulated recordings and a long step: to see that it works."
        ),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write tables and sentences there, as Markdown."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Run the paper's experiment."""
    from causewatch.evaluation.reproduction import available
    from causewatch.evaluation.reproduction import reproduce as run
    from causewatch.evaluation.reproduction.tables import markdown

    if report is not None:
        refuse_existing([report], force)
    wanted = None if methods is None else [name.strip() for name in methods.split(",") if name]
    names, left_out = available(wanted)  # before the long work
    for sentence in left_out:
        complain(sentence)
    with progress_of() as tell:
        case = _case(dataset, normal, [*(attack or ()), *(more or ())], seed, quick, tell)
        result = run(
            case,
            names,
            step=step,
            max_lag=max_lag,
            seed=seed,
            left_out=left_out,
            progress=tell,
        )
    if report is not None:
        write_atomically(report, markdown(result))
    if as_json:
        print_json(result.to_dict())
        return
    _print(result)
    if report is not None:
        print(f"Wrote {report}.")


def _case(
    dataset: str,
    normal: Path | None,
    attacks: list[Path],
    seed: int,
    quick: bool,
    tell: Progress,
) -> Case:
    """The user's files, or simulated recordings if there are none."""
    from causewatch.evaluation.reproduction import load_case, simulate_case

    if normal is None and not attacks:
        return simulate_case(dataset, seed, quick=quick, progress=tell)
    if normal is None or not attacks:
        given, missing = ("--attack", "--normal") if normal is None else ("--normal", "--attack")
        msg = f"{given} was given without {missing}; give both, or neither to simulate."
        raise SettingError(msg)
    if quick:
        msg = "--quick makes simulated recordings short, but files were given; leave it out."
        raise SettingError(msg)
    tell(f"reading {dataset}", None)
    return load_case(dataset, normal, attacks)


def _print(result: Reproduction) -> None:
    from causewatch.cli.summary import console
    from causewatch.evaluation.reproduction.tables import explanations, method_table, sentences

    out = console()
    if not out.is_terminal:
        out.width = WIDE
    for table in (method_table(result), explanations(result)):
        out.print(_rich(table))
        out.print()
    for heading, said in sentences(result):
        out.print(heading, style="bold")
        for text in said:
            out.print(f"  {shown(text)}")


def _rich(table: ResultTable) -> object:
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=Text(shown(table.title), style="bold"),
        title_justify="left",
        box=None,
        pad_edge=False,
        header_style="bold",
    )
    for name in table.head:
        made.add_column(name, overflow="fold")
    for row in table.rows:
        made.add_row(*(Text(shown(cell)) for cell in row))
    return made
