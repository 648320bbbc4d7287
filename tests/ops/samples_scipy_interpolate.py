"""Samples of scipy.interpolate, scipy.spatial, and classes of scipy.stats."""

from __future__ import annotations

import numpy as np
import scipy.interpolate as si
import scipy.spatial.distance as sd
from scipy import stats
from scipy.spatial.transform import Rotation
from table import Sample, formula, normal, positive, unit

from tracejit.ops.scipy import interpolate, spatial  # noqa: F401  the records
from tracejit.ops.scipy import stats as _records  # noqa: F401

T = np.array([0.0, 0.7, 1.1, 2.0, 2.4, 3.3])
Q = np.array([0.2, 0.95, 1.7, 3.1])
U = np.array([0.1, 0.6, 1.2, 1.9, 2.3])
P = np.array([[0.3, 0.2], [1.5, 1.1], [2.9, 2.0]])


def made(name, *args, **options):
    """The function from data and points to the values of an interpolator."""

    def call(t, y, q):
        return formula(getattr(si, name))(t, y, **options)(q, *args)

    return call


def integral(t, y, q):
    """The integral of a spline."""
    return formula(si.CubicSpline)(t, y).integrate(q[0], q[-1])


def polynomial(c, x, q):
    """A piecewise polynomial with its slope."""
    pieces = formula(si.PPoly)(c, x)
    return pieces(q) + pieces.derivative()(q) + pieces.antiderivative()(q)


def spline(t, c, q):
    """A B-spline with its slope."""
    basis = formula(si.BSpline)(t, c, 2)
    return basis(q) + basis.derivative()(q) + basis.antiderivative()(q)


def of_fitpack(name):
    """The values of what a function makes of knots, coefficients and degree."""
    return lambda t, y, q: formula(si.splev)(q, formula(getattr(si, name))(
        formula(si.splrep)(t, y)))  # fmt: skip


def surface(x, y, z, p):
    """A spline of two variables, and its slope."""
    through = formula(si.RectBivariateSpline)(x, y, z)
    return through.ev(p[:, 0], p[:, 1]) + through(p[:, 0], p[:, 1], dx=1, grid=False)


def grid(**options):
    """Data on a grid at points."""
    return lambda z, p: formula(si.RegularGridInterpolator)((T, U), z, **options)(p)


def sample(op, call, *args, order=2, **fields):
    """A sample that SciPy computes in double precision, whatever it is given."""
    return Sample(op, call, args, order=order, holomorphic=False, float32=False, **fields)


INTERPOLATED = [
    *[
        sample("CubicSpline", call, T, y, Q)
        for call, y in (
            (made("CubicSpline"), normal(6)),
            (made("CubicSpline", axis=1), normal(2, 6)),
            (made("CubicSpline", 1, bc_type="natural"), normal(6, 2)),
            (made("CubicSpline", bc_type=((1, 0.5), "clamped"), extrapolate=False), normal(6)),
            (integral, normal(6)),
        )
    ],
    sample("CubicSpline", lambda y, q: formula(si.CubicSpline)(
        T, np.concatenate([y, y[:1]]), bc_type="periodic")(q), normal(5), Q + 2.0),
    sample("CubicSpline", lambda y: formula(si.CubicSpline)(T, y)(0.3), normal(6)),
    sample("CubicHermiteSpline", lambda t, y, s, q: formula(si.CubicHermiteSpline)(t, y, s)(q),
           T, normal(6), normal(6), Q),
    sample("PchipInterpolator", made("PchipInterpolator"), T, normal(6), Q),
    sample("PchipInterpolator", made("PchipInterpolator", 1), T, np.cumsum(positive(6, 2), 0), Q),
    sample("Akima1DInterpolator", made("Akima1DInterpolator"), T, normal(6), Q),
    sample("Akima1DInterpolator", made("Akima1DInterpolator", method="makima"), T, normal(6), Q),
    sample("PPoly", polynomial, normal(3, 5), T, Q),
    sample("PPoly", polynomial, normal(2, 5, 2), T, Q.reshape(2, 2)),
    sample("BSpline", spline, np.concatenate([[-0.4, -0.2], T, [3.5, 3.6]]), normal(7), Q),
    sample("make_interp_spline", made("make_interp_spline"), T, normal(6), Q),
    sample("make_interp_spline", made("make_interp_spline", k=2), T, normal(6, 2), Q),
    sample("make_interp_spline", made("make_interp_spline", bc_type="natural"), T, normal(6), Q),
    *[
        sample("interp1d", made("interp1d", kind=kind), T, normal(6), Q)
        for kind in ("linear", "nearest", "previous", "next", "zero", "cubic")
    ],
    sample("interp1d", made("interp1d", axis=0, fill_value=(1.0, 2.0), bounds_error=False),
           T, normal(6, 2), Q + 1.0),
    sample("InterpolatedUnivariateSpline", made("InterpolatedUnivariateSpline", 1, k=4), T,
           normal(6), Q),
    sample("UnivariateSpline", made("UnivariateSpline", s=0, ext=1), T, normal(6), Q + 1.0),
    *[sample(name, of_fitpack(name), T, normal(6), Q) for name in ("splder", "splantider")],
    sample("splint", lambda t, y, q: q * formula(si.splint)(
        q[0], q[-1], formula(si.splrep)(t, y)), T, normal(6), Q),
    sample("splev", lambda t, y, q: formula(si.splev)(q, formula(si.splrep)(t, y), der=1, ext=3),
           T, normal(6), Q),
    sample("splrep", lambda t, y, q: formula(si.splev)(q, formula(si.splrep)(t, y, k=2), ext=1),
           T, normal(6), Q + 1.0),
    sample("UnivariateSpline", lambda t, y: formula(si.UnivariateSpline)(
        t, y, s=0).derivatives(0.3), T, normal(6)),
    sample("interpn", lambda z, p: formula(si.interpn)((T, U), z, p), normal(6, 5), P),
    sample("within", made("interp1d"), T, normal(6), Q),
    sample("RegularGridInterpolator", grid(), normal(6, 5), P),
    sample("RegularGridInterpolator", grid(method="nearest"), normal(6, 5), P),
    sample("RegularGridInterpolator", grid(method="cubic"), normal(6, 5), P, order=1),
    sample("RegularGridInterpolator", grid(bounds_error=False, fill_value=None),
           normal(6, 5, 2), P + 0.93),
    sample("RectBivariateSpline", surface, T, U, normal(6, 5), P, order=1),
]  # fmt: skip

