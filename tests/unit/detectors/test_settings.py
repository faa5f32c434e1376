"""The numbers of the detector: all in one place, and such that it works with them."""

from __future__ import annotations

import ast
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from causewatch import detectors
from causewatch.detectors import DetectorSettings
from causewatch.errors import SettingError

STAGES = ("innovation", "statistics", "limits", "calibration", "lifts", "guards", "reestimate")
PLAIN = (-1, 0, 1, 2)
"""Numbers that are no choice: signs, nothing, the whole, halves and squares."""


def chosen(text):
    """Numbers in a module that somebody has chosen, with the lines they stand on."""
    tree = ast.parse(text)
    negative = {
        id(node.operand): node
        for node in ast.walk(tree)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    }
    numbers = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
            continue
        if not isinstance(node.value, int | float | complex):
            continue
        value = -node.value if id(node) in negative else node.value
        if value not in PLAIN:
            numbers.append((node.lineno, value))
    return numbers


@pytest.mark.parametrize("stage", STAGES)
def test_stages_have_no_numbers_of_their_own(stage):
    path = Path(detectors.__file__).parent / f"{stage}.py"
    assert chosen(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("x = values[-1] * 2.0 + 1 - 0.0", []),
        ("def f(share=0.5): return share ** True", [0.5]),
        ("LARGEST = 1e12", [1e12]),
        ("x = -2", [-2]),
        ("x = values[3:]", [3]),
        ("x = 2j", [2j]),
        ('"""At most 3 of 4."""', []),
    ],
)
def test_numbers_that_somebody_has_chosen_are_seen(text, numbers):
    assert [value for _, value in chosen(text)] == numbers


def test_there_are_few_of_them_and_each_is_explained():
    names = [field.name for field in fields(DetectorSettings)]
    assert len(names) <= 40
    text = DetectorSettings.__doc__
    explained = [line.strip() for line in text.split("Attributes", 1)[1].splitlines()]
    assert [name for name in names if name not in explained] == []


def test_they_cannot_be_changed_and_defaults_are_sound():
    settings = DetectorSettings()
    assert DetectorSettings(**asdict(settings)) == settings
    with pytest.raises(AttributeError):
        settings.margin = 2.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("margin", -1.0),
        ("margin", float("nan")),
        ("margin", float("inf")),
        ("margin", "1.5"),
        ("margin", None),
        ("margin", True),
        ("margin", (1.5,)),
        ("lifts", 1),
        ("lifts", None),
        ("means", ()),
        ("means", (0,)),
        ("means", (1, 8.5)),
        ("means", [1, 8]),
        ("means", 8),
        ("squares", (8, -1)),
        ("lift_quiet", 6.5),
        ("link_window", 1),
        ("link_window", 128.0),
        ("accept_ticks", 0),
        ("lift_most", 0.5),
        ("lift_ticks", 0.0),
        ("link_memory", 0.0),
        ("guard_least", 0.0),
        ("clip", 0.0),
        ("memory_cut", 0.9),
        ("widen_most", 0.9),
        ("widen_most", 0.0),
        ("lift_fade", -0.1),
        ("lift_leak", -0.1),
        ("still_changes", -0.1),
    ],
)
def test_numbers_it_cannot_work_with_are_refused(name, value):
    with pytest.raises(SettingError, match=name):
        DetectorSettings(**{name: value})


def test_parts_can_be_left_out():
    settings = DetectorSettings(squares=(), standstill=False, guards=False, lifts=False, clip=5)
    assert settings.squares == ()
    assert settings.clip == 5


def test_what_is_no_longer_a_setting_is_unknown():
    for name in ("square_clip", "still_rarer"):
        with pytest.raises(TypeError, match=name):
            DetectorSettings(**{name: 10.0})


def test_a_signal_may_be_loud_alone_for_hours_and_for_many_ticks():
    settings = DetectorSettings()
    assert settings.lift_capacity(1.0) == 4 * 3600
    assert settings.lift_capacity(3600.0) == 500
    assert DetectorSettings(lift_hours=1.0, lift_ticks=10.0).lift_capacity(60.0) == 60
