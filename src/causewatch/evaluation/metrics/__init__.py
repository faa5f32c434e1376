"""Metrics as plain functions of arrays, each with its definition, its source and its limits."""

from causewatch.evaluation.metrics.adjusted import Flattering, pa_k, pa_k_area, point_adjusted
from causewatch.evaluation.metrics.affiliation import Affiliation, affiliation
from causewatch.evaluation.metrics.alarms import (
    delays,
    event_recall,
    false_alarms,
    false_alarms_per_day,
    first_alarms,
    share_under_alarm,
)
from causewatch.evaluation.metrics.causes import (
    ac_at_k,
    avg_at_k,
    chance_ac_at_k,
    chance_avg_at_k,
    chance_map_at_k,
    chance_mrr,
    map_at_k,
    mrr,
)
from causewatch.evaluation.metrics.etapr import Etapr, etapr
from causewatch.evaluation.metrics.graphs import GraphScore, compare_adjacency, compare_graphs
from causewatch.evaluation.metrics.nab import nab
from causewatch.evaluation.metrics.points import (
    Pointwise,
    auc_pr,
    auc_roc,
    best_f1,
    pointwise,
    precision_recall_curve,
)
from causewatch.evaluation.metrics.ranges import range_precision_recall
from causewatch.evaluation.metrics.volume import range_auc_pr, range_auc_roc, vus_pr, vus_roc

__all__ = [
    "Affiliation",
    "Etapr",
    "Flattering",
    "GraphScore",
    "Pointwise",
    "ac_at_k",
    "affiliation",
    "auc_pr",
    "auc_roc",
    "avg_at_k",
    "best_f1",
    "chance_ac_at_k",
    "chance_avg_at_k",
    "chance_map_at_k",
    "chance_mrr",
    "compare_adjacency",
    "compare_graphs",
    "delays",
    "etapr",
    "event_recall",
    "false_alarms",
    "false_alarms_per_day",
    "first_alarms",
    "map_at_k",
    "mrr",
    "nab",
    "pa_k",
    "pa_k_area",
    "point_adjusted",
    "pointwise",
    "precision_recall_curve",
    "range_auc_pr",
    "range_auc_roc",
    "range_precision_recall",
    "share_under_alarm",
    "vus_pr",
    "vus_roc",
]
