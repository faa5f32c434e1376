"""The paper's experiment: the published method against its twin, and every other on its split."""

from __future__ import annotations

import json

import numpy as np
import pytest

import literal_paper
from causewatch.data.datasets import Event, Recording
from causewatch.data.table import TimeTable
from causewatch.errors import SettingError, UnknownNameError
from causewatch.evaluation.baselines.split import make_split
from causewatch.evaluation.reproduction import (
    PUBLISHED,
    Case,
    available,
    case,
    load_case,
    others,
    reproduce,
    run_paper,
    simulate_case,
)
from causewatch.evaluation.reproduction.others import make_method, run_detector
from causewatch.evaluation.reproduction.tables import (
    explanations,
    markdown,
    method_table,
    sentences,
)
from causewatch.evaluation.verdicts import Verdicts
from causewatch.simulate import PAPER_ATTACKS
from recordings import stable

SECOND = 1_000_000_000
NAMES = ("A1", "A2", "B1", "B2", "C1")


def table(values, labels=None):
    return TimeTable(
        NAMES,
        values,
        np.arange(len(values), dtype=np.int64) * SECOND,
        np.zeros(1, dtype=np.intp),
        1.0,
        "elapsed",
        labels=labels,
    )


def small_case(whole_files: bool = False, dataset: str = "swat") -> Case:
    """Five signals; an attack on B1 that the paper chooses ('8'), one on C1 that it does not."""
    values = stable(3, 5, 400)
    windows = [("8", 120, 200, ("B1",)), ("x", 280, 320, ("C1",))]
    if whole_files:
        windows = [("8", 0, 400, ("B1",))]
    labels = np.zeros(400)
    for _, start, end, names in windows:
        values[start:end, [NAMES.index(name) for name in names]] = 3.0
        labels[start:end] = 1
    events = [Event(name, a * SECOND, b * SECOND, signals) for name, a, b, signals in windows]
    return Case(
        dataset,
        simulated=True,
        title="five signals",
        normal=Recording("normal", table(stable(4, 5, 600))),
        tests=(Recording("attack", table(values, labels), tuple(events)),),
        chosen=None if whole_files else PAPER_ATTACKS,
        stages={"A": NAMES[:2], "B": NAMES[2:4], "C": NAMES[4:]},
        whole_files=whole_files,
        untouched=(table(stable(5, 5, 400)),),
        notes=("Every figure here is one of a simulation.",),
    )


class Scripted:
    """A detector that says what it is told, and remembers what it was shown."""

    name = "scripted"

    def __init__(self, alarm=lambda table: np.zeros(len(table), dtype=bool), steps=True):
        self.alarm, self.steps = alarm, steps
        self.split, self.seen = None, []

    def fit(self, split, progress=None):
        progress("learning", 0.5)
        self.split = split

    def watch(self, table, progress=None):
        self.seen.append(table)
        alarm = self.alarm(table)
        seconds = np.full(len(table), 0.002) if self.steps else np.empty(0)
        return Verdicts(alarm.astype(float), alarm, (), seconds, 0.001 * len(table))


def test_the_published_method_against_its_literal_twin():
    given, step = small_case(), 2
    run = run_paper(given, step=step, max_lag=1)
    model, lag = run.model, 1
    equations = literal_paper.equations_of(model)
    kept = [NAMES.index(name) for name in model.signals]
    normal = given.normal.table.values[::step, kept]
    limits = literal_paper.limits(normal, equations)

    def alarms(ticks, steps):
        found = []
        for k in steps:
            now = literal_paper.coefficients(ticks, equations, k + lag)
            found.append(bool((np.abs(now - equations.coefficient) > limits).any()))
        return found

    attacked = given.tests[0].table.values[::step, kept]
    on = alarms(attacked, range(len(attacked) - 1 - lag))
    window = range(60, 100)
    paper = run.outcome.counts.published
    assert paper.hits == sum(on[k] for k in window)
    assert paper.hits + paper.missed == 40
    # Steps of the normal recording whose last tick lies after the first 70 %.
    learnt = int(0.7 * len(normal))
    calm = alarms(normal, [k for k in range(len(normal) - 1 - lag) if k + lag >= learnt - 1])
    assert (paper.false_alarms, paper.silent) == (sum(calm), len(calm) - sum(calm))
    strict = run.outcome.counts.strict
    assert strict.steps == len(on) == 198
    assert strict.hits + strict.missed == 60
    assert strict.hits + strict.false_alarms == sum(on)
    # The ranking counts the ticks of the window; the square root of links stands before it.
    sums = literal_paper.ranking(attacked, equations, window.start + lag, window.stop + lag)
    weight = np.sqrt(np.bincount(equations.target, minlength=equations.signals))
    [attack] = run.attacks
    assert attack.top == (model.signals[int(np.argmax(sums * weight))],)
    assert (attack.steps, attack.alarmed) == (40, paper.hits)
    assert attack.stages == ("B",)
    assert attack.signal_hit == ("B1" in attack.top)
    assert attack.stage_hit == bool({"B1", "B2"} & set(attack.top))


