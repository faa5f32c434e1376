"""Where the statistics stand, and which memories a recording supports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from causewatch.detectors.statistics import FAMILIES, Layout, memories_for

memories = st.lists(st.integers(1, 200), max_size=4, unique=True).map(tuple)


@given(st.integers(1, 9), st.integers(0, 20), memories, memories, memories, st.booleans())
def test_blocks_tile_the_array_and_weights_follow_memories(
    signals, links, means, variances, coefficients, level
):
    layout = Layout(signals, links, (1, *means), variances, coefficients, level)
    ends = [0]
    for family, memory, place in layout.blocks:
        assert family in FAMILIES
        assert place.start == ends[-1]
        assert place.stop - place.start == (links if family == "coefficient" else signals)
        assert_array_equal(layout.weights[place], 1.0 / memory)
        ends.append(place.stop)
    assert layout.size == ends[-1] == len(layout.weights)
    by_signal = [family != "coefficient" for family, _, _ in layout.blocks]
    assert by_signal == sorted(by_signal, reverse=True)  # those come first
    assert layout.by_signal == sum(by_signal)
    assert layout.longest == max((1, *means, *variances, *coefficients))


def test_the_order_of_the_families():
    layout = Layout(2, 3, (1, 8), (8,), (32,))
    assert [(family, memory) for family, memory, _ in layout.blocks] == [
        ("mean", 1),
        ("mean", 8),
        ("variance", 8),
        ("level", 1),
        ("coefficient", 32),
    ]


@pytest.mark.parametrize(
    ("ticks", "means", "variances", "coefficients"),
    [
        (0, (1, 8), (8,), ()),
        (383, (1, 8), (8,), ()),
        (384, (1, 8, 32), (8, 32), ()),
        (767, (1, 8, 32), (8, 32), ()),
        (768, (1, 8, 32), (8, 32), (32,)),
        (1536, (1, 8, 32, 128), (8, 32, 128), (32,)),
        (3071, (1, 8, 32, 128), (8, 32, 128), (32,)),
        (3072, (1, 8, 32, 128), (8, 32, 128), (32, 128)),
    ],
)
def test_a_recording_supports_memories_a_twelfth_of_its_length(
    ticks, means, variances, coefficients
):
    found = memories_for(ticks)
    assert found == {"mean": means, "variance": variances, "coefficient": coefficients}


def test_longer_recordings_support_no_fewer_memories():
    before = memories_for(0)
    for ticks in range(1, 5000, 37):
        now = memories_for(ticks)
        for family, kept in before.items():
            assert now[family][: len(kept)] == kept
        before = now


def test_weights_are_those_of_a_weighted_mean():
    layout = Layout(1, 0, (4,), (), (), level=False)
    state = 0.0
    for _ in range(4):
        state += (1.0 - state) * layout.weights[0]
    assert state == pytest.approx(1 - (1 - 1 / 4) ** 4)
    assert np.all(layout.weights <= 1.0)
