"""What only a server can do to a store: go away, come back, be cut off in the middle."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager

import pytest

from causewatch.errors import ModelFileError, SettingError, StreamError, UnknownNameError
from causewatch.streaming.courier import Courier
from causewatch.streaming.outbox import Outbox
from causewatch.streaming.store import postgres_channel
from causewatch.streaming.store.open import open_store
from causewatch.streaming.store.postgres import PostgresStore
from causewatch.streaming.store.saving import InUseError, Saver
from causewatch.testing import MemorySink, until
from causewatch.testing.waiting import PATIENCE
from services.postgres import running_postgres
from stores import ServerPlace, alike, checkpoint, event, whole

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")


@pytest.fixture(scope="module")
def server():
    with running_postgres() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", "secret")
        yield running


@pytest.fixture
def place(server):
    return ServerPlace(server.url)


def run(server, statement, *values):
    """What an administrator does."""
    with psycopg.connect(
        host=str(server.folder), port=server.port, user="watcher", dbname="postgres",
        autocommit=True,
    ) as connection:  # fmt: skip
        done = connection.execute(statement, values)
        return done.fetchall() if done.description else None


def end_connection(server, store):
    pid = store._channel.connection.info.backend_pid
    run(server, "SELECT pg_terminate_backend(%s, 10000)", pid)


def numbered(number):
    return event(str(number % 5), peak_score=number)


def test_a_connection_lost_while_idle_is_made_again(server, place, caplog):
    store = place.store()
    with caplog.at_level(logging.INFO, "causewatch"), store.lock():
        store.save(checkpoint(1), [numbered(1)])
        end_connection(server, store)
        store.save(checkpoint(2), [numbered(2)])
        end_connection(server, store)
        assert store.last == 2
        end_connection(server, store)
        store.deliver("sink", 1)
        end_connection(server, store)
        number = store.ask({})
        end_connection(server, store)
        assert [one.number for one in store.asked()] == [number]
        assert whole(store) == 2
        with closing(place.store()) as other, pytest.raises(InUseError):
            other.lock().__enter__()  # the lock is back, too
    said = [record.message for record in caplog.records]
    assert sum("is lost" in one for one in said) == 5
    assert sum("is back" in one for one in said) == 5
    assert not any("secret" in one for one in said)
    store.close()


def test_a_connection_lost_within_a_save(server, place, monkeypatch):
    store, left = place.store(), [1]
    plain = Saver._pieces

    def cut(*arguments):
        plain(*arguments)
        if left[0]:
            left[0] -= 1
            end_connection(server, store)

    monkeypatch.setattr(Saver, "_pieces", cut)
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])  # the second try does it
        left[0] = 2
        with pytest.raises(StreamError, match="cannot be reached"):
            store.save(checkpoint(2), [numbered(2)])
        assert whole(store) == 1
        store.save(checkpoint(3), [numbered(2), numbered(3)])
        assert whole(store) == 3
    store.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_the_server_is_started_again(server, place, how):
    store = place.store(patience=3 * PATIENCE)
    with store.lock():
        store.save(checkpoint(1), [numbered(1)])
        server.stop(how)
        try:
            began = time.monotonic()
            with pytest.raises(StreamError, match="cannot be reached"):
                store.save(checkpoint(2), [numbered(2)])
            assert time.monotonic() - began < PATIENCE  # the watch decides what to do meanwhile
            found = []
            reader = threading.Thread(target=lambda: found.append(store.last))
            reader.start()
        finally:
            server.start()
        reader.join(PATIENCE)
        assert found == [1]  # whoever can wait has waited
        store.save(checkpoint(2), [numbered(2)])
        assert whole(store) == 2
        with closing(place.store()) as other, pytest.raises(InUseError):
            other.lock().__enter__()
    store.close()


def test_a_server_that_stays_away(server, place):
    store = place.store(patience=0.3)
    store.save(checkpoint(1), [])
    server.stop()
    try:
        with pytest.raises(StreamError, match="cannot be reached"):
            _ = store.last
        with pytest.raises(StreamError, match="cannot be reached"):
            ServerPlace(server.url).store().load()
    finally:
        server.start()

    def is_back() -> bool:
        try:
            return bool(store.last == 0)
        except StreamError:
            return False

    assert until(is_back)
    store.close()


def test_another_watch_takes_over_while_the_connection_is_lost(server, place):
    one, other = place.store(), place.store()
    with one.lock():
        one.save(checkpoint(1), [numbered(1)])
        end_connection(server, one)
        with other.lock():
            with pytest.raises(InUseError, match="Another watch has begun to use"):
                one.save(checkpoint(2), [numbered(2)])
            assert whole(other) == 1
            other.save(checkpoint(2), [numbered(2)])
        with pytest.raises(InUseError, match="Somebody else has written"):
            one.save(checkpoint(2), [numbered(2)])
    assert whole(other) == 2
    one.close()
    other.close()


def test_what_was_taken_before_the_connection_was_lost_is_done_once(server, place):
    """Somebody without a watch takes it back and does it; then the watch does not."""
    watch, other = place.store(), place.store()
    with watch.lock():
        watch.save(checkpoint(1), [numbered(1)])
        number = other.ask({})
        assert [one.number for one in watch.asked()] == [number]
        end_connection(server, watch)
        with other.lock():
            assert other.withdraw(number) is True
        with pytest.raises(InUseError, match="Somebody else has written"):
            watch.save(checkpoint(2), [numbered(2)], {number: {"events": []}})
    assert whole(other) == 1
    watch.close()
    other.close()


def test_how_many_events_wait_is_known_while_the_server_is_away(server, place):
    store, sink = place.store(patience=3 * PATIENCE), MemorySink()
    sink.down = True
    store.deliver(sink.name, 0)
    store.save(checkpoint(1), [numbered(1)])
    store.close()
    store = place.store(patience=3 * PATIENCE)  # of the next run, which has saved nothing yet
    courier = Courier(sink, Outbox(store))
    courier.start()
    assert courier.waiting == 1
    store.save(checkpoint(3), [numbered(2), numbered(3)])
    server.stop()
    try:
        began = time.monotonic()
        assert courier.waiting == 3
        assert time.monotonic() - began < PATIENCE
    finally:
        server.start()
        courier.stop(30.0)
        store.close()


# Whoever holds the lock, and may be gone


@contextmanager
def held_by(server, place, program):
    """The lock is held over a connection whose other end calls itself `program`."""
    store = place.store()
    key = store._channel._key
    store.close()
    with psycopg.connect(
        host=str(server.folder), port=server.port, user="watcher", dbname="postgres",
        autocommit=True, application_name=program,
    ) as connection:  # fmt: skip
        connection.execute("SELECT pg_advisory_lock(%s)", (key,))
        yield connection


def an_ended_process():
    """The number of a process that was here and is not any longer."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def named(pid, among=None, host=None):
    among = postgres_channel._processes() if among is None else among
    host = host or socket.gethostname()
    return f"causewatch {pid}{among and '.'}{among}@{host}"[:63]


