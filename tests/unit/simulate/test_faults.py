"""Faults: what they change, what they leave alone, what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.errors import CausewatchError, SettingError, UnknownNameError
from causewatch.simulate import (
    FAULT_KINDS,
    SYSTEM_KINDS,
    Fault,
    RandomSystem,
    Simulation,
    random_faults,
    random_system,
)

ROWS, START, END = 600, 200, 300
SENSOR = ("bias", "drift", "stuck", "noise", "dropout")


@pytest.fixture(scope="module")
def system() -> RandomSystem:
    return random_system(8, links=14, seed=2)


def column(system: RandomSystem, sim: Simulation, name: str) -> NDArray[np.float64]:
    return sim.values[:, system.signals.index(name)]


def child_of(system: RandomSystem, name: str) -> str:
    return next(link.target for link in system.graph.children(name) if not link.is_auto)


def a_cause(system: RandomSystem) -> str:
    return next(link.source for link in system.graph if not link.is_auto)


def innovations(system: RandomSystem, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the normal mechanism does not explain; the first rows are left at 0."""
    out = np.zeros_like(x)
    lags = system.max_lag
    out[lags:] = x[lags:]
    for e in system.edges:
        out[lags:, e.target] -= e.coefficients[0] * x[lags - e.lag : len(x) - e.lag, e.source]
    return out


def any_fault(system: RandomSystem, kind: str, **more: Any) -> Fault:
    link = next(link for link in system.graph if not link.is_auto)
    if kind == "broken_link":
        return Fault(kind, link.target, START, END, source=link.source)
    if kind == "new_link":
        return random_faults(system, ROWS, 1, 0, kinds=["new_link"])[0]
    return Fault(kind, link.source, START, END, **more)


@pytest.mark.parametrize("kind", FAULT_KINDS)
@pytest.mark.parametrize("sort", SYSTEM_KINDS)
def test_nothing_changes_before_the_start(sort: str, kind: str) -> None:
    system = random_system(8, links=14, kind=sort, seed=3)
    fault = random_faults(system, ROWS, 1, 1, kinds=[kind])[0]
    normal = system.simulate(ROWS, seed=1).values
    sim = system.simulate(ROWS, seed=1, faults=[fault])
    np.testing.assert_array_equal(sim.values[: fault.start], normal[: fault.start])
    differs = ~((sim.values == normal).all(axis=1))
    assert differs[fault.start : fault.end].any()
    np.testing.assert_array_equal(np.flatnonzero(sim.labels), np.arange(fault.start, fault.end))
    if kind in SENSOR:
        assert not differs[fault.end :].any()
        others = [k for k, name in enumerate(system.signals) if name != fault.signal]
        np.testing.assert_array_equal(sim.values[:, others], normal[:, others])


@pytest.mark.parametrize("kind", ["mechanism", "actuator_stuck", "new_link", "broken_link"])
def test_noise_is_the_same_with_and_without(system: RandomSystem, kind: str) -> None:
    fault = any_fault(system, kind)
    normal = innovations(system, system.simulate(ROWS, seed=1).values)
    faulty = innovations(system, system.simulate(ROWS, seed=1, faults=[fault]).values)
    on = np.zeros((ROWS, 8), dtype=bool)
    on[fault.start : fault.end, system.signals.index(fault.signal)] = True
    np.testing.assert_allclose(faulty[~on][24:], normal[~on][24:], atol=1e-10)
    assert np.abs(faulty[on] - normal[on]).max() > 0.1


def test_sensor_faults_show_what_they_promise(system: RandomSystem) -> None:
    name = system.signals[0]
    scale = system.scales[0]
    normal = system.simulate(ROWS, seed=1).values[:, 0]

    def shown(kind: str, size: float | None = None) -> NDArray[np.float64]:
        fault = Fault(kind, name, START, END, size)
        return system.simulate(ROWS, seed=1, faults=[fault]).values[START:END, 0]

    true = normal[START:END]
    np.testing.assert_allclose(shown("bias", 2.5) - true, 2.5 * scale)
    ramp = shown("drift", -4.0) - true
    np.testing.assert_allclose(np.diff(ramp), -4.0 * scale / 100)
    assert ramp[-1] == pytest.approx(-4.0 * scale)
    np.testing.assert_array_equal(shown("stuck"), np.full(100, normal[START - 1]))
    np.testing.assert_allclose(shown("stuck", 3.0), normal[START - 1] + 3.0 * scale)
    assert np.std(shown("noise", 5.0) - true) == pytest.approx(5.0 * scale, rel=0.3)
    assert np.isnan(shown("dropout")).all()
    assert np.std(system.simulate(20_000, seed=9).values[:, 0]) == pytest.approx(scale, rel=0.1)


