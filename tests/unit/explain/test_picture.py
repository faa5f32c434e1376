"""Files written by `draw`."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from causewatch.errors import SettingError
from causewatch.explain import draw
from causewatch.graph import CausalGraph, Link, Strength
from causewatch.model.layout import usual_strength

EVIL = ("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"a&b'", "$x^2_{$")


def small(names=("P1", "L1", "F1", "T1"), value=0.5):
    a, b, c, d = names
    return CausalGraph(
        names,
        {
            Link(a, a, 1): Strength(0.8, 0.0),
            Link(a, b, 1): Strength(value, 0.001),
            Link(a, b, 3): Strength(-0.9 * value, 0.001),
            Link(b, c, 0): Strength(value, 0.001),
            Link(c, b, 0): Strength(value, 0.001),
            Link(c, d, 2): Strength(0.01, 0.5),
        },
    )


def large(count=100, links=700):
    rng = np.random.default_rng(0)
    names = [f"S{k}" for k in range(count)]
    found = {}
    while len(found) < links:
        a, b = rng.choice(names, 2, replace=False)
        found[Link(str(a), str(b), int(rng.integers(0, 4)))] = Strength(
            float(rng.uniform(-1, 1)), 0.0
        )
    return CausalGraph(names, found)


def svg_texts(path):
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


class Page(HTMLParser):
    """Collects tags, and the text of the data element."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.data, self.title, self._inside = [], "", "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "data":
            self.data += data
        if self._inside == "title":
            self.title += data


def test_svg_shows_names_lags_and_caption(tmp_path):
    path = tmp_path / "graph.svg"
    about = {"title": "Plant", "labels": {"F1": "Flow"}, "groups": {"Stage 1": ["P1"]}}
    draw(small(), path, min_strength=0.3, **about)
    texts = svg_texts(path)
    for wanted in ("Plant", "P1", "L1", "Flow", "Stage 1", "other", "1, 3", "0"):
        assert wanted in texts
    assert "F1" not in texts
    foot = " ".join(text for text in texts if text)
    assert "4 of 5 links between signals, |value| > 0.3" in foot
    assert "1 signal without such a link: T1." in foot
    assert "line without head" in foot
    assert "Number on an arrow: lag in ticks" in foot
    draw(small(), path, min_strength=0.3, every=10.0)
    texts = svg_texts(path)
    assert "10, 30 s" in texts
    assert "Time on an arrow: how long the effect takes" in " ".join(text for text in texts if text)


@pytest.mark.parametrize("weakest", [0.002, 0.2, 0.55])
def test_pictures_show_about_two_links_for_each_signal(tmp_path, weakest):
    """However strong the links of a plant are, a picture shows some and no thicket."""
    names = [f"S{k}" for k in range(20)]
    random = np.random.default_rng(4)
    links = {
        Link(one, other, 1): Strength(float(random.uniform(weakest, weakest + 0.4)), 0.0)
        for one in names
        for other in names
        if one != other
    }
    path = tmp_path / "graph.svg"
    draw(CausalGraph(names, links), path)
    foot = " ".join(text for text in svg_texts(path) if text)
    shown = int(re.search(r"(\d+) of 380 links between signals, \|value\| > 0\.\d", foot).group(1))
    assert 20 <= shown <= 60
    assert usual_strength(small()) == 0.0  # few enough: all


def test_nothing_strong_enough(tmp_path):
    draw(small(value=0.2), tmp_path / "graph.svg", min_strength=0.3)
    assert "No link has |value| > 0.3; the strongest 5 of 5 links" in " ".join(
        svg_texts(tmp_path / "graph.svg")
    )


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_same_graph_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        draw(small(), tmp_path / (name + suffix), title="Plant")
    first = (tmp_path / f"a{suffix}").read_bytes()
    assert first == (tmp_path / f"b{suffix}").read_bytes()
    assert b"dc:date" not in first


def test_png_is_one(tmp_path):
    draw(small(), tmp_path / "graph.PNG")
    assert (tmp_path / "graph.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "graph",
    [
        CausalGraph(["A"], {}),
        CausalGraph(["A", "B"], {Link("A", "B", 1): Strength(2.5, 0.0)}),
        CausalGraph([f"S{k}" for k in range(70)], {}),
        CausalGraph(["A", "B"], {Link("A", "B", 1): Strength(float("nan"), float("nan"))}),
        CausalGraph(["A", "B"], {Link("A", "A", 1): Strength(-0.4, float("nan"))}),
        small(("压力传感器", "Ψ_μ·δ", "a\x00b\x1b", "x" * 90)),
    ],
)
@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_odd_graphs_are_drawn(tmp_path, graph, suffix):
    path = tmp_path / f"graph{suffix}"
    draw(graph, path)
    if suffix == ".svg":
        assert svg_texts(path)
    if suffix == ".html":
        assert len(json.loads(Page(path.read_text(encoding="utf-8")).data)["signals"]) > 0


def test_a_large_graph_becomes_an_overview(tmp_path):
    groups = {f"Unit {k}": [f"S{j}" for j in range(100) if j % 5 == k] for k in range(5)}
    draw(large(), tmp_path / "graph.svg", groups=groups)
    texts = svg_texts(tmp_path / "graph.svg")
    assert set(groups) <= set(texts)
    assert "S1" not in texts
    assert any(text.startswith("100 signals in 5 groups.") for text in texts if text)
    draw(large(), tmp_path / "free.svg")
    assert any(text.startswith("around S") for text in svg_texts(tmp_path / "free.svg") if text)


