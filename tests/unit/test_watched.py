"""Whole recordings watched: what comes out is what a monitor says row by row."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import causewatch as cw
from causewatch.errors import SettingError, TableError
from causewatch.explain.described import describe
from causewatch.simulate import Fault, random_system

SYSTEM = random_system(5, seed=1)
NAMES = ["c", "a", "flat", "e", "b", "d"]
FAULT = Fault("bias", "S03", start=200, end=300, size=9.0)


def rows(count, seed, faults=()):
    """A constant among five signals."""
    return np.insert(SYSTEM.simulate(count, seed=seed, faults=faults).values, 2, 4.0, axis=1)


def times(count, zone=None):
    return pd.date_range("2026-01-01", periods=count, freq="s", tz=zone)


@pytest.fixture(scope="module")
def model():
    return cw.learn(pd.DataFrame(rows(2000, 2), columns=NAMES, index=times(2000)), every=2.0)


@pytest.fixture(scope="module")
def today():
    return rows(400, 3, [FAULT])


def row_by_row(model, values, when):
    """What a monitor says: score and alarm of each row, the last line of every alarm."""
    monitor = cw.Monitor(model, describe=describe)
    scores, on, last, done = np.full(len(values), np.nan), np.zeros(len(values), bool), {}, 0
    named = [dict(zip(NAMES, row, strict=True)) for row in values]
    ticks = [monitor.update(row, time) for row, time in zip(named, when, strict=True)]
    for tick in (one for answer in (*ticks, monitor.flush()) for one in answer.all if one.complete):
        stop = done + 2  # rows per tick
        scores[done:stop] = np.nan if tick.score is None else tick.score
        on[done:stop] = tick.alarm
        last |= {alarm.id: alarm for _, alarm in tick.events}
        done = stop
    return scores, on, last


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "lazy"])
def test_scores_and_alarms_are_those_of_a_monitor_in_frames_of_the_kind_given(
    model, today, library, zone
):
    when = times(400, zone)
    given = pd.DataFrame(today, columns=NAMES, index=when)
    if library != "pandas":
        given = pl.from_pandas(given.rename_axis("when").reset_index())
        given = {"polars": given, "lazy": given.lazy(), "pyarrow": given.to_arrow()}[library]
    found = cw.watch(model, given)
    kind = {"pandas": pd.DataFrame, "lazy": pl.DataFrame}.get(library, type(given))
    scores, on, last = row_by_row(model, today, when)
    assert last
    for frame in (found.scores, found.alarms, cw.score(model, given)):
        assert isinstance(frame, kind)
    seen, alarms = nw.from_native(found.scores), nw.from_native(found.alarms)
    assert seen.columns == ["time", "score", "alarm"]
    assert seen.schema["time"] == nw.Datetime("ns", zone)
    np.testing.assert_array_equal(seen["score"].to_numpy(), scores)
    np.testing.assert_array_equal(seen["alarm"].to_numpy(), on)
    assert seen["score"].is_null().sum() == np.isnan(scores).sum() > 0
    first = seen["time"][0]
    assert (first.replace(tzinfo=None), first.tzinfo is None) == (
        when[0].replace(tzinfo=None),
        zone is None,
    )
    ordered = sorted(last.values(), key=lambda alarm: alarm.raised_at)
    assert alarms["id"].to_list() == [alarm.id for alarm in ordered]
    assert alarms["headline"].to_list() == [alarm.headline for alarm in ordered]
    assert alarms["signal"].to_list() == [next(iter(alarm.signals)) for alarm in ordered]
    assert alarms["raised_at"].to_numpy().astype("i8").tolist() == [a.raised_at for a in ordered]
    assert found.by_id == last
    again = nw.from_native(cw.score(model, given))
    for name in seen.columns:
        np.testing.assert_array_equal(again[name].to_numpy(), seen[name].to_numpy())
    assert repr(found) == f"Watched(400 rows, {len(last)} alarms)"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_quiet_recording_has_a_frame_of_no_alarms(model, library):
    given = pl.DataFrame(rows(100, 5), schema=NAMES)
    given = {"pandas": given.to_pandas, "polars": given.clone, "pyarrow": given.to_arrow}[library]()
    alarms = nw.from_native(cw.watch(model, given).alarms)
    assert alarms.shape == (0, 9)
    assert alarms.schema["headline"] == nw.String


def test_an_array_is_in_the_order_learnt_and_its_rows_count_an_interval_each(model, today):
    scores, *_ = row_by_row(model, today, range(400))
    found = cw.score(model, today)
    np.testing.assert_array_equal(found["score"].to_numpy(), scores)
    assert found["time"].to_list() == list(range(400))
    slow = cw.learn(rows(600, 2), every=1.0)
    assert slow.clock == "rows"
    numbered = cw.score(slow, pd.DataFrame(today, columns=slow.columns, index=times(400)))
    assert numbered["time"].tolist() == list(range(400))
    assert numbered["score"].notna().sum() > 390
    with pytest.raises(TableError, match=r"5 columns, but 6 values in the order .*c, a, flat"):
        cw.score(model, today[:, 1:])


def test_a_recording_of_another_plant_is_told_so(model, today):
    with pytest.raises(TableError, match="None of the model's signals is in the recording"):
        cw.score(model, pd.DataFrame(today, columns=list("uvwxyz")))
    some = pd.DataFrame(today, columns=NAMES).drop(columns=["e"])
    assert cw.score(model, some)["score"].notna().any()


def test_a_model_comes_first(model, today):
    for ask in (cw.watch, cw.score):
        for first in ("plant.cwm", today):
            with pytest.raises(SettingError, match="give a model"):
                ask(first, model)


def test_a_recording_that_cannot_be_judged_is_warned_of(model, today):
    with pytest.warns(UserWarning, match="None of 4 rows could be judged"):
        cw.score(model, pd.DataFrame(today[::100], columns=NAMES, index=times(400, None)[::100]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "file"])
def test_rows_out_of_order_have_a_line_and_no_score(model, today, kind, tmp_path):
    """They were left out without a word, and all that came after them moved up."""
    order = [*range(200), 150, *range(200, 300), 120, 121]
    table = pd.DataFrame(today, columns=NAMES, index=times(400)).iloc[order]
    late = np.isin(np.arange(len(order)), [200, 301, 302])
    given = {"pandas": table, "polars": pl.from_pandas(table.rename_axis("time").reset_index())}
    table.to_csv(tmp_path / "today.csv", index_label="time")
    given["file"] = tmp_path / "today.csv"
    with pytest.warns(UserWarning, match=r"^3 of 303 rows could not be used and have no score"):
        found = cw.watch(model, given[kind])
    with pytest.warns(UserWarning, match=r"^3 of 303 rows could not be used and have no score"):
        again = nw.from_native(cw.score(model, given[kind]))
    seen = nw.from_native(found.scores)
    assert len(seen) == len(again) == 303
    assert seen["time"].is_null().to_numpy().tolist() == late.tolist()
    assert seen["score"].is_null().to_numpy()[late].all()
    assert not seen["alarm"].to_numpy()[late].any()
    straight = nw.from_native(cw.score(model, table[~late]))
    for frame in (seen, again):
        for name in ("time", "score", "alarm"):
            np.testing.assert_array_equal(frame[name].to_numpy()[~late], straight[name].to_numpy())
    assert found.unjudged == seen["score"].is_null().sum() > 3


def test_lines_of_a_list_of_events_are_no_rows(model, today):
    table = pd.DataFrame(today, columns=NAMES).assign(time=times(400))
    events = table.melt(id_vars="time", var_name="tag", value_name="value").sort_values("time")
    found = cw.watch(model, events)
    assert len(found.scores) == 400
    assert found.unjudged == found.scores["score"].isna().sum() < 20


def test_alarms_tell_the_times_of_the_recording_and_not_those_of_the_model(today):
    dated = cw.learn(pd.DataFrame(rows(600, 2), columns=NAMES, index=times(600, None)))
    found = cw.watch(dated, today)
    assert found.scores["time"].dtype.is_float()
    assert len(found.by_id)
    assert not any("1970" in alarm.headline for alarm in found.by_id.values())


def test_settings_and_options_of_reading_are_passed_on(model, today):
    table = pd.DataFrame(today, columns=NAMES).assign(t=times(400).astype(str))
    never = cw.AlarmSettings(raise_after=10_000)
    assert (
        len(cw.watch(model, table, settings=never, time="t").alarms.query("kind == 'anomaly'")) == 0
    )
    assert cw.watch(model, table, time="t").scores["alarm"].any()
