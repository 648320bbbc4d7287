"""Samples of scipy.special: elliptic, hypergeometric, orthogonal and distribution functions."""

from __future__ import annotations

import numpy as np
from scipy import special as sc
from table import Sample, complex_normal, each, positive, unit

from tracejit.ops.base.op import OPS
from tracejit.scipy import special

COUNTS = np.array([0, 1, 3])
SHARES = np.array([0.2, 0.5, 0.8])
BETWEEN = np.array([0.2, 0.4, 0.6])


def of_last(function, *parameters, x, **fields):
    """A sample of a function by its last argument."""
    return each(lambda x: function(*parameters, x), (x,), name=function.__name__, **fields)


ELLIPTIC = [
    *each(sc.ellipk, (np.array([-2.0, 0.0, 0.9]),)),
    *each(sc.ellipkm1, (positive(3),)),
    *each(sc.ellipe, (np.array([-2.0, 0.0, 0.9]),)),
    *each(sc.ellipkinc, (np.array([-7.0, 0.7, 1.2]), np.array([0.3, 0.0, -2.0]))),
    *each(sc.ellipeinc, (np.array([-7.0, 0.7, 1.2]), np.array([0.3, 0.0, -2.0]))),
    *each(sc.ellipj, (np.array([-3.0, 0.7, 1.2]), np.array([0.3, 0.5, 0.9]))),
    *each(lambda u: sc.ellipj(u, 0.4)[0], (unit(3),), name="ellipj"),
    *each(sc.agm, (positive(3), positive(3)), (np.array([1.0, -2.0]), np.array([1.0, -0.5]))),
    *each(sc.elliprc, (positive(3), positive(3)), (positive(2), -positive(2))),
    *each(sc.elliprd, (positive(3), positive(3), positive(3))),
    *each(
        sc.elliprd,
        (np.array([1.0, 0.7]), np.array([1.0, 1.0]), np.array([1.0, 0.7001])),
        float32=False,
    ),
    *each(sc.elliprf, (positive(3), positive(3), positive(3))),
    *each(sc.elliprf, (1.0 + positive(2), 1.0 + positive(2) * 1j, 2.0 + 0j)),
    *each(sc.elliprg, (positive(3), positive(3), positive(3))),
    *each(sc.elliprj, (positive(3), positive(3), positive(3), 2.0 + positive(3))),
]
HYPERGEOMETRIC = [
    *of_last(sc.hyp0f1, 1.5, x=unit(3)),
    *of_last(sc.hyp0f1, 1.5, x=complex_normal(2)),
    *of_last(sc.hyp1f1, 0.5, 1.5, x=unit(3)),
    *of_last(sc.hyp1f1, 0.5, 1.5, x=complex_normal(2)),
    *of_last(sc.hyp2f1, 0.5, 1.5, 2.5, x=unit(3)),
    *of_last(sc.hyp2f1, 0.5, 1.5, 2.5, x=0.3 * complex_normal(2)),
    *of_last(sc.hyperu, 0.5, 1.5, x=positive(3)),
    *of_last(sc.wright_bessel, 0.5, 1.5, x=positive(3)),
    *each(special.lambertw, (positive(3),), (complex_normal(2),), (np.array([0.0, 0.5]),)),
    *each(lambda z: special.lambertw(z, -1), (-0.1 * positive(3),), name="lambertw"),
    *each(sc.wrightomega, (unit(3),), (complex_normal(2),)),
]
if "log_wright_bessel" in OPS:
    HYPERGEOMETRIC += of_last(sc.log_wright_bessel, 0.5, 1.5, x=positive(3))

POLYNOMIALS = [
    *(
        sample
        for function in (
            sc.eval_legendre,
            sc.eval_chebyt,
            sc.eval_chebyu,
            sc.eval_chebyc,
            sc.eval_chebys,
            sc.eval_laguerre,
            sc.eval_sh_legendre,
            sc.eval_sh_chebyt,
            sc.eval_sh_chebyu,
        )
        for n, x in ((COUNTS, unit(3)), (2, unit(3)), (1.5, 0.5 + 0.4 * unit(3)))
        for sample in of_last(function, n, x=x)
    ),
    *of_last(sc.eval_legendre, 3, x=complex_normal(2)),
    *of_last(sc.eval_hermite, COUNTS, x=unit(3)),
    *of_last(sc.eval_hermitenorm, COUNTS, x=unit(3)),
    *of_last(sc.eval_hermitenorm, 3, x=unit(3)),
    *of_last(sc.eval_genlaguerre, COUNTS, 0.5, x=unit(3)),
    *of_last(sc.eval_gegenbauer, COUNTS, 0.7, x=unit(3)),
    *of_last(sc.eval_jacobi, COUNTS, 0.5, 0.7, x=unit(3)),
    *of_last(sc.eval_sh_jacobi, COUNTS, 2.5, 1.7, x=0.5 + 0.4 * unit(3)),
    *each(lambda x: special.assoc_laguerre(x, 2, 0.5), (unit(3),), name="assoc_laguerre"),
    *of_last(sc.lpmv, 1, 2.0, x=unit(3)),
    *each(lambda x: special.diric(x, 4), (np.array([0.0, 0.7, 6.0]),), name="diric"),
    *each(lambda x: special.diric(x, 1), (np.array([0.0, 0.7]),), name="diric"),
]
if "sph_harm_y" in OPS:
    POLYNOMIALS += [
        *of_last(special.legendre_p, COUNTS, x=unit(3), order=1),
        *each(lambda x: special.legendre_p(2, x), (unit(3),), name="legendre_p", order=1),
        *each(
            lambda z: special.assoc_legendre_p(2, 1, z, norm=True),
            (unit(3),),
            name="assoc_legendre_p",
        ),
        *each(lambda t: special.sph_legendre_p(2, 1, t), (unit(3),), name="sph_legendre_p"),
        *each(
            lambda t, p: special.sph_harm_y(np.array([2, 3, 2]), np.array([1, 0, -2]), t, p),
            (positive(3), unit(2, 1)),
            name="sph_harm_y",
            float32=False,
        ),
    ]

