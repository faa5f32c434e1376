"""A water-treatment plant after the SWaT testbed: physics, control, attacks."""

from causewatch.simulate.plant.attacks import SPOOFS, Force, PlantAttack, Spoof
from causewatch.simulate.plant.plant import WaterPlant
from causewatch.simulate.plant.scenarios import PAPER_ATTACKS, PLANT_ATTACKS, plant_attacks
from causewatch.simulate.plant.tags import STAGES

__all__ = [
    "PAPER_ATTACKS",
    "PLANT_ATTACKS",
    "SPOOFS",
    "STAGES",
    "Force",
    "PlantAttack",
    "Spoof",
    "WaterPlant",
    "plant_attacks",
]
