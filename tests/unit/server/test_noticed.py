"""What a model would notice is worked out once, for everybody who asks."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from causewatch.errors import StreamError
from causewatch.server.noticed import AGAIN, Noticed
from causewatch.testing import FakeClock
from causewatch.testing.waiting import PATIENCE


def test_who_asks_meanwhile_waits_for_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go = [], threading.Event()

    def work(self: Noticed) -> list[dict[str, str]]:
        asked.append(1)
        assert go.wait(PATIENCE)
        return [{"signal": "a"}]

    monkeypatch.setattr(Noticed, "_ask", work)
    noticed = Noticed(Path("model.cwm"))
    waiting = [noticed.find() for _ in range(100)]
    assert not waiting[0].cancel(), "one who leaves ended it for the others"
    go.set()
    assert {str(one.result(PATIENCE)) for one in waiting} == {"[{'signal': 'a'}]"}
    assert noticed.find().result(PATIENCE)
    assert len(asked) == 1


def test_a_failure_stands_for_a_while_and_is_tried_again_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causewatch.server.noticed.COMMAND", ("true",))  # which says nothing
    now = FakeClock(5.0)
    noticed = Noticed(tmp_path / "absent.cwm", now)
    first = noticed.find()
    with pytest.raises(StreamError, match="try again later"):
        first.result(PATIENCE)
    now.sleep(AGAIN - 1)
    assert noticed.find() is first
    now.sleep(1)
    assert noticed.find() is not first
    with pytest.raises(StreamError, match="try again later"):
        noticed.find().result(PATIENCE)
