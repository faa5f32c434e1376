"""Simulated systems whose causes are known, with faults that can be put in."""

from causewatch.simulate.faults import FAULT_KINDS, Fault
from causewatch.simulate.spread import random_faults
from causewatch.simulate.structure import SYSTEM_KINDS, random_system
from causewatch.simulate.system import RandomSystem, Simulation

__all__ = [
    "FAULT_KINDS",
    "SYSTEM_KINDS",
    "Fault",
    "RandomSystem",
    "Simulation",
    "random_faults",
    "random_system",
]
