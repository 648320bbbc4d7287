"""The types of every public function's answer, as checkers infer them and as a run finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tracejit as tj
import tracejit.numpy as tnp
from tests.typing.truth import assert_type
from tracejit.scipy import special

Vector = NDArray[np.float64]
Line = np.ndarray[tuple[int], np.dtype[np.float64]]
x = np.arange(1.0, 4.0)
whole: Vector = x


class Point(NamedTuple):
    place: Vector
    speed: Vector


def scalar(w: Vector, k: float = 2.0) -> np.float64:
    return np.sum(w**2) * k


def product(w: Vector, v: Vector) -> np.float64:
    return np.sum(w * v)


def triple(w: Vector, v: Vector, k: float) -> np.float64:
    return np.sum(w * v) * k


def energy(point: Point, weights: dict[str, Vector]) -> np.float64:
    return np.sum(point.place * point.speed * weights["w"])


def doubled(w: Vector) -> Vector:
    return w * 2.0


def cube(t: float) -> float:
    return t**3


def curve(t: float) -> Vector:
    return np.stack([np.cos(t), np.sin(t)])


def parts(w: Vector) -> dict[str, Vector]:
    return {"w": w, "double": w * 2.0}


def with_aux(w: Vector, k: float = 2.0) -> tuple[np.float64, dict[str, Vector]]:
    return np.sum(w**2) * k, {"w": w}


def rows_with_aux(w: Vector) -> tuple[Vector, Vector]:
    return w**2, w


def gradients() -> None:
    assert_type(tj.grad(scalar)(whole), Vector)
    assert_type(tj.grad(scalar, 1)(whole, k=3.0), float)
    assert_type(tj.grad(scalar, argnums=(0, 1))(w=whole, k=3.0), tuple[Vector, float])
    assert_type(tj.grad(triple, (0, 1, 2))(whole, whole, 3.0), tuple[Vector, Vector, float])
    assert_type(tj.grad(triple, 2)(whole, whole, 3.0), float)
    assert_type(tj.value_and_grad(triple, 2)(whole, whole, 3.0), tuple[np.float64, float])
    assert_type(tj.grad(cube)(2.0), float)
    assert_type(tj.grad(tj.grad(cube))(2.0), float)
    point = Point(whole, whole)
    assert_type(tj.grad(energy)(point, {"w": whole}), Point)
    assert_type(tj.grad(energy, 1)(point, {"w": whole}), dict[str, Vector])
    assert_type(tj.grad(with_aux, has_aux=True)(whole), tuple[Vector, dict[str, Vector]])
    assert_type(tj.value_and_grad(scalar)(whole), tuple[np.float64, Vector])
    assert_type(tj.value_and_grad(scalar, 1)(whole), tuple[np.float64, float])
    assert_type(
        tj.value_and_grad(scalar, (0, 1))(whole, 3.0), tuple[np.float64, tuple[Vector, float]]
    )
    assert_type(
        tj.value_and_grad(with_aux, has_aux=True)(whole),
        tuple[tuple[np.float64, dict[str, Vector]], Vector],
    )
    assert_type(tj.grad(product, argnames="v")(whole, whole), Any)


def derivatives() -> None:
    assert_type(tj.elementwise_grad(doubled)(whole), Vector)
    assert_type(tj.elementwise_grad(rows_with_aux, has_aux=True)(whole), tuple[Vector, Vector])
    assert_type(tj.deriv(curve)(0.5), Vector)
    assert_type(tj.deriv(cube)(0.5), float)
    assert_type(tj.jacobian(doubled)(whole), Vector)
    assert_type(tj.jacobian(curve)(0.5), Vector)
    assert_type(tj.jacobian(cube)(0.5), float)
    assert_type(tj.jacobian(product, (0, 1))(whole, whole), tuple[Vector, Vector])
    assert_type(tj.jacobian(rows_with_aux, has_aux=True)(whole), tuple[Vector, Vector])
    assert_type(tj.jacfwd(doubled)(whole), Vector)
    assert_type(tj.jacrev(doubled)(whole), Vector)
    assert_type(tj.jacobian(parts)(whole), Any)
    assert_type(tj.jacobian(doubled, sparse=True)(whole), Any)
    assert_type(tj.hessian(scalar, sparse=True)(whole), Any)
    assert_type(tj.hessian(scalar)(whole), Vector)
    assert_type(tj.hessian(cube)(0.5), float)


def directions() -> None:
    assert_type(tj.jvp(cube, (2.0,), (1.0,)), tuple[float, float])
    assert_type(tj.jvp(curve, 2.0, 1.0), tuple[Vector, Vector])
    assert_type(
        tj.jvp(rows_with_aux, (whole,), (whole,), has_aux=True), tuple[Vector, Vector, Vector]
    )
    value, pull = tj.vjp(product, whole, whole)
    assert_type(value, np.float64)
    assert_type(pull(1.0), tuple[Vector, Vector])
    value, pushed = tj.linearize(product, whole, whole)
    assert_type(pushed(whole, whole), np.float64)
    assert_type(tj.hvp(scalar, whole, whole), Vector)
    assert_type(tj.hvp(product, (whole, whole), (whole, whole)), tuple[Vector, Vector])
    matrix: Vector = np.ones((2, 3))
    assert_type(tj.vmap(doubled)(matrix), Vector)
    assert_type(tj.vmap(curve)(x), Vector)
    assert_type(tj.vmap(cube)(x), NDArray[Any])
    assert_type(tj.vmap(parts)(matrix), dict[str, Vector])
    assert_type(tj.check_grads(scalar, (x,), order=1), None)


def of_functions(
    f: Callable[[Vector, float], np.float64], g: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    assert_type(tj.grad(f)(whole, 2.0), Vector)
    assert_type(tj.value_and_grad(f, (0, 1))(whole, 2.0), tuple[np.float64, tuple[Vector, float]])
    assert_type(tj.elementwise_grad(g)(whole), NDArray[Any])
    tj.jacobian(g)(whole)
    assert_type(tj.function(g)(whole), NDArray[Any])


def functions() -> None:
    of_functions(lambda w, k: np.sum(w) * k, lambda w: w * 2.0)
    assert_type(tj.elementwise_grad(np.sin)(whole), Any)
    assert_type(tj.jacobian(np.sin)(whole), Any)
    assert_type(tj.vmap(np.sin)(whole), Any)


def loops() -> None:
    def step(carry: Vector, element: float) -> tuple[Vector, float]:
        return carry + element, np.sum(carry)

    def silent(carry: Vector, element: float) -> tuple[Vector, None]:
        return carry * element, None

    assert_type(tj.scan(step, whole, x), tuple[Vector, NDArray[Any]])
    assert_type(tj.scan(silent, 1.0 * whole, x), tuple[Vector, None])
    assert_type(tj.fori_loop(0, 3, lambda i, value: value * (i + 1), whole), Vector)
    assert_type(tj.while_loop(lambda value: np.sum(value) < 100.0, doubled, whole), Vector)
    assert_type(tj.cond(True, doubled, lambda w: w, whole), Vector)
    assert_type(tj.switch(1, [doubled, doubled], whole), Vector)


def markers() -> None:
    @tj.custom_gradient
    def clipped(w: Vector, most: float = 1.0) -> tuple[Vector, Any]:
        def rule(upstream: Vector) -> Vector:
            return most * upstream

        return w, rule

    @tj.primitive
    def opaque(w: Vector) -> Vector:
        return w

    assert_type(clipped(whole, most=2.0), Vector)
    assert_type(tj.grad_pass_through(doubled)(whole), Vector)
    assert_type(tj.recompute_grad(doubled)(whole), Vector)
    assert_type(opaque(whole), Vector)
    assert_type(tj.stop_gradient({"w": whole}), dict[str, Vector])
    assert_type(tj.callback(str, whole), None)
    assert_type(tj.callback(doubled, whole, result=tj.TensorSpec((3,))), NDArray[Any])


def tapes() -> None:
    w, v = tj.constant(x), tj.Variable(x)
    assert_type(v.value(), tj.Tensor)
    assert_type(v.numpy(), NDArray[Any])
    assert_type(v.assign_add(x), tj.Tensor)
    with tj.GradientTape(persistent=True) as tape:
        tape.watch(w)
        y = ((2.0 * w @ v) ** 2).sum()
    assert_type(y, tj.Tensor)
    assert_type(tape.gradient(y, w), tj.Tensor | None)
    assert_type(tape.gradient(y, w, unconnected_gradients="zero"), tj.Tensor)
    assert_type(tape.gradient(y, [w, v]), list[tj.Tensor | None])
    assert_type(tape.gradient(y, (v, w)), tuple[tj.Tensor | None, ...])
    assert_type(tape.gradient(y, {"v": v}), dict[str, tj.Tensor | None])
    assert_type(tape.jacobian(w * 2.0, v), tj.Tensor | None)
    assert_type(tape.watched_variables(), tuple[tj.Variable, ...])
    with tj.ForwardAccumulator(w, x) as accumulator:
        moved = w * w
    assert_type(accumulator.jvp(moved), tj.Tensor | None)

    @tj.function
    def slope(w: Vector) -> Vector:
        (found,) = tj.gradients(np.sum(w**3), w, unconnected_gradients="zero")
        return found

    assert_type(slope(whole), Vector)


def arrays() -> None:
    assert_type(tnp.zeros(3), Line)
    assert_type(tnp.fft.fft(x).ndim, int)
    assert_type(tnp.random.default_rng(0), np.random.Generator)
    assert_type(tj.random.default_rng(0).normal(size=3), Vector)
    assert_type(special.gammaln(2.0), Any)


class Methods:
    @tj.function
    def method(self, w: Vector, k: float = 2.0) -> np.float64:
        return np.sum(w) * k

    @staticmethod
    @tj.function
    def static(w: Vector) -> np.float64:
        return np.sum(w)

    @classmethod
    @tj.function(cache=False)
    def of_class(cls, w: Vector) -> np.float64:
        return np.sum(w)

    @tj.grad_pass_through
    def marked(self, w: Vector) -> Vector:
        return w


def methods() -> None:
    made = Methods()
    assert_type(made.method(whole, k=3.0), np.float64)
    assert_type(Methods.static(whole), np.float64)
    assert_type(made.static(whole), np.float64)
    assert_type(Methods.of_class(whole), np.float64)
    assert_type(made.marked(whole), Vector)
    assert_type(tj.grad(made.method)(whole), Vector)
    assert_type(made.method.explain(), str)
    assert_type(made.method.tracing_count, int)
