"""Signals that always equalled another one."""

from __future__ import annotations

import numpy as np
import pytest

import causewatch as cw
from recordings import stable


@pytest.fixture(scope="module")
def model():
    values = stable(7, 4, 3000)
    return cw.learn(np.column_stack([values, values[:, 1]]))


def test_one_that_comes_apart_is_named_with_its_twin(model):
    assert model.watching.guarded == ("x4",)
    assert model.watching.ranges.twin.tolist() == [1]
    rows = stable(7, 4, 3000)[-100:]  # rows that it was learnt from raise no alarm
    rows = np.column_stack([rows, rows[:, 1]])
    rows[60:, 4] += 1.0
    monitor = cw.Monitor(model)
    raised = [alarm for row in rows[:60] for alarm in monitor.update(row).raised]
    assert raised == []
    for row in rows[60:80]:
        raised += monitor.update(row).raised
    (alarm,) = raised
    assert "x4" in alarm.signals
    assert cw.explain(alarm).causes[0].signal == "x4"
    told = cw.explain(alarm).headline
    assert told.startswith("x4 has differed from x1, which it always equalled, since")
    assert "row 60" in cw.explain(alarm).headline


def test_it_is_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "m.cwm")
    assert cw.load(tmp_path / "m.cwm").watching.ranges.twin.tolist() == [1]
