"""Rows from tags that come one by one, against a slow and obvious twin."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.streaming import assembly
from causewatch.streaming.assembly import RowAssembler

S = 1_000_000_000
NOW = 1_790_000_000 * S  # on the grid of a second
DAY = 86_400 * S

Row = tuple[int, tuple[float | None, ...]]


def plain(values: Any) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(value) else float(value) for value in values)


def fetch(rows: RowAssembler) -> list[Row]:
    found: list[Row] = []
    while len(batch := rows.rows()):
        for time, values in zip(batch.times.tolist(), batch.values, strict=True):
            found.append((time, plain(values)))
    return found


def again(rows: RowAssembler, fresh: RowAssembler) -> RowAssembler:
    """The same from its snapshot, through JSON that knows no NaN."""
    fresh.restore(json.loads(json.dumps(rows.snapshot(), allow_nan=False)))
    return fresh


class Twin:
    """The rule as it is written: all values ever are kept, and every row looks at all of them."""

    def __init__(
        self, columns: tuple[str, ...], every: int, stale: dict[str, int | None], late: int
    ) -> None:
        self.columns, self.every, self.stale, self.late = columns, every, stale, late
        self.known: list[tuple[str, int, float]] = []
        self.latest: int | None = None
        self.next: int | None = None  # time of the next row
        self.rows: list[Row] = []
        self.late_values = 0

    def take(self, signal: str, value: float, time: int) -> None:
        self.move(time, value=True)
        assert self.next is not None
        shown = self.last(signal, self.next - self.every)
        if time <= self.next - self.every and shown is not None and shown[1] > time:
            self.late_values += 1
        else:
            self.known.append((signal, time, value))

    def alive(self, time: int) -> None:
        if self.next is None:
            self.latest = time
        else:
            self.move(time, value=False)

    def move(self, time: int, value: bool) -> None:
        self.latest = time if self.latest is None else max(self.latest, time)
        if self.next is None:
            self.next = next(t for t in range(self.latest, self.latest + self.every) if not t % 4)
        while self.next < self.latest - self.late:
            self.rows.append((self.next, tuple(self.shown(one) for one in self.columns)))
            self.next += self.every

    def last(self, signal: str, time: int) -> tuple[str, int, float] | None:
        past = [one for one in self.known if one[0] == signal and one[1] <= time]
        return max(reversed(past), key=lambda one: one[1], default=None)  # the last one, if equal

    def shown(self, signal: str) -> float | None:
        assert self.next is not None
        last, limit = self.last(signal, self.next), self.stale[signal]
        if last is None or (limit is not None and self.next - last[1] > limit):
            return None
        return None if math.isnan(last[2]) else last[2]


# Times in units so small that everything can be tried: a row every 4 of them.
events = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from("abc"),
            st.one_of(st.just(math.nan), st.integers(-9, 9).map(float)),
            st.integers(-12, 12),
        ),
        st.tuples(st.just("alive"), st.just(0.0), st.integers(-3, 12)),
        st.tuples(st.just("rows"), st.just(0.0), st.just(0)),
        st.tuples(st.just("restore"), st.just(0.0), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=200)
@given(
    events=events,
    late=st.integers(0, 15),
    stale=st.dictionaries(st.sampled_from("abc"), st.integers(0, 20)),
    default=st.one_of(st.none(), st.integers(0, 20)),
)
def test_the_rule(
    events: list[tuple[str, float, int]],
    late: int,
    stale: dict[str, int],
    default: int | None,
) -> None:
    columns = ("a", "b", "c")

    def fresh() -> RowAssembler:
        return RowAssembler(
            columns,
            4e-9,
            stale={name: limit * 1e-9 for name, limit in stale.items()},
            default_stale=None if default is None else default * 1e-9,
            late=late * 1e-9,
        )

    rows, found, late_values = fresh(), list[Row](), 0
    twin = Twin(columns, 4, {one: stale.get(one, default) for one in columns}, late)
    now = 1000
    for what, value, step in events:
        if what == "rows":
            found += fetch(rows)
        elif what == "restore":
            late_values += rows.problems.get("late_values", 0)
            rows = again(rows, fresh())
        elif what == "alive":
            now = max(now, now + step)
            rows.alive(now)
            twin.alive(now)
        else:
            rows.take(what, value, now + step)
            twin.take(what, value, now + step)
            now = max(now, now + step)
    found += fetch(rows)
    assert found == twin.rows
    assert late_values + rows.problems.get("late_values", 0) == twin.late_values
    assert set(rows.problems) <= {"late_values"}


wild = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "x", "alive", "restore"]),
        st.one_of(st.floats(), st.integers(-5, 5)),
        st.one_of(
            st.integers(-5, 50).map(lambda n: NOW + n * S),
            st.sampled_from([0, 1, NOW - DAY, NOW + DAY, 4_102_444_800 * S]),
            st.integers(-(1 << 70), 1 << 70),
        ),
    ),
    max_size=80,
)


def play(events: list[tuple[str, float, int]], restoring: bool, fetching: bool) -> list[Any]:
    """The rows of some events, and how many of each problem there were."""

    def fresh() -> RowAssembler:
        return RowAssembler(["a", "b", "c"], 1.0, late=5.0, default_stale=60.0)

    rows, found, problems = fresh(), list[Row](), Counter[str]()
    for what, value, time in events:
        if what == "restore":
            if restoring:
                problems.update(rows.problems)
                rows = again(rows, fresh())
            if fetching:
                found += fetch(rows)
        elif what == "alive":
            rows.alive(time)
        else:
            rows.take(what, value, time)
    return [found + fetch(rows), problems + Counter(rows.problems)]


# Clocks that go on, with now and then one that is off, for a while or for good.
clocks = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "a", "b", "c", "alive", "restore"]),
        st.integers(0, 3),
        st.sampled_from([1, 2, 50, 650, -700, -4000, 90_000, -90_000]),
        st.integers(1, 30),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(clocks=clocks)
def test_whatever_the_clocks_do_restoring_and_fetching_change_nothing(
    clocks: list[tuple[str, int, int, int]],
) -> None:
    events, now = [], NOW
    for what, lasting, jump, count in clocks:
        if not lasting:
            now += jump * S
        for number in range(count):
            off = jump * S if lasting and number < lasting else 0
            events.append(("abc"[number % 3], float(number), now + off))
            now += S // 2
        events.append((what, 1.0, now))
    plain = play(events, restoring=False, fetching=False)
    assert play(events, restoring=True, fetching=False) == plain
    assert play(events, restoring=True, fetching=True) == plain
    found, problems = plain
    assert sum(after[0] <= before[0] for before, after in pairwise(found)) <= problems["time_jumps"]


@settings(max_examples=80)
@given(events=wild)
def test_wild_times_and_values_neither_raise_nor_pile_up(
    events: list[tuple[str, float, int]],
) -> None:
    rows = RowAssembler(["a", "b"], 1.0, late=5.0)
    for what, value, time in events:
        if what == "alive":
            rows.alive(time)
        elif what == "restore":
            rows = again(rows, RowAssembler(["a", "b"], 1.0, late=5.0))
        else:
            rows.take(what, value, time)
    state = rows.snapshot()
    assert len(state["waiting"]) <= 2 * 7
    assert len(state["ready"]) <= len(events) * assembly.MOST_SILENT
    times = [time for time, _ in fetch(rows)]
    falls = sum(after <= before for before, after in pairwise(times))
    assert all(time % S == 0 for time in times)
    assert falls <= rows.problems.get("time_jumps", 0) + sum(e[0] == "restore" for e in events)


def test_first_row_and_what_is_missing() -> None:
    rows = RowAssembler(["a", "b"], 1.0)
    assert rows.missing == ("a", "b")
    rows.take("a", 1.0, NOW + S // 4)
    rows.take("a", 2.0, NOW + 2 * S + 1)
    assert rows.missing == ("b",)
    assert fetch(rows) == [(NOW + S, (1.0, None)), (NOW + 2 * S, (1.0, None))]
    rows.finish()
    assert fetch(rows) == [(NOW + 3 * S, (2.0, None))]


def test_values_at_the_time_of_a_row_belong_to_it() -> None:
    rows = RowAssembler(["a", "b"], 1.0)
    for second in range(3):
        rows.take("a", second, NOW + second * S)
        rows.take("b", -second, NOW + second * S)
    assert fetch(rows) == [(NOW, (0.0, 0.0)), (NOW + S, (1.0, -1.0))]
    assert not rows.problems


def test_old_values_at_the_beginning_are_last_values_not_the_present() -> None:
    rows = RowAssembler(["valve", "flow"], 1.0)
    rows.alive(NOW)
    rows.take("valve", 1.0, NOW - 300 * DAY)
    rows.take("flow", 2.5, NOW + S // 2)
    rows.take("flow", 2.6, NOW + 2 * S)
    assert fetch(rows) == [(NOW, (1.0, None)), (NOW + S, (1.0, 2.5))]
    assert not rows.problems


@pytest.mark.parametrize("odd", [0, NOW - DAY, NOW + DAY, 4_102_444_800 * S])
def test_a_single_odd_time_costs_itself_only(odd: int) -> None:
    rows = RowAssembler(["a", "b"], 1.0)
    for second in range(20):
        rows.take("a", second, NOW + second * S)
        if second == 9:
            rows.take("b", 99.0, odd)
            rows.alive(4_102_444_800 * S)
        else:
            rows.take("b", second, NOW + second * S)
    found = fetch(rows)
    assert [time for time, _ in found] == [NOW + second * S for second in range(19)]
    assert found[9][1] == (9.0, 8.0)
    assert rows.problems == {"odd_times": 2}


def test_a_device_whose_clock_is_wrong_is_outvoted() -> None:
    """20 of 50 tags begin in 1970 with every scan, which comes in one go."""
    columns = [f"s{number}" for number in range(50)]
    rows = RowAssembler(columns, 1.0)
    for second in range(30):
        for number, name in enumerate(columns):
            rows.take(name, second, second * S if number >= 30 else NOW + second * S)
    found = fetch(rows)
    assert len(found) == 29
    # The clock of 1970 advances, so its values are the newest of their signals: old, not late.
    assert all(values[0] is not None for _, values in found)
    assert not rows.problems


def test_a_device_ahead_of_the_others_is_outvoted() -> None:
    columns = [f"s{number}" for number in range(50)]
    rows = RowAssembler(columns, 1.0)
    for second in range(30):
        for number, name in enumerate(columns):
            rows.take(name, second, NOW + (second + 86_400 * (number >= 30)) * S)
    found = fetch(rows)
    assert [time for time, _ in found] == [NOW + second * S for second in range(29)]
    assert rows.problems == {"odd_times": 29 * 20}  # the newest of each is still in doubt


def test_a_clock_that_all_agree_on_is_believed_and_no_newest_value_is_lost() -> None:
    rows = RowAssembler(["a", "b", "c"], 1.0, default_stale=10.0)
    for name in "abc":
        rows.take(name, 1.0, NOW)
    for name in "abc":
        rows.take(name, 2.0, NOW + DAY)
    for name in "abc":
        rows.take(name, 3.0, NOW + DAY + S)
    assert fetch(rows) == [(NOW, (1.0, 1.0, 1.0)), (NOW + DAY, (2.0, 2.0, 2.0))]
    assert rows.problems == {"time_jumps": 1}


def test_after_a_pause_one_tag_alone_is_believed_after_a_while() -> None:
    rows = RowAssembler(["a", "b", "c"], 1.0)
    for name in "abc":
        rows.take(name, 1.0, NOW)
    for second in range(20):
        rows.take("a", second, NOW + 2 * DAY + second * S)
    found = fetch(rows)
    assert found[0] == (NOW, (1.0, 1.0, 1.0))
    assert found[1] == (NOW + 2 * DAY + 9 * S, (9.0, 1.0, 1.0))
    assert len(found) == 11
    assert rows.problems == {"odd_times": 9, "time_jumps": 1}


def test_silence_makes_no_millions_of_rows() -> None:
    rows = RowAssembler(["a"], 0.01)
    rows.take("a", 1.0, NOW)
    rows.take("a", 2.0, NOW + 599 * S)  # not odd, but 59,900 rows
    rows.take("a", 3.0, NOW + 600 * S)
    found = fetch(rows)
    assert found[0] == (NOW, (1.0,))
    assert [time for time, _ in found[1:]] == [NOW + 599 * S + n * S // 100 for n in range(100)]
    assert rows.problems == {"time_jumps": 1}


def test_last_values_are_held_through_a_short_silence() -> None:
    rows = RowAssembler(["a", "b"], 1.0, stale={"b": 30.0})
    rows.take("a", 1.0, NOW)
    rows.take("b", 2.0, NOW)
    rows.alive(NOW + 500 * S + 1)
    found = fetch(rows)
    assert len(found) == 501
    assert found[30] == (NOW + 30 * S, (1.0, 2.0))
    assert found[31] == (NOW + 31 * S, (1.0, None))


def test_a_clock_set_back_by_a_day_is_believed_once_nothing_else_comes() -> None:
    rows = RowAssembler(["a", "b"], 1.0, default_stale=5.0)
    for second in range(3):
        rows.take("a", second, NOW + second * S)
    rows.take("b", 7.0, NOW + 2 * S)
    for second in range(20):
        rows.take("a", 100 + second, NOW - DAY + second * S)
    found = fetch(rows)
    assert [time for time, _ in found[:3]] == [NOW, NOW + S, NOW + 2 * S]
    assert found[2][1] == (2.0, 7.0)
    assert found[3] == (NOW - DAY + 9 * S, (109.0, 7.0))  # of b, the last value there is …
    assert found[8][1] == (114.0, 7.0)
    assert found[9][1] == (115.0, None)  # … until it is stale
    assert rows.problems == {"odd_times": 10, "time_jumps": 1}


def test_what_is_sent_again_is_late_and_no_clock_set_back() -> None:
    rows = RowAssembler(["a", "b"], 1.0)
    sent = [("ab"[n % 2], float(n), NOW + n * S // 10) for n in range(1000)]
    for one in sent:
        rows.take(*one)
    first = fetch(rows)
    for one in sent[-500:]:
        rows.take(*one)
    assert fetch(rows) == []
    rows.take("a", 0.0, NOW + 101 * S)
    assert [time for time, _ in first + fetch(rows)] == [NOW + n * S for n in range(101)]
    assert set(rows.problems) == {"late_values"}


def test_a_clock_set_back_by_minutes_costs_five_of_them() -> None:
    rows = RowAssembler(["a"], 1.0)
    for second in range(2000):
        rows.take("a", second, NOW + second * S)
    fetch(rows)
    for second in range(500):
        rows.take("a", second, NOW + second * S)
    found = fetch(rows)
    assert [time for time, _ in found[1:3]] == [NOW + 301 * S, NOW + 302 * S]
    assert rows.problems == {"late_values": 302, "time_jumps": 1}


def test_what_is_no_number_is_missing_and_counted() -> None:
    rows = RowAssembler(["a"], 1.0)
    for second, value in enumerate([1.0, math.inf, 10**400, "no", None, math.nan, 2.0, 3.0]):
        rows.take("a", value, NOW + second * S)  # type: ignore[arg-type]
    rows.take("other", 1.0, NOW)
    rows.take("a", 1.0, 1 << 63)
    rows.alive(-(1 << 63))
    assert [values[0] for _, values in fetch(rows)] == [1.0, None, None, None, None, None, 2.0]
    assert rows.problems == {"bad_values": 4, "unknown_tags": 1, "bad_times": 2}


def test_rows_that_nobody_fetches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MOST_READY", 10)
    rows = RowAssembler(["a", "b"], 1.0)
    for second in range(9):
        rows.take("a", second, NOW + second * S)
    assert rows.problems == {"lost_rows": 3}
    assert [values[0] for _, values in fetch(rows)] == [0.0, 1.0, 2.0, 3.0, 4.0]
    rows.take("a", 9.0, NOW + 9 * S)
    assert fetch(rows) == [(NOW + 8 * S, (8.0, None))]


def test_rows_come_a_few_thousand_at_once() -> None:
    rows = RowAssembler(["a"], 1.0)
    rows.take("a", 1.0, NOW)
    for part in range(1, 19):
        rows.alive(NOW + part * 600 * S)
    sizes = []
    times = np.empty(0, dtype=np.int64)
    while len(batch := rows.rows()):
        sizes.append(len(batch))
        times = np.append(times, batch.times)
    assert max(sizes) <= 4096
    assert len(sizes) > 2
    assert times.tolist() == [NOW + n * S for n in range(10_800)]


def test_a_snapshot_goes_on_with_another_interval_and_other_columns() -> None:
    rows = RowAssembler(["a", "b"], 1.0, late=10.0)
    for second in range(15):
        rows.take("a", second, NOW + second * S)
        rows.take("b", -second, NOW + second * S)
    fetch(rows)
    other = again(rows, RowAssembler(["b", "c"], 2.0, late=10.0))
    assert other.missing == ("c",)
    other.finish()
    assert fetch(other)[:2] == [(NOW + 4 * S, (-4.0, None)), (NOW + 6 * S, (-6.0, None))]
    other.restore({})
    assert other.missing == ("b", "c")


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"every": 0.0}, "time between two rows is 0.0 s"),
        ({"every": math.nan}, "time between two rows"),
        ({"every": 1.0, "late": -1.0}, "late values is -1.0 s"),
        ({"every": 0.001, "late": 3600.0}, "at most 1,000,000 are possible"),
        ({"every": 1.0, "stale": {"a": -1.0}}, "staleness limit of a"),
        ({"every": 1.0, "default_stale": math.nan}, "staleness limit of a"),
    ],
)
def test_settings_that_make_no_sense(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        RowAssembler(["a"], **settings_)


def test_every_problem_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "connect" / "rows.md").read_text(encoding="utf-8")
    said = RowAssembler.problems.__doc__ or ""
    kinds = re.findall(r"``([a-z_]+)``", said)
    assert len(kinds) == 7
    assert [kind for kind in kinds if f"`{kind}`" not in page] == ["unknown_tags"]  # of sources
