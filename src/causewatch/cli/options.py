"""Options that several commands share."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from causewatch.errors import SettingError

__all__ = ["Force", "Json", "Verbose", "label_column"]


def _turn_on_logging(context: typer.Context, wanted: bool) -> bool:
    """Send the log of causewatch to stderr until the command has ended."""
    logger = logging.getLogger("causewatch")
    if wanted and not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        context.call_on_close(lambda: logger.setLevel(before))
        context.call_on_close(lambda: logger.removeHandler(handler))
    return wanted


Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Log what is being done to stderr.", callback=_turn_on_logging
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist already.")]


def label_column(given: list[str] | None) -> str | None:
    """The column named with ``--labels``; a second one must not take its place without a word."""
    if given and len(given) > 1:
        msg = f"--labels is given {len(given)} times; one column of labels is read."
        raise SettingError(msg)
    return given[0] if given else None
