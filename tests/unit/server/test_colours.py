"""Colours of the page can be told apart also by people who see fewer of them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import causewatch.server

BASE = Path(causewatch.server.__file__).parent / "static" / "css" / "base.css"
# How colours look with no cone of one kind: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHT = {
    "usual": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
STATES = ("bad", "warn-fill", "good")
"""Edges and fills that tell the state of a signal or an alarm; texts have a sign as well."""
LINES = ("seen", "expected")
"""Lines of a chart, of which one is dashed as well."""
APART = 20.0
"""Distance in CIELAB; about 2 is the least that anybody sees side by side."""


def themes() -> dict[str, dict[str, str]]:
    text = BASE.read_text()
    blocks = {"light": text.index(":root {"), "dark": text.index(':root[data-theme="dark"] {')}
    return {
        name: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", text[at : text.index("}", at)]))
        for name, at in blocks.items()
    }


def lab(colour: str, sight: str) -> np.ndarray:
    """A colour in CIELAB, as somebody sees it."""
    light = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(SIGHT[sight]) @ linear, 0, 1)
    xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ) @ seen / (0.9505, 1.0, 1.089)  # fmt: skip
    root = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("group", [STATES, LINES], ids=["states", "lines"])
def test_they_are_apart(group: tuple[str, ...], theme: str, sight: str) -> None:
    colours = themes()[theme]
    apart = {
        (a, b): float(np.linalg.norm(lab(colours[a], sight) - lab(colours[b], sight)))
        for a, b in itertools.combinations(group, 2)
    }
    assert min(apart.values()) > APART, apart


def test_the_dark_colours_stand_twice_and_are_the_same() -> None:
    found = re.findall(r"--paper: #11161b.*?color-scheme: dark", BASE.read_text(), re.S)
    assert len(found) == 2
    assert found[0].split() == found[1].split()
