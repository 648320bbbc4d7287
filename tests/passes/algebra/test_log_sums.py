"""Logarithms of sums of exponentials: SciPy's numbers, its types, and where they stay SciPy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracejit as tj
from tests.against_exact import assert_close_to_exact
from tests.rows import each_row
from tracejit.scipy.special import logsumexp

INF = np.inf
ROWS = {
    "usual": np.random.default_rng(0).normal(size=(5, 3)) * 30.0,
    "nothing": np.array([[-INF, -INF, -INF], [0.0, -INF, -700.0], [-INF, 2.0, 2.0]]),
    "infinite": np.array([[INF, 0.0, -INF], [INF, INF, 1.0], [1.0, 2.0, 3.0]]),
    "nan": np.array([[np.nan, 0.0, INF], [0.0, 1.0, 2.0]]),
    "extreme": np.array([[-1e30, -1.7e38, -INF], [1e30, 1.7e38, 0.0]]),
}
AXES = [(0, False), (1, True), (None, False), ((0, 1), True), ((0, 1), False), (-1, False)]


@each_row("dtype", ["f4", "f8"])
@each_row("axis, keepdims", AXES)
@each_row("rows", ROWS.values())
def test_numbers_and_types(rows: Any, axis: Any, keepdims: bool, dtype: str) -> None:
    x = rows.astype(dtype)
    f = tj.function(lambda x: logsumexp(x, axis=axis, keepdims=keepdims))
    expected = special.logsumexp(x, axis=axis, keepdims=keepdims)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            found = f(x)
            assert type(found) is type(expected)
            assert (found.dtype, np.shape(found)) == (expected.dtype, np.shape(expected))
            limits = 4 * np.finfo(dtype).eps
            np.testing.assert_allclose(found, expected, rtol=limits, atol=limits)

    assert "import logsumexp" not in f.source


@pytest.mark.parametrize("axis", [0, 1, None])
def test_gradients_share_the_exponentials(axis: Any) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.sin(logsumexp(x, axis=axis)))

    k = tj.value_and_grad(loss).kernel(ROWS["usual"])
    assert k.source.split("def value_and_grad")[1].count(" exp(") == 1
    assert_close_to_exact(loss, [ROWS["usual"]], 1)
    tj.check_grads(loss, (ROWS["usual"] / 30.0,))


@pytest.mark.filterwarnings("ignore:.*encountered in")
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_gradients_of_what_is_infinite(rows: Any) -> None:
    slope = tj.grad(lambda x: np.sum(logsumexp(x, axis=1)))
    exact = tj.grad(tj.function(lambda x: np.sum(logsumexp(x, axis=1)), exact=True))
    np.testing.assert_allclose(slope(rows), exact(rows), rtol=1e-13, atol=1e-300)


def test_free_sizes_are_written_out_as_well() -> None:
    f = tj.value_and_grad(lambda x: np.sum(logsumexp(x, axis=0)))
    for rows in (3, 4, 5):
        x = ROWS["usual"][:rows]
        value, slope = f(x)
        np.testing.assert_allclose(value, np.sum(special.logsumexp(x, axis=0)))
        np.testing.assert_allclose(slope, special.softmax(x, axis=0))
    assert len(f.kernels) == 2
    assert "import logsumexp" not in f.source


STAYS = {
    "weighted": (lambda x: logsumexp(x, axis=0, b=np.ones(3)), ROWS["usual"]),
    "with a sign": (lambda x: logsumexp(x, axis=0, return_sign=True)[0], ROWS["usual"]),
    "complex": (lambda x: logsumexp(x, axis=0), ROWS["usual"] + 1j),
    "of nothing": (lambda x: logsumexp(x, axis=1), np.ones((0, 3))),
    "of a number": (lambda x: logsumexp(x), np.array(2.0)),
    "exact": (tj.function(lambda x: logsumexp(x, axis=0), exact=True), ROWS["usual"]),
}


@pytest.mark.parametrize("f, x", STAYS.values(), ids=STAYS)
def test_what_stays(f: Any, x: Any) -> None:
    f = f if isinstance(f, tj.Function) else tj.function(f)
    np.testing.assert_allclose(f(x), f.python(x))
    assert "import logsumexp" in f.source or "special" in f.source
