"""The transforms, one by one: which arguments, in which form the answer comes, and what is
refused."""

from __future__ import annotations

import functools
import gc
import inspect
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.support.compare import close
from tracejit.support.errors import ArgumentError, GradientError, RuleTypeError, SeedError

X = np.array([0.5, -1.0, 2.0])
Y = np.array([1.0, 2.0, -0.5])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    w: Any
    b: Any


def wave(x: Any, y: Any, k: Any = 2.0) -> Any:
    """A wave."""
    return np.sin(x) * y * k


def energy(x: Any, y: Any, k: Any = 2.0) -> Any:
    """An energy."""
    return np.sum(np.sin(x) * y) * k


@tj.custom_gradient
def clipped(x: Any) -> Any:
    """The identity, whose rule is not linear."""
    return x * 1.0, lambda upstream: np.clip(upstream, -1.0, 1.0)


# Which arguments, for every transform that takes a function and answers one

DX, DY = np.cos(X) * Y * 2.0, np.sin(X) * 2.0
DXX, DXY = np.diag(-np.sin(X) * Y * 2.0), np.diag(np.cos(X) * 2.0)
ZERO = np.zeros((3, 3))
BY_NUMBER: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any, Any, Any]] = {
    "jacobian": (tj.jacobian, wave, np.diag(DX), np.diag(DY), (np.diag(DX), np.diag(DY))),
    "jacfwd": (tj.jacfwd, wave, np.diag(DX), np.diag(DY), (np.diag(DX), np.diag(DY))),
    "jacrev": (tj.jacrev, wave, np.diag(DX), np.diag(DY), (np.diag(DX), np.diag(DY))),
    "hessian": (tj.hessian, energy, DXX, ZERO, ((DXX, DXY), (DXY, ZERO))),
    "elementwise_grad": (tj.elementwise_grad, wave, DX, DY, (DX, DY)),
    "deriv": (tj.deriv, wave, DX, DY, None),
}


def leaves(value: Any) -> list[Any]:
    """The arrays in nested tuples."""
    return [leaf for part in value for leaf in leaves(part)] if type(value) is tuple else [value]


@pytest.mark.parametrize("name", BY_NUMBER)
def test_argnums_argnames_and_keywords(name: str) -> None:
    transform, f, by_x, by_y, by_both = BY_NUMBER[name]
    close(transform(f)(X, Y), by_x)
    for options in ({"argnums": 1}, {"argnums": -2}, {"argnames": "y"}):
        close(transform(f, **options)(X, Y), by_y)
    close(transform(f, argnums=np.int64(1))(X, Y), by_y)
    close(transform(f)(X, y=Y, k=4.0), 2.0 * by_x)
    close(transform(f)(y=Y, x=X), by_x)
    if by_both is not None:
        for options in ({"argnums": (0, 1)}, {"argnums": [0, 1]}, {"argnames": ("x", "y")}):
            found = transform(f, **options)(X, Y)
            assert type(found) is tuple
            for one, other in zip(leaves(found), leaves(by_both), strict=True):
                close(one, other)
    with pytest.raises(GradientError, match=rf"tj\.{name}: {f.__name__} has no argument 7"):
        transform(f, 7)(X, Y)
    with pytest.raises(GradientError, match="has no argument z"):
        transform(f, argnames="z")(X, Y)
    with pytest.raises(
        GradientError, match=rf"tj\.{name} of {f.__name__} cannot be taken with respect to x"
    ):
        transform(f)(np.arange(3), Y)
    with pytest.raises(GradientError, match=re.escape("argnums='x'")):
        transform(f, "x")
    with pytest.raises(ArgumentError, match=rf"tj\.{name} needs a function, got int"):
        transform(3)
    with pytest.raises(TypeError, match="missing"):
        transform(f)()


def test_one_argument_moves_in_deriv() -> None:
    with pytest.raises(GradientError, match="differentiates with respect to one argument"):
        tj.deriv(wave, (0, 1))


# Every kind of callable


