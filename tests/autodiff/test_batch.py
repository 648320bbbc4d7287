"""What is recorded for one element is recorded for all of a batch."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.usefixtures("no_files")

X = np.arange(6.0).reshape(3, 2) + 0.5


def test_elementwise_operations_line_up() -> None:
    w = np.array([1.0, -2.0])

    def f(x, s):
        return np.tanh(x * w) + s * np.sum(w), s

    found, scales = tj.vmap(f)(X, np.array([1.0, 2.0, 3.0]))
    expected = np.stack([f(x, s)[0] for x, s in zip(X, (1.0, 2.0, 3.0), strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert scales.tolist() == [1.0, 2.0, 3.0]


def test_what_is_the_same_for_all_stays_as_it_is() -> None:
    kernel = tj.vmap(lambda x, w: x + np.exp(w), in_axes=(0, None)).kernel(X, np.ones(2))
    assert "exp(w)" in kernel.source
    assert "broadcast" not in kernel.source
