"""One hierarchy, one sentence each."""

from __future__ import annotations

import pytest

from causewatch import errors
from causewatch.errors import CausewatchError, UnknownNameError, listing, shorten


def test_every_public_error_belongs_to_the_family_and_is_drawn():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), CausewatchError)
        assert name in errors.__doc__


def test_an_unknown_name_lists_what_would_have_worked():
    error = UnknownNameError("LIT10", "signal", ["DPIT", "LIT101", "P301"])
    assert str(error) == (
        "There is no signal 'LIT10'. Did you mean 'LIT101'? Available: DPIT, LIT101, P301."
    )


def test_nothing_close_means_no_guess():
    error = UnknownNameError("zzz", "column", ["a", "b"])
    assert str(error) == "There is no column 'zzz'. Available: a, b."
    assert str(UnknownNameError("a", "column", [])) == "There is no column 'a'. Available: none."


def test_long_lists_and_names_are_cut_to_one_line():
    error = UnknownNameError("x\n" * 500, "signal", [f"s{k}" for k in range(100)])
    assert "\n" not in str(error)
    assert "and 88 more" in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("a  b\tc\nd", 60, "a b c d"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("a\x1b[2J\u202eb\x9b\udc80°C", 60, "a\ufffd[2J\ufffdb\ufffd\ufffd°C"),
    ],
)
def test_shorten(text, most, expected):
    assert shorten(text, most) == expected


def test_listing():
    assert listing("abc") == "a, b, c"
    assert listing("abc", most=2) == "a, b and 1 more"


def test_a_name_with_a_comma_is_quoted():
    assert listing(["Motorstrom, P-01 (A)", "Ventil"]) == "'Motorstrom, P-01 (A)', Ventil"
    assert listing(["1,200 changes in a", "b"]) == "1,200 changes in a, b"  # no name ends there
    assert listing(["'a, b' (line 3, too)", "c"]) == "'a, b' (line 3, too), c"  # once is enough
    error = UnknownNameError("c", "signal", ["a,b"])
    assert str(error) == "There is no signal 'c'. Available: 'a,b'."
