"""A model takes the place of another: what a monitor knows goes over to it.

Alarms, what people said about them, the health of signals and the last ticks belong to the plant;
they go over by the names of signals. What the detector remembers belongs to the mechanisms of the
old model and begins anew, as after a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError, listing, plural
from causewatch.monitor.actions import policy_of
from causewatch.monitor.alarms import AlarmEvents
from causewatch.monitor.course import FIELDS
from causewatch.monitor.health import STREAM
from causewatch.monitor.monitor import Monitor
from causewatch.monitor.policy import AlarmPolicy

__all__ = ["Succession", "take_over"]

Array = NDArray[Any]
Move = Callable[[Any, Any], Array]


@dataclass(frozen=True)
class Succession:
    """What became of a state.

    Attributes
    ----------
    events
        Of alarms that end with it, as nobody watches their signals any longer.
    kept, lost
        What was taken over, and what could not be: in sentences.
    """

    events: AlarmEvents
    kept: str
    lost: tuple[str, ...]


def take_over(monitor: Monitor, state: Mapping[str, Any]) -> Succession:
    """Let a monitor that has seen nothing go on from the snapshot of one with another model.

    Raises
    ------
    SettingError
        If the two models have no signal in common, or one counts rows and the other has times.
    """
    old, new = tuple(state["intake"]["columns"]), monitor.model.watched
    clock = state["intake"]["times"]["clock"]
    both = [name for name in old if name in set(new)]
    if not both:
        msg = f"The model has none of the signals that the state is about ({listing(old)})."
        raise SettingError(msg)
    if (clock == "rows") != (monitor.model.clock == "rows"):
        msg = "One of the two models counts rows and the other one has times; begin a new state."
        raise SettingError(msg)
    policy = policy_of(state, asdict(monitor.settings), clock)
    gone = [name for name in old if name not in set(new)]
    lost = [*_of_gone(policy, gone), *_of_old_model(state, old, monitor)]
    at = int(state["time"] or 0)
    events = policy.retire(gone, by="causewatch", at=at)
    fresh, move = monitor.snapshot(), _mover(old, new)
    intake = state["intake"]
    if not monitor.model.succeeds(state["model"]):  # its ticks may be other ones
        intake = _intake_anew(fresh["intake"], intake)
        lost.append("The rows of the tick that was open are left out.")
    recorder = state["recorder"]
    monitor.restore(
        fresh
        | {
            "stream": state["stream"],
            "time": state["time"],
            "since_gap": 0,  # no alarm has ended because the detector begins anew
            "intake": intake,
            "policy": policy.snapshot()
            | {"fingerprint": monitor.model.fingerprint, "signals": [*new, STREAM]},
            "health": _health(fresh["health"], state["health"], move, new),
            "recorder": recorder | {"rows": move(fresh["recorder"]["rows"], recorder["rows"])},
            "lifts": _moved(fresh["lifts"], state["lifts"], move),
            "openings": {
                id: _course(kept, move, len(new)) for id, kept in state["openings"].items()
            },
        }
    )
    return Succession(events, _kept(policy), tuple(lost))


def _mover(old: Sequence[str], new: Sequence[str]) -> Move:
    """Moves arrays whose last axis are columns to other columns, by name."""
    place = {name: k for k, name in enumerate(old)}
    there = [k for k, name in enumerate(new) if name in place]
    here = [place[new[k]] for k in there]

    def move(empty: Any, kept: Any) -> Array:
        moved = np.array(empty)
        moved[..., there] = np.asarray(kept)[..., here]
        return moved

    return move


def _moved(fresh: Mapping[str, Any], kept: Mapping[str, Any], move: Move) -> dict[str, Any]:
    """Every part that both have, moved."""
    return {name: move(fresh[name], kept[name]) if name in kept else fresh[name] for name in fresh}


def _health(
    fresh: Mapping[str, Any], kept: Mapping[str, Any], move: Move, new: Sequence[str]
) -> dict[str, Any]:
    by_column = {name: value for name, value in fresh.items() if isinstance(value, np.ndarray)}
    known = {*new, STREAM}
    return {
        **_moved(by_column, kept, move),
        "quiet": 0,  # looked at again with the next tick
        "unlike": [one for one in kept["unlike"] if one[0] in known],
        "now": [one for one in kept["now"] if one[0] in known],
    }


def _course(kept: Mapping[str, Any], move: Move, columns: int) -> dict[str, Any]:
    """The first ticks of an alarm."""
    empty = np.full((len(kept["time"]), columns), np.nan)
    return {**kept, **{name: move(empty, kept[name]) for name in FIELDS}}


def _intake_anew(fresh: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Where the rows stand, without those that have not become a tick."""
    order = {name: kept["order"][name] for name in ("last", "shift", "put_right")}
    same = {name: kept[name] for name in ("times", "problems", "pace")}
    return {**fresh, **same, "order": {**fresh["order"], **order}}


def _kept(policy: AlarmPolicy) -> str:
    """What was taken over, as a sentence."""
    return (
        f"Taken over: {plural(len(policy.active), 'alarm')} still on, {len(policy.recent):,} that"
        f" ended, what is shelved ({len(policy.shelves):,}) and marked as normal"
        f" ({len(policy.marks):,}), and where the source stands."
    )


def _of_gone(policy: AlarmPolicy, gone: Sequence[str]) -> list[str]:
    """What is lost with signals that the new model does not have."""
    if not gone:
        return []
    names = set(gone)
    sentences = [f"Not in the new model, and watched no longer: {listing(gone)}."]
    ended = [alarm.id for alarm in policy.active if names.issuperset(alarm.signals)]
    if ended:
        sentences.append(f"Alarms about nothing else end: {listing(ended)}.")
    marks = [mark.alarm for mark in policy.marks if names.issuperset(mark.factors)]
    if marks:
        sentences.append(f"Marks as normal that widen nothing else are gone: {listing(marks)}.")
    shelved = sorted({name for one in policy.shelves for name in one.signals} & names)
    if shelved:
        sentences.append(f"Shelved no longer: {listing(shelved)}.")
    return sentences


def _of_old_model(state: Mapping[str, Any], old: Sequence[str], monitor: Monitor) -> list[str]:
    """What people said of signals that only the old model knew."""
    moved = np.asarray(state["detector"].get("shift", ()))
    accepted = [name for name, by in zip(old, moved.tolist(), strict=False) if by]
    there = [name for name in accepted if name in set(monitor.model.watched)]
    if not there:
        return []
    return [
        "Accepted as they were, and held against what the new model has learnt from now on:"
        f" {listing(there)}."
    ]
