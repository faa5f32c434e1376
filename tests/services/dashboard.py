"""A watch with its page, on a free port of this machine, whose plant does what the test says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import causewatch as cw
from causewatch.discovery import Knowledge
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Monitor
from causewatch.server import ServeSettings, noticed
from causewatch.server.service import serving
from causewatch.simulate import Fault, random_system
from causewatch.streaming.runner import Watch
from causewatch.streaming.silence import NEVER, Silence
from causewatch.streaming.source import Batch
from causewatch.streaming.store.base import Store
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.testing import MemorySource, until
from causewatch.testing.waiting import PATIENCE

from .ports import free_port

if TYPE_CHECKING:
    import httpx

__all__ = ["START", "Dashboard", "Plant", "a_plant"]

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
NORMAL, TEST = 3000, 600


class Plant:
    """A simulated plant, and what was learnt of it.

    Parameters
    ----------
    names
        Of its signals.
    links
        How many there are between them.
    """

    def __init__(self, names: Sequence[str], links: int | None = None, seed: int = 5) -> None:
        self.names = tuple(names)
        self.system = random_system(len(names), links=links, seed=seed, max_lag=2)
        half = len(self.names) // 2
        knowledge = Knowledge.from_dict(
            {"groups": {"intake": list(self.names[:half]), "outlet": list(self.names[half:])}}
        )
        times = [START + timedelta(seconds=k) for k in range(NORMAL)]
        table = {"time": times} | dict(
            zip(self.names, self.system.simulate(NORMAL, seed=seed + 1).values.T, strict=True)
        )
        import polars as pl

        self.model: NormalModel = cw.learn(pl.DataFrame(table), knowledge=knowledge, every=1.0)

    def rows(self, count: int, seed: int = 90, attacked: int | None = None) -> NDArray[np.float64]:
        """Rows of the plant; with `attacked` this signal is off in the second half of them."""
        faults = []
        if attacked is not None:
            name = self.system.signals[attacked]
            faults = [Fault("bias", name, count // 2, count, size=6.0)]
        return np.asarray(self.system.simulate(count, seed=seed, faults=faults).values)


@cache
def a_plant(signals: int = 6, links: int | None = None) -> Plant:
    """A plant of signals T01, T02, …, made once."""
    return Plant([f"T{k + 1:02}" for k in range(signals)], links)


class Polled(MemorySource):
    """Counts how often it is polled."""

    polls = 0

    def poll(self, wait: float) -> Batch:
        """See `Source`."""
        self.polls += 1
        return super().poll(wait)


class Dashboard:
    """A running watch with its page.

    Parameters
    ----------
    plant
        What is watched.
    folder
        For the model, and for the state if one is kept.
    keep
        Whether the state is kept, so that `restart` goes on with it.
    silent_after
        Seconds without rows that are an alarm; none are by default.
    settings
        Where and to whom it is shown.

    Attributes
    ----------
    url
        Address of the page, without a slash at its end.
    """

    def __init__(
        self,
        plant: Plant,
        folder: Path,
        *,
        keep: bool = False,
        silent_after: float = NEVER,
        settings: ServeSettings | None = None,
    ) -> None:
        self.plant = plant
        self.folder = folder
        self._keep = keep
        self._silent_after = silent_after
        self.settings = settings or ServeSettings(port=free_port())
        self.source = Polled(plant.names, endless=True)
        self._sent = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to watch and to show it."""
        # Beside whatever else the machine does, a process that gives way would take minutes.
        self._stack.enter_context(patch.object(noticed, "NICE", 0))
        model = self.folder / "plant.cwm"
        if not model.exists():
            self.plant.model.save(model)
        store: Store = MemoryStore("watch")
        if self._keep:
            store = SqliteStore(self.folder / "state", "watch")
        self._stack.callback(store.close)
        self._stack.enter_context(store.lock())
        monitor = Monitor(self.plant.model, describe=describe)
        saved = store.load() if self._keep else None
        if saved is not None:
            monitor.restore(saved.monitor)
        self.watch = Watch(
            monitor,
            self.source,
            store,
            keep=self._keep,
            saved=saved,
            silence=Silence(self._silent_after),
        )
        server = self._stack.enter_context(serving(self.watch, model, self.settings))
        # The same place after a restart.
        self.settings = ServeSettings(
            **{name: getattr(self.settings, name) for name in self.settings.__slots__}
            | {"port": server.port}
        )
        self.url = server.address.rstrip("/")
        self._thread = threading.Thread(target=self.watch.run, args=(lambda: None,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it, with everything that belongs to it."""
        self.watch.stop = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the watch does not end"
        self._stack.close()
        self._stack = ExitStack()

    def restart(self) -> None:
        """Stop, and begin again at the same place."""
        self.stop()
        self.start()

    def send(self, rows: NDArray[np.float64]) -> None:
        """Rows of the plant, one for each second; returns when they have been watched.

        What came of them is in the store by then.
        """
        times = [START + timedelta(seconds=self._sent + k) for k in range(len(rows))]
        named = [dict(zip(self.plant.names, row, strict=True)) for row in rows.tolist()]
        self._sent += len(rows)
        wanted = self.watch.counts.rows + len(rows)
        self.source.add(named, times)
        assert until(lambda: self.watch.counts.rows >= wanted)
        # Events are stored before the source is polled again.
        polls = self.source.polls
        assert until(lambda: self.source.polls > polls)

    def client(self) -> httpx.Client:
        """Somebody who asks the page, with patience."""
        import httpx

        return httpx.Client(base_url=self.url, timeout=PATIENCE)

    def raise_alarm(self, attacked: int = 1, rows: int = 120, seed: int = 91) -> str:
        """Let something be wrong with a signal until there is an alarm; gives its id."""
        known = {one["id"] for one in self.watch.store.alarms()}
        self.send(self.plant.rows(rows, seed, attacked))

        def fresh() -> list[str]:
            return [
                one["id"]
                for one in self.watch.store.alarms()
                if one["id"] not in known and one["kind"] == "anomaly"
            ]

        assert until(lambda: bool(fresh()))
        return fresh()[0]
