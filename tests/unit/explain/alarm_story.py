"""A small plant for tests of explanations: a chain of signals whose equations are known."""

from __future__ import annotations

import numpy as np

from causewatch.detectors.equations import Equations
from causewatch.explain.ranking import Context
from causewatch.graph import Link
from causewatch.monitor.alarms import Alarm, BrokenLink
from causewatch.monitor.course import Course

NAMES = ("FIT101", "LIT301", "P101", "AIT202")
SECOND = 1_000_000_000
START = 1_451_296_800 * SECOND  # 2015-12-28T10:00:00
ONSET = 80


def equations():
    """FIT101 acts on LIT301 (1 tick), LIT301 on P101 (2 ticks); AIT202 stands alone."""
    links = [(0, 0, 1, 0.5), (0, 1, 1, 0.9), (1, 1, 1, 0.5), (1, 2, 2, 2.0), (2, 2, 1, 0.3)]
    source, target, lag, coefficient = zip(*links, (3, 3, 1, 0.5), strict=True)
    return Equations(
        signals=4,
        max_lag=2,
        source=np.array(source),
        target=np.array(target),
        lag=np.array(lag),
        coefficient=np.array(coefficient),
        intercept=np.zeros(4),
        spread=np.ones(4),
    )


def context(**more):
    scale = np.array([1.2, 1.8, 4.0, 1.2])
    return Context(equations(), np.zeros(4), scale, every=10.0, clock="naive", **more)


def rows(ticks=110, seed=1, shock=None):
    """Healthy ticks; `shock(tick, row)` may change a row while it is being made."""
    noise = np.random.default_rng(seed).normal(size=(ticks + 30, 4))
    law, values = equations(), np.zeros((ticks + 30, 4))
    for t in range(2, len(values)):
        values[t] = noise[t]
        for s, k, lag, c in zip(law.source, law.target, law.lag, law.coefficient, strict=True):
            values[t, k] += c * values[t - lag, s]
        if shock is not None and t >= ONSET + 30:
            shock(t - 30, values[t])
    return values[30:]


def course(values, names=NAMES, law=None):
    """What a monitor would have kept, with a plain detector of mean and spikes."""
    law = law or equations()
    innovation = law.innovations(values[:, : law.signals])
    known = np.nan_to_num(innovation)
    evidence, mean = np.abs(known) / 5.0, np.zeros(law.signals)
    for t, row in enumerate(np.clip(known, -8, 8)):
        mean += (row - mean) / 8.0
        evidence[t] = np.maximum(evidence[t], np.abs(mean) / 1.2)
    guards = values[:, law.signals :]
    moved = (guards != guards[0]).astype(float) * 5.0
    expected = np.hstack(
        [values[:, : law.signals] - innovation * law.spread, 0 * guards + guards[0]]
    )
    time = START + 10 * SECOND * np.arange(len(values), dtype=np.int64)
    return Course(
        tuple(names),
        time,
        values,
        expected,
        np.hstack([innovation, np.zeros_like(guards)]),
        np.hstack([evidence, moved]),
        np.hstack([evidence, moved]).max(axis=1),
    )


def at(tick):
    """Time of a tick."""
    return START + 10 * SECOND * tick


def alarm(tick=ONSET, **more):
    return Alarm("0123456789ab", "anomaly", at(tick), at(tick), at(tick), **more)


def broken(source, target, lag, normal, observed, deviation=3.0):
    return BrokenLink(Link(source, target, lag), normal, observed, deviation)


def biased_sensor(offset=8.0):
    """LIT301 reads too high; the plant goes on as if nothing had happened."""
    values = rows()
    values[ONSET:, 1] += offset
    return course(values)


def changed_mechanism(shift=4.0):
    """Something pushes LIT301 up, and P101 follows."""

    def shock(tick, row):
        row[1] += shift

    return course(rows(shock=shock))


def frozen_signal(column=3):
    values = rows()
    values[ONSET:, column] = values[ONSET - 1, column]
    return course(values)
