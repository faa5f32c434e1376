"""What the default says while the simulated plant only changes, and whether it still sees attacks.

Usage: ``python -m benchmarks.accuracy.life [--part develop|report]``. Ten days of a plant's life as
in the league's column ``plant life``: eight changes, no attack. Then the same days with one attack
elsewhere in the plant half an hour into each change, and with one on the changed sensor twelve
hours after. Everything here is simulation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.common import machine, options, table
from benchmarks.league.recordings import PARTS
from benchmarks.league.simulated import DAY, LEARN_DAYS, LIFE_DAYS, SEEDS, to_table

from causewatch.data.table import NANOSECONDS
from causewatch.evaluation.baselines.causal import Default
from causewatch.evaluation.baselines.split import make_split
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, Monitor
from causewatch.monitor.recorded import ticks_of_table
from causewatch.simulate import PLANT_ATTACKS, Run, WaterPlant, plant_life
from causewatch.simulate.plant.attacks import PlantAttack, Spoof
from causewatch.simulate.plant.changes import PlantChange

__all__: list[str] = []

HOUR = 3600
LASTS = 900
ELSEWHERE_AFTER, SAME_AFTER = HOUR // 2, 12 * HOUR
SIZE = 8.0
"""Of an attack on a changed sensor, in standard deviations of its normal readings."""


def main() -> None:
    given = options(__doc__, part={"default": "report", "choices": PARTS, "help": "which seeds"})
    learn_seed, seed = SEEDS["plant life"][given.part]
    normal = WaterPlant(learn_seed).simulate(LEARN_DAYS * DAY, start_up=True)
    detector = Default()
    detector.fit(make_split([to_table(normal)]))
    model = detector.model
    rows = LIFE_DAYS * DAY
    life = plant_life(rows, seed)
    print(f"Simulation, seeds {learn_seed} and {seed}; {machine()}\n")
    quiet = watched(model, WaterPlant(seed).simulate(rows, life=life))
    print(of_changes(life, quiet))
    elsewhere = [attack_elsewhere(k, change) for k, change in enumerate(life)]
    same = [again for change in life if (again := attack_on(change, normal, rows)) is not None]
    for what, attacks in (("elsewhere during the change", elsewhere), ("on the sensor", same)):
        run = WaterPlant(seed).simulate(rows, attacks, life=life)
        alarms = [alarm for alarm in watched(model, run) if alarm.kind == "anomaly"]
        print(f"\nAttacks {what}:\n")
        print(of_attacks(attacks, alarms))


def watched(model: NormalModel, run: Run) -> list[Alarm]:
    """The last line of every alarm, in the order in which they were raised."""
    monitor = Monitor(model)
    last: dict[str, Alarm] = {}
    for tick in ticks_of_table(monitor, to_table(run)):
        last |= {alarm.id: alarm for _, alarm in tick.events}
    return sorted(last.values(), key=lambda alarm: alarm.raised_at)


def of_changes(life: Sequence[PlantChange], alarms: Sequence[Alarm]) -> str:
    """Alarms and findings by the change before them."""
    starts = [change.start for change in life]
    cells: list[list[object]] = []
    for place, change in enumerate(life, 1):
        mine = [a for a in alarms if bisect_right(starts, a.raised_at // NANOSECONDS) == place]
        raised = [alarm for alarm in mine if alarm.kind == "anomaly"]
        unlike = {name for alarm in mine if alarm.problem == "unlike" for name in alarm.signals}
        longest = max((hours(alarm) for alarm in raised), default=0.0)
        cells.append([change.name, len(raised), f"{longest:.1f}", ", ".join(sorted(unlike)) or "–"])
    total = sum(alarm.kind == "anomaly" for alarm in alarms)
    cells.append(["all", total, f"{max(map(hours, alarms), default=0.0):.1f}", ""])
    return table(
        ["change", "alarms until the next", "longest, hours", "no longer as learnt"], cells
    )


def hours(alarm: Alarm) -> float:
    """How long an anomaly alarm stood; one that was never cleared until the end of the days."""
    if alarm.kind != "anomaly":
        return 0.0
    end = LIFE_DAYS * DAY * NANOSECONDS if alarm.cleared_at is None else alarm.cleared_at
    return (end - alarm.raised_at) / NANOSECONDS / HOUR


def attack_elsewhere(place: int, change: PlantChange) -> PlantAttack:
    """An attack of the box on other stages than the change, another one for each place."""
    stages = {tag[-3] for tag in change.signals}
    others = [
        attack
        for attack in PLANT_ATTACKS.values()
        if attack.waits_for is None and not stages & {tag[-3] for tag in attack.signals}
    ]
    start = change.start + ELSEWHERE_AFTER
    return replace(others[place % len(others)], start=start, end=start + LASTS)


def attack_on(change: PlantChange, normal: Run, rows: int) -> PlantAttack | None:
    """A bias of the changed sensor twelve hours later; None: no sensor, or the recording ends."""
    start = change.start + SAME_AFTER
    tag = change.signals[0]
    if (tag[0] in "PM" and not tag.startswith("PIT")) or start + LASTS > rows:
        return None
    size = SIZE * float(normal.values[:, normal.signals.index(tag)].std())
    return PlantAttack(
        f"{tag} again", (Spoof(tag, "bias", size),), f"{tag} shows too much.", start, start + LASTS
    )


def of_attacks(attacks: Sequence[PlantAttack], alarms: Sequence[Alarm]) -> str:
    """Which of them raised an alarm of their own, and what it named."""
    cells: list[list[object]] = []
    for attack in attacks:
        mine = [
            alarm for alarm in alarms if attack.start <= alarm.raised_at // NANOSECONDS < attack.end
        ]
        top = max(mine, key=lambda alarm: alarm.peak_score or 0.0, default=None)
        named = "–" if top is None else next(iter(top.signals), "–")
        cells.append([attack.name, ", ".join(attack.signals), "yes" if mine else "no", named])
    raised = sum(cell[2] == "yes" for cell in cells)
    cells.append(["all", "", f"{raised} of {len(attacks)}", ""])
    return table(["attack", "on", "an alarm of its own", "strongest signal"], cells)


if __name__ == "__main__":
    main()
