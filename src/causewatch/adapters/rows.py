"""Recordings as other libraries hand them over: arrays in, a model or a score for every row out.

What these libraries have in common is done here, once; the modules beside this one only give it
their shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from causewatch.data.cells import LARGEST
from causewatch.data.frames import from_dataframe
from causewatch.data.notes import Tally
from causewatch.data.table import NANOSECONDS, Clock, TimeTable
from causewatch.errors import TableError
from causewatch.model import NormalModel, learn
from causewatch.monitor import Monitor

__all__ = ["Rows", "index_times", "learn_rows", "score_rows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Consecutive rows of one recording.

    Attributes
    ----------
    names
        Of the signals, each once.
    values
        Rows × signals; NaN where missing.
    times
        Of the rows, as a column of a table; None if they have none and are evenly spaced.
    """

    names: tuple[str, ...]
    values: Floats
    times: pl.Series | None = None


def index_times(frame: Any) -> pl.Series | None:
    """The times in the index of a pandas frame; None if there are none."""
    if not nw.dependencies.is_pandas_dataframe(frame):
        return None
    raw = from_dataframe(frame.iloc[:, :0])
    if raw is None or raw.time_hint is None:
        return None
    return pl.concat(raw.blocks([raw.time_hint], Tally()))[raw.time_hint]


def learn_rows(rows: Rows, settings: Mapping[str, Any]) -> NormalModel:
    """A model of `rows`; `settings` are those of :func:`causewatch.learn`."""
    if rows.times is not None:
        name = "time"
        while name in rows.names:
            name += "_"
        frame = pl.DataFrame(_measured(rows.values), schema=list(rows.names), orient="row")
        return learn(frame.with_columns(rows.times.alias(name)), time=name, **settings)
    table = TimeTable(
        signals=rows.names,
        values=_measured(rows.values),
        time=np.arange(len(rows.values)) * NANOSECONDS,
        starts=np.zeros(1, dtype=np.intp),
        interval=1.0,
    )
    return learn(table, **settings)


def score_rows(model: NormalModel, rows: Rows) -> Floats:
    """Score of every row: 1.0 is the alarm limit, higher is more anomalous.

    A monitor starts afresh and is shown the rows in order. The score of a tick is that of all rows
    averaged in it. A row of which nothing can be said (the monitor warms up, or everything is
    missing) keeps the score of the row before; the first ones have 0, as nothing speaks against
    them.
    """
    monitor = Monitor(model)
    place = {name: k for k, name in enumerate(rows.names)}
    values = _measured(rows.values)[:, [place[name] for name in model.watched]]
    times, clock = _stream_times(model, rows)
    monitor.use_clock(clock)
    scores = np.zeros(len(values))
    whens = times.tolist()
    last, waiting = 0.0, 0  # the score so far, and the first row without one
    for k, row in enumerate(values):
        tick = monitor.update_ns(row, whens[k])
        if not tick.complete:
            continue
        for one in tick.all:
            last = last if one.score is None else one.score
            while waiting <= k and one.time is not None and whens[waiting] <= one.time:
                scores[waiting] = last
                waiting += 1
        # Only this row may belong to a tick still open; others that are left had wrong times.
        if waiting < k:
            scores[waiting:k] = last
            waiting = k
    end = monitor.flush()
    scores[waiting:] = last if end.score is None else end.score
    return scores


def _measured(values: Floats) -> Floats:
    """Values as tables and streams are read: what is too large to be measured is missing."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def _stream_times(model: NormalModel, rows: Rows) -> tuple[NDArray[np.int64], Clock]:
    """Time of every row in nanoseconds, and what it counts."""
    if rows.times is None or model.clock == "rows":
        interval = max(1, round(model.interval * NANOSECONDS))
        return np.arange(len(rows.values)) * interval, "elapsed"
    times = rows.times
    if times.null_count():
        msg = f"{times.null_count()} rows have no time in the index; give every row its time."
        raise TableError(msg)
    clock: Clock = "elapsed"
    if isinstance(times.dtype, pl.Datetime):
        clock = "naive" if times.dtype.time_zone is None else "utc"
    return times.dt.cast_time_unit("ns").to_physical().to_numpy(), clock
