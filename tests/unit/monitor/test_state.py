"""The state folder: what is saved comes back, and only one writes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causewatch.errors import ModelFileError, SettingError
from causewatch.monitor.state import SavedState, StateFolder, cut_back, pack, unpack

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


def test_what_is_saved_comes_back(tmp_path):
    folder = StateFolder(tmp_path / "state")
    assert not folder.exists
    with pytest.raises(SettingError, match="holds no state of a watch"):
        folder.check()
    # Mostly empty, as right after the start: this must be readable, too.
    rows = np.full((4, 256, 2000), np.nan)
    saved = SavedState(
        {"rows": rows, "time": None}, "utc", {"strong": 2.0}, {"rows": 3}, 7, {"a": 1}
    )
    with folder.lock():
        folder.save(saved)
    folder.check()
    found = folder.load()
    assert alike(vars(found), vars(saved))


def test_only_one_writes(tmp_path):
    folder = StateFolder(tmp_path / "state")
    with folder.lock():
        with pytest.raises(SettingError, match=r"in use by a running watch \(process \d+\)"):
            StateFolder(tmp_path / "state").lock().__enter__()
    with folder.lock():
        pass
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="is a file"):
        StateFolder(tmp_path / "file").lock().__enter__()


def test_damaged_states_are_refused(tmp_path):
    folder = StateFolder(tmp_path)
    folder.save(SavedState({"x": np.zeros(100)}, "utc", {}))
    data = (tmp_path / "state.zip").read_bytes()
    (tmp_path / "state.zip").write_bytes(data[:-40])
    with pytest.raises(ModelFileError, match=r"state\.zip"):
        folder.load()
    from causewatch.archive import write_archive

    write_archive(tmp_path / "state.zip", "state", 1, {"monitor": {}, "clock": "utc"}, {})
    with pytest.raises(ModelFileError, match="damaged"):
        folder.load()


def test_the_history_survives_a_line_cut_short(tmp_path):
    folder = StateFolder(tmp_path)
    assert list(folder.events()) == []
    event = {
        **dict.fromkeys(("id", "event", "time", "kind", "raised_at", "headline"), "a"),
        **dict.fromkeys(("cleared_at", "acknowledged_by", "shelved_until", "peak_score")),
        **dict.fromkeys(("abstained", "normal"), False),
        **{name: [] for name in ("causes", "broken_links", "comments")},
    }
    good = [json.dumps(event | {"id": id}) for id in "ab"]
    foreign = ['{"id": "abc"}', "[]", '{"no": 1}', "", "[" * 100_000, good[0][:-9]]
    foreign += [json.dumps(event | bad) for bad in ({"peak_score": "x"}, {"causes": [1]})]
    folder.history.write_text("\n".join([good[0], *foreign, good[1], '{"id": "c']))
    assert [event["id"] for event in folder.events()] == ["a", "b"]


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


def test_the_inbox_is_read_in_order(tmp_path):
    folder = StateFolder(tmp_path)
    assert folder.posted() == []
    second, first = folder.post("2-x", {"action": "ack"}), folder.post("1-x", {"action": "ack"})
    (folder.inbox / "1-x.answer").touch()
    assert folder.posted() == [first, second]