CDIST, PDIST, SQUAREFORM = map(formula, (sd.cdist, sd.pdist, sd.squareform))
DISTANCES = [
    *[
        sample("cdist", lambda a, b, m=metric: CDIST(a, b, m),
               positive(2, 3), 2.0 + positive(3, 3))
        for metric in ("euclidean", "cosine", "correlation", "jensenshannon", "braycurtis")
    ],
    sample("cdist", lambda a, b, w: CDIST(a, b, "minkowski", p=3, w=w),
           normal(2, 3), 2.0 + positive(3, 3), positive(3)),
    sample("pdist", PDIST, normal(4, 3)),
    sample("pdist", lambda a: PDIST(a, "seuclidean"), normal(4, 3)),
    sample("squareform", SQUAREFORM, normal(6)),
    sample("squareform", SQUAREFORM,
           (lambda a: (a + a.T) * (1 - np.eye(4)))(normal(4, 4))),
]  # fmt: skip


def rotated(make, **options):
    """Vectors that rotations apply to, and the rotations as matrices and vectors."""

    def call(x, vectors):
        turn = make(x, **options)
        return turn.apply(vectors), turn.inv().as_rotvec(), (turn * turn).as_quat()

    return call


def euler(angles, vectors):
    """Vectors turned by angles, and the angles."""
    turn = formula(Rotation.from_euler)("zyx", angles)
    return turn.apply(vectors), turn.as_euler("xyz"), turn.magnitude()


ROTVEC, QUAT = formula(Rotation.from_rotvec), formula(Rotation.from_quat)
TURNED = [
    sample("from_rotvec", rotated(ROTVEC), normal(3), normal(4, 3)),
    sample("from_rotvec", rotated(ROTVEC), np.zeros(3), normal(3)),
    sample("from_rotvec", rotated(ROTVEC, degrees=True), normal(4, 3), normal(4, 3)),
    sample("from_quat", rotated(QUAT), normal(4), normal(2, 3)),
    sample("from_quat", rotated(QUAT, scalar_first=True), normal(2, 4), normal(3)),
    sample("from_mrp", rotated(formula(Rotation.from_mrp)), normal(2, 3), normal(3)),
    sample("from_matrix", lambda x, v: formula(Rotation.from_matrix)(
        ROTVEC(x).as_matrix()).apply(v), normal(2, 3), normal(3)),
    sample("from_rotvec", lambda x, w: ROTVEC(x).mean(weights=w).as_matrix(), normal(4, 3),
           positive(4)),
    sample("from_euler", euler, unit(3), normal(2, 3)),
    sample("from_euler", euler, unit(2, 3), normal(3)),
]  # fmt: skip

KERNELS = [
    sample("gaussian_kde", lambda d, q: formula(stats.gaussian_kde)(d)(q), normal(2, 5),
           normal(2, 3), order=1),
    sample("gaussian_kde", lambda d, w, q: formula(stats.gaussian_kde)(d, weights=w).logpdf(q),
           normal(5), positive(5), normal(3), order=1),
]  # fmt: skip

SAMPLES = [*INTERPOLATED, *DISTANCES, *TURNED, *KERNELS]
