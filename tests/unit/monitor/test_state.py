"""Snapshots are packed and unpacked unchanged; ends of files are taken back."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from causewatch.files import cut_back
from causewatch.monitor.state import pack, unpack

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def alike(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return type(a) is type(b) and (a == b or a != a)


@given(plain)
def test_packing_goes_through_json_unchanged(value):
    arrays = {}
    text = json.dumps(pack(value, arrays), allow_nan=False)
    assert alike(value, unpack(json.loads(text), arrays))


def test_text_is_never_mistaken_for_an_array_or_a_number():
    value = {
        "a": ["array:0", "number:nan", "text:x", np.arange(3)],
        "b": (np.float64(0.1), -np.inf),
    }
    arrays = {}
    found = unpack(json.loads(json.dumps(pack(value, arrays))), arrays)
    assert found["a"][:3] == ["array:0", "number:nan", "text:x"]
    assert found["a"][3].tolist() == [0, 1, 2]
    assert found["b"] == [0.1, -np.inf]


def test_cutting_back_never_pads(tmp_path):
    path = tmp_path / "lines"
    for content, size, left in [
        (b"a\nb\n", 2, b"a\n"),
        (b"a\nb\n", 9, b"a\nb\n"),
        (b"a\nb", 9, b"a\nb\n"),
        (b"", 9, b""),
    ]:
        path.write_bytes(content)
        cut_back(path, size)
        assert path.read_bytes() == left
