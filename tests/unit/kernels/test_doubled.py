"""Double-double arithmetic against whole fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from causewatch.kernels import doubled

TINY = Fraction(1, 10**29)


def exact(pair, *index):
    return Fraction(float(pair[0][index])) + Fraction(float(pair[1][index]))


def pairs(seed, size=200):
    """Doubled numbers of many magnitudes; the low part is below half a unit of the high one."""
    rng = np.random.default_rng(seed)
    high = rng.normal(size=size) * 10.0 ** rng.uniform(-20, 20, size)
    return high, np.spacing(high) * rng.uniform(-0.49, 0.49, size)


def test_a_product_is_exact():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 500)) * 10.0 ** rng.uniform(-50, 50, (2, 500))
    found = doubled.product(a, b)
    for k in range(len(a)):
        assert exact(found, k) == Fraction(float(a[k])) * Fraction(float(b[k]))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_four_operations_keep_29_digits(name):
    a, b = pairs(2), pairs(3)
    found = getattr(doubled, name)(a, b)
    for k in range(len(a[0])):
        one, two = exact(a, k), exact(b, k)
        truth = {
            "add": one + two,
            "subtract": one - two,
            "multiply": one * two,
            "divide": one / two,
        }[name]
        size = abs(one) + abs(two) if name in ("add", "subtract") else abs(truth)
        assert abs(exact(found, k) - truth) <= TINY * size
        assert abs(found[1][k]) <= np.spacing(abs(found[0][k]))  # normalised


def test_a_small_difference_of_large_numbers_survives():
    one = (np.array([1.0]), np.array([1e-20]))
    other = (np.array([1.0]), np.array([3e-21]))
    assert doubled.subtract(one, other)[0][0] == pytest.approx(7e-21, rel=1e-10)


def test_operations_broadcast():
    a = (np.arange(1.0, 4.0)[:, None], np.zeros((3, 1)))
    b = (np.arange(1.0, 3.0)[None, :], np.zeros((1, 2)))
    np.testing.assert_array_equal(doubled.multiply(a, b)[0], [[1, 2], [2, 4], [3, 6]])
    np.testing.assert_array_equal(doubled.divide(a, b)[0], [[1, 0.5], [2, 1], [3, 1.5]])
