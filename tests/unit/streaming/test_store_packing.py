"""Checkpoints as bytes: the same comes back, and nothing else is taken for one."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from causewatch.errors import ModelFileError
from causewatch.streaming.store.base import Checkpoint
from causewatch.streaming.store.packing import PIECE, from_pieces, to_pieces
from stores import alike, checkpoint

some_arrays = st.sampled_from(["f8", "f4", "i8", "u1", "i1", "?", ">f8"]).flatmap(
    lambda kind: arrays(np.dtype(kind), array_shapes(min_dims=0, max_side=5, min_side=0))
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | some_arrays,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def back(packed):
    return from_pieces([bytes(one) for one in packed.pieces], packed.checksum, "here")


@settings(max_examples=50)
@given(st.dictionaries(st.text(), plain, max_size=5), st.dictionaries(st.text(), plain, max_size=2))
def test_what_is_packed_comes_back(monitor, source):
    state = Checkpoint(monitor, "utc", {"a": 1}, source, {"p": 3}, {"rows": 2}, 7.5)
    assert alike(back(to_pieces(state)), state)


def test_arrays_in_any_order_and_place_of_memory():
    values = np.arange(24.0).reshape(4, 6)
    state = Checkpoint(
        {"t": values.T, "s": values[::2, ::3], "f": np.asfortranarray(values)}, "", {}
    )
    found = back(to_pieces(state))
    assert all(np.array_equal(found.monitor[name], state.monitor[name]) for name in "tsf")
    assert all(one.flags.writeable and one.flags.owndata for one in found.monitor.values())


def test_few_pieces_change_from_one_state_to_the_next():
    first, second = to_pieces(checkpoint(1, 400)), to_pieces(checkpoint(2, 400))
    changed = sum(a != b for a, b in zip(first.digests, second.digests, strict=True))
    assert len(first.pieces) > 50
    assert changed <= 3
    # Not even when something small has come before the large arrays.
    third = checkpoint(2, 400)
    third.monitor = {"new": np.arange(5), **third.monitor}
    changed = sum(a != b for a, b in zip(second.digests, to_pieces(third).digests, strict=False))
    assert changed <= 3


def test_objects_are_never_packed():
    with pytest.raises(TypeError, match="numbers were expected"):
        to_pieces(Checkpoint({"x": np.array([object()])}, "", {}))


def test_every_damage_is_noticed():
    packed = to_pieces(checkpoint(1, 20))
    pieces = [bytes(one) for one in packed.pieces]
    chance = random.Random(1)
    wrong = [pieces[:-1], pieces[::-1], [], pieces[:1], [*pieces, b""], [*pieces, pieces[-1]]]
    wrong.append([b"".join(pieces)])
    for _ in range(200):
        which = chance.randrange(len(pieces))
        one = bytearray(pieces[which])
        one[chance.randrange(len(one))] ^= 1 << chance.randrange(8)
        wrong.append([*pieces[:which], bytes(one), *pieces[which + 1 :]])
    for those in wrong:
        with pytest.raises(ModelFileError, match="The state in here is damaged and was not used"):
            from_pieces(those, packed.checksum, "here")


def forged(head, *body):
    pieces = [head if isinstance(head, bytes) else json.dumps(head).encode(), *body]
    digests = b"".join(hashlib.sha256(one).digest() for one in pieces)
    return pieces, hashlib.sha256(digests).digest()


CONTENT = {
    "monitor": {},
    "clock": "utc",
    "settings": {},
    "source": {},
    "outputs": {},
    "counts": {},
    "saved_at": 0.0,
}


def test_a_forged_head_is_refused():
    """With the right checksum, too: nothing is made before its size is known to be there."""
    eight = bytes(8)
    good = {"content": CONTENT, "arrays": [["0", "<f8", [1]]]}
    assert from_pieces(*forged(good, eight), "here").clock == "utc"
    heads = [
        b"",
        b"[" * 10**5,
        b"\xff",
        [],
        {},
        {"content": CONTENT},
        {"content": {}, "arrays": []},
        *({"content": CONTENT | bad, "arrays": [["0", "<f8", [1]]]} for bad in (
            {"monitor": 3}, {"monitor": "array:1"}, {"settings": None}, {"outputs": {"a": "b"}},
            {"outputs": []}, {"counts": {"a": []}}, {"saved_at": "soon"}, {"source": [1]},
        )),
        *({"content": CONTENT, "arrays": bad} for bad in (
            3, [3], [["0", "<f8"]], [["0", "|O", [1]]], [["0", "O", [1]]], [["0", "<f8", [2]]],
            [["0", "<f8", [-1]]], [["0", "<f8", [10**18, 10**18]]], [["0", "<f8", ["1"]]],
            [["0", "<f8", [1.0]]], [["0", "<f8", [True]]], [["0", "<M8[s]", [1]]],
            [["0", "<f4", [1]]], [["0", "V8", [1]]], [["0", "S8", [1]]], [["0", "nonsense", [1]]],
            [["0", "<f8", [1]], ["1", "<f8", [1]]], [["0", "f8,f8", [1]]], [["0", "<f8", 1]], [],
        )),
    ]  # fmt: skip
    for head in heads:
        with pytest.raises(ModelFileError, match="damaged"):
            from_pieces(*forged(head, eight), "here")


def test_pieces_are_small():
    packed = to_pieces(checkpoint(1, 400))
    assert all(len(one) <= PIECE for one in packed.pieces[1:])
    assert packed.size == sum(len(one) for one in packed.pieces)
