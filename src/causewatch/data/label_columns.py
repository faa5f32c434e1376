"""Columns that look like labels: what somebody knew about each row, and no signal of the plant.

Plants have signals that are called by the same words: ``alarm_horn``, ``fault_reset_valve``,
``P101_FAULT``. So a name counts only if it consists of nothing but such words, and only together
with cells that can be labels: a few words, truth values or whole numbers.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from causewatch.data.cells import MISSING, WORDS, read_numbers

__all__ = ["looks_like_labels"]

VERDICTS = frozenset(
    {
        "anomaly", "anomalies", "anomalous", "attack", "attacks", "attacked", "label", "labels",
        "labelled", "labeled", "lable", "groundtruth", "outlier", "outliers", "intrusion",
        "changepoint", "changepoints",
    }
)  # fmt: skip
"""Words (lower case) that say by themselves that a person has judged the row."""

TROUBLE = frozenset(
    {
        "fault", "faults", "faulty", "failure", "event", "events", "class", "defect",
        "malfunction",
    }
)  # fmt: skip
"""Words that do so where nothing says of what: ``EVENT``, but not ``P101_FAULT``."""

BESIDE = frozenset(
    {"is", "normal", "abnormal", "flag", "type", "number", "detection", "ground", "truth", "true"}
)
"""Words that may stand beside these."""

PUBLISHED = frozenset({"attflag", "robotprotectivestop", "griplost"})
"""Names of labels in published recordings, letters and digits only, whose words do not tell."""

JUDGED = frozenset(
    {
        "attack", "a ttack", "anomaly", "anomalous", "abnormal", "fault", "faulty", "failure",
        "broken", "recovering",
    }
)  # fmt: skip
"""Cells that make a column of words one of labels whatever its name, if others say ``normal``."""

MOST_VALUES = 32
"""Labels have at most so many different values."""

SWITCHED = frozenset(WORDS) - {"true", "false"}
"""Words that say how a device stands."""


def looks_like_labels(name: str, cells: pl.Series, decimal: str = ".") -> bool:
    """Whether a column is one of labels, by its name and its cells."""
    values = _few(cells)
    if values is None:
        return False
    if isinstance(values, set):
        if "normal" in values and values & JUDGED:
            return True
        if values & SWITCHED:
            return False
    return _is_called_so(name) and _are_whole(cells, decimal)


def _is_called_so(name: str) -> bool:
    """Whether a name consists of words for labels only; numbers may stand beside a verdict."""
    parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    words = set(re.findall(r"[a-z]+[0-9]*|[0-9]+", parts.lower()))
    if re.sub(r"[\W_]+", "", name.lower()) in PUBLISHED:
        return True
    plain = {word for word in words if not re.fullmatch(r"[a-z]?[0-9]+", word)}
    if plain & VERDICTS:
        return plain <= VERDICTS | TROUBLE | BESIDE | {"no"}
    return bool(words & TROUBLE) and words <= TROUBLE | BESIDE


def _few(cells: pl.Series) -> set[str] | int | None:
    """The different words of a column of text, how many numbers there are, or None if too many."""
    if cells.dtype == pl.String or isinstance(cells.dtype, (pl.Categorical, pl.Enum)):
        text = cells.cast(pl.String).drop_nulls().unique()
        if len(text) > 4 * MOST_VALUES:
            return None
        words = set(text.str.strip_chars().str.to_lowercase()) - MISSING
        return words if len(words) <= MOST_VALUES else None
    count = cells.drop_nulls().n_unique()
    return count if count <= MOST_VALUES + 1 else None  # NaN is one, too


def _are_whole(cells: pl.Series, decimal: str) -> bool:
    """Whether all numbers of a column are whole."""
    numbers = read_numbers(cells, decimal).values
    there = numbers[np.isfinite(numbers)]
    return bool((there == np.rint(there)).all())
