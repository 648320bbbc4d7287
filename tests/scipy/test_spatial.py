"""scipy.spatial in plain code: values are SciPy's, gradients those of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import tracejit as tj
from tests.by_day import some_by_day

RNG = np.random.default_rng(4)
A, B = RNG.uniform(0.1, 2.0, (4, 3)), RNG.uniform(0.1, 2.0, (5, 3))
W = np.array([0.5, 2.0, 1.0])
WEIGHTED = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "minkowski", "sqeuclidean",
)  # fmt: skip
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in (*WEIGHTED, "jensenshannon", "mahalanobis", "seuclidean")},
    **{f"weighted {name}": (name, {"w": W}) for name in WEIGHTED},
    "minkowski of 3": ("minkowski", {"p": 3}),
    "weighted minkowski of 1.5": ("minkowski", {"p": 1.5, "w": W}),
    "minkowski of infinity": ("minkowski", {"p": np.inf}),
    "mahalanobis of a matrix": ("mahalanobis", {"VI": np.diag(W) + 0.1}),
    "seuclidean of variances": ("seuclidean", {"V": W}),
}


@pytest.mark.parametrize("name", CALLS)
def test_distances_are_scipys(name: str) -> None:
    metric, options = CALLS[name]

    def distances(a: Any, b: Any) -> Any:
        return distance.cdist(a, b, metric, **options), distance.pdist(b, metric, **options)

    for found, expected in zip(tj.function(distances)(A, B), distances(A, B), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", some_by_day(CALLS))
def test_gradients_of_distances(name: str) -> None:
    metric, options = CALLS[name]
    tj.check_grads(lambda a, b: distance.cdist(a, b, metric, **options), (A, B), order=1)


def test_no_distance_has_a_gradient_of_zero() -> None:
    for metric in ("euclidean", "minkowski", "mahalanobis", "cityblock"):
        options = {"p": 3} if metric == "minkowski" else {}
        call = lambda a, m=metric, o=options: np.sum(distance.cdist(a, a, m, **o))  # noqa: E731
        assert np.isfinite(tj.grad(call)(A)).all()


def test_a_square_of_distances_and_back() -> None:
    def both(a: Any) -> Any:
        square = distance.squareform(distance.pdist(a))
        return square, distance.squareform(square)

    for found, expected in zip(tj.function(both)(A), both(A), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    empty = tj.function(lambda a: distance.squareform(distance.pdist(a)))(A[:1])
    np.testing.assert_array_equal(empty, distance.squareform(distance.pdist(A[:1])))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: distance.pdist(a, "jaccard"), r"distance\.pdist.*of its metrics it records"),
        (lambda a: distance.cdist(a, a, lambda u, v: 1.0), r"distance\.cdist.*of its metrics"),
        (lambda a: distance.cdist(a, a, foo=1), "the keyword foo is not supported"),
        (lambda a: distance.cdist(a, a[:, :1]), "same number of columns"),
        (lambda a: distance.squareform(a[:2, 0]), "Incompatible vector size"),
    ],
)
def test_refused_in_words(call: Any, words: str) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(A)
