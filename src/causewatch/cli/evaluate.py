"""``causewatch evaluate``: the report card of a model on recordings whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.card_text import print_card, print_events, print_limits, print_paper
from causewatch.cli.options import Force, Json, Verbose, label_column
from causewatch.cli.output import complain, print_json, progress_of
from causewatch.cli.tests_in import (
    Causes,
    Decimal,
    Grace,
    Ignore,
    Labels,
    Separator,
    TimeColumn,
    TimeFormat,
    check_report,
    grace_of,
    on_clock,
    read_tables,
    reading,
    remarks,
)
from causewatch.errors import SettingError, UnknownNameError, listing, shorten

if TYPE_CHECKING:
    from causewatch.data.datasets.base import Recording
    from causewatch.evaluation.paper_counting import Counts
    from causewatch.evaluation.verdicts import Progress, Verdicts
    from causewatch.model import NormalModel

__all__ = ["register"]

ABOUT = """Hold a model against recordings whose truth is known: the report card.

TEST is one recording or several; the monitor starts afresh with each. The truth is a column of
labels (--labels: 0, 'normal', 'ok', 'no', 'off' and 'false' are normal, -999 and empty are not
counted, anything else is anomalous), or a list of events with their causes (--causes), or both.
Nothing is learnt here: the limits are those the model was saved with.

Counting is strict. Every input row counts, and an event is noticed only if an alarm is raised while
it lasts, so an alarm that is always on notices nothing. A false alarm is one that overlaps no
event. The exit code is 1 if less than half of the rows could be judged. With --protocol paper the
published counting stands beside it: hits inside the events, false alarms on a normal recording
(--normal) only."""

EXAMPLES = """Examples:

\b
  causewatch evaluate plant.cwm test.csv --labels label
  causewatch evaluate plant.cwm test.csv --labels label --causes causes.json --report card.html
  causewatch evaluate plant.cwm monday.csv tuesday.csv --causes causes.json --grace 5min --json
  causewatch evaluate paper.cwm test.csv --labels label --protocol paper --normal normal.csv"""

PROTOCOLS = ("strict", "paper")
NOT_JUDGED = 1
LEAST, MOST = 1e-3, 1e3
"""What limits may be multiplied by."""


def register(app: typer.Typer) -> None:
    """Add ``evaluate``."""
    app.command("evaluate", help=ABOUT, epilog=EXAMPLES, short_help="Give a report card.")(evaluate)


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL.cwm", help="The model.")],
    test: Annotated[
        list[Path], typer.Argument(metavar="TEST", help="Recordings with known truth.")
    ],
    label: Labels = None,
    causes: Causes = None,
    protocol: Annotated[
        str,
        typer.Option(metavar="strict|paper", help="Strict, or with the published counting beside."),
    ] = "strict",
    normal: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Normal recording for --protocol paper; its last 30 % are counted. May be given"
            " several times.",
        ),
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="F,…",
            help="Show also how it would be with the limits multiplied by these numbers.",
        ),
    ] = None,
    grace: Grace = "0s",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page about it.")
    ] = None,
    time: TimeColumn = None,
    time_format: TimeFormat = None,
    ignore: Ignore = None,
    separator: Separator = None,
    decimal: Decimal = None,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Give a report card."""
    from causewatch.cli.summary import console
    from causewatch.evaluation.card import report_card
    from causewatch.evaluation.paper_words import in_words
    from causewatch.evaluation.thresholds import sweep
    from causewatch.evaluation.truth import doubts, read_causes, with_truth
    from causewatch.evaluation.verdicts import watch
    from causewatch.model import load
    from causewatch.monitor import too_little_judged

    labels = label_column(label)
    if protocol not in PROTOCOLS:
        raise UnknownNameError(protocol, "protocol", PROTOCOLS)
    if protocol == "paper" and not normal:
        msg = "The published counting takes false alarms from a normal recording; give --normal."
        raise SettingError(msg)
    if normal and protocol != "paper":
        msg = "--normal is for --protocol paper only; strictly, false alarms come from TEST."
        raise SettingError(msg)
    late, factors = grace_of(grace), _numbers(limits)
    inputs = [model, *test, *(normal or ()), *([causes] if causes else [])]
    check_report(report, inputs, force)
    known = load(model)
    signals = known.watched
    if labels is not None and labels in signals:
        msg = (
            f"The model holds the label column {labels!r} as a signal, so it has seen the truth;"
            f" learn it again with --labels {labels}."
        )
        raise SettingError(msg)
    truth = None if causes is None else read_causes(causes)
    options = reading(labels, time, time_format, ignore, separator, decimal, signals)
    options["usual"] = known.provenance.writing
    with progress_of() as tell:
        tables = read_tables(test, options, tell)
        notes = remarks(tables, signals, known.clock, options)
        seen = [name for name, table in tables.items() if known.learnt_from(table.files)]
        if seen:
            notes.append(
                f"The model was learnt from {listing(seen)}: figures on it say nothing about new"
                " rows."
            )
        tables = {
            name: on_clock(table, known.clock, known.interval) for name, table in tables.items()
        }
        recordings = with_truth(tables, truth, notes.append)
        notes = [*doubts(recordings, labels=labels is not None), *notes]
        verdicts = [
            watch(known, recording.table, progress=_named(tell, recording.name))
            for recording in recordings
        ]
        unjudged = too_little_judged(
            known,
            sum(len(recording.table) for recording in recordings),
            sum(verdict.judged for verdict in verdicts),
            apart=max(recording.table.interval for recording in recordings),
            missing=[
                name
                for name in signals
                if all(name not in recording.table.signals for recording in recordings)
            ],
        )
        card = report_card(recordings, verdicts, grace=late, signals=len(signals))
        moved = list(sweep(known, recordings, factors, grace=late, progress=tell))
        paper = None
        if normal:
            paper = _as_published(known, normal, options, recordings, verdicts, tell)
    names = ", ".join(path.name for path in test)
    if report is not None:
        from causewatch.evaluation.report import write_evaluation

        write_evaluation(
            report,
            title=f"Report card of {model.name}",
            subtitle=names,
            card=card,
            recordings=recordings,
            verdicts=verdicts,
            paper=paper,
            signals=len(signals),
            notes=notes,
        )
    if as_json:
        told: dict[str, Any] = {"model": str(model), "test": [str(path) for path in test]}
        told |= card.to_dict() | {"notes": notes}
        if moved:
            told["limits"] = [row.to_dict() for row in moved]
        if paper is not None:
            told["paper_counting"] = paper.published.to_dict()
            told["strict_by_step"] = paper.strict.to_dict()
            told["in_words"] = list(in_words(paper))
        print_json(told)
        _end(unjudged)
        return
    screen = console()
    for sentence in notes:
        complain(sentence)
    print_card(card, f"Report card of {model.name} on {names}", screen)
    print_events(card.per_event, screen)
    if moved:
        print_limits(moved, screen)
    if paper is not None:
        print_paper(paper, in_words(paper), screen)
    if report is not None:
        screen.print(f"Report     {report}")
    _end(unjudged)


