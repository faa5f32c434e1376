"""What the nodes of the OPC UA sink show, and of which types they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from causewatch.streaming.formats import formatted
from causewatch.streaming.sink import Notice, Status

__all__ = ["EMPTY", "LAST_ALARM", "STATUS", "last_alarm", "moment", "status_nodes", "text"]

LONGEST = 4000
"""Characters of a text in a node or an event."""

STATUS: Mapping[str, str] = {
    "Watch": "String",
    "Status": "String",
    "Time": "String",
    "Score": "Double",
    "AlarmOn": "Boolean",
    "ActiveAlarms": "UInt32",
    "Acknowledged": "UInt32",
    "Unacknowledged": "UInt32",
    "UnwellSignals": "UInt32",
    "Rows": "UInt64",
    "Ticks": "UInt64",
    "Lag": "Double",
    "Problems": "UInt64",
}
"""Nodes that tell how the watch stands, with their types."""

EMPTY: Mapping[str, Any] = {"String": "", "Boolean": False, "Double": 0.0}

LAST_ALARM: Mapping[str, str] = {
    "Number": "UInt64",
    "Id": "String",
    "Event": "String",
    "Kind": "String",
    "Headline": "String",
    "FirstCause": "String",
    "RaisedAt": "String",
    "ClearedAt": "String",
    "Time": "String",
    "Json": "String",
}
"""Nodes below ``LastAlarm``, with their types."""


def status_nodes(status: Status) -> dict[str, Any]:
    """What the nodes of `STATUS` show; None for what is not known."""
    acknowledged = sum(bool(alarm.get("acknowledged_by")) for alarm in status.alarms)
    return {
        "Watch": status.watch,
        "Status": status.source,
        "Time": status.time,
        "Score": status.score,
        "AlarmOn": bool(status.alarms),
        "ActiveAlarms": len(status.alarms),
        "Acknowledged": acknowledged,
        "Unacknowledged": len(status.alarms) - acknowledged,
        "UnwellSignals": len(status.unwell),
        "Rows": status.rows,
        "Ticks": status.ticks,
        "Lag": status.lag,
        "Problems": sum(status.problems.values()),
    }


def last_alarm(notice: Notice) -> dict[str, Any]:
    """What the nodes below ``LastAlarm`` show."""
    body = notice.body
    causes = body.get("causes") or ()
    return {
        "Number": notice.number,
        "Id": text(body.get("id")),
        "Event": text(body.get("event")),
        "Kind": text(body.get("kind")),
        "Headline": text(body.get("headline")),
        "FirstCause": text(causes[0].get("signal")) if causes else None,
        "RaisedAt": text(body.get("raised_at")),
        "ClearedAt": text(body.get("cleared_at")),
        "Time": text(body.get("time")),
        "Json": formatted(notice, "json"),
    }


def text(value: Any) -> str | None:
    """Text for a node; half characters, which cannot be sent, are marked."""
    if value is None:
        return None
    whole = str(value).encode("utf-8", "replace").decode("utf-8")
    return whole if len(whole) <= LONGEST else whole[: LONGEST - 1] + "…"


def moment(value: Any) -> datetime | None:
    """A time as written, if it is a date; as UTC if no zone was written."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
