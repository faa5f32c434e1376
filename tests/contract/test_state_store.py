"""The contract of stores, kept by a SQLite file, SQLite in memory and a PostgreSQL server."""

from __future__ import annotations

import json
import re
import threading
from contextlib import closing, contextmanager, nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from causewatch.errors import ModelFileError, SettingError, StreamError
from causewatch.streaming.sink import Notice
from causewatch.streaming.store.attachments import LARGEST, PIECE, Attachments, Room
from causewatch.streaming.store.base import Asked, Checkpoint, Retention, Store
from causewatch.streaming.store.sql import InUseError
from causewatch.streaming.store.sqlite import MemoryStore
from causewatch.testing.waiting import PATIENCE
from services.postgres import running_postgres
from stores import FilePlace, MemoryPlace, ServerPlace, alike, checkpoint, event

DAY = 86_400.0
ALL = Retention(None, None)


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with running_postgres() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", "secret")
        yield running


@pytest.fixture(params=["file", "memory", "server"])
def place(request, tmp_path):
    if request.param == "file":
        return FilePlace(tmp_path / "state")
    if request.param == "memory":
        return MemoryPlace()
    return ServerPlace(request.getfixturevalue("server").url)


@pytest.fixture
def store(place):
    store = place.store()
    yield store
    store.close()


def told(store):
    return [(one.number, one.body["id"], one.body["event"]) for one in store.notices(0)]


def test_it_is_a_store(store):
    found: Store = store  # for the type checker
    assert "secret" not in found.name


def test_nothing_is_there_at_first(store):
    assert store.load() is None
    assert store.last == 0
    assert store.notices(0) == []
    assert list(store.events()) == []
    assert store.alarms() == store.alarms(on=True) == []
    assert store.asked() == []
    assert store.answer(1) is None
    assert store.delivered("hook") is None
    assert store.forget(Retention(), 0.0) == 0
    assert store.withdraw(1) is False
    assert store.history() == store.history(5) == []
    assert store.alarm("a") is None
    assert store.attached("a") is None


def test_what_is_saved_comes_back(place, store):
    states = [
        checkpoint(1),
        checkpoint(2),
        checkpoint(3, rows=400),
        checkpoint(4, rows=3),
        Checkpoint({}, "rows", {}),
        Checkpoint(
            {"f": np.float64(0.1), "empty": np.empty((0, 3)), "one": np.array(7, np.int8)},
            "utc",
            {},
            {"position": {"nan": float("nan"), "text": "text:\udc80"}},
        ),
        checkpoint(5),
    ]
    for state in states:
        store.save(state, [])
        found = store.load()
        wanted = vars(state) | {"monitor": dict(state.monitor)}
        if "f" in wanted["monitor"]:
            wanted["monitor"]["f"] = 0.1
        assert alike(vars(found), wanted)
        values = found.monitor.get("values")
        assert values is None or values.flags.writeable
    again = place.store()
    assert alike(again.load(), checkpoint(5))
    again.close()


def test_events_are_numbered_without_gaps(place, store):
    store.save(checkpoint(1), [event("a"), event("b")])
    store.save(checkpoint(2), [])
    store.save(None, [event("a", "updated")])
    assert store.last == 3
    assert told(store) == [(1, "a", "raised"), (2, "b", "raised"), (3, "a", "updated")]
    (second,) = store.notices(1, 1)
    assert second == Notice(2, store.watch, event("b"), second.series)
    assert store.notices(3) == []
    assert list(store.events()) == [event("a"), event("b"), event("a", "updated")]
    assert list(store.events("a")) == [event("a"), event("a", "updated")]
    assert list(store.events("\udc80\0")) == []
    assert alike(store.load(), checkpoint(2))


def test_keys_are_of_one_store_alone(place, store):
    """Names may be the same, and numbers begin anew: that is no repetition."""
    store.save(None, [event("a"), event("b")])
    keys = [one.key for one in store.notices(0)]
    series = store.notices(0)[0].series
    assert re.fullmatch("[0-9a-f]{16}", series)
    assert [key.rpartition("-")[0] for key in keys] == [
        f"{store.watch}/{series}/{number}" for number in (1, 2)
    ]
    with closing(MemoryStore(store.watch)) as other:
        other.save(None, [event("a")])
        assert other.notices(0)[0].key not in keys
    if place.shared:
        for _ in range(2):  # as after a kill
            with closing(place.store()) as again, again.lock():
                again.save(checkpoint(1), [event("c")])
                assert [one.key for one in again.notices(0)][:2] == keys
                assert {one.series for one in again.notices(0)} == {series}


def test_a_look_for_notices_writes_nothing_once_they_have_a_series(place, store, monkeypatch):
    store.save(None, [event("a")])
    (first,) = store.notices(0)
    again = place.store()
    monkeypatch.setattr(again, "_write", _fail)
    assert again.notices(0) == [first]
    if place.shared:
        again.close()


def test_alarms_are_as_they_were_last_seen(store):
    store.save(None, [event("b"), event("a"), event("b", "cleared"), event("c")])
    store.save(None, [event("a", "acknowledged", acknowledged_by="me")])
    assert [(one["id"], one["event"]) for one in store.alarms()] == [
        ("c", "raised"),
        ("a", "acknowledged"),
        ("b", "cleared"),
    ]
    assert [one["id"] for one in store.alarms(on=True)] == ["c", "a"]
    assert [one["id"] for one in store.alarms(on=False)] == ["b"]
    store.save(None, [event("b", "raised")])  # on again
    assert [one["id"] for one in store.alarms(on=True)] == ["c", "a", "b"]


def test_alarms_come_in_pages(store):
    store.save(None, [event("b"), event("a"), event("b", "cleared"), event("c")])
    store.save(None, [event("a", "acknowledged", acknowledged_by="me")])
    found = store.history()
    assert [(number, one["id"], one["event"]) for number, one in found] == [
        (4, "c", "raised"),
        (2, "a", "acknowledged"),
        (1, "b", "cleared"),
    ]
    assert [one for _, one in found] == store.alarms()
    assert store.history(None, 2) == found[:2]
    assert store.history(2) == found[2:]
    assert store.history(3, 1) == found[1:2]
    assert store.history(1) == store.history(most=0) == store.history(-1) == []
    store.save(None, [event("b", "raised")])  # on again: in its place
    assert [number for number, _ in store.history()] == [4, 2, 1]
    assert store.alarm("b") == event("b", "raised")
    assert store.alarm("a") == event("a", "acknowledged", acknowledged_by="me")
    for unknown in ("d", "", "\udc80\0", "' OR 1=1 --"):
        assert store.alarm(unknown) is None


