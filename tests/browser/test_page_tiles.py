"""Tiles with value, unit and course; the score beside them is full from the first minute."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onlooker import PHONE
from playwright.sync_api import Page, expect

from causewatch.discovery import Knowledge
from services.dashboard import Dashboard, Plant, a_plant

pytestmark = pytest.mark.xdist_group("browser")

UNITS = {"T01": "bar", "T02": "m³/h"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A plant with units, of which forty ticks are known; not to be changed by tests."""
    plant = Plant([f"T{k + 1:02}" for k in range(6)])
    object.__setattr__(plant.model, "knowledge", Knowledge.from_dict({"units": UNITS}))
    with Dashboard(plant, tmp_path_factory.mktemp("measured")) as shown:
        shown.send(plant.rows(40))
        yield shown


def tile(page: Page, name: str) -> Any:
    return page.locator(f"a.tile[href*='{name}']")


def course(page: Page, name: str) -> list[tuple[float, float]]:
    """Corners of the line in a tile."""
    path = tile(page, name).locator(".tile-line path").get_attribute("d") or ""
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](\S+) (\S+?)(?=[ML]|$)", path)]


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE])
def test_a_tile_has_value_unit_and_course(
    measured: Dashboard, look: Callable[..., Any], size: Any
) -> None:
    page = look(measured, viewport=size).open("/")
    last = measured.plant.rows(40)[-1]
    for k, name in enumerate(measured.plant.names):
        shown = tile(page, name)
        value = float(shown.locator(".tile-value").inner_text().replace("−", "-"))
        assert value == pytest.approx(last[k], rel=1e-3)
        units = shown.locator(".tile-unit").all_text_contents()
        assert "".join(units).strip() == UNITS.get(name, "")
        # What was before the page was opened is there, too; the line fills its room.
        page.wait_for_function(
            "(path) => path.getAttribute('d')?.includes('L')",
            arg=shown.locator(".tile-line path").element_handle(),
        )
        corners = course(page, name)
        assert len(corners) > 20
        assert corners[0][0] == 0
        assert corners[-1][0] == 60
        heights = [y for _, y in corners]
        assert min(heights) >= 0
        assert max(heights) <= 16
        assert len(set(heights)) > 5
    # Who listens is told the same, with the whole name and without the drawing.
    seen = tile(page, "T02").inner_text()
    expect(tile(page, "T02")).to_have_accessible_name(re.compile(r"^T02 .*m³/h$"))
    assert "T02" in seen


def test_a_course_goes_on_live(dashboard: Dashboard, look: Callable[..., Any]) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(60))
    page = look(dashboard).open("/")
    line = tile(page, "T03").locator(".tile-line path")
    page.wait_for_function("(path) => path.getAttribute('d')", arg=line.element_handle())
    before = line.get_attribute("d")
    rows = plant.rows(40, seed=91)
    rows[20:, 2] = np.nan
    dashboard.send(rows)
    page.wait_for_function(
        "([path, before]) => path.getAttribute('d') !== before",
        arg=[line.element_handle(), before],
    )
    expect(tile(page, "T03").locator(".tile-value")).to_have_text("–")


def test_an_alarm_about_health_is_told_apart_without_colours(
    dashboard: Dashboard, look: Callable[..., Any]
) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(200))
    rows = plant.rows(120, seed=91)
    rows[20:, 5] = np.nan
    dashboard.send(rows)
    page = look(dashboard).open("/")
    badge = page.locator("nav .badge")
    expect(badge).to_have_text("◆ 1 health alarm is on")
    expect(page.locator(".verdict-words")).to_have_text("1 health alarm is on")
    expect(page).to_have_title(re.compile("^◆ 1"))
    expect(tile(page, "T06")).to_have_accessible_name(re.compile("no value"))
    page.goto(f"{dashboard.url}/history")
    expect(page.locator(".cell-state .tag")).to_have_class(re.compile("tag-warn"))
    dashboard.raise_alarm(1, seed=92)
    expect(badge).to_have_text(re.compile("^▲ 1 alarm is on|▲ 2 alarms are on"))
    page.goto(dashboard.url)
    expect(page.locator(".verdict-words")).to_have_text(re.compile("^(1 alarm is|2 alarms are) on"))
    # What is looked at first is what the alarm names first.
    first = page.locator(".verdict-start a").first
    expect(first).to_have_text("T02")
    (cause,) = {
        one["causes"][0]["signal"]
        for one in dashboard.watch.store.alarms()
        if one["kind"] == "anomaly"
    }
    assert cause == "T02"


def test_the_score_is_full_from_the_first_minute(
    dashboard: Dashboard, look: Callable[..., Any]
) -> None:
    plant = a_plant()
    dashboard.send(plant.rows(30))
    window = look(dashboard)
    window.expects("Canvas2D")  # pixels are read
    page = window.open("/")
    legend = page.locator(".now-chart .chart-legend")
    for last in ("08:00:29", "08:00:59"):
        expect(legend).to_contain_text(last)
        left, right = page.evaluate(PAINTED)
        # The first ticks cannot be judged; the others reach from edge to edge.
        assert left < 0.15, (last, left)
        assert right > 0.95, (last, right)
        dashboard.send(plant.rows(30, seed=91))


PAINTED = """() => {
  const canvas = document.querySelector(".now-chart canvas");
  const over = document.querySelector(".now-chart .u-over").getBoundingClientRect();
  const place = canvas.getBoundingClientRect();
  const ratio = canvas.width / place.width;
  const probe = document.createElement("i");
  probe.style.color = "var(--seen)";
  document.body.append(probe);
  const wanted = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
  probe.remove();
  const [x, y] = [(over.left - place.left) * ratio, (over.top - place.top) * ratio];
  const [width, height] = [Math.floor(over.width * ratio), Math.floor(over.height * ratio)];
  const { data } = canvas.getContext("2d").getImageData(x, y, width, height);
  let [left, right] = [width, 0];
  for (let k = 0; k < data.length; k += 4) {
    const other = [0, 1, 2].some((c) => Math.abs(data[k + c] - wanted[c]) > 40);
    if (data[k + 3] < 100 || other) continue;
    const at = (k / 4) % width;
    left = Math.min(left, at);
    right = Math.max(right, at);
  }
  return [left / width, right / width];
}"""
"""Where the line of the score begins and ends, as shares of the width of the chart."""
