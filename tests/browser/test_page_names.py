"""Long names of signals: cut where that is needed only, and never so that two read the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onlooker import PHONE
from playwright.sync_api import Page, expect

from services.dashboard import Dashboard, Plant

pytestmark = pytest.mark.xdist_group("browser")

FLOWS = ("Volume flow 1→2 [l/min]", "Volume flow 2→3 [l/min]")
LONGEST = "Accelerometer of the third gear of the second mill, filtered and smoothed RMS"
NAMES = (
    *FLOWS,
    "Temperature boiler inlet [°C]",
    "Temperature boiler outlet [°C]",
    LONGEST,
    "Pressure",
)

CUT_OFF = """(nodes) => nodes
  .filter((node) => node.scrollWidth > node.clientWidth)
  .map((node) => node.textContent)"""


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """Two signals stand still, one of them far outside its range; not to be changed by tests."""
    plant = Plant(NAMES)
    with Dashboard(plant, tmp_path_factory.mktemp("wordy")) as shown:
        shown.send(plant.rows(200))
        rows = plant.rows(120, 92, 1)
        rows[60:, 1] = rows[60, 1] + 30.0
        rows[60:, 4] = rows[60, 4]
        shown.send(rows)
        yield shown


def tile(page: Page, name: str) -> Any:
    return page.locator("a.tile").nth(NAMES.index(name))


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE])
def test_tiles_use_the_room_there_is(wordy: Dashboard, look: Callable[..., Any], size: Any) -> None:
    page = look(wordy, viewport=size).open("/")
    names = page.locator(".tile-name")
    expect(tile(page, FLOWS[1]).locator(".tile-ill")).to_contain_text("out of range")
    expect(tile(page, FLOWS[1]).locator(".tile-word")).to_contain_text("▲")
    expect(tile(page, LONGEST).locator(".tile-word")).to_contain_text("▲")
    for part in (".tile-name", ".tile-word", ".tile-ill"):
        cut = page.locator(part).evaluate_all(CUT_OFF)
        assert not cut, (part, cut)
    shown = names.all_text_contents()
    assert len(set(shown)) == len(NAMES)
    assert "Pressure" in shown
    for name, words in zip(NAMES, shown, strict=True):
        begin, _, end = words.partition("…")
        assert name.startswith(begin)
        assert end.removesuffix("…") in name
        assert len(begin) >= 4, words  # what it is about
    # More room, more of the name.
    page.set_viewport_size({"width": 330, "height": 800})
    expect(names.first).to_have_text(NAMES[0])


BROKEN = """(nodes) => nodes
  .filter((node) => node.getBoundingClientRect().height
    > 1.7 * parseFloat(getComputedStyle(node).lineHeight || 20))
  .map((node) => node.textContent)"""
UNKEPT = """(nodes) => nodes
  .filter((node) => 0.6 * node.scrollWidth > node.clientWidth)
  .map((node) => node.textContent)"""
LONG = (
    "Works_2/Hall_1/Mill_3/Bearing_temperature_drive_side_filtered",
    "Works_2/Hall_1/Mill_3/Bearing_temperature_free_side_filtered",
    *(f"P{k}" for k in range(4)),
)


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE])
def test_names_are_cut_in_the_middle_and_never_broken(
    serve: Callable[..., Dashboard], look: Callable[..., Any], size: Any
) -> None:
    plant = Plant(LONG)
    shown = serve(plant)
    shown.send(plant.rows(200))
    alarm = shown.raise_alarm(1)
    window = look(shown, viewport=size)
    page = window.open("/")
    quoted = f"signal={LONG[0].replace('/', '%2F')}"
    for path, least in (
        ("/", 3),
        ("/graph", 6),
        (f"/graph?{quoted}", 2),
        ("/signals", 6),
        (f"/signals?{quoted}", 1),
        ("/history", 1),
        (f"/alarm/{alarm}", 3),
        ("/model?tab=mechanisms", 6),
        ("/model?tab=limits", 6),
    ):
        window.go(page, path)
        names = page.locator("main .signal-name:visible")
        assert names.count() >= least, path
        assert not names.evaluate_all(BROKEN), path
        # The whole name is there for those who listen or search, and when pointed at.
        texts = set(names.all_text_contents())
        assert texts <= set(LONG), path
        assert texts & set(LONG[:2]), path
        whole = names.filter(has_text="Bearing").first
        assert whole.get_attribute("title") in LONG
        # What tells the two apart is not what gives way.
        kept = page.locator("main .signal-name-kept:visible")
        assert all("_side_" in one for one in kept.all_text_contents()), path
        assert not kept.evaluate_all(UNKEPT), path
        # Nothing is wider than the page because of it.
        page_width = page.evaluate("() => document.scrollingElement.scrollWidth - innerWidth")
        assert page_width <= 0, path


def test_where_all_begin_alike_the_beginning_says_nothing(
    wordy: Dashboard, look: Callable[..., Any]
) -> None:
    page = look(wordy).open("/")
    found = page.evaluate(
        """async () => {
          const { live } = await import("/static/js/live.js");
          const { shortName } = await import("/static/js/names.js");
          const names = ["Works/Hall 1/Boiler/Pressure", "Works/Hall 2/Boiler/Pressure"];
          const { plant } = live;
          live.plant = { ...plant, signals: names.map((name) => ({ name, label: null })) };
          const short = names.map((name) => shortName(name, 22));
          live.plant = plant;
          return short;
        }"""
    )
    assert found == ["…1/Boiler/Pressure", "…2/Boiler/Pressure"]


def test_names_beside_the_timeline_end_with_their_row(
    wordy: Dashboard, look: Callable[..., Any]
) -> None:
    page = look(wordy, viewport=PHONE).open("/history")
    expect(page.locator(".timeline-name").first).to_be_visible()
    # Names that are as long as they may be, whatever the letters are like.
    page.evaluate(
        """() => document.querySelectorAll(".timeline-words")
          .forEach((node) => { node.textContent = "WWWW WWWWWW ".repeat(8); })"""
    )
    seen = page.locator(".timeline-name").evaluate_all(
        """(nodes) => nodes.map((node) => {
          const words = node.firstElementChild;
          return [words.getBoundingClientRect().height, node.getBoundingClientRect().height,
            parseFloat(getComputedStyle(words).lineHeight), node.title];
        })"""
    )
    assert seen
    for words, row, line, title in seen:
        assert words <= row
        assert np.isclose(words % line, 0.0), "half a line is seen"
        assert any(name in title for name in NAMES)
