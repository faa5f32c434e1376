"""How long PCMCI+ takes, next to tigramite in the same run.

Usage: ``python -m benchmarks.speed.within_tick [--quick]``. A full run takes a minute or two
and writes its table to ``docs/benchmarks.md``.
"""

from __future__ import annotations

import numpy as np
from benchmarks import peers
from benchmarks.common import interleaved, machine, options, publish, seconds, table
from tests.recordings import within_tick

from causewatch.discovery import pcmciplus

__all__: list[str] = []

ALPHA = 0.01


def main() -> None:
    quick: bool = options(__doc__).quick
    sizes = [(5, 500, 2)] if quick else [(5, 500, 2), (10, 1000, 3), (20, 1000, 3)]
    pcmciplus(within_tick(0, 3, 100), max_lag=1)
    lines = []
    for signals, rows, lag in sizes:
        for now in (0.5, 1.0):
            values = within_tick(1, signals, rows, lag, now=now)
            timed = interleaved(
                {
                    "ours": lambda: pcmciplus(values, max_lag=lag, alpha=ALPHA),  # noqa: B023
                    "theirs": lambda: peers.tigramite_plus(values, lag, ALPHA),  # noqa: B023
                },
                {"ours": 10, "theirs": 2},
            )
            ours, theirs = timed["ours"], timed["theirs"]
            marks, value, _ = theirs.result
            lines.append(
                [
                    f"{signals} × {rows:,} × {lag}",
                    f"{now:g}",
                    f"{seconds(ours.wall)} ({seconds(ours.cpu)})",
                    f"{seconds(theirs.wall)} ({seconds(theirs.cpu)})",
                    f"**{theirs.wall / ours.wall:,.0f}** ({theirs.cpu / ours.cpu:,.0f})",
                    f"{np.abs(ours.result.value - value).max():.0e}",
                    int((ours.result.marks != marks).sum()),
                ]
            )
            print(lines[-1], flush=True)
    head = ["signals × rows × lag", "links within a tick, per signal", "causewatch (CPU)"]
    head += ["tigramite (CPU)", "ratio (of CPU)", "largest difference of a value"]
    head += ["marks that differ"]
    text = machine("tigramite") + "\n\n" + table(head, lines)
    publish("within-tick-speed", text, quick=quick)


if __name__ == "__main__":
    main()
