"""Places that are shared out among addresses."""

from __future__ import annotations

import asyncio

import pytest

from causewatch.server.access.exchange import Refusal
from causewatch.server.access.shares import Shares, net_of
from causewatch.server.access.views import Views


def shares(most: int, idle: dict[str, float] | None = None, **held: int) -> Shares[str]:
    made: Shares[str] = Shares(most, lambda one: (idle or {}).get(one))
    for net, count in held.items():
        for k in range(count):
            made.add(net, f"{net}{k}")
    return made


def test_places_are_counted_by_address() -> None:
    made = shares(5, a=3, b=1)
    assert (len(made), made.held("a"), made.held("b"), made.held("c")) == (4, 3, 1, 0)
    assert not made.full
    made.add("b", "b1")
    assert made.full
    for one in ("b0", "b1", "b1", "nobody"):
        made.discard(one)
    assert (len(made), made.held("b")) == (3, 0)


def test_the_address_that_has_most_gives_way_with_its_latest() -> None:
    made = shares(6, a=4, b=2)
    assert made.giver("c") == "a3"
    assert made.giver("b") == "a3"
    assert made.giver("a") is None


@pytest.mark.parametrize(("a", "b"), [(3, 3), (4, 3)])
def test_nobody_gives_way_who_would_have_fewer_then(a: int, b: int) -> None:
    assert shares(a + b, a=a, b=b).giver("b") is None


def test_those_who_make_no_use_of_their_place_go_first() -> None:
    made = shares(6, {"a1": 5.0, "a2": 3.0, "b0": 1.0}, a=4, b=2)
    assert made.giver("c") == "a2"  # for longest, of those who have most
    assert made.giver("a") == "a2"


def test_but_not_for_somebody_who_has_more() -> None:
    assert shares(6, {"b0": 1.0}, a=4, b=2).giver("a") is None
    assert shares(6, {"b0": 1.0}, a=4, b=2).giver("c") == "b0"


def test_whoever_has_few_is_never_kept_out() -> None:
    """Whatever the others do: addresses that take all they get, and one that needs three."""
    made = shares(100)
    for k in range(1000):
        net = f"n{k % 10}"
        if made.full:
            gone = made.giver(net)
            if gone is None:
                continue
            made.discard(gone)
        made.add(net, f"{net}-{k}")
    for k in range(3):
        gone = made.giver("few")
        assert gone is not None
        made.discard(gone)
        made.add("few", f"few-{k}")
        assert made.giver("n0") is None or made.giver("n0") != f"few-{k}"
    assert made.held("few") == 3


@pytest.mark.parametrize(
    ("address", "net"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a:b", "a:b"),
        ("unknown", "unknown"),
    ],
)
def test_addresses(address: str, net: str) -> None:
    assert net_of(address) == net


class TestViews:
    """Live views end for others, and only then."""

    @staticmethod
    async def _begin(views: Views, address: str, ends: asyncio.Event) -> asyncio.Task[None]:
        async def answer() -> None:
            await ends.wait()

        task = asyncio.get_running_loop().create_task(views.look(address, answer))
        for _ in range(5):
            await asyncio.sleep(0)
        return task

    def test_the_latest_of_the_address_with_most_ends(self) -> None:
        async def run() -> None:
            views, ends = Views(3), asyncio.Event()
            many = [await self._begin(views, "10.0.0.1", ends) for _ in range(3)]
            with pytest.raises(Refusal, match="All 3 live views are taken, 3 of them from your"):
                await views.look("10.0.0.1", ends.wait)  # type: ignore[arg-type]
            one = await self._begin(views, "10.0.0.2", ends)
            assert [task.done() for task in (*many, one)] == [False, False, True, False]
            await many[2]  # it ended as if it had come to its end
            ends.set()
            await asyncio.gather(*many, one)
            again = await self._begin(views, "10.0.0.1", ends)  # there is room again
            await again

        asyncio.run(run())

    def test_whoever_serves_it_can_end_it_as_well(self) -> None:
        async def run() -> None:
            views, ends = Views(1), asyncio.Event()
            task = await self._begin(views, "10.0.0.1", ends)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            ends.set()
            await views.look("10.0.0.1", ends.wait)  # type: ignore[arg-type]

        asyncio.run(run())

    def test_a_view_that_does_not_end_is_not_waited_for_without_end(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("causewatch.server.access.views.LEAVING", 0.05)

        async def run() -> None:
            views, ends = Views(2), asyncio.Event()

            async def stubborn() -> None:
                while not ends.is_set():
                    try:
                        await ends.wait()
                    except asyncio.CancelledError:
                        continue

            tasks = [asyncio.ensure_future(views.look("10.0.0.1", stubborn)) for _ in range(2)]
            await asyncio.sleep(0)
            looked = asyncio.Event()

            async def look() -> None:
                looked.set()

            await views.look("10.0.0.2", look)
            assert looked.is_set()
            ends.set()
            await asyncio.gather(*tasks)

        asyncio.run(run())
