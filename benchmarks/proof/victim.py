"""A watch that says when it is inside a checkpoint: ``(`` before and ``)`` after, on a pipe.

``python -m benchmarks.proof.victim PIPE watch …`` is ``causewatch watch …`` otherwise.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from causewatch.cli import run
from causewatch.streaming.store.sqlite import SqliteStore


def main() -> None:
    """Run the command line with the store's `save` wrapped."""
    pipe = int(sys.argv[1])
    save = SqliteStore.save

    def told(self: SqliteStore, *args: Any, **kwargs: Any) -> None:
        os.write(pipe, b"(")
        save(self, *args, **kwargs)
        os.write(pipe, b")")

    SqliteStore.save = told  # type: ignore[method-assign]
    sys.argv = ["causewatch", *sys.argv[2:]]
    run()


if __name__ == "__main__":
    main()
