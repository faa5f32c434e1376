"""What came of an action on alarms, and what is shelved, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from causewatch.cli.output import shown
from causewatch.data import format_time
from causewatch.errors import listing

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.cli.alarm_state import SavedAlarms

__all__ = ["print_done", "print_shelves", "shelf_dicts"]


def print_done(
    action: dict[str, Any], events: list[dict[str, Any]], saved: SavedAlarms, out: Console
) -> None:
    """Say in words what was done.

    Parameters
    ----------
    action
        What was asked for, see `causewatch.monitor.actions.act`.
    events
        What came of it; an alarm that the watch has forgotten has no event.
    saved
        The state after it.
    """
    if signals := action.get("signals"):
        verb = "is" if len(set(signals)) == 1 else "are"
        out.print(f"{shown(listing(dict.fromkeys(signals)))} {verb} {_signals(action, saved)}.")
    elif not events:
        out.print(f"{action['id']}  {_words(action, {}, saved)}")
    for event in events:
        out.print(f"{event['id']}  {_words(action, event, saved)}")
        out.print(f"              {shown(event['headline'])}")


def _signals(action: dict[str, Any], saved: SavedAlarms) -> str:
    """What has become of signals."""
    if action["action"] == "unshelve":
        return "no longer shelved"
    names = set(action["signals"])
    until = [one.until for one in saved.shelves if one.alarm is None and names & set(one.signals)]
    return f"shelved until {format_time(until[0], saved.clock)}" if until else "shelved"


def _words(action: dict[str, Any], event: dict[str, Any], saved: SavedAlarms) -> str:
    """What has become of an alarm; `event` is empty where there is none."""
    kind = action["action"]
    if kind == "ack":
        return f"acknowledged by {shown(str(action['by']))}"
    if kind == "shelve":
        return f"shelved until {event['shelved_until']}"
    if kind == "unshelve":
        still_on = event and event["event"] == "raised"
        return "no longer shelved, and still on" if still_on else "no longer shelved"
    if kind == "normal":
        cleared = " and cleared" if event["event"] == "cleared" else ""
        return f"called normal{cleared}; {_limits(event['id'], saved)}"
    if kind == "accept":
        return "accepted: the signal is judged from where it is now; learn again when there is time"
    if kind == "undo":
        return "'normal' taken back; limits are as they were without it"
    return "comment added"


def _limits(id: str, saved: SavedAlarms) -> str:
    """How much higher limits are since an alarm was called normal."""
    policy = saved.policy
    now = dict(zip(policy.signals, policy.factors.tolist(), strict=True))
    marked = [mark.factors for mark in policy.marks if mark.alarm == id]
    wider = [name for factors in marked for name, factor in factors.items() if factor > 1.0]
    if not wider:
        return "no limit had to be raised for that"
    most = f"{max(now[name] for name in wider):.3g} times"
    if len(wider) == 1:
        return f"the limit of {shown(listing(wider))} is {most} the learnt one from now on"
    return f"the limits of {shown(listing(wider))} are up to {most} the learnt ones from now on"


def print_shelves(saved: SavedAlarms, out: Console) -> None:
    """One line for each signal or alarm that is out of sight."""
    for shelf in saved.shelves:
        names = shown(listing(shelf.signals))
        what = names if shelf.alarm is None else f"alarm {shelf.alarm} ({names})"
        until = format_time(shelf.until, saved.clock)
        out.print(f"Shelved until {until}, by {shown(shelf.by)}: {what}")


def shelf_dicts(saved: SavedAlarms) -> list[dict[str, Any]]:
    """The same as plain data; `alarm` is None where signals were shelved, `kind` for both kinds."""
    return [
        {
            "signals": list(shelf.signals),
            "alarm": shelf.alarm,
            "kind": shelf.kind,
            "until": format_time(shelf.until, saved.clock),
            "by": shelf.by,
            "time": format_time(shelf.at, saved.clock),
        }
        for shelf in saved.shelves
    ]
