"""Random systems: structure, recursion, reproducibility."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.graph import Link
from causewatch.simulate import SYSTEM_KINDS, RandomSystem, Simulation, random_system
from causewatch.simulate.recursion import Edge, growth

CURVES = {
    "linear": lambda x: x,
    "tanh": math.tanh,
    "bend": lambda x: x * abs(x) / (1 + x * x),
    "sine": lambda x: math.sin(x / 2),
    "switch": lambda x: 1.0 if x == 1 else -1.0,
}


def innovations(system: RandomSystem, rows: int, seed: int) -> NDArray[np.float64]:
    """Noise plus intercepts: the same system without any links."""
    loose = dataclasses.replace(system, edges=(), two_valued=np.zeros_like(system.two_valued))
    return loose.simulate(rows, seed=seed, burn_in=0).values


def naive(system: RandomSystem, rows: int, seed: int) -> list[list[float]]:
    """Slow, obvious twin of the recursion, from rest."""
    noise = innovations(system, rows, seed)
    modes = system.simulate(rows, seed=seed, burn_in=0).modes
    past = [[0.0] * len(system.signals) for _ in range(system.max_lag)]
    for t in range(rows):
        now: dict[int, float] = {}
        while len(now) < len(system.signals):
            for k in range(len(system.signals)):
                causes = [e for e in system.edges if e.target == k]
                if k in now or any(e.lag == 0 and e.source not in now for e in causes):
                    continue
                total = noise[t, k]
                for e in causes:
                    value = now[e.source] if e.lag == 0 else past[-e.lag][e.source]
                    total += e.coefficients[modes[t]] * CURVES[e.function](value)
                now[k] = float(total > 0) if system.two_valued[k] else total
        past.append([now[k] for k in range(len(system.signals))])
    return past[system.max_lag :]


def t_values(system: RandomSystem, sim: Simulation) -> dict[Link, float]:
    """How clearly each true link shows in a regression on the true causes."""
    x, lags, out = sim.values, system.max_lag, {}
    levels = np.eye(len(system.intercepts))[sim.modes][lags:]
    for k, name in enumerate(system.signals):
        links = system.graph.parents(name)
        columns = [x[lags - p.lag : len(x) - p.lag, system.signals.index(p.source)] for p in links]
        design = np.column_stack([*columns, levels])
        inverse = np.linalg.inv(design.T @ design)
        beta = inverse @ design.T @ x[lags:, k]
        error = (x[lags:, k] - design @ beta).std() * np.sqrt(np.diag(inverse))
        out |= dict(zip(links, np.abs(beta / error), strict=False))
    return out


@pytest.mark.parametrize("contemporaneous", [0.0, 0.5])
@pytest.mark.parametrize("kind", SYSTEM_KINDS)
def test_recursion_equals_naive_twin(kind: str, contemporaneous: float) -> None:
    system = random_system(6, links=9, kind=kind, seed=4, contemporaneous=contemporaneous)
    rows = 900 if kind == "modes" else 80
    sim = system.simulate(rows, seed=5, burn_in=0)
    if kind == "modes":
        assert len(set(sim.modes.tolist())) > 1
    np.testing.assert_allclose(sim.values, naive(system, rows, 5), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", SYSTEM_KINDS)
def test_same_seed_same_numbers(kind: str) -> None:
    one, two = (random_system(8, kind=kind, seed=3) for _ in range(2))
    assert one.graph == two.graph
    a, b = one.simulate(300, seed=1), two.simulate(300, seed=1)
    np.testing.assert_array_equal(a.values, b.values)
    assert not np.array_equal(a.values, one.simulate(300, seed=2).values)
    assert one.graph != random_system(8, kind=kind, seed=4).graph


def test_longer_recording_starts_the_same_even_across_buffers() -> None:
    system = random_system(4, seed=1)
    long = system.simulate(9000, seed=1).values
    np.testing.assert_array_equal(long[:700], system.simulate(700, seed=1).values)


@pytest.mark.parametrize("kind", SYSTEM_KINDS)
def test_stable_and_every_link_shows(kind: str) -> None:
    for seed in range(3):
        system = random_system(10, kind=kind, seed=seed)
        assert growth(system.edges, system.two_valued, system.max_lag) <= 0.95 + 1e-9
        sim = system.simulate(5000, seed=seed + 50)
        assert sim.values.std(axis=0).max() < 10
        weakest = min(t_values(system, sim).values())
        assert weakest > 4


def test_growth_of_known_recursions() -> None:
    free = np.array([False])
    assert growth([Edge(0, 0, 1, "linear", (0.9,))], free, 2) == pytest.approx(0.9)
    assert growth([Edge(0, 0, 2, "linear", (0.81,))], free, 2) == pytest.approx(0.9)
    two = [Edge(0, 0, 1, "linear", (0.1, 1.2)), Edge(0, 0, 2, "linear", (0.0, 0.0))]
    assert growth(two, free, 2) == pytest.approx(1.2)
    assert growth([Edge(0, 0, 1, "switch", (5.0,))], ~free, 1) == 0.0
    # x = 0.5 y(t), y = x(t - 1): every second step halves nothing more than once per row
    loop = [Edge(1, 0, 0, "linear", (0.5,)), Edge(0, 1, 1, "linear", (1.0,))]
    assert growth(loop, np.array([False, False]), 1) == pytest.approx(0.5)


def test_dense_system_is_scaled_down() -> None:
    system = random_system(8, links=56, seed=0)
    assert len(system.graph) == 56 + 8
    assert growth(system.edges, system.two_valued, 3) == pytest.approx(0.95)


def test_graph_has_the_links_and_coefficients_asked_for() -> None:
    system = random_system(7, links=11, max_lag=5, seed=2)
    between = [link for link in system.graph if not link.is_auto]
    assert len(between) == 11
    assert len({(link.source, link.target) for link in between}) == 11
    assert {link.lag for link in between} <= set(range(1, 6))
    assert [link for link in system.graph if link.is_auto] == [
        Link(name, name, 1) for name in system.signals
    ]
    assert system.signals == tuple(f"S{k:02d}" for k in range(1, 8))
    for e in system.edges:
        strength = system.graph[Link(system.signals[e.source], system.signals[e.target], e.lag)]
        assert (strength.value, strength.p_value) == (e.coefficients[0], 0.0)
    assert not any(link.is_auto for link in random_system(7, auto=False).graph)
    assert len(random_system(3, links=0, auto=False).graph) == 0
    assert random_system(120, links=1).signals[-1] == "S120"


def test_contemporaneous_links_form_no_circle() -> None:
    system = random_system(10, links=40, contemporaneous=0.5, seed=1)
    now = {(link.source, link.target) for link in system.graph if link.lag == 0}
    assert len(now) == 20
    left = set(system.signals)
    while left:
        free = {name for name in left if not any(b == name and a in left for a, b in now)}
        assert free
        left -= free


def test_heavy_noise_has_unit_variance_and_heavy_tails() -> None:
    system = random_system(4, links=0, auto=False, kind="heavy")
    x = system.simulate(50_000, seed=0).values
    assert x.std() == pytest.approx(1.0, abs=0.1)
    assert (np.abs(x) > 5).mean() > 1e-3


def test_binary_signals_switch_and_have_cause_and_effect() -> None:
    system = random_system(10, kind="binary", seed=6)
    switches = [name for name in system.signals if name.startswith("A")]
    assert switches == ["A01", "A02", "A03"]
    assert system.signals[-3:] == tuple(switches)
    x = system.simulate(3000, seed=1).values[:, -3:]
    assert set(np.unique(x)) == {0.0, 1.0}
    assert ((x.mean(axis=0) > 0.1) & (x.mean(axis=0) < 0.9)).all()
    assert ((np.diff(x, axis=0) != 0).mean(axis=0) < 0.4).all()
    for name in switches:
        assert any(not link.is_auto for link in system.graph.parents(name))
        assert any(not link.is_auto for link in system.graph.children(name))


def test_modes_last_and_differ() -> None:
    system = random_system(10, kind="modes", seed=1)
    sim = system.simulate(6000, seed=1)
    switches = np.flatnonzero(np.diff(sim.modes))
    assert len(switches) > 5
    assert np.diff(switches).min() >= 100
    levels = [sim.values[sim.modes == mode].mean(axis=0) for mode in set(sim.modes.tolist())]
    assert len(levels) in (2, 3)
    assert np.abs(levels[0] - levels[1]).max() > 1
    assert any(len({*e.coefficients}) > 1 for e in system.edges)
    assert all(system.graph[link].value != 0 for link in system.graph)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "lineer"}, "Did you mean 'linear'"),
        ({"signals": 0}, "at least 1 signal, not 0"),
        ({"signals": 1, "kind": "binary"}, "at least 2 signals"),
        ({"max_lag": 0}, "must be 1 or more"),
        ({"signals": 3, "links": 7}, "0 to 6 links"),
        ({"links": -1}, "not -1"),
        ({"contemporaneous": 1.5}, "between 0 and 1"),
        ({"signals": 3, "links": 6, "contemporaneous": 1.0}, "at most 3"),
        ({"seed": -1}, "0 or larger"),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((SettingError, UnknownNameError), match=words):
        random_system(**settings)


def test_bad_simulations_are_one_sentence() -> None:
    system = random_system(3)
    with pytest.raises(SettingError, match="at least 1 row"):
        system.simulate(0, seed=1)
    with pytest.raises(SettingError, match="burn-in of -1"):
        system.simulate(10, seed=1, burn_in=-1)
    with pytest.raises(SettingError, match="seed is -3"):
        system.simulate(10, seed=-3)


def test_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[3] / "docs" / "simulate.md"
    example = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    exec(compile(example, str(page), "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] == "200"
