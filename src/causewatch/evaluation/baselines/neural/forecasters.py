"""Two networks that forecast the next tick of all signals: `Rnn` and `Tcn`.

Published: RNN is one GRU layer of 64 units with dropout at its output; TCN has three hidden layers
of 30 channels with kernel 3; on SWaT a principal-component filter comes before both.

Our choice, as nothing is said of it: a GRU looks at the last 32 ticks, from an empty memory, and
learns from the forecasts after each of them; the taps of the TCN's layers are 1, 2 and 4 ticks
apart, so it looks at 15 ticks, with rectifiers between the layers, no shortcuts and no dropout; the
GRU's dropout is 20 %; the filter keeps 95 % of the variance where it is asked for, the network then
forecasts components, and its errors are those of the filtered signals. For the rest see `Training`
and the module `detector`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError
from causewatch.evaluation.baselines.neural.detector import CLIP, Neural
from causewatch.evaluation.baselines.neural.filters import PrincipalFilter
from causewatch.evaluation.baselines.neural.settings import Training
from causewatch.evaluation.verdicts import Progress
from causewatch.monitor import AlarmSettings

if TYPE_CHECKING:
    from causewatch.evaluation.baselines.neural.networks import Convolutional, Recurrent

__all__ = ["PRINCIPAL_SHARE", "Rnn", "Tcn"]

Floats = NDArray[np.float64]
PRINCIPAL_SHARE = 0.95
"""Share of the variance that the filter keeps where the paper's choice for SWaT is followed."""


class _Forecaster(Neural):
    """A network's error in forecasting the next tick."""

    def __init__(
        self,
        *,
        dropout: float,
        principal: float | None,
        training: Training | None,
        checkpoint: Path | None,
        settings: AlarmSettings | None,
    ) -> None:
        super().__init__(training=training, checkpoint=checkpoint, settings=settings)
        if not 0.0 <= dropout < 1.0:
            msg = f"dropout is {dropout:g}; give a share from 0 up to, but not including, 1."
            raise SettingError(msg)
        self._dropout, self._principal = dropout, principal
        self._filter: PrincipalFilter | None = None

    @abstractmethod
    def _build(self, channels: int) -> Recurrent | Convolutional:
        """The network, not yet trained."""

    def _train(self, ticks: Sequence[Floats], seed: int, progress: Progress) -> list[float]:
        from causewatch.evaluation.baselines.neural.training import train

        if self._principal is not None:
            self._filter = PrincipalFilter.learn(ticks, self._principal)
        shown = [self._reduced(np.clip(part, -CLIP, CLIP)) for part in ticks]
        channels = shown[0].shape[1]
        self._network, losses = train(
            self.name,
            lambda: self._build(channels),
            shown,
            self._training,
            seed,
            progress=progress,
            folder=self._checkpoint,
        )
        self._network.double()  # then many windows at once round as a single one does
        self.reach = self._network.reach
        return losses

    def _errors(self, ticks: Floats) -> Floats:
        import torch

        shown = torch.from_numpy(self._reduced(np.clip(ticks, -CLIP, CLIP)))
        forecasts: Floats = self._network.forecast(shown).numpy()
        misses = self._reduced(ticks[self.reach :]) - forecasts
        if self._filter is not None:
            misses = self._filter.restore(misses)
        return misses**2

    def _reduced(self, ticks: Floats) -> Floats:
        return ticks if self._filter is None else self._filter.reduce(ticks)


class Rnn(_Forecaster):
    """One GRU layer that forecasts the next tick.

    Parameters
    ----------
    hidden
        Units of the layer (published).
    window
        Ticks that a forecast looks at.
    dropout
        Share of the layer's outputs dropped while learning.
    principal
        Share of the variance that a principal-component filter keeps; None: no filter. The paper
        has one on SWaT (see `PRINCIPAL_SHARE`).
    training, checkpoint, settings
        As for every neural detector.
    """

    name = "rnn"

    def __init__(
        self,
        *,
        hidden: int = 64,
        window: int = 32,
        dropout: float = 0.2,
        principal: float | None = None,
        training: Training | None = None,
        checkpoint: Path | None = None,
        settings: AlarmSettings | None = None,
    ) -> None:
        super().__init__(
            dropout=dropout,
            principal=principal,
            training=training,
            checkpoint=checkpoint,
            settings=settings,
        )
        if hidden < 1 or window < 1:
            msg = f"hidden is {hidden} and window {window}; both must be at least 1."
            raise SettingError(msg)
        self._hidden, self._window = hidden, window

    def _build(self, channels: int) -> Recurrent:
        from causewatch.evaluation.baselines.neural.networks import Recurrent

        return Recurrent(channels, hidden=self._hidden, window=self._window, dropout=self._dropout)


class Tcn(_Forecaster):
    """Causal dilated convolutions that forecast the next tick.

    Parameters
    ----------
    layers
        Channels of every hidden layer (published).
    kernel
        Taps of a convolution (published); those of layer k lie 2^(k−1) ticks apart.
    dropout
        Share of the last layer's outputs dropped while learning.
    principal
        Share of the variance that a principal-component filter keeps; None: no filter. The paper
        has one on SWaT (see `PRINCIPAL_SHARE`).
    training, checkpoint, settings
        As for every neural detector.
    """

    name = "tcn"

    def __init__(
        self,
        *,
        layers: tuple[int, ...] = (30, 30, 30),
        kernel: int = 3,
        dropout: float = 0.0,
        principal: float | None = None,
        training: Training | None = None,
        checkpoint: Path | None = None,
        settings: AlarmSettings | None = None,
    ) -> None:
        super().__init__(
            dropout=dropout,
            principal=principal,
            training=training,
            checkpoint=checkpoint,
            settings=settings,
        )
        if not layers or min(layers) < 1 or kernel < 2:
            msg = (
                f"layers are {layers} and the kernel is {kernel}; give at least one layer of at"
                " least 1 channel, and a kernel of at least 2."
            )
            raise SettingError(msg)
        self._layers, self._kernel = layers, kernel

    def _build(self, channels: int) -> Convolutional:
        from causewatch.evaluation.baselines.neural.networks import Convolutional

        return Convolutional(
            channels, layers=self._layers, kernel=self._kernel, dropout=self._dropout
        )
