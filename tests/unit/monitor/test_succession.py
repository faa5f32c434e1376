"""A model takes the place of another, and alarms go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.errors import SettingError
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.model.updating import update
from causewatch.monitor import Monitor
from causewatch.monitor.succession import take_over
from causewatch.simulate import random_system


@pytest.fixture(scope="module")
def model() -> NormalModel:
    return cw.learn(random_system(5, seed=21).simulate(3000, seed=22).values)


@pytest.fixture(scope="module")
def updated(model: NormalModel) -> NormalModel:
    result = update(model, random_system(5, seed=21).simulate(2000, seed=31).values)
    assert result.accepted
    return result.candidate


@pytest.fixture(scope="module")
def smaller(model: NormalModel) -> NormalModel:
    """A model of all signals but one."""
    values = random_system(5, seed=21).simulate(3000, seed=22).values
    names = [name for name in model.signals if name != "x1"]
    return cw.learn(pl.DataFrame(np.delete(values, 1, axis=1), schema=names))


def watched(model: NormalModel, faulty: tuple[int, ...] = (1,)) -> Monitor:
    """A monitor with an alarm on, one shelved signal and one mark as normal."""
    monitor = Monitor(model, describe=describe)
    values = random_system(5, seed=21).simulate(300, seed=23).values
    values[60:90, 3] += 9.0
    for k in faulty:
        values[250:, k] += 12.0
    for number, row in enumerate(values):
        tick = monitor.update(dict(zip(model.columns, row.tolist(), strict=True)), float(number))
        if tick.time == 150 * 10**9:
            ended = monitor.alarms.recent[0]
            monitor.alarms.mark_normal(ended.id, by="Ada", at=tick.time)
            monitor.alarms.shelve(["x0", "x1"], until=10**15, by="Ada", at=tick.time)
            monitor.alarms.unshelve(["x1"], at=tick.time)
    on = next(alarm for alarm in monitor.alarms.active if alarm.kind == "anomaly")
    monitor.alarms.acknowledge(on.id, by="Ada", at=monitor.alarms.active[0].updated_at)
    return monitor


def test_an_update_says_what_it_came_of(model: NormalModel, updated: NormalModel) -> None:
    assert model.provenance.predecessors == ()
    assert updated.provenance.predecessors == (model.fingerprint,)
    assert updated.succeeds(model.fingerprint)
    assert not model.succeeds(updated.fingerprint)


def test_everything_goes_over_to_an_update(model: NormalModel, updated: NormalModel) -> None:
    old, new = watched(model), Monitor(updated, describe=describe)
    with pytest.raises(SettingError, match="belongs to another model"):
        new.restore(old.snapshot())
    done = take_over(new, old.snapshot())
    assert done.lost == ()
    assert list(done.events) == []
    assert "1 alarm still on" in done.kept
    assert [one.to_state() for one in new.alarms.active] == [
        one.to_state() for one in old.alarms.active
    ]
    assert new.alarms.active[0].acknowledged is not None
    assert new.alarms.shelves == old.alarms.shelves
    assert new.alarms.marks == old.alarms.marks != ()
    assert np.array_equal(new.course.values, old.course.values, equal_nan=True)
    assert new.snapshot()["intake"].keys() == old.snapshot()["intake"].keys()
    # It goes on with the next row, and the alarm is cleared once the trouble is over.
    again = Monitor(updated, describe=describe)
    again.restore(new.snapshot())
    events = []
    for number, row in enumerate(random_system(5, seed=21).simulate(120, seed=24).values, 300):
        tick = again.update(dict(zip(updated.columns, row.tolist(), strict=True)), float(number))
        events += list(tick.events)
    assert (tick.score is not None, tick.time) == (True, 419 * 10**9)
    assert [event for event, alarm in events if alarm.id == old.alarms.active[0].id] == ["cleared"]
    assert events[-1][1].acknowledged is not None


def test_what_cannot_go_over_is_listed(model: NormalModel, smaller: NormalModel) -> None:
    old, new = watched(model), Monitor(smaller, describe=describe)
    (on,) = old.alarms.active
    assert list(on.signals) == ["x1"]
    old.alarms.shelve(["x1"], until=10**15, by="Ada", at=10**11)
    done = take_over(new, old.snapshot())
    assert done.lost == (
        "Not in the new model, and watched no longer: x1.",
        f"Alarms about nothing else end: {on.id}.",
        "Shelved no longer: x1.",
        "The rows of the tick that was open are left out.",
    )
    ((event, alarm),) = done.events
    assert (event, alarm.id, list(alarm.signals)) == ("cleared", on.id, ["x1"])
    assert alarm.comments[-1].text == "Its signals are watched no longer."
    assert new.alarms.active == ()
    assert [shelf.signals for shelf in new.alarms.shelves] == [("x0",)]
    assert new.course.signals == smaller.watched
    places = [model.watched.index(name) for name in smaller.watched]
    assert np.array_equal(new.course.values, old.course.values[:, places], equal_nan=True)
    again = Monitor(smaller, describe=describe)
    again.restore(new.snapshot())
    tick = again.update(dict.fromkeys(smaller.columns, 0.0))
    assert (tick.complete, tick.time) == (True, 300 * 10**9)


def test_an_alarm_goes_on_without_the_signal_that_is_gone(
    model: NormalModel, smaller: NormalModel
) -> None:
    old, new = watched(model, (1, 2)), Monitor(smaller, describe=describe)
    before = {one.id: set(one.signals) for one in old.alarms.active}
    assert any("x1" in signals and len(signals) > 1 for signals in before.values())
    take_over(new, old.snapshot())
    after = {one.id: set(one.signals) for one in new.alarms.active}
    assert after == {id: rest for id, names in before.items() if (rest := names - {"x1"})}


def test_what_was_accepted_is_told(model: NormalModel, updated: NormalModel) -> None:
    old, new = watched(model), Monitor(updated, describe=describe)
    old.accept("x2")
    done = take_over(new, old.snapshot())
    assert done.lost == (
        "Accepted as they were, and held against what the new model has learnt from now on: x2.",
    )


def test_models_of_other_plants_are_refused(model: NormalModel) -> None:
    noise = np.random.default_rng(1).normal(size=(900, 3))
    other = cw.learn(pl.DataFrame(noise, schema=["y1", "y2", "y3"]))
    with pytest.raises(SettingError, match="none of the signals"):
        take_over(Monitor(other), watched(model).snapshot())
    state = watched(model).snapshot()
    state["intake"]["times"]["clock"] = "utc" if model.clock == "rows" else "rows"
    with pytest.raises(SettingError, match="counts rows"):
        take_over(Monitor(replace(model)), state)
