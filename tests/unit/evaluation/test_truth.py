"""Labels, events and ``causes.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data import read_table
from causewatch.data.table import NANOSECONDS, Clock, TimeTable
from causewatch.errors import CausewatchError, SettingError, TableError
from causewatch.evaluation.truth import CauseEntry, doubts, read_causes, rows_of, with_truth


def a_table(rows: int = 100, clock: Clock = "elapsed", **more: Any) -> TimeTable:
    return TimeTable(
        signals=("a", "b"),
        values=np.zeros((rows, 2)),
        time=np.arange(rows, dtype=np.int64) * NANOSECONDS,
        starts=np.array([0], dtype=np.intp),
        interval=1.0,
        clock=clock,
        **more,
    )


def write(folder: Path, told: object) -> Path:
    path = folder / "causes.json"
    path.write_text(told if isinstance(told, str) else json.dumps(told))
    return path


def test_runs_of_labels_are_events_of_unknown_cause() -> None:
    labels = np.zeros(100)
    labels[10:20] = 1
    labels[50:51] = 1
    labels[60:70] = np.nan
    (recording,) = with_truth({"t.csv": a_table(labels=labels)})
    assert [rows_of(one, recording.table) for one in recording.events] == [(10, 20), (50, 51)]
    assert all(one.signals == () for one in recording.events)


def test_events_of_causes_json_give_labels_where_there_are_none(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [
            {"name": "two", "start": "40s", "end": "50s", "signals": ["b"], "file": "t.csv"},
            {"name": "one", "start": 10, "end": 20, "signals": [" a ", "a"]},
        ],
    )
    (recording,) = with_truth({"t.csv": a_table()}, read_causes(path))
    assert [one.name for one in recording.events] == ["one", "two"]
    assert recording.events[0].signals == ("a",)  # as they stand in the file: with blanks or not
    labels = recording.table.labels
    assert labels is not None
    assert np.flatnonzero(labels).tolist() == [*range(10, 20), *range(40, 50)]


def test_labels_by_row_stay_as_they_are_beside_events() -> None:
    labels = np.zeros(100)
    labels[10:30] = 1
    entry = CauseEntry("one", 10, 20, ("a",))
    (recording,) = with_truth({"t.csv": a_table(labels=labels)}, [entry])
    assert recording.table.labels is labels


def test_an_event_may_end_with_the_recording() -> None:
    (recording,) = with_truth({"t.csv": a_table()}, [CauseEntry("last", 90, 100, ())])
    assert rows_of(recording.events[0], recording.table) == (90, 100)


def test_events_of_several_recordings_go_by_file_or_by_time() -> None:
    first = a_table(clock="naive")
    second = TimeTable(
        first.signals,
        first.values,
        first.time + 1000 * NANOSECONDS,
        first.starts,
        1.0,
        "naive",
    )
    tables = {"one.csv": first, "two.csv": second}
    by_time = CauseEntry("x", "1970-01-01T00:16:50", "1970-01-01T00:17:00", ("a",))
    one, two = with_truth(tables, [by_time, CauseEntry("y", 5, 9, ("b",), "some/one.csv")])
    assert [event.name for event in one.events] == ["y"]
    assert [event.name for event in two.events] == ["x"]
    with pytest.raises(SettingError, match="may belong to any of 2 recordings"):
        with_truth(tables, [CauseEntry("y", 5, 9, ("b",))])


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([("x", 10, 30, ("zz",))], "zz"),
        ([("x", 10, 130, ("a",))], "rows 10 to 130 of a recording of 100 rows"),
        ([("x", -5, 13, ("a",))], "rows -5 to 13"),
        (
            [("x", 30, 30, ("a",))],
            "The event 'x' of 't.csv' starts at row 30 and ends at row 30, which is not after it",
        ),
        ([("x", "500s", "600s", ("a",))], "covers no row of 't.csv', which lasts from 0s to 99s"),
        (
            [("x", "50s", "40s", ("a",))],
            "The event 'x' of 't.csv': The end of the span '50s..40s' is not after its start.",
        ),
        ([("x", "soon", "later", ("a",))], "is not a time"),
        ([("x", 10, "40s", ("a",))], "two times or two row numbers"),
        ([("x", "2026-01-01", "2026-01-02", ("a",))], "does not fit this table"),
        (
            [("x", 10, 20, ("a",), "other.csv")],
            "(t.csv): the event 'x', e.g., is of 'other.csv'; give that recording",
        ),
    ],
)
def test_wrong_events_get_one_sentence(entries: list[tuple[Any, ...]], says: str) -> None:
    with pytest.raises(CausewatchError) as error:
        with_truth({"t.csv": a_table()}, [CauseEntry(*entry) for entry in entries])
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_events_may_overlap_and_every_row_in_any_of_them_is_anomalous() -> None:
    entries = [CauseEntry("y", 20, 40, ("b",)), CauseEntry("x", 10, 30, ("a",))]
    (recording,) = with_truth({"t.csv": a_table()}, entries)
    assert [rows_of(event, recording.table) for event in recording.events] == [(10, 30), (20, 40)]
    labels = recording.table.labels
    assert labels is not None
    assert np.flatnonzero(labels).tolist() == list(range(10, 40))
    assert doubts([recording]) == []


def test_unknown_signals_list_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"names the signal 'c', which 't\.csv' does not have"):
        with_truth({"t.csv": a_table()}, [CauseEntry("x", 1, 9, ("c",))])


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ({}, "holds no list"),
        ([3], "Event 1 in 'causes.json' is 3"),
        ([{"name": "x", "start": 1, "end": 2}], "has no 'signals'"),
        ([{"name": "x", "start": 1.5, "end": 2, "signals": []}], "'start' is 1.5"),
        ([{"name": "x", "start": None, "end": 2, "signals": []}], "'start' is null"),
        ([{"name": "x", "start": "  ", "end": "2", "signals": []}], "'start' is \" \""),
        ([{"name": "\ud800", "start": 1, "end": 2, "signals": []}], "half of a character"),
        ([{"name": "x", "start": True, "end": 2, "signals": []}], "'start' is true"),
        ([{"name": "x", "start": 1, "end": 2, "signals": "a"}], "write a list of names"),
        ([{"name": "x", "start": 1, "end": 2, "signals": [], "file": 3}], "'file' is 3"),
    ],
)
def test_a_wrong_file_gets_one_sentence(tmp_path: Path, told: object, says: str) -> None:
    with pytest.raises(TableError) as error:
        read_causes(write(tmp_path, told))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"Cannot read 'none\.json'"):
        read_causes(tmp_path / "none.json")


def test_neither_labels_nor_events_is_refused() -> None:
    with pytest.raises(SettingError, match="--labels"):
        with_truth({"t.csv": a_table()})


def test_what_makes_the_truth_look_wrong_is_said() -> None:
    labels = np.zeros(100)
    labels[10:30] = 1
    table = a_table(labels=labels)
    entries = [CauseEntry("x", 10, 28, ())], [CauseEntry("x", 60, 80, ())]
    right, shifted = (with_truth({"t.csv": table}, entry) for entry in entries)
    assert doubts(right) == []
    assert "the events hold 0% of the rows labelled anomalous" in doubts(shifted)[0]
    (every,) = doubts(with_truth({"t.csv": a_table(labels=np.ones(100))}))
    assert "Every row that is counted is labelled" in every
    throughout = with_truth({"t.csv": a_table()}, [CauseEntry("x", 0, 100, ())])
    (every,) = doubts(throughout, labels=False)
    assert every == (
        "Every row lies in an event, so no row is normal; check the times of the events."
    )


def test_row_numbers_in_quotation_marks_are_told_as_such() -> None:
    with pytest.raises(SettingError) as error:
        with_truth({"t.csv": a_table(clock="naive")}, [CauseEntry("x", "400", "520", ())])
    assert str(error.value) == (
        "The event 'x' of 't.csv' is from \"400\" to \"520\", which are no times; write row numbers"
        " without quotation marks."
    )


def test_recordings_of_the_same_name_are_told_apart_by_their_paths() -> None:
    tables = {"a/test.csv": a_table(), "b/test.csv": a_table()}
    first, second = with_truth(tables, [CauseEntry("x", 1, 9, (), "b/test.csv")])
    assert (len(first.events), len(second.events)) == (0, 1)
    with pytest.raises(SettingError, match=r"any of 2 recordings \(a/test\.csv, b/test\.csv\)"):
        with_truth(tables, [CauseEntry("x", 1, 9, (), "test.csv")])
    with pytest.raises(SettingError, match="is not a time"):
        with_truth(tables, [CauseEntry("x", "1.2.2026 10:00", "1.2.2026 11:00", ())])


KINDS = ("kept", "blank", "empty", "late", "far")


@settings(deadline=None, max_examples=60)
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=4, max_size=16),
    start=st.integers(190, 240),
    size=st.integers(1, 20),
    timed=st.booleans(),
    ending=st.lists(st.sampled_from(("blank", "empty")), max_size=4),
)
def test_row_numbers_are_those_of_the_file_whatever_was_left_out(
    tmp_path_factory: pytest.TempPathFactory,
    kinds: list[str],
    start: int,
    size: int,
    timed: bool,
    ending: list[str],
) -> None:
    kinds = [*["kept"] * 200, *(part for kind in kinds for part in (kind, "kept")), *ending]
    lines, clock = [], 0
    for number, kind in enumerate(kinds):
        clock += kind in ("kept", "empty")
        seconds = {"late": clock - 3, "far": clock + 10**9}.get(kind, clock)
        cells = [f"{1_500_000_000 + seconds}"] * timed + ["" if kind == "empty" else str(number)]
        lines.append("" if kind == "blank" else ",".join([*cells, ""]))
    path = tmp_path_factory.mktemp("rows") / "t.csv"
    path.write_text("\n".join([",".join(["time"] * timed + ["a", "b"]), *lines]) + "\n")
    table = read_table(path)
    numbers = table.values[:, 0].astype(int)  # each row holds its number
    kept = table.file_rows
    assert numbers.tolist() == (list(range(len(table))) if kept is None else kept.tolist())
    assert (kept is None) == (len(table) == len(kinds))

    start, end = min(start, len(kinds) - 1), min(start + size, len(kinds))
    inside = [number for number in numbers.tolist() if start <= number < end]
    entry = CauseEntry("x", start, max(end, start + 1), ())
    if not inside:
        rows = f"rows {entry.start} to {entry.end} of 't.csv' were all left out when reading"
        with pytest.raises(SettingError) as error:
            with_truth({"t.csv": table}, [entry])
        expected = f"No event is left to count. The event 'x' is left out: {rows}."
        assert str(error.value) == expected
        return
    (recording,) = with_truth({"t.csv": table}, [entry])
    labels = recording.table.labels
    assert labels is not None
    assert numbers[labels == 1].tolist() == inside


def test_a_row_number_beyond_the_file_says_how_many_rows_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,a,b\n" + "".join(f"{k},{'' if k % 4 else k},\n" for k in range(100)))
    table = read_table(path)
    assert len(table) == 25
    with_truth({"t.csv": table}, [CauseEntry("x", 90, 100, ())])
    with pytest.raises(SettingError, match="rows 90 to 101 of a recording of 100 rows"):
        with_truth({"t.csv": table}, [CauseEntry("x", 90, 101, ())])


@pytest.mark.parametrize(
    ("start", "end", "inside"),
    [(5, 10, [5, 6]), (5, 8, [5, 6]), (8, 10, []), (6, 7, [6]), (7, 8, [])],
)
def test_row_numbers_may_reach_into_rows_that_were_left_out_at_the_end(
    tmp_path: Path, start: int, end: int, inside: list[int]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,a\n" + "".join(f"{k},{k if k < 7 else ''}\n" for k in range(10)))
    tables = {"t.csv": read_table(path)}
    if not inside:
        left_out: list[str] = []
        entries = [CauseEntry("x", start, end, ()), CauseEntry("y", 0, 2, ())]
        (recording,) = with_truth(tables, entries, left_out.append)
        assert [event.name for event in recording.events] == ["y"]
        rows = f"rows {start} to {end} of 't.csv' were all left out when reading"
        assert left_out == [f"The event 'x' is left out: {rows}."]
        return
    (recording,) = with_truth(tables, [CauseEntry("x", start, end, ())])
    assert recording.table.labels is not None
    assert np.flatnonzero(recording.table.labels).tolist() == inside


def test_row_numbers_of_a_list_of_events_are_those_of_the_sampled_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = (f"{k},{tag},{k}\n" for k in range(50) for tag in "abcd")
    path.write_text("time_s,tag,value\n" + "".join(lines))
    tables = {"t.csv": read_table(path)}
    assert len(tables["t.csv"]) == 50
    (recording,) = with_truth(tables, [CauseEntry("x", 40, 50, ())])
    assert recording.table.labels is not None
    assert np.flatnonzero(recording.table.labels).tolist() == [*range(40, 50)]
    with pytest.raises(SettingError, match="rows 40 to 60 of a recording of 50 rows"):
        with_truth(tables, [CauseEntry("x", 40, 60, ())])


def test_events_of_recordings_that_are_not_given_are_left_out_and_counted() -> None:
    entries = [
        CauseEntry("x", 10, 20, ("a",), "t.csv"),
        *[CauseEntry(f"y{k}", 500 + k, 600 + k, ("zz",), "session-1.csv") for k in range(55)],
        CauseEntry("z", 1, 2, (), "session-3.csv"),
    ]
    left_out: list[str] = []
    (recording,) = with_truth({"t.csv": a_table()}, entries, left_out.append)
    assert [event.name for event in recording.events] == ["x"]
    assert left_out == [
        "55 events of session-1.csv are left out: it is not given.",
        "1 event of session-3.csv is left out: it is not given.",
    ]


def test_an_event_in_a_hole_of_the_recording_is_left_out() -> None:
    table = a_table()
    hole = TimeTable(
        table.signals, table.values[:90], np.delete(table.time, range(40, 50)), table.starts, 1.0,
        "elapsed",
    )  # fmt: skip
    left_out: list[str] = []
    (recording,) = with_truth(
        {"t.csv": hole},
        [CauseEntry("x", "42s", "48s", ()), CauseEntry("y", "38s", "42s", ())],
        left_out.append,
    )
    assert [event.name for event in recording.events] == ["y"]
    assert left_out == [
        "The event 'x' is left out: 't.csv' has no row from 42s to 48s, or none that could be read."
    ]


def test_an_event_that_begins_in_none_of_the_recordings_has_wrong_times() -> None:
    tables = {"a.csv": a_table(), "b.csv": a_table()}
    with pytest.raises(SettingError, match=r"begins in none of 2 recordings \(a.csv, b.csv\)"):
        with_truth(tables, [CauseEntry("x", "500s", "600s", ())])


def test_an_event_up_to_the_last_row_ends_after_it() -> None:
    (recording,) = with_truth({"t.csv": a_table()}, [CauseEntry("x", 90, 100, ())])
    (event,) = recording.events
    assert (event.start, event.end) == (90 * NANOSECONDS, 100 * NANOSECONDS)
