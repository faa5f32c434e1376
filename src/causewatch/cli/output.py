"""What commands write: files, JSON, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from causewatch.errors import SettingError

__all__ = [
    "complain",
    "print_json",
    "progress",
    "progress_of",
    "refuse_existing",
    "refuse_folders",
    "shown",
]


def complain(message: str) -> None:
    """Print one line on stderr."""
    print("causewatch:", shown(message), file=sys.stderr)


def shown(text: str) -> str:
    """`text` on one line; what could move the cursor or turn the text around is spelt out."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def print_json(data: Any) -> None:
    """Print `data` on stdout as one JSON document."""
    print(json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False))


def refuse_existing(paths: Iterable[Path], force: bool) -> None:
    """Raise if one of the files to be written exists already, unless `force` is set."""
    for path in paths:
        if not force and path.exists():
            message = f"{str(path)!r} exists already; use --force to overwrite it."
            raise SettingError(message)


def refuse_folders(paths: Iterable[Path]) -> None:
    """Raise if a folder is where one of the files is to be written."""
    for path in paths:
        if path.is_dir():
            message = f"{str(path)!r} is a folder; name another place for the file."
            raise SettingError(message)


@contextmanager
def progress(description: str) -> Iterator[Callable[[float], None]]:
    """Show on stderr that work is going on, if that is a terminal.

    The function it gives takes the share that is done, from 0 to 1; until it is called, the length
    of the work counts as unknown.
    """
    with progress_of() as tell:
        tell(description, None)
        yield lambda share: tell(description, share)


@contextmanager
def progress_of() -> Iterator[Callable[[str, float | None], None]]:
    """As :func:`progress`, for work of several kinds.

    The function it gives takes what is being done and the share of it that is done (None: not
    known).
    """
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def tell(what: str, share: float | None) -> None:
            # A task that is complete would stop its clock, but there is always more to come.
            total = None if share is None else 1.0
            bar.update(task, description=what, total=total, completed=min(share or 0.0, 0.999))

        yield tell
