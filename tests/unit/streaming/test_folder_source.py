"""Folders of files that appear over time."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import TableError
from causewatch.streaming.source import Wanted
from causewatch.streaming.sources.files import open_file_source
from causewatch.streaming.sources.folder import FolderSource
from causewatch.streaming.sources.folder_names import natural
from causewatch.testing import FakeClock
from mutated import forged_book

WANTED = Wanted(("a", "b"), 1.0)
START = datetime(2026, 1, 1, tzinfo=UTC)


def text(first, last, header="time,a,b\n"):
    lines = (
        f"{(START + timedelta(seconds=k)).isoformat()},{k}.5,{-k}\n" for k in range(first, last)
    )
    return header + "".join(lines)


def expected(first, last):
    return [[k + 0.5, float(-k)] for k in range(first, last)]


def values(batch):
    return batch.values.tolist() + [[row["a"], row["b"]] for row, _ in batch.named]


def drained(source, polls=30):
    found = []
    for _ in range(polls):
        found += values(source.poll(0.0))
    return found


def parquet(path, first, last):
    times = [START + timedelta(seconds=k) for k in range(first, last)]
    rows = range(first, last)
    pl.DataFrame(
        {"time": times, "a": [k + 0.5 for k in rows], "b": [-float(k) for k in rows]}
    ).write_parquet(path)


@pytest.fixture
def opened(tmp_path):
    """Open the folder; all are closed in the end."""
    sources = []

    def start(after=None, follow=True, wanted=WANTED):
        source = FolderSource(tmp_path, wanted, follow=follow, every=0.0)
        sources.append(source)
        source.open(after or {})
        return source

    yield start
    for source in sources:
        source.close()


def test_names_are_in_natural_order():
    names = ["part", "part2", "part10", "part10a", "part010b", "plant-2026-01-02T9", "x"]
    assert sorted(reversed(names), key=natural) == sorted(names, key=natural)
    assert sorted(names, key=natural).index("part2") < sorted(names, key=natural).index("part10")


def test_files_are_read_in_order_to_their_ends(tmp_path, opened):
    (tmp_path / "part10.csv").write_text(text(20, 30))
    (tmp_path / "part2.csv").write_text(text(10, 20))
    (tmp_path / "part1.csv.gz").write_bytes(gzip.compress(text(0, 10).encode()))
    (tmp_path / "part11.csv").write_text(text(30, 35).removesuffix("\n"))
    for name in (".hidden.csv", "part3.csv.tmp", "part3.csv.PART"):
        (tmp_path / name).write_text(text(90, 99))
    (tmp_path / "part4.csv").mkdir()
    source = opened(follow=False)
    assert drained(source) == expected(0, 35)
    assert (source.ended, source.status, source.problems) == (True, "ended", {})
    assert (source.clock, source.missing, source.guarantee) == ("utc", (), "replayed")
    after = json.loads(json.dumps(source.position()))
    assert after["rows"] == 35
    # A later run goes on with what was added.
    with (tmp_path / "part11.csv").open("a") as file:
        file.write("\n" + text(35, 37, ""))
    (tmp_path / "part12.csv").write_text(text(37, 40))
    assert drained(opened(after, follow=False)) == expected(35, 40)


def test_files_are_read_in_order_of_time_if_all_tell_it(tmp_path, opened, caplog):
    caplog.set_level("INFO", "causewatch.streaming")
    (tmp_path / "april.csv").write_text(text(30, 40))
    parquet(tmp_path / "january.parquet", 0, 10)
    (tmp_path / "march.csv").write_text(text(20, 30))
    (tmp_path / "february.csv.gz").write_bytes(gzip.compress(text(10, 20).encode()))
    source = opened(follow=False)
    assert drained(source) == expected(0, 40)
    assert (source.ended, source.problems) == (True, {})
    said = "in order of time, not of their names: january.parquet, february.csv.gz, march.csv"
    assert said in caplog.text
    # At any place in it, a later run goes on.
    for polls in range(1, 9):
        first = opened(follow=False)
        begun = drained(first, polls)
        again = opened(json.loads(json.dumps(first.position())), follow=False)
        assert begun + drained(again) == expected(0, 40)
        assert again.problems == {}


def test_files_that_do_not_tell_the_time_are_in_order_of_their_names(tmp_path, opened, caplog):
    caplog.set_level("INFO", "causewatch.streaming")
    (tmp_path / "a.csv").write_text(text(20, 30))
    (tmp_path / "b.csv").write_text(text(0, 10, header=""))
    (tmp_path / "c.csv").write_text(text(10, 20))
    assert drained(opened(follow=False)) == expected(20, 30) + expected(0, 20)
    assert "order of time" not in caplog.text
    counted = replace(WANTED, counted=True)
    (tmp_path / "b.csv").unlink()
    assert drained(opened(follow=False, wanted=counted)) == expected(20, 30) + expected(10, 20)


def test_the_last_file_is_followed_until_a_later_one_is_there(tmp_path, opened):
    source = opened()
    assert drained(source) == []
    assert source.position() == {"name": tmp_path.name, "rows": 0}
    log = tmp_path / "2026-01-01T9.csv"
    log.write_text(text(0, 5))
    assert drained(source) == expected(0, 5)
    with log.open("a") as file:
        file.write(text(5, 7, ""))
    assert drained(source) == expected(5, 7)
    assert source.status == "waiting for more"
    later = tmp_path / "2026-01-01T10.csv"
    with log.open("a") as file:
        file.write(text(7, 9, "").removesuffix("\n"))
        later.write_text(text(9, 12))
    assert drained(source) == expected(7, 12)
    assert not source.ended
    assert source.problems == {}


def test_a_poll_waits_for_no_longer_than_it_may(tmp_path):
    clock = FakeClock()
    source = FolderSource(tmp_path, WANTED, follow=True, now=clock, sleep=clock.sleep)
    assert (source.status, source.ended) == ("not open", False)
    source.open({})
    assert len(source.poll(3.12)) == 0
    assert clock() == pytest.approx(3.12)
    (tmp_path / "1").write_text(text(0, 5))
    assert len(source.poll(3.0)) == 5  # found within a second
    assert clock() < 4.3
    source.close()
    assert len(source.poll(1.0)) == 0


def test_parquet_is_tried_again_until_it_is_complete(tmp_path, opened):
    (tmp_path / "1.csv").write_text(text(0, 5))
    parquet(tmp_path / "2.tmp", 5, 10)
    data = (tmp_path / "2.tmp").read_bytes()
    (tmp_path / "2.parquet").write_bytes(data[:-10])
    source = opened()
    assert drained(source) == expected(0, 5)
    assert source.status == "waiting for more; 2.parquet cannot be read yet"
    assert source.problems == {}
    with (tmp_path / "2.parquet").open("ab") as file:
        file.write(data[-10:])
    assert drained(source) == expected(5, 10)
    # One that stays as it is costs itself only.
    (tmp_path / "3.parquet").write_bytes(data[:-10])
    assert drained(source) == []
    (tmp_path / "4.csv").write_text(text(10, 15))
    assert drained(source) == expected(10, 15)
    assert source.problems == {"bad_files": 1}


def test_a_gzip_file_that_unfolds_beyond_reason_is_set_aside(tmp_path, opened, monkeypatch):
    monkeypatch.setattr("causewatch.data.records.UNCHECKED", 1 << 20)
    bomb = gzip.compress(text(0, 50).encode() + bytes(50 << 20))
    (tmp_path / "1.csv.gz").write_bytes(bomb)
    source = opened()
    assert drained(source) == []
    assert "cannot be read yet" in source.status
    (tmp_path / "2.csv").write_text(text(60, 70))
    assert drained(source)[-10:] == expected(60, 70)
    assert source.problems.get("bad_files", 0) + source.problems.get("damaged", 0) == 1


def test_compressed_files_and_lists_are_read_when_they_are_complete(tmp_path, opened):
    data = gzip.compress(text(0, 50).encode())
    (tmp_path / "1.gz").write_bytes(data[:-30])
    source = opened()
    assert drained(source) == []
    (tmp_path / "1.gz").write_bytes(data)
    assert drained(source) == expected(0, 50)
    (tmp_path / "2.csv").write_text("time,tag,value\n")
    assert drained(source) == []
    with (tmp_path / "2.csv").open("a") as file:
        for k in range(50, 60):
            time = (START + timedelta(seconds=k)).isoformat()
            file.write(f"{time},a,{k}.5\n{time},b,{-k}\n")
            file.flush()
            assert drained(source, 4) == []
    (tmp_path / "3.csv").write_text(text(60, 70))
    assert drained(source) == expected(50, 70)
    assert source.problems == {}


def test_odd_files_are_counted_and_passed_over(tmp_path, opened, caplog):
    (tmp_path / "0").write_bytes(b"PK\x03\x04 no archive")
    (tmp_path / "1.csv").write_text(text(0, 5))
    (tmp_path / "2.csv").write_text("time,x,y\n" + text(5, 9, ""))
    (tmp_path / "3.csv").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "4.csv").touch()
    (tmp_path / "5.jsonl").write_text('{"time": "2026-01-01T00:00:00Z", "a": 1, "b": 2}\n')
    (tmp_path / "6.csv").write_text(text(5, 8) + "nonsense\n" + text(8, 10, ""))
    source = opened(follow=False)
    assert drained(source) == expected(0, 10)
    assert source.problems == {"bad_files": 4, "bad_lines": 1}
    passed = [line.split()[0] for line in caplog.messages if "was set aside" in line]
    assert passed == ["0", "2.csv", "3.csv", "5.jsonl"]
    assert "tells the time otherwise" in caplog.text


def test_a_file_that_cannot_be_read_is_set_aside_for_later_runs_too(tmp_path, opened, caplog):
    (tmp_path / "1.csv").write_text(text(0, 5))
    bad = tmp_path / "2.xlsx"
    bad.write_bytes(forged_book())
    source = opened()
    assert drained(source) == expected(0, 5)
    assert source.problems == {"bad_files": 1}
    assert caplog.text.count("2.xlsx was set aside: 2.xlsx cannot be read as a spreadsheet") == 1
    after = json.loads(json.dumps(source.position()))
    source.close()
    source = opened(after)
    assert source.position() == after
    assert drained(source) == []
    assert source.problems == {}  # it was not tried
    assert caplog.text.count("was set aside") == 1
    after = source.position()
    source.close()
    # Another file under its name is another matter.
    parquet(bad, 5, 10)
    source = opened(after)
    assert drained(source) == expected(5, 10)
    assert source.problems == {}


def test_folders_that_are_refused(tmp_path, opened):
    with pytest.raises(TableError, match="there is none with rows"):
        opened(follow=False)
    (tmp_path / "1.csv").write_text("time,x,y\n" + text(5, 9, ""))
    with pytest.raises(TableError, match="none of the model's signals"):
        opened(follow=False)
    source = open_file_source(str(tmp_path), WANTED, follow=True)
    source.open({})  # something better may come
    source.close()
    gone = FolderSource(tmp_path / "nowhere", WANTED)
    with pytest.raises(TableError, match="There is no folder"):
        gone.open({})


def test_late_files_are_counted_and_not_read(tmp_path, opened, caplog):
    for k in (2, 3):
        (tmp_path / f"{k}.csv").write_text(text(10 * k, 10 * k + 5))
    source = opened()
    assert drained(source) == expected(20, 25) + expected(30, 35)
    (tmp_path / "1.csv").write_text(text(0, 5))
    (tmp_path / "2a.csv").write_text(text(0, 5))
    assert drained(source) == []
    assert source.problems == {"late_files": 2}
    assert "1.csv came too late" in caplog.text
    after = source.position()
    source.close()
    # Also those that come while no watch runs; and none is counted twice.
    (tmp_path / "2b.csv").write_text(text(0, 5))
    source = opened(after)
    assert drained(source) == []
    assert source.problems == {"late_files": 1}


def test_only_the_last_names_are_remembered(tmp_path, opened, monkeypatch):
    monkeypatch.setattr("causewatch.streaming.sources.folder_names.REMEMBERED", 4)
    for k in range(8):
        (tmp_path / f"{k}.csv").write_text(text(5 * k, 5 * k + 5))
    source = opened()
    assert drained(source, 40) == expected(0, 40)
    after = source.position()
    assert after["seen"] == ["4.csv", "5.csv", "6.csv", "7.csv"]
    (tmp_path / "5a.csv").write_text(text(0, 1))
    (tmp_path / "0.csv").unlink()
    source = opened(after)
    assert drained(source) == []
    assert source.problems == {"late_files": 1}


def test_rows_are_counted_over_all_files_and_headers_may_be_missing(tmp_path, opened):
    (tmp_path / "1").write_text("a,b\n0,0\n1,1\n2,2\n3,3\n")
    (tmp_path / "2").write_text("4,4\n5,5\n6,6\n7,7\n8,8\n")
    source, times = opened(), []
    for _ in range(10):
        times += source.poll(0.0).times.tolist()
    assert [one // 1_000_000_000 for one in times] == list(range(9))
    after = source.position()
    with (tmp_path / "2").open("a") as file:
        file.write("9,9\n")
    source.close()
    source = opened(after)
    batch = source.poll(1.0)
    assert (batch.times.tolist(), batch.values.tolist()) == ([9_000_000_000], [[9.0, 9.0]])


@pytest.mark.parametrize("header", ["time,a,b\n", ""])
def test_first_rows_of_a_file_like_the_one_before_come_at_once(header, tmp_path, opened):
    (tmp_path / "1.csv").write_text(text(0, 9))
    source = opened()
    assert drained(source) == expected(0, 9)
    log = tmp_path / "2.csv"
    log.write_text(header)
    for k in range(9, 14):
        with log.open("a") as file:
            file.write(text(k, k + 1, ""))
        assert drained(source, 8) == expected(k, k + 1)
        if k in (9, 12) and not header:  # a later run knows the columns, too
            source.close()
            source = opened(source.position())
    assert source.problems == {}


def test_a_file_may_go_away_while_no_watch_runs(tmp_path, opened):
    (tmp_path / "1.csv").write_text(text(0, 5))
    source = opened()
    drained(source)
    after = source.position()
    (tmp_path / "1.csv").unlink()
    (tmp_path / "2.csv").write_text(text(5, 10))
    source = opened(after)
    assert source.position() == after
    assert drained(source) == expected(5, 10)
    assert source.position()["rows"] == 10


def test_a_folder_that_goes_away_is_waited_for(tmp_path, caplog):
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "1.csv").write_text(text(0, 5))
    source = FolderSource(folder, WANTED, follow=True, every=0.0)
    source.open({})
    assert drained(source) == expected(0, 5)
    folder.rename(tmp_path / "elsewhere")
    assert drained(source) == []
    assert len([line for line in caplog.messages if "dumps cannot be read" in line]) == 1
    (tmp_path / "elsewhere").rename(folder)
    (folder / "2.csv").write_text(text(5, 10))
    assert drained(source) == expected(5, 10)
    source.close()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_kills_at_any_time_change_nothing(seed, tmp_path_factory):
    """Files of all kinds that are written bit by bit, and read by runs that are killed."""
    chance = random.Random(seed)
    folder, number, at = tmp_path_factory.mktemp("dumps"), 0, 0
    count = chance.randint(1, 120)

    def source_at(after):
        source = FolderSource(folder, WANTED, follow=True, every=0.0)
        source.open(after)
        return source

    source, kept, saved = source_at({}), [], ({}, 0)
    try:
        while at < count:
            step = chance.choice(["csv", "csv", "parquet", "gz", "poll", "poll", "save", "kill"])
            rows = min(chance.randint(2, 30), count - at)
            path = folder / f"{number}.{step}"
            if step == "poll":
                kept += values(source.poll(0.0))
            elif step == "save":
                saved = (json.loads(json.dumps(source.position())), len(kept))
            elif step == "kill":
                source.close()
                source = source_at(saved[0])
                assert not saved[0].get("file") or source.position() == saved[0]
                kept = kept[: saved[1]]
            else:
                if step == "parquet" and rows > 1:
                    parquet(path, at, at + rows)
                elif step == "gz":
                    path.write_bytes(gzip.compress(text(at, at + rows).encode()))
                else:
                    data = text(at, at + rows).encode()
                    cut = chance.randint(0, len(data))
                    path.write_bytes(data[:cut])
                    kept += values(source.poll(0.0))
                    with path.open("ab") as file:
                        file.write(data[cut:])
                number, at = number + 1, at + rows
        (folder / f"{number}.csv").write_text(text(count, count + 5))
        kept += drained(source, 20 + 6 * number)
        assert kept == expected(0, count + 5)
        assert source.problems == {}
    finally:
        source.close()
