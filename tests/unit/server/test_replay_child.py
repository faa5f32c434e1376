"""What a replay makes of recordings: good ones, other limits, and all kinds of nonsense."""

from __future__ import annotations

import gzip
import io
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.cli import main
from causewatch.errors import SettingError, UnknownNameError
from causewatch.explain.described import describe
from causewatch.model import load
from causewatch.monitor import AlarmSettings, Monitor
from causewatch.server.replays.child import MOST_ALARMS, replay
from causewatch.server.replays.settings import ReplaySettings
from causewatch.server.replays.thinning import Thinned
from causewatch.server.replays.what_if import monitor_with
from small_plant import build

KEYS = {
    *("rows", "ticks", "clock", "raised", "alarms", "t", "score", "problems", "missing"),
    "under_alarm_share",
}


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plant"))


@pytest.fixture
def child(plant, tmp_path):
    """Replays bytes under a name; gives the result, or the error."""

    def run(name, content, order=None, **settings):
        path = tmp_path / f"0123456789abcdef.{name.rpartition('.')[2]}"
        path.write_bytes(content)
        said = []
        replay(
            {
                "model": str(plant.model),
                "file": str(path),
                "name": name,
                "settings": ReplaySettings(**settings).to_dict(),
                **(order or {}),
            },
            lambda *one: said.append(json.loads(json.dumps(one, allow_nan=False))),
        )
        assert {what for what, _ in said[:-1]} <= {"progress"}
        what, about = said[-1]
        if what == "error":
            assert "0123456789abcdef" not in about
        else:
            assert about.keys() == KEYS
        return about

    return run


@pytest.fixture(scope="module")
def usual(plant):
    """What `watch` makes of the recording."""
    out = plant.model.parent / "usual"
    out.mkdir()
    code = main(
        ["watch", str(plant.model), str(plant.test), "--alarms", str(out / "alarms.jsonl"),
         "--scores", str(out / "scores.csv")]
    )  # fmt: skip
    assert code == 0
    lines = (out / "alarms.jsonl").read_text(encoding="utf-8").splitlines()
    last = {one["id"]: one for one in map(json.loads, lines)}
    assert {one.pop("watch") for one in last.values()} == {"watch"}
    return last, pl.read_csv(out / "scores.csv")


# Good recordings


def test_a_replay_is_what_watch_would_have_said(plant, child, usual):
    alarms, scores = usual
    found = child("today.csv", plant.test.read_bytes())
    assert found["alarms"] == list(reversed(alarms.values()))
    assert found["raised"] == len(alarms) == 2
    assert (found["rows"], found["ticks"], found["clock"]) == (700, 700, "naive")
    assert found["problems"] == {}
    assert found["missing"] == []
    written = np.array(scores["score"].to_list(), dtype=float)
    np.testing.assert_allclose(np.array(found["score"], dtype=float), written, rtol=1e-4)
    assert found["under_alarm_share"] == scores["alarm"].mean()
    assert found["t"] == sorted(found["t"])