def test_the_lock_of_a_process_that_has_ended_is_taken_over(server, place):
    with held_by(server, place, named(an_ended_process())) as connection:
        with closing(place.store()) as store, store.lock():
            store.save(checkpoint(1), [])
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT 1")


@pytest.mark.parametrize(
    "among",
    ["0123456789abcdef", ""],
    ids=["of another boot or container", "of nobody knows where"],
)
def test_processes_elsewhere_are_not_taken_for_dead(server, place, among):
    """Their machine may have the same name, and their numbers mean nothing here."""
    with held_by(server, place, named(an_ended_process(), among)) as connection:
        with closing(place.store()) as store, pytest.raises(InUseError):
            store.lock().__enter__()
        connection.execute("SELECT 1")  # still there


def test_a_process_that_is_there_is_not_taken_for_dead(server, place):
    with held_by(server, place, named(os.getppid())) as connection:
        with closing(place.store()) as store, pytest.raises(InUseError, match="in use by"):
            store.lock().__enter__()
        connection.execute("SELECT 1")


def test_nobody_is_taken_for_dead_where_processes_cannot_be_told_apart(monkeypatch):
    program = named(an_ended_process())
    assert postgres_channel._is_dead(program)
    monkeypatch.setattr(postgres_channel, "_processes", lambda: "")
    assert not postgres_channel._is_dead(program)
    assert not postgres_channel._is_dead(named(an_ended_process(), ""))
    assert not postgres_channel._is_dead("psql")
    assert not postgres_channel._is_dead(None)


