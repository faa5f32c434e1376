"""Files that would end the process that reads them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading

import polars as pl
import pytest

from causewatch.data import apart, open_table, read_table
from causewatch.data.apart import (
    NotReadableError,
    ReadingProcess,
    ReadingStoppedError,
    stops_when,
)
from causewatch.errors import CausewatchError, TableError
from causewatch.testing.waiting import PATIENCE
from mutated import GOOD, forged_book, mutated, table

FILES = 200
CRASHES = {"parquet": (609, 920, 1528, 1776, 22445), "xlsx": (), "csv": ()}
"""Further ones that make the reader panic, or hold times of no year."""


IDLE = (sys.executable, "-c", "import sys; sys.stdin.read()")
"""A process that takes requests and does nothing."""
needs_signals = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")


@pytest.fixture
def process():
    """A process of the test's own."""
    found = ReadingProcess()
    yield found
    found.close()


@pytest.mark.parametrize("kind", GOOD)
def test_mutated_files_are_read_or_refused(kind, tmp_path):
    path, refused = tmp_path / f"table.{kind}", []
    path.write_bytes(GOOD[kind])
    assert len(read_table(path)) == len(table())
    for seed in (*range(FILES), *CRASHES[kind]):
        path.write_bytes(mutated(GOOD[kind], seed))
        try:
            read_table(path)
        except CausewatchError as error:
            refused.append(str(error))
    assert 0 < len(refused) < FILES
    assert not [text for text in refused if "\n" in text]


def test_a_small_spreadsheet_of_17_billion_cells_is_refused(write):
    path = write(forged_book(), "normal.xlsx")
    assert path.stat().st_size < 2_000
    with pytest.raises(TableError, match=r"normal.xlsx cannot be read as a spreadsheet \(reading"):
        open_table(path)


def test_cells_that_a_spreadsheet_does_not_hold_are_not_made_up(write):
    path = write(forged_book(rows=300), "normal.xlsx")
    with pytest.raises(TableError, match=r"it claims 4,915,200 cells in 1,[0-9]{3} bytes"):
        open_table(path)


def test_what_ends_the_process_costs_that_file_only(process, write):
    good, bad = write(GOOD["xlsx"], "good.xlsx"), write(forged_book(), "bad.xlsx")

    def rows(path):
        return apart._frame(process.ask(path, "book_cells", size=9_000, skip=0, text=None))

    for _ in range(2):
        assert len(rows(good)) == len(table()) + 1
        with pytest.raises(NotReadableError, match="breaks off"):
            rows(bad)


def test_a_process_that_is_gone_is_replaced_without_a_word(process, write):
    path = write(GOOD["parquet"], "good.parquet")
    first = process.ask(path, "parquet_shape")
    process._process.kill()
    process._process.wait()
    assert process.ask(path, "parquet_shape") == first


@needs_signals
def test_a_process_that_is_stopped_is_replaced_and_told_of(write, caplog):
    path, process = write(GOOD["parquet"], "good.parquet"), ReadingProcess(patience=3.0)
    first = process.ask(path, "parquet_shape")
    stopped = process._process
    os.kill(stopped.pid, signal.SIGSTOP)
    assert process.ask(path, "parquet_shape") == first
    assert "good.parquet does nothing for 3 s; it was ended" in caplog.text
    assert stopped.wait() == -signal.SIGKILL
    process.close()


def test_a_file_over_which_nothing_is_done_is_refused(process, write, monkeypatch):
    monkeypatch.setattr(apart, "COMMAND", IDLE)
    process._patience = 0.2
    with pytest.raises(NotReadableError, match=r"its reader does nothing for 0.2 s, twice"):
        process.ask(write(GOOD["parquet"], "good.parquet"), "parquet_shape")


@needs_signals
def test_a_fresh_process_that_is_killed_is_not_the_fault_of_the_file(
    process, write, tmp_path, monkeypatch
):
    path, before = write(GOOD["parquet"], "good.parquet"), tmp_path / "before"
    *_, child = apart.COMMAND
    once = (
        "import os, runpy, signal, sys\n"
        "if os.path.exists(sys.argv[1]): runpy.run_path(sys.argv[2], run_name='__main__')\n"
        "else: open(sys.argv[1], 'w').close(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    monkeypatch.setattr(apart, "COMMAND", (sys.executable, "-c", once, str(before), child))
    assert b"switch" in process.ask(path, "parquet_shape")
    assert before.exists()


def test_work_is_a_sign_of_life(process, write, monkeypatch):
    work = (
        "import sys, time\n"
        "sys.path.insert(0, sys.argv[1]); import apart_child as child\n"
        "child.BEAT = 0.1\n"
        "def long(path):\n"
        "    while time.process_time() < 3: pass\n"
        "    return b'done'\n"
        "child.ANSWERS = {'work': long}; child.main()"
    )
    folder = os.path.dirname(apart.COMMAND[-1])
    monkeypatch.setattr(apart, "COMMAND", (sys.executable, "-c", work, folder))
    process._patience = 1.5
    assert process.ask(write(b"", "any"), "work") == b"done"


def test_nobody_waits_for_what_is_not_wanted_any_more(process, write, monkeypatch):
    monkeypatch.setattr(apart, "COMMAND", IDLE)
    path = write(GOOD["parquet"], "good.parquet")
    with stops_when(lambda: process._process is not None), pytest.raises(ReadingStoppedError):
        process.ask(path, "parquet_shape")
    assert process._process is None


def test_threads_take_turns(process, write):
    path, answers = write(GOOD["parquet"], "good.parquet"), []

    def ask(column):
        about = {"columns": [column], "start": 0, "count": 100}
        frame = apart._frame(process.ask(path, "parquet_rows", **about))
        answers.append((column, frame))

    threads = [threading.Thread(target=ask, args=(k % 5,)) for k in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 20
    for column, frame in answers:
        assert frame.equals(table()[:100, [column]])


def _rows_of(path, pipe):
    pipe.send(apart.parquet_shape(path))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_one_of_its_own(write):
    path = write(GOOD["parquet"], "good.parquet")
    assert len(read_table(path)) == len(table())
    asked, context = apart._process._process.pid, multiprocessing.get_context("fork")
    near, far = context.Pipe()
    forked = context.Process(target=_rows_of, args=(path, far))
    forked.start()
    assert near.poll(PATIENCE)
    assert near.recv() == (table().columns, len(table()))
    forked.join()
    assert (forked.exitcode, apart._process._process.pid) == (0, asked)
    assert len(read_table(path)) == len(table())


def test_fewer_rows_than_promised_are_damage(write, monkeypatch):
    path = write(GOOD["parquet"], "table.parquet")
    monkeypatch.setattr(
        "causewatch.data.files.parquet_shape", lambda path: (table().columns, 10**15)
    )
    with pytest.raises(TableError, match="fewer than the 1,000,000,000,000,000 rows"):
        open_table(path)


@pytest.mark.parametrize(
    "odd",
    [
        pl.Series([[1.0], [2.0]]),
        pl.Series([{"x": 1}, {"x": 2}]),
        pl.Series(["a", "b"]).cast(pl.Categorical),
    ],
)
def test_columns_come_as_they_are(odd, process, write):
    frame = pl.DataFrame({"odd": odd})
    path = write(b"", "odd.parquet")
    frame.write_parquet(path)
    about = {"columns": [0], "start": 0, "count": 2}
    found = apart._frame(process.ask(path, "parquet_rows", **about))
    assert found.equals(frame)
    assert found.schema == frame.schema
