"""The file of a store: refused if it is none, never growing, never damaged by a full disk."""

from __future__ import annotations

import fcntl
import os
import random
import resource
import shutil
import signal
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from causewatch.errors import ModelFileError, SettingError, StreamError
from causewatch.streaming.store.base import Retention
from causewatch.streaming.store.open import open_store
from causewatch.streaming.store.saving import InUseError
from causewatch.streaming.store.sqlite import MemoryStore, SqliteStore
from causewatch.testing.waiting import PATIENCE
from stores import PROCESSES, FilePlace, alike, checkpoint, event, whole, worker


def numbered(number):
    return event(str(number % 5), peak_score=number)


@pytest.fixture
def store(tmp_path):
    with closing(SqliteStore(tmp_path / "state")) as store:
        yield store


def size(folder, name="watch.db"):
    path = folder / "state" / name
    return path.stat().st_size if path.exists() else 0


# Opening


def test_looking_makes_nothing(tmp_path, store):
    assert store.load() is None
    assert store.alarms() == []
    assert store.delivered("x") is None
    with pytest.raises(SettingError, match="name the folder given to 'causewatch watch --state'"):
        store.check()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_with_those_above_it(tmp_path):
    with closing(SqliteStore(tmp_path / "a" / "b")) as store, store.lock():
        assert (tmp_path / "a" / "b" / "watch.db").is_file()
        assert store.watch == "b"
        assert store.name == repr(str(tmp_path / "a" / "b"))


@pytest.mark.parametrize(
    "content",
    [b"x", b"no database\n" * 10, b"x" * 5000, bytes(4096), b"SQLite format 3\0" + b"\7" * 4000],
)
def test_what_is_no_database_is_left_as_it_is(tmp_path, content):
    (tmp_path / "watch.db").write_bytes(content)
    for use in (
        lambda store: store.load(),
        lambda store: store.save(checkpoint(1), []),
        lambda store: store.lock().__enter__(),
        lambda store: store.check(),
    ):
        with closing(SqliteStore(tmp_path)) as store:
            with pytest.raises(ModelFileError, match=r"'watch.db' in .* left as it is") as error:
                use(store)
            assert str(error.value).count(". ") == 0
    assert (tmp_path / "watch.db").read_bytes() == content
    assert {one.name for one in tmp_path.iterdir()} <= {"watch.db", "lock"}


def test_an_empty_file_is_a_store_to_be(tmp_path):
    (tmp_path / "watch.db").touch()  # as a kill at the very first moment leaves it
    with closing(SqliteStore(tmp_path)) as store:
        assert store.load() is None
        store.save(checkpoint(1), [numbered(1)])
        assert whole(store) == 1


def test_databases_of_others_are_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "watch.db")) as connection:
        connection.execute("CREATE TABLE watches (a)")
    before = (tmp_path / "watch.db").read_bytes()
    with closing(SqliteStore(tmp_path)) as store:
        for _ in range(2):
            with pytest.raises(ModelFileError, match="not one of causewatch"):
                store.save(checkpoint(1), [])
    assert (tmp_path / "watch.db").read_bytes() == before


