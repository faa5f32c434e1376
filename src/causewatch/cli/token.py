"""``causewatch token``: let somebody in to the dashboard, and take that back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from causewatch.cli.options import Json, Verbose
from causewatch.cli.output import complain, print_json, shown
from causewatch.errors import SettingError

__all__ = ["register"]

ABOUT = """Make a token that lets somebody in to the dashboard.

The token is shown once. The file keeps only its hash, so nobody can read the token there; whoever
has lost it gets a new one. A running dashboard sees changes of the file by itself."""

EXAMPLES = """Examples:

\b
  causewatch token anna --role operate --tokens tokens
  causewatch token --list --tokens tokens
  causewatch token anna --remove --tokens tokens
  causewatch serve plant.cwm mqtt://broker/plant/rows --tokens tokens"""


def register(app: typer.Typer) -> None:
    """Add ``token``."""
    app.command("token", help=ABOUT, epilog=EXAMPLES, short_help="Let somebody in.")(token)


def token(
    tokens: Annotated[
        Path, typer.Option(metavar="FILE", help="The file of tokens; made if it is not there.")
    ],
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Who is let in: one word.")
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            metavar="look|operate",
            help="What they may do: look, or also answer alarms and replay recordings.",
            show_default="look",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List who is let in.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Let NAME in no longer.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Make, list or remove tokens."""
    if list_ and (remove or role is not None or name is not None):
        msg = "--list shows all tokens; give no name and neither --role nor --remove with it."
        raise SettingError(msg)
    if remove and role is not None:
        msg = "--remove takes a token away whatever its role; give no --role with it."
        raise SettingError(msg)
    if list_:
        _list(tokens, as_json)
    elif name is None:
        msg = "Nobody is named; say who is let in, as in 'causewatch token anna', or use --list."
        raise SettingError(msg)
    elif remove:
        _remove(tokens, name, as_json)
    else:
        _make(tokens, name, role or "look", as_json)


def _make(path: Path, name: str, role: str, as_json: bool) -> None:
    from causewatch.errors import UnknownNameError
    from causewatch.server.access.tokens import ROLES, make_token

    fitting = next((one for one in ROLES if one == role), None)
    if fitting is None:
        raise UnknownNameError(role, "role", ROLES)
    made = make_token(path, name, fitting)
    if as_json:
        print_json({"name": name, "role": role, "token": made})
        return
    may = "look and operate" if role == "operate" else "look"
    print(f"The token of {shown(name)}, who may {may}. It is shown this once:")
    print()
    print(f"  {made}")
    print()
    print("In a browser: leave the user name empty or write anything, and give it as password.")
    print("In a program: send it in the header 'Authorization: Bearer TOKEN'.")
    print(f"Start the dashboard with --tokens {shown(str(path))}; one that runs sees it by itself.")


def _list(path: Path, as_json: bool) -> None:
    from causewatch.server.access.tokens import Tokens

    found = Tokens(path)
    for warning in found.warnings:
        complain(warning)
    if as_json:
        print_json([{"name": one.name, "role": one.role} for one in found.visitors])
        return
    for one in found.visitors:
        print(f"{one.role:<8} {shown(str(one.name))}")


def _remove(path: Path, name: str, as_json: bool) -> None:
    from causewatch.server.access.tokens import remove_token

    gone = remove_token(path, name)
    if as_json:
        print_json({"name": gone.name, "role": gone.role})
        return
    print(f"{shown(name)} is let in no longer; a dashboard that runs knows it in a few seconds.")