def test_processes_without_proc_have_no_name(monkeypatch):
    def missing(*_):
        raise FileNotFoundError

    with monkeypatch.context() as patch:
        patch.setattr(postgres_channel.os, "stat", missing)
        assert postgres_channel._processes() == ""
        assert postgres_channel._myself().startswith(f"causewatch {os.getpid()}@")
    with monkeypatch.context() as patch:
        patch.setattr(postgres_channel.Path, "read_bytes", missing)
        assert postgres_channel._processes() == ""


def test_long_names_of_machines_leave_room_for_what_counts(monkeypatch):
    monkeypatch.setattr(postgres_channel.socket, "gethostname", lambda: "ü" + "x" * 100)
    assert len(postgres_channel._myself()) == 63
    among = postgres_channel._processes()
    assert len(among) == 16
    assert postgres_channel._myself().startswith(f"causewatch {os.getpid()}.{among}@?xxx")
    assert postgres_channel._is_dead(named(an_ended_process(), host="y" * 100))


# A network between watch and server


class Network:
    """Passes bytes on between a client and the server, and cuts the line at COMMIT when told to.

    Attributes
    ----------
    cut
        How many lines are still to be cut.
    how
        ``before`` the server gets to see the COMMIT, ``after`` it has answered, or ``hang``: as
        before, but the server is not told that the client has gone.
    """

    def __init__(self, port):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._to, self.cut, self.how = port, 0, "before"
        self.hanging = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._to))
            thread = threading.Thread(target=self._pass_on, args=(client, server))
            thread.start()
            self._threads.append(thread)

    def _pass_on(self, client, server):
        hang = False
        try:
            while not hang:
                for one in select.select([client, server], [], [])[0]:
                    hang = self._step(one, server if one is client else client)
        except (ConnectionError, EOFError):
            pass
        finally:
            client.close()
            if hang:
                self.hanging.append(server)
            else:
                server.close()

    def _step(self, one, other):
        data = one.recv(1 << 16)
        if not data:
            raise EOFError
        if self.cut and data.startswith(b"Q") and b"COMMIT" in data:
            self.cut -= 1
            if self.how == "hang":
                return True
            if self.how == "after":
                other.sendall(data)
                assert b"COMMIT" in other.recv(1 << 16)
            raise EOFError
        other.sendall(data)
        return False

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)
        for one in self.hanging:
            one.close()


@contextmanager
def far_away(server):
    network = Network(server.port)
    url = f"postgresql://watcher@127.0.0.1:{network.port}/postgres?sslmode=disable"
    place = ServerPlace(url)
    store = place.store()
    try:
        yield network, place, store
    finally:
        store.close()
        network.close()


@pytest.mark.parametrize(
    ("how", "cuts"), [("before", 1), ("before", 2), ("after", 1), ("after", 3), ("hang", 2)]
)
def test_a_network_cut_at_the_commit(server, how, cuts):
    with far_away(server) as (network, _, store), store.lock():
        store.save(checkpoint(1), [numbered(1)])
        network.how, network.cut = how, cuts
        events = [numbered(2), numbered(3)]
        failures = 0
        while True:
            try:
                store.save(checkpoint(len(events) + 1), events)
                break
            except StreamError:
                failures += 1
                events.append(numbered(len(events) + 2))
        assert failures == cuts // 2  # each save is tried twice
        assert network.cut == 0
        assert whole(store) == len(events) + 1
        store.save(checkpoint(len(events) + 2), [numbered(len(events) + 2)])
        assert whole(store) == len(events) + 2


def test_requests_over_a_bad_network_are_made_once(server):
    with far_away(server) as (network, _, store):
        store.save(checkpoint(1), [])
        network.how, network.cut = "after", 1
        number = store.ask({"a": 1})
        assert network.cut == 0
        assert [one.number for one in store.asked()] == [number]
        network.cut = 1
        assert store.withdraw(number) is True
        assert network.cut == 0
        assert store.asked() == []
        store.save(None, [], {store.ask({}): {"events": []}})
        network.cut = 1
        answered = store.ask({})
        store.save(None, [], {answered: {"events": []}})
        network.cut = 1
        assert store.withdraw(answered) is False
        assert store.answer(answered) == {"events": []}


# Opening


def test_several_watches_share_a_server(server):
    one, other = ServerPlace(server.url), ServerPlace(server.socket_url)
    with closing(one.store()) as first, closing(other.store()) as second:
        with first.lock(), second.lock():
            first.save(checkpoint(1), [numbered(1)])
            second.save(checkpoint(1), [numbered(1)])
            second.save(checkpoint(2), [numbered(2)])
            first.deliver("sink", 1)
            number = second.ask({})
            assert first.asked() == []
            assert first.answer(number) is None
            assert first.withdraw(number) is False
            assert second.delivered("sink") is None
            assert (whole(first), whole(second)) == (1, 2)
        assert first.notices(0)[0].watch == one.watch


