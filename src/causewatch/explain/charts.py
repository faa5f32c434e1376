"""Pictures of an explained alarm: a signal against its model, the evidence, the links around it.

Line charts use matplotlib's object-oriented interface alone and import it late. Text is never read
as markup. Colours are legible on light and on dark ground; ink and paper of a chart follow the page
it stands in (`for_page`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from causewatch.data import format_duration
from causewatch.errors import SettingError
from causewatch.explain.changes import offsets
from causewatch.explain.colours import INK, SOFT
from causewatch.explain.explanation import Explanation
from causewatch.explain.frame import arrow_head, draw_arrows
from causewatch.explain.ranking import Context, Ranking
from causewatch.explain.routes import route
from causewatch.explain.sheet import FONT, Scale, Sheet, text_width, two_lines
from causewatch.explain.view import Arrow, clean
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.model import layout
from causewatch.monitor.course import Course

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["evidence_chart", "for_page", "links_chart", "signal_chart"]

Floats = NDArray[np.float64]
Kind = Literal["svg", "png"]

WIDTH, HEIGHT = 5.4, 2.5
"""Inches; small enough that the text stays legible when a phone shrinks the chart."""
BLUE, ORANGE, RED, GREY = "#2f7fd1", "#d97706", "#d1242f", "#8a96a2"
LINES = (RED, BLUE, ORANGE, "#3a9a5b", "#9a5fc4")
CAUSE, FOLLOWER, OTHER = "#f6b8ba", "#fbdca6", "#e3e7eb"
SPREADS = 3.0
"""Half width of the band around what was expected, in spreads of the mechanism."""
MOST_SIGNALS = 12
PILL = 0.3
NANOSECONDS = 1e9


def signal_chart(explanation: Explanation, signal: str, kind: Kind = "svg") -> bytes:
    """What a signal did, what was expected of it with its band, and where the alarm was raised."""
    course, context, ranking = _told(explanation)
    column = course.signals.index(signal)
    figure, axes = _figure()
    at = _minutes(course, ranking)
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
    _mark(axes, explanation, course, ranking)
    _finish(
        figure, axes, f"{clean(context.labels.get(signal, signal))}", clean(unit), course, context
    )
    return _saved(figure, kind)


def _in_sight(line: Floats, seen: Floats) -> bool:
    """Whether a line stays near what was seen: errors can add up to where nobody could be."""
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    room = 3.0 * max(high - low, 1e-9 * max(abs(low), abs(high)))
    return bool(np.nanmin(line) > low - room and np.nanmax(line) < high + room)


def evidence_chart(explanation: Explanation, kind: Kind = "svg", most: int = 4) -> bytes:
    """Evidence against the first causes over time; 1 is the limit."""
    course, context, ranking = _told(explanation)
    figure, axes = _figure()
    at = _minutes(course, ranking)
    names = [cause.signal for cause in explanation.causes[:most]]
    for name, colour in zip(names, LINES, strict=False):
        column = course.signals.index(name)
        label = clean(context.labels.get(name, name))
        axes.plot(at, course.evidence[:, column], color=colour, linewidth=1.4, label=label)
    axes.axhline(1.0, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)))
    high = float(np.nanmax(course.evidence, initial=1.0))
    if high > 20.0:
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0.0)
    _mark(axes, explanation, course, ranking)
    _finish(figure, axes, "Evidence (1 is the limit)", "", course, context)
    return _saved(figure, kind)


def links_chart(explanation: Explanation, kind: Kind = "svg") -> bytes:
    """The signals around the causes and the links among them, broken ones in red."""
    _, context, _ = _told(explanation)
    graph = _neighbourhood(explanation)
    broken = {(one.link.source, one.link.target) for one in explanation.broken_links}
    places = layout.positions(graph, None, min_strength=0.0)
    names = list(places)
    texts = [two_lines(clean(context.labels.get(name, name))) for name in names]
    boxes = _boxes(np.array(list(places.values()), dtype=np.float64), texts)
    arrows = _arrows(graph, broken)
    index = {name: k for k, name in enumerate(names)}
    widths = [2.4 if arrow.value else 1.1 for arrow in arrows]
    ways = route(
        boxes,
        [(index[arrow.source], index[arrow.target]) for arrow in arrows],
        heads=[arrow_head(width) for width in widths],
        clearance=0.06,
        radius=PILL / 2,
    )
    points = np.concatenate(
        [boxes[:, :2] - boxes[:, 2:], boxes[:, :2] + boxes[:, 2:], *(way.curve for way in ways)]
    )
    low, high = points.min(axis=0) - 0.15, points.max(axis=0) + 0.15
    sheet = Sheet((float(low[0]), float(low[1])), *(float(size) for size in high - low))
    named = {change.signal for change in explanation.changes}
    named = named or {cause.signal for cause in explanation.causes[:3]}
    for name, text, box in zip(names, texts, boxes, strict=True):
        fill = CAUSE if name in named else OTHER
        fill = FOLLOWER if name in explanation.consequences else fill
        sheet.box(box, fill_with=fill, edge=RED if name in named else GREY, radius=PILL / 2)
        sheet.text(box[0], box[1], text, size=9.5 - text.count("\n"), colour="#1f2932")
    lags = [", ".join(format_duration(lag * context.every) for lag in a.lags[:2]) for a in arrows]
    if arrows:
        colours = Scale((GREY, RED), 0.0, 1.0)
        draw_arrows(sheet, arrows, ways, lags, widths=widths, scale=colours, boxes=boxes)
    sheet.figure.set_facecolor("none")
    return sheet.save(kind)


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


def _told(explanation: Explanation) -> tuple[Course, Context, Ranking]:
    course, context, ranking = explanation.course, explanation.context, explanation.ranking
    if course is None or context is None or ranking is None:
        msg = (
            f"The alarm {explanation.alarm.id} carries no ticks, so there is nothing to draw; draw"
            " it from the monitor that raised it."
        )
        raise SettingError(msg)
    return course, context, ranking


def _figure() -> tuple[Figure, Axes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="none", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor("none")
    return figure, axes


def _minutes(course: Course, ranking: Ranking) -> Floats:
    """Seconds since the alarm was raised."""
    since = (course.time - course.time[ranking.raised]) / NANOSECONDS
    return np.asarray(since, dtype=np.float64)


def _mark(axes: Axes, explanation: Explanation, course: Course, ranking: Ranking) -> None:
    """The alarm: a line where it was raised, a shade while it lasted."""
    end = float(course.time[-1] - course.time[ranking.raised]) / NANOSECONDS
    cleared = explanation.alarm.cleared_at
    if cleared is not None:
        end = min(end, float(cleared - course.time[ranking.raised]) / NANOSECONDS)
    axes.axvspan(0.0, max(end, 0.0), color=GREY, alpha=0.13, linewidth=0, zorder=0)
    axes.axvline(0.0, color=GREY, linewidth=1.2, zorder=1)
    axes.annotate(
        "alarm", (0.0, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3),
        textcoords="offset points", ha="left", va="top", fontsize=8, color=SOFT,
    )  # fmt: skip


def _finish(
    figure: Figure, axes: Axes, title: str, unit: str, course: Course, context: Context
) -> None:
    """Ticks in time units, light frame, legend below."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_title(title, fontsize=9.5, fontweight="bold", loc="left", color=INK, parse_math=False)
    axes.set_ylabel(unit, fontsize=8.5, color=SOFT, parse_math=False)
    axes.margins(x=0.01)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 1.5, 2, 3, 6, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _ago(float(x))))
    axes.tick_params(labelsize=8, colors=SOFT, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
    if axes.get_legend_handles_labels()[0]:
        legend = figure.legend(
            loc="outside lower left", ncols=4, frameon=False, fontsize=8, labelcolor=INK,
            handlelength=1.4, columnspacing=1.0, borderaxespad=0.1,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)
    for text in axes.texts:
        text.set_fontfamily(FONT)


def _ago(seconds: float) -> str:
    if abs(seconds) < 1e-9:
        return "0"
    return f"{'+' if seconds > 0 else '−'}{format_duration(abs(seconds))}"


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


def _neighbourhood(explanation: Explanation) -> CausalGraph:
    """The causes, what follows from them and what acts on them, with the links among these."""
    course, context, _ = _told(explanation)
    equations, names = context.equations, course.signals
    strength: dict[Link, Strength] = {}
    for k in range(len(equations.source)):
        source, target = int(equations.source[k]), int(equations.target[k])
        if source != target:
            value = equations.coefficient[k] * context.scale[source] / context.scale[target]
            link = Link(names[source], names[target], int(equations.lag[k]))
            strength[link] = Strength(float(value), 0.0)
    chosen = [change.signal for change in explanation.changes]
    chosen = chosen or [cause.signal for cause in explanation.causes[:3]]
    wanted = list(chosen)
    for one in explanation.broken_links:
        if one.link.target in chosen:
            wanted.append(one.link.source)
    wanted += explanation.consequences
    near = sorted(
        (link for link in strength if link.target in chosen or link.source in chosen),
        key=lambda link: -abs(strength[link].value),
    )
    wanted += [name for link in near for name in (link.source, link.target)]
    kept = list(dict.fromkeys(wanted))[:MOST_SIGNALS]
    inside = {link: s for link, s in strength.items() if {link.source, link.target} <= set(kept)}
    return CausalGraph(kept, inside)


def _arrows(graph: CausalGraph, broken: set[tuple[str, str]]) -> list[Arrow]:
    """One arrow for each pair, the broken ones first and on top; its value says which is which."""
    pairs: dict[tuple[str, str], list[int]] = {}
    for link in graph:
        pairs.setdefault((link.source, link.target), []).append(link.lag)
    arrows = [
        Arrow(source, target, float((source, target) in broken), tuple(lags), len(lags), 1.0)
        for (source, target), lags in pairs.items()
    ]
    return sorted(arrows, key=lambda arrow: -arrow.value)


def _boxes(places: Floats, texts: Sequence[str]) -> Floats:
    half = np.array(
        [[text_width(t, 9.5) / 2 + 0.12, PILL * (1 + 0.4 * t.count("\n")) / 2] for t in texts]
    )
    across = 2 * float(half[:, 0].max()) + 0.45
    columns = np.unique(places[:, 0], return_inverse=True)[1]
    rows = places[:, 1] - places[:, 1].min()
    return np.column_stack([columns * across, rows * 0.62, half])
