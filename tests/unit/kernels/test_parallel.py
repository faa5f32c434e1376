"""Work spread over threads."""

from __future__ import annotations

import threading
import time

import pytest

from causewatch.kernels import parallel
from causewatch.kernels.parallel import one_thread, spread
from causewatch.testing.waiting import PATIENCE


@pytest.fixture(params=[1, 2, 4])
def cores(request, monkeypatch):
    monkeypatch.setattr(parallel, "_cores", lambda: request.param)
    return request.param


def test_results_come_in_the_order_of_the_items(cores):
    def work(item):
        time.sleep(0.002 * (item % 3 == 0))  # every third one takes longer
        return item * item

    assert list(spread(work, range(40))) == [k * k for k in range(40)]


def test_no_items_give_no_results(cores):
    assert list(spread(str, [])) == []


def test_an_exception_reaches_the_caller(cores):
    results = spread(lambda item: 1 / (3 - item), range(10))
    assert [next(results) for _ in range(3)] == [1 / 3, 1 / 2, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_an_exception_in_the_items_reaches_the_caller(cores):
    def items():
        yield 1
        raise KeyError

    with pytest.raises(KeyError):
        list(spread(str, items()))


def test_only_a_few_items_are_taken_ahead(cores):
    taken = []

    def endless():
        k = 0
        while True:
            taken.append(k)
            yield k
            k += 1

    results = spread(lambda item: item, endless())
    for expected in range(50):
        assert next(results) == expected
        assert len(taken) <= expected + 1 + 2 * cores
    results.close()


def test_several_threads_work_when_there_are_several_cores(monkeypatch):
    monkeypatch.setattr(parallel, "_cores", lambda: 2)
    both = threading.Barrier(2, timeout=PATIENCE)  # passes only if two items are under way at once
    assert len(list(spread(lambda _: both.wait(), range(2)))) == 2


def test_there_is_at_least_one_core():
    assert parallel._cores() >= 1


def test_linear_algebra_on_one_thread():
    def threads():
        blas = parallel._controller().select(user_api="blas")
        return [library["num_threads"] for library in blas.info()]

    before = threads()
    with one_thread():
        assert set(threads()) <= {1}
        assert threads()
    assert threads() == before
