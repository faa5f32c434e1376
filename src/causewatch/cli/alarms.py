"""``causewatch alarms``: the life of alarms from the shell, on the state of a watch."""

from __future__ import annotations

import getpass
import time as clock_time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causewatch.cli.alarm_text import by_age, is_on, print_alarm, print_list
from causewatch.cli.options import Json, Verbose
from causewatch.cli.output import complain, print_json
from causewatch.errors import CausewatchError, SettingError, UnknownNameError

if TYPE_CHECKING:
    from causewatch.streaming.store.base import Store

__all__ = ["register"]

ABOUT = """See the alarms of a watch, and say what people know about them.

All of these work on the folder or database given to 'causewatch watch --state' (with the same
--name, if it has one), while that watch is running and when it is not. ID is the alarm's id, or the
beginning of it. Times are those of the watched source: what is done now happens at its last
tick."""

EXAMPLES = """Examples:

\b
  causewatch alarms list --state watching
  causewatch alarms show 3f2a --state watching
  causewatch alarms ack 3f2a --state watching --comment 'valve is being repaired'
  causewatch alarms shelve 3f2a --for 8h --state watching
  causewatch alarms shelve --signal LIT301 --for 2d --state watching
  causewatch alarms list --shelved --state watching
  causewatch alarms normal 3f2a --state watching
  causewatch alarms accept 3f2a --state watching"""

PATIENCE = 5.0
"""Seconds to wait for a running watch to answer."""
WAIT = 0.05

State = Annotated[
    str,
    typer.Option(metavar="DIR", help="The folder or database given to 'causewatch watch --state'."),
]
Name = Annotated[
    str, typer.Option("--name", metavar="NAME", help="The name of the watch, if it has one.")
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
        ("list", list_, "The alarms that are on, those that were, and what is shelved."),
        ("show", show, "Everything about one alarm."),
        ("ack", ack, "Say that somebody has seen an alarm; it stays on."),
        ("comment", comment, "Add a remark to an alarm."),
        ("shelve", shelve, "Put an alarm or signals out of sight for a time."),
        ("unshelve", unshelve, "Take an alarm or signals off the shelf."),
        ("normal", normal, "Say that this was normal: widen the limits of the causes named."),
        ("accept", accept, "Say that a signal that is no longer as learnt is right as it is."),
        ("undo", undo, "Take 'normal' back."),
    ):
        group.command(name, help=about, epilog=EXAMPLES)(command)
    app.add_typer(group, name="alarms", help=ABOUT, short_help="See and answer alarms.")


