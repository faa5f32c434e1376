"""Growing least squares against `numpy.linalg.lstsq` on all rows so far."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.kernels.triangular import GrowingLeastSquares
from recordings import SINGULAR, odd_units, offsets, singular, two_valued


def literal(columns, values):
    return np.linalg.lstsq(columns, values, rcond=None)[0]


def run(problems, compare, start=0):
    """Feed all problems side by side; call `compare(rows, solutions)` after every row."""
    sizes = np.array([columns.shape[1] for columns, _ in problems])
    growing = GrowingLeastSquares(sizes)
    for t in range(len(problems[0][1])):
        growing.add(
            np.concatenate([np.append(columns[t], values[t]) for columns, values in problems])
        )
        if t >= start:
            compare(t + 1, np.split(growing.solve(), np.cumsum(sizes)[:-1]))
    return growing


def with_ones(columns):
    return np.column_stack([columns, np.ones(len(columns))])


def largest_difference(problems, skip=1):
    """Largest difference from the literal solution, relative to its largest coefficient."""
    worst = 0.0

    def compare(rows, solutions):
        nonlocal worst
        if rows % skip and rows > 40:
            return
        for (columns, values), mine in zip(problems, solutions, strict=True):
            theirs = literal(columns[:rows], values[:rows])
            size = np.abs(theirs).max()
            worst = max(worst, float(np.abs(mine - theirs).max()) / (size if size > 0 else 1.0))

    run(problems, compare)
    return worst


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 9))
def test_random_problems_of_different_sizes(seed, problems, width):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, width + 1, problems)
    given_problems = [(rng.normal(size=(25, size)), rng.normal(size=25)) for size in sizes]
    assert largest_difference(given_problems) < 1e-9


@pytest.mark.parametrize("kind", SINGULAR)
def test_singular_columns_get_the_solution_of_least_norm(kind):
    values = singular(3, kind)
    problems = [(with_ones(values[:, :4]), values[:, 4]), (with_ones(values[:, 1:4]), values[:, 0])]
    assert largest_difference(problems, skip=5) < 1e-8


@pytest.mark.parametrize("rows", [odd_units(5), offsets(5), two_valued(5, 6, 300)])
def test_awkward_units_levels_and_switches(rows):
    problems = [(with_ones(rows[:, 1:]), rows[:, 0]), (with_ones(rows[:, :3]), rows[:, 4])]
    assert largest_difference(problems, skip=5) < 1e-6


def test_columns_that_stand_still_for_a_long_time():
    rng = np.random.default_rng(8)
    columns = rng.normal(size=(300, 4))
    columns[:150, 1] = 2.0  # as constant as the intercept
    columns[:220, 2] = 0.0
    assert largest_difference([(with_ones(columns), rng.normal(size=300))], skip=3) < 1e-9


def test_columns_that_move_one_after_the_other(monkeypatch):
    """Fillings come and go; and while nothing new moves, no decomposition is needed.

    That holds once there are so many rows that what counts as zero is well above the rounding of
    a decomposition; how soon that is depends on the processor.
    """
    calls = []
    svd = np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda a: calls.append(len(a)) or svd(a))
    rng = np.random.default_rng(9)
    columns = rng.normal(size=(900, 6)) * 10.0 ** np.array([0, 3, -2, 1, 2, 0])
    for k, begin in enumerate([0, 200, 350, 500, 650, 800]):
        columns[:begin, k] = 40.0 * k
    columns[:, 5] = 2.0 * columns[:, 0] - 0.5 * columns[:, 3] + 7.0  # a sum that never breaks
    values = rng.normal(size=900)
    assert largest_difference([(with_ones(columns), values)], skip=4) < 1e-8
    calls.clear()
    run([(with_ones(columns), values)], lambda rows, _: calls.append(-rows) if rows == 300 else 0)
    assert len(calls) - calls.index(-300) - 1 < 20


def test_many_rows():
    rng = np.random.default_rng(10)
    columns = rng.normal(size=(6_000, 4)) + 50.0
    columns[:, 2] = columns[:, 1]
    columns[:, 3] = 6.0
    problem = (with_ones(columns), rng.normal(size=6_000) + columns[:, 0])
    last = {}
    run([problem], lambda rows, solutions: last.update({0: solutions[0]}), start=5_999)
    every = {}
    run([problem], lambda rows, solutions: every.update({0: solutions[0]}))
    expected = literal(*problem)
    assert np.allclose(last[0], expected, rtol=1e-9, atol=1e-9)
    assert np.allclose(every[0], expected, rtol=1e-9, atol=1e-9)


def test_digits_that_normal_equations_lose():
    """Nearly collinear columns: the condition number squared is beyond double precision."""
    rng = np.random.default_rng(2)
    base = rng.normal(size=200)
    columns = with_ones(np.column_stack([base, base + 1e-7 * rng.normal(size=200)]))
    truth = np.array([3.0, -2.0, 1.0])
    problem = (columns, columns @ truth)
    answers = {}
    run([problem], lambda rows, solutions: answers.update({rows: solutions[0]}), start=199)
    assert np.allclose(answers[200], truth, rtol=1e-7)
    squared = np.linalg.solve(columns.T @ columns, columns.T @ problem[1])
    assert not np.allclose(squared, truth, rtol=1e-4)


def test_no_singular_values_where_rows_and_columns_are_independent(monkeypatch):
    calls = []
    svd = np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda a: calls.append(len(a)) or svd(a))
    rng = np.random.default_rng(4)
    problem = (with_ones(rng.normal(size=(2000, 5))), rng.normal(size=2000))
    run([problem], lambda rows, solutions: None)
    assert not calls


def test_a_problem_without_a_row_stays_as_it_is():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(40, 3))
    growing = GrowingLeastSquares(np.array([2, 2]))
    for t, row in enumerate(rows):
        other = row if t % 3 else np.full(3, np.nan)
        growing.add(np.concatenate([row, other]), np.array([True, t % 3 != 0]))
    kept = rows[np.arange(40) % 3 != 0]
    solution = growing.solve()
    assert np.allclose(solution[:2], literal(rows[:, :2], rows[:, 2]))
    assert np.allclose(solution[2:], literal(kept[:, :2], kept[:, 2]))
    assert growing.rows.tolist() == [40, len(kept)]


def test_no_row_and_rows_of_zeros_give_zero():
    growing = GrowingLeastSquares(np.array([3, 1]))
    assert not growing.solve().any()
    for _ in range(5):
        growing.add(np.zeros(6))
        assert not growing.solve().any()


def test_a_snapshot_gives_the_same_bits():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(60, 14))
    rows[:30, 1] = rows[:30, 0]  # rank comes late
    one = GrowingLeastSquares(np.array([4, 4, 3]))
    for row in rows[:25]:
        one.add(row.copy())
        one.solve()
    other = GrowingLeastSquares(np.array([4, 4, 3]))
    other.restore(one.snapshot())
    for row in rows[25:]:
        one.add(row.copy())
        other.add(row.copy())
        assert np.array_equal(one.solve(), other.solve())


def test_every_problem_has_a_column():
    with pytest.raises(ValueError, match="at least one column"):
        GrowingLeastSquares(np.array([1, 0]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 12), st.integers(0, 3))
@settings(deadline=None)
def test_rank_that_comes_bit_by_bit(seed, problems, width, level):
    """Rows within the span and rows that leave it, before and after there are enough of them.

    Columns start to move one after the other, some are sums or copies of others for good, rows are
    repeated, some are missing, and the units are up to four powers of ten apart.
    """
    rng = np.random.default_rng(seed)
    given_problems, present = [], rng.random((70, problems)) < 0.9
    for _ in range(problems):
        size = int(rng.integers(1, width + 1))
        columns = rng.normal(size=(70, size)) * 10.0 ** rng.integers(-2, 3, size)
        columns += level * 10.0 ** rng.integers(-1, 2)
        for column in np.flatnonzero(rng.random(size) < 0.4).tolist():
            columns[: rng.integers(5, 70), column] = level
        for column in np.flatnonzero(rng.random(size) < 0.3).tolist():
            columns[:, column] = columns @ rng.integers(-1, 2, size)
        repeated = np.flatnonzero(rng.random(70) < 0.3)[1:]
        columns[repeated] = columns[repeated - 1]
        given_problems.append((with_ones(columns), rng.normal(size=70)))
    sizes = np.array([columns.shape[1] for columns, _ in given_problems])
    growing = GrowingLeastSquares(sizes)
    ends = np.cumsum(sizes)
    for t, here in enumerate(present):
        rows = [np.append(columns[t], values[t]) for columns, values in given_problems]
        growing.add(np.concatenate(rows), here)
        solution = growing.solve()
        for k, (columns, values) in enumerate(given_problems):
            mine = solution[ends[k] - sizes[k] : ends[k]]
            seen = np.flatnonzero(present[: t + 1, k])
            if not len(seen):
                assert not mine.any()
                continue
            theirs = literal(columns[seen], values[seen])
            assert np.abs(mine - theirs).max() <= 1e-7 * np.abs(theirs).max()


def test_a_direction_that_first_shows_faintly_is_turned():
    """The first row that leaves the span says little about where to; later ones say it well."""
    rng = np.random.default_rng(11)
    columns = np.outer(np.ones(60), rng.normal(size=6)) * 1e3
    direction = rng.normal(size=6)
    columns[20:30] += 1e-6 * direction
    columns[30:] += rng.normal(size=(30, 1)) * direction
    values = columns @ rng.normal(size=6)
    growing = GrowingLeastSquares(np.array([6]))
    for t in range(60):
        growing.add(np.append(columns[t], values[t]))
        solution = growing.solve()
        if t < 20 or t > 35:
            assert np.allclose(solution, literal(columns[: t + 1], values[: t + 1]), rtol=1e-7)


def test_values_near_the_cutoff_are_cut_as_by_the_literal_solution():
    """A column that is a copy but for its last digits, more or fewer of them than are kept.

    As far as the literal solution is one: it moves itself when the last bit of the columns does.
    """
    rng = np.random.default_rng(12)
    kept = set()
    for digits in np.linspace(-16.0, -11.0, 26):
        columns, values = rng.normal(size=(60, 3)), rng.normal(size=60)
        columns[:, 2] = columns[:, 0] + 10.0**digits * columns[:, 2]
        answers = {}
        run([(columns, values)], lambda rows, solutions: answers.update({rows: solutions[0]}))  # noqa: B023
        sizes = np.linalg.svd(columns, compute_uv=False)
        share = sizes[-1] / sizes[0] / (60 * np.finfo(float).eps)
        kept.add(share > 1.0)
        if 0.9 < share < 1.1:
            continue
        theirs = literal(columns, values)
        shaken = [columns * (1.0 + 2e-16 * rng.choice([-1, 1], (60, 3))) for _ in range(9)]
        doubt = max(np.abs(literal(other, values) - theirs).max() for other in shaken)
        assert np.abs(answers[60] - theirs).max() <= 10.0 * doubt
    assert kept == {True, False}
