"""A saved state goes over to another model."""

from __future__ import annotations

from dataclasses import replace

from causewatch.errors import ModelFileError, shorten
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import AlarmSettings, Monitor
from causewatch.monitor.state import WRONG_PARTS
from causewatch.monitor.succession import Succession, take_over
from causewatch.streaming.store.base import Checkpoint, Store

__all__ = ["adopt", "damaged"]


def adopt(store: Store, saved: Checkpoint, model: NormalModel) -> tuple[Checkpoint, Succession]:
    """Let a model take over what was saved with another one.

    It is kept in one transaction, with the events of alarms that end with it; a kill leaves the old
    state or the new one.

    Parameters
    ----------
    store
        Where, locked by the caller.
    saved
        The state.
    model
        The new model.
    """
    try:
        monitor = Monitor(model, settings=AlarmSettings(**saved.settings), describe=describe)
        done = take_over(monitor, saved.monitor)
    except WRONG_PARTS as error:
        raise damaged(store, error) from error
    new = replace(saved, monitor=monitor.snapshot())
    store.save(new, done.events.to_dicts(monitor.clock))
    return new, done


def damaged(store: Store, error: Exception) -> ModelFileError:
    """What to say of a state of which no sense can be made."""
    return ModelFileError(
        f"The state in {store.name} is damaged and was not used"
        f" ({shorten(repr(error), 80)}); start with an empty --state."
    )
