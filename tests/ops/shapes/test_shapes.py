"""How changes of shape are spelled, and which of them are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.interpret import record, run
from tests.support.graphs import template_of
from tracejit.support.errors import ShapeError, UnsupportedError

X = np.ones((2, 3, 4))


@pytest.mark.parametrize(
    ("call", "spelling"),
    [
        (lambda x: x.T, "{0}.T"),
        (lambda x: np.transpose(x, (2, 1, 0)), "{0}.T"),
        (lambda x: np.swapaxes(x, 0, -1), "{0}.T"),
        (lambda x: np.matrix_transpose(x), "{0}.mT"),
        (lambda x: np.moveaxis(x, 1, 2), "{0}.mT"),
        (lambda x: np.moveaxis(x, 0, -1), "{0}.transpose((1, 2, 0))"),
        (lambda x: np.rollaxis(x, 2), "{0}.transpose((2, 0, 1))"),
        (lambda x: np.expand_dims(x, 0), "{0}[None]"),
        (lambda x: np.expand_dims(x, 1), "{0}[:, None]"),
        (lambda x: np.expand_dims(x, (-1, -2)), "{0}[..., None, None]"),
        (lambda x: np.expand_dims(x, (0, -1)), "{0}[None, :, :, :, None]"),
        (lambda x: np.reshape(x, (4, -1)), "{0}.reshape((4, 6))"),
        (lambda x: np.reshape(x, -1), "{0}.reshape(24)"),
        (lambda x: np.squeeze(x), "{0}.squeeze(())"),
        (lambda x: x.ravel(), "{0}.ravel()"),
        (lambda x: x.astype("f4"), "{0}.astype(np.float32)"),
    ],
)
def test_spelling(call: Any, spelling: str) -> None:
    (node,) = record(call, X)[0].nodes
    assert template_of(node) == spelling


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: np.reshape(x, (5, -1)), ShapeError, "cannot reshape array of size 24"),
        (lambda x: np.reshape(x, (-1, -1)), ShapeError, "only specify one unknown dimension"),
        (lambda x: np.reshape(x[:0], (0, -1)), ShapeError, "cannot reshape array of size 0"),
        (lambda x: np.reshape(x, (2.0, 12)), UnsupportedError, "'float' object"),
        (lambda x: x.reshape(24, order="A"), UnsupportedError, "order='A' depends on how"),
        (lambda x: np.ravel(x, "K"), UnsupportedError, "order='K'"),
        (lambda x: np.broadcast_to(x, (3, 4)), ShapeError, "cannot be broadcast"),
        (lambda x: np.broadcast_to(x, (2, 3, 5)), ShapeError, "cannot be broadcast"),
        (lambda x: np.transpose(x, (0, 1)), ShapeError, "axes don't match array"),
        (lambda x: np.transpose(x, (0, 1, 1)), ShapeError, "repeated axis in transpose"),
        (lambda x: np.moveaxis(x, (0, 0), (1, 2)), ShapeError, "repeated axis in `source`"),
        (lambda x: np.moveaxis(x, 0, (1, 2)), ShapeError, "the same number of elements"),
        (lambda x: np.rollaxis(x, 0, 4), ShapeError, "'start' arg requires"),
        (lambda x: np.squeeze(x, 0), ShapeError, "cannot select an axis to squeeze out"),
        (lambda x: np.expand_dims(x, (0, 0)), ShapeError, "duplicate value in 'axis'"),
        (lambda x: x[0, 0].mT, ShapeError, "at least 2-dimensional"),
        (lambda x: x.astype("U3"), UnsupportedError, "dtype <U3"),
        (lambda x: x.astype("f4", casting="safe"), UnsupportedError, "rule 'safe'"),
        (lambda x: x.astype("f4", order="F"), UnsupportedError, "keyword order"),
    ],
)
def test_what_numpy_or_tracejit_refuses(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        run(call, X)
