"""A Pepper-like humanoid robot: behaviours, body, base, senses and lights, with known attacks."""

from causewatch.simulate.robot.attacks import (
    PATTERNS,
    ROBOT_ATTACKS,
    RobotAttack,
    robot_attacks,
)
from causewatch.simulate.robot.robot import PepperRobot

__all__ = ["PATTERNS", "ROBOT_ATTACKS", "PepperRobot", "RobotAttack", "robot_attacks"]
