"""The three neural detectors: published layers, causal judging, faults found."""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from causewatch.data.table import TimeTable  # noqa: E402
from causewatch.errors import CausewatchError, NotEnoughDataError, SettingError  # noqa: E402
from causewatch.evaluation.baselines.base import Detector, Split  # noqa: E402
from causewatch.evaluation.baselines.neural.autoencoder import Tce  # noqa: E402
from causewatch.evaluation.baselines.neural.detector import Neural  # noqa: E402
from causewatch.evaluation.baselines.neural.filters import PrincipalFilter  # noqa: E402
from causewatch.evaluation.baselines.neural.forecasters import Rnn, Tcn  # noqa: E402
from causewatch.evaluation.baselines.neural.settings import Training  # noqa: E402

Floats = NDArray[np.float64]
SECOND = 1_000_000_000
QUICK = Training(epochs=6, samples=512, batch=32, rate=0.01)
KINDS = ["rnn", "tcn", "tce", "filtered"]


def values(rows: int, seed: int) -> Floats:
    """A slow signal, one that follows it, one on its own, and one that never moves."""
    draws = np.random.default_rng(seed)
    noise = draws.standard_normal((rows, 3))
    found = np.zeros((rows, 4))
    for t in range(1, rows):
        found[t, 0] = 0.97 * found[t - 1, 0] + 0.25 * noise[t, 0]
        found[t, 1] = 0.9 * found[t - 1, 0] + 0.2 * noise[t, 1]
        found[t, 2] = 0.8 * found[t - 1, 2] + 0.5 * noise[t, 2]
    found[:, 3] = 7.0
    return found


def table(rows: int, seed: int) -> TimeTable:
    times = np.arange(rows, dtype=np.int64) * SECOND
    return TimeTable(("a", "b", "c", "d"), values(rows, seed), times, np.array([0]), 1.0, "elapsed")


SPLIT = Split((table(1200, 1),), (table(600, 2),), 1.0, 2, 600.0, 5)


def make(kind: str, **more: Any) -> Neural:
    asked = {"training": QUICK, **more}
    if kind == "tcn":
        return Tcn(layers=(12, 12), **asked)
    if kind == "tce":
        return Tce(layers=(12, 4, 12, 3), kernel=4, window=8, **asked)
    return Rnn(hidden=12, window=8, principal=0.99 if kind == "filtered" else None, **asked)


@cache
def fitted(kind: str) -> Neural:
    detector = make(kind)
    detector.fit(SPLIT)
    return detector


def standardised(detector: Neural, rows: int, seed: int) -> Floats:
    return detector._standardised(values(rows, seed))


@pytest.mark.parametrize("kind", KINDS)
def test_windows_one_by_one_give_what_all_at_once_gives(kind: str) -> None:
    detector = fitted(kind)
    ticks = standardised(detector, 60, 7)
    score, parts = detector._judge(ticks)
    assert parts is not None
    assert np.isnan(score[: detector.reach]).all()
    assert np.isfinite(score[detector.reach :]).all()
    # The autoencoder judges in single precision, the others in double.
    near = {"rtol": 1e-4, "atol": 1e-5} if kind == "tce" else {"rtol": 1e-9, "atol": 1e-12}
    for place in range(detector.reach, len(ticks)):
        alone, shares = detector._judge(ticks[place - detector.reach : place + 1])
        assert shares is not None
        np.testing.assert_allclose(alone[-1], score[place], **near)
        np.testing.assert_allclose(shares[-1], parts[place], **near)


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_later_changes_nothing(kind: str) -> None:
    detector = fitted(kind)
    ticks = standardised(detector, 50, 8)
    other = ticks.copy()
    other[40:] += 5.0
    before, after = detector._judge(ticks)[0], detector._judge(other)[0]
    np.testing.assert_allclose(after[:40], before[:40], rtol=1e-4)
    assert after[40] > before[40]


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_ticks_than_needed_are_not_judged(kind: str) -> None:
    detector = fitted(kind)
    for rows in (0, 1, detector.reach):
        score, _ = detector._judge(standardised(detector, 50, 8)[:rows])
        assert len(score) == rows
        assert np.isnan(score).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_gross_fault_raises_an_alarm_that_names_its_signal(kind: str) -> None:
    detector = fitted(kind)
    normal = table(400, 11)
    broken = normal.values.copy()
    broken[300:330, 2] += 12.0
    verdicts = detector.watch(replace(normal, values=broken))
    calm = detector.watch(normal)
    assert np.nanmean(calm.alarm[:300]) < 0.05
    assert verdicts.score[300] > 1.0
    assert verdicts.score[300] > 5.0 * np.nanmedian(verdicts.score[:300])
    raised = [one for one in verdicts.alarms if 300 * SECOND <= one.raised_at < 330 * SECOND]
    assert raised
    assert raised[0].causes[0] == "c"


