"""Stopping and going on from a stored state changes nothing, whatever happens in between."""

from __future__ import annotations

import io
import json
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import causewatch as cw
from causewatch.detectors import DetectorSettings
from causewatch.explain.described import describe
from causewatch.monitor.state import pack, unpack
from causewatch.simulate import random_system

ROWS = 120
SYSTEM = random_system(3, seed=4)
HASTY = DetectorSettings(lift_hours=0.0, lift_ticks=12.0, lift_quiet=1)
"""Limits are lifted within a few ticks, so that it happens in many lives."""
COLUMNS = (*SYSTEM.signals, "constant")


@cache
def model(every, preset="default"):
    """A model of three signals and a guard."""
    rows = int(600 * every)
    table = {name: SYSTEM.simulate(rows, seed=1).values[:, k] for k, name in enumerate(COLUMNS[:3])}
    guarded = {} if preset == "paper" else {"constant": np.full(rows, 3.0)}
    detector = None if preset == "paper" else HASTY
    return cw.learn(
        pl.DataFrame(table | guarded), every=every, max_lag=2, preset=preset, detector=detector
    )


@st.composite
def lives(draw):
    """Rows with times, what people do at which row, and where the monitor is stopped."""
    rows = np.column_stack(
        [
            SYSTEM.simulate(ROWS, seed=draw(st.integers(0, 10**6))).values,
            np.full(ROWS, draw(st.sampled_from([3.0, 3.0, 3.1]))),
        ]
    )
    place = st.integers(0, ROWS - 1)
    for _ in range(draw(st.integers(1, 4))):  # offsets, stuck values, dead sensors
        start, length, column = draw(place), draw(st.integers(1, 60)), draw(st.integers(0, 3))
        span = slice(start, start + length)
        what = draw(st.sampled_from(["offset", "offset", "stuck", "dead"]))
        if what == "offset":
            rows[span, column] += draw(st.sampled_from([4.0, 12.0]))
        else:
            rows[span, column] = rows[start, column] if what == "stuck" else np.nan
    steps = np.ones(ROWS)
    for where in draw(
        st.lists(place, max_size=5)
    ):  # late rows, equal times, gaps, a clock set back
        steps[where] = draw(st.sampled_from([-3.0, 0.0, 2.0, 50.0, -400.0]))
    actions = draw(
        st.lists(
            st.tuples(
                place, st.sampled_from(["ack", "normal", "shelve", "undo", "comment", "accept"])
            ),
            max_size=6,
        )
    )
    return {
        "rows": rows,
        "times": np.cumsum(steps).tolist(),
        "actions": sorted(actions),
        "stops": set(draw(st.lists(place, min_size=1, max_size=4))),
    }


def stored(state):
    """The state as it comes back from a file: JSON, and arrays as ``.npy``."""
    arrays = {}
    text = json.dumps(pack(state, arrays), allow_nan=False)
    back = {}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        file.seek(0)
        back[name] = np.load(file, allow_pickle=False)
    return unpack(json.loads(text), back)


def told(event, alarm, clock, course=True):
    """An event with all that an explanation is made from, to the last bit."""
    found = [json.dumps(alarm.to_dict(event, clock), sort_keys=True)]
    if course and alarm.course is not None:
        found += [array.tobytes() for array in alarm.course.to_state().values()]
    return found


def said(tick, clock):
    return [
        (
            one.time,
            one.complete,
            one.score,
            one.alarm,
            np.array(list(one.signals.values())).tobytes(),
            np.array(list(one.expected.values())).tobytes(),
            [told(event, alarm, clock) for event, alarm in one.events],
            one.health,
        )
        for one in tick.all
    ]


