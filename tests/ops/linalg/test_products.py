"""How products and their gradients are spelled, what is one product, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.interpret import interpret, record, run
from tests.support.graphs import template_of
from tracejit.autodiff.reverse.adjoint import gradients
from tracejit.ir.graph import Graph
from tracejit.support.errors import ShapeError, UnsupportedError
from tracejit.trace.tensor.tensor import Tensor

VECTOR = np.ones(3)
MATRIX = np.ones((2, 3))
STACK = np.ones((5, 2, 3))


def spelled(graph: Graph) -> list[str]:
    """The templates of the nodes of a graph."""
    return [template_of(node) for node in graph.nodes]


def gradient_of(call: Callable[..., Any], *args: Any) -> list[str]:
    """The templates of the nodes that the gradient of the first argument adds."""
    started = run(call, *args)
    (y,) = started.tensors
    before = len(started.recording.graph.nodes)
    seed = started.recording.argument("g", y.type)
    gradients([y], [started.inputs[0]], [seed])
    nodes = started.recording.graph.nodes[before:]
    return [template_of(node) for node in nodes]


@pytest.mark.parametrize(
    ("call", "args", "spelling"),
    [
        (lambda a, b: a @ b, (MATRIX, MATRIX.T), ["{0} @ {1}"]),
        (lambda a, b: a @ b, (MATRIX, VECTOR), ["{0} @ {1}"]),
        (lambda a, b: np.matmul(a, b), (VECTOR, VECTOR), ["{0} @ {1}"]),
        (lambda a, b: np.dot(a, b), (VECTOR, VECTOR), ["{0}.dot({1})"]),
        (lambda a, b: a.dot(b), (MATRIX, VECTOR), ["{0}.dot({1})"]),
        (lambda a, b: np.inner(a, b), (VECTOR, VECTOR), ["{0}.dot({1})"]),
        (lambda a, b: np.inner(a, b), (MATRIX, MATRIX), ["{0}.T", "{0}.dot({1})"]),
        (lambda a: np.dot(2.0, a), (MATRIX,), ["np.dot({0}, {1})"]),
        (lambda a, b: np.outer(a, b), (VECTOR, VECTOR), ["np.outer({0}, {1})"]),
        (lambda a, b: np.vdot(a, b), (VECTOR, VECTOR), ["np.vdot({0}, {1})"]),
        (lambda a, b: np.cross(a, b), (VECTOR, VECTOR), ["np.cross({0}, {1})"]),
    ],
)
def test_spelling(call: Any, args: tuple[Any, ...], spelling: list[str]) -> None:
    assert spelled(record(call, *args)[0]) == spelling


@pytest.mark.parametrize(
    ("call", "args", "spelling"),
    [
        (lambda a, b: a @ b, (MATRIX, MATRIX.T), ["{0}.T", "{0} @ {1}"]),
        (lambda b, a: a @ b, (MATRIX.T, MATRIX), ["{0}.T", "{0} @ {1}"]),
        (lambda a, x: a @ x, (MATRIX, VECTOR), ["np.outer({0}, {1})"]),
        (lambda x, a: a @ x, (VECTOR, MATRIX), ["{0}.T", "{0} @ {1}"]),
        (lambda x, a: x @ a, (VECTOR, MATRIX.T), ["{0} @ {1}"]),
        (lambda a, x: x @ a, (MATRIX.T, VECTOR), ["np.outer({0}, {1})"]),
        (lambda x, y: x @ y, (VECTOR, VECTOR), ["{0} * {1}"]),
        (lambda x, y: np.outer(x, y), (VECTOR, VECTOR), ["{0} @ {1}"]),
        (lambda a, b: a @ b, (STACK, STACK.mT), ["{0}.mT", "{0} @ {1}"]),
    ],
)
def test_spelling_of_gradients(call: Any, args: tuple[Any, ...], spelling: list[str]) -> None:
    assert gradient_of(call, *args) == spelling


def test_weights_of_a_stack_take_one_product() -> None:
    found = gradient_of(lambda w, x: x @ w, np.ones((3, 4)), STACK)
    assert found == ["{0}.reshape((10, 3))", "{0}.T", "{0}.reshape((10, 4))", "{0} @ {1}"]


def test_numbers_are_arrays_in_dot_but_weak_in_multiply() -> None:
    x = np.ones(3, np.float32)
    assert record(lambda x: np.dot(2.0, x), x)[0].outputs[0].type.dtype == np.float64
    assert record(lambda x: np.multiply(2.0, x), x)[0].outputs[0].type.dtype == np.float32


@pytest.mark.parametrize("sizes", [(9, 2, 8, 3), (2, 9, 3, 8), (4, 4, 4, 4), (3, 1, 6, 2, 5, 3)])
def test_multi_dot_multiplies_in_numpys_order(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    chain = [rng.normal(size=pair) for pair in pairwise(sizes)]
    graph, _ = record(lambda *chain: np.linalg.multi_dot(chain), *chain)
    assert np.array_equal(interpret(graph, *chain)[0], np.linalg.multi_dot(chain))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: a @ a, ShapeError, "shapes (2, 3) and (2, 3) do not fit: 3 is not 2"),
        (lambda a: a @ 2.0, ShapeError, "at least one dimension"),
        (lambda a: np.dot(a, a), ShapeError, "3 is not 2"),
        (lambda a: a @ np.ones((4, 3, 2)) @ np.ones((5, 2, 2)), ShapeError, "cannot be broadcast"),
        (lambda a: np.inner(a, np.ones(4)), ShapeError, "3 is not 4"),
        (lambda a: np.vdot(a, np.ones(4)), ShapeError, "6 is not 4"),
        (lambda a: np.vecdot(a, 1.0), ShapeError, "at least one dimension"),
        (lambda a: np.tensordot(a, a, 1), ShapeError, "shape-mismatch for sum"),
        (lambda a: np.tensordot(a, a, ((0, 0), (0, 1))), ShapeError, "duplicate axes"),
        (lambda a: np.linalg.outer(a, a), ShapeError, "must be one-dimensional"),
        (lambda a: np.cross(a[:, :2], a[:, :2]), ShapeError, "of 3 and 3 elements"),
        (lambda a: np.linalg.multi_dot([a]), ShapeError, "Expecting at least two arrays"),
        (lambda a: np.linalg.multi_dot([a, a.T, a[None]]), ShapeError, "must be two-dimensional"),
        (lambda a: np.matmul(a, a.T, dtype="i4"), UnsupportedError, "casting rule 'same_kind'"),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        record(call, MATRIX)
    assert text in str(caught.value)


def test_second_order_of_a_product_is_a_product() -> None:
    started = run(lambda a, x: x @ a @ x, np.eye(3), VECTOR)
    (y,) = started.tensors
    seed = Tensor(started.recording.lift(np.float64(1.0)), started.recording)
    (first,) = gradients([y], [started.inputs[1]], [seed])
    assert first is not None
    direction = started.recording.argument("v", first.type)
    (second,) = gradients([first], [started.inputs[1]], [direction])
    graph = started.finish(second)
    assert "multiply" not in {node.op.name for node in graph.nodes if node.results[0].type.ndim > 1}
    a, v = np.arange(9.0).reshape(3, 3), np.array([1.0, 2.0, -1.0])
    assert np.allclose(interpret(graph, a, VECTOR, v)[-1], (a + a.T) @ v)
