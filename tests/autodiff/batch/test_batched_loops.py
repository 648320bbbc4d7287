"""Loops of a batch against the same programs unrolled: the same numbers, in one loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.by_day import some_by_day
from tests.rows import each_row
from tests.unrolled import LOOPS, UNROLLED, left_unrolled

R = np.random.default_rng(0)
Program = Callable[[Any], Callable[..., Any]]


def recurrence(loops: Any) -> Callable[..., Any]:
    return lambda x: loops.scan(lambda c, e: (c * e + 1.0, c), 1.0, x)[1]


def network(loops: Any) -> Callable[..., Any]:
    def f(x: Any, w: Any) -> Any:
        return loops.scan(lambda h, e: (np.tanh(w @ h + e), h), np.zeros(3), x)[1]

    return f


def backwards(loops: Any) -> Callable[..., Any]:
    return lambda x: loops.scan(lambda c, e: (np.sin(c * e), c + e), 0.5, x, reverse=True)[1]


def moved_by_an_invariant(loops: Any) -> Callable[..., Any]:
    def f(x: Any, w: Any) -> Any:
        return loops.scan(lambda h, e: (h * 0.5 + e * w, h), 0.0, np.arange(3.0))[0] * x

    return f


def one_carry_is_the_same_for_all(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def step(carry: Any, e: Any) -> Any:
            p, q = carry
            return (p * 1.1, q + e * p), p

        (p, q), ps = loops.scan(step, (1.0, 0.5), x)
        return p + q + ps

    return f


def carries_handed_on(loops: Any) -> Callable[..., Any]:
    """A move of the last of four carries reaches the first after four steps."""

    def f(x: Any) -> Any:
        def step(carry: Any, e: Any) -> Any:
            a, b, c, d = carry
            return (b, c, d, d + e), a

        carry, rows = loops.scan(step, (0.1, 0.2, 0.3, 0.4), x)
        return carry[0] * rows

    return f


def nested(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def outer(s: Any, row: Any) -> Any:
            def inner(c: Any, e: Any) -> Any:
                return c * 0.9 + np.sin(e * s), c

            c, cs = loops.scan(inner, s, row)
            return c + np.sum(cs), c

        s, cs = loops.scan(outer, 0.1, x)
        return s * cs

    return f


def a_rule_of_its_own(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        @tj.custom_gradient
        def rule(z: Any) -> Any:
            return np.sin(z) * x[0], lambda g: g * 3.0 * z

        return loops.scan(lambda c, e: (rule(c) + e, c), 0.3, x)[1]

    return f


def recomputed_steps(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        inner = tj.recompute_grad(lambda c, e: np.tanh(c * e + 1))
        return loops.scan(lambda c, e: (inner(c, e), c), 0.5, x)[1]

    return f


def stopped(loops: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            return np.tanh(c * tj.stop_gradient(e) + e * tj.stop_gradient(c)), c

        return loops.scan(step, 0.5, x)[1]

    return f


def indexed(loops: Any) -> Callable[..., Any]:
    return lambda x: loops.fori_loop(1, 4, lambda i, v: v * 0.5 + x[i] * x[i - 1], x)


PROGRAMS: dict[str, tuple[Program, tuple[np.ndarray, ...]]] = {
    "recurrence": (recurrence, (R.normal(size=(5, 4)),)),
    "network": (network, (R.normal(size=(5, 4, 3)), R.normal(size=(5, 3, 3)))),
    "backwards": (backwards, (R.normal(size=(5, 4)),)),
    "invariant": (moved_by_an_invariant, (R.normal(size=5), R.normal(size=5))),
    "one carry": (one_carry_is_the_same_for_all, (R.normal(size=(5, 4)),)),
    "handed on": (carries_handed_on, (R.normal(size=(5, 6)),)),
    "nested": (nested, (R.normal(size=(5, 2, 3)),)),
    "rule": (a_rule_of_its_own, (R.normal(size=(5, 4)),)),
    "recomputed": (recomputed_steps, (R.normal(size=(5, 4)),)),
    "stopped": (stopped, (R.normal(size=(5, 4)),)),
    "indexed": (indexed, (R.normal(size=(5, 4)),)),
}


def _squares(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: np.sum(f(*args) ** 2)


OF_A_BATCH: dict[str, Callable[..., Any]] = {
    "vmap": tj.vmap,
    "vmap of grad": lambda f: tj.vmap(tj.grad(_squares(f))),
    "grad of vmap": lambda f: tj.grad(_squares(tj.vmap(f))),
    "vmap of vmap": lambda f: lambda *args: tj.vmap(tj.vmap(f))(*[np.stack([a, -a]) for a in args]),
}
OF_ONE: dict[str, Callable[..., Any]] = {
    "jacobian": tj.jacobian,
    "jacfwd": tj.jacfwd,
    "jacrev": tj.jacrev,
    "hessian": lambda f: tj.hessian(_squares(f)),
}


def _agree(answers: Any, expected: Any) -> None:
    np.testing.assert_allclose(answers, expected, rtol=1e-12, atol=1e-12)


@each_row("transform", OF_A_BATCH)
@each_row("name", some_by_day(PROGRAMS, 4))
def test_a_batch_of_loops(name: str, transform: str) -> None:
    program, args = PROGRAMS[name]
    of = OF_A_BATCH[transform]
    with left_unrolled():
        expected = of(program(UNROLLED))(*args)
    _agree(of(program(LOOPS))(*args), expected)


@pytest.mark.parametrize("transform", OF_ONE)
@pytest.mark.parametrize("name", some_by_day(PROGRAMS, 2))
def test_derivatives_by_batches(name: str, transform: str) -> None:
    program, args = PROGRAMS[name]
    of, one = OF_ONE[transform], [arg[0] for arg in args]
    with left_unrolled():
        expected = of(program(UNROLLED))(*one)
    _agree(of(program(LOOPS))(*one), expected)


def test_a_batch_is_one_loop() -> None:
    mapped = tj.vmap(recurrence(LOOPS))
    mapped(R.normal(size=(5, 4)))
    assert mapped.source.count("in range(4)") == 1


def test_forward_runs_once_for_value_and_gradient() -> None:
    each = tj.vmap(tj.value_and_grad(_squares(network(LOOPS))))
    each(*PROGRAMS["network"][1])
    assert each.source.count("in range(4)") == 1
    assert each.source.count("in reversed(range(4))") == 1


def noisy(loops: Any) -> Callable[..., Any]:
    def f(x: Any, g: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            n = g.normal(size=2)
            return c * n + e, np.sum(n) * e

        c, rows = loops.scan(step, np.ones(2), x)
        return np.sum(c) + rows

    return f


@pytest.mark.parametrize("transform", [*OF_A_BATCH][:3])
def test_each_element_draws_its_own_numbers(transform: str) -> None:
    def of(loops: Any) -> Any:
        both = tj.vmap(noisy(loops), in_axes=(0, None))
        of_one = tj.grad(_squares(noisy(loops)))
        found: dict[str, Any] = {
            "vmap": both,
            "vmap of grad": tj.vmap(of_one, in_axes=(0, None)),
            "grad of vmap": tj.grad(_squares(both)),
        }
        return found[transform]

    x, mine, its = R.normal(size=(5, 4)), np.random.default_rng(7), np.random.default_rng(7)
    for _ in range(2):
        with left_unrolled():
            expected = of(UNROLLED)(x, its)
        _agree(of(LOOPS)(x, mine), expected)
        assert mine.bit_generator.state == its.bit_generator.state


def test_a_loop_of_draws_draws_once_for_a_jacobian() -> None:
    x, mine, its = R.normal(size=4), np.random.default_rng(7), np.random.default_rng(7)
    with left_unrolled():
        expected = tj.jacobian(noisy(UNROLLED))(x, its)
    _agree(tj.jacobian(noisy(LOOPS))(x, mine), expected)
    assert mine.bit_generator.state == its.bit_generator.state


def noise_alone(loops: Any) -> Callable[..., Any]:
    def f(x: Any, g: Any) -> Any:
        last, rows = loops.scan(lambda c, e: (c + g.normal() * e, c), 0.0, np.arange(3.0))
        return last * x + np.sum(rows)

    return f


def test_a_loop_that_reads_no_element_draws_for_each() -> None:
    x, mine, its = R.normal(size=(5, 4)), np.random.default_rng(7), np.random.default_rng(7)
    with left_unrolled():
        expected = tj.vmap(noise_alone(UNROLLED), in_axes=(0, None))(x, its)
    found = tj.vmap(noise_alone(LOOPS), in_axes=(0, None))(x, mine)
    _agree(found, expected)
    assert len(np.unique(found[:, 0] / x[:, 0])) == 5
    assert mine.bit_generator.state == its.bit_generator.state


def test_each_element_of_a_batch_has_the_trips_of_its_own() -> None:
    def doubled(x: Any) -> Any:
        return tj.while_loop(lambda c: c[1] < 10.0, lambda c: (c[0] + 1, c[1] * 2.0), (0, x))

    x = np.array([1.0, 3.0, 9.0, 20.0])
    trips, found = tj.vmap(doubled)(x)
    np.testing.assert_array_equal(trips, [4, 2, 1, 0])
    np.testing.assert_array_equal(found, [16.0, 12.0, 18.0, 20.0])
    _, slopes = tj.jvp(lambda x: tj.vmap(doubled)(x)[1], (x,), (np.ones(4),))
    np.testing.assert_array_equal(slopes, [16.0, 4.0, 2.0, 1.0])