DISTRIBUTIONS = [
    *each(lambda a, x: sc.gdtr(a, 1.5, x), (positive(3), positive(3)), name="gdtr"),
    *each(lambda a, x: sc.gdtrc(a, 1.5, x), (positive(3), positive(3)), name="gdtrc"),
    *each(lambda a, p: sc.gdtrix(a, 1.5, p), (positive(3), SHARES), name="gdtrix"),
    *each(lambda p, x: sc.gdtria(p, 1.5, x), (SHARES, positive(3)), name="gdtria"),
    *of_last(sc.chdtr, 1.5, x=positive(3)),
    *of_last(sc.chdtrc, 1.5, x=positive(3)),
    *of_last(sc.chdtri, 1.5, x=SHARES),
    *of_last(sc.pdtr, 1.0, x=positive(3)),
    *of_last(sc.pdtrc, 1.0, x=positive(3)),
    *of_last(sc.pdtri, 1, x=SHARES),
    *of_last(sc.bdtr, np.array([0.0, 2.0, 5.0]), 5, x=SHARES),
    *of_last(sc.bdtrc, np.array([0.0, 2.0, 5.0]), 5, x=SHARES),
    *of_last(sc.bdtri, np.array([0.0, 2.0, 4.0]), 5, x=SHARES),
    *of_last(sc.nbdtr, 2, 5, x=SHARES),
    *of_last(sc.nbdtrc, 2, 5, x=SHARES),
    *of_last(sc.nbdtri, 2, 5, x=SHARES),
    *of_last(sc.fdtr, 3.0, 4.5, x=positive(3)),
    *of_last(sc.fdtrc, 3.0, 4.5, x=positive(3)),
    *of_last(sc.fdtri, 3.0, 4.5, x=SHARES),
    *of_last(sc.stdtr, np.array([3.0, 4.5, np.inf]), x=unit(3)),
    *of_last(sc.stdtrit, np.array([3.0, 4.5, 6.0]), x=SHARES),
    *each(lambda x, nc: sc.chndtr(x, 3.0, nc), (positive(3), positive(3)), name="chndtr"),
    *each(lambda p, nc: sc.chndtrix(p, 3.0, nc), (SHARES, positive(3)), name="chndtrix"),
    *each(
        lambda x, p: sc.chndtrinc(x, 3.0, p),
        (8.0 + positive(3), np.array([0.2, 0.3, 0.4])),
        name="chndtrinc",
    ),
    *each(sc.kolmogorov, (np.array([0.5, 0.7, 0.9, 1.5]),)),
    *each(sc.kolmogi, (SHARES,)),
    *of_last(sc.smirnov, 4, x=BETWEEN, order=1),
    *of_last(sc.smirnovi, 4, x=SHARES, order=1),
    Sample("smirnov_slope", lambda d: sc.smirnov(4, d), (BETWEEN,), order=1, holomorphic=False),
    *each(lambda x: sc.tklmbda(x, np.array([0.0, 0.5, -0.5])), (unit(3),), name="tklmbda"),
    *each(sc.gdtrib, (1.5, 0.5, 2.0), differentiable=False),
    *each(sc.chdtriv, (0.5, 2.0), differentiable=False),
    *each(sc.pdtrik, (0.5, 2.0), differentiable=False),
    *each(sc.bdtrik, (0.5, 5.0, 0.3), differentiable=False),
    *each(sc.bdtrin, (2.0, 0.5, 0.3), differentiable=False),
    *each(sc.nbdtrik, (0.5, 5.0, 0.3), differentiable=False),
    *each(sc.nbdtrin, (2.0, 0.5, 0.3), differentiable=False),
    *each(sc.btdtria, (0.5, 2.0, 0.3), differentiable=False),
    *each(sc.btdtrib, (2.0, 0.5, 0.3), differentiable=False),
    *each(sc.fdtridfd, (2.0, 0.5, 0.7), differentiable=False),
    *each(sc.stdtridf, (0.7, 0.7), differentiable=False),
    *each(sc.chndtridf, (2.0, 0.5, 1.0), differentiable=False),
    *(
        sample
        for function in (sc.ncfdtr, sc.ncfdtri, sc.ncfdtridfd, sc.ncfdtridfn, sc.ncfdtrinc)
        for sample in each(function, (3.0, 4.0, 0.5, 0.5), differentiable=False)
    ),
    *(
        sample
        for function in (sc.nctdtr, sc.nctdtridf, sc.nctdtrinc, sc.nctdtrit)
        for sample in each(function, (3.0, 0.5, 0.7), differentiable=False)
    ),
]
SAMPLES = ELLIPTIC + HYPERGEOMETRIC + POLYNOMIALS + DISTRIBUTIONS
