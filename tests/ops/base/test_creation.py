"""Constants made like a recorded array: how they are spelled, and that they keep nothing alive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import record, run
from tests.support.graphs import ops_of
from tracejit.ir.types import type_of
from tracejit.ops.base.creation import directions
from tracejit.support.errors import ShapeError, UnsupportedError

X = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: np.zeros_like(x), "np.zeros((2, 3))"),
        (lambda x: np.empty_like(x), "np.zeros((2, 3))"),
        (lambda x: np.ones_like(x, np.float32), "np.ones((2, 3), np.float32)"),
        (lambda x: np.zeros_like(x, bool, shape=4), "np.zeros(4, np.bool_)"),
        (lambda x: np.full_like(x, 0.0), "np.zeros((2, 3))"),
        (lambda x: np.full_like(x, -0.0), "np.full((2, 3), -0.0)"),
        (lambda x: np.full_like(x, 2), "np.full((2, 3), 2.0)"),
        (lambda x: np.full_like(x, 0.1, np.float32), "np.full((2, 3), 0.1, np.float32)"),
        (lambda x: np.full_like(x, np.nan), "np.full((2, 3), np.nan)"),
        (lambda x: np.full_like(x, -np.inf), "np.full((2, 3), -np.inf)"),
        (lambda x: np.full_like(x, 2, int), "np.full((2, 3), 2)"),
        (lambda x: np.full_like(x, 2j, complex), "np.full((2, 3), 2j)"),
        (lambda x: np.full_like(x, np.inf, "c8"), "np.full((2, 3), np.inf, np.complex64)"),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    (node,) = record(call, X)[0].nodes
    assert node.op.template([], node.params) == spelling


@pytest.mark.parametrize(
    ("shape", "dtype", "rows", "spelling"),
    [
        ((6,), np.float64, (0, 6), "np.eye(6)"),
        ((6,), np.float32, (0, 6), "np.eye(6, dtype=np.float32)"),
        ((6,), np.float64, (4, 6), "np.eye(2, 6, 4)"),
        ((2, 3), np.complex128, (0, 6), "np.eye(6, dtype=np.complex128).reshape(6, 2, 3)"),
        ((2, 3), np.float64, (2, 5), "np.eye(3, 6, 2).reshape(3, 2, 3)"),
        ((), np.float64, (0, 1), "np.eye(1).reshape(1)"),
        ((0,), np.float64, (0, 0), "np.eye(0)"),
        ((2, 0), np.float64, (0, 0), "np.eye(0).reshape(0, 2, 0)"),
    ],
)
def test_directions(shape: Any, dtype: Any, rows: tuple[int, int], spelling: str) -> None:
    params = {"shape": shape, "dtype": np.dtype(dtype), "start": rows[0], "stop": rows[1]}
    assert directions.template([], params) == spelling
    found = directions.evaluate(**params)
    size = int(np.prod(shape))
    assert type_of(found) is directions.infer(**params)
    np.testing.assert_array_equal(found, np.eye(size).reshape(size, *shape)[slice(*rows)])


def test_constants_have_no_operands() -> None:
    (node,) = record(lambda x: np.ones_like(x), X)[0].nodes
    assert node.operands == ()


def test_equal_constants_are_one() -> None:
    graph = record(lambda x: np.zeros_like(x) + np.full_like(x, 0.0) + np.empty_like(x), X)[0]
    assert ops_of(graph).count("full") == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.zeros_like(x, order="F"), UnsupportedError, "order='F'"),
        (lambda x: np.full_like(x, [1.0, 2.0]), ShapeError, "broadcast"),
        (lambda x: np.linspace(x, 1.0, -1), ShapeError, "must be non-negative"),
        (lambda x: np.linspace(x, np.ones(2)), ShapeError, "broadcast"),
        (lambda x: np.linspace(x, 1.0, device="cpu"), UnsupportedError, "keyword device"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)
