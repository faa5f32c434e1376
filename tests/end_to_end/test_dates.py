"""A model learnt from month-first dates, and later files of the same plant and of another one."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime, timedelta

import pytest

import causewatch as cw
from causewatch.cli import main
from causewatch.server.replays.child import replay
from causewatch.simulate import random_system

PLANT = random_system(4, links=4, seed=5)
ROWS = 900


def write(path, start, form, *, seed, broken=False):
    """A recording with one row a second, `broken` for the minute after five minutes."""
    values = PLANT.simulate(ROWS, seed=seed).values.copy()
    if broken:
        values[300:360, 1] += 10 * values[:, 1].std()
    with path.open("w") as file:
        table = csv.writer(file)
        table.writerow(["Timestamp", *PLANT.signals])
        for k, row in enumerate(values):
            table.writerow([(start + timedelta(seconds=k)).strftime(form), *row])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dates")
    month, day = "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"
    open_one = write(folder / "open.csv", datetime(2009, 4, 11), month, seed=1)
    told = write(folder / "told.csv", datetime(2009, 4, 14), month, seed=2)
    write(folder / "later.csv", datetime(2009, 5, 8), month, seed=3, broken=True)
    write(folder / "other.csv", datetime(2009, 12, 25), day, seed=3, broken=True)
    iso = "%Y-%m-%dT%H:%M:%S"
    write(folder / "iso.csv", datetime(2009, 5, 9), iso, seed=3, broken=True)
    event = {"name": "e", "start": 300, "end": 360, "signals": [PLANT.signals[1]]}
    (folder / "causes.json").write_text(json.dumps([event]))
    out = folder / "m.cwm"
    assert main(["learn", str(open_one), str(told), "--out", str(out), "--every", "1s"]) == 0
    return folder


CASES = [("later", "2009-05-08", ""), ("other", "2009-12-25", "day first"),
         ("iso", "2009-05-09", "")]  # fmt: skip


def test_learning_remembers_the_dates_of_the_file_that_tells(folder):
    origin = cw.load(folder / "m.cwm").provenance
    assert (origin.first, origin.last) == ("2009-04-11T00:00:00", "2009-04-14T00:14:59")
    assert origin.writing == cw.data.Writing("Timestamp", "month first", ",", ".", date_sign="/")


@pytest.mark.parametrize(("name", "day", "says"), CASES)
def test_every_command_reads_a_later_file_alike(folder, name, day, says, tmp_path, capsys):
    model, data = str(folder / "m.cwm"), str(folder / f"{name}.csv")
    scores = tmp_path / "scores.csv"
    assert main(["watch", model, data, "--scores", str(scores)]) == 0
    told = capsys.readouterr()
    assert scores.read_text().splitlines()[1].startswith(f"{day}T00:00:")
    assert re.match(f"{day}T00:05:[0-9]+  raised ", told.out)
    _check(told.err, says)

    causes = str(folder / "causes.json")
    assert main(["evaluate", model, data, "--causes", causes, "--json"]) == 0
    told = capsys.readouterr()
    card = json.loads(told.out)
    assert card["per_event"][0]["start"] == f"{day}T00:05:00"
    assert card["events_detected"] == 1
    _check(" ".join(card["notes"]), says)

    span = ["--from", f"{day}T00:05", "--to", f"{day}T00:06"]
    assert main(["explain", model, data, *span, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["from"].startswith(f"{day}T00:05:")
    _check(told.err, says)

    answers = []
    order = {"model": model, "file": data, "name": name, "settings": {}}
    replay(order, lambda what, about: answers.append((what, about)))
    what, about = answers[-1]
    assert what == "result", about
    assert about["alarms"][-1]["raised_at"].startswith(f"{day}T00:05:")


def _check(text, says):
    assert ("are written day first" in text) == bool(says)
    assert text.count("If that is wrong, ") == bool(says)


def _with_signs(folder, name, separator, decimal):
    """The later file with other signs."""
    lines = (folder / "later.csv").read_text().splitlines()
    path = folder / name
    path.write_text(
        "\n".join(line.replace(",", separator).replace(".", decimal) for line in lines) + "\n"
    )
    return str(path)


def test_signs_that_differ_from_those_learnt_are_said_by_every_command(folder, capsys):
    model = str(folder / "m.cwm")
    both = _with_signs(folder, "both.csv", ";", ",")
    sentence = (
        "both.csv is not written with the signs of other recordings of this plant (comma between"
        " columns, decimal point) but with its own (semicolon between columns, decimal comma), and"
        " was read by these. If that is wrong, give --separator ',' and --decimal '.'."
    )
    assert main(["watch", model, both]) == 0
    assert capsys.readouterr().err.count(sentence) == 1
    causes = str(folder / "causes.json")
    assert main(["evaluate", model, both, "--causes", causes, "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert sentence in card["notes"]
    assert card["events_detected"] == 1
    span = ["--from", "2009-05-08T00:05", "--to", "2009-05-08T00:06"]
    assert main(["explain", model, both, *span]) == 0
    assert sentence in capsys.readouterr().err
    assert main(["watch", model, both, "--separator", ";", "--decimal", ","]) == 0
    assert "is not written" not in capsys.readouterr().err
    tab = _with_signs(folder, "tab.csv", "\t", ".")
    assert main(["watch", model, tab]) == 0
    said = capsys.readouterr().err
    assert "(comma between columns) but with its own (tab between columns)" in said


def test_what_the_user_says_goes_first(folder, tmp_path):
    scores = tmp_path / "scores.csv"
    options = ["--scores", str(scores), "--time-format", "%d/%m/%Y %H:%M:%S"]
    assert main(["watch", str(folder / "m.cwm"), str(folder / "later.csv"), *options]) == 0
    assert scores.read_text().splitlines()[1].startswith("2009-08-05T00:00:")


@pytest.mark.parametrize(("name", "day", "says"), CASES)
def test_an_update_says_how_a_file_that_differs_was_read(folder, name, day, says, tmp_path, capsys):
    arguments = ["learn", str(folder / f"{name}.csv"), "--update", str(folder / "m.cwm")]
    main([*arguments, "--out", str(tmp_path / "new.cwm")])
    _check(capsys.readouterr().err, says)
    main([*arguments, "--out", str(tmp_path / "again.cwm"), "--json"])
    _check(" ".join(json.loads(capsys.readouterr().out)["notes"]), says)
