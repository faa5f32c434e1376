"""Chance in the simulated plant: seeds, days, drift."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.simulate import Run, WaterPlant
from causewatch.simulate.plant.tags import PUMPS, RESOLUTION, SENSORS, TAGS, VALVES
from causewatch.simulate.plant.weather import ANALYSERS, DAY, MOODS, weather

HOURS = 3 * 3600
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    return WaterPlant(11).simulate(HOURS), WaterPlant(12).simulate(HOURS)


def drawn(rows: int, seed: int, second: int = 0) -> tuple[Floats, Floats]:
    pairs = list(weather(rows, np.random.default_rng(seed), second))
    return np.array([one for one, _ in pairs]), np.array([other for _, other in pairs])


def test_seeds_differ_but_are_alike(runs: tuple[Run, Run]) -> None:
    one, other = (run.values for run in runs)
    moving = one.std(axis=0) > 0.0
    assert (moving == (other.std(axis=0) > 0.0)).all()
    assert (one[:, moving] != other[:, moving]).any(axis=0).all()
    for k, tag in enumerate(TAGS):
        if not moving[k]:
            np.testing.assert_array_equal(one[:, k], other[:, k])
            continue
        means, spreads = ([f(run[:, k]) for run in (one, other)] for f in (np.mean, np.std))
        # Analysers, and what follows raw water and temperature, wander over hours.
        slow = tag.startswith(("AIT", "PIT", "FIT5", "FIT4"))
        near = 0.04 * means[0] if slow else 0.3 * spreads[0]
        assert abs(means[0] - means[1]) < near, tag
        limit = 3.0 if slow else 1.3
        assert 1 / limit < spreads[0] / spreads[1] < limit, tag
    for tag in (*VALVES, *PUMPS):
        k = TAGS.index(tag)
        first, second = (int((np.diff(values[:, k]) != 0).sum()) for values in (one, other))
        assert abs(first - second) <= 4 + 0.15 * max(first, second), tag


def test_the_same_seed_gives_the_same_and_a_longer_run_begins_like_a_shorter(
    runs: tuple[Run, Run],
) -> None:
    short = WaterPlant(11).simulate(1500)
    np.testing.assert_array_equal(short.values, runs[0].values[:1500])
    for key, values in short.hidden.items():
        np.testing.assert_array_equal(values, runs[0].hidden[key][:1500])


def test_progress_is_told() -> None:
    told: list[float] = []
    WaterPlant(1).simulate(4000, start_up=True, progress=told.append)
    assert told == [0.0, pytest.approx(0.9)]


def test_weather_is_drawn_in_order_and_does_not_depend_on_the_length() -> None:
    errors, moods = drawn(5000, 1)
    assert errors.shape == (5000, len(SENSORS))
    assert moods.shape == (5000, len(MOODS))
    shorter, _ = drawn(300, 1)
    np.testing.assert_array_equal(shorter, errors[:300])
    assert len(list(islice(weather(10, np.random.default_rng(1)), 20))) == 10


def test_white_noise_is_as_large_as_stated() -> None:
    errors, _ = drawn(20_000, 2)
    for k, tag in enumerate(SENSORS):
        change = np.diff(errors[:, k]).std() / np.sqrt(2.0)
        assert change == pytest.approx(RESOLUTION[tag][0], rel=0.05), tag


def test_analysers_drift_and_other_sensors_do_not() -> None:
    # Means of a minute on many days: noise has nearly gone from them, drift has not.
    minutes = np.stack([drawn(60, seed)[0].mean(axis=0) for seed in range(80)])
    for k, tag in enumerate(SENSORS):
        spread = minutes[:, k].std()
        if tag in ANALYSERS:
            assert spread == pytest.approx(ANALYSERS[tag][1], rel=0.35), tag
        else:
            assert spread < 0.2 * RESOLUTION[tag][0], tag


def test_the_day_comes_and_goes() -> None:
    names = list(MOODS)
    columns = [names.index(name) for name in ("supply", "temperature")]
    at = {
        hour: np.stack([drawn(60, seed, hour * 3600)[1].mean(axis=0) for seed in range(40)])
        for hour in (3, 15)
    }
    for column in columns:
        swing = MOODS[names[column]][2]
        night, afternoon = (at[hour][:, column].mean() for hour in (3, 15))
        assert afternoon - night == pytest.approx(2 * swing, rel=0.3)
    column = names.index("pressure")  # has no day
    assert abs(at[3][:, column].mean() - at[15][:, column].mean()) < 0.003
    same = drawn(60, 1, second=3600)[1]
    np.testing.assert_allclose(drawn(60, 1, second=3600 + DAY)[1], same, atol=1e-9)


def test_the_time_of_day_is_seen_in_the_supply() -> None:
    def inflow(second: int) -> float:
        values = WaterPlant(5).simulate(2400, start_up=True, second=second).values
        open_ = values[:, TAGS.index("MV101")] == 2.0
        return float(values[open_, TAGS.index("FIT101")][60:].mean())

    assert inflow(15 * 3600) > inflow(3 * 3600) + 0.03
