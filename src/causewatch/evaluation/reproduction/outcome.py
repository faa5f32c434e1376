"""What comes out of a reproduction, for tables and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from causewatch.evaluation.paper_counting import Counts
from causewatch.evaluation.paper_words import in_words
from causewatch.evaluation.reproduction.figures import PUBLISHED, SOURCE

__all__ = ["AttackOutcome", "MethodOutcome", "Reproduction", "Timing"]


@dataclass(frozen=True, slots=True)
class Timing:
    """How long learning took, and one online step.

    Attributes
    ----------
    learn_s
        Seconds.
    tick_ms_mean, tick_ms_std
        Milliseconds of one online step; the spread is None where only the whole was timed.
    """

    learn_s: float
    tick_ms_mean: float
    tick_ms_std: float | None


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """One method.

    Attributes
    ----------
    name
        As on the command line.
    counts
        Both countings.
    timing
        How long it took.
    gets
        What it learns from and where its limits come from, in a sentence.
    untouched_share
        Share of steps with alarm in the same recordings with nothing done to the machine; None
        where there are none.
    """

    name: str
    counts: Counts
    timing: Timing
    gets: str
    untouched_share: float | None = None

    @property
    def meaning(self) -> tuple[str, ...]:
        """What its figures mean, in sentences."""
        said = in_words(self.counts)
        if self.untouched_share is None:
            return said
        text = (
            "In the same recordings with nothing done to the machine, the alarm was on for"
            f" {100.0 * self.untouched_share:.1f} % of the steps."
        )
        return (*said, text)


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """One attack, as the published method sees it.

    Attributes
    ----------
    name
        What the publisher calls it.
    signals
        The attacked signals.
    known
        Those of them that the model holds; the others are nearly constant in normal operation.
    steps, alarmed
        Steps of its window, and how many of them had an alarm.
    top
        The "top 10 %" by the paper's criterion, worst first.
    stages
        The stages or parts that the attacked signals belong to.
    stage_hit, signal_hit
        Whether a signal of an attacked stage, or an attacked signal itself, is among `top`.
    """

    name: str
    signals: tuple[str, ...]
    known: tuple[str, ...]
    steps: int
    alarmed: int
    top: tuple[str, ...]
    stages: tuple[str, ...]
    stage_hit: bool
    signal_hit: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.name,
            "steps": self.steps,
            "alarmed": self.alarmed,
            "top": list(self.top),
            "stage_hit": self.stage_hit,
            "signal_hit": self.signal_hit,
            "signals": list(self.signals),
            "signals_in_model": list(self.known),
            "stages": list(self.stages),
        }


@dataclass(frozen=True)
class Reproduction:
    """Everything that one run gives.

    Attributes
    ----------
    dataset, simulated, title, notes
        What it ran on; see `Case`.
    step, max_lag, signals, links
        The published model: rows per step, longest lag in steps, sizes.
    methods
        By name, the published method first.
    attacks
        What the published method says about each attack.
    left_out
        Sentences about methods that could not run.
    seed
        Of everything random.
    """

    dataset: str
    simulated: bool
    title: str
    notes: tuple[str, ...]
    step: int
    max_lag: int
    signals: int
    links: int
    methods: Mapping[str, MethodOutcome]
    attacks: tuple[AttackOutcome, ...]
    left_out: tuple[str, ...] = ()
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract of ``causewatch reproduce --json``."""
        timing = self.methods["paper"].timing
        return {
            "dataset": self.dataset,
            "simulated": self.simulated,
            "title": self.title,
            "seed": self.seed,
            "step_rows": self.step,
            "max_lag": self.max_lag,
            "signals": self.signals,
            "links": self.links,
            "learn_s": timing.learn_s,
            "tick_ms_mean": timing.tick_ms_mean,
            "tick_ms_std": timing.tick_ms_std,
            "methods": {name: self._method(one) for name, one in self.methods.items()},
            "attacks": [attack.to_dict() for attack in self.attacks],
            "published": {
                "source": SOURCE,
                "signals": PUBLISHED[self.dataset].signals,
                "explanations": list(PUBLISHED[self.dataset].explanations),
            },
            "left_out": list(self.left_out),
            "notes": list(self.notes),
        }

    def _method(self, one: MethodOutcome) -> dict[str, Any]:
        published = PUBLISHED[self.dataset]
        scores = published.scores.get(one.name)
        names = ("precision", "recall", "f1")
        return {
            "simulated": self.simulated,
            "paper_counting": one.counts.published.to_dict(),
            "strict": one.counts.strict.to_dict(),
            "alarm_share": one.counts.alarm_share,
            "untouched_alarm_share": one.untouched_share,
            "learn_s": one.timing.learn_s,
            "tick_ms_mean": one.timing.tick_ms_mean,
            "tick_ms_std": one.timing.tick_ms_std,
            "gets": one.gets,
            "meaning": list(one.meaning),
            "published": None if scores is None else dict(zip(names, scores, strict=True)),
            "published_learn_s": published.learn_s.get(one.name),
        }
