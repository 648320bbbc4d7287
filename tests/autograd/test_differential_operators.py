"""The names of autograd give what autograd gives."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit.autograd as ag
import tracejit.autograd.numpy as anp
from tests.rows import each_row
from tracejit.autograd.builtins import DictBox
from tracejit.autograd.core import vspace
from tracejit.autograd.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)
from tracejit.autograd.misc import flatten, flatten_func
from tracejit.autograd.misc.optimizers import adam, rmsprop, sgd
from tracejit.autograd.numpy.numpy_boxes import ArrayBox
from tracejit.autograd.numpy.numpy_vjps import match_complex, replace_zero, unbroadcast_f
from tracejit.autograd.test_util import check_equivalent, check_grads, combo_check
from tracejit.autograd.tracer import getval, isbox
from tracejit.autograd.wrap_util import unary_to_nary
from tracejit.ops.base.op import HANDLERS
from tracejit.support.errors import GradientError, NoGradientError, RegisteredError, TracejitWarning

X = np.array([1.0, 2.0])
Z = np.array([1.0 + 2.0j, 3.0 - 1.0j])


def cubes(x: Any) -> Any:
    return anp.sum(x**3)


def product(x: Any, y: Any) -> Any:
    return anp.sum(x * y)


def modulus(z: Any) -> Any:
    return anp.sum(anp.abs(z) ** 2)


def same(found: Any, wanted: Any) -> None:
    """Compare values, and the containers that they are in."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        found = tuple(found[key] for key in wanted)
        wanted = tuple(wanted.values())
    if isinstance(wanted, (tuple, list)):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            same(a, b)
        return
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


