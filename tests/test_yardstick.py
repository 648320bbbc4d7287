"""What users of autograd rely on, in TensorFlow's complex convention: products of derivatives with
vectors and tensors, containers, derivatives in derivatives, and NumPy functions of every kind of
operand, real and complex, against NumPy alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tests.by_day import some_by_day

RNG = np.random.default_rng(12)
MATRIX = RNG.normal(size=(4, 3))
POINT = RNG.normal(size=3)


def wave(x: Any) -> Any:
    """A number whose second derivatives mix all elements."""
    return np.sum(np.sin(x)) * np.sum(np.cos(x**2)) + np.prod(np.cos(x))


def layer(x: Any) -> Any:
    """A vector by a vector."""
    return np.tanh(MATRIX @ x) * x[0]


# Products


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 2)])
def test_a_hessian_times_a_tensor(shape: tuple[int, ...]) -> None:
    x, v = RNG.normal(size=shape), RNG.normal(size=shape)
    expected = np.tensordot(tj.hessian(wave)(x), v, x.ndim)
    pulled = tj.grad(lambda x: np.sum(tj.grad(wave)(x) * v))(x)
    slope = tj.grad(wave)
    for found in (tj.hvp(wave, x, v), pulled, tj.vjp(slope, x)[1](v)[0]):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    push = tj.linearize(slope, x)[1]
    np.testing.assert_allclose(push(v), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(push(2.0 * v), 2.0 * expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_tensor_times_a_jacobian(axes: int) -> None:
    def rolled(x: Any) -> Any:
        return np.roll(np.sin(x), 1) * np.sum(x, axis=0)

    x, v = RNG.normal(size=(3, 3)), RNG.normal(size=(3,) * axes)
    expected = np.tensordot(v, tj.jacobian(rolled)(x), axes)
    found = tj.jacobian(lambda x: np.tensordot(v, rolled(x), axes))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_a_gauss_newton_matrix_times_a_vector() -> None:
    def outer(y: Any) -> Any:
        return np.sum(2.0 * y**2 + y**4)

    v = RNG.normal(size=3)
    y, pull = tj.vjp(layer, POINT)
    push = tj.linearize(layer, POINT)[1]
    jacobian = tj.jacobian(layer)(POINT)
    expected = jacobian.T @ tj.hessian(outer)(y) @ jacobian @ v
    np.testing.assert_allclose(pull(tj.hvp(outer, y, push(v)))[0], expected, rtol=1e-12)


def test_forward_mode_by_transposing_reverse_mode_twice() -> None:
    v = RNG.normal(size=3)
    y, pull = tj.vjp(layer, POINT)
    twice = tj.vjp(lambda seed: pull(seed)[0], np.zeros_like(y))[1]
    np.testing.assert_allclose(twice(v)[0], tj.jvp(layer, POINT, v)[1], rtol=1e-12)


def test_a_jacobian_is_the_stack_of_gradients() -> None:
    rows = [
        lambda x: np.sum(x**3),
        lambda x: np.prod(np.sin(x) + np.sin(x)),
        lambda x: tj.grad(lambda y: np.exp(y) * np.tanh(x[0]))(x[1]),
    ]
    found = tj.jacobian(lambda x: np.stack([row(x) for row in rows]))(POINT)
    np.testing.assert_allclose(found, [tj.grad(row)(POINT) for row in rows], rtol=1e-12)
    found = tj.jacobian(lambda t: tnp.array([t, t**2, t**3]))(0.7)
    np.testing.assert_allclose(found, [1.0, 1.4, 3 * 0.49], rtol=1e-12)


def test_a_jacobian_of_a_jacobian_is_differentiated() -> None:
    def product(x: Any) -> Any:
        return np.sin(np.outer(x, x)) + np.cos(np.dot(x, x))

    second = tj.jacobian(tj.jacobian(product))
    x = POINT[:2]
    assert second(x).shape == (2, 2, 2, 2)
    tj.check_grads(lambda x: np.sum(np.sin(second(x))), x, order=1)


def test_elements_by_their_own_place() -> None:
    def f(a: Any, b: Any) -> Any:
        return a + np.sin(a) + np.cosh(b) * a

    b = RNG.normal(size=5)
    by_b = tj.elementwise_grad(f, 1)(0.9, b)
    np.testing.assert_allclose(by_b, [tj.grad(f, 1)(0.9, element) for element in b], rtol=1e-14)
    by_a = tj.elementwise_grad(f)(0.9, b)
    np.testing.assert_allclose(by_a, np.sum(1.0 + np.cos(0.9) + np.cosh(b)), rtol=1e-14)


# Arguments


def test_several_arguments_and_the_value() -> None:
    def f(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any = 1.1, g: Any = 9.0) -> Any:
        return a + np.sin(b) + np.cosh(c) + np.cos(d) + np.tan(e) + f + g

    args = (0.5, -0.3, 0.2, -1.1, 0.7)
    value, found = tj.value_and_grad(f, argnums=(3, 1))(*args, f=0.6, g=-0.1)
    assert value == f(*args, f=0.6, g=-0.1)
    np.testing.assert_allclose(found, (-np.sin(-1.1), np.cos(-0.3)), rtol=1e-14)
    by_name = tj.grad(f, argnames=("c", "g"))(*args, g=-0.1)
    np.testing.assert_allclose(by_name, (np.sinh(0.2), 1.0), rtol=1e-14)


def test_the_value_beside_a_gradient_is_differentiable() -> None:
    both = tj.value_and_grad(wave)
    tj.check_grads(lambda x: both(x)[0] * np.sum(both(x)[1]), POINT, order=1)


def by_key(d: Any) -> Any:
    """Of a dict, in the order of its keys."""
    total = 0.0
    for number, key in enumerate(sorted(d)):
        total = total + np.sum(np.sin(d[key])) * (number + 1.0)
    for value in d.values():
        total = total + np.sum(value**2)
    return total + sum(np.sum(np.cos(value)) for _, value in d.items())


CONTAINERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "a dict": (by_key, {"b": POINT, "a": MATRIX, "c": 0.5}),
    "a gradient that is a dict": (lambda d: by_key(tj.grad(by_key)(d)), {"b": POINT, "a": 0.5}),
    "a key with a default": (lambda d: d.get("a", 2.0) ** 2 + d.get("b", 2.0) ** 3, {"a": 3.0}),
    "slices of a list": (lambda x: x[1:][0] * x[:-1][0] + x[::-1][0] ** 2, [1.0, 2.0, 1.5]),
    "lists in a list": (lambda x: x[0][0] * x[1] + x[2] ** 2, [[1.0], 2.0, 1.5]),
    "a made list": (lambda x: [x, x * x], 1.5),
    "a made dict": (lambda x: {"a": x, "b": {"c": np.sin(x)}}, POINT),
    "a tuple in a derivative": (
        lambda x: np.sum(np.sin(np.stack(tj.grad(lambda y: y[0] * y[1])((x, x))))),
        0.7,
    ),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name: str) -> None:
    f, argument = CONTAINERS[name]
    tj.check_grads(f, (argument,), order=1 if "gradient" in name else 2)


def test_what_is_not_used_has_zeros() -> None:
    unused = {"used": POINT, "unused": MATRIX, "list": [1.0, (2.0, POINT)]}
    found = tj.grad(lambda d: np.sum(d["used"]) + d["list"][1][0])(unused)
    assert found["used"].tolist() == [1.0, 1.0, 1.0]
    assert not found["unused"].any()
    assert found["unused"].shape == MATRIX.shape
    assert found["list"][:1] == [0.0]
    assert found["list"][1][0] == 1.0
    assert found["list"][1][1].tolist() == [0.0, 0.0, 0.0]


def test_containers_are_flattened_and_rebuilt_by_a_pullback() -> None:
    def flat(tree: Any) -> Any:
        if isinstance(tree, dict):
            return np.concatenate([flat(tree[key]) for key in sorted(tree)])
        if isinstance(tree, (list, tuple)):
            return np.concatenate([flat(part) for part in tree]) if tree else np.zeros(0)
        return np.ravel(tree)

    tree = (1.0, MATRIX, [POINT, {"x": 2.0, "y": MATRIX.T}], (), 1.0 + 2.0j)
    vector, rebuild = tj.vjp(flat, tree)
    (rebuilt,) = rebuild(vector)
    np.testing.assert_array_equal(flat(rebuilt), vector)
    assert vector.shape == (1 + 12 + 3 + 1 + 12 + 1,)
    assert type(rebuilt[2][1]) is dict
    np.testing.assert_array_equal(rebuilt[2][1]["y"], MATRIX.T)


# Derivatives in derivatives


NESTED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a value from outside": (lambda x: x * tj.grad(lambda y: x * y)(2.0), (1.3,)),
    "the other way round": (lambda x: x * tj.grad(lambda y: y**2 * x)(x), (1.3,)),
    "fan-out": (lambda x: np.sin(np.sin(x) + np.sin(x)), (0.7,)),
    "an element and the whole": (lambda x: (x[0] + 1.5) + (x + 1.0) + (x + (x + 1.0)), (POINT,)),
    "a number in a complex sum": (
        lambda x: np.sum(np.sin(np.real((x + 1j) + ((x + 1j)[0] * 1j + 1.5)))),
        (POINT,),
    ),
    "a gradient in a product": (
        lambda x, v: np.sin(np.dot(v, tj.grad(lambda x: np.sin(np.dot(x, POINT)))(x))),
        (POINT, POINT**2),
    ),
    "one of two arguments": (
        tj.grad(tj.grad(lambda x, y: np.sin(np.sin(x) + np.sin(y)), 1), 0),
        (0.4, -0.8),
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_derivatives_in_derivatives(name: str) -> None:
    f, args = NESTED[name]
    tj.check_grads(f, args, order=1 if "gradient" in name else 2)


def test_constants_and_the_identity() -> None:
    assert tj.grad(lambda x: 1.0)(2.0) == 0.0
    assert tj.grad(lambda x: x)(2.0) == 1.0
    assert tj.grad(tj.grad(lambda x: x))(2.0) == 0.0
    assert not tj.jacobian(lambda x: MATRIX)(POINT).any()
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert tj.grad(lambda x, y, c=compare: 1.0 * c(x, y), (0, 1))(0.7, 1.8) == (0.0, 0.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64])
def test_the_precision_of_a_gradient_is_that_of_the_argument(dtype: Any) -> None:
    x = RNG.normal(size=(3, 3)).astype(dtype)
    found = tj.grad(lambda x: np.real(np.sum(x**2)))(x)
    assert found.dtype == dtype
    tolerance = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, np.conj(2 * x), rtol=tolerance)


# Complex numbers


def test_the_gradient_is_the_conjugate_of_the_derivative() -> None:
    z = 0.4 - 0.9j
    for f, slope in (
        (np.sin, np.cos(z)),
        (lambda z: z**3 / (1j + z), (3 * z**2 * (1j + z) - z**3) / (1j + z) ** 2),
        (lambda z: np.exp(z * 1j), 1j * np.exp(1j * z)),
    ):
        found = tj.grad(lambda z, f=f: np.real(f(z)))(z)
        assert abs(found - np.conj(slope)) < 1e-14
        assert abs(tj.vjp(f, z)[1](1.0 + 0j)[0] - np.conj(slope)) < 1e-14
        assert abs(tj.jvp(f, z, 1.0 + 0j)[1] - slope) < 1e-14
    with pytest.raises(TypeError, match="real floating result"):
        tj.grad(lambda x: x * (1.0 + 0.2j))(1.0)


def test_a_gradient_is_real_or_complex_as_its_argument() -> None:
    for f in (lambda x: np.sum(np.real(x)), lambda x: np.abs(x) ** 2, lambda x: np.angle(x + 2.0)):
        assert np.isrealobj(tj.grad(f)(1.5))
        assert np.iscomplexobj(tj.grad(f)(1.5 + 0.5j))


# Functions of NumPy


def complexes(*shape: int) -> Any:
    """Complex numbers whose modulus is between 0.5 and 1.5."""
    return RNG.uniform(0.5, 1.5, shape) * np.exp(1j * RNG.uniform(-1.2, 1.2, shape))


OPERANDS = {
    "number": 0.6,
    "complex number": 0.6 + 0.3j,
    "vector": RNG.uniform(0.5, 1.5, 2),
    "matrix": RNG.uniform(0.5, 1.5, (3, 2)),
    "complex row": complexes(1, 2),
}
BINARY: dict[str, Callable[..., Any]] = {
    "sum": operator.add,
    "quotient": operator.truediv,
    "power": operator.pow,
    "product of sines": lambda x, y: np.sin(x) * np.conj(y),
}


@pytest.mark.parametrize("name", some_by_day(BINARY, 4))
@pytest.mark.parametrize("first", OPERANDS)
def test_operands_of_every_pair_of_kinds(name: str, first: str) -> None:
    for y in OPERANDS.values():
        tj.check_grads(BINARY[name], (OPERANDS[first], y), order=1)


X, Z = RNG.normal(size=(3, 4)), complexes(2, 3)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "max of ties along an axis": (
        lambda x: np.max(np.stack([x, x]), axis=0),
        (X,),
    ),
    "std of complex numbers": (lambda z: np.std(z, axis=1, ddof=1, keepdims=True), (Z,)),
    "var over both axes": (lambda x: np.var(x, axis=(0, 1)), (X,)),
    "prod of complex numbers": (lambda z: np.prod(z, axis=0), (Z,)),
    "mean of a tuple": (lambda x: tnp.mean((x, 2.0)), (0.5,)),
    "norm of a tuple": (lambda x: tnp.linalg.norm((x, x + 2.0)), (0.5,)),
    "nuclear norm of complex numbers": (lambda z: np.linalg.norm(z, "nuc"), (Z,)),
    "svd by moduli": (
        lambda z: [np.abs(part) for part in np.linalg.svd(z, full_matrices=False)],
        (Z,),
    ),
    "eigh by moduli": (
        lambda z: [np.abs(part) for part in np.linalg.eigh(z @ np.conj(z).T, "U")],
        (Z,),
    ),
    "eig by moduli": (
        lambda z: [np.abs(part) for part in np.linalg.eig(z[:, :2] + np.diag([1.0, 3.0]))],
        (Z,),
    ),
    "pinv of a product": (lambda x: np.linalg.pinv(x.T @ x @ np.ones((4, 2))), (X[:1],)),
    "solve stacks": (
        lambda a, b: np.linalg.solve(a, b),
        (RNG.normal(size=(2, 3, 3)) + 5 * np.eye(3), RNG.normal(size=(2, 3, 2))),
    ),
    "einsum of an ellipsis": (lambda x, z: np.einsum("...i,ij->...j", x[:, :2], z), (X, Z)),
    "einsum of one operand": (lambda x: np.einsum("ii->i", x[:, :3]), (X,)),
    "tensordot by pairs of axes": (
        lambda x, y: np.tensordot(x, y, axes=[(0, 2), (1, 0)]),
        (RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 2, 5))),
    ),
    "dot of a complex matrix and a vector": (np.dot, (Z, POINT)),
    "inner of stacks": (np.inner, (RNG.normal(size=(2, 3, 4)), X)),
    "kron of complex numbers": (np.kron, (Z, np.array([1.0, 2.0]))),
    "outer of a number": (lambda x, y: np.outer(x, y), (0.5, POINT)),
    "rows repeated": (lambda x: np.repeat(x, 2, axis=0) * np.arange(1.0, 7.0)[:, None], (X,)),
    "tiles": (lambda x: np.tile(x, (2, 1, 2)), (X,)),
    "a pad of every side": (lambda x: np.pad(x, ((1, 2), (0, 3)), "constant"), (X,)),
    "an advanced index twice": (lambda x: x[[0, 0, 2], 1:3], (X,)),
    "an index, a mask and a new axis": (lambda x: x[None, 1, X[0] > 0], (X,)),
    "trace of a stack": (lambda x: np.trace(x, 1, 1, 2), (RNG.normal(size=(2, 3, 4)),)),
    "a diagonal of a stack": (
        lambda x: np.diagonal(x, axis1=-1, axis2=-2),
        (RNG.normal(size=(2, 3, 3)),),
    ),
    "a sort and a partition": (lambda x: np.sort(x, axis=0) + np.partition(x, 1, axis=1), (X,)),
    "a gradient along two axes": (lambda x: np.gradient(x, axis=(0, 1)), (X,)),
    "cumsum along an axis": (lambda x: np.cumsum(x, axis=1) * np.cumsum(x)[2], (X[:2],)),
    "linspace between numbers": (lambda a, b: np.linspace(a, b, 5), (0.3, 1.2)),
    "select by conditions": (
        lambda x: np.select([x > 0.5, x < -0.5], [x**2, -x], 3.0 * x),
        (X,),
    ),
    "arrays in brackets": (
        lambda x: np.sum(tnp.c_[x, POINT, x**2]) * tnp.r_[x, 1:3, 0.5],
        (POINT,),
    ),
    "columns and rows": (
        lambda x: np.column_stack([x, X @ X[0]]) @ np.vstack([x[:2], x[1:]]),
        (POINT,),
    ),
    "plain arrays on either side": (lambda x: MATRIX.T[:, :3] * x + x / MATRIX[:3, 0], (POINT,)),
    "an integer column as an index": (lambda x: x[np.abs(x[:, 0]).astype(int)], (X,)),
    "ffts of both kinds": (lambda x: np.fft.irfft2(np.fft.rfft2(x) * Z[0, 0], (3, 4)), (X,)),
    "fft of a longer frame": (lambda z: np.fft.fftn(z, (4, 5), (0, 1), "ortho"), (Z,)),
    "a branch on a value": (lambda x: x**2 if np.iscomplex(x) else np.sin(x), (2.0 + 1.0j,)),
    "an assertion of a value": (lambda x: checked(x), (POINT,)),
}


def checked(x: Any) -> Any:
    """A number, of arguments that are what they are."""
    assert np.allclose(x, (x * 3.0) / 3.0)
    return np.sum(x**3)


@pytest.mark.parametrize("name", some_by_day(FUNCTIONS, 4))
def test_functions(name: str) -> None:
    f, args = FUNCTIONS[name]
    tj.check_grads(f, args, order=2 if "moduli" not in name else 1)
