"""The plant itself: water, chemicals and pressure, second by second.

Raw water (tank T101) is pumped through the dosing of chemicals into T301, from there through the
ultrafiltration membrane into T401, then past the lamp and the reducing agent into reverse osmosis.
Clean water leaves to the consumers by way of T601; the rest is kept in T602 and washes the
membrane backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from causewatch.simulate.plant.devices import HOUR, Line, Ramp, Tank, Valve
from causewatch.simulate.plant.tags import PUMPS, VALVES

__all__ = ["TANK_HEIGHT", "Process"]

TANK_HEIGHT = 1225.0
"""Level in mm at which T101, T301 and T401 spill."""

RAW = (262.0, 8.62, 330.0, 148.0)
"""Raw water: conductivity (µS/cm), pH, redox potential (mV), hardness (ppm)."""

TREATED = (265.0, 8.38, 400.0, 148.0)
"""The same after dosing, as the tanks hold it when a recording begins."""

MIXER = 0.09
"""Volume in m³ over which dosed chemicals spread before the analysers of stage 2."""

CLEAN_MEMBRANE = 8.4
"""Resistance of the washed membrane, in kPa per m³/h."""

FOULING = 2.8
"""Resistance that a filtered m³ adds."""

TRAVEL = {"MV101": 9.0, "MV201": 8.0, "MV301": 6.0, "MV302": 6.0, "MV303": 6.0, "MV304": 6.0}


def pumped(pumps: int, head: float, curve: float, pipe: float) -> float:
    """Flow (m³/h) at which equal pumps side by side and the pipe agree.

    A pump gives less head the more it moves (``head - curve·flow²``), the pipe takes more
    (``pipe·flow²``).
    """
    if pumps == 0 or head <= 0.0:
        return 0.0
    return sqrt(head / (curve / (pumps * pumps) + pipe))


class Process:
    """Tanks, lines and chemistry; knows nothing of sensors, control or attacks.

    Parameters
    ----------
    levels
        Of T101, T301 and T401 at the beginning, in mm.
    """

    def __init__(self, levels: tuple[float, float, float]) -> None:
        self.valves = {tag: Valve(TRAVEL[tag]) for tag in VALVES}
        self.running = dict.fromkeys(PUMPS, False)
        self.diverted = False  # whether the RO feed goes to the drain
        self.raw = Tank(1.2, TANK_HEIGHT, levels[0], RAW)
        self.feed = Tank(0.8, TANK_HEIGHT, levels[1], TREATED)
        self.filtered = Tank(0.8, TANK_HEIGHT, levels[2], TREATED)
        self.product = Tank(1.0, 1000.0, 900.0, ())
        self.wash = Tank(1.0, 1000.0, 900.0, ())
        self.supply = Line(2.0)
        self.transfer = Line(3.0)
        self.filtration = Line(3.0)
        self.osmosis = Line(4.0)
        self.washing = Line(3.0)
        self.returned = Line(3.0)
        self.mixed = list(TREATED)  # at the analysers of stage 2
        self.washed = CLEAN_MEMBRANE  # resistance to which a wash brings the membrane
        self.membrane = CLEAN_MEMBRANE
        self.season = Ramp()  # °C by which the water is warmer
        self.scale = Ramp()  # share by which the RO membrane lets less through
        self.difference = 0.0  # pressure over the membrane, kPa
        self.dechlorinated = 160.0  # redox potential behind the lamp, mV
        self.ro_water = [TREATED[0] * 1.08, TREATED[1] - 0.2, 150.0]
        self.permeate = 12.0  # conductivity, µS/cm
        self.pressure = 0.0  # in front of the RO membrane, kPa
        self.permeate_flow = 0.0
        self.supplied = 0.0  # m³ in all
        self.left = 0.0

    @property
    def stored(self) -> float:
        """Water in all tanks, m³."""
        tanks = (self.raw, self.feed, self.filtered, self.product, self.wash)
        return sum(tank.volume for tank in tanks)

    @property
    def gone(self) -> float:
        """Water that has left the plant, spilt water included, m³."""
        tanks = (self.raw, self.feed, self.filtered, self.product, self.wash)
        return self.left + sum(tank.spilt for tank in tanks)

    def measure(self) -> list[float]:
        """What perfect sensors would show, in the order of ``SENSORS``."""
        reject = self.osmosis.flow - self.permeate_flow
        rejected = 0.757 * self.pressure
        return [
            self.supply.flow,
            self.raw.level,
            self.mixed[0],
            self.mixed[1],
            self.mixed[2],
            self.transfer.flow,
            self.difference,
            self.filtration.flow,
            self.feed.level,
            self.filtered.quality[3],
            self.dechlorinated,
            self.osmosis.flow,
            self.filtered.level,
            self.ro_water[1],
            self.ro_water[2],
            self.ro_water[0],
            self.permeate,
            self.osmosis.flow,
            self.permeate_flow,
            reject,
            0.307 * rejected / 190.0,
            self.pressure,
            0.2 + 0.72 * self.permeate_flow * self.permeate_flow,
            rejected,
            self.washing.flow,
        ]

    def step(self, wanted: Mapping[str, bool], divert: bool, moods: Sequence[float]) -> None:
        """One second.

        Parameters
        ----------
        wanted
            What every actuator is told: open, or on.
        divert
            Whether the water behind the RO membrane goes to the drain.
        moods
            The state of each of ``MOODS``.
        """
        running = self.running
        for tag in PUMPS:
            running[tag] = wanted[tag]
        for tag, valve in self.valves.items():
            valve.open = wanted[tag]
            valve.step()
        self.diverted = divert
        supply, conductivity, ph, orp, warmth, hardness, transfer, feed, ro, pressure = moods
        warmth += self.season.step()
        self.scale.step()
        raw = (RAW[0] + conductivity, RAW[1] + ph, RAW[2] + orp, RAW[3] + hardness)
        self._stages_1_and_2(raw, supply, transfer)
        self._stage_3(warmth, feed)
        self._stages_4_to_6(warmth, ro, pressure)

    def _stages_1_and_2(self, raw: Sequence[float], supply: float, efficiency: float) -> None:
        running, tank = self.running, self.raw
        flow_in = self.supply.step(2.70 * self.valves["MV101"].opening * sqrt(1.0 + supply))
        opening = self.valves["MV201"].opening
        drive = 0.0
        if opening > 0.05:
            head = 8.0 + 0.001 * (tank.level - self.feed.level)
            drive = pumped(running["P101"] + running["P102"], head, 0.5, 0.82 / opening**2)
            drive *= (1.0 + efficiency) * min(1.0, tank.level / 50.0)
        flow = self.transfer.flow = tank.take(self.transfer.step(drive))
        back = self.returned.step(2.0 if running["P601"] and self.product.level > 50.0 else 0.0)
        self.returned.flow = back = self.product.take(back)
        if flow > 0.0:
            salt, acid, chlorine = (
                running[one] + running[other]
                for one, other in (("P201", "P202"), ("P203", "P204"), ("P205", "P206"))
            )
            share = flow / HOUR / MIXER
            come, mixed = tank.quality, self.mixed
            mixed[0] += share * (come[0] + 25 * salt + 1.5 * acid + 1.0 * chlorine - mixed[0])
            mixed[1] += share * (come[1] - 0.45 * acid + 0.04 * chlorine - mixed[1])
            mixed[2] += share * (come[2] + 140 * chlorine + 6 * acid - mixed[2])
            mixed[3] += share * (come[3] - mixed[3])
        tank.step(flow_in + back, raw, flow)
        self.supplied += flow_in / HOUR

    def _stage_3(self, warmth: float, efficiency: float) -> None:
        running, valves, tank = self.running, self.valves, self.feed
        drive = 0.0
        opening = valves["MV302"].opening
        if opening > 0.05:
            head = 10.0 + 0.001 * (tank.level - self.filtered.level) - self.difference / 9.81
            drive = pumped(running["P301"] + running["P302"], head, 0.6, 1.05 / opening**2)
            drive *= (1.0 + efficiency) * min(1.0, tank.level / 50.0)
        flow = self.filtration.flow = tank.take(self.filtration.step(drive))
        way = min(valves["MV301"].opening, valves["MV303"].opening)
        drive = 1.9 * way if running["P602"] else 0.0
        wash = self.washing.flow = self.wash.take(self.washing.step(drive))
        resistance = self.membrane * (1.0 - 0.02 * warmth)
        self.difference += 0.4 * (resistance * (flow + 0.25 * wash) - self.difference)
        self.membrane += FOULING * flow / HOUR
        if wash > 0.5:
            self.membrane -= 0.08 * (self.membrane - self.washed)
        # What the drains of the membrane let out does not come through it.
        lost = flow * min(1.0, 0.5 * valves["MV304"].opening + 0.4 * valves["MV303"].opening)
        self.left += (lost + wash) / HOUR
        tank.step(self.transfer.flow, self.mixed, flow)
        tank.quality[2] += 1e-5 * (300.0 - tank.quality[2])  # chlorine does not last
        self._filtered = flow - lost

    def _stages_4_to_6(self, warmth: float, efficiency: float, mood: float) -> None:
        running, tank = self.running, self.filtered
        boosters = running["P501"] + running["P502"]
        head = 1.0 + 0.00015 * (tank.level - 900.0)
        # Without the high-pressure pump the membrane lets through only half.
        pipe = 0.28 if boosters else 1.05
        drive = pumped(running["P401"] + running["P402"], head, 0.06, pipe) * (1.0 + efficiency)
        drive *= min(1.0, tank.level / 50.0)
        flow = self.osmosis.flow = tank.take(self.osmosis.step(drive))
        rated = flow / 1.71
        scale = self.scale.value
        target = rated * rated * ((251.0 if boosters == 1 else 290.0) * (1 + mood))
        target *= 1.0 + 0.5 * scale
        self.pressure += 0.25 * ((target if boosters else 12.0 * rated) - self.pressure)
        yield_ = 0.72 + 0.0012 * (self.pressure - 251.0) if boosters else 0.03
        self.permeate_flow = flow * min(
            0.95, max(0.0, yield_ * (1.0 + 0.008 * warmth) * (1.0 - scale))
        )
        if flow > 0.05:
            agent = running["P403"] + running["P404"]
            lamp = running["UV401"]
            target = tank.quality[2] - 270.0 * agent - 25.0 * lamp
            self.dechlorinated += rated / 120.0 * (target - self.dechlorinated)
            water, share = self.ro_water, rated / 60.0
            water[0] += share * (1.08 * tank.quality[0] - water[0])
            water[1] += share * (tank.quality[1] - 0.2 - water[1])
            water[2] += 0.6 * share * (self.dechlorinated - 10.0 - water[2])
            leak = 0.042 * sqrt(251.0 / max(self.pressure, 60.0)) * (1.0 + 0.01 * warmth)
            leak /= 1.0 - scale  # as much salt in less permeate
            self.permeate += share * (leak * water[0] - self.permeate)
        tank.step(self._filtered, self.feed.quality, flow)
        tank.quality[2] += 1e-5 * (300.0 - tank.quality[2])
        reject = flow - self.permeate_flow
        if self.diverted:
            self.left += flow / HOUR
            self.product.step(0.0, (), self.returned.flow)
            self.wash.step(0.0, (), self.washing.flow)
        else:
            self.product.step(self.permeate_flow, (), self.returned.flow)
            self.wash.step(reject, (), self.washing.flow)