def test_whole_files():
    run = run_paper(small_case(whole_files=True), step=2, max_lag=1)
    # 200 ticks, but for the last, less the lag: 198 steps; of these again the last is left out.
    assert run.attacks[0].steps == 197
    assert run.outcome.counts.strict.hits + run.outcome.counts.strict.missed == 198
    assert run.outcome.counts.whole_files


def test_what_another_method_is_given_and_how_it_is_counted():
    given = small_case()
    split = make_split([given.normal.table], every=1.0, max_lag=2, seed=5)
    begin = int(split.limits[0].time[0])
    detector = Scripted(lambda table: (table.time // SECOND) % 4 == 2)
    told = []
    outcome = run_detector(detector, given, split, 2, lambda what, share: told.append(what))
    assert detector.split is split
    assert sum(map(len, split.learn)) == 420
    assert begin == 420 * SECOND
    shown = [len(table) for table in detector.seen]
    assert shown == [180, 400, 400]  # the part for limits, the attacks, the same without
    paper = outcome.counts.published
    assert (paper.hits, paper.missed) == (20, 20)  # steps 60..99: every other one has an alarm
    assert (paper.false_alarms, paper.silent) == (45, 45)
    assert outcome.untouched_share == 0.5
    assert outcome.timing.tick_ms_mean == pytest.approx(2.0)
    assert outcome.timing.tick_ms_std == pytest.approx(0.0, abs=1e-9)
    assert told == ["scripted: learning"]
    whole = run_detector(Scripted(steps=False), given, split, 2)
    assert whole.timing.tick_ms_mean == pytest.approx(1.0)
    assert whole.timing.tick_ms_std is None


@pytest.fixture(scope="module")
def result():
    return reproduce(small_case(), ["switch", "always_on"], step=2, max_lag=1, seed=9)


def test_the_switch_beside_the_published_method(result):
    assert list(result.methods) == ["paper", "switch", "always_on"]
    switch = result.methods["switch"].counts
    scores = switch.published
    assert (scores.precision, scores.recall, scores.f1) == (1.0, 1.0, 1.0)
    assert switch.strict.precision == switch.strict.attacked_share == 0.3
    always = result.methods["always_on"].counts
    assert always.published.precision < 1.0
    assert always.strict == switch.strict
    meaning, without = result.to_dict()["methods"]["switch"]["meaning"]
    assert meaning.startswith("The alarm was on for 100 % of the attack recording")
    assert without.endswith(
        "nothing done to the machine, the alarm was on for 100.0 % of the steps."
    )


def test_the_json_contract(result):
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    for name in ("step_rows", "max_lag", "signals", "links"):
        assert isinstance(told[name], int), name
    for name in ("learn_s", "tick_ms_mean", "tick_ms_std"):
        assert told[name] > 0.0, name
    assert (told["dataset"], told["simulated"]) == ("swat", True)
    assert (told["step_rows"], told["max_lag"], told["signals"]) == (2, 1, 5)
    for method in told["methods"].values():
        for counting in ("paper_counting", "strict"):
            for score in ("precision", "recall", "f1"):
                assert 0.0 <= method[counting][score] <= 1.0
    wanted = {"id", "steps", "alarmed", "top", "stage_hit", "signal_hit"}
    assert [attack["id"] for attack in told["attacks"]] == ["8"]
    assert wanted <= set(told["attacks"][0])
    assert told["methods"]["paper"]["published"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    assert told["methods"]["switch"]["published"] is None


def test_simulated_stands_in_every_table(result):
    for one in (method_table(result), explanations(result)):
        assert "SIMULATED" in one.title
        assert any("simulated" in cell for cell in one.head)
        assert all(len(row) == len(one.head) for row in one.rows)
    text = markdown(result)
    assert text.startswith("# The paper's table again: SIMULATED")
    assert text.count("SIMULATED") == 3
    assert "100 % / 100 % / 100 %" in text
    assert "arXiv 2404.09871" in text
    assert [heading for heading, _ in sentences(result)] == [
        "What the figures mean",
        "What was named",
        "How they came about",
    ]


def test_published_figures_agree_with_themselves():
    """F1 follows from precision and recall, up to the rounding of all three."""
    for results in PUBLISHED.values():
        for precision, recall, f1 in results.scores.values():
            assert 2 * precision * recall / (precision + recall) == pytest.approx(f1, abs=0.01)


def test_methods_that_cannot_run(monkeypatch):
    assert available(["switch"]) == (("paper", "switch"), ())
    assert available(["tce", "paper"])[0] == ("paper", "tce")
    with pytest.raises(UnknownNameError, match=r"no method 'rnm'\. Did you mean 'rnn'"):
        available(["rnm"])
    monkeypatch.setattr(others, "find_spec", lambda name: None if name == "torch" else object())
    names, [sentence] = available(None)
    assert names == ("paper",)
    assert sentence.startswith("rnn, tcn, tce cannot run, since torch is not installed;")
    assert "pip install 'causewatch[baselines]'" in sentence
    with pytest.raises(SettingError, match=r"tcn cannot run, since torch.*causewatch\[baselines\]"):
        available(["tcn"])


def test_networks_see_principal_components_on_swat_only():
    assert make_method("rnn", "swat")._principal == 0.95
    assert make_method("tcn", "swat")._principal == 0.95
    assert make_method("tcn", "pepper")._principal is None
    assert make_method("switch", "swat").name == "switch"


def test_the_simulated_plant(monkeypatch):
    names = ("8", "25", "26")  # the last waits for a valve, and may find no time
    monkeypatch.setitem(case.QUICK, "swat", case.Lengths(600, 10_000))
    monkeypatch.setattr(case, "PAPER_ATTACKS", names)
    told = []
    made = simulate_case("swat", 31, quick=True, progress=lambda what, share: told.append(share))
    assert made.simulated
    missing = set(names) - {event.name for event in made.events}
    assert bool(missing) == any("do not hold" in note for note in made.notes)
    assert [len(one.table) for one in (made.normal, *made.tests)] == [600, 10_000]
    # Until the first attack the two recordings are the same.
    first = min(event.start for event in made.events) // SECOND
    [test], [untouched] = made.tests, made.untouched
    np.testing.assert_array_equal(test.table.values[:first], untouched.values[:first])
    assert (test.table.values != untouched.values).any()
    assert made.stage_of("LIT301") == "3"
    assert told == sorted(told)
    assert 0.8 < told[-1] <= 1.0


def test_the_simulated_robot():
    made = simulate_case("pepper", 31, quick=True)
    assert [one.name for one in made.tests] == ["wheels", "joints", "led"]
    for one in made.tests:
        [event] = one.events
        assert one.table.labels.all()
        assert event.end == len(one.table) * SECOND // 10
    assert made.whole_files
    assert all(made.stage_of(name) is not None for name in made.normal.table.signals)
    assert (made.stage_of("KneePicthTemp"), made.stage_of("WheelBStiff")) == ("joints", "wheels")


def test_what_is_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="no dataset of the paper 'wadi'"):
        simulate_case("wadi", 1)
    with pytest.raises(SettingError, match="seed is -1"):
        simulate_case("swat", -1)
    with pytest.raises(SettingError, match="one recording with attacks, but 2 were given"):
        load_case("swat", tmp_path / "n.csv", [tmp_path / "a.csv", tmp_path / "b.csv"])
    with pytest.raises(SettingError, match="--step is 0 rows"):
        run_paper(small_case(), step=0)