def test_many_alarms_come_in_pages(place, store):
    store.save(None, [event(str(n)) for n in range(1203)])
    numbers = [number for number, _ in store.history(most=5000)]
    assert numbers == list(range(1203, 0, -1))
    # Pages of nothing but junk are not the end.
    place.sql(
        "UPDATE events SET body = '[]' WHERE watch = '{watch}' AND number > 200 AND number < 1200"
    )
    found = store.history(most=10)
    assert [number for number, _ in found] == [*range(1203, 1199, -1), *range(200, 194, -1)]
    assert store.alarm("500") is None


def test_a_long_history_is_read_in_pages(store):
    many = [event(str(n % 7), "updated", peak_score=n) for n in range(1203)]
    store.save(None, many)
    assert [one["peak_score"] for one in store.events()] == list(range(1203))
    assert [one["peak_score"] for one in store.events("3")] == list(range(3, 1203, 7))
    numbers, after = [], 0
    while found := store.notices(after):
        assert len(found) <= 256
        numbers += [one.number for one in found]
        after = numbers[-1]
    assert numbers == list(range(1, 1204))


def test_foreign_rows_are_no_events(place, store):
    store.save(None, [event("a"), event("b")])
    junk = ["{{}}", "[]", "no", "[" * 5000, '{{"id": "c"}}', "1e999", "null"]
    for number, body in enumerate(junk, 3):
        place.sql(
            "INSERT INTO events (watch, number, id, written_at, body)"
            f" VALUES ('{{watch}}', {number}, 'x', 0, '{body}')"
        )
    place.sql("UPDATE watches SET last_event = 10 WHERE watch = '{watch}'")
    place.sql("UPDATE events SET body = '{{}}' WHERE watch = '{watch}' AND number = 2")
    store.save(None, [event("d")])
    assert told(store) == [(1, "a", "raised"), (11, "d", "raised")]
    # A page of nothing but junk is not the end.
    assert [one.number for one in store.notices(1, 2)] == [11]
    assert [one["id"] for one in store.events()] == ["a", "d"]
    assert [one["id"] for one in store.alarms()] == ["d", "a"]


def body_of(store, number):
    wanted = "SELECT body FROM events WHERE watch = ? AND number = ?"
    return store._rows(wanted, store._key, number)[0][0]


def test_an_event_that_was_changed_is_named_and_left_out(place, store, caplog):
    store.save(None, [event("a"), event("b"), event("a", "cleared")])
    assert store.faults() == ""
    changed = body_of(store, 3).replace("2026-01-01T00:01:00Z", "2027-01-01T00:01:00Z")
    place.sql(
        f"UPDATE events SET body = '{escaped(changed)}' WHERE watch = '{{watch}}' AND number = 3"
    )
    with caplog.at_level("WARNING"):
        assert told(store) == [(1, "a", "raised"), (2, "b", "raised")]
        assert [one["id"] for one in store.events()] == ["a", "b"]
    assert [one.getMessage() for one in caplog.records] == [
        f"Event 3, of alarm a, in {store.name} is damaged and left out; restore it from a copy if"
        " it is needed."
    ]
    # The alarm is still there, as it was before.
    assert [one["id"] for one in store.alarms()] == ["b", "a"]
    assert store.alarm("a")["event"] == "raised"
    assert [one["event"] for _, one in store.history()] == ["raised", "raised"]
    assert store.faults() == (
        f"The state in {store.name} is not whole: damaged: event 3 of alarm a; the rest is used."
    )


def escaped(body):
    """For `Place.sql`, which fills in braces."""
    return body.replace("'", "''").replace("{", "{{").replace("}", "}}")


def test_events_of_earlier_releases_have_no_checksum(place, store):
    store.save(None, [event("a")])
    old = json.dumps(event("a", headline="as it was"))
    place.sql(f"UPDATE events SET body = '{escaped(old)}' WHERE watch = '{{watch}}' AND number = 1")
    assert [one["headline"] for one in store.events()] == ["as it was"]
    assert store.faults() == ""


def test_events_that_are_gone_are_missed_once(place, store):
    store.save(None, [event(id) for id in "abcd"])
    key = store.notices(0)[0].key
    place.sql("DELETE FROM events WHERE watch = '{watch}' AND number IN (2, 3)")
    assert store.faults() == (
        f"The state in {store.name} is not whole: it lacks 2 events (a log was removed, or an older"
        " copy put back); the rest is used."
    )
    assert store.faults() == ""
    assert store.notices(0)[0].key != key  # as numbers may be used again
    assert store.forget(Retention(days=None, events=2), 0.0) == 0  # they count no more


def test_sinks_go_on_where_they_were(place, store):
    store.save(None, [event("a")] * 5)
    assert store.delivered("hook") is None
    store.deliver("hook", 3, {"offset": [1, None]})
    store.deliver("mqtt://x/\udc80", 5)
    again = place.store()
    assert again.delivered("hook") == (3, {"offset": [1, None]})
    assert again.delivered("mqtt://x/\udc80") == (5, None)
    store.deliver("hook", 4)
    assert again.delivered("hook") == (4, None)
    again.close()


def test_questions_are_answered_once(place, store):
    store.save(checkpoint(1), [])
    other = place.store()
    first = other.ask({"action": "ack", "id": "a", "by": "Zoë \udc80 \0"})
    second = other.ask({"action": "comment"})
    third = other.ask({})
    assert first < second < third
    assert other.withdraw(second) is True
    assert other.withdraw(second) is False
    assert store.asked() == [
        Asked(first, {"action": "ack", "id": "a", "by": "Zoë \udc80 \0"}),
        Asked(third, {}),
    ]
    assert other.answer(first) is None
    answer = {"events": [event("a", "acknowledged")]}
    store.save(checkpoint(2), [event("a")], {first: answer, second: {"error": "too late"}})
    assert [one.number for one in store.asked()] == [third]
    assert other.withdraw(first) is False
    store.save(None, [], {first: {"error": "once more"}})  # the first answer counts
    assert other.answer(second) is None
    assert other.answer(first) == answer
    assert other.answer(first) is None
    # Numbers are never used again.
    fourth = other.ask({})
    assert other.withdraw(fourth)
    assert other.ask({}) > fourth > third
    other.close()


