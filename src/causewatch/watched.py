"""`watch` and `score`: a whole recording, and what a monitor says about it as dataframes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import narwhals as nw
import narwhals.selectors as selectors
import numpy as np
from numpy.typing import NDArray

from causewatch.data import Clock, TimeTable, read_table
from causewatch.data.table import NANOSECONDS
from causewatch.errors import SettingError, TableError, listing, plural
from causewatch.explain.described import describe
from causewatch.model import NormalModel
from causewatch.monitor import Alarm, AlarmSettings, Monitor, too_little_judged
from causewatch.monitor.intake_cells import misfit
from causewatch.monitor.recorded import RowCover, ticks_of_table

__all__ = ["Watched", "score", "watch"]

NAT = np.iinfo(np.int64).min
Library = Literal["pandas", "polars", "pyarrow", "modin", "cudf"]
"""Libraries whose dataframes are answered in kind; anything else is answered in polars."""


@dataclass(frozen=True, eq=False)
class Watched:
    """What a monitor said about a recording.

    Attributes
    ----------
    scores
        A dataframe of its rows: `time`, `score` (1 is the alarm limit; missing where nothing can be
        said) and `alarm`, whether an alarm was on. The score of a tick is that of all its rows. A
        row that could not be used, such as one out of order, has neither time nor score.
    alarms
        A dataframe of its alarms as last told, in the order in which they were raised: `id`,
        `kind`, `raised_at`, `cleared_at`, `onset`, `peak_score`, `signal` (the first cause, missing
        if the origin cannot be told; or the one that is not well), `confidence` and `headline`.
    by_id
        The alarms themselves, for :func:`causewatch.explain`.
    unjudged
        Rows without a score.
    """

    scores: Any
    alarms: Any
    by_id: Mapping[str, Alarm]
    unjudged: int = 0

    def __repr__(self) -> str:
        return f"Watched({plural(len(self.scores), 'row')}, {plural(len(self.by_id), 'alarm')})"


def watch(
    model: NormalModel,
    recording: Any,
    *,
    settings: AlarmSettings | None = None,
    **reading: Any,
) -> Watched:
    """Watch a whole recording: its scores and its alarms, explained.

    Parameters
    ----------
    model
        What is normal.
    recording
        A dataframe, an array whose columns are `model.columns`, a path or several, or what
        :func:`causewatch.read_table` returned. Dataframes are answered in kind, all else in polars.
        Rows count one interval each where they have no times, or the model none.
    settings
        How alarms come and go.
    **reading
        Options of :func:`causewatch.read_table`: `time`, `ignore`, …

    Examples
    --------
    >>> import causewatch as cw
    >>> from causewatch.simulate import Fault, random_system
    >>> system = random_system(5, seed=1)
    >>> model = cw.learn(system.simulate(2000, seed=2).values)
    >>> fault = Fault("bias", "S03", start=200, end=300, size=9.0)
    >>> found = cw.watch(model, system.simulate(400, seed=3, faults=[fault]).values)
    >>> found.scores.columns
    ['time', 'score', 'alarm']
    >>> found.alarms["kind"].to_list(), found.alarms["signal"].to_list()
    (['anomaly', 'health'], ['x2', 'x2'])
    """
    monitor = Monitor(_model(model), settings=settings, describe=describe)
    last: dict[str, Alarm] = {}
    like, table = _library(recording), _read(model, recording, reading)
    rows = _rows_given(recording, table)
    scores, unjudged = _scored(monitor, table, rows, like, last)
    alarms = sorted(last.values(), key=lambda alarm: alarm.raised_at)
    return Watched(scores, _alarm_frame(alarms, monitor.clock, like), last, unjudged)


def score(
    model: NormalModel,
    recording: Any,
    *,
    settings: AlarmSettings | None = None,
    **reading: Any,
) -> Any:
    """The `scores` of :func:`watch` alone: faster, since no alarm is explained."""
    monitor = Monitor(_model(model), settings=settings)
    table = _read(model, recording, reading)
    return _scored(monitor, table, _rows_given(recording, table), _library(recording), {})[0]


def _model(given: object) -> NormalModel:
    if isinstance(given, NormalModel):
        return given
    msg = (
        f"The first argument is an object of type {type(given).__name__}; give a model, from"
        " causewatch.learn or causewatch.load, and then the recording."
    )
    raise SettingError(msg)


def _scored(
    monitor: Monitor, table: TimeTable, rows: int, like: Library, last: dict[str, Alarm]
) -> tuple[Any, int]:
    """A dataframe of the rows of a recording, and how many have no score; `last` gets its alarms.

    `rows` is how many there were before it was read.
    """
    cover = RowCover(table)
    for tick in ticks_of_table(monitor, table):
        if tick.time is not None:
            cover.add(tick.time, tick.score, tick.alarm)
        last |= {alarm.id: alarm for _, alarm in tick.events}
    missing = [name for name in monitor.model.watched if name not in set(table.signals)]
    judged = int(np.isfinite(cover.score).sum())
    left_out = rows - len(table)
    doubt = too_little_judged(
        monitor.model, len(table), judged, dropped=left_out, apart=table.interval, missing=missing
    )
    if not doubt and left_out:
        doubt = (
            f"{left_out:,} of {rows:,} rows could not be used and have no score; the notes of"
            " causewatch.read_table say why."
        )
    if doubt:
        warnings.warn(doubt, stacklevel=3)
    time, score = np.full(rows, NAT), np.full(rows, np.nan)
    alarm = np.zeros(rows, dtype=np.bool_)
    used = np.arange(len(table)) if table.file_rows is None else table.file_rows
    time[used], score[used], alarm[used] = table.time, cover.score, cover.alarm
    columns = {"time": _moments(time, monitor.clock), "score": score, "alarm": alarm}
    return _frame(columns, monitor.clock, like), rows - judged


def _rows_given(recording: Any, table: TimeTable) -> int:
    """How many rows there were before the recording was read, as far as they can be numbered."""
    if any(note.kind == "long_format" for note in table.notes):  # its lines are no rows
        return len(table)
    rows = len(table) if table.file_rows is None else int(table.file_rows[-1]) + 1
    rows = max(rows, sum(file.rows for file in table.files))
    given = nw.from_native(recording, pass_through=True)
    return max(rows, len(given)) if isinstance(given, (nw.DataFrame, np.ndarray)) else rows


def _alarm_frame(alarms: Sequence[Alarm], clock: Clock, like: Library) -> Any:
    causes = [alarm.causes[0] if alarm.causes and not alarm.abstained else None for alarm in alarms]
    unwell = [next(iter(alarm.signals)) if alarm.kind == "health" else None for alarm in alarms]
    cleared = [NAT if alarm.cleared_at is None else alarm.cleared_at for alarm in alarms]
    columns = {
        "id": [alarm.id for alarm in alarms],
        "kind": [alarm.kind for alarm in alarms],
        "raised_at": _moments([alarm.raised_at for alarm in alarms], clock),
        "cleared_at": _moments(cleared, clock),
        "onset": _moments([alarm.onset for alarm in alarms], clock),
        "peak_score": np.array([alarm.peak_score for alarm in alarms], dtype=np.float64),
        "signal": [
            cause.signal if cause else sick for cause, sick in zip(causes, unwell, strict=True)
        ],
        "confidence": np.array([cause and cause.confidence for cause in causes], dtype=np.float64),
        "headline": [alarm.headline for alarm in alarms],
    }
    return _frame(columns, clock, like)


def _moments(times: Sequence[int] | NDArray[np.int64], clock: Clock) -> NDArray[Any]:
    """Nanoseconds as dates, seconds, or numbers of rows; `NAT` is missing."""
    whole = np.asarray(times, dtype=np.int64)
    if clock in ("naive", "utc"):
        return whole.view("datetime64[ns]")
    seconds = np.where(whole == NAT, np.nan, whole / NANOSECONDS)
    return seconds if clock == "elapsed" or np.isnan(seconds).any() else seconds.astype(np.int64)


def _frame(columns: Mapping[str, Any], clock: Clock, like: Library) -> Any:
    """A dataframe of the library `like`; lists are texts."""
    cells = {
        name: nw.new_series(
            name, column, nw.String() if isinstance(column, list) else None, backend=like
        )
        for name, column in columns.items()
    }
    frame = nw.from_dict(cells)
    if clock == "utc":
        frame = frame.with_columns(selectors.datetime().dt.replace_time_zone("UTC"))
    # Polars holds NaN for larger than any number: what is not known must be null there.
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    known = [nw.when(~nw.col(name).is_nan()).then(nw.col(name)).alias(name) for name in floats]
    return frame.with_columns(*known).to_native()


def _library(recording: Any) -> Library:
    """The library to answer in."""
    if nw.dependencies.is_pandas_dataframe(recording):  # of which names may occur twice
        return "pandas"
    given = nw.from_native(recording, pass_through=True)
    if isinstance(given, nw.DataFrame):
        for library in get_args(Library):
            if library == given.implementation.value:
                return cast("Library", library)
    return "polars"


def _read(model: NormalModel, recording: Any, reading: Mapping[str, Any]) -> TimeTable:
    """The recording as the monitor is to see it."""
    table = read_table(recording, **{"usual": model.provenance.writing, **reading})
    if isinstance(recording, np.ndarray):
        if len(table.signals) != len(model.columns):
            what = f"The array has {len(table.signals)} columns"
            raise misfit(what, model.columns)
        table = replace(table, signals=model.columns)
    elif not set(table.signals) & set(model.watched):
        msg = (
            f"None of the model's signals is in the recording: it has {listing(table.signals)},"
            f" and the model watches {listing(model.watched)}."
        )
        raise TableError(msg)
    if "rows" in (model.clock, table.clock):
        # As a monitor counts rows without times.
        interval = max(1, round(model.interval * NANOSECONDS))
        clock: Clock = "rows" if model.clock == "rows" else "elapsed"
        table = replace(table, time=np.arange(len(table)) * interval, clock=clock)
    return table
