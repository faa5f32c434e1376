"""A training that was interrupted goes on where its last whole epoch ended.

A checkpoint is an archive of JSON and arrays (see `causewatch.archive`): nothing in it is executed.
It is replaced as a whole after every epoch. It stays after the training, and then stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from causewatch.archive import read_archive, write_archive
from causewatch.errors import ModelFileError, SettingError

__all__ = ["Checkpoint", "Progressed"]

KIND = "training checkpoint"
VERSION = 1
Arrays = dict[str, NDArray[Any]]


@dataclass
class Progressed:
    """How far a training has come.

    Attributes
    ----------
    losses
        Loss on the held-out ticks after every epoch.
    weights, best
        Of the network after the last epoch, and after the best one.
    moments
        What the optimiser remembers.
    """

    losses: list[float] = field(default_factory=list)
    weights: Arrays = field(default_factory=dict)
    best: Arrays = field(default_factory=dict)
    moments: Arrays = field(default_factory=dict)


class Checkpoint:
    """Where a training is kept.

    Parameters
    ----------
    path
        The file; its folder is made when it is first written.
    origin
        What the training follows from, as words: network, settings, seed, data. A checkpoint that
        follows from something else is refused.
    """

    def __init__(self, path: Path, origin: Mapping[str, str]) -> None:
        self._path, self._origin = path, dict(origin)

    def read(self) -> Progressed | None:
        """How far the training had come; None if nothing was kept."""
        if self._path.parent.exists() and not self._path.parent.is_dir():
            msg = f"{str(self._path.parent)!r} is not a folder; name one to keep the training in."
            raise SettingError(msg)
        if not self._path.exists():
            return None
        content, arrays = read_archive(self._path, KIND, VERSION)
        try:
            origin = dict(content["origin"])
            losses = [float(one) for one in content["losses"]]
        except (KeyError, TypeError, ValueError) as error:
            msg = f"The checkpoint {self._path.name!r} is damaged; remove it to start anew."
            raise ModelFileError(msg) from error
        differs = [name for name, value in self._origin.items() if origin.get(name) != value]
        if differs:
            msg = (
                f"The checkpoint {self._path.name!r} belongs to a training with other"
                f" {' and '.join(differs)}; remove it or name another folder."
            )
            raise SettingError(msg)
        groups: dict[str, Arrays] = {"weights": {}, "best": {}, "moments": {}}
        for name, array in arrays.items():
            group, _, rest = name.partition("/")
            groups.setdefault(group, {})[rest] = array
        return Progressed(losses, groups["weights"], groups["best"], groups["moments"])

    def write(self, progressed: Progressed) -> None:
        """Replace what was kept; until that has succeeded, the last checkpoint stays."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        groups = {
            "weights": progressed.weights,
            "best": progressed.best,
            "moments": progressed.moments,
        }
        arrays = {
            f"{group}/{name}": np.asarray(array)
            for group, members in groups.items()
            for name, array in members.items()
        }
        content = {"origin": self._origin, "losses": progressed.losses}
        # Stored as it is: it is written often, and weights hardly get smaller.
        write_archive(self._path, KIND, VERSION, content, arrays, compress=False)
