"""The published detector against its literal twin, its options, and its state."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import causewatch
import literal_paper
from causewatch.detectors.equations import Equations
from causewatch.detectors.published import (
    NEVER_MOVED,
    PublishedDetector,
    PublishedOptions,
    published_limits,
)
from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from recordings import stable

TOLERANCE = 1e-6


def system(links, *, signals, max_lag, coefficient=None):
    """Equations from (source, target, lag) triples."""
    links = sorted(links, key=lambda link: (link[1], link[0], link[2]))
    source, target, lag = (np.array(part, dtype=np.intp) for part in zip(*links, strict=True))
    return Equations(
        signals=signals,
        max_lag=max_lag,
        source=source,
        target=target,
        lag=lag,
        coefficient=np.full(len(links), 0.3) if coefficient is None else coefficient,
        intercept=np.zeros(signals),
        spread=np.ones(signals),
    )


LINKS = [(0, 1, 1), (2, 1, 0), (1, 1, 2), (0, 1, 3), (3, 2, 0), (2, 3, 1), (3, 3, 1), (2, 3, 2)]
"""Into signals 1, 2 and 3; signal 0 has no causes."""


@pytest.fixture
def small():
    return system(LINKS, signals=4, max_lag=3)


def rows(seed=1, count=120):
    return stable(seed, 4, count)


def watch(detector, ticks):
    return [detector.update(values) for values in ticks]


def learnt(normal, **options):
    """Equations, limits and a way to make ticks, by the `paper` preset from unnamed rows."""
    model = causewatch.learn(normal, preset="paper", **options)
    kept = [int(name.removeprefix("x")) for name in model.signals]
    equations = literal_paper.equations_of(model)

    def ticks(rows):
        return np.nan_to_num(rows[:: model.preprocessing.step, kept])

    return equations, published_limits(ticks(normal), equations), ticks


@pytest.fixture(scope="module")
def tennessee(data_folder):
    return learnt(np.loadtxt(data_folder / "tep" / "d00.dat").T)


@pytest.fixture(scope="module")
def skab(data_folder):
    path = data_folder / "skab" / "anomaly-free" / "anomaly-free.csv"
    return learnt(causewatch.read_table(path).values[:2000])


def compare(equations, limits, live, *, dense, every):
    """Feed every tick; compare the first `dense` and then every so many with the literal twin.

    Differences are relative to the larger of the literal and the normal coefficient. Where one is
    too large, it must be within ten times of what the literal answer itself moves by when the last
    bit of the data does; such links may only be few.
    """
    detector = PublishedDetector(equations, limits)
    compared = undetermined = 0
    for newest, values in enumerate(live):
        evidence = detector.update(values)
        if newest < equations.max_lag:
            assert evidence.score is None
            continue
        if newest > dense and newest % every:
            continue
        literal = literal_paper.coefficients(live, equations, newest)
        distance = np.abs(detector.links().observed - literal)
        size = np.maximum(np.abs(literal), np.abs(equations.coefficient))
        off = distance > TOLERANCE * size
        if off.any():
            doubt = literal_paper.own_doubt(live[: newest + 1], equations, newest, literal)
            assert np.all(distance[off] <= 10.0 * doubt[off]), newest
        undetermined += int(off.sum())
        compared += len(off)
        broken = np.abs(literal - equations.coefficient) > limits
        assert bool(broken.any()) == (evidence.score > 1.0)
    assert undetermined <= 0.001 * compared


@pytest.mark.data
@pytest.mark.parametrize("recording", ["d00_te.dat", "d01_te.dat", "d06_te.dat"])
def test_tennessee_eastman_is_as_the_literal_twin(tennessee, data_folder, recording):
    equations, limits, ticks = tennessee
    live = ticks(np.loadtxt(data_folder / "tep" / recording))
    compare(equations, limits, live, dense=60, every=80)


@pytest.mark.data
@pytest.mark.parametrize("recording", ["valve1/3.csv", "other/9.csv"])
def test_skab_is_as_the_literal_twin(skab, data_folder, recording):
    equations, limits, ticks = skab
    path = data_folder / "skab" / recording
    live = ticks(causewatch.read_table(path, labels="anomaly", ignore=["changepoint"]).values)
    compare(equations, limits, live, dense=250, every=20)


@pytest.mark.parametrize("seed", range(4))
def test_random_systems_are_as_the_literal_twin(seed):
    together = stable(seed, 6, 2200)
    together[:, 2] = together[:, 2] > 0.3  # on and off
    together[:, 4] = 3000.0 + 2.0 * together[:, 4]  # moves little at a high level
    together[1100:1300, 2] = 0.0  # stands still at the beginning of the live part
    equations, limits, ticks = learnt(together[:1100], max_lag=2)
    compare(equations, limits, ticks(together[1100:]), dense=250, every=40)


def test_signals_that_are_copies_are_as_the_literal_twin(small):
    live = rows(5, 150)
    live[:, 2] = live[:, 0]
    live[:40, 3] = 7.0
    compare(small, np.ones(len(LINKS)), live, dense=150, every=1)


def test_more_causes_than_ticks_are_as_the_literal_twin():
    """As on the robot: wide regressions, signals that repeat each other, stand still or wake up."""
    links = [(source, target, lag) for target in (0, 5) for source in range(12) for lag in (1, 2)]
    equations = system(links, signals=12, max_lag=2)
    live = stable(8, 12, 60)
    live[:, 3] = live[:, 2]
    live[:, 4] = 0.5 * live[:, 1] + 3.0
    live[:, 6] = 20.0
    live[:35, 7] = 1.0
    live[40:44] = live[39]
    compare(equations, np.ones(len(links)), live, dense=60, every=1)


def test_limits_are_as_the_literal_twin(small):
    normal = rows(3, 90)
    assert np.allclose(
        published_limits(normal, small), literal_paper.limits(normal, small), rtol=1e-9
    )


def test_limits_over_the_whole_recording(small):
    normal = rows(3, 90)
    text = PublishedOptions(limit_share=1.0, limit_last_step=True)
    longer = np.append(normal, [[9.0, 9.0, 9.0, 9.0]], axis=0)  # the twin drops the last tick
    expected = literal_paper.limits(longer, small, share=1.0)
    assert np.allclose(published_limits(normal, small, text), expected, rtol=1e-9)


def test_too_short_a_recording_has_no_limits(small):
    with pytest.raises(NotEnoughDataError, match="give a longer recording"):
        published_limits(rows(1, 6), small)


def test_evidence_is_the_largest_ratio_into_each_signal(small):
    limits = np.linspace(0.5, 2.0, len(LINKS))
    detector = PublishedDetector(small, limits)
    live = rows(2)
    last = watch(detector, live)[-1]
    literal = literal_paper.coefficients(live, small, len(live) - 1)
    ratio = np.abs(literal - small.coefficient) / limits
    for target in (1, 2, 3):
        assert last.signals[target] == pytest.approx(ratio[small.target == target].max())
    assert np.isnan(last.signals[0])
    assert last.score == pytest.approx(ratio.max())
    assert np.allclose(detector.links().deviation, ratio)


def test_expected_values_come_from_the_normal_coefficients(small):
    equations = dataclasses.replace(small, intercept=np.array([1.0, 2.0, 3.0, 4.0]))
    live = rows(2)
    seen = watch(PublishedDetector(equations, np.ones(len(LINKS))), live)
    assert np.isnan(seen[0].expected[[1, 3]]).all()  # causes before the first tick
    expected = 2.0 + 0.3 * (live[39, 0] + live[37, 0] + live[38, 1] + live[40, 2])
    assert seen[40].expected[1] == pytest.approx(expected)
    assert seen[40].expected[0] == 1.0


def test_ranking_is_the_papers_criterion(small):
    live = rows(4)
    detector = PublishedDetector(
        small, np.ones(len(LINKS)), PublishedOptions(ranking_weight="once")
    )
    watch(detector, live[:70])
    before = detector.totals()
    watch(detector, live[70:])
    assert np.allclose(detector.ranking(), literal_paper.ranking(live, small, 0, len(live)))
    window = literal_paper.ranking(live, small, 70, len(live))
    assert np.allclose(detector.ranking(since=before), window, rtol=1e-9)


def test_a_late_window_is_not_swallowed_by_a_wild_beginning():
    """The first, under-determined ticks may be off by many powers of ten."""
    equations = system([(0, 1, 0)], signals=2, max_lag=0, coefficient=np.array([1e9]))
    live = np.random.default_rng(3).normal(size=(60, 2))
    once = PublishedOptions(ranking_weight="once")
    detector = PublishedDetector(equations, np.ones(1), once)
    watch(detector, live[:59])
    before = detector.totals()
    detector.update(live[59])
    distance = abs(literal_paper.coefficients(live, equations, 59)[0] - 1e9)
    assert detector.ranking(since=before)[1] == pytest.approx(distance, rel=1e-12)


def test_ranking_options(small):
    live, limits = rows(4), np.linspace(0.5, 2.0, len(LINKS))
    ranked = {}
    for weight in ("once", "root_links"):
        for units in ("raw", "limit"):
            chosen = PublishedOptions(ranking_weight=weight, ranking_units=units)
            detector = PublishedDetector(small, limits, chosen)
            watch(detector, live)
            ranked[weight, units] = detector.ranking()
    links = np.array([0, 4, 1, 3])
    assert np.allclose(ranked["root_links", "raw"], ranked["once", "raw"] * np.sqrt(links))
    totals = detector.totals().sum(axis=0) / limits**2
    expected = [np.sqrt(totals[small.target == target].sum()) for target in range(4)]
    assert np.allclose(ranked["once", "limit"], expected)


def test_suspects_of_scripts_and_text():
    links = [(k, (k + 1) % 12, 1) for k in range(12)]
    equations = system(links, signals=12, max_lag=1)
    for rule, size in (("scripts", 2), ("text", 1)):
        detector = PublishedDetector(equations, np.ones(12), PublishedOptions(suspects=rule))
        watch(detector, stable(2, 12, 50))
        assert detector.suspects().tolist() == np.argsort(-detector.ranking())[:size].tolist()


def test_each_cause_once_as_in_the_text(small):
    text = PublishedOptions(columns="first_lag", intercept=False)
    limits = published_limits(rows(3), small, text)
    left_out = [(0, 1, 3), (2, 3, 2)]
    keep = np.array(
        [
            (i, j, lag) not in left_out
            for i, j, lag in zip(small.source, small.target, small.lag, strict=True)
        ]
    )
    assert np.array_equal(np.isnan(limits), ~keep)
    detector = PublishedDetector(small, limits, text)
    live = rows(2)
    last = watch(detector, live)[-1]
    fewer = system([link for link in LINKS if link not in left_out], signals=4, max_lag=3)
    literal = literal_paper.coefficients(live, fewer, len(live) - 1, intercept=False)
    observed = detector.links().observed
    assert np.allclose(observed[keep], literal)
    assert np.isnan(observed[~keep]).all()
    assert np.isfinite(last.signals[1:]).all()


def test_first_row_of_the_last_target():
    links = [(0, 1, 0), (1, 2, 2)]
    equations = system(links, signals=3, max_lag=2)
    options = PublishedOptions(first_row="last_target")
    detector = PublishedDetector(equations, np.ones(2), options)
    live = stable(3, 3, 20)
    watch(detector, live)
    later = literal_paper.coefficients(live[2:], equations, 17)[0]  # the first two ticks left out
    assert detector.links().observed[0] == pytest.approx(later)
    with pytest.raises(SettingError, match="use 'own'"):
        PublishedDetector(system([(0, 2, 0), (1, 1, 2)], signals=3, max_lag=2), np.ones(2), options)


def test_limit_factor(small):
    live, limits = rows(2), np.ones(len(LINKS))
    plain = watch(PublishedDetector(small, limits), live)[-1]
    options = PublishedOptions(limit_factor=4.0)
    assert watch(PublishedDetector(small, limits, options), live)[-1].score == plain.score / 4


def test_names_as_in_the_scripts(small):
    """Scored by lag, named by source: the numbers of one target are exchanged."""
    right = PublishedDetector(small, np.ones(len(LINKS)))
    wrong = PublishedDetector(small, np.ones(len(LINKS)), PublishedOptions(naming="scripts"))
    live = rows(2)
    scores = [[seen.score for seen in watch(detector, live)] for detector in (right, wrong)]
    assert scores[0] == scores[1]
    into = np.flatnonzero(small.target == 1)  # sources 0, 0, 1, 2 with lags 1, 3, 2, 0
    by_lag = into[np.argsort(small.lag[into])]
    assert np.array_equal(wrong.links().observed[into], right.links().observed[by_lag])


def test_stopping_at_the_first_broken_link(small):
    options = PublishedOptions(stopping="first_alarm")
    detector = PublishedDetector(small, np.full(len(LINKS), 0.5), options)
    seen = watch(detector, rows(2))
    scores = [evidence.score for evidence in seen]
    first = next(k for k, score in enumerate(scores) if score is not None and score > 1.0)
    assert set(scores[first:]) == {scores[first]}
    assert detector.step == first - small.max_lag


def test_step_numbers(small):
    for numbers, expected in (("estimates", 16), ("ticks", 19)):
        options = PublishedOptions(step_numbers=numbers)
        detector = PublishedDetector(small, np.ones(len(LINKS)), options)
        watch(detector, rows(2)[:20])
        assert detector.step == expected


def test_a_limit_of_zero_breaks_on_any_movement_but_not_on_rounding():
    equations = system([(0, 1, 0)], signals=2, max_lag=0, coefficient=np.array([2.0]))
    cause = np.linspace(1.0, 9.0, 40)
    steady = np.column_stack([cause, 2.0 * cause + 5.0])
    detector = PublishedDetector(equations, np.zeros(1))
    assert watch(detector, steady)[-1].score == 0.0
    moved = steady.copy()
    moved[20:, 1] += 0.1 * np.arange(20)
    detector = PublishedDetector(equations, np.zeros(1))
    assert watch(detector, moved)[-1].score == NEVER_MOVED


def test_missing_values_are_left_out_of_the_regressions_they_belong_to(small):
    live = rows(2)
    live[50, 0] = np.nan  # a cause of signal 1, one and three ticks later
    live[60, 3] = np.inf
    detector = PublishedDetector(small, np.ones(len(LINKS)))
    seen = watch(detector, live)
    assert np.isnan([seen[tick].signals[1] for tick in (51, 53)]).all()
    assert np.isfinite([seen[tick].signals[1] for tick in (50, 52, 54)]).all()
    assert np.isnan(seen[51].expected[1])
    assert np.isfinite(seen[51].signals[[2, 3]]).all()
    assert np.isnan(seen[60].signals[[2, 3]]).all()
    columns, values, links = literal_paper.regression(live, small, 1, len(live) - 1)
    whole = np.isfinite(columns).all(axis=1)
    solution = np.linalg.lstsq(columns[whole], values[whole], rcond=None)[0]
    assert np.allclose(detector.links().observed[links], solution[:-1])


def test_missing_values_as_zero(small):
    live = rows(2)
    live[50:53, 0] = np.nan
    detector = PublishedDetector(small, np.ones(len(LINKS)), PublishedOptions(missing="zero"))
    seen = watch(detector, live)
    literal = literal_paper.coefficients(np.nan_to_num(live), small, len(live) - 1)
    assert np.allclose(detector.links().observed, literal)
    assert all(evidence.score is not None for evidence in seen[3:])


def test_nothing_but_missing_values_is_not_judged(small):
    detector = PublishedDetector(small, np.ones(len(LINKS)))
    seen = watch(detector, np.full((10, 4), np.nan))
    assert all(evidence.score is None for evidence in seen)
    assert np.isnan(detector.links().observed).all()


def test_stretches_are_joined(small):
    live, limits = rows(2), np.ones(len(LINKS))
    one, other = PublishedDetector(small, limits), PublishedDetector(small, limits)
    for tick, values in enumerate(live):
        assert one.update(values).score == other.update(values, new_stretch=tick % 9 == 0).score


def test_a_model_without_links_is_never_judged():
    nothing = np.empty(0, dtype=np.intp)
    equations = Equations(2, 1, nothing, nothing, nothing, np.empty(0), np.ones(2), np.ones(2))
    limits = published_limits(rows(1)[:, :2], equations)
    detector = PublishedDetector(equations, limits)
    last = watch(detector, rows(1)[:, :2])[-1]
    assert last.score is None
    assert last.expected.tolist() == [1.0, 1.0]
    assert not detector.ranking().any()


@pytest.mark.parametrize("cut", [1, 4, 9, 70])
@pytest.mark.parametrize("stopping", ["never", "first_alarm"])
def test_a_snapshot_gives_the_same_bits(small, cut, stopping):
    options = PublishedOptions(stopping=stopping)
    limits = np.full(len(LINKS), 0.3)
    live = rows(6)
    live[30, 2] = np.nan
    live[:60, 3] = 1.0  # rank comes late
    through = PublishedDetector(small, limits, options)
    watch(through, live[:cut])
    state = {name: array.copy() for name, array in through.snapshot().items()}
    again = PublishedDetector(small, limits, options)
    again.restore(state)
    for values in live[cut:]:
        one, other = through.update(values), again.update(values)
        assert one.score == other.score
        assert np.array_equal(one.signals, other.signals, equal_nan=True)
        assert np.array_equal(one.expected, other.expected, equal_nan=True)
    assert np.array_equal(through.ranking(), again.ranking())
    for name, array in through.snapshot().items():
        assert np.array_equal(array, again.snapshot()[name], equal_nan=array.dtype.kind == "f")


def test_a_snapshot_is_not_changed_by_what_follows(small):
    detector = PublishedDetector(small, np.ones(len(LINKS)))
    watch(detector, rows(2)[:30])
    state = detector.snapshot()
    before = {name: array.copy() for name, array in state.items()}
    watch(detector, rows(2)[30:])
    for name, array in before.items():
        assert np.array_equal(array, state[name], equal_nan=array.dtype.kind == "f")


def test_the_state_does_not_grow(small):
    detector = PublishedDetector(small, np.ones(len(LINKS)))
    sizes = set()
    for _ in range(20):
        watch(detector, rows(2))
        sizes.add(sum(array.nbytes for array in detector.snapshot().values()))
    assert len(sizes) == 1


def test_the_ticks_are_not_changed(small):
    live = rows(2)
    live[5, 1] = np.nan
    before = live.copy()
    watch(PublishedDetector(small, np.ones(len(LINKS)), PublishedOptions(missing="zero")), live)
    assert np.array_equal(live, before, equal_nan=True)


def test_options_that_make_no_sense():
    with pytest.raises(UnknownNameError, match="first_lag"):
        PublishedOptions(columns="first")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="limit_share"):
        PublishedOptions(limit_share=0.0)
    with pytest.raises(SettingError, match="limit_factor"):
        PublishedOptions(limit_factor=float("nan"))
