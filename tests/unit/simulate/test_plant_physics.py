"""Water, valves, pumps and washes of the simulated plant."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.simulate import Force, PlantAttack, Run, Spoof, WaterPlant
from causewatch.simulate.plant.devices import Line, Tank, Valve
from causewatch.simulate.plant.process import TANK_HEIGHT, pumped
from causewatch.simulate.plant.tags import PUMPS, RESOLUTION, SENSORS, STAGES, TAGS, VALVES

TANKS = ("T101", "T301", "T401")
FLOOD = PlantAttack(
    "flood",
    (
        Force("MV101", True),
        Force("P601", True),
        Force("P302", True),
        Force("P402", False),
        Spoof("LIT401", "constant", 700.0),
    ),
    "T101 and T401 are filled, nothing is drawn from T401.",
    start=600,
    end=3600,
)
DRY = PlantAttack(
    "dry",
    (Force("MV101", False), Force("P101", True), Force("MV201", True)),
    "T101 is pumped empty.",
    start=600,
    end=3600,
)


def of(run: Run, tag: str) -> NDArray[np.float64]:
    return run.values[:, run.signals.index(tag)]


@pytest.fixture(scope="module")
def normal() -> Run:
    return WaterPlant(seed=3).simulate(3 * 3600)


@pytest.fixture(scope="module")
def started() -> Run:
    return WaterPlant(seed=3).simulate(9000, start_up=True)


@pytest.fixture(scope="module")
def flooded() -> Run:
    return WaterPlant(seed=4).simulate(3700, [FLOOD])


@pytest.fixture(scope="module")
def dry() -> Run:
    return WaterPlant(seed=4).simulate(3700, [DRY])


@pytest.mark.parametrize("name", ["normal", "started", "flooded", "dry"])
def test_water_is_conserved_and_stays_in_the_tanks(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    hidden = run.hidden
    balance = hidden["supplied"] - hidden["stored"] - hidden["gone"]
    assert np.ptp(balance) < 1e-9
    assert hidden["gone"][-1] > hidden["gone"][0]
    assert (np.diff(hidden["gone"]) > -1e-12).all()
    for tank in TANKS:
        assert hidden[tank].min() >= 0.0
        assert hidden[tank].max() <= TANK_HEIGHT + 1e-9


def test_a_flooded_tank_spills_and_what_is_spilt_is_counted(flooded: Run) -> None:
    for tank in ("T101", "T401"):
        assert flooded.hidden[tank].max() == pytest.approx(TANK_HEIGHT, abs=1e-6)
    full = flooded.hidden["T401"] > TANK_HEIGHT - 1e-6
    through = of(flooded, "FIT301")[full][:-1] / 3600.0
    gone = np.diff(flooded.hidden["gone"])[full[:-1]][: len(through)]
    assert full.sum() > 300
    assert gone.sum() > 0.8 * through.sum() > 0.0


def test_an_empty_tank_gives_nothing(dry: Run) -> None:
    empty = np.flatnonzero(dry.hidden["T101"] < 5.0)
    empty = empty[empty < DRY.end]
    assert len(empty) > 300
    assert of(dry, "FIT201")[empty].max() < 0.3
    assert of(dry, "P101")[empty].min() == 2.0  # it is held on all the same


def test_normal_operation_stays_within_its_set_points(normal: Run) -> None:
    low_high = {"T101": (495.0, 806.0), "T301": (788.0, 1006.0), "T401": (735.0, 1006.0)}
    for tank, (low, high) in low_high.items():
        assert normal.hidden[tank].min() > low
        assert normal.hidden[tank].max() < high
        level = of(normal, "LIT" + tank[1:])
        assert np.abs(level - normal.hidden[tank]).max() < 6 * RESOLUTION["LIT" + tank[1:]][0]
    assert not normal.hidden["diverted"].any()


def test_the_membrane_is_washed_about_every_half_hour_of_filtering(normal: Run) -> None:
    washing = normal.hidden["washing"]
    begins = np.flatnonzero(np.diff(washing) > 0) + 1
    ends = np.flatnonzero(np.diff(washing) < 0) + 1
    assert len(begins) >= 4
    difference, pump = of(normal, "DPIT301"), of(normal, "P302")
    for begin, following in pairwise(begins):
        assert 1790 <= (pump[begin:following] == 2.0).sum() <= 1810
        assert 2000 < following - begin < 2800
    for begin, end in zip(begins, ends[ends > begins[0]], strict=False):
        assert 80 < end - begin < 160
        before = difference[begin - 300 : begin]
        after = difference[end + 15 : end + 1500][pump[end + 15 : end + 1500] == 2.0]
        # Where P302 pauses there is no pressure; where it runs, less than before the wash.
        assert np.median(after[20:100]) < before.max() - 3.0
        assert of(normal, "FIT601")[begin:end].max() > 1.5
        assert of(normal, "FIT301")[begin + 40 : end - 8].max() < 0.1


def test_fouling_raises_the_pressure_difference_between_washes(normal: Run) -> None:
    washing, pump = normal.hidden["washing"], of(normal, "P302")
    first, second = (np.flatnonzero(np.diff(washing) < 0) + 1)[:2]
    rows = np.arange(first + 60, second - 200)
    steady = rows[[pump[row - 30 : row + 1].min() == 2.0 for row in rows]]
    slope = np.polyfit(steady, of(normal, "DPIT301")[steady], 1)[0]
    assert slope > 0.0005  # kPa a second


def test_start_up_fills_empty_tanks_and_settles(started: Run) -> None:
    hidden = started.hidden
    assert max(hidden[tank][0] for tank in TANKS) < 150.0
    assert (of(started, "P501")[:900] == 1.0).all()
    assert (of(started, "FIT502")[:900] < 0.1).all()
    assert (of(started, "P501")[-600:] == 2.0).all()
    for tank, low in (("T101", 490.0), ("T301", 780.0)):
        assert hidden[tank][-600:].min() > low
    assert hidden["T401"][-1] > 600.0


def test_every_tag_has_its_place_and_its_values(normal: Run) -> None:
    assert normal.signals == TAGS == WaterPlant().signals
    assert len(TAGS) == len(set(TAGS)) == 51
    assert sorted(tag for tags in STAGES.values() for tag in tags) == sorted(TAGS)
    assert set(SENSORS) | set(VALVES) | set(PUMPS) == set(TAGS)
    assert len(SENSORS) + len(VALVES) + len(PUMPS) == 51
    assert np.isfinite(normal.values).all()
    for tag in VALVES:
        assert set(of(normal, tag)) <= {0.0, 1.0, 2.0}
    for tag in PUMPS:
        assert set(of(normal, tag)) <= {1.0, 2.0}
    for tag in SENSORS:
        column, step = of(normal, tag), RESOLUTION[tag][1]
        assert column.min() >= 0.0
        assert np.abs(column / step - np.rint(column / step)).max() < 0.1
        assert column.std() > 0.0


def test_valves_take_their_time(normal: Run) -> None:
    for tag, seconds in (("MV101", 9), ("MV201", 8), ("MV302", 6)):
        status = of(normal, tag)
        moving = np.split(status, np.flatnonzero(np.diff(status)) + 1)
        lengths = {len(part) for part in moving[1:-1] if part[0] == 0.0}
        assert len(lengths) == 1
        assert lengths <= {seconds - 1, seconds}  # in the last second of its travel it is there


def test_a_valve_can_be_turned_round_half_way() -> None:
    valve = Valve(4.0)
    valve.open = True
    valve.step()
    valve.step()
    assert (valve.opening, valve.status) == (0.5, 0.0)
    valve.open = False
    valve.step()
    valve.step()
    valve.step()
    assert (valve.opening, valve.status) == (0.0, 1.0)


def test_pumps_beside_each_other_give_more_but_not_twice_as_much() -> None:
    one, two = (pumped(count, 8.0, 0.5, 0.82) for count in (1, 2))
    assert one < two < 2 * one
    assert pumped(0, 8.0, 0.5, 0.82) == pumped(1, -1.0, 0.5, 0.82) == 0.0
    assert pumped(1, 8.0, 0.5, 3.0) < one  # a valve that is half closed
    assert 8.0 - 0.5 * one**2 == pytest.approx(0.82 * one**2)


def test_a_tank_mixes_what_comes_in() -> None:
    tank = Tank(1.0, 1000.0, 500.0, (100.0,))
    tank.step(1800.0, (200.0,), 0.0)  # half a cubic metre in a second
    assert tank.quality[0] == pytest.approx(150.0)
    assert (tank.level, tank.spilt) == (pytest.approx(1000.0), 0.0)
    tank.step(360.0, (150.0,), 0.0)
    assert tank.level == pytest.approx(1000.0)
    assert tank.spilt == pytest.approx(0.1)
    assert tank.take(1e9) == pytest.approx(3600.0)
    tank.step(0.0, (), tank.take(1e9))
    assert tank.volume == pytest.approx(0.0, abs=1e-12)


def test_a_line_follows_what_drives_it_and_comes_to_rest() -> None:
    line = Line(3.0)
    flows = [line.step(3.0) for _ in range(40)]
    assert flows[0] == pytest.approx(1.0)
    assert flows[-1] == pytest.approx(3.0, abs=1e-4)
    assert [line.step(0.0) for _ in range(60)][-1] == 0.0
