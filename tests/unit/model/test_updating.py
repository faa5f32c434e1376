"""Updating a model: new normal data are added, and the result must prove itself."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console

import causewatch as cw
from causewatch.cli.update import check_paths, print_update, update_dict, update_model
from causewatch.discovery import LaggedMoments
from causewatch.errors import NotEnoughDataError, SettingError, TableError
from causewatch.model.comparing import Comparison, compare, worse
from causewatch.model.updating import _Rows, update
from causewatch.simulate import Fault, random_system

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
PLANT = random_system(4, links=4, seed=5)


def frame(values, guard=(3.0, 3.0)):
    columns = {name: values[:, k] for k, name in enumerate(PLANT.signals)}
    flat = np.full(len(values), guard[0])
    flat[-1] = guard[1]
    return pl.DataFrame(columns | {"valve": flat})


def recording(rows, seed, *, faults=(), plant=PLANT, **options):
    return frame(plant.simulate(rows, seed=seed, faults=faults).values, **options)


def weaker(factor):
    """The plant with the links into its first signal changed."""
    edges = tuple(e.times(factor) if e.target == 0 else e for e in PLANT.edges)
    return replace(PLANT, edges=edges)


@pytest.fixture(scope="module")
def model():
    return cw.learn(recording(1500, 1), every=1.0, max_lag=3, now=NOW)


@pytest.fixture(scope="module")
def changed(model):
    """An update after the plant has changed a little."""
    return update(model, recording(3000, 2, plant=weaker(0.6), guard=(3.0, 3.5)), now=NOW)


def test_rows_labelled_anomalous_are_not_added(model):
    rows = recording(1500, 2)
    wild = pl.int_range(pl.len()).is_between(100, 199)
    first = PLANT.signals[0]
    rows = rows.with_columns(pl.col(first) + 99.0 * wild, label=wild)
    result = update(model, rows, labels="label", now=NOW)
    assert result.accepted, result.reasons
    assert result.candidate.provenance.rows == 1500 + 1400
    assert update_dict(result)["notes"] == [
        "Rows labelled anomalous, left out: 100 of 1,500 (6.7%)."
    ]
    assert not update(model, rows, labels="label", keep_labelled=True, now=NOW).accepted


def test_a_changed_plant_is_learnt(model, changed):
    assert changed.accepted, changed.reasons
    found = changed.comparison
    first = PLANT.signals[0]
    assert found.error_after[first] < found.error_before[first]
    assert found.growth < 0
    link = cw.Link(first, first, 1)
    before = model.mechanisms[first].coefficients[link]
    after = changed.candidate.mechanisms[first].coefficients[link]
    assert abs(after) < abs(before)
    before, after = (one.watching.limits for one in (model, changed.candidate))
    assert np.all(after.statistics >= before.statistics)
    assert after.supported == before.supported + 1500.0
    assert (after.settings, after.false_alarm_every) == (before.settings, before.false_alarm_every)


def test_the_updated_model_is_that_of_both_recordings_together(model, changed):
    """Graph and mechanisms are those of moments over all rows, as if learnt at once."""
    new = changed.candidate
    rows = PLANT.simulate(1500, seed=1).values, weaker(0.6).simulate(3000, seed=2).values
    moments = LaggedMoments(PLANT.signals, max_lag=3)
    for part in rows:
        moments.update_stretches(part)
    np.testing.assert_allclose(new.moments.covariance(), moments.covariance(), rtol=1e-9)
    assert new.moments.windows == moments.windows == new.provenance.windows
    assert new.centre[PLANT.signals[1]] == pytest.approx(moments.means()[0, 1])
    assert new.preprocessing == model.preprocessing


def test_ranges_habits_and_provenance_cover_both(model, changed):
    old, new = model.watching, changed.candidate.watching
    assert (new.ranges.low[0], new.ranges.high[0]) == (3.0, 3.5)
    assert old.ranges.high[0] == 3.0
    assert new.habits.ticks == old.habits.ticks + 3000
    assert np.all(new.habits.low <= old.habits.low)
    assert np.all(new.habits.high >= old.habits.high)
    # Mechanisms of both recordings were learnt from causes within both ranges.
    number = len(changed.candidate.signals)
    np.testing.assert_array_equal(new.limits.low, new.habits.low[:number])
    np.testing.assert_array_equal(new.limits.high, new.habits.high[:number])
    np.testing.assert_array_equal(old.limits.low, old.habits.low[:number])
    origin = changed.candidate.provenance
    assert (origin.rows, origin.ticks) == (4500, 4500)
    assert origin.settings == model.provenance.settings


def test_a_quiet_recording_narrows_no_range(model):
    """What was normal before stays so."""
    rows = PLANT.simulate(1500, seed=3).values
    calm = update(model, frame(rows[np.abs(rows).max(axis=1) < 4.0])).candidate.watching.limits
    before = model.watching.limits
    assert (calm.low <= before.low).all()
    assert (calm.high >= before.high).all()
    assert (calm.low < before.low).sum() + (calm.high > before.high).sum() < 8


def test_the_old_model_is_not_changed_by_an_update(model):
    windows, covariance = model.moments.windows, model.moments.covariance()
    update(model, recording(800, 6))
    assert model.moments.windows == windows
    np.testing.assert_array_equal(model.moments.covariance(), covariance)


def test_more_of_the_same_is_accepted(model):
    result = update(model, recording(1500, 3))
    assert result.accepted, result.reasons
    assert abs(result.comparison.growth) < 0.02


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [(500, 750, "does not look normal"), (1100, 1500, "does not look normal"), (0, 1500, "far")],
)
def test_a_fault_in_the_new_data_is_rejected(model, start, end, said):
    fault = Fault("bias", PLANT.signals[1], start, end, size=6.0)
    result = update(model, recording(1500, 4, faults=[fault]))
    assert not result.accepted
    assert any(said in reason for reason in result.reasons)


def test_worse_candidates_are_rejected():
    fair = Comparison(1000, {"a": 1.0}, {"a": 1.0}, 0.0, 0.0, 0.0, 0, 1, 1.0, (), ())
    assert worse(fair) == []
    assert "predicts recent data worse" in worse(replace(fair, growth=0.1))[0]
    assert "raises 9 alarms" in worse(replace(fair, alarms_after=9))[0]
    assert worse(replace(fair, alarms_after=9, alarms_before=9)) == []


def test_a_recording_of_its_own_can_decide(model):
    new, fault = recording(1000, 7), Fault("noise", PLANT.signals[0], 200, 500, size=5.0)
    result = update(model, new, recent=recording(400, 8))
    assert result.accepted, result.reasons
    assert result.comparison.ticks == 400
    assert result.candidate.provenance.rows == 2500
    assert not update(model, recording(1000, 7, faults=[fault]), recent=recording(400, 8)).accepted


def test_the_time_between_false_alarms_that_was_asked_for_holds_after_an_update():
    """Limits of the new recording have the margin of that time, too."""
    asked = cw.learn(recording(1500, 1), every=1.0, max_lag=3, false_alarm_every="9d")
    plain = cw.learn(recording(1500, 1), every=1.0, max_lag=3)
    limits = asked.watching.limits, plain.watching.limits
    wider = (limits[0].statistics / limits[1].statistics)[:-1]
    assert np.all(wider > 1.0)
    new = [update(model, recording(1500, 3)).candidate.watching.limits for model in (asked, plain)]
    np.testing.assert_allclose((new[0].statistics / new[1].statistics)[:-1], wider)


def test_models_are_compared_by_all_their_limits(model):
    """A factor of the model widens its limits, and its scores shrink by it."""
    rows = [PLANT.simulate(400, seed=8).values]
    rows[0][100:200, 1] += 4.0
    wide = replace(model, watching=replace(model.watching, factor=1000.0))
    comparison = compare(model, wide, rows)
    assert (comparison.alarms_before > 0, comparison.alarms_after) == (True, 0)
    assert (comparison.above_before > 0, comparison.above_after) == (True, 0.0)


def test_what_cannot_be_updated_says_why(model):
    new = recording(500, 9)
    settings = dict(model.provenance.settings)
    ranked = replace(
        model, provenance=replace(model.provenance, settings=settings | {"test": "rank"})
    )
    with pytest.raises(SettingError, match="need every row"):
        update(ranked, new)
    with pytest.raises(SettingError, match="larger than 40 MB"):
        update(replace(model, moments=None), new)
    with pytest.raises(SettingError, match="paper preset"):
        update(replace(model, preset="paper"), new)
    with pytest.raises(TableError, match=f"lacks {PLANT.signals[0]}"):
        update(model, new.drop(PLANT.signals[0]))
    with pytest.raises(NotEnoughDataError, match="at least 100"):
        update(model, recording(200, 9))


def test_a_guarded_signal_may_be_missing_from_the_new_recording(model):
    result = update(model, recording(800, 6).drop("valve"))
    new, old = result.candidate.watching, model.watching
    assert new.guarded == old.guarded == ("valve",)
    assert new.ranges.high[0] == old.ranges.high[0]
    assert new.habits.missing[-1] == old.habits.missing[-1] == 0.0


def test_moments_survive_saving(model, changed, tmp_path):
    model.save(tmp_path / "a.cwm")
    back = cw.load(tmp_path / "a.cwm")
    np.testing.assert_array_equal(back.moments.covariance(), model.moments.covariance())
    again = update(back, recording(3000, 2, plant=weaker(0.6), guard=(3.0, 3.5)), now=NOW)
    assert again.candidate.mechanisms == changed.candidate.mechanisms
    replace(model, moments=None).save(tmp_path / "b.cwm")
    assert cw.load(tmp_path / "b.cwm").moments is None


def test_parts_of_a_source_are_cut_at_rows():
    table = cw.read_table(pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0) ** 2}))
    for size in (3, 4, 100):
        parts = list(_Rows(table, 4, 9).chunks(size))
        values = np.concatenate([part.values[:, 0] for part in parts])
        assert values.tolist() == [4.0, 5.0, 6.0, 7.0, 8.0]
        assert not parts[0].continues
        assert parts[0].starts.tolist() == [0]
        assert all(part.continues and not len(part.starts) for part in parts[1:])


class TestCommand:
    """What the command line does with an update."""

    @pytest.fixture
    def files(self, model, tmp_path):
        model.save(tmp_path / "old.cwm")
        recording(1000, 11).write_csv(tmp_path / "new.csv")
        fault = Fault("bias", PLANT.signals[1], 300, 600, size=6.0)
        recording(1000, 11, faults=[fault]).write_csv(tmp_path / "bad.csv")
        return tmp_path

    def test_an_accepted_model_is_written(self, files):
        old = (files / "old.cwm").read_bytes()
        out = files / "new.cwm"
        result = update_model(
            files / "old.cwm", [files / "new.csv"], out, tell=lambda *_: None, reading={}
        )
        assert result.accepted, result.reasons
        assert [file["name"] for file in cw.load(out).provenance.files] == ["new.csv"]
        assert (files / "old.cwm").read_bytes() == old
        with pytest.raises(SettingError, match="count twice"):
            update_model(out, [files / "new.csv"], out, tell=lambda *_: None, reading={})

    def test_a_rejected_one_is_not(self, files):
        out = files / "new.cwm"
        result = update_model(
            files / "old.cwm", [files / "bad.csv"], out, tell=lambda *_: None, reading={}
        )
        assert not result.accepted
        assert not out.exists()
        plain = update_dict(result)
        assert json.loads(json.dumps(plain))["accepted"] is False
        screen = Console(width=200, record=True, file=io.StringIO())
        print_update(result, screen)
        text = screen.export_text()
        assert "REJECTED" in text
        assert "Nothing was written" in text

    def test_the_old_file_is_safe(self, files):
        old = files / "old.cwm"
        with pytest.raises(SettingError, match="the model to be updated"):
            check_paths(old, old, force=False)
        check_paths(old, old, force=True)
        with pytest.raises(SettingError, match="exists already"):
            check_paths(old, files / "new.csv", force=False)
