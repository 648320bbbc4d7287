"""Loops of Python's as one node: what rolls, that it computes the same, and what does not roll."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import by_day, some_by_day
from tests.random_loops import differs
from tests.rows import each_row
from tests.trace.control_flow.loop_programs import LOOPS, Cell, normal
from tests.unrolled import unrolled
from tracejit.ir.graph import Node
from tracejit.ops.control.control_flow import LOOP
from tracejit.support.cost_model import assuming

STEPS = 40

# The loops in a recording of STEPS steps, at least 100 nodes; 0 where none is rolled.
COUNTS = {
    "recurrence": 1,
    "recurrence_by_index": 1,
    "lstm": 1,
    "runge_kutta": 1,
    "leapfrog": 1,
    "kalman_scalar": 1,
    "kalman_matrix": 1,
    "hidden_markov": 1,
    "heat": 1,
    "heat_in_place": 1,
    "logistic": 1,
    "power_iteration": 1,
    "momentum": 1,
    "bidirectional": 2,
    "every_third": 1,
    "two_loops": 2,
    "nested": 1,
    "twice_a_step": 1,
    "recursion": 0,
    "sum_of_list": 1,
    "stacked": 1,
    "swapped": 1,
    "wave": 1,
    "horner": 1,
    "zipped": 1,
    "columns": 1,
    "neighbours": 1,
    "filled": 1,
    "table": 1,
    "fibonacci": 1,
    "dynamic": 1,
    "methods": 1,
    "every_tenth": 0,
}


@pytest.fixture(autouse=True)
def small_loops() -> Iterator[None]:
    """Roll small loops, too."""
    with assuming(least_rolled_nodes=100, recorded_steps=1000, recorded_outer_steps=1000):
        yield


def fresh(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` as a function of which there are no kernels."""
    return lambda *args: f(*args)


def nodes_of(f: Callable[..., Any], args: Sequence[Any]) -> list[Node]:
    """The recorded nodes of a call."""
    function = tj.function(fresh(f))
    function(*args)
    ((entry, *_),) = function._table.compiled
    nodes: list[Node] = entry.traces.recorded().graph.nodes
    return nodes


def loops_in(nodes: Sequence[Node]) -> list[Node]:
    """The loops among nodes, without those in bodies."""
    return [node for node in nodes if node.op is LOOP]


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays in nested dicts, tuples and lists."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for one in value for leaf in leaves(one)]
    return [np.asarray(value)]


def direction(x: Any) -> Any:
    """A direction of the shape of `x`."""
    if isinstance(x, dict):
        return {name: direction(one) for name, one in x.items()}
    return np.cos(np.arange(np.size(x), dtype=float)).reshape(np.shape(x))[()]


def derivatives(f: Callable[..., Any], args: Sequence[Any]) -> list[np.ndarray]:
    """The value, gradient, jvp and hvp, and the gradient of a norm of the gradient."""
    x, rest = args[0], args[1:]
    of_x = fresh(lambda x: f(x, *rest))
    along = (direction(x),)
    found = [
        tj.value_and_grad(fresh(f))(*args),
        tj.jvp(of_x, (x,), along),
        tj.hvp(of_x, (x,), along),
    ]
    if not isinstance(x, dict):
        found.append(tj.grad(lambda x: np.sum(tj.grad(of_x)(x) ** 2))(x))
    return leaves(found)


@each_row("name", COUNTS)
def test_loops_of_recordings(name: str) -> None:
    f, arguments = LOOPS[name]
    assert len(loops_in(nodes_of(f, arguments(STEPS)))) == COUNTS[name]


@pytest.mark.parametrize("name", some_by_day(COUNTS, 8))
def test_derivatives_are_those_of_the_steps_written_out(name: str) -> None:
    f, arguments = LOOPS[name]
    steps = {"nested": by_day(6, 12), "every_third": by_day(15, 30)}
    args = arguments(steps.get(name, by_day(6, 16)))
    with unrolled():
        wanted = derivatives(f, args)
    with assuming(least_rolled_nodes=by_day(12, 30), least_rolled_steps=by_day(4, 6)):
        assert bool(loops_in(nodes_of(f, args))) >= bool(COUNTS[name])
        found = derivatives(f, args)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


GROWS = ("recursion", "every_tenth", "nested")


