"""The default rule for the length of a tick and the maximum lag."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data.datasets.catalogue import load_dataset
from causewatch.preprocess import choose_interval, interval
from causewatch.preprocess.interval import LEAST_LAGS, LEAST_TICKS, MOST_LAGS, lags_for
from causewatch.simulate import random_system

STRONG = 0.2


def recording(seed, rows=4000, signals=6):
    system = random_system(signals, seed=seed)
    strong = [link.lag for link in system.graph if abs(system.graph[link].value) >= STRONG]
    return system.simulate(rows, seed=seed + 1).values, max(strong)


def slowed(values, factor, seed):
    rng = np.random.default_rng(seed)
    return np.repeat(values, factor, axis=0) + 0.1 * rng.normal(
        size=(len(values) * factor, values.shape[1])
    )


def noise(seed, rows=4000, signals=5):
    return np.random.default_rng(seed).normal(size=(rows, signals))


@pytest.mark.parametrize("seed", range(6))
def test_a_system_at_its_own_rate_keeps_its_rows(seed):
    values, longest = recording(seed)
    choice = choose_interval([values])
    assert choice.rows_per_tick == 1
    assert longest <= choice.max_lag <= MOST_LAGS
    assert choice.horizon >= longest


@pytest.mark.parametrize(("seed", "factor"), [(0, 7), (1, 7), (2, 7), (3, 20), (4, 20)])
def test_a_slowed_system_gets_ticks_that_fit(seed, factor):
    values, longest = recording(seed, rows=3000)
    choice = choose_interval([slowed(values, factor, seed)])
    assert factor / 4 <= choice.rows_per_tick <= 2 * factor
    assert 0.5 * longest * factor <= choice.rows_per_tick * choice.max_lag


@pytest.mark.parametrize(("seed", "signals"), [(0, 2), (1, 5), (2, 5), (1, 40)])
def test_independent_noise_keeps_its_rows(seed, signals):
    choice = choose_interval([noise(seed, signals=signals)])
    assert (choice.rows_per_tick, choice.max_lag, choice.horizon) == (1, LEAST_LAGS, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_daily_rhythm_is_not_a_delay(seed):
    """Hourly rows of a system with short lags, all of it moved up and down by the time of day."""
    values, longest = recording(seed)
    day = np.sin(2 * np.pi * np.arange(len(values)) / 24)[:, None]
    sizes = np.random.default_rng(seed).uniform(1, 3, values.shape[1])
    moved = choose_interval([values + day * sizes])
    assert moved.rows_per_tick <= 2
    assert longest <= moved.horizon <= 12


def followers(seed, rows, period, strength=1.0, signals=6):
    """Each signal follows the one before it at the next row.

    A rhythm drives all of them, with many overtones: like demand that rises at certain hours.
    """
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, signals))
    for k in range(1, signals):
        values[1:, k] += 0.8 * values[:-1, k - 1]
    shape = rng.normal(size=(period, signals)) * strength
    return values + np.tile(shape, (rows // period + 1, 1))[:rows]


@pytest.mark.parametrize("seed", range(3))
def test_a_rhythm_that_comes_back_does_not_lengthen_the_tick(seed):
    """The rhythm adds cross-dependence at its period, beyond the lags that are looked at."""
    values = followers(seed, 9000, 24, strength=0.8)
    ticks = interval._averaged([values], 1)
    strength = interval._cross_dependence(ticks)
    assert strength[1:9].sum() < interval.COVERED * strength[1:].sum()  # it is really there
    choice = choose_interval([values])
    assert choice.rows_per_tick == 1
    assert choice.max_lag <= 3


def test_an_effect_that_comes_late_is_no_echo():
    """It is as strong as the one that comes at once, so rows are not taken for ticks."""
    values = noise(1, rows=40_000, signals=4)
    values[1:, 1] += 0.8 * values[:-1, 0]
    values[20:, 3] += 0.8 * values[:-20, 2]
    assert choose_interval([values]).rows_per_tick >= 2


@pytest.mark.data
def test_hourly_rows_of_a_water_network_are_ticks(data_folder):
    table = load_dataset("batadal", data_folder / "batadal").normal[0].table
    moving = np.std(table.values, axis=0) > 0
    choice = choose_interval([np.round(table.values[:, moving], 2)])
    assert (choice.rows_per_tick, choice.max_lag) == (1, 3)


def test_what_happens_within_one_row_needs_no_longer_ticks():
    shared = noise(1, signals=1)
    choice = choose_interval([shared + 0.3 * noise(2)])
    assert (choice.rows_per_tick, choice.max_lag, choice.horizon) == (1, LEAST_LAGS, 1.0)


@pytest.mark.parametrize("delay", [20, 120])
@pytest.mark.parametrize("walk", [False, True])
def test_a_long_delay_is_found_where_nothing_happens_earlier(delay, walk):
    values = noise(3, rows=20_000, signals=3)
    values[delay:, 1] += 2 * values[:-delay, 0]
    choice = choose_interval([np.cumsum(values, axis=0) if walk else values])
    assert 0.8 * delay <= choice.horizon <= 1.5 * delay
    assert choice.rows_per_tick * choice.max_lag >= choice.horizon


def test_ticks_have_round_lengths():
    found = set()
    for delay in (9, 20, 29, 50, 100):
        values = noise(delay, rows=20_000, signals=2)
        values[delay:, 1] += values[:-delay, 0]
        found.add(choose_interval([values]).rows_per_tick)
    assert len(found) > 2
    assert found <= {1, 2, 3, 5, 10, 20, 30}


def test_enough_ticks_are_left():
    values, _ = recording(2, rows=300)
    slow = slowed(values, 20, 2)  # 6,000 rows: ten to a tick would leave too few
    assert len(slow) / choose_interval([slow]).rows_per_tick >= LEAST_TICKS


def test_cutting_into_stretches_changes_little():
    values, longest = recording(4)
    whole = choose_interval([values])
    cut = choose_interval(np.array_split(values, 9))
    assert cut.rows_per_tick == whole.rows_per_tick
    assert cut.max_lag >= longest


def test_missing_values_are_bridged():
    values, longest = recording(5)
    values[np.random.default_rng(5).random(values.shape) < 0.05] = np.nan
    values[7, 0] = np.inf
    choice = choose_interval([values])
    assert choice.rows_per_tick == 1
    assert choice.max_lag >= longest


def test_a_signal_may_be_absent_from_one_stretch():
    """Two files, and one of them holds no value of a signal."""
    values, longest = recording(0)
    first, second = values[:2000].copy(), values[2000:].copy()
    second[:, 2] = np.nan
    choice = choose_interval([first, second])
    assert choice.rows_per_tick == 1
    assert choice.max_lag >= longest


@pytest.mark.parametrize("stretches", [[], [np.zeros((0, 3))], [np.ones((3, 3))], [noise(1, 60)]])
def test_too_few_rows_to_look_at_leave_the_rows_as_they_are(stretches):
    choice = choose_interval(stretches)
    assert (choice.rows_per_tick, choice.max_lag, choice.horizon) == (1, LEAST_LAGS, 0.0)


@pytest.mark.parametrize(
    ("horizon", "signals", "lags"),
    [(0, 10, 2), (1, 10, 2), (2.1, 10, 3), (8, 10, 8), (50, 10, 8), (50, 255, 5), (50, 2000, 2)],
)
def test_lags_cover_the_horizon_as_far_as_affordable(horizon, signals, lags):
    assert lags_for(horizon, signals) == lags
