"""PCMCI as tigramite does it, in the shape of our own results. Imports tigramite when called."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise

import numpy as np

import naive


@dataclass
class Yardstick:
    """What tigramite found: arrays [i, j, lag], parents as (signal, lag), strongest first."""

    value: np.ndarray
    p_value: np.ndarray
    parents: list[list[tuple[int, int]]]
    version: str


def tigramite_pcmci(
    values,
    max_lag,
    min_lag=1,
    alpha=0.05,
    *,
    starts=(0,),
    fdr=False,
    link_assumptions=None,
):
    """Run tigramite; what it does not test, or calls undefined, is value 0 and p-value 1.

    Missing values are handled by naming the complete windows as reference points; the missing
    cells themselves are filled with a number that would spoil everything if it were used.
    """
    values = np.array(values, dtype=float)
    bounds = sorted({0, *starts, len(values)})
    kept = {}
    if np.isnan(values).any():
        assert len(bounds) == 2
        kept = {"reference_points": naive.window_ends(values, max_lag)}
        values[np.isnan(values)] = 1e7
    if len(bounds) > 2:
        data = {k: values[a:b] for k, (a, b) in enumerate(pairwise(bounds))}
        kept = {"analysis_mode": "multiple"}
    else:
        data = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tigramite import data_processing
        from tigramite.independence_tests.parcorr import ParCorr
        from tigramite.pcmci import PCMCI

        run = PCMCI(data_processing.DataFrame(data, **kept), ParCorr(), verbosity=0)
        found = run.run_pcmci(
            tau_min=min_lag,
            tau_max=max_lag,
            pc_alpha=alpha,
            alpha_level=alpha,
            fdr_method="fdr_bh" if fdr else "none",
            link_assumptions=link_assumptions,
        )
    value, p_value = found["val_matrix"], found["p_matrix"]
    signals = np.arange(values.shape[1])
    untested = np.isnan(value) | (np.arange(max_lag + 1) < min_lag)
    untested[signals, signals, 0] = True
    return Yardstick(
        value=np.where(untested, 0.0, value),
        p_value=np.where(untested, 1.0, p_value),
        parents=[[(int(i), -int(lag)) for i, lag in run.all_parents[j]] for j in signals],
        version=version("tigramite"),
    )


def tigramite_pcmciplus(values, max_lag, alpha=0.01):
    """Marks, values and p-values ``[i, j, lag]`` of tigramite's PCMCI+ with its defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tigramite import data_processing
        from tigramite.independence_tests.parcorr import ParCorr
        from tigramite.pcmci import PCMCI

        run = PCMCI(data_processing.DataFrame(np.array(values)), ParCorr(), verbosity=0)
        found = run.run_pcmciplus(tau_max=max_lag, pc_alpha=alpha)
    return found["graph"], found["val_matrix"], found["p_matrix"]
