"""``causewatch demo`` on a shorter recording: what it says, writes and refuses."""

from __future__ import annotations

import io
import json
import re

import polars as pl
import pytest
from rich.console import Console

from causewatch.cli import demo_run, main
from causewatch.cli.demo import FILES, _free_folder
from causewatch.simulate.run import Run

NORMAL_ROWS, TEST_ROWS = 14_400, 4_200
WISHES = ("--attacks", "2", "--seed", "3")


RUNS = {}
PLANT = demo_run.WaterPlant.simulate


def simulate_once(self, rows, attacks, **named):
    """The plant, which gives the same run when asked the same again."""
    key = (self.seed, rows, tuple(attacks))
    if key not in RUNS:
        RUNS[key] = PLANT(self, rows, attacks, **named)
    return RUNS[key]


def shorten(patch):
    patch.setattr(demo_run, "NORMAL_ROWS", NORMAL_ROWS)
    patch.setattr(demo_run, "TEST_ROWS", TEST_ROWS)
    patch.setattr(demo_run.WaterPlant, "simulate", simulate_once)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    shorten(monkeypatch)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """A demo with one attack in four hours and a half: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "plant"
    stale = folder / "alarms" / "0123456789ab.html"
    own = folder / "alarms" / "notes.html"
    stale.parent.mkdir(parents=True)
    stale.write_text("of an earlier run")
    own.write_text("somebody's own")
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        patch.setattr("sys.stdout", out)
        code = main(["demo", "--out", str(folder), *WISHES, "--json", "--force"])
    assert code == 0
    return folder, json.loads(out.getvalue())


def test_it_writes_what_it_promises(story):
    folder, said = story
    assert {path.name for path in folder.iterdir()} == {*FILES, "alarms"}
    assert said["files"] == [str(folder / name) for name in FILES]
    normal, test = (pl.read_csv(folder / name) for name in ("normal.csv", "test.csv"))
    assert (len(normal), len(test)) == (NORMAL_ROWS, TEST_ROWS)
    assert normal.columns == test.columns[:-1]
    assert normal["time"][0] == "2026-01-01T12:00:00"
    assert test["time"][0] == "2026-01-01T16:00:00"  # it goes on where the other ends
    (cause,) = json.loads((folder / "causes.json").read_text())
    assert cause["signals"] == ["P102"]
    assert test["label"].to_list() == [
        int(cause["start"] <= row < cause["end"]) for row in range(TEST_ROWS)
    ]
    assert (normal["P102"] == 1).all()
    assert (test["P102"][cause["start"] + 5 : cause["end"]] == 2).all()


def test_its_numbers_are_those_of_the_run(story):
    folder, said = story
    events = [json.loads(line) for line in (folder / "alarms.jsonl").read_text().splitlines()]
    raised = [one for one in events if one["event"] == "raised" and one["kind"] == "anomaly"]
    outcome = said["outcome"]
    counted = [one for one in outcome["alarms"] if one["was"] != "health"]
    assert [one["id"] for one in counted] == [one["id"] for one in raised]
    assert said["watched"]["alarms_raised"] == len(raised)
    (attack,) = outcome["attacks"]
    assert attack["detected"]
    assert attack["causes"][0] == "P102"
    first = next(one for one in raised if one["id"] == attack["alarm"])
    assert attack["start"] <= first["raised_at"] < attack["end"]
    assert (outcome["detected"], outcome["named_first"]) == (1, 1)
    kinds = ("false_alarms", "aftermath_alarms")
    assert sum(outcome[kind] for kind in kinds) == sum(one["was"] != "attack" for one in counted)
    scores = pl.read_csv(folder / "scores.csv")
    assert len(scores) == said["watched"]["ticks"]
    assert sum(outcome["under_alarm_s"].values()) == pytest.approx(
        scores["alarm"].sum() * said["learnt"]["every_s"]
    )
    assert said["learnt"]["rows"] == NORMAL_ROWS


def test_the_report_is_complete_and_linked(story):
    folder, said = story
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"https?://(?!www\.w3\.org/)", text)
    addresses = set(re.findall(r'(?:<a|<link) [^>]*?(?:href|src)="([^"#][^"]*)"', text))
    assert all((folder / one).is_file() for one in addresses), addresses
    pages = {f"alarms/{one['id']}.html" for one in said["outcome"]["alarms"]}
    assert pages
    assert pages <= addresses
    for page in pages:
        assert "<h1>" in (folder / page).read_text(encoding="utf-8")
    assert "<script" not in text
    assert text.count("<svg") > 2  # timeline, key, graph
    assert "P102 runs beside P101" in text
    assert f">{said['learnt']['links']}<" in text


def test_pages_of_an_earlier_run_are_gone_and_other_files_are_not(story):
    folder, _ = story
    assert not (folder / "alarms" / "0123456789ab.html").exists()
    assert (folder / "alarms" / "notes.html").read_text() == "somebody's own"


def test_one_demo_after_the_other_has_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(_free_folder(force=False)) == "causewatch-demo"
    (tmp_path / "causewatch-demo").mkdir()
    (tmp_path / "causewatch-demo-2").symlink_to("nowhere")
    assert str(_free_folder(force=False)) == "causewatch-demo-3"
    assert str(_free_folder(force=True)) == "causewatch-demo"


def test_files_are_not_overwritten(story, capsys):
    folder, _ = story
    before = (folder / "normal.csv").stat().st_mtime_ns
    assert main(["demo", "--out", str(folder)]) == 2
    assert "exists already; use --force" in capsys.readouterr().err
    assert (folder / "normal.csv").stat().st_mtime_ns == before


@pytest.fixture
def learnt(story, monkeypatch):
    """Learning takes the model of the story."""
    from causewatch.model import load

    model = load(story[0] / "model.cwm")
    monkeypatch.setattr(demo_run, "learn", lambda *given, **named: model)
    return model


def test_plain_lines_where_there_is_no_terminal(learnt, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path), *WISHES]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "\x1b" not in shown.out
    order = [
        "Simulating a normal day",
        f"{NORMAL_ROWS:,} and {TEST_ROWS:,} rows of 51 signals; attacks: 2",
        "Learning",
        f"{len(learnt.signals)} signals, ",
        "Watching",
        "attack begins  2: P102 runs beside P101",
        "raised",
        "attack ends    2",
        "attack ",
        "P102 ✓",
        "1 of 1 attack detected",
        "Writing the report",
        "index.html",
    ]
    places, at = [], 0
    for words in order:
        at = shown.out.find(words, at)
        places.append((words, at))
        assert at >= 0, places


def test_an_afternoon_without_attacks(learnt, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path), "--attacks", "none", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["outcome"]["attacks"] == []
    was = {one["was"] for one in said["outcome"]["alarms"]}
    assert was <= {"false", "health"}  # whatever is raised now is false
    assert "There was no attack." in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_live_view(learnt, tmp_path):
    paths = {name: tmp_path / name for name in FILES}
    _, test = demo_run.simulate(3, ("2",), paths)
    out = io.StringIO()
    screen = Console(file=out, width=110, markup=False, force_terminal=True, color_system=None)
    watched = demo_run.watch_test(learnt, test, paths, 0.0, True, screen)
    text = out.getvalue()
    for words in ("LIT101", "Score", "attack begins", "the watch does not know", "P102 was"):
        assert words in text
    assert watched.outcome.detected == 1


def test_a_page_and_json_cannot_both_be_had(tmp_path, capsys):
    assert main(["demo", "--serve", "--json", "--out", str(tmp_path / "new")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "--serve shows" in shown.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--attacks", "99"], "no attack '99'"),
        (["--seed", "-1"], "--seed"),
        (["--speed", "-3"], "--speed"),
    ],
)
def test_bad_wishes_are_refused_before_any_work(arguments, words, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "new"), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("act", ["simulate", "learn", "watch"])
def test_an_interrupt_ends_it_cleanly(act, learnt, tmp_path, capsys, monkeypatch):
    def stop(*given, **named):
        raise KeyboardInterrupt

    if act == "simulate":
        monkeypatch.setattr(demo_run.WaterPlant, "simulate", stop)
    elif act == "learn":
        monkeypatch.setattr(demo_run, "learn", stop)
    else:
        monkeypatch.setattr(demo_run.PlayedSource, "poll", stop)
    assert main(["demo", "--out", str(tmp_path), *WISHES]) == 130
    assert capsys.readouterr().err == "causewatch: interrupted.\n"
    assert not list(tmp_path.glob(".*"))  # no half-written files
    if act == "watch":
        assert (tmp_path / "scores.csv").read_text().startswith("time,score,alarm\n")


def test_an_attack_that_never_comes_is_mentioned(learnt, tmp_path, capsys, monkeypatch):
    def without(*given, **named):
        run = simulate_once(*given, **named)
        return Run(run.signals, run.values, run.interval)

    monkeypatch.setattr(demo_run.WaterPlant, "simulate", without)
    assert main(["demo", "--out", str(tmp_path), *WISHES]) == 0
    assert "attacks: none; 1 did not take place" in capsys.readouterr().out
