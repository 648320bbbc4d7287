"""Draws and their gradients: one draw per call, the same numbers forward and backward."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.support.arrays import rng, state
from tests.support.compare import assert_same
from tests.support.differences import slopes
from tests.support.graphs import ops_of
from tests.tensorflow.modes import MODES, Program, plain
from tracejit.ir.graph import Node
from tracejit.ir.printer import print_graph
from tracejit.ir.types import parse_type
from tracejit.ops.control.effects import CALLBACK, DRAW
from tracejit.passes.framework.dce import drop_dead
from tracejit.support.errors import NoGradientError

X = np.array([1.0, -2.0, 0.5])
Y = np.array([0.5, 0.25, 2.0])
M = np.arange(6.0).reshape(2, 3)
F4 = np.float32
EVERY_MODE = pytest.mark.parametrize("mode", MODES)


# The two operations


def test_the_type_of_a_draw() -> None:
    handle, x = parse_type("handle"), parse_type("f8[3]")
    for text, operands, expected in (
        ("normal()", [handle], "~f8"),
        ("integers(5)", [handle], "i8"),
        ("random((2, 3), np.float32)", [handle], "f4[2,3]"),
        ("permutation({1})", [handle, x], "f8[3]"),
        ("choice({1}, 2)", [handle, x], "f8[2]"),
        ("poisson({1})", [handle, x], "i8[3]"),
    ):
        (found,) = DRAW.result_types(operands, {"call": text})
        assert repr(found) == expected, text


def test_the_types_of_an_answer() -> None:
    handle = parse_type("handle")
    found = CALLBACK.result_types([handle], {"results": ("f8[3]", "i8")})
    assert [repr(type) for type in found] == ["f8[3]", "i8"]


def slopes_of(f: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    """The gradients by each argument, of the same numbers drawn."""
    return [
        slopes(lambda x, k=k: f(rng(), *args[:k], x, *args[k + 1 :]), args[k])
        for k in range(len(args))
    ]


def nodes(f: Callable[..., Any], *args: Any) -> list[Node]:
    """The operations of a compiled function."""
    return list(tj.function(f).kernel(*args).graph.nodes)


def test_equal_draws_are_two_draws() -> None:
    """What is computed twice is one operation elsewhere."""
    found = nodes(lambda r, x: x * r.normal() + x * r.normal() + np.exp(x) + np.exp(x), rng(), X)
    assert [node.op.name for node in found].count("draw") == 2
    assert [node.op.name for node in found].count("exp") == 1


def test_draws_are_kept_in_their_order_where_nothing_reads_them() -> None:
    def f(r: Any, x: Any) -> Any:
        np.exp(x)
        r.random(3)
        np.sin(x)
        r.integers(5)
        return x * 2.0

    graph = drop_dead(tj.function(f).kernel(rng(), X).graph)
    assert ops_of(graph) == ["draw", "draw", "multiply"]
    assert "random(3)" in print_graph(graph)
    assert "integers(5)" in print_graph(graph)


# normal and uniform with recorded bounds are NumPy's, bit for bit


def each(*cases: Any) -> Any:
    """A call of a method with arguments, each by its name."""
    return pytest.mark.parametrize(("f", "args"), [case[1:] for case in cases], ids=_names(cases))


def _names(cases: Any) -> list[str]:
    return [case[0] for case in cases]


BOUNDS = each(
    ("loc", lambda r, x: r.normal(x), (X,)),
    ("scale", lambda r, y: r.normal(scale=y), (Y,)),
    ("both", lambda r, x, y: r.normal(x, y), (X, Y)),
    ("broadcast", lambda r, x, y: r.normal(x, y), (M, Y)),
    ("size", lambda r, x: r.normal(x, 2.0, 3), (X,)),
    ("larger size", lambda r, x: r.normal(x, 2.0, (4, 3)), (X,)),
    ("size by name", lambda r, y: r.normal(1.0, size=(2, 3), scale=y), (Y,)),
    ("integers", lambda r, n: r.normal(n, 2), (np.array([1, 2]),)),
    ("booleans", lambda r, n: r.normal(n), (np.array([True, False]),)),
    ("float32", lambda r, x: r.normal(x, x * x), (X.astype(F4),)),
    ("computed", lambda r, x: r.normal(np.sin(x), np.exp(x)), (X,)),
    ("list", lambda r, x: r.normal([x[0], 1.0], 2.0), (X,)),
    ("empty", lambda r, x: r.normal(x), (np.ones((0, 2)),)),
    ("zero scale", lambda r, x: r.normal(1.0, x), (np.array([0.0, 2.0]),)),
    ("low", lambda r, x: r.uniform(x, 5.0), (X,)),
    ("high", lambda r, y: r.uniform(high=y), (Y,)),
    ("low and high", lambda r, x, y: r.uniform(x, x + y), (X, Y)),
    ("uniform broadcast", lambda r, x, y: r.uniform(x - 9.0, y), (M, Y)),
    ("uniform size", lambda r, x: r.uniform(x, 5.0, size=(4, 3)), (X,)),
    ("uniform integers", lambda r, x: r.uniform(x, 9), (np.array([1, 2]),)),
    ("uniform small integers", lambda r, x: r.uniform(-1, x), (np.array([255, 2], np.uint8),)),
    ("uniform float32", lambda r, x, y: r.uniform(x, y), (X.astype(F4), F4(7.3))),
    ("uniform equal", lambda r, x: r.uniform(x, x), (X,)),
)


@BOUNDS
def test_recorded_bounds_draw_what_numpy_draws(f: Any, args: Any) -> None:
    compiled, mine, numpys = tj.function(f), rng(), rng()
    for _ in range(3):
        assert_same(compiled(mine, *args), f(numpys, *args))
        assert state(mine) == state(numpys)


@BOUNDS
def test_eager_bounds_draw_what_numpy_draws(f: Any, args: Any) -> None:
    mine, numpys = tj.random.default_rng(5), rng()
    for _ in range(2):
        found, expected = f(mine, *[tj.constant(x) for x in args]), f(numpys, *args)
        assert_same(found.numpy(), expected)
        assert state(mine) == state(numpys)


SCALARS = each(
    ("float64", lambda r, m: r.normal(m), (np.float64(1.5),)),
    ("float32", lambda r, m: r.normal(m), (np.float32(1.1),)),
    ("python", lambda r, m: r.normal(m), (1.5,)),
    ("no dimensions", lambda r, m: r.normal(m), (np.array(1.5),)),
    ("gamma", lambda r, m: r.gamma(m), (np.float64(1.5),)),
    ("uniform", lambda r, m: r.uniform(m, 4.3), (np.float64(1.5),)),
    ("uniform float32", lambda r, m: r.uniform(m, 4.3), (np.float32(1.1),)),
)


@SCALARS
def test_scalar_bounds_draw_what_numpy_draws(f: Any, args: Any) -> None:
    """The value is that of float64, also of float32 bounds; NumPy's is a Python float, of which
    there are no derivatives."""
    compiled, mine, numpys = tj.function(f), rng(), rng()
    for _ in range(3):
        found = compiled(mine, *args)
        assert float(found) == f(numpys, *args)
        assert np.ndim(found) == 0
        assert state(mine) == state(numpys)


def test_a_size_too_small_for_the_bounds_is_refused() -> None:
    for f in (lambda r, x: r.normal(x, 1.0, 1), lambda r, x: r.uniform(x, 5.0, ())):
        with pytest.raises(ValueError):
            f(rng(), X)
        with pytest.raises(ValueError):
            tj.function(f)(rng(), X)


def test_bounds_out_of_order_are_refused_as_numpy_refuses_them() -> None:
    for text, f in (
        ("scale < 0", lambda r, x: r.normal(1.0, x)),
        ("high - low < 0", lambda r, x: r.uniform(x, -5.0)),
    ):
        compiled, r = tj.function(f), rng()
        before = state(r)
        with pytest.raises(ValueError, match=text):
            f(rng(), X)
        with pytest.raises(ValueError, match=text):
            compiled(r, X)
        assert state(r) == before


# Their gradients


DIFFERENTIABLE = each(
    ("loc", lambda r, x: np.sum(r.normal(x) ** 2), (X,)),
    ("scale", lambda r, y: np.sum(np.sin(r.normal(scale=y))), (Y,)),
    ("both", lambda r, x, y: np.sum(np.sin(r.normal(x, y))), (X, Y)),
    ("broadcast", lambda r, x, y: np.sum(np.sin(r.normal(x, y))), (M, Y)),
    ("size", lambda r, x: np.sum(r.normal(x, 2.0, (4, 3)) ** 2), (X,)),
    ("number", lambda r, m: np.sum(np.sin(r.normal(m, size=4))), (1.5,)),
    ("scalar draw", lambda r, m, x: np.sum(np.sin(r.normal(m) * x)), (1.5, X)),
    ("low", lambda r, x: np.sum(r.uniform(x, 5.0) ** 2), (X,)),
    ("high", lambda r, y: np.sum(np.sin(r.uniform(high=y))), (Y,)),
    ("low and high", lambda r, x, y: np.sum(r.uniform(x, x + y) ** 2), (X, Y)),
    ("uniform size", lambda r, x, y: np.sum(r.uniform(x, x + y, (2, 3)) ** 2), (X, Y)),
    ("of draws", lambda r, x: np.sum(r.normal(r.normal(x), r.uniform(1.0, 2.0, 3)) ** 2), (X,)),
    ("factor", lambda r, x: np.sum(r.gamma(2.0, size=3) * x**2) * r.random(), (X,)),
)


@DIFFERENTIABLE
def test_gradients_are_those_of_the_numbers_drawn(f: Any, args: Any) -> None:
    argnums = tuple(range(1, len(args) + 1))
    both, mine, numpys = tj.value_and_grad(f, argnums), rng(), rng()
    value, found = both(mine, *args)
    np.testing.assert_allclose(value, f(numpys, *args), rtol=1e-15)
    assert state(mine) == state(numpys)
    for g, expected in zip(found, slopes_of(f, args), strict=True):
        np.testing.assert_allclose(g, expected, rtol=1e-7, atol=1e-8)
    gradients = tj.grad(f, argnums)(rng(), *args)
    for one, other in zip(gradients, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


@pytest.mark.parametrize(("middle", "width"), [(0.0, 1.0), (1.0, 1e-3), (-50.0, 1e-6), (3.0, 9e9)])
def test_the_numbers_behind_a_draw_are_as_exact_as_the_draw(middle: float, width: float) -> None:
    """A narrow draw far from zero has few of their digits."""
    ones = np.ones(4)
    lost = 4.0 * np.finfo(float).eps * max(1.0, abs(middle) / width)
    found = tj.grad(lambda r, m, s: np.sum(r.normal(m, s)), (1, 2))(rng(), middle, width * ones)
    assert found[0] == 4.0
    np.testing.assert_allclose(found[1], rng().standard_normal(4), rtol=0.0, atol=8.0 * lost)
    ends = middle * ones, (middle + width) * ones
    low, high = tj.grad(lambda r, a, b: np.sum(r.uniform(a, b)), (1, 2))(rng(), *ends)
    np.testing.assert_allclose(high, rng().random(4), rtol=0.0, atol=lost)
    np.testing.assert_allclose(low, 1.0 - rng().random(4), rtol=0.0, atol=lost)


@EVERY_MODE
@DIFFERENTIABLE
def test_gradients_in_every_mode(f: Any, args: Any, mode: str) -> None:
    """By tapes too, each call drawing once."""
    mine, numpys = tj.random.default_rng(5), rng()
    way, take, _ = MODES[mode]
    run = way(take, Program(lambda *xs: f(mine, *xs), [tj.constant(x) for x in args], []))
    expected_slopes = slopes_of(f, args)
    for call in range(3):
        value, found = plain(run())
        np.testing.assert_allclose(value, f(numpys, *args), rtol=1e-14)
        assert state(mine) == state(numpys)
        for g, expected in zip(found, expected_slopes if call == 0 else [], strict=call == 0):
            np.testing.assert_allclose(g, expected, rtol=1e-7, atol=1e-8)


@EVERY_MODE
def test_the_second_order_is_of_the_same_numbers(mode: str) -> None:
    mine, numpys = tj.random.default_rng(5), rng()

    def f(x: Any) -> Any:
        return np.sum(mine.normal(x, 2.0) ** 3 * mine.random())

    way, _, take = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], []))
    for _ in range(2):
        e, factor = numpys.normal(size=3), numpys.random()
        (found,) = plain(run())
        np.testing.assert_allclose(found, 6.0 * (X + 2.0 * e) * factor, rtol=1e-13)
        assert state(mine) == state(numpys)


@pytest.mark.parametrize("wrap", [lambda f: f, tj.function], ids=["eager", "compiled"])
def test_variables_are_bounds(wrap: Any) -> None:
    v, w = tj.Variable(X), tj.Variable(Y)
    mine, numpys = tj.random.default_rng(5), rng()
    f = wrap(lambda: np.sum(mine.normal(v, w) ** 2))
    for _ in range(2):
        with tj.GradientTape() as tape:
            y = f()
        e = numpys.standard_normal(3)
        found = tape.gradient(y, [v, w])
        np.testing.assert_allclose(found[0].numpy(), 2.0 * (X + Y * e), rtol=1e-14)
        np.testing.assert_allclose(found[1].numpy(), 2.0 * (X + Y * e) * e, rtol=1e-14)
        assert state(mine) == state(numpys)


def test_a_generator_as_an_argument_under_a_tape() -> None:
    f = tj.function(lambda x, r: np.sum(np.sin(x) * r.normal(size=3)))
    mine, numpys, x = rng(), rng(), tj.constant(X)
    for _ in range(2):
        with tj.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x, mine)
        e = numpys.normal(size=3)
        for _ in range(2):
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos(X) * e, rtol=1e-14)
        np.testing.assert_allclose(y.numpy(), np.sum(np.sin(X) * e), rtol=1e-14)
        assert state(mine) == state(numpys)


def test_a_gradient_inside_a_function() -> None:
    def loss(x: Any, r: Any) -> Any:
        return np.sum((x * r.normal(size=3)) ** 2)

    f = tj.function(lambda x, r: (tj.grad(loss)(x, r), r.normal()))
    mine, numpys = rng(), rng()
    for _ in range(2):
        found, after = f(X, mine)
        np.testing.assert_allclose(found, 2.0 * X * numpys.normal(size=3) ** 2, rtol=1e-14)
        assert after == numpys.normal()


def test_a_gradient_of_a_gradient() -> None:
    def loss(x: Any, r: Any) -> Any:
        return np.sum((x * r.normal(size=3)) ** 2)

    twice = tj.grad(lambda x, r: np.sum(tj.grad(loss)(x, r) * x))
    mine, numpys = rng(), rng()
    for _ in range(2):
        e = numpys.normal(size=3)
        np.testing.assert_allclose(twice(X, mine), 4.0 * X * e**2, rtol=1e-14)
        assert state(mine) == state(numpys)


def test_forward_mode_draws_once() -> None:
    mine, numpys = tj.random.default_rng(5), rng()
    f = tj.function(lambda x: np.sin(mine.normal(x, 2.0)))
    for program in (f, lambda x: np.sin(mine.normal(x, 2.0))):
        x = tj.constant(X)
        with tj.ForwardAccumulator(x, tj.constant(np.ones(3))) as accumulator:
            y = program(x)
        drawn = numpys.normal(X, 2.0)
        np.testing.assert_allclose(y.numpy(), np.sin(drawn), rtol=1e-15)
        np.testing.assert_allclose(accumulator.jvp(y).numpy(), np.cos(drawn), rtol=1e-15)
        assert state(mine) == state(numpys)


# Kernels in two parts


def drawn_in(kernel: Any, part: str) -> list[str]:
    """The methods of `r` that a function of the module calls, in order."""
    (found,) = [node for node in ast.parse(kernel.source).body if getattr(node, "name", "") == part]
    return [
        node.func.attr
        for node in ast.walk(found)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "r"
    ]


def test_the_forward_part_draws_and_the_backward_part_does_not() -> None:
    def loss(x: Any, r: Any) -> Any:
        r.random()
        return np.sum((x * r.normal(size=3)) ** 2)

    kernel = tj.value_and_grad(loss).kernel(X, rng())
    mine, numpys = rng(), rng()
    y, residuals = kernel.forward(X, mine)
    numpys.random()
    e = numpys.normal(size=3)
    assert state(mine) == state(numpys)
    assert_same(y, np.sum((X * e) ** 2))
    np.testing.assert_allclose(kernel.backward(residuals, 1.0), 2.0 * X * e * e, rtol=1e-15)
    assert state(mine) == state(numpys)
    assert drawn_in(kernel, "forward") == ["random", "normal"]
    assert drawn_in(kernel, "backward") == []
    assert drawn_in(kernel, "value_and_grad") == ["random", "normal"]


def test_a_kernel_whose_gradient_needs_no_value_draws_all_the_same() -> None:
    """The value is thrown away, the draws are not."""
    slope_of = tj.grad(lambda x, r: (np.sum(x) + r.normal(), r.random())[0])
    mine, numpys = rng(), rng()
    for _ in range(2):
        assert_same(slope_of(X, mine), np.ones(3))
        numpys.normal()
        numpys.random()
        assert state(mine) == state(numpys)


def test_draws_in_a_gradient_rule() -> None:
    """They happen where the gradient is asked for, once each time."""
    mine, numpys = tj.random.default_rng(5), rng()

    @tj.custom_gradient
    def noisy(x: Any) -> Any:
        return x * 1.0, lambda g: g * mine.normal(size=3)

    f = tj.function(lambda x: np.sum(noisy(x)))
    f(X)
    assert state(mine) == state(numpys)
    slope_of = tj.grad(lambda x: np.sum(noisy(x)))
    for _ in range(2):
        assert_same(slope_of(X), numpys.normal(size=3))
        assert state(mine) == state(numpys)


def test_a_draw_on_a_cotangent_is_in_the_backward_part() -> None:
    def shuffled(x: Any, r: Any) -> Any:
        e = r.normal(size=3)

        @tj.custom_gradient
        def mix(x: Any) -> Any:
            return x * e, lambda g: r.permuted(g * e)

        return mix(x)

    kernel = tj.value_and_grad(lambda x, r: np.sum(shuffled(x, r))).kernel(X, rng())
    assert drawn_in(kernel, "forward") == ["normal"]
    assert drawn_in(kernel, "backward") == ["permuted"]
    numpys, mine = rng(), rng()
    _, residuals = kernel.forward(X, mine)
    assert_same(kernel.backward(residuals, 2.0), numpys.permuted(2.0 * numpys.normal(size=3)))
    assert state(mine) == state(numpys)


# Draws that have no gradient


NO_GRADIENT: dict[str, Callable[..., Any]] = {
    "permuted": lambda r, x: r.permuted(x),
    "gamma": lambda r, x: r.gamma(x**2),
    "exponential": lambda r, x: r.exponential(x**2),
}


@EVERY_MODE
@pytest.mark.parametrize("name", NO_GRADIENT)
def test_differentiating_through_it_names_the_method_and_the_line(name: str, mode: str) -> None:
    draw, mine = NO_GRADIENT[name], tj.random.default_rng(5)

    def f(x: Any) -> Any:
        return np.sum(draw(mine, x) ** 2)

    way, take, _ = MODES[mode]
    with pytest.raises(LookupError) as caught:
        way(take, Program(f, [tj.constant(X)], []))()
    assert type(caught.value) is NoGradientError
    assert f"no gradient is known for Generator.{name}" in str(caught.value)
    assert f"lambda r, x: r.{name}(" in str(caught.value)
    assert "register_gradient" in str(caught.value)


@pytest.mark.parametrize("name", NO_GRADIENT)
def test_the_forward_call_is_no_error(name: str) -> None:
    draw = NO_GRADIENT[name]
    f = tj.function(lambda r, x: np.sum(draw(r, x) ** 2), exact=True)
    assert_same(f(rng(), X), np.sum(draw(rng(), X) ** 2))


@EVERY_MODE
@pytest.mark.parametrize("name", NO_GRADIENT)
def test_a_stopped_gradient_is_no_error(name: str, mode: str) -> None:
    draw, mine, numpys = NO_GRADIENT[name], tj.random.default_rng(5), rng()

    def f(x: Any) -> Any:
        return np.sum(draw(mine, tj.stop_gradient(x))) * np.sum(x)

    way, take, _ = MODES[mode]
    run = way(take, Program(f, [tj.constant(X)], []))
    for _ in range(2):
        value, (found,) = plain(run())
        total = np.sum(draw(numpys, X))
        np.testing.assert_allclose(found, np.full(3, total), rtol=1e-14)
        np.testing.assert_allclose(value, total * np.sum(X), rtol=1e-14)


@EVERY_MODE
def test_integers_that_are_drawn_are_not_connected(mode: str) -> None:
    """A draw of integers depends on its rate in steps."""
    mine, numpys = tj.random.default_rng(5), rng()

    def f(x: Any) -> Any:
        return np.sum(mine.poisson(x**2) * x)

    way, take, _ = MODES[mode]
    (found,) = plain(way(take, Program(f, [tj.constant(X)], []))())[1]
    np.testing.assert_array_equal(found, numpys.poisson(X**2))


def test_a_permutation_of_indices_is_differentiable() -> None:
    def loss(x: Any, r: Any) -> Any:
        return np.sum(x[r.permutation(3)] * np.arange(3.0))

    found, order = tj.grad(loss)(X, rng()), rng().permutation(3)
    expected = np.empty(3)
    expected[order] = np.arange(3.0)
    np.testing.assert_array_equal(found, expected)


# Kernels that raise


def test_a_gradient_that_raises_leaves_the_state_as_python_does() -> None:
    def loss(x: Any, m: Any, r: Any) -> Any:
        return np.sum(x * r.normal(size=3)) * np.sum(np.linalg.inv(m))

    both, mine, numpys = tj.value_and_grad(loss), rng(), rng()
    both(X, np.eye(2), mine)
    numpys.normal(size=3)
    for _ in range(2):
        for call, generator in ((both, mine), (loss, numpys)):
            with pytest.raises(np.linalg.LinAlgError):
                call(X, np.zeros((2, 2)), generator)
        assert state(mine) == state(numpys)
    e = numpys.normal(size=3)
    np.testing.assert_allclose(both(X, np.eye(2), mine)[1], 2.0 * e, rtol=1e-15)


def test_the_same_generator_twice_draws_as_python_does() -> None:
    def loss(x: Any, m: Any, r: Any, s: Any) -> Any:
        return np.sum(x * r.normal(size=3) * s.random()) * np.sum(np.linalg.inv(m))

    both, mine, numpys = tj.value_and_grad(loss), rng(), rng()
    for call, generator in ((both, mine), (loss, numpys)):
        with pytest.raises(np.linalg.LinAlgError):
            call(X, np.zeros((2, 2)), generator, generator)
    assert state(mine) == state(numpys)


def test_an_error_while_recording_draws_nothing() -> None:
    mine = rng()
    before = state(mine)

    def f(r: Any, x: Any) -> Any:
        r.normal()
        raise KeyError("k")

    with pytest.raises(KeyError):
        tj.function(f).kernel(mine, X)
    assert state(mine) == before


# Regions that are computed again


@EVERY_MODE
@DIFFERENTIABLE
def test_what_is_computed_again_draws_nothing_again(f: Any, args: Any, mode: str) -> None:
    mine, numpys = tj.random.default_rng(5), rng()
    again = tj.recompute_grad(lambda *xs: f(mine, *xs))
    way, take, _ = MODES[mode]
    run = way(take, Program(again, [tj.constant(x) for x in args], []))
    expected_slopes = slopes_of(f, args)
    for call in range(2):
        value, found = plain(run())
        np.testing.assert_allclose(value, f(numpys, *args), rtol=1e-14)
        assert state(mine) == state(numpys)
        for g, expected in zip(found, expected_slopes if call == 0 else [], strict=call == 0):
            np.testing.assert_allclose(g, expected, rtol=1e-7, atol=1e-8)


def test_a_region_with_a_generator_as_its_argument() -> None:
    region = tj.recompute_grad(lambda x, r: np.sin(x) * r.normal(size=3))
    both = tj.value_and_grad(lambda x, r: np.sum(region(x, r) * r.random()))
    mine, numpys = rng(), rng()
    for _ in range(2):
        value, found = both(X, mine)
        e, factor = numpys.normal(size=3), numpys.random()
        np.testing.assert_allclose(value, np.sum(np.sin(X) * e * factor), rtol=1e-14)
        np.testing.assert_allclose(found, np.cos(X) * e * factor, rtol=1e-14)
        assert state(mine) == state(numpys)
