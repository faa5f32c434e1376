"""What an alarm is: an interval with an identity, its explanation and what people said about it.

These are values. The rules by which alarms come and go are in `causewatch.monitor.policy`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any, Literal, Self

from causewatch.data.table import Clock, format_time, read_time
from causewatch.errors import listing
from causewatch.graph import Link
from causewatch.markup import bold, facts, grid
from causewatch.model import NormalModel
from causewatch.monitor.course import Course

__all__ = [
    "LEAST_CONFIDENCE",
    "Alarm",
    "AlarmEvents",
    "BrokenLink",
    "Cause",
    "Event",
    "Kind",
    "Remark",
    "alarm_id",
    "likely",
]

LEAST_CONFIDENCE = 0.01
"""A further cause that is less likely than this is not named."""

Kind = Literal["anomaly", "health"]
"""``anomaly``: the plant behaves differently; ``health``: a signal cannot be trusted."""

Event = Literal["raised", "updated", "cleared", "acknowledged", "shelved"]
"""What happened to an alarm; one JSON line each."""
EVENTS: tuple[Event, ...] = ("cleared", "raised", "updated", "acknowledged", "shelved")
"""In the order in which they are told: a cleared alarm makes room for a raised one."""


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link that no longer acts as learnt.

    `normal` and `observed` are its coefficient then and now; `deviation` is their distance in
    units of the link's limit.
    """

    link: Link
    normal: float
    observed: float
    deviation: float

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON lines."""
        return {
            "source": self.link.source,
            "target": self.link.target,
            "lag": self.link.lag,
            "normal": _finite(self.normal),
            "observed": _finite(self.observed),
            "deviation": _finite(self.deviation),
        }


@dataclass(frozen=True, slots=True)
class Cause:
    """A signal where the trouble may have started, with a score and a confidence from 0 to 1."""

    signal: str
    score: float
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON lines."""
        return {
            "signal": self.signal,
            "score": _finite(self.score),
            "confidence": _finite(self.confidence),
        }


