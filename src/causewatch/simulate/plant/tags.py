"""The 51 tags of the plant, in the order and with the meaning of the SWaT testbed."""

from __future__ import annotations

__all__ = ["ACTUATORS", "PUMPS", "RESOLUTION", "SENSORS", "STAGES", "TAGS", "VALVES"]

TAGS: tuple[str, ...] = (
    "FIT101", "LIT101", "MV101", "P101", "P102",
    "AIT201", "AIT202", "AIT203", "FIT201", "MV201", "P201", "P202", "P203", "P204", "P205", "P206",
    "DPIT301", "FIT301", "LIT301", "MV301", "MV302", "MV303", "MV304", "P301", "P302",
    "AIT401", "AIT402", "FIT401", "LIT401", "P401", "P402", "P403", "P404", "UV401",
    "AIT501", "AIT502", "AIT503", "AIT504", "FIT501", "FIT502", "FIT503", "FIT504",
    "P501", "P502", "PIT501", "PIT502", "PIT503",
    "FIT601", "P601", "P602", "P603",
)  # fmt: skip
"""FIT flow (m³/h), LIT level (mm), AIT analyser, DPIT and PIT pressure (kPa), MV valve (0 moving,
1 closed, 2 open), P pump and UV lamp (1 off, 2 on). The first digit is the stage."""

VALVES = tuple(tag for tag in TAGS if tag.startswith("MV"))
PUMPS = tuple(tag for tag in TAGS if tag.startswith(("P1", "P2", "P3", "P4", "P5", "P6", "UV")))
"""Everything that is on or off, the lamp too."""

ACTUATORS = (*VALVES, *PUMPS)
SENSORS = tuple(tag for tag in TAGS if tag not in ACTUATORS)

STAGES: dict[str, tuple[str, ...]] = {
    name: tuple(tag for tag in TAGS if tag.lstrip("ADFILMPTUV")[0] == digit)
    for digit, name in {
        "1": "raw water",
        "2": "chemical dosing",
        "3": "ultrafiltration",
        "4": "dechlorination",
        "5": "reverse osmosis",
        "6": "return",
    }.items()
}

RESOLUTION: dict[str, tuple[float, float]] = {
    "FIT101": (0.008, 0.0003),
    "LIT101": (0.4, 0.0393),
    "AIT201": (0.08, 0.0641),
    "AIT202": (0.003, 0.00128),
    "AIT203": (0.3, 0.128),
    "FIT201": (0.006, 0.0003),
    "DPIT301": (0.05, 0.0128),
    "FIT301": (0.006, 0.0003),
    "LIT301": (0.4, 0.0393),
    "AIT401": (0.05, 0.0128),
    "AIT402": (0.3, 0.0256),
    "FIT401": (0.004, 0.0003),
    "LIT401": (0.4, 0.0393),
    "AIT501": (0.003, 0.00128),
    "AIT502": (0.2, 0.0256),
    "AIT503": (0.08, 0.0641),
    "AIT504": (0.02, 0.0128),
    "FIT501": (0.004, 0.0003),
    "FIT502": (0.004, 0.0003),
    "FIT503": (0.003, 0.0003),
    "FIT504": (0.002, 0.0001),
    "PIT501": (0.2, 0.0160),
    "PIT502": (0.01, 0.0160),
    "PIT503": (0.2, 0.0160),
    "FIT601": (0.003, 0.0003),
}
"""Standard deviation of the white noise of each sensor, and the step in which it reads."""
