"""Samples of scipy.special: elementary functions, integrals and softmax."""

from __future__ import annotations

import numpy as np
from scipy import special as sc
from table import complex_normal, each, normal, positive, unit

from tracejit.ops.base.op import COMPOSITES
from tracejit.scipy import special

SINGLE = np.float32([0.5, 1.25])
EMPTY = np.zeros(0)
ZEROS = np.array([0.0, 0.0, 0.5])


ELEMENTARY = [
    *each(sc.xlogy, (positive(3), positive(2, 1)), (complex_normal(2), positive(2))),
    *each(lambda y: sc.xlogy(ZEROS, y), (np.array([1.0, 0.5, 2.0]),), name="xlogy"),
    *each(sc.xlogy, (ZEROS, positive(3))),
    *each(sc.xlog1py, (positive(3), positive(3)), (positive(2), complex_normal(2))),
    *each(sc.entr, (positive(3),), (SINGLE,)),
    *each(sc.rel_entr, (positive(3), positive(3))),
    *each(lambda y: sc.rel_entr(ZEROS, y), (positive(3),), name="rel_entr"),
    *each(sc.kl_div, (positive(3), positive(3))),
    *each(lambda y: sc.kl_div(ZEROS, y), (positive(3),), name="kl_div"),
    *each(sc.expit, (normal(3),), (np.array([-40.0, 40.0]),), (SINGLE,), zero_size=(EMPTY,)),
    *each(sc.log_expit, (normal(3),), (np.array([-40.0, 40.0]),)),
    *each(sc.logit, (0.5 + 0.4 * unit(3),)),
    *each(sc.huber, (np.array([1.0, 0.5, 2.0]), np.array([0.3, -2.0, -0.7]))),
    *each(sc.pseudo_huber, (positive(3), normal(3)), (positive(2), 1e-3 * normal(2))),
    *each(sc.cbrt, (positive(3),), name="scipy_cbrt"),
    *each(sc.exp2, (normal(3),), name="scipy_exp2"),
    *each(sc.exp10, (normal(3),)),
    *each(sc.expm1, (normal(3),), (complex_normal(2),), name="scipy_expm1"),
    *each(sc.log1p, (positive(3),), (complex_normal(2),), name="scipy_log1p"),
    *each(sc.exprel, (np.array([-30.0, -1e-3, 0.0, 0.5, 20.0]),)),
    *each(sc.powm1, (positive(3), normal(3)), (positive(2), np.zeros(2))),
    *each(sc.boxcox, (positive(3), np.array([0.0, 0.5, -1.0]))),
    *each(sc.boxcox1p, (positive(3), np.array([0.0, 0.5, -1.0]))),
    *each(sc.inv_boxcox, (0.3 * positive(3), np.array([0.0, 0.5, -1.0]))),
    *each(sc.inv_boxcox1p, (0.3 * positive(3), np.array([0.0, 0.5, -1.0]))),
    *each(sc.cosm1, (normal(3),)),
    *each(sc.sindg, (30.0 * normal(3),)),
    *each(sc.cosdg, (30.0 * normal(3),)),
    *each(sc.tandg, (30.0 * unit(3),)),
    *each(sc.cotdg, (30.0 * positive(3),)),
    *each(sc.radian, (positive(3), positive(3), positive(3))),
    *each(sc.round, (np.array([0.3, 1.6, 2.2]),), name="scipy_round"),
]
if "softplus" in COMPOSITES:
    ELEMENTARY += each(special.softplus, (normal(3),), name="softplus")

INTEGRALS = [
    *each(sc.exp1, (positive(3),), (complex_normal(2),)),
    *each(sc.expi, (positive(3),), (-positive(3),), (complex_normal(2),)),
    *each(lambda x: sc.expn(np.array([0, 1, 3]), x), (positive(3),), name="expn"),
    *each(lambda x: sc.expn(2, x), (positive(3),), (SINGLE,), name="expn"),
    *each(sc.spence, (np.array([0.1, 0.5, 1.0, 2.5, 30.0]),), (0.7 + 0.3 * complex_normal(2),)),
    *each(sc.sici, (positive(3),), (complex_normal(2),)),
    *each(sc.shichi, (positive(3),), (complex_normal(2),), (np.array(0.7),)),
    *each(sc.fresnel, (unit(3),), (complex_normal(2),)),
    *each(lambda x: sc.fresnel(x)[1], (unit(3),), name="fresnel"),
    *each(sc.modfresnelp, (positive(3),)),
    *each(sc.modfresnelm, (positive(3),)),
    *each(sc.itairy, (unit(3),), float32=False),
    *each(sc.itj0y0, (positive(3),)),
    *each(sc.iti0k0, (positive(3),)),
    *each(sc.it2j0y0, (positive(3),)),
    *each(sc.it2i0k0, (positive(3),)),
    *each(sc.itstruve0, (positive(3),)),
    *each(sc.itmodstruve0, (positive(3),)),
    *each(sc.it2struve0, (positive(3),)),
]
SOFTMAX = [
    *each(special.logsumexp, (normal(3, 2),), (normal(3),), (0.5,), (SINGLE,), (np.arange(3),)),
    *each(lambda a: special.logsumexp(a, axis=-1), (normal(3, 2),), name="logsumexp"),
    *each(
        lambda a: special.logsumexp(a, (0, 2), keepdims=True), (normal(2, 3, 2),), name="logsumexp"
    ),
    *each(
        lambda a, b: special.logsumexp(a, axis=0, b=b),
        (normal(3, 2), positive(3, 2)),
        (normal(3, 2), positive(3, 1)),
        (normal(2), positive(3, 1)),
        name="logsumexp",
    ),
    *each(
        lambda a, b: special.logsumexp(a, axis=1, b=b, return_sign=True),
        (normal(3, 2), np.array([[1.0, -2.0], [0.5, 2.0], [-1.0, -1.0]])),
        name="logsumexp",
    ),
    *each(lambda a: special.logsumexp(a, 0), (complex_normal(3, 2),), name="logsumexp"),
    *each(
        lambda a: special.logsumexp(np.where(np.array([True, False, True]), a, -np.inf), 0),
        (normal(3),),
        name="logsumexp",
    ),
    *each(special.softmax, (normal(2, 3),), (normal(3, 2).T,), (SINGLE,), (np.arange(3),)),
    *each(lambda x: special.softmax(x, axis=0), (normal(2, 3),), name="softmax"),
    *each(lambda x: special.softmax(x, axis=(0, -1)), (normal(2, 2, 3),), name="softmax"),
    *each(special.log_softmax, (normal(2, 3),), (SINGLE,)),
    *each(lambda x: special.log_softmax(x, axis=-1), (normal(2, 3),), name="log_softmax"),
]
SAMPLES = ELEMENTARY + INTEGRALS + SOFTMAX