def likely(causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """The causes to name: the first, and those that are not next to impossible."""
    return (*causes[:1], *(cause for cause in causes[1:] if cause.confidence >= LEAST_CONFIDENCE))


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody said about an alarm, and when (nanoseconds)."""

    by: str
    at: int
    text: str = ""

    def to_dict(self, clock: Clock) -> dict[str, Any]:
        """As in the JSON lines."""
        return {"by": self.by, "time": format_time(self.at, clock), "text": self.text}


@dataclass(frozen=True, slots=True)
class Alarm:
    """An interval of trouble. Times are nanoseconds on the clock of the stream.

    Attributes
    ----------
    id
        Twelve hexadecimal digits that follow from model, stream and raise time; see `alarm_id`.
    kind
        ``anomaly`` or ``health``.
    raised_at, cleared_at
        The ticks at which it was raised and cleared; `cleared_at` is None while it is on.
    onset
        When the trouble began, as far as known; never later than `raised_at`.
    updated_at
        Time of its last event.
    peak_score
        The largest score so far; 1.0 is the limit. None for health alarms without evidence.
    signals
        The signals concerned, each with its largest evidence so far, largest first.
    problem
        What is wrong with the signal of a health alarm.
    causes, broken_links, headline, abstained
        The explanation; `abstained` means that no cause could be told.
    acknowledged
        By whom and when, or None.
    shelved_until
        Until when it is out of sight, or None.
    comments
        The latest remarks, oldest first.
    merged
        How often it was opened again after clearing.
    normal
        Whether an operator said that this was normal.
    course, model
        The ticks around it and the model it was raised by, for explaining it; None for an alarm
        that was read back from a saved state.
    """

    id: str
    kind: Kind
    raised_at: int
    onset: int
    updated_at: int
    cleared_at: int | None = None
    peak_score: float | None = None
    signals: Mapping[str, float | None] = field(default_factory=dict)
    problem: str | None = None
    causes: tuple[Cause, ...] = ()
    broken_links: tuple[BrokenLink, ...] = ()
    headline: str = ""
    abstained: bool = False
    acknowledged: Remark | None = None
    shelved_until: int | None = None
    comments: tuple[Remark, ...] = ()
    merged: int = 0
    normal: bool = False
    course: Course | None = field(default=None, repr=False, compare=False)
    model: NormalModel | None = field(default=None, repr=False, compare=False)

    @property
    def on(self) -> bool:
        """Whether it has not been cleared."""
        return self.cleared_at is None

    def _repr_html_(self) -> str:
        clock = None if self.model is None else self.model.clock  # else nobody knows it
        times = [("raised", self.raised_at), ("cleared", self.cleared_at), ("began", self.onset)]
        shown = [(name, at) for name, at in times if clock is not None and at is not None]
        return (
            bold(self.headline or f"{self.kind} alarm about {listing(self.signals)}")
            + facts(
                [
                    ("id", self.id),
                    ("kind", self.kind),
                    *((name, format_time(at, clock or "rows")) for name, at in shown),
                    ("on", "yes" if self.on else "no"),
                    ("peak score", "" if self.peak_score is None else f"{self.peak_score:.3g}"),
                ]
            )
            + grid(
                ("candidate" if self.abstained else "cause", "score", "confidence"),
                [(one.signal, one.score, f"{one.confidence:.0%}") for one in self.causes],
            )
            + grid(
                ("broken link", "normal", "observed"),
                [(str(one.link), one.normal, one.observed) for one in self.broken_links],
            )
        )

    def to_dict(self, event: Event, clock: Clock) -> dict[str, Any]:
        """The alarm as one JSON line about `event`. What is not a finite number is null."""
        seen = self.acknowledged
        return {
            "id": self.id,
            "event": event,
            "time": format_time(self.updated_at, clock),
            "kind": self.kind,
            "raised_at": format_time(self.raised_at, clock),
            "cleared_at": _moment(self.cleared_at, clock),
            "onset": format_time(self.onset, clock),
            "peak_score": _finite(self.peak_score),
            "headline": self.headline,
            "abstained": self.abstained,
            "causes": [cause.to_dict() for cause in self.causes],
            "broken_links": [link.to_dict() for link in self.broken_links],
            "signals": {name: _finite(value) for name, value in self.signals.items()},
            "problem": self.problem,
            "acknowledged_by": None if seen is None else seen.by,
            "acknowledged_at": None if seen is None else format_time(seen.at, clock),
            "shelved_until": _moment(self.shelved_until, clock),
            "comments": [remark.to_dict(clock) for remark in self.comments],
            "merged": self.merged,
            "normal": self.normal,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The alarm of a JSON line, without what people said about it."""
        cleared = record["cleared_at"]
        return cls(
            **{name: record[name] for name in PLAIN_IN_LINES},
            raised_at=read_time(record["raised_at"]),
            onset=read_time(record["onset"]),
            updated_at=read_time(record["time"]),
            cleared_at=None if cleared is None else read_time(cleared),
            causes=tuple(
                Cause(cause["signal"], _number(cause["score"]), _number(cause["confidence"]))
                for cause in record["causes"]
            ),
            broken_links=tuple(
                BrokenLink(
                    Link(link["source"], link["target"], link["lag"]),
                    *(_number(link[name]) for name in ("normal", "observed", "deviation")),
                )
                for link in record["broken_links"]
            ),
        )

    def to_state(self) -> dict[str, Any]:
        """The alarm as plain values from which `from_state` makes the very same alarm."""
        state: dict[str, Any] = {name: getattr(self, name) for name in PLAIN}
        state["peak_score"] = _encode(self.peak_score)
        state["signals"] = {name: _encode(value) for name, value in self.signals.items()}
        state["causes"] = [
            [cause.signal, _encode(cause.score), _encode(cause.confidence)] for cause in self.causes
        ]
        state["broken_links"] = [
            [
                [broken.link.source, broken.link.target, broken.link.lag],
                *(_encode(value) for value in (broken.normal, broken.observed, broken.deviation)),
            ]
            for broken in self.broken_links
        ]
        seen = self.acknowledged
        state["acknowledged"] = None if seen is None else list(astuple(seen))
        state["comments"] = [list(astuple(remark)) for remark in self.comments]
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """See `to_state`."""
        seen = state["acknowledged"]
        return cls(
            **{name: state[name] for name in PLAIN},
            peak_score=_decode(state["peak_score"]),
            signals={name: _decode(value) for name, value in state["signals"].items()},
            causes=tuple(
                Cause(name, float(score), float(sure)) for name, score, sure in state["causes"]
            ),
            broken_links=tuple(
                BrokenLink(Link(*link), *map(float, values))
                for link, *values in state["broken_links"]
            ),
            acknowledged=None if seen is None else Remark(*seen),
            comments=tuple(Remark(*remark) for remark in state["comments"]),
        )


PLAIN = (
    "id",
    "kind",
    "raised_at",
    "onset",
    "updated_at",
    "cleared_at",
    "problem",
    "headline",
    "abstained",
    "shelved_until",
    "merged",
    "normal",
)
"""The attributes of an alarm that are plain values already."""
PLAIN_IN_LINES = (
    "id",
    "kind",
    "peak_score",
    "signals",
    "problem",
    "headline",
    "abstained",
    "merged",
    "normal",
)
"""The attributes of an alarm that its JSON lines hold as they are."""


@dataclass(frozen=True, slots=True)
class AlarmEvents:
    """What happened to alarms in one step. False if nothing did; iterates over (event, alarm)."""

    raised: tuple[Alarm, ...] = ()
    updated: tuple[Alarm, ...] = ()
    cleared: tuple[Alarm, ...] = ()
    acknowledged: tuple[Alarm, ...] = ()
    shelved: tuple[Alarm, ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[Event, Alarm]]) -> Self:
        """From pairs of event and alarm."""
        alarms: dict[Event, tuple[Alarm, ...]] = {}
        for event, alarm in pairs:
            alarms[event] = (*alarms.get(event, ()), alarm)
        return cls(**alarms)

    def __bool__(self) -> bool:
        return any(getattr(self, event) for event in EVENTS)

    def __iter__(self) -> Iterator[tuple[Event, Alarm]]:
        for event in EVENTS:
            for alarm in getattr(self, event):
                yield event, alarm

    def to_dicts(self, clock: Clock) -> list[dict[str, Any]]:
        """One dictionary per JSON line."""
        return [alarm.to_dict(event, clock) for event, alarm in self]


