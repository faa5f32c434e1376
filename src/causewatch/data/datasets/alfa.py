"""ALFA, flights of a fixed-wing drone with faults that were made in the air; real recordings.

41 signals at 10 Hz, joined from the topics of the robot's log: what the autopilot asks for and what
is measured (``nav_info-…``), the eight control outputs (``rc-out.channels0`` to ``7``), inertial
sensors, pressure, wind and battery. Times are dates without a zone, to the nanosecond.

Flights called ``…no_failure`` are healthy: they are to learn from. In the others an engine, an
aileron, the elevator or the rudder fails after a minute or two and stays so to the end. When, and
which control channel it is, is read from ``causes.json`` beside them. Flights are short, and climbs
and turns are normal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from causewatch.data.datasets.base import Dataset, Recording
from causewatch.data.datasets.causes import CauseEntry, needed_causes, row_events
from causewatch.data.datasets.checks import check_columns, read_published
from causewatch.data.datasets.files import find_files, plain_name
from causewatch.data.datasets.shaping import event_labels
from causewatch.errors import TableError

__all__ = ["load"]

TITLE = "ALFA"
NAME = re.compile(r"carbonZ_\d{4}(?:-\d{2}){5}_(?:\d+_)?(.+)")
HEALTHY = "no_failure"
TIME = "time"


def _several(topic: str, *fields: str) -> tuple[str, ...]:
    return tuple(f"{topic}{field}" for field in fields)


SIGNALS = (
    *(f"nav_info-{what}.{how}" for what in ("roll", "pitch", "yaw", "airspeed")
      for how in ("commanded", "measured")),
    *_several("nav_info-errors.", "alt_error", "aspd_error", "xtrack_error"),
    *_several("nav_info-velocity.meas_", "x", "y", "z"),
    *(f"rc-out.channels{channel}" for channel in range(8)),
    *_several("imu-data_raw.angular_velocity.", "x", "y", "z"),
    *_several("imu-data_raw.linear_acceleration.", "x", "y", "z"),
    *_several("imu-mag.magnetic_field.", "x", "y", "z"),
    "imu-atm_pressure.fluid_pressure",
    *_several("vfr_hud.", "groundspeed", "heading", "throttle", "altitude", "climb"),
    *_several("wind_estimation.twist.linear.", "x", "y"),
    *_several("battery.", "voltage", "current"),
)  # fmt: skip


def load(paths: Sequence[Path]) -> Dataset:
    """Load flights of ALFA.

    Parameters
    ----------
    paths
        The folder that holds the flights, healthy and with a fault, and ``causes.json``, or some of
        these flights.
    """
    expected = (
        "flights named like carbonZ_2018-09-11-14-41-38_no_failure.parquet, healthy and with a "
        "fault, with causes.json beside them"
    )
    files = [path for path in find_files(paths, TITLE, expected) if _fault(path)]
    faulty = [path for path in files if _fault(path) != HEALTHY]
    if not faulty or len(faulty) == len(files):
        missing = "healthy flight" if faulty else "flight with a fault"
        message = f"No {missing} of {TITLE} was found; expected {expected}."
        raise TableError(message)
    causes = needed_causes(faulty, TITLE, expected)
    test = tuple(_read(path, causes[path]) for path in faulty)
    normal = tuple(_read(path, ()) for path in files if path not in faulty)
    part = "complete" if (len(normal), len(test)) == (10, 18) else "a part of it"
    version = (
        f"ALFA joined at 10 Hz, {part}: {len(normal)} healthy flights, {len(test)} with a fault."
    )
    return Dataset("alfa", version, normal, test)


def _fault(path: Path) -> str:
    """What fails in a flight, by the name of its file; empty where it is not called like one."""
    match = NAME.fullmatch(plain_name(path))
    return match[1] if match else ""


def _read(path: Path, causes: Sequence[CauseEntry]) -> Recording:
    columns = check_columns(path, (TIME, *SIGNALS), TITLE)
    more = [column for column in columns if column not in (TIME, *SIGNALS)]
    table = read_published(path, time=TIME, ignore=more)
    events = row_events(causes, table, path)
    table = replace(table, labels=event_labels(table, events))
    return Recording(plain_name(path), table, events, _fault(path))
