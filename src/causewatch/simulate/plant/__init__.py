"""A water-treatment plant after the SWaT testbed: physics, control, attacks, life."""

from causewatch.simulate.plant.attacks import SPOOFS, Force, PlantAttack, Spoof
from causewatch.simulate.plant.changes import PlantChange
from causewatch.simulate.plant.interventions import (
    Cleaning,
    Fouling,
    NoisySensor,
    Recalibration,
    Season,
    SetPoint,
    SparePump,
    Switch,
)
from causewatch.simulate.plant.life import PLANT_CHANGES, plant_life
from causewatch.simulate.plant.plant import WaterPlant
from causewatch.simulate.plant.scenarios import PAPER_ATTACKS, PLANT_ATTACKS, plant_attacks
from causewatch.simulate.plant.sparse import sparse_attacks
from causewatch.simulate.plant.tags import STAGES

__all__ = [
    "PAPER_ATTACKS",
    "PLANT_ATTACKS",
    "PLANT_CHANGES",
    "SPOOFS",
    "STAGES",
    "Cleaning",
    "Force",
    "Fouling",
    "NoisySensor",
    "PlantAttack",
    "PlantChange",
    "Recalibration",
    "Season",
    "SetPoint",
    "SparePump",
    "Spoof",
    "Switch",
    "WaterPlant",
    "plant_attacks",
    "plant_life",
    "sparse_attacks",
]
