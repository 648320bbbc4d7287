"""scipy.interpolate in plain code: values are SciPy's, gradients those of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as si

import tracejit as tj
from tests.by_day import some_by_day

T = np.array([0.0, 0.7, 1.1, 2.0, 2.4, 3.3, 4.1])
Y = np.array([0.3, -1.2, 0.8, 2.1, 1.7, -0.4, 0.9])
Z = np.stack([Y, Y[::-1] ** 2, np.sin(3 * Y)], axis=1)
Q = np.array([0.2, 0.95, 1.7, 2.2, 3.9])
PERIODIC = np.append(Y[:-1], Y[0])
X2, Y2 = T[:6], np.array([0.1, 0.6, 1.2, 1.9, 2.3, 3.0, 3.8])
SURFACE = np.sin(X2[:, None] + 0.3) * np.cos(0.7 * Y2)
POINTS = np.stack([Q / 1.3, Q[::-1] / 1.1], axis=1)
ALONG = {
    "not-a-knot": lambda t, y, q: si.CubicSpline(t, y)(q),
    "natural": lambda t, y, q: si.CubicSpline(t, y, bc_type="natural")(q),
    "clamped": lambda t, y, q: si.CubicSpline(t, y, bc_type=("clamped", "not-a-knot"))(q),
    "ends": lambda t, y, q: si.CubicSpline(t, y, bc_type=((1, y[1]), (2, y[2])))(q),
    "periodic": lambda t, y, q: si.CubicSpline(
        t, np.append(y[:-1], y[0]), bc_type="periodic")(q + 3.05),
    "slope": lambda t, y, q: si.CubicSpline(t, y)(q, 1) + si.CubicSpline(t, y).derivative(2)(q),
    "integral": lambda t, y, q: si.CubicSpline(t, y).antiderivative()(q)
    + si.CubicSpline(t, y).integrate(q[0], q[1]),
    "hermite": lambda t, y, q: si.CubicHermiteSpline(t, y, y[::-1])(q),
    "pchip": lambda t, y, q: si.PchipInterpolator(t, y)(q),
    "akima": lambda t, y, q: si.Akima1DInterpolator(t, y)(q),
    "makima": lambda t, y, q: si.Akima1DInterpolator(t, y, method="makima")(q),
    "b-spline": lambda t, y, q: si.make_interp_spline(t, y)(q),
    "degree 2": lambda t, y, q: si.make_interp_spline(t, y, 2)(q + 0.03),
    "degree 5": lambda t, y, q: si.make_interp_spline(t, y, k=5).derivative()(q),
    "clamped b-spline": lambda t, y, q: si.make_interp_spline(t, y, bc_type="clamped")(q, nu=1),
    "periodic b-spline": lambda t, y, q: si.make_interp_spline(
        t, np.append(y[:-1], y[0]), bc_type="periodic")(q + 3.05),
    "periodic degree 4": lambda t, y, q: si.make_interp_spline(
        t, np.append(y[:-1], y[0]), k=4, bc_type="periodic").derivative()(q),
    "integral of one": lambda t, y, q: si.CubicSpline(t, y).integrate(q[0], q[3]),
    "integral of a b-spline": lambda t, y, q: si.make_interp_spline(t, y).integrate(q[0], q[3]),
    "interp1d": lambda t, y, q: si.interp1d(t, y)(q),
    "cubic interp1d": lambda t, y, q: si.interp1d(t, y, kind="cubic")(q),
    "fitpack": lambda t, y, q: si.InterpolatedUnivariateSpline(t, y, k=4)(q)
    + si.UnivariateSpline(t, y, s=0).derivative()(q),
    "integral of fitpack": lambda t, y, q: si.InterpolatedUnivariateSpline(t, y, ext=3).integral(
        q[0], q[3]) + si.InterpolatedUnivariateSpline(t, y, k=2).antiderivative()(q),
    "integral by fitpack's functions": lambda t, y, q: si.splev(q, si.splrep(t, y), der=1)
    + si.splint(q[0], q[3], si.splantider(si.splrep(t, y))),
    "grid of lines": lambda t, y, q: si.RegularGridInterpolator((t,), y)((q,)),
}  # fmt: skip
SURFACES = {
    "linear": lambda x, y, z, p: si.RegularGridInterpolator((x, y), z)(p),
    "interpn": lambda x, y, z, p: si.interpn((x, y), z, p),
    "slinear": lambda x, y, z, p: si.RegularGridInterpolator((x, y), z, method="slinear")(p),
    "spline": lambda x, y, z, p: si.RectBivariateSpline(x, y, z).ev(p[:, 0], p[:, 1]),
    "on a grid": lambda x, y, z, p: si.RectBivariateSpline(x, y, z)(p[:2, 0], p[:2, 1][::-1]),
    "slope": lambda x, y, z, p: si.RectBivariateSpline(x, y, z)(p[:, 0], p[:, 1], dx=1, grid=False),
    "integral": lambda x, y, z, p: si.RectBivariateSpline(x, y, z, kx=2).integral(
        p[0, 0], p[1, 0], 0.5, p[1, 1]),
}  # fmt: skip
FROM = {name: call for name, call in ALONG.items() if name not in ("ends", "periodic")}


def agrees(call: Callable[..., Any], *args: Any, tolerance: float = 1e-12) -> None:
    """Assert that a function answers, recorded, what it answers plainly."""
    found, expected = tj.function(call)(*args), call(*args)
    assert type(found) is type(expected)
    assert np.result_type(found) == np.result_type(expected)
    scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("name", ALONG)
def test_values_are_scipys(name: str) -> None:
    for q in (Q, Q.reshape(5, 1), Q[:0], T[1:5]):
        if q.ndim == 1 and q.size > 3:
            agrees(ALONG[name], T, Y, q)
        elif "integral" not in name:
            agrees(ALONG[name], T, Y, q)


@pytest.mark.parametrize("name", some_by_day(ALONG))
def test_gradients_by_knots_data_and_points(name: str) -> None:
    tj.check_grads(ALONG[name], (T, Y, Q), order=2)


@pytest.mark.parametrize("name", some_by_day(SURFACES))
def test_surfaces(name: str) -> None:
    agrees(SURFACES[name], X2, Y2, SURFACE, POINTS, tolerance=1e-5 if name == "slinear" else 1e-12)
    tj.check_grads(SURFACES[name], (X2, Y2, SURFACE, POINTS), order=2 if name == "linear" else 1)


@pytest.mark.parametrize("name", some_by_day(FROM))
def test_a_batch_is_a_loop(name: str) -> None:
    call = FROM[name]
    ys, qs = np.stack([Y, Z[:, 1]]), np.stack([Q, Q[::-1] * 0.9])
    for axes, args in (((None, 0, None), (T, ys, Q)), ((None, 0, 0), (T, ys, qs))):
        found = tj.vmap(call, in_axes=axes)(*args)
        each = [
            call(*[a if axis is None else a[k] for a, axis in zip(args, axes, strict=True)])
            for k in range(2)
        ]
        np.testing.assert_allclose(found, np.stack(each), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda axis: si.CubicSpline(T, np.moveaxis(Z, 0, axis), axis=axis),
        lambda axis: si.PchipInterpolator(T, np.moveaxis(Z, 0, axis), axis=axis, extrapolate=False),
        lambda axis: si.Akima1DInterpolator(T, np.moveaxis(Z, 0, axis), axis=axis),
        lambda axis: si.make_interp_spline(T, np.moveaxis(Z, 0, axis), axis=axis),
        lambda axis: si.CubicSpline(T, np.moveaxis(Z, 0, axis), axis=axis).derivative(),
        lambda axis: si.PPoly(si.CubicSpline(T, Z).c, T, extrapolate="periodic"),
        lambda axis: si.interp1d(
            T, np.moveaxis(Z, 0, axis), axis=axis, bounds_error=False, fill_value=(1.0, 2.0)),
        lambda axis: si.interp1d(
            T, np.moveaxis(Z, 0, axis), "previous", axis=axis, fill_value="extrapolate"),
    ],
)  # fmt: skip
def test_what_scipy_made_is_called_with_recorded_points(make: Callable[[int], Any]) -> None:
    points = np.array([-0.5, 0.0, 0.7, 3.0, 4.1, 4.6, np.nan])
    for axis in (0, 1):
        made = make(axis)
        agrees(lambda q, made=made: made(q), points)
        agrees(lambda q, made=made: made(q), np.array(0.4))
        agrees(lambda q, made=made: made(q), points.reshape(7, 1)[:2])
        if isinstance(made, (si.PPoly, si.BSpline)):
            agrees(lambda q, made=made: made(q, 1, extrapolate=False), points)
            agrees(lambda q, made=made: made.antiderivative()(q) + made.derivative()(q), points)
            agrees(lambda q, made=made: made.integrate(0.2, q), np.float64(3.3), tolerance=1e-11)


def test_methods_of_grids_that_scipy_made() -> None:
    grid = si.RegularGridInterpolator((X2, Y2), SURFACE, bounds_error=False, fill_value=-1.0)
    points = np.concatenate([POINTS, [[9.0, 1.0], [np.nan, 1.0], [X2[0], Y2[-1]]]])
    for method in ("linear", "nearest"):
        agrees(lambda p, method=method: grid(p, method=method), points)
    agrees(lambda x: grid((x, 0.5)), Q / 1.3)
    agrees(lambda p: grid(p), POINTS[0])
    surface = si.RectBivariateSpline(X2, Y2, SURFACE, kx=2)
    agrees(lambda x, y: surface(x, y), Q, Q[:2])
    agrees(lambda x, y: surface.ev(x, y, dy=1), Q, Q[:1])
    agrees(lambda z: si.RectBivariateSpline(X2, Y2, z).partial_derivative(1, 1)(Q, Q), SURFACE)


@pytest.mark.parametrize("ext", [0, 1, 3, "zeros", "const"])
def test_splines_of_fitpack_beyond_their_knots(ext: Any) -> None:
    points = np.array([-0.5, 0.0, 0.7, 3.0, 4.1, 4.6])
    for made in (
        si.UnivariateSpline(T, Y, s=0.5, ext=ext),
        si.InterpolatedUnivariateSpline(T, Y, k=2, ext=ext),
    ):
        agrees(lambda q, made=made: made(q) + made(q, 1) + made.derivative()(q), points)
        agrees(lambda q, made=made: made(q), np.array(0.4))
        agrees(lambda q, made=made: made.integral(-1.0, q), np.float64(3.3))


def test_what_changes_is_read_again() -> None:
    spline = si.CubicSpline(T, Y)
    f = tj.function(lambda q: spline(q) * 2.0)
    for number in (1.0, 3.0):
        spline.c[-1] = number
        np.testing.assert_allclose(f(Q), 2.0 * spline(Q), rtol=1e-12)


def test_a_spline_is_a_container() -> None:
    made = tj.function(lambda y: si.CubicSpline(T, y))(Y)
    assert isinstance(made, si.CubicSpline)
    np.testing.assert_allclose(made(Q), si.CubicSpline(T, Y)(Q), rtol=1e-12)

    def loss(y: Any) -> Any:
        spline = si.CubicSpline(T, y)
        return {"spline": spline, "at": [spline(0.3), spline.integrate(0.1, 0.4)]}

    found = tj.function(lambda y: loss(y)["spline"].derivative()(Q[0]))(Y)
    assert found == pytest.approx(si.CubicSpline(T, Y)(Q[0], 1), rel=1e-12)
    assert tj.function(lambda y: isinstance(si.CubicSpline(T, y), si.PPoly) + 0 * y[0])(Y) == 1.0


def test_points_out_of_bounds_raise_what_scipy_raises() -> None:
    line = tj.function(lambda q: si.interp1d(T, Y)(q))
    np.testing.assert_allclose(line(Q), np.interp(Q, T, Y))
    with pytest.raises(ValueError, match="interpolation range"):
        line(Q + 3.0)
    np.testing.assert_allclose(line(Q), np.interp(Q, T, Y))
    grid = tj.value_and_grad(lambda p: np.sum(si.RegularGridInterpolator((X2, Y2), SURFACE)(p)))
    grid(POINTS)
    with pytest.raises(ValueError, match="out of bounds in dimension 0"):
        grid(POINTS + 3.0)


def test_splines_on_grids_are_solved_for_exactly() -> None:
    def call(z: Any, p: Any) -> Any:
        return si.RegularGridInterpolator((X2, Y2), z, method="cubic")(p, nu=(1, 0))

    exact = si.RectBivariateSpline(X2, Y2, SURFACE).ev(*POINTS.T, dx=1)
    np.testing.assert_allclose(tj.function(call)(SURFACE, POINTS), exact, rtol=1e-10)


def test_knots_that_do_not_increase_are_nan() -> None:
    f = tj.function(lambda t: si.CubicSpline(t, Y)(Q))
    assert np.isfinite(f(T)).all()
    assert np.isnan(f(T[::-1])).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda y: si.CubicSpline(T, y).roots(), r"interpolate\.CubicSpline\.roots"),
        (lambda y: si.CubicSpline(T, Y).solve(y), r"interpolate\.CubicSpline\.solve"),
        (lambda y: si.CubicSpline(T[1:], y), "doesn't match the length"),
        (lambda y: si.CubicSpline(T, y, bc_type="wrong"), "bc_type=wrong is not allowed"),
        (lambda y: si.make_interp_spline(T, y, 7, bc_type="periodic"), "at least 8 points"),
        (lambda y: si.RectBivariateSpline(T, T, y[:, None] * Y, s=1.0), "smoothing"),
        (lambda y: si.RegularGridInterpolator((T,), y, "pchip")(Q[:, None]), "its method is pchip"),
        (lambda y: si.CubicSpline(T, y)(1j), "complex"),
        (lambda y: si.UnivariateSpline(T, y), "it chooses its knots"),
        (lambda y: si.InterpolatedUnivariateSpline(T, y, w=Y), "leave out w"),
        (lambda y: si.make_interp_spline(T, y, 0).antiderivative(), "its degree is 0"),
    ],
)
def test_refused_in_words(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(tj.TracejitError, match=words):
        tj.function(call)(Y)


def test_float32_is_as_in_scipy() -> None:
    for call in (ALONG["natural"], ALONG["pchip"], ALONG["b-spline"], ALONG["interp1d"]):
        agrees(call, T.astype(np.float32), Y.astype(np.float32), Q.astype(np.float32))


def test_of_no_data() -> None:
    agrees(lambda z: si.CubicSpline(T, z)(0.3), np.zeros((7, 0)))
    agrees(lambda z: si.make_interp_spline(T, z)(Q), np.zeros((7, 0)))
    agrees(lambda z: si.interp1d(T, z)(Q), np.zeros((0, 7)))
