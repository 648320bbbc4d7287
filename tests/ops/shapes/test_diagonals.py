"""How diagonals are spelled, and which of them are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import record, run
from tests.support.graphs import template_of
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.support.errors import ShapeError, UnsupportedError

X = np.ones((3, 4))


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: np.diagonal(x), "{0}.diagonal()"),
        (lambda x: np.diag(x, -1), "{0}.diagonal(-1)"),
        (lambda x: np.linalg.diagonal(x), "{0}.diagonal()"),
        (lambda x: np.diagonal(x, 1, 1, 0), "{0}.diagonal(1, 1, 0)"),
        (lambda x: np.tril(x), "np.tril({0})"),
        (lambda x: np.triu(x, 1), "np.triu({0}, 1)"),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    (node,) = record(call, X)[0].nodes
    assert template_of(node) == spelling


@pytest.mark.parametrize(
    ("call", "shape", "line"),
    [
        (np.diagonal, (3, 4), "{out}[np.arange(3), np.arange(3)] = {0}"),
        (lambda x: np.diag(x, -1), (3, 4), "{out}[np.arange(1, 3), np.arange(2)] = {0}"),
        (
            lambda x: np.diagonal(x, 1, 1, 2),
            (2, 3, 4),
            "{out}[..., np.arange(3), np.arange(1, 4)] = {0}",
        ),
        (
            np.diagonal,
            (2, 3, 4),
            "np.moveaxis({out}, (0, 1), (-2, -1))[..., np.arange(2), np.arange(2)] = {0}",
        ),
    ],
)
def test_spelling_of_the_adjoint(call: Any, shape: tuple[int, ...], line: str) -> None:
    started = run(call, np.ones(shape))
    (y,) = started.tensors
    (g,) = gradients([y], started.inputs, [started.recording.argument("g", y.type)])
    node = started.finish(g).nodes[-1]
    lines = node.op.statement_lines([value.type for value in node.operands], node.params)
    assert lines == [f"{{out}} = np.zeros({shape})", line]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.diagonal(x[0]), ShapeError, "at least two dimensions"),
        (lambda x: np.diagonal(x, axis1=1), ShapeError, "cannot be the same"),
        (lambda x: np.diagonal(x, axis2=2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.diag(x[None]), ShapeError, "1- or 2-d"),
        (lambda x: np.tril(x[0, 0]), UnsupportedError, "no triangle"),
        (lambda x: np.tril_indices_from(x[0]), ShapeError, "2-d"),
        (lambda x: np.diag_indices_from(x), ShapeError, "equal length"),
        (lambda x: np.diag_indices_from(x[0]), ShapeError, "at least 2-d"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)
