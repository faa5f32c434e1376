"""The live view in a terminal, and what it says about health."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from causewatch.cli.health_text import health_text
from causewatch.cli.live import LiveView
from causewatch.monitor.health import STREAM, SignalHealth


def picture(rows=0, health=(), score=None):
    """What the view shows of a watch."""
    out = io.StringIO()
    console = Console(file=out, width=120, markup=False, force_terminal=True, color_system=None)
    monitor = SimpleNamespace(
        clock="elapsed",
        alarms=SimpleNamespace(active=()),
        health={one.signal: one for one in health},
    )
    watch = SimpleNamespace(
        last=SimpleNamespace(time=0, score=score) if rows else None,
        monitor=monitor,
        counts=SimpleNamespace(rows=rows),
        source=SimpleNamespace(name="plant", status="connected"),
        trouble="",
    )
    with LiveView(console, now=lambda: 0.0) as view:
        view.look(watch)
    return out.getvalue()


def test_nothing_warms_up_before_the_first_row():
    assert "Score      no rows yet" in picture(rows=0)
    assert "Score      warming up" in picture(rows=1)
    assert "(alarm limit 1)" in picture(rows=1, score=0.5)


def test_ill_health_has_the_sign_of_the_page_and_words():
    text = picture(
        rows=9,
        health=[
            SignalHealth("LIT301", "out_of_range", 0, ""),
            SignalHealth("flow, raw", "frozen", 0, ""),
            SignalHealth(STREAM, "silent", 0, ""),
        ],
    )
    for line in ("◆ LIT301: out of range", "◆ 'flow, raw': frozen", "◆ no rows come"):
        assert line in text
    assert STREAM not in text


@pytest.mark.parametrize(
    ("signal", "state", "words"),
    [
        ("A", "out_of_range", "A out of range"),
        ("A, b", "frozen", "'A, b' frozen"),
        ("A", "unlike", "A no longer as learnt"),
        (STREAM, "silent", "no rows come"),
        (STREAM, "rate_wrong", "rows come at another rate"),
    ],
)
def test_words_for_health(signal, state, words):
    assert health_text(signal, state) == words
