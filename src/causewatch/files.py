"""Writing files so that they are there completely or not at all, and taking back their ends."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cut_back", "write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> None:
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


def cut_back(path: Path, size: int) -> None:
    """Take back what a file holds after its first `size` bytes, and end its last line.

    A shorter file stays as it is: nothing is made up for what somebody else has taken away.
    """
    with path.open("r+b") as file:
        there = file.seek(0, os.SEEK_END)
        if there > size >= 0:
            there = file.truncate(size)
        if there:
            file.seek(there - 1)
            if file.read(1) != b"\n":
                file.write(b"\n")