def test_what_the_watch_has_taken_is_not_taken_back(place, store):
    with store.lock():
        store.save(checkpoint(1), [])
        other = place.store()
        early, late = other.ask({"n": 1}), other.ask({"n": 2})
        assert other.withdraw(early) is True
        assert store.asked() == [Asked(late, {"n": 2})]
        # Neither elsewhere nor in the process of the watch: it is going to be done.
        assert other.withdraw(late) is False
        assert store.withdraw(late) is False
        assert store.asked() == [Asked(late, {"n": 2})]
        store.save(checkpoint(2), [event("a")], {late: {"events": ["done"]}})
        assert other.withdraw(late) is False
        assert other.answer(late) == {"events": ["done"]}
        if place.shared:
            other.close()


def test_what_is_taken_back_in_the_last_moment_is_not_done(place, store, monkeypatch):
    """The watch has seen a question, but not taken it yet."""
    plain = store._take
    with store.lock():
        store.save(checkpoint(1), [])
        other = place.store()
        first, second = other.ask({}), other.ask({"n": 2})
        found = []

        def slow(*arguments):
            found.append(other.withdraw(first))
            return plain(*arguments)

        monkeypatch.setattr(store, "_take", slow)
        assert store.asked() == [Asked(second, {"n": 2})]
        assert found == [True]
        if place.shared:
            other.close()


def test_a_look_for_questions_writes_only_if_there_are_new_ones(store, monkeypatch):
    with store.lock():
        store.save(checkpoint(1), [])
        writes, plain = [], store._write

        def counted(*arguments, **more):
            writes.append(arguments)
            return plain(*arguments, **more)

        first = store.ask({})
        monkeypatch.setattr(store, "_write", counted)
        for _ in range(3):
            assert [one.number for one in store.asked()] == [first]
        assert len(writes) == 1
        store.save(None, [], {first: {"events": []}})
        for _ in range(3):
            assert store.asked() == []
        assert len(writes) == 2


@pytest.mark.parametrize("done", [True, False], ids=["done", "taken back"])
def test_a_watch_that_has_taken_a_question_is_killed(place, done):
    if not place.shared:
        return  # it takes its store with it
    killed, later, asking = place.store(), place.store(), place.store()
    with killed.lock():
        killed.save(checkpoint(1), [])
        number = asking.ask({"n": 1})
        assert [one.number for one in killed.asked()] == [number]
    assert asking.withdraw(number) is False  # the next watch does it
    with later.lock():
        if done:
            assert later.asked() == [Asked(number, {"n": 1})]
            assert later.withdraw(number) is False
            later.save(checkpoint(2), [], {number: {"events": []}})
            assert asking.answer(number) == {"events": []}
        else:
            # Instead of the next watch, somebody who does it without one (`causewatch alarms`).
            assert later.withdraw(number) is True
            assert later.asked() == []
            later.save(checkpoint(2), [])
            with pytest.raises(InUseError, match="Somebody else has written"):
                killed.save(checkpoint(3), [], {number: {"events": []}})
    for one in (killed, later, asking):
        one.close()


def test_the_last_event_is_known_without_asking(place, store, monkeypatch):
    assert store.newest == 0
    store.save(None, [event("a"), event("b")])
    store.save(checkpoint(1), [event("a", "updated")])
    store.save(checkpoint(2), [])
    again = place.store()
    assert again.last == again.newest == 3  # as after a restart
    again.save(checkpoint(3), [event("c")])
    with monkeypatch.context() as patch:
        patch.setattr(again, "_read", _fail)
        patch.setattr(again, "_write", _fail)
        assert again.newest == 4
    if place.shared:
        assert store.newest == 3  # it has not looked
        again.close()


def test_foreign_questions_are_empty(place, store):
    store.save(checkpoint(1), [])
    number = store.ask({"action": "ack"})
    place.sql("UPDATE questions SET question = '[1' WHERE watch = '{watch}'")
    assert store.asked() == [Asked(number, {})]
    store.save(None, [], {number: {"error": "no"}})
    place.sql("UPDATE questions SET answer = '[1' WHERE watch = '{watch}'")
    assert "error" in store.answer(number)


def test_questions_must_be_plain_and_few(store):
    store.save(checkpoint(1), [])
    for action in ({"x": object()}, {"x": float("nan")}, {"x": "y" * 70_000}):
        with pytest.raises(SettingError):
            store.ask(action)
    assert store.asked() == []
    store._write(
        lambda talk: talk.many(
            "INSERT INTO questions (watch, token, question) VALUES (?, ?, '{}')",
            [(store._key, f"{store._key} {n}") for n in range(1000)],
        )
    )
    with pytest.raises(StreamError, match="1,000 requests wait"):
        store.ask({})


def test_answers_that_nobody_wants_go_after_a_day(place):
    time = [1000.0]
    store = place.store(now=lambda: time[0])
    store.save(checkpoint(1), [])
    number, waiting = store.ask({}), store.ask({})
    store.save(None, [], {number: {"events": []}})
    store.forget(ALL, 1000.0 + DAY)
    store.forget(ALL, 1001.0 + DAY)
    assert store.answer(number) is None
    assert [one.number for one in store.asked()] == [waiting]
    store.close()


def test_old_alarms_are_forgotten(place):
    time = [0.0]
    store = place.store(now=lambda: time[0])

    def write_every_day(until):
        while time[0] < until * DAY:
            time[0] += DAY
            store.save(None, [])

    store.save(None, [event("old"), event("on"), event("late"), event("old", "cleared")])
    assert store.forget(Retention(days=2.0, events=None), DAY) == 0
    write_every_day(5)
    store.save(None, [event("late", "cleared")])
    assert store.forget(Retention(days=2.0, events=None), 6 * DAY) == 2
    assert told(store) == [(2, "on", "raised"), (3, "late", "raised"), (5, "late", "cleared")]
    assert [one["id"] for one in store.alarms()] == ["late", "on"]
    write_every_day(7)
    assert store.forget(Retention(days=2.0, events=None), 7.5 * DAY) == 2
    assert told(store) == [(2, "on", "raised")]
    write_every_day(50)
    assert store.forget(Retention(days=2.0), 51 * DAY) == 0
    store.save(None, [event("new")])
    assert told(store)[-1] == (6, "new", "raised")
    store.close()