ROWS: list[tuple[Callable[[], Any], Any]] = [
    (lambda: ag.grad(cubes)(X), 3.0 * X**2),
    (lambda: ag.grad(cubes)(2.0), 12.0),
    (lambda: ag.grad(product, 1)(X, 3.0 * X), X),
    (lambda: ag.grad(product, argnum=(0, 1))(X, 3.0 * X), (3.0 * X, X)),
    (lambda: ag.grad(product, argnum=[1])(X, 3.0 * X), (X,)),
    (lambda: ag.grad(product)(X, y=2.0 * X), 2.0 * X),
    (lambda: ag.grad(lambda t: t["a"] * t["b"][0])({"a": 2.0, "b": [3.0]}), {"a": 3.0, "b": [2.0]}),
    (lambda: ag.grad(lambda x: anp.sum(x**2, keepdims=True))(X), 2.0 * X),
    (lambda: ag.grad(lambda x: anp.reshape(x[0], (1, 1)))(X), np.array([1.0, 0.0])),
    (lambda: ag.grad(cubes)(np.array([1, 2])), 3.0 * X**2),
    (lambda: ag.grad(lambda x: 3.0)(X), 0.0 * X),
    (lambda: ag.grad(modulus)(Z), 2.0 * Z.conj()),
    (lambda: ag.grad(lambda z: anp.real(z * (1.0 + 2.0j)))(1.0j), 1.0 + 2.0j),
    (lambda: ag.grad(ag.grad(lambda x: x**4))(2.0), 48.0),
    (lambda: ag.value_and_grad(product, 1)(X, X), (5.0, X)),
    (lambda: ag.value_and_grad(lambda x: x[:1] * 2.0)(X), (np.array([2.0]), np.array([2.0, 0.0]))),
    (lambda: ag.grad_and_aux(lambda x: (cubes(x), x * 2.0))(X), (3.0 * X**2, 2.0 * X)),
    (lambda: ag.elementwise_grad(np.sin)(X), np.cos(X)),
    (lambda: ag.elementwise_grad(lambda x, y: x * y**2, 1)(X, X), 2.0 * X**2),
    (lambda: ag.elementwise_grad(ag.elementwise_grad(lambda x: x**3))(X), 6.0 * X),
    (lambda: ag.grad_named(product, "y")(X, 2.0 * X), X),
    (lambda: ag.holomorphic_grad(lambda z: z**2)(1.0 + 2.0j), 2.0 + 4.0j),
    (lambda: ag.deriv(lambda x: x**2)(3.0), 6.0),
    (lambda: ag.jacobian(lambda x: x**2)(X), np.diag(2.0 * X)),
    (lambda: ag.jacobian(product, 1)(X, X), X),
    (lambda: ag.jacobian(lambda z: anp.real(z * (1.0 + 2.0j)))(Z), np.eye(2) * (1.0 + 2.0j)),
    (lambda: ag.hessian(cubes)(X), np.diag(6.0 * X)),
    (lambda: ag.hessian(lambda x: x**3)(X).shape, (2, 2, 2)),
    (lambda: ag.hessian(product, 1)(X, X), np.zeros((2, 2))),
    (lambda: ag.make_vjp(lambda x: x**2)(X)[0](X), 2.0 * X**2),
    (lambda: ag.make_vjp(lambda x: x**2)(X)[1], X**2),
    (lambda: ag.make_vjp(lambda z: z * 1.0j)(Z)[0](Z), 1.0j * Z),
    (lambda: ag.make_vjp(product, (0, 1))(X, 3.0 * X)[0](2.0), (6.0 * X, 2.0 * X)),
    (lambda: ag.make_jvp(lambda x: x**2)(X)(X), (X**2, 2.0 * X**2)),
    (lambda: ag.make_jvp(product, 1)(X, X)(X), (5.0, 5.0)),
    (lambda: ag.make_jvp_reversemode(lambda x, y: x * y, 1)(X, X)(X), X * X),
    (lambda: ag.make_hvp(cubes)(X)[0](X), 6.0 * X**2),
    (lambda: ag.make_hvp(cubes)(X)[1], 3.0 * X**2),
    (lambda: ag.make_ggnvp(lambda x: x * 2.0)(X)(X), 4.0 * X),
    (lambda: ag.hessian_vector_product(cubes)(X, X), 6.0 * X**2),
    (lambda: ag.hessian_tensor_product(product, 1)(X, X, X), 0.0 * X),
    (lambda: ag.vector_jacobian_product(lambda x: x**2)(X, X), 2.0 * X**2),
    (lambda: ag.multigrad_dict(product)(X, 2.0 * X), OrderedDict(x=2.0 * X, y=X)),
    (lambda: ag.grad(ag.checkpoint(cubes))(X), 3.0 * X**2),
    (lambda: ag.grad(lambda x: anp.sum(x * getval(x)))(X), X),
    (lambda: ag.grad(lambda x: anp.sum(anp.stack({"a": x, "b": x}.values())))(X), 2.0 + 0.0 * X),
    (lambda: ag.grad(lambda x: anp.linalg.norm(anp.array([x[0], x[1]])))(np.array([3.0, 4.0])),
     np.array([0.6, 0.8])),
    (lambda: ag.grad(lambda x: anp.real(anp.fft.fft(x)[0]))(X), 1.0 + 0.0 * X),
    (lambda: unary_to_nary(lambda fun, x: fun(x) + x)(lambda a, b: a * b, 1)(2.0, 3.0), 9.0),
    (lambda: ag.grad(lambda v: anp.sum(flatten({"a": v, "b": v * 2.0})[0] ** 2))(X), 10.0 * X),
    (lambda: flatten({"b": X, "a": 3.0})[0], np.array([3.0, 1.0, 2.0])),
    (lambda: flatten({"b": X, "a": 3.0})[1](np.arange(3.0)), {"a": 0.0, "b": np.array([1.0, 2.0])}),
    (lambda: flatten_func(lambda t: [t[0] * 2.0], [X])[0](X), 2.0 * X),
]  # fmt: skip


@each_row("call, wanted", ROWS)
def test_values_are_those_of_autograd(call: Callable[[], Any], wanted: Any) -> None:
    same(call(), wanted)


@each_row("optimizer, step", [(sgd, 0.5), (rmsprop, 0.1), (adam, 0.1)])
def test_optimisers_take_containers(optimizer: Any, step: float) -> None:
    seen: list[int] = []

    def slope(t: Any, step: int) -> Any:
        return {"a": t["a"] - 1.0, "b": [t["b"][0] + X]}

    start = {"a": 0.0, "b": [np.zeros(2)]}
    found = optimizer(
        slope, start, lambda x, step, g: seen.append(step), num_iters=200, step_size=step
    )
    assert seen == list(range(200))
    np.testing.assert_allclose(found["a"], 1.0, atol=0.05)
    np.testing.assert_allclose(found["b"][0], -X, atol=0.05)


# Rules


def test_a_rule_has_a_function_for_each_argument() -> None:
    @primitive
    def scaled(x: Any, k: Any, power: int = 1) -> Any:
        return np.array([one * k**power for one in x])

    defvjp(
        scaled,
        lambda ans, x, k, power=1: lambda g: g * k**power,
        lambda ans, x, k, power=1: lambda g: np.sum(g * ans) * power / k,
    )
    same(ag.grad(lambda x: anp.sum(scaled(x, 3.0, power=2)))(X), 9.0 + 0.0 * X)
    same(ag.grad(lambda x, k: anp.sum(scaled(x, k, power=2)), 1)(X, 3.0), 18.0)
    same(ag.hessian(lambda x, k: anp.sum(scaled(x, k, power=2)), 1)(X, 3.0), 6.0)
    check_grads(lambda x, k: scaled(x, k), (0, 1))(X, 2.0)


