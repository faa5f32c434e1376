"""``causewatch simulate robot``: a humanoid robot at work, with attacks."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, progress, refuse_existing, refuse_folders
from causewatch.cli.recordings import START, chosen, to_csv, write_all

__all__ = ["EXAMPLES", "HELP", "robot"]

FILES = ("normal.csv", "test.csv", "causes.json")

HELP = """Write a normal recording of a humanoid robot, one with attacks, and the truth about both.

The robot is modelled after Pepper: the 255 columns of a public recording, ten rows a second. It
greets, talks, looks around and drives through a room; joints, motors, wheels, lights, laser, sonar
and inertial sensors fit together.

In DIR: normal.csv, test.csv (another run, with a last column label, 1 during an attack) and
causes.json (name, first row, row after the last, attacked columns and description of every attack,
rows of test.csv counted from 0)."""

EXAMPLES = """Examples:

\b
  causewatch simulate robot --out data
  causewatch simulate robot --out data --attacks wheels,wheels,wheels --seed 7"""


def robot(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder to write to; made if it is not there.")
    ],
    rows: Annotated[int, typer.Option(metavar="N", help="Rows of normal.csv.")] = 14_000,
    test_rows: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Rows of test.csv; by default enough for motors to cool after each attack.",
        ),
    ] = 30_000,
    attacks: Annotated[
        str,
        typer.Option(
            metavar="all|none|NAME,…",
            help="Attacks in test.csv, one after the other in this order: led, wheels, joints."
            " A name given again is done in another way.",
        ),
    ] = "all",
    seed: Annotated[int, typer.Option(metavar="N", help="Of everything that is random.")] = 0,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Write the recordings of the robot."""
    import numpy as np

    from causewatch.simulate import ROBOT_ATTACKS, PepperRobot, robot_attacks

    paths = [out / name for name in FILES]
    refuse_folders(paths)
    refuse_existing(paths, force)
    # Motors that an attack on joints has heated cool slowly: it comes last.
    names = chosen(attacks, tuple(ROBOT_ATTACKS), ("led", "wheels", "joints"))
    placed = robot_attacks(test_rows, names, seed)
    first, second = np.random.SeedSequence(seed).generate_state(2).tolist()
    machine = PepperRobot(seed)
    with progress("simulating"):
        normal = machine.simulate(rows, seed=first)
        test = machine.simulate(test_rows, attacks=placed, seed=second)
        later = START + timedelta(seconds=rows * normal.interval)
        contents = (
            to_csv(normal, START, interval=normal.interval),
            to_csv(test, later, test.labels, interval=test.interval),
            json.dumps(test.causes, ensure_ascii=False, indent=1) + "\n",
        )
        write_all(dict(zip(paths, contents, strict=True)))
    if as_json:
        print_json(
            {
                "files": [str(path) for path in paths],
                "seed": seed,
                "signals": list(normal.signals),
                "rows": rows,
                "test_rows": test_rows,
                "causes": test.causes,
            }
        )
        return
    print(f"{len(normal.signals)} columns, {len(test.episodes)} attacks.")
    print(f"Wrote {', '.join(str(path) for path in paths)}.")
