"""The interactive page: one self-contained HTML file that works without a server or network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from causewatch.explain.colours import CROSS, NODE, auto_limits, limits
from causewatch.explain.view import auto_values, clean, cross_links, lags_text
from causewatch.graph import CausalGraph

__all__ = ["page"]


def page(
    graph: CausalGraph,
    places: Mapping[str, tuple[float, float]],
    stages: Mapping[str, Sequence[str]],
    labels: Mapping[str, str],
    min_strength: float,
    title: str | None,
    every: float | None,
    *,
    overview: bool,
) -> str:
    """The page as text.

    Names reach it as JSON in which ``<``, ``>`` and ``&`` are escaped, and its script shows them as
    text only; a content security policy admits that script and nothing else.

    Parameters
    ----------
    graph
        What to show; the page holds every link between signals and filters by itself.
    places
        A position for each signal, in the unit of the layout.
    stages
        Groups of signals in process order; empty for none.
    labels
        Names for people.
    min_strength
        Where the strength slider stands at first.
    title
        Heading.
    every
        Length of a tick in seconds, for saying lags as times; None if not known.
    overview
        Whether the groups are closed at first.
    """
    from jinja2 import Environment, PackageLoader, select_autoescape
    from markupsafe import Markup

    folder = files("causewatch.explain") / "templates"
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    environment = Environment(
        loader=PackageLoader("causewatch.explain"), autoescape=select_autoescape(), trim_blocks=True
    )
    return environment.get_template("page.html").render(
        title=clean(title) if title else "Causal graph",
        style=Markup(style),
        style_hash=_digest(style),
        script=Markup(script),
        script_hash=_digest(script),
        data=Markup(_json(_data(graph, places, stages, labels, min_strength, every, overview))),
    )


def _data(
    graph: CausalGraph,
    places: Mapping[str, tuple[float, float]],
    stages: Mapping[str, Sequence[str]],
    labels: Mapping[str, str],
    min_strength: float,
    every: float | None,
    overview: bool,
) -> dict[str, Any]:
    stages = stages or {"": graph.signals}
    group_of = {name: k for k, names in enumerate(stages.values()) for name in names}
    index = {name: k for k, name in enumerate(graph.signals)}
    auto = auto_values(graph)
    low, high = auto_limits(auto.values())
    links = cross_links(graph)
    return {
        "groups": [clean(stage) for stage in stages],
        "signals": [
            {
                "name": clean(name),
                "label": clean(labels.get(name, name)),
                "group": group_of[name],
                "x": round(places[name][0], 3),
                "y": round(places[name][1], 3),
                "auto": round(auto[name], 4),
            }
            for name in graph.signals
        ],
        "links": [
            [
                index[link.source],
                index[link.target],
                link.lag,
                float(f"{strength.value:.4g}"),
                float(f"{strength.p_value:.2g}") if math.isfinite(strength.p_value) else None,
            ]
            for link, strength in links.items()
        ],
        "lags": {str(link.lag): lags_text([link.lag], every) for link in links},
        "inTicks": every is None,
        "least": min_strength,
        "cross": CROSS,
        "crossLimit": limits((strength.value for strength in links.values()), least=0.4),
        "node": NODE,
        "autoLow": low,
        "autoHigh": high,
        "overview": overview,
    }


def _json(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the element it stands in, whatever the names."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _digest(text: str) -> str:
    """How a content security policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
