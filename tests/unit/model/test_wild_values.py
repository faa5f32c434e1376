"""Failed measurements in a recording of normal operation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.errors import ModelFileError
from recordings import stable

NAMES = tuple("abcd")
ROWS = 4000
CLEAN = 5.0 * stable(3, 4, ROWS + 1000) + 40.0
SPELLS = np.concatenate([np.arange(first, first + 8) for first in (600, 1700, 2900)])


def frame(values):
    times = pl.arange(0.0, len(values))
    return pl.DataFrame(dict(zip(NAMES, values.T, strict=True))).with_columns(time=times)


def failing():
    """Three spells of up to 1e8 in one signal, and one dead value in another."""
    values = CLEAN[:ROWS].copy()
    values[SPELLS, 1] = 10.0 ** np.random.default_rng(1).uniform(4.0, 8.0, len(SPELLS))
    values[2000, 2] = -9999.0
    return values


@pytest.fixture(scope="module")
def clean():
    return cw.learn(frame(CLEAN[:ROWS]), every=1.0)


@pytest.fixture(scope="module")
def model():
    return cw.learn(frame(failing()), every=1.0)


def test_they_distort_nothing(model, clean):
    for name in NAMES:
        assert model.scale[name] == pytest.approx(clean.scale[name], rel=0.02)
        assert model.mechanisms[name].spread == pytest.approx(
            clean.mechanisms[name].spread, rel=0.02
        )
    assert model.watching.habits.high[1] < 100.0


def test_the_report_says_so(model):
    (wild,) = [finding for finding in model.report if finding.kind == "wild_values"]
    assert wild.signals == ("b", "c")
    assert "23 more (24 rows, the first 600s)" in wild.text
    assert "c is -9999 (once, 2000s)" in wild.text
    assert "count as missing" in wild.meaning
    assert "--keep-wild" in wild.remedy


def test_the_recording_does_not_alarm_on_itself(model):
    assert len(cw.watch(model, frame(failing())).by_id) == 0


def test_a_fault_of_another_size_is_still_seen(model):
    rows = CLEAN[ROWS:].copy()
    rows[500:, 1] += 8.0 * CLEAN[:, 1].std()
    (alarm,) = [a for a in cw.watch(model, frame(rows)).by_id.values() if a.kind == "anomaly"]
    assert "b" in alarm.signals
    rows = CLEAN[ROWS:].copy()
    rows[500, 1] = -1e6  # it never failed on this side
    assert [a.kind for a in cw.watch(model, frame(rows)).by_id.values()] == ["anomaly"]


def test_a_signal_that_fails_for_good_is_missing(model):
    rows = CLEAN[ROWS:].copy()
    rows[500:, 1] = 1e7
    (alarm,) = cw.watch(model, frame(rows)).by_id.values()
    assert (alarm.kind, list(alarm.signals)) == ("health", ["b"])
    monitor = cw.Monitor(model)
    for row in rows[490:510]:
        monitor.update(row)
    assert monitor.problems["wild_values"] == 10


def test_they_can_be_kept():
    kept = cw.learn(frame(failing()), every=1.0, keep_wild=True)
    assert kept.preprocessing.believed == {}
    assert kept.watching.habits.high[1] > 1e4
    (wild,) = [finding for finding in kept.report if finding.kind == "wild_values"]
    assert "are learnt as normal" in wild.meaning


def test_the_model_remembers_what_it_believes(model, clean, tmp_path):
    believed = model.preprocessing.believed
    assert list(believed) == ["b", "c"]
    assert believed["b"][0] == -1e100
    assert 60.0 < believed["b"][1] < 1e4
    assert -9999.0 < believed["c"][0] < 0.0
    model.save(tmp_path / "model.cwm")
    assert cw.load(tmp_path / "model.cwm").preprocessing.believed == believed
    assert clean.preprocessing.believed == {}
    assert "believed" not in clean.preprocessing.to_dict()


def test_a_file_that_believes_nothing_is_refused(model, tmp_path):
    model.preprocessing.believed["b"], before = (2.0, 1.0), model.preprocessing.believed["b"]
    model.save(tmp_path / "model.cwm")
    model.preprocessing.believed["b"] = before
    with pytest.raises(ModelFileError, match="nothing between 2 and 1 can be believed of 'b'"):
        cw.load(tmp_path / "model.cwm")


def test_a_constant_that_failed_once_is_guarded():
    values = np.column_stack([CLEAN[:ROWS], np.ones(ROWS)])
    values[700, 4] = 9999.0
    rows = pl.DataFrame(dict(zip("abcde", values.T, strict=True)))
    model = cw.learn(rows, every=1.0)
    assert model.preprocessing.dropped["e"] == "constant"
    watched = CLEAN[ROWS:]
    monitor = cw.Monitor(model)
    for row in watched[:50]:
        monitor.update([*row, 1.0])
    raised = [alarm for row in watched[50:60] for alarm in monitor.update([*row, 2.0]).raised]
    assert "e" in raised[0].signals