def test_a_rule_of_one_argument_may_be_missing_or_none() -> None:
    @primitive
    def weighted(w: Any, x: Any, y: Any) -> Any:
        return w * x * y

    defvjp(weighted, None, lambda ans, w, x, y: lambda g: g * w * y, argnums=(0, 1))
    same(ag.grad(weighted, (0, 1))(2.0, 3.0, 5.0), (0.0, 10.0))
    with pytest.raises(NoGradientError, match="argument 2 of weighted"):
        ag.grad(weighted, 2)(2.0, 3.0, 5.0)


def test_complex_rules_are_transposes() -> None:
    @primitive
    def turned(z: Any) -> Any:
        return z * 1.0j

    defvjp(turned, lambda ans, z: lambda g: g * 1.0j)
    same(ag.grad(lambda z: anp.real(turned(z)))(2.0 + 0.0j), 1.0j)
    same(ag.grad(lambda z: anp.real(z * 1.0j))(2.0 + 0.0j), 1.0j)


def test_rules_may_be_told_the_argument() -> None:
    @primitive
    def total(*numbers: Any) -> Any:
        return sum(numbers)

    defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: g * (argnum + 1.0))
    defjvp_argnum(total, lambda argnum, g, ans, args, kwargs: g * (argnum + 1.0))
    same(ag.grad(total, (0, 1, 2))(1.0, 1.0, 1.0), (1.0, 2.0, 3.0))
    same(ag.make_jvp(total, 2)(1.0, 1.0, 1.0)(1.0), (3.0, 3.0))


def test_arguments_may_be_containers_and_results_several() -> None:
    @primitive
    def both(pair: Any, k: float) -> Any:
        return pair[0] * k, pair[1] + k

    defvjp(both, lambda ans, pair, k: lambda g: [g[0] * k, g[1]])
    same(ag.grad(lambda a, b: anp.sum(both([a, b], 3.0)[0]) + b, (0, 1))(2.0, 5.0), (3.0, 1.0))


def test_forward_mode_has_rules_of_its_own() -> None:
    @primitive
    def multiplied(x: Any, y: Any) -> Any:
        return x * y

    defjvp(multiplied, "same", lambda g, ans, x, y: x * g)
    same(ag.make_jvp(multiplied)(2.0, 3.0)(1.0), (6.0, 3.0))
    same(ag.make_jvp(multiplied, 1)(2.0, 3.0)(1.0), (6.0, 2.0))
    with pytest.raises(NoGradientError):
        ag.grad(multiplied)(2.0, 3.0)


def test_broadcast_operands_are_summed_over() -> None:
    @primitive
    def added(x: Any, y: Any) -> Any:
        return x + y

    defvjp(
        added,
        lambda ans, x, y: unbroadcast_f(x, lambda g: g),
        lambda ans, x, y: unbroadcast_f(y, lambda g: g),
    )
    found = ag.grad(lambda x, y: anp.sum(added(x, y)), (0, 1))(np.ones((3, 1)), np.ones(2))
    same(found, (np.full((3, 1), 2.0), np.full(2, 3.0)))
    slope = ag.grad(lambda x, y: anp.sum(added(x, y)))
    slope(X, X)
    assert "add.reduce" not in slope.kernels[0].source  # where nothing was broadcast


def test_a_rule_may_call_compiled_code() -> None:
    @primitive
    def waves(x: Any) -> Any:
        return np.array([math.sin(one) for one in memoryview(x)])

    def pull(ans: Any, x: Any) -> Any:
        return lambda g: g * np.array([math.cos(one) for one in memoryview(x)])

    defvjp(waves, pull)
    same(ag.grad(lambda x: anp.sum(waves(x) * 2.0))(X), 2.0 * np.cos(X))

    def push(g: Any, ans: Any, x: Any) -> Any:
        return np.array([math.cos(one) for one in memoryview(x)]) * g

    defjvp(waves, push)
    value, tangent = ag.make_jvp(lambda x: waves(x) * 2.0)(X)(np.array([1.0, 3.0]))
    same(value, 2.0 * np.sin(X))
    same(tangent, 2.0 * np.cos(X) * np.array([1.0, 3.0]))
    with pytest.raises(NoGradientError):
        ag.hessian(lambda x: anp.sum(waves(x)))(X)


