"""Metrics: what Prometheus reads is what was told."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from causewatch.streaming.metrics import Metrics
from causewatch.streaming.sink import Status
from causewatch.testing import FakeClock

STATUS = Status(
    "line 1",
    time="2026-01-01T00:00:00Z",
    score=1.25,
    alarms=[{"kind": "anomaly"}, {"kind": "health"}, {"kind": "anomaly"}],
    unwell={"LIT301": "frozen", "FIT401": "ok"},
    rows=120,
    ticks=12,
    lag=0.5,
    signals={"LIT301": 1.25, "FIT401": 0.1},
    problems={"late_rows": 3},
    source="connected",
)

Labels = frozenset[tuple[str, str]]


def read(metrics: Metrics) -> dict[tuple[str, Labels], float]:
    """Every sample, by name and labels, as Prometheus reads them."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, "told twice"
            found[key] = sample.value
    return found


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return read(metrics).get((f"causewatch_{name}", frozenset(labels.items())))


def test_how_a_watch_stands() -> None:
    metrics = Metrics("line 1")
    metrics.look(STATUS)
    assert value(metrics, "rows_total") == 120
    assert value(metrics, "ticks_total") == 12
    assert value(metrics, "lag_seconds") == 0.5
    assert value(metrics, "score") == 1.25
    assert value(metrics, "signal_evidence", signal="LIT301") == 1.25
    assert value(metrics, "alarms_on", kind="anomaly") == 2
    assert value(metrics, "alarms_on", kind="health") == 1
    assert value(metrics, "signal_unwell", signal="LIT301", state="frozen") == 1
    assert value(metrics, "signal_unwell", signal="FIT401", state="ok") is None
    assert value(metrics, "problems_total", kind="late_rows") == 3
    assert value(metrics, "source_up") == 1
    assert [key for key in read(metrics) if key[0] == "causewatch_watch_info"]


def test_what_is_over_is_no_longer_told() -> None:
    metrics = Metrics("line 1")
    metrics.look(STATUS)
    metrics.look(Status("line 1", source="trying again: connection refused"))
    assert value(metrics, "signal_unwell", signal="LIT301", state="frozen") is None
    assert value(metrics, "signal_evidence", signal="LIT301") is None
    assert value(metrics, "alarms_on", kind="anomaly") == 0
    assert value(metrics, "source_up") == 0


def test_what_is_not_known_is_left_out() -> None:
    metrics = Metrics("line 1")
    assert value(metrics, "rows_total") is None
    metrics.look(Status("line 1"))
    for name in ("score", "lag_seconds", "source_up", "checkpoint_age_seconds", "inbox_waiting"):
        assert value(metrics, name) is None
    assert value(metrics, "rows_total") == 0


def test_counters() -> None:
    now = FakeClock(10.0)
    metrics = Metrics("line 1", now=now)
    for event, kind in (("raised", "anomaly"), ("updated", "anomaly"), ("raised", "health")):
        metrics.event({"event": event, "kind": kind})
    metrics.event({"event": "raised", "kind": "weather"})
    metrics.delivery("https://a", 1, 7, {"refused": 0})
    metrics.delivery("https://a", 4, 2, {"refused": 3})
    metrics.checkpoint(0.004)
    metrics.checkpoint(0.3)
    metrics.inbox(5, 6, 7)
    now.sleep(2.5)
    assert value(metrics, "alarms_raised_total", kind="anomaly") == 1
    assert value(metrics, "alarms_raised_total", kind="health") == 1
    assert value(metrics, "alarms_raised_total", kind="weather") is None
    assert value(metrics, "sink_errors_total", sink="https://a") == 4
    assert value(metrics, "sink_waiting", sink="https://a") == 2
    assert value(metrics, "sink_problems_total", sink="https://a", kind="refused") == 3
    assert value(metrics, "checkpoint_seconds_count") == 2
    assert value(metrics, "checkpoint_seconds_bucket", le="0.005") == 1
    assert value(metrics, "checkpoint_age_seconds") == 2.5
    assert value(metrics, "inbox_waiting") == 5
    assert value(metrics, "inbox_waits_total") == 6
    assert value(metrics, "inbox_turned_away_total") == 7


@given(
    st.dictionaries(
        st.text(
            st.one_of(st.sampled_from('"\\\n{},= #'), st.characters(codec="utf-8")), max_size=20
        ),
        st.floats(0, 1e6),
        max_size=4,
    )
)
def test_any_name_of_a_signal(signals: dict[str, float]) -> None:
    metrics = Metrics('a "watch"\n\\')
    metrics.look(replace(STATUS, signals=signals, unwell=dict.fromkeys(signals, "missing")))
    found = read(metrics)
    for name, evidence in signals.items():
        labels = frozenset({("signal", name)})
        assert found["causewatch_signal_evidence", labels] == evidence
        labels |= {("state", "missing")}
        assert found["causewatch_signal_unwell", labels] == 1
    assert sum(name == "causewatch_signal_evidence" for name, _ in found) == len(signals)
    info = next(dict(labels) for name, labels in found if name == "causewatch_watch_info")
    assert info["watch"] == 'a "watch"\n\\'


def test_there_are_no_more_series_than_signals_and_states() -> None:
    """However long it runs, and whatever is the matter."""
    metrics = Metrics("line 1")
    metrics.look(STATUS)
    before = len(read(metrics))
    for k in range(100):
        metrics.look(replace(STATUS, rows=k, unwell={"LIT301": f"has stood still for {k} ticks"}))
        metrics.event({"event": "raised", "kind": f"kind {k}", "id": str(k)})
        metrics.checkpoint(0.001 * k)
    after = read(metrics)
    assert len(after) == before + 1  # the age of the checkpoint
    unwell = frozenset({("signal", "LIT301"), ("state", "other")})
    assert after["causewatch_signal_unwell", unwell] == 1


def test_a_half_of_a_character_is_told_as_well_as_can_be() -> None:
    metrics = Metrics("line 1")
    metrics.look(replace(STATUS, signals={"a" + chr(0xD800): 1.0, "a" + chr(0xDFFF): 2.0}))
    assert value(metrics, "signal_evidence", signal="a\\ud800") == 1.0
    assert value(metrics, "signal_evidence", signal="a\\udfff") == 2.0


def test_watches_share_nothing() -> None:
    first, second = Metrics("one"), Metrics("two")
    first.look(STATUS)
    first.checkpoint(1.0)
    assert value(second, "rows_total") is None
    assert value(second, "checkpoint_seconds_count") == 0
    everywhere = {name for family in REGISTRY.collect() for name in (family.name,)}
    assert not [name for name in everywhere if name.startswith("causewatch")]
