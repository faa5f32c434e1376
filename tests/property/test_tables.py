"""Tables: how they are written and how they are cut into blocks does not change what is read."""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from causewatch.data import open_table, read_table, text
from causewatch.data.notes import Tally
from causewatch.data.order import FAR, LATE_ROWS, Orderer, Pace
from causewatch.errors import CausewatchError

SECOND = 1_000_000_000
FILES = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path


TIME_STYLES = {
    "iso": "%Y-%m-%d %H:%M:%S",
    "iso T": "%Y-%m-%dT%H:%M:%S",
    "fraction": "%Y-%m-%d %H:%M:%S.%f",
    "zone": "%Y-%m-%dT%H:%M:%SZ",
    "day first": "%d/%m/%Y %H:%M:%S",
    "month first": "%m/%d/%Y %H:%M:%S",
    "dots": "%d.%m.%y %H:%M:%S",
    "am pm": " %d/%m/%Y %I:%M:%S %p",
    "month name": "%d-%b-%y %H:%M:%S",
    "compact": "%Y%m%dT%H%M%S",
}

numbers = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: float(f"{x:.6g}")), st.just(float("nan")), st.integers(0, 3)
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[datetime], np.ndarray]:
    """Times one minute apart that go past the twelfth of a month, and values, no row empty."""
    rows = draw(st.integers(3, 12))
    columns = draw(st.integers(1, 4))
    start = datetime(2021, draw(st.integers(1, 12)), 13, draw(st.integers(0, 23)))
    times = [start + timedelta(minutes=i) for i in range(rows)]
    values = np.array(
        draw(st.lists(st.lists(numbers, min_size=columns, max_size=columns),
                      min_size=rows, max_size=rows)),
        dtype=float,
    )  # fmt: skip
    values[np.isnan(values).all(axis=1), 0] = 1.5
    return times, values


@FILES
@given(
    table=tables(),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    comma=st.booleans(),
    style=st.sampled_from(sorted(TIME_STYLES)),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"]),
    missing=st.sampled_from(["", "NaN", "n/a", "-", "null", "Bad"]),
    blanks=st.sampled_from(["", " ", "  "]),
    newline=st.sampled_from(["\n", "\r\n"]),
    trailing=st.booleans(),
    compress=st.booleans(),
)
def test_any_dialect_reads_the_same_numbers(
    folder, table, separator, comma, style, encoding, missing, blanks, newline, trailing, compress
):
    times, values = table
    comma = comma and separator != ","
    names = ["Druck °C", *[f"s{i}" for i in range(1, values.shape[1])]]
    lines = [[" Time", *names]]
    for time, row in zip(times, values, strict=True):
        cells = [missing if np.isnan(x) else repr(float(x)) for x in row]
        if comma:
            cells = [cell.replace(".", ",") for cell in cells]
        lines.append([time.strftime(TIME_STYLES[style]), *cells])
    end = separator if trailing else ""
    content = newline.join(separator.join(blanks + c for c in line) + end for line in lines)
    data = (content + newline).encode(encoding)
    path = folder / "table.csv"
    path.write_bytes(gzip.compress(data) if compress else data)

    read = read_table(path)

    assert read.signals == tuple(names)
    np.testing.assert_array_equal(read.values, values)
    expected = np.array(times, dtype="datetime64[ns]").astype(np.int64)
    np.testing.assert_array_equal(read.time, expected)
    assert read.clock == ("utc" if style == "zone" else "naive")
    assert read.interval == 60
    assert read.files[0].rows == len(times)


steps = st.lists(
    st.one_of(st.just(1), st.integers(-40, 40), st.sampled_from([0, 1, 1, 2, 6, -3, -3600, 3601])),
    min_size=5,
    max_size=60,
)


@FILES
@given(
    steps=steps,
    empty=st.sets(st.integers(0, 59), max_size=5),
    block=st.integers(1, 400),
    rows=st.integers(1, 70),
    data=st.data(),
)
def test_cutting_into_blocks_changes_nothing(folder, monkeypatch, steps, empty, block, rows, data):
    start = datetime(2021, 10, 31, 2, 30)  # a night of daylight saving
    moments = [start + timedelta(seconds=int(s)) for s in np.cumsum(steps)]
    path = folder / "table.csv"
    body = [
        f"{moment.isoformat()},{'' if i in empty else i},{'' if i in empty else i % 3},{i % 2}"
        for i, moment in enumerate(moments)
    ]
    path.write_text("\n".join(["time,a,b,label", *body]))
    low = data.draw(st.integers(0, len(moments) - 1))
    options = {"labels": "label", "exclude": [f"{moments[low].isoformat()}.."]}
    if data.draw(st.booleans()):
        options["exclude"] = []
    with monkeypatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", 1 << 20)
        whole = _read(path, options)
        patch.setattr(text, "BLOCK_BYTES", block)
        if isinstance(whole, str):
            assert _read(path, options) == whole
            return
        opened = open_table(path, **options)
        for _ in range(2):  # a source can be read again
            chunks = list(opened.chunks(rows))
            assert max(len(chunk) for chunk in chunks) <= rows
            at = np.cumsum([0, *[len(chunk) for chunk in chunks]])
            starts = [chunk.starts + offset for chunk, offset in zip(chunks, at, strict=False)]
            np.testing.assert_array_equal(np.concatenate([c.time for c in chunks]), whole.time)
            np.testing.assert_array_equal(np.concatenate([c.values for c in chunks]), whole.values)
            np.testing.assert_array_equal(np.concatenate([c.labels for c in chunks]), whole.labels)
            np.testing.assert_array_equal(np.concatenate(starts), whole.starts)
            assert [c.continues for c in chunks] == [o not in whole.starts for o in at[:-1]]
            assert opened.notes == whole.notes
            assert opened.files == whole.files