class Model:
    scale = 2.0

    def __call__(self, x: Any) -> Any:
        return np.sum(x**2) * self.scale

    def method(self, x: Any) -> Any:
        return self(x)

    @tj.function
    def compiled(self, x: Any) -> Any:
        return self(x)


CALLABLES: dict[str, Any] = {
    "function": lambda x: np.sum(x**2) * 2.0,
    "compiled": tj.function(lambda x: np.sum(x**2) * 2.0),
    "partial": functools.partial(lambda k, x: np.sum(x**2) * k, 2.0),
    "bound method": Model().method,
    "compiled method": Model().compiled,
    "callable": Model(),
}


@pytest.mark.parametrize("kind", CALLABLES)
def test_every_kind_of_callable(kind: str) -> None:
    f = CALLABLES[kind]
    close(tj.jacobian(f)(X), 4.0 * X)
    close(tj.hessian(f)(X), 4.0 * np.eye(3))
    close(tj.elementwise_grad(f)(X), 4.0 * X)
    close(tj.vmap(f)(np.stack([X, Y])), 2.0 * np.array([X @ X, Y @ Y]))
    close(tj.jvp(f, (X,), (Y,))[1], np.float64(4.0 * X @ Y))
    close(tj.vjp(f, X)[1](1.0)[0], 4.0 * X)
    close(tj.linearize(f, X)[1](Y), np.float64(4.0 * X @ Y))
    close(tj.hvp(f, (X,), (Y,))[0], 4.0 * Y)


@pytest.mark.parametrize(
    "transform",
    [tj.jacobian, tj.jacfwd, tj.jacrev, tj.hessian, tj.elementwise_grad, tj.deriv, tj.vmap],
    ids=lambda transform: transform.__name__,
)
def test_name_docstring_and_signature_are_kept(transform: Any) -> None:
    made = transform(wave)
    assert made.__name__ == "wave" and made.__doc__ == "A wave." and made.__wrapped__ is not None
    assert str(inspect.signature(made)) == str(inspect.signature(wave))
    compiled = tj.function(wave, cache=False, name="other")
    assert transform(compiled).options == compiled.options


def test_numpys_functions() -> None:
    close(tj.jacobian(np.sin)(X), np.diag(np.cos(X)))
    close(tj.vmap(np.multiply)(X, Y), X * Y)
    close(tj.jvp(np.multiply, (X, Y), (Y, X))[1], Y * Y + X * X)


# Structures


def test_structures_of_arguments_and_results() -> None:
    def f(p: Any) -> Any:
        return {"sum": np.sum(p.w), "out": (p.w * p.b, p.b)}

    found = tj.jacobian(f)(Layer(X, 2.0))
    assert found.keys() == {"sum", "out"}
    close(found["sum"].w, np.ones(3))
    close(found["out"][0].w, 2.0 * np.eye(3))
    close(found["out"][0].b, X)
    close(found["out"][1].b, np.float64(1.0))
    second = tj.hessian(lambda p: p["a"] * np.sum(p["q"].x * p["q"].y))(
        {"q": Point(X, Y), "a": 3.0}
    )
    close(second["q"].x["q"].y, 3.0 * np.eye(3))
    close(second["a"]["q"].x, Y)
    close(second["a"]["a"], np.float64(0.0))
    _, dots = tj.jvp(f, (Layer(X, 2.0),), (Layer(Y, 1.0),))
    close(dots["out"][0], 2.0 * Y + X)
    _, pullback = tj.vjp(f, Layer(X, 2.0))
    (bars,) = pullback({"sum": 1.0, "out": (Y, 1.0)})
    close(bars.w, 1.0 + 2.0 * Y)
    close(bars.b, np.float64(X @ Y + 1.0))


