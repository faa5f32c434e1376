"""Times, series and files, as the programming interface takes and gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from causewatch.errors import UnknownNameError
from causewatch.server.hub import DIGITS, numbers
from causewatch.server.plant import seconds_of
from causewatch.server.served import Served
from causewatch.server.trail import PARTS, Run

__all__ = ["Most", "Names", "Time", "columns_of", "content", "nanoseconds", "series_of"]

NANOSECONDS = 1_000_000_000
MOST_SIGNALS = 12
"""Signals asked for at once."""

Time = Annotated[float, Field(ge=-9e9, le=9e9, allow_inf_nan=False)]
"""Seconds on the clock of the stream; nanoseconds of it must fit into 64 bits."""
Names = Annotated[
    tuple[str, ...], Query(max_length=MOST_SIGNALS, description="Names of signals; repeatable.")
]
Most = Annotated[int, Query(ge=1, le=20_000, description="Points at most.")]


def nanoseconds(seconds: float | None) -> int | None:
    """A time as the monitor counts it."""
    return None if seconds is None else round(seconds * NANOSECONDS)


def content(*kinds: str | dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """How a route describes an answer that is a file, of one of some types.

    A schema may be given as well; otherwise it is text. The errors of the route stay JSON, which
    they would not if the type were told by its response class.
    """
    schema = next((one for one in kinds if isinstance(one, dict)), {"type": "string"})
    types = {one: {"schema": schema} for one in kinds if isinstance(one, str)}
    return {200: {"description": "The file.", "content": types}}


def columns_of(served: Served, names: Sequence[str]) -> list[int]:
    """Columns of signals; raises `UnknownNameError` for a name that there is none of."""
    index = served.index
    for name in names:
        if name not in index:
            raise UnknownNameError(name, "signal", tuple(index))
    return [index[name] for name in names]


def series_of(run: Run, names: Sequence[str]) -> dict[str, Any]:
    """Ticks for JSON; the columns of `run` are those of `names`."""
    return {
        "t": [seconds_of(one) for one in run.time.tolist()],
        "score": numbers(run.score),
        "signals": {
            name: {part: numbers(run.parts[part][:, k], DIGITS[part]) for part in PARTS}
            for k, name in enumerate(names)
        },
    }