@pytest.mark.parametrize("kind", ["rnn", "tcn", "tce"])
def test_a_constant_that_moves_is_seen(kind: str) -> None:
    detector = fitted(kind)
    ticks = standardised(detector, 60, 12)
    ticks[40:, 3] += 1.0
    score, parts = detector._judge(ticks)
    assert parts is not None
    assert score[40] > np.nanmax(score[:40])
    assert parts[40].argmax() == 3


@pytest.mark.parametrize("kind", ["rnn", "tcn", "tce"])
def test_detectors_have_the_common_shape(kind: str) -> None:
    detector: Detector = make(kind)
    assert detector.name == kind


def test_the_published_recurrent_network() -> None:
    network = Rnn()._build(51)
    assert network.memory.num_layers == 1
    assert network.memory.weight_hh_l0.shape == (3 * 64, 64)
    assert network.memory.weight_ih_l0.shape == (3 * 64, 51)
    assert network.readout.weight.shape == (51, 64)
    assert network.dropout.p > 0.0
    assert network(torch.zeros(2, 32, 51)).shape == (2, 32, 51)


def test_the_published_convolutional_network() -> None:
    network = Tcn()._build(51)
    assert [layer.weight.shape for layer in network.hidden] == [
        (30, 51, 3),
        (30, 30, 3),
        (30, 30, 3),
    ]
    assert [layer.dilation for layer in network.hidden] == [(1,), (2,), (4,)]
    assert network.reach == 15
    assert network(torch.zeros(2, 15, 51)).shape == (2, 1, 51)


@pytest.mark.parametrize(
    ("signals", "layers"),
    [(51, [32, 16, 8, 16, 32, 3]), (105, [100, 50, 30, 10, 30, 50, 100, 3])],
)
def test_the_published_autoencoders(signals: int, layers: list[int]) -> None:
    detector = Tce(training=Training(epochs=1, samples=4, batch=4, held_out=0.5))
    ticks = np.random.default_rng(0).standard_normal((60, signals))
    detector._learn([ticks], 0, lambda what, share: None)
    network = detector._network
    assert [layer.out_channels for layer in network.layers] == layers
    assert {layer.kernel_size for layer in network.layers} == {(6, 6)}
    assert network.layers[0].in_channels == 3
    assert network(torch.zeros(2, 16, 3 * signals)).shape == (2, 16, 3 * signals)


def test_the_filter_keeps_the_asked_share() -> None:
    draws = np.random.default_rng(2)
    shared = draws.standard_normal((500, 2)) @ draws.standard_normal((2, 6))
    ticks = shared + 0.01 * draws.standard_normal((500, 6))
    one = PrincipalFilter.learn([ticks[:200], ticks[200:]], 0.99)
    assert one.directions.shape == (2, 6)
    np.testing.assert_allclose(one.directions @ one.directions.T, np.eye(2), atol=1e-12)
    left = ticks - one.restore(one.reduce(ticks))
    assert (left**2).sum() < 0.01 * (ticks**2).sum()
    everything = PrincipalFilter.learn([ticks], 1.0)
    np.testing.assert_allclose(everything.restore(everything.reduce(ticks)), ticks, atol=1e-9)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, float("nan")])
def test_a_share_that_makes_no_sense(share: float) -> None:
    with pytest.raises(SettingError, match="give a share above 0"):
        PrincipalFilter.learn([np.eye(3)], share)


def test_held_out_ticks_too_few_for_derivatives() -> None:
    """Seventeen held-out ticks hold an image of 16, but not the two ticks before it."""
    detector = Tce(training=Training(epochs=1, samples=4, batch=4, held_out=0.17))
    with pytest.raises(NotEnoughDataError, match="give a longer recording"):
        detector._learn([values(100, 0)], 0, lambda what, share: None)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Rnn(hidden=0),
        lambda: Rnn(dropout=1.0),
        lambda: Tcn(layers=()),
        lambda: Tcn(kernel=1),
        lambda: Tce(layers=(8, 4, 3)),
        lambda: Tce(layers=(8, 4)),
        lambda: Tce(kernel=5),
    ],
)
def test_networks_that_make_no_sense(wrong: Any) -> None:
    with pytest.raises(SettingError, match=r"give|must"):
        wrong()


def test_without_torch_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it fails, as if it were not there

    def absent(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name="torch")
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(CausewatchError, match=r"pip install 'causewatch\[baselines\]'"):
        make("rnn").fit(SPLIT)
