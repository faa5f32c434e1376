"""The report of one alarm: a single HTML file that needs no network and no script."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from causewatch.data import Clock, format_duration, format_moment
from causewatch.errors import SettingError
from causewatch.explain.alarm_index import entry_mark, entry_of
from causewatch.explain.around import links_chart
from causewatch.explain.charts import evidence_chart, for_page, signal_chart
from causewatch.explain.explanation import Explanation, explain
from causewatch.explain.filled import filled
from causewatch.explain.ranking import Context
from causewatch.explain.view import clean, interval
from causewatch.files import write_atomically
from causewatch.model.normal import NormalModel
from causewatch.monitor.alarms import Alarm

__all__ = ["report", "write_report"]

MOST_CAUSES = 5
MOST_CHARTS = 3
MOST_LINKS = 12
MOST_LISTED = 10


def write_report(
    alarm: Alarm | Explanation,
    path: str | os.PathLike[str],
    model: NormalModel | None = None,
    *,
    home: str | None = None,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write the report of an alarm; the file is there whole or not at all.

    Parameters
    ----------
    alarm
        An explanation, or an alarm that carries what explaining it takes.
    path
        File to write; an existing one is replaced.
    model
        The model that watched; needed only if the alarm does not carry it.
    home
        Address of a page that lists all alarms, to link to.
    about
        Further facts by name, such as what was watched and with which model.
    """
    file = Path(path)
    told = alarm if isinstance(alarm, Explanation) else explain(alarm, model)
    try:
        write_atomically(file, report(told, home, about).encode())
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"Cannot write {str(file)!r}: {reason}; choose a place that can be written to."
        raise SettingError(message) from error


def report(
    explanation: Explanation, home: str | None = None, about: Mapping[str, str] | None = None
) -> str:
    """The report as text; `home` and `about` as in `write_report`.

    Names stand in it as text, whatever they are; its policy allows no script and no request.
    """
    from markupsafe import Markup

    alarm, context = explanation.alarm, explanation.context
    links = explanation.broken_links
    return filled(
        "alarm.html",
        ["alarm.css"],
        mark=entry_mark(entry_of(explanation)),
        title="Signal health" if alarm.kind == "health" else "Alarm",
        headline=explanation.headline,
        home=home,
        facts=[
            *_facts(explanation),
            *((name, clean(text)) for name, text in (about or {}).items()),
        ],
        abstained=explanation.abstained,
        causes=[
            {
                "name": _label(cause.signal, context),
                "percent": _percent(cause.confidence),
                "width": f"{100 * cause.confidence:.1f}",
            }
            for cause in explanation.likely[:MOST_CAUSES]
            if alarm.kind == "anomaly"  # health says nothing about where trouble starts
        ],
        consequences=[_label(name, context) for name in explanation.consequences[:MOST_LISTED]],
        checks=[check.text for check in explanation.checks],
        charts=[
            {"svg": Markup(for_page(svg)), "caption": caption}
            for svg, caption in _charts(explanation)
        ],
        links=[_link(one.to_dict(), context) for one in links[:MOST_LINKS]],
        more_links=max(0, len(links) - MOST_LINKS),
        published=[
            _label(name, context) for name, _ in explanation.published_ranking[:MOST_LISTED]
        ],
    )


def _facts(explanation: Explanation) -> list[tuple[str, str]]:
    alarm, context = explanation.alarm, explanation.context
    clock: Clock = "naive" if context is None else context.clock
    every = 1.0 if context is None else context.every
    facts = [("raised", format_moment(alarm.raised_at, clock, every))]
    if alarm.onset < alarm.raised_at:
        facts.append(("began", format_moment(alarm.onset, clock, every)))
    if alarm.cleared_at is None:
        facts.append(("cleared", "not yet"))
    else:
        facts.append(("cleared", format_moment(alarm.cleared_at, clock, every)))
        facts.append(("lasted", format_duration((alarm.cleared_at - alarm.raised_at) / 1e9, clock)))
    if alarm.peak_score is not None:
        facts.append(("peak score (limit 1)", f"{alarm.peak_score:.3g}"))
    facts.append(("number", alarm.id))
    return facts


def _charts(explanation: Explanation) -> list[tuple[bytes, str]]:
    """Pictures with their captions; none if the alarm carries no ticks."""
    if explanation.course is None or explanation.context is None:
        return []
    named = [change.signal for change in explanation.changes]
    named = (named or [cause.signal for cause in explanation.causes])[:MOST_CHARTS]
    linked = explanation.course.signals[: explanation.context.equations.signals]
    charts = []
    for name in named:
        known = ", and what the model expected of it" if name in linked else ""
        charts.append((signal_chart(explanation, name), f"Seen{known}."))
    around = links_chart(explanation)
    if around is not None:
        words = "Links around it: what acts on it on the left, what it acts on on the right."
        charts.append((around, words))
    charts.append((evidence_chart(explanation), "Evidence against the likeliest causes."))
    return charts


def _link(link: dict[str, Any], context: Context | None) -> dict[str, str]:
    lag = f"{link['lag']} ticks"
    if context is not None:
        lag = interval(link["lag"] * context.every, context.clock)
    numbers = {
        name: "unknown" if link[name] is None else f"{link[name]:.3g}".replace("-", "−")
        for name in ("normal", "observed", "deviation")
    }
    return {
        "source": _label(link["source"], context),
        "target": _label(link["target"], context),
        "lag": lag,
        **numbers,
    }


def _label(name: str, context: Context | None) -> str:
    return clean(name if context is None else context.labels.get(name, name))


def _percent(share: float) -> str:
    return "over 99 %" if share > 0.99 else f"{share:.0%}".replace("%", " %")
