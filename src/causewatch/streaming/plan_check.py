"""What is wrong with a plan, as far as it can be told before anything is opened."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import parse_address
from causewatch.streaming.open import feeds_back, is_address
from causewatch.streaming.plan import Plan
from causewatch.streaming.scores import check_scores

__all__ = ["check_plan_alone", "metrics_place", "outputs"]

LONGEST_NAME = 200


def check_plan_alone(plan: Plan) -> None:
    """Raise for what can be told from the plan alone, and from which files there are."""
    _check_name(plan.name)
    if plan.state is not None and not plan.state.strip():
        msg = "--state is empty; name a folder, or an address that begins with postgresql://."
        raise SettingError(msg)
    if plan.metrics is not None:
        metrics_place(plan.metrics)
    _check_speed(plan)
    for one in plan.sinks:
        if feeds_back(plan.source, one):
            msg = (
                f"Alarms would go to {parse_address(one.where, one.options).name}, which is what is"
                " watched; send them elsewhere."
            )
            raise SettingError(msg)
    _check_outputs(plan)


def metrics_place(said: str) -> tuple[str, int]:
    """Where Prometheus may ask: a host and a port."""
    host, _, port = said.rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535 or not host.isascii():
        msg = (
            f"{shorten(said)!r} is no place for metrics; give HOST:PORT, for example"
            " 127.0.0.1:9464."
        )
        raise SettingError(msg)
    return host.strip("[]") or "127.0.0.1", int(port)


def outputs(plan: Plan) -> Iterator[Path]:
    """Files that the watch writes to, beside its state."""
    if plan.alarms is not None:
        yield plan.alarms
    if plan.scores is not None:
        yield plan.scores
    for one in plan.sinks:
        if not is_address(one.where):
            yield Path(one.where)


def _check_name(name: str) -> None:
    if len(name) > LONGEST_NAME or not all(sign.isprintable() for sign in name):
        msg = (
            f"The watch is called {shorten(name)!r}; give it a name of at most {LONGEST_NAME} signs"
            " that can be printed."
        )
        raise SettingError(msg)


def _check_speed(plan: Plan) -> None:
    if not math.isfinite(plan.speed) or plan.speed < 0:
        msg = f"--speed is {plan.speed:g}; give a number, or leave it out for as fast as possible."
        raise SettingError(msg)
    if plan.speed > 0 and (plan.state is not None or plan.follow):
        other = "--state" if plan.state is not None else "--follow"
        msg = f"--speed plays a recording for looking at; it cannot be had with {other}."
        raise SettingError(msg)
    if plan.speed > 0 and (is_address(plan.source.where) or plan.source.where == "-"):
        msg = "--speed is for recordings; what happens now has its own pace."
        raise SettingError(msg)


def _check_outputs(plan: Plan) -> None:
    """Raise if a file cannot be written to, or must not be."""
    for said in (plan.model, plan.source.where, plan.state, plan.report, *outputs(plan)):
        if said is not None and "\0" in str(said):
            msg = f"{shorten(str(said))!r} is no name of a file; it has a sign that none can have."
            raise SettingError(msg)
    if plan.scores is not None:
        check_scores(plan.scores, resumable=plan.state is not None)
    known = {_identity(plan.model): "is read by this watch"}
    if not is_address(plan.source.where) and plan.source.where != "-":
        known[_identity(Path(plan.source.where))] = "is read by this watch"
    state = None if plan.state is None or is_address(plan.state) else Path(plan.state).resolve()
    for path in outputs(plan):
        _check_output(path)
        place, mine = path.resolve(), _identity(path)
        if place.parent == state and (place.name == "lock" or place.name.startswith("watch.db")):
            known[mine] = "belongs to the state"
        if mine in known:
            msg = f"{str(path)!r} {known[mine]}; name another file to write to."
            raise SettingError(msg)
        known[mine] = "is written to already"


def _identity(path: Path) -> Path | tuple[int, int]:
    """The same for every name of a file."""
    try:
        found = path.stat()
    except OSError:  # not there yet
        return path.resolve()
    return found.st_dev, found.st_ino


def _check_output(path: Path) -> None:
    if ":/" in str(path):  # paths lose the second slash
        msg = "Files are written here, not addresses; alarms go to an address with --sink."
        raise SettingError(msg)
    if path.is_dir():
        msg = f"{str(path)!r} is a folder; name a file to write to."
        raise SettingError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"There is no folder {str(path.parent)!r} to write {path.name!r} to."
        raise SettingError(msg)