def test_has_aux() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2), {"half": x / 2.0, "name": "text"}

    for transform, expected in [
        (tj.jacobian, 2.0 * X),
        (tj.jacfwd, 2.0 * X),
        (tj.jacrev, 2.0 * X),
        (tj.hessian, 2.0 * np.eye(3)),
        (tj.elementwise_grad, 2.0 * X),
        (tj.deriv, np.float64(2.0 * X.sum())),
    ]:
        found, aux = transform(f, has_aux=True)(X)
        close(found, expected)
        close(aux["half"], X / 2.0)
        assert aux["name"] == "text"
    _, dot, aux = tj.jvp(f, (X,), (Y,), has_aux=True)
    close(dot, np.float64(2.0 * X @ Y))
    close(aux["half"], X / 2.0)
    _, pullback, aux = tj.vjp(f, X, has_aux=True)
    close(pullback(1.0)[0], 2.0 * X)
    close(aux["half"], X / 2.0)
    for call in (
        lambda: tj.jvp(np.sin, (X,), (Y,), has_aux=True),
        lambda: tj.vjp(np.sin, X, has_aux=True),
        lambda: tj.jacobian(np.sin, has_aux=True)(X),
        lambda: tj.elementwise_grad(np.sin, has_aux=True)(X),
        lambda: tj.deriv(np.sin, has_aux=True)(X),
    ):
        with pytest.raises(GradientError, match="instead of"):
            call()


# Forward and reverse mode


def test_jvp_and_vjp_are_transposes() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sin(x) * y, x - y

    out, dots = tj.jvp(f, (X, Y), (np.ones(3), np.zeros(3)))
    np.testing.assert_array_equal(out[0], f(X, Y)[0])
    close(dots[0], np.cos(X) * Y)
    out, pullback = tj.vjp(f, X, Y)
    for _ in range(2):
        x_bar, y_bar = pullback((np.ones(3), np.zeros(3)))
        close(x_bar, np.cos(X) * Y)
        close(y_bar, np.sin(X))


NAMED: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "plain": (lambda x, w: x * w, ["x", "w", "x_dot", "w_dot"]),
    "taken": (lambda x, x_dot: x * x_dot, ["x", "x_dot", "x_dot_", "x_dot_dot"]),
    "any": (lambda x, *more: x * more[0], ["x", "more_0", "x_dot", "more_0_dot"]),
    "compiled": (tj.function(lambda x, w: x * w), ["x", "w", "x_dot", "w_dot"]),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_users_names_are_in_the_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, expected = NAMED[name]
    seen = []

    def keep(self: Any, python: Any, *args: Any, **options: Any) -> None:
        seen.append(list(inspect.signature(python).parameters))
        made(self, python, *args, **options)

    made = tj.Function.__init__
    monkeypatch.setattr(tj.Function, "__init__", keep)
    tj.jvp(f, (X, Y), (X, Y))
    assert seen == [expected]


def test_what_is_no_tuple_is_the_only_argument() -> None:
    close(tj.jvp(np.sin, X, Y)[1], np.cos(X) * Y)
    close(tj.hvp(lambda x: np.sum(x**3), X, Y), 6.0 * X * Y)
    close(tj.hvp(lambda p: np.sum(p["a"] ** 3), {"a": X}, {"a": Y})["a"], 6.0 * X * Y)
    close(tj.jvp(wave, [X, Y], [X, Y])[1], tj.jvp(wave, (X, Y), (X, Y))[1])


@pytest.mark.parametrize(
    ("tangents", "words"),
    [
        ((X,), "differ in their structure"),
        ((X, {"a": Y}), "differ in their structure"),
        ((X[:2], Y), r"shape \(2,\), its primal \(3,\)"),
        ((X, None), "a tangent is a NoneType"),
        ((X, 1j * Y), "a tangent is complex"),
    ],
)
def test_tangents_must_fit(tangents: Any, words: str) -> None:
    with pytest.raises(SeedError, match=rf"tj\.jvp: .*{words}"):
        tj.jvp(wave, (X, Y), tangents)


def test_tangents_are_cast_to_their_primals() -> None:
    _, dot = tj.jvp(np.sin, (X.astype("f4"),), (np.arange(3),))
    assert dot.dtype == np.float32
    np.testing.assert_allclose(dot, np.cos(X) * np.arange(3), rtol=1e-6)


