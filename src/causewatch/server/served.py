"""`Served`: everything that answers rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from causewatch.model import NormalModel
from causewatch.server.access.audit import Audit
from causewatch.server.album import Album
from causewatch.server.feed import Feed
from causewatch.server.hub import Hub
from causewatch.server.noticed import Noticed
from causewatch.server.replays.replays import Replays
from causewatch.streaming.store.base import Store

__all__ = ["Served"]


@dataclass(frozen=True, eq=False)
class Served:
    """A watch, as its web server sees it.

    Attributes
    ----------
    boot
        Names this run of the server.
    watch, source
        Names of the watch and of what it watches.
    model, file, plant
        What is normal, the name of its file, and its signals and links as plain data.
    settings
        How alarms come and go.
    feed, hub, album
        What the watch tells, who is told, and alarms with their ticks.
    store
        The history, and where requests to the watch are left.
    audit
        Notes what operators do.
    replays
        What-if replays.
    noticed
        What the model would notice.
    """

    boot: str
    watch: str
    source: str
    model: NormalModel
    file: str
    plant: dict[str, Any]
    settings: dict[str, Any]
    feed: Feed
    hub: Hub
    album: Album
    store: Store
    audit: Audit
    replays: Replays
    noticed: Noticed

    @property
    def index(self) -> dict[str, int]:
        """Column of each signal."""
        return {one["name"]: k for k, one in enumerate(self.plant["signals"])}
