"""What a system without POSIX's modules, signals and locks can do all the same.

Windows itself was not tried. Here `causewatch` finds none of what Windows does not have; other
libraries still do.
"""

from __future__ import annotations

import json
import subprocess
import sys

from small_plant import build

WITHOUT = """
import asyncio, builtins, multiprocessing, os, select, signal, socket, sys, types

POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
plain = builtins.__import__


def windows(name, globals=None, locals=None, fromlist=(), level=0):
    home = str((globals or {}).get("__name__", ""))
    if name in POSIX and home.partition(".")[0] in ("causewatch", "getpass"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return plain(name, globals, locals, fromlist, level)


builtins.__import__ = windows
for module, names in (
    (signal, "SIGHUP SIGUSR1 SIGUSR2 SIGKILL SIGALRM SIGCHLD SIGPIPE SIGQUIT"),
    (socket, "AF_UNIX"),
    (select, "poll"),
    (os, "nice sched_getaffinity sysconf major minor O_NOFOLLOW O_NONBLOCK"
         " O_DIRECTORY mkfifo getuid getgid getpgid setsid"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

held = {}


def locking(file, mode, count):
    # Mandatory, as there: one byte from where the file stands, for as long as it is open.
    key = (os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR))
    if held.get(key, file) != file and is_open(held[key], key[0]):
        raise PermissionError(13, "Permission denied")
    held[key] = file


def is_open(file, inode):
    try:
        return os.fstat(file).st_ino == inode
    except OSError:
        return False


sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
"""

IMPORTS = """
import importlib, pkgutil
import causewatch

for module in pkgutil.walk_packages(causewatch.__path__, "causewatch."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""

COMMANDS = """
from causewatch.cli import main
from causewatch.streaming.store.sqlite import SqliteStore

normal, test, causes, out = sys.argv[1:]
names = ("m.cwm", "state", "tokens", "pages")
model, state, tokens, pages = (os.path.join(out, name) for name in names)
assert main(["learn", normal, "--out", model]) == 0
assert main(["evaluate", model, test, "--causes", causes]) == 0
assert main(["watch", model, test, "--state", state, "--report", pages]) == 0
for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
    os.environ.pop(name, None)
store = SqliteStore(state, "watch")
assert main(["alarms", "ack", store.history()[0][1]["id"], "--state", state]) == 0
for name in ("anna", "bert"):
    assert main(["token", name, "--tokens", tokens]) == 0
with store.lock():
    assert main(["watch", model, test, "--state", state]) == 2
store.close()
assert main(["watch", model, test, "--sink", "syslog:///dev/log"]) == 2
print("done with", len(held), "lock")
"""


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + script, *map(str, arguments)],
        capture_output=True,
        text=True,
    )


def test_every_module_can_be_imported():
    done = run(IMPORTS)
    assert done.returncode == 0, done.stderr


def test_what_people_do_works(tmp_path):
    plant = build(tmp_path)
    causes = tmp_path / "events.json"
    times = [plant.lines[k].split(",")[0] for k in (201, 260)]
    event = {"name": "bias", "start": times[0], "end": times[1], "signals": ["S02"]}
    causes.write_text(json.dumps([event]))
    out = tmp_path / "out"
    out.mkdir()
    done = run(COMMANDS, tmp_path / "normal.csv", plant.test, causes, out)
    assert done.returncode == 0, done.stderr
    assert "acknowledged" in done.stdout
    assert done.stdout.splitlines()[-1] == "done with 1 lock"
    first, second = done.stderr.splitlines()
    assert "is in use by a running watch (process " in first
    assert "(process unknown)" not in first
    assert "which this system does not have; give an address like syslog://host." in second
