"""scipy.spatial in plain code: values are SciPy's, gradients those of differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

import tracejit as tj
from tests.by_day import some_by_day

RNG = np.random.default_rng(4)
A, B = RNG.uniform(0.1, 2.0, (4, 3)), RNG.uniform(0.1, 2.0, (5, 3))
W = np.array([0.5, 2.0, 1.0])
V = np.array([0.4, -0.3, 0.6])
MOUNT = Rotation.from_euler("zyx", [0.1, 0.2, 0.3])
MANY = Rotation.from_rotvec([[0.3, 0.1, -0.7], [1.1, 0.2, 0.4]])
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


@pytest.mark.parametrize(
    ("metric", "options", "curvature"),
    [
        ("euclidean", {}, [1.0, 1.0, 1.0]),
        ("euclidean", {"w": W}, W),
        ("minkowski", {"p": 2}, [1.0, 1.0, 1.0]),
        ("seuclidean", {"V": 1.0 / W}, W),
        ("mahalanobis", {"VI": np.diag(W)}, W),
        ("minkowski", {"p": 3}, [np.nan] * 3),
        ("jensenshannon", {}, None),
    ],
)
def test_second_derivatives_of_squares_where_points_meet(
    metric: str, options: dict[str, Any], curvature: Any
) -> None:
    """They are right, or nan; and those of the distance of a point from itself are zero."""

    def squares(a: Any) -> Any:
        return np.sum(distance.cdist(a, A[:1], metric, **options) ** 2)

    found = tj.hessian(squares)(A[:1]).reshape(3, 3)
    if curvature is None:
        assert np.isnan(found).any()
    else:
        np.testing.assert_allclose(found, 2.0 * np.diag(curvature), atol=1e-12)
    itself = tj.hessian(lambda a: np.sum(distance.cdist(a, a, metric, **options)))(A[:1])
    np.testing.assert_array_equal(itself, np.zeros((1, 3, 1, 3)))


def test_a_square_of_distances_and_back() -> None:
    def both(a: Any) -> Any:
        square = distance.squareform(distance.pdist(a))
        return square, distance.squareform(square)

    for found, expected in zip(tj.function(both)(A), both(A), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    empty = tj.function(lambda a: distance.squareform(distance.pdist(a)))(A[:1])
    np.testing.assert_array_equal(empty, distance.squareform(distance.pdist(A[:1])))


TURNS = {
    "from_rotvec": lambda v: Rotation.from_rotvec(v).as_matrix(),
    "in degrees": lambda v: Rotation.from_rotvec(40 * v, degrees=True).as_rotvec(degrees=True),
    "from_quat": lambda v: Rotation.from_quat(np.append(v, 0.3)).as_quat(canonical=True),
    "from_mrp": lambda v: Rotation.from_mrp(v).as_mrp(),
    "from_matrix": lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()).as_quat(),
    "extrinsic": lambda v: Rotation.from_euler("zyx", v).as_euler("xyz"),
    "intrinsic": lambda v: Rotation.from_euler("ZXZ", 30 * v, degrees=True).as_euler("YZX"),
    "symmetric": lambda v: Rotation.from_euler("XYX", v).as_euler("zyz", degrees=True),
    "about one axis": lambda v: Rotation.from_euler("y", v[0]).as_quat(),
    "of vectors": lambda v: Rotation.from_rotvec(v).apply(A, inverse=True),
    "of many": lambda v: Rotation.from_rotvec(np.outer([1.0, 0.4], v)).apply(v)[::-1],
    "one of many": lambda v: Rotation.from_rotvec(np.outer([1.0, 0.4], v))[1].magnitude(),
    "products": lambda v: (MOUNT * Rotation.from_rotvec(v).inv() * MOUNT).as_rotvec(),
    "powers": lambda v: (Rotation.from_rotvec(v) ** 1.5).as_quat(),
    "put together": lambda v: Rotation.concatenate([MOUNT, Rotation.from_rotvec(v)]).as_quat(),
    "made beforehand": lambda v: MANY.apply(v) + MOUNT.apply(v),
}


@pytest.mark.parametrize("name", TURNS)
def test_rotations_are_scipys(name: str) -> None:
    call = TURNS[name]
    for vector in (V, -3.0 * V, 1e-5 * V):
        found, expected = tj.function(call)(vector), call(vector)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(
        tj.vmap(call)(np.stack([V, -V])), np.stack([call(V), call(-V)]), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("name", some_by_day(TURNS))
def test_gradients_of_rotations(name: str) -> None:
    tj.check_grads(TURNS[name], (V,), order=2)


def test_no_rotation_has_derivatives_of_any_order() -> None:
    tj.check_grads(lambda v: Rotation.from_rotvec(v).as_matrix(), (np.zeros(3),), order=2)
    tj.check_grads(lambda v: Rotation.from_rotvec(v).as_rotvec(), (np.zeros(3),), order=2)


def test_a_rotation_that_changes_is_read_again() -> None:
    many = Rotation.from_rotvec([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]])
    f = tj.function(lambda v: many.apply(v))
    for _ in range(2):
        np.testing.assert_allclose(f(V), many.apply(V))
        many[0] = MOUNT


def test_a_matrix_of_no_rotation_is_nan() -> None:
    f = tj.function(lambda m: Rotation.from_matrix(m).as_quat())
    assert np.isfinite(f(np.eye(3))).all()
    assert np.isnan(f(2.0 * np.eye(3))).all()


def test_a_rotation_is_one_of_scipys() -> None:
    found = tj.function(lambda v: isinstance(Rotation.from_rotvec(v), Rotation) + v[0])(V)
    assert found == 1.0 + V[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: Rotation.from_rotvec(v[:2]), "to have the shape"),
        (lambda v: Rotation.from_rotvec(v).as_davenport(np.eye(3), "intrinsic"), "as_davenport"),
    ],
)
def test_rotations_are_refused_in_words(call: Any, words: str) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(V)


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
