"""Tag maps: what they do to rows, and how they are read from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.streaming.tag_file import read_tags
from causewatch.streaming.tags import Tag, TagMap

FLOW = Tag("plant/FIT101", "flow", 1000 / 3600, 0.0, 30.0)
TEMPERATURE = Tag("plant/TT7", "temperature", 1.8, 32.0)
LEVEL = Tag("ns=2;s=LIT101", "level", 0.1, -5.0)

CSV = """\
# tags of the first line
tag,signal,unit,model_unit,factor,offset,stale
plant/FIT101,flow,m3/h,l/s,,,30s

plant/TT7, temperature ,degC,degF,,,
"ns=2;s=LIT101",level,,,0.1,-5,
"""
TOML = """\
["plant/FIT101"]
signal = "flow"
unit = "m3/h"
model_unit = "l/s"
stale = 30

["plant/TT7"]
signal = "temperature"
unit = "degC"
model_unit = "degF"
description = "after the heater"

["ns=2;s=LIT101"]
signal = "level"
factor = 0.1
offset = -5
"""
LISTED = """\
[[tags]]
tag = "plant/FIT101"
signal = "flow"
unit = "m3/h"
model_unit = "l/s"
stale = "30s"
[[tags]]
tag = "plant/TT7"
signal = "temperature"
unit = "degC"
model_unit = "degF"
[[tags]]
tag = "ns=2;s=LIT101"
signal = "level"
factor = 0.1
offset = -5.0
"""
YAML = """\
tags:
  - {tag: plant/FIT101, signal: flow, unit: m3/h, model_unit: l/s, stale: 30}
  - tag: plant/TT7
    signal: temperature
    unit: degC
    model_unit: degF
    factor:
  - {tag: "ns=2;s=LIT101", signal: level, factor: 0.1, offset: -5}
