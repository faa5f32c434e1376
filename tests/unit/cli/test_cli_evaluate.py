"""``causewatch evaluate``: the report card from files."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from causewatch.cli import main
from causewatch.cli.tests_in import on_clock
from causewatch.data import read_table

EVENTS = [
    {"name": "first", "start": 200, "end": 260, "signals": ["S02"]},
    {"name": "second", "start": 450, "end": 500, "signals": ["S04"]},
]
CONTRACT = (
    "vus_pr", "auc_pr", "f1", "precision", "recall", "f1_best", "affiliation_precision",
    "affiliation_recall", "etapr_f1", "event_recall", "events", "events_detected",
    "events_seen", "coverage", "median_delay_s", "false_alarms_per_day",
    "false_alarm_time_share", "ac_at_1", "ac_at_3", "ac_at_5", "map_at_3", "mrr",
    "chance_ac_at_1", "abstained", "per_event",
)  # fmt: skip


@pytest.fixture
def labelled(plant, tmp_path):
    """The recording of the small plant with a column of labels, and its causes."""
    row = pl.int_range(pl.len())
    label = (row.is_between(200, 259) | row.is_between(450, 499)).cast(pl.Int8).alias("label")
    test = tmp_path / "test.csv"
    pl.read_csv(plant.test).with_columns(label).write_csv(test)
    causes = tmp_path / "causes.json"
    causes.write_text(json.dumps(EVENTS))
    return test, causes


def evaluate(plant, *arguments):
    return main(["evaluate", str(plant.model), *map(str, arguments)])


def test_the_json_is_the_contract_and_agrees_with_watching(plant, labelled, tmp_path, capsys):
    test, causes = labelled
    assert evaluate(plant, test, "--labels", "label", "--causes", causes, "--json") == 0
    card = json.loads(capsys.readouterr().out)
    assert set(CONTRACT) <= set(card)
    assert (card["events"], card["events_detected"], card["ac_at_1"]) == (2, 2, 1.0)
    assert [one["causes"][0] for one in card["per_event"]] == ["S02", "S04"]
    # The same from what `watch` writes, by the definitions.
    scores = tmp_path / "scores.csv"
    assert main(["watch", str(plant.model), str(test), "--scores", str(scores)]) == 0
    capsys.readouterr()
    told = pl.read_csv(scores)
    frame = pl.read_csv(test)
    place = np.searchsorted(told["time"].to_numpy(), frame["time"].to_numpy())
    on = told["alarm"].to_numpy()[np.minimum(place, len(told) - 1)] == 1
    on[place >= len(told)] = False
    truth = frame["label"].to_numpy() == 1
    assert card["precision"] == pytest.approx((on & truth).sum() / on.sum())
    assert card["recall"] == pytest.approx((on & truth).sum() / truth.sum())
    assert card["false_alarm_time_share"] == pytest.approx((on & ~truth).sum() / (~truth).sum())


def test_for_people(plant, labelled, tmp_path, capsys):
    test, causes = labelled
    page = tmp_path / "card.html"
    assert evaluate(plant, test, "--causes", causes, "--report", page) == 0
    shown = capsys.readouterr().out
    assert "Noticed    2 of 2 events (100.0%)" in shown
    assert "a true one first in 100.0%" in shown
    assert "first" in shown
    assert f"Report     {page}" in shown
    assert "<svg" in page.read_text()
    assert evaluate(plant, test, "--causes", causes, "--report", page) == 2
    assert "--force" in capsys.readouterr().err


def test_a_line_that_makes_no_sense_is_left_out_and_named(plant, labelled, capsys):
    test, _ = labelled
    lines = test.read_text().splitlines(keepends=True)
    lines[600:600] = ["### restarted\n"]
    test.write_text("".join(lines))
    assert evaluate(plant, test, "--labels", "label", "--json") == 0
    [note] = json.loads(capsys.readouterr().out)["notes"]
    assert "that make no sense, left out: 1 (line 601)" in note


def test_the_recording_that_was_learnt_from_is_called_that(plant, labelled, tmp_path, capsys):
    test, _ = labelled
    learnt = tmp_path / "learnt.cwm"
    assert main(["learn", str(test), "--labels", "label", "--out", str(learnt)]) == 0
    capsys.readouterr()
    for model, said in ((learnt, True), (plant.model, False)):
        assert main(["evaluate", str(model), str(test), "--labels", "label", "--json"]) in (0, 1)
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert any("The model was learnt from" in note for note in notes) is said


def test_labels_alone_know_no_causes(plant, labelled, capsys):
    test, _ = labelled
    assert evaluate(plant, test, "--labels", "label") == 0
    assert "Causes     not known" in capsys.readouterr().out


def test_several_recordings_are_told_apart(plant, labelled, tmp_path, capsys):
    test, causes = labelled
    again = tmp_path / "again.csv"
    again.write_bytes(test.read_bytes())
    both = [event | {"file": name} for name in ("test.csv", "again.csv") for event in EVENTS]
    causes.write_text(json.dumps(both))
    assert evaluate(plant, test, again, "--causes", causes, "--json") == 0
    card = json.loads(capsys.readouterr().out)
    assert card["events_detected"] == 4
    assert card["per_event"][0]["delay_s"] == card["per_event"][2]["delay_s"]


def test_the_published_counting_stands_beside_the_strict_one(plant, labelled, capsys):
    test, causes = labelled
    normal = plant.test.with_name("normal.csv")
    with_paper = ("--causes", causes, "--protocol", "paper", "--normal", normal)
    assert evaluate(plant, test, *with_paper, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["paper_counting"]["recall"] > 0.5
    assert told["strict_by_step"]["precision"] <= told["paper_counting"]["precision"]
    assert evaluate(plant, test, *with_paper) == 0
    shown = capsys.readouterr().out
    assert "Counting   published" in shown
    assert "Counting   strict" in shown


def test_moved_limits(plant, labelled, capsys):
    test, causes = labelled
    assert evaluate(plant, test, "--causes", causes, "--limits", "0.2,1,50", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    low, same, high = told["limits"]
    assert same["f1"] == told["f1"]
    assert low["false_alarm_time_share"] > same["false_alarm_time_share"]
    assert low["recall"] >= same["recall"] > high["recall"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--labels", "S01"], "holds the label column 'S01' as a signal"),
        (["--labels", "nothing"], "nothing"),
        ([], "--labels"),
        (["--labels", "label", "--protocol", "kind"], "kind"),
        (["--labels", "label", "--protocol", "paper"], "give --normal"),
        (["--labels", "label", "--normal", "x.csv"], "--protocol paper only"),
        (["--labels", "label", "--grace", "soon"], "'soon' is not a duration"),
        (["--labels", "label", "--limits", "a,b"], "--limits is 'a,b'"),
        (["--labels", "label", "--limits", "0"], "numbers from 0.001 to 1000"),
        (["--labels", "label", "--grace", "200000d"], "at most ten years"),
        (["--labels", "label", "--report", "none/x.html"], "no folder 'none'"),
        (["--labels", "time"], "'time'"),
        (["--causes", "none.json"], "Cannot read 'none.json'"),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(plant, labelled, capsys, arguments, says):
    assert evaluate(plant, labelled[0], *arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.strip().splitlines()) == 1


def test_a_recording_without_anything_to_detect_is_refused(plant, capsys):
    normal = plant.test.with_name("test.csv")
    assert evaluate(plant, normal, "--labels", "label") == 2
    assert "nothing to detect" in capsys.readouterr().err


def test_rows_that_are_counted_have_the_numbers_of_the_file(tmp_path):
    path = tmp_path / "gaps.csv"
    rows = "".join(
        f"2026-01-01T00:00:{k:02},{k if k not in (3, 4, 9) else ''}\n" for k in range(12)
    )
    path.write_text("time,a\n" + rows)
    kept = [0, 1, 2, 5, 6, 7, 8, 10, 11]
    timed = read_table(path)
    assert (on_clock(timed, "rows", 1.0).time // 10**9).tolist() == kept
    path.write_text("a,b\n" + "".join(f"{k if k in kept else ''},\n" for k in range(12)))
    counted = read_table(path)
    assert (counted.time // 10**9).tolist() == kept
    assert (on_clock(counted, "naive", 2.0).time // 10**9).tolist() == [2 * k for k in kept]


def test_events_of_another_recording_are_left_out_with_a_note(plant, labelled, capsys):
    test, causes = labelled
    other = {"name": "third", "start": 0, "end": 10, "signals": [], "file": "session-1.csv"}
    causes.write_text(json.dumps([*EVENTS, other]))
    assert evaluate(plant, test, "--causes", causes, "--json") == 0
    card = json.loads(capsys.readouterr().out)
    assert card["events"] == 2
    assert "1 event of session-1.csv is left out: it is not given." in card["notes"]


def test_a_column_of_labels_that_is_not_there_names_the_file(plant, labelled, capsys):
    assert evaluate(plant, labelled[0], "--labels", "lable") == 2
    message = "There is no column 'lable' in test.csv. Did you mean 'label'?"
    assert message in capsys.readouterr().err
