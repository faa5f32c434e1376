"""How small a change a model would notice, as people read it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import causewatch as cw
from causewatch.cli import detect_summary
from causewatch.detectors.detectability import Detectability


@pytest.mark.parametrize(
    ("share", "column", "line"),
    [
        (0.4, "40%", "  causes that lose 40% of their effect"),
        (1.0, "100%", "  causes that lose 100% of their effect"),
        (2.5, "not noticed", "Not noticed: causes that lose their effect, even all of it"),
        (np.inf, "not noticed", "Not noticed: causes that lose their effect, even all of it"),
    ],
)
def test_causes_lose_no_more_than_all_their_effect(share, column, line, monkeypatch):
    model = cw.learn(np.random.default_rng(1).normal(size=(300, 2)))
    ones = np.ones(2)
    least = Detectability(10, ones, ones, ones * share)
    monkeypatch.setattr(detect_summary, "detectability_of", lambda *_: least)
    out = Console(file=io.StringIO(), width=100)
    detect_summary.print_detectability(model, out)
    detect_summary.print_signal_detectability(model, model.signals[0], out)
    text = out.file.getvalue()
    assert text.count(f" {column}") >= 2
    assert line in text.splitlines()[-1]
    assert "more than 100%" not in text