"""
JSON = json.dumps(
    {
        "plant/FIT101": {"signal": "flow", "unit": "m3/h", "model_unit": "l/s", "stale": 30},
        "plant/TT7": {"signal": "temperature", "unit": "degC", "model_unit": "degF"},
        "ns=2;s=LIT101": {"signal": "level", "factor": 0.1, "offset": -5},
    },
    indent="\t",
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tags.csv", CSV),
        ("tags.txt", "\ufeff" + CSV.replace(",", ";")),
        ("tags.tsv", CSV.replace(",", "\t").replace("\n", "\r\n")),
        ("tags.toml", TOML),
        ("listed.toml", LISTED),
        ("tags.yaml", YAML),
        ("tags.json", JSON),
    ],
)
def test_every_form_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="")
    found = read_tags(file)
    assert list(found) == [FLOW, TEMPERATURE, LEVEL]
    assert found.get("plant/TT7") == TEMPERATURE
    assert found.get("other") is None


def test_a_table_may_hold_just_signals(tmp_path: Path) -> None:
    file = tmp_path / "tags.yml"
    file.write_text("on: no\n007: 1e3\n'\U0001f600': \"\\ud83d\\ude00\"\n", encoding="utf-8")
    assert [(tag.tag, tag.signal) for tag in read_tags(file)] == [
        ("on", "no"),
        ("007", "1e3"),
        ("\U0001f600", "\U0001f600"),
    ]


def test_raw_values_are_scaled_before_units(tmp_path: Path) -> None:
    file = tmp_path / "tags.csv"
    file.write_text("tag,signal,unit,model_unit,factor,offset\n40001,t,degC,degF,0.1,-50\n")
    tag = read_tags(file).get("40001")
    assert tag is not None
    assert tag.convert(500) == pytest.approx(32.0)  # 500 raw are 0 degC
    assert tag.convert(1500) == pytest.approx(212.0)


HEADER = "tag,signal,unit,model_unit,factor,offset,stale\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", HEADER + "a,x\na,y\n", r"t.csv, line 3: the tag 'a' was named before \(t.csv, "),
        ("t.csv", HEADER + "a,x\nb,x\n", r"line 3: the signal 'x' was named before .*line 2"),
        ("t.csv", HEADER + "a\n", "t.csv, line 2: the signal is missing"),
        ("t.csv", HEADER + ",x\n", "t.csv, line 2: the tag is missing"),
        ("t.csv", "tag,unit\na,bar\n", "t.csv, line 2: the signal is missing"),
        ("t.csv", HEADER + "a,x,,,,,,,9\n", "line 2: there are 9 cells, but the header names 7"),
        ("t.csv", "tag,signal,units\na,x,bar\n", "line 1: There is no column .* 'unit'"),
        ("t.csv", "tag,signal,tag\na,x,b\n", "line 1: the column 'tag' is there twice"),
        ("t.csv", "a,x\n", "line 1: There is no column of such a file 'a'"),
        ("t.csv", 'tag,signal\n"a"b,x\n', "t.csv, line 2: .*no valid CSV"),
        ("t.csv", 'tag,signal\n"a,x\n', "t.csv, line 2: .*no valid CSV"),
        ("t.csv", "\0", "is no text"),
        ("t.csv", "", "names no tags"),
        ("t.csv", HEADER, "names no tags"),
        ("t.csv", HEADER + "a,x,,,ten\n", 'line 2: factor is "ten"; a number'),
        ("t.csv", HEADER + "a,x,,,inf\n", 'line 2: factor is "inf"; a number'),
        ("t.csv", HEADER + "a,x,,,0\n", "line 2: the factor is 0"),
        ("t.csv", HEADER + "a,x,,,,,soon\n", 'line 2: stale is "soon"; a duration'),
        ("t.csv", HEADER + "a,x,,bar\n", "line 2: model_unit is given without unit"),
        ("t.csv", HEADER + "a,x,bar,l/s\n", "line 2: 'bar' is a pressure, 'l/s' is a flow"),
        (
            "t.csv",
            HEADER + "a,x,barr,bar\nb,y,bar,bar\nc,z,lps,furlong\nd,u,barr,kPa\n",
            r"t.csv, line 2: the unit 'barr' is not known, nor are 'furlong' \(t.csv, line 4\);",
        ),
        ("t.toml", "a = 1\n", "t.toml, line 1: 1 is no signal of the tag 'a'"),
        ("t.toml", "[a]\nsignal = 'x'\nfaktor = 1\n", "t.toml, line 3: there is no key .*'factor'"),
        ("t.toml", "[a]\nsignal = 1\n", "t.toml, line 2: the signal is 1; a name is expected"),
        ("t.toml", "[a]\nsignal = 'x'\ntag = 'b'\n", "line 3: the tag 'a' is given another name"),
        ("t.toml", "[a]\nsignal = 'x'\nunit = 1\n", "line 3: unit is 1; a unit"),
        ("t.toml", "[a]\nsignal = 'x'\nfactor = true\n", "line 3: factor is true; a number"),
        ("t.toml", "[a]\nsignal = 'x'\nstale = -1\n", "line 3: stale is -1; a duration"),
        ("t.toml", "tags = [1]\n", "line 1: 1 is no tag"),
        ("t.toml", "[tags]\na = 'x'\n[other]\n", "line 3: 'other' stands beside the tags"),
        ("t.toml", "a = \n", "t.toml, line 1: invalid value"),
        ("t.yaml", "", "t.yaml holds nothing"),
        ("t.yaml", "a: x\nb: [\n", "t.yaml, line 3: .*no valid YAML"),
        ("t.yaml", "a: x\na: y\n", "t.yaml, line 2: a key is there twice"),
        ("t.yaml", "a: x\nb: x\n", "t.yaml, line 2: the signal 'x' was named before"),
        ("t.yaml", "? [a]\n: x\n", "t.yaml, line 1: a key is no text"),
        ("t.yaml", "a: &a {signal: x}\nb: *a\n", "t.yaml, line 1: an alias"),
        ("t.yaml", "a: &a [*a]\n", "alias|deep"),
        ("t.yaml", "a: {signal: {b: {c: {d: {e: 1}}}}}\n", "line 1: this is nested more than 4"),
        ("t.yaml", "[" * 5000, "nested too deeply|no valid YAML"),
        ("t.yaml", "a: x\x01\n", "no valid YAML"),
        (
            "t.json",
            '{"a": {"signal": "x"},\n "a": {"signal": "y"}}',
            "line 2: a key is there twice",
        ),
    ],
)
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(SettingError, match=words):
        read_tags(file)


@settings(max_examples=150)
@given(
    name=st.sampled_from(["a.csv", "a.toml", "a.yaml", "a.json"]),
    text=st.one_of(
        st.text(max_size=80),
        st.text("tagsinlu,;:\"'=[]{}\n #*&1.", max_size=120).map(lambda text: HEADER + text),
    ),
)
def test_any_text_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / f"any-{name}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    message = ""
    try:
        read_tags(file)
    except SettingError as error:
        message = str(error)
    assert len(message) < 2000


def test_rows_get_names_and_units_of_the_model() -> None:
    tags = TagMap({tag.tag: tag for tag in (FLOW, TEMPERATURE, LEVEL)})
    huge = 10**400
    row = tags.row(
        {"plant/TT7": 100, "plant/FIT101": "Bad", "ns=2;s=LIT101": huge, "other": 1, "time": "x"}
    )
    assert row == {"temperature": 212.0, "flow": "Bad", "level": huge, "other": 1, "time": "x"}
    assert tags.row({"plant/TT7": True}) == {"temperature": True}


def test_a_name_that_is_another_tags_signal_is_not_taken_for_it() -> None:
    tags = TagMap({"a": Tag("a", "b"), "b": Tag("b", "c")})
    assert tags.row({"a": 1, "b": 2, "c": 3}) == {"b": 1.0, "c": 2.0}


def test_without_tags_everything_is_itself() -> None:
    tags = TagMap()
    assert not tags
    assert tags.get("x") == Tag("x", "x")
    assert tags.row({"x": 1}) == {"x": 1}
    assert tags.check(["a"]) == []


def test_what_does_not_fit_the_model_is_said() -> None:
    tags = TagMap({"p": Tag("p", "pressure"), "q": Tag("q", "flow"), "r": Tag("r", "level")})
    assert tags.check(["pressure", "flow", "level"]) == []
    assert tags.check(["pressure", "speed", "torque"]) == [
        "2 signals of the model without a tag: speed, torque; missing unless"
        " rows bring them under their own names.",
        "2 tags to signals that the model does not know: q (to flow), r (to level); they are not"
        " used.",
    ]
