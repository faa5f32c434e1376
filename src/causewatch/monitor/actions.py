"""What people ask for about alarms, as plain data, so that it can be handed to a running watch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from causewatch.data.table import NANOSECONDS, Clock
from causewatch.errors import SettingError, UnknownNameError, shorten
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents
from causewatch.monitor.health import STREAM
from causewatch.monitor.policy import AlarmPolicy

__all__ = ["ACTIONS", "act", "policy_of"]

ACTIONS = ("ack", "comment", "shelve", "unshelve", "normal", "undo", "accept")
LONGEST_DAYS = 3650
"""Nothing is shelved for longer."""


def act(policy: AlarmPolicy, action: Mapping[str, Any], at: int) -> AlarmEvents:
    """Do what `action` says.

    Parameters
    ----------
    policy
        The alarms.
    action
        ``action`` (one of `ACTIONS`), ``id`` or ``signals`` (``normal``: both may be given),
        ``by``, ``text``, and ``seconds`` for shelving.
    at
        When, on the clock of the stream.
    """
    kind = str(action.get("action"))
    id, by, text = (_text(action.get(name) or "") for name in ("id", "by", "text"))
    signals = action.get("signals")
    what: str | list[str] = [_text(name) for name in signals] if signals else id
    doing: dict[str, Callable[[], AlarmEvents]] = {
        "ack": lambda: policy.acknowledge(id, by=by, at=at, comment=text),
        "comment": lambda: policy.comment(id, by=by, at=at, text=text),
        "shelve": lambda: policy.shelve(
            what, until=at + _nanoseconds(action), by=by, at=at, comment=text
        ),
        "unshelve": lambda: policy.unshelve(what, at=at),
        "normal": lambda: _mark_normal(policy, id, by, at, text, what if signals else None),
        "accept": lambda: policy.accept(id, by=by, at=at, comment=text),
        "undo": lambda: policy.undo_normal(id, by=by, at=at, comment=text),
    }
    if kind not in doing:
        raise UnknownNameError(kind, "action", ACTIONS)
    return doing[kind]()


def _mark_normal(
    policy: AlarmPolicy, id: str, by: str, at: int, text: str, signals: Iterable[str] | None
) -> AlarmEvents:
    """Mark an alarm as normal, once: a second time would change no limit."""
    for mark in policy.marks:
        if mark.alarm == id:
            msg = f"Alarm {id} was called normal by {mark.by} already; undo takes it back."
            raise SettingError(msg)
    return policy.mark_normal(id, by=by, at=at, comment=text, signals=signals)


def policy_of(
    snapshot: Mapping[str, Any], settings: Mapping[str, Any], clock: Clock
) -> AlarmPolicy:
    """The alarms in a snapshot of a monitor, without the model.

    Explanations stay as they are; there is nothing here to explain with.
    """
    saved = snapshot["policy"]
    names = [name for name in saved["signals"] if name != STREAM]
    policy = AlarmPolicy(
        AlarmSettings(**settings),
        names,
        saved["fingerprint"],
        saved["stream"],
        clock,
        describe=_as_it_is,
        health_only=(STREAM,),
    )
    policy.restore(saved)
    return policy


def _as_it_is(alarm: Alarm) -> Alarm:
    return alarm


def _text(value: Any) -> str:
    """Text that can be written anywhere: bytes of a shell that are no UTF-8 become signs."""
    return str(value).encode("utf-8", "replace").decode()


def _nanoseconds(action: Mapping[str, Any]) -> int:
    try:
        seconds = float(action["seconds"])
    except (KeyError, TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 < seconds <= LONGEST_DAYS * 86_400:
        given = shorten(repr(action.get("seconds")))
        msg = (
            f"Shelving for {given} seconds makes no sense; give more than nothing and at most"
            f" {LONGEST_DAYS} d."
        )
        raise SettingError(msg)
    return round(seconds * NANOSECONDS)
