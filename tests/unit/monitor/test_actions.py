"""What people ask for, as plain data."""

from __future__ import annotations

import numpy as np
import pytest

from causewatch.errors import SettingError
from causewatch.monitor.actions import act
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.policy import AlarmPolicy


@pytest.fixture
def policy():
    found = AlarmPolicy(AlarmSettings(), ["a", "b"], "model", "", "rows")
    found.update(0, 3.0, np.array([3.0, 0.2]))
    return found


@pytest.fixture
def normal(policy):
    return {"action": "normal", "id": policy.active[0].id, "by": "Ada"}


def test_what_is_normal_already_is_said(policy, normal):
    assert act(policy, normal, 1)
    with pytest.raises(SettingError, match="was called normal by Ada already; undo takes it back"):
        act(policy, normal | {"by": "Bob"}, 2)
    assert [mark.by for mark in policy.marks] == ["Ada"]


def test_what_was_taken_back_can_be_normal_again(policy, normal):
    act(policy, normal, 1)
    act(policy, normal | {"action": "undo"}, 2)
    assert act(policy, normal, 3)
    assert policy.factors[0] == pytest.approx(3.3)


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff", "\x00"])
def test_a_comment_needs_text(policy, normal, text):
    before = policy.snapshot()
    with pytest.raises(SettingError, match="a comment needs text"):
        act(policy, normal | {"action": "comment", "text": text}, 1)
    assert policy.snapshot() == before
