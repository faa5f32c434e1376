"""Work spread over the cores by threads, with BLAS kept to one thread each.

The matrices here are small. A multi-threaded BLAS spends more time waiting for its threads than
computing on them (ten times more where other programs use the machine), so the cores are given
independent pieces of work instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread", "spread"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks at every loaded library: once is enough


def one_thread() -> AbstractContextManager[object]:
    """BLAS and LAPACK run on one thread inside; entering and leaving takes some microseconds."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this operating system
        return os.cpu_count() or 1


def spread(
    work: Callable[[Item], Result], items: Iterable[Item], *, threads: bool = True
) -> Iterator[Result]:
    """``work(item)`` for every item, in the order of the items.

    Only a few items are taken ahead, so `items` may be a generator over more data than fits into
    memory. `work` must spend its time in numpy, which lets other threads run meanwhile. Where
    one piece of work takes less than a few milliseconds, threads cost more than they bring.
    """
    cores = _cores()
    with one_thread():
        if cores == 1 or not threads:
            yield from map(work, items)
            return
        pool = ThreadPoolExecutor(cores)
        try:
            source = iter(items)
            running = [pool.submit(work, item) for item in islice(source, 2 * cores)]
            while running:
                yield running.pop(0).result()
                running += [pool.submit(work, item) for item in islice(source, 1)]
        finally:
            # Whoever interrupts must not wait for pieces of work that nobody wants any more.
            pool.shutdown(wait=False, cancel_futures=True)
