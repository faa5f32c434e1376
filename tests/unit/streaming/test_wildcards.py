"""Which topics and subjects a pattern stands for."""

from __future__ import annotations

import pytest

from causewatch.streaming.wildcards import MQTT, NATS


@pytest.mark.parametrize(
    ("topic", "fixed"),
    [
        ("plant/#", "plant/"),
        ("plant/+/value", "plant/"),
        ("#", ""),
        ("+/a", ""),
        ("plant/line1/FIT101", "plant/line1/"),
        ("plant.1/*/FIT101", "plant.1/*/"),
        ("FIT101", ""),
    ],
)
def test_the_fixed_part_of_a_topic(topic: str, fixed: str) -> None:
    assert MQTT.fixed_part(topic) == fixed


@pytest.mark.parametrize(
    ("subject", "fixed"),
    [("plant.>", "plant."), ("plant.*.value", "plant."), (">", ""), ("a/+.FIT101", "a/+.")],
)
def test_the_fixed_part_of_a_subject(subject: str, fixed: str) -> None:
    assert NATS.fixed_part(subject) == fixed


@pytest.mark.parametrize(
    ("wide", "narrow", "does"),
    [
        ("a.b", "a.b", True),
        ("a.b", "a.c", False),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        (">", "a.>", True),
        ("a.b", "a.*", False),
        ("*.*", "a.>", False),
        ("a.b.c", "a.b", False),
        ("a.*", "a.b/c", True),
        ("a.+", "a.b", False),
    ],
)
def test_which_subjects_stand_for_which(wide: str, narrow: str, does: bool) -> None:
    assert NATS.covers(wide, narrow) is does


@pytest.mark.parametrize(
    ("wide", "narrow", "does"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/c", False),
        ("a/+", "a/b.c", True),
        ("a/+", "a/b/c", False),
        ("a/+", "a/", True),
        ("a/+", "a", False),
        ("+/b", "a/b", True),
        ("a/#", "a/b/c", True),
        ("a/#", "a", True),
        ("a/+/#", "a", False),
        ("a/#", "ab", False),
        ("#", "a", True),
        ("#", "/a", True),
        ("#", "$SYS/a", False),
        ("+/a", "$SYS/a", False),
        ("$SYS/#", "$SYS/a", True),
        ("a/*", "a/b", False),
        ("a/>", "a/b", False),
    ],
)
def test_which_topics_stand_for_which(wide: str, narrow: str, does: bool) -> None:
    assert MQTT.covers(wide, narrow) is does
