"""How long a simulated day of the water plant takes.

Usage: ``python -m benchmarks.speed.plant [--quick]``. Printed are seconds of CPU per simulated day,
without and with attacks, and the ratio to a plain Python loop of 86,400 rounds with a hundred
additions and multiplications each: the ratio is what can be compared between machines. With
``--quick`` two hours are simulated, and scaled up. Nothing is written.
"""

from __future__ import annotations

from benchmarks.common import interleaved, machine, options, seconds, table

from causewatch.simulate import WaterPlant, plant_attacks
from causewatch.simulate.plant.plant import WARM_UP

__all__ = ["loop"]

DAY = 86_400
OPERATIONS = 50
"""Rounds of one addition and one multiplication for every second."""
PROMISE = 10.0
"""Seconds that a simulated day may take."""


def loop(rounds: int) -> float:
    """A plain loop over floats: what Python itself costs on this machine."""
    value = 0.0
    for _ in range(rounds):
        for _ in range(OPERATIONS):
            value = value * 0.999 + 1.0
    return value


def main() -> None:
    rows = 7200 if options(__doc__).quick else DAY
    plant = WaterPlant(seed=1)
    attacks = plant_attacks(rows, ["8"] if rows < DAY else ["8", "21", "30", "drift", "replay"])
    times = interleaved(
        {
            "plain loop": lambda: loop(DAY),
            "normal operation": lambda: plant.simulate(rows),
            "with attacks": lambda: plant.simulate(rows, attacks),
        },
        dict.fromkeys(("plain loop", "normal operation", "with attacks"), 2),
    )
    scale = DAY / (rows + WARM_UP)  # the plant also runs before the recording begins
    yardstick = times["plain loop"].cpu
    lines = []
    for name, time in times.items():
        cpu = time.cpu * (1.0 if name == "plain loop" else scale)
        lines.append([name, seconds(cpu), f"{cpu / yardstick:.1f}"])
    print(table(["a day of 86,400 s", "CPU", "ratio to the loop"], lines))
    worst = times["with attacks"].cpu * scale
    print(f"\n{'Within' if worst <= PROMISE else 'MORE THAN'} the {PROMISE:g} s that are promised.")
    print(machine())


if __name__ == "__main__":
    main()
