"""What commands write: files, JSON, progress."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from causewatch.errors import SettingError

__all__ = ["print_json", "progress", "progress_of", "refuse_existing", "write_atomically"]


def print_json(data: Any) -> None:
    """Print `data` on stdout as one JSON document."""
    print(json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False))


def refuse_existing(paths: Iterable[Path], force: bool) -> None:
    """Raise if one of the files to be written exists already, unless `force` is set."""
    for path in paths:
        if not force and path.exists():
            message = f"{str(path)!r} exists already; use --force to overwrite it."
            raise SettingError(message)


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file so that it is there completely or not at all.

    The content goes to a temporary file next to `path`, which then takes its place. What is not a
    regular file (``/dev/stdout``, say) is written to directly.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    direct = target.exists() and not target.is_file()
    place = target if direct else target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        try:
            with place.open("wb") as file:
                file.write(data)
                if not direct:
                    file.flush()
                    os.fsync(file.fileno())
            if not direct:
                place.replace(target)
        except BaseException:
            if not direct:
                place.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


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
            total = None if share is None else 1.0
            bar.update(task, description=what, total=total, completed=share or 0.0)

        yield tell
