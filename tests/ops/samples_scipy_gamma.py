"""Samples of scipy.special: the gamma function's family and the error functions."""

from __future__ import annotations

import numpy as np
from scipy import special as sc
from table import Sample, complex_normal, each, positive, unit

from tracejit.scipy import special

SINGLE = np.float32([0.5, 1.25])
SHAPE = np.array([0.7, 1.0, 3.5])
COUNTS = np.array([0, 1, 4])
EMPTY = np.zeros(0)


ERROR_FUNCTIONS = [
    *each(sc.erf, (unit(2, 3).T,), (complex_normal(2),), (SINGLE,), (0.5,), zero_size=(EMPTY,)),
    *each(sc.erfc, (unit(3),), (complex_normal(2),), (np.int8([1, 2]),), (np.array(0.3),)),
    *each(sc.erfi, (unit(3),), (complex_normal(2),)),
    *each(sc.erfcx, (np.array([-1.0, 0.3, 11.9, 40.0]),), (np.array([0.3 + 1j, 30.0 - 20j]),)),
    *each(sc.dawsn, (np.array([-30.0, 0.3, 11.9, 40.0]),), (np.array([0.3 + 1j, 30.0 - 2j]),)),
    *each(sc.wofz, (np.array([0.3 + 1j, 30.0 + 2j, 1.0 - 0.3j]),)),
    *each(sc.erfinv, (unit(3),)),
    *each(sc.erfcinv, (1.0 + unit(3),)),
    *each(sc.ndtr, (unit(3),), (complex_normal(2),)),
    *each(sc.log_ndtr, (np.array([-40.0, -0.5, 0.5, 3.0]),), (complex_normal(2),)),
    *each(sc.ndtri, (0.5 + 0.5 * unit(3),)),
    *each(sc.ndtri_exp, (np.array([-50.0, -3.0, -0.1]),)),
    *each(sc.owens_t, (unit(3), unit(2, 1))),
    *each(sc.nrdtrimn, (0.5 + 0.4 * unit(3), positive(3), unit(3))),
    *each(sc.nrdtrisd, (unit(3), np.array([0.2, 0.7, 0.8]), 1.0 + positive(3))),
    *each(sc.voigt_profile, (unit(3), positive(3), positive(3))),
    Sample(
        "voigt_profile",
        lambda x, gamma: sc.voigt_profile(x, 0.0, gamma),
        (unit(3), positive(3)),
        holomorphic=False,
    ),
]
GAMMA = [
    *each(sc.gamma, (positive(3),), (np.array([-0.5, -1.3]),), (SINGLE,)),
    *each(sc.gamma, (complex_normal(2),)),
    *each(sc.gammaln, (positive(4),), (np.array([-0.5, 60.0]),), (SINGLE,), zero_size=(EMPTY,)),
    *each(sc.loggamma, (positive(3),)),
    *each(sc.loggamma, (complex_normal(2),)),
    *each(sc.rgamma, (np.array([-2.0, -0.7, 0.0, 0.3, 2.0]),)),
    *each(sc.rgamma, (complex_normal(2),)),
    *each(sc.gammasgn, (unit(3),)),
    *each(sc.psi, (positive(4),), (np.array([-0.5, -1.3]),), (np.array([0.3 + 1j, -3.2 + 0.4j]),)),
    Sample("zeta", lambda q: special.zeta(2.0, q), (positive(4) + 1.0,), holomorphic=False),
    Sample("zeta", special.zeta, (np.array([2, 3]), positive(2)), holomorphic=False),
    Sample("riemann_zeta", special.zeta, (np.array([2.0, 3.0]),), differentiable=False),
    *each(sc.zetac, (np.array([2.0, 3.0]),), differentiable=False),
    Sample("polygamma", lambda x: special.polygamma(1, x), (positive(3),), holomorphic=False),
    Sample("polygamma", special.polygamma, (COUNTS, positive(3)), holomorphic=False),
    Sample("polygamma", lambda x: special.polygamma(2, x), (np.array(0.7),), holomorphic=False),
    Sample(
        "multigammaln",
        lambda a: special.multigammaln(a, 3),
        (1.0 + positive(3),),
        holomorphic=False,
    ),
    Sample("multigammaln", lambda a: special.multigammaln(a, 1), (1.5,), holomorphic=False),
    *each(sc.beta, (positive(3), positive(2, 1))),
    *each(sc.betaln, (positive(3), positive(3)), (SINGLE, SINGLE)),
    *each(sc.poch, (positive(3), positive(3)), (np.array([-0.5, -1.3]), positive(2))),
    *each(sc.poch, (np.array([-2.0, 0.0]), np.array([0.5, 2.0])), float32=False),
    *each(sc.binom, (4.0 + positive(3), positive(3))),
    *each(sc.binom, (np.array([5.0, 4.0]), np.array([7.0, -2.0]))),
    Sample("comb", special.comb, (4.0 + positive(3), positive(3)), holomorphic=False),
    Sample("comb", special.comb, (np.array([5, 2, 1]), COUNTS)),
    Sample("comb", special.comb, (4.5, 2.25), holomorphic=False),
    Sample("perm", special.perm, (4.0 + positive(3), positive(3)), holomorphic=False),
    Sample("perm", special.perm, (np.array([5, 2, 1]), COUNTS)),
    Sample("factorial", special.factorial, (positive(3),), holomorphic=False),
    Sample("factorial", special.factorial, (np.array([5, 2, -1]),)),
]
INCOMPLETE = [
    *each(sc.gammainc, (positive(2), positive(2)), differentiable=False),
    Sample("gammainc", lambda x: sc.gammainc(SHAPE, x), (positive(3),), holomorphic=False),
    Sample("gammaincc", lambda x: sc.gammaincc(SHAPE, x), (positive(2, 3),), holomorphic=False),
    Sample(
        "gammaincinv",
        lambda p: sc.gammaincinv(SHAPE, p),
        (np.array([0.2, 0.5, 0.8]),),
        holomorphic=False,
    ),
    Sample(
        "gammainccinv",
        lambda p: sc.gammainccinv(SHAPE, p),
        (np.array([0.2, 0.5, 0.8]),),
        holomorphic=False,
    ),
    *(
        Sample(
            f.__name__,
            lambda x, f=f: f(SHAPE, 1.5, x),
            (np.array([0.2, 0.5, 0.8]),),
            holomorphic=False,
        )
        for f in (sc.betainc, sc.betaincinv)
    ),
    *(
        Sample(
            name,
            lambda x, name=name: getattr(sc, name)(SHAPE, 1.5, x),
            (np.array([0.2, 0.5, 0.8]),),
            holomorphic=False,
        )
        for name in ("betaincc", "betainccinv")
    ),
]
SAMPLES = ERROR_FUNCTIONS + GAMMA + INCOMPLETE
