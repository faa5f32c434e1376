"""The state folder: everything a stopped watch needs to go on as if it had never stopped.

In it: ``state.zip`` (the monitor, and where its source stands), ``alarms.jsonl`` (every event of
every alarm, one JSON line each), ``inbox`` (what people want done while a watch is running) and
``lock`` (held by whoever writes). Files are replaced whole or only added to. Lines of the history
that are newer than the state are taken back when a watch goes on, because it will find the same
events again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.archive import read_archive, write_archive
from causewatch.errors import ModelFileError, SettingError, shorten
from causewatch.files import write_atomically

__all__ = ["LOCKED", "WRONG_PARTS", "SavedState", "StateFolder", "cut_back", "pack", "unpack"]

VERSION = 1
ARRAY, NUMBER = "array:", "number:"
"""How text begins in packed JSON that stands for an array, or for a number JSON has no word for."""
TEXT = "text:"
"""How text begins that would otherwise be mistaken for one of these."""
LOCKED = "is in use by a running watch"
EVENT: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("id", "event", "time", "kind", "raised_at", "headline"), str),
    **dict.fromkeys(("cleared_at", "acknowledged_by", "shelved_until"), (str, type(None))),
    "peak_score": (int, float, type(None)),
    **dict.fromkeys(("abstained", "normal"), bool),
}
PARTS: Mapping[str, tuple[str, ...]] = {
    "causes": ("signal", "confidence"),
    "broken_links": ("source", "target", "lag", "observed", "normal"),
    "comments": ("by", "time", "text"),
}
"""What a line of the history must hold, and what each member of its lists."""
WRONG_PARTS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What making sense of data that lacks a part can raise."""


@dataclass
class SavedState:
    """What is kept between two runs.

    Attributes
    ----------
    monitor
        A snapshot of the monitor.
    clock
        What the times of the stream count.
    settings
        How alarms come and go.
    source
        Which source was read, and how far.
    history
        Length of the history, in bytes, that belongs to this state.
    outputs
        The same for further files that the watch writes, by their path.
    """

    monitor: dict[str, Any]
    clock: str
    settings: dict[str, Any]
    source: dict[str, Any] = field(default_factory=dict)
    history: int = 0
    outputs: dict[str, int] = field(default_factory=dict)

    @property
    def from_file(self) -> bool:
        """Whether the source is a file, so that rows after this state can be read again."""
        return "bytes" in self.source or "first" in self.source


