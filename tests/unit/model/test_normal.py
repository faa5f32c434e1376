"""`NormalModel` as a value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

import causewatch as cw
from recordings import stable


@pytest.fixture(scope="module")
def model():
    return cw.learn(stable(1, 3, 400), max_lag=2)


def test_it_says_what_it_is(model):
    assert repr(model) == f"NormalModel(3 signals, {len(model.graph)} links, every 1 s, max_lag 2)"
    assert model.signals == model.preprocessing.signals == model.graph.signals


def test_it_does_not_change(model):
    for target, name in (
        (model, "graph"),
        (model.provenance, "rows"),
        (model.preprocessing, "every"),
        (model.mechanisms[model.signals[0]], "spread"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(target, name, None)


def test_its_parts_fit_each_other(model):
    assert list(model.mechanisms) == list(model.signals)
    assert set(model.centre) == set(model.scale) == set(model.positions) == set(model.signals)
    for name, mechanism in model.mechanisms.items():
        assert mechanism.target == name
        assert set(mechanism.coefficients) == set(model.graph.parents(name))


def test_saving_needs_a_folder_that_exists(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no" / "plant.cwm")
    model.save(str(tmp_path / "plant.cwm"))
    assert cw.load(tmp_path / "plant.cwm").signals == model.signals
