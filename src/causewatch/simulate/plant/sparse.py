"""Attacks as rare as a few a day, each outside the part of the plant in which something changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from causewatch.errors import SettingError
from causewatch.simulate.plant.attacks import LEAST_PAUSE, PlantAttack
from causewatch.simulate.plant.changes import PlantChange
from causewatch.simulate.plant.scenarios import PLANT_ATTACKS, boxed
from causewatch.simulate.plant.tags import STAGES

__all__ = ["sparse_attacks"]

DAY = 86_400


def sparse_attacks(
    rows: int,
    per_day: int = 3,
    names: Sequence[str] = tuple(PLANT_ATTACKS),
    seed: int = 0,
    *,
    life: Sequence[PlantChange] = (),
) -> tuple[PlantAttack, ...]:
    """Attacks of the box, drawn at random and scattered over a recording.

    None is repeated before all were drawn. From one change in `life` to the next there is at least
    one attack, and none of these attacks is in a stage in which the change shows.

    Parameters
    ----------
    rows
        Length of the recording.
    per_day
        How many there are in a day, about.
    names
        From which they are drawn; every name of `PLANT_ATTACKS` by default.
    seed
        Of which are drawn and when they begin.
    life
        What changes in the recording.
    """
    attacks = boxed(names, seed)
    if not attacks:
        message = (
            f"{per_day} attacks a day were asked for, but none is named to draw from; name attacks,"
            " or ask for no number a day."
        )
        raise SettingError(message)
    longest = max(attacks, key=lambda attack: attack.duration)
    room = LEAST_PAUSE + longest.duration
    if not 1 <= per_day <= DAY // room:
        message = (
            f"{per_day} attacks a day were asked for; give 1 to {DAY // room}, because"
            f" {longest.name!r} and the pause before it take {room:,} s."
        )
        raise SettingError(message)
    if rows < room:
        message = (
            f"The recording has {rows:,} rows, but attack {longest.name!r} with the pause before it"
            f" needs {room:,}; make it longer or name other attacks."
        )
        raise SettingError(message)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(10,)))
    changes = sorted(life, key=lambda change: change.start)
    borders = [0, *(change.start for change in changes), rows]
    placed: list[PlantAttack] = []
    stock: list[PlantAttack] = []
    for change, (start, end) in zip([None, *changes], pairwise(borders), strict=True):
        away = [attack for attack in attacks if change is None or _elsewhere(attack, change)]
        if change is not None and not away:
            message = (
                f"Every attack named is in a stage in which the change {change.name!r} shows; name"
                " attacks in other stages, too."
            )
            raise SettingError(message)
        count = min(max(1, round(per_day * (end - start) / DAY)), (end - start) // room)
        for first, last in pairwise(np.linspace(start, end, count + 1).astype(int).tolist()):
            attack = _draw(stock, attacks, away, generator)
            earliest = first + LEAST_PAUSE
            placed.append(attack.at(int(generator.integers(earliest, last - attack.duration + 1))))
    return tuple(placed)


def _draw(
    stock: list[PlantAttack],
    attacks: Sequence[PlantAttack],
    away: Sequence[PlantAttack],
    generator: np.random.Generator,
) -> PlantAttack:
    """The first in stock of those that are far away; the stock is filled up when it has none."""
    if not any(attack in away for attack in stock):
        stock += [attacks[place] for place in generator.permutation(len(attacks))]
    attack = next(attack for attack in stock if attack in away)
    stock.remove(attack)
    return attack


def _elsewhere(attack: PlantAttack, change: PlantChange) -> bool:
    waited = () if attack.waits_for is None else (attack.waits_for[0],)
    return not _stages((*attack.signals, *waited)) & _stages(change.signals)


def _stages(tags: Iterable[str]) -> set[str]:
    return {stage for tag in tags for stage, members in STAGES.items() if tag in members}
