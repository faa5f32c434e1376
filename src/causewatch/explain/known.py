"""What people know about causes, applied to an alarm: origins take what follows from them.

Links that people named (see :class:`causewatch.discovery.Knowledge`) reach where nothing can be
learnt: to signals that never moved in normal work, and to signals that are not recorded at all. The
rules are those that an engineer uses with the drawing of a plant in hand:

- A signal in trouble, one of whose causes got into trouble before it or at the same time, is a
  consequence. The further down the chain it is, the less it keeps of its own weight; the rest goes
  to its causes. It keeps some, because a second fault may sit there.
- A signal without a mechanism has left its range, and no cause of it is in trouble: then its causes
  are suspects, in proportion to their evidence, though that is below the limit, and those that are
  not recorded. (For a signal with a mechanism this rule is not needed: its innovation is judged by
  what its causes did.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["follow_known"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Causes = Mapping[int, tuple[int, ...]]

KEPT = 0.5
"""What a consequence keeps of its own weight, for each step it is away from the origin."""
SLACK = 1
"""Ticks by which a cause may seem later than its effect: stamps and averages blur the order."""
ABSENT = 0.5
"""What speaks for a cause that is not recorded, in units of the limit."""


def follow_known(
    weight: Floats,
    trouble: Bools,
    onset: Ints,
    causes: Causes,
    unwatched: Mapping[int, tuple[str, ...]],
    linked: int,
) -> tuple[Floats, dict[str, float]]:
    """Weights after what is known about causes, and those of signals that are not recorded.

    Parameters
    ----------
    weight
        What speaks for each signal so far.
    trouble
        Which signals are above their limit.
    onset
        Tick at which the trouble of each began.
    causes
        By signal: the signals known to act on it.
    unwatched
        By signal: names of others known to act on it.
    linked
        Signals before this column have a mechanism.
    """
    upstream: dict[str, float] = {}
    if not causes and not unwatched:
        return weight, upstream
    blamed = _blamed(trouble, onset, causes)
    depth = _depths(len(weight), blamed)
    carried = weight.copy()
    # The far end of a chain first, so that everything on it arrives at the origin.
    for column in sorted(blamed, key=lambda one: (-depth[one], one)):
        nearer = [cause for cause in blamed[column] if depth[cause] < depth[column]]
        if not nearer:
            continue  # in a circle without an origin
        kept = weight[column] * KEPT ** int(depth[column])
        carried[nearer] += (carried[column] - kept) * weight[nearer] / weight[nearer].sum()
        carried[column] = kept
    for column in range(linked, len(weight)):
        if not trouble[column] or depth[column] > 0:
            continue
        known = [cause for cause in causes.get(column, ()) if not trouble[cause]]
        absent = unwatched.get(column, ())
        shares = weight[known]
        total = float(shares.sum()) + ABSENT * len(absent)
        if total <= 0.0:
            continue
        given = (1.0 - KEPT) * carried[column]
        carried[column] -= given
        carried[known] += given * (shares / total)
        for name in absent:
            upstream[name] = upstream.get(name, 0.0) + given * (ABSENT / total)
    return carried, upstream


def _blamed(trouble: Bools, onset: Ints, causes: Causes) -> dict[int, list[int]]:
    """By signal in trouble: its causes that were in trouble by then."""
    blamed = {}
    for column, known in causes.items():
        if not trouble[column]:
            continue
        found = [
            cause for cause in known if trouble[cause] and onset[cause] <= onset[column] + SLACK
        ]
        if found:
            blamed[column] = found
    return blamed


def _depths(signals: int, blamed: Mapping[int, Sequence[int]]) -> Ints:
    """Steps from the nearest origin; 0 also for those that no origin reaches (circles)."""
    depth = np.zeros(signals, dtype=np.intp)
    reached = {column for column in range(signals) if column not in blamed}
    step = 0
    while True:
        step += 1
        found = {
            column
            for column, known in blamed.items()
            if column not in reached and not reached.isdisjoint(known)
        }
        if not found:
            return depth
        depth[list(found)] = step
        reached |= found
