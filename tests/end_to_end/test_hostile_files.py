"""Bad input never hurts: hundreds of hostile files end in one sentence and exit code 2.

Never a traceback, a warning, a hang, a file left behind, or a changed input.
"""

from __future__ import annotations

import hashlib
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hostile_kinds  # lists more hostile files in TABLES
import pytest
from hostile import TABLES, Hostile

from causewatch.cli import main
from causewatch.model import load

PATIENCE = 120
"""Seconds after which a file counts as a hang; generous, because this measures nothing."""


class Hung(BaseException):
    """Raised where the program hangs; nothing in it can catch this by mistake."""


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """End what does not end by itself."""

    def bark(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[list[str]], tuple[int, str]]:
    """Run a command in the folder of the test; exit code and stderr, the rest is checked here."""
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    monkeypatch.chdir(tmp_path)

    def call(arguments: list[str]) -> tuple[int, str]:
        before = fingerprint(tmp_path)
        code = main(arguments)
        after = fingerprint(tmp_path)
        shown = capfd.readouterr()
        if code == 2:
            check_sentence(shown.err)
            assert shown.out == ""
            assert after == before
        else:
            assert code == 0
            assert shown.err == ""
            assert {name: after[name] for name in before} == before
        return code, shown.err

    return call


def check_sentence(shown: str) -> None:
    """One line that a terminal shows as it is, from the program's name to the full stop."""
    line = shown.removesuffix("\n")
    assert line.isprintable(), line
    assert line.startswith("causewatch: ")
    assert line.endswith(".")
    assert len(line) < 1500
    assert "Traceback" not in line


def fingerprint(folder: Path) -> dict[str, str]:
    """What is in a folder, and the checksum of every regular file in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            path.read_bytes() if path.is_file() else b""
        ).hexdigest()
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("hostile", TABLES, ids=str)
def test_learning_from_a_hostile_file(
    hostile: Hostile, tmp_path: Path, run: Callable[[list[str]], tuple[int, str]]
) -> None:
    path = hostile.write(tmp_path)
    out = tmp_path / "plant.cwm"
    code, _ = run(["learn", "--out", str(out), "--", str(path)])
    if code == 0:
        assert not hostile.must_fail
        assert load(out).signals
