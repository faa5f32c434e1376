"""What a model knows, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from causewatch.errors import listing

if TYPE_CHECKING:
    from rich.console import Console

    from causewatch.graph import Link
    from causewatch.model import NormalModel
    from causewatch.preprocess import Finding

__all__ = ["console", "model_dict", "print_findings", "print_links", "print_model", "signal_dict"]

MARKS = {
    "problem": ("PROBLEM", "bold red"),
    "warning": ("WARNING", "yellow"),
    "info": ("note", "dim"),
}


def console(stderr: bool = False) -> Console:
    """Where results for people are printed; plain text if that is no terminal."""
    from rich.console import Console

    out = Console(markup=False, highlight=False, stderr=stderr)
    out.soft_wrap = not out.is_terminal  # a file or a pipe gets whole sentences on one line
    return out


def model_dict(model: NormalModel) -> dict[str, Any]:
    """Plain data about a model, for ``--json``."""
    from dataclasses import asdict

    return {
        "preset": model.preset,
        "signals": list(model.signals),
        "dropped": dict(model.preprocessing.dropped),
        "interval_s": model.interval,
        "every_s": model.preprocessing.every,
        "max_lag": model.preprocessing.max_lag,
        "interval_reason": model.preprocessing.reason,
        "links": [
            row
            | {"coefficient": model.mechanisms[link.target].coefficients[link]}
            | ({"confidence": asdict(model.confidence[link])} if model.confidence else {})
            for row, link in zip(model.graph.to_dict()["links"], model.graph, strict=True)
        ],
        "mechanisms": [_mechanism(model, name) for name in model.signals],
        "watching": _watching(model),
        "report": [finding.to_dict() for finding in model.report],
        "provenance": asdict(model.provenance),
    }


def _watching(model: NormalModel) -> dict[str, Any]:
    """What watching goes by; durations in seconds."""
    from dataclasses import asdict

    watching, every = model.watching, model.preprocessing.every
    limits, second = watching.limits, watching.second
    return {
        "detector": "published" if limits is None else "default",
        "false_alarm_every_s": None if limits is None else limits.false_alarm_every * every,
        "supported_s": None if limits is None else limits.supported * every,
        "guarded": list(watching.guarded),
        "second_recording": None if second is None else asdict(second),
    }


def signal_dict(model: NormalModel, name: str) -> dict[str, Any]:
    """Plain data about one signal, for ``--json``."""
    links = model_dict(model)["links"]
    return _mechanism(model, name) | {
        "group": model.knowledge.group_of(name),
        "role": model.knowledge.role_of(name),
        "unit": model.knowledge.unit_of(name),
        "label": model.knowledge.label_of(name),
        "causes": [row for row in links if row["target"] == name],
        "effects": [row for row in links if row["source"] == name and row["target"] != name],
    }


def _mechanism(model: NormalModel, name: str) -> dict[str, Any]:
    mechanism = model.mechanisms[name]
    return {
        "signal": name,
        "centre": model.centre[name],
        "scale": model.scale[name],
        "intercept": mechanism.intercept,
        "spread": mechanism.spread,
        "explained": mechanism.explained,
    }


def print_model(model: NormalModel, out: Console) -> None:
    """The model in a few lines."""
    from causewatch.data import format_duration

    plan, origin = model.preprocessing, model.provenance
    files = listing([str(file["name"]) for file in origin.files], most=4)
    source = f"{files}: " if origin.files else ""
    pace = "" if model.clock == "rows" else f" every {format_duration(model.interval)}"
    out.print(f"Recording  {source}{origin.rows:,} rows{pace}, {origin.first} to {origin.last}")
    if origin.writing is not None and str(origin.writing):
        out.print(f"             {origin.writing}", style="dim")
    left_out = f", {len(plan.dropped)} left out" if plan.dropped else ""
    out.print(f"Signals    {len(model.signals)} in the model{left_out}")
    for name, reason in list(plan.dropped.items())[:12]:
        out.print(f"             {name}: {reason}", style="dim")
    if len(plan.dropped) > 12:
        out.print(f"             and {len(plan.dropped) - 12} more", style="dim")
    how = " (rows averaged)" if plan.every > 1.5 * model.interval else " (one row each)"
    how = f" (one row in {plan.step} taken)" if plan.step is not None and plan.step > 1 else how
    how = "" if model.tick == "1 row" else how
    out.print(
        f"Ticks      {origin.ticks:,}, each of {model.tick}{how};"
        f" causes up to {plan.max_lag} ticks back"
    )
    out.print(f"             {plan.reason}", style="dim")
    settings = origin.settings
    own = sum(link.is_auto for link in model.graph)
    how = f"{settings['method']}, {settings['test']} test, alpha {settings['alpha']:g}"
    out.print(
        f"Links      {len(model.graph)} ({own} of them from a signal to itself);"
        f" {'as given' if settings['method'] == 'GivenGraph' else how}, {origin.windows:,} windows"
    )

    _print_watching(model, out)


def _print_watching(model: NormalModel, out: Console) -> None:
    """Limits, guards, and how a second recording second."""
    from causewatch.data import format_duration

    watching, every = model.watching, model.preprocessing.every
    limits, second = watching.limits, watching.second
    if limits is None:
        out.print("Limits     those of the published method, one for each link")
    else:
        wanted = format_duration(limits.false_alarm_every * every, model.clock)
        supported = format_duration(limits.supported * every, model.clock)
        if limits.false_alarm_every <= 1.01 * limits.supported:
            rest = "and the recording is long enough to bear that out"
        else:
            rest = (
                f"but the recording is too short to bear out more than {supported}: expect more of"
                " them, or learn from a longer one"
            )
        out.print(
            "Limits     above all that normal operation showed, by a margin: one false alarm in"
            f" {wanted} is aimed at, {rest}"
        )
    if second is not None:
        alarms = "1 alarm" if second.alarms == 1 else f"{second.alarms} alarms"
        lasted = format_duration(second.ticks * every, model.clock)
        out.print(
            f"             second recording of {lasted}: {alarms}"
            f" under limits from the first, above them {second.share:.2%} of the time;"
            f" limits moved by a factor of {second.factor:.2f}",
            style="dim",
        )
    if watching.guarded:
        count = len(watching.guarded)
        noun = "1 signal without links is" if count == 1 else f"{count} signals without links are"
        out.print(f"Guarded    {noun} held against the usual range: {listing(watching.guarded, 6)}")


def print_links(model: NormalModel, out: Console, most: int) -> None:
    """The strongest links between different signals, and how sure they are where that is known."""
    from rich import box
    from rich.table import Table

    graph, every = model.graph, model.preprocessing.every
    links = sorted(
        (link for link in graph if not link.is_auto), key=lambda link: -abs(graph[link].value)
    )
    if not links:
        out.print("No links between different signals.")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("cause", "effect"):
        table.add_column(name, overflow="fold", max_width=40)
    from causewatch.data import format_duration

    sure = ("range", "seen in") if model.confidence else ()
    for name in ("later by", "strength", "p-value", *sure):
        table.add_column(name, justify="right")
    from rich.text import Text

    for link in links[:most]:
        strength = graph[link]
        table.add_row(
            Text(link.source),
            Text(link.target),
            format_duration(link.lag * every, model.clock),
            f"{strength.value:+.2f}",
            f"{strength.p_value:.1g}" if strength.p_value >= 1e-99 else "< 1e-99",
            *_sure(model, link),
        )
    out.print(table)
    if len(links) > most:
        more = len(links) - most
        word = "link is" if more == 1 else "links are"
        out.print(f"{more} weaker {word} not shown: --links N shows more.", style="dim")


def _sure(model: NormalModel, link: Link) -> tuple[str, ...]:
    """Range of the strength over the replicas, and the share of them in which the link is."""
    if not model.confidence:
        return ()
    about = model.confidence[link]
    return f"{about.low:+.2f} to {about.high:+.2f}", f"{about.share:.0%}"


def print_findings(findings: tuple[Finding, ...], out: Console, notes: bool) -> None:
    """The report: what was found, what it means, what to do."""
    shown = [one for one in findings if notes or one.severity != "info"]
    for finding in shown:
        mark, style = MARKS[finding.severity]
        _print_beside(out, mark, finding.text, style=style)
        if finding.meaning:
            _print_beside(out, "", finding.meaning, text_style="dim")
        if finding.remedy:
            _print_beside(out, "", f"→ {finding.remedy}", text_style="cyan")
    hidden = len(findings) - len(shown)
    if hidden:
        notes_word = "note" if hidden == 1 else "notes"
        out.print(f"{hidden} further {notes_word}: --notes shows them.", style="dim")


def _print_beside(
    out: Console, mark: str, text: str, *, style: str = "", text_style: str = ""
) -> None:
    """A mark and a text beside it, wrapped at words where it is a terminal."""
    from rich.table import Table
    from rich.text import Text

    if out.soft_wrap:
        out.print(f"{mark:9}{text}")
        return
    row = Table.grid(padding=0)
    row.add_column(width=9)
    row.add_column()
    row.add_row(Text(mark, style=style), Text(text, style=text_style))
    out.print(row)
