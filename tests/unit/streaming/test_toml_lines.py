"""Where keys stand in a TOML text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causewatch.errors import SettingError
from causewatch.streaming.toml_lines import KeyPath, key_lines, line_of, read_toml

TEXT = '''\
# a comment with = and [table]
model = "plant.causewatch"   # another
"quoted key" = 1979-05-27 07:32:00
site.name = 'a "b" # no comment'

[source]
url = """
mqtt://broker
[no table]
x = 1 \\""" # still text"""
topics = [
  "a",  # one
  ["b", { deep = 1, er.in = "}" }],
]

[[sinks]]
url = "one"
options = { retry = 5, headers = { "X-Key" = "v" } }
[sinks.tls]
ca = 'x'
[[sinks]]
url = \'\'\'two\'\'\'\'\'

[tags."plant/FIT101".unit]
a = 1
[tags]
"plant/\\u004c2" = true
'''


def test_places() -> None:
    lines = key_lines(TEXT)
    assert tomllib.loads(TEXT)["source"]["url"].endswith('x = 1 """ # still text')
    expected: dict[KeyPath, int] = {
        ("model",): 2,
        ("quoted key",): 3,
        ("site",): 4,
        ("site", "name"): 4,
        ("source",): 6,
        ("source", "url"): 7,
        ("source", "topics"): 11,
        ("source", "topics", 0): 12,
        ("source", "topics", 1): 13,
        ("source", "topics", 1, 0): 13,
        ("source", "topics", 1, 1): 13,
        ("source", "topics", 1, 1, "deep"): 13,
        ("source", "topics", 1, 1, "er"): 13,
        ("source", "topics", 1, 1, "er", "in"): 13,
        ("sinks",): 16,
        ("sinks", 0): 16,
        ("sinks", 0, "url"): 17,
        ("sinks", 0, "options"): 18,
        ("sinks", 0, "options", "retry"): 18,
        ("sinks", 0, "options", "headers"): 18,
        ("sinks", 0, "options", "headers", "X-Key"): 18,
        ("sinks", 0, "tls"): 19,
        ("sinks", 0, "tls", "ca"): 20,
        ("sinks", 1): 21,
        ("sinks", 1, "url"): 22,
        ("tags",): 26,
        ("tags", "plant/FIT101"): 24,
        ("tags", "plant/FIT101", "unit"): 24,
        ("tags", "plant/FIT101", "unit", "a"): 25,
        ("tags", "plant/L2"): 27,
    }
    assert lines == expected
    assert key_lines(TEXT.replace("\n", "\r\n")) == expected
    assert line_of(lines, ("source", "qos")) == 6
    assert line_of(lines, ("nothing", "here")) == 1


def paths(data: Any, path: KeyPath = ()) -> dict[KeyPath, Any]:
    """All paths of some content, and what is there."""
    found: dict[KeyPath, Any] = {}
    items: Any = ()
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    for name, value in items:
        found[(*path, name)] = value
        found |= paths(value, (*path, name))
    return found


names = st.text("ab.#[]\"'\\ =é", min_size=1, max_size=4) | st.sampled_from(["url", "x-1", "9"])
leaves = st.sampled_from(["number", "text", "literal", "long", "long literal", "date", "flag"])
values: Any = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(
    names, values | st.lists(st.dictionaries(names, values, max_size=3), min_size=1), max_size=5
)


class Writer:
    """Writes content as TOML in ways drawn at random; leaves hold a number of their own."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.text = ""
        self.count = 1000
        self.expected: dict[KeyPath, int] = {}

    def choose(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def put(self, text: str) -> None:
        self.text += text

    def noise(self, breaks: bool) -> None:
        self.put(self.choose("", "", " ", "\t "))
        if breaks:
            self.put(self.choose("", "", "\n", " # ] } = \" '\n", "\n\n"))

    def key(self, name: str) -> None:
        bare = name.isascii() and name.replace("-", "").isalnum()
        if bare and self.choose(True, False):
            self.put(name)
        elif "'" not in name and self.choose(True, False):
            self.put(f"'{name}'")
        else:
            escaped = "".join(f"\\u{ord(char):04x}" if char in '"\\é' else char for char in name)
            self.put(f'"{escaped}"')

    def here(self, path: KeyPath) -> None:
        self.expected[path] = self.text.count("\n") + 1

    def value(self, path: KeyPath, value: Any) -> None:
        if isinstance(value, dict):
            self.put("{")
            for number, (name, inner) in enumerate(value.items()):
                self.put(", " if number else " ")
                self.pair((*path, name), inner)
            self.put(" }")
        elif isinstance(value, list):
            self.put("[")
            for number, inner in enumerate(value):
                self.noise(breaks=True)
                self.here((*path, number))
                self.value((*path, number), inner)
                self.noise(breaks=True)
                self.put("," if number < len(value) - 1 else self.choose("", ","))
            self.noise(breaks=True)
            self.put("]")
        else:
            self.count += 1
            n = self.count
            self.put(
                {
                    "number": f"-{n}.5e3",
                    "text": f'"{n} \\" # = [ \\\\"',
                    "literal": f"'{n} \\ \" #'",
                    "long": f'"""\n{n} " "" \\""" \n[x]\ny = 1 """"',
                    "long literal": f"'''{n}\n[x] ' ''\ny = \\'''''",
                    "date": self.choose(
                        "1979-05-27 07:32:00.5Z", "07:32:00", "1979-05-27T00:00:00"
                    ),
                    "flag": "true",
                }[value]
            )

    def pair(self, path: KeyPath, value: Any) -> None:
        self.here(path)
        self.key(str(path[-1]))
        self.noise(breaks=False)
        self.put("=")
        self.noise(breaks=False)
        self.value(path, value)

    def document(self, data: dict[str, Any]) -> None:
        later = []
        for name, value in data.items():
            self.noise(breaks=True)
            table = isinstance(value, dict)
            several = (
                isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
            )
            if (table or several) and self.choose(True, False):
                later.append((name, value))
            else:
                self.pair((name,), value)
                self.put("\n")
        for name, value in later:
            entries = (
                [(name,)] if isinstance(value, dict) else [(name, n) for n in range(len(value))]
            )
            bare = value if isinstance(value, list) else [value]
            for path, content in zip(entries, bare, strict=True):
                self.noise(breaks=True)
                if len(path) == 2 and path[1] == 0:
                    self.here((name,))
                self.here(path)
                self.put("[" * len(path))
                self.key(name)
                self.put("]" * len(path) + self.choose("", " # [x]") + "\n")
                for inner, part in content.items():
                    self.pair((*path, inner), part)
                    self.put("\n")


@settings(max_examples=80)
@given(data=tables, draw=st.data())
def test_generated_text(data: dict[str, Any], draw: Any) -> None:
    writer = Writer(draw.draw)
    writer.document(data)
    found = paths(tomllib.loads(writer.text))
    assert set(found) == set(paths(data))
    assert key_lines(writer.text) == writer.expected


def test_time_is_linear() -> None:
    text = "".join(f"key{n} = [{n}, {n}]\n" for n in range(20_000))
    assert key_lines(text)[("key19999",)] == 20_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = 1\nb = \n", r"plant.toml, line 2: invalid value; this is no valid TOML."),
        (b"a = 1\na = 2\n", r"plant.toml, line 2: cannot overwrite a value"),
        (b"[a", r"plant.toml, line 1: expected ']' at the end of a table declaration"),
        (b"a = 1\nb = '\xff'", r"plant.toml, line 2: this is not UTF-8 text"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "nested too deeply"),
        (b"#" * 10_000_001, "larger than 10 MB"),
    ],
)
def test_what_is_no_toml(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "plant.toml"
    file.write_bytes(content)
    with pytest.raises(SettingError, match=words):
        read_toml(file, "configuration")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read: No such file"):
        read_toml(tmp_path / "plant.toml", "configuration")
    with pytest.raises(SettingError, match="no name of a file"):
        read_toml(tmp_path / "plant\0.toml", "configuration")
