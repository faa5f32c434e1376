"""Units: what a plant measures in, what the model was learnt in, and the way from one to the other.

A unit is a name of the table below, with or without a prefix (``k`` of ``kPa``), to a power (``m3``
or ``m³``), multiplied (``*``) and divided (``/``) as in ``l/min``. Upper and lower case count where
they must (``mW``, ``MW``) and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from causewatch.errors import SettingError, UnknownNameError, shorten

__all__ = ["conversion", "is_unit", "unit_names"]

Powers = tuple[int, int, int, int, int, int, int]
"""Powers of metre, kilogram, second, kelvin, ampere and turn; the last tells apart what is said
against different conditions, such as pressure above ambient, and cannot be converted."""

PLAIN: Powers = (0, 0, 0, 0, 0, 0, 0)
LENGTH: Powers = (1, 0, 0, 0, 0, 0, 0)
VOLUME: Powers = (3, 0, 0, 0, 0, 0, 0)
NORMAL: Powers = (3, 0, 0, 0, 0, 0, 1)
STANDARD: Powers = (3, 0, 0, 0, 0, 0, 2)
MASS: Powers = (0, 1, 0, 0, 0, 0, 0)
TIME: Powers = (0, 0, 1, 0, 0, 0, 0)
FREQUENCY: Powers = (0, 0, -1, 0, 0, 0, 0)
TEMPERATURE: Powers = (0, 0, 0, 1, 0, 0, 0)
CURRENT: Powers = (0, 0, 0, 0, 1, 0, 0)
CHARGE: Powers = (0, 0, 1, 0, 1, 0, 0)
ANGLE: Powers = (0, 0, 0, 0, 0, 1, 0)
ROTATION: Powers = (0, 0, -1, 0, 0, 1, 0)
FORCE: Powers = (1, 1, -2, 0, 0, 0, 0)
PRESSURE: Powers = (-1, 1, -2, 0, 0, 0, 0)
GAUGE: Powers = (-1, 1, -2, 0, 0, 0, 1)
ENERGY: Powers = (2, 1, -2, 0, 0, 0, 0)
POWER: Powers = (2, 1, -3, 0, 0, 0, 0)
VOLTAGE: Powers = (2, 1, -3, 0, -1, 0, 0)
RESISTANCE: Powers = (2, 1, -3, 0, -2, 0, 0)
CONDUCTANCE: Powers = (-2, -1, 3, 0, 2, 0, 0)

KINDS = {
    PLAIN: "a ratio",
    LENGTH: "a length",
    (2, 0, 0, 0, 0, 0, 0): "an area",
    VOLUME: "a volume",
    NORMAL: "a volume at normal conditions",
    STANDARD: "a volume at standard conditions",
    (3, 0, -1, 0, 0, 0, 1): "a flow at normal conditions",
    (3, 0, -1, 0, 0, 0, 2): "a flow at standard conditions",
    (3, 0, -1, 0, 0, 0, 0): "a flow",
    (0, 1, -1, 0, 0, 0, 0): "a mass flow",
    (-3, 1, 0, 0, 0, 0, 0): "a density",
    (1, 0, -1, 0, 0, 0, 0): "a speed",
    (1, 0, -2, 0, 0, 0, 0): "an acceleration",
    MASS: "a mass",
    TIME: "a time",
    FREQUENCY: "a frequency",
    TEMPERATURE: "a temperature",
    CURRENT: "a current",
    CHARGE: "a charge",
    ANGLE: "an angle",
    ROTATION: "a rotation",
    FORCE: "a force",
    PRESSURE: "a pressure",
    GAUGE: "a pressure above ambient",
    ENERGY: "an energy",
    POWER: "a power",
    VOLTAGE: "a voltage",
    RESISTANCE: "a resistance",
    CONDUCTANCE: "a conductance",
}

PREFIXES = {
    "n": "1e-9", "u": "1e-6", "m": "1e-3", "c": "1e-2", "d": "1e-1", "h": "1e2", "k": "1e3",
    "M": "1e6", "G": "1e9", "T": "1e12",
}  # fmt: skip

# Size of one in powers of metre, kilogram, second, kelvin, ampere and turn. Those with a star may
# have a prefix. Sizes are exact by definition, but for pi (to 20 digits) and columns of liquids.
SIZES: dict[Powers, dict[str, str]] = {
    PLAIN: {
        "ratio": "1", "1": "1", "%": "1/100", "percent": "1/100", "pct": "1/100",
        "permille": "1/1000", "‰": "1/1000", "ppm": "1e-6", "ppb": "1e-9",
    },
    LENGTH: {
        "*m": "1", "metre": "1", "meter": "1", "in": "0.0254", "inch": "0.0254", "ft": "0.3048",
        "foot": "0.3048", "feet": "0.3048", "yd": "0.9144", "mile": "1609.344",
    },
    VOLUME: {
        "*l": "1e-3", "*L": "1e-3", "litre": "1e-3", "liter": "1e-3", "gal": "3.785411784e-3",
        "impgal": "4.54609e-3", "bbl": "0.158987294928", "cf": "0.028316846592",
    },
    (3, 0, -1, 0, 0, 0, 0): {
        "gpm": "3.785411784e-3/60", "gph": "3.785411784e-3/3600", "gpd": "3.785411784e-3/86400",
        "mgd": "3785.411784/86400", "cfm": "0.028316846592/60", "cfs": "0.028316846592",
        "lpm": "1e-3/60", "lps": "1e-3", "lph": "1e-3/3600", "cmh": "1/3600",
    },
    NORMAL: {"Nm3": "1", "Nl": "1e-3"},
    STANDARD: {"Sm3": "1", "Sl": "1e-3"},
    MASS: {
        "*g": "1e-3", "t": "1000", "tonne": "1000", "lb": "0.45359237", "lbs": "0.45359237",
        "oz": "0.028349523125",
    },
    TIME: {
        "*s": "1", "sec": "1", "min": "60", "h": "3600", "hr": "3600", "hour": "3600",
        "d": "86400", "day": "86400", "week": "604800",
    },
    FREQUENCY: {"*Hz": "1", "cpm": "1/60"},
    TEMPERATURE: {
        "*K": "1", "degC": "1", "C": "1", "celsius": "1", "degF": "5/9", "F": "5/9",
        "fahrenheit": "5/9", "degR": "5/9",
    },
    CURRENT: {"*A": "1", "amp": "1"},
    CHARGE: {"*Ah": "3600"},
    ANGLE: {"rev": "1", "turn": "1", "deg": "1/360", "*rad": "1/6.2831853071795864769"},
    ROTATION: {"rpm": "1/60", "rps": "1"},
    FORCE: {"*N": "1", "lbf": "4.4482216152605", "kgf": "9.80665"},
    PRESSURE: {
        "*Pa": "1", "*bar": "1e5", "bara": "1e5", "mbara": "100", "psi": "6894.757293168361336722",
        "psia": "6894.757293168361336722", "atm": "101325", "at": "98066.5", "torr": "101325/760",
        "mmHg": "133.322387415", "inHg": "3386.388640341", "mmH2O": "9.80665", "mmWC": "9.80665",
        "cmH2O": "98.0665", "mH2O": "9806.65", "mWC": "9806.65", "inH2O": "249.08891",
        "inWC": "249.08891",
    },
    GAUGE: {
        "Pag": "1", "kPag": "1000", "MPag": "1e6", "barg": "1e5", "mbarg": "100",
        "psig": "6894.757293168361336722",
    },
    ENERGY: {
        "*J": "1", "*Nm": "1", "*Wh": "3600", "cal": "4.184", "kcal": "4184",
        "btu": "1055.05585262",
    },
    POWER: {"*W": "1", "*VA": "1", "*var": "1", "hp": "745.69987158227022", "PS": "735.49875"},
    VOLTAGE: {"*V": "1", "volt": "1"},
    RESISTANCE: {"*ohm": "1", "*Ω": "1"},
    CONDUCTANCE: {"*S": "1"},
}  # fmt: skip

ZEROS = {
    "degC": "273.15", "C": "273.15", "celsius": "273.15",
    "degF": "2298.35/9", "F": "2298.35/9", "fahrenheit": "2298.35/9",
}  # fmt: skip
"""What zero of a unit is in kelvin, for those that do not begin there."""

SAME = str.maketrans(
    {"²": "2", "³": "3", "^": "", "µ": "u", "μ": "u", "·": "*", "°": "deg", "Ω": "Ω", " ": ""}
)
POWERED = re.compile(r"(.*?[^\d])([23])")
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: ``size * value + zero`` is the same in metre, kilogram, second and so on."""

    powers: Powers
    size: Fraction
    zero: Fraction = Fraction(0)

    def times(self, other: Unit, power: int) -> Unit:
        """A product; what zero means is lost, as for degrees per minute."""
        powers = [a + power * b for a, b in zip(self.powers, other.powers, strict=True)]
        return Unit((*powers,), self.size * other.size**power)  # type: ignore[arg-type]

    @property
    def kind(self) -> str:
        """What it measures, for a sentence."""
        return KINDS.get(self.powers, "something else")