def test_names_stay_text_in_svg(tmp_path):
    path = tmp_path / "graph.svg"
    draw(small(EVIL), path, title=EVIL[0], groups={EVIL[1]: EVIL[:2]})
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    tags = {node.tag.rsplit("}", 1)[-1] for node in root.iter()}
    assert not tags & {"img", "script", "a", "foreignObject"}
    texts = svg_texts(path)
    assert EVIL[0] in texts
    assert any("$x^2_{$" in text for text in texts if text)


def test_names_stay_text_on_the_page(tmp_path):
    path = tmp_path / "graph.html"
    draw(small(EVIL), path, title=EVIL[1], groups={EVIL[0]: EVIL[:2]})
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert "img" not in [tag for tag, _ in page.tags]
    assert [attrs for tag, attrs in page.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]
    assert "alert(1)</script>" not in text
    assert not set(page.data) & set("<>&")
    data = json.loads(page.data)
    assert [signal["name"] for signal in data["signals"]] == list(EVIL)
    assert data["groups"] == [EVIL[0], "other"]
    assert page.title == EVIL[1]


def test_the_page_asks_nobody_and_shows_names_as_text_only(tmp_path):
    path = tmp_path / "graph.html"
    draw(small(), path)
    text = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    for tag, attrs in Page(text).tags:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], tag
        assert "src" not in attrs


def test_the_page_holds_every_link_between_signals(tmp_path):
    draw(small(), tmp_path / "graph.html", labels={"P1": "Pump"}, min_strength=0.3, every=60)
    data = json.loads(Page((tmp_path / "graph.html").read_text(encoding="utf-8")).data)
    assert len(data["links"]) == 5
    assert [0, 1, 3, -0.45, 0.001] in data["links"]
    assert data["signals"][0]["label"] == "Pump"
    assert data["signals"][0]["auto"] == 0.8
    assert data["least"] == 0.3
    assert data["lags"]["3"] == "3 min"
    assert data["overview"] is False


@pytest.mark.parametrize("suffix", [".gml", ".dot", ".json"])
def test_data_formats_hold_every_link(tmp_path, suffix):
    graph = small()
    path = tmp_path / f"graph{suffix}"
    draw(graph, path, min_strength=0.9)
    assert path.read_text(encoding="utf-8") == getattr(graph, f"to_{suffix[1:]}")()


def test_names_stay_text_in_dot(tmp_path):
    draw(small(EVIL), tmp_path / "graph.dot")
    for line in (tmp_path / "graph.dot").read_text(encoding="utf-8").splitlines():
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        assert "<" not in outside
        assert '"' not in outside


@pytest.mark.parametrize("name", ["graph.pdf", "graph"])
def test_unknown_suffix(tmp_path, name):
    with pytest.raises(SettingError, match=r"\.svg, \.png, \.html, \.gml, \.dot, \.json"):
        draw(small(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("least", [-0.1, float("nan")])
def test_strength_must_be_a_number(tmp_path, least):
    with pytest.raises(SettingError, match="min_strength"):
        draw(small(), tmp_path / "graph.svg", min_strength=least)


def test_own_positions(tmp_path):
    draw(
        small(),
        tmp_path / "graph.svg",
        positions={n: (k, 0) for k, n in enumerate(small().signals)},
    )
    for suffix in ("svg", "html"):
        with pytest.raises(SettingError, match="lack L1, F1"):
            draw(small(), tmp_path / f"graph.{suffix}", positions={"P1": (0, 0), "T1": (2, 2)})


def test_no_signals(tmp_path):
    with pytest.raises(SettingError, match="no signals"):
        draw(CausalGraph([], {}), tmp_path / "graph.svg")


def test_an_existing_file_is_replaced_whole(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text("old", encoding="utf-8")
    draw(small(), path)
    assert json.loads(path.read_text(encoding="utf-8")) == small().to_dict()
    assert [file.name for file in tmp_path.iterdir()] == ["graph.json"]


def test_nothing_is_left_behind_where_writing_fails(tmp_path):
    (tmp_path / "graph.svg").mkdir()
    with pytest.raises(SettingError, match="Cannot write"):
        draw(small(), tmp_path / "graph.svg")
    with pytest.raises(SettingError, match="Cannot write"):
        draw(small(), tmp_path / "absent" / "graph.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["graph.svg"]


def test_own_figures_and_settings_stay_untouched(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw(small(), tmp_path / "graph.svg")
    assert dict(matplotlib.rcParams) == before


def test_a_picture_on_axes_is_that_of_a_file(tmp_path):
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    left, right = Figure().subplots(1, 2)
    draw(small(), ax=right, title="Normal")
    draw(small(), tmp_path / "graph.png", title="Normal")
    (image,) = right.get_images()
    np.testing.assert_array_equal(image.get_array(), imread(tmp_path / "graph.png"))
    assert not right.axison
    assert left.axison
    assert not left.get_images()


def test_a_file_or_axes_and_a_graph_are_asked_for(tmp_path):
    from matplotlib.figure import Figure

    for wrong in ({}, {"path": tmp_path / "graph.svg", "ax": Figure().subplots()}):
        with pytest.raises(SettingError, match="either the path of a file to write or ax"):
            draw(small(), **wrong)
    with pytest.raises(SettingError, match=r"such as model\.graph; .* type dict"):
        draw({}, tmp_path / "graph.svg")
    assert list(tmp_path.iterdir()) == []
