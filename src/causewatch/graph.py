"""Links and the causal graph they make up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from causewatch.errors import UnknownNameError
from causewatch.markup import bold, grid

if TYPE_CHECKING:
    import networkx

__all__ = ["CausalGraph", "Link", "Strength"]


@dataclass(frozen=True, order=True, slots=True)
class Link:
    """Signal `source`, `lag` ticks ago, is a direct cause of signal `target` now.

    >>> print(Link("P101", "LIT301", 2))
    P101 →(2) LIT301
    """

    source: str
    target: str
    lag: int

    def __str__(self) -> str:
        return f"{self.source} →({self.lag}) {self.target}"

    @property
    def is_auto(self) -> bool:
        """Whether the link leads from a signal to its own future."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Strength:
    """How strong a link is: the test's value (a partial correlation, say) and its p-value."""

    value: float
    p_value: float


class CausalGraph:
    """Signals and the links among them, each link with its strength. Immutable.

    Parameters
    ----------
    signals
        Every signal the graph is about, with or without links.
    links
        The links and their strengths.
    """

    def __init__(self, signals: Iterable[str], links: Mapping[Link, Strength]) -> None:
        self.signals: tuple[str, ...] = tuple(signals)
        known = set(self.signals)
        for link in links:
            for name in (link.source, link.target):
                if name not in known:
                    raise UnknownNameError(name, "signal", self.signals)
        order = {name: k for k, name in enumerate(self.signals)}
        ordered = sorted(links, key=lambda k: (order[k.target], order[k.source], k.lag))
        self.links: Mapping[Link, Strength] = MappingProxyType({k: links[k] for k in ordered})

    def __len__(self) -> int:
        return len(self.links)

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __contains__(self, link: object) -> bool:
        return link in self.links

    def __getitem__(self, link: Link) -> Strength:
        return self.links[link]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CausalGraph):
            return NotImplemented
        return self.signals == other.signals and dict(self.links) == dict(other.links)

    def __hash__(self) -> int:
        return hash((self.signals, tuple(self.links)))

    def __reduce__(self) -> tuple[type[CausalGraph], tuple[Any, ...]]:
        return CausalGraph, (self.signals, dict(self.links))

    def __repr__(self) -> str:
        return f"CausalGraph({len(self.signals)} signals, {len(self)} links)"

    def _repr_html_(self) -> str:
        ordered = sorted(self.links.items(), key=lambda pair: -abs(pair[1].value))
        rows = [
            (k.source, k.lag, k.target, strength.value, strength.p_value) for k, strength in ordered
        ]
        return bold(repr(self)) + grid(("source", "lag", "target", "value", "p-value"), rows)

    def parents(self, target: str) -> list[Link]:
        """Links into `target`, strongest first."""
        return self._strongest_first(target, lambda link: link.target == target)

    def children(self, source: str) -> list[Link]:
        """Links out of `source`, strongest first."""
        return self._strongest_first(source, lambda link: link.source == source)

    def auto_value(self, signal: str) -> float:
        """Value of the strongest link from `signal` to its own future, 0 if there is none."""
        values = [self[link].value for link in self.parents(signal) if link.is_auto]
        return max(values, key=abs, default=0.0)

    def filtered(
        self, min_strength: float = 0.0, signals: Iterable[str] | None = None
    ) -> CausalGraph:
        """The same graph with only the links whose absolute value is above `min_strength`.

        With `signals`, only those signals and the links among them are kept.
        """
        kept = self.signals if signals is None else tuple(signals)
        for name in kept:
            self._check(name)
        inside = set(kept)
        return CausalGraph(
            kept,
            {
                link: strength
                for link, strength in self.links.items()
                if abs(strength.value) > min_strength
                and link.source in inside
                and link.target in inside
            },
        )

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """A `networkx.MultiDiGraph`; edges carry `lag`, `value` and `p_value`, keyed by lag."""
        import networkx as nx

        out: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        out.add_nodes_from(self.signals)
        for link, strength in self.links.items():
            out.add_edge(
                link.source,
                link.target,
                key=link.lag,
                lag=link.lag,
                value=strength.value,
                p_value=strength.p_value,
            )
        return out

    def to_pandas(self) -> Any:
        """A pandas dataframe of the links: `source`, `target`, `lag`, `value`, `p_value`."""
        return self._frame("pandas")

    def to_polars(self) -> Any:
        """A polars dataframe of the links: `source`, `target`, `lag`, `value`, `p_value`."""
        return self._frame("polars")

    def to_gml(self) -> str:
        """GML text, readable by networkx, Gephi, Cytoscape and yEd."""
        import networkx as nx

        return "\n".join(nx.generate_gml(self.to_networkx())) + "\n"

    def to_dot(self) -> str:
        """DOT text for Graphviz; every name is quoted, so no name can become markup."""
        lines = ["digraph causes {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
        lines += [f"  {_quote_dot(name)};" for name in self.signals]
        for link, strength in self.links.items():
            label = f"{link.lag}: {strength.value:.2f}"
            width = 0.5 + 3 * min(1.0, abs(strength.value))
            lines.append(
                f"  {_quote_dot(link.source)} -> {_quote_dot(link.target)}"
                f" [label={_quote_dot(label)}, penwidth={width:.2f}];"
            )
        return "\n".join([*lines, "}", ""])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: signals, and links with source, target, lag, value, p_value."""
        return {
            "signals": list(self.signals),
            "links": [
                {
                    "source": link.source,
                    "target": link.target,
                    "lag": link.lag,
                    "value": strength.value,
                    "p_value": strength.p_value,
                }
                for link, strength in self.links.items()
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CausalGraph:
        """The graph that :meth:`to_dict` described."""
        return cls(
            data["signals"],
            {
                Link(row["source"], row["target"], row["lag"]): Strength(
                    row["value"], row["p_value"]
                )
                for row in data["links"]
            },
        )

    def to_json(self) -> str:
        """The text of :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def _frame(self, backend: Literal["pandas", "polars"]) -> Any:
        import narwhals as nw

        links, strengths = self.links.keys(), self.links.values()
        columns = {
            "source": ([link.source for link in links], nw.String()),
            "target": ([link.target for link in links], nw.String()),
            "lag": ([link.lag for link in links], nw.Int64()),
            "value": ([strength.value for strength in strengths], nw.Float64()),
            "p_value": ([strength.p_value for strength in strengths], nw.Float64()),
        }
        series = {
            name: nw.new_series(name, cells, kind, backend=backend)
            for name, (cells, kind) in columns.items()
        }
        return nw.from_dict(series).to_native()

    def _strongest_first(self, name: str, wanted: Callable[[Link], bool]) -> list[Link]:
        self._check(name)
        return sorted(filter(wanted, self.links), key=lambda link: -abs(self[link].value))

    def _check(self, name: str) -> None:
        if name not in self.signals:
            raise UnknownNameError(name, "signal", self.signals)


def _quote_dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