def in_memory(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def test_tables_of_other_kinds(plant, child, usual):
    frame = pl.read_csv(plant.test, try_parse_dates=True)
    kinds = {
        "a.parquet": in_memory(frame.write_parquet),
        "a.PARQUET.gz": gzip.compress(plant.test.read_bytes()),
        "a.jsonl": pl.read_csv(plant.test).write_ndjson().encode(),
    }
    for name, content in kinds.items():
        found = child(name, content)
        assert (found["rows"], found["ticks"]) == (700, 700), name
        assert [one["causes"] for one in found["alarms"]] == [
            one["causes"] for one in reversed(usual[0].values())
        ]


def test_spreadsheets(plant, child):
    pytest.importorskip("xlsxwriter", reason="xlsxwriter is not installed")
    frame = pl.read_csv(plant.test)
    found = child("a.xlsx", in_memory(frame.write_excel))
    assert (found["rows"], found["raised"]) == (700, 2)


def test_signals_that_are_missing_are_told(plant, child):
    frame = pl.read_csv(plant.test).drop("S05")
    found = child("a.csv", frame.write_csv().encode())
    assert found["missing"] == ["S05"]
    assert any(one["kind"] == "health" and "S05" in one["signals"] for one in found["alarms"])


def test_what_is_known_of_the_plant_is_used(plant, child):
    text = plant.test.read_text(encoding="utf-8").replace(",", ";").replace("S02", "LIT")
    tags = [{"tag": "LIT", "signal": "S02", "factor": 1.0, "offset": 0.0, "stale": None}]
    reading = {"time": None, "time_format": None, "ignore": ["S05"], "separator": ";"}
    found = child("a.csv", text.encode(), {"tags": tags, "reading": reading})
    assert found["missing"] == ["S05"]
    assert found["rows"] == 700


def test_progress_goes_from_little_to_all(plant, tmp_path):
    for name, content in (
        ("a.csv", plant.test.read_bytes() * 1),
        ("a.parquet", in_memory(pl.read_csv(plant.test).write_parquet)),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        said, clock = [], iter(range(10**6))
        order = {"model": plant.model, "file": path, "name": name, "settings": {}}
        replay(order, lambda *one, said=said: said.append(one), lambda clock=clock: next(clock))
        shares = [about for what, about in said if what == "progress"]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert shares[0] > 0


# Other settings


def test_a_lower_limit_raises_more(plant, child):
    content = plant.test.read_bytes()
    found = {limit: child("a.csv", content, limit=limit) for limit in (0.5, 1.0, 2.0, 10.0)}
    raised = [one["raised"] for one in found.values()]
    shares = [one["under_alarm_share"] for one in found.values()]
    assert raised[0] > raised[1] > 0
    assert raised[2] > raised[3] == 0  # 2.0 may cut an event in two, and raise as often as 1.0
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1]
    for limit, one in found.items():  # 1.0 is the limit, as everywhere
        assert one["t"] == found[1.0]["t"]
        np.testing.assert_allclose(
            np.array(one["score"], dtype=float) * limit,
            np.array(found[1.0]["score"], dtype=float),
            rtol=1e-12,
        )
        assert all(alarm["peak_score"] > 1.0 for alarm in one["alarms"])


def test_a_limit_that_nothing_reaches(plant, child):
    calm = "".join(plant.lines[:190]).encode()
    assert child("a.csv", calm, limit=10.0)["alarms"] == []
    assert child("a.csv", calm, limit=0.1)["raised"] > 0


def test_the_other_settings_count(plant, child):
    content = plant.test.read_bytes()
    assert child("a.csv", content, raise_after=600)["raised"] == 0
    late = child("a.csv", content, raise_after=10)
    early = child("a.csv", content)
    assert late["alarms"][-1]["raised_at"] > early["alarms"][-1]["raised_at"]
    long = child("a.csv", content, clear_after=40)
    assert long["under_alarm_share"] > early["under_alarm_share"]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_usual_limit_is_the_usual_monitor(plant, tmp_path, preset, capsys):
    path = plant.model
    if preset == "paper":
        path = tmp_path / "paper.cwm"
        normal = str(plant.model.parent / "normal.csv")
        assert main(["learn", normal, "--out", str(path), "--preset", "paper"]) == 0
        capsys.readouterr()
    model = load(path)
    values = pl.read_csv(plant.test).drop("time").to_numpy()[:300]
    plain = Monitor(model, describe=describe)
    same = monitor_with(model, AlarmSettings())
    double = monitor_with(model, AlarmSettings(), 2.0)
    assert type(same) is Monitor
    for row in values:
        one, other, half = (monitor.update(row) for monitor in (plain, same, double))
        assert one.score == other.score
        assert (one.score is None) == (half.score is None)
        if one.score is not None:
            assert half.score == one.score / 2
        np.testing.assert_array_equal(half.signals.array, one.signals.array / 2)
    double.reset()
    again = [double.update(row).score for row in values]
    assert again[-1] == half.score


def test_guarded_signals_have_the_other_limit_too(tmp_path, capsys):
    random = np.random.default_rng(1)
    walk = np.zeros((2000, 3))
    for k in range(1, 2000):
        walk[k, :2] = 0.6 * walk[k - 1, :2] + random.normal(size=2)
        walk[k, 1] += 0.5 * walk[k - 1, 0]
    walk[:, 2] = 5.0
    pl.DataFrame(walk, schema=["A", "B", "C"]).write_csv(tmp_path / "normal.csv")
    path = tmp_path / "guard.cwm"
    assert main(["learn", str(tmp_path / "normal.csv"), "--out", str(path)]) == 0
    capsys.readouterr()
    model = load(path)
    assert model.watching.guarded == ("C",)
    found = []
    for limit in (1.0, 4.0):
        monitor = monitor_with(model, AlarmSettings(), limit)
        for row in walk[:50]:
            monitor.update(dict(zip("ABC", row, strict=True)))
        tick = monitor.update({"A": walk[50, 0], "B": walk[50, 1], "C": 5.02})
        found.append(tick.signals["C"])
    assert found[0] > 1.0
    assert found[1] == found[0] / 4.0


# Nonsense


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.csv", b"", "empty.csv holds no line that could be read"),
        ("blank.csv", b"\n \n\n", "blank.csv holds no line that could be read"),
        ("noise.csv", bytes(range(256)) * 64, "noise.csv holds no line that could be read"),
        ("noise.parquet", b"PAR1" + bytes(300), "noise.parquet cannot be read as Parquet"),
        ("noise.xlsx", b"PK\x03\x04" + bytes(300), "noise.xlsx cannot be read as a spreadsheet"),
        ("archive.csv", b"PK\x03\x04" + bytes(300), "archive.csv is an archive"),
        ("prose.txt", b"Dear all,\nthis is no table.\n" * 9, "none of the model's signals"),
        ("other.csv", b"time,X,Y\n" + b"1,2,3\n" * 50, "none of the model's signals"),
        ("rows.jsonl", b'{"X": 1}\n' * 50, "none of the model's signals"),
    ],
)
def test_what_cannot_be_replayed_is_said_in_a_sentence(child, name, content, sentence):
    said = child(name, content)
    assert isinstance(said, str)
    assert sentence in said
    assert said.endswith((".", "?"))


