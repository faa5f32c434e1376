"""``causewatch learn``: from files to a model file, and every way in which that is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.cli import main
from causewatch.testing.waiting import PATIENCE
from recordings import stable

ROWS = 600
NAMES = ["FIT101", "LIT101", "P101", "AIT201"]


def frame(rows=ROWS, seed=1, start="2026-01-01"):
    values = stable(seed, len(NAMES), rows)
    seconds = np.datetime64(start, "ms") + np.arange(rows) * np.timedelta64(1000, "ms")
    columns = {"time": seconds} | {name: values[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame(columns | {"flat": np.full(rows, 2.5)})


@pytest.fixture(scope="module")
def normal(tmp_path_factory):
    path = tmp_path_factory.mktemp("normal") / "normal.csv"
    frame().write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S")
    return path


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    return folder / "plant.cwm"


def learn(*arguments):
    return main(["learn", *map(str, arguments)])


def sentence(shown):
    """The one line on stderr with which a command is refused."""
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 1, shown.err
    assert lines[0].startswith("causewatch: ")
    assert lines[0].endswith(".")
    assert "Traceback" not in lines[0]
    return lines[0]


def test_a_model_is_learnt_saved_and_described(normal, out, capsys):
    assert learn(normal, "--out", out) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    model = cw.load(out)
    assert model.signals == tuple(NAMES)
    for words in (
        "normal.csv: 600 rows every 1 s, 2026-01-01T00:00:00 to 2026-01-01T00:09:59",
        "4 in the model, 1 left out",
        "flat: constant",
        "600, each of 1 s",
        f"causes up to {model.preprocessing.max_lag} ticks back",
        model.preprocessing.reason,
        f"Links      {len(model.graph)}",
        "pcmci, linear test, alpha 0.001",
        f"Saved      {out}",
    ):
        assert words in shown.out
    assert [one.name for one in out.parent.iterdir()] == ["plant.cwm"]


def test_json_holds_what_the_text_shows(normal, out, capsys):
    assert learn(normal, "--out", out, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    model = cw.load(out)
    assert said["model"] == str(out)
    assert said["preset"] == "default"
    assert said["signals"] == list(model.signals)
    assert said["dropped"] == {"flat": "constant"}
    assert (said["interval_s"], said["every_s"]) == (1.0, model.preprocessing.every)
    assert said["max_lag"] == model.preprocessing.max_lag
    assert said["interval_reason"] == model.preprocessing.reason
    assert said["report"] == [one.to_dict() for one in model.report]
    assert said["provenance"]["rows"] == ROWS
    assert said["provenance"]["files"][0]["name"] == "normal.csv"
    links = {cw.Link(row["source"], row["target"], row["lag"]): row for row in said["links"]}
    assert set(links) == set(model.graph)
    for link, row in links.items():
        strength = model.graph[link]
        assert (row["value"], row["p_value"]) == (strength.value, strength.p_value)
        assert row["coefficient"] == model.mechanisms[link.target].coefficients[link]
    for row in said["mechanisms"]:
        mechanism = model.mechanisms[row["signal"]]
        assert (row["spread"], row["explained"]) == (mechanism.spread, mechanism.explained)
        assert row["centre"] == model.centre[row["signal"]]
        assert row["scale"] == model.scale[row["signal"]]


def test_what_is_asked_for_reaches_the_model(normal, out, capsys, tmp_path):
    knowledge = tmp_path / "plant.yaml"
    knowledge.write_text("required: ['FIT101 -> AIT201 (2)']\nforbidden: ['LIT101 -> P101']\n")
    code = learn(
        normal, "--out", out, "--every", "2s", "--max-lag", "3", "--alpha", "0.2", "--fdr",
        "--method", "pcmci", "--test", "rank", "--knowledge", knowledge, "--seed", "7",
        "--time", "time", "--time-format", "%Y-%m-%dT%H:%M:%S", "--labels", "flat",
        "--keep-labelled",
        "--exclude", "2026-01-01T00:01..2026-01-01T00:02", "--exclude", "2026-01-01T00:09..",
        "--separator", ",", "--decimal", ".", "--links", "2", "--notes", "--json", "--verbose",
    )  # fmt: skip
    assert code == 0
    model = cw.load(out)
    plan, origin = model.preprocessing, model.provenance
    assert (plan.every, plan.max_lag) == (2.0, 3)
    assert origin.rows == ROWS - 120
    assert origin.settings == {
        "preset": "default",
        "method": "pcmci",
        "test": "rank",
        "alpha": 0.2,
        "fdr": True,
        "keep_start_up": False,
        "seed": 7,
        "every": 2.0,
        "max_lag": 3,
        "false_alarm_every": None,
    }
    assert "flat" not in {*model.signals, *plan.dropped}
    assert cw.Link("FIT101", "AIT201", 2) in model.graph
    assert not [k for k in model.graph if (k.source, k.target) == ("LIT101", "P101")]


def test_a_line_that_makes_no_sense_is_left_out_and_named(normal, out, capsys):
    assert learn(normal, "--out", out) == 0
    model = cw.load(out)
    lines = normal.read_text().splitlines(keepends=True)
    lines[300:300] = ["### restarted\n"]
    garbled = out.with_name("garbled.csv")
    garbled.write_text("".join(lines))
    capsys.readouterr()
    assert learn(garbled, "--out", out, "--force") == 0
    shown = capsys.readouterr().out
    assert "Lines of garbled.csv that make no sense, left out: 1 (line 301)" in shown
    assert cw.load(out).mechanisms == model.mechanisms


@pytest.fixture
def attacked(tmp_path):
    """Normal operation with an attack in its middle third, and its column of labels."""
    rows = frame().drop("flat")
    inside = (np.arange(ROWS) >= 200) & (np.arange(ROWS) < 400)
    wild = pl.Series(np.where(inside, 50.0 * np.sin(np.arange(ROWS)), rows["P101"]))
    words = pl.Series(np.where(inside, "Attack", "Normal"))
    rows = rows.with_columns(P101=wild, verdict=words)
    path = tmp_path / "attacked.csv"
    rows.write_csv(path, datetime_format="%Y-%m-%dT%H:%M:%S")
    return path


def test_rows_labelled_anomalous_are_not_learnt(attacked, out, capsys):
    span = "2026-01-01T00:03:20..2026-01-01T00:06:40"
    assert learn(attacked, "--out", out, "--labels", "verdict") == 0
    shown = capsys.readouterr().out
    assert "Rows labelled anomalous, left out: 200 of 600 (33.3%)." in shown
    assert "--keep-labelled" in shown
    model = cw.load(out)
    assert learn(attacked, "--out", out, "--force", "--ignore", "verdict", "--exclude", span) == 0
    assert model.mechanisms == cw.load(out).mechanisms  # a hole is a gap
    capsys.readouterr()
    kept = ["--labels", "verdict", "--keep-labelled"]
    assert learn(attacked, "--out", out, "--force", *kept) == 0
    assert "labelled anomalous" not in capsys.readouterr().out
    assert cw.load(out).scale["P101"] > 3 * model.scale["P101"]


def test_rows_labelled_anomalous_set_no_limits(normal, attacked, out):
    labels = ["--labels", "verdict"]
    rows = pl.read_csv(attacked)
    rows.filter(pl.col("verdict") == "Normal").write_csv(attacked.with_name("rest.csv"))
    models = []
    for second in ("rest.csv", "attacked.csv"):
        path = attacked.with_name(second)
        assert learn(attacked, "--out", out, *labels, "--calibrate", path, "--force") == 0
        models.append(cw.load(out))
    first, second = (model.watching.limits for model in models)
    np.testing.assert_array_equal(first.statistics, second.statistics)


def test_labels_that_nobody_named(attacked, out, capsys):
    assert learn(attacked, "--out", out) == 0
    shown = capsys.readouterr().out
    assert "WARNING  Column 'verdict' was left out" in shown
    assert "holds labels: 200 of 600." in shown
    assert "Name the column with --labels" in shown
    assert cw.load(out).provenance.rows == 600
    assert learn(attacked, "--out", out, "--force", "--keep", "verdct") == 2
    assert "no column of numbers to keep 'verdct'" in capsys.readouterr().err


def test_nothing_normal_is_left(attacked, out, capsys):
    rows = pl.read_csv(attacked).with_columns(verdict=pl.lit("Attack"))
    rows.write_csv(attacked)
    assert learn(attacked, "--out", out, "--labels", "verdict") == 2
    said = sentence(capsys.readouterr())
    assert "600 of 600 rows are labelled anomalous" in said
    assert not out.exists()


def test_a_second_column_of_labels_is_refused(attacked, out, capsys):
    assert learn(attacked, "--out", out, "--labels", "verdict", "--labels", "P101") == 2
    assert "--labels is given 2 times" in sentence(capsys.readouterr())
    assert not out.exists()


def test_rows_without_a_label_are_said_to_be_taken_for_normal(attacked, out, capsys):
    rows = pl.read_csv(attacked).with_columns(
        verdict=pl.when(pl.int_range(pl.len()) < 100).then(pl.lit("")).otherwise("verdict")
    )
    rows.write_csv(attacked)
    assert learn(attacked, "--out", out, "--labels", "verdict") == 0
    assert "They were taken for normal operation." in capsys.readouterr().out


def test_columns_may_be_ignored_in_several_ways(normal, out):
    assert learn(normal, "--out", out, "--ignore", "flat, P101", "--ignore", "AIT201") == 0
    assert cw.load(out).signals == ("FIT101", "LIT101")


def test_limits_from_a_second_recording(normal, out, capsys, tmp_path):
    second, third = tmp_path / "second.csv", tmp_path / "third.csv"
    frame(seed=1, start="2026-01-02").write_csv(second)
    frame(seed=1, start="2026-01-03").write_csv(third)
    code = learn(
        normal, "--out", out, "--calibrate", second, "--calibrate", third,
        "--false-alarm-every", "5min", "--max-lag", "2",
    )  # fmt: skip
    assert code == 0
    shown = capsys.readouterr()
    model = cw.load(out)
    assert model.watching.limits.false_alarm_every == 300 / model.preprocessing.every
    assert model.watching.second.ticks == 2 * ROWS
    for words in (
        "above all that normal operation showed, by a margin: one false alarm in 5 min is aimed at",
        "and the recording is long enough to bear that out",
        "second recording of 20 min",
        f"moved by a factor of {model.watching.second.factor:.2f}",
        "Guarded    1 signal without links is held against the usual range: flat",
    ):
        assert words in shown.out
    assert main(["inspect", str(out)]) == 0
    assert "second recording of 20 min" in capsys.readouterr().out
    assert main(["inspect", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["watching"]
    assert said["false_alarm_every_s"] == 300
    assert said["guarded"] == ["flat"]
    assert said["second_recording"]["ticks"] == 2 * ROWS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--calibrate", "nowhere.csv"], "There is no file 'nowhere.csv'"),
        (["--false-alarm-every", "often"], "'often' is not a duration"),
        (["--false-alarm-every", "0"], "is not a duration"),
    ],
)
def test_limits_that_are_refused(normal, out, arguments, words, capsys):
    assert learn(normal, "--out", out, *arguments) == 2
    assert words in sentence(capsys.readouterr())
    assert list(out.parent.iterdir()) == []


def test_more_is_asked_than_the_recording_supports(normal, out, capsys):
    assert learn(normal, "--out", out, "--false-alarm-every", "1w") == 0
    out = capsys.readouterr().out
    assert "one false alarm in 100 min is aimed at, but the recording is too short" in out
    assert "to bear out more than 5 min: expect more of them" in out


def test_the_published_method(normal, out, capsys):
    assert learn(normal, "--out", out, "--preset", "paper", "--max-lag", "1") == 0
    model = cw.load(out)
    assert (model.preset, model.preprocessing.step) == ("paper", 1)
    assert "alpha 0.05" in capsys.readouterr().out
    code = learn(
        normal, "--out", out, "--preset", "paper", "--max-lag", "1", "--every", "2s", "--force"
    )
    assert code == 0
    assert "one row in 2 taken" in capsys.readouterr().out


def test_the_other_method(normal, out, capsys):
    assert learn(normal, "--out", out, "--method", "granger") == 0
    assert "granger" in capsys.readouterr().out


def test_several_files_are_stretches(normal, out, tmp_path):
    second = tmp_path / "tuesday.csv"
    frame(seed=2, start="2026-01-02").write_csv(second)
    assert learn(normal, second, "--out", out, "--max-lag", "2") == 0
    origin = cw.load(out).provenance
    assert [file["name"] for file in origin.files] == ["normal.csv", "tuesday.csv"]
    assert (origin.rows, origin.windows) == (2 * ROWS, 2 * (ROWS - 4))


def test_how_many_links_are_printed(normal, out, capsys):
    assert learn(normal, "--out", out, "--alpha", "0.5") == 0
    many = sum(not link.is_auto for link in cw.load(out).graph)
    everything = capsys.readouterr().out
    assert everything.count(" +0.") + everything.count(" -0.") == min(many, 15)
    assert learn(normal, "--out", out, "--alpha", "0.5", "--links", "2", "--force") == 0
    assert f"{many - 2} weaker link" in capsys.readouterr().out
    assert learn(normal, "--out", out, "--alpha", "0.5", "--links", "0", "--force") == 0
    assert "strength" not in capsys.readouterr().out


def test_notes_are_counted_or_shown(normal, out, capsys):
    assert learn(normal, "--out", out) == 0
    hidden = [one for one in cw.load(out).report if one.severity == "info"]
    assert hidden
    text = capsys.readouterr().out
    assert f"{len(hidden)} further note" in text
    assert hidden[0].text not in text
    assert learn(normal, "--out", out, "--notes", "--force") == 0
    text = capsys.readouterr().out
    assert "further note" not in text
    for one in hidden:
        assert one.text in text


def test_long_and_odd_names_are_printed_in_full(out, capsys, tmp_path):
    values = stable(1, 2, ROWS)
    values[1:, 1] += 2 * values[:-1, 0]
    odd = ["[red]Füllstand[/red] im Vorlagebehälter 1 " * 2, "a=b:c;d"]
    path = tmp_path / "odd.csv"
    pl.DataFrame({name: values[:, k] for k, name in enumerate(odd)}).write_csv(path)
    assert learn(path, "--out", out) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [link for link in cw.load(out).graph if not link.is_auto]
    head = next(k for k, line in enumerate(lines) if line.split()[:2] == ["cause", "effect"])
    width = lines[head].index("effect")
    causes = "".join(line[:width] for line in lines[head + 2 :])
    assert "".join(causes.split()).startswith("".join(odd[0].split()))
    assert odd[1] in lines[head + 2]


def test_an_existing_model_is_not_overwritten_unasked(normal, out, capsys):
    out.write_text("precious")
    assert learn(normal, "--out", out) == 2
    assert "exists already; use --force" in sentence(capsys.readouterr())
    assert out.read_text() == "precious"
    assert learn(normal, "--out", out, "--force") == 0
    assert cw.load(out).signals == tuple(NAMES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{folder}/nothing.csv"], "nothing.csv"),
        (["{folder}"], "folder"),
        (["{normal}", "--preset", "papr"], "Did you mean 'paper'? Available: default, paper."),
        (["{normal}", "--test", "lin"], "Available: linear, features, rank, knn."),
        (["{normal}", "--method", "pcmi"], "Did you mean 'pcmci'? Available: pcmci, granger."),
        (["{normal}", "--ignore", "P102"], "no column 'P102' in normal.csv. Did you mean 'P101'"),
        (["{normal}", "--labels", "attack"], "no column 'attack'"),
        (["{normal}", "--time", "clock"], "clock"),
        (["{normal}", "--every", "ten"], "'ten' is not a duration"),
        (["{normal}", "--every", "-5s"], "not a duration"),
        (["{normal}", "--every", "100ms"], "rows come only every 1 s"),
        (["{normal}", "--every", "1h"], "leaves fewer than 10 ticks"),
        (["{normal}", "--max-lag", "few"], "must be auto or a whole number"),
        (["{normal}", "--max-lag", "0"], "between 1 and 100"),
        (["{normal}", "--max-lag", "101"], "between 1 and 100"),
        (["{normal}", "--alpha", "2"], "between 0 and 1"),
        (["{normal}", "--alpha", "0"], "between 0 and 1"),
        (["{normal}", "--alpha", "tiny"], "Invalid value for '--alpha'"),
        (["{normal}", "--links", "-1"], "Invalid value for '--links'"),
        (["{normal}", "--exclude", "noon"], "'noon' is not a span"),
        (["{normal}", "--exclude", "..noon"], "is not a time"),
        (["{normal}", "--exclude", "2026-01-02..2026-01-01"], "is not after its start"),
        (["{normal}", "--exclude", "0..90"], "does not fit this table"),
        (["{normal}", "--exclude", "2026..2027"], "does not fit this table"),
        (["{normal}", "--exclude", "2025-01-01..2027-01-01"], "row"),
        (["{normal}", "--ignore", "FIT101,LIT101,P101"], "1 usable signal(s) are left"),
        (["{normal}", "--knowledge", "{folder}/no.yaml"], "no.yaml"),
        (["{normal}", "--seed", "x"], "Invalid value for '--seed'"),
        ([], "Missing argument 'NORMAL'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(arguments, words, normal, out, capsys):
    filled = [one.format(normal=normal, folder=out.parent) for one in arguments]
    assert learn(*filled, "--out", out) == 2
    assert words in sentence(capsys.readouterr())
    assert list(out.parent.iterdir()) == []


def test_no_place_to_write_to(normal, tmp_path, capsys):
    assert learn(normal) == 2
    assert "Missing option '--out'" in sentence(capsys.readouterr())
    assert learn(normal, "--out", tmp_path / "no" / "where.cwm") == 2
    assert "There is no folder" in sentence(capsys.readouterr())
    assert learn(normal, "--out", tmp_path, "--force") == 2
    assert f"{str(tmp_path)!r} is a folder" in sentence(capsys.readouterr())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "normal.csv"),
        ("a,b\n", "row"),
        ("a,b\n1,2\n", "at least 2"),
        ("a,b\n1,2\n3,4\n5,6\n", "0 usable signal(s)"),
        ("a,b\nx,y\nz,w\n", "normal.csv"),
    ],
)
def test_hopeless_files(text, words, tmp_path, out, capsys):
    path = tmp_path / "normal.csv"
    path.write_text(text)
    assert learn(path, "--out", out) == 2
    assert words in sentence(capsys.readouterr())
    assert list(out.parent.iterdir()) == []


def test_too_short_for_the_lag_says_what_to_do(tmp_path, out, capsys):
    path = tmp_path / "short.csv"
    frame(rows=30).write_csv(path)
    assert learn(path, "--out", out, "--max-lag", "20") == 2
    assert "give a longer recording" in sentence(capsys.readouterr())


def test_a_failure_while_saving_leaves_nothing(normal, out, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(out))

    monkeypatch.setattr("causewatch.model.store.write_atomically", full)
    assert learn(normal, "--out", out) == 2
    assert "No space left on device" in sentence(capsys.readouterr())
    assert list(out.parent.iterdir()) == []


SAYS_WHEN_IT_LEARNS = """
import sys
from causewatch.cli import run
from causewatch.discovery import nonlinear

