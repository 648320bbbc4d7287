"""Improvements: kernels with every rewrite against exact ones."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.benchmarks.workloads import WORKLOADS
from tests.by_day import by_day, some_by_day
from tests.graphs import random_graph, random_inputs
from tests.interpret import interpret
from tests.programs import Program, programs
from tests.rewrites import special
from tracejit.compiler.pipeline import EXACT_PASSES
from tracejit.ir.graph import Graph
from tracejit.ir.verify import verify
from tracejit.passes.algebra.coefficients import gather_coefficients
from tracejit.passes.algebra.factoring import factor_sums
from tracejit.passes.algebra.reassociate import add_apart
from tracejit.passes.algebra.rewrites import reduce_strength
from tracejit.passes.framework.dce import drop_dead
from tracejit.passes.framework.driver import run_to_fixed_point
from tracejit.support.cost_model import assuming
from tracejit.targets.numpy.lower import improve as improvements

ALGEBRA = (reduce_strength, factor_sums, gather_coefficients, add_apart)


def test_exact_kernels_do_without() -> None:
    """`exact=True` gives NumPy's bits, whatever improvements there are."""

    def loss(x: np.ndarray) -> np.ndarray:
        return np.mean((np.tanh(3.0 * (x / 7.0)) ** 2 + 1.0) ** 0.5)

    x = np.linspace(-2.0, 2.0, 1001)
    assert tj.function(loss, exact=True)(x) == loss(x)
    assert all(each.is_exact for each in EXACT_PASSES)
    np.testing.assert_allclose(tj.function(loss)(x), loss(x), rtol=1e-14)


def algebra(graph: Graph) -> Graph:
    """`graph` after every pass that rewrites elementwise operations and sums."""
    for each in ALGEBRA:
        graph = verify(drop_dead(verify(each(graph))))
    return graph


@pytest.mark.parametrize("use_special", [False, True])
@settings(max_examples=by_day(30, 150), deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_random_graphs_keep_their_numbers(use_special: bool, random: Random) -> None:
    """The same inf and nan; numbers to rounding, where the graph is not ill-conditioned."""
    inputs = random_inputs(random)
    if use_special:
        inputs = [_with_special(random, one) for one in inputs]
    graph = verify(random_graph(random, inputs, 20))
    new = algebra(graph)
    terms: list[float] = [1.0]

    def observe(node: Any, operands: Any, results: Any) -> None:
        for result in results:
            sizes = np.abs(np.asarray(result, complex))
            terms.append(float(np.max(sizes, initial=0.0, where=np.isfinite(sizes))))

    with np.errstate(all="ignore"):
        before, after = interpret(graph, *inputs, observe=observe), interpret(new, *inputs)
        for expected, found in zip(before, after, strict=True):
            assert type(found) is type(expected)
            one, other = np.asarray(expected), np.asarray(found)
            assert (other.dtype, other.shape) == (one.dtype, one.shape)
            for holds in (np.isnan, np.isposinf, np.isneginf):
                np.testing.assert_array_equal(holds(other), holds(one))
            if not use_special and one.dtype.kind == "f":
                error = np.abs(other.astype(float) - one)[np.isfinite(one)]
                largest = max(terms)
                bound = 100 * np.finfo(one.dtype).eps * largest * largest
                assert np.max(error, initial=0.0) <= bound or largest > 1e4


def _with_special(random: Random, value: Any) -> Any:
    """An array with special values in a few places."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return value
    chosen = special(value.dtype.str[1:])
    for _ in range(3):
        value.flat[random.randrange(value.size)] = random.choice(list(chosen))
    return value


@settings(
    max_examples=by_day(8, 40),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_random_programs_and_their_gradients(program: Program) -> None:
    moving = program.moving
    if moving and moving == tuple(range(len(moving))):
        assert_close_to_exact(program.loss, program.values, len(moving))
    assert_close_to_exact(program.function, program.values)


def half(x: Any) -> Any:
    return (x * x) ** 0.5 + (x * x + 1.0) ** -1.5


EVERYDAY = {
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)) * np.exp(-(x**2)),
    "cubic": lambda x: 0.5 * x * (1.0 + np.tanh(0.79788456 * (x + 0.044715 * x**3))),
    "softplus": lambda x: np.logaddexp(0.0, x) - 0.5 * x,
    "hinge": lambda x: 2.0 * np.maximum(0.0, 1.0 - x) ** 2 / 3.0,
    "huber": lambda x: np.where(np.abs(x) < 1.0, 0.5 * x**2, np.abs(x) - 0.5),
    "normal": lambda x: -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi),
    "inverse": lambda x: (-x) / (1.0 + np.square(x)) - np.reciprocal(2.0 + x * x),
    "half powers": half,
}


@pytest.mark.parametrize("dtype", by_day([np.float64], [np.float64, np.float32]))
@pytest.mark.parametrize("name", some_by_day(EVERYDAY, 2))
def test_everyday_functions(name: str, dtype: Any) -> None:
    """Value and gradient of the mean, for numbers, arrays small and large, and special values."""
    function = EVERYDAY[name]
    rng = np.random.default_rng(0)

    def loss(x: Any) -> Any:
        return np.mean(function(x))

    for size in by_day((7,), (1, 7, 1000)):
        assert_close_to_exact(loss, [rng.normal(size=size).astype(dtype)], 1)
    assert_close_to_exact(function, [dtype(0.3)], 1)
    for value in special(np.dtype(dtype).str[1:]):
        assert_close_to_exact(function, [np.full(3, value)])
        assert_close_to_exact(function, [value])


def run_once(graph: Graph, passes: Any) -> Graph:
    """`graph` after one round of `passes`."""
    with assuming(pass_rounds=1):
        return run_to_fixed_point(graph, passes)


@pytest.mark.parametrize(
    "name",
    some_by_day(name for name, one in WORKLOADS.items() if one.kind == "value_and_grad"),
)
def test_passes_that_are_not_asked_have_nothing_to_do(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is the same where every pass is asked about every graph."""
    workload = WORKLOADS[name]
    loss, arguments = workload.make(np), workload.arguments(small=True)

    def text() -> str:
        function = tj.value_and_grad(tj.function(loss, cache=False), argnums=workload.argnums)
        return function.kernel(*arguments).source

    monkeypatch.setattr(improvements, "run_to_fixed_point", run_once)
    some = text()
    asked = tuple(each._replace(needs=()) for each in improvements.IMPROVEMENTS)
    monkeypatch.setattr(improvements, "IMPROVEMENTS", asked)
    assert text() == some
