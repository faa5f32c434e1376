"""The league: cells agree with the command line, runs can be resumed, protocols keep rows apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from benchmarks.league import recordings
from benchmarks.league.__main__ import arguments, head_of, main
from benchmarks.league.case import counted_from, data_hash, other_ticks, slice_of, without_events
from benchmarks.league.cells import (
    FIGURES,
    LeagueError,
    Task,
    code_hash,
    computed,
    figures_of,
    halves,
    measure,
)
from benchmarks.league.recordings import COLUMNS, PARTS, Column, cases_of
from benchmarks.league.variants import ABLATED, DETECTORS, Variant

import causewatch as cw
from causewatch.cli import main as causewatch
from causewatch.data import read_table
from causewatch.data.datasets.base import Event, Recording
from causewatch.errors import NotEnoughDataError
from causewatch.evaluation.baselines.split import make_split
from causewatch.evaluation.comparison import Case
from causewatch.evaluation.verdicts import AlarmSpan, Verdicts
from causewatch.simulate import random_system

SECOND = 1_000_000_000
ROWS, START, END = 900, 400, 460
COSTS = ("learn_s", "tick_us", "wall_s")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A normal recording and one with an event, as files."""
    folder = tmp_path_factory.mktemp("league")
    system = random_system(4, seed=21)  # a seed for development
    system_rows = {"normal": system.simulate(2000, seed=22), "test": system.simulate(ROWS, seed=33)}
    for name, run in system_rows.items():
        values = np.array(run.values)
        if name == "test":
            values[START:END, 1] += 9.0 * values[:, 1].std()
        frame = pl.DataFrame(dict(zip(run.signals, values.T, strict=True)))
        frame = frame.with_columns(t=pl.int_range(pl.len()))
        if name == "test":
            label = frame["t"].is_between(START, END - 1).cast(pl.Int8)
            frame = frame.with_columns(label=label)
        frame.write_csv(folder / f"{name}.csv")
    causes = [{"name": "offset", "start": START, "end": END, "signals": [run.signals[1]]}]
    (folder / "causes.json").write_text(json.dumps(causes))
    return folder


@pytest.fixture(scope="module")
def cases(files):
    normal = read_table(files / "normal.csv", time="t")
    test = read_table(files / "test.csv", time="t", labels="label")
    (cause,) = json.loads((files / "causes.json").read_text())
    event = Event("offset", START * SECOND, END * SECOND, tuple(cause["signals"]))
    return [Case(make_split([normal]), [Recording("test", test, (event,))])]


def column_of(cases):
    return Column("small", "four signals", lambda folder, part: cases, real=False)


def without_costs(cell):
    return {key: value for key, value in cell.items() if key not in COSTS}


