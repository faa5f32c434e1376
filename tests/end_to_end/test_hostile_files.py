"""Bad input never hurts: hundreds of hostile files end in one sentence and exit code 2.

Never a traceback, a warning, a hang, a file left behind, or a changed input.
"""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hostile import Hostile, csv, good
from hostile_kinds import TABLES
from hostile_models import DAMAGED, DRESSED_UP, FORGED
from hostile_options import KNOWLEDGE, OPTIONS

from causewatch.cli import main
from causewatch.model import NormalModel, load
from causewatch.testing.waiting import PATIENCE

MEMORY = 2 << 30
"""Bytes of address space a process of its own may take."""

Run = Callable[[list[str]], int]

HUGE = [one for one in TABLES if one.huge]
SMALL = [one for one in TABLES if not one.huge]


class Hung(BaseException):
    """Raised where the program hangs; nothing in it can catch this by mistake."""


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """End what does not end by itself."""

    def bark(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(int(PATIENCE))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a place for temporary files."""
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spare"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command and check how it ends; gives the exit code."""

    def call(arguments: list[str]) -> int:
        before = fingerprint(folder)
        code = main(arguments)
        shown = capfd.readouterr()
        check_end(code, shown.out, shown.err, before, fingerprint(folder))
        return code

    return call


def check_end(code: int, out: str, err: str, before: dict[str, str], after: dict[str, str]) -> None:
    """Either it is done, quietly, or there is one sentence and nothing else has happened."""
    if code == 0:
        assert err == ""
        assert {name: after[name] for name in before} == before
        return
    assert code == 2, err
    line = err.removesuffix("\n")
    assert line.isprintable(), line
    assert line.startswith("causewatch: ")
    assert line.endswith(".")
    assert len(line) < 1500
    assert "Traceback" not in line
    assert out == ""
    assert after == before


def fingerprint(folder: Path) -> dict[str, str]:
    """What is in a folder, and the checksum of every regular file in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            path.read_bytes() if path.is_file() else b""
        ).hexdigest()
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("hostile", SMALL, ids=str)
def test_learning_from_a_hostile_file(hostile: Hostile, folder: Path, run: Run) -> None:
    path = hostile.write(folder)
    out = folder / "plant.cwm"
    if run(["learn", "--out", str(out), "--", str(path)]) == 0:
        assert not hostile.must_fail
        assert load(out).signals


@pytest.mark.parametrize("hostile", SMALL[::9], ids=str)
def test_no_table_is_a_model(hostile: Hostile, folder: Path, run: Run) -> None:
    assert run(["inspect", "--", str(hostile.write(folder))]) == 2


@pytest.mark.parametrize("hostile", [*HUGE, *SMALL[::40]], ids=str)
def test_in_a_process_of_little_memory(hostile: Hostile, folder: Path) -> None:
    """Where a warning is an error, and memory is short: no explosion, no noise from below."""
    path, out = hostile.write(folder), folder / "plant.cwm"
    before = fingerprint(folder)
    command = [sys.executable, "-W", "error", "-m", "causewatch", "learn", "--out", str(out)]
    done = subprocess.run(
        [*command, "--", str(path)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
        env=os.environ | {"TMPDIR": str(folder / "spare"), "OMP_NUM_THREADS": "1",
                          "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    check_end(done.returncode, done.stdout, done.stderr, before, fingerprint(folder))
    assert done.returncode == 2 or not hostile.must_fail


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_odd_options(options: tuple[str, ...], folder: Path, run: Run) -> None:
    table = [[*row, "a" if k else "note"] for k, row in enumerate(good(np.random.default_rng(1)))]
    Path("normal.csv").write_bytes(csv(table))
    Path("taken").touch()
    assert run(["learn", "normal.csv", "--out=plant.cwm", *options]) == 2


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_hostile_knowledge(name: str, folder: Path, run: Run) -> None:
    Path("normal.csv").write_bytes(csv(good(np.random.default_rng(1))))
    place = Path("plant.yaml")
    made = KNOWLEDGE[name](place)
    if made is not None:
        place.write_bytes(made)
    assert run(["learn", "normal.csv", "--out=plant.cwm", "--knowledge", str(place)]) == 2


@pytest.fixture(scope="module")
def good_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model."""
    folder = tmp_path_factory.mktemp("model")
    source, out = folder / "normal.csv", folder / "plant.cwm"
    source.write_bytes(csv(good(np.random.default_rng(1))))
    assert main(["learn", str(source), "--out", str(out), "--json"]) == 0
    return out


def same(one: NormalModel, two: NormalModel, folder: Path) -> bool:
    """Whether two models are alike to the last bit."""
    one.save(folder / "one")
    two.save(folder / "two")
    return (folder / "one").read_bytes() == (folder / "two").read_bytes()


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_models(name: str, good_model: Path, folder: Path, run: Run) -> None:
    """What is damaged is refused, or the model is the same as before: never a different one."""
    path = folder / "plant.cwm"
    path.write_bytes(DAMAGED[name](good_model.read_bytes()))
    if run(["inspect", str(path)]) == 0:
        assert same(load(path), load(good_model), folder)


@pytest.mark.parametrize("name", FORGED)
def test_forged_models(name: str, good_model: Path, folder: Path, run: Run) -> None:
    path = folder / "plant.cwm"
    path.write_bytes(FORGED[name](good_model.read_bytes()))
    assert run(["inspect", str(path)]) == 2


@pytest.mark.parametrize("name", DRESSED_UP)
def test_models_that_only_look_odd(name: str, good_model: Path, folder: Path, run: Run) -> None:
    path = folder / "plant.cwm"
    path.write_bytes(DRESSED_UP[name](good_model.read_bytes()))
    assert run(["inspect", str(path)]) == 0
    assert same(load(path), load(good_model), folder)


def test_there_are_enough_of_them() -> None:
    assert len(TABLES) + len(DAMAGED) + len(FORGED) >= 500
    assert sum(hostile.must_fail for hostile in TABLES) >= 150
