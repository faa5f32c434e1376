"""What twenty alarms on real recordings say, and what is known to have happened.

Usage: ``python -m benchmarks.accuracy.twenty_alarms [--only COLUMN,…] [--pages FOLDER] [--write]``.

The default learns and watches develop files as in the league. The first alarm raised in each of
`EVENTS` is told as it was in the end. With ``--pages`` the page of each is
written to a folder, to be looked at; they hold data, and have no place in the project. With
``--write`` the sentences go to ``docs/results/twenty-alarms.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy.explanations import Explained, in_events
from benchmarks.common import ROOT, commit, data_folder, options, table
from benchmarks.league.recordings import COLUMNS, cases_of
from threadpoolctl import threadpool_limits

from causewatch.errors import shorten
from causewatch.evaluation.baselines.causal import Default
from causewatch.explain.explanation import explain
from causewatch.explain.report import write_report

__all__: list[str] = []

PAGE = ROOT / "docs" / "results" / "twenty-alarms.md"
MOST = 160
"""Characters of what is known."""
COMMAND = "python -m benchmarks.accuracy.twenty_alarms"
EVENTS = {
    "3w own": [("5_WELL-00016_20180405020345", None)],
    "3w well 3": [("2_WELL-00003_20141122214325", None)],
    "cranfield": [("case3_1", None), ("case5_1", None)],
    "gecco": [("geccoIC2018Train", "event 14"), ("geccoIC2018Train", "event 34")],
    "alfa": [
        ("carbonZ_2018-09-11-15-05-11_1_elevator_failure", None),
        ("carbonZ_2018-10-05-14-34-20_2_right_aileron_failure_with_emr_traj", None),
        ("carbonZ_2018-10-05-15-55-10_engine_failure_with_emr_traj", None),
    ],
    "cobotops": [("session 1", None)],
    "lbnl": [("SZVAV 2017-09-22", None)],
    "batadal": [("dataset04", "3"), ("dataset04", "5"), ("dataset04", "6")],
    "skab": [("other-6", None)],
    "tep": [("d02", None), ("d06", None), ("d21", None)],
    "causrca": [("coolant-exp_27-run_1", None), ("hydraulics-exp_20-run_3", None)],
}
"""By column of the league: recordings, and the event where there are several."""
ABOUT = """Twenty events of the develop files of the [league](../league.md), one alarm each: the
first one raised in the event, as it was told in the end. *What is known* is what the publisher
says, with the signals where it acts. No plant knowledge is given. Pages as they are written:
[a process](../pictures/alarm-tep.png), [a water network](../pictures/alarm-batadal.png)."""
MENDED = [
    (
        "hydraulics-exp_20-run_3",
        "Hyd_Filter_Ok was changed from 1 to 0",
        "Hyd_Filter_Ok was switched off (1 → 0)",
    ),
    (
        "gecco, event 35",
        "pH has followed Cl_2 (after 8 min) the other way round",
        "pH jumped up by 0.153",
    ),
    (
        "5_WELL-00016_20180426142005",
        "P-PDG has not behaved as its causes say",
        "P-PDG has been 1.39 times noisier than usual",
    ),
    (
        "SZVAV 2017-09-22, from 0 to 0.1 at once",
        "has been 5.49 times noisier than usual",
        "jumped up by 0.0988",
    ),
    (
        "hydraulics-exp_8-run_1",
        "cannot be told: Hyd_Pump_On, Hyd_Pump_isOff or SR_tighten (0 %)",
        "cannot be told: Hyd_Pump_On or Hyd_Pump_isOff",
    ),
    ("d01, links around it", "37 arrows among 12 signals", "8 arrows among 9, none crosses"),
    (
        "dataset04, event 1, look at next",
        "S_PU10 rises by about 0.59 within 1 h …",
        "S_PU10 goes off within 1 h if it is P_J317. So far it has gone off.",
    ),
    (
        "dataset04, charts",
        "ten days before an alarm of nine hours",
        "sixty ticks before, one unit of time",
    ),
]
"""What was mended by looking at alarms and their pages: where, before, now."""


def main() -> None:
    given = options(
        __doc__,
        only={"default": ",".join(EVENTS), "help": "columns by name"},
        pages={"type": Path, "help": "folder for the page of each alarm"},
        write={"action": "store_true", "help": "write the page of the docs"},
    )
    told = [one for name in given.only.split(",") for one in alarms(name)]
    if given.pages is not None:
        given.pages.mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(told, 1):
            about = {"watched": one.recording}
            write_report(one.last, given.pages / f"{number:02d}.html", about=about)
    text = sentences(told)
    print(text)
    if given.write:
        made = f"Made by `{COMMAND} --write`; commit {commit()}."
        mended = table(["where", "before", "now"], MENDED)
        head = ["# Twenty alarms on real recordings", made, ABOUT, text]
        parts = [*head, "## What was mended by looking at alarms and their pages", mended]
        PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def alarms(name: str) -> Iterator[Explained]:
    """The first alarm of each event of a column, if there is one."""
    wanted = EVENTS[name]
    recordings = {recording for recording, _ in wanted}
    with threadpool_limits(1):
        for case in cases_of(COLUMNS[name], data_folder(), "develop"):
            watched = [one for one in case.recordings if one.name in recordings]
            if not watched:
                continue
            detector = Default()
            detector.fit(case.split)
            for recording in watched:
                events = [event for where, event in wanted if where == recording.name]
                for one in in_events(name, detector.model, recording):
                    if events and events[0] in (None, one.event.name):
                        events.pop(0)
                        yield one


def sentences(told: Sequence[Explained]) -> str:
    """A table of what is said, and what is known."""
    rows = []
    for number, one in enumerate(told, 1):
        found = explain(one.last)
        causes = ", ".join(
            f"{'**' if cause.signal in one.event.signals else ''}{cause.signal}"
            f"{'**' if cause.signal in one.event.signals else ''} {cause.confidence:.0%}"
            for cause in found.likely[:3]
        )
        known = ". ".join(filter(None, (one.event.name, one.event.description)))
        if one.event.signals:
            known = f"{shorten(known, MOST)} ({', '.join(one.event.signals)})"
        look = found.checks[0].text if found.checks else "–"
        where = f"{one.column}: {one.recording}"
        rows.append([number, where, known, found.headline, causes, look])
    head = ["", "recording", "what is known", "what is said", "candidates (bold: true)", "look at"]
    return table(head, rows)


if __name__ == "__main__":
    main()