def _end(unjudged: str) -> None:
    """Exit with a sentence if hardly anything was judged."""
    if unjudged:
        complain(unjudged)
        raise typer.Exit(NOT_JUDGED)


def _numbers(text: str | None) -> list[float]:
    """The factors of ``--limits``."""
    try:
        found = [float(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        found = []
    if text is not None and not (found and all(LEAST <= one <= MOST for one in found)):
        msg = (
            f"--limits is {shorten(text)!r}; write numbers from {LEAST:g} to {MOST:g} with commas"
            " between, as 0.5,1,2."
        )
        raise SettingError(msg)
    return found


def _as_published(
    model: NormalModel,
    normal: Sequence[Path],
    options: dict[str, Any],
    recordings: Sequence[Recording],
    verdicts: Sequence[Verdicts],
    tell: Progress,
) -> Counts:
    """Both countings of the published experiments, by steps of the model."""
    from causewatch.data import open_table, read_table
    from causewatch.evaluation.paper_counting import count_verdicts
    from causewatch.evaluation.verdicts import watch

    tell("reading the normal recording", None)
    own = options | {"labels": None}
    if options["labels"] in open_table(list(normal), **own).signals:
        own["ignore"] = [*options["ignore"], options["labels"]]
    table = on_clock(read_table(list(normal), **own), model.clock, model.interval)
    said = watch(model, table, progress=_named(tell, "the normal recording"))
    plan = model.preprocessing
    step = plan.step or max(1, round(plan.every / model.interval))
    return count_verdicts(said, list(zip(recordings, verdicts, strict=True)), step)


def _named(tell: Progress, name: str) -> Progress:
    return lambda what, share: tell(f"{what} {name}", share)