def conversion(unit: str, model_unit: str) -> tuple[float, float]:
    """Factor and offset from one unit to another: ``model = factor * value + offset``.

    Raises `UnknownNameError` for a unit that is not known and `SettingError` for two that do not
    measure the same.

    >>> conversion("degC", "degF")
    (1.8, 32.0)
    >>> conversion("m3/h", "l/min")[0]
    16.666666666666668
    """
    if unit == model_unit:
        return 1.0, 0.0
    this, that = _parse(unit), _parse(model_unit)
    if this.powers != that.powers:
        about = f"{unit!r} is {this.kind}, {model_unit!r} is {that.kind}"
        if {this.powers, that.powers} == {PRESSURE, GAUGE}:
            msg = f"{about}; say the ambient pressure with factor and offset instead."
        else:
            msg = f"{about}: neither can be converted to the other."
        raise SettingError(msg)
    return float(this.size / that.size), float((this.zero - that.zero) / that.size)


def is_unit(text: str) -> bool:
    """Whether it is known; also if it may be two of them, which only writing it properly mends."""
    try:
        _parse(text)
    except UnknownNameError:
        return False
    except SettingError:
        pass
    return True


def unit_names() -> list[str]:
    """All units without prefixes and quotients, in the order of the table."""
    return [name.removeprefix("*") for names in SIZES.values() for name in names]


