"""What the report says beyond data quality and residuals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import causewatch as cw


def frame(seed=1, rows=600, **extra):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 3))
    values[1:, 1] += values[:-1, 0]
    values[:, 2] += values[:, 1]
    columns = {"pump": values[:, 0], "flow": values[:, 1], "level": values[:, 2]}
    return pl.DataFrame(columns | extra)


def kinds(model):
    return {finding.kind: finding for finding in model.report}


def test_a_label_left_in_is_a_warning():
    label = (np.arange(600) % 50 > 40).astype(float)
    found = kinds(cw.learn(frame(label=label)))
    assert found["possible_label"].severity == "warning"
    assert "--labels" in found["possible_label"].remedy


def test_a_second_label_and_a_column_of_text_have_their_own_remedies(tmp_path):
    rows = np.arange(600)
    columns = {"label": (rows > 590) * 1.0, "attack": (rows > 500) * 1.0}
    path = tmp_path / "normal.csv"
    frame(**columns, big=["1.300,000"] * 600).write_csv(path)
    found = kinds(cw.learn(str(path), labels="label"))
    assert "possible_label" not in found
    for kind in ("second_label", "second_labelled_rows"):
        assert found[kind].severity == "warning"
        assert "--ignore" in found[kind].remedy
    assert "thousands separators" in found["text_column"].meaning


def test_a_file_given_twice_is_a_warning(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    frame().write_csv(one)
    two.write_bytes(one.read_bytes())
    found = kinds(cw.learn([str(one), str(two)]))
    assert found["repeated_file"].text == "two.csv is the same as one.csv."
    frame(seed=2).write_csv(two)
    assert "repeated_file" not in kinds(cw.learn([str(one), str(two)]))


def test_effects_within_a_tick_are_missed_only_where_lag_0_is_not_tested():
    assert "residual_shared" in kinds(cw.learn(frame()))
    assert "residual_shared" not in kinds(cw.learn(frame(), preset="paper", max_lag=2))


def test_the_interval_may_be_text():
    assert cw.learn(frame(), every="2s").preprocessing.every == 2.0
    with pytest.raises(cw.CausewatchError):
        cw.learn(frame(), every="soon")


def test_limits_rest_on_both_recordings_and_the_report_says_how_the_second_one_fared():
    model = cw.learn(frame(), calibrate=frame(seed=2, rows=400))
    assert model.watching.limits.supported == 500.0
    finding = kinds(model)["calibration"]
    assert finding.severity == "info"
    assert finding.meaning == "Limits lie above what both recordings show."
    assert "false_alarm_every" not in kinds(model)  # half of both is what is aimed at
    odd = cw.learn(frame(), calibrate=frame(seed=2, rows=400).with_columns(pl.col("pump") * 5.0))
    assert kinds(odd)["calibration"].severity == "warning"
    assert "will not be noticed" in kinds(odd)["calibration"].meaning
