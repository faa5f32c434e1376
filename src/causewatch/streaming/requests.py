"""What people ask of a running watch: to acknowledge or shelve alarms, comment on them, and so on.

They leave it in the store, where the watch finds it; the answers go there with the next checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from causewatch.errors import CausewatchError
from causewatch.monitor import Alarm, Monitor
from causewatch.monitor.actions import act
from causewatch.monitor.alarms import Event
from causewatch.monitor.state import WRONG_PARTS
from causewatch.streaming.store.base import Asked

__all__ = ["answer"]


def answer(
    waiting: Iterable[Asked], monitor: Monitor, present: int
) -> tuple[dict[int, dict[str, Any]], list[tuple[Event, Alarm]]]:
    """Do what people have asked for at the time `present`.

    Returns
    -------
    answers, events
        What became of each request, by its number; what happened to alarms.
    """
    answers: dict[int, dict[str, Any]] = {}
    happened: list[tuple[Event, Alarm]] = []
    for asked in waiting:
        try:
            events = act(monitor.alarms, asked.action, present)
        except CausewatchError as error:
            answers[asked.number] = {"error": str(error)}
        except WRONG_PARTS:
            answers[asked.number] = {"error": "What was asked for is no action; ask again."}
        else:
            answers[asked.number] = {"events": events.to_dicts(monitor.clock)}
            happened += events
    return answers, happened