def _read(path, options):
    try:
        return read_table(path, **options)
    except CausewatchError as error:
        return str(error)


def naive_order(time: list[int], gap: int) -> list[tuple[int, bool]]:
    """Kept rows and whether each begins a stretch, decided row by row from the rules."""
    kept: list[tuple[int, bool]] = []
    row = 0
    latest = None
    while row < len(time):
        if latest is None or time[row] >= latest:
            following = time[row + 1] if row + 1 < len(time) else None
            if (
                latest is None
                or time[row] - latest <= FAR
                or (following is not None and following - latest > FAR
                    and abs(following - time[row]) <= FAR)
            ):  # fmt: skip
                kept.append((row, latest is None or time[row] - latest > gap))
                latest = time[row]
            row += 1
            continue
        late = 0
        while (
            late <= LATE_ROWS
            and row + late < len(time)
            and not 0 <= time[row + late] - latest <= FAR
        ):
            late += 1
        if late <= LATE_ROWS:
            row += late
        else:
            kept.append((row, True))
            latest = time[row]
            row += 1
    return kept


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(st.one_of(st.just(1), st.integers(-20, 20)), min_size=1, max_size=120),
    odd=st.dictionaries(
        st.integers(0, 119),
        st.sampled_from([-1200, -370, -366, 365, 366, 367, 731, 900, 1200]),
        max_size=8,
    ),
    lasting=st.booleans(),
    cuts=st.lists(st.integers(0, 120), max_size=6),
)
def test_order_follows_the_rules_row_by_row(steps, odd, lasting, cuts):
    time = np.cumsum(steps).astype(np.int64) * SECOND
    for row, days in odd.items():  # times that are far off, and clocks set for good
        time[row : None if lasting else row + 1 + row % 3] += days * 86_400 * SECOND
    pace = Pace(SECOND, 5 * SECOND)
    expected = naive_order(time.tolist(), pace.gap)

    orderer = Orderer(pace, "utc", Tally())
    waiting = np.zeros(0, dtype=np.int64)
    found: list[tuple[int, bool]] = []
    done = 0
    bounds = [0, *sorted(c for c in cuts if c <= len(time)), len(time)]
    pieces = [time[a:b] for a, b in pairwise(bounds)]
    for piece, final in [*[(p, False) for p in pieces], (time[:0], True)]:
        rows = np.concatenate([waiting, piece])
        ordered = orderer.push(rows, final)
        found += [(done + i, bool(ordered.start[i])) for i in np.flatnonzero(ordered.keep).tolist()]
        done += len(ordered.keep)
        waiting = rows[len(ordered.keep) :]
    assert done == len(time)
    assert found == expected


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    data=st.one_of(
        st.binary(max_size=300),
        st.lists(
            st.sampled_from(
                [b"time", b"a", b",", b";", b"\t", b"|", b" ", b"\n", b"\r\n", b"\n", b"1", b"2.5",
                 b'"', b"x", b"\xe9", b"\0", b"-", b"nan", b"1e400", b"2020-01-01 00:00:00",
                 b"31/12/20 10", b"\xff\xfe", b"\xef\xbb\xbf", b"12:00", b"true", b"1,5", b"tag",
                 b"value", b"9999999999999999999", b"00/00/00"]
            ),
            max_size=60,
        ).map(b"".join),
    ),
    suffix=st.sampled_from(["csv", "csv.gz", "dat", "parquet", "xlsx"]),
    magic=st.sampled_from([b"", b"", b"", b"PAR1", b"\x1f\x8b", b"PK\x03\x04"]),
)  # fmt: skip
@example(data=b'time,a\n1,"2\n3,4\n', suffix="csv", magic=b"")
@example(data=b"a\n" + b"9" * 400 + b"\n1\n", suffix="csv", magic=b"")
@example(data=b"t,a\n-9223372036854775808,1\n1,2\n9223372036854775807,3\n", suffix="csv", magic=b"")
def test_arbitrary_bytes_raise_nothing_unexpected(folder, data, suffix, magic):
    path = folder / f"junk.{suffix}"
    path.write_bytes(magic + data)
    table = _read(path, {})
    if isinstance(table, str):
        assert "\n" not in table
        return
    assert len(table) >= 2
    assert not np.isinf(table.values).any()
    for stretch in table.stretches():
        assert (np.diff(table.time[stretch]) >= 0).all()


@settings(max_examples=30, deadline=None)
@given(table=tables())
def test_dataframes_and_arrays_read_the_same(table):
    times, values = table
    names = [f"s{i}" for i in range(values.shape[1])]
    frame = pl.DataFrame(values, schema=names, orient="row").insert_column(
        0, pl.Series("when", times)
    )
    results = [
        read_table(frame),
        read_table(frame.to_arrow()),
        read_table(frame.to_pandas()),
        read_table(frame.to_pandas().set_index("when")),
        read_table(frame.lazy()),
    ]
    for result in results:
        assert result.signals == tuple(names)
        assert result.clock == "naive"
        np.testing.assert_array_equal(result.values, values)
        np.testing.assert_array_equal(result.time, results[0].time)
    np.testing.assert_array_equal(read_table(values).values, values)


def test_names_survive_a_path_object_or_text(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    assert read_table(str(path)).signals == read_table(path).signals == ("a", "b")
