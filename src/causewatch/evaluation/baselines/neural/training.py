"""The one loop that trains all networks. Needs torch: import this module late.

Everything random follows from the seed and the number of the epoch, so an epoch is the same whether
the training came to it in one go or was taken up again from a checkpoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from causewatch.errors import CausewatchError, NotEnoughDataError
from causewatch.evaluation.baselines.neural.checkpoints import Checkpoint, Progressed
from causewatch.evaluation.baselines.neural.networks import Network
from causewatch.evaluation.baselines.neural.settings import Training
from causewatch.evaluation.verdicts import Progress

__all__ = ["as_single", "cut", "quiet", "train"]

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Network)
TOLD = 20
"""How often progress is told in an epoch, at most."""
JUDGED = 256
"""Held-out windows judged at a time."""


def train(
    name: str,
    build: Callable[[], Kind],
    ticks: Sequence[Floats],
    settings: Training,
    seed: int,
    *,
    progress: Progress,
    folder: Path | None = None,
) -> tuple[Kind, list[float]]:
    """Build a network and train it until it no longer gets better on held-out ticks.

    Parameters
    ----------
    name
        For progress, errors and the name of the checkpoint.
    build
        Makes the network; torch is seeded when it is called.
    ticks
        Ticks × channels, by stretch. No window reaches across two stretches, nor across the cut
        between what is learnt from and what is held out.
    settings, seed
        How.
    progress
        Told the epoch, and the share of the most epochs allowed.
    folder
        Where a checkpoint ``NAME.checkpoint`` is kept and looked for; None: nowhere.

    Returns
    -------
    tuple
        The network with the weights of its best epoch, ready to judge, and the held-out loss
        after every epoch.
    """
    with quiet(settings.threads), _own_random():
        torch.manual_seed(_seed(seed, 0))
        network = build()
        learnt, held = cut(ticks, settings.held_out)
        windows, checks = _Windows(learnt, network.sample), _Windows(held, network.sample)
        if not len(windows) or not len(checks):
            msg = (
                f"{name} learns from windows of {network.sample} ticks, but of"
                f" {sum(map(len, ticks))} ticks to learn from ({settings.held_out:.0%} of them held"
                " out) not one whole window is left; give a longer recording or shorter ticks."
            )
            raise NotEnoughDataError(msg)
        keep = None
        if folder is not None:
            keep = Checkpoint(
                folder / f"{name}.checkpoint",
                {
                    "network": str(network),
                    "settings": str({**asdict(settings), "torch": torch.__version__}),
                    "seed": str(seed),
                    "data": _hash(ticks),
                },
            )
        done = _loop(name, network, windows, checks, settings, seed, progress, keep)
        if not done.best:
            msg = (
                f"Training {name} led to losses that are not finite from the first epoch on; try a"
                f" smaller learning rate than {settings.rate:g}."
            )
            raise CausewatchError(msg)
        _load(network, done.best)
    network.eval()
    return network, done.losses


def cut(ticks: Sequence[Floats], share: float) -> tuple[list[Floats], list[Floats]]:
    """The stretches before the last `share` of all ticks, and those in it."""
    total = sum(map(len, ticks))
    left = total - round(share * total)
    before, after = [], []
    for part in ticks:
        here = min(max(left, 0), len(part))
        before.append(part[:here])
        after.append(part[here:])
        left -= len(part)
    return [part for part in before if len(part)], [part for part in after if len(part)]


def as_single(ticks: Floats) -> Tensor:
    """An array as networks are trained on it."""
    return torch.from_numpy(np.ascontiguousarray(ticks, dtype=np.float32))


@contextmanager
def quiet(threads: int) -> Iterator[None]:
    """Few threads and no algorithm that depends on chance; afterwards all is as it was."""
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])


class _Windows:
    """All windows of some length inside stretches; cut out only when they are asked for."""

    def __init__(self, ticks: Sequence[Floats], length: int) -> None:
        parts = [part for part in ticks if len(part) >= length]
        lengths = [len(part) for part in parts]
        offsets = np.cumsum([0, *lengths])[:-1].tolist()
        starts = [
            np.arange(offset, offset + size - length + 1)
            for offset, size in zip(offsets, lengths, strict=True)
        ]
        self._starts = torch.from_numpy(np.concatenate([np.empty(0, dtype=np.int64), *starts]))
        self._rows = as_single(np.concatenate(parts)) if parts else torch.empty(0)
        self._within = torch.arange(length)

    def __len__(self) -> int:
        return len(self._starts)

    def at(self, chosen: Tensor) -> Tensor:
        """Windows × ticks × channels."""
        return self._rows[self._starts[chosen][:, None] + self._within]


def _loop(
    name: str,
    network: Network,
    windows: _Windows,
    checks: _Windows,
    settings: Training,
    seed: int,
    progress: Progress,
    keep: Checkpoint | None,
) -> Progressed:
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.rate)
    done = (keep.read() if keep is not None else None) or Progressed()
    if done.losses:
        _load(network, done.weights)
        _load_moments(optimiser, done.moments)
    while not _finished(done.losses, settings):
        epoch = len(done.losses)
        progress(f"training, epoch {epoch + 1}", epoch / settings.epochs)
        _epoch(name, network, optimiser, windows, settings, seed, epoch, progress)
        loss = _held_out_loss(network, checks)
        if not np.isfinite(loss):
            break  # whatever follows is not finite either; the best epoch so far stands
        done.losses.append(loss)
        done.weights = _arrays(network.state_dict())
        if done.losses.index(min(done.losses)) == epoch:
            done.best = done.weights
        if keep is not None:
            done.moments = _moments(optimiser)
            keep.write(done)
    return done


def _finished(losses: Sequence[float], settings: Training) -> bool:
    """Whether all epochs are done, or the last ones brought nothing."""
    if not losses:
        return False
    since_best = len(losses) - 1 - losses.index(min(losses))
    return len(losses) >= settings.epochs or since_best >= settings.patience


def _epoch(
    name: str,
    network: Network,
    optimiser: torch.optim.Optimizer,
    windows: _Windows,
    settings: Training,
    seed: int,
    epoch: int,
    progress: Progress,
) -> None:
    network.train()
    torch.manual_seed(_seed(seed, 1 + epoch))  # for dropout, which takes no generator
    order = torch.randperm(
        len(windows), generator=torch.Generator().manual_seed(_seed(seed, 1 + epoch))
    )
    batches = torch.split(order[: settings.samples], settings.batch)
    every = -(-len(batches) // TOLD)
    for number, chosen in enumerate(batches):
        if number and number % every == 0:
            share = (epoch + number / len(batches)) / settings.epochs
            progress(f"training, epoch {epoch + 1}", share)
        optimiser.zero_grad()
        network.loss(windows.at(chosen)).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _held_out_loss(network: Network, checks: _Windows) -> float:
    """Mean loss over held-out windows that cover all of them without much overlap."""
    network.eval()
    chosen = torch.arange(0, len(checks), max(1, network.sample // 2))
    with torch.inference_mode():
        parts = [(float(network.loss(checks.at(p))), len(p)) for p in torch.split(chosen, JUDGED)]
    return sum(loss * size for loss, size in parts) / len(chosen)


def _seed(seed: int, number: int) -> int:
    """A seed of its own for every epoch; neighbouring ones have nothing in common."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def _own_random() -> Iterator[None]:
    """Leaves torch's own random numbers as they were."""
    with torch.random.fork_rng(devices=[]):
        yield


def _hash(ticks: Sequence[Floats]) -> str:
    digest = hashlib.sha256()
    for part in ticks:
        digest.update(str(part.shape).encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _arrays(state: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Copies: training goes on with the originals."""
    return {name: value.detach().numpy().copy() for name, value in state.items()}


def _load(network: Network, arrays: dict[str, NDArray[Any]]) -> None:
    network.load_state_dict({name: torch.from_numpy(a.copy()) for name, a in arrays.items()})


def _moments(optimiser: torch.optim.Optimizer) -> dict[str, NDArray[Any]]:
    state = optimiser.state_dict()["state"]
    return {
        f"{parameter}/{name}": value.numpy().copy()
        for parameter, values in state.items()
        for name, value in values.items()
    }


def _load_moments(optimiser: torch.optim.Optimizer, arrays: dict[str, NDArray[Any]]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for place, array in arrays.items():
        parameter, _, name = place.partition("/")
        state.setdefault(int(parameter), {})[name] = torch.from_numpy(array.copy())
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
