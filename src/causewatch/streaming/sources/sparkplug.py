"""`SparkplugNodes`: what the messages of Sparkplug B nodes mean.

A node says in its birth what its metrics are, and may then send their aliases alone; in its death,
or a device's, that they have no values any more. Its messages are numbered from 0 to 255, round and
round. After a gap one of the lost messages may have been a birth that gives an alias to something
else: so from then on aliases are not believed until the node, which is asked for it, is born again.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from causewatch.errors import shorten
from causewatch.streaming.payloads import BadPayloadError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.sparkplug_payload import (
    GOOD,
    Metric,
    Payload,
    decode_payload,
    encode_rebirth,
)
from causewatch.streaming.tags import Tag

__all__ = ["Reading", "SparkplugNodes"]

log = logging.getLogger(__name__)

Reading = tuple[str, float, int]
"""A signal, its value (NaN: missing) and its time in nanoseconds since 1970."""

SPACE = "spBv1.0"
BIRTHS, DATA, DEATHS = ("NBIRTH", "DBIRTH"), ("NDATA", "DDATA"), ("NDEATH", "DDEATH")
OF_OTHERS = ("NCMD", "DCMD", "STATE")
"""Messages to nodes, or about those who listen to them."""
MILLISECOND = 1_000_000
ASK_EVERY = 10 * 1_000 * MILLISECOND
"""Nanoseconds before a node is asked again to be born again."""
MOST_NODES = 10_000
OWN = "Node Control/", "Device Control/", "Node Properties/", "Node Info/"
"""Metrics about the node itself."""
DEATH_NUMBER = "bdSeq"


@dataclass(slots=True)
class _Known:
    """A metric that the watch wants."""

    device: str  # empty: of the node itself
    own: str  # its own name
    datatype: int | None
    tag: Tag


@dataclass(slots=True)
class _Node:
    sure: bool = False  # whether its aliases can be believed
    seq: int | None = None
    death: int | None = None  # number of its last birth, which its death has, too
    latest: int | None = None  # ns since 1970
    asked: int | None = None  # when it was asked to be born again; ns since 1970
    aliases: dict[int, str] = field(default_factory=dict)  # to full names
    metrics: dict[str, _Known] = field(default_factory=dict)  # by full name


class SparkplugNodes:
    """See the module.

    Parameters
    ----------
    wanted
        What the watch wants. A metric is a signal if its full name (group/node/device/metric) or
        its own name is a tag of the map or a signal of the model.
    ask
        Whether nodes may be asked to be born again.
    """

    def __init__(self, wanted: Wanted, *, ask: bool = True) -> None:
        self._wanted = wanted
        self._columns = frozenset(wanted.columns)
        self._mapped = frozenset(tag.signal for tag in wanted.tags)
        self._ask = ask
        self._nodes: dict[str, _Node] = {}
        self._owners: dict[str, str] = {}  # full names of metrics known by their own, by signal
        self._requests: dict[str, int] = {}  # nodes to ask, and when that came up
        self.problems: Counter[str] = Counter()

    def take(self, topic: str, data: bytes, received: int) -> tuple[list[Reading], int | None]:
        """Readings of a message, and the time of its node; raises `BadPayloadError`."""
        parts = topic.split("/")
        if parts[0] != SPACE or len(parts) < 3:
            raise BadPayloadError("not_sparkplug")  # noqa: EM101
        kind = "STATE" if parts[1] == "STATE" else parts[2]
        if kind in OF_OTHERS:
            return [], None
        if kind not in BIRTHS + DATA + DEATHS or len(parts) != (4 if kind[0] == "N" else 5):
            raise BadPayloadError("not_sparkplug")  # noqa: EM101
        payload = decode_payload(data)
        name = f"{parts[1]}/{parts[3]}"
        node = self._nodes.get(name)
        if node is None:
            if len(self._nodes) >= MOST_NODES:
                self.problems["too_many_nodes"] += 1
                return [], None
            node = self._nodes[name] = _Node()
        device = "".join(parts[4:])
        if kind == "NDEATH":
            return self._node_death(node, payload, received), None
        if kind == "NBIRTH":
            node.sure, node.seq, node.asked = True, payload.seq, None
            node.death = _death_number(payload)
            self._requests.pop(name, None)
        else:
            self._count(node, payload)
        time = received if payload.timestamp is None else payload.timestamp * MILLISECOND
        node.latest = time
        found: list[Reading] = []
        if kind not in DATA:
            # Whoever is born or dies has none of its earlier metrics; a node, those of its devices.
            found += self._forget(node, device or None, time)
        if kind not in DEATHS:
            found += self._readings(node, name, device, payload, time, kind in BIRTHS)
        if not node.sure and (node.asked is None or received - node.asked >= ASK_EVERY):
            node.asked = self._requests[name] = received
        return found, time

    def requests(self) -> list[tuple[str, bytes]]:
        """Topics and payloads to publish: nodes that must be born again."""
        found = []
        if self._requests and self._ask:
            for name, when in self._requests.items():
                group, _, node = name.partition("/")
                found.append((f"{SPACE}/{group}/NCMD/{node}", encode_rebirth(when // MILLISECOND)))
        self._requests.clear()
        return found

    def _count(self, node: _Node, payload: Payload) -> None:
        """Notice messages that are not there."""
        if payload.seq is None or payload.seq > 255:
            self.problems["bad_sequence"] += 1
            return
        if node.seq is not None and node.sure:
            lost = (payload.seq - node.seq - 1) % 256
            if lost:
                self.problems["lost_messages"] += lost
                node.sure = False
        node.seq = payload.seq

    def _readings(
        self, node: _Node, name: str, device: str, payload: Payload, time: int, birth: bool
    ) -> Iterator[Reading]:
        for metric in payload.metrics:
            known = self._known(node, name, device, metric, birth)
            if known is None:
                continue
            value = metric.number(known.datatype)
            if value is None or math.isinf(value):
                self.problems["bad_values"] += 1
                value = math.nan
            elif metric.quality != GOOD:
                self.problems["bad_status"] += 1
                value = math.nan
            # A birth says what the values are now, whenever they may have changed.
            own = not birth and metric.timestamp is not None
            when = (metric.timestamp or 0) * MILLISECOND if own else time
            yield known.tag.signal, known.tag.convert(value), when

    def _known(
        self, node: _Node, name: str, device: str, metric: Metric, birth: bool
    ) -> _Known | None:
        """The metric, if the watch wants it."""
        if metric.name:
            if metric.name == DEATH_NUMBER or metric.name.startswith(OWN):
                return None
            full = "/".join(part for part in (name, device, metric.name) if part)
        elif metric.alias is not None and node.sure:
            full = node.aliases.get(metric.alias, "")
        else:
            self.problems["unknown_aliases"] += 1
            return None
        known = node.metrics.get(full)
        if known is None and metric.name:
            tag = self._tag(full, metric.name)
            if tag is not None:
                known = _Known(device, metric.name, metric.datatype, tag)
                node.metrics[full] = known
        if known is None:
            self.problems["unknown_tags"] += 1
        elif birth and metric.alias is not None:
            node.aliases[metric.alias] = full
        return known

    def _tag(self, full: str, own: str) -> Tag | None:
        tags = self._wanted.tags
        if tags and (tag := tags.get(full)) is not None:
            return tag
        if full in self._columns and full not in self._mapped:
            return Tag(full, full)
        found = tags.get(own) if tags else None
        if found is None and own in self._columns and own not in self._mapped:
            found = Tag(own, own)
        if found is None:
            return None
        owner = self._owners.setdefault(found.signal, full)
        if owner != full:
            self.problems["ambiguous_tags"] += 1
            if self.problems["ambiguous_tags"] == 1:
                log.warning(
                    "Both %s and %s are called like the signal %s; the first is taken, so name the"
                    " right one in a tag map.",
                    shorten(owner),
                    shorten(full),
                    shorten(found.signal),
                )
            return None
        return found

    def _node_death(self, node: _Node, payload: Payload, received: int) -> list[Reading]:
        """The node is gone, and its values with it.

        A death is deposited with the broker before it happens, so its own time says nothing: the
        values end with the last message of the node.
        """
        number = _death_number(payload)
        if number is not None and node.death is not None and number != node.death:
            return []  # of an earlier life
        node.sure, node.seq = False, None
        return self._forget(node, None, received if node.latest is None else node.latest)

    def _forget(self, node: _Node, device: str | None, time: int) -> list[Reading]:
        """Metrics of a device, or all of a node, have no values any more."""
        gone = [full for full, known in node.metrics.items() if device in (None, known.device)]
        found = [(node.metrics.pop(full).tag.signal, math.nan, time) for full in gone]
        node.aliases = {alias: full for alias, full in node.aliases.items() if full in node.metrics}
        return found

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on, as plain JSON."""
        return {
            "owners": dict(self._owners),
            "nodes": {
                name: {
                    "sure": node.sure,
                    "seq": node.seq,
                    "death": node.death,
                    "latest": node.latest,
                    "aliases": [[alias, full] for alias, full in node.aliases.items()],
                    "metrics": {
                        full: [known.device, known.own, known.datatype]
                        for full, known in node.metrics.items()
                    },
                }
                for name, node in self._nodes.items()
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._owners = dict(state["owners"])
        self._nodes = {}
        for name, said in state["nodes"].items():
            node = self._nodes[name] = _Node(
                said["sure"], said["seq"], said["death"], said["latest"]
            )
            for full, (device, own, datatype) in said["metrics"].items():
                tag = self._tag(full, own)
                if tag is not None:  # the tag map may have changed
                    node.metrics[full] = _Known(device, own, datatype, tag)
            node.aliases = {alias: full for alias, full in said["aliases"] if full in node.metrics}


def _death_number(payload: Payload) -> int | None:
    """The number that a birth shares with its death."""
    for metric in payload.metrics:
        if metric.name == DEATH_NUMBER and isinstance(metric.raw, int):
            return metric.raw
    return None
