"""Text on a sheet."""

import pytest

from causewatch.explain.sheet import fill, text_width, two_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FIT101", "FIT101"),
        ("feed pump discharge", "feed pump\ndischarge"),
        ("averylongnamewithoutbreak", "averylongnamewitho\nutbreak"),
        ("plant/area-51/line_7/reactor.temperature.setpoint", "plant/area-51/\n…setpoint"),
    ],
)
def test_long_names_take_two_lines(text, expected):
    assert two_lines(text) == expected


def test_two_lines_are_never_long():
    for length in range(1, 90):
        for line in two_lines("x" * length).split("\n"):
            assert len(line) <= 18


def test_fill_keeps_every_word_within_the_width():
    text = "one two three four five six seven eight nine ten"
    filled = fill(text, 1.0, 9)
    assert filled.split() == text.split()
    assert filled.count("\n") > 1
    assert text_width(filled, 9) <= 1.0
