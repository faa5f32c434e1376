"""What the programmable controllers do: level set-points, interlocks and sequences.

They only know what the sensors show. Whoever spoofs a sensor therefore makes the plant follow.
"""

from __future__ import annotations

from collections.abc import Mapping

from causewatch.simulate.plant.tags import ACTUATORS

__all__ = ["Control"]

Status = Mapping[str, float]

SET_POINTS = {"LIT101": (500.0, 800.0), "LIT301": (800.0, 1000.0), "LIT401": (800.0, 1000.0)}
"""Levels in mm between which the tanks are kept, by the sensor that shows them."""

TOO_LOW, ENOUGH = 250.0, 600.0
"""Level in mm below which nothing may be drawn from a tank, and above which reverse osmosis may
begin again."""

RESERVES = {
    "P101": "P102",
    "P201": "P202",
    "P203": "P204",
    "P205": "P206",
    "P302": "P301",
    "P402": "P401",
    "P403": "P404",
    "P501": "P502",
}
"""The pump that stands in reserve beside each pump on duty."""

MOST_DIFFERENCE = 40.0
"""Pressure over the membrane, in kPa, at which it is washed at once."""

FILTER_TIME, WASH_TIME, DRAIN_TIME = 1800, 45, 25
"""Seconds of filtering between two washes, of washing, of draining."""

LEAST_FLOW = 0.7
"""RO feed in m³/h below which lamp and high-pressure pump must not run."""

MOST_ORP, MOST_SALT = 250.0, 15.0
"""RO feed of a higher redox potential (mV) goes to the drain; so does permeate of a higher
conductivity (µS/cm), and after a while reverse osmosis is stopped."""


