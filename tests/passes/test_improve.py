"""Improvements: kernels with every rewrite against exact ones."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit.passes.improve import improve
from tracejit.pipeline import PASSES


def test_exact_kernels_do_without() -> None:
    """`exact=True` gives NumPy's bits, whatever improvements there are."""

    def loss(x: np.ndarray) -> np.ndarray:
        return np.mean((np.tanh(3.0 * (x / 7.0)) ** 2 + 1.0) ** 0.5)

    x = np.linspace(-2.0, 2.0, 1001)
    assert tj.function(loss, exact=True)(x) == loss(x)
    assert improve not in PASSES
    np.testing.assert_allclose(tj.function(loss)(x), loss(x), rtol=1e-14)
