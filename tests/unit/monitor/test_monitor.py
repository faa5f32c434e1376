"""The monitor as a whole, on a small plant whose mechanisms are known.

A drives B, B drives C; D drives E; L stands alone and remembers long; K never moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

import causewatch as cw
from causewatch.detectors import InnovationDetector, PublishedDetector, PublishedOptions
from causewatch.errors import SettingError, TableError
from causewatch.explain.describe import describe
from causewatch.monitor import monitor as monitor_module
from causewatch.monitor import patience
from causewatch.monitor.alarms import alarm_id
from causewatch.monitor.monitor import fingerprint
from causewatch.simulate import RandomSystem
from causewatch.simulate.recursion import Edge

SIGNALS = tuple("ABCDEL")
COLUMNS = (*SIGNALS, "K")
A, B, C, D, E, L, K = range(7)
LINKS = (
    (A, A, 1, 0.9), (A, B, 1, 0.8), (B, B, 1, 0.5), (B, C, 2, 0.7), (C, C, 1, 0.4),
    (D, D, 1, 0.95), (D, E, 1, 0.6), (E, E, 1, 0.3), (L, L, 1, 0.95),
)  # fmt: skip
"""Source, target, lag, coefficient; the noise of every signal has standard deviation 1."""
SYSTEM = RandomSystem(
    SIGNALS,
    "linear",
    0,
    2,
    tuple(Edge(source, target, lag, "linear", (size,)) for source, target, lag, size in LINKS),
    np.zeros((1, 6)),
    np.zeros(6, dtype=bool),
)


def plant(rows, seed):
    """Normal rows, in the order of `COLUMNS`."""
    return np.column_stack([SYSTEM.simulate(rows, seed=seed).values, np.full(rows, 20.0)])


def frame(rows):
    return pl.DataFrame(dict(zip(COLUMNS, rows.T, strict=True)))


@pytest.fixture(scope="module")
def model():
    """One row is one tick."""
    return cw.learn(frame(plant(3000, 1)), every=1.0, max_lag=2, false_alarm_every=1e5)


@pytest.fixture(scope="module")
def averaging():
    """Five rows are one tick."""
    return cw.learn(frame(plant(4000, 1)), every=5.0, max_lag=2, false_alarm_every=1e5)


@dataclass
class Story:
    """What a monitor said about rows, one entry per row."""

    monitor: cw.Monitor
    ticks: list = field(default_factory=list)

    @property
    def events(self):
        return [
            (row, event, alarm)
            for row, tick in enumerate(self.ticks)
            for one in tick.all
            for event, alarm in one.events
        ]

    def raised(self, kind="anomaly"):
        return [
            (row, alarm)
            for row, event, alarm in self.events
            if event == "raised" and alarm.kind == kind
        ]

    @property
    def blamed(self):
        """Signals that were ever part of an anomaly alarm."""
        return {
            name for _, _, alarm in self.events if alarm.kind == "anomaly" for name in alarm.signals
        }

    @property
    def on(self):
        return np.array([tick.alarm for tick in self.ticks])

    @property
    def scores(self):
        return [tick.score for tick in self.ticks]

    @property
    def health(self):
        return [
            (row, change.now.signal, change.now.state)
            for row, tick in enumerate(self.ticks)
            for one in tick.all
            for change in one.health
        ]


def watch(monitor, rows, times=None):
    if isinstance(monitor, cw.NormalModel):
        monitor = cw.Monitor(monitor)
    times = [None] * len(rows) if times is None else times
    return Story(
        monitor, [monitor.update(row, time) for row, time in zip(rows, times, strict=True)]
    )


# Rows in, ticks out


def test_a_row_is_a_sample_a_mapping_or_an_array(model):
    rows = plant(80, 2)
    rows[10, B] = np.nan
    named = [dict(zip(COLUMNS, row.tolist(), strict=True)) for row in rows]
    shuffled = [dict(reversed(row.items())) | {"unknown": 5} for row in named]
    samples = [cw.Sample(float(t), row) for t, row in enumerate(named)]
    plain = watch(model, rows)
    assert plain.scores[-1] is not None
    for others in (named, shuffled, samples, rows.tolist()):
        story = watch(model, others)
        assert story.scores == plain.scores
        assert [t.time for t in story.ticks] == [t.time for t in plain.ticks]
    quick = cw.Monitor(model)
    said = [quick.update_ns(row, t * 10**9).score for t, row in enumerate(rows)]
    assert said == plain.scores


def test_a_row_without_names_must_fit(model):
    with pytest.raises(TableError, match="6 values"):
        cw.Monitor(model).update(np.zeros(6))


def test_a_time_given_beside_a_sample_wins(model):
    tick = cw.Monitor(model).update(cw.Sample(5.0, {"A": 1.0}), time=7.0)
    assert tick.time == 7 * 10**9


def test_between_ticks_there_is_no_score(averaging):
    rows = plant(100, 3)
    story = watch(averaging, rows)
    complete = [row for row, tick in enumerate(story.ticks) if tick.complete]
    assert np.diff(complete).tolist() == [5] * (len(complete) - 1)
    for row, tick in enumerate(story.ticks):
        if not tick.complete:
            assert tick.score is None
            assert not tick.signals
            assert not tick.events
            before = [k for k in complete if k < row]
            assert tick.time == (story.ticks[before[-1]].time if before else None)
    last = story.ticks[complete[-1]]
    assert last.time is not None
    assert last.time % (5 * 10**9) == 4 * 10**9  # of the last row averaged, not of the first
    assert last.score == max(last.signals.values())
    assert list(last.signals) == list(last.expected) == list(COLUMNS)


def test_the_score_is_none_until_a_mechanism_has_seen_its_causes(model):
    story = watch(model, plant(5, 3))
    assert [score is None for score in story.scores] == [True, False, False, False, False]
    assert all(np.isnan(list(story.ticks[0].signals.values())[:6]))
    assert np.isnan(story.ticks[1].signals["C"])  # its cause acts after two ticks
    assert not np.isnan(story.ticks[2].signals["C"])


def test_a_row_that_settles_many_ticks_gives_them_all(model):
    """A clock set back: rows are kept back until it is clear, then judged together."""
    rows = plant(60, 4)
    times = [*range(40), *range(5, 25)]
    story = watch(model, rows, times)
    (where,) = [row for row, tick in enumerate(story.ticks) if tick.earlier]
    tick = story.ticks[where]
    assert len(tick.all) == len(tick.earlier) + 1 == 11
    assert all(one.complete for one in tick.all)
    assert [one.time for one in tick.all] == [t * 10**9 for t in range(5, 16)]
    assert not any(one.complete for one in story.ticks[40:where])
    assert story.monitor.problems["clock_jumps"] == 1


def test_flush_judges_the_tick_still_open(averaging):
    monitor = watch(averaging, plant(98, 3)).monitor
    last = monitor.flush()
    assert last.complete
    assert last.time == 97 * 10**9
    assert not monitor.flush().complete


def after_a_gap(rows, start):
    """Times of a second recording: it need not begin where the first one ended."""
    return (start + np.arange(rows)).tolist()


def absent(story):
    """At each tick, the signals that were stale or missing."""
    gone, found = set(), []
    for tick in story.ticks:
        for change in tick.health:
            gone -= {change.now.signal}
            if change.now.state in ("stale", "missing"):
                gone |= {change.now.signal}
        found.append(set(gone))
    return found


def test_scores_are_those_of_ticks_made_in_one_go(averaging):
    rows = plant(1000, 5)
    rows[300:420, D] += 6.0
    rows[600:640, E] = np.nan
    story = watch(averaging, rows)
    story.ticks.append(story.monitor.flush())
    live = [(tick.time, tick.score) for tick in story.ticks if tick.complete]
    recipe = averaging.preprocessing
    table = cw.read_table(frame(rows)[list(recipe.signals)])
    batch = recipe.ticker(averaging.interval).rows(table)
    detector = InnovationDetector(averaging.equations, averaging.watching.limits)
    # What a dead sensor last showed is held in ticks, but it is no cause once health has noticed.
    column = recipe.signals.index("E")
    noticed = {
        tick.time: "E" in gone for tick, gone in zip(story.ticks, absent(story), strict=True)
    }
    batch.values[[noticed[time] for time in batch.time.tolist()], column] = np.nan
    twin = [detector.update(row, k == 0).score for k, row in enumerate(batch.values)]
    assert live == list(zip(batch.time.tolist(), twin, strict=True))
    assert max(score or 0.0 for score in twin) > 1.0


def test_the_score_is_the_largest_evidence_guards_included(model):
    rows = plant(300, 6)
    rows[100:150, K] = 20.015  # three quarters of what its guard allows
    rows[200:250, K] = 20.04
    for row, tick in enumerate(watch(model, rows).ticks[1:], start=1):
        assert tick.score == np.nanmax(list(tick.signals.values()))
        expected = 0.75 if 100 <= row < 150 else 1.0 + np.log(2.0) if 200 <= row < 250 else 0.0
        assert tick.signals["K"] == pytest.approx(expected, abs=1e-9)


# What is normal


def test_normal_rows_raise_nothing_and_everybody_is_well(model):
    story = watch(model, plant(1500, 20))
    assert story.events == []
    assert story.health == []
    assert story.monitor.health == {}
    assert not story.on.any()


def test_starting_up_raises_nothing(model):
    for seed in range(100, 130):
        assert watch(model, plant(40, seed)).events == []


# Faults


def test_a_fault_is_raised_named_and_cleared(model):
    rows = plant(700, 5)
    rows[200:300, E] += 11.0
    story = watch(model, rows)
    ((when, alarm),) = story.raised()
    assert when == 200
    assert alarm.raised_at == 200 * 10**9
    assert list(alarm.signals) == ["E"]
    assert alarm.model is model
    assert alarm.course.time[-1] == alarm.raised_at
    ((gone, cleared),) = [(row, one) for row, event, one in story.events if event == "cleared"]
    assert 300 <= gone < 550
    assert cleared.id == alarm.id
    assert cleared.cleared_at == gone * 10**9
    assert story.on[200:gone].all()
    assert not story.on[gone:].any()


def test_ids_follow_from_model_stream_and_time(model):
    rows = plant(220, 5)
    rows[200:, E] += 11.0
    first, again = (watch(model, rows).raised()[0][1] for _ in range(2))
    other = watch(cw.Monitor(model, stream="line 2"), rows).raised()[0][1]
    assert first.id == again.id == alarm_id(fingerprint(model), "", 200 * 10**9)
    assert other.id == alarm_id(fingerprint(model), "line 2", 200 * 10**9) != first.id


def test_an_alarm_is_explained_by_its_first_ticks(model):
    """However long it lasts, and although what came before has left the ring."""
    rows = plant(850, 5)
    rows[200:500, E] += 11.0
    story = watch(cw.Monitor(model, describe=describe), rows)
    told = [alarm for _, _, alarm in story.events]
    assert not told[-1].on
    assert told[-1].updated_at > (200 + monitor_module.OPENING) * 10**9
    assert told[-1].course.time[0] < 200 * 10**9
    assert story.monitor.course.time[0] > 200 * 10**9
    assert told[-1].causes[0].signal == "E"
    assert "E" in told[-1].headline


def test_a_spoofed_signal_keeps_its_alarm_until_it_is_released(model):
    """E no longer follows D while D is 11 too high."""
    rows = plant(900, 5)
    rows[200:500, D] += 11.0
    story = watch(model, rows)
    assert story.on[200:500].all()
    assert not story.on[:200].any()
    assert not story.on[700:].any()
    assert story.blamed == {"D", "E"}
    assert len(story.raised()) == 1


@pytest.mark.parametrize(
    ("seed", "by"),
    [
        *((seed, 30.0) for seed in (3, 4, 5)),
        *((seed, 20.0) for seed in (3, 4, 5)),
    ],
)
def test_a_spoof_that_only_its_own_past_betrays_keeps_its_alarm(model, seed, by):
    """A signal that remembers long shows an offset as an innovation once only: the level."""
    rows = plant(900, seed)
    rows[200:500, L] += by
    story = watch(model, rows)
    assert story.on[200:500].all()
    assert not story.on[750:].any()


def test_a_big_event_clears_when_it_is_over_although_the_plant_settles_nearby(model):
    rows = plant(900, 9)
    rows[200:300, E] += 40.0
    rows[300:, E] += 2.0
    story = watch(model, rows)
    assert story.on[200:300].all()
    assert not story.on[550:].any()
    assert min(story.scores[550:]) > 1.0  # it is not quite where it was


def test_a_signal_that_never_moved_moves(model):
    assert model.watching.guarded == ("K",)
    rows = plant(300, 5)
    rows[200:240, K] = 25.0
    story = watch(model, rows)
    ((when, alarm),) = story.raised()
    assert when == 200
    assert list(alarm.signals) == ["K"]
    assert story.on[200:240].all()
    assert not story.on[260:].any()
    assert story.ticks[-1].expected["K"] == 20.0


# Health


@pytest.mark.parametrize("dead", SIGNALS)
def test_a_dead_sensor_is_a_matter_of_health_only(model, dead):
    rows = plant(200, 4)
    rows[100:, SIGNALS.index(dead)] = np.nan
    story = watch(model, rows)
    assert story.raised() == []
    ((_, alarm),) = story.raised("health")
    assert list(alarm.signals) == [dead]
    assert alarm.problem == "missing"
    assert story.monitor.health[dead].state == "missing"
    assert set(story.monitor.health) == {dead}
    last = story.ticks[-1]
    assert np.isnan(last.signals[dead])
    unrelated = set("DEL") if dead in "ABC" else set("ABC")
    assert not any(np.isnan(last.signals[name]) for name in unrelated)


@pytest.mark.parametrize(("dead", "seed"), [(B, 1002), (D, 1009)])
def test_a_sensor_that_dies_never_blames_its_neighbour(model, dead, seed):
    """Its last value is held for some ticks: what leans on it must not be judged by that."""
    rows = plant(40, seed)
    rows[25:, dead] = np.nan
    assert watch(model, rows).blamed == set()


def test_a_fault_elsewhere_is_seen_and_named_while_a_sensor_is_dead(model):
    rows = plant(600, 4)
    rows[100:, B] = np.nan
    rows[400:500, E] += 11.0
    story = watch(cw.Monitor(model, describe=describe), rows)
    ((when, alarm),) = story.raised()
    assert when == 400
    assert story.blamed == {"E"}
    assert alarm.causes[0].signal == "E"
    assert story.monitor.health["B"].state == "missing"


def test_a_sensor_comes_back(model):
    rows = plant(300, 4)
    rows[100:150, B] = np.nan
    story = watch(model, rows)
    assert story.raised() == []
    assert story.health == [(101, "B", "stale"), (105, "B", "missing"), (154, "B", "ok")]
    assert not np.isnan(story.ticks[-1].signals["B"])
    assert story.monitor.alarms.active == ()


def test_a_stuck_sensor_is_frozen_and_named(model):
    rows = plant(400, 5)
    rows[200:, C] = rows[200, C]
    story = watch(model, rows)
    assert (210, "C", "frozen") in story.health
    ((_, health),) = story.raised("health")
    assert (list(health.signals), health.problem) == (["C"], "frozen")
    assert story.blamed == {"C"}
    assert story.on[250:].all()


@pytest.mark.parametrize("seed", range(1000, 1004))
def test_a_stuck_sensor_is_the_cause_although_another_one_stands_out(model, seed):
    """D stands still, so E no longer follows it."""
    rows = plant(100, seed)
    rows[30:, D] = rows[30, D]
    story = watch(cw.Monitor(model, describe=describe), rows)
    assert story.monitor.health["D"].state == "frozen"
    assert story.blamed == {"E"}
    assert story.events[-1][2].causes[0].signal == "D"


def test_all_sensors_dead_is_survived(model):
    rows = plant(300, 5)
    rows[100:150] = np.nan
    story = watch(model, rows)
    assert story.raised() == []
    assert {alarm.problem for _, alarm in story.raised("health")} == {"missing"}
    assert story.scores[-1] is not None
    assert story.monitor.health == {}


def test_drift_that_is_slow_enough_is_followed_and_reported_as_health(model, monkeypatch):
    monkeypatch.setattr(monitor_module, "DRIFTED", 0.12)  # otherwise it takes ten thousand ticks
    monkeypatch.setattr(monitor_module, "UNDRIFTED", 0.08)
    rows = plant(4000, 22)
    rows[:, E] += 8e-5 * np.arange(4000)
    story = watch(model, rows)
    assert story.raised() == []
    assert [(name, state) for _, name, state in story.health] == [("E", "drifted")]
    assert "drifted" in story.monitor.health["E"].detail


# Patience


@pytest.fixture
def impatient(monkeypatch):
    """Hours shrink to 150 ticks."""
    monkeypatch.setattr(patience, "HOURS", 0.0)
    monkeypatch.setattr(patience, "LEAST_TICKS", 150)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("signal", "by"), [("K", 5.0), ("C", 9.0), ("C", 6.0)])
def test_what_is_odd_alone_for_hours_becomes_a_matter_of_health(model, signal, by):
    rows = plant(900, 7)
    rows[200:, COLUMNS.index(signal)] += by
    story = watch(model, rows)
    assert len(story.raised()) == 1
    ((when, health),) = story.raised("health")
    assert (list(health.signals), health.problem) == ([signal], "drifted")
    assert story.on[200:when].all()
    assert not story.on[when:].any()
    assert (when, signal, "drifted") in story.health
    assert when >= 350
    # Where it is now is normal; a fault of it is seen all the same.
    later = plant(300, 8)
    later[:, COLUMNS.index(signal)] += by
    later[200:, COLUMNS.index(signal)] += 40.0
    again = watch(story.monitor, later, after_a_gap(300, 10_000))
    assert not again.on[:200].any()
    assert again.on[250]
    assert again.blamed == {signal}


# Gaps


def test_after_a_gap_nothing_is_judged_until_the_lags_are_filled(model):
    rows = plant(400, 5)
    rows[150:, E] += 11.0
    times = np.arange(400)
    times[200:] += 1000
    story = watch(model, rows, times.tolist())
    assert story.on[150:203].all()
    assert story.scores[200] is None
    assert np.isnan(story.ticks[201].signals["C"])
    assert story.scores[202] is not None
    assert not np.isnan(list(story.ticks[202].signals.values())).any()


def test_trouble_that_outlasts_a_gap_is_one_alarm(model):
    rows = plant(300, 5)
    rows[150:, E] += 11.0
    times = np.arange(300)
    times[200:] += 1000
    story = watch(model, rows, times.tolist())
    assert story.on[150:].all()
    assert len(story.raised()) == 1


# What operators do


def test_what_was_marked_as_normal_no_longer_alarms_and_anything_else_does(model):
    def disturbed(signal):
        rows = plant(500, 11)
        rows[50:100, signal] += 11.0
        return rows

    story = watch(model, disturbed(E))
    ((_, alarm),) = story.raised()
    monitor = story.monitor
    monitor.alarms.mark_normal(alarm.id, by="Ann", at=story.ticks[-1].time)
    assert watch(monitor, disturbed(E)).events == []
    other = watch(monitor, disturbed(C))
    assert other.blamed == {"C"}
    monitor.alarms.undo_normal(alarm.id, by="Ann", at=other.ticks[-1].time)
    again = watch(monitor, disturbed(E))
    assert again.blamed == {"E"}


def test_a_guarded_signal_may_stay_where_it_was_marked_as_normal(model):
    rows = plant(120, 12)
    rows[50:, K] = 20.04
    story = watch(model, rows)
    ((_, alarm),) = story.raised()
    story.monitor.alarms.mark_normal(alarm.id, by="Ann", at=story.ticks[-1].time)
    rows = plant(300, 13)
    rows[:, K] = 20.04
    assert watch(story.monitor, rows).raised() == []
    rows[:, K] = 19.9
    assert watch(story.monitor, rows).blamed == {"K"}


def test_a_guard_marked_as_normal_far_out_still_watches(model):
    """One new normal value must not make the guard blind to every other one."""
    rows = plant(120, 12)
    rows[50:, K] = 25.0
    story = watch(model, rows)
    ((_, alarm),) = story.raised()
    story.monitor.alarms.mark_normal(alarm.id, by="Ann", at=story.ticks[-1].time)
    rows[:, K] = 25.0
    assert watch(story.monitor, rows, after_a_gap(120, 10_000)).raised() == []
    rows[:, K] = 250.0
    assert watch(story.monitor, rows, after_a_gap(120, 20_000)).blamed == {"K"}


def test_shelved_signals_raise_nothing_until_the_shelf_expires(model):
    rows = plant(300, 11)
    rows[50:, E] += 11.0
    monitor = cw.Monitor(model)
    monitor.alarms.shelve(["E"], until=200 * 10**9, by="Ann", at=0)
    story = watch(monitor, rows)
    ((when, alarm),) = story.raised()
    assert when == 200
    assert list(alarm.signals) == ["E"]


# Starting again


def test_reset_forgets_everything(model):
    rows = plant(260, 5)
    rows[200:, E] += 11.0
    story = watch(model, rows)
    monitor = story.monitor
    monitor.alarms.mark_normal(story.raised()[0][1].id, by="Ann", at=story.ticks[-1].time)
    monitor.alarms.shelve(["C"], until=10**15, by="Ann", at=0)
    monitor.reset()
    assert monitor.alarms.active == monitor.alarms.recent == monitor.alarms.marks == ()
    assert monitor.alarms.shelves == ()
    again = watch(monitor, rows)
    assert again.scores == story.scores
    assert [(row, event, alarm.id) for row, event, alarm in again.events] == [
        (row, event, alarm.id) for row, event, alarm in story.events
    ]


def test_the_state_of_another_model_is_refused(model, averaging):
    with pytest.raises(SettingError, match="another model"):
        cw.Monitor(averaging).restore(cw.Monitor(model).snapshot())


def test_a_restored_monitor_goes_on_under_the_name_of_its_stream(model):
    rows = plant(220, 5)
    rows[210:, E] += 11.0
    whole = watch(cw.Monitor(model, stream="line 2"), rows)
    first = watch(cw.Monitor(model, stream="line 2"), rows[:200]).monitor
    second = cw.Monitor(model)
    second.restore(first.snapshot())
    rest = watch(second, rows[200:])
    assert rest.raised()[0][1].id == whole.raised()[0][1].id


def test_a_snapshot_is_not_touched_by_what_comes_after(model):
    rows = plant(300, 5)
    rows[100:200, E] += 11.0
    monitor = watch(model, rows[:150]).monitor
    saved = monitor.snapshot()
    after = watch(monitor, rows[150:])
    second = cw.Monitor(model)
    second.restore(saved)
    assert watch(second, rows[150:]).scores == after.scores
    third = cw.Monitor(model)
    third.restore(saved)
    assert watch(third, rows[150:]).scores == after.scores


# The published detector


@pytest.fixture(scope="module")
def paper():
    return cw.learn(frame(plant(3000, 1))[list(SIGNALS)], preset="paper", every=1.0, max_lag=2)


def test_the_paper_preset_from_learning_to_ranking(paper):
    rows = plant(400, 5)[:, [COLUMNS.index(name) for name in paper.signals]]
    monitor = cw.Monitor(paper)
    scores = [monitor.update(row).score for row in rows]
    twin = PublishedDetector(paper.equations, paper.watching.published)
    found = [twin.update(row) for row in rows]
    assert scores == [one.score for one in found]
    ranking = monitor.published_ranking()
    assert set(ranking) == set(paper.signals)
    assert list(ranking.values()) == sorted(ranking.values(), reverse=True)
    assert ranking == dict(zip(paper.signals, twin.ranking().tolist(), strict=True))
    over = [k for k, score in enumerate(scores) if score is not None and score > 1.0]
    assert over
    assert monitor.broken_links() or scores[-1] <= 1.0


def test_a_paper_monitor_goes_on_from_a_snapshot(paper):
    rows = plant(200, 5)[:, [COLUMNS.index(name) for name in paper.signals]]
    whole = watch(paper, rows)
    second = cw.Monitor(paper)
    second.restore(watch(paper, rows[:90]).monitor.snapshot())
    assert watch(second, rows[90:]).scores == whole.scores[90:]
    assert second.published_ranking() == whole.monitor.published_ranking()


def test_options_of_the_published_detector_need_its_model(model, paper):
    with pytest.raises(SettingError, match="--preset paper"):
        cw.Monitor(model, options=PublishedOptions())
    assert cw.Monitor(model).published_ranking() == {}
    text = cw.Monitor(paper, options=PublishedOptions(intercept=False))
    rows = plant(100, 5)[:, [COLUMNS.index(name) for name in paper.signals]]
    assert watch(text, rows).scores != watch(paper, rows).scores