def test_results_may_be_integers_and_have_shapes_that_numbers_decide() -> None:
    @primitive
    def positive(x: Any) -> Any:
        index = np.flatnonzero(x > 1.5)
        return x[index], index

    defvjp(positive, lambda ans, x: lambda g: anp.where(x > 1.5, g[0][0], 0.0))
    defjvp(positive, lambda g, ans, x: (np.array(memoryview(g * x))[1:], 0.0))
    same(ag.grad(lambda x: anp.sum(3.0 * positive(x)[0]))(X), np.array([0.0, 3.0]))
    value, tangent = ag.make_jvp(lambda x: positive(x)[0])(X)(2.0 * X)
    same(value, X[1:])
    same(tangent, np.array([8.0]))


def test_a_rule_of_a_plain_function_has_no_effect() -> None:
    def double(x: Any) -> Any:
        return x * 2.0

    with pytest.warns(TracejitWarning, match="double is not a primitive"):
        defvjp(double, lambda ans, x: lambda g: g * 100.0)
    same(ag.grad(double)(1.0), 2.0)


def test_rules_of_scipys_functions() -> None:
    linalg = pytest.importorskip("tracejit.autograd.scipy.linalg")
    with pytest.warns(TracejitWarning, match="solveh_banded has a gradient already"):
        defvjp(linalg.solveh_banded, None, lambda ans, a, b: lambda g: 100.0 * g)
    band = np.array([[2.0, 2.0]])
    same(ag.grad(lambda b: anp.sum(linalg.solveh_banded(band, b)))(X), 0.5 + 0.0 * X)
    try:
        defvjp(linalg.eigvals_banded, lambda ans, a: lambda g: 3.0 * g[None])
        same(ag.grad(lambda a: anp.sum(linalg.eigvals_banded(a)))(band), 3.0 + 0.0 * band)
    finally:
        del HANDLERS[linalg.eigvals_banded.__wrapped__]


def test_a_second_rule_is_refused() -> None:
    made = primitive(lambda x: x)
    defvjp(made, lambda ans, x: lambda g: g)
    with pytest.raises(RegisteredError):
        defvjp(made, lambda ans, x: lambda g: g)


def test_a_linear_primitive_is_its_own_tangent() -> None:
    doubled = primitive(lambda x, y: 2.0 * x + y)
    def_linear(doubled)
    same(ag.make_jvp(lambda x: doubled(x, 0.0))(X)(X)[1], 2.0 * X)
    summed = primitive(lambda x, y: x + 3.0 * y)
    defvjp_argnums(
        summed, lambda argnums, ans, args, kwargs: lambda g: [(1.0, 3.0)[k] * g for k in argnums]
    )
    same(ag.grad(summed, (0, 1))(1.0, 2.0), (1.0, 3.0))


def test_nothing_flows_through_what_is_not_traced() -> None:
    ranks = notrace_primitive(lambda x: np.argsort(np.argsort(x)).astype(float))
    same(ag.grad(lambda x: anp.sum(x * ranks(x)))(X), np.array([0.0, 1.0]))


# Boxes and spaces


def test_boxes_are_tensors() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append((isinstance(x, ArrayBox), isbox(x), type(x) is ArrayBox))
        return x * 2.0

    same(ag.grad(f)(1.0), 2.0)
    assert seen == [(True, True, False)]
    assert not isinstance(X, ArrayBox)
    assert isinstance({}, DictBox)


def test_spaces_have_a_basis() -> None:
    space = vspace({"a": X, "b": 1.0j})
    assert (space.size, space.iscomplex) == (4, True)
    same(space.zeros(), {"a": 0.0 * X, "b": 0.0j})
    same(space.ones(), {"a": 1.0 + 0.0 * X, "b": 1.0 + 1.0j})
    same(space.covector(space.ones()), {"a": 1.0 + 0.0 * X, "b": 1.0 - 1.0j})
    assert [complex(one["b"]) for one in space.standard_basis()] == [0, 0, 1, 1j]
    assert [tuple(one) for one in vspace(Z).standard_basis()] == [(1, 0), (1j, 0), (0, 1), (0, 1j)]
    assert (vspace(X).shape, vspace(X).dtype) == ((2,), np.dtype(float))


def test_spaces_compare_and_add() -> None:
    space = vspace({"a": X, "b": 1.0j})
    assert space == vspace({"a": 0.0 * X, "b": 2.0j})
    assert space != vspace({"a": X, "b": 1.0})
    assert space != vspace([X, 1.0j])
    v = space.randn()
    assert vspace(v) == space
    same(space.add(v, space.scalar_mul(v, -1.0)), space.zeros())
    assert space.inner_prod({"a": X, "b": 1.0j}, {"a": X, "b": 2.0j}) == 7.0


