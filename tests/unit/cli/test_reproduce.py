"""``causewatch reproduce``: the user's own files, simulated ones, and what is refused."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import pytest
import typer
import typer.main

from causewatch.cli import reproduce as command
from causewatch.data.datasets import pepper, swat
from causewatch.errors import SettingError, TableError, UnknownNameError
from causewatch.evaluation.reproduction import others
from causewatch.simulate import PLANT_ATTACKS, WaterPlant

ATTACK_8 = datetime(2015, 12, 28, 13, 10, 10)
HEADER = [" Timestamp", *swat.TAGS, "Normal/Attack"]


def run(*arguments):
    """The command by itself, as the program calls it."""
    app = typer.Typer()
    app.callback()(lambda: None)
    command.register(app)
    group = typer.main.get_command(app)
    with group.make_context("causewatch", ["reproduce", *map(str, arguments)]) as context:
        group.invoke(context)


def write_swat(path, values, start, attacked=range(0)):
    """A recording as SWaT's publisher writes it."""
    lines = [";".join(HEADER)]
    for row, numbers in enumerate(values.tolist()):
        time = (start + timedelta(seconds=row)).strftime(" %d/%m/%Y %I:%M:%S %p")
        cells = [f"{number:.4f}".replace(".", ",") for number in numbers]
        lines.append(";".join([time, *cells, "Attack" if row in attacked else "Normal"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def swat_files(tmp_path_factory):
    """Two hours of the simulated plant, and half an hour with attack 8, as if they were SWaT's."""
    folder = tmp_path_factory.mktemp("swat")
    normal = WaterPlant(31).simulate(7200).values
    attack = PLANT_ATTACKS["8"].at(610)  # 16 minutes; the real one lasts 16 minutes and 4 seconds
    run = WaterPlant(32).simulate(1900, [attack])
    [episode] = run.episodes
    start = ATTACK_8 - timedelta(seconds=episode.start)
    rows = range(episode.start, episode.end)
    return (
        write_swat(folder / "SWaT_Dataset_Normal_v1.csv", normal, datetime(2015, 12, 23)),
        write_swat(folder / "SWaT_Dataset_Attack_v0.csv", run.values, start, rows),
    )


def test_own_files_of_swat(swat_files, tmp_path, capsys):
    normal, attack = swat_files
    report = tmp_path / "swat.md"
    run(
        *("swat", "--normal", normal, "--attack", attack, "--methods", "switch,always_on"),
        *("--step", 60, "--max-lag", 1, "--report", report, "--json"),
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["dataset"], told["simulated"]) == ("swat", False)
    assert (told["step_rows"], told["max_lag"]) == (60, 1)
    assert list(told["methods"]) == ["paper", "switch", "always_on"]
    switch = told["methods"]["switch"]
    assert [switch["paper_counting"][name] for name in ("precision", "recall", "f1")] == [1, 1, 1]
    assert switch["strict"]["precision"] == pytest.approx(17 / 32)
    assert told["methods"]["always_on"]["paper_counting"]["precision"] < 0.5
    [attacked] = told["attacks"]
    assert (attacked["id"], attacked["steps"], attacked["signals"]) == ("8", 16, ["DPIT301"])
    assert len(attacked["top"]) == told["signals"] // 10 + 1
    assert "30." in next(note for note in told["notes"] if "do not hold" in note)
    written = report.read_text(encoding="utf-8")
    assert "SIMULATED" not in written
    assert "(simulated)" not in written
    assert "| 8 | DPIT301 |" in written
    with pytest.raises(SettingError, match="exists already"):
        run("swat", "--report", report)


def test_own_files_of_pepper(tmp_path, capsys):
    # Half of the columns are enough to be taken for Pepper; those that stand still are left out.
    moving = (
        "HeadYaw",
        "WheelFLSpeed",
        "WheelFLStiff",
        "LedEarR1",
        "TabletTouchX",
        "KneePicthTemp",
    )
    columns = [
        *pepper.COLUMNS[:140],
        *(name for name in moving if name not in pepper.COLUMNS[:140]),
    ]
    rng = np.random.default_rng(1)

    def write(name, rows, shift=0.0):
        values = np.zeros((rows, len(columns)))
        walk = np.cumsum(rng.normal(size=(rows, len(moving))), axis=0)
        for k, signal in enumerate(moving):
            values[:, columns.index(signal)] = np.sin(walk[:, k] / 5) + rng.normal(size=rows) / 9
        values[:, columns.index("WheelFLSpeed")] += shift * values[:, columns.index("HeadYaw")]
        header = ["timestamp", *(column.removesuffix(".1") for column in columns)]
        lines = [",".join(header)]
        for row in range(rows):
            lines.append(",".join([str(100 * row), *(f"{cell:g}" for cell in values[row])]))
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / name

    normal = write("normal.csv", 600)
    files = [write("WheelsControl.csv", 90, 9.0), write("LedsControl.csv", 91)]
    run(
        *("pepper", "--normal", normal, "--attack", *files, "--methods", "switch"),
        *("--step", 2, "--max-lag", 1),
    )
    text = capsys.readouterr().out
    assert "Precision / recall / F1: Pepper\n" in text
    assert "66 % / 92 % / 77 %" in text
    switch = next(line for line in text.splitlines() if line.startswith("switch"))
    assert "1.000 / 1.000 / 1.000" in switch
    assert "attacked from the first row to the last" in text
    # 45 and 46 ticks; without the last one, the lag, and again the last step.
    assert "of 42 " in text
    assert "of 43 " in text
    assert "The paper: LEDs: touches of the tablet come first." in text


def test_simulated_is_said_everywhere(monkeypatch, capsys):
    from causewatch.evaluation.reproduction import case

    monkeypatch.setitem(case.QUICK, "swat", case.Lengths(6_000, 5_400, 60, 1))
    monkeypatch.setattr(case, "PAPER_ATTACKS", ("8", "25"))
    run("swat", "--quick", "--seed", 31, "--methods", "paper")
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = shown.out.splitlines()
    titles = [line for line in lines if "the simulated water plant, seed 31" in line]
    assert len(titles) == 2
    assert all("SIMULATED, not the paper's data" in line for line in titles)
    assert "paper's counting (simulated)" in shown.out
    assert "Every figure here is one of a simulation." in shown.out


def test_what_is_not_installed_is_said_first(monkeypatch, capsys):
    monkeypatch.setattr(others, "find_spec", lambda name: None)
    with pytest.raises(UnknownNameError):
        run("wadi")
    said = capsys.readouterr().err
    assert said.startswith("causewatch: rnn, tcn, tce cannot run, since torch is not installed;")
    with pytest.raises(SettingError, match="rnn cannot run"):
        run("swat", "--methods", "rnn")


def test_what_is_refused(swat_files, tmp_path):
    normal, attack = swat_files
    alone = "--normal was given without --attack; give both, or neither to simulate"
    with pytest.raises(SettingError, match=alone):
        run("swat", "--normal", normal, "--methods", "switch")
    with pytest.raises(SettingError, match="--attack was given without --normal"):
        run("swat", "--attack", attack, "--methods", "switch")
    with pytest.raises(SettingError, match="--quick makes simulated recordings short"):
        run("swat", "--normal", normal, "--attack", attack, "--methods", "switch", "--quick")
    with pytest.raises(SettingError, match="exchange --normal and --attack"):
        run("swat", "--normal", attack, "--attack", normal, "--methods", "switch")
    with pytest.raises(UnknownNameError, match="no method 'nothing'"):
        run("swat", "--methods", "nothing")
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(TableError, match="does not have the tags of SWaT"):
        run("swat", "--normal", normal, "--attack", other, "--methods", "switch")
    late = write_swat(
        tmp_path / "attack.csv", np.ones((50, 51)), datetime(2016, 1, 5), range(20, 30)
    )
    with pytest.raises(SettingError, match="holds none of the attacks that the paper counts"):
        run("swat", "--normal", normal, "--attack", late, "--methods", "switch")