def test_newer_files_are_refused(tmp_path):
    with closing(SqliteStore(tmp_path)) as store:
        store.save(checkpoint(1), [])
    with closing(sqlite3.connect(tmp_path / "watch.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with closing(SqliteStore(tmp_path)) as store:
        with pytest.raises(ModelFileError, match=r"version 99; .*install a newer causewatch\."):
            store.load()


def test_damage_anywhere_is_noticed_or_harmless(tmp_path):
    """Pages overwritten with nonsense give an error or the very same content, never another."""
    chance = random.Random(3)
    with closing(SqliteStore(tmp_path)) as store:
        for number in range(1, 30):
            store.save(checkpoint(number), [numbered(number)])
    whole_file = (tmp_path / "watch.db").read_bytes()
    refused = 0
    for _ in range(40):
        content = bytearray(whole_file)
        start = chance.randrange(0, len(content) - 600)
        content[start : start + 600] = chance.randbytes(600)
        (tmp_path / "watch.db").write_bytes(content)
        with closing(SqliteStore(tmp_path)) as store:
            try:
                found = store.load()
                store.alarms()
                list(store.events())
            except (ModelFileError, StreamError):
                refused += 1
            else:
                assert found is None or alike(found, checkpoint(29))
        for name in ("watch.db-wal", "watch.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
    assert refused > 10


def test_a_damaged_byte_in_an_event_leaves_all_others(tmp_path):
    """Whichever byte of its text it is, and whatever becomes of it."""
    chance = random.Random(5)
    with closing(SqliteStore(tmp_path)) as store:
        store.save(None, [numbered(number) for number in range(1, 6)])
        events, alarms = list(store.events()), store.alarms()
        ((body,),) = store._rows("SELECT body FROM events WHERE number = 3")
    content = (tmp_path / "watch.db").read_bytes()
    start = content.index(body.encode())
    for at in range(start, start + len(body)):
        damaged = bytearray(content)
        damaged[at] ^= chance.choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
        (tmp_path / "watch.db").write_bytes(damaged)
        with closing(SqliteStore(tmp_path)) as store:
            assert list(store.events()) == [one for one in events if one != events[2]]
            assert store.alarms() == [one for one in alarms if one["id"] != events[2]["id"]]
            assert "damaged: event 3 of alarm" in store.faults()


def test_a_log_that_was_lost_is_missed(tmp_path, store, caplog):
    """The file is sound without it, and older."""
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in (2, 3, 4):
            store.save(checkpoint(number), [numbered(number)])
        key = store.notices(0)[1].key
        killed = tmp_path / "killed"
        shutil.copytree(tmp_path / "state", killed)
    (killed / "watch.db-wal").unlink()
    with closing(SqliteStore(killed)) as later:
        with later.lock():  # somebody acknowledges an alarm while no watch runs
            later.save(None, [numbered(20)])
        with later.lock():
            assert later.faults() == (
                f"The state in {later.name} is not whole: it lacks 2 saves of an earlier run (a log"
                " was removed, or an older copy put back); the rest is used."
            )
            later.save(None, [numbered(21)])
            assert key not in [notice.key for notice in later.notices(0)]
        with later.lock():
            assert later.faults() == ""


def test_a_watch_that_is_killed_lacks_nothing(tmp_path, store):
    with store.lock():
        for number in range(1, 4):
            store.save(checkpoint(number), [numbered(number)])
        for name, content in (("whole", None), ("old", b""), ("odd", b"nonsense")):
            shutil.copytree(tmp_path / "state", tmp_path / name)
            if content is not None:  # as a power cut may leave it
                (tmp_path / name / "saves").write_bytes(content)
    for name in ("whole", "old", "odd"):
        with closing(SqliteStore(tmp_path / name)) as later, later.lock():
            assert later.faults() == ""
            assert later.last == 3


def test_folders_of_earlier_releases_are_refused(tmp_path):
    (tmp_path / "state.zip").touch()
    for make in (SqliteStore, lambda folder: open_store(str(folder))):
        with pytest.raises(SettingError, match=r"written by an earlier release.*name a new folder"):
            make(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="is a file; name a folder"):
        SqliteStore(tmp_path / "file")


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with closing(SqliteStore(tmp_path / "file" / "state")) as store:
        with pytest.raises(StreamError, match="cannot be made"):
            store.lock().__enter__()
        with pytest.raises(StreamError, match="cannot be made"):
            store.save(checkpoint(1), [])


def test_open_store_tells_folders_from_addresses(tmp_path):
    with closing(open_store(str(tmp_path), "name")) as store:
        assert isinstance(store, SqliteStore)
        assert store.watch == "name"
    for where in ("mysql://host/db", "postgres://host/db", "http://host"):
        with pytest.raises(SettingError, match="neither a folder nor an address"):
            open_store(where)
    with pytest.raises(SettingError) as error:
        open_store("mysql://me:secret@host/db")
    assert "secret" not in str(error.value)


def test_memory_touches_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.zip").touch()
    with closing(MemoryStore()) as store, store.lock():
        store.save(None, [numbered(1)])
        assert store.name == "memory"
        assert store.last == 1
        store.check()
    assert [one.name for one in tmp_path.iterdir()] == ["state.zip"]


def test_settings_of_the_file(tmp_path, store):
    with store.lock():
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2)):
            assert store._connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    tables = store._rows(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%CREATE%'"
    )
    assert sum("STRICT" in one for (one,) in tables) == 8


# Staying small


def test_a_save_writes_what_has_changed(tmp_path, store):
    with store.lock():
        for number in range(1, 4):
            store.save(checkpoint(number, rows=400), [])
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        store.save(checkpoint(4, rows=400), [])
        assert 0 < size(tmp_path, "watch.db-wal") < 16 * 4096  # of 200 pages
        assert alike(store.load(), checkpoint(4, rows=400))


def test_files_do_not_grow(tmp_path, store):
    with store.lock():
        sizes = []
        for number in range(1, 400):
            store.save(checkpoint(number, rows=(40, 60)[number % 2]), [])
            sizes.append((size(tmp_path), size(tmp_path, "watch.db-wal")))
    assert max(one for one, _ in sizes) == max(one for one, _ in sizes[:100])
    assert max(one for _, one in sizes) < 5 << 20


def test_forgotten_room_is_used_again(tmp_path, store):
    with store.lock():
        sizes = []
        for _ in range(60):
            store.save(None, [event(str(n), "cleared") for n in range(50)])
            while store.forget(Retention(days=None, events=200), 0.0):
                pass
            sizes += store._connection.execute("PRAGMA page_count").fetchone()
    assert sizes[-1] == max(sizes[:15])


def test_a_reader_in_the_middle_of_the_history_holds_nothing_up(tmp_path, store):
    with store.lock(), closing(SqliteStore(tmp_path / "state")) as other:
        store.save(checkpoint(0), [numbered(n) for n in range(1000)])
        reading = other.events()
        next(reading)
        for number in range(1, 300):
            store.save(checkpoint(number), [])
            next(reading)
        assert size(tmp_path, "watch.db-wal") < 5 << 20


def test_a_foreign_reader_that_holds_the_log_lets_it_go_in_the_end(tmp_path, store):
    with store.lock():
        store.save(checkpoint(0), [])
        with closing(sqlite3.connect(tmp_path / "state" / "watch.db")) as foreign:
            foreign.execute("BEGIN")
            foreign.execute("SELECT * FROM watches").fetchall()
            for number in range(1, 300):
                store.save(checkpoint(number, 400 + number % 2), [])
            assert size(tmp_path, "watch.db-wal") > 5 << 20
            foreign.execute("COMMIT")
        for number in range(300, 303):
            store.save(checkpoint(number), [])
        assert size(tmp_path, "watch.db-wal") < 5 << 20
        assert alike(store.load(), checkpoint(302))


# Trouble


def test_a_full_disk(tmp_path, store):
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 5}").fetchall()
        with pytest.raises(StreamError, match=r"full.*make room on the disk"):
            store.save(checkpoint(2, rows=4000), [numbered(2)])
        assert whole(store) == 1
        store._connection.execute("PRAGMA max_page_count = 1000000").fetchall()
        store.save(checkpoint(2, rows=4000), [numbered(2)])
        assert whole(store) == 2