def test_stuck_from_the_very_first_row(system: RandomSystem) -> None:
    fault = Fault("stuck", "S01", 0, 50)
    x = system.simulate(60, seed=1, faults=[fault], burn_in=0).values[:, 0]
    np.testing.assert_array_equal(x[:50], np.zeros(50))


def test_wrong_reading_reaches_others_only_if_it_feeds_back(system: RandomSystem) -> None:
    cause = a_cause(system)
    effect = child_of(system, cause)
    normal = system.simulate(ROWS, seed=1)
    fault = Fault("bias", cause, START, END, 3.0, feeds_back=True)
    looped = system.simulate(ROWS, seed=1, faults=[fault])
    assert np.abs(column(system, looped, effect) - column(system, normal, effect)).max() > 0.1
    np.testing.assert_array_equal(looped.values[:START], normal.values[:START])
    # what the others did is explained by what was measured ...
    k = system.signals.index(cause)
    seen = innovations(system, looped.values)
    plain = innovations(system, normal.values)
    others = [j for j in range(8) if j != k]
    np.testing.assert_allclose(seen[5:, others], plain[5:, others], atol=1e-10)
    # ... and what the signal itself did by its own true value
    true = looped.values.copy()
    true[START:END, k] -= 3.0 * system.scales[k]
    np.testing.assert_allclose(innovations(system, true)[5:, k], plain[5:, k], atol=1e-10)


def test_long_feedback_crosses_buffers() -> None:
    system = random_system(4, links=6, seed=2)
    cause = a_cause(system)
    k = system.signals.index(cause)
    fault = Fault("noise", cause, 100, 8000, feeds_back=True)
    normal = innovations(system, system.simulate(9000, seed=1).values)
    looped = innovations(system, system.simulate(9000, seed=1, faults=[fault]).values)
    others = [j for j in range(4) if j != k]
    np.testing.assert_allclose(looped[5:, others], normal[5:, others], atol=1e-10)


def test_stuck_actuator_holds_and_its_effects_follow(system: RandomSystem) -> None:
    cause = a_cause(system)
    effect = child_of(system, cause)
    normal = system.simulate(ROWS, seed=1)
    fault = Fault("actuator_stuck", cause, START, END, 2.0)
    sim = system.simulate(ROWS, seed=1, faults=[fault])
    held = column(system, normal, cause)[START - 1] + 2 * system.scales[system.signals.index(cause)]
    np.testing.assert_allclose(column(system, sim, cause)[START:END], held)
    assert (column(system, sim, effect) != column(system, normal, effect)).any()


def test_two_valued_signals_get_stuck_at_one_of_their_values() -> None:
    system = random_system(6, kind="binary", seed=1)
    before = column(system, system.simulate(ROWS, seed=1), "A01")[START - 1]
    for kind in ("stuck", "actuator_stuck"):
        for size, value in ((None, before), (1.0, 1 - before)):
            fault = Fault(kind, "A01", START, END, size)
            shown = column(system, system.simulate(ROWS, seed=1, faults=[fault]), "A01")
            np.testing.assert_array_equal(shown[START:END], value)
    with pytest.raises(SettingError, match="only takes the values 0 and 1; choose one of mech"):
        system.simulate(ROWS, seed=1, faults=[Fault("bias", "A01", START, END)])


def test_link_faults_change_exactly_that_link(system: RandomSystem) -> None:
    link = next(link for link in system.graph if not link.is_auto)
    plain = innovations(system, system.simulate(ROWS, seed=1).values)

    def left_over(fault: Fault) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Unexplained part of the target, and the source's value that could explain it."""
        x = system.simulate(ROWS, seed=1, faults=[fault]).values
        target, source = (system.signals.index(n) for n in (fault.signal, str(fault.source)))
        lag = fault.lag or 1
        rest = (innovations(system, x) - plain)[START:END, target]
        return rest, x[START - lag : END - lag, source]

    broken = Fault("broken_link", link.target, START, END, source=link.source, lag=link.lag)
    rest, source = left_over(broken)
    np.testing.assert_allclose(rest, -system.graph[link].value * source, atol=1e-10)

    drawn = random_faults(system, ROWS, 1, 5, kinds=["new_link"])[0]
    new = Fault("new_link", drawn.signal, START, END, 0.4, source=drawn.source, lag=drawn.lag)
    rest, source = left_over(new)
    i, j = (system.signals.index(n) for n in (str(new.source), new.signal))
    np.testing.assert_allclose(rest, 0.4 * system.scales[j] / system.scales[i] * source, atol=1e-10)


