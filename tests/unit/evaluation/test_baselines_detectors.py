"""What every detector that is compared must keep to, the causal ones included."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from causewatch.data import read_table
from causewatch.errors import SettingError, UnknownNameError
from causewatch.evaluation.baselines import scored
from causewatch.evaluation.baselines.base import Split
from causewatch.evaluation.baselines.catalogue import DETECTORS, make
from causewatch.evaluation.baselines.linear import OwnPast, Pca, Var, lagged
from causewatch.evaluation.baselines.split import make_split
from causewatch.simulate import Fault, random_system

SECOND = 1_000_000_000
START, END, ROWS = 300, 360, 500
SYSTEM = random_system(4, seed=21)  # seeds for development; nothing is reported from here
# The networks have tests of their own: they need torch, and time.
NAMES = [name for name, entry in DETECTORS.items() if not entry.module.startswith("neural")]
UNLIKE = ("default", "paper", "plain", "p2", "always_on", "switch")
SCORED = [name for name in NAMES if name not in UNLIKE]
SEEING = [one for one in NAMES if one not in ("paper", "random", "always_on", "switch")]


@pytest.fixture(autouse=True)
def hardly_any_timing(monkeypatch):
    monkeypatch.setattr(scored, "TIMED", 3)


@cache
def normal():
    table = read_table(SYSTEM.simulate(1500, seed=22).values)
    table.values.flags.writeable = False
    # A long time between false alarms: one of them must not be taken for the fault.
    return make_split([table], false_alarm_every=4000.0, seed=5)


@cache
def gross():
    """Every signal turns into wild noise for a minute."""
    values = SYSTEM.simulate(ROWS, seed=33).values
    wild = np.random.default_rng(24).standard_normal((END - START, values.shape[1]))
    values[START:END] = values[START:END] + 15.0 * values.std(axis=0) * wild
    table = read_table(values)
    table.values.flags.writeable = False
    return table


@cache
def fitted(name):
    detector = make(name)
    detector.fit(normal())
    return detector


@cache
def watched(name):
    return fitted(name).watch(gross())


def first_rows(table, rows):
    return replace(table, values=table.values[:rows], time=table.time[:rows])


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_have_one_entry_per_row(name):
    verdicts = watched(name)
    assert fitted(name).name == name
    assert verdicts.score.shape == verdicts.alarm.shape == (ROWS,)
    assert np.nanmin(verdicts.score) >= 0.0
    raised = [one.raised_at for one in verdicts.alarms]
    assert raised == sorted(raised)
    for one in verdicts.alarms:
        assert set(one.causes) <= set(gross().signals)
        assert one.cleared_at is None or one.cleared_at > one.raised_at


@pytest.mark.parametrize("name", SEEING)
def test_a_gross_fault_is_found(name):
    verdicts = watched(name)
    assert np.nanmax(verdicts.score[START:END]) > 1.0
    assert verdicts.alarm[START:END].any()
    assert verdicts.alarm[START:END].mean() > 0.9
    assert verdicts.alarm[:START].mean() < 0.2
    if name != "isolation_forest":  # a chance alarm of its own ran into the fault here
        assert any(START <= one.raised_at // SECOND < END for one in verdicts.alarms)


def test_the_published_method_finds_a_change_of_unit():
    """It forgets nothing: noise, however wild, hardly moves its coefficients by then."""
    assert np.nanmax(watched("paper").score[START:END]) < 1.0
    values = SYSTEM.simulate(ROWS, seed=33).values
    values[START:, 1] *= 1000.0
    verdicts = fitted("paper").watch(read_table(values))
    assert np.nanmax(verdicts.score[START:]) > 1.0
    assert verdicts.alarm[START:].any()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_says_the_same(name):
    again = make(name)
    again.fit(normal())
    again.watch(first_rows(gross(), 100))  # what was watched before does not matter
    found, before = again.watch(gross()), watched(name)
    assert np.array_equal(found.score, before.score, equal_nan=True)
    assert np.array_equal(found.alarm, before.alarm)
    assert found.alarms == before.alarms


@pytest.mark.parametrize("rows", [START + 3, 431])
@pytest.mark.parametrize("name", NAMES)
def test_later_rows_change_nothing(name, rows):
    whole, part = watched(name), fitted(name).watch(first_rows(gross(), rows))
    assert part.score == pytest.approx(whole.score[:rows], rel=1e-9, nan_ok=True)
    assert np.array_equal(part.alarm, whole.alarm[:rows])
    early = [one.raised_at for one in whole.alarms if one.raised_at < rows * SECOND]
    assert [one.raised_at for one in part.alarms] == early


@pytest.mark.parametrize("name", SCORED)
def test_what_is_learnt_does_not_depend_on_the_limits_part(name):
    """Another part for limits changes the unit of a score, not its course."""
    split = normal()
    (limits,) = split.limits
    other = make(name)
    other.fit(replace(split, limits=(first_rows(limits, 250),)))
    found, before = other.watch(gross()).score, watched(name).score
    if name in ("pca", "dynamic_pca"):  # two statistics with a limit each
        assert not np.allclose(found, before, equal_nan=True)
        return
    known = before > 0
    ratio = found[known] / before[known]
    assert ratio == pytest.approx(ratio[0])
    assert ratio[0] != 1.0


@pytest.mark.parametrize("name", ["default", "pca", "dynamic_pca", "var", "own_past"])
def test_the_signal_that_is_off_is_named(name):
    fault = Fault("bias", SYSTEM.signals[1], 200, 230, size=10.0)
    run = SYSTEM.simulate(300, seed=25, faults=[fault])
    table = replace(read_table(run.values), signals=normal().learn[0].signals)
    alarms = fitted(name).watch(table).alarms
    (alarm,) = [one for one in alarms if 200 <= one.raised_at // SECOND < 230]
    assert table.signals[1] in alarm.causes[:2]


def test_one_alarm_from_the_first_row_on():
    verdicts = watched("always_on")
    (alarm,) = verdicts.alarms
    assert (alarm.raised_at, alarm.cleared_at) == (gross().time[0], None)
    assert verdicts.alarm.all()
    assert (verdicts.score > 1.0).all()


def test_the_switch_is_off_where_it_was_fitted_and_on_elsewhere():
    verdicts = watched("switch")
    (alarm,) = verdicts.alarms
    assert (alarm.raised_at, alarm.cleared_at) == (gross().time[0], None)
    assert verdicts.alarm.all()
    split = normal()
    for table in (*split.learn, *split.limits):
        calm = fitted("switch").watch(table)
        assert not calm.alarm.any()
        assert calm.alarms == ()
        assert (calm.score < 1.0).all()


def test_random_alarms_come_as_often_as_asked_for():
    """One in 1.25 times the time asked for, give or take what a limits part can know."""
    split = replace(normal(), false_alarm_every=100.0)
    alarms = 0
    for seed in range(8):
        detector = make("random")
        detector.fit(replace(split, seed=seed))
        alarms += len(detector.watch(gross()).alarms)
    assert 10 < alarms < 80  # 32 expected
    assert all(one.abstained for one in watched("random").alarms)


def test_random_numbers_differ_between_recordings_and_seeds():
    detector = fitted("random")
    one, two = detector.watch(gross()).score, detector.watch(normal().learn[0]).score
    assert not np.isclose(one, two[:ROWS]).any()
    other = make("random")
    other.fit(replace(normal(), seed=6))
    assert not np.isclose(one, other.watch(gross()).score).any()


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'dynamic_pca'.*default, paper"):
        make("dynamic_pac")


def test_every_entry_says_what_it_is():
    for name, entry in DETECTORS.items():
        assert entry.what
        if name in NAMES:
            assert make(name).name == name


# The linear ones


def standardised():
    (learn,) = normal().learn
    return (learn.values - learn.values.mean(axis=0)) / learn.values.std(axis=0)


def test_lagged_columns_are_latest_first():
    ticks = np.arange(8.0).reshape(4, 2)
    assert lagged(ticks, 2).tolist() == [[4, 5, 2, 3, 0, 1], [6, 7, 4, 5, 2, 3]]
    assert lagged(ticks, 0) is ticks


def test_t2_and_q_are_what_their_definitions_say():
    random = np.random.default_rng(31)
    mixing = random.standard_normal((2, 6))
    values = random.standard_normal((900, 2)) @ mixing + 0.3 * random.standard_normal((900, 6))
    learn, limits = read_table(values[:600]), read_table(values[600:])
    detector = Pca()
    detector.fit(Split((learn,), (limits,), 1.0, 1, 300.0))
    rows = (learn.values - learn.values.mean(axis=0)) / learn.values.std(axis=0)
    sizes, axes = np.linalg.eigh(np.corrcoef(rows.T))
    sizes, axes = sizes[:-3:-1], axes[:, :-3:-1]  # two components hold 90 %
    assert 0.9 < sizes.sum() / 6 < 1.0
    assert sizes[0] / 6 < 0.9
    along = rows @ axes
    hotelling = (along**2 / sizes).sum(axis=1)
    residual = ((rows - along @ axes.T) ** 2).sum(axis=1)
    parts, sums = detector._statistics(rows)
    assert sums == pytest.approx(np.stack([hotelling, residual]))
    assert (parts >= 0).all()
    assert parts.sum(axis=2) == pytest.approx(sums)


def test_each_statistic_has_passed_its_limit_alike():
    """Both statistics are in units of their limits: neither drowns the other."""
    score, _ = fitted("pca")._judge(standardised())
    assert np.quantile(score, 0.999) == pytest.approx(1.0, abs=0.4)


@pytest.mark.parametrize(("kind", "others"), [(Var, True), (OwnPast, False)])
def test_regressions_are_least_squares_with_a_ridge(kind, others):
    detector = kind()
    detector.fit(normal())
    rows, lag = standardised(), normal().max_lag
    wide = lagged(rows, lag)
    now, past = wide[:, :4], wide[:, 4:]
    for k in range(4):
        columns = past if others else past[:, k::4]
        width = columns.shape[1]
        ridge = np.sqrt(1e-3 * len(wide)) * np.eye(width)
        weight, *_ = np.linalg.lstsq(
            np.vstack([columns, ridge]), np.append(now[:, k], np.zeros(width)), rcond=None
        )
        rest = now[:, k] - columns @ weight
        _, sizes = detector._judge(rows)
        spread = np.sqrt((rest**2).mean())
        assert sizes[lag:, k] == pytest.approx(np.abs(rest) / spread, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", [Pca, Var])
def test_smoothing_finds_smaller_lasting_changes(kind):
    values = SYSTEM.simulate(400, seed=26).values
    values[200:] += 1.5 * values.std(axis=0) * np.array([0, 1, 0, 0])
    table = replace(read_table(values), signals=normal().learn[0].signals)
    plain, smooth = kind(), kind(memory=16.0)
    for detector in (plain, smooth):
        detector.fit(normal())
    heights = [one.watch(table).score[250:].mean() for one in (plain, smooth)]
    assert heights[1] > 1.3 * heights[0]
    part = smooth.watch(first_rows(table, 230)).score
    assert part == pytest.approx(smooth.watch(table).score[:230], nan_ok=True)


def test_a_memory_must_make_sense():
    with pytest.raises(SettingError, match="at least 1"):
        Pca(memory=0.5)