@pytest.mark.parametrize("name", some_by_day(name for name in COUNTS if name not in GROWS))
def test_text_does_not_grow_with_the_steps(name: str) -> None:
    f, arguments = LOOPS[name]
    lines = []
    for steps in (60, 300):
        kernel = tj.value_and_grad(fresh(f))
        kernel(*arguments(steps))
        lines.append(kernel.source.count("\n"))
    assert abs(lines[1] - lines[0]) < 60
    assert lines[1] < 400


def test_inner_loops_become_nodes_first() -> None:
    f, arguments = LOOPS["nested"]
    with assuming(least_rolled_nodes=24):
        (loop,) = loops_in(nodes_of(f, arguments(20)))
        assert len(loops_in(loop.params["body"].nodes)) == 1


@pytest.mark.parametrize("seed", range(by_day(8, 24)))
def test_random_programs(seed: int) -> None:
    assert differs(seed, 12 + seed % 7, seed % 4 == 0) == ""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(24, 400))
def test_nightly_random_programs(seed: int) -> None:
    assert differs(seed, 12 + seed % 7, seed % 4 == 0) == ""


def test_inner_loops_read_what_each_outer_step_has() -> None:
    """The derivative of an inner loop reads its invariants, which the outer loop hands on."""

    def f(h, xs):
        for x in xs:
            u = x
            for _ in range(by_day(6, 9)):
                u = np.tanh(u * np.exp(h)) + h * h
            h = 0.5 * np.sin(h) + 0.1 * np.cos(u)
        return np.sum(h)

    args = normal(3), normal(by_day(6, 14), 3)
    with assuming(least_rolled_nodes=by_day(12, 24), least_rolled_steps=by_day(5, 8)):
        (loop,) = loops_in(nodes_of(f, args))
        assert len(loops_in(loop.params["body"].nodes)) == 1
        found = derivatives(f, args)
    with unrolled():
        wanted = derivatives(f, args)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_loops_over_what_a_later_one_computes() -> None:
    """An explicit loop reads the result of a loop of Python's, which becomes one node."""

    def f(x, ys):
        for y in ys:
            x = np.sin(x) * y + 0.1

        def step(carry, y):
            carry = carry * np.exp(x) + y
            return carry, carry * x

        last, rows = tj.scan(step, x * x, ys)
        return np.sum(last * rows)

    args = normal(3), normal(by_day(12, 40), 3) * 0.3
    with assuming(least_rolled_nodes=by_day(30, 100)):
        assert len(loops_in(nodes_of(f, args))) == 2
        found = derivatives(f, args)
    with unrolled():
        wanted = derivatives(f, args)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_small_loops_stay_as_they_are() -> None:
    f, arguments = LOOPS["recurrence"]
    with assuming():
        assert loops_in(nodes_of(f, arguments(10))) == []


def test_steps_on_large_arrays_pay_later() -> None:
    def f(x):
        for _ in range(60):
            x = np.sin(x) * 0.9
        return x

    assert len(loops_in(nodes_of(f, (normal(16, 32),)))) == 1
    assert loops_in(nodes_of(f, (normal(27, 19),))) == []


def test_independent_steps_are_computed_at_once() -> None:
    def f(x):
        total = 0.0
        for row in x:
            total = total + np.sum(np.sin(row) * np.exp(row))
        return total

    x = normal(50, 3)
    assert len(loops_in(nodes_of(f, (x,)))) == 1
    assert "    for " not in tj.value_and_grad(fresh(f)).kernel(x).source


def test_exact_functions_write_all_steps() -> None:
    f, arguments = LOOPS["recurrence"]
    args = arguments(STEPS)
    exact = tj.function(fresh(f), exact=True)
    assert exact(*args) == f(*args)
    assert "for t in" not in exact.source


def test_rows_that_are_read_alone() -> None:
    def f(x):
        kept = []
        for _ in range(40):
            x = np.sin(x) * 0.9 + 0.1
            kept.append(x)
        return kept[3] + 2 * kept[20], kept[-2]

    x = normal(3)
    (loop,) = loops_in(nodes_of(f, (x,)))
    assert len(loop.results) == 2
    for one, other in zip(tj.function(fresh(f))(x), f(x), strict=True):
        np.testing.assert_allclose(one, other)


def test_what_only_the_last_step_computes() -> None:
    """Of a value that is read after the last step alone, no other step has a cotangent."""

    def f(x):
        for k in range(40):
            y = np.sqrt(np.abs(x - 0.01 * k))
            x = x * 0.99
        return np.sum(x) + np.sum(y)

    x = np.array([0.02, 0.5])
    found = tj.grad(fresh(f))(x)
    with unrolled():
        np.testing.assert_allclose(found, tj.grad(fresh(f))(x))
    assert np.isfinite(found).all()