def test_a_header_alone_gives_nothing(plant, child):
    found = child("a.csv", plant.lines[0].encode())
    assert (found["rows"], found["ticks"], found["t"], found["alarms"]) == (0, 0, [], [])


def test_rows_that_make_no_sense_are_counted(plant, child):
    lines = [*plant.lines[:50], "junk\n", "1,2\n", *plant.lines[50:]]
    found = child("a.csv", "".join(lines).encode())
    assert sum(found["problems"].values()) >= 2
    assert found["rows"] >= 700


def test_a_model_that_is_none(child, tmp_path):
    (tmp_path / "model.cwm").write_bytes(b"no")
    said = child("a.csv", b"x", {"model": str(tmp_path / "model.cwm")})
    assert isinstance(said, str)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "a.csv needs more memory than a replay may use; replay a shorter part"),
        (ValueError("secret"), "a.csv could not be replayed (ValueError); see what"),
    ],
)
def test_what_nobody_thought_of_is_a_sentence_too(child, monkeypatch, error, sentence):
    def fail(*_):
        raise error

    monkeypatch.setattr("causewatch.server.replays.child.load", fail)
    said = child("a.csv", b"x")
    assert sentence in said
    assert "secret" not in said


def test_results_are_bounded(plant, child, monkeypatch):
    monkeypatch.setattr("causewatch.server.replays.child.MOST_ALARMS", 2)
    monkeypatch.setattr("causewatch.server.replays.child.MOST_POINTS", 100)
    settings = {"limit": 0.5, "merge_within": 0, "clear_after": 1}
    found = child("a.csv", plant.test.read_bytes(), **settings)
    assert found["raised"] > 2
    assert len(found["alarms"]) == 2
    times = [one["raised_at"] for one in found["alarms"]]
    assert times == sorted(times, reverse=True)
    assert 50 <= len(found["t"]) == len(found["score"]) <= 100
    assert MOST_ALARMS == 500


# Thinning


@given(
    st.lists(st.none() | st.floats(0, 100) | st.sampled_from([math.nan, math.inf]), max_size=200),
    st.sampled_from([2, 4, 10]),
)
def test_thinning_keeps_the_highest(scores, most):
    thinned = Thinned(most)
    for place, score in enumerate(scores):
        thinned.add(place * 10**9, score)
    found = thinned.to_dict()
    known = [one for one in scores if one is not None and math.isfinite(one)]
    assert len(found["t"]) == len(found["score"]) <= most
    assert found["t"] == sorted(set(found["t"]))
    assert max((one for one in found["score"] if one is not None), default=None) == max(
        known, default=None
    )
    for t, score in zip(found["t"], found["score"], strict=True):
        was = scores[int(t)]
        assert score == (was if was is not None and math.isfinite(was) else None)
    if len(scores) <= most:
        assert found["t"] == list(range(len(scores)))
    else:
        assert len(found["t"]) >= most // 2


# Settings


def test_settings_are_those_of_the_watch():
    assert ReplaySettings().alarms == AlarmSettings()
    watch = AlarmSettings(clear_after=7, join_within=30)
    found = ReplaySettings.of(watch, limit=2.0, raise_after=None, clear_after=None)
    assert (found.limit, found.clear_after, found.join_within) == (2.0, 7, 30)
    assert found.alarms == watch
    assert ReplaySettings(**json.loads(json.dumps(found.to_dict()))) == found
    with pytest.raises(UnknownNameError, match="clear_after"):
        ReplaySettings.of(watch, clear_afer=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0.09},
        {"limit": 10.1},
        {"limit": math.nan},
        {"limit": "1"},
        {"limit": True},
        {"raise_after": 0},
        {"raise_after": 1.5},
        {"raise_after": 10**30},
        {"clear_after": -1},
        {"clear_below": 0.0},
        {"clear_below": math.inf},
        {"merge_within": None},
    ],
)
def test_settings_that_make_no_sense(wrong):
    (name,) = wrong
    with pytest.raises(SettingError, match=rf"^{name} is .*\.$"):
        ReplaySettings(**wrong)