@pytest.mark.parametrize("name", ["default", "plain", "p2", "var", "random"])
def test_a_cell_agrees_with_compare_to_the_digit(files, cases, capsys, name):
    cell = measure(Task("small", "report", Variant(name)), cases)
    paths = [str(files / "normal.csv"), str(files / "test.csv")]
    options = ["--time", "t", "--labels", "label", "--causes", str(files / "causes.json")]
    assert causewatch(["compare", *paths, *options, "--detectors", name, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["detectors"]
    for figure in (*FIGURES, "false_alarms", "false_alarms_per_day", "false_alarm_time_share"):
        assert cell["figures"][figure] == row[figure], figure


def test_a_cell_agrees_with_evaluate_on_the_model_it_saved(files, cases, capsys, tmp_path):
    cell = measure(Task("small", "report", Variant("default")), cases)
    detector = Variant("default").make()
    detector.fit(cases[0].split)
    detector.model.save(tmp_path / "model.cwm")
    assert cw.load(tmp_path / "model.cwm").signals == detector.model.signals
    options = ["--time", "t", "--labels", "label", "--causes", str(files / "causes.json")]
    arguments = ["evaluate", str(tmp_path / "model.cwm"), str(files / "test.csv"), *options]
    assert causewatch([*arguments, "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    for figure in (*FIGURES, "false_alarms_per_day", "false_alarm_time_share"):
        assert cell["figures"][figure] == card[figure], figure


def test_two_runs_give_the_same_but_for_times_and_a_cell_is_measured_once(
    cases, tmp_path, monkeypatch
):
    monkeypatch.setitem(COLUMNS, "small", column_of(cases))
    task, code = Task("small", "report", Variant("p2")), code_hash()
    first = computed(task, tmp_path, None, code)
    (path,) = tmp_path.iterdir()
    written = path.stat().st_mtime_ns
    assert computed(task, tmp_path, None, code) == first
    assert path.stat().st_mtime_ns == written
    path.unlink()
    again = computed(task, tmp_path, None, code)
    assert without_costs(again) == without_costs(first)


def test_a_cell_is_that_of_its_code_data_and_task(tmp_path):
    task = Task("small", "report", Variant("p2"))
    paths = {
        task.path(tmp_path, "code", "data"),
        task.path(tmp_path, "other code", "data"),
        task.path(tmp_path, "code", "other data"),
        replace(task, interval=2.0).path(tmp_path, "code", "data"),
        replace(task, every=2.0).path(tmp_path, "code", "data"),
        replace(task, factor=2.0).path(tmp_path, "code", "data"),
        replace(task, part="develop").path(tmp_path, "code", "data"),
        replace(task, variant=Variant("p2", "bucket")).path(tmp_path, "code", "data"),
    }
    assert len(paths) == 8


def test_no_cell_is_written_once_the_code_on_disk_is_other_code(cases, tmp_path, monkeypatch):
    monkeypatch.setitem(COLUMNS, "small", column_of(cases))
    with pytest.raises(LeagueError, match="The source code changed"):
        computed(Task("small", "report", Variant("plain")), tmp_path, None, "code of before")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: "{",
        lambda text: "{}",
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"cases": 1', '"cases": 2'),
        lambda text: text.replace('"tick_s"', '"tock_s"'),
    ],
)
def test_a_damaged_cell_is_measured_anew(cases, tmp_path, monkeypatch, capsys, damage):
    monkeypatch.setitem(COLUMNS, "small", column_of(cases))
    task, code = Task("small", "report", Variant("plain")), code_hash()
    first = computed(task, tmp_path, None, code)
    (path,) = tmp_path.iterdir()
    path.write_text(damage(path.read_text()))
    assert without_costs(computed(task, tmp_path, None, code)) == without_costs(first)
    assert "is damaged; the cell is measured anew" in capsys.readouterr().err


def test_the_hash_of_the_data_sees_every_number(cases):
    (case,) = cases
    table = case.recordings[0].table
    values = table.values.copy()
    values[5, 2] = np.nextafter(values[5, 2], np.inf)
    changed = replace(case.recordings[0], table=replace(table, values=values))
    assert data_hash(cases) != data_hash([replace(case, recordings=[changed])])
    (event,) = case.recordings[0].events
    moved = replace(case.recordings[0], events=(replace(event, start=event.start + 1),))
    assert data_hash(cases) != data_hash([replace(case, recordings=[moved])])
    longer = replace(case.split, every=2.0 * case.split.every)
    assert data_hash(cases) != data_hash([replace(case, split=longer)])
    assert data_hash(cases) == data_hash(list(cases))


def test_the_program_prints_and_resumes(cases, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(COLUMNS, "small", column_of(cases))
    options = ["--only", "small", "--detectors", "plain,var", "--report", "--cells", str(tmp_path)]
    main([*options, "--jobs", "1"])
    shown = capsys.readouterr()
    assert "### Strict F1 at the shipped limit (report)" in shown.out
    assert "`plain`" in shown.out
    assert "[2/2" in shown.err
    assert "No page was written" in shown.err
    for kind, words in (
        ("--ablate", "| without guards |"),
        ("--intervals", "In every column a tick is a row"),
        ("--limits", "| small | `plain` |"),
    ):
        main([*options[:2], "--detectors", "plain", *options[4:], kind])
        assert words in capsys.readouterr().out


def test_ticks_shorter_than_a_row_are_left_out_and_it_is_said(cases, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(COLUMNS, "small", column_of(cases))
    options = ["--only", "small", "--detectors", "plain", "--cells", str(tmp_path), "--every"]
    main([*options, "500ms", "--jobs", "1"])
    text = capsys.readouterr().out
    assert "Left out, as such a tick is shorter than a row: small." in text
    assert "##" not in text


def test_the_head_says_what_is_simulated(tmp_path):
    given = arguments(["--only", "quick plant,gecco", "--cells", str(tmp_path)])
    cell = {"figures": {}}
    tasks = [Task(name, "report", Variant("plain")) for name in ("gecco", "quick plant")]
    both = head_of("league", dict.fromkeys(tasks, cell), PARTS, given, "")
    assert "quick plant (report (101, 140))" in both
    assert "The other columns are files" in both
    real = head_of("league", {tasks[0]: cell}, PARTS, given, "")
    assert "simulation**" not in real
    assert "These columns are files" in real


def test_intervals_are_moved_where_a_tick_is_more_than_a_row(cases, tmp_path, monkeypatch, capsys):
    (case,) = cases
    longer = [replace(case, split=replace(case.split, every=2.0))]
    monkeypatch.setitem(COLUMNS, "small", column_of(longer))
    options = ["--only", "small", "--detectors", "plain", "--report", "--cells", str(tmp_path)]
    main([*options, "--jobs", "1", "--intervals"])
    (line,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith("| small"))
    assert line.startswith("| small | `plain` | 2 s |")
    assert len(line.split(" | ")) == 6
    assert "–" not in line


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--only", "gecko"], "There is no column 'gecko'"),
        (["--only", ""], "No column is named"),
        (["--detectors", "plane"], "There is no detector 'plane'"),
        (["--ablate", "--detectors", "var"], "--ablate is for default, plain, p2 only"),
        (["--quick", "--develop"], "--quick has a report part only"),
        (["--quick", "--only", "gecco"], "--quick and --only exclude each other"),
        (["--jobs", "0"], "--jobs is 0; it must be at least 1"),
        (["--every", "soon"], "'soon' is not a duration"),
        (["--every", "1s", "--intervals"], "exclude each other"),
    ],
)
def test_wrong_options_are_said_before_any_work(capsys, options, sentence):
    with pytest.raises(SystemExit) as stop:
        main(options)
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err


def test_nothing_to_judge_and_no_place_for_cells_are_said(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--only", "3w well 1", "--develop"])
    assert stop.value.code == 2
    assert re.search("There is nothing to judge|are absent", capsys.readouterr().err)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(SystemExit) as stop:
        main(["--quick", "--cells", str(file)])
    assert stop.value.code == 2
    assert "Cells cannot be kept in" in capsys.readouterr().err


def test_columns_whose_recordings_are_absent_are_left_out(monkeypatch, tmp_path, capsys):
    for name in list(COLUMNS):
        if name not in ("gecco", "lbnl"):
            monkeypatch.delitem(COLUMNS, name)
    (tmp_path / "lbnl").mkdir()
    seen = []

    def run(tasks, *given):
        seen.extend(task.column for task in tasks)
        msg = "Enough."
        raise LeagueError(msg)

    monkeypatch.setattr("benchmarks.league.__main__.run", run)
    monkeypatch.setattr("benchmarks.league.__main__.data_folder", lambda: tmp_path)
    with pytest.raises(SystemExit):
        main(["--cells", str(tmp_path / "cells")])
    assert set(seen) == {"lbnl"}
    assert "The recordings of gecco are absent" in capsys.readouterr().err


def test_what_a_detector_refuses_it_watches_in_silence(cases, monkeypatch):
    class Refusing:
        def fit(self, split, progress=None):
            msg = "There is too little."
            raise NotEnoughDataError(msg)

    monkeypatch.setattr("benchmarks.league.variants.make", lambda name: Refusing())
    cell = measure(Task("small", "report", Variant("var")), cases)
    assert cell["refused"] == ["There is too little."]
    assert cell["figures"]["f1"] == 0.0
    assert cell["figures"]["events_detected"] == 0


def test_without_a_fault_only_false_alarms_are_counted(cases):
    quiet = without_events(cases[0].recordings[0])
    cell = measure(
        Task("small", "report", Variant("plain")), [replace(cases[0], recordings=[quiet])]
    )
    figures = cell["figures"]
    assert figures["f1"] is figures["events"] is None
    assert figures["false_alarms"] == 1  # the event, which is none now
    assert figures["normal_days"] == pytest.approx(ROWS / 86_400)


def test_halves_share_the_rows_and_events_out(cases):
    recording = cases[0].recordings[0]
    silent = Verdicts(np.zeros(ROWS), np.zeros(ROWS, dtype=bool), ())
    first, second = halves([recording], [silent])
    counted = [np.isfinite(half[0][0].table.labels) for half in (first, second)]
    assert (counted[0] ^ counted[1]).all()
    # The event lies across the middle (row 450): each half has its own piece.
    assert [half[0][0].events[0].start // SECOND for half in (first, second)] == [400, 450]
    assert [half[0][0].events[0].end // SECOND for half in (first, second)] == [450, 460]
    loud = np.zeros(ROWS, dtype=bool)
    loud[430:480] = True
    on = AlarmSpan(430 * SECOND, 480 * SECOND)
    across = Verdicts(np.where(loud, 2.0, 0.0), loud, (on,))
    for figures in (figures_of(*half) for half in halves([recording], [across])):
        assert (figures["events"], figures["events_detected"]) == (1, 1)
        assert figures["false_alarms"] == 0
    unlabelled = counted_from(recording, ROWS)
    for figures in (figures_of(*half) for half in halves([unlabelled], [silent])):
        assert figures["f1"] is figures["false_alarms_per_day"] is None
    by_recording = halves([recording] * 3, [silent] * 3)
    assert [len(half[0]) for half in by_recording] == [2, 1]


def test_cutting_keeps_truth_in_place(cases):
    recording = cases[0].recordings[0]
    later = slice_of(recording, START + 10, ROWS)
    assert later.events[0].start == (START + 10) * SECOND
    assert later.events[0].end == END * SECOND
    assert slice_of(recording, END, ROWS).events == ()
    uncounted = counted_from(recording, 100).table.labels
    assert np.isnan(uncounted[:100]).all()
    assert (uncounted[100:] == recording.table.labels[100:]).all()


def test_other_ticks_change_the_lag_too(cases):
    split = cases[0].split
    twice = other_ticks(split, 2.0)
    assert twice.every == 2.0 * split.every
    assert twice.learn is split.learn
    assert twice.max_lag <= split.max_lag


@pytest.mark.parametrize("detector", ["default", "plain", "p2"])
def test_every_part_can_be_left_out_and_comes_back(cases, detector):
    whole = measure(Task("small", "report", Variant(detector)), cases)
    for gone in ABLATED[detector]:
        cell = measure(Task("small", "report", Variant(detector, gone)), cases)
        assert cell["figures"]["events"] == 1
    again = measure(Task("small", "report", Variant(detector)), cases)
    assert without_costs(again) == without_costs(whole)


def test_parts_of_the_default_are_really_gone(cases):
    def model(gone):
        detector = Variant("default", gone).make()
        detector.fit(cases[0].split)
        return detector.model

    def settings(gone):
        return model(gone).watching.limits.settings

    assert 1 not in settings("memory 1").means
    assert 8 not in settings("memory 8").means
    assert settings("squares").squares == ()
    assert not settings("guards").guards
    assert not settings("lifts").lifts
    assert np.isfinite(model("lifts").watching.limits.statistics[-1]).any()
    assert np.isinf(model("standstill").watching.limits.statistics[-1]).all()
    assert not all(link.is_auto for link in model("lifts").graph)
    assert all(link.is_auto for link in model("other signals").graph)


REAL = [name for name, column in COLUMNS.items() if column.real]
LONG = ("3w well 1", "causrca")
"""They take too long to load for a test."""


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in REAL if name not in LONG])
def test_no_row_that_was_learnt_from_is_counted(data_folder, name):
    column = COLUMNS[name]
    for part in column.parts:
        for case in cases_of(column, data_folder, part):
            learnt = {
                row.tobytes()
                for table in (*case.split.learn, *case.split.limits)
                for row in _marked(table)
            }
            for recording in case.recordings:
                counted = np.isfinite(recording.table.labels)
                again = [row.tobytes() in learnt for row in _marked(recording.table)[counted]]
                assert not any(again), recording.name


def _marked(table):
    """Rows with their times."""
    return np.column_stack([table.time.astype(np.float64), table.values])


def test_parts_are_known():
    assert all(set(column.parts) <= set(PARTS) for column in COLUMNS.values())
    assert recordings.PARTS == PARTS
    assert "default" in DETECTORS
