"""The command line program: its commands, exit codes and error messages."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer
import typer.main

from causewatch.cli import (
    adopt,
    alarms,
    compare,
    dataset,
    demo,
    diff,
    evaluate,
    explain,
    inspect,
    learn,
    reproduce,
    serve,
    simulate,
    token,
    watch,
)
from causewatch.cli.options import Verbose
from causewatch.cli.output import complain
from causewatch.cli.running import interruptible
from causewatch.errors import CausewatchError

__all__ = ["build", "main", "run"]

COMMANDS = (
    demo,
    simulate,
    dataset,
    learn,
    inspect,
    diff,
    watch,
    serve,
    token,
    alarms,
    adopt,
    explain,
    evaluate,
    compare,
    reproduce,
)
"""Modules with a ``register(app)`` function, in the order in which ``--help`` lists them."""

NAME, COMPLETING = "causewatch", "_CAUSEWATCH_COMPLETE"
"""The program, and the variable by which a shell asks it how a line may go on."""
DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130

FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
"""What a system calls it when there is no room: on a disk, or for this user."""


def build() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        name=NAME,
        help="Learn which signals of a plant cause which others, and explain when that changes.",
        epilog="Every command has a --help of its own.",
        rich_markup_mode=None,
        invoke_without_command=True,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_top)
    for module in COMMANDS:
        module.register(app)
    return app


def run() -> NoReturn:
    """The program as a process: `main`, then the end.

    Threads may be in the middle of a long piece of work when somebody interrupts. The interpreter
    would wait for them; what they compute is not wanted, and files are written whole or not at all.
    """
    interruptible()
    code = main()
    if code == INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": "write a whole number",
    "Input should be a valid number, unable to parse string as a number": "write a number",
}
"""What is said in place of the words of the library that reads the arguments."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and say how it went.

    Parameters
    ----------
    argv
        The arguments after the program's name; those of the process if None.

    Returns
    -------
    int
        0 done; 1 done, but what was asked for did not hold (a command raises ``typer.Exit(1)``);
        2 bad input or usage, with one sentence on stderr; 130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except CausewatchError as error:
        return _complain(str(error))
    except typer.TyperException as error:
        return _complain(_usage(error))
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except MemoryError:
        return _complain("There is not enough memory for this; use fewer rows or signals.")
    except OSError as error:
        return _complain(_trouble(error))


def _run(arguments: list[str]) -> int:
    command: Any = typer.main.get_command(build())
    if COMPLETING in os.environ:
        command.main(arguments, prog_name=NAME)  # answers the shell, and leaves
    code = DONE
    try:
        with command.make_context(NAME, arguments) as context:
            command.invoke(context)
    except typer.Exit as leave:
        code = leave.exit_code
    sys.stdout.flush()
    return code


def _complain(message: str) -> int:
    complain(message)
    return BAD_INPUT


def _trouble(error: OSError) -> str:
    """What the system refused. It does not always know the name: not that of what is open."""
    reason = error.strerror or str(error) or type(error).__name__
    if isinstance(error.filename, str | bytes):
        text = f"Cannot read or write {error.filename!r}: {reason}"
    else:
        text = f"A file or the output could not be read or written: {reason}"
    return f"{text}; make room and try again." if error.errno in FULL else f"{text}."


def _usage(error: Any) -> str:
    """What is wrong with the arguments, and where to read what would be right."""
    context = getattr(error, "ctx", None)
    place = context.command_path if context is not None else "causewatch"
    message = error.format_message().rstrip(".")
    for words, plain in PLAIN_WORDS.items():
        message = message.replace(words, plain)
    return f"{message}; see '{place} --help'."


def _print_version(wanted: bool) -> None:
    if wanted:
        print("causewatch", version("causewatch"))
        raise typer.Exit


def _top(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
    verbose: Verbose = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
