"""Rolling up: the copies of a loop's body, made at once, against kernels that make each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.against_exact import assert_close_to_exact, code, with_special
from tests.by_day import by_day

FEW = settings(
    max_examples=by_day(6, 24),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(FEW, max_examples=1_000, derandomize=False, print_blob=True)
LINES: tuple[Callable[..., Any], ...] = (
    lambda a, m, x: np.tanh(x - a),
    lambda a, m, x: x @ m,
    lambda a, m, x: np.exp(-0.5 * (x - a) ** 2),
    lambda a, m, x: (x - a) @ m.T,
    lambda a, m, x: np.where(x > a[0], x, a),
    lambda a, m, x: x * np.diag(m) + np.sum(m, axis=0),
    lambda a, m, x: np.maximum(x @ m, 0.0) / (1.0 + np.abs(a)),
    lambda a, m, x: x[:, ::-1] + np.concatenate([a[1:], a[:1]]),
    lambda a, m, x: np.einsum("ij,jk->ik", x, m),
    lambda a, m, x: np.cumsum(x * a, axis=1),
    lambda a, m, x: x + np.linalg.slogdet(m)[1],
    lambda a, m, x: x * a[0] - np.max(m),
)
ENDS: tuple[Callable[[list[Any]], Any], ...] = (
    lambda parts: np.stack(parts),
    lambda parts: np.stack(parts, axis=1),
    lambda parts: np.stack([np.sum(part, axis=1) for part in parts], axis=-1),
    lambda parts: np.stack([np.sum(part) for part in parts]),
    lambda parts: sum(parts),
    lambda parts: sum(np.sum(part) for part in parts),
    lambda parts: np.concatenate(parts),
    lambda parts: np.stack([parts[0], *parts[2:]]),
)


PARTS: dict[str, Any] = dict(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=3),
    end=st.sampled_from(ENDS),
    count=st.integers(2, 6),
    rows=st.integers(1, 5),
    size=st.integers(2, 4),
    order=st.sampled_from(["up", "down", "inner", "axis"]),
    dtype=st.sampled_from([np.float64, np.float32]),
    special=st.integers(0, 2),
    seed=st.integers(0, 1000),
)


@FEW
@given(**PARTS)
def test_loops_over_parts(**drawn: Any) -> None:
    check_loops_over_parts(**drawn)


@pytest.mark.nightly
@MANY
@given(**PARTS)
def test_nightly_loops_over_parts(**drawn: Any) -> None:
    check_loops_over_parts(**drawn)


def check_loops_over_parts(
    lines: Any,
    end: Any,
    count: int,
    rows: int,
    size: int,
    order: str,
    dtype: Any,
    special: int,
    seed: int,
) -> None:
    """A loop of Python's over parts is what the exact kernel computes."""

    def f(a: Any, m: Any, x: Any) -> Any:
        numbers = range(count)[:: -1 if order == "down" else 1]
        parts = []
        for k in numbers[1:] if order == "inner" else numbers:
            part = x
            for line in lines:
                part = line(a[:, k] if order == "axis" else a[k], m[k], part)
            parts.append(part)
        return np.mean(np.tanh(end(parts)))

    rng = np.random.default_rng(seed)
    a = rng.normal(size=(count, size)).astype(dtype)
    m = (rng.normal(size=(count, size, size)) + 2 * np.eye(size)).astype(dtype)
    x = rng.normal(size=(rows, size)).astype(dtype)
    if special:
        a = with_special(rng, a, special)
    a = np.ascontiguousarray(a.T) if order == "axis" else a
    assert_close_to_exact(f, (a, m, x), grad=3)


def mixture(a: Any, means: Any, factors: Any, x: Any) -> Any:
    """The log-likelihood of a mixture, component by component."""
    parts = []
    for k in range(means.shape[0]):
        z = (x - means[k]) @ factors[k]
        logdet = np.sum(np.log(np.abs(np.diag(factors[k]))))
        parts.append(a[k] - 0.5 * np.sum(z * z, axis=1) + logdet)
    s = np.stack(parts)
    m = np.max(s, axis=0)
    return np.sum(m + np.log(np.sum(np.exp(s - m), axis=0)))


def test_a_mixture_is_one_component_on_stacks() -> None:
    rng = np.random.default_rng(0)
    shapes = (4,), (4, 3), (4, 3, 3), (50, 3)
    arguments = [rng.normal(size=shape) for shape in shapes]
    assert_close_to_exact(mixture, arguments, grad=4)
    compiled = tj.value_and_grad(tj.function(mixture, cache=False), (0, 1, 2))
    compiled(*arguments)
    of_points = code(compiled).replace("(ones_3 @ ", "").replace("[:, None] @ ", "")
    assert of_points.count(" @ ") == 3
    assert "stack" not in code(compiled)


def test_a_mixture_of_many_large_components_is_one_in_tiles() -> None:
    rng = np.random.default_rng(0)
    shapes = (10,), (10, 32), (10, 32, 32), (1000, 32)
    arguments = [rng.normal(size=shape) for shape in shapes]
    assert_close_to_exact(mixture, arguments, grad=3)
    compiled = tj.value_and_grad(tj.function(mixture, cache=False), (0, 1, 2))
    compiled(*arguments)
    assert code(compiled).count("in_turn(") == 1
    assert len(code(compiled).splitlines()) < 60


@pytest.mark.parametrize("count", [3, 40])
def test_a_recurrence_is_not_rolled_up(count: int) -> None:
    """Each step needs the one before it."""

    def f(a: Any, x: Any) -> Any:
        h, states = x, []
        for k in range(count):
            h = np.tanh(h * a[k])
            states.append(h)
        return np.sum(np.stack(states) ** 2)

    rng = np.random.default_rng(0)
    assert_close_to_exact(f, (rng.normal(size=(count, 5)), rng.normal(size=5)), grad=2)


def test_a_value_that_is_read_twice_is_made_once() -> None:
    """The first copy is a result by itself, too."""

    def f(a: Any, x: Any) -> Any:
        parts = [np.tanh(a[k] * x) for k in range(4)]
        return np.stack(parts), parts[0], parts[1] + parts[2]

    rng = np.random.default_rng(0)
    assert_close_to_exact(f, (rng.normal(size=(4, 300)), rng.normal(size=300)))


def test_pairs_of_parts_stay_as_they_are() -> None:
    """One operand is the first part in all copies, and each part in turn."""

    def f(a: Any) -> Any:
        return np.sum(np.tanh(np.stack([a[k] * a[0] + a[k - 1] for k in range(5)])))

    assert_close_to_exact(f, (np.random.default_rng(0).normal(size=(5, 4)),), grad=1)


def test_large_parts_stay_as_they_are() -> None:
    def f(a: Any, x: Any) -> Any:
        return np.sum(np.stack([np.tanh(x * a[k]) for k in range(3)]))

    a, x = np.ones((3, 1)), np.ones(2**20)
    compiled = tj.function(f, cache=False)
    compiled(a, x)
    assert compiled.kernels[0].source.count("tanh(") >= 3


def test_random_numbers_are_drawn_in_order() -> None:
    def f(a: Any, rng: Any) -> Any:
        return np.stack([a[k] + rng.normal(size=3) for k in range(4)])

    a = np.zeros((4, 3))
    expected = f(a, np.random.default_rng(1))
    np.testing.assert_array_equal(
        tj.function(f, cache=False)(a, np.random.default_rng(1)), expected
    )
