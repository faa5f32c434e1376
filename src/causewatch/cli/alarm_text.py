"""Alarms for people, from their JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from causewatch.cli.output import shown

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["by_age", "is_on", "print_alarm", "print_list"]


def is_on(alarm: dict[str, Any]) -> bool:
    """Whether it has not been cleared."""
    return alarm.get("cleared_at") is None


def by_age(alarm: dict[str, Any]) -> tuple[bool, str]:
    """Those that are on first, then the latest; times of one source compare as text."""
    turned = "".join(chr(0x10FFFF - ord(sign)) for sign in str(alarm.get("raised_at")))
    return not is_on(alarm), turned


def _state(alarm: dict[str, Any]) -> str:
    state = "on" if is_on(alarm) else "cleared"
    if alarm.get("normal"):
        return f"{state}, normal"
    if alarm.get("shelved_until"):
        return f"{state}, shelved"
    return f"{state}, seen" if alarm.get("acknowledged_by") else state


def print_list(alarms: list[dict[str, Any]], out: Console) -> None:
    """Two lines for each alarm."""
    from rich.text import Text

    if not alarms:
        out.print("No alarms so far.")
    for alarm in alarms:
        peak = alarm.get("peak_score")
        line = Text(f"{alarm['id']}  ", style="bold")
        line.append(f"{_state(alarm):18}", "red" if is_on(alarm) else "green")
        line.append(f"{alarm.get('kind'):8} raised {alarm.get('raised_at')}", "not bold")
        line.append("" if peak is None else f"  peak {peak:.1f}", "not bold")
        out.print(line)
        out.print(f"              {shown(str(alarm.get('headline')))}")


def print_alarm(
    alarm: dict[str, Any], events: list[dict[str, Any]], every: float | None, out: Console
) -> None:
    """Everything about one alarm, and its events; `every` is the length of a tick, if known."""
    out.print(shown(str(alarm["headline"])), style="bold")
    until = "still on" if is_on(alarm) else f"cleared {alarm['cleared_at']}"
    out.print(f"Alarm      {alarm['id']} ({alarm['kind']}), raised {alarm['raised_at']}, {until}")
    if alarm["peak_score"] is not None:
        out.print(f"Peak       {alarm['peak_score']:.2f} (limit 1)")
    if alarm["causes"]:
        causes = (f"{shown(str(one['signal']))} {_share(one)}" for one in alarm["causes"][:5])
        said = "cannot tell; candidates " if alarm["abstained"] else ""
        out.print(f"Causes     {said}{', '.join(causes)}")
    for link in alarm["broken_links"][:8]:
        source, target = shown(str(link["source"])), shown(str(link["target"]))
        between = f"{source}, own past" if source == target else f"{source} → {target}"
        out.print(
            f"Broken     {between}"
            f" ({_lag(link['lag'], every)}): {_number(link['observed'])} instead of"
            f" {_number(link['normal'])}"
        )
    if alarm["acknowledged_by"]:
        out.print(
            f"Seen       by {shown(alarm['acknowledged_by'])}, {alarm.get('acknowledged_at')}"
        )
    if alarm["shelved_until"]:
        out.print(f"Shelved    until {alarm['shelved_until']}")
    if alarm["normal"]:
        out.print("Normal     its limits were widened; 'undo' takes that back")
    for remark in alarm["comments"]:
        out.print(f"{remark['time']}  {shown(str(remark['by']))}: {shown(str(remark['text']))}")
    before: dict[str, Any] | None = None
    for event in events:
        out.print(f"{event['time']}  {_what(event, before)}", style="dim")
        before = event


def _what(event: dict[str, Any], before: dict[str, Any] | None) -> str:
    """What happened, which the names of events do not tell apart.

    Every event repeats the whole alarm, so that is what is different from the one before.
    """
    name = str(event["event"])
    if before is None:
        return name
    if event["normal"] != before["normal"]:
        if not event["normal"]:
            return "'normal' taken back"
        return "called normal, and cleared" if name == "cleared" else "called normal"
    if name == "raised" and before["shelved_until"] and not event["shelved_until"]:
        return "unshelved"
    if name == "updated" and event["merged"] > before["merged"]:
        return "opened again"
    if name == "updated" and event["comments"] != before["comments"]:
        return "commented"
    return name


def _lag(ticks: int, every: float | None) -> str:
    """How much later an effect follows, as the page says it."""
    from causewatch.explain.view import later

    if every is None:
        return "1 tick" if ticks == 1 else f"{ticks} ticks"
    return later(ticks, every)


def _share(cause: dict[str, Any]) -> str:
    sure = cause["confidence"]
    return f"{sure:.0%}" if isinstance(sure, int | float) else "unknown"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else "unknown"
