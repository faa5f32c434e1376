"""How the networks are trained; the paper says nothing of it, so all of this is our choice."""

from __future__ import annotations

from dataclasses import dataclass

from causewatch.errors import SettingError

__all__ = ["Training"]


@dataclass(frozen=True, slots=True)
class Training:
    """How a network is trained: Adam on the mean squared error, stopped early.

    The defaults were chosen on development seeds 1 to 3 of the simulated plant, so that training on
    a day or two of its ticks takes minutes on one core.

    Attributes
    ----------
    epochs
        At most so many.
    patience
        Training stops after so many epochs without a lower loss on the held-out ticks; the weights
        of the best epoch are kept.
    held_out
        Share of the ticks learnt from, at their end, that decide when to stop. They are no part of
        what alarm limits are learnt from.
    samples
        Windows shown in an epoch, at most; each epoch draws others.
    batch
        Windows shown at a time.
    rate
        Learning rate.
    threads
        Threads that torch may use. Part of the result: sums in another order round differently.
    """

    epochs: int = 60
    patience: int = 6
    held_out: float = 0.15
    samples: int = 2048
    batch: int = 32
    rate: float = 2e-3
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "samples", "batch", "threads"):
            if getattr(self, name) < 1:
                msg = f"{name} is {getattr(self, name)}; it must be at least 1."
                raise SettingError(msg)
        if not 0.0 < self.held_out < 1.0:
            msg = f"held_out is {self.held_out:g}; give a share between 0 and 1, such as 0.15."
            raise SettingError(msg)
        if not 0.0 < self.rate < 1.0:
            msg = f"rate is {self.rate:g}; give a learning rate between 0 and 1, such as 0.001."
            raise SettingError(msg)
