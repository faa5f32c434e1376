"""``causewatch explain``: why, for a stretch of a recording."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.options import Force, Json, Verbose
from causewatch.cli.output import complain, print_json, progress, refuse_existing, shown
from causewatch.cli.running import warnings
from causewatch.errors import SettingError, TableError

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.data import Clock
    from causewatch.explain.explanation import Explanation
    from causewatch.monitor import Alarm, Monitor
    from causewatch.streaming.source import Source

__all__ = ["register"]

ABOUT = """Say why a stretch of a recording is not normal: where it starts, and what broke.

DATA is watched from its beginning up to --to. What is said is about the alarms that were on at some
time from --from on, the worst first: where the trouble starts and how sure that is, which links no
longer act as learnt, what follows from it. The exit code is 1 if nothing was wrong there."""

EXAMPLES = """Examples:

\b
  causewatch explain plant.cwm today.csv --from 2026-01-01T14:00 --to 2026-01-01T14:30
  causewatch explain plant.cwm today.csv --from 2026-01-01T14:00 --report why.html
  causewatch explain plant.cwm today.csv --to 2026-01-01T14:30 --json"""

MOST_CAUSES, MOST_LINKS, MOST_ALARMS = 5, 8, 5
NOTHING_WRONG = 1


def register(app: typer.Typer) -> None:
    """Add ``explain``."""
    app.command("explain", help=ABOUT, epilog=EXAMPLES, short_help="Explain a stretch.")(explain)


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL.cwm", help="The model.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The recording: a file.")],
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="T",
            help="Where the stretch begins: a time; 'row N' if the model knows no times.",
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="T", help="Where it ends; the end does not belong to it."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write a page about the worst alarm in it."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COL", help="Time column, if it is not found.")
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="How times are written: '%d/%m/%Y %H:%M', or excel."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COL,…", help="Columns to leave out; may be given several times."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(metavar="SIGN", help="What separates columns, if it is not found.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Decimal sign, if it is not found.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Explain a stretch of a recording."""
    from causewatch.cli.summary import console
    from causewatch.cli.watch_options import reading_of
    from causewatch.data import format_time
    from causewatch.data.spans import parse_ends
    from causewatch.explain.described import describe
    from causewatch.explain.explanation import explain as explain_alarm
    from causewatch.explain.report import write_report
    from causewatch.model import load
    from causewatch.monitor import Monitor
    from causewatch.streaming.open import open_source
    from causewatch.streaming.source import Wanted

    known = load(model)
    writing = known.provenance.writing
    order = None if writing is None else writing.order
    span = parse_ends(begin, end, ("--from", "--to"), order)
    if report is not None:
        refuse_existing([report], force)
        if not report.absolute().parent.is_dir():
            msg = f"There is no folder {str(report.parent)!r} to write {report.name!r} to."
            raise SettingError(msg)
    monitor = Monitor(known, describe=describe)
    wanted = Wanted(
        known.watched,
        known.interval,
        known.clock == "rows",
        reading_of(time, time_format, ignore, separator, decimal),
        usual=writing,
    )
    source = open_source(str(data), wanted)
    with warnings(), progress("watching"), closing(source):
        source.open({})
        found, seen = _alarms(monitor, source, span)
    if seen is None:
        msg = f"{data.name} has no row in this stretch that makes a tick; check --from and --to."
        raise TableError(msg)
    published = monitor.published_ranking()
    told = [explain_alarm(alarm, known, published=published) for alarm in found]
    if report is not None and told:
        write_report(told[0], report, about={"watched": data.name, "model": model.name})
    first, last = (format_time(moment, monitor.clock) for moment in seen)
    if as_json:
        lines = [
            one.alarm.to_dict("updated" if one.alarm.on else "cleared", monitor.clock)
            | one.to_dict()
            for one in told
        ]
        print_json(
            {"model": str(model), "data": str(data), "from": first, "to": last, "alarms": lines}
        )
    elif told:
        _print(told, monitor.clock, known.preprocessing.every, console())
        if report is not None:
            print(f"Report     {report}")
    if not told:
        complain(f"Nothing is wrong in {data.name} from {first} to {last}.")
        raise typer.Exit(NOTHING_WRONG)


def _alarms(
    monitor: Monitor, source: Source, span: Any
) -> tuple[list[Alarm], tuple[int, int] | None]:
    """The alarms on in a span as last told, worst first, and its first and last tick."""
    from causewatch.explain.described import with_beginning
    from causewatch.streaming.feeding import ticks_of

    low, high = None, None
    found: dict[str, Alarm] = {}
    seen: tuple[int, int] | None = None
    for tick in ticks_of(monitor, source):
        if low is None or high is None:
            low, high = span.bounds(monitor.clock)
        if tick.time is None or tick.time >= high:
            break
        if tick.time >= low:
            seen = (seen[0] if seen else tick.time, tick.time)
        for _, alarm in tick.events:
            found[alarm.id] = with_beginning(alarm, found.get(alarm.id))
        found = {
            id: alarm
            for id, alarm in found.items()
            if alarm.cleared_at is None or alarm.cleared_at >= low
        }
    ranked = sorted(
        found.values(), key=lambda alarm: (alarm.kind != "anomaly", -(alarm.peak_score or 0.0))
    )
    return ranked, seen


def _print(told: list[Explanation], clock: Clock, every: float, out: Console) -> None:
    for k, one in enumerate(told[:MOST_ALARMS]):
        if k:
            out.print()
        _print_one(one, clock, every, out)
    if len(told) > MOST_ALARMS:
        out.print(f"\nand {len(told) - MOST_ALARMS} more alarms: --json shows all.")


def _print_one(one: Explanation, clock: Clock, every: float, out: Console) -> None:
    from causewatch.data import format_duration, format_time

    alarm = one.alarm
    out.print(shown(one.headline), style="bold")
    until = (
        f"to {format_time(alarm.cleared_at, clock)}" if alarm.cleared_at is not None else "still on"
    )
    peak = f", peak score {alarm.peak_score:.1f}" if alarm.peak_score is not None else ""
    out.print(
        f"Alarm      {alarm.id} ({alarm.kind}), {format_time(alarm.raised_at, clock)} {until}{peak}"
    )
    if alarm.kind == "anomaly":
        sure = "cannot tell where it starts; candidates:" if one.abstained else ""
        out.print(f"Causes     {sure}".rstrip())
        for cause in one.likely[:MOST_CAUSES]:
            out.print(f"             {shown(cause.signal)}: {cause.confidence:.0%}")
    if one.broken_links:
        out.print("Broken links")
        for broken in one.broken_links[:MOST_LINKS]:
            link = broken.link
            out.print(
                f"             {shown(link.source)} → {shown(link.target)}"
                f" ({format_duration(link.lag * every, clock)}): {broken.observed:.4g} instead of"
                f" {broken.normal:.4g}, {broken.deviation:.1f} times its limit"
            )
    if one.consequences:
        names = ", ".join(shown(name) for name in one.consequences[:MOST_CAUSES])
        more = len(one.consequences) - MOST_CAUSES
        out.print(f"Follows    {names}{f' and {more} more' if more > 0 else ''}")
    for place, check in enumerate(one.checks):
        out.print(f"{'' if place else 'Look at':11s}{shown(check.text)}")
    if alarm.kind == "anomaly" and one.published_ranking:
        names = ", ".join(shown(name) for name, _ in one.published_ranking[:MOST_CAUSES])
        out.print(f"Published  ranking of the published method: {names}")