@pytest.mark.parametrize("jump", [1000 * DAY, 1e9, -1000 * DAY])
def test_nothing_is_forgotten_because_the_clock_jumps(place, jump):
    """There and back: the history is as old as what was written says."""
    time, keep = [2000 * DAY], Retention(days=3.0, events=None)
    store = place.store(now=lambda: time[0])
    store.save(None, [event("a"), event("a", "cleared")])
    time[0] += jump
    assert store.forget(keep, time[0]) == 0  # before anything was written by the new clock
    store.save(None, [event("b"), event("b", "cleared")])
    assert store.forget(keep, time[0]) == 0
    time[0] -= jump
    store.save(None, [event("c"), event("c", "cleared")])
    assert store.forget(keep, time[0]) == 0
    assert [one["id"] for one in store.alarms()] == ["c", "b", "a"]
    for _ in range(2):  # two days at most have passed until here
        time[0] += DAY
        store.save(None, [])
    assert store.forget(keep, time[0]) in (0, 2)
    for _ in range(3):
        time[0] += DAY
        store.save(None, [])
    assert store.forget(keep, time[0] + 1.0) in (4, 6)
    assert store.alarms() == []
    store.close()


def test_only_so_many_events_are_kept(store):
    store.save(None, [event("on"), event("a"), event("b"), event("a", "cleared")])
    store.save(None, [event("b", "cleared"), event("c"), event("c", "cleared")])
    keep = Retention(days=None, events=4)
    assert store.forget(keep, 0.0) == 3
    assert told(store) == [
        (1, "on", "raised"),
        (5, "b", "cleared"),
        (6, "c", "raised"),
        (7, "c", "cleared"),
    ]
    assert [one["id"] for one in store.alarms()] == ["c", "b", "on"]
    assert store.forget(keep, 0.0) == 0
    assert store.forget(Retention(days=None, events=0), 0.0) == 3
    assert told(store) == [(1, "on", "raised")]
    assert store.last == 7


def test_what_a_sink_has_still_to_get_stays(store):
    store.save(None, [event("a"), event("a", "cleared"), event("b"), event("b", "cleared")])
    nothing = Retention(days=None, events=0)
    store.deliver("quick", 4)
    store.deliver("slow", 0)  # has got nothing so far
    assert store.forget(nothing, 0.0) == 0
    assert store.forget(Retention(days=0.0, events=None), 1e12) == 0
    store.deliver("slow", 2)
    assert store.forget(nothing, 0.0) == 2
    assert [one.number for one in store.notices(0)] == [3, 4]
    store.expect({"quick", "slow", "new"})
    assert store.forget(nothing, 0.0) == 0
    store.expect({"quick", "new"})
    assert store.delivered("new") is None
    assert store.forget(nothing, 0.0) == 2
    assert store.delivered("slow") == (2, None)  # in case it comes back


def test_a_sink_that_is_away_makes_no_memory_grow(place, store):
    store.deliver("away", 0)
    for _ in range(3):
        store.save(None, [event("a", "cleared") for _ in range(5000)])
        while store.forget(Retention(events=10_000), 0.0):
            pass
    left = len(list(store.events()))
    assert left == (10_000 if isinstance(place, MemoryPlace) else 15_000)
    assert len(store.notices(5000, 20_000)) == 10_000  # the latest
    assert store.last == 15_000


def test_much_is_forgotten_little_by_little(store):
    store.save(None, [event("a", "updated")] * 2500)
    store.save(None, [event("a", "cleared")])
    gone = [store.forget(Retention(days=0.0, events=None), 1e12) for _ in range(4)]
    assert sum(gone) == 2501
    assert max(gone) <= 1000
    assert store.alarms() == []
    store.save(None, [event(str(n), "cleared") for n in range(2500)])
    gone = [store.forget(Retention(days=None, events=100), 0.0) for _ in range(4)]
    assert sum(gone) == 2400
    assert max(gone) <= 1000
    assert len(store.alarms()) == len(list(store.events())) == 100
    assert store.last == 5001


# What is attached to alarms

CONTENTS = [b"", b"x", bytes(range(256)) * 1024, b"ab" * PIECE + b"c", b"\0" * 4 * PIECE]


def test_what_is_attached_comes_back(place, store):
    store.save(None, [event(str(n)) for n in range(len(CONTENTS))])
    for n, content in enumerate(CONTENTS):
        store.attach(str(n), content)
    again = place.store()
    for n, content in enumerate(CONTENTS):
        assert store.attached(str(n)) == again.attached(str(n)) == content
    again.attach("0", b"another")
    assert store.attached("0") == b"another"
    store.attach("4", b"short")
    assert again.attached("4") == b"short"
    assert pieces(store) == 7  # nothing is left of what was replaced
    assert store.last == len(CONTENTS)
    store.save(None, [event("1", "cleared")])  # that it was attached disturbs nobody
    assert store.attached("1") == b"x"
    if again is not store:
        again.close()


def pieces(store):
    rows = store._rows("SELECT COUNT(*) FROM attachment_pieces WHERE watch = ?", store._key)
    return rows[0][0]


def test_names_of_alarms_are_any_text(store):
    odd = "Größe \udc80 '; DROP \0"
    store.save(None, [event(odd)])
    store.attach(odd, b"1")
    assert store.attached(odd) == b"1"
    assert store.alarm(odd) == event(odd)


def test_something_is_attached_to_an_alarm_that_is_there(place):
    store = place.store()
    with pytest.raises(StreamError, match=r"no alarm 'a' in .* may have been forgotten\."):
        store.attach("a", b"x")
    if isinstance(place, FilePlace):
        assert not place.folder.exists()  # nothing was made for it
    store.save(None, [event("b")])
    with pytest.raises(StreamError, match="no alarm 'a'"):
        store.attach("a", b"x")
    assert store.attached("a") is None
    store.close()


