"""The other methods on the same recordings, each through the one shape that all detectors have."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.evaluation.baselines.base import Detector, Split
from causewatch.evaluation.baselines.catalogue import DETECTORS, make
from causewatch.evaluation.baselines.split import joined
from causewatch.evaluation.paper_counting import count_verdicts, verdicts_by_step
from causewatch.evaluation.reproduction.case import Case
from causewatch.evaluation.reproduction.outcome import MethodOutcome, Timing
from causewatch.evaluation.verdicts import Progress, Verdicts

__all__ = ["TABLE_II", "available", "make_method", "run_detector"]

TABLE_II = ("paper", "rnn", "tcn", "tce")
"""The methods of the paper's second table."""
LIBRARIES = {
    "rnn": "torch",
    "tcn": "torch",
    "tce": "torch",
    "isolation_forest": "sklearn",
    "half_space_trees": "river",
}
"""What a method needs beyond the plain installation."""
EXTRA = "baselines"
"""The extra that installs it."""
FILTERED = ("rnn", "tcn")
GETS = (
    "model from the first 70 % of the normal recording (a start-up left out), limits from the other"
    " 30 %, which are the normal test data as well: precision by the published counting is"
    " flattered"
)
FILTER = "; as published for SWaT, principal components of the signals are seen"


def available(methods: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The methods that run, the published one first, and sentences about those that cannot.

    Parameters
    ----------
    methods
        What was asked for; what cannot run is then an error. Those of the paper if not given.
    """
    names = dict.fromkeys(("paper", *(methods or TABLE_II)))
    absent: dict[str, list[str]] = {}
    for name in names:
        if name not in DETECTORS:
            raise UnknownNameError(name, "method", DETECTORS)
        library = LIBRARIES.get(name)
        if library is not None and find_spec(library) is None:
            absent.setdefault(library, []).append(name)
    said = []
    for library, needing in absent.items():
        text = (
            f"{', '.join(needing)} cannot run, since {library} is not installed; install it with:"
            f" pip install 'causewatch[{EXTRA}]'."
        )
        if methods is not None:
            raise SettingError(text)
        said.append(text)
    lost = {name for needing in absent.values() for name in needing}
    return tuple(name for name in names if name not in lost), tuple(said)


def make_method(name: str, dataset: str) -> Detector:
    """A fresh detector as the paper has it: on SWaT, RNN and TCN see principal components."""
    if dataset == "swat" and name in FILTERED:
        from causewatch.evaluation.baselines.neural.forecasters import PRINCIPAL_SHARE, Rnn, Tcn

        return (Rnn if name == "rnn" else Tcn)(principal=PRINCIPAL_SHARE)
    return make(name)


def run_detector(
    detector: Detector, case: Case, split: Split, step: int, progress: Progress | None = None
) -> MethodOutcome:
    """Fit a detector, watch everything, and count at the steps of the published method.

    Parameters
    ----------
    detector
        Fresh.
    case
        The recordings.
    split
        The normal recording, cut.
    step
        Rows per step of the published method: at every `step`-th row it is asked.
    progress
        Told what is being done.
    """
    tell = progress or (lambda what, share: None)
    name = detector.name

    def told(what: str, share: float | None) -> None:
        tell(f"{name}: {what}", share)

    began = time.perf_counter()
    detector.fit(split, told)
    learnt = time.perf_counter() - began
    normal = detector.watch(joined(split.limits), told)
    tests = [(recording, detector.watch(recording.table, told)) for recording in case.tests]
    untouched = [
        verdicts_by_step(detector.watch(table, told).alarm, step) for table in case.untouched
    ]
    counts = count_verdicts(
        normal, tests, step, learnt=0.0, chosen=case.chosen, whole_files=case.whole_files
    )
    mean, spread = _step_ms([verdicts for _, verdicts in tests])
    return MethodOutcome(
        name,
        counts,
        Timing(learnt, mean, spread),
        GETS + (FILTER if case.dataset == "swat" and name in FILTERED else ""),
        float(np.concatenate(untouched).mean()) if untouched else None,
    )


def _step_ms(watched: Sequence[Verdicts]) -> tuple[float, float | None]:
    """Mean and spread of the time of a step in milliseconds; by row where steps were not timed."""
    each: NDArray[np.float64] = np.concatenate([one.step_seconds for one in watched])
    if len(each):
        return 1000.0 * float(each.mean()), 1000.0 * float(each.std())
    rows = sum(len(one.alarm) for one in watched)
    return 1000.0 * sum(one.seconds for one in watched) / max(1, rows), None
