"""Attacks on the simulated plant: what spoofs show, what is recorded as truth, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate import (
    PLANT_ATTACKS,
    Episode,
    Force,
    PlantAttack,
    Run,
    Spoof,
    WaterPlant,
    plant_attacks,
)
from causewatch.simulate.plant.attacks import SPOOFS
from causewatch.simulate.plant.tags import RESOLUTION, TAGS

SEED, ROWS, START, END = 6, 2400, 1000, 2000
PLANT = WaterPlant(SEED)


def attack(*actions: Spoof | Force, start: int = START, end: int = END) -> PlantAttack:
    return PlantAttack("x", actions, "Something is done.", start=start, end=end)


def of(run: Run, tag: str) -> NDArray[np.float64]:
    return run.values[:, TAGS.index(tag)]


@pytest.fixture(scope="module")
def calm() -> Run:
    return PLANT.simulate(ROWS)


@pytest.fixture(scope="module")
def spoofed() -> Run:
    """Every kind of spoof at once, on sensors that no control looks at."""
    return PLANT.simulate(
        ROWS,
        [
            attack(
                Spoof("AIT401", "constant", 120.0),
                Spoof("AIT503", "bias", 20.0),
                Spoof("PIT502", "ramp", 0.01),
                Spoof("PIT501", "drift", -0.05),
                Spoof("FIT301", "replay", 700),
                Spoof("PIT503", "noise", 4.0),
            )
        ],
    )


def test_a_constant_is_shown_exactly_within_its_step(spoofed: Run, calm: Run) -> None:
    shown = of(spoofed, "AIT401")
    assert len(set(shown[START:END])) == 1
    assert shown[START] == pytest.approx(120.0, abs=RESOLUTION["AIT401"][1])
    assert (shown[:START] == of(calm, "AIT401")[:START]).all()
    assert (shown[END:] == of(calm, "AIT401")[END:]).all()


def test_a_bias_is_added(spoofed: Run, calm: Run) -> None:
    change = of(spoofed, "AIT503") - of(calm, "AIT503")
    assert np.abs(change[START:END] - 20.0).max() <= RESOLUTION["AIT503"][1] + 1e-4
    assert not change[:START].any()
    assert not change[END:].any()


def test_a_ramp_leaves_from_the_reading_and_has_no_noise(spoofed: Run, calm: Run) -> None:
    shown = of(spoofed, "PIT502")[START:END]
    wanted = of(calm, "PIT502")[START] + 0.01 * np.arange(1, END - START + 1)
    assert np.abs(shown - wanted).max() <= RESOLUTION["PIT502"][1] + 1e-4


def test_a_drift_moves_the_reading_and_keeps_its_noise(spoofed: Run, calm: Run) -> None:
    change = (of(spoofed, "PIT501") - of(calm, "PIT501"))[START:END]
    wanted = -0.05 * np.arange(1, END - START + 1)
    assert np.abs(change - wanted).max() <= RESOLUTION["PIT501"][1] + 1e-4


def test_a_replay_shows_what_was_shown_before(spoofed: Run) -> None:
    shown = of(spoofed, "FIT301")
    # It lasts longer than it goes back: then it shows again what it showed.
    np.testing.assert_array_equal(shown[START:END], shown[START - 700 : END - 700])
    assert not (shown[END:] == shown[END - 700 : -700]).all()


def test_a_replay_can_go_back_to_before_the_recording() -> None:
    early = PLANT.simulate(900, [attack(Spoof("LIT301", "replay", 600), start=300, end=900)])
    shown = of(early, "LIT301")
    np.testing.assert_array_equal(shown[300:600], of(begun_earlier(600), "LIT301")[300:600])
    np.testing.assert_array_equal(shown[600:900], shown[:300])


def begun_earlier(seconds: int) -> Run:
    """The same run, recorded from that many seconds before."""
    from causewatch.simulate.plant import plant as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WARM_UP", module.WARM_UP - seconds)
        return PLANT.simulate(900, second=-seconds)


def test_noise_becomes_larger_by_the_factor(spoofed: Run, calm: Run) -> None:
    change = (of(spoofed, "PIT503") - of(calm, "PIT503"))[START:END]
    assert change.std() == pytest.approx(3.0 * RESOLUTION["PIT503"][0], rel=0.1)
    assert abs(change.mean()) < 0.1


def test_every_kind_was_tried(spoofed: Run) -> None:
    assert len(spoofed.episodes[0].signals) == len(SPOOFS)


def test_sensors_that_control_does_not_use_change_nothing_else(spoofed: Run, calm: Run) -> None:
    others = [k for k, tag in enumerate(TAGS) if tag not in spoofed.episodes[0].signals]
    np.testing.assert_array_equal(spoofed.values[:, others], calm.values[:, others])


def test_sensors_that_control_uses_change_the_plant(calm: Run) -> None:
    run = PLANT.simulate(END, [attack(Spoof("LIT301", "constant", 1100.0))])
    assert run.hidden["T301"][END - 1] < calm.hidden["T301"][END - 1] - 50.0
    assert (of(run, "P101")[START + 60 :] == 1.0).all()
    assert (of(calm, "P101")[START + 60 : END] == 2.0).any()


@pytest.mark.parametrize("name", ["8", "34"])
def test_nothing_differs_before_the_attack_starts(name: str, calm: Run) -> None:
    run = PLANT.simulate(ROWS, [replace(PLANT_ATTACKS[name], start=START, end=END)])
    (episode,) = run.episodes
    assert START <= episode.start < END == episode.end
    np.testing.assert_array_equal(run.values[: episode.start], calm.values[: episode.start])
    for key, values in run.hidden.items():
        np.testing.assert_array_equal(values[: episode.start], calm.hidden[key][: episode.start])
    assert (run.values[episode.start : END] != calm.values[episode.start : END]).any()
    # The noise is the same even during and after the attack.
    noise, same = (of(one, "LIT401") - one.hidden["T401"] for one in (run, calm))
    assert np.abs(noise - same).max() <= RESOLUTION["LIT401"][1] + 1e-4
    assert noise.std() > 0.3


def test_truth_tells_what_was_done() -> None:
    late = attack(Force("P301", True), start=1500, end=1600)
    run = PLANT.simulate(
        1800,
        [
            replace(late, name="late"),
            attack(Force("P603", True), Spoof("AIT201", "bias", 1.0), start=10, end=20),
        ],
        start_up=True,
    )
    assert run.episodes == (
        Episode("x", 10, 20, ("AIT201", "P603"), "Something is done."),
        Episode("late", 1500, 1600, ("P301",), "Something is done."),
    )
    assert run.labels.sum() == 110
    assert np.flatnonzero(run.labels)[[0, 9, 10, -1]].tolist() == [10, 19, 1500, 1599]
    assert run.causes[0] == {
        "name": "x",
        "start": 10,
        "end": 20,
        "signals": ["AIT201", "P603"],
        "description": "Something is done.",
    }
    # A pump that is told something in a row shows it in the next.
    assert np.flatnonzero(of(run, "P603") == 2.0).tolist() == list(range(11, 21))


def test_one_attack_may_follow_another_on_the_same_tag() -> None:
    first = attack(Force("P603", True), start=10, end=20)
    second = replace(first, name="y", start=20, end=30)
    run = PLANT.simulate(60, [first, second], start_up=True)
    assert [(one.name, one.start, one.end) for one in run.episodes] == [
        ("x", 10, 20),
        ("y", 20, 30),
    ]
    assert (of(run, "P603") == 2.0).sum() == 20


def test_attacks_wait_for_a_status_or_a_reading(calm: Run) -> None:
    level = of(calm, "LIT401")
    wanted = float(level[START : START + 600].max()) - 5.0
    waiting = replace(attack(Force("P603", True)), waits_for=("LIT401", wanted))
    pump = replace(attack(Force("P601", True)), name="y", waits_for=("P302", 1.0))
    never = replace(attack(Force("P202", True)), name="z", waits_for=("P602", 7.0))
    run = PLANT.simulate(END, [never, waiting, pump])
    starts = {episode.name: episode.start for episode in run.episodes}
    assert starts.keys() == {"x", "y"}
    assert level[starts["x"]] >= wanted
    assert (level[START : starts["x"]] < wanted).all()
    assert of(run, "P302")[starts["y"]] == 1.0
    assert (of(run, "P302")[START : starts["y"]] == 2.0).all()
    assert (of(run, "P202") == 1.0).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Spoof("P101", "constant", 1.0), "no sensor 'P101'"),
        (lambda: Spoof("LIT101", "wrong", 1.0), "no kind of spoof 'wrong'"),
        (lambda: Spoof("LIT101", "bias", float("nan")), "LIT101 has the value nan"),
        (lambda: Spoof("LIT101", "replay", 0), "goes back 0 s"),
        (lambda: Spoof("LIT101", "replay", 7201), "from 1 to 7,200"),
        (lambda: Spoof("LIT101", "replay", 1.5), "a whole number of seconds"),
        (lambda: Force("LIT101", True), "no actuator 'LIT101'"),
        (lambda: attack(), "'x' does nothing"),
        (lambda: attack(Force("P101", True), start=5, end=5), "start 5 and end 5"),
        (lambda: attack(Force("P101", True), start=-1), "start -1"),
        (
            lambda: replace(attack(Force("P101", True)), waits_for=("P999", 1.0)),
            "no tag 'P999'",
        ),
        (lambda: WaterPlant(-1), "seed is -1"),
        (lambda: PLANT.simulate(0), "0 rows"),
        (
            lambda: PLANT.simulate(1999, [attack(Force("P101", True))]),
            "ends at row 2,000, but the recording has only 1,999 rows",
        ),
        (
            lambda: PLANT.simulate(
                3000,
                [
                    attack(Force("P101", True)),
                    replace(attack(Force("P101", False), end=1001), name="y"),
                ],
            ),
            "'x' and 'y' hold P101 at the same time",
        ),
        (
            lambda: PLANT.simulate(
                3000, [attack(Spoof("LIT101", "replay", 1800))], start_up=True
            ),
            "let it start at row 1,800 or later",
        ),
        (lambda: plant_attacks(20_000, ["99"]), "no attack '99'"),
        (lambda: plant_attacks(20_000, ["8"], seed=-1), "seed is -1"),
        (lambda: plant_attacks(86_400), "40 attacks with pauses need 109,440 rows"),
        (lambda: plant_attacks(3359, ["8"]), "has 3,359; make it longer"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(make, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((SettingError, UnknownNameError)) as caught:
        make()
    text = str(caught.value)
    assert words in text
    assert text.endswith((".", "?"))
    assert "\n" not in text


def test_just_enough_room_is_enough() -> None:
    (only,) = plant_attacks(3360, ["8"])
    assert (only.start, only.end) == (1200, 2160)
    assert plant_attacks(100, []) == ()
