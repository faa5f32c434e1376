"""A model can be replaced under a state, by an update or by ``causewatch adopt``."""

from __future__ import annotations

import json
import threading
from contextlib import closing

import polars as pl
import pytest

from causewatch.cli import main
from causewatch.model import load
from causewatch.streaming.store.sqlite import SqliteStore
from causewatch.testing import until

ON = 230
"""Rows up to the middle of the first fault."""


@pytest.fixture(scope="module")
def updated(plant, tmp_path_factory):
    """The model with more normal rows: those of its recording, not quite the same."""
    folder = tmp_path_factory.mktemp("updated")
    more, out = folder / "more.csv", folder / "updated.cwm"
    table = pl.read_csv(plant.test.with_name("normal.csv"))
    numbers = [name for name in table.columns if table[name].dtype == pl.Float64]
    table.with_columns(pl.col(numbers) * 1.0001).write_csv(more)
    assert main(["learn", "--update", str(plant.model), str(more), "--out", str(out)]) == 0
    return out


@pytest.fixture
def other(plant, tmp_path):
    """A model of the same plant that is no update."""
    out, normal = tmp_path / "other.cwm", plant.test.with_name("normal.csv")
    assert main(["learn", str(normal), "--out", str(out), "--max-lag", "2"]) == 0
    return out


@pytest.fixture
def begun(plant, tmp_path, capsys):
    """A watch that ended while an alarm was on, which somebody has seen."""
    state, log = tmp_path / "state", tmp_path / "log.csv"
    log.write_text("".join(plant.lines[: ON + 1]))
    alarms = ["--alarms", str(tmp_path / "alarms.jsonl")]
    arguments = [str(log), "--state", str(state), *alarms]
    assert main(["watch", str(plant.model), *arguments]) == 0
    (on,) = list_of(state, capsys)
    assert main(["alarms", "ack", on["id"], "--state", str(state), "--by", "Ada"]) == 0
    hidden = ["--signal", "S05", "--for", "1d", "--state", str(state), "--by", "Ada"]
    assert main(["alarms", "shelve", *hidden]) == 0
    log.write_text("".join(plant.lines))
    capsys.readouterr()
    return state, arguments, on["id"]


def list_of(state, capsys):
    capsys.readouterr()
    assert main(["alarms", "list", "--json", "--state", str(state)]) == 0
    return json.loads(capsys.readouterr().out)


def goes_on(state, id, plant, capsys):
    """Everything is there: the alarm has ended by itself, and nothing was watched twice."""
    alarms = list_of(state, capsys)
    (on,) = [alarm for alarm in alarms if alarm["id"] == id]
    assert on["cleared_at"] is not None
    assert on["acknowledged_by"] == "Ada"
    assert len({alarm["id"] for alarm in alarms}) == len(alarms) > 1
    with closing(SqliteStore(state, "watch")) as store:
        saved = store.load()
        told = [event["event"] for event in store.events(id)]
    assert saved.counts["rows"] == len(plant.lines) - 1
    assert [shelf["signals"] for shelf in saved.monitor["policy"]["shelves"]] == [["S05"]]
    assert told.count("raised") == told.count("cleared") == 1
    return saved


def test_an_update_just_goes_on(plant, updated, begun, capsys):
    state, arguments, id = begun
    assert main(["watch", str(updated), *arguments]) == 0
    said = capsys.readouterr().err
    assert "updated.cwm is an update of the model before. Taken over: 1 alarm still on" in said
    saved = goes_on(state, id, plant, capsys)
    assert saved.monitor["model"] == load(updated).fingerprint
    assert main(["watch", str(updated), *arguments]) in (0, 1)
    assert "is an update" not in capsys.readouterr().err
    assert main(["watch", str(plant.model), *arguments]) == 2  # not back again by itself
    assert "belongs to another model" in capsys.readouterr().err


def test_any_other_model_has_to_be_adopted(plant, other, begun, capsys):
    state, arguments, id = begun
    assert main(["watch", str(other), *arguments]) == 2
    said = capsys.readouterr().err
    assert f"'causewatch adopt {state} {other}' lets it take over" in said
    assert main(["adopt", str(state), str(other)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("Taken over: 1 alarm still on, 0 that ended, what is shelved (1)")
    assert shown[1:] == ["The rows of the tick that was open are left out."]
    assert main(["watch", str(other), *arguments]) == 0
    goes_on(state, id, plant, capsys)
    before = (state / "watch.db").read_bytes()
    assert main(["adopt", str(state), str(other), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"kept": "The state belongs to this model already.", "lost": []}
    assert (state / "watch.db").read_bytes() == before


def test_what_cannot_be_adopted(plant, begun, tmp_path, capsys):
    assert main(["adopt", str(tmp_path / "nowhere"), str(plant.model)]) == 2
    assert "holds no state of a watch" in capsys.readouterr().err
    noise, model = tmp_path / "noise.csv", tmp_path / "noise.cwm"
    table = pl.read_csv(plant.test.with_name("normal.csv"))
    table.rename({f"S0{k}": f"T0{k}" for k in range(1, 6)}).write_csv(noise)
    assert main(["learn", str(noise), "--out", str(model)]) == 0
    capsys.readouterr()
    state, *_ = begun
    assert main(["adopt", str(state), str(model)]) == 2
    assert "none of the signals that the state is about" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "line1"])
def test_a_name_that_is_not_the_watch_s_adopts_nothing(plant, other, name, tmp_path, capsys):
    state, log = tmp_path / "state", tmp_path / "log.csv"
    log.write_text("".join(plant.lines[:50]))
    named = ["--name", name] if name else []
    assert main(["watch", str(plant.model), str(log), "--state", str(state), *named]) in (0, 1)
    before = (state / "watch.db").read_bytes()
    capsys.readouterr()
    assert main(["adopt", str(state), str(other), "--name", "lime1"]) == 2
    called = f"is called {name!r}" if name else "has no name"
    assert f"The watch in {str(state)!r} {called}; it is not 'lime1'." in capsys.readouterr().err
    assert (state / "watch.db").read_bytes() == before
    advised = ["watch", str(other), str(log), "--state", str(state), "--name", "lime1"]
    assert main(advised) == 2
    assert f"{other}{' --name line1' if name else ''}' lets it" in capsys.readouterr().err
    assert main(["adopt", str(state), str(other), *named]) == 0


def test_a_state_in_use_is_left_alone(plant, updated, begun, capsys):
    state, *_ = begun
    store = SqliteStore(state, "watch")
    held, done = threading.Event(), threading.Event()

    def hold():
        with store.lock():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert until(held.is_set)
        assert main(["adopt", str(state), str(updated)]) == 2
    finally:
        done.set()
        thread.join()
        store.close()
    assert "is in use by a running watch" in capsys.readouterr().err
