"""``causewatch explain``: why, for a stretch of a recording."""

from __future__ import annotations

import json

import pytest

from causewatch.cli import main


def explain(plant, *arguments):
    return main(["explain", str(plant.model), str(plant.test), *map(str, arguments)])


def moment(plant, row):
    """The time of a row."""
    return plant.lines[row + 1].split(",")[0]


def test_causes_are_named(plant, tmp_path, capsys):
    page = tmp_path / "why.html"
    code = explain(
        plant, "--from", moment(plant, 195), "--to", moment(plant, 255), "--report", page
    )
    assert code == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    headline, alarm, causes, first, *_ = shown.out.splitlines()
    assert "S02" in headline
    assert alarm.startswith("Alarm ")
    assert "still on" in alarm
    assert causes.startswith("Causes")
    assert first.strip().startswith("S02: ")
    assert f"Report     {page}" in shown.out
    assert page.read_text().count("<svg") >= 1


def test_as_json(plant, capsys):
    assert explain(plant, "--from", moment(plant, 440), "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["from"] == moment(plant, 440)
    assert said["alarms"][0]["causes"][0]["signal"] == "S04"
    assert {"headline", "abstained", "broken_links", "raised_at"} <= set(said["alarms"][0])
    # What ended before the stretch is not in it.
    ends = [one["cleared_at"] for one in said["alarms"]]
    assert all(end is None or end >= said["from"] for end in ends)


def test_the_published_ranking_stands_beside_it(plant, tmp_path, capsys):
    model = tmp_path / "paper.cwm"
    normal = str(plant.test.with_name("normal.csv"))
    assert main(["learn", normal, "--out", str(model), "--preset", "paper"]) == 0
    capsys.readouterr()
    assert main(["explain", str(model), str(plant.test), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["alarms"][0]["published_ranking"]
    assert {one["signal"] for one in said} == {"S01", "S02", "S03", "S04", "S05"}
    scores = [one["score"] for one in said]
    assert scores == sorted(scores, reverse=True)


def test_nothing_is_wrong(plant, capsys):
    span = ["--from", moment(plant, 50), "--to", moment(plant, 150)]
    assert explain(plant, *span) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Nothing is wrong in faulty.csv" in shown.err
    assert len(shown.err.splitlines()) == 1
    assert explain(plant, *span, "--json") == 1
    assert json.loads(capsys.readouterr().out)["alarms"] == []


def test_times_as_people_write_them(plant, capsys):
    day, begin = moment(plant, 195).split("T")
    year, month, date = day.split("-")
    end = moment(plant, 255).split("T")[1]
    assert explain(plant, "--from", f"{date}.{month}.{year} {begin}", "--to", end, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["from"], said["to"]) == (moment(plant, 195), moment(plant, 254))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "yesterday"], "--from is 'yesterday', which is not a time"),
        (["--to", "07:20"], "--to is '07:20', which does not say on which day"),
        (["--from", "2027-01-01"], "has no row in this stretch"),
        (["--from", "17"], "The span '--from 17' does not fit this table"),
        (["--to", "2026-01-01", "--from", "2026-01-02"], "is not after its start"),
        (["--report", "/nowhere/x.html"], "There is no folder"),
    ],
)
def test_what_is_refused(plant, arguments, words, capsys):
    assert explain(plant, *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err
    assert len(shown.err.splitlines()) == 1
