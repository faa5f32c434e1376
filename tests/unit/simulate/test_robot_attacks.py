"""Attacks on the robot: what they change, what follows from them, and what they leave alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate.robot import (
    PATTERNS,
    ROBOT_ATTACKS,
    PepperRobot,
    RobotAttack,
    robot_attacks,
)
from causewatch.simulate.robot.base import RADIUS
from causewatch.simulate.robot.body import LIMITS
from causewatch.simulate.robot.columns import (
    ACTUATORS,
    BUMPERS,
    FACE,
    INTERVAL,
    JOINTS,
    LASERS,
    LEDS,
    SIGNALS,
    STIFFNESS,
    TABLET,
    TEMPERATURES,
    WHEEL_SPEEDS,
    places,
)
from causewatch.simulate.robot.room import ROOM
from causewatch.simulate.run import Run

ROWS, START, END = 2000, 700, 1300
WAYS = [(name, pattern) for name, patterns in PATTERNS.items() for pattern in patterns]
IMU = [name for name in SIGNALS if name.startswith(("Gyro", "Angles", "Accel"))]


@pytest.fixture(scope="module")
def calm() -> Run:
    return PepperRobot(seed=1).simulate(ROWS, seed=2)


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, str], Run]:
    robot = PepperRobot(seed=1)
    return {
        (name, pattern): robot.simulate(
            ROWS, seed=2, attacks=[RobotAttack(name, START, END, pattern)]
        )
        for name, pattern in WAYS
    }


def changed(calm: Run, run: Run) -> set[str]:
    """Signals that ever differ."""
    differs = (calm.values != run.values).any(axis=0)
    return {name for name, moved in zip(SIGNALS, differs, strict=True) if moved}


def part(run: Run, names: tuple[str, ...] | list[str]) -> NDArray[np.float64]:
    """Values during the attack."""
    return run.values[START:END, places(names)]


@pytest.mark.parametrize(("name", "pattern"), WAYS)
def test_an_attack_changes_nothing_before_it_starts(
    calm: Run, runs: dict[tuple[str, str], Run], name: str, pattern: str
) -> None:
    run = runs[name, pattern]
    assert np.array_equal(run.values[:START], calm.values[:START])
    assert not np.array_equal(run.values[START : START + 20], calm.values[START : START + 20])
    assert run.labels.sum() == END - START
    (cause,) = run.causes
    assert (cause["name"], cause["start"], cause["end"]) == (name, START, END)
    assert PATTERNS[name][pattern] in cause["description"]


@pytest.mark.parametrize(("name", "pattern"), WAYS)
def test_every_attacked_signal_is_moved(
    calm: Run, runs: dict[tuple[str, str], Run], name: str, pattern: str
) -> None:
    attacked = set(runs[name, pattern].episodes[0].signals)
    assert attacked <= set(SIGNALS)
    # Some motors are as stiff as can be in normal work.
    assert attacked - set(STIFFNESS) <= changed(calm, runs[name, pattern])


@pytest.mark.parametrize("pattern", PATTERNS["led"])
def test_lights_touch_nothing_else(
    calm: Run, runs: dict[tuple[str, str], Run], pattern: str
) -> None:
    run = runs["led", pattern]
    assert changed(calm, run) == set(run.episodes[0].signals) <= set(LEDS)
    assert np.array_equal(run.values[END:], calm.values[END:])
    # Red never leads in normal operation.
    eyes = part(run, FACE).reshape(-1, 2, 3, 8)
    assert (eyes[:, :, 0] > np.maximum(eyes[:, :, 1], eyes[:, :, 2])).any(axis=(1, 2)).mean() > 0.4


@pytest.mark.parametrize("pattern", PATTERNS["joints"])
def test_taken_joints_keep_physics(
    calm: Run, runs: dict[tuple[str, str], Run], pattern: str
) -> None:
    run = runs["joints", pattern]
    taken = run.episodes[0].signals[: len(run.episodes[0].signals) // 2]
    moved = changed(calm, run)
    free = set(JOINTS) - set(taken)
    assert not moved & {*free, *LEDS, *WHEEL_SPEEDS, *TABLET, *BUMPERS, "AnglesZ", "SonarF"}
    assert moved & set(IMU)
    low, high, speed, _ = np.array([LIMITS[name] for name in taken]).T
    shown = run.values[:, places(taken)]
    assert (shown > low - 0.03).all()
    assert (shown < high + 0.03).all()
    step = np.abs(np.diff(shown, axis=0))
    assert (step < speed * INTERVAL + 0.01).all()
    # They are driven to their stops, faster than in normal work.
    assert (np.ptp(part(run, taken), axis=0) > 0.5 * (high - low)).all()
    before = np.abs(np.diff(calm.values[:, places(taken)], axis=0))
    assert (step.max(axis=0) >= before.max(axis=0)).all()
    for name in taken:
        assert (
            run.hidden[f"temperature {name}"][END - 1] > calm.hidden[f"temperature {name}"][END - 1]
        )
        stiffness = run.values[START + 10 : END, places([f"{name}Stiff"])]
        assert np.abs(stiffness - 1).max() < 1e-9


def test_after_the_attack_joints_return_to_their_behaviour(
    calm: Run, runs: dict[tuple[str, str], Run]
) -> None:
    run = runs["joints", "random"]
    later = slice(END + 30, None)
    columns = places((*JOINTS, *STIFFNESS))
    assert np.abs(run.values[later][:, columns] - calm.values[later][:, columns]).max() < 0.01
    # Motors stay warm for a while.
    assert (
        run.values[-1, places(["KneePicthTemp"])] >= calm.values[-1, places(["KneePicthTemp"])]
    ).all()


@pytest.mark.parametrize("pattern", PATTERNS["wheels"])
def test_taken_wheels_keep_physics(
    calm: Run, runs: dict[tuple[str, str], Run], pattern: str
) -> None:
    run = runs["wheels", pattern]
    moved = changed(calm, run)
    assert not moved & {*JOINTS, *LEDS, *TABLET}
    assert {*WHEEL_SPEEDS, "GyroscopeZ" if pattern == "spin" else "AccelerometerX"} <= moved
    assert set(LASERS["front"][:2]) <= moved
    place = np.stack([run.hidden["x"], run.hidden["y"]], axis=1)
    assert ROOM.clearance(place).min() > RADIUS - 1e-9
    turned = np.cumsum(run.values[:, SIGNALS.index("GyroscopeZ")]) * INTERVAL
    assert np.abs(turned - (run.hidden["heading"] - run.hidden["heading"][0])).max() < 0.2
    gain = [
        run.hidden[f"temperature {name}"][END - 1] - calm.hidden[f"temperature {name}"][END - 1]
        for name in ACTUATORS
    ]
    assert max(gain[:17]) == 0
    assert min(gain[17:19]) > 0.5


def test_a_wall_presses_the_bumpers_and_stalls_the_wheels(
    runs: dict[tuple[str, str], Run],
) -> None:
    run = runs["wheels", "ram"]
    pressed = run.values[:, places(BUMPERS)].any(axis=1)
    assert pressed.any()
    assert not pressed[:START].any()
    place = np.stack([run.hidden["x"], run.hidden["y"]], axis=1)
    assert np.abs(ROOM.clearance(place)[pressed] - RADIUS).max() < 1e-6
    current = np.max([run.hidden[f"current {name}"] for name in ACTUATORS[17:]], axis=0)
    free = ~pressed[START:END]
    assert current[START:END][~free].mean() > 2 * current[START:END][free].mean()


def test_the_robot_finds_its_way_back() -> None:
    robot = PepperRobot(seed=1)
    attack = RobotAttack("wheels", START, END, "ram")
    long, without = robot.simulate(4000, seed=2, attacks=[attack]), robot.simulate(4000, seed=2)
    apart = np.hypot(long.hidden["x"] - without.hidden["x"], long.hidden["y"] - without.hidden["y"])
    assert apart[START:END].max() > 0.5
    assert apart[-1] < 0.15
    # Same noise: once it is back, it shows the same but for the few centimetres it is off.
    assert np.abs(long.values[-1, places(JOINTS)] - without.values[-1, places(JOINTS)]).max() == 0


def test_attacks_of_different_kinds_add_up(runs: dict[tuple[str, str], Run]) -> None:
    attacks = [RobotAttack("led", START, END, "police"), RobotAttack("joints", START, END, "swing")]
    both = PepperRobot(seed=1).simulate(ROWS, seed=2, attacks=attacks)
    assert np.array_equal(part(both, LEDS), part(runs["led", "police"], LEDS))
    assert np.array_equal(part(both, JOINTS), part(runs["joints", "swing"], JOINTS))
    assert both.labels.sum() == END - START
    assert [episode.name for episode in both.episodes] == ["joints", "led"]


def test_temperature_is_a_consequence_not_an_attacked_signal() -> None:
    for name, pattern in WAYS:
        assert not set(RobotAttack(name, 0, 1, pattern).signals) & set(TEMPERATURES)


# --- What is refused, and how attacks are spread -----------------------------------------------


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no attack 'lid'"):
        RobotAttack("lid", 0, 10)
    with pytest.raises(UnknownNameError, match="strobe, police, rainbow"):
        RobotAttack("led", 0, 10, "spin")
    with pytest.raises(SettingError, match="start 10 and end 10"):
        RobotAttack("led", 10, 10)
    robot = PepperRobot()
    with pytest.raises(SettingError, match="only 50 rows"):
        robot.simulate(50, attacks=[RobotAttack("led", 10, 60)])
    with pytest.raises(SettingError, match="overlap at row 15"):
        robot.simulate(50, attacks=[RobotAttack("led", 15, 30), RobotAttack("led", 10, 20)])
    with pytest.raises(UnknownNameError, match="no attack 'arm'"):
        robot_attacks(5000, ["arm"], 1)
    with pytest.raises(SettingError, match="3 attacks need at least 600 rows"):
        robot_attacks(500, list(ROBOT_ATTACKS), 1)


def test_attacks_are_spread_with_recovery_between() -> None:
    names = [*ROBOT_ATTACKS] * 3
    attacks = robot_attacks(9 * 1400, names, 5)
    assert [attack.name for attack in attacks] == names
    assert attacks == robot_attacks(9 * 1400, names, 5) != robot_attacks(9 * 1400, names, 6)
    assert attacks[0].start >= 300
    assert attacks[-1].end <= 9 * 1400 - 300
    assert all(two.start - one.end >= 600 for one, two in pairwise(attacks))
    assert all(300 <= attack.end - attack.start <= 0.4 * 1400 for attack in attacks)
    lengths = {attack.end - attack.start for attack in robot_attacks(90_000, names, 5)}
    assert max(lengths) <= 600
    # Three times the same attack: done in all of its ways.
    assert {(attack.name, attack.how) for attack in attacks} == set(WAYS)
    assert robot_attacks(100, [], 1) == ()
