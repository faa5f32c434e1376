"""Durations and spans."""

from __future__ import annotations

import doctest
from datetime import UTC, datetime

import pytest

from causewatch.data import format_duration, format_tick, parse_duration, parse_span, spans
from causewatch.data.spans import parse_ends
from causewatch.errors import SettingError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("500ms", 0.5), ("2min", 120), ("1h", 3600), ("1d", 86400), ("90", 90),
     (" 1.5 H ", 5400), (".5s", 0.5)],
)  # fmt: skip
def test_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "-5s", "0", "5 parsecs", "1h30", "nan", "inf"])
def test_no_durations(text):
    with pytest.raises(SettingError, match="not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(10, "10 s"), (180, "3 min"), (90, "1.5 min"), (0.01, "10 ms"), (3600, "1 h"), (0, "0 s"),
     (86400, "1 d"), (100, "100 s"), (2e-6, "2 µs"), (-10, "-10 s"), (7201, "2 h"),
     (5522, "1 h 32 min"), (600_000, "6 d 23 h"), (2160.131, "36 min"), (999.7, "1000 s")],
)  # fmt: skip
def test_durations_for_people(seconds, text):
    assert format_duration(seconds) == text


def test_spans():
    span = parse_span("2015-12-22T16:00..2015-12-22T20:00:00.5")
    assert span.start == datetime(2015, 12, 22, 16)
    low, high = span.bounds("naive")
    assert high - low == (4 * 3600 * 1000 + 500) * 10**6
    assert span.bounds("utc") == (low, high)
    zoned = parse_span("2015-12-22T16:00+01:00..")
    assert zoned.bounds("utc")[0] == low - 3600 * 10**9
    assert zoned.start.astimezone(UTC).hour == 15
    assert parse_span("0..90.5").bounds("elapsed") == (0, 90_500_000_000)
    assert parse_span("row 3 .. row 7").bounds("rows") == (3 * 10**9, 7 * 10**9)
    low, _ = parse_span("..5").bounds("rows")
    assert low < -(10**18)


@pytest.mark.parametrize(
    "text",
    ["", "..", "a..b", "5", "7..5", "5..5", "row 5..2020-01-01", "1..2..3", "5..row 7",
     "2020-01-02..2020-01-01", "2020-13-01.."],
)  # fmt: skip
def test_no_spans(text):
    with pytest.raises(SettingError):
        parse_span(text)


@pytest.mark.parametrize(
    ("text", "clock"),
    [("2020-01-01..", "elapsed"), ("2020-01-01T00Z..", "naive"), ("5..", "utc"),
     ("row 5..", "elapsed")],
)  # fmt: skip
def test_spans_must_fit_the_clock(text, clock):
    with pytest.raises(SettingError, match="does not fit"):
        parse_span(text).bounds(clock)


@pytest.mark.parametrize(
    ("begin", "end", "span"),
    [("2015-12-22T16:00", None, "2015-12-22T16:00.."), (None, "90", "..90"),
     ("row 3", "row 7", "row 3..row 7"),
     ("22.12.2015 16:00", "17:30", "2015-12-22T16..2015-12-22T17:30"),
     ("12/22/2015 4 PM", "5:30 PM", "2015-12-22T16..2015-12-22T17:30"),
     ("3.4.2015", None, "2015-04-03.."),
     ("2015-12-22T16:00Z", "17:00", "2015-12-22T16:00Z..2015-12-22T17:00Z"),
     ("22.12.2015 16:00 +01:00", None, "2015-12-22T15:00Z..")],
)  # fmt: skip
def test_ends_given_by_themselves(begin, end, span):
    found, wanted = parse_ends(begin, end, ("--from", "--to")), parse_span(span)
    assert (found.start, found.end) == (wanted.start, wanted.end)


def test_no_end_is_everything():
    assert parse_ends(None, None, ("--from", "--to")) == spans.Span("", None, None)


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [("17.11.2026 07:09", "soon", "--to is 'soon', which is not a time;"),
     ("07:09", "07:20", "--from is '07:09', which does not say on which day;"),
     ("03/04/2026", None, "--from is '03/04/2026', which could be one of two days;"),
     ("40.40.2026", None, "--from is '40.40.2026', which is not a time;"),
     ("17.11.2026 07:09", "07:01", "The end of the span '--from 17.11.2026 07:09 --to 07:01' is"),
     ("5", "2026-01-01", "The two ends of the span '--from 5 --to 2026-01-01' are not of")],
)  # fmt: skip
def test_ends_that_are_none(begin, end, message):
    with pytest.raises(SettingError) as found:
        parse_ends(begin, end, ("--from", "--to"))
    assert str(found.value).startswith(message)


def test_examples():
    assert doctest.testmod(spans).failed == 0


@pytest.mark.parametrize(
    ("every", "interval", "text"),
    [
        (9.972, 0.4986, "20 rows of 499 ms"),
        (1000 * 1.0173, 1.0173, "1,000 rows of 1.02 s"),
        (0.375, 0.125, "3 rows of 125 ms"),
        (1.0, 0.125, "1 s"),  # the tick is round
        (3 * 0.333333333, 0.333333333, "1 s"),
        (105.0, 15.0, "1.75 min"),  # the rows are
        (0.4986, 0.4986, "499 ms"),
        (10.03, 0.4985, "10 s"),  # given, and no number of rows
        (21_600.0, 600.0, "6 h"),
    ],
)
def test_ticks_of_odd_length_are_a_number_of_rows(every, interval, text):
    assert format_tick(every, interval) == text


def test_an_end_is_read_as_the_plant_writes_dates():
    def start(text, order):
        return parse_ends(text, None, ("--from", "--to"), order).start

    assert start("9/11/2017 8:00 AM", "month first") == datetime(2017, 9, 11, 8)
    assert start("9/11/2017 8:00 AM", "day first") == datetime(2017, 11, 9, 8)
    assert start("14/9/2017", "month first") == datetime(2017, 9, 14)
    assert start("9.11.2017", "month first") == datetime(2017, 11, 9)  # dots: day first
