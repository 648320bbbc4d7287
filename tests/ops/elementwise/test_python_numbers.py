"""Conversions to Python numbers, and the arithmetic of what they give."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.elementwise.python_numbers import (
    CONVERSIONS,
    python_complex_of_parts,
    python_round,
)

X = np.array([1.5, 0.4, 2.25])
FLOAT = CONVERSIONS[float]

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "%": operator.mod, "**": operator.pow, "neg": lambda a, b: -a * b, "abs": lambda a, b: abs(a),
    "mixed": lambda a, b: a**2 / (b + 1.0) - 3.0 * a,
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_arithmetic_of_floats_is_pythons_and_has_derivatives(name: str) -> None:
    program = PROGRAMS[name]

    def recorded(x: Any) -> Any:
        return program(FLOAT(x[0]), FLOAT(x[1]))

    found = tj.function(recorded)(X)
    assert type(found) is float
    assert found == program(1.5, 0.4)
    steps = 1e-6 * np.eye(3)
    plain = [program(*map(float, x[:2])) for x in (*(X + steps), *(X - steps))]
    expected = (np.array(plain[:3]) - plain[3:]) / 2e-6
    np.testing.assert_allclose(tj.grad(recorded)(X), expected, atol=1e-8)
    tangent = tj.jvp(recorded, (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(tangent, np.sum(expected), atol=1e-8)


@pytest.mark.parametrize("kind", CONVERSIONS)
def test_conversions_are_pythons(kind: type) -> None:
    found = tj.function(lambda x: CONVERSIONS[kind](x[2]))(X)
    assert type(found) is kind
    assert found == kind(2.25)


def test_conversions_are_batched() -> None:
    rows = np.stack([X, X + 1.0])
    found = tj.vmap(lambda x: FLOAT(x[0]) * 2.0 + CONVERSIONS[int](x[2]))(rows)
    np.testing.assert_array_equal(found, [5.0, 8.0])


def test_a_complex_of_parts_has_the_derivatives_of_both() -> None:
    def loss(x: Any) -> Any:
        return abs(python_complex_of_parts(x[0], x[1])) ** 2

    np.testing.assert_allclose(tj.grad(loss)(X), [3.0, 0.8, 0.0], atol=1e-12)


def test_a_number_is_pythons_on_one_side_alone() -> None:
    def counted(x: Any) -> Any:
        total = 0.0
        for number in x:
            if number > 1.0:
                total = total + number
        return total

    compiled = tj.function(counted)
    for x in (X, np.zeros(3), np.full(3, 2.0)):
        found, wanted = compiled(x), counted(x)
        assert type(found) is type(wanted)
        assert found == wanted
    assert compiled.tracing_count == 1
    np.testing.assert_array_equal(tj.grad(counted)(X), np.where(X > 1.0, 1.0, 0.0))
    rows = np.stack([X, X - 3.0])
    np.testing.assert_array_equal(tj.vmap(counted)(rows), [counted(row) for row in rows])


def test_rounding_is_pythons() -> None:
    def rounded(x: Any) -> Any:
        return python_round(FLOAT(x[2]), digits=None), python_round(FLOAT(x[2]), digits=1)

    assert tj.function(rounded)(X) == (2, round(2.25, 1))
