"""Files of tokens: what is read, what is refused, and that no token ever shows."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import CausewatchError, SettingError, UnknownNameError
from causewatch.files import write_atomically
from causewatch.server.access import tokens as tokens_module
from causewatch.server.access.tokens import Tokens, Visitor, digest_of, make_token, remove_token
from causewatch.testing import FakeClock
from causewatch.testing.waiting import PATIENCE

SECRET = "abcdefghijklmnop-secret"


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "tokens"


def write(path: Path, text: str | bytes, mode: int = 0o600) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_read(path):
    hashed = hashlib.sha256(b"a token of somebody").hexdigest()
    write(
        path,
        f"\ufeff# role name token\r\n\r\n  look\twall   {SECRET}  \r\n"
        f"operate anna SHA256:{hashed.upper()}\r\n # the end",
    )
    tokens = Tokens(path)
    assert tokens.visitors == (Visitor("wall", "look"), Visitor("anna", "operate"))
    assert tokens.find(SECRET) == Visitor("wall", "look")
    assert tokens.find("a token of somebody") == Visitor("anna", "operate")
    assert tokens.warnings == []


@pytest.mark.parametrize(
    "wrong", ["", SECRET[:-1], SECRET + "x", SECRET.upper(), " " + SECRET, "\udc80", "ü" * 5000]
)
def test_other_tokens_are_nobodys(path, wrong):
    assert Tokens(write(path, f"look wall {SECRET}\n")).find(wrong) is None


def test_a_hash_does_not_open_anything(path):
    hashed = f"sha256:{digest_of(SECRET).hex()}"
    tokens = Tokens(write(path, f"look wall {hashed}\n"))
    assert tokens.find(hashed) is None
    assert tokens.find(hashed.removeprefix("sha256:")) is None
    assert tokens.find(SECRET) is not None


def test_all_entries_are_compared_whatever_comes(path, monkeypatch):
    write(path, "".join(f"look v{n} {SECRET}{n}\n" for n in range(20)))
    tokens = Tokens(path)
    compared = []

    def compare(a, b):
        compared.append((len(a), len(b)))
        return hmac.compare_digest(a, b)

    class Spy:
        compare_digest = staticmethod(compare)

    monkeypatch.setattr(tokens_module, "hmac", Spy)
    for token in (SECRET + "0", SECRET + "19", "nobody's", ""):
        compared.clear()
        tokens.find(token)
        # As many comparisons of as many bytes for each.
        assert compared == [(32, 32)] * 20


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"look {SECRET}", "three words"),
        (SECRET, "three words"),
        (f"look wall {SECRET} # for the wall", "three words"),
        (f"admin wall {SECRET}", "look or operate"),
        (f"Look wall {SECRET}", "look or operate"),
        (f"{SECRET} wall look", "look or operate"),
        ("look wall fifteen-letters", "15 characters"),
        ("look wall sha256:abcdefghijklmnop", "64 hexadecimal"),
        (f"look wall sha256:{'0' * 63}", "64 hexadecimal"),
        (f"look wall sha256:{'٣' * 64}", "64 hexadecimal"),
        (f"look {'n' * 65} {SECRET}", "longer than 64"),
        (f"look a\u200bb {SECRET}", "cannot be seen"),
        (f"look a\x00b {SECRET}", "cannot be seen"),
        (f"look -x {SECRET}", "begins with"),
        (f"operate first {SECRET}", "name of an earlier line"),
        (f"operate other {'first-token-of-all'}", "token of an earlier line"),
    ],
)
def test_an_error_names_file_and_line_and_never_the_token(path, line, says):
    write(path, f"# comment\nlook first first-token-of-all\n{line}\n")
    with pytest.raises(SettingError) as caught:
        Tokens(path)
    message = str(caught.value)
    assert says in message
    assert "Line 3" in message
    assert str(path) in message
    assert caught.value.__cause__ is None
    assert message.endswith(".")
    for secret in (SECRET, "first-token", "fifteen", "abcdefgh"):
        assert secret not in message


@given(st.binary(max_size=300))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, data):
    path = write(tmp_path_factory.mktemp("any") / "tokens", data)
    with suppress(SettingError):  # and nothing else
        assert Tokens(path).visitors


@pytest.mark.parametrize("text", ["", "\n", "# only this\n"])
def test_a_file_without_tokens_is_refused(path, text):
    with pytest.raises(SettingError, match="holds no tokens"):
        Tokens(write(path, text))


def test_files_that_cannot_be_read_are_refused(tmp_path):
    for place in (tmp_path / "absent", tmp_path):
        with pytest.raises(SettingError, match="tokens are to be in"):
            Tokens(place)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SettingError, match="no file"):
        Tokens(tmp_path / "pipe")
    with pytest.raises(SettingError, match="UTF-8"):
        Tokens(write(tmp_path / "latin", f"look müller {SECRET}".encode("latin-1")))
    with pytest.raises(SettingError, match="larger than"):
        Tokens(write(tmp_path / "large", "#" * ((1 << 20) + 1)))
    many = "".join(f"look v{n} {SECRET}{n}\n" for n in range(1001))
    with pytest.raises(SettingError, match="1001 tokens"):
        Tokens(write(tmp_path / "many", many))


HASHED = f"look wall sha256:{digest_of(SECRET).hex()}\n"


@pytest.mark.parametrize(
    ("text", "bits", "outcome"),
    [
        (f"look wall {SECRET}", 0o600, "fine"),
        (f"look wall {SECRET}", 0o640, "fine"),
        (f"look wall {SECRET}", 0o644, "refused"),
        (HASHED, 0o640, "fine"),
        (HASHED, 0o644, "warned"),
        (HASHED, 0o646, "refused"),
        (HASHED, 0o602, "refused"),
    ],
)
def test_files_open_to_everybody(path, text, bits, outcome):
    write(path, text, bits)
    if outcome == "refused":
        with pytest.raises(SettingError, match="Every user of this machine"):
            Tokens(path)
    else:
        warnings = Tokens(path).warnings
        assert len(warnings) == (outcome == "warned")
        assert all("chmod" in warning and SECRET not in warning for warning in warnings)


# Reading again


class Clock:
    """Stands still until it is set."""

    time = 0.0

    def __call__(self) -> float:
        return self.time


def test_changes_of_the_file_are_seen(path, caplog):
    clock = Clock()
    write(path, f"look wall {SECRET}\n")
    tokens = Tokens(path, now=clock)
    new = make_token(path, "anna", "operate")
    assert tokens.find(new) is None  # it was looked at just now
    clock.time += 1
    assert tokens.find(new) == Visitor("anna", "operate")
    remove_token(path, "wall")
    clock.time += 1
    assert tokens.find(SECRET) is None
    # The last one: now nobody gets in.
    remove_token(path, "anna")
    clock.time += 1
    assert tokens.find(new) is None
    assert tokens.visitors == ()


@pytest.mark.parametrize("damage", [None, "look wall", "look wall short"])
def test_a_file_that_cannot_be_read_any_more_changes_nothing(path, caplog, damage):
    clock = Clock()
    tokens = Tokens(write(path, f"look wall {SECRET}\n"), now=clock)
    if damage is None:
        path.unlink()
    else:
        write(path, damage)
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            clock.time += 1
            assert tokens.find(SECRET) == Visitor("wall", "look")
    assert len(caplog.records) == 1  # and not every second
    assert SECRET not in caplog.text
    write(path, f"operate wall {SECRET}\n")
    clock.time += 1
    assert tokens.find(SECRET) == Visitor("wall", "operate")


# Making


def test_a_token_is_made_and_only_its_hash_is_kept(path):
    token = make_token(path, "anna", "operate")
    assert len(token) >= 43
    assert mode(path) == 0o600
    assert token not in path.read_text()
    assert Tokens(path).find(token) == Visitor("anna", "operate")
    other = make_token(path, "wall", "look")
    assert other != token
    tokens = Tokens(path)
    assert (tokens.find(token), tokens.find(other)) == tokens.visitors
    assert list(path.parent.iterdir()) == [path]


def test_tokens_come_from_chance(path):
    assert make_token(path, "anna", "look", chance=lambda size: b"\x01" * size) == "cw_" + "01" * 32


def test_a_name_is_used_once(path):
    token = make_token(path, "anna", "look")
    before = path.read_bytes()
    with pytest.raises(SettingError, match="for 'anna' already"):
        make_token(path, "anna", "operate")
    assert path.read_bytes() == before
    assert Tokens(path).find(token) == Visitor("anna", "look")


@pytest.mark.parametrize(
    "name", ["", " ", "two words", "a\nlook b", "#a", "-a", "x" * 65, "a\u202eb", "\ud800"]
)
def test_names_that_would_not_be_read_back_are_refused(path, name):
    with pytest.raises(SettingError, match="choose another"):
        make_token(path, name, "look")
    assert not path.exists()


def test_names_of_all_languages(path):
    for name in ("Jörg", "安娜", "o'neill", "a.b@c:d"):
        token = make_token(path, name, "look")
        assert Tokens(path).find(token) == Visitor(name, "look")


def test_unknown_roles_are_refused(path):
    with pytest.raises(UnknownNameError, match="look, operate"):
        make_token(path, "anna", "admin")  # type: ignore[arg-type]
    assert not path.exists()


def test_other_lines_stay_as_they_are(path):
    before = f"# ours\n\nlook wall {SECRET}\n  # the end"
    write(path, before, 0o640)
    make_token(path, "anna", "operate")
    text = path.read_text()
    assert text.startswith(before + "\noperate anna sha256:")
    assert mode(path) == 0o640
    assert remove_token(path, "anna") == Visitor("anna", "operate")
    assert path.read_text() == before + "\n"
    remove_token(path, "wall")
    assert path.read_text() == "# ours\n\n  # the end\n"
    assert mode(path) == 0o640


def test_removing_somebody_who_is_not_there(path):
    with pytest.raises(SettingError, match="no file"):
        remove_token(path, "anna")
    assert not path.exists()
    make_token(path, "anna", "look")
    with pytest.raises(UnknownNameError, match="anna"):
        remove_token(path, "ana")


def test_a_link_stays_a_link(path, tmp_path):
    real = tmp_path / "real"
    real.touch(mode=0o600)
    path.symlink_to(real)
    token = make_token(path, "anna", "look")
    assert path.is_symlink()
    assert Tokens(real).find(token) is not None


@pytest.mark.parametrize("place", ["folder/tokens", "."])
def test_places_of_no_use(tmp_path, place):
    with pytest.raises(SettingError, match="cannot be changed"):
        make_token(tmp_path / place, "anna", "look")


def test_a_full_file_takes_no_more(path, monkeypatch):
    monkeypatch.setattr(tokens_module, "MOST_ENTRIES", 2)
    make_token(path, "a", "look")
    make_token(path, "b", "look")
    with pytest.raises(SettingError, match="remove some"):
        make_token(path, "c", "look")
    assert len(Tokens(path).visitors) == 2


def test_of_many_made_at_once_none_is_lost(path):
    code = (
        "import sys, pathlib; from causewatch.server.access.tokens import make_token\n"
        "for n in range(5): make_token(pathlib.Path(sys.argv[1]), sys.argv[2] + str(n), 'look')"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(path), "p"])
    threads = [
        threading.Thread(target=make_token, args=(path, f"t{number}", "look"))
        for number in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert other.wait(PATIENCE) == 0
    assert len(Tokens(path).visitors) == 15
    assert mode(path) == 0o600


def test_nobody_else_can_read_the_file_at_any_moment(path, monkeypatch):
    found = []

    def spy(place, content):
        write_atomically(place, content)
        found.append(mode(place))

    monkeypatch.setattr(tokens_module, "write_atomically", spy)
    before = os.umask(0o000)
    try:
        make_token(path, "a", "look")
        make_token(path, "b", "look")
    finally:
        os.umask(before)
    assert found == [0o600, 0o600]


def test_whoever_waited_for_a_file_that_was_replaced_waits_for_the_new_one(path):
    fcntl = pytest.importorskip("fcntl")
    make_token(path, "a", "look")
    with path.open() as old:
        fcntl.flock(old, fcntl.LOCK_EX)
        waiting = threading.Thread(target=make_token, args=(path, "b", "look"))
        waiting.start()
        new = write(path.with_name("new"), path.read_bytes())
        with new.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            new.replace(path)
            fcntl.flock(old, fcntl.LOCK_UN)
            waiting.join(0.2)
            assert waiting.is_alive()
            assert len(Tokens(path).visitors) == 1
    waiting.join(PATIENCE)
    assert [one.name for one in Tokens(path).visitors] == ["a", "b"]


def test_the_mask_of_the_process_is_put_back(path, monkeypatch):
    before = os.umask(0o022)
    try:

        def full(path, content):
            raise OSError(28, "No space left on device", str(path))

        make_token(path, "a", "look")
        monkeypatch.setattr(tokens_module, "write_atomically", full)
        with pytest.raises((OSError, CausewatchError)):
            make_token(path, "b", "look")
    finally:
        found = os.umask(before)
    assert found == 0o022


def test_a_file_that_is_being_written_anew_lets_nobody_out(tmp_path):
    path, clock = tmp_path / "tokens", FakeClock()
    token = make_token(path, "anna", "operate")
    tokens = Tokens(path, now=clock)
    path.write_text("")
    clock.sleep(60)
    assert tokens.find(token) is not None
    path.write_text("# nobody\n")
    clock.sleep(60)
    assert tokens.find(token) is None


def test_the_last_token_can_be_removed(tmp_path):
    path, clock = tmp_path / "tokens", FakeClock()
    token = make_token(path, "anna", "operate")
    tokens = Tokens(path, now=clock)
    remove_token(path, "anna")
    clock.sleep(60)
    assert tokens.find(token) is None
