"""tracejit.scipy.ndimage: filters against their dense matrices, what is refused, and what a kernel
calls."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import tracejit as tj
from tests.by_day import by_day
from tests.support.compare import assert_same
from tracejit.scipy import ndimage

RNG = np.random.default_rng(5)
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror")


def check_linear(name, size, *args, **keywords):
    """The values and the Jacobian of a filter along one axis are those of SciPy's filter."""
    plain, recorded = getattr(scipy.ndimage, name), getattr(ndimage, name)
    x = RNG.normal(size=size)
    assert_same(
        tj.function(lambda x: recorded(x, *args, **keywords))(x), plain(x, *args, **keywords)
    )
    flat = keywords | {"cval": 0.0}
    columns = [plain(one, *args, **flat) for one in np.eye(size)]
    weights = RNG.normal(size=size)
    found = tj.grad(lambda x: np.sum(weights * recorded(x, *args, **keywords)))(x)
    np.testing.assert_allclose(found, np.stack(columns) @ weights, rtol=1e-12, atol=1e-13)
    tangent = tj.jvp(lambda x: recorded(x, *args, **keywords), (x,), (weights,))[1]
    np.testing.assert_allclose(tangent, weights @ np.stack(columns), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate1d", "convolve1d"])
def test_every_length_and_origin(name: str, mode: str) -> None:
    """On one array for each: the sizes go round."""
    check_lengths(name, mode, by_day((2, 3), (1, 2, 3, 4)), sizes_of_all=False)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["correlate1d", "convolve1d"])
def test_nightly_lengths(name: str, mode: str) -> None:
    check_lengths(name, mode, (1, 2, 3, 4, 7), sizes_of_all=True)


SIZES = (1, 2, 5)


