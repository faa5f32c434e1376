"""The attacks in the box: those on the SWaT testbed under their numbers, and some more.

Numbers, tags and intent are those of the list that comes with the SWaT recording of December 2015.
Its numbers 5, 9, 12, 15 and 18 had no physical effect, and number 4 opens a valve that is not among
the 51 tags; they are left out. The durations are ours: long enough that what the description says
comes true wherever in its cycles the plant is when the attack begins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.plant.attacks import Force, PlantAttack, Spoof, spread

__all__ = ["PAPER_ATTACKS", "PLANT_ATTACKS", "boxed", "plant_attacks"]

MINUTE = 60


def _attack(
    name: str,
    minutes: float,
    description: str,
    *actions: Spoof | Force,
    waits_for: tuple[str, float] | None = None,
) -> PlantAttack:
    return PlantAttack(name, actions, description, end=int(minutes * MINUTE), waits_for=waits_for)


def _show(tag: str, value: float) -> Spoof:
    return Spoof(tag, "constant", value)


def _on(tag: str) -> Force:
    return Force(tag, True)


def _off(tag: str) -> Force:
    return Force(tag, False)


_LIST = (
    _attack("1", 30, "MV101 is held open: T101 is filled beyond its set-point.", _on("MV101")),
    _attack("2", 10, "P102 runs beside P101: when T301 is filled, too much flows.", _on("P102")),
    _attack(
        "3", 24, "LIT101 climbs by 1 mm a second: T101 is not filled and runs low.",
        Spoof("LIT101", "ramp", 1.0),
    ),
    _attack("6", 18, "AIT202 shows 6: no acid is dosed, the pH rises.", _show("AIT202", 6.0)),
    _attack("7", 14, "LIT301 shows 1,200: T301 is not filled and runs low.", _show("LIT301", 1200)),
    _attack(
        "8", 16, "DPIT301 shows 45 kPa: the membrane is washed again and again.",
        _show("DPIT301", 45.0),
    ),
    _attack("10", 10, "FIT401 shows 0.65: lamp and P501 stop.", _show("FIT401", 0.65)),
    _attack("11", 12, "FIT401 shows 0: lamp and P501 stop.", _show("FIT401", 0.0)),
    # There is a wash every 37 to 43 minutes.
    _attack(
        "13", 60, "MV304 is held closed from a wash on: it cannot end, stage 3 stands still.",
        _off("MV304"), waits_for=("MV301", 0.0),
    ),
    _attack(
        "14", 60, "MV303 is held closed from a wash on: it breaks off, stage 3 stands still.",
        _off("MV303"), waits_for=("P602", 2.0),
    ),
    _attack(
        "16", 22, "LIT301 sinks by 1 mm a second: T301 overflows.", Spoof("LIT301", "ramp", -1.0)
    ),
    _attack("17", 45, "MV303 is held closed: the next wash stops stage 3.", _off("MV303")),
    _attack("19", 12, "AIT504 shows 16: clean water goes to the drain.", _show("AIT504", 16.0)),
    _attack("20", 12, "AIT504 shows 255: clean water goes to the drain.", _show("AIT504", 255.0)),
    _attack(
        "21", 16, "MV101 is held open while LIT101 shows 700: T101 fills unseen.",
        _on("MV101"), _show("LIT101", 700.0),
    ),
    _attack(
        "22", 12, "The lamp is off, P501 is held on and AIT502 shows 150: more agent is needed.",
        _off("UV401"), _on("P501"), _show("AIT502", 150.0),
    ),
    _attack(
        "23", 14, "P602 is on, DPIT301 shows 42 kPa and MV302 is held open: stage 3 freezes.",
        _on("P602"), _show("DPIT301", 42.0), _on("MV302"),
    ),
    _attack("24", 20, "P203 and P205 are off: the water is not treated.", _off("P203"),
            _off("P205")),
    _attack(
        "25", 14, "P401 runs and LIT401 shows 1,000: T401 is not filled and runs low.",
        _on("P401"), _show("LIT401", 1000.0),
    ),
    _attack(
        "26", 54, "P101 is held on and LIT301 shows 801 while it is filled: T301 overflows.",
        _on("P101"), _show("LIT301", 801.0), waits_for=("MV201", 2.0),
    ),
    _attack(
        "27", 28, "P302 is held on and LIT401 shows 600: T401 fills unseen.",
        _on("P302"), _show("LIT401", 600.0),
    ),
    _attack("28", 90, "P302 is held off: T401 runs low and reverse osmosis stops.", _off("P302")),
    _attack(
        "29", 16, "P201, P203 and P205 are held on: too much is dosed.",
        _on("P201"), _on("P203"), _on("P205"),
    ),
    # On the testbed LIT101 showed 700. Here that leaves MV101 as it is: open, and T101 does not run
    # empty, or closed, and T101 holds too little to fill T301. So it shows just enough to close
    # MV101, and the attack begins when T401 is nearly full, T301 is too, and P302 soon stops.
    _attack(
        "30", 60, "LIT101 shows 810, P101 and MV201 are held on: T101 runs empty, T301 overflows.",
        _show("LIT101", 810.0), _on("P101"), _on("MV201"), waits_for=("LIT401", 985.0),
    ),
    _attack("31", 36, "LIT401 shows 750: T401 is filled beyond its set-point.",
            _show("LIT401", 750.0)),
    _attack("32", 14, "LIT301 shows 1,250: T301 runs low.", _show("LIT301", 1250.0)),
    _attack("33", 14, "LIT101 shows 850: T101 runs low.", _show("LIT101", 850.0)),
    _attack("34", 20, "P101 is held off: T301 is not filled.", _off("P101"),
            waits_for=("P101", 2.0)),
    _attack("35", 20, "P101 and P102 are held off: T301 is not filled.", _off("P101"),
            _off("P102"), waits_for=("P101", 2.0)),
    _attack("36", 22, "LIT101 shows 240: T101 overflows.", _show("LIT101", 240.0)),
    _attack("37", 12, "P501 is off while FIT502 shows 1.29: less water is made.", _off("P501"),
            _show("FIT502", 1.29)),
    _attack(
        "38", 12, "AIT402 and AIT502 show 260: too much is dosed, water goes to the drain.",
        _show("AIT402", 260.0), _show("AIT502", 260.0),
    ),
    _attack(
        "39", 12, "FIT401 shows 0.5 and AIT502 shows 140: lamp and P501 stop.",
        _show("FIT401", 0.5), _show("AIT502", 140.0),
    ),
    _attack("40", 10, "FIT401 shows 0 while P402 is held on: lamp and P501 stop.",
            _show("FIT401", 0.0), _on("P402")),
    _attack(
        "41", 36, "LIT301 sinks by 0.5 mm a second: T301 overflows.", Spoof("LIT301", "ramp", -0.5)
    ),
    _attack("bias", 20, "LIT401 shows 60 mm too much: T401 is kept too low.",
            Spoof("LIT401", "bias", 60.0)),
    _attack("drift", 60, "LIT301 drifts by 0.04 mm a second: T301 is kept too low.",
            Spoof("LIT301", "drift", 0.04)),
    _attack("replay", 20, "LIT101 and FIT101 show what they showed 30 minutes earlier.",
            Spoof("LIT101", "replay", 1800), Spoof("FIT101", "replay", 1800)),
    _attack("noise", 12, "FIT301 is ten times as noisy as it was.", Spoof("FIT301", "noise", 10.0)),
    _attack("several", 15, "LIT101, LIT301 and LIT401 show 40 mm too little at once.",
            Spoof("LIT101", "bias", -40.0), Spoof("LIT301", "bias", -40.0),
            Spoof("LIT401", "bias", -40.0)),
)  # fmt: skip

PLANT_ATTACKS: dict[str, PlantAttack] = {attack.name: attack for attack in _LIST}
"""The attacks in the box by name; each begins at row 0 until it is placed."""

PAPER_ATTACKS = ("8", "17", "21", "23", "25", "26", "27", "28", "30")
"""The nine that the published evaluation uses."""


def plant_attacks(
    rows: int, names: Sequence[str] = tuple(PLANT_ATTACKS), seed: int = 0
) -> tuple[PlantAttack, ...]:
    """Attacks of the box, spread over a recording of `rows` rows in the order given.

    Parameters
    ----------
    rows
        Length of the recording.
    names
        Which; every name of `PLANT_ATTACKS` by default.
    seed
        Of how long the pauses between them are.
    """
    attacks = boxed(names, seed)
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7,)))
    return spread(attacks, rows, generator)


def boxed(names: Sequence[str], seed: int) -> list[PlantAttack]:
    """The attacks of these names; raises if there is none of a name or the seed is below 0."""
    for name in names:
        if name not in PLANT_ATTACKS:
            raise UnknownNameError(name, "attack", PLANT_ATTACKS)
    if seed < 0:
        message = f"The seed is {seed}, but it must be 0 or larger."
        raise SettingError(message)
    return [PLANT_ATTACKS[name] for name in names]
