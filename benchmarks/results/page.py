"""A page of results: what was measured, on what, by which commit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import ROOT, machine

from causewatch.data import TimeTable

__all__ = ["FOLDER", "Page", "figure", "share", "tables_hash", "write"]

FOLDER = ROOT / "docs" / "results"


@dataclass(frozen=True)
class Page:
    """One file of ``docs/results``.

    Attributes
    ----------
    name, title
        Of the file and of the page.
    simulated
        Whether the figures are those of a simulation.
    seeds
        Which random numbers, and which were not looked at before.
    data
        SHA-256 of what was measured on.
    body
        Markdown.
    """

    name: str
    title: str
    simulated: bool
    seeds: str
    data: str
    body: str


def write(page: Page) -> Path:
    """Write a page; gives its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kind = "Figures of a **simulation**." if page.simulated else "Real recordings."
    head = (
        f"# {page.title}\n\n{kind} Made by `python -m benchmarks.results --only {page.name}`;"
        f" data {page.data};\n{page.seeds}.\n{machine('scipy', 'torch')}\n"
    )
    path = FOLDER / f"{page.name}.md"
    path.write_text(f"{head}\n{page.body.strip()}\n", encoding="utf-8")
    return path


def tables_hash(tables: Iterable[TimeTable]) -> str:
    """The first digits of the SHA-256 of the numbers in some tables."""
    digest = hashlib.sha256()
    for one in tables:
        digest.update("\0".join(one.signals).encode())
        digest.update(one.time.tobytes())
        digest.update(one.values.tobytes())
    return f"`{digest.hexdigest()[:16]}`"


def figure(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash where it is not defined."""
    return "–" if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """A share in per cent, or a dash."""
    return "–" if value is None else f"{value:.1%}"