def test_singular_derivatives_of_what_is_not_read() -> None:
    """The next state of the last step is not read: its infinite derivative is nobody's."""

    def f(x, n):
        total = x * 0.0
        for _ in range(n):
            total = total + x * x
            x = np.sqrt(x - 0.001)
        return np.sum(total)

    start = np.array([0.3])
    steps = 34
    x = start
    for _ in range(steps - 1):
        x = np.sqrt(x - 0.001)
    found = tj.grad(fresh(lambda x: f(x, steps)))(start)
    with unrolled():
        np.testing.assert_allclose(found, tj.grad(fresh(lambda x: f(x, steps)))(start))


def test_random_numbers_are_drawn_at_each_step() -> None:
    def f(x, rng):
        for _ in range(40):
            x = np.sin(x) + 0.1 * rng.normal(size=3) * x
        return np.sum(x)

    x = normal(3)
    found = tj.function(fresh(f))(x, np.random.default_rng(1))
    np.testing.assert_allclose(found, f(x, np.random.default_rng(1)))


def test_callbacks_run_at_each_step() -> None:
    seen = []

    @tj.function
    def f(x):
        for _ in range(40):
            x = np.sin(x) * 0.9 + 0.1
            tj.callback(lambda x: seen.append(float(np.sum(x))), x)
        return x

    x = normal(3)
    f(x)
    seen.clear()
    f(x)
    assert len(seen) == 40
    assert len(set(seen)) == 40


def test_variables_keep_their_last_value() -> None:
    state = tj.Variable(np.zeros(3))

    @tj.function
    def f(x):
        for _ in range(40):
            state.assign(np.sin(state + x) * 0.9)
        return np.sum(state * x)

    x = normal(3)
    state_of = np.zeros(3)
    for _ in range(2):
        for _ in range(40):
            state_of = np.sin(state_of + x) * 0.9
        np.testing.assert_allclose(f(x), np.sum(state_of * x))
        np.testing.assert_allclose(state.numpy(), state_of)


def test_arguments_that_are_written_to() -> None:
    @tj.function
    def f(u):
        for t in range(40):
            u[1:] = u[1:] * 0.9 + 0.1 * u[:-1] + 0.01 * t
        return np.sum(u)

    given, wanted = normal(6), normal(6)
    for t in range(40):
        wanted[1:] = wanted[1:] * 0.9 + 0.1 * wanted[:-1] + 0.01 * t
    np.testing.assert_allclose(f(given), np.sum(wanted))
    np.testing.assert_allclose(given, wanted)


def test_rules_of_the_users_keep_their_steps() -> None:
    factors = iter(np.linspace(0.5, 1.5, 200))

    @tj.custom_gradient
    def scaled(x):
        factor = next(factors)
        return np.sin(x), lambda g: g * factor

    def f(x):
        for _ in range(40):
            x = scaled(x) + 0.1
        return np.sum(x)

    x = normal(3)
    product = np.prod(np.linspace(0.5, 1.5, 200)[:40])
    np.testing.assert_allclose(tj.grad(f)(x), np.full(3, product), rtol=1e-10)


def test_stop_gradient_in_a_loop() -> None:
    def f(x):
        for _ in range(40):
            x = np.sin(x) * tj.stop_gradient(x) + 0.5
        return np.sum(x)

    x = normal(3)
    assert len(loops_in(nodes_of(f, (x,)))) == 1
    found = tj.grad(fresh(f))(x)
    with unrolled():
        np.testing.assert_allclose(found, tj.grad(fresh(f))(x))


def test_tapes_see_each_step() -> None:
    @tj.function
    def f(x):
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(40):
                y = np.sin(y) * 0.9 + 0.1
        return tape.gradient(y, x)

    def g(x):
        for _ in range(40):
            x = np.sin(x) * 0.9 + 0.1
        return np.sum(x)

    x = normal(3)
    np.testing.assert_allclose(f(x), tj.grad(g)(x))


def test_eager_tapes_differentiate_calls() -> None:
    f, arguments = LOOPS["recurrence"]
    w, u, xs = arguments(STEPS)
    function = tj.function(fresh(f))
    w = tj.Variable(w)
    with tj.GradientTape() as tape:
        y = function(w, u, xs)
    np.testing.assert_allclose(tape.gradient(y, w), tj.grad(fresh(f))(w.numpy(), u, xs))