def test_causes_are_in_the_form_of_the_causes_file(system: RandomSystem) -> None:
    faults = [
        Fault("stuck", "S02", 400, 450),
        Fault("bias", "S01", 10, 20, name="spoofed level"),
    ]
    sim = system.simulate(ROWS, seed=1, faults=faults)
    assert sim.causes == [
        {"name": "spoofed level", "start": 10, "end": 20, "signals": ["S01"]},
        {"name": "stuck S02", "start": 400, "end": 450, "signals": ["S02"]},
    ]
    assert sim.labels.sum() == 60
    assert system.simulate(ROWS, seed=1).causes == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "bais"}, "Did you mean 'bias'.*mechanism, bias, drift"),
        ({"start": 20, "end": 20}, "start 20 and end 20"),
        ({"start": -1}, "start -1"),
        ({"size": float("nan")}, "size of 'bias S01' is nan"),
        ({"end": 601}, "ends at row 601, but the simulation has only 600 rows"),
        ({"signal": "S99"}, "no signal 'S99'.*S01"),
        ({"source": "S02"}, "Only new_link and broken_link take a source"),
        ({"kind": "new_link"}, "needs the link's source"),
        ({"kind": "new_link", "source": "S77"}, "no signal 'S77'"),
        ({"kind": "new_link", "source": "S01", "lag": 9}, "lags from 1 to 3"),
        ({"kind": "new_link", "source": "S01"}, "exists already. Links into S01: S01 →"),
        ({"kind": "broken_link", "source": "S01", "lag": 3}, "no link from S01 to S01 at lag 3"),
        ({"kind": "mechanism", "feeds_back": True}, "Only the sensor faults bias, drift, stuck"),
        ({"kind": "dropout", "feeds_back": True}, "leave feeds_back out"),
        ({"kind": "mechanism", "size": 9.0}, "fold per row; use a smaller size"),
    ],
)
def test_impossible_faults_are_one_sentence(
    system: RandomSystem, fields: dict[str, Any], words: str
) -> None:
    usual: dict[str, Any] = {"kind": "bias", "signal": "S01", "start": 10, "end": 20}
    with pytest.raises((SettingError, UnknownNameError), match=words):
        system.simulate(ROWS, seed=1, faults=[Fault(**(usual | fields))])


def test_overlapping_faults_of_one_signal_are_refused(system: RandomSystem) -> None:
    one, two = Fault("bias", "S01", 10, 20), Fault("stuck", "S01", 19, 30)
    with pytest.raises(SettingError, match="at the same time"):
        system.simulate(ROWS, seed=1, faults=[one, two])
    system.simulate(ROWS, seed=1, faults=[one, Fault("stuck", "S01", 20, 30)])
    system.simulate(ROWS, seed=1, faults=[one, Fault("stuck", "S02", 15, 30)])


def test_mechanism_without_links_is_refused() -> None:
    loose = random_system(2, links=0, auto=False)
    with pytest.raises(SettingError, match="no links into it"):
        loose.simulate(100, seed=1, faults=[Fault("mechanism", "S01", 5, 10)])
    assert not {"mechanism", "broken_link"} & set(loose.fault_kinds)
    assert "new_link" not in random_system(2, links=2).fault_kinds


@pytest.mark.parametrize("sort", SYSTEM_KINDS)
def test_random_faults_are_spread_with_normal_stretches(sort: str) -> None:
    system = random_system(8, kind=sort, seed=1)
    faults = random_faults(system, 4500, 12, 3)
    assert faults == random_faults(system, 4500, 12, 3)
    assert faults != random_faults(system, 4500, 12, 4)
    assert {fault.kind for fault in faults[:9]} == set(FAULT_KINDS)
    bounds = [0, *(row for fault in faults for row in (fault.start, fault.end)), 4500]
    normal = np.diff(bounds)[::2]
    assert (normal >= 40).all()
    assert np.isfinite(np.nanmax(np.abs(system.simulate(4500, seed=1, faults=faults).values)))


def test_random_faults_at_the_fewest_rows(system: RandomSystem) -> None:
    for seed in range(30):
        faults = random_faults(system, 180, 9, seed)
        assert all(a.end < b.start for a, b in pairwise(faults))
    assert random_faults(system, 10, 0, 1) == ()


@pytest.mark.parametrize(
    ("count", "kinds", "words"),
    [
        (9, None, "at least 180 rows, but there are 100"),
        (1, ["biass"], "Did you mean 'bias'"),
        (1, [], "name at least one kind"),
        (-1, None, "0 faults or more"),
    ],
)
def test_impossible_random_faults(
    system: RandomSystem, count: int, kinds: list[str] | None, words: str
) -> None:
    with pytest.raises(CausewatchError, match=words):
        random_faults(system, 100, count, 1, kinds=kinds)
    with pytest.raises(SettingError, match="cannot have a fault of kind 'broken_link'"):
        random_faults(random_system(2, links=0), 100, 1, 1, kinds=["broken_link"])