@pytest.mark.parametrize(
    ("cotangents", "words"),
    [
        (X, "differ in their structure"),
        ([X, X], "differ in their structure"),
        ((X[:2], X), r"shape \(2,\), its result \(3,\)"),
        ((1.0, X), r"shape \(\), its result \(3,\)"),
        ((1j * X, X), "complex"),
        ((None, X), "NoneType"),
    ],
)
def test_cotangents_must_fit(cotangents: Any, words: str) -> None:
    pullback = tj.vjp(lambda x: (x, 2.0 * x), X)[1]
    with pytest.raises(SeedError, match=words):
        pullback(cotangents)


def test_results_that_are_not_floating_have_no_cotangent() -> None:
    out, pullback = tj.vjp(lambda x: (2.0 * x, np.argmax(x)), X)
    assert out[1] == 2
    close(pullback((Y, None))[0], 2.0 * Y)
    close(pullback((Y, out[1]))[0], 2.0 * Y)


@pytest.mark.parametrize("primal", [np.arange(3), 2, np.array([True, False])])
def test_primals_must_be_floating(primal: Any) -> None:
    for call in (
        lambda: tj.jvp(np.sin, (primal,), (primal,)),
        lambda: tj.vjp(np.sin, primal),
        lambda: tj.linearize(np.sin, primal),
        lambda: tj.hvp(np.sum, (primal,), (primal,)),
    ):
        with pytest.raises(GradientError, match="with respect to"):
            call()


def test_what_is_kept_does_not_change() -> None:
    x = X.copy()
    pullback = tj.vjp(np.square, x)[1]
    push = tj.linearize(np.square, x)[1]
    x[:] = 0.0
    close(pullback(Y)[0], 2.0 * X * Y)
    close(push(Y), 2.0 * X * Y)


def test_what_the_function_reads_is_read_at_each_call() -> None:
    scale = 2.0

    def f(x: Any) -> Any:
        return np.sum(x**2) * scale

    def answers() -> list[Any]:
        push, pull = tj.linearize(f, X)[1], tj.vjp(f, X)[1]
        products = tj.hvp(f, X, Y), tj.jvp(f, X, Y)[1]
        return [*products, push(Y), pull(1.0)[0], slope(X), curvature(X), mapped(X)]

    slope, curvature, mapped = tj.jacobian(f), tj.hessian(f), tj.vmap(f)
    before = answers()
    scale = 10.0
    for old, new in zip(before, answers(), strict=True):
        close(new, old * 5.0)


def test_nothing_keeps_a_function_alive() -> None:
    def made() -> Any:
        large = np.ones(1000)

        def f(x: Any) -> Any:
            return np.sum(large) * x

        tj.jvp(f, 1.0, 1.0)
        tj.vjp(f, 1.0)[1](1.0)
        return weakref.ref(f)

    known = made()
    gc.collect()
    assert known() is None


def test_functions_that_share_attributes_are_told_apart() -> None:
    def f(x: Any) -> Any:
        return x**2

    assert tj.jvp(f, 3.0, 1.0)[1] == 6.0

    @functools.wraps(f)
    def g(x: Any) -> Any:
        return f(x) * 10.0

    assert tj.jvp(g, 3.0, 1.0)[1] == 60.0


# Jacobians and Hessians


def test_the_dtype_is_that_of_the_argument_in_every_mode() -> None:
    def f(x: Any) -> Any:
        return (x * x).astype("f8"), np.argmax(x)

    for mode in ("auto", "fwd", "rev"):
        found = tj.jacobian(f, mode=mode)(X.astype("f4"))
        assert [block.dtype for block in found] == [np.float32, np.float32]
        np.testing.assert_array_equal(found[1], np.zeros(3))


def test_numbers_have_numbers_for_derivatives() -> None:
    close(tj.jacobian(lambda x: x**3)(2.0), np.float64(12.0))
    close(tj.hessian(lambda x: x**3)(np.float32(2.0)), np.float32(12.0))
    close(tj.jacobian(lambda x: x**3)(np.array(2.0)), np.array(12.0))


