"""Charts of an explained alarm: a signal against its model, and the evidence over time.

Line charts use matplotlib's object-oriented interface alone and import it late. Text is never read
as markup. Colours are legible on light and on dark ground; ink and paper of a chart follow the page
it stands in (`for_page`).
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.explain.changes import offsets
from causewatch.explain.colours import INK, SOFT
from causewatch.explain.explanation import Explanation, parts_of
from causewatch.explain.ranking import Context, Ranking
from causewatch.explain.sheet import FONT
from causewatch.explain.view import clean
from causewatch.explain.words import middle, short_names
from causewatch.monitor.course import FIELDS, Course

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["evidence_chart", "for_page", "signal_chart"]

Floats = NDArray[np.float64]
Kind = Literal["svg", "png"]

WIDTH, HEIGHT = 5.4, 2.5
"""Inches; small enough that the text stays legible when a phone shrinks the chart."""
BLUE, ORANGE, RED, GREY = "#2f7fd1", "#d97706", "#d1242f", "#8a96a2"
LINES = (RED, BLUE, ORANGE, "#3a9a5b", "#9a5fc4")
SPREADS = 3.0
"""Half width of the band around what was expected, in spreads of the mechanism."""
SHORT_NAME, LONGEST_NAME = 27, 34
"""Characters up to which four names stand beside each other below a chart, and of the longest."""
LONGEST_TITLE = 60
NANOSECONDS = 1e9
UNITS = (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
BEFORE, TIMES = 60, 2
"""Ticks before the alarm that are shown, or so many times as many as after it if that is more."""
LEAST_UNITS = 3.0
"""The time axis counts the largest unit of which there are so many; milliseconds failing that."""


def signal_chart(explanation: Explanation, signal: str, kind: Kind = "svg") -> bytes:
    """What a signal did, what was expected of it with its band, and where the alarm was raised."""
    course, context, ranking = _around(explanation)
    column = course.signals.index(signal)
    figure, axes = _figure()
    size, word = _unit(course, context)
    at = _since(course, ranking) / size
    unit = context.units.get(signal, "")
    if column < context.equations.signals:
        expected = course.expected[:, column]
        band = SPREADS * context.equations.spread[column]
        axes.fill_between(
            at, expected - band, expected + band, color=BLUE, alpha=0.22, linewidth=0,
            label="expected, one tick ahead",
        )  # fmt: skip
        onset = min(int(ranking.onset[column]), ranking.raised)
        off = offsets(course.innovation[onset:, column], context.equations, column)
        alone = course.values[onset:, column] - off
        if np.abs(off).max(initial=0.0) > 2 * band and _in_sight(alone, course.values[:, column]):
            axes.plot(
                at[onset:], alone, color=BLUE, linewidth=1.2,
                linestyle=(0, (4, 2)), label="if its causes alone decided",
            )  # fmt: skip
    axes.plot(at, course.values[:, column], color=RED, linewidth=1.4, label="seen")
    _mark(axes, explanation, course, ranking, size)
    _finish(figure, axes, clean(context.labels.get(signal, signal)), clean(unit), word)
    return _saved(figure, kind)


def _in_sight(line: Floats, seen: Floats) -> bool:
    """Whether a line stays near what was seen: errors can add up to where nobody could be."""
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    room = 3.0 * max(high - low, 1e-9 * max(abs(low), abs(high)))
    return bool(np.nanmin(line) > low - room and np.nanmax(line) < high + room)


def evidence_chart(explanation: Explanation, kind: Kind = "svg", most: int = 4) -> bytes:
    """Evidence against the first causes over time; 1 is the limit."""
    course, context, ranking = _around(explanation)
    figure, axes = _figure()
    size, word = _unit(course, context)
    at = _since(course, ranking) / size
    names = [cause.signal for cause in explanation.likely[:most]]
    labels = short_names([context.labels.get(name, name) for name in names], LONGEST_NAME)
    for name, label, colour in zip(names, labels, LINES, strict=False):
        column = course.signals.index(name)
        axes.plot(at, course.evidence[:, column], color=colour, linewidth=1.4, label=label)
    axes.axhline(1.0, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)))
    high = float(np.nanmax(course.evidence, initial=1.0))
    if high > 20.0:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(bottom=0.0)
    _mark(axes, explanation, course, ranking, size)
    _finish(figure, axes, "Evidence (1 is the limit)", "", word)
    return _saved(figure, kind)


def for_page(svg: bytes) -> str:
    """An SVG for use inside a page: no prologue, ink and paper of the page, scaled to its width."""
    text = svg.decode("utf-8")
    text = text[text.index("<svg") :]
    head, rest = text.split(">", 1)
    size = head[head.index("viewBox") :].split('"')[1]
    for colour in (INK, SOFT):
        rest = rest.replace(colour, "currentColor")
    rest = rest.replace("#ffffff", "var(--paper, #ffffff)")
    start, stop = rest.find("<metadata>"), rest.find("</metadata>")
    if 0 <= start < stop:
        rest = rest[:start] + rest[stop + len("</metadata>") :]
    return f'<svg viewBox="{size}" role="img" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{rest}'


def _figure() -> tuple[Figure, Axes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="none", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    return figure, axes


def _around(explanation: Explanation) -> tuple[Course, Context, Ranking]:
    """The parts of an explanation from some ticks before the alarm on."""
    course, context, ranking = parts_of(explanation)
    first = max(0, ranking.raised - max(BEFORE, TIMES * (len(course) - ranking.raised)))
    cut = {name: getattr(course, name)[first:] for name in ("time", "score", *FIELDS)}
    shifted = replace(
        ranking,
        onset=np.maximum(ranking.onset - first, 0),
        start=max(0, ranking.start - first),
        raised=ranking.raised - first,
        stop=ranking.stop - first,
    )
    return replace(course, **cut), context, shifted


def _unit(course: Course, context: Context) -> tuple[float, str]:
    """The one unit that the time axis of an alarm counts: its seconds, and its name."""
    if context.clock == "rows":
        return 1.0, "rows"
    span = float(course.time[-1] - course.time[0]) / NANOSECONDS
    for word, size in UNITS:
        if span >= LEAST_UNITS * size:
            return size, word
    return 1e-3, "milliseconds"


def _since(course: Course, ranking: Ranking) -> Floats:
    """Seconds since the alarm was raised."""
    since = (course.time - course.time[ranking.raised]) / NANOSECONDS
    return np.asarray(since, dtype=np.float64)


def _mark(
    axes: Axes, explanation: Explanation, course: Course, ranking: Ranking, size: float
) -> None:
    """The alarm: a line where it was raised, a shade while it lasted."""
    last = int(course.time[-1])
    cleared = explanation.alarm.cleared_at
    end = last if cleared is None else min(last, cleared)
    lasted = float(end - course.time[ranking.raised]) / NANOSECONDS / size
    axes.axvspan(0.0, max(lasted, 0.0), color=GREY, alpha=0.13, linewidth=0, zorder=0)
    axes.axvline(0.0, color=GREY, linewidth=1.2, zorder=1)
    late = axes.get_xlim()[1] < -axes.get_xlim()[0] / 6  # no room for the word on the right
    axes.annotate(
        "alarm", (0.0, 1.0), xycoords=("data", "axes fraction"), xytext=(-3 if late else 3, -3),
        textcoords="offset points", ha="right" if late else "left", va="top", fontsize=8,
        color=SOFT,
    )  # fmt: skip


def _finish(figure: Figure, axes: Axes, title: str, unit: str, time: str) -> None:
    """Names of the axes, light frame, legend below."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_title(
        middle(title, LONGEST_TITLE),
        fontsize=9.5,
        fontweight="bold",
        loc="left",
        color=INK,
        parse_math=False,
    )
    axes.set_ylabel(unit, fontsize=8.5, color=SOFT, parse_math=False)
    axes.set_xlabel(f"{time} from the alarm", fontsize=8, color=SOFT, loc="right", labelpad=1)
    axes.margins(x=0.01)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 1.5, 2, 3, 6, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}".replace("-", "−")))
    axes.tick_params(labelsize=8, colors=SOFT, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
    labels = axes.get_legend_handles_labels()[1]
    if labels:
        longest = max(map(len, labels))
        legend = figure.legend(
            loc="outside lower left", ncols=4 if longest <= SHORT_NAME else 2, frameon=False,
            fontsize=8, labelcolor=INK,
            handlelength=1.4, columnspacing=1.0, borderaxespad=0.1,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
    for text in axes.texts:
        text.set_fontfamily(FONT)


def _saved(figure: Figure, kind: Kind) -> bytes:
    import matplotlib

    out = io.BytesIO()
    metadata: dict[str, str | None] = (
        {"Date": None, "Creator": "causewatch"} if kind == "svg" else {"Software": "causewatch"}
    )
    with matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "causewatch",
            "text.usetex": False,
            "font.family": [FONT, "sans-serif"],
        }
    ):
        figure.savefig(
            out, format=kind, dpi=160, metadata=metadata,
            facecolor="white" if kind == "png" else "none",
        )  # fmt: skip
    return out.getvalue()
