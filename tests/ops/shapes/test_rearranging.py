"""How repeating, padding and rolling are spelled, and which of them are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import record, run
from tests.support.compare import same_for_each
from tracejit.support.errors import ShapeError, UnsupportedError

X = np.ones((2, 3))


def spelled(call: Any) -> str:
    """The one operation of a call, an expression or lines."""
    (node,) = record(call, X)[0].nodes
    types = [value.type for value in node.operands]
    if node.op.statements is not None:
        return "; ".join(node.op.statement_lines(types, node.params))
    return node.op.template(types, node.params)


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: np.tile(x, 2), "np.tile({0}, 2)"),
        (lambda x: np.tile(x, (2, 1)), "np.tile({0}, (2, 1))"),
        (lambda x: np.repeat(x, 2, axis=-1), "{0}.repeat(2, axis=1)"),
        (lambda x: np.roll(x, 1), "np.roll({0}, 1)"),
        (lambda x: np.roll(x, 1, axis=1), "np.roll({0}, 1, axis=1)"),
        (lambda x: np.roll(x, (1, 2), axis=(0, -1)), "np.roll({0}, (1, 2), axis=(0, 1))"),
        (lambda x: np.flip(x, 1), "{0}[:, ::-1]"),
        (lambda x: np.pad(x, 1), "{out} = np.zeros((4, 5)); {out}[1:-1, 1:-1] = {0}"),
        (
            lambda x: np.pad(x, ((0, 0), (2, 0)), constant_values=2),
            "{out} = np.full((2, 5), 2.0); {out}[:, 2:] = {0}",
        ),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    assert spelled(call) == spelling


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.repeat(x, -1), ShapeError, "negative"),
        (lambda x: np.repeat(x, [1, 2, 3], axis=0), ShapeError, "broadcast"),
        (lambda x: np.pad(x, -1), ShapeError, "negative"),
        (lambda x: np.pad(x, 0.5), UnsupportedError, "integral type"),
        (lambda x: np.pad(x, ((1, 2), (3, 4), (5, 6))), ShapeError, "broadcast"),
        (lambda x: np.pad(x[:0], 1, "edge"), ShapeError, "empty axis"),
        (lambda x: np.flip(x, 2), ShapeError, "axis 2 is out of bounds"),
        (lambda x: np.fliplr(x[0]), ShapeError, "2-d"),
        (lambda x: np.rot90(x, axes=(1, 1)), ShapeError, "different"),
        (lambda x: np.resize(x, -1), ShapeError, "non-negative"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)


@pytest.mark.usefixtures("as_written")
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.repeat(x, np.argsort(x[0])), "depends on repeats"),
        (lambda x: np.tile(x, np.argsort(x[0])), "depends on reps"),
        (lambda x: np.roll(x, np.argmax(x)), "depends on shift"),
        (lambda x: np.delete(x, np.argmax(x)), "depends on obj"),
    ],
)
def test_what_is_refused_as_written(call: Any, text: str) -> None:
    with pytest.raises(UnsupportedError, match=text):
        run(call, X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.repeat(x, np.argsort(x[0]), axis=1),
        lambda x: np.tile(x, np.argsort(x[0])),
        lambda x: np.roll(x, np.argmax(x)),
        lambda x: np.delete(x, np.argmax(x)),
    ],
)
def test_numbers_that_rearrange_have_a_recording_for_each_pattern(call: Any) -> None:
    same_for_each(call, np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 0.0]]), np.arange(6.0).reshape(2, 3))