def test_what_is_too_large_is_not_attached(store):
    store.save(None, [event("a")])
    store.attach("a", b"before")
    with pytest.raises(StreamError, match=r"16,777,217 bytes; at most 16,777,216 fit\."):
        store.attach("a", bytes(LARGEST + 1))
    assert store.attached("a") == b"before"
    store.attach("a", bytes(LARGEST))
    assert store.attached("a") == bytes(LARGEST)


def test_attachments_go_with_their_alarm(store):
    store.save(None, [event("a"), event("b"), event("c"), event("a", "cleared")])
    for id in "abc":
        store.attach(id, bytes(PIECE + 1))
    store.save(None, [event("b", "cleared")])
    assert store.forget(Retention(days=None, events=2), 0.0) == 3
    assert [store.attached(id) is None for id in "abc"] == [True, False, False]
    store.forget(Retention(days=0.0, events=None), 1e12)
    assert [store.attached(id) is None for id in "abc"] == [True, True, False]
    store.forget(ALL, 0.0)
    assert pieces(store) == 2
    store.save(None, [event("a")])  # another one of the same name
    assert store.attached("a") is None


def with_room(place, most, size):
    store = place.store()
    store._attachments._room = Room(most, size)
    return store


def test_only_so_many_attachments_are_kept(place):
    store = with_room(place, 3, 1 << 30)
    store.save(None, [event(str(n)) for n in range(6)])
    for n in (0, 1, 2, 0, 3, 4):  # the first one is new again
        store.attach(str(n), str(n).encode())
    assert [store.attached(str(n)) for n in range(6)] == [b"0", None, None, b"3", b"4", None]
    assert pieces(store) == 3
    store.close()


def test_only_so_many_bytes_are_attached(place):
    store = with_room(place, 100, 5 * PIECE)
    store.save(None, [event(str(n)) for n in range(5)])
    for n in range(4):
        store.attach(str(n), bytes([n]) * (2 * PIECE))
    assert [store.attached(str(n)) is None for n in range(4)] == [True, True, False, False]
    store.attach("0", b"small")
    assert [store.attached(str(n)) is None for n in range(4)] == [False, True, False, False]
    assert pieces(store) == 5
    store.close()


def test_rooms_have_their_sizes(place, store):
    room = store._attachments._room
    memory = isinstance(place, MemoryPlace)
    assert (room.most, room.size) == ((50, 64 << 20) if memory else (500, 512 << 20))


def test_a_piece_that_fails_leaves_the_former_attachment(store, monkeypatch):
    store.save(None, [event("a")])
    store.attach("a", b"former")
    plain, left = Attachments._put_piece, [2]

    def cut(self, piece, content):
        left[0] -= 1
        if not left[0]:
            msg = "cut off"
            raise StreamError(msg)
        plain(self, piece, content)

    with monkeypatch.context() as patch:
        patch.setattr(Attachments, "_put_piece", cut)
        with pytest.raises(StreamError, match="cut off"):
            store.attach("a", bytes(3 * PIECE))
    assert store.attached("a") == b"former"
    assert pieces(store) == 2
    store.forget(ALL, 0.0)  # tidies up
    assert pieces(store) == 1
    store.attach("a", b"later")
    assert store.attached("a") == b"later"


def test_forgetting_leaves_alone_what_is_being_attached(store, monkeypatch):
    store.save(None, [event("a"), event("b")])
    plain = Attachments._put_piece

    def forget_in_between(self, piece, content):
        plain(self, piece, content)
        store.forget(Retention(), 0.0)

    monkeypatch.setattr(Attachments, "_put_piece", forget_in_between)
    store.attach("a", b"a" * 3 * PIECE)
    assert store.attached("a") == b"a" * 3 * PIECE


def test_an_alarm_forgotten_while_something_is_attached_to_it(store, monkeypatch):
    store.save(None, [event("a"), event("a", "cleared")])
    plain = Attachments._put_piece

    def forget_in_between(self, piece, content):
        plain(self, piece, content)
        store.forget(Retention(days=None, events=0), 0.0)

    monkeypatch.setattr(Attachments, "_put_piece", forget_in_between)
    with pytest.raises(StreamError, match="no alarm 'a'"):
        store.attach("a", bytes(2 * PIECE))
    assert store.attached("a") is None


def test_an_attachment_replaced_while_it_is_read(store, monkeypatch):
    store.save(None, [event("a")])
    store.attach("a", b"1" * 9 * PIECE)
    plain, times = Attachments._some_pieces, [2]

    def replace_in_between(self, number, first):
        found = plain(self, number, first)
        if times[0]:
            times[0] -= 1
            store.attach("a", str(times[0]).encode() * 9 * PIECE)
        return found

    monkeypatch.setattr(Attachments, "_some_pieces", replace_in_between)
    assert store.attached("a") == b"0" * 9 * PIECE  # one of them, and whole


def test_damaged_attachments_are_none(place, store):
    store.save(None, [event("a"), event("b")])
    store.attach("a", bytes(2 * PIECE))
    store.attach("b", bytes(2 * PIECE))
    place.sql("DELETE FROM attachment_pieces WHERE watch = '{watch}' AND number = 1 AND piece = 0")
    assert store.attached("a") is None
    assert store.attached("b") == bytes(2 * PIECE)
    store.attach("a", b"again")
    assert store.attached("a") == b"again"


def test_the_watch_saves_while_others_attach(place, store):
    """Saves get their turn between two pieces, and everything is whole in the end."""
    store.save(checkpoint(0), [event(str(n)) for n in range(4)])
    wrong, saved = [], []

    def attach(n):
        try:
            for k in range(3):
                content = bytes([16 * n + k]) * (8 * PIECE + n)
                store.attach(str(n), content)
                assert store.attached(str(n)) == content
                saved.append(store.load().monitor["number"])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=attach, args=(n,)) for n in range(2)]
    for one in threads:
        one.start()
    number = 0
    while any(one.is_alive() for one in threads):
        number += 1
        store.save(checkpoint(number), [event("x", peak_score=number)])
    for one in threads:
        one.join()
    assert wrong == []
    assert len(set(saved)) > 1
    assert alike(store.load(), checkpoint(number))
    assert store.last == number + 4
    assert [store.attached(str(n)) for n in range(3)] == [
        bytes([2]) * 8 * PIECE,
        bytes([18]) * (8 * PIECE + 1),
        None,
    ]


