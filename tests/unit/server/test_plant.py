"""What does not change while a watch runs, as plain data."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import causewatch as cw
from causewatch.data import Clock, format_time
from causewatch.discovery import Knowledge
from causewatch.model import NormalModel
from causewatch.server.plant import (
    SPREADS,
    _places,
    finite,
    plant_of,
    seconds_in,
    seconds_of,
    shortened,
)
from causewatch.server.schemas import Plant as Body
from services.dashboard import NORMAL, START, a_plant

ABOUT = {"watch": "w", "boot": "b", "clock": "utc", "source": "s"}


@pytest.fixture(scope="module")
def guarded() -> NormalModel:
    """A model with signals that have no mechanism: one stands still, one is 0 or 1."""
    plant = a_plant()
    rows = plant.system.simulate(NORMAL, seed=6).values
    table: dict[str, Any] = {
        "time": [START.timestamp() + k for k in range(NORMAL)],
        **dict(zip(plant.names, rows.T, strict=True)),
        "still": np.full(NORMAL, 5.0),
        "switch": (np.arange(NORMAL) // 1000 % 2).astype(float),
    }
    knowledge = Knowledge.from_dict(
        {
            "groups": {"intake": ["T01", "T02", "switch"], "outlet": ["T03"]},
            "units": {"T01": "bar"},
        }
    )
    return cw.learn(pl.DataFrame(table), knowledge=knowledge, every=1.0)


def test_it_fits_its_description(guarded: NormalModel) -> None:
    for model in (a_plant().model, guarded):
        plant = plant_of(model)
        Body.model_validate({**ABOUT, **plant})
        json.dumps(plant, allow_nan=False)


def test_lags_are_said_as_times(guarded: NormalModel) -> None:
    every = replace(guarded.preprocessing, every=60.0, max_lag=3)
    plant = plant_of(guarded)
    assert plant["lags"][:3] == ["at once", "1 s", "2 s"]
    assert len(plant["lags"]) == plant["max_lag"] + 1
    minutes = replace(guarded, preprocessing=every)
    assert plant_of(minutes)["lags"] == ["at once", "1 min", "2 min", "3 min"]
    # As pictures and reports say them: 2.01 s is 2 s.
    odd = replace(guarded, preprocessing=replace(every, every=1.005, max_lag=2))
    assert plant_of(odd)["lags"] == ["at once", "1 s", "2 s"]
    rows = replace(guarded, clock="rows", preprocessing=replace(every, every=2.0, max_lag=2))
    assert plant_of(rows)["lags"] == ["at once", "2 rows", "4 rows"]


def test_signals_are_in_the_order_of_ticks(guarded: NormalModel) -> None:
    plant = plant_of(guarded)
    names = [one["name"] for one in plant["signals"]]
    assert names == [*guarded.signals, *guarded.watching.guarded]
    assert guarded.watching.guarded  # else this shows nothing
    for one in plant["signals"]:
        if one["guarded"]:
            assert one["spread"] is None
            assert one["explained"] is None
            assert one["low"] <= one["high"]
        else:
            assert one["low"] is one["high"] is None
            assert one["spread"] > 0
            assert 0 <= one["explained"] <= 1
    units = {one["name"]: one["unit"] for one in plant["signals"]}
    assert units["T01"] == "bar"
    assert units["T02"] is None
    stages = {one["name"]: one["stage"] for one in plant["signals"]}
    assert plant["stages"][stages["T01"]] == "intake"
    assert plant["stages"][stages["T03"]] == "outlet"


def test_the_band_is_that_of_the_mechanism() -> None:
    model = a_plant().model
    plant = plant_of(model)
    # Most of normal operation lies within the band around what is expected.
    for k, one in enumerate(plant["signals"]):
        assert one["spread"] == pytest.approx(float(model.watching.spread[k]))
    assert SPREADS == 3.0


def test_every_link_is_told_once(guarded: NormalModel) -> None:
    for model in (a_plant().model, guarded):
        plant = plant_of(model)
        links = {(source, target, lag) for source, target, lag, *_ in plant["links"]}
        assert len(links) == len(plant["links"]) == len(model.graph)
        for source, target, lag, strength, p_value, coefficient in plant["links"]:
            assert max(source, target) < len(model.signals)  # none leads to a guarded one
            assert 0 <= lag <= plant["max_lag"]
            assert strength is None or math.isfinite(strength)
            assert p_value is None or 0 <= p_value <= 1
            assert coefficient is not None


def test_nothing_stands_where_something_else_does(guarded: NormalModel) -> None:
    for model in (a_plant().model, guarded):
        places = [(one["x"], one["y"]) for one in plant_of(model)["signals"]]
        assert all(math.isfinite(x) and math.isfinite(y) for x, y in places)
        assert len(set(places)) == len(places)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Any, dict[str, list[str]]]:
    """Stages of signals, side by side, some without a place."""
    stages: dict[str, list[str]] = {}
    positions: dict[str, tuple[float, float]] = {}
    guarded: list[str] = []
    left = 0.0
    for s in range(draw(st.integers(0, 4))):
        placed, waiting = draw(st.integers(0, 4)), draw(st.integers(0, 6))
        columns = draw(st.integers(1, 3))
        names = [f"s{s}p{k}" for k in range(placed)]
        for k, name in enumerate(names):
            positions[name] = (left + k % columns, float(k // columns))
        others = [f"s{s}g{k}" for k in range(waiting)]
        guarded += others
        if names or others:
            stages[f"stage {s}"] = [*names, *others]
        if placed:
            left += min(columns, placed) - 1 + draw(st.sampled_from([1.0, 1.5, 2.5]))
    if draw(st.booleans()):  # some belong to no stage
        guarded += [f"free{k}" for k in range(draw(st.integers(1, 5)))]
    watching = SimpleNamespace(guarded=tuple(guarded))
    return SimpleNamespace(positions=positions, watching=watching), stages


@given(layouts())
def test_guarded_signals_find_a_place_of_their_own(found: tuple[Any, dict[str, list[str]]]) -> None:
    model, stages = found
    before = dict(model.positions)
    places = _places(model, stages)
    assert model.positions == before  # which belongs to the model
    assert set(places) == {*before, *model.watching.guarded}
    assert all(places[name] == at for name, at in before.items())
    spots = sorted(places.values())
    for k, (x, y) in enumerate(spots):
        for other_x, other_y in spots[k + 1 :]:
            assert max(abs(x - other_x), abs(y - other_y)) >= 1.0, places


@given(st.integers(-(2**60), 2**60), st.sampled_from(["utc", "naive", "elapsed", "rows"]))
@example(0, "utc")
@example(-1, "elapsed")
@example(1_772_438_499_123_456_789, "utc")
def test_times_there_and_back(time: int, clock: Clock) -> None:
    if clock == "rows":
        time = time // 10**9 * 10**9  # rows are whole
        assume(time >= 0)
    text = format_time(time, clock)
    seconds = seconds_in(text)
    assert seconds is not None
    exact = seconds_of(time)
    assert exact is not None
    # Dates are written to the microsecond, other times to twelve digits.
    assert seconds == pytest.approx(exact, abs=2e-6, rel=1e-11 if clock == "elapsed" else 1e-15)


@pytest.mark.parametrize(
    "text", [None, "", "row", "row x", "s", "xs", "2026-13-01", "nans", "infs"]
)
def test_what_is_no_time(text: str | None) -> None:
    assert seconds_in(text) is None


@given(st.floats())
def test_numbers_for_json(value: float) -> None:
    for made in (finite(value), shortened(value)):
        assert (made is None) == (not math.isfinite(value))
        json.dumps(made, allow_nan=False)
    if math.isfinite(value):
        assert shortened(value) == pytest.approx(value, rel=5e-6)
    assert finite(None) is None
    assert shortened(None) is None
