"""A few attacks a day on the simulated plant, outside the stages in which something changed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate import (
    PLANT_ATTACKS,
    PlantAttack,
    WaterPlant,
    plant_life,
    sparse_attacks,
)
from causewatch.simulate.plant.attacks import LEAST_PAUSE
from causewatch.simulate.plant.tags import STAGES

DAY = 86_400


def stages(*tags: str) -> set[str]:
    return {stage for stage, members in STAGES.items() if set(tags) & set(members)}


def check(attacks: tuple[PlantAttack, ...], rows: int) -> None:
    assert attacks[0].start >= LEAST_PAUSE
    assert attacks[-1].end <= rows
    assert all(first.end + LEAST_PAUSE <= later.start for first, later in pairwise(attacks))


@pytest.mark.parametrize("per_day", [1, 3, 13])
def test_there_are_as_many_a_day_as_asked_for(per_day: int) -> None:
    attacks = sparse_attacks(10 * DAY, per_day, seed=4)
    assert len(attacks) == 10 * per_day
    check(attacks, 10 * DAY)
    count = min(len(attacks), len(PLANT_ATTACKS))
    assert len({attack.name for attack in attacks[:count]}) == count
    by_day = [sum(attack.start // DAY == day for attack in attacks) for day in range(10)]
    assert max(by_day) <= per_day + 1


def test_a_seed_decides_which_and_when() -> None:
    assert sparse_attacks(DAY, 3, seed=1) == sparse_attacks(DAY, 3, seed=1)
    assert sparse_attacks(DAY, 3, seed=1) != sparse_attacks(DAY, 3, seed=2)
    assert {attack.name for attack in sparse_attacks(DAY, 4, ["8", "21"])} == {"8", "21"}
    assert len(sparse_attacks(7200, 3, ["8"])) == 1


@pytest.mark.parametrize("rows", [2 * DAY, 10 * DAY])
@pytest.mark.parametrize("seed", range(6))
def test_every_change_has_an_attack_elsewhere(rows: int, seed: int) -> None:
    life = plant_life(rows, seed)
    attacks = sparse_attacks(rows, 3, seed=seed, life=life)
    check(attacks, rows)
    borders = [*(change.start for change in life), rows]
    for change, (start, end) in zip(life, pairwise(borders), strict=True):
        during = [attack for attack in attacks if start <= attack.start < end]
        assert during
        for attack in during:
            assert attack.end <= end
            waited = () if attack.waits_for is None else (attack.waits_for[0],)
            assert not stages(*attack.signals, *waited) & stages(*change.signals)


def test_attacks_and_changes_take_place_together() -> None:
    rows = 10 * 3600
    life = plant_life(rows, 3)
    attacks = sparse_attacks(rows, 6, ["2", "19", "40"], seed=3, life=life)
    run = WaterPlant(9).simulate(rows, attacks, life=life)
    assert [episode.name for episode in run.episodes] == [attack.name for attack in attacks]
    assert [change.name for change in run.life] == [change.name for change in life]
    assert run.labels.sum() == sum(attack.duration for attack in attacks)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sparse_attacks(DAY, 3, []), "none is named to draw from; name attacks"),
        (lambda: sparse_attacks(DAY, 0), "give 1 to 13, because '28'"),
        (lambda: sparse_attacks(DAY, 14), "take 6,600 s"),
        (lambda: sparse_attacks(6599, 3), "needs 6,600; make it longer"),
        (lambda: sparse_attacks(DAY, 3, seed=-1), "0 or larger"),
        (
            lambda: sparse_attacks(DAY, 3, ["8", "17"], life=plant_life(27 * 3600)),
            "Every attack named is in a stage in which the change",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(SettingError) as error:
        make()
    assert words in str(error.value)


def test_names_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="no attack '99'"):
        sparse_attacks(DAY, 3, ["99"])
