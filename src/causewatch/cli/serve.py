"""``causewatch serve``: a watch with a page to look at."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli import watch_options as opts
from causewatch.cli.options import Force, Verbose
from causewatch.cli.output import complain
from causewatch.cli.running import signals, undisturbed, warnings
from causewatch.errors import SettingError

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.server import ServeSettings
    from causewatch.streaming.config import WatchConfig
    from causewatch.streaming.plan import Plan
    from causewatch.streaming.runner import Watch
    from causewatch.streaming.views import View

__all__ = ["register"]

ABOUT = """Watch a source, and show it in a browser.

Everything that 'causewatch watch' does, and a page: what is going on now, the causal graph with its
broken links, every signal against what was expected of it, the history of alarms, and the model.
Alarms can be acknowledged, shelved, commented on and called normal there. The page needs nothing
from outside; it is kept up to date by server-sent events, and everything on it is also a documented
programming interface (/api/openapi.json).

When a recording has come to its end, the page stays until Ctrl-C.

Only this machine can see it, unless --host says otherwise. Then there must be tokens ('causewatch
token' makes them) or TLS. A token has the role look or operate. In a browser it is the password;
the user name does not matter. What operators do is noted in --audit, or with --state DIR in
DIR/audit.jsonl."""

EXAMPLES = """Examples:

\b
  causewatch serve plant.cwm today.csv --speed 60
  causewatch serve plant.cwm mqtt://broker/plant/rows --state watching
  causewatch serve plant.cwm opc.tcp://plc:4840 --state watching --host 0.0.0.0 \\
      --tokens tokens --cert cert.pem --key key.pem
  causewatch serve --config plant.toml"""

INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add ``serve``."""
    app.command("serve", help=ABOUT, epilog=EXAMPLES, short_help="Watch, and show it.")(serve)


def serve(
    model: opts.Model = None,
    source: opts.Source = None,
    config: opts.Config = None,
    check: opts.Check = False,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="At which port; 0 for any.")
    ] = 8765,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who is let in; see 'causewatch token'.")
    ] = None,
    cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for TLS, in PEM form.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    audit: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Note here what operators do.")
    ] = None,
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
    verbose: Verbose = False,
) -> None:
    """Watch a source, and show it."""
    said = opts.Said(
        command="serve",
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
    from causewatch.extras import needed

    needed("fastapi", "server")
    from causewatch.server import ServeSettings

    opts.refuse_check(check, config)
    if config is None:
        plan = said.plan()
        settings = ServeSettings(
            host=host, port=port, tokens=tokens, cert=cert, key=key, audit=audit
        )
    else:
        asked = (host != "127.0.0.1", port != 8765, tokens, cert, key, audit)
        if any(asked):
            msg = "--config says where to listen, too: in its table [serve]."
            raise SettingError(msg)
        said.refuse("--check, --force or --verbose")
        from causewatch.streaming.config import load_config

        found = load_config(config, look=True)
        plan, settings = found.plan(), _settings_of(found)
        if check:
            _check(plan, _with_audit(settings, plan))
            print(f"{config} makes sense: {plan.model} watches {plan.source.where}.")
            return
    _serve(plan, _with_audit(settings, plan), force, tags)


def _check(plan: Plan, settings: ServeSettings) -> None:
    """Raise for what would keep a dashboard from beginning."""
    from causewatch.server.access.settings import check_settings
    from causewatch.streaming.service import check_plan

    with warnings():
        _check_files(plan, settings)
        for sentence in check_settings(settings):
            complain(sentence)
        check_plan(plan)


def _check_files(plan: Plan, settings: ServeSettings, tags: Path | None = None) -> None:
    """Raise if the audit log, or anything else that is written, is a file with another use.

    What a configuration reads beside these, it has looked at itself.
    """
    from causewatch.streaming.plan_check import check_files

    read = (settings.tokens, settings.cert, settings.key, tags)
    written = [] if settings.audit is None else [settings.audit]
    check_files(plan, [path for path in read if path is not None], written)


def _serve(plan: Plan, settings: ServeSettings, force: bool, tags: Path | None) -> None:
    from causewatch.cli.live import LiveView
    from causewatch.cli.summary import console
    from causewatch.cli.watch_text import show_counts
    from causewatch.server.access.settings import check_settings
    from causewatch.server.probes import telling
    from causewatch.server.service import serving
    from causewatch.streaming.service import prepare

    _check_files(plan, settings, tags)  # before anything is opened
    check_settings(settings)
    screen = console()
    live = LiveView(screen) if screen.is_terminal else None
    views: list[View] = [] if live is None else [live]
    with ExitStack() as stack:
        stack.enter_context(warnings())
        observers = stack.enter_context(telling(plan))
        watch = stack.enter_context(prepare(plan, views, observers, force=force))
        server = stack.enter_context(serving(watch, plan.model, settings, plan.reading, plan.tags))
        watch.views = (_announced(screen, server.address), *watch.views)
        if live is not None:
            stack.enter_context(live)

        def stay() -> None:
            screen.print("The source has ended; the page stays until Ctrl-C.", highlight=False)
            sys.stdout.flush()

        undisturbed()
        with signals(watch):
            ended = watch.run(stay)
    show_counts(watch, screen)
    if not ended:
        saved = "" if plan.state is None else f"; the state is in {plan.state!r}"
        complain(f"interrupted{saved}.")
        raise typer.Exit(INTERRUPTED)


def _announced(screen: Console, address: str) -> View:
    """Says where the page is once the watch has begun: a source that is of no use has no page."""
    from causewatch.streaming.views import View

    class Announced(View):
        said = False

        def look(self, watch: Watch) -> None:
            if not self.said:
                self.said = True
                screen.print(
                    f"The page is at {_reached(address)} (Ctrl-C ends it)", highlight=False
                )
                sys.stdout.flush()

    return Announced()


def _reached(address: str) -> str:
    """An address for people: one that stands for all of them cannot be typed elsewhere."""
    for every in ("//0.0.0.0:", "//[::]:"):
        if every in address:
            here = address.replace(every, "//127.0.0.1:")
            return f"{here}, elsewhere under the name of this machine"
    return address


def _settings_of(config: WatchConfig) -> ServeSettings:
    from causewatch.server import ServeSettings

    said, folder = config.serve, config.folder
    paths: dict[str, Any] = {
        name: None if path is None else folder / path
        for name, path in (
            ("tokens", said.tokens_file),
            ("cert", said.cert),
            ("key", said.key),
            ("audit", said.audit),
        )
    }
    return ServeSettings(host=said.host, port=said.port, viewers=said.viewers, **paths)


def _with_audit(settings: ServeSettings, plan: Plan) -> ServeSettings:
    """Beside a state in a folder, what operators do is noted in the same folder."""
    from dataclasses import replace

    from causewatch.streaming.open import is_address

    if settings.audit is not None or plan.state is None or is_address(plan.state):
        return settings
    return replace(settings, audit=Path(plan.state) / "audit.jsonl")
