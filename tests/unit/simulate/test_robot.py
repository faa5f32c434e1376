"""The robot: its columns, and that what they show hangs together as physics demands."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.errors import SettingError
from causewatch.simulate.robot import PepperRobot
from causewatch.simulate.robot.base import RADIUS, WHEEL_MATRIX
from causewatch.simulate.robot.behaviours import BEHAVIOURS, plan
from causewatch.simulate.robot.body import (
    AMBIENT,
    ELECTRONICS,
    HEATING,
    LIMITS,
    WARM,
    WARM_SPREAD,
    motor_temperatures,
)
from causewatch.simulate.robot.columns import (
    ACTUATORS,
    BUMPERS,
    EARS,
    FACE,
    INTERVAL,
    JOINTS,
    LASERS,
    LEDS,
    SIGNALS,
    TEMPERATURES,
    TOUCH,
    WHEEL_SPEEDS,
)
from causewatch.simulate.robot.face import FADE
from causewatch.simulate.robot.robot import PLAN
from causewatch.simulate.robot.room import ROOM
from causewatch.simulate.robot.senses import BEAMS, LASER_RANGE
from causewatch.simulate.run import Run
from causewatch.simulate.system import stream

Floats = NDArray[np.float64]

ROWS = 6000


@pytest.fixture(scope="module")
def run() -> Run:
    return PepperRobot(seed=3).simulate(ROWS, seed=4)


def columns(run: Run, names: tuple[str, ...] | list[str]) -> Floats:
    return run.values[:, [run.signals.index(name) for name in names]]


def column(run: Run, name: str) -> Floats:
    return run.values[:, run.signals.index(name)]


def during(run: Run, *kinds: str) -> NDArray[np.bool_]:
    """Rows of these behaviours, but for the first ones, in which the last one still fades."""
    kind = run.hidden["behaviour"]
    inside = np.isin(kind, [BEHAVIOURS.index(k) for k in kinds])
    return inside & (np.convolve(~inside, np.ones(FADE + 1))[: len(inside)] == 0)


def hidden(run: Run, what: str, names: tuple[str, ...]) -> Floats:
    return np.stack([run.hidden[f"{what} {name}"] for name in names], axis=1)


# --- Columns ---------------------------------------------------------------------------------


def test_columns_are_those_of_the_recording() -> None:
    assert len(SIGNALS) == len(set(SIGNALS)) == 255
    assert SIGNALS[:2] == ("HeadYaw", "HeadPicth")
    assert SIGNALS[17:22] == (*WHEEL_SPEEDS, "LaserR01X", "LaserR01Y")
    # The left laser: nine points under names of the front one, then six under its own.
    assert SIGNALS[80] == "LaserF01X.1"
    assert SIGNALS[97:100] == ("LaserF09Y.1", "LaserL10X", "LaserL10Y")
    assert SIGNALS[120:125] == ("SonarF", "SonarB", "InfraRedL", "InfraRedR", "LedFaceRL1")
    assert SIGNALS[-41:-39] == ("TabletTouchY", "HeadYawStiff")
    assert SIGNALS[-1] == "WheelBTemp"
    assert sum(name.endswith(".1") for name in SIGNALS) == 18


@pytest.mark.data
def test_columns_are_those_of_the_list(data_folder: object) -> None:
    from pathlib import Path

    path = Path(str(data_folder)) / "pepper" / "columns.txt"
    assert list(SIGNALS) == path.read_text(encoding="utf-8").split()


def test_a_run_has_the_promised_shape(run: Run) -> None:
    assert run.signals == SIGNALS == PepperRobot().signals
    assert run.values.shape == (ROWS, 255)
    assert run.interval == INTERVAL
    assert np.isfinite(run.values).all()
    assert not run.episodes
    assert not run.labels.any()
    assert all(len(values) == ROWS for values in run.hidden.values())


def test_seeds() -> None:
    robot = PepperRobot(seed=1)
    first = robot.simulate(400, seed=5).values
    assert np.array_equal(first, PepperRobot(seed=1).simulate(400, seed=5).values)
    assert not np.array_equal(first, robot.simulate(400, seed=6).values)
    # Another robot does the same, with other offsets of its sensors.
    other = PepperRobot(seed=2).simulate(400, seed=5)
    assert not np.array_equal(first, other.values)
    assert np.array_equal(first[:, places_of(LEDS)], other.values[:, places_of(LEDS)])
    assert np.array_equal(robot.simulate(200).values, robot.simulate(200, seed=1).values)


def places_of(names: tuple[str, ...]) -> list[int]:
    return [SIGNALS.index(name) for name in names]


def test_a_longer_recording_begins_with_the_shorter_one(run: Run) -> None:
    short = PepperRobot(seed=3).simulate(1234, seed=4)
    assert np.array_equal(short.values, run.values[:1234])


def test_a_recording_needs_rows() -> None:
    with pytest.raises(SettingError, match="at least 1 row, not 0"):
        PepperRobot().simulate(0)


def test_seeds_are_alike_in_distribution(run: Run) -> None:
    other = PepperRobot(seed=3).simulate(ROWS, seed=9)
    assert not np.array_equal(run.values, other.values)
    # What depends on which places were visited varies more; what the body does varies little.
    names = (*JOINTS, *WHEEL_SPEEDS, *LEDS)
    one, two = columns(run, names), columns(other, names)
    spread = (one.std(axis=0) + two.std(axis=0)) / 2
    assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) < 0.5 * spread).all()
    ratio = one.std(axis=0) / two.std(axis=0)
    assert ratio.min() > 0.6
    assert ratio.max() < 1.6


def test_what_stays_the_same_in_normal_operation(run: Run) -> None:
    still = {
        name for name, spread in zip(SIGNALS, np.ptp(run.values, axis=0), strict=True) if not spread
    }
    assert {*TOUCH, *BUMPERS} <= still
    # The middle beam of a laser has no sideways part.
    assert still - {*TOUCH, *BUMPERS} == {
        "LaserR08Y",
        "LaserF08Y",
        "LaserF08Y.1",
        "LaserShovel02Y",
    }


# --- Behaviours ------------------------------------------------------------------------------


def test_behaviours_follow_one_another_without_a_gap() -> None:
    segments = plan(20_000, stream(5, 1))
    assert segments[0].start == 0
    assert segments[-1].end >= 20_000
    assert all(one.end == other.start for one, other in pairwise(segments))
    assert {segment.kind for segment in segments} == set(BEHAVIOURS)
    for segment in segments:
        assert all(segment.start <= tap < segment.end for tap in segment.taps)
        assert (segment.goal is not None) == (segment.kind in ("drive", "turn"))


def test_the_robot_gets_where_it_is_sent(run: Run) -> None:
    reached = 0
    for segment in plan(ROWS, stream(4, PLAN)):
        if segment.goal is not None and segment.end <= ROWS:
            end = segment.end - 1
            heading = run.hidden["heading"][end] - segment.goal[2]
            assert abs((heading + np.pi) % (2 * np.pi) - np.pi) < 0.06
            if segment.kind == "drive":
                place = np.array([run.hidden["x"][end], run.hidden["y"][end]])
                assert np.linalg.norm(place - segment.goal[:2]) < 0.08
                reached += 1
    assert reached > 3


# --- Body ------------------------------------------------------------------------------------


def test_joints_keep_their_limits(run: Run) -> None:
    low, high, speed, _ = np.array([LIMITS[name] for name in JOINTS]).T
    # Sensors add a little noise and an offset.
    shown = columns(run, JOINTS)
    assert (shown > low - 0.03).all()
    assert (shown < high + 0.03).all()
    assert (np.abs(np.diff(shown, axis=0)) < speed * INTERVAL + 0.01).all()


def test_joints_follow_their_commands(run: Run) -> None:
    shown, told = columns(run, JOINTS), hidden(run, "command", JOINTS)
    stiff = columns(run, [f"{name}Stiff" for name in JOINTS]) > 0.25
    error = np.where(stiff, np.abs(shown - told), 0.0)
    assert np.median(error[stiff]) < 0.01
    assert error.max() < 0.35
    # Where a command rests for half a second, the joint is there.
    rests = np.abs(told - np.roll(told, 5, axis=0)) < 1e-3
    rests &= np.abs(told - np.roll(told, 1, axis=0)) < 1e-3
    rests &= stiff & (np.roll(stiff, 5, axis=0))
    rests[:5] = False
    assert error[rests].max() < 0.08


def test_a_motor_that_is_off_draws_nothing_and_its_joint_stays(run: Run) -> None:
    stiff = columns(run, [f"{name}Stiff" for name in JOINTS])
    off = stiff == 0
    assert off.any()
    assert (hidden(run, "current", JOINTS)[off] == 0).all()
    both = off[1:] & off[:-1]
    assert np.abs(np.diff(columns(run, JOINTS), axis=0)[both]).max() < 0.01
    assert stiff.min() == 0
    assert stiff.max() <= 1
    assert np.abs(np.diff(stiff, axis=0)).max() < 0.2 + 1e-9


def test_motors_warm_with_current_and_cool_without(run: Run) -> None:
    current = hidden(run, "current", ACTUATORS)
    warmth = hidden(run, "temperature", ACTUATORS)
    change = np.diff(warmth, axis=0)
    assert (current >= 0).all()
    assert (current <= 1).all()
    off = columns(run, [f"{name}Stiff" for name in ACTUATORS])[1:] == 0
    assert (change[off] < 0).all()
    # A current that would keep the motor warmer than it is warms it.
    hot = current[1:] ** 2 * HEATING > warmth[1:] - 24
    assert hot.any()
    assert (change[hot] > 0).all()
    # What is shown are whole degrees.
    assert np.abs(columns(run, TEMPERATURES) - warmth).max() < 0.8
    assert (columns(run, TEMPERATURES) % 1 == 0).all()


def test_heat_grows_with_the_square_of_the_current() -> None:
    """After a long time: the room, the electronics, and four times the heat for twice as much."""
    ones = np.ones((100_000, 20))
    start = np.full(20, 60.0)
    ends = [
        motor_temperatures(share * ones, ones, start)[-1, 0] - AMBIENT - ELECTRONICS
        for share in (0.0, 0.2, 0.4)
    ]
    assert np.allclose(ends, [0.0, 0.04 * HEATING, 0.16 * HEATING], atol=1e-6)
    off = motor_temperatures(0 * ones, 0 * ones, start)
    assert abs(off[-1, 0] - AMBIENT) < 1e-6
    cooled = off[round(500 / INTERVAL) - 1, 0] - AMBIENT
    assert abs(cooled / (60 - AMBIENT) - np.exp(-1)) < 1e-6


def test_normal_work_neither_heats_nor_cools_the_robot_for_long(run: Run) -> None:
    warmth = hidden(run, "temperature", ACTUATORS)
    assert (np.abs(warmth - WARM) < 5 * WARM_SPREAD).all()
    assert (np.abs(warmth.mean(axis=0) - WARM) < 2 * WARM_SPREAD).all()


# --- Base ------------------------------------------------------------------------------------


def test_wheels_move_the_robot(run: Run) -> None:
    """Speeds of the wheels give back the motion, but for noise and slip."""
    motion = columns(run, WHEEL_SPEEDS) @ np.linalg.inv(WHEEL_MATRIX).T
    turned = np.gradient(run.hidden["heading"], INTERVAL)
    assert np.corrcoef(motion[1:-1, 2], turned[1:-1])[0, 1] > 0.98
    step = np.hypot(np.diff(run.hidden["x"]), np.diff(run.hidden["y"])) / INTERVAL
    assert np.abs(np.hypot(motion[1:, 0], motion[1:, 1]) - step).max() < 0.02
    assert step.max() < 0.4
    still = during(run, "idle", "look", "greet", "listen", "talk", "rest")
    assert np.abs(columns(run, WHEEL_SPEEDS)[still][20:]).mean() < 0.03


def test_the_gyroscope_adds_up_to_the_heading(run: Run) -> None:
    turned = np.cumsum(column(run, "GyroscopeZ")) * INTERVAL
    true = run.hidden["heading"] - run.hidden["heading"][0]
    assert np.abs(turned - true).max() < 0.15
    assert np.ptp(true) > 3
    # The robot's own heading is that sum, as a direction.
    shown = column(run, "AnglesZ")
    assert np.abs(np.exp(1j * shown) - np.exp(1j * turned)).max() < 1e-9
    assert np.abs(shown).max() <= np.pi


def test_the_accelerometer_shows_gravity_and_motion(run: Run) -> None:
    shown = columns(run, ["AccelerometerX", "AccelerometerY", "AccelerometerZ"])
    assert np.abs(np.linalg.norm(shown, axis=1).mean() - 9.81) < 0.2
    speed = np.diff(np.stack([run.hidden["x"], run.hidden["y"]], axis=1), axis=0) / INTERVAL
    heading = run.hidden["heading"]
    ahead = np.cos(heading[1:]) * speed[:, 0] + np.sin(heading[1:]) * speed[:, 1]
    quick = np.abs(np.diff(ahead)) > 0.015
    assert quick.sum() > 50
    assert np.corrcoef(np.diff(ahead)[quick], shown[2:, 0][quick])[0, 1] > 0.8


def test_leaning_forward_tilts_the_base(run: Run) -> None:
    lean = column(run, "HipPicth") + column(run, "KneePicth")
    assert np.corrcoef(lean, column(run, "AnglesY"))[0, 1] > 0.8
    change = np.diff(column(run, "AnglesY")) / INTERVAL
    assert np.corrcoef(change, column(run, "GyroscopeY")[1:])[0, 1] > 0.1


# --- Room ------------------------------------------------------------------------------------


def naive_ray(x: float, y: float, angle: float) -> float:
    """Distance to the walls, wall by wall, by solving for the crossing."""
    best = np.inf
    direction = np.array([np.cos(angle), np.sin(angle)])
    ring = [*ROOM.corners, ROOM.corners[0]]
    for one, other in pairwise(ring):
        matrix = np.stack([direction, one - other], axis=1)
        if abs(np.linalg.det(matrix)) < 1e-12:
            continue
        reach, share = np.linalg.solve(matrix, one - np.array([x, y]))
        if reach >= 0 and -1e-9 <= share <= 1 + 1e-9:
            best = min(best, float(reach))
    return best


def test_the_robot_stays_in_the_room(run: Run) -> None:
    place = np.stack([run.hidden["x"], run.hidden["y"]], axis=1)
    assert ROOM.clearance(place).min() > RADIUS
    inside, outside = np.array([[3.0, 2.0]]), np.array([[5.9, 4.5]])
    assert ROOM.clearance(inside)[0] > 1
    assert ROOM.clearance(outside)[0] < 0
    assert ROOM.clearance(ROOM.within(outside[0], 0.3)[None])[0] > 0.3 - 1e-6


@pytest.mark.parametrize("laser", ["right", "front", "left"])
def test_lasers_show_the_walls(run: Run, laser: str) -> None:
    (dx, dy), facing, angles, _ = BEAMS[laser]
    shown = columns(run, LASERS[laser])
    alone = np.flatnonzero(np.isnan(run.hidden["visitor x"]))[::97]
    for row in alone:
        heading = run.hidden["heading"][row]
        x = run.hidden["x"][row] + np.cos(heading) * dx - np.sin(heading) * dy
        y = run.hidden["y"][row] + np.sin(heading) * dx + np.cos(heading) * dy
        for k, angle in enumerate(angles):
            reach = np.hypot(shown[row, 2 * k], shown[row, 2 * k + 1])
            expected = np.clip(naive_ray(x, y, heading + facing + angle), *LASER_RANGE)
            assert abs(reach - expected) < 0.06
            assert abs(np.arctan2(shown[row, 2 * k + 1], shown[row, 2 * k]) - angle) < 1e-9


def test_a_visitor_is_seen_in_front(run: Run) -> None:
    there = during(run, "listen", "talk")
    away = np.hypot(
        run.hidden["visitor x"] - run.hidden["x"], run.hidden["visitor y"] - run.hidden["y"]
    )
    assert np.isnan(run.hidden["visitor x"][during(run, "drive", "rest")]).all()
    assert not np.isnan(away[there]).any()
    ahead = column(run, "LaserF08X") + 0.056 + 0.2
    assert np.abs(ahead - away)[there].max() < 0.08
    assert column(run, "SonarF")[there].max() < 1.0


# --- Lights ----------------------------------------------------------------------------------


def test_lights_say_what_the_robot_does(run: Run) -> None:
    eyes = columns(run, FACE).reshape(ROWS, 2, 3, 8)
    assert (columns(run, LEDS) >= 0).all()
    assert (columns(run, LEDS) <= 1).all()
    assert (eyes[during(run, "rest")] == 0).all()
    idle = eyes[during(run, "idle")]
    assert set(np.round(np.unique(idle), 2)) == {0.0, 0.8}
    listen = eyes[during(run, "listen")].mean(axis=(0, 1, 3))
    assert listen[2] > 2 * listen[1] > listen[0]
    assert (columns(run, EARS)[during(run, "look")] == 1).all()


def test_red_never_leads_and_the_eyes_agree(run: Run) -> None:
    eyes = columns(run, FACE).reshape(ROWS, 2, 3, 8)
    assert (eyes[:, :, 0] <= np.maximum(eyes[:, :, 1], eyes[:, :, 2])).all()
    # Mirrored: lamp 1 is the same, lamp 2 on one side is lamp 8 on the other.
    mirrored = eyes[:, 1][:, :, (-np.arange(8)) % 8]
    assert np.abs(eyes[:, 0] - mirrored).max() < 1.5 / 255


def test_a_running_light_keeps_its_sum(run: Run) -> None:
    """While it listens, light runs round eyes and ears, and all lamps together stay the same."""
    listens = during(run, "listen")
    blue = columns(run, [f"LedFaceBL{n}" for n in range(1, 9)])[listens]
    ear = columns(run, [f"LedEarL{n}" for n in range(1, 11)])[listens]
    assert np.ptp(blue, axis=1).max() > 0.5
    assert np.abs(ear.sum(axis=1) - 3.6).max() < 10 * 0.5 / 255
    open_eyes = blue.sum(axis=1) > 0
    flashing = columns(run, ["LedFaceGL1"])[listens][:, 0] > 0.3
    calm = open_eyes & ~flashing & (np.abs(blue.sum(axis=1) - 3.84) < 0.5)
    assert calm.mean() > 0.6
    assert np.ptp(blue.sum(axis=1)[calm]) < 0.5


def test_a_touch_of_the_tablet_turns_the_eyes_green(run: Run) -> None:
    touched = (
        np.flatnonzero(
            np.abs(np.diff(columns(run, ["TabletTouchX", "TabletTouchY"]), axis=0)).any(axis=1)
        )
        + 1
    )
    assert len(touched) >= 3
    eyes = columns(run, FACE).reshape(ROWS, 2, 3, 8)
    for row in touched[touched < ROWS - 10]:
        assert run.hidden["behaviour"][row] == BEHAVIOURS.index("listen")
        after = eyes[row + 4 : row + 8].max(axis=0).mean(axis=(0, 2))
        before = eyes[row - 3 : row].max(axis=0).mean(axis=(0, 2))
        assert after[1] > after[2]
        assert before[1] < before[2]
