"""What residuals say about a model's assumptions, and how seldom they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from causewatch.model.assumptions import nonlinearity_findings, residual_findings

NAMES = tuple("ABCDEF")


def kinds(residuals: np.ndarray, starts: tuple[int, ...] = (0,)) -> dict[str, tuple[str, ...]]:
    findings = residual_findings(NAMES, residuals, np.array(starts), 10.0, 1.0)
    return {finding.kind: finding.signals for finding in findings}


@pytest.mark.parametrize("rows", [200, 3000])
@pytest.mark.parametrize("noise", ["normal", "heavy", "holes"])
def test_noise_is_left_in_peace(noise: str, rows: int) -> None:
    wrong = 0
    for seed in range(25):
        rng = np.random.default_rng([99, seed, rows])
        x = rng.standard_normal((rows, 6)) if noise != "heavy" else rng.standard_t(3, (rows, 6))
        if noise == "holes":
            x[rng.random(x.shape) < 0.2] = np.nan
        parents = {
            t: [(s, lfilter([1], [1, -0.95], rng.standard_normal(rows))) for s in NAMES]
            for t in NAMES
        }
        wrong += bool(set(kinds(x)) - {"residual_tails"})
        wrong += bool(nonlinearity_findings(NAMES, x, parents))
    assert wrong <= 2


def test_leftover_memory() -> None:
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng([98, seed])
        x = rng.standard_normal((1000, 6))
        x[3:, 2] += 0.5 * x[:-3, 2]
        found = kinds(x)
        hits += found.get("residual_memory") == ("C",)
    assert hits >= 18
    (finding,) = residual_findings(NAMES, x, [0], 10.0, 1.0)
    assert "C still depends on itself 3 ticks (30 s) earlier, with correlation 0." in finding.text
    assert "--max-lag" in finding.remedy


def test_memory_is_not_looked_for_across_gaps() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2000, 6))
    x[1::2, 0] = x[::2, 0]
    assert kinds(x)["residual_memory"] == ("A",)
    assert "residual_memory" not in kinds(x, starts=tuple(range(1, 2000, 2)))


def test_a_small_memory_is_not_worth_a_word() -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((50_000, 6))
    x[1:] += 0.1 * x[:-1]
    assert kinds(x) == {}


def test_effects_faster_than_a_tick() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1000, 6))
    x[:, 4] += 0.7 * x[:, 1]
    assert kinds(x) == {"residual_shared": ("B", "E")}
    (finding,) = residual_findings(NAMES, x, [0], 10.0, 1.0)
    assert "--every shorter than 10 s" in finding.remedy


def test_heavy_tails_are_only_mentioned() -> None:
    x = np.random.default_rng(6).standard_normal((3000, 6))
    x[:, 3] = np.random.default_rng(7).standard_t(2, 3000)
    (finding,) = residual_findings(NAMES, x, [0], 10.0, 1.0)
    assert (finding.kind, finding.severity) == ("residual_tails", "info")
    assert finding.signals == ("D",)


@pytest.mark.parametrize("bend", [np.square, np.abs, lambda x: np.maximum(x, 0) - x / 2])
def test_bent_relations(bend: np.ufunc) -> None:
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng([97, seed])
        cause, other = rng.standard_normal((2, 2000))
        x = rng.standard_normal((2000, 6))
        x[:, 0] += 1.2 * bend(cause)
        found = nonlinearity_findings(NAMES, x, {"A": [("B", other), ("C", cause)]})
        hits += [finding.signals for finding in found] == [("A", "C")]
    assert hits >= 18


def test_straight_two_valued_and_empty_parents_are_fine() -> None:
    rng = np.random.default_rng(8)
    x = rng.standard_normal((1000, 6))
    switch = (rng.random(1000) < 0.3).astype(float)
    x[:, 0] += switch
    straight = rng.standard_normal(1000)
    x[:, 1] += straight
    empty = np.full(1000, np.nan)
    parents = {"A": [("B", switch), ("C", empty), ("D", np.ones(1000))], "B": [("C", straight)]}
    assert nonlinearity_findings(NAMES, x, parents) == []
    assert residual_findings(NAMES, np.full((100, 6), np.nan), [0], 1.0, 1.0) == []
    assert residual_findings(NAMES, np.zeros((0, 6)), [0], 1.0, 1.0) == []
