"""The page `sentences.md`: every sentence of an alarm, with an example made by the program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

AT = int(datetime(2026, 3, 2, 14, 5, 10, tzinfo=UTC).timestamp()) * 1_000_000_000


class Entry(NamedTuple):
    """One sentence: what makes it, what it means, and what to do."""

    kind: str
    fields: dict[str, Any]
    means: str
    todo: str


ENTRIES = (
    Entry(
        "switched",
        {"signal": "P101", "what": "switch", "before": 0.0, "after": 1.0},
        "A pump, lamp or other switch changed against what its causes say.",
        "Ask whether somebody switched it by hand; look at who commands it.",
    ),
    Entry(
        "switched",
        {"signal": "MV201", "what": "valve", "before": 1.0, "after": 0.0},
        "The same of a valve.",
        "Look whether the valve is really there; a command may have come from elsewhere.",
    ),
    Entry(
        "switched",
        {"signal": "P102", "what": "switch", "after": 0.0},
        "Its causes say that it should have changed, and it did not.",
        "Look whether it obeys its commands: a tripped motor, a stuck valve, a forced output.",
    ),
    Entry(
        "value",
        {"signal": "recipe", "what": "setting", "before": 30000.0, "after": 60000.0},
        "Something that never moved in normal operation has another value.",
        "If somebody meant to, accept it (`causewatch alarms accept`); if not, set it back.",
    ),
    Entry(
        "value",
        {"signal": "heater", "what": "setting", "low": 18.0, "high": 18.0, "after": 35.9},
        "The same, and the change itself lies before what can be seen.",
        "As above.",
    ),
    Entry(
        "value",
        {"signal": "TIT101", "before": 18.0, "after": 35.9},
        "The same of something that moves freely now.",
        "Treat it as a process alarm; learn with a longer recording if it may move.",
    ),
    Entry(
        "twin",
        {"signal": "LIT301-B"},
        "Two signals that were always equal are not any more.",
        "Compare both with a third reading: one of the two sensors, or the line between, is wrong.",
    ),
    Entry(
        "stuck",
        {"signal": "LIT301", "after": 812.0},
        "A sensor shows the same value for longer than it ever did, while the plant moves.",
        "Look at the sensor and its wiring: frozen, disconnected, or held by somebody.",
    ),
    Entry(
        "stuck",
        {"signal": "parts", "what": "counter", "after": 1204.0},
        "The same of a counter.",
        "Look whether the line stands, or only its counter.",
    ),
    Entry(
        "range",
        {"signal": "LIT301", "after": 1012.0, "low": 798.0, "high": 1001.0},
        "A sensor is where it never was in normal operation.",
        "Treat it as a process alarm. If the plant may go there, learn it with a longer recording.",
    ),
    Entry(
        "level",
        {"signal": "FIT201", "amount": -0.42},
        "A sensor is within its range, but not what its causes say, by about so much.",
        "Check its calibration; look for a leak or a by-pass between it and its causes.",
    ),
    Entry(
        "drift",
        {"signal": "AIT202", "amount": 0.21},
        "The same, growing.",
        "Plan a calibration; fouling, wear and slow leaks look like this.",
    ),
    Entry(
        "jump",
        {"signal": "FIT201", "amount": 1.7},
        "A single step or spike that its causes do not explain.",
        "Once: note it. Again and again: a loose contact, or a disturbance nearby.",
    ),
    Entry(
        "noise",
        {"signal": "PIT501", "amount": 3.4},
        "A signal scatters that many times more than usual.",
        "Look for cavitation, air, vibration, a failing sensor, or a controller that hunts.",
    ),
    Entry(
        "link",
        {"signal": "FIT201", "link": (0.8, 0.1)},
        "A cause that is named no longer has its effect.",
        "Look at what lies between the two: a closed valve, a slipping belt, an actuator off duty.",
    ),
    Entry(
        "link",
        {"signal": "FIT201", "link": (0.8, -0.7)},
        "The effect has the other sign.",
        "Wiring or direction of rotation after maintenance; a control loop in manual.",
    ),
    Entry(
        "link",
        {"signal": "FIT201", "link": (0.8, 1.5)},
        "The effect is stronger, or weaker.",
        "Wear, fouling, another operating point.",
    ),
    Entry(
        "other",
        {"signal": "FIT201"},
        "It is not as its causes say, and nothing simpler describes how.",
        "Look at its chart on the page of the alarm.",
    ),
)

HEALTH = {
    "missing": ("No value arrives.", "Check gateway, tag name and sensor."),
    "stale": ("The last value is old and held for a while.", "The same."),
    "frozen": ("Only with `--preset paper`: it stands still.", "Check the sensor."),
    "out_of_range": (
        "Beyond the smallest or largest value of the recording by more than half of its range. A"
        " process can get there, too.",
        "Broken wire, wrong unit or scale; if another gauge shows it as well, the plant itself.",
    ),
    "unlike": (
        "Off alone for hours, or again and again; its limit is lifted so that it hides nothing.",
        "`causewatch alarms accept` if it is right as it is, or learn again.",
    ),
    "rate_wrong": ("Rows come faster or slower than learnt.", "Check the exporter."),
    "not_judged": (
        "Nothing is watched: the clock of the rows stands still, or many of them are dropped as"
        " late or unreadable; the sentence says which.",
        "Check the clock of the plant, the exporter, and who else sends rows.",
    ),
    "incomplete": (
        "At the start: saves or events of an earlier run are missing or damaged; the sentence says"
        " which.",
        "Restore a copy if that is not enough; look at the disk.",
    ),
    "silent": ("No rows come at all.", "Check source, network and broker."),
    "not_kept": (
        "State or scores cannot be written. Watching goes on; what waits would be lost by a kill.",
        "Make room on the disk, end what locks the database, see to its server.",
    ),
}


OUTSIDE = ("FIT201", 9.7, 1.2, 2.6)
"""An example of a signal far outside its normal range."""

UNLIKE = ("LIT301", 65.0, 58.0, 62.0, 60.1, "2026-03-02 10:40:00")
"""An example of a signal that is no longer as learnt."""


def sentences_page() -> str:
    """The page `sentences.md`."""
    from causewatch.explain.sentence import HEALTH as SENTENCES
    from causewatch.monitor.health import out_of_range_text, unlike_text

    said = {"out_of_range": out_of_range_text(*OUTSIDE), "unlike": unlike_text(*UNLIKE)}
    head = [
        "# What alarms say",
        "",
        "Generated by `make docs` from the code that writes the sentences. Names, values and times"
        " are examples. Units stand behind values where the [plant knowledge](knowledge.md) has"
        " them, and `; FIT201 and MV201 follow from it` at the end where signals downstream moved.",
        "",
        "| kind | sentence | means | what to do |",
        "|---|---|---|---|",
    ]
    rows = [f"| `{e.kind}` | {_sentence(e)} | {e.means} | {e.todo} |" for e in ENTRIES]
    unsure = [
        "",
        "Where no candidate has a confidence of 0.5 the sentence names the candidates instead. Look"
        " at what the alarm lists under *what to look at next*:",
        "",
        f"> {_cannot_tell()}",
        "",
        "## Health",
        "",
        "A finding about the health of a signal blames nothing in the plant.",
        "",
        "| state | sentence | means | what to do |",
        "|---|---|---|---|",
    ]
    health = [
        f"| `{state}` | {said.get(state, sentence.format('FIT201'))} | {means} | {todo} |"
        for state, sentence in SENTENCES.items()
        for means, todo in [HEALTH[state]]
    ]
    return "\n".join([*head, *rows, *unsure, *health]) + "\n"


def _context() -> Any:
    from causewatch.detectors import Equations
    from causewatch.explain.ranking import Context

    nothing = np.empty(0, dtype=np.intp)
    equations = Equations(1, 2, nothing, nothing, nothing, np.empty(0), np.zeros(1), np.ones(1))
    return Context(
        equations, np.zeros(1), np.ones(1), 10.0, "naive", twins={"LIT301-B": "LIT301"}
    )  # fmt: skip


def _sentence(entry: Entry) -> str:
    from causewatch.explain.changes import Change
    from causewatch.explain.sentence import headline
    from causewatch.graph import Link
    from causewatch.monitor.alarms import BrokenLink

    fields = dict(entry.fields)
    if "link" in fields:
        normal, observed = fields["link"]
        fields["link"] = BrokenLink(Link("P101", "FIT201", 1), normal, observed, 4.0)
    change = Change(kind=entry.kind, at=AT, **fields)  # type: ignore[arg-type]
    return headline(change, (), _context())


def _cannot_tell() -> str:
    from causewatch.explain.sentence import cannot_tell

    return cannot_tell(["LIT301", "FIT201", "MV201"], AT, _context())
