"""How a watch stands, for Prometheus.

Names of signals, kinds of problems and sinks are labels. There are as many of them as the model and
the configuration have, however long the watch runs. What is not known is left out, never zero.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from causewatch.extras import needed
from causewatch.monitor.alarms import Kind
from causewatch.monitor.health import STREAM, HealthState
from causewatch.streaming.formats import VERSION
from causewatch.streaming.sink import Status
from causewatch.streaming.source import is_away

__all__ = ["Metrics"]

Values = Mapping[Any, float]
"""Values by their labels, which are tuples of text."""

KINDS: tuple[str, ...] = get_args(Kind)
STATES: tuple[str, ...] = get_args(HealthState)
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds that a checkpoint may take."""


class Metrics:
    """What is told to Prometheus about one watch. Safe to use from several threads.

    Parameters
    ----------
    watch
        Its name.
    now
        Seconds on a clock that never goes back.
    """

    def __init__(self, watch: str, now: Callable[[], float] = time.monotonic) -> None:
        self._library = needed("prometheus_client", "metrics")
        self._families = needed("prometheus_client.core", "metrics")
        self._watch = watch
        self._now = now
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._looked_at: float | None = None
        self._saved_at: float | None = None
        self._raised: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self._sinks: dict[str, tuple[int, int, dict[str, int]]] = {}
        self._inbox: tuple[int, int, int] | None = None
        # Of its own: several watches of one program must not share what the library keeps for all.
        self._registry = self._library.CollectorRegistry()
        self._library.ProcessCollector(registry=self._registry)
        self._seconds = self._library.Histogram(
            "causewatch_checkpoint_seconds",
            "How long checkpoints took.",
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._registry.register(self)

    def look(self, status: Status) -> None:
        """How the watch stands, about twice a second."""
        with self._lock:
            self._status = status
            self._looked_at = self._now()

    def event(self, body: Mapping[str, Any]) -> None:
        """An event of an alarm."""
        kind = body.get("kind")
        if body.get("event") == "raised" and kind in KINDS:
            with self._lock:
                self._raised[str(kind)] += 1

    def checkpoint(self, seconds: float) -> None:
        """A checkpoint was written, and took so long."""
        self._seconds.observe(seconds)
        with self._lock:
            self._saved_at = self._now()

    def delivery(self, sink: str, errors: int, waiting: int, problems: Mapping[str, int]) -> None:
        """How a sink stands: failed deliveries, events that wait, what was not told whole."""
        with self._lock:
            self._sinks[sink] = (errors, waiting, dict(problems))

    def inbox(self, waiting: int, waits: int, turned_away: int) -> None:
        """How the queue of a source stands (`causewatch.streaming.inbox.Inbox`)."""
        with self._lock:
            self._inbox = (waiting, waits, turned_away)

    @property
    def age(self) -> float | None:
        """Seconds since the watch last said how it stands; None if it never did."""
        looked_at = self._looked_at
        return None if looked_at is None else self._now() - looked_at

    @property
    def source(self) -> str:
        """How the source stands, in words; empty if nothing was said."""
        status = self._status
        if status is None:
            return ""
        silent = status.unwell.get(STREAM) == "silent"
        said = status.source.rstrip(".")
        return f"{said}; no rows come" if silent else said

    @property
    def blind(self) -> str:
        """Why the rows that come are not judged, in a sentence; empty while they are."""
        status = self._status
        return "" if status is None else status.blind

    @property
    def unkept(self) -> str:
        """Why what is seen cannot be kept, in a sentence; empty while it can."""
        status = self._status
        return "" if status is None else status.unkept

    def text(self) -> bytes:
        """Everything, in the text form of Prometheus."""
        found: bytes = self._library.generate_latest(self._registry)
        return found

    def collect(self) -> Iterator[Any]:
        """What `prometheus_client` asks a collector for."""
        with self._lock:
            status, raised, sinks = self._status, dict(self._raised), dict(self._sinks)
            saved_at, inbox = self._saved_at, self._inbox
        yield self._gauge(
            "watch_info", "The watch and its release.", {(self._watch, VERSION): 1},
            ("watch", "version"),
        )  # fmt: skip
        if status is not None:
            yield from self._of_status(status)
        yield self._counter("alarms_raised", "Alarms raised by this run.", _by(raised), ("kind",))
        errors = {(name,): one[0] for name, one in sinks.items()}
        waiting = {(name,): one[1] for name, one in sinks.items()}
        yield self._counter("sink_errors", "Deliveries that failed.", errors, ("sink",))
        yield self._gauge("sink_waiting", "Events not delivered yet.", waiting, ("sink",))
        left = {(name, kind): n for name, one in sinks.items() for kind, n in one[2].items()}
        yield self._counter(
            "sink_problems", "Events that were refused for good, or told in part.",
            left, ("sink", "kind"),
        )  # fmt: skip
        if saved_at is not None:
            yield self._gauge(
                "checkpoint_age_seconds", "Since the last checkpoint.", {(): self._now() - saved_at}
            )
        if inbox is not None:
            yield self._gauge("inbox_waiting", "Messages not taken yet.", {(): inbox[0]})
            yield self._counter(
                "inbox_waits", "How often the plant had to wait for the watch.", {(): inbox[1]}
            )
            yield self._counter(
                "inbox_turned_away", "Messages left out because too many waited.", {(): inbox[2]}
            )

    def _of_status(self, status: Status) -> Iterator[Any]:
        yield self._counter("rows", "Rows taken in by this run.", {(): status.rows})
        yield self._counter("ticks", "Ticks completed by this run.", {(): status.ticks})
        yield self._gauge(
            "lag_seconds", "From the time of the last row to now.", _known(status.lag)
        )
        yield self._gauge(
            "score", "Score of the last tick; 1 is the limit of an alarm.", _known(status.score)
        )
        yield self._gauge(
            "signal_evidence", "Evidence of a signal at the last tick; 1 is its limit.",
            _by(status.signals), ("signal",),
        )  # fmt: skip
        on = Counter(str(alarm.get("kind")) for alarm in status.alarms)
        yield self._gauge(
            "alarms_on", "Alarms that are on.", {(k,): on[k] for k in KINDS}, ("kind",)
        )
        unwell = {
            (name, state if state in STATES else "other"): 1
            for name, state in status.unwell.items()
            if state != "ok"
        }
        yield self._gauge(
            "signal_unwell", "Signals that are not well, and how.", unwell, ("signal", "state")
        )
        yield self._counter(
            "problems", "What was wrong with rows.", _by(status.problems), ("kind",)
        )
        yield self._gauge(
            "judging", "0 while rows come and are not judged.", {(): float(not status.blind)}
        )
        yield self._gauge(
            "keeping", "0 while state or scores cannot be written.",
            {(): float(not status.unkept)},
        )  # fmt: skip
        yield self._gauge("events_unkept", "Events that wait to be kept.", {(): status.waiting})
        yield self._counter(
            "scores_lost", "Rows missing in the file of scores.", {(): status.scores_lost}
        )
        yield self._counter(
            "rows_came", "Rows that came, also those that were dropped.", {(): status.came}
        )
        yield self._counter("rows_judged", "Rows that ended in a judged tick.", {(): status.judged})
        yield self._gauge(
            "judged_age_seconds", "Since the last judged tick, on the clock of the machine.",
            _known(status.judged_age),
        )  # fmt: skip
        up = {(): float(not is_away(status.source))} if status.source else {}
        yield self._gauge("source_up", "0 while the source is away and is tried again.", up)

    def _gauge(self, name: str, text: str, values: Values, labels: Sequence[str] = ()) -> Any:
        return self._family(self._families.GaugeMetricFamily, name, text, values, labels)

    def _counter(self, name: str, text: str, values: Values, labels: Sequence[str] = ()) -> Any:
        return self._family(self._families.CounterMetricFamily, name, text, values, labels)

    def _family(
        self, kind: Any, name: str, text: str, values: Values, labels: Sequence[str]
    ) -> Any:
        family = kind(f"causewatch_{name}", text, labels=labels)
        for given, value in values.items():
            # A half of a character cannot be written as UTF-8; its escape can.
            written = [one.encode("utf-8", "backslashreplace").decode() for one in given]
            family.add_metric(written, value)
        return family


def _known(value: float | None) -> Values:
    return {} if value is None else {(): value}


def _by(values: Mapping[str, float]) -> Values:
    return {(name,): value for name, value in values.items() if value is not None}