class Control:
    """The controllers of the six stages.

    Attributes
    ----------
    wanted
        What every actuator is told: open, or on.
    divert
        Whether the RO feed is sent to the drain.
    step
        Where ultrafiltration is: ``filter``, ``close``, ``wash``, ``drain`` or ``refill``.
    set_points
        As `SET_POINTS`, until an operator moves them.
    replaced
        The reserve pumps that are on duty, by the pump that they stand in for.
    """

    def __init__(self) -> None:
        self.wanted = dict.fromkeys(ACTUATORS, False)
        self.divert = False
        self.step = "filter"
        self.set_points = dict(SET_POINTS)
        self.replaced: dict[str, str] = {}
        self._wash_time = WASH_TIME
        self._filtered = 0  # seconds of filtering since the last wash
        self._elapsed = 0  # seconds in this step
        self._high = 0  # seconds of too much pressure over the membrane
        self._fill_feed = False  # whether T301 wants water
        self._fill_filtered = False  # whether T401 does
        self._draw_raw = self._draw_feed = self._draw_filtered = True
        self._osmosis = "off"
        self._since = 0  # seconds in this state of reverse osmosis
        self._salty = self._oxidising = self._weak = 0

    def scan(self, seen: Mapping[str, float], status: Status) -> None:
        """One scan: from what the sensors show and the valves report to orders.

        Parameters
        ----------
        seen
            Sensor values.
        status
            Of the valves: 0 moving, 1 closed, 2 open.
        """
        self._raw_water(seen, status)
        self._dosing(seen)
        self._ultrafiltration(seen, status)
        self._reverse_osmosis(seen)

    @property
    def orders(self) -> Mapping[str, bool]:
        """What every actuator is told once reserve pumps stand in for others."""
        if not self.replaced:
            return self.wanted
        orders = dict(self.wanted)
        for usual, reserve in self.replaced.items():
            orders[usual], orders[reserve] = False, self.wanted[usual]
        return orders

    def wash(self, seconds: int) -> None:
        """Begin a wash of that length, as an operator can."""
        self._wash_time = seconds
        if self.step not in ("close", "wash"):
            self._go("close")

    def _raw_water(self, seen: Mapping[str, float], status: Status) -> None:
        wanted, level, feed = self.wanted, seen["LIT101"], seen["LIT301"]
        low, high = self.set_points["LIT101"]
        if level < low:
            wanted["MV101"] = True
        elif level >= high:
            wanted["MV101"] = False
        low, high = self.set_points["LIT301"]
        if feed < low:
            self._fill_feed = True
        elif feed >= high:
            self._fill_feed = False
        self._draw_raw = level > (TOO_LOW if self._draw_raw else TOO_LOW + 50.0)
        wanted["MV201"] = self._fill_feed
        wanted["P101"] = self._fill_feed and self._draw_raw and status["MV201"] == 2.0

    def _dosing(self, seen: Mapping[str, float]) -> None:
        wanted = self.wanted
        flowing = seen["FIT201"] > 0.5
        salt, acid, chlorine = seen["AIT201"], seen["AIT202"], seen["AIT203"]
        wanted["P201"] = flowing and salt < (245.0 if wanted["P201"] else 235.0)
        wanted["P203"] = flowing and acid > (8.30 if wanted["P203"] else 8.45)
        wanted["P205"] = flowing and chlorine < (430.0 if wanted["P205"] else 400.0)

    def _ultrafiltration(self, seen: Mapping[str, float], status: Status) -> None:
        wanted, level = self.wanted, seen["LIT401"]
        low, high = self.set_points["LIT401"]
        if level < low:
            self._fill_filtered = True
        elif level >= high:
            self._fill_filtered = False
        self._draw_feed = seen["LIT301"] > (TOO_LOW if self._draw_feed else TOO_LOW + 50.0)
        self._high = self._high + 1 if seen["DPIT301"] > MOST_DIFFERENCE else 0
        self._elapsed += 1
        step = self.step
        if step == "filter":
            self._filtered += wanted["P302"]
            if self._filtered >= FILTER_TIME or self._high >= 5:
                self._go("close")
        elif step == "close":
            if status["MV302"] == 1.0:
                self._go("wash")
        elif step == "wash":
            if not (status["MV301"] == 2.0 and status["MV303"] == 2.0):
                self._elapsed = 0  # washing begins when both are open
            elif self._elapsed >= self._wash_time:
                self._wash_time = WASH_TIME
                self._go("drain")
        elif step == "drain":
            if status["MV304"] != 2.0:
                self._elapsed = 0
            elif self._elapsed >= DRAIN_TIME:
                self._go("refill")
        elif status["MV302"] == 2.0 and status["MV304"] == 1.0:
            self._filtered = 0
            self._go("filter")
        step = self.step
        filtering = step == "filter" and status["MV302"] == 2.0
        wanted["P302"] = filtering and self._fill_filtered and self._draw_feed
        wanted["MV302"] = step in ("filter", "refill")
        wanted["MV301"] = wanted["MV303"] = step == "wash"
        wanted["MV304"] = step == "drain"
        wanted["P602"] = step == "wash" and self._elapsed > 0

    def _go(self, step: str) -> None:
        self.step = step
        self._elapsed = 0

    def _reverse_osmosis(self, seen: Mapping[str, float]) -> None:
        wanted = self.wanted
        margin = TOO_LOW if self._draw_filtered else ENOUGH
        self._draw_filtered = seen["LIT401"] > margin
        self._weak = self._weak + 1 if seen["FIT401"] < LEAST_FLOW else 0
        self._salty = self._salty + 1 if seen["AIT504"] > MOST_SALT else 0
        self._oxidising = self._oxidising + 1 if seen["AIT502"] > MOST_ORP else 0
        self._since += 1
        state = self._osmosis
        stop = not self._draw_filtered or self._salty > 1800
        if stop or (state in ("lamp", "on") and self._weak >= 3):
            if state != "off":
                self._change("off")
        elif state == "off":
            if self._since >= 120:
                self._change("feed")
        elif state == "feed":
            if self._since >= 20:  # the pump has had its time to bring the flow up
                self._change("off" if self._weak else "lamp")
        elif state == "lamp" and self._since >= 15:
            self._change("on")
        state = self._osmosis
        on = state == "on"
        wanted["P402"] = state != "off"
        wanted["UV401"] = state in ("lamp", "on")
        wanted["P501"] = on
        wanted["P403"] = state != "off" and seen["AIT402"] > (150.0 if wanted["P403"] else 190.0)
        self.divert = on and (self._oxidising > 30 or self._salty > 300)

    def _change(self, state: str) -> None:
        self._osmosis = state
        self._since = 0
