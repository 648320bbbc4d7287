"""Helpers of generated modules: what they compute, and that a module has those that it calls."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rewrites import special
from tracejit.ops.base.helpers import HELPERS, TEXTS


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", [(12,), (1, 12), (0,), (3, 12)])
def test_choices_are_those_of_where_to_the_bit(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.resize(special(dtype), shape)
    condition = np.resize(np.array([True, False, True, True, False]), shape[-1:])
    bits = np.int64 if dtype == "f8" else np.int32
    chosen = HELPERS.kept_where(condition, x, bits)
    other = HELPERS.kept_unless(condition, x, bits)
    assert chosen.tobytes() == np.where(condition, x, x.dtype.type(0.0)).tobytes()
    assert other.tobytes() == np.where(condition, x.dtype.type(0.0), x).tobytes()
    assert chosen.dtype == other.dtype == x.dtype


def test_gaps_alone_are_filled() -> None:
    rows = np.arange(12.0)
    HELPERS.fill_gaps(rows, 8, 3, 4, -0.0)
    np.testing.assert_array_equal(rows, [0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10, 11])
    assert np.signbit(rows[[3, 7]]).all()


@pytest.mark.parametrize("name", TEXTS)
def test_each_says_in_one_line_what_it_computes(name: str) -> None:
    (function,) = ast.parse(TEXTS[name]).body
    assert isinstance(function, ast.FunctionDef)
    assert function.name == name
    docstring = ast.get_docstring(function)
    assert docstring
    assert len(docstring.splitlines()) == 1


def test_a_module_has_the_helpers_that_it_calls_once() -> None:
    def loss(kept_where: Any) -> Any:  # a name of the user's
        return np.sum(np.where(kept_where > 0.0, np.sin(kept_where), 0.0) ** 2)

    x = np.linspace(-1.0, 1.0, 5000)
    gradient = tj.value_and_grad(tj.function(loss, cache=False))
    exact = tj.value_and_grad(tj.function(loss, cache=False, exact=True))
    np.testing.assert_allclose(gradient(x)[1], exact(x)[1], rtol=1e-14)
    assert gradient.source.count("\ndef kept_where(") == 1
    assert "def fill_gaps" not in gradient.source
    assert ".view(" not in gradient.source.partition("\ndef forward")[2]
    assert "def kept_where" not in exact.source