def fill(place, said):
    """Save more and more, with a limit to the size of files."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, resource.RLIM_INFINITY))
    store, number = place.store(), 0
    with store.lock():
        try:
            while True:
                store.save(checkpoint(number + 1, 40 * number + 40), [numbered(number + 1)])
                number += 1
        except StreamError as error:
            said.put((number, str(error)))
        assert whole(store) == number
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        store.save(checkpoint(number + 1, 4000), [numbered(number + 1)])
        assert whole(store) == number + 1
    store.close()


def test_files_that_may_not_grow_any_more(tmp_path):
    said = PROCESSES.Queue()
    place = FilePlace(tmp_path)
    process = worker(fill, place, said)
    number, sentence = said.get(timeout=PATIENCE)
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert number > 0
    assert "cannot be used" in sentence
    with closing(place.store()) as store:
        assert whole(store) == number + 1
    said.close()
    said.join_thread()


def test_somebody_else_writes_for_too_long(tmp_path, store, monkeypatch):
    monkeypatch.setattr("causewatch.streaming.store.sqlite.PATIENCE", 0.05)
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        with closing(sqlite3.connect(tmp_path / "state" / "watch.db")) as foreign:
            foreign.execute("BEGIN IMMEDIATE")
            with pytest.raises(StreamError, match="writing for too long; try again"):
                store.save(checkpoint(2), [numbered(2)])
            assert whole(store) == 1
            foreign.execute("ROLLBACK")
        store.save(checkpoint(2), [numbered(2)])
        assert whole(store) == 2


@pytest.mark.parametrize("again", [True, False])
def test_a_file_taken_away_while_it_is_in_use(tmp_path, store, again):
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        for one in (tmp_path / "state").glob("watch.db*"):
            os.unlink(one)
        if again:
            (tmp_path / "state" / "watch.db").touch()
        with pytest.raises(ModelFileError, match="removed or replaced"):
            store.save(checkpoint(2), [numbered(2)])


class Refusing:
    """A connection that does not do one statement."""

    def __init__(self, connection, statement):
        self._connection, self._statement = connection, statement

    def execute(self, statement, *values):
        if statement == self._statement:
            msg = "Safety level may not be changed inside a transaction"
            raise sqlite3.OperationalError(msg)
        return self._connection.execute(statement, *values)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def synchronous(store):
    return store._connection.execute("PRAGMA synchronous").fetchone()[0]


def test_a_disk_that_cannot_be_left_unwaited_for(store):
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        store._connection = Refusing(store._connection, "PRAGMA synchronous = NORMAL")
        with pytest.raises(StreamError, match="Safety level may not be changed"):
            store.deliver("sink", 1)
        assert store.delivered("sink") is None
        assert synchronous(store) == 2


def test_commits_are_on_disk_after_one_that_need_not_be(store):
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        store.deliver("sink", 1)
        assert synchronous(store) == 2


@pytest.mark.parametrize("fails", [True, False])
def test_a_connection_that_no_longer_waits_for_the_disk_is_not_used(store, caplog, fails):
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        before = store._connection
        store._connection = Refusing(before, "PRAGMA synchronous = FULL")
        if fails:  # what is said is why, not what came of it
            with pytest.raises(ZeroDivisionError):
                store._write_lightly(lambda talk: 1 // 0)
        else:
            store.deliver("sink", 1)
            assert store.delivered("sink") == (1, None)
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            before.execute("SELECT 1")
        assert "is opened anew" in caplog.text
        store.save(checkpoint(2), [numbered(2)])
        assert whole(store) == 2
        assert synchronous(store) == 2


def test_a_file_taken_away_before_it_is_opened_anew(tmp_path, store):
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        store._drop()
        for one in (tmp_path / "state").glob("watch.db*"):
            os.unlink(one)
        with pytest.raises(InUseError, match="Somebody else has written"):
            store.save(checkpoint(2), [numbered(2)])


def guest(folder, said):
    """Somebody who may look, but not write."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    store = SqliteStore(folder)
    for call in (lambda: store.save(checkpoint(2), []), lambda: store.ask({})):
        with pytest.raises(StreamError) as error:
            call()
        said.put(str(error.value))
    store.close()


