"""Ticks: row by row, in pieces and by the obvious twin of the rules, the same to the last bit."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.data.table import NANOSECONDS, TimeTable
from causewatch.preprocess import Averager, Decimator

STEPS = [0.0, 0.1, 0.45, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.6, 2.0, 3.7, 9.0]
"""Times between two rows, in intervals: equal times, jitter, missing rows, gaps."""


@st.composite
def recordings(draw):
    """Rows, the way they are cut, and how they are to be averaged."""
    rows = draw(st.integers(1, 60))
    signals = draw(st.integers(1, 3))
    interval = draw(st.sampled_from([1.0, 0.25, 0.1, 3.0]))
    steps = draw(st.lists(st.sampled_from(STEPS), min_size=rows, max_size=rows))
    begin = draw(st.sampled_from([0, -5 * NANOSECONDS, 1_451_296_800_123_456_789]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    values = 1e3 + rng.normal(size=(rows, signals)) * 10.0 ** rng.integers(-3, 4, signals)
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))] = np.nan
    if draw(st.booleans()):
        values[rng.random(values.shape) < 0.05] = np.inf
    starts = {0, *draw(st.lists(st.integers(0, rows - 1), max_size=3))}
    cuts = sorted({0, rows, *draw(st.lists(st.integers(0, rows), max_size=6))})
    return {
        "time": begin + np.rint(np.cumsum(steps) * interval * NANOSECONDS).astype(np.int64),
        "values": values,
        "starts": np.array(sorted(starts), dtype=np.intp),
        "interval": interval,
        "every": interval * draw(st.sampled_from([1.0, 2.0, 2.5, 3.0, 5.0, 7.0])),
        "hold": draw(st.integers(0, 3)),
        "believed": draw(st.sampled_from([None, (999.0, 1e100), (0.0, 1001.0)])),
        "cuts": cuts,
    }


def ticker_for(recording):
    signals, believed = recording["values"].shape[1], recording["believed"]
    return Averager(
        signals,
        every=recording["every"],
        interval=recording["interval"],
        hold=recording["hold"],
        believed=believed and tuple(np.full(signals, bound) for bound in believed),
    )


def row_by_row(ticker, recording):
    ticks = []
    starts = set(recording["starts"].tolist())
    rows = zip(recording["time"].tolist(), recording["values"], strict=True)
    for number, (time, values) in enumerate(rows):
        ticks += ticker.row(time, values, number in starts)
    return ticks + ticker.flush()


def pieces(recording):
    """The recording as chunks, cut at `cuts`; an empty chunk may be among them."""
    starts = recording["starts"]
    for low, high in pairwise(recording["cuts"]):
        inside = starts[(starts >= low) & (starts < high)] - low
        yield TimeTable(
            signals=tuple(f"x{k}" for k in range(recording["values"].shape[1])),
            values=recording["values"][low:high],
            time=recording["time"][low:high],
            starts=inside,
            interval=recording["interval"],
            continues=not (len(inside) and inside[0] == 0),
        )


def piece_by_piece(ticker, recording):
    ticks = []
    for chunk in pieces(recording):
        table = ticker.rows(chunk)
        assert table.values.shape == (len(table.time), recording["values"].shape[1])
        begins = np.isin(np.arange(len(table)), table.starts)
        assert table.continues == (not begins[:1].any())
        ticks += list(zip(table.time.tolist(), table.values, begins.tolist(), strict=True))
    return ticks + ticker.flush()


def obvious(recording):
    """The rules at the top of `causewatch.preprocess.ticks`, one after the other."""
    every = round(recording["every"] * NANOSECONDS)
    interval = round(recording["interval"] * NANOSECONDS)
    signals = recording["values"].shape[1]
    bounds = [*recording["starts"].tolist(), len(recording["time"])]
    low_bound, high_bound = recording["believed"] or (-math.inf, math.inf)
    held = [0] * signals
    out = []
    for low, high in pairwise(bounds):
        origin = int(recording["time"][low])
        # Which rows make up which tick of this stretch.
        ticks, complete, current = {}, set(), 0
        for row in range(low, high):
            place = int(recording["time"][row]) - origin + interval // 2
            current = max(current, place // every)
            if current in complete:
                current += 1
            ticks.setdefault(current, []).append(row)
            if (place + interval) // every > current:
                complete.add(current)
        if current not in complete:  # the last one: enough rows?
            expected = math.ceil(every / interval)
            if len(ticks[current]) < expected / 2:
                del ticks[current]
        if not ticks:
            continue
        # Means, held values.
        last, age = [math.nan] * signals, [0] * signals
        for number in range(min(ticks), max(ticks) + 1):
            rows = ticks.get(number, [])
            if rows:
                time = int(recording["time"][rows[-1]])
            else:
                after = min(other for other in ticks if other > number)
                time = int(recording["time"][ticks[after][-1]]) - (after - number) * every
            values = []
            for k in range(signals):
                there = [v for v in recording["values"][rows, k].tolist() if math.isfinite(v)]
                there = [v for v in there if low_bound <= v <= high_bound]
                if there:
                    total = 0.0  # `sum` adds more exactly than one after the other
                    for v in there:
                        total += v
                    last[k], age[k] = total / len(there), 0
                    values.append(last[k])
                    continue
                age[k] += 1
                hold = age[k] <= recording["hold"] and not math.isnan(last[k])
                held[k] += hold
                values.append(last[k] if hold else math.nan)
            out.append((time, np.array(values), number == min(ticks)))
    return out, held


def assert_same(one, other):
    assert [(time, new) for time, _, new in one] == [(time, new) for time, _, new in other]
    for (_, left, _), (_, right, _) in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)  # bitwise, NaN equal to NaN


@settings(max_examples=300)
@given(recordings())
def test_rows_pieces_and_the_obvious_twin_agree(recording):
    by_row, by_piece = ticker_for(recording), ticker_for(recording)
    before = {key: np.copy(recording[key]) for key in ("values", "time", "starts")}
    rows = row_by_row(by_row, recording)
    assert_same(rows, piece_by_piece(by_piece, recording))
    truth, held = obvious(recording)
    assert_same(rows, truth)
    assert by_row.held.tolist() == by_piece.held.tolist() == held
    assert by_row.wild.tolist() == by_piece.wild.tolist()
    for key, value in before.items():
        np.testing.assert_array_equal(recording[key], value)  # inputs stay as they are


@settings(max_examples=100)
@given(recordings(), st.integers(0, 60))
def test_the_two_paths_may_take_turns(recording, change):
    """A recording to begin with, then a live stream that goes on from there."""
    rows = len(recording["time"])
    change = min(change, rows)
    turns = ticker_for(recording)
    ticks = []
    for chunk in pieces(recording | {"cuts": sorted({0, change})}):
        table = turns.rows(chunk)
        begins = np.isin(np.arange(len(table)), table.starts).tolist()
        ticks += list(zip(table.time.tolist(), table.values, begins, strict=True))
    for row in range(change, rows):
        ticks += turns.row(
            int(recording["time"][row]), recording["values"][row], row in recording["starts"]
        )
    ticks += turns.flush()
    plain = ticker_for(recording)
    assert_same(ticks, row_by_row(plain, recording))
    assert turns.held.tolist() == plain.held.tolist()


@settings(max_examples=100)
@given(recordings(), st.integers(1, 9))
def test_decimation_is_plain_slicing_with_zero_for_missing(recording, step):
    signals = recording["values"].shape[1]
    kept = recording["values"][::step]
    expected = [
        (int(time), np.where(np.isfinite(row), row, 0.0), number == 0)
        for number, (time, row) in enumerate(zip(recording["time"][::step], kept, strict=True))
    ]
    assert_same(row_by_row(Decimator(signals, step=step), recording), expected)
    assert_same(piece_by_piece(Decimator(signals, step=step), recording), expected)
