"""What the paper reports, to stand beside what comes out here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "SOURCE", "PublishedResults", "Scores"]

Scores = tuple[float, float, float]
"""Precision, recall and F1."""

SOURCE = (
    "D. Meli, Explainable Online Unsupervised Anomaly Detection for Cyber-Physical Systems via"
    " Causal Discovery from Time Series, IEEE CASE 2024 (arXiv 2404.09871)"
)
"""Where the published figures are from; measured on an Intel i9-13900HX."""


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """The published figures of one dataset.

    Attributes
    ----------
    scores
        By method, under the paper's own counting.
    learn_s
        Seconds of learning; of the three neural networks only their mean is reported.
    tick_ms
        Mean and standard deviation of the paper's time for one step, in milliseconds.
    signals
        How many signals its model has.
    explanations
        What it says about the causes found, one sentence each.
    """

    scores: dict[str, Scores]
    learn_s: dict[str, float]
    tick_ms: tuple[float, float]
    signals: int
    explanations: tuple[str, ...]


PUBLISHED = {
    "swat": PublishedResults(
        scores={
            "paper": (1.00, 1.00, 1.00),
            "rnn": (0.96, 0.63, 0.76),
            "tcn": (1.00, 0.59, 0.74),
            "tce": (0.99, 0.58, 0.73),
        },
        learn_s={"paper": 25.0, "rnn": 220.0, "tcn": 220.0, "tce": 220.0},
        tick_ms=(1.0, 4.0),
        signals=33,
        explanations=(
            "Attacks 8, 26 and 27: FIT401 comes first.",
            "Signals of the attacked stages are always in the top 10 % (3 of 33).",
        ),
    ),
    "pepper": PublishedResults(
        scores={
            "paper": (0.66, 0.92, 0.77),
            "rnn": (0.84, 0.79, 0.82),
            "tcn": (0.89, 0.73, 0.80),
            "tce": (0.86, 0.95, 0.90),
        },
        learn_s={"paper": 320.0, "rnn": 500.0, "tcn": 500.0, "tce": 500.0},
        tick_ms=(1.0, 4.0),
        signals=243,
        explanations=(
            "LEDs: touches of the tablet come first.",
            "Joints: the temperature of the knee comes first; 11 of the top 24 are joints.",
            "Wheels: their stiffness and temperature are in the first four; 2 of 24 are joints.",
        ),
    ),
}
"""By dataset."""
