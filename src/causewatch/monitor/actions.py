"""What people ask for about alarms, as plain data, so that it can be handed to a running watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from causewatch.errors import SettingError, UnknownNameError
from causewatch.monitor.alarm_settings import AlarmSettings
from causewatch.monitor.alarms import Alarm, AlarmEvents
from causewatch.monitor.health import STREAM
from causewatch.monitor.policy import AlarmPolicy
from causewatch.monitor.state import SavedState

__all__ = ["ACTIONS", "act", "policy_of"]

ACTIONS = ("ack", "comment", "shelve", "unshelve", "normal", "undo")
NANOSECONDS = 1_000_000_000


def act(policy: AlarmPolicy, action: Mapping[str, Any], at: int) -> AlarmEvents:
    """Do what `action` says.

    Parameters
    ----------
    policy
        The alarms.
    action
        ``action`` (one of `ACTIONS`), ``id`` or ``signals``, ``by``, ``text``, and ``seconds`` for
        shelving.
    at
        When, on the clock of the stream.
    """
    kind = str(action.get("action"))
    id, by, text = (str(action.get(name) or "") for name in ("id", "by", "text"))
    signals = action.get("signals")
    what: str | list[str] = [str(name) for name in signals] if signals else id
    doing: dict[str, Callable[[], AlarmEvents]] = {
        "ack": lambda: policy.acknowledge(id, by=by, at=at, comment=text),
        "comment": lambda: policy.comment(id, by=by, at=at, text=text),
        "shelve": lambda: policy.shelve(
            what, until=at + _nanoseconds(action), by=by, at=at, comment=text
        ),
        "unshelve": lambda: policy.unshelve(what, at=at),
        "normal": lambda: policy.mark_normal(id, by=by, at=at, comment=text),
        "undo": lambda: policy.undo_normal(id, by=by, at=at, comment=text),
    }
    if kind not in doing:
        raise UnknownNameError(kind, "action", ACTIONS)
    return doing[kind]()


def policy_of(state: SavedState) -> AlarmPolicy:
    """The alarms of a saved state, without the model.

    Explanations stay as they are; there is nothing here to explain with.
    """
    saved = state.monitor["policy"]
    names = [name for name in saved["signals"] if name != STREAM]
    policy = AlarmPolicy(
        AlarmSettings(**state.settings),
        names,
        saved["fingerprint"],
        saved["stream"],
        state.clock,  # type: ignore[arg-type]
        describe=_as_it_is,
        health_only=(STREAM,),
    )
    policy.restore(saved)
    return policy


def _as_it_is(alarm: Alarm) -> Alarm:
    return alarm


def _nanoseconds(action: Mapping[str, Any]) -> int:
    try:
        return round(float(action["seconds"]) * NANOSECONDS)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        msg = f"Shelving for {action.get('seconds')!r} seconds makes no sense; give a number."
        raise SettingError(msg) from error
