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
from causewatch.server import make_token
from causewatch.testing.waiting import PATIENCE
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


@pytest.fixture
def files(plant, tmp_path, monkeypatch):
    """A folder of its own with a model, a recording, tokens, tags and a link in a circle."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.cwm").write_bytes(plant.model.read_bytes())
    (tmp_path / "rows.csv").write_bytes(plant.test.read_bytes())
    (tmp_path / "state").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "tags.csv").write_text("tag,signal\nplant/s01,S01\n")
    make_token(tmp_path / "tk", "anna", "operate")
    return tmp_path


USES = [
    ("--alarms", "a.jsonl", "a.jsonl", "is written to already"),
    ("--sink", "a.jsonl", "a.jsonl", "is written to already"),
    ("--tokens", "tk", "tk", "is read by this watch"),
    ("--tags", "tags.csv", "tags.csv", "is read by this watch"),
    ("--state", "state", "state/watch.db", "belongs to the state"),
    ("--name", "x", "m.cwm", "is read by this watch"),
    ("--name", "x", "rows.csv", "is read by this watch"),
    ("--name", "x", "loop", "in a circle"),
]


@pytest.mark.parametrize(("option", "value", "audit", "words"), USES)
def test_an_audit_log_must_not_have_another_use(files, capsys, option, value, audit, words):
    before = {path: path.read_bytes() for path in files.iterdir() if path.is_file()}
    more = [option, value, "--audit", audit, "--port", "0"]
    assert words in refused(["m.cwm", "rows.csv", *more], capsys)
    assert before == {path: path.read_bytes() for path in files.iterdir() if path.is_file()}


def test_nothing_else_is_written_over_the_tokens_or_the_usual_audit_log(files, capsys):
    more = ["--port", "0", "--force"]
    arguments = ["m.cwm", "rows.csv", *more, "--tokens", "tk", "--alarms", "tk"]
    assert "is read by this watch" in refused(arguments, capsys)
    arguments = ["m.cwm", "rows.csv", *more, "--state", "state", "--sink", "state/audit.jsonl"]
    assert "is written to already" in refused(arguments, capsys)


@pytest.mark.parametrize("more", [["--check"], []])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[serve]\naudit = "plant.toml"', "is read by this watch"),
        ('[serve]\naudit = "rows.csv"', "is read by this watch"),
        ('[serve]\naudit = "m.cwm"', "is read by this watch"),
        ('[serve]\naudit = "tk"\ntokens_file = "tk"', "is read by this watch"),
        ('tags = "tags.csv"\n[serve]\naudit = "tags.csv"', "is read by this watch"),
        ('sinks = ["plant.toml"]', "is read by this watch"),
        ('[outputs]\nalarms = "a.jsonl"\n[serve]\naudit = "a.jsonl"', "is written to already"),
        ('state = "state"\nsinks = ["state/audit.jsonl"]', "is written to already"),
        ('state = "state"\n[serve]\naudit = "state/lock"', "belongs to the state"),
        ('state = "loop"', "in a circle"),
        ('[outputs]\nalarms = "loop"', "in a circle"),
        ("[serve]\nviewers = 100000000000", "of at most 10000 is expected"),
    ],
)
def test_files_with_two_uses_in_a_configuration(files, capsys, text, words, more):
    path = files / "plant.toml"
    path.write_text(f'model = "m.cwm"\nsource = "rows.csv"\n{text}\n')
    assert words in refused(["--config", str(path), *more], capsys)


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
        with urllib.request.urlopen(f"{found[1]}api/alarms", timeout=PATIENCE) as answer:
            alarms = json.load(answer)["alarms"]
        assert any("S02" in alarm["signals"] for alarm in alarms)
        run.send_signal(signal.SIGINT)
        shown, complaint = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 0
    assert complaint == ""
    assert "700 rows" in shown
    assert (tmp_path / "state" / "audit.jsonl").exists()
