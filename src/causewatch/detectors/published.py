"""The published detector (Meli, IEEE CASE 2024), exactly, at the same cost at every tick.

At every tick each signal is regressed again on its causes, over **all** ticks so far, with an
intercept. A link is broken when its coefficient differs from the normal one by more than its limit.
The published scripts solve the whole regression again at each tick; here a triangular factor is
updated (`causewatch.kernels.triangular`), and the coefficients are the same.

Where the paper's text and its scripts differ, `PublishedOptions` has an option, and the scripts'
side is the default, because they made the published numbers. ``docs/published.md`` lists them all.

What it does in cases the paper leaves open:

- *Stretches* are joined, as the scripts join them: `new_stretch` is ignored.
- *Missing values*: the ticks of the `paper` preset hold zeros where a value was missing, as in the
  scripts. A value that is still missing here is handled by the option `missing`.
- *A limit of zero* means that the coefficient never moved in normal operation: any movement beyond
  rounding breaks the link, by a large but finite ratio (`NEVER_MOVED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from causewatch.detectors.equations import Equations
from causewatch.detectors.evidence import Evidence, LinkChanges
from causewatch.errors import NotEnoughDataError, SettingError, UnknownNameError
from causewatch.kernels.doubled import add
from causewatch.kernels.triangular import GrowingLeastSquares

__all__ = ["PublishedDetector", "PublishedOptions", "published_limits"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
State = dict[str, NDArray[np.generic]]

NEVER_MOVED = 1e6
"""Ratio of a link whose limit is zero and whose coefficient has moved."""
ROUNDING = 1e-9
"""Movements below this share of a target's largest coefficient are rounding, if the limit is 0."""
LARGEST = 1e100
"""Larger values count as missing: their squares would overflow."""


@dataclass(frozen=True, slots=True)
class PublishedOptions:
    """One option for each point of watching where the paper's text and its scripts differ.

    Attributes
    ----------
    columns
        Live regression: ``every_lag`` (scripts): each link is a column; ``first_lag`` (text): each
        cause once, at its shortest lag. The links left out have no live coefficient (NaN).
    intercept
        Whether the live regression has one (scripts) or not (text). Its change is never judged.
    limit_share
        Part of the normal recording over which a limit is summed: 0.7 (scripts) or 1 (text).
    limit_last_step
        Whether the last tick of that part counts: the scripts stop one tick before it.
    limit_factor
        All limits are multiplied by it: 1 is the formula (scripts); the text also speaks of limits
        "tuned to maximize accuracy".
    first_row
        First tick that a target's live regression uses. ``own``: its own longest lag.
        ``last_target``: the longest lag of the last target with links, for every target; some
        public versions of the scripts do that by accident, others do not. Where that lag is too
        short for another target those scripts fail, and so does this option.
    missing
        A missing value in a tick: ``skip`` leaves the tick out of the regressions it belongs to;
        ``zero`` reads it as 0 (scripts). In the `paper` preset the ticks arrive with the zeros
        already in place, so that ``skip`` only matters when somebody else makes the ticks.
    ranking_weight
        ``root_links`` (scripts): a target's norm is counted once for each of its links, so its
        value is √links too large; ``once`` (text).
    ranking_units
        ``raw`` (scripts): coefficients as they are, which favours targets with large numbers;
        ``limit``: each difference in units of its link's limit.
    suspects
        How many signals the "top 10 %" of n are: ``scripts`` floor(0.1 n) + 1, ``text``
        floor(0.1 n), at least one.
    naming
        ``right``: a link's numbers stand under its own name. ``scripts``: columns are scored in
        the order of lags but named in the order of sources, so that causes of one target can stand
        under each other's names. This changes names only, never a score, hence not the default.
    stopping
        ``never`` (scripts): watching goes on after an alarm; ``first_alarm`` (text): the first
        broken link is the last thing that is said, and later ticks are not looked at.
    step_numbers
        `PublishedDetector.step` counts from the first estimate (``estimates``, scripts: step k uses
        ticks up to k + max_lag), or is the number of the tick (``ticks``).
    """

    columns: Literal["every_lag", "first_lag"] = "every_lag"
    intercept: bool = True
    limit_share: float = 0.7
    limit_last_step: bool = False
    limit_factor: float = 1.0
    first_row: Literal["own", "last_target"] = "own"
    missing: Literal["skip", "zero"] = "skip"
    ranking_weight: Literal["root_links", "once"] = "root_links"
    ranking_units: Literal["raw", "limit"] = "raw"
    suspects: Literal["scripts", "text"] = "scripts"
    naming: Literal["right", "scripts"] = "right"
    stopping: Literal["never", "first_alarm"] = "never"
    step_numbers: Literal["estimates", "ticks"] = "estimates"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            known, given = get_args(hints[field.name]), getattr(self, field.name)
            if known and given not in known:
                raise UnknownNameError(str(given), f"value of {field.name}", known)
        if not 0.0 < self.limit_share <= 1.0:
            msg = f"limit_share is {self.limit_share:g}; it must lie above 0 and be at most 1."
            raise SettingError(msg)
        if not (0.0 < self.limit_factor < np.inf):
            msg = f"limit_factor is {self.limit_factor:g}; it must be positive and finite."
            raise SettingError(msg)