# Stores of the first releases

DROPPED = (
    "DROP TABLE attachments",
    "DROP TABLE attachment_pieces",
    "DROP INDEX alarms_by_first",
    "ALTER TABLE watches DROP COLUMN series",
    "ALTER TABLE questions DROP COLUMN taken_by",
)


@pytest.fixture(params=["file", "server"])
def old_place(request, tmp_path):
    if request.param == "file":
        return FilePlace(tmp_path / "state")
    return ServerPlace(f"{request.getfixturevalue('server').url}?schema=older")


def test_stores_without_attachments_go_on(old_place):
    with closing(old_place.store()) as first:
        first.save(checkpoint(1), [event("a"), event("b"), event("b", "cleared")])
    for statement in DROPPED:
        old_place.sql(statement)
    with closing(old_place.store()) as store:
        assert store.attached("a") is None
        assert [one["id"] for _, one in store.history()] == ["b", "a"]
        with store.lock():
            assert alike(store.load(), checkpoint(1))
            store.save(checkpoint(2), [event("c")])
            assert store.forget(Retention(days=None, events=2), 0.0) == 2
            # Looking and watching have made nothing: an earlier release may still come back.
            assert not store._read(lambda talk: talk.has_table("attachments"), True)
            store.attach("a", b"ticks")
            assert store.attached("a") == b"ticks"
    with closing(old_place.store()) as again:
        assert again.attached("a") == b"ticks"
        assert alike(again.load(), checkpoint(2))
        # The earlier release knows nothing of attachments, and forgets the alarm alone.
        old_place.sql("DELETE FROM alarms WHERE watch = '{watch}' AND id = 'a'")
        again.forget(ALL, 0.0)
        assert again.attached("a") is None
    # So it can go on with what a later one has written.
    with closing(old_place.store()) as store, store.lock():
        store.save(checkpoint(3), [])


@pytest.mark.parametrize("take", [True, False], ids=["taken", "taken back"])
def test_stores_in_which_nobody_could_take_questions_go_on(old_place, take):
    with closing(old_place.store()) as first:
        first.save(checkpoint(1), [])
        number = first.ask({"n": 1})
    old_place.sql(DROPPED[-1])
    with closing(old_place.store()) as store, closing(old_place.store()) as other:
        assert store.asked() == [Asked(number, {"n": 1})]
        with store.lock():
            assert alike(store.load(), checkpoint(1))
            # Looking and watching have made nothing: an earlier release may still come back.
            assert not store._read(lambda talk: talk.has_column("questions", "taken_by"), True)
            if take:
                assert store.asked() == [Asked(number, {"n": 1})]
            assert other.withdraw(number) is not take
            assert len(store.asked()) == int(take)
            store.save(checkpoint(2), [], {number: {"events": []}})
            assert (other.answer(number) is not None) is take
        # The earlier release, which marks nothing, works on the same tables.
        old_place.sql(
            "INSERT INTO questions (watch, token, question)"
            f" VALUES ('{{watch}}', 'token of {number}', '{{{{}}}}')"
        )
        assert len(other.asked()) == 1


@pytest.mark.parametrize("locked", [True, False])
def test_stores_without_a_series_get_one(old_place, locked):
    with closing(old_place.store()) as first:
        first.save(checkpoint(1), [event("a")])
    old_place.sql("ALTER TABLE watches DROP COLUMN series")
    with closing(old_place.store()) as store, store.lock() if locked else nullcontext():
        if locked:  # before there is anything to deliver
            assert store._read(lambda talk: talk.has_column("watches", "series"), False)
        (notice,) = store.notices(0)
        assert notice.series
    with closing(old_place.store()) as again:
        assert again.notices(0) == [notice]
    # A row that an earlier release has made has none either.
    old_place.sql("UPDATE watches SET series = NULL WHERE watch = '{watch}'")
    with closing(old_place.store()) as later, later.lock():
        assert later.notices(0)[0].series not in ("", notice.series)


def test_a_series_is_made_once_by_many(server):
    place, wrong, found = ServerPlace(f"{server.url}?schema=older_series"), [], []
    stores = [place.store() for _ in range(5)]
    stores[0].save(None, [event("a")])
    place.sql("ALTER TABLE watches DROP COLUMN series")

    def work(store):
        try:
            found.append(store.notices(0)[0].series)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    assert wrong == []
    assert len(found) == 5
    assert len(set(found)) == 1
    for store in stores:
        store.close()


def test_tables_of_attachments_are_made_once_by_many(server):
    url, wrong = f"{server.url}?schema=older_crowd", []
    places = [ServerPlace(url) for _ in range(5)]
    stores = [place.store() for place in places]
    for store in stores:
        store.save(None, [event("a")])
    for statement in DROPPED:
        places[0].sql(statement)

    def work(store):
        try:
            store.attach("a", store.watch.encode())
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    assert wrong == []
    for store in stores:
        assert store.attached("a") == store.watch.encode()
        store.close()


def test_a_save_is_all_or_nothing(store, monkeypatch):
    store.save(checkpoint(1), [event("a")])
    number = store.ask({})
    with monkeypatch.context() as patch:
        patch.setattr("causewatch.streaming.store.saving.Saver._pieces", _fail)
        with pytest.raises(ZeroDivisionError):
            store.save(checkpoint(2), [event("b")], {number: {"events": []}})
    assert alike(store.load(), checkpoint(1))
    assert told(store) == [(1, "a", "raised")]
    assert [one["id"] for one in store.alarms()] == ["a"]
    store.save(checkpoint(3), [event("c")])
    assert told(store) == [(1, "a", "raised"), (2, "c", "raised")]
    assert store.answer(number) is None


def _fail(*_):
    raise ZeroDivisionError


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("times", [1, 2])
def test_a_save_can_be_repeated_when_nobody_knows_whether_it_worked(store, kept, times):
    store.save(checkpoint(1), [event("a")])
    events = [event("b"), event("b", "updated")]
    for n in range(times):
        with broken_saves(store, kept), pytest.raises(StreamError):
            store.save(checkpoint(2 + n), events)
        events.append(event("c", str(n)))
    store.save(checkpoint(4), events)
    assert [body for _, _, body in told(store)] == [
        *("raised", "raised", "updated"),
        *map(str, range(times)),
    ]
    assert store.last == 3 + times
    assert alike(store.load(), checkpoint(4))
    store.save(checkpoint(5), [])
    assert store.last == 3 + times


