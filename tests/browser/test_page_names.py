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
