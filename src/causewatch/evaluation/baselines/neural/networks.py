"""The networks themselves. Needs torch: import this module late."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Autoencoder", "Convolutional", "Network", "Recurrent"]

AT_ONCE = 256
"""Windows judged at a time: more only cost memory."""


class Network(nn.Module):
    """What training asks of a network; `sample` is how many ticks a window to learn from has."""

    sample: int

    def loss(self, windows: Tensor) -> Tensor:
        """Mean squared error on windows × `sample` ticks × channels."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Completes what the network says of itself, by which checkpoints know it."""
        return f"sample={self.sample}"


class _Forecaster(Network):
    """Forecasts each tick from the `reach` ticks before it."""

    reach: int

    def loss(self, windows: Tensor) -> Tensor:
        """Mean squared error of all forecasts that fit into the windows."""
        forecasts: Tensor = self(windows[:, :-1])
        return functional.mse_loss(forecasts, windows[:, -forecasts.shape[1] :])


class Recurrent(_Forecaster):
    """One GRU layer, dropout, and a linear readout.

    Parameters
    ----------
    channels
        Signals, or components of a filter.
    hidden
        Units of the layer.
    window
        Ticks that a forecast looks at; each window starts from an empty memory.
    dropout
        Share of the layer's outputs dropped while learning.
    """

    def __init__(self, channels: int, *, hidden: int, window: int, dropout: float) -> None:
        super().__init__()
        self.reach, self.sample = window, window + 1
        self.memory = nn.GRU(channels, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.readout = nn.Linear(hidden, channels)

    def forward(self, ticks: Tensor) -> Tensor:
        """The forecast after every tick: windows × ticks × channels in and out."""
        states: Tensor = self.memory(ticks)[0]
        forecasts: Tensor = self.readout(self.dropout(states))
        return forecasts

    def forecast(self, ticks: Tensor) -> Tensor:
        """Forecasts of ``ticks[reach:]``, each from the `reach` ticks before it alone."""
        windows = ticks.unfold(0, self.reach, 1)[:-1].transpose(1, 2)
        # Only the last state is read out, so nothing of the others is kept.
        last = [self.memory(part)[1][0] for part in torch.split(windows, AT_ONCE)]
        forecasts: Tensor = self.readout(torch.cat(last))
        return forecasts


class Convolutional(_Forecaster):
    """Causal convolutions whose taps are 1, 2, 4, … ticks apart, and a linear readout.

    Nothing is padded, neither at the start nor at the end: a forecast sees real ticks only.

    Parameters
    ----------
    channels
        Signals, or components of a filter.
    layers
        Channels of every hidden layer.
    kernel
        Taps of a convolution.
    dropout
        Share of the last layer's outputs dropped while learning.
    ahead
        Forecasts in a window to learn from.
    """

    def __init__(
        self, channels: int, *, layers: Sequence[int], kernel: int, dropout: float, ahead: int = 32
    ) -> None:
        super().__init__()
        self.reach = 1 + (kernel - 1) * (2 ** len(layers) - 1)
        self.sample = self.reach + ahead
        widths = [channels, *layers]
        self.hidden = nn.ModuleList(
            nn.Conv1d(before, after, kernel, dilation=2**depth)
            for depth, (before, after) in enumerate(zip(widths, layers, strict=False))
        )
        self.dropout = nn.Dropout(dropout)
        self.readout = nn.Linear(widths[-1], channels)

    def forward(self, ticks: Tensor) -> Tensor:
        """The forecast after each tick with `reach` − 1 before it: windows × ticks × channels."""
        flow = ticks.transpose(1, 2)
        for layer in self.hidden:
            flow = torch.relu(layer(flow))
        forecasts: Tensor = self.readout(self.dropout(flow.transpose(1, 2)))
        return forecasts

    def forecast(self, ticks: Tensor) -> Tensor:
        """Forecasts of ``ticks[reach:]``, each from the `reach` ticks before it alone."""
        forecasts: Tensor = self(ticks[None, :-1])[0]
        return forecasts


class Autoencoder(Network):
    """Reconstructs an image of several planes from a smaller one.

    The first half of the layers halves the image, the second half doubles it again, so that the
    narrowest layer cannot simply pass it on. The sides are padded with zeros (the signals' means)
    until they can be halved that often.

    Parameters
    ----------
    signals, window
        Sides of the image.
    layers
        Channels of all layers; the last number is that of the planes.
    kernel
        Side of the kernels; an even number, so that halving and doubling meet.
    """

    def __init__(self, signals: int, *, window: int, layers: Sequence[int], kernel: int) -> None:
        super().__init__()
        self.signals, self.sample, self.planes = signals, window, layers[-1]
        depth = len(layers) // 2
        self.fill = [-window % 2**depth, -signals % 2**depth]
        margin = kernel // 2 - 1
        widths = [self.planes, *layers]
        self.layers = nn.ModuleList(
            (nn.Conv2d if place < depth else nn.ConvTranspose2d)(
                before, after, kernel, stride=2, padding=margin
            )
            for place, (before, after) in enumerate(zip(widths, layers, strict=False))
        )

    def forward(self, windows: Tensor) -> Tensor:
        """Windows × ticks × (planes · signals), plane by plane, in and out."""
        shape = (len(windows), self.sample, self.planes, self.signals)
        image = windows.reshape(shape).permute(0, 2, 3, 1)
        # The newest tick stays at the edge: what is padded lies before the oldest one.
        flow = functional.pad(image, (self.fill[0], 0, 0, self.fill[1]))
        for layer in self.layers[:-1]:
            flow = torch.relu(layer(flow))
        again: Tensor = self.layers[-1](flow)[:, :, : self.signals, self.fill[0] :]
        return again.permute(0, 3, 1, 2).reshape(windows.shape)

    def loss(self, windows: Tensor) -> Tensor:
        """Mean squared error of the reconstruction."""
        return functional.mse_loss(self(windows), windows)

    def newest(self, ticks: Tensor) -> Tensor:
        """Reconstructions of ``ticks[sample - 1:]``, each in the window that ends with it."""
        windows = ticks.unfold(0, self.sample, 1).transpose(1, 2)
        return torch.cat([self(part)[:, -1] for part in torch.split(windows, AT_ONCE)])
