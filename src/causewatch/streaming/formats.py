"""How an event of an alarm is written for those who receive it.

``json`` is the line of the alarm file. ``cef`` is one line of the Common Event Format, which
security operations read. ``diagnostics`` is a ``diagnostic_msgs/msg/DiagnosticArray`` as JSON, the
message by which robots report how they are. See ``docs/connect/formats.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal, get_args

from causewatch.errors import UnknownNameError
from causewatch.streaming.sink import Notice

__all__ = ["CONTENT_TYPES", "FORMATS", "VERSION", "Format", "formatted", "severity"]

Format = Literal["json", "cef", "diagnostics"]
"""For options of sinks."""

FORMATS: tuple[str, ...] = get_args(Format)

CONTENT_TYPES: Mapping[str, str] = {
    "json": "application/json",
    "cef": "text/plain; charset=utf-8",
    "diagnostics": "application/json",
}
"""What a receiver over HTTP is told about each format."""

VERSION = version("causewatch")

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What would end a line, or command a terminal."""
SURROGATES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which cannot be written as UTF-8."""

LONGEST_NAME, LONGEST_MESSAGE, LONGEST_TEXT = 512, 1023, 4000
"""What CEF allows for the name, for ``msg``, and for strings of one's own."""
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
CALM = 2
"""Severity of what is over."""
ATTENDED = 3
"""Severity of what somebody looks after."""
UNWELL = 5
"""Severity of a signal that cannot be trusted."""
STEPS = (2.0, 4.0, 8.0)
"""An anomaly is of severity 7; one more for each of these that its peak score has reached."""

OK, WARN, ERROR, STALE = range(4)
"""Levels of ``diagnostic_msgs/msg/DiagnosticStatus``."""
LAST_SECOND = 2**31 - 1
"""The last one that a stamp of ROS can hold."""


def formatted(notice: Notice, format: str) -> str:
    """The event in one of `FORMATS`: one line, without a line end, that UTF-8 can write.

    >>> notice = Notice(7, "line 1", {"id": "a1", "event": "raised", "kind": "anomaly"})
    >>> formatted(notice, "json")
    '{"id": "a1", "event": "raised", "kind": "anomaly", "watch": "line 1"}'
    """
    if format == "json":
        return _writable(notice.to_json())
    if format == "cef":
        return _cef(notice)
    if format == "diagnostics":
        return _writable(json.dumps(_diagnostics(notice), ensure_ascii=False, allow_nan=False))
    raise UnknownNameError(format, "format", FORMATS)


def severity(body: Mapping[str, Any]) -> int:
    """How grave an event is, from 0 to 10 as in CEF: 2 what is over, 7 to 10 an anomaly."""
    if body.get("event") == "cleared" or body.get("normal"):
        return CALM
    if body.get("event") in ("acknowledged", "shelved"):
        return ATTENDED
    if body.get("kind") == "health":
        return UNWELL
    peak = body.get("peak_score")
    return 7 + sum(peak >= step for step in STEPS) if isinstance(peak, int | float) else 7


def _writable(line: str) -> str:
    """`line` of JSON with halves of characters as the escapes that JSON has for them."""
    return SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def _cef(notice: Notice) -> str:
    body = notice.body
    head = (
        "causewatch",
        "causewatch",
        VERSION,
        f"{body.get('kind', 'alarm')}-{body.get('event', 'event')}",
        _short(str(body.get("headline") or "An alarm without a headline"), LONGEST_NAME),
        str(severity(body)),
    )
    header = "|".join(_header(part) for part in head)
    return f"CEF:0|{header}|" + " ".join(
        f"{key}={_extension(value)}" for key, value in _extensions(notice).items()
    )


def _extensions(notice: Notice) -> dict[str, str]:
    """What the event tells, under the keys that CEF has; nothing for what is not known."""
    body = notice.body
    found: dict[str, str | None] = {
        "rt": _cef_time(body.get("time")),
        "start": _cef_time(body.get("raised_at")),
        "end": _cef_time(body.get("cleared_at")),
        "externalId": _text(body.get("id")),
        "flexString2Label": "key",  # before all that is long, which may be cut off
        "flexString2": notice.key,
        "cat": _text(body.get("kind")),
        "act": _text(body.get("event")),
        "msg": _short(str(body.get("headline") or ""), LONGEST_MESSAGE) or None,
    }
    own = {
        "cs1": ("watch", notice.watch),
        "cs2": ("causes", _causes(body)),
        "cs3": ("signals", ", ".join(_names(body)) or None),
        "cs4": ("brokenLinks", _links(body)),
        "cs5": ("acknowledgedBy", _text(body.get("acknowledged_by"))),
        "cs6": ("problem", _text(body.get("problem"))),
        "cn1": ("number", str(notice.number)),
        "cfp1": ("peakScore", _text(body.get("peak_score"))),
    }
    for key, (label, value) in own.items():
        if value is not None:
            found |= {f"{key}Label": label, key: _short(value, LONGEST_TEXT)}
    if found["rt"] is None and "time" in body:  # seconds since some start, or rows
        found |= {"flexString1Label": "time", "flexString1": str(body["time"])}
    return {key: value for key, value in found.items() if value is not None}