def published_limits(
    ticks: Floats, equations: Equations, options: PublishedOptions | None = None
) -> Floats:
    """Limit of each link: ē = sqrt(Σ_t (c_normal − c_t)²) over a part of the normal recording.

    Parameters
    ----------
    ticks
        The whole normal recording, ticks × signals; stretches follow each other.
    equations
        Links and their normal coefficients.
    options
        `limit_share`, `limit_last_step`, and what concerns the live regression.

    Returns
    -------
    One limit for each link; NaN for links that have no column in the live regression.
    """
    options = options or PublishedOptions()
    end = max(2, int(options.limit_share * len(ticks)))  # as the normal coefficients are fitted
    end = min(end, len(ticks)) - (0 if options.limit_last_step else 1)
    if end <= equations.max_lag:
        msg = (
            f"The normal recording has {len(ticks)} ticks; limits with lags up to"
            f" {equations.max_lag} need at least {equations.max_lag + 2} in the first"
            f" {options.limit_share:.0%}: give a longer recording."
        )
        raise NotEnoughDataError(msg)
    # The accident behind `first_row` happened in the scripts' live part only.
    live = _Regressions(equations, options, np.zeros(equations.signals, dtype=np.intp))
    total = np.zeros(len(equations.source))
    for tick, values in enumerate(ticks[:end]):
        live.take(values)
        if tick >= equations.max_lag:
            total += np.nan_to_num(live.coefficients() - equations.coefficient) ** 2
    limits: Floats = np.where(live.watched, np.sqrt(total), np.nan)
    return limits


