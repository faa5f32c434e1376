"""``causewatch adopt``: a state goes over to another model."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causewatch.cli.options import Json, Verbose
from causewatch.cli.output import print_json
from causewatch.errors import SettingError

if TYPE_CHECKING:
    from causewatch.streaming.store.base import Checkpoint, Store

__all__ = ["register"]

ABOUT = """Let a model take over the state of a watch from the model before.

Alarms, acknowledgements, shelves, marks as normal and the position of the source go over, by the
names of signals; what cannot is listed. A model made by 'causewatch learn --update' needs none of
this: 'causewatch watch' with it just goes on. The watch must not be running meanwhile."""

EXAMPLES = """Examples:

\b
  causewatch adopt watching plant-2.cwm
  causewatch adopt postgresql://host/plant plant-2.cwm --name line1"""


def register(app: typer.Typer) -> None:
    """Add ``adopt``."""
    app.command("adopt", help=ABOUT, epilog=EXAMPLES, short_help="Go on with another model.")(adopt)


def adopt(
    state: Annotated[
        str,
        typer.Argument(
            metavar="STATE", help="The folder or database given to 'causewatch watch --state'."
        ),
    ],
    model: Annotated[Path, typer.Argument(metavar="NEW.cwm", help="The model that takes over.")],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The name of the watch, if it has one.")
    ] = "",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Let a model take over a state."""
    from causewatch.model import load
    from causewatch.streaming.adopting import adopt as take_over
    from causewatch.streaming.service import NAME
    from causewatch.streaming.store.open import open_store

    new = load(model)
    with closing(open_store(state, name or NAME)) as store:
        store.check()
        with store.lock():
            saved = store.load()
            if saved is None:
                msg = f"No watch has begun in {store.name} yet; there is nothing to take over."
                raise SettingError(msg)
            _check_name(name, saved, store)
            kept: str = "The state belongs to this model already."
            lost: tuple[str, ...] = ()
            if saved.monitor.get("model") != new.fingerprint:
                _, done = take_over(store, saved, new)
                kept, lost = done.kept, done.lost
    if as_json:
        print_json({"kept": kept, "lost": list(lost)})
        return
    for sentence in (kept, *lost):
        print(sentence)


def _check_name(name: str, saved: Checkpoint, store: Store) -> None:
    """Raise if the watch was given another name: a folder is found without any."""
    from causewatch.streaming.service import NAME

    own = saved.monitor.get("stream")
    if name and name != (own or NAME):
        called = f"is called {own!r}" if own else "has no name"
        msg = f"The watch in {store.name} {called}; it is not {name!r}."
        raise SettingError(msg)
