"""Choices by bits: the same numbers as `where`, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.interpret import interpret, record
from tests.rows import each_row
from tests.support.arrays import normal
from tests.support.compare import assert_same_bits
from tests.support.graphs import ops_of
from tracejit.ir.verify import verify
from tracejit.passes.algebra.rewrites import select_calls
from tracejit.passes.framework.dce import drop_dead

EDGES = [0.0, -0.0, 1.0, 1e300, -1e300, 1e-300, np.inf, -np.inf, np.nan]
CHOICES = {
    "a choice or zero": lambda x, y: np.where(x > y, x, 0.0),
    "zero or a choice": lambda x, y: np.where(x > y, 0.0, x),
    "two conditions": lambda x, y: np.where((x > y) | np.isnan(y), y, 0.0),
    "no condition": lambda x, y: np.where(np.logical_not(x > 0.5), y, 0.0),
    "a broadcast column": lambda x, y: np.where(x > y, y[:, :1], 0.0),
    "a broadcast row": lambda x, y: np.where(x > y, y[0], 0.0),
    "a broadcast condition": lambda x, y: np.where(x[0] > y[0], y, 0.0),
    "other strides": lambda x, y: np.where((x > y).T, y.T, 0.0),
}
SHAPE = (60, 50)


def numbers(dtype: str, special: list[float], random: Any) -> list[Any]:
    """Two arrays with some special numbers."""
    arrays = [normal(*SHAPE, dtype=dtype), normal(*SHAPE, dtype=dtype)[::-1].copy()]
    with np.errstate(over="ignore"):
        for array in arrays:
            for number in special:
                array.reshape(-1)[random.randrange(array.size)] = number
    return arrays


@settings(max_examples=by_day(50, 150), deadline=None)
@given(
    st.sampled_from(sorted(CHOICES)),
    st.sampled_from(["f4", "f8"]),
    st.lists(st.sampled_from(EDGES), max_size=5),
    st.randoms(use_true_random=False),
)
def test_bits(case: str, dtype: str, special: list[float], random: Any) -> None:
    x, y = numbers(dtype, special, random)
    graph = record(CHOICES[case], x, y)[0]
    chosen = select_calls(graph)
    verify(chosen)
    assert "or_zero" in ops_of(chosen)
    assert "where" not in ops_of(chosen)
    (found,) = interpret(chosen, x, y)
    assert_same_bits(found, CHOICES[case](x, y))


STEPS = {
    "above": lambda x, c: np.where(x >= 0.0, np.where(x == 0.0, 0.5 * c, c), 0.0),
    "below": lambda x, c: np.where(x <= 0.0, np.where(x == 0.0, 0.5 * c, c), 0.0),
    "above, turned": lambda x, c: np.where(0 <= x, np.where(0 == x, 0.5 * c, c), 0),
    "below, turned": lambda x, c: np.where(0.0 >= x, np.where(0.0 == x, 0.5 * c, c), 0.0),
}


@settings(max_examples=by_day(50, 150), deadline=None)
@given(
    st.sampled_from(sorted(STEPS)),
    st.sampled_from(["f4", "f8"]),
    st.sampled_from([1.0, 2.0, 0.75, 2.0**-30, 1e-45]),
    st.lists(st.sampled_from(EDGES), max_size=5),
    st.randoms(use_true_random=False),
)
def test_steps(case: str, dtype: str, c: float, special: list[float], random: Any) -> None:
    x = numbers(dtype, special, random)[0]
    height = x.dtype.type(c)
    f = STEPS[case]
    stepped = drop_dead(select_calls(record(lambda x: f(x, height), x)[0]))
    verify(stepped)
    is_exact = x.dtype.type(0.5) * height * 2 == height
    assert ("sign" if is_exact else "where") in ops_of(stepped)
    assert ("where" if is_exact else "sign") not in ops_of(stepped)
    (found,) = interpret(stepped, x)
    assert_same_bits(found, f(x, height))


NO_STEPS = {
    "two arrays": lambda x: np.where(x >= x[0], np.where(x == x[0], 0.5, 1.0), 0.0),
    "a negative number": lambda x: np.where(x >= 0.0, np.where(x == 0.0, -0.5, -1.0), 0.0),
    "all at the tie": lambda x: np.where(x >= 0.0, np.where(x == 0.0, 1.0, 1.0), 0.0),
    "infinity": lambda x: np.where(x >= 0.0, np.where(x == 0.0, np.inf, np.inf), 0.0),
    "a negative zero": lambda x: np.where(x >= 0.0, np.where(x == 0.0, 0.5, 1.0), -0.0),
    "another tie": lambda x: np.where(x >= 0.0, np.where(x + 1.0 == 0.0, 0.5, 1.0), 0.0),
    "wider numbers": lambda x: np.where(
        x.astype("f4") >= 0, np.where(x.astype("f4") == 0, 0.5, 1.0), 0.0
    ),
    "a wider array": lambda x: np.where(x[0] >= 0.0, np.where(x == 0.0, 0.5, 1.0), 0.0),
    "numbers at both ends": lambda x: np.where(x >= 0.0, np.where(x == 0.0, 0.5, 1.0), 0.25),
    "whole numbers": lambda x: np.where(
        x.astype(int) >= 0, np.where(x.astype(int) == 0, 0.5, 1.0), 0.0
    ),
    "half precision": lambda x: np.where(
        x.astype("f2") >= 0, np.where(x.astype("f2") == 0, np.float16(0.5), np.float16(1.0)), 0.0
    ),
}


@pytest.mark.parametrize("f", NO_STEPS.values(), ids=NO_STEPS)
def test_no_steps(f: Any) -> None:
    graph = record(f, normal(*SHAPE))[0]
    assert "sign" not in ops_of(select_calls(graph))


@each_row("shape", [(0,), (1,), (3, 0), (7,), (5, 4), (40, 60)])
@each_row("dtype", ["f4", "f8"])
@each_row("which", [np.maximum, np.minimum])
def test_the_gradient_of_a_hinge_has_no_choice(which: Any, dtype: str, shape: Any) -> None:
    def loss(x: Any) -> Any:
        return np.sum(which(0.0, x) + np.log1p(np.exp(-np.abs(x))))

    x = normal(*shape, dtype=dtype)
    if x.size:
        x.reshape(-1)[:: max(x.size // 3, 1)] = 0.0
    improved = tj.value_and_grad(tj.function(loss, cache=False))
    found, exact = improved(x), tj.value_and_grad(tj.function(loss, exact=True, cache=False))(x)
    assert not x.size or "where(" not in improved.source.partition("def value_and_grad")[2]
    np.testing.assert_allclose(found[1], exact[1], rtol=10 * np.finfo(dtype).eps, atol=0)
    assert (found[1].dtype, found[1].shape) == (exact[1].dtype, exact[1].shape)


STAYS = {
    "between two": lambda x, y: np.where(x > y, x, y),
    "another number": lambda x, y: np.where(x > y, x, 1.0),
    "a negative zero": lambda x, y: np.where(x > y, x, -0.0),
    "few elements": lambda x, y: np.where(x[0] > y[0], x[0], 0.0),
    "a number": lambda x, y: np.where(x > y, x[0, 0], 0.0),
    "a condition for all": lambda x, y: np.where(x[0, 0] > y[0, 0], x, 0.0),
    "complex numbers": lambda x, y: np.where(x > y, x + 1j * y, 0.0),
    "half precision": lambda x, y: np.where(x > y, x.astype("f2"), np.float16(0)),
    "whole numbers": lambda x, y: np.where(x > y, x.astype(int), 0),
}


@pytest.mark.parametrize("f", STAYS.values(), ids=STAYS)
def test_what_stays(f: Any) -> None:
    graph = record(f, normal(*SHAPE), normal(*SHAPE))[0]
    assert "or_zero" not in ops_of(select_calls(graph))


def test_a_condition_of_the_users_may_have_other_bits() -> None:
    """True is any byte but 0 in an array that was made of bytes."""
    condition = (np.arange(3000) % 5).astype("u1").view(bool)
    x = normal(3000)
    found = tj.function(lambda condition, x: np.where(condition, x, 0.0))(condition, x)
    assert_same_bits(found, np.where(condition, x, 0.0))


ADJOINTS = {
    "relu": lambda x, y: np.sum(np.maximum(x, 0.0) * y),
    "maximum": lambda x, y: np.sum(np.maximum(x, y) * y),
    "minimum": lambda x, y: np.sum(np.minimum(x, y) * x),
    "clip": lambda x, y: np.sum(np.clip(x, -0.5, 0.5) * y),
    "where": lambda x, y: np.sum(np.where(x > y, x * y, np.sin(x))),
    "a chain": lambda x, y: np.sum(np.where(x > 0, np.maximum(x * y, 0.0), y) ** 2),
}


@settings(max_examples=by_day(40, 100), deadline=None)
@given(
    st.sampled_from(sorted(ADJOINTS)),
    st.sampled_from(["f4", "f8"]),
    st.lists(st.sampled_from(EDGES), max_size=5),
    st.randoms(use_true_random=False),
)
def test_gradients_are_as_exact_ones(
    case: str, dtype: str, special: list[float], random: Any
) -> None:
    """Infinite and undefined cotangents stay where they belong."""
    x, y = numbers(dtype, special, random)
    with np.errstate(all="ignore"):
        (found, found_bars), (exact, exact_bars) = (f(x, y) for f in _both(case))
    eps = np.finfo(dtype).eps
    for a, b in zip((found, *found_bars), (exact, *exact_bars), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=100 * eps, atol=1000 * eps)


_kernels: dict[str, list[Any]] = {}


def _both(case: str) -> list[Any]:
    if case not in _kernels:
        functions = (tj.function(ADJOINTS[case], exact=exact) for exact in (False, True))
        _kernels[case] = [tj.value_and_grad(f, argnums=(0, 1)) for f in functions]
    return _kernels[case]


def test_a_decision_falls_as_in_python() -> None:
    """What nothing but a decision reads is chosen as NumPy chooses."""
    x = normal(3000)

    def f(x: Any) -> Any:
        return np.sin(x) if np.where(x > 0, x, 0.0)[0] > 0 else np.cos(x)

    compiled = tj.function(f, cache=False)
    np.testing.assert_array_equal(compiled(x), f(x))
    assert "where(x > 0, x, 0.0)" in compiled.kernel(x).source


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_cotangent_that_is_a_number_has_no_bits(dtype: str) -> None:
    """Where the cotangent of the result is one, what is chosen may be a number."""
    x = normal(300, 10).astype(dtype)

    def f(x: Any) -> Any:
        return np.sum(np.sum(np.where(x > 0, x, 0.0), axis=0) * np.full(10, 2.5, dtype))

    compiled, exact = (
        tj.value_and_grad(tj.function(f, cache=False, exact=one)) for one in (False, True)
    )
    found, expected = compiled(x)[1], exact(x)[1]
    assert ".view(int8)" in compiled.kernel(x).source
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