class PublishedDetector:
    """Watches one stream with the published method; see the top of this module.

    Parameters
    ----------
    equations
        Links and their normal coefficients.
    limits
        Of each link: see `published_limits`.
    options
        Where text and scripts differ; the scripts if not given.
    """

    def __init__(
        self, equations: Equations, limits: Floats, options: PublishedOptions | None = None
    ) -> None:
        self.equations = equations
        self.options = options or PublishedOptions()
        self._limits = np.asarray(limits, dtype=np.float64) * self.options.limit_factor
        self._live = _Regressions(equations, self.options, _first_rows(equations, self.options))
        links = len(equations.source)
        largest = np.zeros(equations.signals)
        np.maximum.at(largest, equations.target, np.abs(equations.coefficient))
        self._rounding = ROUNDING * largest[equations.target]
        self._by_target = np.argsort(equations.target, kind="stable")
        self._targets, self._starts = np.unique(
            equations.target[self._by_target], return_index=True
        )
        self._names = _names(equations, self.options)
        self._ticks = 0
        self._stopped = False
        self._observed = np.full(links, np.nan)
        self._expected = np.full(equations.signals, np.nan)
        self._judged = np.zeros(equations.signals, dtype=np.bool_)
        # Sums of squares by link as pairs (high, low): what happened between two moments is their
        # difference, which the large sums of the first ticks would otherwise swallow.
        self._sums = np.zeros((2, links))

    @property
    def step(self) -> int:
        """Number of the last step (see `PublishedOptions.step_numbers`); negative before any."""
        offset = self.equations.max_lag if self.options.step_numbers == "estimates" else 0
        return self._ticks - 1 - offset

    def update(self, values: Floats, new_stretch: bool = False) -> Evidence:
        """See `Detector`; `new_stretch` is ignored, as the scripts join everything."""
        if self._stopped:
            return self._evidence(self._deviation())
        self._ticks += 1
        self._judged = self._live.take(values)
        self._expected = self._live.expected
        if self._ticks > self.equations.max_lag:
            self._observed = self._live.coefficients()
            square = np.nan_to_num(self._observed - self.equations.coefficient) ** 2
            high, low = add((self._sums[0], self._sums[1]), (square, np.zeros_like(square)))
            self._sums = np.stack([high, low])
        evidence = self._evidence(self._deviation())
        self._stopped = (
            self.options.stopping == "first_alarm"
            and evidence.score is not None
            and evidence.score > 1.0
        )
        return evidence

    def links(self) -> LinkChanges:
        """See `Detector`; NaN before the first estimate, and for links without a column."""
        return LinkChanges(
            observed=self._observed[self._names], deviation=self._deviation()[self._names]
        )

    def totals(self) -> Floats:
        """Sums of squared differences of each link so far, to be handed to `ranking` later."""
        return self._sums.copy()

    def ranking(self, since: Floats | None = None) -> Floats:
        """The paper's criterion: sqrt(Σ_i Σ_t (c_normal − c_t)²) of each signal; 0 without links.

        Parameters
        ----------
        since
            What `totals` returned at an earlier moment: the ticks after it are counted. All
            ticks if not given.
        """
        sums = self._sums[0] + self._sums[1]
        if since is not None:
            sums = (self._sums[0] - since[0]) + (self._sums[1] - since[1])
        sums = np.maximum(sums, 0.0)
        if self.options.ranking_units == "limit":
            known = self._limits > 0.0
            sums = np.where(known, sums / np.where(known, self._limits, 1.0) ** 2, 0.0)
        signals = self.equations.signals
        total = np.bincount(self.equations.target, weights=sums, minlength=signals)
        if self.options.ranking_weight == "root_links":
            watched = self.equations.target[self._live.watched]
            total = total * np.bincount(watched, minlength=signals)
        criterion: Floats = np.sqrt(total)
        return criterion

    def suspects(self, since: Floats | None = None) -> Ints:
        """The signals in the "top 10 %" of the paper's criterion, worst first, by number."""
        size = len(self._targets) // 10
        size = size + 1 if self.options.suspects == "scripts" else max(1, size)
        order = np.argsort(-self.ranking(since)[self._targets], kind="stable")
        return self._targets[order[:size]]

    def snapshot(self) -> State:
        """See `Detector`."""
        return {
            **self._live.snapshot(),
            "ticks": np.array(self._ticks),
            "stopped": np.array(self._stopped),
            "observed": self._observed.copy(),
            "expected": self._expected.copy(),
            "judged": self._judged.copy(),
            "sums": self._sums.copy(),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """See `Detector`."""
        self._live.restore(state)
        self._ticks = int(np.asarray(state["ticks"], dtype=np.int64))
        self._stopped = bool(state["stopped"])
        self._observed = np.array(state["observed"], dtype=np.float64)
        self._expected = np.array(state["expected"], dtype=np.float64)
        self._judged = np.array(state["judged"], dtype=np.bool_)
        self._sums = np.array(state["sums"], dtype=np.float64)

    def _deviation(self) -> Floats:
        """Distance of each link from normal in units of its limit."""
        distance = np.abs(self._observed - self.equations.coefficient)
        moved = np.where(distance > self._rounding, NEVER_MOVED, 0.0)
        moved = np.where(np.isnan(distance), np.nan, moved)
        known = self._limits != 0.0
        deviation: Floats = np.where(known, distance / np.where(known, self._limits, 1.0), moved)
        return deviation

    def _evidence(self, deviation: Floats) -> Evidence:
        signals = np.full(self.equations.signals, np.nan)
        if len(self._targets):
            signals[self._targets] = np.fmax.reduceat(deviation[self._by_target], self._starts)
        signals[~self._judged] = np.nan
        known = signals[~np.isnan(signals)]
        score = float(known.max()) if len(known) else None
        return Evidence(score=score, signals=signals, expected=self._expected.copy())


class _Regressions:
    """Every target on its causes over all ticks so far, in the units of the signals.

    Parameters
    ----------
    equations, options
        Which columns.
    first
        By signal: the first tick that its regression may use. A regression never begins before
        the longest lag of its own columns.
    """

    def __init__(self, equations: Equations, options: PublishedOptions, first: Ints) -> None:
        self._equations = equations
        self._zero = options.missing == "zero"
        self.watched = _watched(equations, options)
        numbers = np.flatnonzero(self.watched)
        extra = 1 if options.intercept else 0
        sizes = np.bincount(equations.target[numbers], minlength=equations.signals)
        self._targets = np.flatnonzero(sizes)
        sizes = sizes[self._targets] + extra
        self._squares = GrowingLeastSquares(sizes)
        self._first = first[self._targets]

        # A row holds, target by target: the intercept's 1, the links by lag as in the scripts, and
        # the target's own value. The memory has one column more than there are signals: always 1.
        ends = np.cumsum(sizes + 1) - 1
        self._begins = ends - sizes
        numbers = numbers[np.lexsort((equations.lag[numbers], equations.target[numbers]))]
        column = np.full(int(np.sum(sizes + 1)), equations.signals)
        back = np.zeros_like(column)
        column[ends] = self._targets
        links = np.ones(len(column), dtype=np.bool_)
        links[ends] = False
        if options.intercept:
            links[self._begins] = False
        column[links], back[links] = equations.source[numbers], equations.lag[numbers]
        # Which coefficient of all problems, and which problem, belongs to each link.
        problem = np.searchsorted(self._targets, equations.target[numbers])
        self._problem = np.zeros(len(equations.source), dtype=np.intp)
        self._place = np.zeros_like(self._problem)
        self._problem[numbers] = problem
        self._place[numbers] = np.flatnonzero(links) - problem

        self._length = equations.max_lag + 1
        self._memory = np.full((self._length, equations.signals + 1), np.nan)
        self._memory[:, -1] = 1.0
        self._ticks = 0
        # For each place of the newest tick in the ring: where to pick every cell of a new row.
        across = self._memory.shape[1]
        self._cells = [
            ((now - back) % self._length) * across + column for now in range(self._length)
        ]
        self._causes = [
            ((now - equations.lag) % self._length) * across + equations.source
            for now in range(self._length)
        ]
        self.expected: Floats = np.full(equations.signals, np.nan)

    def take(self, values: Floats) -> NDArray[np.bool_]:
        """Take in a tick; says which signals' regressions it went into."""
        now = self._ticks % self._length
        usable = np.abs(values) < LARGEST
        self._memory[now, :-1] = np.where(usable, values, 0.0 if self._zero else np.nan)
        memory = self._memory.ravel()
        row = memory[self._cells[now]]
        present = self._ticks >= self._first
        if len(row):
            present &= np.logical_and.reduceat(np.isfinite(row), self._begins)
        self._squares.add(row, present)
        self._ticks += 1

        equations = self._equations
        parts = memory[self._causes[now]] * equations.coefficient
        self.expected = equations.intercept + np.bincount(
            equations.target, weights=parts, minlength=equations.signals
        )
        judged = np.zeros(equations.signals, dtype=np.bool_)
        judged[self._targets] = present
        return judged

    def coefficients(self) -> Floats:
        """Of each link; NaN where there is no column for it, or no row yet."""
        if not len(self._targets):
            return np.full(len(self.watched), np.nan)
        solution = self._squares.solve()[self._place]
        known = self.watched & (self._squares.rows[self._problem] > 0)
        coefficients: Floats = np.where(known, solution, np.nan)
        return coefficients

    def snapshot(self) -> State:
        return {
            **self._squares.snapshot(),
            "memory": self._memory.copy(),
            "taken": np.array(self._ticks),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        self._squares.restore(state)
        self._memory[...] = state["memory"]
        self._ticks = int(np.asarray(state["taken"], dtype=np.int64))


def _watched(equations: Equations, options: PublishedOptions) -> NDArray[np.bool_]:
    """Links that have a column in the live regression."""
    if options.columns == "every_lag":
        return np.ones(len(equations.source), dtype=np.bool_)
    order = np.lexsort((equations.lag, equations.source, equations.target))
    pairs = np.stack([equations.target[order], equations.source[order]])
    new = np.any(np.diff(pairs, axis=1, prepend=-1) != 0, axis=0)
    watched = np.zeros(len(order), dtype=np.bool_)
    watched[order] = new
    return watched


def _first_rows(equations: Equations, options: PublishedOptions) -> Ints:
    """By signal: the first tick its live regression may use."""
    if options.first_row == "own" or not len(equations.target):
        return np.zeros(equations.signals, dtype=np.intp)
    of_last = int(equations.lag[equations.target == equations.target.max()].max())
    longest = int(equations.lag.max())
    if of_last < longest:
        msg = (
            f"first_row is 'last_target', whose longest lag is {of_last}, but another target has"
            f" lag {longest}: the published scripts fail on such a model; use 'own'."
        )
        raise SettingError(msg)
    return np.full(equations.signals, of_last, dtype=np.intp)


def _names(equations: Equations, options: PublishedOptions) -> Ints:
    """For each link, the link whose numbers stand under its name."""
    right = np.arange(len(equations.source))
    if options.naming == "right":
        return right
    named = np.lexsort((equations.lag, equations.source, equations.target))
    scored = np.lexsort((equations.source, equations.lag, equations.target))
    names = right.copy()
    names[named] = scored
    return names
