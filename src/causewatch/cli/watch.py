"""``causewatch watch``: live watching of a file or of standard input."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.options import Force, Verbose
from causewatch.cli.output import complain, refuse_existing
from causewatch.errors import SettingError

if TYPE_CHECKING:
    from causewatch.cli.batches import Feed
    from causewatch.cli.session import Session
    from causewatch.monitor.state import SavedState

__all__ = ["register"]

ABOUT = """Watch a source with a model, and raise explained alarms.

SOURCE is a file (CSV, JSON lines, Parquet, XLSX, or a historian's list of time, tag, value), which
is watched to its end, or '-': CSV with a header or JSON lines on standard input, judged row by row
as they arrive. A row that makes no sense is counted and left out; nothing in the source ends the
watching.

In a terminal there is a live view. Otherwise every event of an alarm is one JSON line on stdout,
or in the file of --alarms. With --state the watch can be stopped at any time, also by Ctrl-C, and
goes on where it stopped; 'causewatch alarms' then works on the same folder, while the watch runs
and afterwards."""

EXAMPLES = """Examples:

\b
  causewatch watch plant.cwm today.csv
  causewatch watch plant.cwm today.csv --alarms alarms.jsonl --scores scores.csv
  causewatch watch plant.cwm log.csv --follow --state watching --report reports
  mosquitto_sub -t plant | causewatch watch plant.cwm - --alarms alarms.jsonl"""

INTERRUPTED = 130


def register(app: typer.Typer) -> None:
    """Add ``watch``."""
    app.command("watch", help=ABOUT, epilog=EXAMPLES, short_help="Watch a source.")(watch)


def watch(
    model: Annotated[Path, typer.Argument(metavar="MODEL.cwm", help="The model.")],
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file, or '-' for standard input.")
    ],
    alarms: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Write events of alarms here, one line each."),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write time, score and alarm (0/1) of every tick: .csv or .parquet.",
        ),
    ] = None,
    per_signal: Annotated[
        bool, typer.Option("--per-signal", help="Write the evidence of every signal to --scores.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a page about every alarm into this folder."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the state in this folder, and go on from it."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="At the end of a text file wait for more rows.")
    ] = False,
    time: Annotated[
        str | None, typer.Option(metavar="COL", help="Time column, if it is not found.")
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="How times are written, e.g. '%d/%m/%Y %H:%M'."),
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
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print events as JSON lines, and a summary as the last line, even in a terminal.",
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Watch a source."""
    if per_signal and scores is None:
        msg = "--per-signal says what to write to --scores; name that file, too."
        raise SettingError(msg)
    if follow and source == "-":
        msg = "Standard input is followed anyway; --follow is for files."
        raise SettingError(msg)

    from causewatch.cli.feeds import open_feed
    from causewatch.cli.live import LinesOut, LiveView
    from causewatch.cli.scores import ScoreFile, check_header, check_scores
    from causewatch.cli.session import LineFile, Session
    from causewatch.cli.summary import console
    from causewatch.explain.describe import describe
    from causewatch.model import load
    from causewatch.monitor import Monitor
    from causewatch.monitor.state import StateFolder

    if scores is not None:
        check_scores(scores, resumable=state is not None)
    known = load(model)
    with ExitStack() as stack:
        folder, saved = None, None
        if state is not None:
            folder = StateFolder(state)
            stack.enter_context(folder.lock())
            saved = folder.load() if folder.exists else None
        monitor = Monitor(known, describe=describe)
        if folder is not None and saved is not None:
            with folder.restoring():
                monitor.restore(saved.monitor)
        files = [path for path in (alarms, scores) if path is not None]
        _check_files(files, [model, Path(source)], saved, force)
        signals = monitor.columns if per_signal else ()
        if scores is not None and _kept(scores, saved) is not None:
            check_header(scores, signals)
        feed = open_feed(
            source,
            monitor.columns,
            reading_of(time, time_format, ignore, separator, decimal),
            counted=known.clock == "rows",
            interval=known.interval,
            follow=follow,
            after=None if saved is None else saved.source,
        )
        again = _is_read_again(feed, saved)
        if report is not None:
            report.mkdir(parents=True, exist_ok=True)
        screen = console()
        lines = LinesOut() if as_json or (alarms is None and not screen.is_terminal) else None
        live = None
        if screen.is_terminal and not as_json:
            live = stack.enter_context(LiveView(screen))
        session = Session(
            monitor,
            feed,
            "standard input" if source == "-" else Path(source).name,
            views=tuple(view for view in (lines, live) if view is not None),
            alarms=None if alarms is None else LineFile(alarms, _kept(alarms, saved, again)),
            scores=None
            if scores is None
            else ScoreFile(scores, signals, _kept(scores, saved, again)),
            reports=report,
            folder=folder,
            saved=saved,
            history=None
            if folder is None or saved is None
            else (saved.history if again else _size(folder.history)),
        )
        with _signals(session):
            ended = session.run()
    _finish(session, ended, as_json, lines is not None, None if folder is None else state)


def reading_of(
    time: str | None,
    time_format: str | None,
    ignore: list[str] | None,
    separator: str | None,
    decimal: str | None,
) -> Any:
    """What the user says about a source."""
    from causewatch.cli.batches import Reading

    names = [name.strip() for part in ignore or () for name in part.split(",") if name.strip()]
    return Reading(time, time_format, tuple(names), separator, decimal)


def _check_files(
    files: list[Path], inputs: list[Path], saved: SavedState | None, force: bool
) -> None:
    """Raise if a file cannot be written to, or must not be."""
    for path in files:
        if path.is_dir():
            msg = f"{str(path)!r} is a folder; name a file to write to."
            raise SettingError(msg)
        if not path.absolute().parent.is_dir():
            msg = f"There is no folder {str(path.parent)!r} to write {path.name!r} to."
            raise SettingError(msg)
        if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
            msg = f"{str(path)!r} is read by this watch; name another file to write to."
            raise SettingError(msg)
    refuse_existing([path for path in files if _kept(path, saved) is None], force)


def _is_read_again(feed: Feed, saved: SavedState | None) -> bool:
    """Whether the rows after a saved state come once more, so that what they led to does, too.

    They do if the feed begins exactly where the state stands. Standard input never does.
    """
    return saved is not None and saved.from_file and feed.position() == saved.source


def _kept(path: Path, saved: SavedState | None, again: bool = True) -> int | None:
    """How much of a file to go on after; None if it does not belong to the state.

    What is newer than the state is taken back only if it is written `again`.
    """
    kept = None if saved is None else saved.outputs.get(str(path.absolute()))
    return kept if kept is None or again else _size(path)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@contextmanager
def _signals(session: Session) -> Iterator[None]:
    """Let Ctrl-C and a request to end stop the watch between two batches; a second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if session.stop:
            raise KeyboardInterrupt
        session.stop = True

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _finish(session: Session, ended: bool, as_json: bool, lines: bool, state: Path | None) -> None:
    """Say how it went; exits if it was interrupted."""
    import json

    from causewatch.cli.live import LinesOut
    from causewatch.cli.summary import console

    if any(isinstance(view, LinesOut) and view.broken for view in session.views):
        raise BrokenPipeError
    if as_json:
        print(json.dumps(session.counts.to_dict(session.seconds, ended), ensure_ascii=False))
    else:
        # Where stdout holds JSON lines, words for people go to stderr.
        screen = console(stderr=lines)
        session.counts.show(session.name, session.seconds, screen)
    if not ended:
        saved = "" if state is None else f"; the state is in {str(state)!r}"
        complain(f"interrupted{saved}.")
        raise typer.Exit(INTERRUPTED)
    sys.stdout.flush()
