"""What every source must do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from causewatch.monitor.intake_clock import StreamClock
from causewatch.monitor.intake_problems import Problems
from causewatch.streaming.source import Batch, Source
from causewatch.testing.held import Held
from causewatch.testing.waiting import PATIENCE, until

__all__ = ["SourceContract", "SourceRig", "collect"]

START = datetime(2026, 1, 1, tzinfo=UTC)

LINK = frozenset(
    {
        "broker_errors",
        "commits_refused",
        "hung_up",
        "position_lost",
        "reconnects",
        "session_lost",
        "session_taken",
        "topic_reset",
    }
)
"""Kinds of problems of the connection, whatever comes over it."""

Row = tuple[int, tuple[float, ...]]


def collect(
    source: Source,
    columns: Sequence[str],
    count: int,
    patience: float = PATIENCE,
    spare: float = 0.0,
) -> list[Row]:
    """Poll until `count` rows have come, the source ends, or patience does.

    Gives times in nanoseconds since 1970 and values in the order of `columns`, NaN where missing.
    With `spare` it goes on polling for so many seconds, to see whether more come than should.
    """
    clock = StreamClock("utc", 1_000_000_000, Problems())
    found: list[Row] = []
    end = time.monotonic() + patience
    while len(found) < count and not source.ended and time.monotonic() < end:
        found += _rows(source.poll(0.05), columns, clock)
    end = time.monotonic() + spare
    while time.monotonic() < end and not source.ended:
        found += _rows(source.poll(0.05), columns, clock)
    return found


def _rows(batch: Batch, columns: Sequence[str], clock: StreamClock) -> list[Row]:
    found = [
        (int(when), tuple(float(value) for value in row))
        for row, when in zip(batch.values, batch.times, strict=True)
    ]
    for values, when in batch.named:
        told = clock.read(when, found[-1][0] if found else None)
        assert told is not None, f"a row came with the time {when!r}"
        found.append((told[0], tuple(float(values.get(name, np.nan)) for name in columns)))
    return found


class SourceRig(Protocol):
    """A plant for `SourceContract`.

    Attributes
    ----------
    columns
        Signals of its rows.
    behind
        How many of the last rows sent a source may still keep back, e.g. for a watermark.
    whole
        Whether rows that are sent while no source is open are kept for it. If only for one that was
        open before (a session), the rig has an attribute ``needs_session`` that is true.
    """

    columns: tuple[str, ...]
    behind: int
    whole: bool

    def source(self) -> Source:
        """A fresh source that is not open, each time with the same settings."""

    def send(self, rows: Sequence[Mapping[str, float]], times: Sequence[datetime]) -> None:
        """The plant sends rows."""

    def nonsense(self) -> int:
        """The plant sends things that make no sense; gives how many, 0 if it cannot."""

    def finish(self) -> None:
        """The plant will send nothing more, where that can be known."""


class SourceContract:
    """What every `Source` must do."""

    rows = 12

    def _example(
        self, rig: SourceRig, first: int, count: int
    ) -> tuple[list[dict[str, float]], list[datetime], list[Row]]:
        """Rows for the plant to send, and what should come out."""
        numbers: NDArray[np.float64] = np.random.default_rng(first).normal(
            size=(count, len(rig.columns))
        )
        values = np.round(numbers, 3)
        times = [START + timedelta(seconds=first + k) for k in range(count)]
        rows = [dict(zip(rig.columns, row, strict=True)) for row in values.tolist()]
        nanoseconds = [int(one.timestamp()) * 1_000_000_000 for one in times]
        wanted = [(ns, tuple(row)) for ns, row in zip(nanoseconds, values.tolist(), strict=True)]
        return rows, times, wanted

    def _opened(self, rig: SourceRig, after: Mapping[str, Any]) -> Source:
        source = rig.source()
        source.open(after)
        if not after and not self._keeps_before_first(rig):
            assert until(lambda: not len(source.poll(0.01)) and self._hears(source)), source.status
        return source

    def test_rows_come_whole_and_in_order(self, rig: SourceRig) -> None:
        """What is sent comes, once, in order, with its times."""
        rows, times, wanted = self._example(rig, 0, self.rows)
        first = self._opened(rig, {}) if not self._keeps_before_first(rig) else None
        rig.send(rows, times)
        rig.finish()
        source = first or self._opened(rig, {})
        try:
            found = collect(source, rig.columns, self.rows - rig.behind)
            assert _same(found, wanted[: len(found)])
            assert len(found) >= self.rows - rig.behind
        finally:
            source.close()

    def test_a_poll_does_not_block(self, rig: SourceRig) -> None:
        """With nothing to give, `poll` comes back soon after the time it may wait."""
        source = rig.source()
        source.open({})
        try:
            for wait in (0.0, 0.05):
                began = time.monotonic()
                source.poll(wait)
                # Generous, for busy machines; a source that blocks would wait for ever.
                assert time.monotonic() - began < wait + 10.0
        finally:
            source.close()

    def test_the_position_is_plain_json(self, rig: SourceRig) -> None:
        """A position goes through JSON unchanged."""
        rows, times, _ = self._example(rig, 0, self.rows)
        opener = self._opened(rig, {}) if not self._keeps_before_first(rig) else None
        rig.send(rows, times)
        source = opener or self._opened(rig, {})
        try:
            collect(source, rig.columns, 1)
            said = source.position()
            assert json.loads(json.dumps(said)) == said
        finally:
            source.close()

    def test_it_goes_on_after_a_checkpoint(self, rig: SourceRig) -> None:
        """Rows in a checkpoint do not come again, the others do where somebody keeps them."""
        if not rig.whole:
            self._goes_on_with_what_comes(rig, killed=False)
            return
        rows, times, wanted = self._example(rig, 0, self.rows)
        opener = self._opened(rig, {}) if not self._keeps_before_first(rig) else None
        rig.send(rows, times)
        source = opener or self._opened(rig, {})
        first = collect(source, rig.columns, 3)
        saved = json.loads(json.dumps(source.position()))
        source.committed()
        source.close()
        more, later, wanted_later = self._example(rig, self.rows, self.rows)
        rig.send(more, later)
        rig.finish()
        source = self._opened(rig, saved)
        try:
            everything = wanted + wanted_later
            left = len(everything) - len(first) - rig.behind
            second = collect(source, rig.columns, left, spare=0.3)
            assert _same(first + second, everything[: len(first) + len(second)])
            assert len(second) >= left
        finally:
            source.close()

    def test_rows_after_a_checkpoint_come_again(self, rig: SourceRig) -> None:
        """What was polled and is in no checkpoint comes again after a kill, where it is kept."""
        if not rig.whole:
            self._goes_on_with_what_comes(rig, killed=True)
            return
        rows, times, wanted = self._example(rig, 0, self.rows)
        opener = self._opened(rig, {}) if not self._keeps_before_first(rig) else None
        rig.send(rows, times)
        source = opener or self._opened(rig, {})
        first = collect(source, rig.columns, 2)
        saved = json.loads(json.dumps(source.position()))
        # Killed after the checkpoint and before the acknowledgement, and with rows polled since.
        collect(source, rig.columns, 4, patience=0.3)
        source.close()
        rig.finish()
        source = self._opened(rig, saved)
        try:
            left = len(wanted) - len(first) - rig.behind
            second = collect(source, rig.columns, left, spare=0.3)
            assert _same(first + second, wanted[: len(first) + len(second)])
            assert len(second) >= left
        finally:
            source.close()

    def _goes_on_with_what_comes(self, rig: SourceRig, *, killed: bool) -> None:
        """Where nobody keeps rows: a position is understood, and no row of its checkpoint repeated.

        Rows that were sent meanwhile, or polled after the checkpoint, may be lost. Those that are
        sent once the source hears again are not.
        """
        rows, times, _ = self._example(rig, 0, self.rows)
        source = self._opened(rig, {})
        rig.send(rows, times)
        first = collect(source, rig.columns, 3)
        saved = json.loads(json.dumps(source.position()))
        if killed:  # with rows polled since the checkpoint, which was not acknowledged
            collect(source, rig.columns, 4, patience=0.3)
        else:
            source.committed()
        source.close()
        more, later, wanted = self._example(rig, self.rows, self.rows)
        left = self.rows - rig.behind
        second: list[Row] = []
        source = rig.source()
        source.open(saved)

        def new() -> list[Row]:
            second.extend(collect(source, rig.columns, 1, patience=0.05))
            return [row for row in second if row[0] >= wanted[0][0]]

        try:
            assert until(lambda: not new() and self._hears(source)), source.status
            rig.send(more, later)
            rig.finish()
            assert until(lambda: len(new()) >= left), "what was sent while it heard did not come"
            second += collect(source, rig.columns, self.rows, patience=0.3)
            assert _same(new(), wanted)
        finally:
            source.close()
        moments = [when for when, _ in first + second]
        assert moments == sorted(set(moments)), "a row of the checkpoint came again"

    def test_nonsense_is_counted_and_left_out(self, rig: SourceRig) -> None:
        """Things that make no sense do not stop it, and each of them is counted."""
        rows, times, wanted = self._example(rig, 0, self.rows)
        source = self._opened(rig, {}) if not self._keeps_before_first(rig) else None
        rig.send(rows[:6], times[:6])
        found = [] if source is None else collect(source, rig.columns, 6 - rig.behind)
        before = 0 if source is None else _counted(source)
        sent = rig.nonsense()
        rig.send(rows[6:], times[6:])
        rig.finish()
        source = source or self._opened(rig, {})
        try:
            found += collect(source, rig.columns, self.rows - rig.behind - len(found))
            assert _same(found, wanted[: len(found)])
            assert len(found) >= self.rows - rig.behind
            assert _counted(source) - before >= sent, source.problems
        finally:
            source.close()

    def test_it_closes_cleanly(self, rig: SourceRig) -> None:
        """Closing twice, before opening, and polling afterwards do no harm."""
        source = rig.source()
        source.close()
        source = rig.source()
        source.open({})
        source.committed()
        source.close()
        source.close()
        assert not len(source.poll(0.0))

    def test_it_leaves_nothing_open(self, rig: SourceRig) -> None:
        """However often one is opened and closed, no file, socket or thread is left."""

        def once() -> None:
            source = rig.source()
            source.open({})
            source.poll(0.05)
            source.close()

        once()  # some libraries keep a thing or two for good
        before = Held.now()
        for _ in range(3):
            once()
        assert until(lambda: not Held.now().more_than(before)), (before, Held.now())

    def test_it_says_what_it_is(self, rig: SourceRig) -> None:
        """A source has a name and a guarantee, and says how it stands."""
        source = rig.source()
        assert source.name
        assert source.guarantee in ("replayed", "redelivered", "lost")
        source.open({})
        try:
            assert isinstance(source.status, str)
            assert source.status
        finally:
            source.close()

    def _keeps_before_first(self, rig: SourceRig) -> bool:
        """Whether rows are kept for a source that was never open.

        Where they are only for a known session, the rig says so with ``needs_session``.
        """
        return rig.whole and not getattr(rig, "needs_session", False)

    def _hears(self, source: Source) -> bool:
        """Whether an open source would get what is sent now, where nobody keeps it."""
        return "connected" in source.status


def _counted(source: Source) -> int:
    """Things that were counted as wrong with what came."""
    return sum(count for kind, count in source.problems.items() if kind not in LINK)


def _same(found: Sequence[Row], wanted: Sequence[Row]) -> bool:
    """Whether rows are equal; times to a microsecond, values to seven digits."""
    assert len(found) <= len(wanted) or not wanted
    for (when, values), (when_wanted, values_wanted) in zip(found, wanted, strict=False):
        assert abs(when - when_wanted) <= 1_000, (when, when_wanted)
        # Some transports carry single precision.
        assert np.allclose(values, values_wanted, rtol=1e-6, atol=1e-6, equal_nan=True)
    return True
