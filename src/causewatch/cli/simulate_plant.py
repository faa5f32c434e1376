"""``causewatch simulate plant``: days of a water-treatment plant, with attacks."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import print_json, progress_of, refuse_existing, refuse_folders
from causewatch.cli.recordings import START, chosen, to_csv, write_all

__all__ = ["EXAMPLES", "HELP", "plant"]

DAY = 86_400
FILES = ("normal.csv", "test.csv", "causes.json")
LIFE_FILE = "changes.json"

HELP = """Write a normal recording of a water-treatment plant, one with attacks, and the truth.

The plant is modelled after the SWaT testbed: six stages, the same 51 tags, one row per second.
Tanks, valves, pumps, membranes, chemicals and controllers act on each other; a spoofed sensor
misleads the controllers, and the plant follows.

In DIR: normal.csv (begins with empty tanks, unless --no-start-up), test.csv (another day of the
plant in operation, with a last column label, 1 during an attack) and causes.json (name, first row,
row after the last, attacked tags and description of every attack, rows of test.csv counted from
0).

With --life the plant of test.csv also changes: an analyser is recalibrated, a spare pump taken into
use, a set-point moved, a membrane cleaned, a sensor replaced by a noisier one, a tag that stood
still shows another constant, the water becomes colder, a membrane fouls. All of this is normal and
labelled 0; changes.json says what was changed when (end is null for what lasts)."""

EXAMPLES = """Examples:

\b
  causewatch simulate plant --out data
  causewatch simulate plant --list
  causewatch simulate plant --out data --attacks paper --test-rows 86400
  causewatch simulate plant --out data --attacks 8,30,drift --test-rows 43200 --seed 7
  causewatch simulate plant --out data --life --attacks-per-day 3 --test-rows 864000"""


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
    per_day: Annotated[
        int | None,
        typer.Option(
            "--attacks-per-day",
            metavar="N",
            help="Draw about N a day at random from --attacks, a few for a plant of which most"
            " hours are normal; with --life, outside the stages in which something changed last,"
            " and at least one after each change.",
            show_default="every attack named once",
        ),
    ] = None,
    life: Annotated[
        bool,
        typer.Option(
            "--life",
            help="Changes in normal operation in test.csv, each of eight kinds once. All need 97200"
            " test rows; with ten days (864000) each has about a day before the next.",
        ),
    ] = False,
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
    from causewatch.simulate import (
        PAPER_ATTACKS,
        PLANT_ATTACKS,
        PLANT_CHANGES,
        WaterPlant,
        plant_attacks,
        plant_life,
        sparse_attacks,
    )

    if show:
        _list(as_json)
        return
    if out is None:
        message = "Nothing says where to write; give --out DIR, or --list to see the attacks."
        raise SettingError(message)
    # An old account of changes must not stay beside a recording without them.
    paths = [out / name for name in (*FILES, LIFE_FILE)]
    refuse_folders(paths)
    refuse_existing(paths, force)
    known = tuple(PLANT_ATTACKS)
    names = chosen(attacks, known, known, paper=PAPER_ATTACKS)
    changes = plant_life(test_rows, seed) if life else ()
    if per_day is None:
        placed = plant_attacks(test_rows, names, seed)
    else:
        placed = sparse_attacks(test_rows, per_day, names, seed, life=changes)
    first, second = np.random.SeedSequence(seed).generate_state(2).tolist()
    with progress_of() as tell:
        normal = WaterPlant(first).simulate(
            rows, start_up=start_up, progress=lambda share: tell("normal operation", share)
        )
        test = WaterPlant(second).simulate(
            test_rows,
            placed,
            life=changes,
            second=rows % DAY,
            progress=lambda share: tell("operation with attacks", share),
        )
        tell("writing", None)
        contents = {
            out / "normal.csv": to_csv(normal, START, digits=5),
            out / "test.csv": to_csv(test, START + timedelta(seconds=rows), test.labels, digits=5),
            out / "causes.json": _truth(test.causes),
        }
        if life:
            contents[out / LIFE_FILE] = _truth(test.changes)
        write_all(contents)
        if not life:
            (out / LIFE_FILE).unlink(missing_ok=True)
    took_place = Counter(episode.name for episode in test.episodes)
    waited = list((Counter(attack.name for attack in placed) - took_place).elements())
    changed = {change.name for change in changes}
    left_out = [name for name in PLANT_CHANGES if life and name not in changed]
    if as_json:
        print_json(
            {
                "files": [str(path) for path in contents],
                "seed": seed,
                "signals": list(normal.signals),
                "rows": rows,
                "test_rows": test_rows,
                "causes": test.causes,
                "did_not_take_place": waited,
                "changes": test.changes,
                "changes_left_out": left_out,
            }
        )
        return
    print(f"{len(normal.signals)} tags, {len(test.episodes)} attacks.")
    if waited:
        print(f"What these attacks wait for did not happen: {', '.join(waited)}.")
    if life:
        print(f"{len(changes)} change{'s' * (len(changes) != 1)} in normal operation.")
    if left_out:
        print(f"These changes have no room in a recording so short: {', '.join(left_out)}.")
    print(f"Wrote {', '.join(str(path) for path in contents)}.")


def _truth(entries: list[dict[str, Any]]) -> str:
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"


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
