"""Rows come, and none of them can be used."""

from __future__ import annotations

from causewatch.streaming.dropping import MANY, Dropping


def test_it_is_said_once_and_again_after_rows_that_could_be_used() -> None:
    dropping = Dropping()
    assert not dropping.look(10, {"bad_lines": 5})
    assert not dropping.look(10, {"bad_lines": 5 + MANY - 1, "reconnects": 500})
    said = dropping.look(10, {"bad_lines": 5 + MANY})
    assert said.startswith(f"None of the last {MANY} rows could be used (most were bad lines)")
    assert not dropping.look(10, {"bad_lines": 9 * MANY})
    assert not dropping.look(11, {"bad_lines": 9 * MANY})
    assert dropping.look(11, {"bad_lines": 10 * MANY})


def test_some_rows_that_make_no_sense_are_only_counted() -> None:
    dropping = Dropping()
    assert not any(dropping.look(k, {"bad_lines": 50 * k}) for k in range(100))
