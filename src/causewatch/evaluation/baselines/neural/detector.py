"""What the neural detectors share: what a network gets to see, and how its errors become scores.

The same for all three, and our choice throughout:

- what a network reads is clipped at ± `CLIP` standard deviations, so that one gross fault does not
  spoil what it says of all the other signals; errors are taken against what was really measured;
- errors are divided by their root mean square on the held-out ticks, signal by signal: a signal
  that is hard to foretell counts no more than one that is easy. Below `FLOOR` standard deviations
  nothing is finer than that: else a signal that never moved would decide everything;
- contribution of a signal: its squared error in that unit. Score of a tick: their mean.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.neural.settings import Training
from causewatch.evaluation.baselines.scored import Judgement, Scored
from causewatch.evaluation.verdicts import Progress
from causewatch.extras import needed
from causewatch.monitor import AlarmSettings

__all__ = ["CLIP", "FLOOR", "Neural"]

Floats = NDArray[np.float64]
CLIP = 10.0
FLOOR = 0.01


class Neural(Scored):
    """A detector that is a network's error.

    A subclass gives ``_train``, which sets `reach` and returns the held-out loss after every
    epoch, and ``_errors``.

    Parameters
    ----------
    training
        How the network is trained.
    checkpoint
        Folder for a checkpoint after every epoch, from which an interrupted training goes on;
        None: none is kept.
    settings
        When alarms come and go.

    Attributes
    ----------
    losses
        Mean squared error on the held-out ticks after every epoch.
    """

    def __init__(
        self,
        *,
        training: Training | None = None,
        checkpoint: Path | None = None,
        settings: AlarmSettings | None = None,
    ) -> None:
        super().__init__(settings=settings)
        self._training = training or Training()
        self._checkpoint = checkpoint
        self.losses: tuple[float, ...] = ()

    @abstractmethod
    def _train(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> list[float]:
        """Train the network; see the class."""

    @abstractmethod
    def _errors(self, ticks: Floats) -> Floats:
        """Squared errors of ``ticks[reach:]`` by signal, from those ticks and earlier ones."""

    def _learn(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> None:
        needed("torch", "baselines")
        from causewatch.evaluation.baselines.neural.training import cut

        self.losses = tuple(self._train(ticks, seed, progress))
        _, held = cut(ticks, self._training.held_out)
        errors = np.concatenate([self._quiet_errors(part) for part in held])
        if not len(errors):
            msg = (
                f"{self.name} looks back {self.reach} ticks, and none of the {len(held)} stretches"
                " held out while learning is longer; give a longer recording or shorter ticks."
            )
            raise NotEnoughDataError(msg)
        self._unit = np.maximum(errors.mean(axis=0), FLOOR**2)

    def _judge(self, ticks: Floats) -> Judgement:
        contributions = np.full(ticks.shape, np.nan)
        contributions[self.reach :] = self._quiet_errors(ticks) / self._unit
        return contributions.mean(axis=1), contributions

    def _quiet_errors(self, ticks: Floats) -> Floats:
        """Errors, computed without disturbing how others use torch."""
        import torch

        from causewatch.evaluation.baselines.neural.training import quiet

        if len(ticks) <= self.reach:
            return np.empty((0, ticks.shape[1]))
        with quiet(self._training.threads), torch.inference_mode():
            return self._errors(ticks)
