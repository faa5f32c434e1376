"""The page in a real browser: what it shows, and what happens when a person uses it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from causewatch.explain import draw
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.testing.waiting import PATIENCE

EVIL = "<img src=x onerror=alert(1)>"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs the browser chromium")


class Seen(HTMLParser):
    """Keys and classes of what is drawn, and the text of the named elements."""

    def __init__(self, text):
        super().__init__()
        self.drawn, self.tags, self.texts, self._id = {}, [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        if "data-key" in found:
            self.drawn[found["data-key"]] = found.get("class", "").split()
        self._id = found.get("id", self._id)

    def handle_data(self, data):
        self.texts[self._id] = self.texts.get(self._id, "") + data


def see(path, tmp_path, script=None):
    """The page's document once drawn, after `script` if given."""
    text = path.read_text(encoding="utf-8")
    if script is not None:  # the page's own policy would, rightly, refuse to run it
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        path.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    done = subprocess.run(
        [
            BROWSER,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            f"--user-data-dir={tmp_path / 'profile'}",
            *("--window-size=1400,900", "--virtual-time-budget=2000", "--dump-dom"),
            path.as_uri(),
        ],
        capture_output=True,
        timeout=PATIENCE,
        check=True,
        encoding="utf-8",
    )
    return Seen(done.stdout)


def test_names_are_shown_as_text(tmp_path):
    graph = CausalGraph(
        [EVIL, "</script>", "b"],
        {Link(EVIL, "b", 1): Strength(0.5, 0.0), Link("b", "</script>", 2): Strength(0.1, 0.0)},
    )
    draw(graph, tmp_path / "graph.html", title=EVIL, min_strength=0.3)
    seen = see(tmp_path / "graph.html", tmp_path)
    assert set(seen.drawn) == {"s0", "s1", "s2"}
    assert seen.drawn["s1"] == ["node", "pale"]
    assert "img" not in seen.tags
    assert EVIL in seen.texts["panel"]
    assert seen.texts["status"].startswith(
        "1 of 2 links between signals, |value| > 0.30; 1 signal without such a link pale."
    )


def test_open_a_group_search_and_filter(tmp_path):
    names = [f"S{k}" for k in range(80)]
    links = {Link(names[k], names[(k + 7) % 80], k % 3): Strength(0.9, 0.0) for k in range(80)}
    graph = CausalGraph(names, links)
    groups = {f"Unit {k}": names[20 * k : 20 * (k + 1)] for k in range(4)}
    draw(graph, tmp_path / "graph.html", groups=groups, min_strength=0.3, every=2.0)
    (tmp_path / "used.html").write_bytes((tmp_path / "graph.html").read_bytes())

    assert set(see(tmp_path / "graph.html", tmp_path).drawn) == {"g0", "g1", "g2", "g3"}

    script = """
      const set = (id, value, kind) => {
        const node = document.getElementById(id);
        node.value = value;
        node.dispatchEvent(new Event(kind));
      };
      document.querySelector('[data-key="g1"]').dispatchEvent(
        new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
      set("search", "s45", "change");
      set("lag", "1", "change");
    """
    seen = see(tmp_path / "used.html", tmp_path, script)
    opened = {f"s{k}" for k in range(20, 60)}
    assert set(seen.drawn) == {"g0", "g3", "b1", "b2"} | opened
    assert "picked" in seen.drawn["s45"]
    assert "Causes (0)Effects (0)" in seen.texts["panel"]  # S38 →(2) S45 →(0) S52
    assert "|value| > 0.30, lag 2 s" in seen.texts["status"]
    assert {key for key in opened if "near" in seen.drawn[key]} == {"s45"}