def _header(text: str) -> str:
    """`text` for the header, which is of one line and ends each field with a bar."""
    return _clean(text).replace("\\", "\\\\").replace("|", "\\|")


def _extension(text: str) -> str:
    """`text` for a value, in which line ends can be written and the equals sign means something."""
    lines = [
        [_clean(part).replace("\\", "\\\\").replace("=", "\\=") for part in line.split("\r")]
        for line in text.split("\n")
    ]
    return "\\n".join("\\r".join(parts) for parts in lines)


def _clean(text: str) -> str:
    return SURROGATES.sub("\ufffd", CONTROLS.sub(" ", text))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _moment(value: Any) -> datetime | None:
    """A time as written, if it is a date; without a zone if it was written without one."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _cef_time(value: Any) -> str | None:
    """Milliseconds since 1970; the time in words where nobody knows the zone."""
    moment = _moment(value)
    if moment is None:
        return None
    if moment.tzinfo is None:
        # Not strftime: it would name the month in the language of the machine.
        thousandths = moment.microsecond // 1000
        return (
            f"{MONTHS[moment.month - 1]} {moment.day:02d} {moment.year:04d}"
            f" {moment:%H:%M:%S}.{thousandths:03d}"
        )
    return str(_nanoseconds(moment) // 1_000_000)


def _nanoseconds(moment: datetime) -> int:
    """Since 1970; exact, unlike `datetime.timestamp`."""
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _names(body: Mapping[str, Any]) -> list[str]:
    return [str(name) for name in body.get("signals") or ()]


def _causes(body: Mapping[str, Any]) -> str | None:
    """Best first: ``P101 (81 %), LIT301 (10 %)``."""
    told = []
    for cause in body.get("causes") or ():
        sure = cause.get("confidence")
        told.append(f"{cause.get('signal')}" + ("" if sure is None else f" ({100 * sure:.0f} %)"))
    return ", ".join(told) or None


def _links(body: Mapping[str, Any]) -> str | None:
    links = body.get("broken_links") or ()
    return ", ".join(f"{one.get('source')} → {one.get('target')}" for one in links) or None


def _diagnostics(notice: Notice) -> dict[str, Any]:
    """The fields of ``diagnostic_msgs/msg/DiagnosticArray``, with the one status of this alarm."""
    body = notice.body
    told = {
        "event": body.get("event"),
        "id": body.get("id"),
        "number": notice.number,
        "key": notice.key,
        "time": body.get("time"),
        "raised_at": body.get("raised_at"),
        "cleared_at": body.get("cleared_at"),
        "peak_score": body.get("peak_score"),
        "causes": _causes(body),
        "signals": ", ".join(_names(body)) or None,
        "broken_links": _links(body),
        "problem": body.get("problem"),
        "acknowledged_by": body.get("acknowledged_by"),
        "shelved_until": body.get("shelved_until"),
    }
    return {
        "header": {"stamp": _stamp(body.get("time")), "frame_id": ""},
        "status": [
            {
                "level": _level(body),
                # With the id: whoever collects states keeps the last one under each name.
                "name": f"{notice.watch}: {body.get('kind', 'alarm')} {body.get('id', '')}".strip(),
                "message": str(body.get("headline") or ""),
                "hardware_id": notice.watch,
                "values": [
                    {"key": key, "value": str(value)}
                    for key, value in told.items()
                    if value is not None
                ],
            }
        ],
    }


def _level(body: Mapping[str, Any]) -> int:
    if body.get("event") == "cleared":
        return OK
    if body.get("event") in ("acknowledged", "shelved"):
        return WARN
    if body.get("kind") == "health":
        return STALE if body.get("problem") in ("missing", "stale") else WARN
    return ERROR


def _stamp(value: Any) -> dict[str, int]:
    """The time of a message; zero, which stands for none in ROS, where there is no date.

    Times without a zone are taken as UTC.
    """
    moment = _moment(value)
    if moment is None:
        return {"sec": 0, "nanosec": 0}
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    seconds, rest = divmod(_nanoseconds(aware), 1_000_000_000)
    if not 0 <= seconds <= LAST_SECOND:
        return {"sec": 0, "nanosec": 0}
    return {"sec": seconds, "nanosec": rest}
