"""``causewatch alarms`` on the state of a watch that has ended."""

from __future__ import annotations

import json
import shutil

import pytest

from causewatch.cli import main


@pytest.fixture(scope="module")
def ended(plant, tmp_path_factory):
    """The state of a watch that ended while an alarm was on."""
    folder = tmp_path_factory.mktemp("ended")
    source = folder / "log.csv"
    source.write_text("".join(plant.lines[:230]))
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
    assert "shelved" in alarms("shelve", id, "--for", "8h")
    assert "shelved" in alarms("list")
    assert "raised" in alarms("unshelve", id)
    alarms("comment", id, "two\nlines", "--by", "Bob")
    alarms("normal", id)
    shown = alarms("show", id)
    for words in ("cleared", "Ann: valve", "Bob: two lines", "limits were widened"):
        assert words in shown

    # The watch that goes on knows all of it: what was normal once raises nothing again.
    source = tmp_path / "log.csv"
    source.write_text("".join(plant.lines[:265]))
    assert main(["watch", str(plant.model), str(source), "--state", str(state), "--json"]) == 0
    *lines, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert summary["rows"] == 35
    assert not [one for one in lines if one["event"] == "raised" and one["kind"] == "anomaly"]
    assert json.loads(alarms("show", id, "--json"))["normal"]
    assert "updated" in alarms("undo", id)
    assert "no alarm marked as normal" in alarms("undo", id, code=2)


def test_signals_on_the_shelf(alarms, plant, state, tmp_path, capsys):
    alarms("shelve", "--signal", "S04", "--for", "1d")
    source = tmp_path / "log.csv"
    source.write_text("".join(plant.lines))
    assert main(["watch", str(plant.model), str(source), "--state", str(state), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:-1]]
    raised = [one for one in lines if one["event"] == "raised"]
    assert not [one for one in raised if list(one["signals"]) == ["S04"]]
    alarms("unshelve", "--signal", "S04")


def test_what_is_refused(alarms, id, tmp_path, capsys):
    for arguments, words in [
        (("ack", "nothing"), "There is no alarm 'nothing'"),
        (("ack", ""), "There is no alarm ''"),
        (("ack", id, "--by", " "), "name of the person is empty"),
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


def test_bytes_that_are_no_text_and_lines_of_others(alarms, id, state):
    with (state / "alarms.jsonl").open("a") as file:
        file.write('{"id": "abc"}\n' + "[" * 100_000 + "\n")
    assert "abc" not in alarms("list")
    alarms("comment", id, "valve \udcff", "--by", "Ann")
    assert "Ann: valve ?" in alarms("show", id)


def test_a_history_that_somebody_emptied_is_not_filled_up(alarms, id, state):
    (state / "alarms.jsonl").write_bytes((state / "alarms.jsonl").read_bytes()[:-1])
    alarms("ack", id, "--by", "Ann")
    data = (state / "alarms.jsonl").read_bytes()
    assert b"\0" not in data
    assert json.loads(data.splitlines()[-1])["acknowledged_by"] == "Ann"


def test_an_alarm_that_is_cleared_and_shelved_has_its_blanks(capsys):
    from causewatch.cli.alarm_text import print_list
    from causewatch.cli.summary import console

    alarm = {"id": "a", "kind": "anomaly", "cleared_at": "t", "shelved_until": "u"}
    print_list([alarm], console())
    assert "cleared, shelved  anomaly" in capsys.readouterr().out


def test_what_is_asked_of_a_watch_without_new_rows(plant, state, tmp_path, capsys):
    """Actions happen at the last tick of the earlier run, and nonsense ends nothing."""
    source, inbox = tmp_path / "log.csv", state / "inbox"
    source.write_text("".join(plant.lines[:230]))
    inbox.mkdir(exist_ok=True)
    id = next(one["id"] for one in reversed(_lines(state)) if one["cleared_at"] is None)
    bad = [b"", b"[1]", b"\xff", b"[" * 100_000, b'{"action": "shelve", "signals": 5}', b"null"]
    for k, data in enumerate(bad):
        (inbox / f"{k}.json").write_bytes(data)
    (inbox / "folder.json").mkdir()
    (inbox / "z.json").write_text(json.dumps({"action": "ack", "id": id, "by": "Ann"}))
    assert main(["watch", str(plant.model), str(source), "--state", str(state)]) == 0
    assert not list(inbox.glob("*.json"))
    assert all("error" in json.loads((inbox / f"{k}.answer").read_text()) for k in range(len(bad)))
    last = _lines(state)[-1]
    assert last["event"] == "acknowledged"
    assert last["time"] >= last["raised_at"] > "1971"


def _lines(state):
    return [json.loads(line) for line in (state / "alarms.jsonl").read_text().splitlines()]
