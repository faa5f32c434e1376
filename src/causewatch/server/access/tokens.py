"""Tokens: who may look at a plant, and who may operate it.

A file of tokens has one line for each person or program::

    # role  name  hash
    operate anna  sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    look    wall  sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752

The last word is the SHA-256 of a token, or the token itself, of at least 16 characters. A plain
hash is enough, since a token is no password that somebody thought of: `make_token` draws 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from causewatch.errors import SettingError, UnknownNameError, shorten
from causewatch.files import write_atomically

__all__ = ["ROLES", "Role", "Tokens", "Visitor", "digest_of", "make_token", "remove_token"]

Role = Literal["look", "operate"]
ROLES: tuple[Role, ...] = get_args(Role)

SHORTEST = 16
"""Characters of a token that is written as it is."""
LONGEST_NAME = 64
MOST_ENTRIES = 1000
MOST_BYTES = 1 << 20
FRESH = 1.0
"""Seconds for which the file is not looked at again."""
HASH = re.compile(r"sha256:([0-9a-fA-F]{64})", re.ASCII)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who asks: the name (None where nobody is asked for one), and what is allowed."""

    name: str | None
    role: Role


@dataclass(frozen=True, slots=True)
class _Entry:
    visitor: Visitor
    digest: bytes
    line: int  # from 0
    plain: bool


class Tokens:
    """Those who are let in, as a file says.

    The file is read again when it has changed, so that somebody who was taken out of it is turned
    away without a restart. If it cannot be read then, those already known stay, and the log says
    so.

    Parameters
    ----------
    path
        The file.
    now
        A clock, in seconds.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now = path, now
        self._looked = now()
        self._mark = _mark(path)
        self._entries, self._warnings = _load(path)
        if not self._entries:
            msg = (
                f"The file {str(path)!r} holds no tokens, so nobody could get in; make one with"
                f" 'causewatch token NAME --tokens {path}'."
            )
            raise SettingError(msg)

    @property
    def visitors(self) -> tuple[Visitor, ...]:
        """All of them, in the order of the file."""
        return tuple(entry.visitor for entry in self._entries)

    @property
    def warnings(self) -> list[str]:
        """What is not quite right with the file, as sentences."""
        return list(self._warnings)

    def find(self, token: str) -> Visitor | None:
        """Whose token this is; None if nobody's."""
        return self.find_digest(digest_of(token))

    def find_digest(self, digest: bytes) -> Visitor | None:
        """As `find`, for the `digest_of` a token."""
        self._refresh()
        found = None
        # All are compared, each in constant time: how long it takes tells nothing about any.
        for entry in self._entries:
            if hmac.compare_digest(entry.digest, digest):
                found = entry.visitor
        return found

    def _refresh(self) -> None:
        now = self._now()
        if now - self._looked < FRESH:
            return
        self._looked = now
        mark = _mark(self._path)
        if mark == self._mark:
            return
        self._mark = mark
        try:
            entries, warnings = _load(self._path)
            if not entries and _is_empty(self._path):
                # Whoever writes a file anew empties it first. A comment says that it is meant.
                msg = f"{str(self._path)!r} is empty; to let nobody in, put a comment into it."
                raise SettingError(msg)
        except SettingError as error:
            log.error("The tokens known so far stay valid. %s", error)
        else:
            self._entries, self._warnings = entries, warnings
            log.info("The tokens were read again: %d of them.", len(self._entries))


def digest_of(token: str) -> bytes:
    """The SHA-256 of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def make_token(
    path: Path, name: str, role: Role, *, chance: Callable[[int], bytes] = secrets.token_bytes
) -> str:
    """Let somebody in: a new token, whose hash is added to the file.

    Parameters
    ----------
    path
        The file of tokens; made, for its owner only, if it is not there.
    name
        Of whom; not in the file yet.
    role
        What they may do.
    chance
        Gives so many random bytes.

    Returns
    -------
    str
        The token. It is kept nowhere else.
    """
    if (wrong := _wrong_name(name)) is not None:
        msg = f"The name {shorten(name)!r} {wrong}; choose another one."
        raise SettingError(msg)
    _check_role(role)
    # The first letters tell people and programs that look for leaked secrets what this is.
    token = f"cw_{chance(32).hex()}"
    with _changing(path) as text:
        entries, _ = _load(path)
        if any(entry.visitor.name == name for entry in entries):
            msg = (
                f"{str(path)!r} has a token for {name!r} already; take it out with"
                f" 'causewatch token {name} --remove --tokens {path}', or choose another name."
            )
            raise SettingError(msg)
        if len(entries) >= MOST_ENTRIES:
            msg = f"{str(path)!r} holds {MOST_ENTRIES} tokens, and more are not read; remove some."
            raise SettingError(msg)
        gap = "" if not text or text.endswith("\n") else "\n"
        _write(path, f"{text}{gap}{role} {name} sha256:{digest_of(token).hex()}\n")
    return token


def remove_token(path: Path, name: str) -> Visitor:
    """Take somebody's token out of the file; gives who it was. All other lines stay."""
    if not path.exists():
        msg = f"There is no file {str(path)!r}; name the file of tokens."
        raise SettingError(msg)
    with _changing(path) as text:
        entries, _ = _load(path)
        found = next((entry for entry in entries if entry.visitor.name == name), None)
        if found is None:
            raise UnknownNameError(name, "token of", [str(one.visitor.name) for one in entries])
        lines = text.split("\n")
        del lines[found.line]
        _write(path, "\n".join(lines) or "# Nobody is let in.\n")
    return found.visitor


# Reading


