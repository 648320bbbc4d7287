"""Functions of `math`, bit for bit, with the derivatives of differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.base.op import Op
from tracejit.ops.elementwise.python_math import MATH_OPS, math_fsum, python_sum, python_sumprod
from tracejit.ops.elementwise.python_numbers import CONVERSIONS
from tracejit.ops.scipy.special.python_functions import SPECIAL_OPS

OPS = {**MATH_OPS, **SPECIAL_OPS}
SMOOTH = sorted(OPS.keys() - {"ldexp", "nextafter", "copysign"})


def _arguments(name: str, op: Op) -> np.ndarray:
    count = (
        op.source.count("{") if isinstance(op.source, str) and "operands" not in op.source else 3
    )
    return np.array([1.3 if name == "acosh" else 0.7, 0.4, 0.9][:count])


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_of_math_have_their_values_and_derivatives(name: str) -> None:
    op, x = OPS[name], _arguments(name, OPS[name])

    def recorded(x: Any) -> Any:
        return op(*[x[k] for k in range(x.shape[0])])

    plain = getattr(math, name)
    assert tj.function(recorded)(x) == plain(*x)
    steps = 1e-6 * np.eye(x.size)
    expected = [(plain(*(x + step)) - plain(*(x - step))) / 2e-6 for step in steps]
    np.testing.assert_allclose(tj.grad(recorded)(x), expected, rtol=1e-7, atol=1e-8)
    batch = tj.vmap(recorded)(np.stack([x, x]))
    np.testing.assert_allclose(batch, [plain(*x)] * 2, rtol=1e-12)


def test_an_exact_sum_is_pythons() -> None:
    x = np.array([1e16, 1.0, -1e16])
    assert tj.function(lambda x: math_fsum(x[0], x[1], x[2]))(x) == math.fsum(x) == 1.0


def _floats(x: Any) -> list[Any]:
    return [CONVERSIONS[float](x[k]) for k in range(x.shape[0])]


def test_a_sum_is_that_of_the_python_that_computes_it() -> None:
    x = np.array([1e16, 1.0, -1e16])
    compiled = tj.function(lambda x: python_sum(0.5, *_floats(x)))
    assert compiled(x) == sum(x.tolist(), 0.5)
    assert "sum((" in compiled.source
    minus = -np.zeros(2)
    assert str(tj.function(lambda x: python_sum(-0.0, *_floats(x)))(minus)) == "-0.0"
    np.testing.assert_array_equal(tj.grad(lambda x: python_sum(0, *_floats(x)))(x), np.ones(3))
    batch = tj.vmap(lambda x: python_sum(0, *_floats(x)))(np.ones((2, 3)))
    np.testing.assert_array_equal(batch, [3.0, 3.0])


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="math.sumprod is new in Python 3.12")
def test_a_sum_of_products_is_rounded_once() -> None:
    p, q = np.array([0.1, 1e9 + 1.0, 3.0]), np.array([10.0, 1e9 - 1.0, -1.0])

    def products(p: Any, q: Any) -> Any:
        return python_sumprod(*_floats(p), *_floats(q))

    assert tj.function(products)(p, q) == math.sumprod(p.tolist(), q.tolist())
    p_bar, q_bar = tj.grad(products, argnums=(0, 1))(p, q)
    np.testing.assert_array_equal(p_bar, q)
    np.testing.assert_array_equal(q_bar, p)
    np.testing.assert_array_equal(tj.vmap(products)(np.ones((2, 3)), np.ones((2, 3))), [3.0, 3.0])


def test_a_scaled_number_has_its_slope() -> None:
    assert tj.grad(lambda x: MATH_OPS["ldexp"](x[0], 3))(np.array([0.7])) == 8.0
