"""What tigramite found, frozen: values, p-values, links and parents."""

from __future__ import annotations

import json
from pathlib import Path

import generate
import numpy as np
import pytest

from causewatch.discovery.pcmci import pcmci

FOLDER = Path(__file__).parent


def test_every_case_is_frozen():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(generate.CASES)
    assert sum(path.stat().st_size for path in FOLDER.glob("*.npz")) < 300_000


@pytest.mark.parametrize("name", list(generate.CASES))
def test_it_finds_what_tigramite_finds(name):
    with np.load(FOLDER / f"{name}.npz") as frozen:
        golden = dict(frozen)
    about = json.loads(str(golden["about"]))
    values = golden["data"] if golden["data"].size else generate.recording(name)
    assert generate.digest(values) == about["sha256"], (
        "the recipe no longer gives the recording this file was made from; regenerate it"
    )
    max_lag, min_lag = golden["setting"].tolist()
    alpha, tolerance = float(golden["alpha"]), about["tolerance"]
    found = pcmci(
        values, max_lag=max_lag, min_lag=min_lag, alpha=alpha, starts=golden["starts"].tolist()
    )
    np.testing.assert_allclose(found.value[:, :, min_lag:], golden["value"], 0, tolerance)
    np.testing.assert_allclose(found.p_value[:, :, min_lag:], golden["p_value"], 0, tolerance)
    links = {(link.source, link.target, link.lag) for link in found.graph}
    expected = np.argwhere(golden["p_value"] <= alpha)
    assert links == {(f"x{i}", f"x{j}", lag + min_lag) for i, j, lag in expected}
    parents = [
        (j, int(source[1:]), lag)
        for j, name in enumerate(found.signals)
        for source, lag in found.parents[name]
    ]
    assert parents == list(map(tuple, golden["parents"].tolist()))
