"""A graph that is known already: mechanisms are fitted on its links, and none is looked for."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from causewatch.data.raw import clean_name
from causewatch.data.table import TableSource
from causewatch.discovery.independence import PartialCorrelation
from causewatch.discovery.knowledge import Constraints
from causewatch.discovery.moments import LaggedMoments
from causewatch.discovery.pcmci import Progress, momentary_tests, nodes_of
from causewatch.errors import KnowledgeError, SettingError, UnknownNameError, shorten
from causewatch.graph import CausalGraph, Link, Strength

__all__ = ["GivenGraph", "read_links"]

MOST_BYTES = 20_000_000
NAME = r'"(?:[^"\\]|\\.)*"|\w+'
ARROW = re.compile(rf"\s*({NAME})\s*->\s*({NAME})\s*(\[[^\]]*\])?\s*;?\s*")
LAG = re.compile(r'[\[,\s](?:lag\s*=\s*"?(\d+)"?|label\s*=\s*"(\d+)(?::[^"]*)?")\s*[,\]]')
LONGEST_LINE, MOST_DIGITS = 10_000, 9


@dataclass(frozen=True)
class GivenGraph:
    """The discoverer that takes the links as they are given.

    The value of a link is that of PCMCI's second stage: its partial correlation given the other
    causes of its target, and those of its source.

    Attributes
    ----------
    links
        The links; each must be between signals of the recording, within the maximum lag.
    """

    links: frozenset[Link]

    @property
    def max_lag(self) -> int:
        """The longest lag of the links."""
        return max(link.lag for link in self.links)

    def discover(
        self,
        ticks: TableSource,
        moments: LaggedMoments,
        *,
        constraints: Constraints | None = None,
        progress: Progress | None = None,
    ) -> CausalGraph:
        """See `Discoverer`."""
        del ticks, constraints
        names = moments.signals
        place = {name: k for k, name in enumerate(names)}
        for link in sorted(self.links):
            for name in (link.source, link.target):
                if name not in place:
                    raise UnknownNameError(name, "signal in the model", names)
            if link.lag > moments.max_lag:
                msg = (
                    f"The graph given has the link {link}, but the maximum lag is"
                    f" {moments.max_lag}; give --max-lag {self.max_lag}."
                )
                raise SettingError(msg)
        test = PartialCorrelation(moments)
        at = {link: (place[link.source], place[link.target], link.lag) for link in self.links}
        asked = np.zeros((len(names), len(names), moments.max_lag + 1), dtype=np.bool_)
        for link in self.links:
            asked[at[link]] = True
        tell = progress or (lambda share: None)
        value, p_value = momentary_tests(test, nodes_of(self.links, names), asked, tell)
        return CausalGraph(
            names,
            {link: Strength(float(value[k]), float(p_value[k])) for link, k in at.items()},
        )


def read_links(path: str | os.PathLike[str]) -> frozenset[Link]:
    """The links in a graph file.

    Parameters
    ----------
    path
        ``.csv`` with the columns source, target and lag; ``.json`` or ``.gml`` as this program
        writes them, with a `lag` for each link; ``.dot`` with a `lag`, or a label that begins with
        it. A link without a lag has lag 1.
    """
    file = Path(path)
    readers: dict[str, Callable[[str], Iterable[Mapping[str, Any]]]] = {
        ".csv": _csv_rows,
        ".json": _json_rows,
        ".gml": _gml_rows,
        ".dot": _dot_rows,
    }
    reader = readers.get(file.suffix.lower())
    if reader is None:
        msg = f"The graph file {file.name!r} must end in {', '.join(readers)}."
        raise KnowledgeError(msg)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            msg = f"The graph file {file.name!r} is larger than {MOST_BYTES // 10**6} MB."
            raise KnowledgeError(msg)
        links = frozenset(_link(row) for row in reader(raw.decode("utf-8-sig")))
    except OSError as error:
        msg = f"The graph file {file} cannot be read: {error.strerror}."
        raise KnowledgeError(msg) from None
    except (csv.Error, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        msg = f"The graph file {file.name!r} is not understood: {shorten(str(error), 100)}."
        raise KnowledgeError(msg) from error
    if not links:
        msg = f"The graph file {file.name!r} holds no link."
        raise KnowledgeError(msg)
    return links


def _link(row: Mapping[str, Any]) -> Link:
    lag = row.get("lag")
    text = "1" if lag is None or str(lag).strip() == "" else str(lag).strip()
    source, target = (clean_name(str(row.get(end) or "")) for end in ("source", "target"))
    if not source or not target:
        msg = f"A link of the graph file lacks its source or target: {shorten(str(dict(row)), 80)}."
        raise KnowledgeError(msg)
    if not text.isascii() or not text.isdigit():
        msg = f"The lag of {source} → {target} is {shorten(text)!r}; expected whole ticks."
        raise KnowledgeError(msg)
    if len(text) > MOST_DIGITS:
        msg = f"The lag of {source} → {target} is {shorten(text)!r}; that is too long."
        raise KnowledgeError(msg)
    if int(text) < 1:
        msg = f"The lag of {source} → {target} is 0; a cause must lie at least a tick before."
        raise KnowledgeError(msg)
    return Link(source, target, int(text))


def _csv_rows(text: str) -> Iterable[Mapping[str, Any]]:
    first = text.splitlines()[0] if text.strip() else ""
    rows = csv.DictReader(text.splitlines(), delimiter=";" if first.count(";") > 1 else ",")
    names = [name.strip().lower() for name in rows.fieldnames or ()]
    if not {"source", "target"} <= set(names):
        msg = f"A graph in CSV needs the columns source, target and lag; found {shorten(first)!r}."
        raise KnowledgeError(msg)
    rows.fieldnames = names
    return rows


def _json_rows(text: str) -> Iterable[Mapping[str, Any]]:
    links: list[Mapping[str, Any]] = json.loads(text)["links"]
    return links


def _gml_rows(text: str) -> Iterable[Mapping[str, Any]]:
    import networkx as nx

    try:
        graph = nx.parse_gml(text)
    except nx.NetworkXError as error:
        raise ValueError(str(error)) from error
    return [
        {"source": source, "target": target, "lag": about.get("lag")}
        for source, target, about in graph.edges(data=True)
    ]


def _dot_rows(text: str) -> Iterable[Mapping[str, Any]]:
    """One arrow a line, as this program writes them; other things DOT can say are refused."""
    for number, line in enumerate(text.splitlines(), start=1):
        arrow = ARROW.fullmatch(line) if len(line) <= LONGEST_LINE else None
        if arrow is None:
            if "->" in line or len(line) > LONGEST_LINE:
                msg = (
                    f"Line {number} of the graph file is not one link written as"
                    f' "cause" -> "effect" [lag=2]; found {shorten(line.strip())!r}.'
                )
                raise KnowledgeError(msg)
            continue
        source, target, about = arrow.groups()
        lag = LAG.search(about) if about else None
        if about and lag is None and ("lag" in about or "label" in about):
            msg = f"Line {number} of the graph file has no lag in whole ticks: {shorten(about)!r}."
            raise KnowledgeError(msg)
        yield {
            "source": _unquoted(source),
            "target": _unquoted(target),
            "lag": None if lag is None else lag.group(1) or lag.group(2),
        }


def _unquoted(name: str) -> str:
    if not name.startswith('"'):
        return name
    return re.sub(r"\\(.)", r"\1", name[1:-1])