# Errors


@each_row(
    "call, error, words",
    [
        (lambda: ag.grad(lambda x: x)(X), GradientError, "needs a scalar result"),
        (lambda: ag.grad(lambda z: z)(1.0j), GradientError, "needs a real floating result"),
        (lambda: ag.elementwise_grad(lambda z: z)(Z), GradientError, "real result"),
        (lambda: ag.grad(lambda x, y: x)("a", 1.0), GradientError, "derivative"),
        (lambda: ag.grad(lambda x: x, 3)(1.0), GradientError, "has no argument 3"),
        (lambda: ag.grad(3), TypeError, "grad"),
        (lambda: ag.grad(primitive(lambda x: x))(1.0), NoGradientError, "no gradient is known"),
        (lambda: ag.make_vjp(lambda x: x)(X)[0](1.0), ValueError, "shape"),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_odeint_has_a_gradient() -> None:
    integrate = pytest.importorskip("tracejit.autograd.scipy.integrate")
    times = np.array([0.0, 1.0])
    slope = ag.grad(lambda k: integrate.odeint(lambda y, t: -k * y, 1.0, times)[1, 0])(1.0)
    assert slope == pytest.approx(-np.exp(-1.0), rel=1e-5)


def test_gradients_of_cholesky_are_divided_between_both_triangles() -> None:
    matrix = np.array([[4.0, 2.0], [2.0, 5.0]])
    found = ag.grad(lambda a: anp.sum(X * anp.linalg.cholesky(a)))(matrix)
    lower = ag.grad(lambda a: anp.sum(X * np.linalg.cholesky(a)))(matrix)
    same(found, 0.5 * (lower + lower.T))
    same(anp.linalg.cholesky(matrix), np.linalg.cholesky(matrix))


def test_numpy_has_autograds_own() -> None:
    same(ag.grad(lambda x: anp.mean((x, x + 2.0)))(0.0), 1.0)
    same(anp.make_diagonal(X[None], axis1=-1, axis2=-2), np.diag(X)[None])
    found = ag.grad(lambda x: anp.sum(anp.make_diagonal(x, axis1=-1, axis2=-2) ** 2))(X)
    same(found, 2.0 * X)
    with pytest.raises(NotImplementedError):
        anp.make_diagonal(X)


def test_distributions_are_modules() -> None:
    norm = pytest.importorskip("tracejit.autograd.scipy.stats.norm")
    gaussian = pytest.importorskip("tracejit.autograd.scipy.stats.multivariate_normal")
    same(ag.grad(norm.logpdf)(3.0, 1.0, 1.0), -2.0)
    same(ag.grad(gaussian.logpdf)(X, 0.0 * X, np.eye(2)), -X)


def test_checks_say_what_differs() -> None:
    wrong = primitive(lambda x, n: x**n)
    defvjp(wrong, lambda ans, x, n: lambda g: g * x)
    check = combo_check(wrong, 0, modes=["rev"], order=1)
    check([1.0], n=[1.0])
    with pytest.raises(AssertionError, match="is wrong"):
        check([1.0, 1.5], n=[1.0, 3.0])
    check_equivalent((X, 1.0), (X, 1.0))
    with pytest.raises(AssertionError, match="structure"):
        check_equivalent([X], (X,))
    with pytest.raises(AssertionError, match="differ"):
        check_equivalent([X], [X + 1.0])
    assert type(match_complex(1.0j, 2.0)) is complex
    same(replace_zero(np.array([0.0, 2.0]), 1.0), np.array([1.0, 2.0]))


def test_scipy_has_its_modules() -> None:
    special = pytest.importorskip("tracejit.autograd.scipy.special")
    stats = pytest.importorskip("tracejit.autograd.scipy.stats")
    linalg = pytest.importorskip("tracejit.autograd.scipy.linalg")
    signal = pytest.importorskip("tracejit.autograd.scipy.signal")
    same(ag.grad(special.logsumexp)(0.0 * X), np.array([0.5, 0.5]))
    same(ag.grad(lambda m: stats.norm.logpdf(3.0, m, 1.0))(1.0), 2.0)
    same(ag.grad(lambda x: anp.sum(linalg.solve_triangular(np.eye(2), x)))(X), 1.0 + 0.0 * X)
    same(ag.grad(lambda x: anp.sum(signal.convolve(x, X)))(X), 3.0 + 0.0 * X)
    same(ag.grad(lambda x: special.gammaln(x))(1.0), -0.5772156649015329)
    assert math.isclose(special.i0(1.0), 1.2660658777520084)
