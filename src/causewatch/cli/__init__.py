"""The command line: one module per command, put together in `causewatch.cli.app`."""

from causewatch.cli.app import main, run

__all__ = ["main", "run"]
