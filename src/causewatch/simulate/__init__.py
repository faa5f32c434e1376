"""Simulated systems whose causes are known, with faults and attacks that can be put in."""

from causewatch.simulate.faults import FAULT_KINDS, Fault
from causewatch.simulate.plant import (
    PAPER_ATTACKS,
    PLANT_ATTACKS,
    Force,
    PlantAttack,
    Spoof,
    WaterPlant,
    plant_attacks,
)
from causewatch.simulate.robot import (
    ROBOT_ATTACKS,
    PepperRobot,
    RobotAttack,
    robot_attacks,
)
from causewatch.simulate.run import Episode, Run
from causewatch.simulate.spread import random_faults
from causewatch.simulate.structure import SYSTEM_KINDS, random_system
from causewatch.simulate.system import RandomSystem, Simulation

__all__ = [
    "FAULT_KINDS",
    "PAPER_ATTACKS",
    "PLANT_ATTACKS",
    "ROBOT_ATTACKS",
    "SYSTEM_KINDS",
    "Episode",
    "Fault",
    "Force",
    "PepperRobot",
    "PlantAttack",
    "RandomSystem",
    "RobotAttack",
    "Run",
    "Simulation",
    "Spoof",
    "WaterPlant",
    "plant_attacks",
    "random_faults",
    "random_system",
    "robot_attacks",
]
