"""The life of the plant: the changes in the box, and when they happen in a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from causewatch.errors import SettingError
from causewatch.simulate.plant.attacks import shares
from causewatch.simulate.plant.changes import PlantChange
from causewatch.simulate.plant.interventions import (
    Cleaning,
    Fouling,
    NoisySensor,
    Recalibration,
    Season,
    SetPoint,
    SparePump,
    Switch,
)

__all__ = ["LEAST_APART", "PLANT_CHANGES", "plant_life"]

DAY = 86_400

LEAST_APART = 3 * 3600
"""Fewest seconds before the first change, between two, and after the last."""

_LIST = (
    PlantChange(
        "analyser recalibrated",
        Recalibration("AIT202", offset=0.08),
        "AIT202 is recalibrated and shows 0.08 more than before: more acid is dosed, the water in"
        " T301 and T401 is less alkaline.",
    ),
    PlantChange(
        "spare pump used",
        SparePump("P101"),
        "P102 is on duty and P101 in reserve; the flow is the same.",
    ),
    PlantChange(
        "set-point moved",
        SetPoint("LIT401", 700.0, 900.0),
        "The operator keeps T401 between 700 and 900 mm instead of 800 and 1,000 mm.",
    ),
    PlantChange(
        "membrane cleaned",
        Cleaning(),
        "The ultrafiltration membrane is washed with chemicals for five minutes: from then on its"
        " pressure difference DPIT301 is lower.",
    ),
    PlantChange(
        "noisier sensor",
        NoisySensor("FIT501", 4.0),
        "FIT501 is replaced by a sensor with four times the noise.",
    ),
    PlantChange(
        "other constant",
        Switch("P603"),
        "P603, which no controller uses, is left on after maintenance; it moves no water.",
    ),
    PlantChange(
        "season",
        Season(-6.0, 8 * DAY),
        "The water becomes 6 °C colder until the end of the recording: DPIT301 rises, reverse"
        " osmosis gives 5 % less permeate with less salt in it.",
    ),
    PlantChange(
        "slow fouling",
        Fouling(0.06, 8 * DAY),
        "The membrane of reverse osmosis fouls until the end of the recording: its pressure rises"
        " by 3 %, it gives 5 % less permeate with more salt in it.",
    ),
)

PLANT_CHANGES: dict[str, PlantChange] = {change.name: change for change in _LIST}
"""One change of each kind by name; in a short recording the first of them have room."""

PASSING = (SparePump, SetPoint)
"""Changes that are taken back when the next one comes; the others last."""


def plant_life(rows: int, seed: int = 0) -> tuple[PlantChange, ...]:
    """Changes of the box, spread over a recording of `rows` rows.

    Season and fouling come first because they take until the end of the recording. The order is
    random otherwise. A recording of 27 hours or more has room for all eight, a shorter one for the
    first of `PLANT_CHANGES`: one for every three hours after the first three.

    Parameters
    ----------
    rows
        Length of the recording.
    seed
        Of the order and the times.
    """
    if seed < 0:
        message = f"The seed is {seed}, but it must be 0 or larger."
        raise SettingError(message)
    count = min(len(PLANT_CHANGES), rows // LEAST_APART - 1)
    if count < 1:
        message = (
            f"Life in the plant needs a recording of at least {2 * LEAST_APART:,} rows, but it has"
            f" {rows:,}; make it longer or do without life."
        )
        raise SettingError(message)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(9,)))
    box = list(PLANT_CHANGES.values())[:count]
    changes = [box[place] for place in generator.permutation(count)]
    changes.sort(key=lambda change: not isinstance(change.intervention, Season | Fouling))
    parts = shares(count + 1, generator)
    spare = rows - LEAST_APART * (count + 1)
    starts = [int(spare * parts[:n].sum()) + LEAST_APART * n for n in range(1, count + 1)]
    placed = []
    for change, start, following in zip(changes, starts, [*starts[1:], None], strict=True):
        passing = isinstance(change.intervention, PASSING)
        placed.append(_fitted(change.at(start, following if passing else None), rows))
    return tuple(placed)


def _fitted(change: PlantChange, rows: int) -> PlantChange:
    """A slow change such that it is complete at the end of the recording."""
    slow = change.intervention
    if isinstance(slow, Season | Fouling):
        return replace(change, intervention=replace(slow, seconds=rows - change.start))
    return change
