"""The experts' knowledge that comes with causRCA: the causal graph, and which part a tag is of."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable
from pathlib import Path

from causewatch.data.raw import file_name
from causewatch.errors import TableError, UnknownNameError, listing
from causewatch.graph import CausalGraph, Link, Strength

__all__ = ["PARTS", "expert_graph", "find_stages"]

PARTS = {
    "all": "all_edges.csv",
    "coolant": "coolant_edges.csv",
    "hydraulics": "hydraulics_edges.csv",
    "probe": "probe_edges.csv",
}
"""The file of links of the whole machine and of each sub-system."""


def expert_graph(path: Path, part: str = "all") -> CausalGraph:
    """The causal graph that experts drew of the machine.

    Parameters
    ----------
    path
        The folder of the dataset, or any folder that holds the part's ``…_nodes.csv`` and
        ``…_edges.csv``.
    part
        ``"all"`` (92 tags, 102 links), ``"coolant"``, ``"hydraulics"`` or ``"probe"``.

    Returns
    -------
    CausalGraph
        The experts say what causes what but not how fast: every link has lag 0 and strength 1.
        Compare pairs of signals, not lags. Tags without a link are in it too.
    """
    if part not in PARTS:
        raise UnknownNameError(part, "part of causRCA", PARTS)
    edges = next(iter(sorted(path.rglob(PARTS[part]))), None)
    nodes = edges.with_name(f"{part}_nodes.csv") if edges else None
    if edges is None or nodes is None or not nodes.is_file():
        message = (
            f"{PARTS[part]} and {part}_nodes.csv were not found in {path.name!r}; give the folder "
            "of causRCA with expert_graph and dig_twin in it."
        )
        raise TableError(message)
    signals = [row["label"] for row in _rows(nodes, ("label", "path"))]
    links = {
        Link(row["source_label"], row["target_label"], 0): Strength(1.0, 0.0)
        for row in _rows(edges, ("source_label", "target_label"))
    }
    unknown = {name for link in links for name in (link.source, link.target)}.difference(signals)
    if unknown:
        message = (
            f"{file_name(edges)} links tags that {file_name(nodes)} does not list: "
            f"{listing(sorted(unknown))}; download the dataset again."
        )
        raise TableError(message)
    return CausalGraph(signals, links)


def find_stages(files: Iterable[Path], known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The sub-systems of the machine and their tags, as far as the tags are known.

    They are taken from ``all_nodes.csv`` among `files`; empty if it is not there.
    """
    nodes = next((path for path in files if path.name == "all_nodes.csv"), None)
    stages: dict[str, list[str]] = {}
    for row in _rows(nodes, ("label", "path")) if nodes else ():
        if row["label"] in known:
            # "Lathe/Coolant/Tank": the machine, the sub-system, its component
            stages.setdefault([*row["path"].split("/"), ""][1], []).append(row["label"])
    return {stage: tuple(tags) for stage, tags in stages.items() if stage}


def _rows(path: Path, needed: Collection[str]) -> list[dict[str, str]]:
    """The rows of a list with a header; comments in it may run over several lines."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, restval="")
            columns = list(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        message = f"{file_name(path)} cannot be read ({error}); download the dataset again."
        raise TableError(message) from error
    missing = [name for name in needed if name not in columns]
    if missing:
        message = (
            f"{file_name(path)} lacks the columns {listing(missing)}, and has {listing(columns)}."
        )
        raise TableError(message)
    return rows
