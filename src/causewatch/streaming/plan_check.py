"""What is wrong with a plan, as far as it can be told before anything is opened."""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from causewatch.errors import SettingError, shorten
from causewatch.streaming.address import parse_address
from causewatch.streaming.open import feeds_back, is_address
from causewatch.streaming.plan import Plan
from causewatch.streaming.scores import check_scores
from causewatch.streaming.store.witness import WITNESS

__all__ = ["check_files", "check_plan_alone", "metrics_place", "outputs"]

LONGEST_NAME = 200
STATE = ("lock", WITNESS, *(f"watch.db{ending}" for ending in ("", "-wal", "-shm", "-journal")))
"""Files in the folder of a state."""


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
    check_files(plan)
    if plan.scores is not None:
        check_scores(plan.scores, resumable=plan.state is not None)
    for path in outputs(plan):
        _check_output(path)


def metrics_place(said: str) -> tuple[str, int]:
    """Where Prometheus may ask: a host, this machine if none is named, and a port."""
    host, _, port = said.rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535 or not host.isascii():
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


def check_files(plan: Plan, read: Iterable[Path] = (), written: Iterable[Path] = ()) -> None:
    """Raise if a file that is written to is also used for something else, or has no place.

    Parameters
    ----------
    plan
        Says which files the watch reads and writes.
    read
        Further files that are read: a configuration, tokens, certificates.
    written
        Further files that are written to: an audit log.
    """
    source = _source_file(plan)
    state = None if plan.state is None or is_address(plan.state) else Path(plan.state)
    read = [plan.model, *([] if source is None else [source]), *read]
    written = [*outputs(plan), *written]
    for path in (*read, *written, state, plan.report):
        if path is not None:
            _check_path(path)
    known = {_identity(path): "is read by this watch" for path in read}
    if state is not None:
        known |= {_identity(state / name): "belongs to the state" for name in STATE}
    folder = _identity(source) if source is not None and os.path.isdir(source) else None
    for path in written:
        mine = _identity(path)
        if _identity(_place(path).parent) == folder:
            known.setdefault(mine, "is in the folder that is read by this watch")
        if mine in known:
            msg = f"{str(path)!r} {known[mine]}; name another file to write to."
            raise SettingError(msg)
        known[mine] = "is written to already"


def _source_file(plan: Plan) -> Path | None:
    """The file or folder that is watched, if it is one."""
    where = plan.source.where
    if not is_address(where):
        return None if where == "-" else Path(where)
    address = parse_address(where, plan.source.options)
    return Path(f"/{address.path}") if address.scheme == "bag" else None


def _check_path(path: Path) -> None:
    """Raise for what can never be the name of a file."""
    if "\0" in str(path):
        msg = f"{shorten(str(path))!r} is no name of a file; it has a sign that none can have."
        raise SettingError(msg)
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            msg = (
                f"{str(path)!r} cannot be reached, because its symbolic links lead in a circle;"
                " mend them, or name something else."
            )
            raise SettingError(msg) from error


def _identity(path: Path) -> Path | tuple[int, int]:
    """The same for every name of a file."""
    try:
        found = path.stat()
    except OSError:  # not there yet
        return _place(path)
    return found.st_dev, found.st_ino


def _place(path: Path) -> Path:
    """Where a file is or will be. Unlike `Path.resolve`, it raises nothing on any Python."""
    return Path(os.path.realpath(path))


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