def _load(path: Path) -> tuple[list[_Entry], list[str]]:
    """What the file says, and what is not quite right with it."""
    text, mode = _read(path)
    entries: list[_Entry] = []
    names: set[str | None] = set()
    digests: set[bytes] = set()
    for number, line in enumerate(text.split("\n")):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"Line {number + 1} of {str(path)!r}"
        entry = _parse(line, number, place)
        if entry.visitor.name in names or entry.digest in digests:
            what = "name" if entry.visitor.name in names else "token"
            msg = f"{place} has the {what} of an earlier line; each must be there only once."
            raise SettingError(msg)
        names.add(entry.visitor.name)
        digests.add(entry.digest)
        entries.append(entry)
    if len(entries) > MOST_ENTRIES:
        msg = f"{str(path)!r} holds {len(entries)} tokens; {MOST_ENTRIES} are read: remove some."
        raise SettingError(msg)
    return entries, _check_mode(path, mode, any(entry.plain for entry in entries))


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False


def _parse(line: str, number: int, place: str) -> _Entry:
    """One line. No error repeats any of it: with its words mixed up, each may be the token."""
    words = line.split()
    if len(words) != 3:
        msg = f"{place} does not hold three words: a role, a name, and a token or its hash."
        raise SettingError(msg)
    role, name, word = words
    if role not in ROLES:
        msg = f"{place} does not begin with a role; {' or '.join(ROLES)} is expected."
        raise SettingError(msg)
    if (wrong := _wrong_name(name)) is not None:
        msg = f"{place} has a name that {wrong}; change it."
        raise SettingError(msg)
    plain = not word.lower().startswith("sha256:")
    if plain and len(word) < SHORTEST:
        msg = (
            f"{place} has a token of {len(word)} characters, and at least {SHORTEST} are expected;"
            " let 'causewatch token' make one."
        )
        raise SettingError(msg)
    match = None if plain else HASH.fullmatch(word.replace("SHA256:", "sha256:", 1))
    if not plain and match is None:
        msg = f"{place} has no SHA-256 after 'sha256:'; 64 hexadecimal digits are expected."
        raise SettingError(msg)
    digest = digest_of(word) if match is None else bytes.fromhex(match[1])
    return _Entry(Visitor(name, role), digest, number, plain)


def _wrong_name(name: str) -> str | None:
    """What is wrong with a name; None if nothing is."""
    if not name or not name.isprintable() or name.split() != [name]:
        return "is empty, or has blanks or signs that cannot be seen"
    if name.startswith(("#", "-")):
        return "begins with # or -"
    return f"is longer than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else None


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise UnknownNameError(role, "role", ROLES)


def _read(path: Path) -> tuple[str, int]:
    """The text of the file and its mode."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                msg = f"The tokens are to be in {str(path)!r}, which is no file; name a file."
                raise SettingError(msg)
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            msg = f"The file of tokens {str(path)!r} is larger than {MOST_BYTES} bytes; shorten it."
            raise SettingError(msg)
        return data.decode("utf-8-sig").replace("\r\n", "\n"), mode
    except UnicodeDecodeError:
        # Not as the cause either: it holds what was read.
        msg = f"The tokens are to be in {str(path)!r}, which is no text in UTF-8."
        raise SettingError(msg) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"The tokens are to be in {str(path)!r}, which cannot be read: {reason}."
        raise SettingError(msg) from error


def _without_waiting(path: str, flags: int) -> int:
    """Opens a pipe without waiting for somebody at its other end."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_mode(path: Path, mode: int, plain: bool) -> list[str]:
    """Warn of a file that is open to every user of the machine; refuse it where that lets them in.

    A group is somebody's decision (a service that reads what an administrator writes).
    """
    if os.name != "posix" or not mode & 0o006:
        return []
    remedy = f"take that away with 'chmod o= {path}'"
    if mode & stat.S_IWOTH:
        msg = f"Every user of this machine may add tokens to {str(path)!r}; {remedy}."
        raise SettingError(msg)
    if plain:
        msg = (
            f"Every user of this machine may read the tokens in {str(path)!r}; {remedy}, or keep"
            " hashes in it, as 'causewatch token' does."
        )
        raise SettingError(msg)
    return [f"Every user of this machine may read names and hashes in {str(path)!r}; {remedy}."]


def _mark(path: Path) -> tuple[int, ...] | None:
    """By which a changed file is known; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


# Changing


@contextmanager
def _changing(path: Path) -> Iterator[str]:
    """Hold the file, so that of two changes at once none gets lost; gives its text."""
    try:
        file = _hold(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"The file of tokens {str(path)!r} cannot be changed: {reason}; name another one."
        raise SettingError(msg) from error
    try:
        yield _read(path)[0]
    finally:
        if file is not None:
            os.close(file)


def _hold(path: Path) -> int | None:
    """The file, open and locked; None on Windows, where an open file could not be replaced."""
    try:
        import fcntl
    except ImportError:  # not a system of the Unix family
        path.touch(0o600)
        return None
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it before has put another file in its place.
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _write(path: Path, text: str) -> None:
    """Put `text` in the place of the file, which keeps its owner and mode."""
    before = path.stat()
    mask = os.umask(0o077)  # at no moment are there tokens that others can read
    try:
        write_atomically(path, text)
    finally:
        os.umask(mask)
    if os.name == "posix":
        if (os.geteuid(), os.getegid()) != (before.st_uid, before.st_gid):
            with suppress(PermissionError):  # only root may give files away
                os.chown(path, before.st_uid, before.st_gid)
        path.chmod(stat.S_IMODE(before.st_mode))
