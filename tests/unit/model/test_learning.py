"""Learning: from a recording to a model."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from importlib.metadata import version

import numpy as np
import pandas as pd
import polars as pl
import pytest

import causewatch as cw
from causewatch.data.table import TimeTable
from causewatch.discovery import Granger
from causewatch.errors import KnowledgeError, NotEnoughDataError, SettingError, UnknownNameError
from causewatch.model.learning import usual_false_alarm_every
from causewatch.model.updating import update
from causewatch.preprocess import MOST_HELD
from causewatch.simulate import SYSTEM_KINDS, random_system
from recordings import stable
from yardstick import tigramite_pcmci

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


def named(values, names=None):
    names = names or [f"x{k}" for k in range(values.shape[1])]
    return pl.DataFrame({name: values[:, k] for k, name in enumerate(names)})


def table(values, starts=(0,)):
    return TimeTable(
        signals=tuple(f"x{k}" for k in range(values.shape[1])),
        values=values,
        time=np.arange(len(values)) * 1_000_000_000,
        starts=np.asarray(starts, dtype=np.intp),
        interval=1.0,
    )


def kinds(model):
    return {finding.kind for finding in model.report}


def assert_close(one, other, tolerance=1e-9):
    """Two models that differ by rounding at most."""
    assert one.preprocessing == other.preprocessing
    assert set(one.graph) == set(other.graph)
    for link in one.graph:
        assert one.graph[link].value == pytest.approx(other.graph[link].value, abs=tolerance)
        assert one.graph[link].p_value == pytest.approx(other.graph[link].p_value, abs=tolerance)
    for name, mechanism in one.mechanisms.items():
        same = other.mechanisms[name]
        assert mechanism.coefficients == pytest.approx(same.coefficients, abs=tolerance)
        for field in ("intercept", "spread", "explained"):
            assert getattr(mechanism, field) == pytest.approx(getattr(same, field), abs=tolerance)
    assert one.centre == pytest.approx(other.centre, abs=tolerance)
    assert one.scale == pytest.approx(other.scale, abs=tolerance)


# The published method


@pytest.mark.parametrize(("seed", "missing"), [(1, 0.0), (2, 0.0), (3, 0.02)])
def test_paper_is_tigramite_on_decimated_rows_with_zero_for_missing(seed, missing):
    values = stable(seed, 4, 600) + 0.1
    values[:, 2] += 0.6 * values[:, 0]
    values[np.random.default_rng(seed).random(values.shape) < missing] = np.nan
    step, max_lag = 2, 2
    model = cw.learn(named(values), preset="paper", every=step, max_lag=max_lag)
    ticks = np.nan_to_num(values)[::step]
    truth = tigramite_pcmci(ticks, max_lag, min_lag=0, alpha=0.05)
    mean = np.abs(truth.value).mean()
    kept = (truth.p_value < 0.05) & (np.abs(truth.value) > mean)
    links = {cw.Link(f"x{i}", f"x{j}", lag): (i, j, lag) for i, j, lag in np.argwhere(kept)}
    assert set(model.graph) == set(links)
    assert any(link.lag == 0 for link in links)
    for link, place in links.items():
        assert model.graph[link].value == pytest.approx(truth.value[place], abs=1e-9)
        assert model.graph[link].p_value == pytest.approx(truth.p_value[place], abs=1e-9)

    training = ticks[: int(0.7 * len(ticks))]
    for target, mechanism in model.mechanisms.items():
        causes = list(mechanism.coefficients)
        assert set(causes) == set(model.graph.parents(target))
        reach = max((link.lag for link in causes), default=0)
        now = training[reach:, int(target[1])]
        design = np.column_stack(
            [
                *(
                    training[reach - k.lag : len(training) - k.lag, int(k.source[1])]
                    for k in causes
                ),
                np.ones(len(now)),
            ]
        )
        solution = np.linalg.lstsq(design, now, rcond=None)[0]
        np.testing.assert_allclose(list(mechanism.coefficients.values()), solution[:-1], atol=1e-9)
        assert mechanism.intercept == pytest.approx(solution[-1], abs=1e-9)
        left = now - design @ solution
        assert mechanism.spread == pytest.approx(left.std(), abs=1e-9)
        assert mechanism.explained == pytest.approx(1 - left.var() / now.var(), abs=1e-9)


def test_paper_joins_stretches_as_the_scripts_do():
    values = stable(4, 3, 600)
    whole = cw.learn(table(values), preset="paper", max_lag=2)
    cut = cw.learn(table(values, starts=[0, 250]), preset="paper", max_lag=2)
    assert_close(whole, cut)


# The default


@pytest.mark.parametrize("kind", SYSTEM_KINDS)
def test_random_systems_are_recovered(kind):
    precision = {"linear": 0.8, "nonlinear": 0.8, "heavy": 0.8, "binary": 0.8, "modes": 0.5}[kind]
    found = true = strong = strong_found = 0
    for seed in (0, 1):
        system = random_system(8, kind=kind, seed=seed)
        model = cw.learn(named(system.simulate(4000, seed=100 + seed).values, system.signals))
        truth = system.graph
        sure = {link for link in truth if abs(truth[link].value) >= 0.2}
        found += len(model.graph)
        true += len(set(truth) & set(model.graph))
        strong += len(sure)
        strong_found += len(sure & set(model.graph))
        assert model.preprocessing.max_lag >= max(link.lag for link in sure)
    assert strong_found >= 0.9 * strong
    assert true >= precision * found


def test_coefficients_are_those_of_the_system():
    system = random_system(6, seed=3)
    model = cw.learn(named(system.simulate(10_000, seed=4).values, system.signals), every=1)
    for link, strength in system.graph.links.items():
        if abs(strength.value) >= 0.2:
            learnt = model.mechanisms[link.target].coefficients[link]
            assert learnt == pytest.approx(strength.value, abs=0.05)
    for mechanism in model.mechanisms.values():
        assert mechanism.spread == pytest.approx(1.0, abs=0.05)  # the noise of the system
        assert 0.0 < mechanism.explained < 1.0


def test_mechanisms_are_regressions_on_the_ticks():
    values = stable(5, 4, 800) * [1, 1e3, 1e-3, 1] + [0, 1e4, 5, -3]
    model = cw.learn(named(values), max_lag=2)
    for target, mechanism in model.mechanisms.items():
        links = list(mechanism.coefficients)
        ends = np.arange(4, len(values))  # windows reach back twice the longest lag
        causes = np.column_stack([values[ends - k.lag, int(k.source[1])] for k in links])
        mean, scale = causes.mean(axis=0), causes.std(axis=0)
        now = values[ends, int(target[1])]
        # A ridge of a hundredth: so many ticks that ask for zero, but not of a signal's own past.
        pull = np.diag([np.sqrt(0.01 * len(ends)) * (k.source != target) for k in links])
        design = np.concatenate([(causes - mean) / scale, pull])
        wanted = np.concatenate([now - now.mean(), np.zeros(len(links))])
        solution = np.linalg.lstsq(design, wanted, rcond=None)[0] / scale
        np.testing.assert_allclose(list(mechanism.coefficients.values()), solution, rtol=1e-6)
        left = now - causes @ solution
        assert mechanism.spread == pytest.approx(left.std(), rel=1e-6)
        assert mechanism.intercept == pytest.approx(left.mean(), rel=1e-6, abs=1e-9)
        assert mechanism.explained == pytest.approx(1 - left.var() / now.var(), abs=1e-6)
        assert model.centre[target] == pytest.approx(now.mean())
        assert model.scale[target] == pytest.approx(now.std())


def test_slow_systems_get_longer_ticks():
    system = random_system(5, seed=6)
    rows = np.repeat(system.simulate(2500, seed=7).values, 10, axis=0)
    rows += 0.1 * np.random.default_rng(8).normal(size=rows.shape)
    model = cw.learn(named(rows))
    assert 3 <= model.preprocessing.every <= 10
    assert model.provenance.ticks == len(rows) / model.preprocessing.every


def test_interval_and_lag_given_are_obeyed():
    model = cw.learn(named(stable(1, 3, 900)), every=3, max_lag=4)
    assert (model.preprocessing.every, model.preprocessing.max_lag) == (3, 4)
    assert model.provenance.ticks == 300
    assert max(link.lag for link in model.graph) <= 4


def test_alpha_decides_and_correction_only_takes_away():
    values = named(stable(9, 6, 500))
    strict, loose = (cw.learn(values, alpha=alpha, max_lag=2) for alpha in (1e-6, 0.5))
    assert set(strict.graph) < set(loose.graph)
    assert all(s.p_value <= 1e-6 for s in strict.graph.links.values())
    corrected = cw.learn(values, alpha=0.5, fdr=True, max_lag=2)
    assert set(corrected.graph) <= set(loose.graph)


@pytest.mark.parametrize(
    ("settings", "least"),
    [({"method": "granger"}, 0.9), ({"test": "rank"}, 0.9), ({"method": Granger(alpha=0.01)}, 0.9)],
)
def test_other_methods_and_tests_work(settings, least):
    system = random_system(5, seed=11)
    values = named(system.simulate(2000, seed=12).values, system.signals)
    model = cw.learn(values, max_lag=3, **settings)
    truth = set(system.graph)
    assert len(truth & set(model.graph)) >= least * len(truth)
    assert len(truth & set(model.graph)) >= 0.8 * len(model.graph)
    method = settings.get("method", "pcmci")
    assert model.provenance.settings["method"] == (method if isinstance(method, str) else "Granger")


def test_the_knn_test_works_and_is_drawn_from_the_seed():
    rng = np.random.default_rng(13)
    values = rng.normal(size=(400, 2))
    values[1:, 1] = values[:-1, 0] ** 2 + 0.2 * rng.normal(size=399)
    one, again = (cw.learn(named(values), test="knn", max_lag=1, seed=5, now=NOW) for _ in range(2))
    assert cw.Link("x0", "x1", 1) in one.graph
    assert one.graph == again.graph
    assert cw.Link("x0", "x1", 1) not in cw.learn(named(values), max_lag=1).graph


# What comes in


def test_dataframes_arrays_and_tables_give_the_same_model():
    values = stable(2, 3, 500)
    models = [
        cw.learn(source, now=NOW)
        for source in (
            named(values),
            pd.DataFrame(values, columns=["x0", "x1", "x2"]),
            cw.read_table(named(values)),
            cw.open_table(named(values)),
        )
    ]
    for model in models[1:]:
        assert model.graph == models[0].graph
        assert model.mechanisms == models[0].mechanisms
    plain = cw.learn(values)
    assert len(plain.graph) == len(models[0].graph)


def test_pieces_give_the_same_model_as_the_whole():
    rng = np.random.default_rng(3)
    values = stable(3, 4, 2500)
    values[rng.random(values.shape) < 0.01] = np.nan
    whole = table(values, starts=[0, 800, 801, 1900])

    class InPieces(TimeTable):
        """A table that is only ever read in small pieces."""

        __slots__ = ()

        def chunks(self, rows=97):
            return super().chunks(97)

    pieces = InPieces(**{name: getattr(whole, name) for name in TimeTable.__dataclass_fields__})
    for settings in ({}, {"every": 3.0, "max_lag": 2}):
        assert_close(cw.learn(whole, **settings), cw.learn(pieces, **settings))


def test_a_file_gives_the_same_model_as_its_table(tmp_path):
    path = tmp_path / "normal.parquet"
    values = named(stable(4, 3, 700))
    values.write_parquet(path)
    assert_close(cw.learn(path), cw.learn(values))


def test_several_files_are_stretches(tmp_path):
    values = stable(5, 3, 900)
    paths = []
    for k, part in enumerate(np.array_split(values, 3)):
        paths.append(tmp_path / f"part{k}.csv")
        named(part).write_csv(paths[-1])
    model = cw.learn([str(path) for path in paths], max_lag=2)
    assert_close(model, cw.learn(table(values, starts=[0, 300, 600]), max_lag=2))
    assert model.provenance.windows == 3 * (300 - 4)
    for file, path in zip(model.provenance.files, paths, strict=True):
        assert file == {
            "name": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "rows": 300,
        }


def test_first_and_last_time_are_those_of_the_data_not_of_the_files_as_given(tmp_path):
    values = stable(5, 3, 1200)
    paths = []
    for day, part in zip((3, 1, 2), np.array_split(values, 3), strict=True):
        times = pl.datetime_range(
            datetime(2026, 1, day), datetime(2026, 1, day, 0, 6, 39), "1s", eager=True
        )
        paths.append(str(tmp_path / f"day{day}.csv"))
        pl.DataFrame({"time": times}).hstack(named(part)).write_csv(paths[-1])
    model = cw.learn(paths, max_lag=2)
    span = ("2026-01-01T00:00:00", "2026-01-03T00:06:39")
    assert (model.provenance.first, model.provenance.last) == span
    assert any("2026-01-01" in finding.text and "2026-01-03" in finding.text
               for finding in model.report if finding.kind == "rows")  # fmt: skip
    later = cw.learn(paths[2], max_lag=2, every=1.0)
    assert update(later, [paths[1]]).candidate.provenance.first == "2026-01-01T00:00:00"
    assert update(later, [paths[1]]).candidate.provenance.last == "2026-01-02T00:06:39"
    assert update(later, [paths[0]]).candidate.provenance.last == "2026-01-03T00:06:39"


def test_two_percent_missing_everywhere_leave_nearly_all_windows():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(800, 51))
    values[1:, 1] += values[:-1, 0]
    gone = rng.random(values.shape) < 0.02
    values[gone] = np.nan
    model = cw.learn(named(values), max_lag=2)
    assert model.provenance.windows >= 0.99 * (800 - 4)
    assert cw.Link("x0", "x1", 1) in model.graph
    (filled,) = [one for one in model.report if one.kind == "filled"]
    first_rows = int(gone[0].sum())  # nothing to hold yet
    assert filled.text.startswith(f"{gone.sum() - first_rows:,} of {800 * 51:,} tick values")
    assert f"{model.provenance.windows:,} windows" in filled.text
    assert filled.severity == "info"


def test_what_stays_missing_is_a_warning():
    values = stable(7, 3, 600)
    values[100:200, 1] = np.nan
    model = cw.learn(named(values), max_lag=2)
    (filled,) = [one for one in model.report if one.kind == "filled"]
    assert filled.severity == "warning"
    assert f"{100 - MOST_HELD:,} stay missing" in filled.text
    assert model.provenance.windows == 600 - 4 - (100 - MOST_HELD) - 4


def test_reading_options_are_passed_on():
    values = named(stable(8, 4, 500), ["time_s", "a", "b", "c"]).with_columns(
        pl.Series("time_s", np.arange(500) * 2.0)
    )
    model = cw.learn(values, time="time_s", ignore=["c"], exclude=["0..200"], max_lag=1)
    assert model.signals == ("a", "b")
    assert (model.interval, model.provenance.rows) == (2.0, 400)


# Knowledge


def test_knowledge_is_obeyed_and_kept(tmp_path):
    values = stable(9, 4, 800)
    values[1:, 1] += 2 * values[:-1, 0]
    free = cw.learn(named(values), max_lag=2)
    assert cw.Link("x0", "x1", 1) in free.graph
    weak = next(
        cw.Link(f"x{i}", f"x{j}", 2)
        for i in range(4)
        for j in range(4)
        if i != j and cw.Link(f"x{i}", f"x{j}", 2) not in free.graph
    )
    path = tmp_path / "plant.yaml"
    path.write_text(
        f"required: ['{weak.source} -> {weak.target} (2)']\nforbidden: ['x0 -> x1']\n"
        "labels: {x0: inflow}\n"
    )
    told = cw.learn(named(values), max_lag=2, knowledge=str(path))
    assert weak in told.graph
    assert weak in told.mechanisms[weak.target].coefficients
    assert not [k for k in told.graph if (k.source, k.target) == ("x0", "x1")]
    assert told.knowledge.label_of("x0") == "inflow"
    for same in (path, cw.load_knowledge(str(path))):
        assert cw.learn(named(values), max_lag=2, knowledge=same).graph == told.graph


def test_knowledge_about_a_signal_left_out_is_passed_over():
    values = stable(10, 3, 500)
    values[:, 2] = 1.0
    known = cw.Knowledge.from_dict({"required": ["x2 -> x0"], "labels": {"x2": "valve"}})
    assert cw.learn(named(values), knowledge=known).signals == ("x0", "x1")


# What the model says about itself


def test_the_report_says_whether_there_are_enough_rows():
    enough = cw.learn(named(stable(1, 3, 3000)))
    assert "enough_rows" in kinds(enough)
    scarce = cw.learn(named(stable(1, 6, 60)), max_lag=2)
    assert "too_few_rows" in kinds(scarce)
    order = ["problem", "warning", "info"]
    found = [order.index(finding.severity) for finding in scarce.report]
    assert found == sorted(found)


def test_the_report_speaks_of_what_the_model_assumes():
    rng = np.random.default_rng(14)
    values = rng.normal(size=(3000, 3))
    values[1:, 1] += values[:-1, 0] + 0.5 * values[:-1, 0] ** 2
    values[:, 2] = 0.8 * values[:, 1] + 0.3 * values[:, 2]
    found = kinds(cw.learn(named(values), max_lag=2))
    assert "nonlinear" in found
    assert "residual_shared" in found


def test_provenance(tmp_path):
    path = tmp_path / "normal.csv"
    named(stable(11, 3, 400)).write_csv(path)
    model = cw.learn(
        path,
        every=2.0,
        alpha=0.01,
        now=NOW.astimezone(timezone(timedelta(hours=2))),
        seed=3,
        false_alarm_every="100s",
    )
    origin = model.provenance
    assert origin.created == "2026-05-06T07:08:09+00:00"
    assert (origin.rows, origin.ticks) == (400, 200)
    assert origin.windows == 200 - 2 * model.preprocessing.max_lag
    assert (origin.first, origin.last) == ("row 0", "row 399")
    assert origin.files[0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert origin.versions["causewatch"] == cw.__version__
    assert origin.versions["numpy"] == version("numpy")
    assert origin.settings == {
        "preset": "default",
        "method": "pcmci",
        "test": "linear",
        "alpha": 0.01,
        "fdr": False,
        "keep_start_up": False,
        "seed": 3,
        "every": 2.0,
        "max_lag": None,
        "false_alarm_every": 100.0,
    }
    assert "tmp" not in str(origin.files)


def test_the_present_time_is_noted_by_default():
    before = datetime.now(UTC).replace(microsecond=0)
    created = datetime.fromisoformat(cw.learn(stable(1, 2, 200)).provenance.created)
    assert before <= created <= datetime.now(UTC)


@pytest.mark.parametrize("settings", [{}, {"preset": "paper", "max_lag": 1}, {"test": "rank"}])
def test_the_same_input_gives_the_same_bytes(settings, tmp_path):
    path = tmp_path / "normal.csv"
    named(stable(12, 5, 700)).write_csv(path)
    for name in ("one.cwm", "two.cwm"):
        cw.learn(path, now=NOW, **settings).save(tmp_path / name)
    assert (tmp_path / "one.cwm").read_bytes() == (tmp_path / "two.cwm").read_bytes()


def test_progress_is_told():
    told = []
    cw.learn(stable(1, 3, 500), progress=lambda what, share: told.append((what, share)))
    steps = list(dict.fromkeys(what for what, _ in told))
    assert steps[0] == "reading: 500 rows"
    assert steps[1:] == [
        "taking moments",
        "finding causes",
        "fitting mechanisms",
        "checking assumptions",
        "learning alarm limits",
    ]
    for step in ("finding causes", "learning alarm limits"):
        shares = [share for what, share in told if what == step and share is not None]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)


def test_the_input_stays_as_it_is():
    values = stable(13, 3, 400)
    values[5, 1] = np.nan
    before = values.copy()
    cw.learn(values)
    cw.learn(values, preset="paper", max_lag=1)
    np.testing.assert_array_equal(values, before)


# Errors


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"preset": "papre"}, UnknownNameError, "Did you mean 'paper'"),
        ({"method": "pc"}, UnknownNameError, "Available: pcmci, granger"),
        ({"test": "linaer"}, UnknownNameError, "Did you mean 'linear'"),
        ({"alpha": 0.0}, SettingError, "between 0 and 1"),
        ({"alpha": 1.0}, SettingError, "between 0 and 1"),
        ({"max_lag": 0}, SettingError, "between 1 and 100"),
        ({"every": 0.2}, SettingError, "rows come only every"),
        ({"ignore": ["x9"]}, UnknownNameError, "Available: x0, x1, x2"),
        ({"ignore": ["x0", "x1"]}, NotEnoughDataError, "1 usable signal"),
        (
            {"knowledge": cw.Knowledge.from_dict({"required": ["x0 -> y"]})},
            KnowledgeError,
            "no signal is called 'y'",
        ),
    ],
)
def test_settings_that_make_no_sense(settings, error, words):
    with pytest.raises(error, match=words) as raised:
        cw.learn(named(stable(1, 3, 300)), **settings)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("rows", [2, 4, 5])
def test_too_few_rows(rows):
    with pytest.raises(NotEnoughDataError):
        cw.learn(named(stable(1, 3, 300)[:rows]))


@pytest.mark.parametrize("rows", [14, 29])
def test_too_few_rows_for_alarm_limits(rows):
    with pytest.raises(NotEnoughDataError, match=rf"^{rows} ticks are too few .* at least 30"):
        cw.learn(named(stable(1, 3, 300)[:rows]))


def test_hardly_enough_rows_are_a_problem():
    model = cw.learn(named(stable(1, 3, 300)[:30]))
    assert model.report[0].kind == "too_few_rows"
    assert model.report[0].severity == "problem"


def test_no_whole_window():
    values = stable(1, 3, 400)
    values[::3, 0] = np.nan
    values[1::3, 1] = np.nan
    rows = table(values, starts=range(0, 400, 4))
    with pytest.raises(NotEnoughDataError, match="No 5 ticks in a row are free of gaps"):
        cw.learn(rows, max_lag=2)


def with_start_up(seed=3, rows=4000, until=300):
    """A recording whose first rows come from far away."""
    values = stable(seed, 5, rows)
    values[:until, :3] += 12.0 * np.exp(-np.arange(until) / 80.0)[:, None]
    return values


def test_a_start_up_is_left_out_and_said_to_be():
    values = with_start_up()
    model = cw.learn(table(values), now=NOW)
    (finding,) = [one for one in model.report if one.kind == "startup"]
    assert finding.severity == "warning"  # rows are not left out in silence
    assert "it was left out" in finding.text
    assert "--keep-start-up" in finding.remedy
    assert finding.span[0] == "row 0"
    assert 3000 < model.provenance.rows < 4000
    clean = cw.learn(table(values[4000 - model.provenance.rows :]), now=NOW)
    assert set(model.graph) == set(clean.graph)
    assert any(one.kind == "excluded" for one in model.report)


def test_a_start_up_is_kept_if_asked_for():
    model = cw.learn(table(with_start_up()), keep_start_up=True, now=NOW)
    (finding,) = [one for one in model.report if one.kind == "startup"]
    assert finding.severity == "warning"
    assert model.provenance.rows == 4000
    assert model.provenance.settings["keep_start_up"] is True


def test_the_published_method_keeps_a_start_up():
    assert cw.learn(table(with_start_up()), preset="paper", now=NOW).provenance.rows == 4000


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_left_out_of_an_ordinary_recording(seed):
    assert cw.learn(table(stable(seed, 5, 3000)), now=NOW).provenance.rows == 3000


@pytest.mark.parametrize("rows", [300, 420, 700])
def test_a_short_recording_is_never_left_out_as_a_whole(rows):
    values = with_start_up(rows=rows, until=rows // 2)
    kept = cw.learn(table(values), now=NOW).provenance.rows
    assert 0.6 * rows <= kept <= rows


# How rare false alarms are made if nobody says


@pytest.mark.parametrize(
    ("every", "ticks", "days"),
    [
        (1.0, 400, 1.0),  # a day is far more than the recording holds; limits are extrapolated
        (10.0, 30_000, 1.0),
        (180.0, 480, 1.0),  # 1,000 ticks would be longer than the recording supports
        (180.0, 50_000, 1000 * 180 / 86_400),
        (3600.0, 8761, 1000 / 24),
        (3600.0, 720, 360 / 24),  # half of a month
        (86_400.0, 365, 182.5),  # one a day would be an alarm at every row
    ],
)
def test_a_day_between_false_alarms_is_enough_only_if_it_has_many_ticks(every, ticks, days):
    assert usual_false_alarm_every(every, ticks) == pytest.approx(days * 86_400)


def test_without_times_false_alarms_come_once_in_half_of_the_recording():
    assert usual_false_alarm_every(1.0, 3000, times=False) == 1500


def test_the_report_says_if_a_day_is_only_a_few_ticks():
    values = stable(13, 3, 900)
    hours = np.arange(900) * 3600 * 10**9
    hourly = replace(table(values), time=hours, interval=3600.0, clock="elapsed")
    model = cw.learn(hourly, every="1h", max_lag=2)
    assert model.watching.limits.false_alarm_every == 450
    (said,) = [one.text for one in model.report if one.kind == "false_alarm_every"]
    assert "18.8 days" in said
    assert "only 24" in said
    asked = cw.learn(hourly, every="1h", max_lag=2, false_alarm_every="1d")
    assert asked.watching.limits.false_alarm_every == 24
    assert "false_alarm_every" not in kinds(asked)
