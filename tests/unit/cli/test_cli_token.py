"""``causewatch token``."""

from __future__ import annotations

import json
import stat

import pytest

from causewatch.cli import app as app_module
from causewatch.cli import main
from causewatch.cli import token as token_module
from causewatch.server.access.tokens import Tokens, Visitor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens"


@pytest.fixture
def run(path, capsys, monkeypatch):
    """Runs ``causewatch token`` and gives what it prints."""
    if token_module not in app_module.COMMANDS:
        monkeypatch.setattr(app_module, "COMMANDS", (*app_module.COMMANDS, token_module))

    def run(*arguments, code=0):
        capsys.readouterr()
        assert main(["token", *arguments, "--tokens", str(path)]) == code
        shown = capsys.readouterr()
        if code:
            assert shown.out == ""
            assert shown.err.count("\n") == 1
        return shown.err if code else shown.out

    return run


def test_a_token_is_shown_once(run, path):
    text = run("anna", "--role", "operate")
    (token,) = (word for word in text.split() if word.startswith("cw_"))
    assert "password" in text
    assert "Authorization: Bearer" in text
    assert Tokens(path).find(token) == Visitor("anna", "operate")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in path.read_text()
    assert token not in run("--list")


def test_looking_is_what_one_may_do_by_default(run, path):
    said = json.loads(run("wall", "--json"))
    assert said == {"name": "wall", "role": "look", "token": said["token"]}
    assert Tokens(path).find(said["token"]) == Visitor("wall", "look")


def test_list_and_remove(run, path):
    run("anna", "--role", "operate")
    run("wall")
    assert [line.split() for line in run("--list").splitlines()] == [
        ["operate", "anna"],
        ["look", "wall"],
    ]
    assert "no longer" in run("anna", "--remove")
    assert json.loads(run("--list", "--json")) == [{"name": "wall", "role": "look"}]
    assert json.loads(run("wall", "--remove", "--json")) == {"name": "wall", "role": "look"}
    assert "holds no tokens" in run("--list", code=2)


def test_a_file_that_everybody_may_read_is_warned_of(run, path, capsys):
    run("anna")
    path.chmod(0o644)
    main(["token", "--list", "--tokens", str(path)])
    assert "Every user of this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Nobody is named"),
        (["--remove"], "Nobody is named"),
        (["anna", "--role", "admin"], "Available: look, operate"),
        (["anna", "--list"], "give no name"),
        (["--list", "--remove"], "give no name"),
        (["anna", "--remove", "--role", "look"], "give no --role"),
        (["two words"], "choose another"),
        (["anna", "--remove"], "no file"),
        (["--list"], "cannot be read"),
    ],
)
def test_what_makes_no_sense(run, path, arguments, says):
    assert says in run(*arguments, code=2)
    assert not path.exists()


def test_a_name_is_taken_once(run, path):
    run("anna")
    before = path.read_bytes()
    assert "already" in run("anna", code=2)
    assert "anna" in run("ana", "--remove", code=2)
    assert path.read_bytes() == before


def test_the_folder_must_be_there(capsys, run, path):
    place = path / "deeper"
    assert main(["token", "anna", "--tokens", str(place)]) == 2
    assert "cannot be changed" in capsys.readouterr().err
