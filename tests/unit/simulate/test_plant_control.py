"""Set-points and interlocks of the simulated plant: they act on what the sensors show."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.simulate import Force, PlantAttack, Run, Spoof, WaterPlant
from causewatch.simulate.plant.control import Control
from causewatch.simulate.plant.tags import SENSORS, VALVES

START, END, ROWS = 900, 1500, 1800


class Panel:
    """A controller and the readings it is given."""

    def __init__(self) -> None:
        self.control = Control()
        self.seen = dict.fromkeys(SENSORS, 0.0)
        self.seen |= {"LIT101": 650.0, "LIT301": 900.0, "LIT401": 900.0, "FIT401": 1.7}
        self.seen |= {"FIT201": 0.0, "DPIT301": 20.0, "AIT402": 160.0, "AIT502": 150.0}
        self.status = dict.fromkeys(VALVES, 1.0)

    def scan(self, times: int = 1, **seen: float) -> dict[str, bool]:
        self.seen |= seen
        for _ in range(times):
            self.control.scan(self.seen, self.status)
            for tag in VALVES:  # valves without travel time
                self.status[tag] = 2.0 if self.control.wanted[tag] else 1.0
        return self.control.wanted


def test_raw_water_is_let_in_between_its_set_points() -> None:
    panel = Panel()
    assert not panel.scan(LIT101=505.0)["MV101"]
    assert panel.scan(LIT101=499.0)["MV101"]
    assert panel.scan(LIT101=799.0)["MV101"]
    assert not panel.scan(LIT101=800.0)["MV101"]
    assert not panel.scan(LIT101=501.0)["MV101"]


def test_the_transfer_pump_waits_for_its_valve_and_for_water() -> None:
    panel = Panel()
    assert panel.scan(LIT301=799.0)["MV201"]
    assert panel.scan()["P101"]
    panel.status["MV201"] = 0.0
    panel.control.scan(panel.seen, panel.status)
    assert not panel.control.wanted["P101"]
    panel.status["MV201"] = 2.0
    assert panel.scan()["P101"]
    assert not panel.scan(LIT101=249.0)["P101"]
    assert not panel.scan(LIT101=290.0)["P101"]  # not until there is some more
    assert panel.scan(LIT101=301.0)["P101"]
    assert panel.scan(LIT301=999.0)["P101"]
    assert not panel.scan(LIT301=1000.0)["P101"]


def test_the_filter_pump_fills_t401_and_needs_water_in_t301() -> None:
    panel = Panel()
    panel.scan(LIT401=799.0)
    assert panel.scan()["P302"]
    assert not panel.scan(LIT301=249.0)["P302"]
    assert not panel.scan(LIT301=290.0)["P302"]
    assert panel.scan(LIT301=301.0)["P302"]
    assert panel.scan(LIT401=999.0)["P302"]
    assert not panel.scan(LIT401=1000.0)["P302"]


@pytest.mark.parametrize(
    ("pump", "sensor", "on", "between", "off"),
    [
        ("P201", "AIT201", 234.0, 244.0, 246.0),
        ("P203", "AIT202", 8.46, 8.31, 8.29),
        ("P205", "AIT203", 399.0, 429.0, 431.0),
    ],
)
def test_dosing_has_hysteresis_and_stops_with_the_flow(
    pump: str, sensor: str, on: float, between: float, off: float
) -> None:
    panel = Panel()
    assert not panel.scan(**{sensor: on})[pump]  # nothing flows
    assert panel.scan(FIT201=2.4)[pump]
    assert panel.scan(**{sensor: between})[pump]
    assert not panel.scan(**{sensor: off})[pump]
    assert not panel.scan(**{sensor: between})[pump]
    assert not panel.scan(FIT201=0.1, **{sensor: on})[pump]


def test_a_wash_goes_through_its_steps() -> None:
    panel = Panel()
    panel.scan(LIT401=700.0)
    steps = []
    for _ in range(2200):
        panel.scan()
        wanted = panel.control.wanted
        assert not (wanted["P302"] and wanted["P602"])
        if not steps or steps[-1] != panel.control.step:
            steps.append(panel.control.step)
    assert steps[:6] == ["filter", "close", "wash", "drain", "refill", "filter"]


def test_too_much_pressure_brings_a_wash_forward() -> None:
    panel = Panel()
    panel.scan(10, DPIT301=39.9)
    assert panel.control.step == "filter"
    panel.scan(4, DPIT301=40.1)
    assert panel.control.step == "filter"
    panel.scan(1)
    assert panel.control.step == "close"


def test_reverse_osmosis_starts_in_order_and_stops_without_flow() -> None:
    panel = Panel()
    begins = {}
    for second in range(200):
        wanted = panel.scan()
        for tag in ("P402", "UV401", "P501"):
            if wanted[tag]:
                begins.setdefault(tag, second)
    assert begins["UV401"] - begins["P402"] == 20
    assert begins["P501"] - begins["UV401"] == 15
    assert panel.scan(2, FIT401=0.69)["P501"]
    wanted = panel.scan(1)
    assert not any(wanted[tag] for tag in ("P402", "UV401", "P501"))
    assert panel.scan(300, FIT401=1.7)["P501"]
    assert not panel.scan(LIT401=249.0)["P402"]
    assert not panel.scan(300, LIT401=590.0)["P402"]
    assert panel.scan(300, LIT401=610.0)["P402"]


def test_bad_water_goes_to_the_drain() -> None:
    panel = Panel()
    panel.scan(200)
    assert not panel.control.divert
    panel.scan(30, AIT502=251.0)
    assert not panel.control.divert
    panel.scan(1)
    assert panel.control.divert
    panel.scan(1, AIT502=150.0, AIT504=15.1)
    assert not panel.control.divert
    panel.scan(300)
    assert panel.control.divert
    assert panel.scan(1200)["P501"]
    assert not panel.scan(400)["P501"]  # after half an hour it is given up


LOW = (Spoof("LIT101", "constant", 240.0), Spoof("LIT301", "constant", 700.0))
"""T301 wants water, and T101 seems to have none."""


def attacked(*actions: Spoof | Force) -> Run:
    attack = PlantAttack("x", actions, "Something.", start=START, end=END)
    return WaterPlant(seed=8).simulate(ROWS, [attack])


@pytest.fixture(scope="module")
def weak() -> Run:
    """T101 seems empty, and nothing seems to flow to reverse osmosis."""
    return attacked(*LOW, Spoof("FIT401", "constant", 0.65))


@pytest.fixture(scope="module")
def forced() -> Run:
    """T101 seems empty, but P101 is held on; T401 seems empty."""
    return attacked(*LOW, Force("P101", True), Spoof("LIT401", "constant", 200.0))


def during(run: Run, tag: str) -> NDArray[np.float64]:
    """Once valves have travelled and interlocks have waited."""
    return run.values[START + 30 : END, run.signals.index(tag)]


def test_a_spoofed_level_stops_the_pump_although_there_is_water(weak: Run) -> None:
    assert (during(weak, "MV201") == 2.0).all()
    assert (during(weak, "P101") == 1.0).all()
    assert (during(weak, "MV101") == 2.0).all()
    assert weak.hidden["T101"][START:END].min() > 400.0


def test_a_forced_pump_runs_against_its_interlock(forced: Run) -> None:
    assert (during(forced, "P101") == 2.0).all()
    assert during(forced, "FIT201").min() > 2.0


def test_too_little_flow_stops_lamp_and_booster_and_is_tried_again(weak: Run) -> None:
    for tag in ("UV401", "P501"):
        assert (during(weak, tag) == 1.0).all()
    tries = np.diff(during(weak, "P402")) > 0
    assert 2 <= tries.sum() <= 6
    assert during(weak, "FIT501").max() < 1.3
    after = weak.values[END + 200 :, weak.signals.index("P501")]
    assert (after == 2.0).all()


def test_an_empty_t401_stops_its_pump(forced: Run) -> None:
    for tag in ("P402", "P501", "UV401"):
        assert (during(forced, tag) == 1.0).all()
    assert during(forced, "FIT401").max() < 0.1
