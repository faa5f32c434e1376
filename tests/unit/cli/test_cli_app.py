"""The command line program: exit codes, one-sentence errors, shared helpers."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from causewatch.cli import main
from causewatch.cli import simulate as simulate_command
from causewatch.cli.output import print_json, progress, refuse_existing
from causewatch.errors import SettingError
from causewatch.files import write_atomically

PROGRAM = [sys.executable, "-m", "causewatch"]


def one_sentence(text: str) -> str:
    """The only line of `text`, which is what an error has to be."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("causewatch: ")
    assert lines[0].endswith(".")
    assert "│" not in text
    return lines[0]


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"causewatch {version('causewatch')}\n"
    assert main([]) == 0
    bare = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == bare
    assert "simulate" in bare
    assert "--verbose" in bare


COMPLETED = [(["wa"], ["watch"]), (["watch", "--rep"], ["--report"]), (["watch", "pl"], [])]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options() -> None:
    """As docs/cli.md says; what is no command and no option is left to bash: names of files."""
    script = ['eval "$(causewatch --show-completion)"']
    for words, _ in COMPLETED:
        script += [f"COMP_WORDS=(causewatch {' '.join(words)}); COMP_CWORD={len(words)}"]
        script += ["_causewatch_completion causewatch", 'echo "${COMPREPLY[@]}"']
    script.append("complete -p causewatch")
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(script)],
        env={**os.environ, "PATH": place},
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, how = shown.stdout.splitlines()
    assert [line.split() for line in lines] == [found for _, found in COMPLETED]
    assert "-o default" in how


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["--frobnicate"], "No such option: --frobnicate"),
        (["simulate"], "Missing command; see 'causewatch simulate --help'."),
        (["simulate", "random"], "Missing option '--out'"),
        (["simulate", "random", "--out", "x", "--rows", "many"], "Invalid value for '--rows'"),
        (["simulate", "random", "--out", "x", "--row", "5"], "--rows"),
    ],
)
def test_usage_errors(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert words in one_sentence(shown.err)
    assert shown.out == ""


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 2, "'/x/y': Permission den"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "A file or the output could not be read or written: No space left on device; make room",
        ),
        (OSError(errno.ENOSPC, "No space left on device", "/x"), 2, "'/x': No space left on"),
        (OSError(errno.EIO, "Input/output error", 5), 2, "written: Input/output error."),
        (OSError(), 2, "written: OSError."),
        (SettingError("This\nmakes no sense."), 2, "This makes no sense."),
    ],
)
def test_errors_in_a_command(
    raised: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(simulate_command, "refuse_existing", fail)
    assert main(["simulate", "random", "--out", "x"]) == code
    assert words in one_sentence(capsys.readouterr().err)


def test_as_a_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "simulate", "random", "--out", tmp_path, "--rows", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "at least 1 row" in one_sentence(done.stderr)
    assert done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_output_that_has_no_room_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert "could not be read or written: No space left on" in one_sentence(done.stderr)


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_verbose_logs_to_stderr_while_the_command_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--rows", "50", "--test-rows", "50", "--attacks", "none"]
    assert main(["-v", "simulate", "random", "--out", str(tmp_path / "a"), *short, "-v"]) == 0
    assert capsys.readouterr().err.count("RandomSystem(linear") == 1
    assert main(["simulate", "random", "--out", str(tmp_path / "b"), *short]) == 0
    assert capsys.readouterr().err == ""
    assert logging.getLogger("causewatch").handlers == []


def test_write_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.txt"
    write_atomically(path, "grüße")
    assert path.read_text(encoding="utf-8") == "grüße"
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*file\.txt"):
        write_atomically(path, "half")
    assert path.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.txt", "link.txt"]


def test_write_atomically_writes_devices_directly() -> None:
    write_atomically(Path("/dev/null"), "gone")
    assert not Path("/dev/null").is_file()
    with pytest.raises(IsADirectoryError):
        write_atomically(Path("/dev"), "nowhere")


def test_refuse_existing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    refuse_existing([path], force=False)
    path.touch()
    refuse_existing([path], force=True)
    with pytest.raises(SettingError, match="exists already; use --force"):
        refuse_existing([tmp_path / "b", path], force=False)


def test_print_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"link": "A → B"})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"link": "A → B"}
    assert "→" in shown


def test_progress_shows_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("working") as report:
        report(0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("[working]") as report:
        report(0.5)
    shown = capsys.readouterr()
    assert "[working]" in shown.err
    assert shown.out == ""
