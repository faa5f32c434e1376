"""What can be said about a watch on the command line, for every command that runs one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.errors import SettingError

if TYPE_CHECKING:
    from causewatch.streaming.plan import Plan
    from causewatch.streaming.source import Reading

__all__ = ["Said", "reading_of", "refuse_check"]

Model = Annotated[
    Path | None, typer.Argument(metavar="MODEL.cwm", help="The model.", show_default=False)
]
Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A file, a folder, '-' for standard input, or an address.",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None, typer.Option(metavar="FILE.toml", help="Read all of this from a file instead.")
]
Check = Annotated[
    bool, typer.Option("--check", help="Only say whether the file of --config makes sense.")
]
Alarms = Annotated[
    Path | None,
    typer.Option(metavar="FILE.jsonl", help="Write events of alarms here, one line each."),
]
Scores = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write time, score and alarm (0/1) of every tick: .csv or .parquet."
    ),
]
PerSignal = Annotated[
    bool, typer.Option("--per-signal", help="Write the evidence of every signal to --scores.")
]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write a page about every alarm into this folder, and a list of them."
    ),
]
State = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep the state in this folder, or in a database (postgresql://HOST/NAME), and go on"
        " from it.",
    ),
]
Sinks = Annotated[
    list[str] | None,
    typer.Option("--sink", metavar="ADDRESS", help="Send events of alarms there, too; repeatable."),
]
Metrics = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Answer Prometheus there, at /metrics.")
]
Tags = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Which tag of the plant is which signal, and its unit."),
]
Name = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="A name for this watch, where several share what they write to."
    ),
]
Follow = Annotated[
    bool, typer.Option("--follow", help="At the end of a text file or folder wait for more.")
]
SilentAfter = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Raise an alarm when no rows have come for so long: 90s, 5min, or never. By default a"
        " minute, or 20 rows if that is longer; never for files and folders.",
    ),
]
Speed = Annotated[
    float,
    typer.Option(
        metavar="N",
        min=0.0,
        help="Play a recording so many times faster than time; 0: as fast as possible.",
    ),
]
Time = Annotated[str | None, typer.Option(metavar="COL", help="Time column, if it is not found.")]
TimeFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="How times are written: '%d/%m/%Y %H:%M', or excel."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,…", help="Columns to leave out; may be given several times."),
]
Separator = Annotated[
    str | None, typer.Option(metavar="SIGN", help="What separates columns, if it is not found.")
]
Decimal = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Decimal sign, if it is not found.")
]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What was said about a watch, option by option; `reading` as `reading_of` takes it."""

    command: str
    model: Path | None
    source: str | None
    state: str | None
    sink: list[str] | None
    metrics: str | None
    tags: Path | None
    name: str
    follow: bool
    speed: float
    silent_after: str | None
    reading: tuple[str | None, str | None, list[str] | None, str | None, str | None]
    alarms: Path | None = None
    scores: Path | None = None
    per_signal: bool = False
    report: Path | None = None

    def refuse(self, allowed: str) -> None:
        """Raise if anything was said beside ``--config``."""
        texts = (self.name, self.follow, self.speed, self.per_signal)
        rest = (self.model, self.source, self.state, self.sink, self.metrics, self.tags)
        files = (self.alarms, self.scores, self.report, self.silent_after, *self.reading)
        if any(texts) or any(one is not None for one in (*rest, *files)):
            msg = f"--config says all of it; give only {allowed}."
            raise SettingError(msg)

    def plan(self) -> Plan:
        """What to do."""
        if self.model is None or self.source is None:
            msg = (
                f"causewatch {self.command} needs a model and a source: causewatch {self.command}"
                " MODEL.cwm SOURCE, or --config."
            )
            raise SettingError(msg)
        if self.per_signal and self.scores is None:
            msg = "--per-signal says what to write to --scores; name that file, too."
            raise SettingError(msg)
        if self.follow and self.source == "-":
            msg = "Standard input is followed anyway; --follow is for files."
            raise SettingError(msg)
        from causewatch.streaming.plan import Place, Plan
        from causewatch.streaming.silence import parse_silence
        from causewatch.streaming.tag_file import read_tags
        from causewatch.streaming.tags import TagMap

        return Plan(
            model=self.model,
            source=Place(self.source),
            name=self.name,
            follow=self.follow,
            speed=self.speed,
            silent_after=None if self.silent_after is None else parse_silence(self.silent_after),
            reading=reading_of(*self.reading),
            state=self.state,
            alarms=self.alarms,
            scores=self.scores,
            report=self.report,
            per_signal=self.per_signal,
            sinks=tuple(Place(one) for one in self.sink or ()),
            metrics=self.metrics,
            tags=TagMap() if self.tags is None else read_tags(self.tags),
        )


def refuse_check(check: bool, config: Path | None) -> None:
    """Raise if there is nothing to check."""
    if check and config is None:
        msg = "--check is about the file of --config; name it, too."
        raise SettingError(msg)


def reading_of(
    time: str | None,
    time_format: str | None,
    ignore: list[str] | None,
    separator: str | None,
    decimal: str | None,
) -> Reading:
    """What the user says about the rows of a source."""
    from causewatch.streaming.source import Reading

    names = [name.strip() for part in ignore or () for name in part.split(",") if name.strip()]
    return Reading(time, time_format, tuple(names), separator, decimal)
