"""What a watch has seen, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from causewatch.cli.health_text import health_text, state_text
from causewatch.data import lasting
from causewatch.errors import phrases
from causewatch.streaming.counts import DROPPED, LOST, Counts

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.streaming.runner import Watch

__all__ = ["show_counts", "unwell_words"]


def show_counts(watch: Watch, out: Console) -> None:
    """The summary at the end of a watch."""
    counts, seconds = watch.counts, watch.seconds
    said, clock = counts.to_dict(seconds, True), watch.monitor.clock
    since = f" after the first {counts.rows_before:,}" if counts.rows_before else ""
    out.print(f"Source     {watch.source.name}: {_some(counts.rows, 'row')}{since}")
    pace = f"; {counts.rows / seconds:,.0f} rows/s" if seconds > 0 and counts.rows else ""
    # The time of a tick is that of its last row, so these are not where the rows begin.
    span = f", the first at {said['first']}, the last at {said['last']}" if counts.ticks else ""
    out.print(f"Ticks      {counts.ticks:,}, each of {watch.monitor.model.tick}{span}{pace}")
    still = f", {said['alarms_on']} still on" if said["alarms_on"] else ""
    under = f"; on for {lasting(said['under_alarm_s'], clock)}" if counts.alarm_ticks else ""
    share = f" ({said['under_alarm_share']:.1%} of the time)" if counts.alarm_ticks else ""
    out.print(f"Alarms     {counts.alarms} raised about the plant{still}{under}{share}")
    if counts.health:
        raised = f"{_some(counts.health_alarms, 'alarm')} raised"
        out.print(f"Health     {raised}: {phrases(unwell_words(counts))}")
    dropped = {kind: count for kind, count in counts.problems.items() if kind in DROPPED}
    if dropped:
        out.print(f"Dropped    {_some(sum(dropped.values()), 'row')}: {_kinds(dropped)}")
    lost = {kind: count for kind, count in counts.problems.items() if kind in LOST}
    if lost:
        out.print(f"Lost       {_kinds(lost)}: never seen, or left out because too many came")
    told = (*DROPPED, *LOST)
    noted = {kind: count for kind, count in counts.problems.items() if kind not in told}
    if noted:
        out.print(f"Noted      {_kinds(noted)}")


def unwell_words(counts: Counts) -> list[str]:
    """What was wrong with each signal, and whether that is over."""
    now, found = counts.unwell, []
    for name, states in counts.health.items():
        first, *more = ((state, "" if now.get(name) == state else " (over)") for state in states)
        words = [health_text(name, first[0]) + first[1]]
        words += [state_text(state) + over for state, over in more]
        found.append(" and ".join(words))
    return found


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _kinds(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {count:,}" for kind, count in counts.items())
