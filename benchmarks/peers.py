"""The programs causewatch is compared with, all returning arrays ``[i, j, lag]``.

Neither is part of the product; both come with the ``bench`` extra.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.common import launch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = ["JaxRun", "jax_pcmci", "tigramite", "tigramite_plus"]

Floats = NDArray[np.float64]

_plain_corrcoef = np.corrcoef


def tigramite(
    values: Floats,
    lag: int,
    alpha: float = 0.05,
    test: str = "linear",
    *,
    threads: int | None = 1,
    **settings: Any,
) -> tuple[Floats, Floats]:
    """Value and p-value of tigramite's PCMCI at lags 1 to `lag` (lag 0: 0 and 1).

    Parameters
    ----------
    values
        Rows × signals.
    lag
        Longest lag.
    alpha
        Level of both stages.
    threads
        Of linear algebra; None leaves it as it comes. tigramite solves many small problems, for
        which one thread was measured to be up to seven times as fast as two.
    test
        ``linear``: ParCorr. ``rank``: RobustParCorr. ``knn``: CMIknn with its shuffle test.
    **settings
        For the test's constructor.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tigramite.data_processing import DataFrame
        from tigramite.independence_tests.parcorr import ParCorr
        from tigramite.pcmci import PCMCI

        if test == "linear":
            made = ParCorr(**settings)
        elif test == "rank":
            from tigramite.independence_tests.robust_parcorr import RobustParCorr

            made = RobustParCorr(**settings)
        else:
            from tigramite.independence_tests.cmiknn import CMIknn

            made = CMIknn(significance="shuffle_test", **settings)
        with patch.object(np, "corrcoef", _corrcoef), threadpool_limits(threads):
            found = PCMCI(DataFrame(np.array(values)), made, verbosity=0).run_pcmci(
                tau_min=1, tau_max=lag, pc_alpha=alpha, alpha_level=alpha
            )
    value, p_value = np.array(found["val_matrix"]), np.array(found["p_matrix"])
    value[:, :, 0], p_value[:, :, 0] = 0.0, 1.0
    return value, p_value


def tigramite_plus(
    values: Floats, lag: int, alpha: float = 0.01, *, threads: int | None = 1
) -> tuple[NDArray[np.str_], Floats, Floats]:
    """Marks, value and p-value of tigramite's PCMCI+ with ParCorr and its defaults, lags from 0.

    `threads` as for `tigramite`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tigramite.data_processing import DataFrame
        from tigramite.independence_tests.parcorr import ParCorr
        from tigramite.pcmci import PCMCI

        with threadpool_limits(threads):
            found = PCMCI(DataFrame(np.array(values)), ParCorr(), verbosity=0).run_pcmciplus(
                tau_max=lag, pc_alpha=alpha
            )
    return found["graph"], found["val_matrix"], found["p_matrix"]


def _corrcoef(*rows: Floats, ddof: int = 0) -> Floats:
    """NumPy 2.4 no longer knows `ddof`, which tigramite 5.2.10 passes; it had no effect before."""
    return _plain_corrcoef(*rows)


@dataclass(frozen=True)
class JaxRun:
    """What jax-pcmci did in a process of its own.

    `first` is its first call, most of which is compilation; `again` the best of later calls on
    the same object, which is the only way to meet its compiled functions again.
    """

    first: float | None
    again: float | None
    again_cpu: float | None
    peak: int
    value: Any
    p_value: Any
    failure: str


def jax_pcmci(
    values: Floats,
    lag: int,
    *,
    repeats: int = 3,
    batch: int | None = None,
    double: bool = True,
    timeout: float = 120.0,
) -> JaxRun:
    """PCMCI with partial correlation by jax-pcmci, on the same rows and levels.

    Parameters
    ----------
    batch
        Links tested at a time; its own choice if not given.
    double
        Whether to compute in double precision, as the others do; its default is single.
    timeout
        Seconds after which it is ended.
    """
    with tempfile.TemporaryDirectory() as folder:
        rows, answer = Path(folder) / "rows.npy", Path(folder) / "answer.npz"
        np.save(rows, values)
        setting = json.dumps({"lag": lag, "repeats": repeats, "batch": batch, "double": double})
        command = [sys.executable, "-m", "benchmarks.peers", str(rows), str(answer), setting]
        cost = launch(command, timeout=timeout)
        if cost.timed_out:
            return JaxRun(None, None, None, cost.peak, None, None, f"not done in {timeout:.0f} s")
        if cost.code != 0:
            last = (cost.errors.strip().splitlines() or [f"exit code {cost.code}"])[-1]
            return JaxRun(None, None, None, cost.peak, None, None, last.split(": ", 1)[-1])
        with np.load(answer) as stored:
            return JaxRun(
                float(stored["first"]),
                float(stored["again"]),
                float(stored["again_cpu"]),
                cost.peak,
                stored["value"],
                stored["p_value"],
                "",
            )


def _run_jax(rows: str, answer: str, setting: str) -> None:
    """The other end of `jax_pcmci`."""
    import jax
    from jax_pcmci import PCMCI, DataHandler, ParCorr, PCMCIConfig

    chosen = json.loads(setting)
    PCMCIConfig(
        precision="float64" if chosen["double"] else "float32",
        enable_x64=chosen["double"],
        batch_size=chosen["batch"],
    ).apply()
    values = np.load(rows).astype(np.float64 if chosen["double"] else np.float32)
    walls, cpus = [], []
    run = PCMCI(DataHandler(values), cond_ind_test=ParCorr(), verbosity=0)
    for _ in range(1 + chosen["repeats"]):
        cpu, wall = time.process_time(), time.perf_counter()
        found = run.run(tau_max=chosen["lag"], tau_min=1, pc_alpha=0.05, alpha_level=0.05)
        jax.block_until_ready((found.val_matrix, found.pval_matrix))
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    np.savez(
        answer,
        first=walls[0],
        again=min(walls[1:]),
        again_cpu=min(cpus[1:]),
        value=np.asarray(found.val_matrix),
        p_value=np.asarray(found.pval_matrix),
    )


if __name__ == "__main__":
    _run_jax(*sys.argv[1:4])