def alarm_id(
    fingerprint: str, stream: str, raised_at: int, signal: str = "", jumps: int = 0
) -> str:
    """Twelve hexadecimal digits that follow from model, stream and raise time.

    At most one anomaly alarm is raised at a tick, but several health alarms may be: these add
    their `signal`. Where time has gone back, the same moment comes again: `jumps` says how often
    it has.

    >>> alarm_id("model", "line 1", 0) == alarm_id("model", "line 1", 0)
    True
    """
    # The lengths keep ("ab", "c") and ("a", "bc") apart.
    again = [str(jumps)] if jumps else []
    words = (fingerprint, stream, str(raised_at), signal, *again)
    parts = [f"{len(part)}:{part}" for part in words]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def _moment(time: int | None, clock: Clock) -> str | None:
    return None if time is None else format_time(time, clock)


def _finite(value: float | None) -> float | None:
    """`value`, or None where it is no finite number: JSON has none of these."""
    return None if value is None or not math.isfinite(value) else float(value)


def _number(value: float | None) -> float:
    """What `_finite` was given, as far as it is known."""
    return math.nan if value is None else float(value)


def _encode(value: float | None) -> float | str | None:
    """`value` as JSON has it; numbers that are not finite become text."""
    if value is None:
        return None
    return float(value) if math.isfinite(value) else str(float(value))


def _decode(value: float | str | None) -> float | None:
    return None if value is None else float(value)