def list_(
    state: State,
    every: Annotated[bool, typer.Option("--all", help="Show all that were ever raised.")] = False,
    shelved: Annotated[
        bool, typer.Option("--shelved", help="Show only which signals and alarms are shelved.")
    ] = False,
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """List alarms."""
    from causewatch.cli.alarm_done import print_shelves
    from causewatch.cli.alarm_state import read_alarms
    from causewatch.cli.summary import console

    with closing(_store(state, name)) as store:
        if shelved:
            _list_shelves(store, as_json)
            return
        alarms = sorted(store.alarms(), key=by_age)
        if as_json:
            print_json(alarms)
            return
        shown_ones = alarms if every else alarms[: max(20, sum(is_on(alarm) for alarm in alarms))]
        print_list(shown_ones, console())
        if len(alarms) > len(shown_ones):
            print(f"{len(alarms) - len(shown_ones)} older ones: --all shows them.")
        print_shelves(read_alarms(store), console())


def _list_shelves(store: Store, as_json: bool) -> None:
    """What is shelved, and nothing else."""
    from causewatch.cli.alarm_done import print_shelves, shelf_dicts
    from causewatch.cli.alarm_state import read_alarms
    from causewatch.cli.summary import console

    saved = read_alarms(store)
    if as_json:
        print_json(shelf_dicts(saved))
    elif not saved.shelves:
        print("Nothing is shelved.")
    else:
        print_shelves(saved, console())


def show(
    id: Id, state: State, name: Name = "", as_json: Json = False, verbose: Verbose = False
) -> None:
    """Show one alarm."""
    from causewatch.cli.alarm_state import read_alarms
    from causewatch.cli.summary import console

    with closing(_store(state, name)) as store:
        found = _find(id, store)
        events = list(store.events(found["id"]))
        every = None
        if found["broken_links"] and not as_json:
            with suppress(CausewatchError):  # of a damaged state, which is no matter here
                every = read_alarms(store).every
    if as_json:
        print_json(found | {"events": [{k: e[k] for k in ("event", "time")} for e in events]})
        return
    print_alarm(found, events, every, console())


def ack(
    id: Id,
    state: State,
    by: By = None,
    comment: Comment = "",
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Acknowledge an alarm."""
    _do(state, name, as_json, {"action": "ack", "by": _person(by), "text": comment}, id)


def comment(
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The remark.")],
    state: State,
    by: By = None,
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Comment on an alarm."""
    _do(state, name, as_json, {"action": "comment", "by": _person(by), "text": text}, id)


def shelve(
    state: State,
    duration: Annotated[str, typer.Option("--for", metavar="8h", help="For how long.")],
    id: MaybeId = None,
    signal: Signals = None,
    by: By = None,
    comment: Comment = "",
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Shelve an alarm or signals."""
    from causewatch.data import parse_duration

    action = {"action": "shelve", "seconds": parse_duration(duration)}
    _do(state, name, as_json, action | {"by": _person(by), "text": comment}, id, signal)


def unshelve(
    state: State,
    id: MaybeId = None,
    signal: Signals = None,
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Unshelve an alarm or signals."""
    _do(state, name, as_json, {"action": "unshelve"}, id, signal)


def normal(
    id: Id,
    state: State,
    signal: Annotated[
        list[str] | None,
        typer.Option(
            "--signal",
            metavar="NAME",
            help="A signal whose limit is widened, in place of the causes named; repeatable.",
        ),
    ] = None,
    by: By = None,
    comment: Comment = "",
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Mark an alarm as normal."""
    action: dict[str, Any] = {"action": "normal", "by": _person(by), "text": comment}
    if signal:
        action["signals"] = signal
    _do(state, name, as_json, action, id)


def accept(
    id: Id,
    state: State,
    by: By = None,
    comment: Comment = "",
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Accept a signal as it is now."""
    _do(state, name, as_json, {"action": "accept", "by": _person(by), "text": comment}, id)


def undo(
    id: Id,
    state: State,
    by: By = None,
    comment: Comment = "",
    name: Name = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Take a mark back."""
    _do(state, name, as_json, {"action": "undo", "by": _person(by), "text": comment}, id)


# Doing


def _do(
    state: str,
    name: str,
    as_json: bool,
    action: dict[str, Any],
    id: str | None,
    signals: list[str] | None = None,
) -> None:
    """Do it here if no watch is running, else have the watch do it; say what came of it."""
    from causewatch.cli.alarm_done import print_done
    from causewatch.cli.alarm_state import read_alarms
    from causewatch.cli.summary import console

    if (id is None) == (not signals):
        msg = "Name the id of an alarm, or signals with --signal, and not both."
        raise SettingError(msg)
    with closing(_store(state, name)) as store:
        if id is not None:
            action["id"] = _find(id, store)["id"]
        else:
            action["signals"] = signals
        events = _directly(store, action)
        if events is None:
            events = _through_the_watch(store, action)
        if as_json:
            print_json(events or [])
        elif events is not None:
            print_done(action, events, read_alarms(store), console())


def _directly(
    store: Store, action: dict[str, Any], asked: int | None = None
) -> list[dict[str, Any]] | None:
    """The events of an action on the saved state; None if a running watch has it.

    `asked` is the number under which it was left for the watch: nothing is done if that has taken
    it.
    """
    from causewatch.cli.alarm_state import read_alarms
    from causewatch.monitor.actions import act
    from causewatch.streaming.store.sql import InUseError

    try:
        with store.lock():
            if asked is not None and not store.withdraw(asked):
                return None
            found = read_alarms(store)
            said = act(found.policy, action, found.at).to_dicts(found.clock)
            found.checkpoint.monitor["policy"] = found.policy.snapshot()
            store.save(found.checkpoint, said)
            return said
    except InUseError:
        return None


def _through_the_watch(store: Store, action: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Leave the action for the running watch and wait for its answer; None if none has come."""
    number = store.ask(action)
    until = clock_time.monotonic() + PATIENCE
    while clock_time.monotonic() < until:
        clock_time.sleep(WAIT)
        found = store.answer(number)
        if found is not None:
            if "error" in found:
                raise SettingError(found["error"])
            events: list[dict[str, Any]] = found["events"]
            return events
        done = _directly(store, action, number)  # the watch may have ended meanwhile
        if done is not None:
            return done
    complain("The running watch has not answered yet; it will do this as soon as it can.")
    return None


# Looking


def _store(state: str, name: str) -> Store:
    from causewatch.streaming.service import NAME
    from causewatch.streaming.store.open import open_store

    store = open_store(state, name or NAME)
    try:
        store.check()
    except CausewatchError:
        store.close()
        raise
    return store


def _find(id: str, store: Store) -> dict[str, Any]:
    alarms = {alarm["id"]: alarm for alarm in store.alarms()}
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
    except (ImportError, KeyError, OSError):  # a user without a name, as in some containers
        return "somebody"