def check_lengths(name: str, mode: str, lengths: tuple[int, ...], sizes_of_all: bool) -> None:
    """Filters of these lengths, with every origin, on arrays of all sizes or of one."""
    for length in lengths:
        weights = RNG.normal(size=length)
        for origin in range(-(length // 2), (length + 1) // 2):
            try:
                getattr(scipy.ndimage, name)(np.ones(2), weights, origin=origin)
            except ValueError:
                continue
            turn = (length + origin + MODES.index(mode)) % len(SIZES)
            for size in SIZES if sizes_of_all else SIZES[turn : turn + 1]:
                check_linear(name, size, weights, mode=mode, origin=origin, cval=0.75)


@pytest.mark.parametrize("mode", MODES)
def test_uniform_and_gaussian_filters_of_every_size(mode: str) -> None:
    for size in (1, 2, 3, 8):
        check_linear("uniform_filter1d", 4, size, mode=mode, origin=-(size // 3), cval=0.5)
    for sigma, order in ((0.4, 0), (1.0, 1), (2.5, 2)):
        check_linear("gaussian_filter1d", 5, sigma, order=order, mode=mode, cval=0.5)


def test_a_magnitude_of_zero_has_the_gradient_zero() -> None:
    found = tj.grad(lambda x: np.sum(ndimage.gaussian_gradient_magnitude(x, 1.0)))(np.ones((4, 4)))
    assert found.tolist() == np.zeros((4, 4)).tolist()


def test_a_kernel_calls_scipy() -> None:
    f = tj.function(lambda x: ndimage.gaussian_filter(ndimage.convolve(x, np.eye(3)), 1.0))
    f(np.ones((5, 5)))
    assert "from scipy.ndimage import" in f.source
    assert "mode=" not in f.source
    image = RNG.normal(size=(5, 5))
    assert_same(f(image), f.python(image))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: ndimage.convolve(x, x), "weights cannot be recorded"),
        (lambda x: ndimage.gaussian_filter(x, x[0, 0]), "needs a value"),
        (lambda x: ndimage.correlate1d(x, [1j, 2.0]), "complex weights"),
        (lambda x: ndimage.correlate1d(x, []), "no filter weights"),
        (lambda x: ndimage.correlate1d(x, [1.0, 2.0], mode="other"), "boundary mode"),
        (lambda x: ndimage.correlate1d(x, [1.0, 2.0], origin=5), "[Ii]nvalid origin"),
        (lambda x: ndimage.correlate1d(x, [1.0, 2.0], axis=2), "out of bounds"),
        (lambda x: ndimage.correlate(x, [1.0, 2.0]), "as many axes"),
        (lambda x: ndimage.sobel(x, output=np.float32), "output"),
        (lambda x: ndimage.uniform_filter(x, (3, 3, 3)), "sequence argument"),
        (lambda x: ndimage.gaussian_filter(x, 1.0, order=-1), "non-negative"),
        (lambda x: ndimage.laplace(x[0, 0]), "at least one dimension"),
        (lambda x: ndimage.median_filter(x, 3), "median_filter is not recorded"),
    ],
)
def test_refused_by_name(call, words) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(np.ones((4, 4)))


IMAGE, LINE = RNG.normal(size=(7, 9)), RNG.normal(size=11)
STACK = RNG.normal(size=(5, 6, 4))
PLACES = np.stack([RNG.uniform(-1.5, 7.5, 12), RNG.uniform(-1.5, 9.5, 12)])
INSIDE = np.stack([RNG.uniform(0.3, 5.6, 4), RNG.uniform(0.3, 7.6, 4)])
TURN = np.array([[0.8, 0.3], [-0.2, 1.1]])
nd = scipy.ndimage
MOVED = {
    "map_coordinates": lambda x, **options: nd.map_coordinates(x, PLACES, **options),
    "shift": lambda x, **options: nd.shift(x, (0.3, -1.4), **options),
    "shift of all": lambda x, **options: nd.shift(x, 2.0, **options),
    "zoom": lambda x, **options: nd.zoom(x, (0.5, 1.7), **options),
    "affine_transform": lambda x, **options: nd.affine_transform(
        x, TURN, offset=[0.33, 1.07], **options),
    "homogeneous": lambda x, **options: nd.affine_transform(
        x, np.hstack([TURN, [[0.33], [1.07]]]), **options),
    "scales": lambda x, **options: nd.affine_transform(
        x, [0.8, 1.2], offset=0.3, output_shape=(4, 5), **options),
    "rotate": lambda x, **options: nd.rotate(x, 30, **options),
    "rotate in its shape": lambda x, **options: nd.rotate(x, -75, reshape=False, **options),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The behavior of affine_transform")
@pytest.mark.parametrize("name", MOVED)
def test_images_at_other_places_are_scipys(name: str) -> None:
    for order in by_day((0, 1, 3), range(6)):
        for mode in ("constant", "nearest", "mirror", "reflect", "grid-wrap"):
            call = lambda x, o=order, m=mode: MOVED[name](x, order=o, mode=m, cval=0.7)  # noqa: E731
            found, expected = tj.function(call)(IMAGE), call(IMAGE)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_images_of_other_shapes_and_dtypes() -> None:
    for call, x in (
        (lambda x: nd.rotate(x, 30, axes=(0, 2)), STACK),
        (lambda x: nd.rotate(x, 90), IMAGE),
        (lambda x: nd.zoom(x, 2.0, grid_mode=True, mode="reflect"), LINE),
        (lambda x: nd.zoom(x, 1.0), IMAGE),
        (lambda x: nd.shift(x, 0.5, prefilter=False), LINE),
        (lambda x: nd.shift(x, 0.5), LINE.astype(np.float32)),
        (lambda x: nd.map_coordinates(x, PLACES, mode="mirror"), IMAGE + 1j * IMAGE**2),
    ):
        found, expected = tj.function(call)(x), call(x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect", "grid-wrap"])
def test_gradients_by_images_and_places(mode: str) -> None:
    for order in by_day((1, 3), (1, 2, 3, 5)):
        options = {"order": order, "mode": mode}
        tj.check_grads(
            lambda x, p, o=options: nd.map_coordinates(x, p, **o), (IMAGE, INSIDE), order=1
        )
        tj.check_grads(
            lambda x, s, o=options: nd.shift(x, s, **o), (LINE, np.array([0.3])), order=1
        )


def test_gradients_by_angles_and_matrices() -> None:
    turned = lambda x, a: nd.rotate(x, a, reshape=False, mode="mirror")  # noqa: E731
    tj.check_grads(turned, (IMAGE, np.float64(11.0)), order=1)
    moved = lambda x, m, o: nd.affine_transform(x, m, o, mode="mirror")  # noqa: E731
    tj.check_grads(moved, (IMAGE, TURN, np.array([0.33, 0.27])), order=1)
    tj.check_grads(lambda x: nd.zoom(x, 1.7), (LINE,), order=2)
    many = np.stack([IMAGE, 2.0 * IMAGE])
    np.testing.assert_allclose(
        tj.vmap(lambda x: nd.zoom(x, 1.7))(many), np.stack([nd.zoom(x, 1.7) for x in many])
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: nd.zoom(x, x[0]), "its zoom decides on the shape"),
        (lambda x: nd.rotate(x[None], x[0]), "give reshape=False"),
        (lambda x: nd.shift(x, 0.5, mode="wrap"), "of its modes it records"),
        (lambda x: nd.shift((x > 0).astype(int), 0.5), "image of integers"),
        (lambda x: nd.shift(x, [0.5, 0.5]), "length equal to input rank"),
        (lambda x: nd.shift(x, 0.5, mode="nearest", prefilter=False), "leave out prefilter=False"),
    ],
)
def test_moved_images_are_refused_in_words(call, words: str) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(LINE)
