"""``causewatch serve`` as people call it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from causewatch.cli import main
from small_plant import build


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plant"))


def refused(arguments, capsys):
    assert main(["serve", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""  # above all no address of a page that is not there
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no line that could be read"),
        ("time,a,b\n1,2,3\n", "none of the model's signals"),
        (None, "no file"),
    ],
)
def test_a_source_of_no_use_has_no_page(plant, tmp_path, capsys, content, words):
    path = tmp_path / "rows.csv"
    if content is not None:
        path.write_text(content)
    assert words in refused([str(plant.model), str(path), "--port", "0"], capsys)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--host", "0.0.0.0"], "--tokens"),
        (["--speed", "5", "--state", "st"], "cannot be had with --state"),
        (["--tokens", "nowhere"], "nowhere"),
        (["--cert", "nowhere"], "--key"),
        (["--check"], "--config"),
    ],
)
def test_what_cannot_be_had_is_refused(plant, capsys, more, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert words in refused([str(plant.model), str(plant.test), "--port", "0", *more], capsys)
    assert not list(tmp_path.iterdir())


def test_a_configuration_can_be_checked(plant, capsys, tmp_path):
    path = tmp_path / "plant.toml"
    text = f'model = "{plant.model}"\nsource = "{plant.test}"\n[serve]\nhost = "HOST"\n'
    path.write_text(text.replace("HOST", "127.0.0.1"))
    assert main(["serve", "--config", str(path), "--check"]) == 0
    assert "makes sense" in capsys.readouterr().out
    path.write_text(text.replace("HOST", "0.0.0.0"))
    assert "--tokens" in refused(["--config", str(path), "--check"], capsys)
    assert "[serve]" in refused(["--config", str(path), "--port", "1"], capsys)


def test_it_stays_until_it_is_interrupted(plant, tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-m", "causewatch", "serve", str(plant.model), str(plant.test),
         "--port", "0", "--state", str(tmp_path / "state")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        found = re.fullmatch(r"The page is at (\S+) \(Ctrl-C ends it\)\n", run.stdout.readline())
        assert run.stdout.readline() == "The source has ended; the page stays until Ctrl-C.\n"
        with urllib.request.urlopen(f"{found[1]}api/alarms", timeout=20) as answer:
            alarms = json.load(answer)["alarms"]
        assert any("S02" in alarm["signals"] for alarm in alarms)
        run.send_signal(signal.SIGINT)
        shown, complaint = run.communicate(timeout=60)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 0
    assert complaint == ""
    assert "700 rows" in shown
    assert (tmp_path / "state" / "audit.jsonl").exists()
