"""``causewatch watch``: live watching of a file, a folder, standard input or a plant."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.cli import watch_options as opts
from causewatch.cli.options import Force, Verbose
from causewatch.cli.output import complain
from causewatch.cli.running import signals, undisturbed, warnings

if TYPE_CHECKING:
    from causewatch.cli.live import LinesOut
    from causewatch.streaming.plan import Plan
    from causewatch.streaming.runner import Watch
    from causewatch.streaming.views import View

__all__ = ["register"]

ABOUT = """Watch a source with a model, and raise explained alarms.

SOURCE is a file (CSV, JSON lines, Parquet, XLSX, a historian's list of time, tag, value, a ROS bag
or MCAP), which is watched to its end; a folder into which such files are put; '-': CSV with a
header or JSON lines on standard input, judged row by row as they arrive; or the address of a plant:

\b
  mqtt://HOST/TOPIC      JSON rows, one topic per tag, or Sparkplug B   (mqtts:// with TLS)
  opc.tcp://HOST:4840    OPC UA subscriptions
  kafka://HOST/TOPIC     nats://HOST/SUBJECT     modbus://HOST

Options of an address follow a question mark: mqtt://broker/plant/+?format=tags&qos=1. A row that
makes no sense is counted and left out; nothing in the source ends the watching.

In a terminal there is a live view; elsewhere a line says when an alarm is raised, cleared or
answered. With --json every event of an alarm is one JSON line on stdout; --alarms writes these to a
file. --sink sends events elsewhere, too, and may be given several times: mqtt://, kafka://,
nats://, https:// (a webhook), syslog://, opc.tcp:// (a server of our own), or a file.

With --state the watch can be stopped or killed at any time and goes on where it stopped, without
losing or doubling an alarm in the state or in the file of --alarms (a line on stdout that a kill
swallowed is not printed again); 'causewatch alarms' then works on the same state, while the watch
runs and afterwards. The exit code is 1 if less than half of the rows could be judged. Everything
can be said in one TOML file: --config."""

EXAMPLES = """Examples:

\b
  causewatch watch plant.cwm today.csv
  causewatch watch plant.cwm today.csv --alarms alarms.jsonl --scores scores.csv
  causewatch watch plant.cwm log.csv --follow --state watching --report reports
  causewatch watch plant.cwm mqtt://broker/plant/rows --state watching --metrics 127.0.0.1:9464
  causewatch watch plant.cwm opc.tcp://plc:4840 --tags tags.csv --sink https://desk/alarms
  causewatch watch --config plant.toml"""

INTERRUPTED, NOT_DELIVERED, NOT_JUDGED = 130, 1, 1


def register(app: typer.Typer) -> None:
    """Add ``watch``."""
    app.command("watch", help=ABOUT, epilog=EXAMPLES, short_help="Watch a source.")(watch)


def watch(
    model: opts.Model = None,
    source: opts.Source = None,
    config: opts.Config = None,
    check: opts.Check = False,
    alarms: opts.Alarms = None,
    scores: opts.Scores = None,
    per_signal: opts.PerSignal = False,
    report: opts.Report = None,
    state: opts.State = None,
    sink: opts.Sinks = None,
    metrics: opts.Metrics = None,
    tags: opts.Tags = None,
    name: opts.Name = "",
    follow: opts.Follow = False,
    speed: opts.Speed = 0.0,
    silent_after: opts.SilentAfter = None,
    time: opts.Time = None,
    time_format: opts.TimeFormat = None,
    ignore: opts.Ignore = None,
    separator: opts.Separator = None,
    decimal: opts.Decimal = None,
    force: Force = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print every event as a JSON line, and a summary as the last line.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Watch a source."""
    opts.refuse_check(check, config)
    said = opts.Said(
        command="watch",
        model=model,
        source=source,
        alarms=alarms,
        scores=scores,
        per_signal=per_signal,
        report=report,
        state=state,
        sink=sink,
        metrics=metrics,
        tags=tags,
        name=name,
        follow=follow,
        speed=speed,
        silent_after=silent_after,
        reading=(time, time_format, ignore, separator, decimal),
    )
    if config is None:
        plan = said.plan()
    else:
        said.refuse("--check, --force, --json or --verbose")
        from causewatch.streaming.config import load_config
        from causewatch.streaming.service import check_plan

        plan = load_config(config, look=True).plan()
        if check:
            with warnings():
                check_plan(plan)
            print(f"{config} makes sense: {plan.model} watches {plan.source.where}.")
            return
    _watch(plan, force, as_json)


def _watch(plan: Plan, force: bool, as_json: bool) -> None:
    from causewatch.cli.live import LinesOut, LiveView
    from causewatch.cli.summary import console
    from causewatch.server.probes import telling
    from causewatch.streaming.service import prepare

    with ExitStack() as stack:
        stack.enter_context(warnings())
        screen = console()
        live = LiveView(screen) if screen.is_terminal and not as_json else None
        lines = None if live is not None else LinesOut(as_json)
        views: list[View] = [view for view in (live, lines) if view is not None]
        observers = stack.enter_context(telling(plan))
        ready = stack.enter_context(prepare(plan, views, observers, force=force))
        if live is not None:
            stack.enter_context(live)
        undisturbed()
        with signals(ready):
            ended = ready.run()
    _finish(ready, ended, as_json, lines, plan.state)


def _finish(
    watch: Watch, ended: bool, as_json: bool, lines: LinesOut | None, state: str | None
) -> None:
    """Say how it went; exits if it was interrupted."""
    import json

    from causewatch.cli.summary import console
    from causewatch.cli.watch_text import show_counts

    if lines is not None and lines.broken:
        raise BrokenPipeError
    if as_json:
        print(json.dumps(watch.counts.to_dict(watch.seconds, ended), ensure_ascii=False))
    else:
        show_counts(watch, console())
    if state is None and watch.undelivered:
        raise typer.Exit(NOT_DELIVERED)
    if not ended:
        saved = "" if state is None else f"; the state is in {state!r}"
        complain(f"interrupted{saved}.")
        raise typer.Exit(INTERRUPTED)
    if sys.stdout is not None:
        sys.stdout.flush()
    if watch.unjudged:
        complain(watch.unjudged)
        raise typer.Exit(NOT_JUDGED)
