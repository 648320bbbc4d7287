"""Very many tape steps: memory stays where it is after the first thousand, kernels are made once.

Run with `-m stress`.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.eager import call_operation, window_gradient
from tracejit.support.memo import Table
from tracejit.trace.recording import eager

pytestmark = pytest.mark.stress

X = np.array([1.0, -2.0, 0.5])
Y = np.array([3.0, 0.25, -1.0])
ONE = np.ones(3)

WARM_UP = 1_000
# Python's own free lists grow by some kilobytes, and stay so. What leaks in every step is more:
# the smallest object has 16 bytes.
SLACK = 24_576


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the gradients that are compiled from here on."""
    made: list[str] = []
    make, compute = window_gradient.make_kernel, call_operation.CallOp._computation

    def make_kernel(recorded: Any) -> Any:
        made.append(recorded.graph.name)
        return make(recorded)

    def computation(self: Any, graph: Any, outputs: int) -> Any:
        made.append(graph.name)
        return compute(self, graph, outputs)

    monkeypatch.setattr(window_gradient, "_compiled", Table())
    monkeypatch.setattr(window_gradient, "make_kernel", make_kernel)
    monkeypatch.setattr(call_operation.CallOp, "_computation", computation)
    return made


def held() -> int:
    """Bytes that Python holds when garbage is collected."""
    for _ in range(3):
        gc.collect()
    return tracemalloc.get_traced_memory()[0]


def check_flat(step: Callable[[int], None], steps: int, kernels: list[str]) -> None:
    """After a thousand steps nothing more is held, no kernel made and no table longer."""
    for k in range(WARM_UP):
        step(k)
    made, tables = len(kernels), (len(window_gradient._compiled), len(eager._compiled))
    tracemalloc.start()
    try:
        # Once more: what the first steps under tracemalloc leave for good is none of the growth.
        for k in range(WARM_UP, 2 * WARM_UP):
            step(k)
        before = held()
        for k in range(2 * WARM_UP, steps):
            step(k)
        grown = held() - before
    finally:
        tracemalloc.stop()
    assert grown < SLACK, f"{grown} bytes more after {steps} steps"
    assert len(kernels) == made
    assert (len(window_gradient._compiled), len(eager._compiled)) == tables


def test_a_leak_would_be_seen(kernels: list[str]) -> None:
    kept: list[Any] = []
    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
        kept.append(tape.gradient(y, x))

    with pytest.raises(AssertionError, match="bytes more"):
        check_flat(step, 4_000, kernels)


def test_eager_tapes(kernels: list[str]) -> None:
    x, seed = tj.constant(X), tj.constant(Y)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sin(x) * x
        tape.gradient(y, x, output_gradients=seed)

    check_flat(step, 100_000, kernels)
    assert len(kernels) == 1


def test_variables_that_are_trained(kernels: list[str]) -> None:
    w = tj.Variable(ONE, name="w")

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            y = np.sum((w * X - Y) ** 2)
        w.assign_sub(1e-3 * tape.gradient(y, w))

    check_flat(step, 50_000, kernels)
    np.testing.assert_allclose(w.numpy(), Y / X, rtol=1e-9)


def test_numbers_that_never_come_again(kernels: list[str]) -> None:
    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = np.sin(x) * (1.0 / (k + 1))
        tape.gradient(y, x)

    check_flat(step, 30_000, kernels)
    assert len(kernels) == 2


def test_tapes_that_are_never_asked_or_fail(kernels: list[str]) -> None:
    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = np.sin(x) * x
        try:
            with tape:
                np.exp(y)
                raise KeyError(k)
        except KeyError:
            pass
        with pytest.raises(TypeError):
            tape.gradient(X, x)

    check_flat(step, 20_000, kernels)
    assert kernels == []


def test_nested_and_persistent_tapes(kernels: list[str]) -> None:
    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = x**4
            first = inner.gradient(y, x)
        outer.gradient(first, x)
        outer.gradient([first, y], x)

    check_flat(step, 20_000, kernels)
    assert len(kernels) == 2


def test_tapes_around_functions(kernels: list[str]) -> None:
    v = tj.Variable(Y, name="v")
    f = tj.function(lambda x, rate: np.sum(np.sin(v * x)) * rate)
    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = f(x, 1.0 / (k + 1))
        tape.gradient(y, [x, v])

    check_flat(step, 20_000, kernels)
    assert len(f.kernels) == 2


def test_second_order_through_functions(kernels: list[str]) -> None:
    f = tj.function(lambda x: np.sum(x**3))
    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape() as outer:
            outer.watch(x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        outer.gradient(first, x)

    check_flat(step, 8_000, kernels)


def test_tapes_inside_functions(kernels: list[str]) -> None:
    w = tj.Variable(ONE, name="w")

    @tj.function
    def train(x: Any) -> Any:
        with tj.GradientTape() as tape:
            y = np.sum((w * x - Y) ** 2)
        w.assign_sub(1e-4 * tape.gradient(y, w))
        return y

    check_flat(lambda k: train(X), 50_000, kernels)
    assert len(train.kernels) == 1


def test_custom_gradients(kernels: list[str]) -> None:
    v = tj.Variable(Y, name="v")

    @tj.custom_gradient
    def scaled(x: Any) -> Any:
        y = x * v
        return y, lambda g, variables: (g * v, [g * x * 0.5])

    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x) * x
        tape.gradient(y, [x, v])

    check_flat(step, 8_000, kernels)


def test_recomputed_regions(kernels: list[str]) -> None:
    v = tj.Variable(Y, name="v")

    @tj.recompute_grad
    def region(x: Any) -> Any:
        return np.sin(x) * v

    x = tj.constant(X)

    def step(k: int) -> None:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = region(region(x))
        tape.gradient(y, [x, v])

    check_flat(step, 4_000, kernels)


def test_accumulators(kernels: list[str]) -> None:
    x, direction = tj.constant(X), tj.constant(Y)

    def step(k: int) -> None:
        with tj.ForwardAccumulator(x, direction) as acc:
            y = np.sin(x) * x
        acc.jvp(y)

    check_flat(step, 20_000, kernels)
