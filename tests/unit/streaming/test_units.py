"""Units and the way from one to another."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import SettingError, UnknownNameError
from causewatch.streaming.units import PREFIXES, SIZES, conversion, unit_names


@pytest.mark.parametrize(
    ("value", "unit", "model_unit", "expected"),
    [
        (100.0, "degC", "degF", 212.0),
        (-40.0, "°F", "°C", -40.0),
        (20.0, "C", "K", 293.15),
        (491.67, "degR", "degC", 0.0),
        (9.0, "degF/min", "K/min", 5.0),  # a rate has no zero
        (1.0, "bar", "kPa", 100.0),
        (14.5037737730209, "psi", "bar", 1.0),
        (760.0, "torr", "atm", 1.0),
        (1.0, "barg", "psig", 14.5037737730209),
        (10.0, "mWC", "kPa", 98.0665),
        (3.6, "m³/h", "l/s", 1.0),
        (60.0, "L/min", "m3/h", 3.6),
        (1.0, "gpm", "l/min", 3.785411784),
        (1.0, "cfm", "ft3/min", 1.0),
        (1.0, "mgd", "m3/d", 3785.411784),
        (1.0, "t/h", "kg/s", 1 / 3.6),
        (1000.0, "mg/l", "kg/m3", 1.0),
        (1.0, "m3", "l", 1000.0),
        (1.0, "bbl", "gal", 42.0),
        (12.0, "in", "ft", 1.0),
        (2.0, "cm2", "mm^2", 200.0),
        (90.0, "min", "h", 1.5),
        (50.0, "Hz", "kHz", 0.05),
        (3600.0, "rpm", "rps", 60.0),
        (60.0, "rpm", "rad/s", 2 * math.pi),
        (180.0, "deg", "rad", math.pi),
        (1.0, "kWh", "MJ", 3.6),
        (1.0, "kNm", "kJ", 1.0),
        (60.0, "Nm3/h", "Nl/s", 1000 / 60),
        (1.0, "km/h/s", "m/s2", 1 / 3.6),
        (1.0, "kW*h", "kWh", 1.0),
        (1.0, "J/s", "W", 1.0),
        (1.0, "hp", "W", 745.69987158227022),
        (4.0, "mA", "A", 0.004),
        (230.0, "V", "kV", 0.23),
        (55.0, "%", "ratio", 0.55),
        (1.0, "ppm", "%", 0.0001),
        (7.0, "µS/cm", "mS/m", 0.7),
        (1.0, "KPA", "PA", 1000.0),  # upper case, where it can mean one thing only
        (1.0, "M3/H", "l/h", 1000.0),
        (8.0, "whatever", "whatever", 8.0),
    ],
)
def test_conversions(value: float, unit: str, model_unit: str, expected: float) -> None:
    factor, offset = conversion(unit, model_unit)
    assert factor * value + offset == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    ("unit", "model_unit", "words"),
    [
        ("bar", "l/s", "'bar' is a pressure, 'l/s' is a flow"),
        ("kg/h", "m3/h", "'kg/h' is a mass flow, 'm3/h' is a flow"),
        ("rpm", "Hz", "'rpm' is a rotation, 'Hz' is a frequency"),
        ("barg", "bar", "ambient pressure with factor and offset"),
        ("Nm3/h", "m3/h", "'Nm3/h' is a flow at normal conditions, 'm3/h' is a flow"),
        ("Nm3", "Sm3", "standard conditions"),
        ("NM", "mm", "may be Nm or nm"),
        ("mw", "W", "may be MW or mW"),
        ("Mbar", "l", "is a pressure"),
        ("M3/S", "m3/s", "neither"),  # S is a conductance: better refused than guessed
    ],
)
def test_what_does_not_measure_the_same(unit: str, model_unit: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        conversion(unit, model_unit)


@pytest.mark.parametrize(
    "unit", ["", "barr", "l//min", "/s", "m4", "bar" * 100, "2", "*", "m23", "bar2"]
)
def test_what_is_no_unit(unit: str) -> None:
    with pytest.raises(UnknownNameError, match="There is no unit"):
        conversion(unit, "bar")


def test_names_are_told_apart() -> None:
    names = unit_names()
    assert len(names) == len(set(names))
    shadowed = {
        prefix + name[1:]
        for units in SIZES.values()
        for name in units
        if name.startswith("*")
        for prefix in PREFIXES
    } & set(names)
    assert shadowed == set()


units = st.sampled_from([name for name in unit_names() if name != "1"])


@given(a=units, b=units, value=st.floats(-1e6, 1e6))
def test_there_and_back(a: str, b: str, value: float) -> None:
    try:
        factor, offset = conversion(a, b)
    except SettingError:
        with pytest.raises(SettingError):
            conversion(b, a)
        return
    back, up = conversion(b, a)
    there = factor * value + offset
    assert back * there + up == pytest.approx(value, rel=1e-9, abs=1e-9 * (1 + abs(up)))


@given(text=st.text(max_size=60))
def test_any_text_is_a_unit_or_refused(text: str) -> None:
    try:
        conversion(text, "bar")
    except (SettingError, UnknownNameError):
        pass


def test_every_unit_is_documented() -> None:
    page = Path(__file__).parents[3] / "docs" / "connect" / "tags.md"
    said = set(re.findall(r"[^\s,;|*()]+", page.read_text(encoding="utf-8")))
    spelt_out = {"1", "percent", "pct", "‰", "metre", "meter", "inch", "foot", "feet", "litre",
                 "liter", "L", "tonne", "lbs", "sec", "hr", "hour", "day", "celsius", "fahrenheit",
                 "amp", "volt", "turn", "mmWC", "mWC", "inWC"}  # fmt: skip
    assert set(unit_names()) - spelt_out <= said
