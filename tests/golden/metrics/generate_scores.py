"""Freeze what the reference packages say: ``python tests/golden/metrics/generate_scores.py``.

Rewrites ``scores.json``: labels, scores, alarms and settings of each case, and the reference
figures. Run it in a virtual environment of its own with TSB-AD 1.5 (installed without its
dependencies, of which the evaluation needs none but the following), vus 0.0.6, scikit-learn 1.9
and numpy 2.4; nothing of causewatch is imported. Say why in the commit when the file changes.

VUS, its slices and affiliation come from TSB-AD; the range AUCs of ``vus`` are kept beside them,
since the two packages differ there (see ``causewatch.evaluation.metrics.volume``).
"""

from __future__ import annotations

import json
import logging
import math
from importlib.metadata import version
from pathlib import Path

import numpy as np

FILE = Path(__file__).parent / "scores.json"
TOLERANCE = 1e-9
REASON = "all programs compute in double precision; only the order of summation differs"
PACKAGES = ("TSB-AD", "vus", "scikit-learn", "numpy")


def drawn(seed):
    """Labels, scores and alarms of any shape, with a window and a number of limits."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(6, 160))
    labels = random.random(rows) < random.choice([0.04, 0.1, 0.3, 0.6])
    alarm = random.random(rows) < random.choice([0.04, 0.2, 0.7])
    if seed % 2:
        labels, alarm = np.repeat(labels, 5)[:rows], np.repeat(alarm, 3)[:rows]
    labels[1:3] = False, True  # both must occur
    score = random.normal(size=rows) + random.choice([0.0, 1.0, 3.0]) * labels
    score = np.round(score, 0 if seed % 3 == 0 else 4)
    return labels, score, alarm, int(random.integers(0, 40)), int(random.choice([7, 40, 250]))


def at(rows, *spans):
    """One bool per row, true in the spans (first and last row)."""
    flags = np.zeros(rows, dtype=bool)
    for first, last in spans:
        flags[first : last + 1] = True
    return flags


def cases():
    """Name, labels, score, alarm, window and number of limits."""
    for seed in range(24):
        yield f"drawn {seed}", *drawn(seed)
    random = np.random.default_rng(100)
    noise = np.round(random.normal(size=60), 3)
    middle, late = at(60, (25, 34)), at(60, (40, 47))
    yield "events at both ends", at(60, (0, 4), (55, 59)), noise, at(60, (3, 9)), 12, 250
    yield "one row at each end", at(60, (0, 0), (59, 59)), noise, at(60, (59, 59)), 12, 60
    # Buffers of 5 rows touch between rows 30 and 31, and share rows from 6 on.
    touching = at(60, (20, 25), (36, 40))
    yield "buffers touch", touching, noise, at(60, (30, 31)), 10, 250
    yield "buffers share a row", at(60, (20, 25), (35, 40)), noise, at(60, (30, 30)), 10, 250
    yield "one-row events", at(60, (5, 5), (20, 20), (50, 50)), noise, at(60, (21, 21)), 16, 250
    close = at(60, (20, 20), (22, 22), (24, 24), (26, 26), (31, 31))
    yield "events close together", close, noise, at(60, (21, 23), (28, 40)), 25, 250
    yield "equal scores", middle, np.round(noise), at(60, (0, 59)), 10, 250
    yield "constant score", middle, np.full(60, 0.25), at(60), 10, 250
    yield "two values", middle, middle * 1.0, middle, 10, 250
    yield "upside down", middle, 1.0 - middle, ~middle, 10, 250
    yield "window longer than the recording", late, noise, at(60, (39, 39)), 150, 250
    yield "no window", late, noise, at(60, (48, 48)), 0, 250
    yield "two rows", at(2, (1, 1)), np.array([0.5, 0.25]), at(2, (0, 0)), 4, 250
    yield "all but one row", ~at(60, (30, 30)), noise, at(60, (30, 30)), 9, 250
    across = at(60, (10, 12), (30, 33), (45, 50))
    yield "alarm across events", across, noise, at(60, (8, 31), (36, 48)), 10, 250
    yield "alarm to the border of a zone", across, noise, at(60, (15, 20), (39, 39)), 10, 250
    yield "an alarm in one zone only", across, noise, at(60, (0, 2)), 10, 250
    labels = at(1200, (100, 180), (400, 402), (420, 420), (700, 899), (1150, 1199))
    score = np.round(np.convolve(random.normal(size=1200) + labels, np.ones(9) / 9, "same"), 4)
    yield "as by default", labels, score, score > 0.6, 100, 250


def reference(labels, score, alarm, window, limits):
    """What the packages say."""
    from sklearn import metrics
    from TSB_AD.evaluation.affiliation.generics import convert_vector_to_events
    from TSB_AD.evaluation.affiliation.metrics import pr_from_events
    from TSB_AD.evaluation.basic_metrics import basic_metricor, generate_curve
    from vus.analysis.robustness_eval import generate_curve as vus_curve
    from vus.utils.metrics import metricor

    truth = labels.astype(int)
    curve = generate_curve(truth, score, window, "opt", limits)
    rate, recall, precision = curve[0], curve[2], curve[4]
    rate, recall = rate.reshape(window + 1, -1)[-1], recall.reshape(window + 1, -1)[-1]
    precision = precision.reshape(window + 1, -1)[-1]
    near = pr_from_events(
        convert_vector_to_events(alarm), convert_vector_to_events(truth), (0, len(truth))
    )
    theirs = metricor().RangeAUC(labels=truth, score=score, window=window, plot_ROC=True)
    other = vus_curve(truth, score, window, "opt", limits)
    at_limit = metrics.precision_recall_fscore_support(
        truth, alarm, average="binary", zero_division=np.nan
    )
    return {
        "vus_roc": curve[6],
        "vus_pr": curve[7],
        "vus_roc of vus": other[6],
        "vus_pr of vus": other[7],
        "range_auc_roc": np.diff(rate) @ (recall[1:] + recall[:-1]) / 2,
        "range_auc_pr": np.diff(recall[:-1]) @ precision[1:],
        "range_auc_roc of vus": theirs[0],
        "range_auc_pr of vus": theirs[1],
        "auc_pr": basic_metricor().metric_PR(truth, score),
        "auc_roc": basic_metricor().metric_ROC(truth, score),
        "standard_f1": basic_metricor().metric_PointF1(truth, score),
        "precision": at_limit[0],
        "recall": at_limit[1],
        "affiliation_precision": near["Affiliation_Precision"],
        "affiliation_recall": near["Affiliation_Recall"],
    }


def main():
    frozen = {
        "about": {
            "tolerance": TOLERANCE,
            "reason": REASON,
            **{name: version(name) for name in PACKAGES},
        },
        "cases": {},
    }
    for name, labels, score, alarm, window, limits in cases():
        found = reference(labels, score, alarm, window, limits)
        frozen["cases"][name] = {
            "labels": "".join("01"[flag] for flag in labels.tolist()),
            "alarm": "".join("01"[flag] for flag in alarm.tolist()),
            "score": score.tolist(),
            "window": window,
            "thresholds": limits,
            # JSON has no NaN: null is what the reference calls undefined.
            "expected": {
                key: None if math.isnan(value) else float(value) for key, value in found.items()
            },
        }
        logging.info("%s: VUS-PR %.4f", name, found["vus_pr"])
    text = json.dumps(frozen, indent=1)
    # One line per list of numbers keeps the file short and its changes readable.
    FILE.write_text(_lists_on_one_line(text) + "\n", encoding="utf-8")


def _lists_on_one_line(text):
    parts = text.split("[")
    return "[".join(
        [
            parts[0],
            *(" ".join(a.split()) + "]" + b for a, b in (p.split("]", 1) for p in parts[1:])),
        ]
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
