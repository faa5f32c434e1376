"""The training loop: it learns, stops, repeats itself, and goes on after an interruption."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from causewatch.errors import (  # noqa: E402
    CausewatchError,
    ModelFileError,
    NotEnoughDataError,
    SettingError,
)
from causewatch.evaluation.baselines.neural.networks import (  # noqa: E402
    Autoencoder,
    Convolutional,
    Network,
    Recurrent,
)
from causewatch.evaluation.baselines.neural.settings import Training  # noqa: E402
from causewatch.evaluation.baselines.neural.training import cut, train  # noqa: E402

Floats = NDArray[np.float64]
QUICK = Training(epochs=4, samples=256, batch=32, rate=0.01)


class Interrupted(Exception):
    """Somebody pulled the plug."""


def silent(what: str, share: float | None) -> None:
    """Nobody listens."""


def signals(rows: int = 600, seed: int = 0) -> Floats:
    """Two signals that follow each other, of variance 1 or so."""
    draws = np.random.default_rng(seed)
    values = np.zeros((rows, 2))
    for t in range(1, rows):
        values[t, 0] = 0.95 * values[t - 1, 0] + 0.3 * draws.standard_normal()
        values[t, 1] = 0.9 * values[t - 1, 0] + 0.3 * draws.standard_normal()
    return values / values.std(axis=0)


def recurrent() -> Network:
    return Recurrent(2, hidden=8, window=8, dropout=0.2)


def convolutional() -> Network:
    return Convolutional(2, layers=(8, 8), kernel=3, dropout=0.0, ahead=8)


def autoencoder() -> Network:
    return Autoencoder(2, window=8, layers=(4, 3), kernel=4)


BUILDS = [recurrent, convolutional, autoencoder]


def trained(build: Any = recurrent, **more: Any) -> tuple[Network, list[float]]:
    channels = 6 if build is autoencoder else 2
    ticks = np.tile(signals(), channels // 2)
    asked: dict[str, Any] = {"progress": silent, **more}
    settings, seed = asked.pop("settings", QUICK), asked.pop("seed", 3)
    return train("net", build, [ticks], settings, seed, **asked)


def same(one: Network, other: Network) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("build", [recurrent, convolutional])
def test_forecasts_are_better_than_the_mean(build: Any) -> None:
    network, losses = trained(build, settings=replace(QUICK, epochs=8))
    assert losses[-1] < losses[0]
    fresh = torch.from_numpy(signals(seed=9)).float()
    with torch.inference_mode():
        forecasts = network.forecast(fresh)  # type: ignore[operator]
    error = float(((forecasts - fresh[network.reach :]) ** 2).mean())  # type: ignore[misc]
    assert error < 0.4 * float(fresh.var())


@pytest.mark.parametrize("build", BUILDS)
def test_the_same_seed_gives_the_same_weights(build: Any) -> None:
    one, losses = trained(build, settings=replace(QUICK, epochs=2))
    torch.rand(5)  # what others draw meanwhile does not matter
    again, repeated = trained(build, settings=replace(QUICK, epochs=2))
    other, _ = trained(build, settings=replace(QUICK, epochs=2), seed=4)
    assert same(one, again)
    assert losses == repeated
    assert not same(one, other)


def test_training_stops_when_nothing_gets_better_and_keeps_the_best() -> None:
    noise = np.random.default_rng(1).standard_normal((300, 2))
    settings = Training(epochs=60, patience=3, samples=256, batch=16, rate=0.03)
    network, losses = train("net", recurrent, [noise], settings, 0, progress=silent)
    best = losses.index(min(losses))
    assert len(losses) < 60
    assert len(losses) - 1 - best == 3
    shorter, _ = train(
        "net", recurrent, [noise], replace(settings, epochs=best + 1), 0, progress=silent
    )
    assert same(network, shorter)


def test_torch_is_left_as_it_was() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    trained(settings=replace(QUICK, epochs=1, threads=threads + 1))
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()


def interrupt(folder: Path, build: Any, share: float) -> None:
    """Stop a training as soon as more than this share of its epochs is done."""

    def stop(what: str, done: float | None) -> None:
        if done is not None and done > share:
            raise Interrupted

    with pytest.raises(Interrupted):
        trained(build, folder=folder, progress=stop)


@pytest.mark.parametrize("build", BUILDS)
def test_a_resumed_training_ends_like_an_undisturbed_one(build: Any, tmp_path: Path) -> None:
    undisturbed, losses = trained(build)
    interrupt(tmp_path, build, 1 / 4)  # in the second epoch
    interrupt(tmp_path, build, 3 / 4)  # in the fourth
    shares: list[float | None] = []
    resumed, repeated = trained(
        build, folder=tmp_path, progress=lambda what, share: shares.append(share)
    )
    assert shares[0] == 3 / 4
    assert repeated == losses
    assert same(resumed, undisturbed)
    finished, _ = trained(build, folder=tmp_path, progress=lambda *told: pytest.fail("trained"))
    assert same(finished, undisturbed)


def test_an_interrupted_epoch_leaves_the_last_checkpoint(tmp_path: Path) -> None:
    interrupt(tmp_path, recurrent, 1 / 4)
    before = (tmp_path / "net.checkpoint").read_bytes()
    interrupt(tmp_path, recurrent, 1 / 4 + 1 / 8)  # later in the same epoch
    assert (tmp_path / "net.checkpoint").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["net.checkpoint"]


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"seed": 4}, "seed"),
        ({"settings": replace(QUICK, rate=0.02)}, "settings"),
        ({"build": lambda: Recurrent(2, hidden=8, window=9, dropout=0.2)}, "network"),
        ({"build": convolutional}, "network"),
    ],
)
def test_a_foreign_checkpoint_is_refused(other: dict[str, Any], word: str, tmp_path: Path) -> None:
    trained(folder=tmp_path, settings=replace(QUICK, epochs=1))
    asked = {"settings": replace(QUICK, epochs=1), **other}
    with pytest.raises(SettingError, match=f"with other {word}; remove it"):
        trained(folder=tmp_path, **asked)


def test_a_checkpoint_from_other_data_is_refused(tmp_path: Path) -> None:
    settings = replace(QUICK, epochs=1)
    trained(folder=tmp_path, settings=settings)
    with pytest.raises(SettingError, match="with other data"):
        train("net", recurrent, [signals(seed=1)], settings, 3, progress=silent, folder=tmp_path)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.checkpoint").write_bytes(b"not an archive")
    with pytest.raises(ModelFileError, match=r"net\.checkpoint"):
        trained(folder=tmp_path)


def test_no_checkpoint_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(folder=tmp_path, settings=replace(QUICK, epochs=1))
    imported = builtins.__import__

    def guarded(name: str, *rest: Any, **more: Any) -> Any:
        assert name not in {"pickle", "_pickle"}
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", guarded)
    monkeypatch.setattr(torch, "load", lambda *args, **more: pytest.fail("torch.load"))
    trained(folder=tmp_path, settings=replace(QUICK, epochs=1))


def test_too_short_a_recording() -> None:
    with pytest.raises(NotEnoughDataError, match="windows of 9 ticks, but of 20 ticks"):
        train("net", recurrent, [signals(20)], QUICK, 0, progress=silent)


def test_a_training_that_blows_up_says_so() -> None:
    huge = signals() * 1e30
    with pytest.raises(CausewatchError, match="smaller learning rate"):
        train("net", convolutional, [huge], QUICK, 0, progress=silent)


def test_the_cut_takes_the_last_ticks_of_all() -> None:
    parts = [np.arange(10.0)[:, None], 10 + np.arange(6.0)[:, None], 16 + np.arange(4.0)[:, None]]
    before, after = cut(parts, 0.3)
    assert [len(part) for part in before] == [10, 4]
    assert [len(part) for part in after] == [2, 4]
    assert np.concatenate(before + after).ravel().tolist() == list(range(20))


def test_no_window_reaches_across_stretches() -> None:
    """A jump between two stretches is nothing that a forecast could get wrong."""
    seen: list[float] = []

    class Watching(Recurrent):
        def loss(self, windows: Any) -> Any:
            seen.append(float((windows[:, 1:] - windows[:, :-1]).abs().max()))
            return super().loss(windows)

    def build() -> Network:
        return Watching(1, hidden=2, window=4, dropout=0.0)

    parts = [np.full((50, 1), -5.0), np.full((50, 1), 5.0), np.full((40, 1), 0.0)]
    train("net", build, parts, replace(QUICK, epochs=1), 0, progress=silent)
    assert seen
    assert max(seen) == 0.0


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"batch": 0}, {"held_out": 0.0}, {"held_out": 1.0}, {"rate": 2.0}]
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"{next(iter(wrong))} is"):
        Training(**wrong)