def test_what_a_function_leaves_in_a_list() -> None:
    """Values of steps that the user holds stand for the same after an inner function is rolled."""

    def f(x):
        held = []

        def inner(x):
            for _ in range(40):
                x = np.sin(x) * 0.9 + 0.1
                held.append(x)
            return np.sum(x)

        slope = tj.grad(inner)(x)
        return slope + held[0] * held[17]

    x = normal(3)
    found = tj.function(fresh(f))(x)
    with unrolled():
        np.testing.assert_allclose(found, tj.function(fresh(f))(x), rtol=1e-12)


def test_gradients_inside_steps() -> None:
    def f(w, x, y):
        def loss(w):
            return np.sum((np.tanh(x @ w) - y) ** 2)

        for _ in range(30):
            w = w - 0.1 * tj.grad(loss)(w)
        return loss(w)

    args = normal(3), normal(6, 3), normal(6)
    assert len(loops_in(nodes_of(f, args))) == 1
    found = tj.value_and_grad(fresh(f))(*args)
    with unrolled():
        wanted = tj.value_and_grad(fresh(f))(*args)
    np.testing.assert_allclose(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1])


def test_float32_stays_float32() -> None:
    arguments = LOOPS["recurrence"][1]
    args = [one.astype(np.float32) for one in arguments(STEPS)]

    def in_single(w, u, xs):
        h = np.zeros(4, np.float32)
        for x in xs:
            h = np.tanh(w @ h + u @ x) * 0.5
        return np.sum(h**2)

    value, slope = tj.value_and_grad(in_single)(*args)
    assert value.dtype == slope.dtype == np.float32
    np.testing.assert_allclose(value, in_single(*args), rtol=1e-5)


def test_a_number_that_starts_the_loop_is_no_array() -> None:
    def f(x):
        h = 0.0
        for row in x:
            h = np.tanh(h * 0.5 + row)
        return np.sum(h)

    x = normal(40, 3)
    assert len(loops_in(nodes_of(f, (x,)))) == 1
    np.testing.assert_allclose(tj.function(fresh(f))(x), f(x))


def test_numbers_of_python_stay_weak() -> None:
    def f(x, factors):
        for factor in factors:
            x = np.sin(x) * factor
        return x

    x = normal(3).astype(np.float32)
    factors = [0.9 + 0.01 * (k * k % 7) for k in range(60)]
    found = tj.function(fresh(f))(x, factors)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, f(x, factors), rtol=1e-5)


def test_names_of_the_users() -> None:
    f, arguments = LOOPS["recurrence"]
    kernel = tj.function(fresh(f))
    kernel(*arguments(STEPS))
    assert "        h = tanh(" in kernel.source


def test_explain_tells_of_loops() -> None:
    f, arguments = LOOPS["recurrence"]
    kernel = tj.function(fresh(f))
    kernel(*arguments(STEPS))
    assert "has a loop of 40 steps with `for x in xs:`" in kernel.explain()

    @tj.custom_gradient
    def squared(x):
        return x * x, lambda g: 2 * g * x

    @tj.function
    def by_rules(x):
        for _ in range(40):
            x = squared(x) * 0.5 + 0.1
        return x

    by_rules(normal(3))
    told = by_rules.explain()
    assert "`x = squared(x) * 0.5 + 0.1`" in told
    assert "is written out in kernel 1, because each step has its own gradient rule" in told


def test_attributes_are_read_once() -> None:
    cell = Cell(normal(4, 4))

    @tj.function
    def f(xs):
        h = np.ones(4)
        for x in xs:
            h = cell.step(h, x) * 0.5
        return h

    xs = normal(40, 4)
    h = np.ones(4)
    for x in xs:
        h = cell.step(h, x) * 0.5
    np.testing.assert_allclose(f(xs), h)
    cell.w = cell.w * 2
    h = np.ones(4)
    for x in xs:
        h = cell.step(h, x) * 0.5
    np.testing.assert_allclose(f(xs), h)


def test_arrays_are_filled_from_both_ends() -> None:
    def f(x, n):
        out = tnp.zeros((n, 3))
        for t in range(n):
            x = np.sin(x) * 0.9 + 0.1
            out[n - 1 - t] = x
        return np.sum(out * np.arange(n)[:, None])

    x = normal(3)
    assert len(loops_in(nodes_of(lambda x: f(x, 40), (x,)))) == 1
    found = tj.grad(lambda x: f(x, 40))(x)
    with unrolled():
        np.testing.assert_allclose(found, tj.grad(lambda x: f(x, 40))(x))


