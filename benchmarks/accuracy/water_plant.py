"""How well the default settings watch the simulated water plant.

Usage: ``python -m benchmarks.accuracy.water_plant [--develop] [--learn SEED]
[--days 10] [--json FILE]``.

Learns from two days of normal operation that begin with a start-up, as ``causewatch simulate
plant`` writes them; watches four days with all forty attacks of the box, and ten others without
attacks (false alarms). Every figure is one of a simulation. With ``--develop`` the seeds are those
that the detector was developed on; without it, seeds that nobody looked at before.

An attack is *visible* if some signal differs, while it lasts, by more than five of its normal
standard deviations from the same run without it (any difference of a signal that never moves
counts). It is detected if an alarm is raised while it lasts; its causes are those of the last line
of the first such alarm. An alarm that is raised while no attack is on is an aftermath if it begins
within half an hour after one, else a false alarm; both are shown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from benchmarks.accuracy.plants import Watched, watch
from benchmarks.common import options
from numpy.typing import NDArray

import causewatch as cw
from causewatch.data import TimeTable
from causewatch.simulate import PLANT_ATTACKS, PlantAttack, Run, WaterPlant, plant_attacks

__all__ = ["Outcome", "attack_days", "outcomes", "to_table", "visible"]

DAY = 86_400
SECOND = 1_000_000_000
LEARN_DAYS = 2
ATTACKS_A_DAY = 10
AFTERMATH = 1800
SEEDS = {"develop": (1, 20, 40), "report": (501, 520, 540)}
"""Seeds of the day learnt from, of the first normal day and of the first day with attacks."""


def to_table(run: Run) -> TimeTable:
    """A run as a table that counts seconds."""
    times = np.arange(len(run.values), dtype=np.int64) * SECOND
    return TimeTable(run.signals, run.values, times, np.array([0]), run.interval, "elapsed")


def attack_days(seed: int) -> Iterator[tuple[WaterPlant, tuple[PlantAttack, ...]]]:
    """Every attack of the box once, ten a day, in an order that depends on the seed."""
    order = np.random.default_rng(seed).permutation(list(PLANT_ATTACKS)).tolist()
    for day in range(0, len(order), ATTACKS_A_DAY):
        number = seed + day // ATTACKS_A_DAY
        yield WaterPlant(number), plant_attacks(DAY, order[day : day + ATTACKS_A_DAY], number)


def visible(
    plant: WaterPlant, attacks: Sequence[PlantAttack], run: Run, spread: NDArray[np.float64]
) -> dict[str, bool]:
    """Which attacks of a run change some signal by more than five standard deviations."""
    seen = {}
    for episode in run.episodes:
        others = [attack for attack in attacks if attack.name != episode.name]
        earlier = [attack for attack in others if attack.start < episode.start]
        without = plant.simulate(episode.end, earlier).values
        rows = slice(episode.start, episode.end)
        change = np.abs(run.values[rows] - without[rows]).max(axis=0)
        seen[episode.name] = bool((change > 5.0 * spread).any())
    return seen


@dataclass(frozen=True)
class Outcome:
    """What became of one attack."""

    name: str
    signals: tuple[str, ...]
    visible: bool
    delay: float | None
    already: bool
    causes: tuple[str, ...]

    @property
    def rank(self) -> int | None:
        """Place of the first attacked signal among the named causes, from 1."""
        places = [place for place, name in enumerate(self.causes, 1) if name in self.signals]
        return places[0] if places else None


def outcomes(run: Run, watched: Watched, seen: dict[str, bool]) -> list[Outcome]:
    """What became of the attacks of one day."""
    found = []
    for episode in run.episodes:
        start, end = episode.start * SECOND, episode.end * SECOND
        raised = [alarm for alarm in watched.alarms if start <= alarm.raised_at < end]
        first = min(raised, key=lambda alarm: alarm.raised_at, default=None)
        found.append(
            Outcome(
                episode.name,
                episode.signals,
                seen[episode.name],
                None if first is None else (first.raised_at - start) / SECOND,
                any(
                    alarm.raised_at < start and (alarm.cleared_at or end) > start
                    for alarm in watched.alarms
                ),
                () if first is None else tuple(cause.signal for cause in cw.explain(first).causes),
            )
        )
    return found


def stray(run: Run, watched: Watched) -> tuple[int, int]:
    """Alarms raised while no attack was on: aftermaths, and false ones."""
    after = false = 0
    for alarm in watched.alarms:
        at = alarm.raised_at / SECOND
        if any(one.start <= at < one.end for one in run.episodes):
            continue
        if any(one.end <= at < one.end + AFTERMATH for one in run.episodes):
            after += 1
        else:
            false += 1
    return after, false


def normal_days(model: cw.NormalModel, seed: int, days: int) -> dict[str, object]:
    """False alarms on days without attacks, one after the other."""
    watched = watch(model, to_table(WaterPlant(seed).simulate(days * DAY)))
    for alarm in watched.alarms:
        at = alarm.raised_at / SECOND / DAY
        print(f"    day {at:.2f}: {cw.explain(alarm).headline}", flush=True)
    total, share = len(watched.alarms), float(watched.alarm.mean())
    print(f"  {days} normal days: {total} alarms, on {share:.2%} of the time")
    return {"days": days, "alarms": total, "share_on": share}


def main() -> None:
    """Print the table."""
    arguments = options(
        __doc__,
        develop={"action": "store_true", "help": "the seeds that the detector was developed on"},
        days={"type": int, "default": 10, "help": "days without attacks"},
        learn={"type": int, "default": None, "help": "another seed to learn from"},
        json={"default": "", "metavar": "FILE", "help": "where to write the figures"},
    )
    learn_seed, normal_seed, attack_seed = SEEDS["develop" if arguments.develop else "report"]
    learn_seed = learn_seed if arguments.learn is None else arguments.learn
    began = time.perf_counter()
    recording = WaterPlant(learn_seed).simulate(LEARN_DAYS * DAY, start_up=True)
    print(f"{LEARN_DAYS} days simulated in {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    model = cw.learn(to_table(recording))
    print(f"learnt in {time.perf_counter() - began:.1f} s: {model}")
    spread = recording.values[3 * 3600 :].std(axis=0)
    found: list[Outcome] = []
    aftermaths = false = rows = on = 0
    for plant, attacks in attack_days(attack_seed):
        run = plant.simulate(DAY, attacks)
        watched = watch(model, to_table(run))
        today = outcomes(run, watched, visible(plant, attacks, run, spread))
        found += today
        for one in today:
            late = "missed" if one.delay is None else f"after {one.delay:,.0f} s"
            print(
                f"  {one.name:8} {'visible' if one.visible else 'hidden':8} {late:14}"
                f" {'(alarm was on) ' if one.already else ''}"
                f"truth {','.join(one.signals)}; named {','.join(one.causes[:3])}",
                flush=True,
            )
        more = stray(run, watched)
        aftermaths, false = aftermaths + more[0], false + more[1]
        calm = run.labels == 0
        rows, on = rows + int(calm.sum()), on + int(watched.alarm[calm].sum())
    seen = [one for one in found if one.visible]
    caught = [one for one in seen if one.delay is not None]
    first = sum(one.rank == 1 for one in seen)
    three = sum(one.rank is not None and one.rank <= 3 for one in seen)
    delays = [one.delay for one in caught if one.delay is not None]
    figures = {
        "attacks": len(found),
        "visible": len(seen),
        "visible_detected": len(caught),
        "hidden_detected": sum(one.delay is not None for one in found if not one.visible),
        "first": first / max(1, len(seen)),
        "first_three": three / max(1, len(seen)),
        "median_delay_s": float(np.median(delays)) if delays else None,
        "aftermaths": aftermaths,
        "false_alarms_between_attacks": false,
        "share_on_between_attacks": on / max(1, rows),
    }
    for name, value in figures.items():
        print(f"  {name}: {value if not isinstance(value, float) else round(value, 3)}")
    normal = normal_days(model, normal_seed, arguments.days)
    if arguments.json:
        told = {"figures": figures, "normal": normal, "attacks": [asdict(one) for one in found]}
        Path(arguments.json).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
