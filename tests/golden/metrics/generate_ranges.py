"""Freeze what reference programs say: rewrites ``ranges.json`` beside this file.

Run it in a virtual environment of its own, with Python 3.11 and

- prts 1.0.0.3 (range-based precision and recall),
- TSB-AD 1.5 without its dependencies, but with scikit-learn (R-based F1, PA-F1),
- RCAEval 1.8.1 without its dependencies, but with networkx, pandas and requests (AC@k, Avg@k,
  their chance levels; SHD and F1 of graphs),
- faster-etapr 0.1.2 (a second opinion on eTaPR for ``delta=0``),

and, since they are no packages, these folders on ``PYTHONPATH``:

- ``eTaPR_pkg`` of saurf4ng/eTaPR at commit db9787f (the authors' eTaPR),
- ``nab`` of numenta/NAB at commit d62afec (`Sweeper`; weights from its ``config/profiles.json``),
- ``tadpak`` of tuslkkk/tadpak at commit dbeb262 (the authors' PA%K),
- ``causrca_eval`` with ``eval/rca/helpers_rca_eval.py`` of causalgraph/causRCA at commit e83338c
  (MAP@k).

Of the last four only the functions called below, and those they call, were kept, with comments and
drawing taken out; no line that computes was changed.

Left out are cases in which a reference stops or is known to be wrong: none knows what to say
without an alarm; NAB divides by zero after a window of one row, and counts windows inside the
probation as if they could be found; TSB-AD sees no range where all rows are one, and does not
adjust the first row. With late rows (``delta`` above 0) the authors' eTaPR lets rounding decide
about a share that is just the limit. The unit tests have those cases.

Numbers are frozen in full. They are compared at 1e-9: all programs compute in double precision, and
sums of some hundred terms in another order differ by 1e-13.
"""

from __future__ import annotations

import json
import logging
from importlib.metadata import version
from itertools import product
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("ranges.json")
SEED = 2025
TOLERANCE = 1e-9


def spans(flags):
    change = np.flatnonzero(np.diff(np.asarray(flags, dtype=np.int8), prepend=0, append=0))
    return change.reshape(-1, 2).tolist()


def rows(count, ranges):
    flags = np.zeros(count, dtype=np.int64)
    for start, stop in ranges:
        flags[start:stop] = 1
    return flags


def recordings():
    """Labels and alarms of many kinds; each has at least one anomalous row and one alarm."""
    random = np.random.default_rng(SEED)
    yield rows(40, [(5, 15), (20, 30)]), rows(40, [(8, 12), (18, 33)])
    yield rows(40, [(0, 6), (34, 40)]), rows(40, [(0, 3), (37, 40)])  # at both ends
    yield rows(40, [(10, 20), (21, 31)]), rows(40, [(15, 24), (31, 36)])  # one row between events
    yield rows(40, [(10, 20), (25, 30)]), rows(40, [(19, 40)])  # alarm too long to be right
    yield rows(40, [(10, 20)]), np.ones(40, dtype=np.int64)
    yield rows(60, [(10, 50)]), rows(60, [(11, 12), (15, 16), (30, 31), (52, 53)])
    yield rows(60, [(10, 20), (30, 40)]), rows(60, [(22, 28), (45, 50)])  # all in vain
    for count, change in product((30, 200, 400), (0.5, 0.2, 0.05, 0.02)):
        for _ in range(2):
            walk = np.cumsum(random.random((2, count)) < change, axis=1) + random.integers(0, 2)
            labels, alarm = walk % 2
            if random.random() < 0.5:  # an alarm that has to do with the events
                alarm = np.where(random.random(count) < 0.1, alarm, np.roll(labels, 3))
            if labels.any() and alarm.any():
                yield labels, alarm


def etapr_of(labels, alarm):
    from eTaPR_pkg.etapr import evaluate_w_streams
    from faster_etapr import evaluate_from_preds

    for theta_p, theta_r, delta in (
        (0.5, 0.1, 0.0),
        (0.7, 0.3, 0.0),
        (0.2, 0.9, 0.0),
        (0.5, 0.1, 0.2),
        (0.5, 0.1, 1.0),
    ):
        said = evaluate_w_streams(labels.tolist(), alarm.tolist(), theta_p, theta_r, delta)
        three = [float(said[name]) for name in ("eTaP", "eTaR", "f1")]
        if delta > 0:  # leave out what hangs on rounding: another answer for a limit just below
            lower = (theta * (1 - 1e-9) for theta in (theta_p, theta_r))
            again = evaluate_w_streams(labels.tolist(), alarm.tolist(), *lower, delta)
            if abs(again["f1"] - said["f1"]) > 1e-12:
                continue
        if delta == 0:
            other = evaluate_from_preds(alarm, labels, theta_p=theta_p, theta_r=theta_r)
            names = ("eta/precision", "eta/recall", "eta/f1")
            np.testing.assert_allclose([other[name] for name in names], three, 0, 1e-12)
        yield {"settings": [theta_p, theta_r, delta], "said": three}


def ranges_of(labels, alarm):
    from prts import ts_precision, ts_recall

    for alpha, bias, cardinality in product(
        (0.0, 0.3), ("flat", "front", "middle", "back"), ("one", "reciprocal")
    ):
        options = {"bias": bias, "cardinality": cardinality}
        precision = ts_precision(labels, alarm, alpha=0.0, **options)
        recall = ts_recall(labels, alarm, alpha=alpha, **options)
        yield {"settings": [alpha, bias, cardinality], "said": [float(precision), float(recall)]}