plain = nonlinear.kernel.information

def information(*given):
    nonlinear.kernel.information = plain
    print("learning", file=sys.stderr, flush=True)
    return plain(*given)

nonlinear.kernel.information = information
run()
"""


def test_an_interrupt_leaves_nothing(tmp_path):
    """Ctrl-C while something is being learnt from that takes minutes."""
    source, folder = tmp_path / "large.csv", tmp_path / "models"
    folder.mkdir()
    rng = np.random.default_rng(1)
    values = rng.normal(size=(5_000, 30)).cumsum(axis=0).round(3)
    pl.DataFrame(values, schema=[f"x{k}" for k in range(30)]).write_csv(source)
    run = subprocess.Popen(
        [sys.executable, "-c", SAYS_WHEN_IT_LEARNS, "learn", str(source), "--out",
         str(folder / "x.cwm"), "--test", "knn", "--max-lag", "8"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert run.stderr.readline() == "learning\n"
    run.send_signal(signal.SIGINT)
    shown, complaint = run.communicate(timeout=PATIENCE)
    assert run.returncode == 130
    assert shown == ""
    assert complaint == "causewatch: interrupted.\n"
    assert os.listdir(folder) == []
    assert sorted(os.listdir(tmp_path)) == ["large.csv", "models"]


def test_links_can_be_given(normal, out, tmp_path, capsys):
    edges = tmp_path / "edges.csv"
    edges.write_text("source,target,lag\nP101,FIT101,2\n", encoding="utf-8")
    assert learn(normal, "--out", out, "--graph", edges) == 0
    assert "Links      1 (0 of them from a signal to itself); as given" in capsys.readouterr().out
    assert [str(link) for link in cw.load(out).graph] == ["P101 →(2) FIT101"]
    assert learn(normal, "--out", out, "--force", "--graph", edges, "--method", "granger") == 2
    assert sentence(capsys.readouterr()).endswith("looks for no links; leave out --method.")


def test_how_sure_links_are_is_shown(normal, out, capsys):
    assert learn(normal, "--out", out, "--max-lag", "2", "--confidence", "20") == 0
    assert "seen in" in capsys.readouterr().out
    assert main(["inspect", str(out), "--json"]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert all(0 <= link["confidence"]["share"] <= 1 for link in links)
    assert main(["inspect", str(out), "--signal", links[0]["target"]]) == 0
    assert "% of the replicas" in capsys.readouterr().out
