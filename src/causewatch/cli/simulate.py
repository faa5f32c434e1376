"""``causewatch simulate``: recordings whose causes are known."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from causewatch.cli import simulate_plant, simulate_robot
from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, progress, refuse_existing, refuse_folders
from causewatch.cli.recordings import START, chosen, to_csv, write_all

__all__ = ["register"]

log = logging.getLogger(__name__)

FILES = ("normal.csv", "test.csv", "causes.json", "graph.json")

ABOUT = """Write a normal recording, a recording with faults, and the truth about both.

In DIR: normal.csv and test.csv (a column time, one row per second, one column per signal; test.csv
goes on where normal.csv ends and has a last column label, 1 during a fault), causes.json (name,
first row, row after the last, and signals of every fault, rows of test.csv counted from 0)"""

RANDOM = f"""{ABOUT} and graph.json (the true links with their coefficients).

The system is drawn at random: signals S01, S02, … that cause each other with lags, and two-valued
ones A01, A02, … if --kind is binary. The same seed and options give the same files."""

EXAMPLES = """Examples:

\b
  causewatch simulate random --out data
  causewatch simulate random --out data --signals 30 --kind nonlinear --seed 7
  causewatch simulate random --out data --attacks bias,stuck,broken_link --json"""


def register(app: typer.Typer) -> None:
    """Add ``simulate`` and what can be simulated."""
    group = typer.Typer(rich_markup_mode=None)
    group.command("random", help=RANDOM, epilog=EXAMPLES, short_help="A system drawn at random.")(
        random
    )
    group.command(
        "plant",
        help=simulate_plant.HELP,
        epilog=simulate_plant.EXAMPLES,
        short_help="A water-treatment plant with 51 tags.",
    )(simulate_plant.plant)
    group.command(
        "robot",
        help=simulate_robot.HELP,
        epilog=simulate_robot.EXAMPLES,
        short_help="A humanoid robot with 255 columns.",
    )(simulate_robot.robot)
    app.add_typer(group, name="simulate", help="Make recordings whose causes are known.")


def random(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write to; made if it is not there.")
    ],
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of normal.csv.")] = 20_000,
    test_rows: Annotated[int, typer.Option(metavar="N", help="Rows of test.csv.")] = 10_000,
    attacks: Annotated[
        str,
        typer.Option(
            metavar="all|none|NAME,…",
            help="Faults in test.csv, one of each kind named: mechanism, bias, drift, stuck, noise,"
            " dropout, actuator_stuck, new_link, broken_link.",
        ),
    ] = "all",
    seed: Annotated[int, typer.Option(metavar="N", help="Of everything that is random.")] = 0,
    signals: Annotated[int, typer.Option(metavar="N", help="How many signals.")] = 10,
    links: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many links between different signals.",
            show_default="one and a half per signal",
        ),
    ] = None,
    max_lag: Annotated[int, typer.Option(metavar="N", help="Largest lag of a link, in rows.")] = 3,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="linear; nonlinear (half of the links are); heavy (noise with heavy tails);"
            " binary (some signals are two-valued); modes (two or three operating modes).",
        ),
    ] = "linear",
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Write the recordings of a random system."""
    import numpy as np

    from causewatch.simulate import FAULT_KINDS, random_faults, random_system

    paths = [out / name for name in FILES]
    refuse_folders(paths)
    refuse_existing(paths, force)
    system = random_system(signals, links=links, max_lag=max_lag, kind=kind, seed=seed)
    names = chosen(attacks, tuple(FAULT_KINDS), system.fault_kinds)
    faults = random_faults(system, test_rows, len(names), seed, kinds=names)
    log.info("Drew %r with faults %s", system, [fault.title for fault in faults])
    first, second = np.random.SeedSequence(seed).generate_state(2).tolist()
    with progress("simulating"):
        normal = system.simulate(rows, seed=first)
        test = system.simulate(test_rows, seed=second, faults=faults)
        contents = (
            to_csv(normal, START),
            to_csv(test, START + timedelta(seconds=rows), test.labels),
            json.dumps(test.causes, ensure_ascii=False, indent=1) + "\n",
            system.graph.to_json() + "\n",
        )
        write_all(dict(zip(paths, contents, strict=True)))
    if as_json:
        print_json(
            {
                "files": [str(path) for path in paths],
                "kind": kind,
                "seed": seed,
                "signals": list(system.signals),
                "links": len(system.graph),
                "rows": rows,
                "test_rows": test_rows,
                "causes": test.causes,
            }
        )
    else:
        print(f"{len(system.signals)} signals, {len(system.graph)} links, {len(faults)} faults.")
        print(f"Wrote {', '.join(str(path) for path in paths)}.")