def tsb_of(labels, alarm):
    from TSB_AD.evaluation.basic_metrics import basic_metricor

    if labels[0] or labels.all() or alarm.all():
        return None
    grader, score = basic_metricor(), alarm.astype(float)
    return {
        "r_based_f1": float(grader.metric_RF1(labels, score, preds=alarm)),
        "pa_f1": float(grader.metric_PointF1PA(labels, score, preds=alarm)),
    }


def adjusted_of(labels, alarm):
    from sklearn.metrics import precision_recall_fscore_support
    from tadpak.pak import pak

    for k in (0, 10, 25, 50, 75, 100):
        flags = pak(alarm.astype(float), labels, 0.5, k)
        said = precision_recall_fscore_support(labels, flags, average="binary", zero_division=0)
        yield {"settings": [k], "said": [float(number) for number in said[:3]]}


def nab_of(labels, alarm):
    from nab.sweeper import Sweeper

    weights = {
        "standard": (1.0, 0.11, 1.0),
        "reward_low_fp": (1.0, 0.22, 1.0),
        "reward_low_fn": (1.0, 0.11, 2.0),
    }
    windows = spans(labels)
    count = len(labels)
    for (name, (hit, false, missed)), probation in product(weights.items(), (0.15, 0.0)):
        sweeper = Sweeper(probation, {"tpWeight": hit, "fpWeight": false, "fnWeight": missed})
        if any(stop - start < 2 or stop <= probation * count for start, stop in windows):
            continue
        limits = [(start, stop - 1) for start, stop in windows]

        def raw(scores, sweeper=sweeper, limits=limits):
            times = list(range(count))
            return sweeper.scoreDataSet(times, scores.tolist(), limits, "file", 1.0)[1].score

        base, perfect = raw(np.zeros(count)), hit * len(windows)
        said = 100 * (raw(alarm.astype(float)) - base) / (perfect - base)
        yield {"settings": [name, probation], "said": [float(said)]}


def causes():
    from causrca_eval.helpers_rca_eval import calculate_mapk
    from RCAEval.benchmark.evaluation import Evaluator
    from RCAEval.classes.graph import Node

    random = np.random.default_rng(SEED + 1)
    names = [f"s{number}" for number in range(9)]
    for most in (1, 1, 3, 5):
        rankings = [random.permutation(names)[: random.integers(0, 10)].tolist() for _ in range(12)]
        sizes = random.integers(1, most + 1, 12)
        truths = [sorted(random.permutation(names)[:size].tolist()) for size in sizes]
        said = {"map": [float(calculate_mapk(truths, rankings, k)) for k in range(1, 8)]}
        if most == 1:
            judge = Evaluator(max_k=7)
            for ranking, (truth,) in zip(rankings, truths, strict=True):
                judge.add_case(
                    [Node(name, "x") for name in ranking], Node(truth, "x"), n_candidates=len(names)
                )
            said["ac"] = [judge.accuracy(k) for k in range(1, 8)]
            said["avg"] = [judge.average(k) for k in range(1, 8)]
            said["chance_ac"] = [judge.chance_accuracy(k) for k in range(1, 8)]
            said["chance_avg"] = [judge.chance_average(k) for k in range(1, 8)]
        yield {"rankings": rankings, "truths": truths, "signals": len(names), "said": said}


def graphs():
    import networkx as nx
    from RCAEval.benchmark.metrics import F1, SHD
    from RCAEval.classes.graph import MemoryGraph, Node

    random = np.random.default_rng(SEED + 2)
    for share in (0.1, 0.3, 0.6):
        for _ in range(4):
            matrices = (random.random((2, 7, 7)) < share) & ~np.eye(7, dtype=bool)
            both = []
            for matrix in matrices:
                nodes = [Node(f"s{number}", "x") for number in range(7)]
                graph = nx.DiGraph()
                graph.add_nodes_from(nodes)
                graph.add_edges_from((nodes[i], nodes[j]) for i, j in np.argwhere(matrix))
                both.append(MemoryGraph(graph))
            found, true = both
            ratios = F1(true, found)
            yield {
                "found": np.argwhere(matrices[0]).tolist(),
                "true": np.argwhere(matrices[1]).tolist(),
                "said": [SHD(true, found), *(ratios[x] for x in ("precision", "recall", "f1"))],
            }


def main():
    cases = [
        {
            "rows": len(labels),
            "events": spans(labels),
            "alarms": spans(alarm),
            "etapr": list(etapr_of(labels, alarm)),
            "ranges": list(ranges_of(labels, alarm)),
            "tsb_ad": tsb_of(labels, alarm),
            "pa_k": list(adjusted_of(labels, alarm)),
            "nab": list(nab_of(labels, alarm)),
        }
        for labels, alarm in recordings()
    ]
    packages = ("prts", "TSB-AD", "RCAEval", "faster-etapr", "scikit-learn", "numpy")
    about = {
        "seed": SEED,
        "tolerance": TOLERANCE,
        "reason": "double precision everywhere; sums in another order",
        "packages": {name: version(name) for name in packages},
        "sources": {
            "eTaPR": "db9787f",
            "NAB": "d62afec",
            "tadpak": "dbeb262",
            "causRCA": "e83338c",
        },
    }
    golden = {
        "about": about,
        "recordings": cases,
        "causes": list(causes()),
        "graphs": list(graphs()),
    }
    FILE.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    logging.info("%d recordings, %d bytes", len(cases), FILE.stat().st_size)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