class StateFolder:
    """One folder with the state of one watch.

    Parameters
    ----------
    path
        The folder; `lock` makes it if it is not there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.history = self.path / "alarms.jsonl"
        self.inbox = self.path / "inbox"
        self._state = self.path / "state.zip"

    @property
    def exists(self) -> bool:
        """Whether a state has been saved here."""
        return self._state.is_file()

    def check(self) -> None:
        """Raise unless this is a state folder."""
        if not self.exists:
            msg = (
                f"{str(self.path)!r} holds no state of a watch; name the folder given to"
                " 'causewatch watch --state'."
            )
            raise SettingError(msg)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only one who writes; raises `SettingError` if somebody else does.

        The system itself ends the lock with the process, however that ends.
        """
        if self.path.exists() and not self.path.is_dir():
            msg = f"{str(self.path)!r} is a file; name a folder for the state."
            raise SettingError(msg)
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("a+b") as file:
            if not _try_lock(file.fileno()):
                file.seek(0)
                holder = file.read(20).decode("ascii", "replace").strip() or "unknown"
                msg = (
                    f"{str(self.path)!r} {LOCKED} (process {shorten(holder)}); stop that first, or"
                    " name another folder."
                )
                raise SettingError(msg)
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
            yield

    def save(self, state: SavedState) -> None:
        """Write the state; it is there whole or not at all."""
        arrays: dict[str, NDArray[Any]] = {}
        content = {
            "monitor": pack(state.monitor, arrays),
            "clock": state.clock,
            "settings": state.settings,
            "source": state.source,
            "history": state.history,
            "outputs": state.outputs,
        }
        write_archive(self._state, "state", VERSION, content, arrays, compress=False)

    def load(self) -> SavedState:
        """The state that was saved last."""
        content, arrays = read_archive(self._state, "state", VERSION)
        try:
            return SavedState(
                monitor=unpack(content["monitor"], arrays),
                clock=str(content["clock"]),
                settings=dict(content["settings"]),
                source=_source(content["source"]),
                history=int(content["history"]),
                outputs={str(name): int(size) for name, size in content["outputs"].items()},
            )
        except WRONG_PARTS as error:
            raise self._damaged(error) from error

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Turn whatever a missing or foreign part of the state leads to into one sentence."""
        try:
            yield
        except WRONG_PARTS as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ModelFileError:
        return ModelFileError(
            f"{str(self._state)!r} is damaged and was not used ({shorten(repr(error), 80)}); start"
            " with an empty --state folder."
        )

    def events(self) -> Iterator[dict[str, Any]]:
        """Every event in the history, oldest first; lines that hold no event are left out."""
        if not self.history.is_file():
            return
        with self.history.open("rb") as file:
            for line in file:
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if _is_event(event):
                    yield event

    def post(self, name: str, action: Mapping[str, Any]) -> Path:
        """Ask a running watch for `action`; it removes the file and leaves an answer."""
        self.inbox.mkdir(exist_ok=True)
        path = self.inbox / f"{name}.json"
        write_atomically(path, json.dumps(action))
        return path

    def posted(self) -> list[Path]:
        """What was asked for and not yet done, oldest first."""
        try:
            names = [entry.path for entry in os.scandir(self.inbox) if entry.name[-5:] == ".json"]
        except OSError:  # there is none, or something else has its name
            return []
        # Names begin with the time at which they were written. Files in the making begin with a dot
        # and end otherwise.
        return [Path(name) for name in sorted(names)]


def cut_back(path: Path, size: int) -> None:
    """Take back what a file holds after its first `size` bytes, and end its last line.

    A shorter file stays as it is: nothing is made up for what somebody else has taken away.
    """
    with path.open("r+b") as file:
        there = file.seek(0, os.SEEK_END)
        if there > size >= 0:
            there = file.truncate(size)
        if there:
            file.seek(there - 1)
            if file.read(1) != b"\n":
                file.write(b"\n")


def pack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """`value` as JSON that `unpack` turns back into the very same; arrays go into `arrays`."""
    if isinstance(value, Mapping):
        return {str(key): pack(one, arrays) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(one, arrays) for one in value]
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value
        return ARRAY + name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return NUMBER + repr(value)
    if isinstance(value, str) and value.startswith((ARRAY, NUMBER, TEXT)):
        return TEXT + value
    return value


def unpack(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """What was packed; tuples have become lists."""
    if isinstance(value, dict):
        return {key: unpack(one, arrays) for key, one in value.items()}
    if isinstance(value, list):
        return [unpack(one, arrays) for one in value]
    if isinstance(value, str):
        if value.startswith(ARRAY):
            return arrays[value.removeprefix(ARRAY)]
        if value.startswith(NUMBER):
            return float(value.removeprefix(NUMBER))
        return value.removeprefix(TEXT)
    return value


def _source(found: Mapping[str, Any]) -> dict[str, Any]:
    """Where the source stands, with numbers where numbers belong."""
    counts = {name: int(found[name]) for name in ("rows", "bytes") if name in found}
    return dict(found) | counts


def _is_event(event: Any) -> bool:
    """Whether a line of the history is one that a watch writes."""
    if not isinstance(event, dict):
        return False
    if not all(name in event and isinstance(event[name], kind) for name, kind in EVENT.items()):
        return False
    return all(
        isinstance(event.get(name), list)
        and all(isinstance(one, dict) and all(key in one for key in keys) for one in event[name])
        for name, keys in PARTS.items()
    )


def _try_lock(file: int) -> bool:
    """Lock an open file for this process alone, if nobody has done so."""
    try:
        try:
            import fcntl
        except ImportError:  # not a system of the Unix family
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
