"""Second derivatives where a length is zero: right where the function is smooth there, or nan."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.ops.program import quiet
from tests.rows import each_row

norm: Any = np.linalg.norm
EYE = np.eye(2)
CENTERED = np.array([[0.5, -0.5], [-0.5, 0.5]])
NOT_KNOWN = np.full((2, 2), np.nan)


def rows(x: Any) -> Any:
    return norm(x[None], axis=1)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@each_row(
    ("call", "expected"),
    [
        (lambda x: norm(x) ** 2, 2 * EYE),
        (lambda x: norm(x) ** 4, 0 * EYE),
        (lambda x: norm(x) * norm(x), 2 * EYE),
        (lambda x: np.exp(-(norm(x) ** 2)), -2 * EYE),
        (lambda x: np.sum(np.abs(x) ** 2), 2 * EYE),
        (lambda x: np.hypot(x[0], x[1]) ** 2, 2 * EYE),
        (lambda x: math.hypot(x[0], x[1]) ** 2, 2 * EYE),
        (lambda x: math.dist(x, (0.0, 0.0)) ** 2, 2 * EYE),
        (lambda x: math.exp(-math.hypot(x[0], x[1])), NOT_KNOWN),
        (lambda x: np.std(x) ** 2, CENTERED),
        (lambda x: np.abs(x[0] + 1j * x[1]) ** 2, 2 * EYE),
        (lambda x: np.cos(norm(x)), -EYE),
        (lambda x: np.cos(norm(x)) * (1.0 + x[0]), -EYE),
        (lambda x: np.cos(np.hypot(x[0], x[1])), -EYE),
        (lambda x: np.cos(2 * np.std(x)), -2 * CENTERED),
        (lambda x: np.cos(np.abs(x[0] + 1j * x[1])), -EYE),
        (lambda x: np.sum((1 + np.abs(x)) * np.exp(-np.abs(x))), -EYE),
        (lambda x: (1 + norm(x)) * np.exp(-norm(x)), -EYE),
        (lambda x: np.sum(np.cos(rows(x))), -EYE),
        (lambda x: np.exp(-np.sum(np.cos(rows(x)))), np.exp(-1.0) * EYE),
        (lambda x: norm(x), NOT_KNOWN),
        (lambda x: norm(x, 3), NOT_KNOWN),
        (lambda x: np.exp(-norm(x)), NOT_KNOWN),
        (lambda x: x[0] * norm(x), NOT_KNOWN),
        (lambda x: np.hypot(x[0], x[1]), NOT_KNOWN),
        (lambda x: np.std(x), NOT_KNOWN),
        (lambda x: np.abs(x[0] + 1j * x[1]), NOT_KNOWN),
        (lambda x: np.sum(np.abs(x)), 0 * EYE),
        (lambda x: norm(x, 3) ** 3, 0 * EYE),
        (lambda x: norm(x, 4) ** 4, 0 * EYE),
    ],
)
def test_the_hessian_at_the_tip_is_right_or_nan(call: Any, expected: Any, mode: Any) -> None:
    found = tj.jacobian(tj.grad(tj.function(call, cache=False)), mode=mode)
    with quiet():
        np.testing.assert_allclose(found(np.zeros(2)), expected, atol=1e-15)
    away = found(np.array([0.3, 0.4]))
    h, slope = 1e-6, tj.grad(tj.function(call, cache=False))
    moved = [(slope([0.3, 0.4] + h * v) - slope([0.3, 0.4] - h * v)) / (2 * h) for v in np.eye(2)]
    np.testing.assert_allclose(away, moved, atol=1e-8)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
@each_row(
    "call",
    [
        lambda x: norm(x, 3) ** 2,
        lambda x: norm(x, 1.5),
        lambda x: norm(x, 1.5) ** 2,
        lambda x: np.nanstd(x),
        lambda x: np.nanstd(x) ** 2,
        lambda x: np.std(x, where=np.array([True, True])) ** 2,
        lambda x: np.std(x, mean=np.mean(x, keepdims=True)),
    ],
)
def test_what_has_no_hessian_at_the_tip_or_does_not_show_it_is_nan(call: Any, mode: Any) -> None:
    compiled = tj.function(call, cache=False)
    with quiet():
        found = tj.jacobian(tj.grad(compiled), mode=mode)(np.zeros(2))
    assert np.isnan(np.diagonal(found)).all()
    np.testing.assert_array_equal(tj.grad(compiled)(np.zeros(2)), np.zeros(2))


def matern(a: Any, b: Any) -> Any:
    r = np.sqrt(5.0) * norm(a - b)
    return (1 + r + r * r / 3) * np.exp(-r)


def test_mixed_derivatives_of_a_kernel() -> None:
    x = np.array([0.5, 0.5])
    found = tj.jacobian(tj.grad(tj.function(matern, cache=False), argnums=1))(x, x.copy())
    np.testing.assert_allclose(found, 5 / 3 * EYE)


def test_points_that_do_not_move_apart_add_nothing() -> None:
    def likelihood(scale: Any, x: Any) -> Any:
        r = norm((x[:, None] - x[None]) / scale, axis=-1)
        return np.linalg.slogdet(np.exp(-r) + 0.1 * np.eye(4))[1]

    x, h = np.random.default_rng(0).normal(size=(4, 2)), 1e-5
    slope = tj.grad(tj.function(likelihood, cache=False))
    found = tj.jacobian(slope)(1.5, x)
    expected = (slope(1.5 + h, x) - slope(1.5 - h, x)) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_third_derivatives_at_the_tip_are_right_or_nan() -> None:
    third = tj.jacobian(tj.hessian(tj.function(lambda x: norm(x) ** 2, cache=False)))
    assert not third(np.zeros(2)).any()
    with quiet():
        for call in (norm, lambda x: norm(x) ** 3, lambda x: np.cos(norm(x))):
            third = tj.jacobian(tj.hessian(tj.function(call, cache=False)))(np.zeros(2))
            assert np.isnan(third).any()


def test_nested_tapes_answer_the_same() -> None:
    x = tj.constant(np.zeros(2))
    for call, expected in ((lambda x: norm(x) ** 2, 2.0), (lambda x: np.cos(norm(x)), -1.0)):
        with tj.GradientTape() as outer:
            outer.watch(x)
            with tj.GradientTape() as inner:
                inner.watch(x)
                y = call(x)
            total = np.sum(inner.gradient(y, x))
        np.testing.assert_allclose(outer.gradient(total, x), [expected, expected])


def test_the_gradient_of_a_square_does_not_divide() -> None:
    slope = tj.grad(tj.function(lambda x: norm(x) ** 2, cache=False))
    assert slope(np.zeros(2)).tolist() == [0.0, 0.0]
    assert "where" not in slope.source
    assert "/" not in slope.source.split("SIGNATURE")[1]


@each_row(
    ("call", "degree"),
    [
        (lambda x: np.arctan2(x[0], x[1]), -1),
        (lambda x: np.angle(x[0] + 1j * x[1]), -1),
        (lambda x: np.hypot(x[0], x[1]), 0),
        (lambda x: np.abs(x[0] + 1j * x[1]), 0),
        (lambda x: np.sign(x[0] + 1j * x[1]).real, -1),
        (lambda x: np.log(x[0] + 1j * x[1]).real, -1),
        (lambda x: np.sqrt(x[0] + 1j * x[1]).real, -0.5),
        (lambda x: ((x[0] + 1j * x[1]) / (x[1] - 2j * x[0])).real, -1),
    ],
)
def test_gradients_of_tiny_and_huge_numbers(call: Any, degree: float) -> None:
    slope = tj.grad(tj.function(call, cache=False))
    for kind, scales in (("f8", (1e-300, 1e-200, 1e200)), ("f4", (1e-30, 1e30))):
        x = np.array([0.3, 0.4], kind)
        for scale in scales:
            found = slope((x * scale).astype(kind)).astype("f8")
            expected = slope(x) * scale**degree
            np.testing.assert_allclose(found, expected, rtol=1e-12 if kind == "f8" else 1e-5)
