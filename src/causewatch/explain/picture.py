"""Write a causal graph to a file: as a picture, as an interactive page, or as plain data."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from causewatch.errors import SettingError, listing
from causewatch.explain.overview import overview_sheet
from causewatch.explain.page import page
from causewatch.explain.signals import signal_sheet
from causewatch.explain.view import auto_values, select
from causewatch.files import write_atomically
from causewatch.graph import CausalGraph
from causewatch.model import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SUFFIXES", "draw"]

SUFFIXES = (".svg", ".png", ".html", ".gml", ".dot", ".json")
"""What :func:`draw` can write."""

MOST_ARROWS = 80
"""A picture of signals shows at most this many arrows, the strongest, so that it stays readable."""

Places = Mapping[str, tuple[float, float]]
Groups = Mapping[str, Sequence[str]]


def draw(
    graph: CausalGraph,
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
    positions: Places | None = None,
    groups: Groups | None = None,
    labels: Mapping[str, str] | None = None,
    min_strength: float | None = None,
    title: str | None = None,
    every: float | None = None,
) -> None:
    """Write `graph` to `path` in the format its suffix names, or draw it on `ax`.

    Pictures (``.svg``, ``.png``) and the interactive page (``.html``) show links above
    `min_strength`; the caption says which and counts what is left out. A picture with more than
    :data:`causewatch.model.layout.LARGE` linked signals shows groups instead of signals. The data
    formats (``.gml``, ``.dot``, ``.json``) hold every link. The file appears complete or not at
    all.

    Parameters
    ----------
    graph
        What to draw.
    path
        File to write; an existing one is replaced.
    ax
        Axes of matplotlib to put the picture on, as an image, in place of a file.
    positions
        Places of the signals, from :func:`causewatch.model.layout.positions` unless given.
    groups
        Stages in process order, each with its signals.
    labels
        Names for people, shown in place of the signals' own.
    min_strength
        Links with a smaller absolute value are not shown; unless given, it is chosen so that there
        are about two links for each signal (:func:`causewatch.model.layout.usual_strength`).
    title
        Heading.
    every
        Length of a tick in seconds; with it, lags are said as times.
    """
    if not isinstance(graph, CausalGraph):
        message = (
            "draw takes a graph, such as model.graph; this is an object of type"
            f" {type(graph).__name__}."
        )
        raise SettingError(message)
    if (path is None) == (ax is None):
        message = "draw needs either the path of a file to write or ax, axes to draw on."
        raise SettingError(message)
    file = Path("picture.png" if path is None else path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        found = f"{suffix!r}" if suffix else "no suffix"
        message = (
            f"Cannot draw {file.name!r}: found {found}, expected one of {', '.join(SUFFIXES)}."
        )
        raise SettingError(message)
    if min_strength is None:
        min_strength = layout.usual_strength(graph)
    if not (math.isfinite(min_strength) and min_strength >= 0):
        message = f"min_strength is {min_strength}, expected a number from 0 upwards, e.g. 0.3."
        raise SettingError(message)
    exports: dict[str, Callable[[], str]] = {
        ".gml": graph.to_gml,
        ".dot": graph.to_dot,
        ".json": graph.to_json,
    }
    if suffix in exports:
        content = exports[suffix]().encode()
    elif not graph.signals:
        message = "The graph has no signals, so there is nothing to draw."
        raise SettingError(message)
    elif suffix == ".html":
        content = _page(graph, positions, groups, labels or {}, min_strength, title, every).encode()
    else:
        kind: Literal["svg", "png"] = "svg" if suffix == ".svg" else "png"
        content = _picture(graph, kind, positions, groups, labels or {}, min_strength, title, every)
    if ax is None:
        _write(file, content)
    else:
        from matplotlib.image import imread

        ax.imshow(imread(io.BytesIO(content), format="png"))
        ax.axis("off")


def _picture(
    graph: CausalGraph,
    kind: Literal["svg", "png"],
    positions: Places | None,
    groups: Groups | None,
    labels: Mapping[str, str],
    min_strength: float,
    title: str | None,
    every: float | None,
) -> bytes:
    auto = auto_values(graph)
    view = select(graph, min_strength)
    alone = set(view.alone) if view.arrows else set()
    shown = [name for name in graph.signals if name not in alone]
    if len(shown) > layout.LARGE:
        stages = layout.stages(graph, groups, min_strength=min_strength)
        return overview_sheet(graph, view, stages, auto, title).save(kind)

    view = select(graph, min_strength, most=MOST_ARROWS)
    alone = set(view.alone) if view.arrows else set()
    part = graph.filtered(signals=[name for name in graph.signals if name not in alone])
    stages = layout.stages(part, groups, min_strength=min_strength)
    places = _places(part, positions, groups, min_strength)
    return signal_sheet(view, places, stages, auto, labels, title, every).save(kind)


def _page(
    graph: CausalGraph,
    positions: Places | None,
    groups: Groups | None,
    labels: Mapping[str, str],
    min_strength: float,
    title: str | None,
    every: float | None,
) -> str:
    places = _places(graph, positions, groups, min_strength)
    stages = layout.stages(graph, groups, min_strength=min_strength)
    overview = len(graph.signals) > layout.LARGE
    return page(graph, places, stages, labels, min_strength, title, every, overview=overview)


def _places(
    graph: CausalGraph, positions: Places | None, groups: Groups | None, min_strength: float
) -> Places:
    if positions is None:
        return layout.positions(graph, groups, min_strength=min_strength)
    missing = [name for name in graph.signals if name not in positions]
    if missing:
        message = (
            f"The positions lack {listing(missing)}; give every signal of the graph a place, or"
            " leave the positions out."
        )
        raise SettingError(message)
    return {name: positions[name] for name in graph.signals}


def _write(file: Path, content: bytes) -> None:
    try:
        write_atomically(file, content)
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"Cannot write {str(file)!r}: {reason}; choose a place that can be written to."
        raise SettingError(message) from error
