"""What the saved state of a watch says about alarms, beyond their history.

A running watch saves its state together with each of its answers, so this is true while one runs,
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from causewatch.data.table import NANOSECONDS
from causewatch.errors import ModelFileError, SettingError

if TYPE_CHECKING:
    from causewatch.data import Clock
    from causewatch.monitor.policy import AlarmPolicy
    from causewatch.monitor.shelves import Shelf
    from causewatch.streaming.store.base import Checkpoint, Store

__all__ = ["SavedAlarms", "read_alarms"]


@dataclass(frozen=True, slots=True)
class SavedAlarms:
    """The alarms in a saved state.

    Attributes
    ----------
    checkpoint
        The state.
    policy
        The alarms, without the model.
    clock
        What times count.
    at
        Time of the last tick, in nanoseconds.
    every
        Seconds of a tick; None where the last ticks do not tell.
    """

    checkpoint: Checkpoint
    policy: AlarmPolicy
    clock: Clock
    at: int
    every: float | None

    @property
    def shelves(self) -> list[Shelf]:
        """What is shelved, the first to expire first; what is over may not be swept out yet."""
        return [shelf for shelf in self.policy.shelves if shelf.until > self.at]


def read_alarms(store: Store) -> SavedAlarms:
    """The alarms in a store; raises one sentence if there are none that could be read."""
    from causewatch.monitor.actions import policy_of
    from causewatch.monitor.state import WRONG_PARTS

    saved = store.load()
    if saved is None:
        msg = f"No watch has begun in {store.name} yet; nothing can be done about its alarms."
        raise SettingError(msg)
    clock: Any = saved.clock
    try:
        policy = policy_of(saved.monitor, saved.settings, clock)
        at = int(saved.monitor["time"] or 0)
        every = None if clock == "rows" else _tick(saved.monitor["recorder"])
    except WRONG_PARTS as error:
        msg = f"The state in {store.name} is damaged; start with an empty --state."
        raise ModelFileError(msg) from error
    return SavedAlarms(saved, policy, clock, at, every)


def _tick(kept: Mapping[str, Any]) -> float | None:
    """Seconds of a tick, which a state does not hold: what lies between most of the last ticks."""
    import numpy as np

    times = np.sort(np.asarray(kept["time"])[: int(kept["count"])])
    lengths, counts = np.unique(np.diff(times), return_counts=True)
    if not len(lengths) or 2 * counts.max() <= counts.sum():
        return None
    return float(lengths[counts.argmax()]) / NANOSECONDS
