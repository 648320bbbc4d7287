"""Kernels of scalars on Python floats: the same bits as in NumPy scalars, whatever the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.by_day import by_day
from tests.interpret import record
from tests.support.compare import assert_same
from tests.support.running import kernel_of
from tracejit.compiler.kernel import Kernel
from tracejit.targets.numpy.plan.plan import plan_body
from tracejit.targets.numpy.text.floats import pays

X = np.float64(0.7), np.float64(0.3)


def rounds(x: Any, b: Any) -> Any:
    for _ in range(3):
        x = np.sin(x) * b + np.exp(-x * x) / (1 + b * b)
    return x


def quotients(x: Any, b: Any) -> Any:
    y = (x - b) / (x + b) - 2 * x / b
    return y * y / (x * x - b * b) + np.log(x * b) - np.sqrt(x - 3) + np.tanh(y)


KERNELS = [kernel_of(rounds, *X, argnums=(0, 1)), kernel_of(quotients, *X, argnums=(0, 1))]
EDGES = [0.0, -0.0, 1.0, -1.0, 3.0, 1e300, -1e300, 1e-300, 5e-324, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("kernel", KERNELS)
def test_there_are_twins_in_the_module(kernel: Kernel) -> None:
    for word in ("in_floats(x, b):", "in_scalars(x, b):", "in_floats(float(x), float(b))"):
        assert f"value_and_grad_{word}" in kernel.source


@settings(max_examples=by_day(100, 300), deadline=None)
@given(
    st.sampled_from(KERNELS),
    st.sampled_from(EDGES) | st.floats(),
    st.sampled_from(EDGES) | st.floats(),
)
def test_they_are_the_same_to_the_bit(kernel: Kernel, x: float, b: float) -> None:
    """Where Python divides by zero, the twin in NumPy scalars takes over."""
    args = np.float64(x), np.float64(b)
    space = kernel.value_and_grad.__globals__
    with np.errstate(all="ignore"):
        found = kernel.value_and_grad(*args)
        expected = space["value_and_grad_in_scalars"](*args)
    for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        assert type(one) is type(other) is np.float64
        if not np.isnan(other):
            assert_same(one, other)
        assert np.isnan(one) == np.isnan(other)


def test_a_value_alone_runs_on_floats_too() -> None:
    compiled = tj.function(rounds, cache=False)
    exact = tj.function(rounds, cache=False, exact=True)
    assert "forward_in_floats" in compiled.kernel(*X).source
    assert "in_floats" not in exact.kernel(*X).source
    assert_same(compiled(*X), exact(*X))


OTHERS = {
    "too little to do": (lambda x: x * x + 1.0, X[0]),
    "an array": (lambda x: rounds(x, x), np.ones(3)),
    "an array without dimensions": (lambda x: rounds(x, x), np.array(0.5)),
    "single precision": (lambda x: rounds(x, x), np.float32(0.5)),
    "complex": (lambda x: rounds(x, x), np.complex128(0.5)),
    "a Python number": (lambda x: rounds(x, np.float64(0.5)), 0.5),
    "a power": (lambda x: rounds(x, x) ** 2.5, X[0]),
    "a remainder": (lambda x: rounds(x, x) % 0.3, X[0]),
    "a comparison": (lambda x: np.where(rounds(x, x) > 0, x, -x), X[0]),
}


@pytest.mark.parametrize(("f", "x"), OTHERS.values(), ids=OTHERS)
def test_others_do_not(f: Any, x: Any) -> None:
    assert "in_floats" not in tj.function(f, cache=False).kernel(x).source


def test_calls_alone_gain_nothing() -> None:
    graph, _ = record(lambda x: np.exp(np.sin(np.cos(np.exp(np.tanh(x))))), X[0])
    assert not pays(plan_body(graph.inputs, graph.nodes, graph.outputs))


def test_the_users_names_are_kept() -> None:
    def f(float: Any, value_and_grad: Any) -> Any:
        return rounds(float, value_and_grad)

    kernel = kernel_of(f, *X, argnums=(0, 1))
    expected = tj.value_and_grad(tj.function(f, cache=False, exact=True), (0, 1))(*X)
    found = kernel.value_and_grad(*X)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
