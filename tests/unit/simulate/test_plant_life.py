"""Changes in the normal operation of the simulated plant: what each does, when, and its truth."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from causewatch.errors import SettingError, UnknownNameError
from causewatch.simulate import (
    PLANT_CHANGES,
    Change,
    PlantAttack,
    PlantChange,
    Run,
    Spoof,
    WaterPlant,
    plant_life,
)
from causewatch.simulate.plant import (
    Cleaning,
    Fouling,
    NoisySensor,
    Recalibration,
    Season,
    SetPoint,
    SparePump,
    Switch,
)
from causewatch.simulate.plant.interventions import Intervention
from causewatch.simulate.plant.life import LEAST_APART
from causewatch.simulate.plant.tags import RESOLUTION, TAGS

HOUR = 3600
DAY = 24 * HOUR
ROWS, START = 5 * HOUR, HOUR
PLANT = WaterPlant(21)
PAGE = Path(__file__).parents[3] / "docs" / "plant.md"
Floats = NDArray[np.float64]


def of(run: Run, tag: str) -> Floats:
    return run.values[START:, TAGS.index(tag)]


def flowing(run: Run, tag: str) -> Floats:
    """The readings of a sensor while stage 3 filters."""
    values: Floats = of(run, tag)[of(run, "FIT301") > 1.8]
    return values


def last_hour(run: Run, tag: str) -> float:
    return float(of(run, tag)[-HOUR:].mean())


def changed(intervention: Intervention, start: int = START, end: int | None = None) -> PlantChange:
    return PlantChange("x", intervention, "Something changes.", start, end)


def moved(run: Run, calm: Run, tag: str) -> bool:
    """Whether the mean of the last hour moved by more than the white noise of the sensor."""
    means = [flowing(each, tag)[-HOUR:].mean() for each in (run, calm)]
    return bool(abs(means[0] - means[1]) > RESOLUTION[tag][0])


def in_the_box(name: str) -> PlantChange:
    """The change as it is in the box; slow ones are complete after two hours."""
    change = PLANT_CHANGES[name]
    if isinstance(change.intervention, Season):
        return changed(Season(change.intervention.degrees, 2 * HOUR))
    if isinstance(change.intervention, Fouling):
        return changed(Fouling(change.intervention.share, 2 * HOUR))
    return change.at(START)


def recalibrated(run: Run, calm: Run) -> bool:
    # The reading jumps at once, before the chemistry can follow; later the water itself differs.
    jump = (of(run, "AIT202") - of(calm, "AIT202"))[0]
    return bool(
        abs(jump - 0.08) <= 2 * RESOLUTION["AIT202"][1]
        and (of(run, "P203") == 2).mean() > 1.1 * (of(calm, "P203") == 2).mean()
        and last_hour(run, "AIT501") < last_hour(calm, "AIT501") - 0.02
    )


def spare_pump(run: Run, calm: Run) -> bool:
    # The row in which a pump is told something still shows what it did before.
    idle, busy = of(run, "P101")[1:], of(run, "P102")[1:]
    np.testing.assert_array_equal(busy, of(calm, "P101")[1:])
    np.testing.assert_array_equal(of(run, "FIT201"), of(calm, "FIT201"))
    return bool((idle == 1).all() and (busy == 2).any() and (of(calm, "P102") == 1).all())


def set_point(run: Run, calm: Run) -> bool:
    settled = of(run, "LIT401")[HOUR:]
    before = of(calm, "LIT401")[HOUR:]
    return bool(settled.max() < 905.0 and settled.min() < 705.0 and before.max() > 995.0) and bool(
        run.hidden["T401"].min() > 600.0
    )


def cleaned(run: Run, calm: Run) -> bool:
    washing = of(run, "FIT601") > 1.0
    less = flowing(run, "DPIT301")[600:].mean() / flowing(calm, "DPIT301")[600:].mean()
    return bool(washing[:400].sum() > 295 and 0.85 < less < 0.93)


def noisier(run: Run, calm: Run) -> bool:
    noise, same = (np.diff(of(each, "FIT501") - of(each, "FIT401")).std() for each in (run, calm))
    # FIT401 measures the same water with its own noise.
    alone = np.hypot(*(RESOLUTION[tag][0] for tag in ("FIT501", "FIT401")))
    wanted = np.hypot(4 * RESOLUTION["FIT501"][0], RESOLUTION["FIT401"][0])
    return bool(abs(same / alone / 2**0.5 - 1) < 0.05 and abs(noise / wanted / 2**0.5 - 1) < 0.05)


def other_constant(run: Run, calm: Run) -> bool:
    np.testing.assert_array_equal(
        np.delete(run.values, TAGS.index("P603"), axis=1),
        np.delete(calm.values, TAGS.index("P603"), axis=1),
    )
    return bool((of(run, "P603")[1:] == 2).all() and (of(calm, "P603") == 1).all())


def colder(run: Run, calm: Run) -> bool:
    assert all(moved(run, calm, tag) for tag in PLANT_CHANGES["season"].signals)
    return bool(
        1.05 < flowing(run, "DPIT301")[-HOUR:].mean() / flowing(calm, "DPIT301")[-HOUR:].mean()
        and 0.94 < last_hour(run, "FIT502") / last_hour(calm, "FIT502") < 0.96
        and last_hour(run, "FIT503") > last_hour(calm, "FIT503")
        and last_hour(run, "AIT504") < 0.97 * last_hour(calm, "AIT504")
        and abs(of(run, "FIT502")[60:600].mean() / of(calm, "FIT502")[60:600].mean() - 1) < 0.01
    )


def fouled(run: Run, calm: Run) -> bool:
    assert all(moved(run, calm, tag) for tag in PLANT_CHANGES["slow fouling"].signals)
    return bool(
        last_hour(run, "AIT504") > 1.03 * last_hour(calm, "AIT504")
        and abs(last_hour(run, "PIT501") / last_hour(calm, "PIT501") - 1.03) < 0.005
        and abs(last_hour(run, "FIT502") / last_hour(calm, "FIT502") - 0.95) < 0.005
        and abs(of(run, "PIT501")[60:600].mean() / of(calm, "PIT501")[60:600].mean() - 1) < 0.005
    )


CLAIMS: dict[str, Callable[[Run, Run], bool]] = {
    "analyser recalibrated": recalibrated,
    "spare pump used": spare_pump,
    "set-point moved": set_point,
    "membrane cleaned": cleaned,
    "noisier sensor": noisier,
    "other constant": other_constant,
    "season": colder,
    "slow fouling": fouled,
}


@pytest.fixture(scope="module")
def calm() -> Run:
    return PLANT.simulate(ROWS)


def test_every_change_and_every_kind_is_in_the_box() -> None:
    assert list(CLAIMS) == list(PLANT_CHANGES)
    kinds = {change.intervention.kind for change in PLANT_CHANGES.values()}
    assert kinds == {kind.kind for kind in Intervention.__subclasses__()}


@pytest.mark.parametrize("name", PLANT_CHANGES)
def test_a_change_does_what_it_says_and_is_normal(name: str, calm: Run) -> None:
    change = in_the_box(name)
    run = PLANT.simulate(ROWS, life=[change])
    assert CLAIMS[name](run, calm), PLANT_CHANGES[name].description
    np.testing.assert_array_equal(run.values[:START], calm.values[:START])
    assert (run.values[START:] != calm.values[START:]).any()
    assert not run.labels.any()
    assert run.causes == []
    # The plant keeps running: nothing spills, runs empty, stops or goes to the drain.
    for tank in ("T101", "T301", "T401"):
        assert 450.0 < run.hidden[tank].min() < run.hidden[tank].max() < 1100.0
    for tag in ("P402", "P501", "UV401"):
        assert (of(run, tag) == 2).all()
    assert not run.hidden["diverted"].any()
    assert np.ptp(run.hidden["supplied"] - run.hidden["stored"] - run.hidden["gone"]) < 1e-9
    (truth,) = run.changes
    assert truth == {
        "name": change.name,
        "kind": change.intervention.kind,
        "start": START,
        "end": None,
        "signals": list(change.signals),
        "description": change.description,
    }
    assert set(change.signals) <= set(TAGS)


ENDING: dict[str, Intervention] = {
    "AIT401": Recalibration("AIT401", offset=2.0, gain=0.9),
    "PIT502": NoisySensor("PIT502", 3.0),
    "P603": Switch("P603"),
}


@pytest.mark.parametrize("tag", ENDING)
def test_what_ends_is_taken_back(tag: str, calm: Run) -> None:
    end = START + 600
    run = PLANT.simulate(end + 300, life=[changed(ENDING[tag], end=end)])
    shown, usual = (each.values[:, TAGS.index(tag)] for each in (run, calm))
    assert (shown[START + 1 : end] != usual[START + 1 : end]).mean() > 0.5
    # A pump shows in the next row what it is told in this one.
    np.testing.assert_array_equal(shown[end + 1 :], usual[end + 1 : end + 300])
    assert run.life == (Change("x", ENDING[tag].kind, START, end, (tag,), "Something changes."),)


def test_a_pump_and_a_set_point_return_to_what_they_were() -> None:
    moved = SetPoint("LIT301", 600.0, 700.0)
    life = [changed(SparePump("P302"), end=2 * HOUR), changed(moved, end=2 * HOUR)]
    run = PLANT.simulate(ROWS, life=life)
    reserve, level = of(run, "P301"), of(run, "LIT301")
    assert (reserve[: HOUR + 1] == 2).any()
    assert (reserve[HOUR + 1 :] == 1).all()
    assert level[HOUR - 900 : HOUR].max() < 760.0
    assert level[-HOUR:].max() > 990.0


def test_a_season_and_a_membrane_return_too(calm: Run) -> None:
    slow = [changed(Season(5.0, 1800), end=2 * HOUR), changed(Fouling(0.1, 1800), end=2 * HOUR)]
    run = PLANT.simulate(ROWS, life=slow)
    assert last_hour(run, "FIT502") == pytest.approx(last_hour(calm, "FIT502"), rel=1e-3)
    assert of(run, "PIT501")[1800:HOUR].mean() > 1.04 * of(calm, "PIT501")[1800:HOUR].mean()
    cleaning = PLANT.simulate(ROWS, life=[changed(Cleaning(), end=2 * HOUR)])
    pressure, usual = (flowing(each, "DPIT301")[-HOUR:].mean() for each in (cleaning, calm))
    assert pressure == pytest.approx(usual, rel=0.02)


def test_an_attack_during_a_change_is_the_only_thing_labelled() -> None:
    attack = PlantAttack("own", (Spoof("FIT501", "bias", 0.5),), "FIT501 shows more.", 4000, 4300)
    life = [changed(NoisySensor("FIT501", 4.0))]
    run, only_life = (PLANT.simulate(5000, each, life=life) for each in ([attack], []))
    assert np.flatnonzero(run.labels).tolist() == list(range(4000, 4300))
    assert [cause["name"] for cause in run.causes] == ["own"]
    assert len(run.changes) == 1
    more = (run.values - only_life.values)[4000:4300, TAGS.index("FIT501")]
    assert np.abs(more - 0.5).max() <= 2 * RESOLUTION["FIT501"][1]
    np.testing.assert_array_equal(run.values[:4000], only_life.values[:4000])


@pytest.mark.parametrize("rows", [27 * HOUR, 2 * DAY, 10 * DAY])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_schedule_has_every_kind_once_well_apart(rows: int, seed: int) -> None:
    life = plant_life(rows, seed)
    assert life == plant_life(rows, seed)
    assert sorted(change.name for change in life) == sorted(PLANT_CHANGES)
    starts = [change.start for change in life]
    assert all(later - first >= LEAST_APART for first, later in pairwise([0, *starts, rows]))
    assert {change.name for change in life[:2]} == {"season", "slow fouling"}
    for change, following in pairwise(life):
        passing = change.intervention.kind in ("spare_pump", "set_point")
        assert change.end == (following.start if passing else None)
        if isinstance(change.intervention, Season | Fouling):
            assert change.start + change.intervention.seconds == rows


def test_times_of_day_and_order_differ() -> None:
    lives = [plant_life(10 * DAY, seed) for seed in range(4)]
    assert len({tuple(change.name for change in life) for life in lives}) > 1
    hours = {change.start % DAY // HOUR for life in lives for change in life}
    assert len(hours) > 12
    for life in lives:
        days = [(later.start - first.start) / DAY for first, later in pairwise(life)]
        assert 0.6 < min(days) < max(days) < 2.5


@pytest.mark.parametrize(("hours", "count"), [(6, 1), (11, 2), (26, 7), (27, 8)])
def test_a_short_recording_has_the_first_kinds(hours: int, count: int) -> None:
    life = plant_life(hours * HOUR, 5)
    assert {change.name for change in life} == set(list(PLANT_CHANGES)[:count])


def test_the_page_lists_them() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [
        f"| {change.name} | {change.intervention.kind} | {', '.join(change.signals)} |"
        f" {change.description} |"
        for change in PLANT_CHANGES.values()
    ]
    assert "\n".join(rows) in page


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: changed(Season(3.0, 60), start=20, end=20), "start 20 and end 20"),
        (lambda: changed(Season(3.0, 60), start=-1), "start -1"),
        (lambda: Season(11.0, 60), "give -10 to 10"),
        (lambda: Season(float("nan"), 60), "give -10 to 10"),
        (lambda: Season(1.0, 0), "above 0"),
        (lambda: Fouling(0.5, 60), "at most 0.3"),
        (lambda: SetPoint("LIT101", 800.0, 500.0), "0 < low < high"),
        (lambda: Recalibration("AIT201", gain=0.0), "a gain above 0"),
        (lambda: NoisySensor("AIT201", float("inf")), "a finite number above 0"),
        (lambda: Cleaning(seconds=0), "above 0"),
        (lambda: plant_life(6 * HOUR - 1), "at least 21,600 rows"),
        (lambda: plant_life(DAY, -1), "0 or larger"),
        (lambda: PLANT.simulate(60, life=[changed(Switch("P603"), 60)]), "only 60 rows"),
        (lambda: PLANT.simulate(60, life=[changed(Switch("P603"), 6, 61)]), "only 60 rows"),
        (
            lambda: PLANT.simulate(
                60, life=[changed(Switch("P603"), 6), changed(Switch("P603"), 9, 12)]
            ),
            "both in force on P603",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(SettingError) as error:
        make()
    assert words in str(error.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Recalibration("P101"),
        lambda: NoisySensor("MV101", 2.0),
        lambda: SparePump("P102"),
        lambda: SetPoint("FIT101", 1.0, 2.0),
        lambda: Switch("P101"),
    ],
)
def test_names_that_do_not_fit_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UnknownNameError, match="There is no"):
        make()


def test_a_change_may_follow_another_of_its_kind() -> None:
    life = [changed(Switch("P603"), 6, 9), changed(Switch("P603"), 9, 12)]
    run = PLANT.simulate(60, life=life)
    assert np.flatnonzero(run.values[:, TAGS.index("P603")] == 2).tolist() == list(range(7, 13))