@cache
def _table() -> dict[str, Unit]:
    """All units by their names, with all prefixes."""
    found: dict[str, Unit] = {}
    for powers, names in SIZES.items():
        for name, size in names.items():
            short = name.removeprefix("*")
            found[short] = Unit(powers, _exact(size), _exact(ZEROS.get(short, "0")))
    for powers, names in SIZES.items():
        for name, size in names.items():
            if name.startswith("*"):
                for prefix, times in PREFIXES.items():  # min is a minute, and no milli-inch
                    unit = Unit(powers, _exact(size) * _exact(times))
                    found.setdefault(prefix + name[1:], unit)
    return found


@cache
def _spellings() -> dict[str, set[str]]:
    """Names by what they are in lower case."""
    found: dict[str, set[str]] = {}
    for name in _table():
        found.setdefault(name.lower(), set()).add(name)
    return found


def _parse(text: str) -> Unit:
    short = text.translate(SAME)
    if not short or len(short) > LONGEST_NAME:
        raise UnknownNameError(text, "unit", unit_names())
    first, *rest = short.split("/")
    parts: Iterable[tuple[str, int]] = [
        *((name, 1) for name in first.split("*")),
        *((name, -1) for part in rest for name in part.split("*")),
    ]
    units = [(_single(name, text), power) for name, power in parts]
    if len(units) == 1:
        return units[0][0]
    found = Unit(PLAIN, Fraction(1))
    for unit, power in units:
        found = found.times(unit, power)
    return found


def _single(name: str, whole: str) -> Unit:
    """One unit without quotients."""
    table = _table()
    if name in table:
        return table[name]
    powered = POWERED.fullmatch(name)
    if powered:
        unit = _single(powered[1], whole)
        if unit.powers in (LENGTH, TIME):
            return Unit(PLAIN, Fraction(1)).times(unit, int(powered[2]))
        raise UnknownNameError(whole, "unit", unit_names())
    like = _spellings().get(name.lower(), set())
    sizes = {table[one] for one in like}
    if len(sizes) == 1:
        return sizes.pop()
    if like:
        msg = f"The unit {shorten(whole)!r} may be {' or '.join(sorted(like))}; write which."
        raise SettingError(msg)
    raise UnknownNameError(whole, "unit", unit_names())


def _exact(text: str) -> Fraction:
    top, _, bottom = text.partition("/")
    return Fraction(top) / Fraction(bottom or "1")
