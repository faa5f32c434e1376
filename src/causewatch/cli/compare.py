"""``causewatch compare``: detectors side by side on one's own recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.card_text import figure, per_day, share
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
from causewatch.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.evaluation.card import ReportCard
    from causewatch.evaluation.comparison import ComparisonRow, Refused

__all__ = ["print_comparison", "register"]

ABOUT = """Compare detectors on one's own recordings: same normal rows, same counting.

Every detector learns from the first 70 % of NORMAL and takes its alarm limit from the rest, by the
same rule (but paper, plain and p2, which learn from all of it and have rules of their own for
limits); only then is TEST opened. The truth is given as for 'causewatch evaluate', and counted
as strictly. Learning time and the time of one online step are measured."""

EXAMPLES = """Examples:

\b
  causewatch compare normal.csv test.csv --labels label
  causewatch compare normal.csv test.csv --labels label --causes causes.json \\
      --detectors default,paper,pca,own_past,rnn --report compared.html
  causewatch compare --list"""

FIRST = "default,paper,pca,dynamic_pca,var,own_past,random,always_on,switch"
"""What is compared if nothing is said: whatever needs no further library."""


def register(app: typer.Typer) -> None:
    """Add ``compare``."""
    app.command("compare", help=ABOUT, epilog=EXAMPLES, short_help="Compare detectors.")(compare)


def _show_list(wanted: bool) -> None:
    if not wanted:
        return
    from causewatch.evaluation.baselines.catalogue import DETECTORS

    for name, entry in DETECTORS.items():
        extra = f" (needs pip install 'causewatch[{entry.extra}]')" if entry.extra else ""
        print(f"{name:18}{entry.what}{extra}")
    raise typer.Exit


def compare(
    normal: Annotated[Path, typer.Argument(metavar="NORMAL", help="Normal operation.")],
    test: Annotated[
        list[Path], typer.Argument(metavar="TEST", help="Recordings with known truth.")
    ],
    label: Labels = None,
    causes: Causes = None,
    detectors: Annotated[
        str, typer.Option(metavar="NAME,…", help="Which ones; --list shows all.")
    ] = FIRST,
    list_all: Annotated[
        bool,
        typer.Option(
            "--list", help="Show the detectors there are.", callback=_show_list, is_eager=True
        ),
    ] = False,
    every: Annotated[
        str, typer.Option(metavar="auto|10s", help="Length of a tick, for all of them.")
    ] = "auto",
    false_alarm_every: Annotated[
        str | None,
        typer.Option(
            metavar="1d",
            help="Time between two false alarms to aim at.  [default: 1d, or 1000 ticks if that is"
            " longer; half of the recording where rows have no times]",
            show_default=False,
        ),
    ] = None,
    grace: Grace = "0s",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="For everything random.")] = 0,
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
    """Compare detectors."""
    from causewatch.cli.summary import console
    from causewatch.data import NormalRows, open_table, parse_duration
    from causewatch.evaluation.baselines.catalogue import make
    from causewatch.evaluation.baselines.split import make_split
    from causewatch.evaluation.comparison import Case, Refused
    from causewatch.evaluation.comparison import compare as compare_all
    from causewatch.evaluation.truth import doubts, read_causes, with_truth

    labels = label_column(label)
    names = [name.strip() for name in detectors.split(",") if name.strip()]
    if len(set(names)) < len(names) or not names:
        msg = f"--detectors is {detectors!r}; name each detector once, with commas between."
        raise SettingError(msg)
    for name in names:  # a wrong name or a missing library is told before anything is read
        make(name)
    late = grace_of(grace)
    check_report(report, [normal, *test, *([causes] if causes else [])], force)
    truth = None if causes is None else read_causes(causes)
    options = reading(labels, time, time_format, ignore, separator, decimal)
    rows: list[ComparisonRow] = []
    refused: list[Refused] = []
    with progress_of() as tell:
        own = options
        try:
            open_table(normal, **own)
        except UnknownNameError:  # a normal recording need not have the column of labels
            own = options | {"labels": None}
        whole = read_tables([normal], own, tell)[normal.name]
        rows_left = NormalRows(whole)
        [learnt] = rows_left.chunks(len(whole))
        options["usual"] = whole.writing
        tables = read_tables(test, options, tell)
        notes = remarks(tables, learnt.signals, learnt.clock, options)
        tables = {
            name: on_clock(table, learnt.clock, learnt.interval) for name, table in tables.items()
        }
        recordings = with_truth(tables, truth, notes.append)
        notes = [*doubts(recordings, labels=labels is not None), *notes]
        kinds = ("anomalous_rows", "bad_lines")
        notes += [note.text for note in rows_left.notes if note.kind in kinds]
        split = make_split(
            [learnt],
            every=None if every == "auto" else parse_duration(every),
            false_alarm_every=None
            if false_alarm_every is None
            else parse_duration(false_alarm_every),
            seed=seed,
            progress=tell,
        )
        for row in compare_all(names, [Case(split, recordings)], grace=late, progress=tell):
            if isinstance(row, Refused):
                refused.append(row)
            else:
                rows.append(row)
    if report is not None:
        from causewatch.evaluation.report import write_comparison

        write_comparison(
            report,
            title=f"{len(rows)} detectors on {', '.join(path.name for path in test)}",
            subtitle=f"learnt from {normal.name}",
            rows=rows,
            notes=notes
            + [f"{refusal.name} cannot be compared: {refusal.reason}" for refusal in refused],
        )
    if as_json:
        content = {"normal": str(normal), "detectors": [row.to_dict() for row in rows]}
        print_json(content | {"refused": {refusal.name: refusal.reason for refusal in refused}})
        return
    screen = console()
    for sentence in notes:
        complain(sentence)
    print_comparison(rows, screen)
    for refusal in refused:
        screen.print(f"{refusal.name} cannot be compared: {refusal.reason}")
    if report is not None:
        screen.print(f"Report     {report}")


def print_comparison(rows: list[ComparisonRow], out: Console) -> None:
    """One line for each detector; the best figure of a column is bold."""
    from rich.table import Table
    from rich.text import Text

    columns: dict[str, tuple[list[Any], Any, Any]] = {
        "VUS-PR": ([row.card.vus_pr for row in rows], max, figure),
        "F1": ([row.card.f1 for row in rows], max, figure),
        "raised": ([row.card.event_recall for row in rows], max, _whole),
        "seen": ([_seen(row.card) for row in rows], max, _whole),
        "false/d": ([row.card.false_alarms_per_day for row in rows], min, per_day),
        "in vain": ([row.card.false_alarm_time_share for row in rows], min, share),
        "1st": ([row.card.ac_at_1 for row in rows], max, _whole),
        "in 3": ([row.card.ac_at_3 for row in rows], max, _whole),
    }
    table = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    table.add_column("detector", no_wrap=True)
    for name in (*columns, "learnt s", "step ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for k, row in enumerate(rows):
        cells = []
        for values, best, show in columns.values():
            known = [value for value in values if value is not None]
            top = known and values[k] == best(known)
            cells.append(Text(show(values[k]), style="bold" if top else ""))
        table.add_row(row.name, *cells, f"{row.learn_s:.1f}", f"{row.step_ms_mean:.2f}")
    out.print(table)
    out.print(
        "raised, seen: events in which an alarm was raised, or was on; false/d: alarms a day that"
        " overlap no event; in vain: share of normal time under alarm; 1st, in 3: events whose true"
        " cause was named first, or among three."
    )


def _seen(card: ReportCard) -> float | None:
    return card.events_seen / card.events if card.events else None


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
