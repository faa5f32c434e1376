"""Objects that say which of their attributes are their state."""

from __future__ import annotations

import json

import numpy as np
import pytest

from causewatch.errors import SettingError
from causewatch.monitor.stateful import Stateful


class Inner(Stateful):
    """A part of another object."""

    STATE = ("_count",)

    def __init__(self):
        self._count = 0


class Outer(Stateful):
    """An object with a value of each kind."""

    STATE = ("columns", "_numbers", "_seen", "_names", "_on", "_since", "_inner")

    def __init__(self, columns=("a", "b")):
        self.columns = columns
        self._numbers = np.zeros(len(columns))
        self._seen, self._names = set(), []
        self._on, self._since = False, None
        self._inner = Inner()

    def go_on(self):
        self._numbers += 0.1
        self._seen |= {"b", "a"}
        self._names.append("x")
        self._on, self._since = True, 7
        self._inner._count += 1


def test_what_was_saved_comes_back_and_what_comes_after_does_not_reach_into_it():
    first, second = Outer(), Outer()
    first.go_on()
    state = first.snapshot()
    text = json.dumps(state | {"numbers": state["numbers"].tolist()})
    first.go_on()
    assert json.dumps(state | {"numbers": state["numbers"].tolist()}) == text
    second.restore(json.loads(text))  # lists in place of arrays and tuples
    assert second._numbers.tolist() == [0.1, 0.1]
    assert (second._seen, second._names, second.columns) == ({"a", "b"}, ["x"], ("a", "b"))
    assert (second._on, second._since, second._inner._count) == (True, 7, 1)
    second.go_on()
    assert state["names"] == ["x"]


@pytest.mark.parametrize("columns", [("a", "c"), ("a",)])
def test_a_state_of_other_columns_is_refused(columns):
    with pytest.raises(SettingError, match="same model"):
        Outer().restore(Outer(columns).snapshot())


def test_arrays_of_another_shape_are_refused():
    state = Outer().snapshot()
    with pytest.raises(SettingError, match="same model"):
        Outer().restore(state | {"numbers": np.zeros(3)})
