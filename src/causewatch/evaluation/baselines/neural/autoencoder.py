"""A convolutional autoencoder over signals and their derivatives: `Tce`.

Published: each signal is seen as a 2-D image with its first and second derivative; layers of
32-16-8-16-32-3 channels for SWaT (51 signals) and 100-50-30-10-30-50-100-3 for the robot (255
signals); kernel 6.

Our reading and choice, as no more is said of it: an image has 16 ticks × all signals, in the order
of the recording, and three planes, to which the last layer's 3 channels belong: value, first and
second difference per tick, each divided by its own root mean square. Kernels are 6 × 6. The first
half of the layers halves both sides, the second half doubles them (an even kernel is made for
that); without it, the narrowest layer would hold more numbers than the image. Rectifiers between
the layers. A tick's error is that of the newest tick in the window that ends with it, the mean over
the three planes. For the rest see `Training` and the module `detector`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError
from causewatch.evaluation.baselines.neural.detector import CLIP, Neural
from causewatch.evaluation.baselines.neural.settings import Training
from causewatch.evaluation.verdicts import Progress
from causewatch.monitor import AlarmSettings

__all__ = ["MANY_SIGNALS", "PLANT_LAYERS", "ROBOT_LAYERS", "Tce"]

Floats = NDArray[np.float64]
PLANT_LAYERS = (32, 16, 8, 16, 32, 3)
ROBOT_LAYERS = (100, 50, 30, 10, 30, 50, 100, 3)
MANY_SIGNALS = 100
"""More signals than this get the layers published for the robot."""
PLANES = 3
PLANT_TRAINING = Training(samples=512, batch=16)
ROBOT_TRAINING = Training(samples=64, batch=8)
"""How it is trained if nothing else is said: an image costs far more than a window of ticks does,
and one of a robot twenty times more than one of a plant, so fewer are shown in an epoch."""
BEFORE = 2
"""Ticks that a second difference needs before its own."""


class Tce(Neural):
    """A convolutional autoencoder of signals and their derivatives.

    Parameters
    ----------
    layers
        Channels of all layers, an even number of them, the last 3; None: the published ones, by
        the number of signals.
    kernel
        Side of the kernels (published), even.
    window
        Ticks in an image.
    training
        How it is trained; None: by the number of signals, since images of many are slow.
    checkpoint, settings
        As for every neural detector.
    """

    name = "tce"

    def __init__(
        self,
        *,
        layers: tuple[int, ...] | None = None,
        kernel: int = 6,
        window: int = 16,
        training: Training | None = None,
        checkpoint: Path | None = None,
        settings: AlarmSettings | None = None,
    ) -> None:
        super().__init__(training=training, checkpoint=checkpoint, settings=settings)
        if layers is not None and (len(layers) % 2 or layers[-1:] != (PLANES,) or min(layers) < 1):
            msg = (
                f"layers are {layers}; give an even number of them, each of at least 1 channel, and"
                f" {PLANES} as the last: value, first and second derivative."
            )
            raise SettingError(msg)
        if kernel < 2 or kernel % 2 or window < 1:
            msg = (
                f"kernel is {kernel} and window {window}; give an even kernel of at least 2 and a"
                " window of at least 1 tick."
            )
            raise SettingError(msg)
        self._layers, self._kernel, self._window = layers, kernel, window
        self._given = training

    def _train(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> list[float]:
        from causewatch.evaluation.baselines.neural.networks import Autoencoder
        from causewatch.evaluation.baselines.neural.training import train

        signals = ticks[0].shape[1]
        self.reach = BEFORE + self._window - 1
        planes = [_planes(part) for part in ticks if len(part) > BEFORE]
        moving = np.concatenate(planes) if planes else np.zeros((1, PLANES * signals))
        spread = np.sqrt((moving**2).mean(axis=0))
        self._spread = np.where(spread > 0.0, spread, 1.0)  # what never moves keeps its unit
        many = signals > MANY_SIGNALS
        layers = self._layers or (ROBOT_LAYERS if many else PLANT_LAYERS)
        self._training = self._given or (ROBOT_TRAINING if many else PLANT_TRAINING)
        self._network, losses = train(
            self.name,
            lambda: Autoencoder(signals, window=self._window, layers=layers, kernel=self._kernel),
            [np.clip(part / self._spread, -CLIP, CLIP) for part in planes],
            self._training,
            seed,
            progress=progress,
            folder=self._checkpoint,
        )
        return losses

    def _errors(self, ticks: Floats) -> Floats:
        from causewatch.evaluation.baselines.neural.training import as_single

        planes = _planes(ticks) / self._spread
        # Single precision: four times faster, and what it rounds is far below any error.
        again: Floats = self._network.newest(as_single(np.clip(planes, -CLIP, CLIP))).numpy()
        misses = planes[self._window - 1 :] - again
        squares: Floats = (misses**2).reshape(len(misses), PLANES, -1).mean(axis=1)
        return squares


def _planes(ticks: Floats) -> Floats:
    """Value, first and second difference of ``ticks[2:]``, side by side."""
    first = np.diff(ticks, axis=0)
    second = np.diff(first, axis=0)
    return np.concatenate([ticks[BEFORE:], first[1:], second], axis=1)
