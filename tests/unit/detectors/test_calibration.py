"""Limits from normal ticks: honest, monotone, and never marked by the one who is examined."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from causewatch.detectors import (
    Equations,
    InnovationDetector,
    Judged,
    Layout,
    calibrate,
    calibration,
    scores_of,
)
from causewatch.detectors.reestimate import reestimate
from causewatch.detectors.tails import cluster_peaks


def equations_of(signals=2, links=((0, 0, 1, 0.0), (0, 1, 1, 0.0))):
    table = np.array(links, dtype=float).reshape(-1, 4)
    source, target, lag = table[:, :3].T.astype(np.intp)
    return Equations(
        signals, 1, source, target, lag, table[:, 3].copy(), np.zeros(signals), np.ones(signals)
    )


def noise(seed, ticks, signals=2, parts=4, size=1.0):
    """White noise in parts, each judged by the true mechanisms (nothing causes anything)."""
    rows = size * np.random.default_rng(seed).normal(size=(ticks, signals))
    equations = equations_of(signals)
    return [Judged(equations, [piece]) for piece in np.array_split(rows, parts)]


def limits_from(normal, every, **options):
    signals = normal[0].equations.signals
    given = {"centre": np.zeros(signals), "scale": np.ones(signals)} | options
    return calibrate(normal, false_alarm_every=every, **given)


def alarms(limits, seed, ticks, size=1.0):
    rows = size * np.random.default_rng(seed).normal(size=(ticks, 2))
    scores = scores_of(Judged(equations_of(), [rows]), limits)
    return len(cluster_peaks(np.nan_to_num(scores), 1.0, 10))


def test_fresh_noise_alarms_about_as_often_as_asked():
    found = [alarms(limits_from(noise(seed, 800), 100.0), 1000 + seed, 2000) for seed in range(4)]
    # 20 were asked for each time, and some run into each other.
    assert 20 < sum(found) < 240
    assert min(found) > 0


def test_limits_rise_with_the_time_between_false_alarms():
    normal = noise(0, 800)
    found = [limits_from(normal, every) for every in (200.0, 400.0, 5000.0)]
    allowed = [limits.statistics * limits.overall for limits in found]
    for less, more in pairwise(allowed):
        assert (less < 1.02 * more).all()
        assert less.mean() < 0.95 * more.mean()
    for less, more in pairwise(found):
        assert (less.links <= more.links).all()
    assert [limits.false_alarm_every for limits in found] == [200.0, 400.0, 5000.0]
    assert {limits.supported for limits in found} == {400.0}


def test_limits_rise_with_the_time_between_false_alarms_however_short():
    normal = noise(0, 800)
    often, rarely = limits_from(normal, 60.0), limits_from(normal, 200.0)
    ratio = often.statistics * often.overall / (rarely.statistics * rarely.overall)
    # Not each of them: what was passed too often already moves single levels against the others.
    assert (ratio < 1.15).all()
    assert ratio.mean() < 0.95


def test_a_recording_set_aside_decides_the_overall_limit():
    normal, apart = noise(0, 600), noise(1, 600, parts=1, size=2.0)
    layout = Layout(2, 2, (1, 8), (8,), ())
    plain = limits_from(normal, 150.0, layout=layout)
    moved = limits_from(normal, 150.0, layout=layout, apart=apart)
    means = slice(0, 4)
    ratio = (moved.statistics * moved.overall / (plain.statistics * plain.overall))[means]
    assert_allclose(ratio, 2.0, rtol=0.4)
    assert moved.supported == 300.0
    assert alarms(moved, 5, 1500, size=2.0) < 50
    assert alarms(plain, 5, 1500, size=2.0) > 0


def test_no_part_is_judged_by_levels_it_had_a_say_in(monkeypatch):
    normal = noise(0, 400)
    seen, used = {}, []
    watch, levels, by_block = calibration._watch, calibration._levels, calibration._by_block

    def watching(part, *rest):
        found = watch(part, *rest)
        seen[id(found)] = part
        return found

    def levelling(parts, *rest):
        used.append([seen[id(one)] for one in parts])
        return levels(parts, *rest)

    def judging(part, *rest):
        assert used[-1] == [other for other in normal if other is not part]
        judged.append(part)
        return by_block(part, *rest)

    judged = []
    monkeypatch.setattr(calibration, "_watch", watching)
    monkeypatch.setattr(calibration, "_levels", levelling)
    monkeypatch.setattr(calibration, "_by_block", judging)
    limits_from(normal, 100.0)
    assert judged == normal
    assert used[-1] == normal  # the limits themselves come from all


def test_one_loud_part_raises_the_limits():
    quiet, loud = noise(0, 600, parts=3), noise(1, 200, parts=1, size=3.0)
    plain, raised = limits_from(quiet, 100.0), limits_from([*quiet, *loud], 100.0)
    place = slice(0, 2)
    assert (raised.statistics * raised.overall)[place].min() > 1.5 * (
        plain.statistics * plain.overall
    )[place].max()


def test_scores_are_those_of_the_detector_stretch_by_stretch():
    equations = equations_of(2, ((0, 0, 1, 0.5), (0, 1, 1, 0.5)))
    rows = np.random.default_rng(3).normal(size=(60, 2))
    rows[40:45] = np.nan
    part = Judged(equations, [rows[:30], rows[30:]])
    assert len(part) == 60
    limits = limits_from(noise(0, 400), 100.0)
    found = scores_of(part, limits)
    detector = InnovationDetector(equations, limits)
    expected = [detector.update(row, new_stretch=k in (0, 30)).score for k, row in enumerate(rows)]
    assert_array_equal(found, [np.nan if one is None else one for one in expected])
    assert np.isnan(found[[0, 30]]).all()
    assert np.isnan(found[40:45]).all()
    assert np.isfinite(found[1:30]).all()


def test_units_play_no_part():
    rows = np.random.default_rng(3).normal(size=(400, 2))
    plain = limits_from([Judged(equations_of(), [half]) for half in np.split(rows, 2)], 80.0)
    units = np.array([1e6, 1e-6])
    scaled = replace(equations_of(), spread=units)
    parts = [Judged(scaled, [half * units]) for half in np.split(rows, 2)]
    found = limits_from(parts, 80.0, scale=units)
    assert_allclose(found.statistics, plain.statistics, rtol=1e-6)
    assert found.overall == pytest.approx(plain.overall, rel=1e-6)


def test_link_limits_hold_normal_changes():
    normal = noise(0, 1500, parts=2)
    limits = limits_from(normal, 500.0, layout=Layout(2, 2, (1,), (), ()))
    fresh = np.random.default_rng(9).normal(size=(1500, 2))
    left = equations_of().innovations(fresh)
    changes = np.array(
        [
            reestimate(
                equations_of(), fresh[k : k + 129], left[k : k + 129], np.zeros(2), np.ones(2)
            )
            for k in range(0, 1300, 40)
        ]
    )
    above = np.abs(changes) > limits.links
    assert above.mean() < 0.05
    assert (np.abs(changes).max(axis=0) > 0.3 * limits.links).all()  # nor are they far away


def test_progress_is_told_in_order():
    told = []
    limits_from(noise(0, 200), 50.0, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
    assert 0.0 < told[0] < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_poor_recordings_still_give_limits(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 2))
    cases = {
        "holes": np.where(rng.random(rows.shape) < 0.3, np.nan, rows),
        "constant": np.where(np.arange(2) == 1, 0.0, rows),
        "two-valued": np.sign(rows),
        "rare spikes": np.where(rng.random(rows.shape) < 0.01, 1e9, 0.0),
        "all holes in one part": np.where(np.arange(200)[:, None] < 50, np.nan, rows),
    }
    for name, values in cases.items():
        normal = [Judged(equations_of(), [piece]) for piece in np.array_split(values, 4)]
        limits = limits_from(normal, 50.0)
        for array in (limits.statistics, limits.links, np.array(limits.overall)):
            assert np.isfinite(array).all(), name
            assert (array > 0).all(), name


def test_without_links_and_with_one_part():
    rows = np.random.default_rng(0).normal(size=(1000, 1))
    normal = [Judged(equations_of(1, ()), [rows])]
    limits = limits_from(normal, 200.0)
    assert limits.layout.coefficients == ()
    assert limits.links.shape == (0,)
    scores = scores_of(normal[0], limits)
    assert len(cluster_peaks(scores, 1.0, 10)) < 15  # five were asked for


def test_memories_follow_the_length_of_all_recordings():
    assert limits_from(noise(0, 100), 50.0).layout.means == (1, 8)
    assert limits_from(noise(0, 400), 50.0).layout.means == (1, 8, 32)
    both = limits_from(noise(0, 200), 50.0, apart=noise(1, 200, parts=1))
    assert both.layout.means == (1, 8, 32)
