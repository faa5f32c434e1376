"""A clock, a source and a sink that live in memory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from causewatch.data import Clock
from causewatch.streaming.sink import DeliveryError, Notice, Status
from causewatch.streaming.source import Batch, Guarantee, nothing

__all__ = ["FakeClock", "MemorySink", "MemorySource"]


class FakeClock:
    """A clock that goes when it is told to: ``clock()`` is the time in seconds.

    >>> clock = FakeClock(100.0)
    >>> clock.sleep(5)
    >>> clock()
    105.0
    """

    def __init__(self, start: float = 0.0) -> None:
        self.now = start

    def __call__(self) -> float:
        """The time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class MemorySource:
    """Rows from a list, which may grow while they are watched.

    Parameters
    ----------
    columns
        Names of the signals.
    rows
        Mappings from signal to value.
    times
        One for each row: a datetime, a number or text.
    endless
        Whether to wait for more at the end; `finish` ends it then.
    most
        Rows given out at once.

    Attributes
    ----------
    commits
        Positions at which `committed` was called.
    """

    clock: Clock | None = None
    missing: tuple[str, ...] = ()
    name = "memory"
    guarantee: Guarantee = "replayed"
    problems: Mapping[str, int] = {}

    def __init__(
        self,
        columns: Sequence[str],
        rows: Iterable[Mapping[str, Any]] = (),
        times: Iterable[Any] = (),
        *,
        endless: bool = False,
        most: int = 100,
    ) -> None:
        self.columns = tuple(columns)
        self._rows = list(zip(rows, times, strict=True))
        self._endless = endless
        self._most = most
        self._at = 0
        self._open = False
        self.commits: list[int] = []

    @property
    def status(self) -> str:
        """See `Source`."""
        return "ended" if self.ended else "reading"

    @property
    def ended(self) -> bool:
        """See `Source`."""
        return not self._open or (self._at >= len(self._rows) and not self._endless)

    def add(self, rows: Iterable[Mapping[str, Any]], times: Iterable[Any]) -> None:
        """More rows."""
        self._rows += zip(rows, times, strict=True)

    def finish(self) -> None:
        """There will be no more."""
        self._endless = False

    def open(self, after: Mapping[str, Any]) -> None:
        """See `Source`."""
        self._at = int(after.get("rows", 0))
        self._open = True

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        none = nothing(len(self.columns))
        if not self._open:
            return none
        if self._at >= len(self._rows) and self._endless:
            time.sleep(min(wait, 0.01))
        found = self._rows[self._at : self._at + self._most]
        self._at += len(found)
        return Batch(none.values, none.times, found)

    def position(self) -> dict[str, Any]:
        """See `Source`."""
        return {"rows": self._at}

    def committed(self) -> None:
        """See `Source`."""
        self.commits.append(self._at)

    def close(self) -> None:
        """See `Source`."""
        self._open = False


class MemorySink:
    """Keeps what it is sent in a list.

    Attributes
    ----------
    notices, statuses
        What came.
    down
        While true, every delivery fails.
    """

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.notices: list[Notice] = []
        self.statuses: list[Status] = []
        self.down = False

    def open(self, mark: Any) -> None:
        """See `Sink`."""

    def send(self, notices: Sequence[Notice]) -> Any:
        """See `Sink`."""
        if self.down:
            msg = "The memory sink is down."
            raise DeliveryError(msg)
        self.notices += notices

    def look(self, status: Status) -> None:
        """See `Sink`."""
        self.statuses.append(status)

    def close(self) -> None:
        """See `Sink`."""
