"""``causewatch alarms``: the life of alarms from the shell, on the state of a watch."""

from __future__ import annotations

import getpass
import json
import os
import time as clock_time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.alarm_text import by_age, is_on, print_alarm, print_list
from causewatch.cli.options import Json, Verbose
from causewatch.cli.output import print_json, shown
from causewatch.errors import SettingError, UnknownNameError

if TYPE_CHECKING:
    from causewatch.monitor.state import StateFolder

__all__ = ["register"]

ABOUT = """See the alarms of a watch, and say what people know about them.

All of these work on the folder given to 'causewatch watch --state', while that watch is running and
when it is not. ID is the alarm's id, or the beginning of it. Times are those of the watched source:
what is done now happens at its last tick."""

EXAMPLES = """Examples:

\b
  causewatch alarms list --state watching
  causewatch alarms show 3f2a --state watching
  causewatch alarms ack 3f2a --state watching --comment 'valve is being repaired'
  causewatch alarms shelve 3f2a --for 8h --state watching
  causewatch alarms shelve --signal LIT301 --for 2d --state watching
  causewatch alarms normal 3f2a --state watching"""

PATIENCE = 5.0
"""Seconds to wait for a running watch to answer."""
WAIT = 0.05

State = Annotated[
    Path, typer.Option(metavar="DIR", help="The folder given to 'causewatch watch --state'.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The alarm's id, or the beginning of it.")]
MaybeId = Annotated[
    str | None, typer.Argument(metavar="ID", help="The alarm's id, or the beginning of it.")
]
By = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Who says so.", show_default="the user's name"),
]
Comment = Annotated[str, typer.Option(metavar="TEXT", help="A remark to keep with the alarm.")]
Signals = Annotated[
    list[str] | None,
    typer.Option("--signal", metavar="NAME", help="A signal instead of an alarm; repeatable."),
]


def register(app: typer.Typer) -> None:
    """Add ``alarms`` and what can be done with them."""
    group = typer.Typer(rich_markup_mode=None)
    for name, command, about in (
        ("list", list_, "The alarms that are on, then those that were."),
        ("show", show, "Everything about one alarm."),
        ("ack", ack, "Say that somebody has seen an alarm; it stays on."),
        ("comment", comment, "Add a remark to an alarm."),
        ("shelve", shelve, "Put an alarm or signals out of sight for a time."),
        ("unshelve", unshelve, "Take an alarm or signals off the shelf."),
        ("normal", normal, "Say that this was normal: widen the limits concerned."),
        ("undo", undo, "Take 'normal' back."),
    ):
        group.command(name, help=about, epilog=EXAMPLES)(command)
    app.add_typer(group, name="alarms", help=ABOUT, short_help="See and answer alarms.")


