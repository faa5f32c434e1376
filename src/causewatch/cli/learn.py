"""``causewatch learn``: from a recording of normal operation to a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.detect_summary import detectability_dicts, print_detectability
from causewatch.cli.options import Force, Json, Verbose, label_column
from causewatch.cli.output import complain, print_json, progress_of, refuse_existing
from causewatch.cli.summary import (
    console,
    model_dict,
    print_findings,
    print_links,
    print_model,
)
from causewatch.cli.update import (
    check_paths,
    doubts_of,
    print_update,
    update_dict,
    update_model,
)
from causewatch.errors import SettingError, listing, shorten

if TYPE_CHECKING:
    from causewatch.discovery import GivenGraph

__all__ = ["register"]

ABOUT = """Learn from a recording of normal operation which signals cause which others.

NORMAL is one file or several (CSV, Parquet, XLSX, or a historian's list of time, tag, value);
several files are separate stretches of the same plant. Separator, decimal comma, header and time
column are detected. Rows are averaged down to ticks; length of a tick and maximum lag are chosen
from the data unless given. The model is written to --out; a report says how good the data are and
what that means for the result.

Alarm limits lie by a margin above all that normal operation showed: NORMAL, each half judged by
mechanisms fitted to the other one, and a second normal recording (--calibrate), if there is one.
The margin grows slowly with the time of --false-alarm-every."""

EXAMPLES = """Examples:

\b
  causewatch learn normal.csv --out plant.cwm
  causewatch learn monday.csv tuesday.csv --out plant.cwm --ignore Comment,Operator
  causewatch learn january.csv --out plant.cwm --calibrate february.csv --false-alarm-every 1w
  causewatch learn normal.csv --out plant.cwm --exclude 2026-01-01T14:02..2026-01-01T14:31
  causewatch learn normal.csv --out plant.cwm --every 10s --max-lag 6 --knowledge plant.yaml
  causewatch learn normal.csv --out paper.cwm --preset paper"""


def register(app: typer.Typer) -> None:
    """Add ``learn``."""
    app.command("learn", help=ABOUT, epilog=EXAMPLES, short_help="Learn a model.")(learn)


def learn(
    normal: Annotated[
        list[Path], typer.Argument(metavar="NORMAL", help="The recording: one file or several.")
    ],
    out: Annotated[Path, typer.Option(metavar="MODEL.cwm", help="File to write the model to.")],
    calibrate: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A second normal recording: alarm limits lie above what it shows, too; may be"
            " given several times.",
        ),
    ] = None,
    false_alarm_every: Annotated[
        str | None,
        typer.Option(
            metavar="1d",
            help="Time between two false alarms to aim at: longer ones widen the limits a"
            " little.  [default: 1d, or 1000 ticks if that is longer; half of the recording where"
            " rows have no times]",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(metavar="default|paper", help="The defaults, or the published method."),
    ] = "default",
    every: Annotated[
        str, typer.Option(metavar="auto|10s", help="Length of a tick: auto, 500ms, 10s, 2min, 1h.")
    ] = "auto",
    max_lag: Annotated[
        str, typer.Option(metavar="auto|N", help="How many ticks back causes may lie.")
    ] = "auto",
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="A link needs a p-value of at most this.  [default: 0.001; knn 0.01, paper 0.05]",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="pcmci|granger", help="How links are found.")
    ] = "pcmci",
    test: Annotated[
        str,
        typer.Option(
            metavar="TEST",
            help="PCMCI's independence test: linear; features, which sees bent dependence, too;"
            " rank, robust to outliers; knn, which sees any dependence but is slow.",
        ),
    ] = "linear",
    graph: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Look for no links: take those of this graph (.csv with source, target and lag in"
            " ticks, .json, .gml or .dot).",
        ),
    ] = None,
    confidence: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=10_000,
            help="Look for the links again in N replicas of the recording (200, say), to tell how"
            " sure each of them is.",
        ),
    ] = 0,
    fdr: Annotated[
        bool, typer.Option("--fdr", help="Correct p-values for the number of tests.")
    ] = False,
    keep_start_up: Annotated[
        bool,
        typer.Option(
            "--keep-start-up",
            help="Learn from the beginning of the recording even if it looks like a start-up.",
        ),
    ] = False,
    keep_labelled: Annotated[
        bool,
        typer.Option(
            "--keep-labelled",
            help="Learn from the rows that --labels calls anomalous, too.",
        ),
    ] = False,
    keep_wild: Annotated[
        bool,
        typer.Option(
            "--keep-wild",
            help="Learn from values far from all others, too, which are taken for failed"
            " measurements.",
        ),
    ] = False,
    time: Annotated[
        str | None, typer.Option(metavar="COL", help="Time column, if it is not found.")
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="How times are written: '%d/%m/%Y %H:%M', or excel."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="COL",
            help="Column of labels, never a signal: rows that it calls anomalous are left out.",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COL,…", help="Columns to leave out; may be given several times."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL,…",
            help="Columns that are signals, though they look like labels; may be given several"
            " times.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FROM..TO", help="Stretch of time to leave out; may be given several times."
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(metavar="SIGN", help="What separates columns, if it is not found.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Decimal sign, if it is not found.")
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What is known about the plant (YAML or JSON)."),
    ] = None,
    update: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL.cwm",
            help="Add NORMAL to what this model was learnt from; written only if the candidate does"
            " as well on recent data (exit code 1 if not).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="For tests that draw random numbers.")] = 0,
    links: Annotated[int, typer.Option(metavar="N", min=0, help="How many links to print.")] = 15,
    notes: Annotated[bool, typer.Option("--notes", help="Print notes of the report too.")] = False,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Learn and save a model."""
    from causewatch.data import parse_duration, parse_span
    from causewatch.model import learn as learn_model

    if update is None:
        refuse_existing([out], force)
    else:
        check_paths(update, out, force)
    if out.is_dir():
        msg = f"{str(out)!r} is a folder; name the file to write the model to."
        raise SettingError(msg)
    if any(
        out.exists() and path.exists() and path.samefile(out)
        for path in (*normal, *(calibrate or ()))
    ):
        msg = f"{str(out)!r} is the recording itself; name another file to write the model to."
        raise SettingError(msg)
    if not out.absolute().parent.is_dir():
        msg = f"There is no folder {str(out.parent)!r} to write {out.name!r} to."
        raise SettingError(msg)
    reading: dict[str, Any] = {
        "time": time,
        "time_format": time_format,
        "labels": label_column(label),
        "ignore": _columns(ignore),
        "keep": _columns(keep),
        "exclude": [parse_span(span) for span in exclude or ()],
        "separator": separator,
        "decimal": decimal,
    }
    if update is not None:
        fixed = {
            "--preset": preset != "default",
            "--every": every != "auto",
            "--max-lag": max_lag != "auto",
            "--alpha": alpha is not None,
            "--method": method != "pcmci",
            "--graph": graph is not None,
            "--confidence": confidence > 0,
            "--test": test != "linear",
            "--fdr": fdr,
            "--keep-start-up": keep_start_up,
            "--keep-wild": keep_wild,
            "--calibrate": bool(calibrate),
            "--false-alarm-every": false_alarm_every is not None,
            "--knowledge": knowledge is not None,
            "--keep": bool(keep),
        }
        reading["keep_labelled"] = keep_labelled
        _update(update, normal, out, reading, as_json, [name for name, on in fixed.items() if on])
        return
    finder, lag = _finder(method, test, graph, _lag(max_lag))
    with progress_of() as tell:
        model = learn_model(
            _recordings(normal),
            preset=preset,
            every=None if every == "auto" else parse_duration(every),
            max_lag=lag,
            alpha=alpha,
            calibrate=_recordings(calibrate) if calibrate else None,
            false_alarm_every=None
            if false_alarm_every is None
            else parse_duration(false_alarm_every),
            knowledge=None if knowledge is None else str(knowledge),
            method=finder,
            test=test,
            fdr=fdr,
            keep_start_up=keep_start_up,
            keep_labelled=keep_labelled,
            confidence=confidence,
            keep_wild=keep_wild,
            seed=seed,
            progress=tell,
            **reading,
        )
        model.save(out)
    if as_json:
        about = {"detectability": detectability_dicts(model)}
        print_json({"model": str(out)} | model_dict(model) | about)
        return
    screen = console()
    print_model(model, screen)
    if links:
        print_links(model, screen, links)
    print_detectability(model, screen)
    print_findings(model.report, screen, notes)
    screen.print(f"Saved      {out}")


def _update(
    old: Path,
    normal: list[Path],
    out: Path,
    reading: dict[str, Any],
    as_json: bool,
    fixed: list[str],
) -> None:
    """Update a model; exit code 1 if the candidate is rejected."""
    if fixed:
        msg = f"--update takes the old model's settings; leave out {listing(fixed)}."
        raise SettingError(msg)
    with progress_of() as tell:
        result = update_model(old, normal, out, tell=tell, reading=reading)
    if as_json:
        print_json({"model": str(out) if result.accepted else None} | update_dict(result))
    else:
        for sentence in doubts_of(result):
            complain(sentence)
        print_update(result, console())
        if result.accepted:
            print(f"Saved      {out}")
    if not result.accepted:
        raise typer.Exit(1)


def _recordings(paths: list[Path]) -> Any:
    """What to learn from: paths, or tables of what is no table by itself (bags of robots)."""
    from causewatch.streaming.sources.bag_tables import read_bag
    from causewatch.streaming.sources.bags import is_bag

    if not any(is_bag(path) for path in paths):
        return [str(path) for path in paths]
    if len(paths) > 1:
        msg = "A bag is learnt from alone; give one recording."
        raise SettingError(msg)
    return read_bag(paths[0])


def _lag(text: str) -> int | None:
    if text == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        msg = f"--max-lag is {shorten(text)!r}; it must be auto or a whole number of ticks."
        raise SettingError(msg) from None


def _finder(
    method: str, test: str, graph: Path | None, max_lag: int | None
) -> tuple[str | GivenGraph, int | None]:
    """What finds the links, and the maximum lag: a graph that is given says how long it is."""
    if graph is None:
        return method, max_lag
    from causewatch.discovery import GivenGraph, read_links

    if method != "pcmci":
        msg = "--graph looks for no links; leave out --method."
        raise SettingError(msg)
    if test != "linear":
        msg = "--graph looks for no links; leave out --test."
        raise SettingError(msg)
    given = GivenGraph(read_links(graph))
    return given, given.max_lag if max_lag is None else max_lag


def _columns(given: list[str] | None) -> list[str]:
    return [name.strip() for part in given or () for name in part.split(",") if name.strip()]
