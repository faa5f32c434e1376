"""What is wrong with a plan before anything is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from causewatch.errors import SettingError
from causewatch.streaming.plan import Place, Plan
from causewatch.streaming.plan_check import check_files, check_plan_alone, metrics_place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("plant.cwm", "today.csv"):
        (tmp_path / name).write_text("x")
    (tmp_path / "state").mkdir()
    return tmp_path


def plan_of(folder: Path, **more: Any) -> Plan:
    sinks = tuple(Place(str(folder / one)) for one in more.pop("sinks", ()))
    files = {name: folder / more.pop(name) for name in ("alarms", "scores") if name in more}
    source = Place(str(folder / "today.csv"))
    return Plan(model=folder / "plant.cwm", source=source, sinks=sinks, **files, **more)


def test_a_plan_that_makes_sense(folder: Path) -> None:
    state = str(folder / "state")
    check_plan_alone(
        plan_of(folder, alarms="a.jsonl", scores="s.csv", sinks=["b.jsonl"], state=state)
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"alarms": "today.csv"}, "is read by this watch"),
        ({"sinks": ["today.csv"]}, "is read by this watch"),
        ({"sinks": ["plant.cwm"]}, "is read by this watch"),
        ({"scores": "a.csv", "alarms": "a.csv"}, "is written to already"),
        ({"scores": "a.csv", "sinks": ["./a.csv"]}, "is written to already"),
        ({"sinks": ["state/watch.db"], "own": True}, "belongs to the state"),
        ({"alarms": "state/watch.db-wal", "own": True}, "belongs to the state"),
        ({"alarms": "state/lock", "own": True}, "belongs to the state"),
        ({"alarms": "state"}, "is a folder"),
        ({"sinks": ["nowhere/a.jsonl"]}, "There is no folder"),
        ({"alarms": "a\0b"}, "is no name of a file"),
        ({"sinks": ["a\0b"]}, "is no name of a file"),
        ({"state": "a\0b"}, "is no name of a file"),
    ],
)
def test_files_that_must_not_be_written_to(folder: Path, more: dict[str, Any], said: str) -> None:
    state = {"state": str(folder / "state")} if more.pop("own", False) else {}
    with pytest.raises(SettingError, match=said):
        check_plan_alone(plan_of(folder, **more, **state))


@pytest.mark.parametrize("link", [True, False])
def test_another_name_of_the_same_file(folder: Path, link: bool) -> None:
    if link:
        (folder / "other.csv").symlink_to(folder / "today.csv")
    else:
        (folder / "other.csv").hardlink_to(folder / "today.csv")
    with pytest.raises(SettingError, match="is read by this watch"):
        check_plan_alone(plan_of(folder, alarms="other.csv"))


def test_another_name_of_a_file_of_the_state(folder: Path) -> None:
    (folder / "state" / "watch.db").touch()
    (folder / "other").hardlink_to(folder / "state" / "watch.db")
    with pytest.raises(SettingError, match="belongs to the state"):
        check_plan_alone(plan_of(folder, alarms="other", state=str(folder / "state")))


@pytest.mark.parametrize("where", ["state", "bag://{}/state"])
def test_what_is_written_into_a_folder_that_is_watched_would_be_read(
    folder: Path, where: str
) -> None:
    place = where.format(folder) if ":" in where else str(folder / where)
    plan = Plan(model=folder / "plant.cwm", source=Place(place), alarms=folder / "state/a.jsonl")
    with pytest.raises(SettingError, match="is in the folder that is read by this watch"):
        check_plan_alone(plan)


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        ("plant.cwm", "is read by this watch"),
        ("today.csv", "is read by this watch"),
        ("tokens", "is read by this watch"),
        ("a.jsonl", "is written to already"),
        ("state/watch.db", "belongs to the state"),
        ("a\0b", "is no name of a file"),
    ],
)
def test_what_else_is_written_must_not_have_another_use(
    folder: Path, audit: str, said: str
) -> None:
    plan = plan_of(folder, alarms="a.jsonl", state=str(folder / "state"))
    with pytest.raises(SettingError, match=said):
        check_files(plan, [folder / "tokens"], [folder / audit])
    check_files(plan, [folder / "tokens"], [folder / "state" / "audit.jsonl"])


@pytest.mark.parametrize("beyond", ["", "/x"])
@pytest.mark.parametrize("what", ["model", "source", "state", "report", "alarms", "scores", "sink"])
def test_links_that_lead_in_a_circle(folder: Path, what: str, beyond: str) -> None:
    loop = folder / "loop.csv"
    loop.symlink_to(loop.name)
    named = f"{loop}{beyond}"
    usual: dict[str, Any] = {"model": folder / "plant.cwm", "source": Place("-")}
    said: Any = Path(named)
    if what in ("source", "sink"):
        said = Place(named)
    elif what == "state":
        said = named
    more = {"sinks": (said,)} if what == "sink" else {what: said}
    with pytest.raises(SettingError, match=r"loop\.csv.* its symbolic links lead in a circle"):
        check_plan_alone(Plan(**usual | more))


@pytest.mark.parametrize("name", ["a\nb", "\udcff", "\x1b[31m", "a" * 201])
def test_names(folder: Path, name: str) -> None:
    with pytest.raises(SettingError, match="The watch is called"):
        check_plan_alone(plan_of(folder, name=name))
    check_plan_alone(plan_of(folder, name="Straße 7/ü"))


@pytest.mark.parametrize("speed", [float("inf"), float("nan"), -1.0])
def test_speeds(folder: Path, speed: float) -> None:
    with pytest.raises(SettingError, match="--speed is"):
        check_plan_alone(plan_of(folder, speed=speed))


def test_places_for_metrics(folder: Path) -> None:
    assert metrics_place("127.0.0.1:9464") == ("127.0.0.1", 9464)
    assert metrics_place(":9464") == ("127.0.0.1", 9464)
    assert metrics_place("[::1]:0") == ("::1", 0)
    for said in (
        "9464a",
        "host",
        "host:",
        "host:99999",
        "127.0.0.1:1²",
        "\udcff:9000",
        "host:-1",
        "host:" + "9" * 5000,
    ):
        with pytest.raises(SettingError, match="is no place for metrics"):
            check_plan_alone(plan_of(folder, metrics=said))
