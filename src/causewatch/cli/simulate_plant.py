"""``causewatch simulate plant``: days of a water-treatment plant, with attacks."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, progress_of, refuse_existing
from causewatch.cli.recordings import START, chosen, to_csv, write_all

__all__ = ["EXAMPLES", "HELP", "plant"]

DAY = 86_400
FILES = ("normal.csv", "test.csv", "causes.json")

HELP = """Write a normal recording of a water-treatment plant, one with attacks, and the truth.

The plant is modelled after the SWaT testbed: six stages, the same 51 tags, one row per second.
Tanks, valves, pumps, membranes, chemicals and controllers act on each other; a spoofed sensor
misleads the controllers, and the plant follows.

In DIR: normal.csv (begins with empty tanks, unless --no-start-up), test.csv (another day of the
plant in operation, with a last column label, 1 during an attack) and causes.json (name, first row,
row after the last, attacked tags and description of every attack, rows of test.csv counted from
0)."""

EXAMPLES = """Examples:

\b
  causewatch simulate plant --out data
  causewatch simulate plant --list
  causewatch simulate plant --out data --attacks paper --test-rows 86400
  causewatch simulate plant --out data --attacks 8,30,drift --test-rows 43200 --seed 7"""


def plant(
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to write to; made if it is not there."),
    ] = None,
    rows: Annotated[
        int, typer.Option(metavar="N", help="Rows (seconds) of normal.csv; two days by default.")
    ] = 2 * DAY,
    test_rows: Annotated[
        int, typer.Option(metavar="N", help="Rows (seconds) of test.csv; two days by default.")
    ] = 2 * DAY,
    attacks: Annotated[
        str,
        typer.Option(
            metavar="all|none|paper|NAME,…",
            help="Attacks in test.csv, one after the other in this order; paper: the nine of the"
            " published evaluation. --list shows the names.",
        ),
    ] = "all",
    seed: Annotated[int, typer.Option(metavar="N", help="Of everything that is random.")] = 0,
    start_up: Annotated[
        bool,
        typer.Option(
            "--start-up/--no-start-up", help="Whether normal.csv begins with empty tanks."
        ),
    ] = True,
    show: Annotated[
        bool, typer.Option("--list", help="Only list the attacks and what they do.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Write the recordings of the plant."""
    import numpy as np

    from causewatch.errors import SettingError
    from causewatch.simulate import PAPER_ATTACKS, PLANT_ATTACKS, WaterPlant, plant_attacks

    if show:
        _list(as_json)
        return
    if out is None:
        message = "Nothing says where to write; give --out DIR, or --list to see the attacks."
        raise SettingError(message)
    paths = [out / name for name in FILES]
    refuse_existing(paths, force)
    known = tuple(PLANT_ATTACKS)
    names = chosen(attacks, known, known, paper=PAPER_ATTACKS)
    placed = plant_attacks(test_rows, names, seed)
    first, second = np.random.SeedSequence(seed).generate_state(2).tolist()
    with progress_of() as tell:
        normal = WaterPlant(first).simulate(
            rows, start_up=start_up, progress=lambda share: tell("normal operation", share)
        )
        test = WaterPlant(second).simulate(
            test_rows,
            placed,
            second=rows % DAY,
            progress=lambda share: tell("operation with attacks", share),
        )
        tell("writing", None)
        contents = (
            to_csv(normal, START, digits=5),
            to_csv(test, START + timedelta(seconds=rows), test.labels, digits=5),
            json.dumps(test.causes, ensure_ascii=False, indent=1) + "\n",
        )
        write_all(dict(zip(paths, contents, strict=True)))
    waited = [name for name in names if name not in {one.name for one in test.episodes}]
    if as_json:
        print_json(
            {
                "files": [str(path) for path in paths],
                "seed": seed,
                "signals": list(normal.signals),
                "rows": rows,
                "test_rows": test_rows,
                "causes": test.causes,
                "did_not_take_place": waited,
            }
        )
        return
    print(f"{len(normal.signals)} tags, {len(test.episodes)} attacks.")
    if waited:
        print(f"What these attacks wait for did not happen: {', '.join(waited)}.")
    print(f"Wrote {', '.join(str(path) for path in paths)}.")


def _list(as_json: bool) -> None:
    from causewatch.simulate import PAPER_ATTACKS, PLANT_ATTACKS

    if as_json:
        print_json(
            [
                {
                    "name": one.name,
                    "signals": list(one.signals),
                    "minutes": one.duration / 60,
                    "description": one.description,
                    "paper": one.name in PAPER_ATTACKS,
                }
                for one in PLANT_ATTACKS.values()
            ]
        )
        return
    for one in PLANT_ATTACKS.values():
        mark = "*" if one.name in PAPER_ATTACKS else " "
        print(f"{one.name:>8}{mark} {one.duration // 60:3d} min  {one.description}")
    print("* one of the nine of the published evaluation (--attacks paper)")
