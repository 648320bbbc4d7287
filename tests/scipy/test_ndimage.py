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
