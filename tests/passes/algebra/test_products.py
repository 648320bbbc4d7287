"""Products: dot instead of matmul where the call is what costs, the same to the bit in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.against_exact import assert_close, code, with_special
from tests.rows import each_row

SHAPES = [
    ((4, 3), (3, 5)),
    ((4, 3), (3,)),
    ((4,), (4, 3)),
    ((7,), (7,)),
    ((0, 3), (3, 2)),
    ((3, 0), (0, 2)),
    ((33, 40), (40, 35)),
]


LINES = [
    ((1, 1), (1, 1)),
    ((1,), (1, 3)),
    ((3, 1), (1,)),
    ((3, 1), (1, 4)),
    ((1, 4), (4, 1)),
    ((1, 4), (4, 3)),
    ((1, 4), (4,)),
    ((4, 3), (3, 1)),
    ((1,), (1,)),
]


@each_row(("first", "second"), SHAPES)
@each_row("dtype", [np.float64, np.float32, np.complex128])
@each_row("turned", [False, True])
def test_small_products_are_the_same_to_the_bit(
    first: Any, second: Any, dtype: Any, turned: bool
) -> None:
    def f(a: Any, b: Any) -> Any:
        return a @ (b.T if turned else b)

    rng = np.random.default_rng(0)
    a = rng.normal(size=first).astype(dtype)
    b = rng.normal(size=second[::-1] if turned else second).astype(dtype)
    compiled = tj.function(f, cache=False)
    for left, right in ((a, b), (np.asfortranarray(a), np.asfortranarray(b))):
        found, expected = compiled(left, right), f(left, right)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    assert_close(compiled(a[..., ::-1], b), f(a[..., ::-1], b))
    assert ".dot(" in code(compiled, "forward")


def test_a_column_times_a_row_of_any_size() -> None:
    def f(a: Any, b: Any) -> Any:
        return a @ b

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3000, 1)), rng.normal(size=(1, 200))
    a[::7], b[0, ::5] = with_special(rng, a[::7], 300), with_special(rng, b[0, ::5], 30)
    compiled = tj.function(f, cache=False)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(compiled(a, b), f(a, b))
    assert "a.dot(b)" in code(compiled, "forward")


@pytest.mark.parametrize(("first", "second"), [*SHAPES[:4], *LINES])
def test_special_values(first: Any, second: Any) -> None:
    def f(a: Any, b: Any) -> Any:
        return a @ b

    compiled = tj.function(f, cache=False)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        a, b = (with_special(rng, rng.normal(size=shape), seed % 4) for shape in (first, second))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(compiled(a, b), f(a, b))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((70, 70)), np.ones((70, 70))),
        (np.ones((3, 4, 5)), np.ones((5, 2))),
        (np.ones((3, 4)), np.ones((4, 2), np.float32)),
        (np.zeros((3, 1)), np.full((1, 1), np.inf)),
        (np.ones((3, 4), int), np.ones((4, 2), int)),
    ],
)
def test_others_stay_as_they_are(a: Any, b: Any) -> None:
    """Large ones, stacks, two dtypes, one element, integers."""
    compiled = tj.function(lambda a, b: a @ b, cache=False)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(compiled(a, b), a @ b)
    assert "a @ b" in code(compiled, "forward")