def list_(
    state: State,
    every: Annotated[bool, typer.Option("--all", help="Show all that were ever raised.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List alarms."""
    from causewatch.cli.summary import console

    alarms = sorted(_alarms(_folder(state)).values(), key=by_age)
    if as_json:
        print_json(alarms)
        return
    shown_ones = alarms if every else alarms[: max(20, sum(is_on(alarm) for alarm in alarms))]
    print_list(shown_ones, console())
    if len(alarms) > len(shown_ones):
        print(f"{len(alarms) - len(shown_ones)} older ones: --all shows them.")


def show(id: Id, state: State, as_json: Json = False, verbose: Verbose = False) -> None:
    """Show one alarm."""
    from causewatch.cli.summary import console

    folder = _folder(state)
    found = _find(id, _alarms(folder))
    events = [event for event in folder.events() if event["id"] == found["id"]]
    if as_json:
        print_json(found | {"events": [{k: e[k] for k in ("event", "time")} for e in events]})
        return
    print_alarm(found, events, console())


def ack(
    id: Id,
    state: State,
    by: By = None,
    comment: Comment = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Acknowledge an alarm."""
    _do(state, as_json, {"action": "ack", "by": _person(by), "text": comment}, id)


def comment(
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The remark.")],
    state: State,
    by: By = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Comment on an alarm."""
    _do(state, as_json, {"action": "comment", "by": _person(by), "text": text}, id)


def shelve(
    state: State,
    duration: Annotated[str, typer.Option("--for", metavar="8h", help="For how long.")],
    id: MaybeId = None,
    signal: Signals = None,
    by: By = None,
    comment: Comment = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Shelve an alarm or signals."""
    from causewatch.data import parse_duration

    action = {"action": "shelve", "seconds": parse_duration(duration)}
    _do(state, as_json, action | {"by": _person(by), "text": comment}, id, signal)


def unshelve(
    state: State,
    id: MaybeId = None,
    signal: Signals = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Unshelve an alarm or signals."""
    _do(state, as_json, {"action": "unshelve"}, id, signal)


def normal(
    id: Id,
    state: State,
    by: By = None,
    comment: Comment = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Mark an alarm as normal."""
    _do(state, as_json, {"action": "normal", "by": _person(by), "text": comment}, id)


def undo(
    id: Id,
    state: State,
    by: By = None,
    comment: Comment = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Take a mark back."""
    _do(state, as_json, {"action": "undo", "by": _person(by), "text": comment}, id)


# Doing


def _do(
    state: Path,
    as_json: bool,
    action: dict[str, Any],
    id: str | None,
    signals: list[str] | None = None,
) -> None:
    """Do it here if no watch is running, else have the watch do it; say what came of it."""
    folder = _folder(state)
    if (id is None) == (not signals):
        msg = "Name the id of an alarm, or signals with --signal, and not both."
        raise SettingError(msg)
    if id is not None:
        action["id"] = _find(id, _alarms(folder))["id"]
    else:
        action["signals"] = signals
    events = _directly(folder, action)
    if events is None:
        events = _through_the_watch(folder, action)
    if as_json:
        print_json(events)
        return
    for event in events:
        print(f"{event['id']}  {event['event']}  {shown(event['headline'])}")
    if not events:
        print("Done.")


def _directly(
    folder: StateFolder, action: dict[str, Any], posted: Path | None = None
) -> list[dict[str, Any]] | None:
    """The events of an action on the saved state; None if a running watch has it.

    `posted` is the action as it lies in the inbox: nothing is done if somebody has taken it.
    """
    from causewatch.monitor.actions import act, policy_of
    from causewatch.monitor.state import LOCKED

    try:
        with folder.lock():
            if posted is not None:
                if not posted.exists():
                    return None
                posted.unlink()
            saved = folder.load()
            with folder.restoring():
                policy, at = policy_of(saved), int(saved.monitor["time"] or 0)
            events = act(policy, action, at)
            said = events.to_dicts(saved.clock)  # type: ignore[arg-type]
            saved.monitor["policy"] = policy.snapshot()
            # What is newer than the state will be found again, but only if it can be read again.
            keep = saved.history if saved.from_file else None
            saved.history = _append(folder.history, said, keep)
            folder.save(saved)
            return said
    except SettingError as error:
        if LOCKED in str(error):
            return None
        raise


def _append(history: Path, events: list[dict[str, Any]], keep: int | None) -> int:
    """Add events to the history, of which `keep` bytes count if given; gives its new length."""
    from causewatch.monitor.state import cut_back

    if history.exists():
        cut_back(history, history.stat().st_size if keep is None else keep)
    with history.open("ab") as file:
        for event in events:
            line = json.dumps(event, ensure_ascii=False, allow_nan=False)
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return file.tell()


def _through_the_watch(folder: StateFolder, action: dict[str, Any]) -> list[dict[str, Any]]:
    """Leave the action in the inbox of a running watch and wait for its answer."""
    path = folder.post(f"{clock_time.time_ns()}-{os.getpid()}", action)
    answer = path.with_suffix(".answer")
    until = clock_time.monotonic() + PATIENCE
    while clock_time.monotonic() < until:
        clock_time.sleep(WAIT)
        if not path.exists() and answer.exists():
            found = json.loads(answer.read_text(encoding="utf-8"))
            answer.unlink()
            if "error" in found:
                raise SettingError(found["error"])
            events: list[dict[str, Any]] = found["events"]
            return events
        done = _directly(folder, action, path)  # the watch may have ended meanwhile
        if done is not None:
            return done
    print("The running watch has not answered yet; it will do this as soon as it can.")
    return []


# Looking


def _folder(state: Path) -> StateFolder:
    from causewatch.monitor.state import StateFolder

    folder = StateFolder(state)
    folder.check()
    return folder


def _alarms(folder: StateFolder) -> dict[str, dict[str, Any]]:
    """Every alarm as it was at its last event, by id."""
    found: dict[str, dict[str, Any]] = {}
    for event in folder.events():
        found[event["id"]] = event
    return found


def _find(id: str, alarms: dict[str, dict[str, Any]]) -> dict[str, Any]:
    fitting = [one for one in alarms if one.startswith(id)] if id else []
    if len(fitting) == 1 or id in alarms:
        return alarms[id if id in alarms else fitting[0]]
    if fitting:
        msg = f"{id!r} is the beginning of {len(fitting)} ids; give more of it."
        raise SettingError(msg)
    raise UnknownNameError(id, "alarm", alarms)


def _person(name: str | None) -> str:
    if name is not None:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "somebody"