def act(policy, action, at):
    """What a person does, if there is an alarm to do it to."""
    every = [*policy.active, *policy.recent]
    marked = [mark.alarm for mark in policy.marks]
    if action == "undo":
        return policy.undo_normal(marked[0], by="Ann", at=at) if marked else ()
    unlike = [alarm.id for alarm in policy.active if alarm.problem == "unlike"]
    if action == "accept" and unlike:
        return policy.accept(unlike[0], by="Ann", at=at)
    if not every:
        return policy.shelve(COLUMNS[:1], until=at + 10**10, by="Ann", at=at)
    alarm = every[0]
    if action == "ack" and alarm.acknowledged is None:  # the second is refused
        return policy.acknowledge(alarm.id, by="Ann", at=at, comment="seen")
    if action == "shelve":
        return policy.shelve(alarm.id, until=at + 2 * 10**10, by="Ann", at=at)
    if action == "normal" and any(alarm.signals.values()):
        return policy.mark_normal(alarm.id, by="Ann", at=at)
    return policy.comment(alarm.id, by="Ann", at=at, text="?")


def live(learnt, life, stops):
    """Everything a monitor says in its life, stored and restored at `stops`."""
    monitor = cw.Monitor(learnt, describe=describe, stream="line")
    width = len(learnt.columns)
    found = []
    for number, (row, time) in enumerate(zip(life["rows"], life["times"], strict=True)):
        if number in stops:
            state = stored(monitor.snapshot())
            monitor = cw.Monitor(learnt, describe=describe, stream="line")
            monitor.restore(state)
        tick = monitor.update(row[:width], time)
        found.append(said(tick, monitor.clock))
        for where, action in life["actions"]:
            if where == number and tick.time is not None:
                events = act(monitor.alarms, action, tick.time)
                found.append([told(event, one, monitor.clock, False) for event, one in events])
    found.append(said(monitor.flush(), monitor.clock))
    found.append([array.tobytes() for array in monitor.course.to_state().values()])
    found.append([monitor.health, monitor.problems, repr(monitor.broken_links())])
    return found


@pytest.mark.parametrize(
    ("every", "preset", "examples"),
    [(1.0, "default", 25), (5.0, "default", 15), (1.0, "paper", 10)],
)
def test_a_restored_monitor_has_the_same_future(every, preset, examples):
    learnt = model(every, preset)

    @settings(max_examples=examples)
    @given(lives())
    def check(life):
        whole, cut = live(learnt, life, set()), live(learnt, life, life["stops"])
        for number, (expected, found) in enumerate(zip(whole, cut, strict=True)):
            assert expected == found, f"the lives differ at entry {number}"

    check()


def test_a_life_with_lifts_findings_and_an_acceptance_is_restored_anywhere():
    rows = np.column_stack([SYSTEM.simulate(ROWS, seed=5).values, np.full(ROWS, 3.1)])
    rows[20:, 0] += 4.0
    rows[90:, 0] += 12.0
    actions = [(40, "accept"), (70, "accept")]
    life = {"rows": rows, "times": np.arange(float(ROWS)).tolist(), "actions": actions}
    whole = live(model(1.0), life, set())
    assert any("unlike" in repr(entry) for entry in whole)
    for stop in range(1, ROWS, 7):
        for expected, found in zip(whole, live(model(1.0), life, {stop}), strict=True):
            assert expected == found


def test_a_state_holds_plain_values_only():
    monitor = cw.Monitor(model(1.0))
    rows = np.column_stack([SYSTEM.simulate(ROWS, seed=5).values, np.full(ROWS, 3.1)])
    rows[20:, 0] += 12.0
    rows[60:, 1] = np.nan
    for row in rows:
        monitor.update(row)
    assert monitor.alarms.active

    def check(value, path):
        if isinstance(value, dict):
            for key, one in value.items():
                assert type(key) is str, path
                check(one, f"{path}.{key}")
        elif isinstance(value, (list, tuple)):
            for number, one in enumerate(value):
                check(one, f"{path}[{number}]")
        elif isinstance(value, np.ndarray):
            assert value.dtype.kind in "fiub", path
        else:
            assert value is None or type(value) in (int, float, str, bool), f"{path}: {type(value)}"

    check(monitor.snapshot(), "state")
