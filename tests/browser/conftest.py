"""The page in a real browser. One worker runs all of it: browsers are hungry."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from services.dashboard import Dashboard, Plant, a_plant

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# Of a module only: while it is open its event loop counts as running in this thread, and
# tests elsewhere start loops of their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without windows."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Gives windows: ``look(dashboard, **options)``; the test fails if one saw anything wrong."""
    from onlooker import Onlooker

    opened: list[Onlooker] = []

    def new(shown: Dashboard | str, **options: Any) -> Onlooker:
        url = shown if isinstance(shown, str) else shown.url
        opened.append(Onlooker(chromium, url, **options))
        return opened[-1]

    yield new
    problems: list[str] = []
    for one in opened:
        try:
            one.close()
        except AssertionError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


class Story(Dashboard):
    """A watch that has seen something.

    Attributes
    ----------
    over, on
        Ids of an alarm about T01, which is over, and one about T02, which is on.
    """

    over: str
    on: str


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A plant with an alarm that is over and one that is on; not to be changed by tests."""
    plant = a_plant()
    with Story(plant, tmp_path_factory.mktemp("story"), keep=True) as shown:
        shown.send(plant.rows(200))
        shown.over = shown.raise_alarm(0)
        shown.send(plant.rows(60, seed=200))
        shown.on = shown.raise_alarm(1, seed=92)
        yield shown


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Plant], Dashboard]]:
    """Shows a plant of the test's own: ``serve(plant)``. To be asked for before `look`."""
    with ExitStack() as stack:
        yield lambda plant: stack.enter_context(Dashboard(plant, tmp_path))


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    """A watch of the test's own, to which nothing has happened yet."""
    with Dashboard(a_plant(), tmp_path, keep=True) as shown:
        yield shown
