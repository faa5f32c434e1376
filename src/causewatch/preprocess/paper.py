"""The published preprocessing, as its scripts do it (Meli, IEEE CASE 2024).

Where the paper's text and its scripts differ, the scripts made the numbers and are followed here:

===============  ========================================  =====================================
point            text                                      scripts, and this module
===============  ========================================  =====================================
frequencies      "main frequency components"               the 5 largest FFT bins of every signal
                                                           that holds a non-integer value, pooled
cut              –                                         the largest frequency with less than
                                                           95 % of the pool strictly below it
step             t_s = 1 / (10 max Γ)                      max(1, floor(1 / (10 f_max))) rows,
                                                           plain decimation
maximum lag      10 · max Γ / mean Γ                       floor(f_max / mean of the distinct
                                                           frequencies up to f_max)
near-constant    removes mean < 0.01 · std                 keeps std > 0.01 · mean, after the
                                                           decimation (no absolute value)
missing          –                                         zero
===============  ========================================  =====================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import NotEnoughDataError

__all__ = ["PaperChoice", "paper_choice"]

Floats = NDArray[np.float64]

COMPONENTS = 5
SHARE_BELOW = 0.95
NEAR_CONSTANT = 0.01


@dataclass(frozen=True, slots=True)
class PaperChoice:
    """What the published rule chooses: rows per step, maximum lag, and which signals to keep.

    `frequency` is the highest main frequency, per row; 0 if there is none.
    """

    step: int
    max_lag: int
    kept: NDArray[np.bool_]
    frequency: float


def paper_choice(
    values: Floats, *, step: int | None = None, max_lag: int | None = None
) -> PaperChoice:
    """Apply the published rule.

    Parameters
    ----------
    values
        The whole normal recording, rows × signals; missing values are read as zero, as the
        scripts do.
    step, max_lag
        Rows per step and maximum lag given by the user instead of chosen.
    """
    values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    pool = np.concatenate(
        [_main_frequencies(column) for column in values.T if np.any(np.trunc(column) != column)]
        or [np.empty(0)]
    )
    pool = np.sort(pool[pool > 0])
    if len(pool) > 0:
        below = np.searchsorted(pool, pool, side="left") / len(pool)
        highest = float(pool[below < SHARE_BELOW].max())
        step = step or max(1, int(np.floor(1 / 10 / highest)))
        if max_lag is None:
            max_lag = int(np.floor(highest / np.mean(np.unique(pool[pool <= highest]))))
    elif step is not None and max_lag is not None:
        highest = 0.0
    else:
        msg = (
            "The published rule needs at least one signal that is not whole-numbered and not"
            " constant to choose an interval from; give --every and --max-lag, or use the"
            " default preset."
        )
        raise NotEnoughDataError(msg)
    thinned = values[::step]
    kept = thinned.std(axis=0) > NEAR_CONSTANT * thinned.mean(axis=0)
    return PaperChoice(step=step, max_lag=max_lag, kept=kept, frequency=highest)


def _main_frequencies(column: Floats) -> Floats:
    """The frequencies (per row) of the largest bins of the Fourier transform, of either sign.

    The bins of a frequency and its negative are equally large; the positive one comes first, so
    that rounding does not decide which of them is the fifth.
    """
    bins = np.arange(len(column))
    size = np.abs(np.fft.rfft(column))[np.minimum(bins, len(column) - bins)]
    return np.asarray(np.fft.fftfreq(len(column))[np.argsort(-size, kind="stable")[:COMPONENTS]])