def test_a_folder_that_may_not_be_written_to():
    said = PROCESSES.Queue()
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        with closing(SqliteStore(folder)) as store:
            store.save(checkpoint(1), [])
        (folder / "watch.db").chmod(0o444)
        folder.chmod(0o555)
        process = worker(guest, folder, said)
        process.join(PATIENCE)
        assert process.exitcode == 0
        for _ in range(2):
            assert "see to it that you may write to the folder" in said.get(timeout=PATIENCE)
        folder.chmod(0o700)
    said.close()
    said.join_thread()


def test_the_lock_names_who_holds_it(tmp_path, store):
    with store.lock(), closing(SqliteStore(tmp_path / "state")) as other:
        with pytest.raises(InUseError, match=rf"\(process {os.getpid()}\); stop that first"):
            other.lock().__enter__()


def test_a_lock_names_who_holds_it_now(tmp_path, store):
    (tmp_path / "state").mkdir()
    lock = tmp_path / "state" / "lock"
    lock.write_text("999999999")  # who had it long ago
    with lock.open() as file:  # others need not write to it
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(InUseError, match=rf"\(process {os.getpid()}\)"):
            store.lock().__enter__()
    with store.lock():
        assert lock.read_text() == str(os.getpid())


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("mine"), os.mkfifo])
def test_a_lock_that_is_no_file_is_not_opened(tmp_path, make):
    (tmp_path / "mine").write_text("precious")
    make(tmp_path / "lock")
    with closing(SqliteStore(tmp_path)) as store:
        with pytest.raises(StreamError, match=r"'lock' in .* is no file of its own; remove it"):
            store.lock().__enter__()
    assert (tmp_path / "mine").read_text() == "precious"


def test_the_state_is_for_its_owner_only_from_the_beginning(tmp_path, store, caplog, monkeypatch):
    def modes():
        folder = tmp_path / "state"
        return {one.name: one.stat().st_mode & 0o777 for one in (folder, *folder.iterdir())}

    begun, connect = [], sqlite3.connect

    def looked(*arguments, **more):
        begun.append(modes())
        return connect(*arguments, **more)

    monkeypatch.setattr(sqlite3, "connect", looked)
    former = os.umask(0)
    try:
        with store.lock():
            store.save(checkpoint(1), [numbered(1)])
            found = modes()
    finally:
        os.umask(former)
    assert begun == [{"state": 0o700, "lock": 0o600, "watch.db": 0o600}]
    assert found.pop("state") == 0o700
    files = ("lock", "saves", "watch.db", "watch.db-wal", "watch.db-shm")
    assert found == dict.fromkeys(files, 0o600)
    assert caplog.text == ""


def test_a_state_that_others_may_read_is_told_of(tmp_path, store, caplog):
    with store.lock():
        store.save(checkpoint(1), [])
    (tmp_path / "state" / "watch.db").chmod(0o644)
    with store.lock():
        pass
    assert caplog.text == ""  # nobody else can enter the folder
    (tmp_path / "state").chmod(0o755)
    with store.lock():
        pass
    assert caplog.text.count("is open to other users") == 1
