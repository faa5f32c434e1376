"""``causewatch alarms`` on the state of a watch that has ended."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from causewatch.cli import main
from causewatch.streaming.store.sqlite import SqliteStore


@pytest.fixture(scope="module")
def ended(plant, tmp_path_factory):
    """The state of a watch that ended while an alarm was on, after a link was seen broken."""
    folder = tmp_path_factory.mktemp("ended")
    source = folder / "log.csv"
    source.write_text("".join(plant.lines[:255]))
    assert main(["watch", str(plant.model), str(source), "--state", str(folder / "state")]) == 0
    return folder / "state"


@pytest.fixture
def state(ended, tmp_path):
    return shutil.copytree(ended, tmp_path / "state")


@pytest.fixture
def alarms(state, capsys):
    """Runs ``causewatch alarms`` and gives what it prints."""

    def run(*arguments, code=0):
        capsys.readouterr()
        assert main(["alarms", *map(str, arguments), "--state", str(state)]) == code
        shown = capsys.readouterr()
        assert (shown.err == "") == (code == 0)
        return shown.out if code == 0 else shown.err

    return run


@pytest.fixture
def id(alarms):
    """Of the alarm that is on."""
    return json.loads(alarms("list", "--json"))[0]["id"]


def test_list_and_show(alarms, id):
    text = alarms("list")
    assert id in text
    assert "S02" in text
    found = json.loads(alarms("list", "--json"))[0]
    assert (found["kind"], found["cleared_at"]) == ("anomaly", None)
    shown = alarms("show", id[:5])
    assert found["headline"] in shown
    assert "still on" in shown
    assert "raised" in shown
    said = json.loads(alarms("show", id, "--json"))
    assert said["events"][0]["event"] == "raised"
    assert said["causes"] == found["causes"]


def test_the_life_of_an_alarm(alarms, id, plant, state, tmp_path, capsys):
    events = json.loads(alarms("ack", id, "--by", "Ann", "--comment", "valve", "--json"))
    assert [one["event"] for one in events] == ["acknowledged"]
    assert events[0]["acknowledged_by"] == "Ann"
    until = json.loads(alarms("shelve", id, "--for", "8h", "--json"))[0]["shelved_until"]
    assert alarms("shelve", id, "--for", "8h").startswith(f"{id}  shelved until {until}\n")
    assert "shelved" in alarms("list")
    assert alarms("unshelve", id).startswith(f"{id}  no longer shelved, and still on\n")
    assert "comment added" in alarms("comment", id, "two\nlines", "--by", "Bob")
    said = alarms("normal", id, "--by", "Ann")
    assert re.search(r"called normal and cleared; the limits? of S02.* [\d.]+ times", said)
    assert "was called normal by Ann already" in alarms("normal", id, code=2)
    shown = alarms("show", id)
    for words in ("cleared", "Ann: valve", "Bob: two lines", "limits were widened"):
        assert words in shown
    log = [line.split("  ")[1] for line in shown.splitlines()[-6:]]
    assert log == [
        "acknowledged", "shelved", "shelved", "unshelved", "commented", "called normal, and cleared"
    ]  # fmt: skip
    alarms("shelve", id, "--for", "8h")
    assert alarms("unshelve", id).startswith(f"{id}  no longer shelved\n")  # it is over

    # The watch that goes on knows all of it: what was normal once raises nothing again.
    source = tmp_path / "log.csv"
    source.write_text("".join(plant.lines[:270]))
    assert main(["watch", str(plant.model), str(source), "--state", str(state), "--json"]) == 0
    *lines, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert summary["rows"] == 15
    assert not [one for one in lines if one["event"] == "raised" and one["kind"] == "anomaly"]
    assert json.loads(alarms("show", id, "--json"))["normal"]
    assert "'normal' taken back; limits are as they were" in alarms("undo", id)
    assert alarms("show", id).endswith("  'normal' taken back\n")
    assert "no alarm marked as normal" in alarms("undo", id, code=2)


def test_signals_on_the_shelf(alarms, plant, state, tmp_path, capsys):
    said = alarms("shelve", "--signal", "S04", "--for", "1d", "--by", "Ann")
    until = said.removeprefix("S04 is shelved until ").removesuffix(".\n")
    line = f"Shelved until {until}, by Ann: S04\n"
    assert alarms("list").endswith(line)
    assert alarms("list", "--shelved") == line
    (shelf,) = json.loads(alarms("list", "--shelved", "--json"))
    assert (shelf["signals"], shelf["alarm"], shelf["until"]) == (["S04"], None, until)
    assert all("id" in one for one in json.loads(alarms("list", "--json")))
    source = tmp_path / "log.csv"
    source.write_text("".join(plant.lines))
    assert main(["watch", str(plant.model), str(source), "--state", str(state), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:-1]]
    raised = [one for one in lines if one["event"] == "raised"]
    assert not [one for one in raised if list(one["signals"]) == ["S04"]]
    assert alarms("unshelve", "--signal", "S04") == "S04 is no longer shelved.\n"
    assert alarms("list", "--shelved") == "Nothing is shelved.\n"
    assert "Shelved" not in alarms("list")


def test_signals_and_their_alarm_on_the_shelf(alarms, id):
    names = json.loads(alarms("show", id, "--json"))["signals"]
    said = alarms("shelve", *(f"--signal={name}" for name in names), "--for", "1h")
    assert said.startswith(", ".join(names))
    assert f"{id}  shelved until " in said
    assert f": alarm {id} ({', '.join(names)})\n" in alarms("list", "--shelved")


def test_a_shelf_that_is_over_is_not_shown(alarms, state):
    alarms("shelve", "--signal", "S04", "--for", "10s")
    store = SqliteStore(state, "watch")
    with store.lock():  # time has gone on, and nothing happened that would sweep it out
        saved = store.load()
        saved.monitor["time"] += 10 * 10**9
        store.save(saved, [])
    store.close()
    assert alarms("list", "--shelved") == "Nothing is shelved.\n"


def test_how_much_later_an_effect_is_said_in_time(alarms, id):
    (link, *_) = json.loads(alarms("show", id, "--json"))["broken_links"]
    assert f"({link['lag']} s): " in alarms("show", id)


def test_a_lag_where_the_length_of_ticks_is_not_known(alarms, id, state):
    store = SqliteStore(state, "watch")
    with store.lock():
        saved = store.load()
        saved.monitor["recorder"]["count"] = 1
        store.save(saved, [])
    store.close()
    (link, *_) = json.loads(alarms("show", id, "--json"))["broken_links"]
    assert f"({link['lag']} tick{'s' * (link['lag'] > 1)}): " in alarms("show", id)


def test_a_damaged_state_hides_no_alarm(alarms, id, state):
    store = SqliteStore(state, "watch")
    with store.lock():
        saved = store.load()
        del saved.monitor["policy"]
        store.save(saved, [])
    store.close()
    assert "Broken " in alarms("show", id)
    assert json.loads(alarms("list", "--json"))[0]["id"] == id
    assert "is damaged; start with an empty --state" in alarms("list", code=2)


def test_a_watch_that_never_began(plant, tmp_path, capsys):
    state = str(tmp_path / "state")
    assert main(["watch", str(plant.model), str(tmp_path / "no.csv"), "--state", state]) == 2
    capsys.readouterr()
    assert main(["alarms", "shelve", "--signal", "S01", "--for", "1h", "--state", state]) == 2
    assert "No watch has begun in " in capsys.readouterr().err


def test_a_watch_that_does_not_answer(alarms, id, state, monkeypatch, capsys):
    """Nothing is said to be done, and what programs read stays JSON."""
    from causewatch.cli import alarms as module

    monkeypatch.setattr(module, "PATIENCE", 0.1)
    store = SqliteStore(state, "watch")
    with store.lock():
        for more, out in ([], ""), (["--json"], "[]\n"):
            assert main(["alarms", "ack", id, "--state", str(state), *more]) == 0
            shown = capsys.readouterr()
            assert shown.out == out
            assert "has not answered yet" in shown.err
    store.close()


def test_what_is_refused(alarms, id, tmp_path, capsys):
    for arguments, words in [
        (("ack", "nothing"), "There is no alarm 'nothing'"),
        (("ack", ""), "There is no alarm ''"),
        (("ack", id, "--by", " "), "name of the person is empty"),
        (("comment", id, " "), "a comment needs text"),
        (("comment", id, "\ufeff"), "a comment needs text"),
        (("shelve", "--for", "8h"), "Name the id of an alarm, or signals"),
        (("shelve", id, "--signal", "S01", "--for", "8h"), "and not both"),
        (("shelve", id, "--for", "soon"), "'soon' is not a duration"),
        (("shelve", id, "--for", "99999999d"), "at most 3650 d"),
        (("shelve", "--signal", "S99", "--for", "8h"), "There is no signal 'S99'"),
        (("unshelve", id), "There is no shelved alarm"),
        (("undo", id), "There is no alarm marked as normal"),
        (("show", "zz"), "Available: "),
    ]:
        said = alarms(*arguments, code=2)
        assert words in said
        assert len(said.splitlines()) == 1
    assert main(["alarms", "list", "--state", str(tmp_path)]) == 2
    assert "holds no state of a watch" in capsys.readouterr().err


def test_a_watch_without_alarms(plant, tmp_path, capsys):
    source, state = tmp_path / "log.csv", tmp_path / "calm"
    source.write_text("".join(plant.lines[:100]))
    assert main(["watch", str(plant.model), str(source), "--state", str(state)]) == 0
    capsys.readouterr()
    assert main(["alarms", "list", "--state", str(state)]) == 0
    assert capsys.readouterr().out == "No alarms so far.\n"


def test_bytes_that_are_no_text(alarms, id):
    alarms("comment", id, "valve \udcff", "--by", "Ann")
    assert "Ann: valve ?" in alarms("show", id)


def test_an_alarm_that_is_cleared_and_shelved_has_its_blanks(capsys):
    from causewatch.cli.alarm_text import print_list
    from causewatch.cli.summary import console

    alarm = {"id": "a", "kind": "anomaly", "cleared_at": "t", "shelved_until": "u"}
    print_list([alarm], console())
    assert "cleared, shelved  anomaly" in capsys.readouterr().out


def test_what_is_asked_of_a_watch_without_new_rows(plant, state, tmp_path, capsys):
    """Actions happen at the last tick of the earlier run, and nonsense ends nothing."""
    source = tmp_path / "log.csv"
    source.write_text("".join(plant.lines[:230]))
    store = SqliteStore(state, "watch")
    id = store.alarms(on=True)[0]["id"]
    bad = [{}, {"action": "shelve", "signals": 5}, {"action": None, "id": [1]}, {"id": id}]
    numbers = [store.ask(one) for one in bad]
    store.ask({"action": "ack", "id": id, "by": "Ann"})
    assert main(["watch", str(plant.model), str(source), "--state", str(state)]) == 0
    assert store.asked() == []
    assert all("error" in store.answer(number) for number in numbers)
    last = list(store.events())[-1]
    store.close()
    assert last["event"] == "acknowledged"
    assert last["time"] >= last["raised_at"] > "1971"
