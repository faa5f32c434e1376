"""causRCA: changes to tables, manipulated tags as causes, the experts' graph."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from causewatch.data.datasets import causrca, causrca_graph
from causewatch.errors import TableError, UnknownNameError
from causewatch.graph import Link

NODES = """id,path,label,type,io,datatype,examples,comment
1,Lathe/Coolant/Tank,Level_Ok,Variable,input,bool,"True, False","level is
 ok"
2,Lathe/Coolant/Tank,Level_Alarm,Alarm,,bool,,
3,Lathe/Spindle,Speed,Variable,input,float,,
4,Lathe/Program,Prog_Name,Variable,input,str,,
5,Lathe/Spindle,Never_Seen,Variable,input,bool,,
"""
EDGES = """source_id,target_id,source_label,target_label,edge_name,comment
1,2,Level_Ok,Level_Alarm,Level_Monitoring,"When Level_Ok=False
 then alarm"
1,2,Level_Ok,Level_Alarm,Level_Monitoring_again,
3,1,Speed,Level_Ok,Use,
"""
TIMES = {
    "cause_start_at": 10.5,
    "alarms_detected_at": 12.0,
    "diagnosis_at": 15.0,
    "cause_end_at": 20.0,
    "alarms_resolved_at": 23.0,
}
SCENARIO = {
    "exp_id": "exp_22",
    "group": "coolant",
    "scenario": {"instead_failure": "The level drops."},
    "manipulatedVars": ["Level_Ok"],
    "alarms": ["Level_Alarm"],
    "diagnoses": [{"id": "diag_9", "name": "Leakage"}],
}
NORMAL = [
    (0.0, "Level_Ok", "True", "Binary"),
    (0.0, "Speed", "100.5", "Continuous"),
    (0.0, "Door", "False", "Binary"),
    (0.0, "Prog_Name", "MAIN", "Categorical"),
    (2.2, "Speed", "200.5", "Continuous"),
    (3.0, "Door", "True", "Binary"),
    (3.4, "Door", "False", "Binary"),
    (20.0, "Prog_Name", "SUB", "Categorical"),
    (29.5, "Speed", "100.5", "Continuous"),
]
FAULT = [
    (0.0, "Level_Alarm", "False", "Alarm"),
    (0.0, "Level_Ok", "True", "Binary"),
    (0.0, "Speed", "100.5", "Continuous"),
    (10.5, "Level_Ok", "False", "Binary"),
    (12.0, "Level_Alarm", "True", "Alarm"),
    (20.0, "Level_Ok", "True", "Binary"),
    (23.0, "Level_Alarm", "False", "Alarm"),
    (30.0, "Speed", "0", "Continuous"),
]


def write_events(path, events):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["time_s,node,value,type", *(",".join(map(str, event)) for event in events)]
    path.write_text("\n".join(lines) + "\n")


def write_json(path, content):
    path.write_text(json.dumps(content))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causrca") / "data"
    write_events(folder / "real_op" / "dataset_real_op_100.csv", NORMAL)
    silent = [event for event in NORMAL if event[1] != "Door"]
    write_events(folder / "real_op" / "dataset_real_op_20.csv", silent)
    scenario = folder / "dig_twin" / "exp_coolant" / "exp_22"
    for run in (1, 2):
        name = f"faultDataset_coolant_exp22_run_{run}.csv"
        write_events(scenario / f"run_{run}" / name, FAULT)
        write_json(scenario / f"run_{run}" / "causes.json", TIMES)
    write_json(scenario / "exp_22_description.json", SCENARIO)
    write_json(folder / "categorical_encoding.json", {"Prog_Name": {"MAIN": 1000.0, "SUB": 2.5}})
    (folder / "expert_graph").mkdir()
    (folder / "expert_graph" / "all_nodes.csv").write_text(NODES)
    (folder / "expert_graph" / "all_edges.csv").write_text(EDGES)
    return folder


@pytest.fixture(scope="module")
def dataset(pristine):
    return causrca.load([pristine])


@pytest.fixture
def folder(pristine, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(pristine, tmp_path, dirs_exist_ok=True)
    return tmp_path


def column(recording, tag):
    return recording.table.values[:, recording.table.signals.index(tag)]


def test_values_hold_until_their_next_change(dataset):
    later = dataset.normal[1]
    assert later.name == "dataset_real_op_100"
    assert later.table.clock == "elapsed"
    assert later.table.interval == 1
    assert len(later.table) == 31
    assert column(later, "Speed")[:5].tolist() == [100.5, 100.5, 100.5, 200.5, 200.5]
    assert column(later, "Door")[2:5].tolist() == [0, 1, 0]
    assert later.table.files[0].name == "dataset_real_op_100.csv"
    assert later.table.files[0].rows == len(NORMAL)


def test_words_become_the_published_numbers(dataset):
    assert column(dataset.normal[1], "Prog_Name")[[0, 19, 20]].tolist() == [1000.0, 1000.0, 2.5]


def test_the_cause_is_the_manipulated_tag(dataset):
    assert [one.name for one in dataset.test] == ["coolant-exp_22-run_1", "coolant-exp_22-run_2"]
    run = dataset.test[0]
    (event,) = run.events
    assert event.name == "coolant exp_22"
    assert (event.start, event.end) == (10_500_000_000, 20_000_000_000)
    assert event.signals == ("Level_Ok",)
    assert event.description == "The level drops. Leakage."
    assert run.category == "coolant"
    (cause,) = run.causes
    assert (cause["start"], cause["end"]) == (11, 20)
    labels = run.table.labels
    assert not labels[:11].any()
    assert labels[11:20].all()
    assert np.isnan(labels[20:23]).all()  # the cause is gone, its alarm is still on
    assert not labels[23:].any()


def test_silent_tags_hold_their_usual_value(dataset, pristine):
    silent = dataset.normal[0]
    assert silent.name == "dataset_real_op_20"
    assert not column(silent, "Door").any()
    assert column(dataset.test[0], "Prog_Name").tolist() == [1000.0] * 31
    assert {note.kind: note.count for note in dataset.notes}["filled"] == 1 + 2 * 2
    kept = causrca.load([pristine], fill=False)
    assert np.isnan(column(kept.normal[0], "Door")).all()
    assert np.isnan(column(kept.test[0], "Prog_Name")).all()
    assert "filled" not in {note.kind for note in kept.notes}


def test_tags_unknown_in_normal_work_are_only_where_they_occur(dataset):
    tags = dataset.normal[0].table.signals
    assert "Level_Alarm" not in tags
    for one in dataset.normal:
        assert one.table.signals == tags
    for one in dataset.test:
        assert one.table.signals == (*tags, "Level_Alarm")
    assert column(dataset.test[0], "Level_Alarm")[[11, 12, 22, 23]].tolist() == [0, 1, 1, 0]


def test_manipulated_tags_that_cannot_be_learned_are_said(folder):
    about = folder / "dig_twin" / "exp_coolant" / "exp_22" / "exp_22_description.json"
    write_json(about, {**SCENARIO, "manipulatedVars": ["Level_Alarm"]})
    notes = {note.kind: note for note in causrca.load([folder]).notes}
    assert notes["unlearned"].count == 2
    assert "Level_Alarm" in notes["unlearned"].text


def test_faults_that_show_late_and_tags_that_never_change_are_said(dataset, folder):
    notes = {note.kind: note for note in dataset.notes}
    assert "Level_Ok" in notes["constant"].text
    assert "late_effect" not in notes  # the tag changes when the fault begins
    write_json(first_run(folder) / "causes.json", {**TIMES, "cause_start_at": 3.0})
    late = {note.kind: note for note in causrca.load([folder]).notes}["late_effect"]
    assert late.count == 1
    assert "median 8 s" in late.text  # 10.5 s is first seen at 11 s


def test_the_grid_can_be_chosen(pristine):
    assert causrca.load([pristine], grid=0.5).normal[0].table.interval == 0.5
    assert causrca.load([pristine], grid=None).normal[0].table.interval > 0


def test_stages_and_version(dataset):
    assert dataset.stages == {
        "Coolant": ("Level_Ok", "Level_Alarm"),
        "Spindle": ("Speed",),
        "Program": ("Prog_Name",),
    }
    assert "2 normal recordings and 2 runs with faults" in dataset.version
    assert "not version 1.0.0 as a whole" in dataset.version


def test_without_the_encoding_text_is_left_out(folder):
    (folder / "categorical_encoding.json").unlink()
    dataset = causrca.load([folder / "real_op", folder / "dig_twin"])
    assert "Prog_Name" not in dataset.normal[0].table.signals
    assert "no_encoding" in {note.kind for note in dataset.notes}
    assert dataset.stages == {}


def first_run(folder):
    return folder / "dig_twin" / "exp_coolant" / "exp_22" / "run_1"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: shutil.rmtree(f / "real_op"), r"found in real_op \(normal work\)"),
        (lambda f: shutil.rmtree(f / "dig_twin"), r"found in dig_twin \(faults\)"),
        (lambda f: (first_run(f) / "causes.json").unlink(), r"causes\.json of faultDataset"),
        (lambda f: (first_run(f) / "causes.json").write_text("{"), r"causes\.json of fault"),
        (lambda f: write_json(first_run(f) / "causes.json", {}), "truth of faultDataset"),
        (lambda f: write_json(first_run(f) / "causes.json", [1]), "truth of faultDataset"),
        (
            lambda f: write_events(next(first_run(f).glob("*.csv")), FAULT[:5]),
            "ends after 12 s, before its fault does",
        ),
        (
            lambda f: next(first_run(f).glob("*.csv")).write_text("a,b\n1,2\n3,4\n"),
            "not a file of causRCA: it lacks the columns time_s",
        ),
        (
            lambda f: write_events(next(first_run(f).glob("*.csv")), [*FAULT, ("x", "y", 1, "")]),
            "line 10: 'x' is not a time",
        ),
        (lambda f: write_json(f / "categorical_encoding.json", [1]), "not as published"),
    ],
)
def test_wrong_files_get_one_clear_sentence(folder, spoil, words):
    spoil(folder)
    with pytest.raises(TableError, match=words):
        causrca.load([folder])


def test_expert_graph(pristine, folder):
    graph = causrca_graph.expert_graph(pristine)
    assert graph.signals == ("Level_Ok", "Level_Alarm", "Speed", "Prog_Name", "Never_Seen")
    assert set(graph) == {Link("Level_Ok", "Level_Alarm", 0), Link("Speed", "Level_Ok", 0)}
    with pytest.raises(TableError, match=r"coolant_edges\.csv and coolant_nodes\.csv were not"):
        causrca_graph.expert_graph(pristine, "coolant")
    with pytest.raises(UnknownNameError, match="gearbox"):
        causrca_graph.expert_graph(pristine, "gearbox")
    (folder / "expert_graph" / "all_edges.csv").write_text(EDGES + "9,9,A,B,x,\n")
    with pytest.raises(TableError, match="does not list: A, B"):
        causrca_graph.expert_graph(folder)
    (folder / "expert_graph" / "all_edges.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="lacks the columns source_label"):
        causrca_graph.expert_graph(folder)


@pytest.mark.data
def test_published_files(data_folder, tmp_path):
    """Some of the files, as all of them take long."""
    folder = data_folder / "causrca"
    (tmp_path / "real_op").mkdir()
    for path in sorted((folder / "real_op").glob("*.csv"))[:8]:
        shutil.copy(path, tmp_path / "real_op")
    shutil.copy(folder / "categorical_encoding.json", tmp_path)
    shutil.copytree(folder / "expert_graph", tmp_path / "expert_graph", copy_function=shutil.copy)
    for group, scenario in (("coolant", "exp_22"), ("hydraulics", "exp_8"), ("probe", "exp_1")):
        place = f"exp_{group}/{scenario}"
        shutil.copytree(
            folder / "dig_twin" / place,
            tmp_path / "dig_twin" / place,
            copy_function=shutil.copy,
        )
    dataset = causrca.load([tmp_path])
    assert {one.category for one in dataset.test} == {"coolant", "hydraulics", "probe"}
    assert len(dataset.stages) == 11
    for one in dataset.normal:
        assert np.isfinite(one.table.values).all()
    for one in dataset.test:
        (event,) = one.events
        rows = (one.table.time >= event.start) & (one.table.time < event.end)
        assert all(len(np.unique(column(one, tag))) > 1 for tag in event.signals)
        assert 0 < rows.sum() < len(rows)
    notes = {note.kind: note.text for note in dataset.notes}
    assert "Hyd_Pressure" in notes["unlearned"]
    assert "text_cells" not in notes
    assert "HP_Pump_Ok" in notes["constant"]
    assert "MPA_WorkPos" not in notes["constant"]
    assert {note.kind: note.count for note in dataset.notes}["late_effect"] == len(dataset.test)


@pytest.mark.data
@pytest.mark.parametrize(
    ("part", "tags", "links"),
    [("all", 92, 102), ("coolant", 15, 10), ("hydraulics", 17, 18), ("probe", 11, 15)],
)
def test_published_graph(data_folder, part, tags, links):
    graph = causrca_graph.expert_graph(data_folder / "causrca", part)
    assert (len(graph.signals), len(graph)) == (tags, links)
