"""From recordings to the paper's second table and its explanations."""

from __future__ import annotations

from collections.abc import Sequence

from causewatch.evaluation.baselines.split import make_split
from causewatch.evaluation.reproduction.case import Case
from causewatch.evaluation.reproduction.others import available, make_method, run_detector
from causewatch.evaluation.reproduction.outcome import Reproduction
from causewatch.evaluation.reproduction.paper_method import run_paper
from causewatch.evaluation.verdicts import Progress

__all__ = ["reproduce"]


def reproduce(
    case: Case,
    methods: Sequence[str] | None = None,
    *,
    step: int | None = None,
    max_lag: int | None = None,
    seed: int = 0,
    left_out: Sequence[str] = (),
    progress: Progress | None = None,
) -> Reproduction:
    """Run the paper's methods, or others, on a case.

    Parameters
    ----------
    case
        The recordings; see `load_case` and `simulate_case`.
    methods
        Names of the catalogue of detectors; those of the paper if not given. The published method
        always runs: it sets the step at which all are counted.
    step, max_lag
        Rows per step and longest lag of the published method instead of those that its rule finds.
    seed
        Of methods that draw random numbers.
    left_out
        Sentences about methods that were left out before, as `available` gives them.
    progress
        Told what is being done.
    """
    names, more = available(methods)
    detectors = [make_method(name, case.dataset) for name in names if name != "paper"]
    paper = run_paper(case, step=step, max_lag=max_lag, progress=progress)
    outcomes = [paper.outcome]
    if detectors:
        split = make_split([case.normal.table], seed=seed, progress=progress)
        outcomes += [
            run_detector(detector, case, split, paper.step, progress) for detector in detectors
        ]
    model = paper.model
    return Reproduction(
        case.dataset,
        case.simulated,
        case.title,
        case.notes,
        paper.step,
        model.preprocessing.max_lag,
        len(model.signals),
        len(model.graph),
        {one.name: one for one in outcomes},
        paper.attacks,
        (*left_out, *more),
        seed,
    )