@contextmanager
def broken_saves(store, kept):
    """Saves are reported to have failed, whether they were `kept` or not."""
    write = store._write
    cut_off = StreamError("cut off")

    def wrapped(work, *, wait=True):
        def once(talk):
            found = work(talk)
            if not kept:
                raise cut_off
            return found

        write(once, wait=wait)
        raise cut_off

    store._write = wrapped
    yield
    del store._write


def test_who_wrote_without_knowing_of_another_is_stopped(place):
    if not place.shared:
        return  # there is nobody else
    one, other = place.store(), place.store()
    one.save(checkpoint(1), [event("a")])
    assert other.load() is not None
    other.save(checkpoint(2), [event("b")])
    with pytest.raises(InUseError, match="Somebody else has written"):
        one.save(checkpoint(3), [event("c")])
    assert told(one) == [(1, "a", "raised"), (2, "b", "raised")]
    assert alike(one.load(), checkpoint(2))
    with one.lock():  # having read what is there, it may go on
        one.save(checkpoint(4), [])
    assert alike(other.load(), checkpoint(4))
    one.close()
    other.close()


def test_only_one_watch_writes(place, store):
    with store.lock():
        store.save(checkpoint(1), [])
        if place.shared:
            other = place.store()
            with pytest.raises(InUseError, match=r"in use by a running watch \(.*\d+"):
                other.lock().__enter__()
            assert other.load() is not None  # looking is always possible
            assert other.ask({}) > 0
            other.close()
    other = place.store()
    with other.lock():
        assert alike(other.load(), checkpoint(1))
        other.save(checkpoint(2), [])
    other.close()


def test_check_tells_whether_something_is_there(place):
    if not place.shared:
        return  # there is always something
    store = place.store()
    with pytest.raises(SettingError, match="holds no state of a watch"):
        store.check()
    with pytest.raises(SettingError, match="holds no state of a watch"):
        store.ask({})
    other = place.store()
    other.save(checkpoint(1), [])
    other.close()
    store.check()
    store.close()


def test_closing_twice_is_fine_and_ends_it(place):
    store = place.store()
    store.save(checkpoint(1), [])
    store.close()
    store.close()
    with pytest.raises(StreamError, match="is closed"):
        store.save(checkpoint(1), [])
    place.store().close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE pieces SET content = {other} WHERE watch = '{watch}' AND number = 1",
        "DELETE FROM pieces WHERE watch = '{watch}' AND number = 1",
        "DELETE FROM pieces WHERE watch = '{watch}'",
        "UPDATE watches SET checksum = {other} WHERE watch = '{watch}'",
        "UPDATE watches SET size = size + 1 WHERE watch = '{watch}'",
    ],
)
def test_damaged_states_are_refused(place, store, damage):
    store.save(checkpoint(1), [])
    other = "'\\x00'" if isinstance(place, ServerPlace) else "x'00'"
    place.sql(damage.replace("{other}", other))
    with pytest.raises(ModelFileError, match="is damaged and was not used"):
        store.load()


def test_threads_share_a_store(store):
    store.save(checkpoint(0), [])
    wrong = []

    def look(n):
        try:
            for k in range(12):
                found = store.load()
                assert alike(found, checkpoint(found.monitor["number"]))
                numbers = [one.number for one in store.notices(0)]
                assert numbers == list(range(1, len(numbers) + 1))
                store.deliver(f"sink {n}", len(numbers))
                assert store.delivered(f"sink {n}") == (len(numbers), None)
                assert store.withdraw(store.ask({"n": n, "k": k}))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=look, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for n in range(1, 40):
        store.save(checkpoint(n), [event(str(n))])
    for one in threads:
        one.join(PATIENCE)
    assert wrong == []
    assert store.last == 39


# Against a twin of dictionaries


class Twin:
    """A store that is nothing but lists and dictionaries."""

    def __init__(self):
        self.state, self.last = None, 0
        self.events, self.sinks, self.questions = {}, {}, {}
        self.alarms = {}  # id: [first, last, on, written at]
        self.attached = {}  # by id, the oldest first
        self.saved_at = None
        self.answered = {}  # number of a question: when
        self.taken = set()  # numbers of questions

    def attach(self, id, content):
        self.attached.pop(id, None)
        self.attached[id] = content
        while len(self.attached) > ROOM.most or sum(map(len, self.attached.values())) > ROOM.size:
            del self.attached[next(iter(self.attached))]

    def age(self, now):
        """Seconds since the last save, of which a day counts at most."""
        since = now - self.saved_at
        return since if abs(since) <= DAY else DAY * (since > 0)

    def save(self, state, events, answers, now):
        if self.saved_at is not None:
            for alarm in self.alarms.values():
                alarm[3] += now - self.saved_at - self.age(now)
        self.saved_at = now
        self.state = state if state is not None else self.state
        for one in events:
            self.last += 1
            self.events[self.last] = one
            first = self.alarms.get(one["id"], [self.last])[0]
            self.alarms[one["id"]] = [first, self.last, one["cleared_at"] is None, now]
        for number, answer in answers.items():
            question, before = self.questions[number]
            if question is not None and before is None:  # else it was taken back
                self.questions[number] = (question, answer)
                self.answered[number] = now

    def forget(self, keep, now):
        before = len(self.events)
        for number, when in self.answered.items():
            if when < now - DAY:  # nobody wants it
                self.questions[number] = (None, None)
        if self.saved_at is not None:
            now = self.saved_at + self.age(now)
        got = min([number for number, wanted in self.sinks.values() if wanted], default=self.last)
        for id, (_, last, on, written) in list(self.alarms.items()):
            if not on and keep.days is not None and last <= got:
                if written < now - keep.days * DAY:
                    del self.alarms[id]
                    self.events = {k: e for k, e in self.events.items() if e["id"] != id}
        for number, one in sorted(self.events.items()):
            if keep.events is None or len(self.events) <= keep.events or number > got:
                break
            id = one["id"]
            if not self.alarms[id][2]:
                del self.events[number]
                if self.alarms[id][1] == number:
                    del self.alarms[id]
        self.attached = {id: one for id, one in self.attached.items() if id in self.alarms}
        return before - len(self.events)


