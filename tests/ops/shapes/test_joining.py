"""What joins take, how they are spelled, and which of them are refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpret import record, run
from tests.support.graphs import ops_of, template_of
from tracejit.support.errors import ShapeError, UnsupportedError

X = np.ones((2, 3))
V = np.ones(3)


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: np.concatenate((x, x)), "np.concatenate(({0}, {1}))"),
        (lambda x: np.concatenate([x], axis=-1), "np.concatenate(({0},), axis=1)"),
        (lambda x: np.stack((x, x), axis=2), "np.stack(({0}, {1}), axis=2)"),
        (lambda x: np.stack((x, x)), "np.array(({0}, {1}))"),
        (lambda x: np.vstack((x, x)), "np.concatenate(({0}, {1}))"),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    (node,) = record(call, X)[0].nodes
    assert template_of(node) == spelling


def test_numbers_are_put_into_an_array_in_one_step() -> None:
    (node,) = record(lambda a, b: np.stack((a, b, 1.0)), np.float64(1), np.float64(2))[0].nodes
    assert template_of(node) == "np.array(({0}, {1}, {2}))"


def test_lists_that_hold_recorded_numbers_are_joined() -> None:
    graph = record(lambda x: np.concatenate((x, [x[0], 2.0])), V)[0]
    assert ops_of(graph) == ["getitem", "stack", "concatenate"]


def test_parts_are_views() -> None:
    graph = record(lambda x: np.split(x, 3), V)[0]
    assert ops_of(graph) == ["getitem"] * 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.concatenate((x, V)), ShapeError, "array 0 has 2 and array 1 has 1"),
        (lambda x: np.concatenate((x, X[:, 1:])), ShapeError, "along dimension 1 .* 3 .* 2"),
        (lambda x: np.concatenate((x, x), axis=2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.concatenate((x, x), dtype=int), UnsupportedError, "cast float64 to int64"),
        (lambda x: np.stack((x, V)), ShapeError, "same shape"),
        (lambda x: np.stack((x, x), axis=3), ShapeError, "axis 3 is out of bounds"),
        (lambda x: np.split(x, 4), ShapeError, "equal division"),
        (lambda x: np.array_split(x, 0), ShapeError, "larger than 0"),
        (lambda x: np.dsplit(x, 2), ShapeError, "3 or more dimensions"),
        (lambda x: np.block([x, [x]]), ShapeError, "mismatched"),
        (lambda x: np.block([x, (x, x)]), UnsupportedError, "lists"),
        (lambda x: np.meshgrid(x, indexing="no"), ShapeError, "'xy' and 'ij'"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)


def test_row_stack_is_vstack() -> None:
    row_stack = getattr(np, "row_stack", np.vstack)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = tj.function(lambda x: row_stack((x, 2.0 * x)))(np.ones(2))
    assert found.tolist() == [[1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("like", [np.ones_like, np.zeros_like, lambda v: np.full_like(v, 0.5)])
def test_an_array_like_one_that_lies_by_columns_lies_so_where_every_bit_counts(like: Any) -> None:
    """Columns that are gathered lie one after another; a sum adds up in the order of memory."""

    def f(x: Any) -> Any:
        columns = np.sin(x[:, [0, 0, -1]])
        return np.sum(np.mean(columns) * like(columns) + columns)

    compiled = tj.function(f, cache=False, exact=True)
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(17, 20)).astype(np.float32)
        assert compiled(x) == f(x)
