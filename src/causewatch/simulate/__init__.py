"""Simulated systems whose causes are known, with faults and attacks that can be put in."""

from causewatch.simulate.faults import FAULT_KINDS, Fault
from causewatch.simulate.plant import (
    PAPER_ATTACKS,
    PLANT_ATTACKS,
    PLANT_CHANGES,
    Force,
    PlantAttack,
    PlantChange,
    Spoof,
    WaterPlant,
    plant_attacks,
    plant_life,
    sparse_attacks,
)
from causewatch.simulate.robot import (
    ROBOT_ATTACKS,
    PepperRobot,
    RobotAttack,
    robot_attacks,
)
from causewatch.simulate.run import Change, Episode, Run
from causewatch.simulate.spread import random_faults
from causewatch.simulate.structure import SYSTEM_KINDS, random_system
from causewatch.simulate.system import RandomSystem, Simulation

__all__ = [
    "FAULT_KINDS",
    "PAPER_ATTACKS",
    "PLANT_ATTACKS",
    "PLANT_CHANGES",
    "ROBOT_ATTACKS",
    "SYSTEM_KINDS",
    "Change",
    "Episode",
    "Fault",
    "Force",
    "PepperRobot",
    "PlantAttack",
    "PlantChange",
    "RandomSystem",
    "RobotAttack",
    "Run",
    "Simulation",
    "Spoof",
    "WaterPlant",
    "plant_attacks",
    "plant_life",
    "random_faults",
    "random_system",
    "robot_attacks",
    "sparse_attacks",
]
