"""The sentences about a recording, and how seldom they are wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

from causewatch.data.spans import parse_span
from causewatch.data.table import Clock, TimeTable
from causewatch.errors import ModelFileError
from causewatch.preprocess.findings import Finding, Period, enough_rows, percent
from causewatch.preprocess.survey import Survey
from causewatch.preprocess.survey_quality import quality_findings

SECOND = 1_000_000_000
START = 1_767_225_600 * SECOND  # 2026-01-01T00:00
COURSE = {"startup", "outlying", "modes", "level_shift", "drift", "spread_change"}


def found(
    values: np.ndarray,
    names: tuple[str, ...] | None = None,
    interval: float = 10.0,
    clock: Clock = "naive",
    starts: tuple[int, ...] = (0,),
    max_lag_rows: int | None = None,
) -> dict[str, list[Finding]]:
    values = np.asarray(values, dtype=float)
    names = names or tuple(f"X{k}" for k in range(values.shape[1]))
    time = (np.arange(len(values)) * interval * SECOND).astype(np.int64)
    if clock in ("naive", "utc"):
        time += START
    for start in starts[1:]:
        time[start:] += 3600 * SECOND
    table = TimeTable(names, values, time, np.array(starts), interval, clock)
    survey = Survey(names, interval, clock)
    for chunk in table.chunks():
        survey.update(chunk)
    out: dict[str, list[Finding]] = {}
    for finding in quality_findings(survey.finish(), max_lag_rows=max_lag_rows):
        out.setdefault(finding.kind, []).append(finding)
    return out


def autoregression(rng: np.random.Generator, rows: int, phi: float) -> np.ndarray:
    x = lfilter([1], [1, -phi], rng.standard_normal((rows + 1000, 8)), axis=0)[1000:]
    return np.asarray(x * np.sqrt(1 - phi**2))


def telegraph(rng: np.random.Generator, rows: int) -> np.ndarray:
    flips = rng.random((rows, 8)) < 10 ** rng.uniform(-3, -1, 8)
    return np.cumsum(flips, axis=0) % 2


STATIONARY: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "white": lambda rng, rows: rng.standard_normal((rows, 8)),
    "autoregression": lambda rng, rows: autoregression(rng, rows, 0.99),
    "heavy tails": lambda rng, rows: rng.standard_t(3, (rows, 8)),
    "telegraph": telegraph,
}


@pytest.mark.parametrize("kind", STATIONARY)
def test_stationary_data_are_left_in_peace(kind: str) -> None:
    wrong = 0
    for seed in range(30):
        rng = np.random.default_rng([4711, seed])
        wrong += bool(COURSE & set(found(STATIONARY[kind](rng, 4000))))
    assert wrong <= 3  # 5 % of 30 runs is 1.5


def startup(rng: np.random.Generator, x: np.ndarray) -> tuple[float, float] | None:
    decay = np.exp(-np.arange(len(x)) / (len(x) / 40))
    x[:, :3] += 8 * rng.choice([-1, 1], 3) * decay[:, None]
    return 0.0, 0.1


def outlying(rng: np.random.Generator, x: np.ndarray) -> tuple[float, float] | None:
    begin = rng.uniform(0.2, 0.9)
    rows = slice(int(begin * len(x)), int((begin + 1 / 48) * len(x)))
    x[rows, :3] += 6 * rng.choice([-1, 1], 3)
    return begin, begin + 1 / 48


def level_shift(rng: np.random.Generator, x: np.ndarray) -> tuple[float, float] | None:
    x[int(rng.uniform(0.35, 0.75) * len(x)) :, 2] += 3 * rng.choice([-1, 1])
    return None


def drift(rng: np.random.Generator, x: np.ndarray) -> tuple[float, float] | None:
    x[:, 4] += np.linspace(0, 3, len(x)) * rng.choice([-1, 1])
    return None


def modes(rng: np.random.Generator, x: np.ndarray) -> tuple[float, float] | None:
    lengths = (rng.uniform(0.06, 0.2, 20) * len(x)).astype(int)
    mode = np.repeat(np.arange(20) % 2, lengths)[: len(x)]
    x[:, :3] += 6 * mode[:, None]
    return None


@pytest.mark.parametrize("inject", [startup, outlying, level_shift, drift, modes])
def test_what_was_injected_is_found(
    inject: Callable[[np.random.Generator, np.ndarray], tuple[float, float] | None],
) -> None:
    rows, hits, spans = 8640, Counter[str](), 0
    for seed in range(15):
        rng = np.random.default_rng([815, seed])
        x = autoregression(rng, rows, 0.9)
        truth = inject(rng, x)
        findings = found(x)
        hits.update(COURSE & set(findings))
        if truth and inject.__name__ in findings:
            option = findings[inject.__name__][0].remedy.split("--exclude ")[1].rstrip(".")
            begin, end = (
                (bound - START) / (rows * 10 * SECOND)
                for bound in parse_span(option).bounds("naive")
            )
            near = 2.5 / 64
            spans += abs(begin - truth[0]) < near and abs(end - truth[1]) < near
    assert hits[inject.__name__] >= 14
    assert spans >= 13 or inject not in (startup, outlying)
    others = sum(count for kind, count in hits.items() if kind != inject.__name__)
    assert others <= 3


def test_outlying_stretch_reads_well() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((8640, 4))
    x[5054:5230, 1] += 8
    (finding,) = found(x, names=("LIT 101", "FIT101", "P1", "P2"))["outlying"]
    assert finding.text.startswith("your normal data may not be normal: 1")
    assert "FIT101 is unlike the rest" in finding.text
    assert "--exclude 2026-01-01T1" in finding.remedy
    assert "2026" not in finding.text
    assert finding.signals == ("FIT101",)
    assert finding.span is not None


def test_a_few_wild_rows_in_a_wild_signal_are_its_nature() -> None:
    rng = np.random.default_rng(6)
    x = 0.1 * rng.standard_normal((20_000, 2))
    for begin in rng.integers(0, 19_900, 40):
        x[begin : begin + rng.integers(3, 90), 0] = 10
    assert "outlying" not in found(x)


def test_plain_facts() -> None:
    rng = np.random.default_rng(7)
    rows = 3000
    noise = rng.standard_normal(rows)
    gappy = noise + rng.standard_normal(rows)
    gappy[rng.random(rows) < 0.4] = np.nan
    gone = noise + rng.standard_normal(rows)
    gone[: rows * 2 // 3] = np.nan
    rare = np.zeros(rows)
    rare[100] = 1
    seldom = np.zeros(rows)
    seldom[500:2000] = 1
    columns = {
        "A": noise,
        "copy": noise,
        "gappy": gappy,
        "gone": gone,
        "empty": np.full(rows, np.nan),
        "fixed": np.full(rows, 2.5),
        "rare": rare,
        "seldom": seldom,
        "P101": rng.integers(1, 3, rows),
        "MV101": rng.integers(0, 3, rows),
    }
    findings = found(
        np.column_stack(list(columns.values())),
        names=tuple(columns),
        starts=(0, 1000),
        max_lag_rows=5,
    )
    assert findings["rows"][0].text.startswith("3,000 rows of 10 signals were used, one every 10 s")
    assert "2 stretches" in findings["gaps"][0].text
    assert findings["empty"][0].signals == ("empty",)
    assert findings["missing"][0].severity == "problem"
    assert "--ignore gappy" in findings["missing"][0].remedy
    assert findings["constant"][0].text == "1 signal never changes: fixed (2.5)."
    assert "guarded separately" in findings["constant"][0].meaning
    assert findings["mostly_missing"][0].signals == ("gone",)
    assert findings["near_constant"][0].signals == ("rare", "seldom")
    assert findings["duplicates"][0].text == "A and copy are identical."
    assert "the first one stands for all" in findings["duplicates"][0].meaning
    assert "P101 (1, 2)" in findings["two_valued"][0].text
    assert "MV101 (0, 1, 2)" in findings["few_valued"][0].text


def test_short_and_empty_recordings_say_little() -> None:
    assert set(found(np.random.default_rng(1).standard_normal((20, 2)))) == {"rows"}
    assert found(np.zeros((0, 2)))["rows"][0].severity == "problem"


def test_huge_and_missing_values_make_no_noise() -> None:
    rng = np.random.default_rng(9)
    x = 1e300 * rng.standard_normal((5000, 3))
    x[1000:4800, 2] = np.nan
    x[:2000:3, 1] = np.nan
    assert not COURSE & set(found(x))


def test_several_clocks() -> None:
    day = 86_400 * SECOND
    period = Period(START + 14 * 3600 * SECOND + 125 * SECOND, START + 15 * 3600 * SECOND, "naive")
    assert period.text(within_a_day=True) == "14:02–15:00"
    assert period.text(within_a_day=False) == "2026-01-01 14:02–15:00"
    two = Period(START, START + day + 60 * SECOND, "utc")
    assert two.text(within_a_day=False) == "2026-01-01 00:00 to 2026-01-02 00:01"
    assert Period(0, 90 * SECOND, "elapsed").text(within_a_day=True) == "0s to 90s"
    for clock in ("naive", "utc", "elapsed", "rows"):
        x = np.random.default_rng(3).standard_normal((5000, 2))
        x[:400, 0] += 9
        remedy = found(x, clock=clock, interval=1.0)["startup"][0].remedy
        span = remedy.split("--exclude ")[1].removesuffix(".").strip("'")
        low, high = parse_span(span).bounds(clock)
        begin = START if clock in ("naive", "utc") else 0
        assert low <= begin
        assert 380 * SECOND < high - begin < 620 * SECOND


def test_findings_survive_json() -> None:
    finding = Finding("startup", "warning", "t", "m", "r", ("a", "b"), ("0s", "9s"))
    assert Finding.from_dict(finding.to_dict()) == finding
    with pytest.raises(ModelFileError, match="severity"):
        Finding.from_dict({**finding.to_dict(), "severity": "loud"})
    with pytest.raises(ModelFileError, match="remedy"):
        Finding.from_dict({"kind": "x", "severity": "info"})


def test_enough_rows() -> None:
    plenty = enough_rows(100_000, 50, 5, alpha=0.001)
    assert (plenty.kind, plenty.severity, plenty.remedy) == ("enough_rows", "info", "")
    few = enough_rows(300, 20, 3, 4)
    assert few.severity == "info"
    assert "0.16" in few.text  # tanh(2.80 / sqrt(289))
    assert "About 60 of the 1,200 candidate links" in few.meaning
    assert enough_rows(100, 20, 3, 4).severity == "warning"
    assert enough_rows(30, 4, 3, 3).severity == "problem"
    assert enough_rows(200, 52, 5).severity == "problem"
    assert enough_rows(0, 1, 1).severity == "problem"


def test_percentages() -> None:
    assert [percent(p) for p in (0.0003, 0.05, 0.5, 0.9999)] == [
        "less than 0.1 %",
        "5.0 %",
        "50 %",
        "more than 99.9 %",
    ]


@pytest.mark.data
def test_real_normal_operation_is_taken_as_normal() -> None:
    fallback = Path(__file__).parents[3].parent / "shared" / "data"
    file = Path(os.environ.get("CAUSEWATCH_DATA", fallback)) / "tep" / "d00_te.dat"
    if not file.exists():
        pytest.skip("the Tennessee Eastman recordings are not here; set CAUSEWATCH_DATA")
    assert not COURSE & set(found(np.loadtxt(file), interval=180.0))