def test_tables_are_made_once_by_many(server):
    url, wrong = f"{server.url}?schema=crowd", []

    def work(n):
        try:
            with closing(PostgresStore(url, f"watch {n}")) as store:
                store.save(checkpoint(n), [])
                assert alike(store.load(), checkpoint(n))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    assert wrong == []
    assert run(server, "SELECT COUNT(*) FROM crowd.watches") == [(6,)]


def test_looking_makes_no_tables(server):
    with closing(PostgresStore(f"{server.url}?schema=unused", "w")) as store:
        assert store.load() is None
        assert store.alarms() == []
        with pytest.raises(SettingError, match="of this name; it has those of none"):
            store.check()
    assert run(server, "SELECT 1 FROM pg_namespace WHERE nspname = 'unused'") == []


def test_newer_tables_are_refused(server):
    with closing(PostgresStore(f"{server.url}?schema=newer", "w")) as store:
        store.save(checkpoint(1), [])
    run(server, "UPDATE newer.about SET version = 99")
    with closing(PostgresStore(f"{server.url}?schema=newer", "w")) as store:
        for call in (store.load, store.check, lambda: store.save(checkpoint(2), [])):
            with pytest.raises(ModelFileError, match=r"version 99.*install a newer causewatch"):
                call()


def test_a_user_without_rights_gets_a_sentence(server):
    place = ServerPlace(server.url)
    with closing(place.store()) as store:
        store.save(checkpoint(1), [])
    run(server, "CREATE ROLE guest LOGIN")
    guest = server.socket_url.replace("watcher", "guest")
    with closing(PostgresStore(guest, place.watch)) as store:
        with pytest.raises(StreamError, match="see to it that this user may use its tables"):
            store.save(checkpoint(2), [])
    with closing(PostgresStore(f"{guest}&schema=mine", "w")) as store:
        with pytest.raises(StreamError, match="permission denied"):
            store.save(checkpoint(2), [])


def test_passwords_come_from_elsewhere(server, tmp_path, monkeypatch):
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    place = ServerPlace(server.url)
    with closing(place.store()) as store, pytest.raises(StreamError, match="password") as error:
        store.load()
    assert "secret" not in str(error.value)
    monkeypatch.setenv("PLANT_PASSWORD", "secret")
    secret = tmp_path / "secret"
    secret.write_text("secret\n")
    for option in ("password_env=PLANT_PASSWORD", f"password_file={secret}"):
        with closing(PostgresStore(f"{server.url}?{option}", "w")) as store:
            assert store.last == 0
            assert "secret" not in store.name
            assert "PASSWORD" not in store.name
    with pytest.raises(SettingError, match="must not hold a password"):
        PostgresStore("postgresql://me:secret@host/db", "w")
    with pytest.raises(UnknownNameError, match="password_env") as error:
        PostgresStore("postgresql://host/db?password=secret", "w")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("watch", ["", "a\0b", "\udc80", "x" * 201])
def test_watches_have_names(watch):
    with pytest.raises(SettingError, match="The watch is called"):
        PostgresStore("postgresql://host/db", watch)


@pytest.mark.parametrize("schema", ["", "A", "a b", "a;b", 'a"b', "x" * 64, "1a"])
def test_schemas_have_plain_names(schema):
    with pytest.raises(SettingError, match="The schema is called"):
        PostgresStore(f"postgresql://host/db?schema={schema}", "w")


def test_a_host_or_a_socket():
    with pytest.raises(SettingError, match="a host and a socket"):
        PostgresStore("postgresql://host/db?socket=/run", "w")


def test_open_store_knows_servers(server):
    with closing(open_store(server.url, "plant")) as store:
        assert isinstance(store, PostgresStore)
        assert store.last == 0
        assert store.name == f"'postgresql://127.0.0.1:{server.port}/postgres' (plant)"


def test_commits_are_on_disk_whatever_the_habit_of_the_server(server, place):
    run(server, "ALTER ROLE watcher SET synchronous_commit = off")
    with closing(place.store()) as store:
        store.load()
        assert store._channel.connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    run(server, "ALTER ROLE watcher RESET synchronous_commit")