def test_negative_indices_wrap_around() -> None:
    def f(x, s):
        for t in range(len(x)):
            s = np.sin(s) * x[t - 1] + x[t]
        return np.sum(s)

    args = normal(40, 3), normal(3)
    np.testing.assert_allclose(tj.function(fresh(f))(*args), f(*args))
    assert len(loops_in(nodes_of(f, args))) == 1


@pytest.mark.usefixtures("as_written")
def test_decisions_write_all_steps() -> None:
    @tj.function
    def f(x):
        if (np.sum(x) > 0).__bool__():
            x = x * 2
        for _ in range(40):
            x = np.sin(x) * 0.9 + 0.1
        return x

    for x in (np.ones(3), -np.ones(3)):
        wanted = x * 2 if np.sum(x) > 0 else x
        for _ in range(40):
            wanted = np.sin(wanted) * 0.9 + 0.1
        np.testing.assert_allclose(f(x), wanted)
    assert "because the function branches on values" in f.explain()


@pytest.mark.parametrize("first", [0.0, 0, 1.5, np.float64(0.5)])
def test_no_step_is_written_out_for_what_a_loop_begins_with(first: Any) -> None:
    """A number of Python's takes the type that it has after the first step."""

    def f(x, ys):
        total, rows, level = first, first, x[0]
        for y in ys:
            level = level + 0.5 * np.tanh(y - level)
            rows = rows + level * np.sin(x)
            total = total + level * level + np.sum(rows * y)
        return total

    args = normal(3), normal(40)
    nodes = nodes_of(f, args)
    (loop,) = loops_in(nodes)
    assert loop.params["length"] == 40
    assert len(nodes) < 10
    value, gradient = tj.value_and_grad(f)(*args)
    assert value == pytest.approx(f(*args))
    with unrolled():
        np.testing.assert_allclose(gradient, tj.grad(fresh(f))(*args), rtol=1e-9)


def test_a_number_that_is_no_part_of_the_types_is_told_apart() -> None:
    """A number summed up in float32 stays float32, one of float64 does not."""

    def f(x, ys):
        total = 0.1
        for y in ys:
            total = total + np.sin(y) * x + x * x
        return total

    args = np.float32(0.3), normal(60).astype(np.float32)
    found = tj.function(f)(*args)
    assert found.dtype == np.float32
    assert found == pytest.approx(f(*args), rel=1e-5)


def test_the_last_step_is_no_other() -> None:
    """What only a next step would read is computed in the last one, too."""

    def f(x, ys):
        total = 0.0
        for y in ys:
            total = total + np.sin(x) * y
            x = np.cos(x * y) + 0.1 * x
        return total

    args = normal(3)[0], normal(50)
    nodes = nodes_of(f, args)
    (loop,) = loops_in(nodes)
    assert (loop.params["length"], len(nodes)) == (50, 1)
    assert tj.function(f)(*args) == pytest.approx(f(*args))


def changing_places(a, x):  # type: ignore[no-untyped-def]
    """Two recurrences, of which nothing needs the one."""
    b = a * 2.0
    for t in range(len(x)):
        a, b = b, a
        b = 0.5 * (x[t] - 1.5 * np.tanh(x[0] + b) + 0.1 * np.sin(b) * t)
    return np.sum(b)


def rotation(a, x):  # type: ignore[no-untyped-def]
    """Three recurrences, of which nothing needs two."""
    b, c = a * 2.0, a * 3.0
    for t in range(len(x)):
        a, b, c = b, c, 0.5 * np.tanh(a + x[0]) * x[t] + 0.1 * np.sin(a) * t
    return np.sum(c)


def two_old_values(a, x):  # type: ignore[no-untyped-def]
    """Backward differences of the second order."""
    old, new = a, a + 0.1 * np.sin(a)
    for row in x:
        old, new = new, (4 * new - old + 0.2 * np.cos(new) * row) / 3
    return np.sum(new)


def delayed(a, x):  # type: ignore[no-untyped-def]
    """A list that a step reads at two places."""
    e = [a, a * 0.9]
    for t in range(2, len(x)):
        e.append(x[t] - 0.5 * x[t - 1] - 0.3 * np.tanh(e[-1]) * e[-2])
    return np.sum(tnp.array(e) ** 2)


