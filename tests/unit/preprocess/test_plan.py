"""Which signals are kept, and which interval and lag they get."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.data.table import TimeTable
from causewatch.errors import NotEnoughDataError, SettingError
from causewatch.preprocess import (
    MOST_HELD,
    Averager,
    BlockSample,
    Decimator,
    Survey,
    default_preprocessing,
    paper_preprocessing,
)
from recordings import stable

NAN = np.nan


def table(columns, interval=1.0):
    values = np.column_stack(list(columns.values())).astype(float)
    return TimeTable(
        signals=tuple(columns),
        values=values,
        time=(np.arange(len(values)) * interval * 1e9).astype(np.int64),
        starts=np.array([0], dtype=np.intp),
        interval=interval,
    )


def plan(columns, interval=1.0, block=4096, **settings):
    rows = table(columns, interval)
    survey = Survey(rows.signals, rows.interval, rows.clock)
    survey.update(rows)
    sample = BlockSample(len(columns), block=block)
    sample.update(rows)
    return default_preprocessing(survey.finish(), sample.stretches(), **settings)


def good(seed=1, rows=1500):
    """Three signals that drive each other."""
    values = stable(seed, 3, rows)
    return {"a": values[:, 0], "b": values[:, 1], "c": values[:, 2]}


def switching(times, rows=1500):
    out = np.zeros(rows)
    for k in range(times):
        out[100 + 50 * k :] += 1 if k % 2 == 0 else -1
    return out


def with_missing(share, rows=1500):
    values = np.random.default_rng(2).normal(size=rows)
    values[: int(share * rows)] = NAN
    return values


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (np.full(1500, 7.3), "constant"),
        (np.where(np.arange(1500) % 5 == 0, NAN, 7.3), "constant"),
        (np.full(1500, NAN), "empty"),
        (switching(9), "nearly constant: 9 changes of value"),
        (np.where(np.arange(1500) == 700, 1.0, 0.0), "nearly constant: 2 changes of value"),
        (1e-150 * good()["a"], "it varies by less than 1e-100"),
        (with_missing(0.6), "60% of its values are missing"),
        (good()["a"], "a duplicate of a"),
        (1.8 * good()["b"] + 32, "a duplicate of b in other units"),
        (-0.001 * good()["c"], "a duplicate of c in other units"),
    ],
)
def test_signals_without_links_to_learn_are_dropped_with_the_reason(column, reason):
    made = plan(good() | {"odd": column})
    assert made.signals == ("a", "b", "c")
    assert made.dropped == {"odd": reason}


@pytest.mark.parametrize(
    "column",
    [
        switching(10),
        with_missing(0.45),
        good()["a"] + 1e-3 * np.random.default_rng(5).normal(size=1500),
        np.where(np.arange(1500) % 2 == 0, np.random.default_rng(5).normal(size=1500), NAN),
    ],
    ids=["ten changes", "45 % missing", "nearly a duplicate", "every second value missing"],
)
def test_signals_that_can_be_learnt_from_are_kept(column):
    made = plan(good() | {"odd": column})
    assert made.signals == ("a", "b", "c", "odd")
    assert made.dropped == {}


def test_the_first_of_several_duplicates_is_kept():
    one = good()
    made = plan({"x": 5 - one["a"], **one, "y": one["a"], "z": 2 * one["a"]})
    assert made.signals == ("x", "b", "c")
    assert made.dropped["a"] == "a duplicate of x in other units"
    assert set(made.dropped) == {"a", "y", "z"}


def test_a_difference_outside_the_sample_makes_no_duplicate():
    """Blocks of rows are looked at; two pumps that run together there may part elsewhere."""
    rows = 8000
    rng = np.random.default_rng(4)
    one = np.repeat(rng.integers(0, 2, rows // 20), 20).astype(float)
    other = one.copy()
    other[105:195] = 1 - other[105:195]  # in the second block of a hundred, which is not kept
    columns = {"p": one, "q": other, "r": rng.normal(size=rows)}
    assert plan(columns, block=100).signals == ("p", "q", "r")
    same = plan(columns | {"q": 3 * one}, block=100)
    assert same.dropped == {"q": "a duplicate of p in other units"}


def test_fewer_than_two_usable_signals_are_an_error_that_says_why():
    columns = {"a": good()["a"], "flat": np.ones(1500), "gone": np.full(1500, NAN)}
    with pytest.raises(NotEnoughDataError) as error:
        plan(columns)
    assert str(error.value) == (
        "1 usable signal(s) are left, and at least 2 are needed;"
        " left out: flat (constant), gone (empty)."
    )


@pytest.mark.parametrize("rows", [2, 3, 8])
def test_too_few_rows_are_an_error_that_says_why(rows):
    with pytest.raises(NotEnoughDataError, match="0 usable signal"):
        plan({name: column[:rows] for name, column in good().items()})


def test_what_is_given_is_obeyed():
    made = plan(good(), interval=2.0, every=10.0, max_lag=7)
    assert (made.every, made.max_lag) == (10.0, 7)
    assert "the interval was given" in made.reason
    assert "the maximum lag was given" in made.reason
    only_lag = plan(good(), interval=2.0, max_lag=7)
    assert (only_lag.every, only_lag.max_lag) == (2.0, 7)


def test_the_lag_fits_the_interval_that_was_given():
    free = plan(good())
    assert free.every == 1.0
    assert "rows come every" not in free.reason  # they have no times
    assert plan(good(), every=50.0).max_lag <= free.max_lag


def test_no_links_are_said_to_be_none():
    noise = np.random.default_rng(7).normal(size=(1500, 2))
    made = plan({"a": noise[:, 0], "b": noise[:, 1]})
    assert (made.every, made.max_lag) == (1.0, 2)
    assert "no signal was seen to act on another one" in made.reason


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"every": 0.5}, "rows come only every 1 s"),
        ({"every": 200.0}, "leaves fewer than 10 ticks"),
        ({"max_lag": 0}, "between 1 and 100 ticks"),
        ({"max_lag": 101}, "between 1 and 100 ticks"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(SettingError, match=words):
        plan(good(), **settings)
    with pytest.raises(SettingError, match=words):
        paper_preprocessing(table(good()), **settings)


def test_default_ticks_are_averages():
    made = plan(good())
    assert isinstance(made.ticker(1.0), Averager)
    assert (made.step, made.hold) == (None, MOST_HELD)
    assert made.to_dict()["signals"] == ["a", "b", "c"]


def test_paper_ticks_are_rows():
    one = good()
    made = paper_preprocessing(
        table(one | {"level": 1000 + one["a"], "below": -1000 + one["b"]}, 5.0), every=11.0
    )
    assert made.signals == ("a", "b", "c", "below")
    assert made.dropped == {"level": "nearly constant: std is not above 0.01 of the mean"}
    assert (made.step, made.every, made.hold) == (2, 10.0, 0)
    assert isinstance(made.ticker(5.0), Decimator)
    assert made.reason.startswith("published rule")


def test_paper_keeps_duplicates_and_rare_switches():
    one = good()
    made = paper_preprocessing(table(one | {"copy": one["a"], "switch": switching(2)}))
    assert made.dropped == {}


def test_paper_needs_two_signals():
    columns = {"a": good()["a"], "level": 1000 + good()["b"]}
    with pytest.raises(NotEnoughDataError, match="1 usable signal"):
        paper_preprocessing(table(columns))


def test_paper_takes_whole_numbers_if_interval_and_lag_are_given():
    columns = {name: np.round(10 * column) for name, column in good().items()}
    with pytest.raises(NotEnoughDataError, match="give --every and --max-lag"):
        paper_preprocessing(table(columns))
    made = paper_preprocessing(table(columns), every=3.0, max_lag=4)
    assert (made.step, made.max_lag) == (3, 4)