ROOM = Room(2, 4 * PIECE)  # less than two of the largest that are attached here
ids = st.sampled_from("abcd")
some_events = st.lists(
    st.builds(event, ids, st.sampled_from(["raised", "updated", "cleared"])), max_size=4
)
retentions = st.builds(
    Retention,
    st.none() | st.sampled_from([0.0, 1.0, 3.0]),
    st.none() | st.integers(0, 6),
)


class StoreMachine(RuleBasedStateMachine):
    """Whatever is done to a store, it answers as its twin."""

    place = None

    @initialize()
    def begin(self):
        self.now = 0.0
        self.twin = Twin()
        self.number = 0
        self.untold = []
        self.spot = type(self).place()
        self.open()

    def open(self):
        self.store = self.spot.store(now=lambda: self.now)
        self.store._attachments._room = ROOM
        self.lock = self.store.lock()
        self.lock.__enter__()

    def close(self):
        self.lock.__exit__(None, None, None)
        self.store.close()

    def answers(self, data_number):
        waiting = [number for number, (_, answer) in self.twin.questions.items() if answer is None]
        return {number: {"events": [number]} for number in waiting[:data_number]}

    @rule(events=some_events, some=st.integers(0, 2), state=st.booleans())
    def save(self, events, some, state):
        self.number += 1
        answers = self.answers(some)
        kept = checkpoint(self.number, 3) if state else None
        self.store.save(kept, [*self.untold, *events], answers)
        self.twin.save(kept, [*self.untold, *events][self.skip :], answers, self.now)
        self.untold, self.skip = [], 0

    skip = 0

    @rule(events=some_events, kept=st.booleans())
    def save_and_be_cut_off(self, events, kept):
        self.number += 1
        state = checkpoint(self.number, 3)
        self.untold += events
        with broken_saves(self.store, kept), pytest.raises(StreamError):
            self.store.save(state, self.untold)
        if kept:
            self.twin.save(state, self.untold[self.skip :], {}, self.now)
            self.skip = len(self.untold)

    @precondition(lambda self: self.spot.shared and not self.untold)
    @rule()
    def start_again(self):
        self.close()
        self.open()
        self.twin.taken.clear()

    @rule(days=st.sampled_from([0.5, 1.0, 2.0, 400.0, -0.5, -400.0]))
    def wait(self, days):
        self.now += days * DAY

    @rule(keep=retentions)
    def forget(self, keep):
        assert self.store.forget(keep, self.now) == self.twin.forget(keep, self.now)

    @rule(sink=ids, back=st.integers(0, 3))
    def deliver(self, sink, back):
        number = max(0, self.twin.last - back)
        self.store.deliver(sink, number, [number])
        self.twin.sinks[sink] = (number, True)

    @rule(sinks=st.sets(ids, max_size=3))
    def expect(self, sinks):
        self.store.expect(sinks)
        self.twin.sinks = {
            name: (number, name in sinks) for name, (number, _) in self.twin.sinks.items()
        }

    @rule(id=ids, which=st.integers(0, 3))
    def attach(self, id, which):
        content = CONTENTS[which]
        if id in self.twin.alarms:
            self.store.attach(id, content)
            self.twin.attach(id, content)
        else:
            with pytest.raises(StreamError):
                self.store.attach(id, content)

    @precondition(lambda self: self.twin.state is not None)
    @rule(text=st.text(max_size=3))
    def ask(self, text):
        number = self.store.ask({"text": text})
        assert number > max(self.twin.questions, default=0)
        self.twin.questions[number] = ({"text": text}, None)

    @precondition(lambda self: self.twin.questions)
    @rule(which=st.integers(0, 5), withdraw=st.booleans())
    def look_for_an_answer(self, which, withdraw):
        number = sorted(self.twin.questions)[which % len(self.twin.questions)]
        question, answer = self.twin.questions[number]
        if withdraw:
            waits = answer is None and question is not None
            gone = waits and number not in self.twin.taken
            assert self.store.withdraw(number) is gone
            if gone:
                self.twin.questions[number] = (None, None)
        else:
            assert self.store.answer(number) == answer
            if answer is not None:
                self.twin.questions[number] = (None, None)

    @rule()
    def look_for_questions(self):
        waiting = [
            Asked(number, question)
            for number, (question, answer) in sorted(self.twin.questions.items())
            if answer is None and question is not None
        ]
        assert self.store.asked() == waiting
        self.twin.taken.update(one.number for one in waiting)

    @invariant()
    def same(self):
        if not hasattr(self, "twin"):
            return
        store, twin = self.store, self.twin
        assert store.last == store.newest == twin.last
        assert alike(store.load(), twin.state) if twin.state else store.load() is None
        assert [(one.number, one.body) for one in store.notices(0)] == sorted(
            twin.events.items(), key=lambda one: one[0]
        )
        newest = sorted(twin.alarms.values(), reverse=True)
        for on in (None, True, False):
            assert store.alarms(on=on) == [
                twin.events[last] for _, last, is_on, _ in newest if on in (None, is_on)
            ]
        pages = [(first, twin.events[last]) for first, last, _, _ in newest]
        assert store.history() == pages
        assert store.history(None, 1) == pages[:1]
        for first, body in pages:
            assert store.history(first) == [one for one in pages if one[0] < first]
            assert store.alarm(body["id"]) == body
        for id in "abcd":
            same = store.attached(id) == twin.attached.get(id)
            assert same, id  # not the contents: they are long

    def teardown(self):
        if hasattr(self, "store"):
            self.close()


def run(place, examples):
    machine = type("Machine", (StoreMachine,), {"place": staticmethod(place)})
    case = machine.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=25,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()


def test_memory_and_its_twin():
    run(MemoryPlace, 40)


def test_a_file_and_its_twin(tmp_path):
    number = iter(range(10**6))
    run(lambda: FilePlace(tmp_path / str(next(number))), 10)


def test_a_server_and_its_twin(server):
    run(lambda: ServerPlace(server.socket_url), 6)