@pytest.mark.parametrize(
    ("f", "steps", "rolled"),
    [
        (changing_places, 40, 19),
        (changing_places, 14, 0),
        (rotation, 40, 13),
        (two_old_values, 40, 40),
        (delayed, 40, 36),
    ],
)
def test_values_that_change_places(f: Callable[..., Any], steps: int, rolled: int) -> None:
    """A step reads what several steps before it have computed; steps that nothing needs go."""
    args = normal(3), normal(steps, 3)
    assert sum(loop.params["length"] for loop in loops_in(nodes_of(f, args))) == rolled
    value, gradient = tj.value_and_grad(fresh(f))(*args)
    with unrolled():
        expected, wanted = tj.value_and_grad(fresh(f))(*args)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(gradient, wanted, atol=1e-12)


def predators(theta, data):  # type: ignore[no-untyped-def]
    """Runge-Kutta by numbers, of which each operation is in a step twice at least."""

    def rate(x, p):  # type: ignore[no-untyped-def]
        return theta[0] * x - theta[1] * x * p, theta[3] * x * p - theta[2] * p

    x, p, total = 1.0, 2.0, 0.0
    for t in range(len(data)):
        a = rate(x, p)
        b = rate(x + 0.05 * a[0], p + 0.05 * a[1])
        c = rate(x + 0.05 * b[0], p + 0.05 * b[1])
        d = rate(x + 0.1 * c[0], p + 0.1 * c[1])
        x = x + 0.1 / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
        p = p + 0.1 / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
        total = total + (x - data[t, 0]) ** 2 + (p - data[t, 1]) ** 2
    return total


def with_substeps(theta, data):  # type: ignore[no-untyped-def]
    """Four equal steps in each step, which may begin with each of them."""

    def rate(y):  # type: ignore[no-untyped-def]
        x, p = y
        return np.array([theta[0] * x - theta[1] * x * p, theta[3] * x * p - theta[2] * p])

    y, total = np.exp(theta[:2]), 0.0
    for t in range(len(data)):
        for _ in range(4):
            y = y + 0.01 * rate(y + 0.005 * rate(y))
        total = total + np.sum((y - data[t]) ** 2)
    return total


@pytest.mark.parametrize("f", [predators, with_substeps])
def test_no_step_is_left_beside_the_loop(f: Callable[..., Any]) -> None:
    """Also where no operation is in a step once, and where steps seem to begin at several lines."""
    args = np.array([0.5, 0.2, 0.3, 0.1]), normal(12, 2)
    (loop,) = loops_in(nodes_of(f, args))
    assert loop.params["length"] == 12
    value, gradient = tj.value_and_grad(fresh(f))(*args)
    with unrolled():
        expected, wanted = tj.value_and_grad(fresh(f))(*args)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-12)
    assert ":12:1" not in tj.function(fresh(f)).kernel(*args).source


def test_steps_in_a_loop_are_released_at_once() -> None:
    """Their nodes need not wait for garbage collection."""

    def f(x, ys):
        for y in ys:
            x = np.tanh(x * y) + 0.1 * x
        return np.sum(x)

    def count() -> int:
        return sum(type(one) is Node for one in gc.get_objects())

    before = count()
    gc.disable()
    try:
        tj.value_and_grad(fresh(f))(normal(3), normal(300))
        assert count() - before < 300
    finally:
        gc.enable()


def test_integers_beyond_64_bits_are_no_table() -> None:
    def f(x):
        s = 0.0
        for k in range(len(x)):
            s = s + np.sin(s + x[k]) / math.factorial(k)
        return s

    x = np.linspace(0.1, 0.5, 40)
    np.testing.assert_allclose(tj.function(f)(x), f(x), rtol=1e-14)


def test_rows_that_are_read_are_sliced_as_one_would_write_it() -> None:
    def f(w: Any, x: Any) -> Any:
        out = [w]
        for row in x:
            w = w + 0.1 * np.sin(w) * row
            out.append(w)
        return np.sum(np.stack(out)[::10] ** 2) + np.sum(np.stack(out[:0:-1]) ** 3)

    text = tj.function(f, cache=False).kernel(normal(3), normal(30, 3)).source
    assert "w_all[::-1]" in text
    assert not re.search(r"\[(0|29)?:(30)?:1?\]|\[0:|:30:", text)