def test_chunks_and_modes_answer_the_same() -> None:
    def f(x: Any) -> Any:
        return np.stack([np.sin(x), x * np.sum(x)])

    expected = np.stack([np.diag(np.cos(X)), np.sum(X) * np.eye(3) + X[:, None]])
    for mode in ("auto", "fwd", "rev"):
        for chunk_size in (None, 1, 2, 100):
            close(tj.jacobian(f, mode=mode, chunk_size=chunk_size)(X), expected)
    close(tj.hessian(lambda x: np.sum(x**3), chunk_size=2)(X), np.diag(6.0 * X))
    assert tj.jacobian(np.sin)(np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize(
    "options", [{"mode": "forward"}, {"chunk_size": 0}, {"chunk_size": 1.5}], ids=str
)
def test_options_of_jacobians_are_checked(options: Any) -> None:
    with pytest.raises(GradientError, match=next(iter(options))):
        tj.jacobian(np.sin, **options)


def test_rules_that_are_not_linear_go_in_reverse() -> None:
    with pytest.raises(RuleTypeError, match="not linear"):
        tj.jacfwd(lambda x: clipped(x**3))(X)
    close(
        tj.jacobian(lambda x: np.concatenate([clipped(x**2)] * 2))(X),
        np.vstack([2 * np.diag(X)] * 2),
    )
    close(tj.hessian(lambda x: np.sum(clipped(x**3)))(X), np.diag(6.0 * X))
    close(tj.hvp(lambda x: np.sum(clipped(x**3)), X, Y), 6.0 * X * Y)


def test_complex_jacobians() -> None:
    z = X + 1j * Y
    close(tj.jacobian(lambda z: z * z)(z), np.diag(np.conj(2.0 * z)))
    with pytest.raises(GradientError, match="complex"):
        tj.jacfwd(lambda z: z * z)(z)


@pytest.mark.parametrize("name", ["hessian", "hvp"])
def test_a_result_that_is_no_scalar_is_refused_with_a_way_out(name: str) -> None:
    calls = {"hessian": lambda: tj.hessian(np.sin)(X), "hvp": lambda: tj.hvp(np.sin, X, Y)}
    with pytest.raises(GradientError, match=rf"tj\.{name}\(sin\) needs a scalar") as caught:
        calls[name]()
    assert "tj.jacobian" in str(caught.value)


# Batches


def test_axes_of_arguments_and_results() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    close(tj.vmap(np.sum, in_axes=1)(rows), rows.sum(0))
    close(tj.vmap(np.sum, in_axes=-1)(rows), rows.sum(0))
    close(tj.vmap(lambda x: np.outer(x, x), out_axes=-1)(rows)[:, :, 1], np.outer(rows[1], rows[1]))
    close(tj.vmap(wave, in_axes=(0, None))(X, 2.0), wave(X, 2.0))
    close(tj.vmap(wave, in_axes=[0, None])(X, 2.0), wave(X, 2.0))
    close(tj.vmap(wave)(X, y=Y), wave(X, Y))
    doubled, shared = tj.vmap(lambda x: (2.0 * x, 7.0), out_axes=(0, None))(X)
    close(doubled, 2.0 * X)
    assert shared == 7.0
    close(tj.vmap(lambda x: 7.0)(X), np.full(3, 7.0))


@pytest.mark.parametrize(
    ("container", "axes"),
    [
        ({"w": X, "b": 2.0}, {"w": 0, "b": None}),
        (Layer(X, 2.0), Layer(0, None)),
        (Point(X, 2.0), Point(0, None)),
        ([X, 2.0], [0, None]),
        ((X, 2.0), (0, None)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_axes_inside_containers(container: Any, axes: Any) -> None:
    def f(p: Any) -> Any:
        parts = p.values() if type(p) is dict else vars(p).values() if type(p) is Layer else p
        w, b = parts
        return w * b

    close(tj.vmap(f, in_axes=(axes,))(container), 2.0 * X)


def test_what_is_no_array_is_the_same_for_all_elements() -> None:
    def f(x: Any, mode: Any) -> Any:
        return (x if mode == "same" else -x), mode, None

    found, mode, nothing = tj.vmap(f)(X, "other")
    close(found, -X)
    assert mode == "other" and nothing is None


@pytest.mark.parametrize(
    ("options", "args", "words"),
    [
        ({}, (X, Y[:2]), r"sizes of the batch are \[2, 3\]"),
        ({"in_axes": (0,)}, (X, Y), "in_axes"),
        ({"in_axes": ({"a": 0}, 0)}, (X, Y), "stands for one leaf"),
        ({"in_axes": "x"}, (X, Y), "'x' for an axis"),
        ({"in_axes": 3}, (X, Y), "no axis 3"),
        ({"in_axes": None}, (X, Y), "no argument has a batch"),
        ({"out_axes": None}, (X, Y), "is different for each element"),
        ({"out_axes": (0, 0)}, (X, Y), "out_axes"),
        ({}, (X, 2.0), "no axis 0"),
    ],
    ids=str,
)
def test_batches_must_fit(options: Any, args: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        tj.vmap(wave, **options)(*args)


def test_the_line_of_the_call_is_not_in_the_code() -> None:
    slope, mapped = tj.jacobian(np.sin), tj.vmap(np.cumsum, in_axes=1, out_axes=1)
    parted = tj.jacobian(np.sin, chunk_size=2)
    slope(X)  # from here
    mapped(np.ones((2, 3)))  # and here
    parted(X)  # or here
    assert "here" not in slope.source + mapped.source + parted.source


# Around them


@pytest.mark.parametrize(
    ("transformed", "expected"),
    [
        (lambda x: tj.jacobian(np.sin)(x), np.diag(np.cos(X))),
        (lambda x: tj.hessian(lambda x: np.sum(x**3))(x), np.diag(6.0 * X)),
        (lambda x: tj.vmap(np.sin)(x), np.sin(X)),
        (lambda x: tj.jvp(np.sin, x, np.ones(3))[1], np.cos(X)),
        (lambda x: tj.vjp(np.sin, x)[1](np.ones(3))[0], np.cos(X)),
        (lambda x: tj.linearize(np.sin, x)[1](np.ones(3)), np.cos(X)),
        (lambda x: tj.hvp(lambda x: np.sum(x**3), x, np.ones(3)), 6.0 * X),
        (lambda x: tj.elementwise_grad(np.sin)(x), np.cos(X)),
        (lambda x: tj.deriv(np.sin)(x), np.cos(X)),
    ],
)
def test_arrays_variables_tensors_and_recordings(transformed: Any, expected: Any) -> None:
    close(transformed(X), expected)
    close(transformed(tj.Variable(X)), expected)
    close(transformed(tj.constant(X)).numpy(), expected)
    close(tj.function(transformed)(X), expected)
    x = tj.constant(X)
    with tj.GradientTape() as tape:
        tape.watch(x)
        total = np.sum(transformed(x))
    slope = tj.grad(lambda x: np.sum(transformed(x)))(X)
    close(tape.gradient(total, x).numpy(), slope)


def test_captured_variables_are_read_at_each_call() -> None:
    v = tj.Variable(2.0)
    scaled, slope = tj.vmap(lambda x: x * v), tj.jacobian(lambda x: x * v)
    close(scaled(X), 2.0 * X)
    v.assign(3.0)
    close(scaled(X), 3.0 * X)
    close(slope(X), 3.0 * np.eye(3))


def test_switching_tracejit_off_leaves_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_DISABLE", "1")
    close(tj.jacobian(np.sin)(X), np.diag(np.cos(X)))
    close(tj.vmap(np.sin)(X), np.sin(X))
    close(tj.vjp(np.sin, X)[1](Y)[0], np.cos(X) * Y)


# Transforms in a loop


TRANSFORMS_OF_A_FUNCTION: dict[str, Callable[[Any], Any]] = {
    "grad": tj.grad,
    "value_and_grad": lambda f: tj.value_and_grad(f, argnums=0),
    "jacobian": tj.jacobian,
    "jacfwd": tj.jacfwd,
    "jacrev": tj.jacrev,
    "hessian": tj.hessian,
    "elementwise_grad": tj.elementwise_grad,
    "deriv": tj.deriv,
    "vmap": lambda f: tj.vmap(f, in_axes=(0,)),
}


@pytest.mark.parametrize("name", TRANSFORMS_OF_A_FUNCTION)
def test_a_transform_called_in_a_loop_answers_one_function_from_the_second_call_on(
    name: str,
) -> None:
    def cube(x: Any) -> Any:
        return np.sum(x * x * x)

    made = [TRANSFORMS_OF_A_FUNCTION[name](cube) for _ in range(4)]
    assert made[0] is not made[1] is made[2] is made[3]
    given = np.float64(2.0) if name != "vmap" else np.array([2.0])
    for one in made[1:]:
        one(given)
    assert made[1].tracing_count == 1


def test_a_transform_of_a_transform_in_a_loop_is_one_function_too() -> None:
    def cube(x: Any) -> Any:
        return x * x * x

    made = [tj.grad(tj.grad(cube)) for _ in range(5)]
    assert [one(2.0) for one in made] == [12.0] * 5
    assert made[2] is made[3] is made[4]
    assert made[4].tracing_count == 1


def test_other_options_are_other_functions() -> None:
    def product(x: Any, y: Any) -> Any:
        return x * y

    for _ in range(3):
        assert (tj.grad(product)(2.0, 3.0), tj.grad(product, argnums=1)(2.0, 3.0)) == (3.0, 2.0)
        assert tj.value_and_grad(product, 1)(2.0, 3.0) == (6.0, 2.0)
        assert tj.grad(product, argnames="y")(2.0, 3.0) == 2.0
    rows = np.arange(6.0).reshape(2, 3)

    def same(x: Any) -> Any:
        return x

    for _ in range(3):
        assert [tj.vmap(same, in_axes=axis)(rows).shape for axis in (0, 1)] == [(2, 3), (3, 2)]
        with pytest.raises(ArgumentError, match="True"):
            tj.vmap(same, in_axes=True)(rows)


def test_a_list_of_axes_may_change() -> None:
    def first(x: Any) -> Any:
        return x[0]

    axes: list[Any] = [0]
    for axis in (0, 1, 0, 1):
        axes[0] = axis
        found = tj.vmap(first, in_axes=axes)(np.arange(6.0).reshape(2, 3))
        assert len(found) == (2, 3)[axis]


def test_what_a_function_reads_is_what_it_is_now() -> None:
    factor = 0.0

    def scaled(x: Any, offset: float = 0.0) -> Any:
        return np.sum(x) * factor + offset

    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        def loss(self, x: Any) -> Any:
            return np.sum(x * self.w)

    for number in (1.0, 2.0, 3.0, 4.0):
        factor = number
        scaled.__defaults__ = (10.0 * number,)
        value, slope = tj.value_and_grad(scaled)(X)
        assert (value, *slope) == (11.5 * number, *[number] * 3)
        np.testing.assert_array_equal(tj.grad(Model(number).loss)(X), [number] * 3)
        np.testing.assert_array_equal(tj.grad(lambda x: np.sum(x) * number)(X), [number] * 3)  # noqa: B023


def test_nothing_that_a_transform_remembers_keeps_a_function_or_an_instance() -> None:
    class Model:
        def loss(self, x: Any) -> Any:
            return np.sum(x * x)

    def kept() -> list[weakref.ref[Any]]:
        def loss(x: Any) -> Any:
            return np.sum(x * x)

        model = Model()
        for _ in range(4):
            tj.grad(loss)(X)
            tj.grad(model.loss)(X)
        return [weakref.ref(loss), weakref.ref(model)]

    found = kept()
    gc.collect()
    assert [one() for one in found] == [None, None]


def test_a_function_with_a_list_of_specs_can_be_transformed() -> None:
    square = tj.function(lambda x: np.sum(x * x), input_signature=[tj.TensorSpec((3,))])
    assert tj.jvp(square, (X,), (X,)) == (5.25, 10.5)
    assert tj.vjp(square, X)[0] == 5.25
    np.testing.assert_array_equal(tj.hvp(square, (X,), (X,))[0], 2.0 * X)
