"""Samples of scipy.special: Bessel and Airy functions, and other solutions of equations."""

from __future__ import annotations

import numpy as np
from scipy import special as sc
from table import Sample, complex_normal, each, positive, unit

from tracejit.scipy import special

ORDERS = np.array([0.0, 1.0, 2.5])
COUNTS = np.array([0, 1, 3])
FAR = np.array([-700.0, -0.5, 0.5, 700.0])


def ordered(function, orders, *arrays, **fields):
    """Samples of a function of an order and an argument, by its argument."""
    return [
        Sample(
            function.__name__,
            lambda x, array=array: function(orders, x),
            (array,),
            holomorphic=False,
            **fields,
        )
        for array in arrays
    ]


def mathieu(function, x):
    """A sample by the argument; SciPy's single precision is nan."""
    return each(lambda x: function(2, 1.5, x), (x,), name=function.__name__, float32=False)


def spheroidal(name, x, **fields):
    """Samples by the argument; some numbers in single precision keep SciPy busy for ever. SciPy
    1.13 writes beyond its memory where the parameter is 1.5."""
    function, of_value = getattr(sc, name), getattr(sc, f"{name}_cv")
    value = getattr(sc, f"{name[:3]}_cv")(1, 2, 0.5)
    return [
        *each(lambda x: function(1, 2, 0.5, x), (x,), name=name, float32=False, **fields),
        *each(
            lambda x: of_value(1, 2, 0.5, value, x),
            (x,),
            name=f"{name}_cv",
            float32=False,
            **fields,
        ),
    ]


BESSEL = [
    *(
        sample
        for function in (sc.jv, sc.yv, sc.iv, sc.kv, sc.kve, sc.hankel1, sc.hankel2)
        for sample in (
            *ordered(function, ORDERS, positive(3), complex_normal(3)),
            *ordered(function, 1, np.float32([0.5, 1.25])),
        )
    ),
    *ordered(sc.jv, 1, np.array([-1.0, 0.0, 3.0])),
    *ordered(sc.kve, ORDERS, np.array([0.5, 700.0, 700.0])),
    *(
        sample
        for function in (sc.jve, sc.yve, sc.ive, sc.hankel1e, sc.hankel2e)
        for sample in ordered(function, ORDERS, positive(3))
    ),
    *ordered(sc.ive, 1, FAR),
    *ordered(sc.hankel1e, ORDERS, complex_normal(3)),
    *ordered(sc.yn, COUNTS, positive(3)),
    *ordered(sc.kn, COUNTS, positive(3)),
    *each(sc.j0, (unit(3),)),
    *each(sc.j1, (np.array([-0.5, 0.0, 3.0]),)),
    *each(sc.y0, (positive(3),)),
    *each(sc.y1, (positive(3),)),
    *each(sc.i0, (unit(3),), name="scipy_i0"),
    *each(sc.i1, (np.array([-0.5, 0.0, 3.0]),)),
    *each(sc.k0, (positive(3),)),
    *each(sc.k1, (positive(3),)),
    *each(sc.i0e, (FAR,)),
    *each(sc.i1e, (FAR,)),
    *each(sc.k0e, (FAR[2:],)),
    *each(sc.k1e, (FAR[2:],)),
    *(
        sample
        for function in (
            special.jvp,
            special.yvp,
            special.ivp,
            special.kvp,
            special.h1vp,
            special.h2vp,
        )
        for sample in ordered(function, ORDERS, positive(3), np.float32([0.5, 0.7, 1.25]))
    ),
    *each(lambda z: special.jvp(2, z, 2), (positive(2),), (complex_normal(2),), name="jvp"),
    *each(lambda z: special.jvp(2, z, 0), (np.array(0.3),), name="jvp", float32=False),
    *(
        sample
        for function in (
            special.spherical_jn,
            special.spherical_yn,
            special.spherical_in,
            special.spherical_kn,
        )
        for sample in ordered(function, COUNTS, positive(3), complex_normal(3))
    ),
    *each(lambda z: special.spherical_jn(1, z), (np.array([0.0, 0.5]),), name="spherical_jn"),
    *each(
        lambda z: special.spherical_kn(2, z, derivative=True), (positive(3),), name="spherical_kn"
    ),
    *each(sc.ber, (np.array([0.0, 0.5, 2.0]),)),
    *each(sc.bei, (np.array([0.0, 0.5, 2.0]),)),
    *each(sc.ker, (positive(3),)),
    *each(sc.kei, (positive(3),)),
    *each(sc.berp, (positive(3),)),
    *each(sc.beip, (positive(3),)),
    *each(sc.kerp, (positive(3),)),
    *each(sc.keip, (positive(3),)),
    *each(sc.kelvin, (positive(3),)),
    *ordered(sc.struve, ORDERS, positive(3)),
    *ordered(sc.modstruve, ORDERS, positive(3)),
    *each(sc.besselpoly, (positive(2), 1.0, 0.5), differentiable=False),
]
SOLUTIONS = [
    *each(sc.airy, (unit(3),), (complex_normal(2),), (np.array(-0.3),)),
    *each(lambda z: sc.airy(z)[2], (unit(3),), name="airy"),
    *each(sc.airye, (positive(3),)),
    *each(lambda x: sc.pbdv(1.5, x), (unit(3),), name="pbdv", float32=False),
    *each(lambda x: sc.pbvv(1.5, x), (unit(3),), name="pbvv", float32=False),
    *each(lambda x: sc.pbwa(1.5, x), (unit(3),), name="pbwa", float32=False),
    *each(sc.mathieu_a, (2, positive(2)), differentiable=False),
    *each(sc.mathieu_b, (2, positive(2)), differentiable=False),
    *mathieu(sc.mathieu_cem, 40.0 * unit(3)),
    *mathieu(sc.mathieu_sem, 40.0 * unit(3)),
    *mathieu(sc.mathieu_modcem1, 0.5 * positive(3)),
    *mathieu(sc.mathieu_modcem2, 0.5 * positive(3)),
    *mathieu(sc.mathieu_modsem1, 0.5 * positive(3)),
    *mathieu(sc.mathieu_modsem2, 0.5 * positive(3)),
    *each(sc.pro_cv, (1, 2, 1.5), differentiable=False),
    *each(sc.obl_cv, (1, 2, 1.5), differentiable=False),
    *spheroidal("pro_ang1", 0.4 * positive(2)),
    *spheroidal("pro_rad1", 1.0 + positive(2)),
    *spheroidal("pro_rad2", 1.0 + positive(2)),
    *spheroidal("obl_ang1", 0.4 * positive(2)),
    *spheroidal("obl_rad1", positive(2)),
    *spheroidal("obl_rad2", positive(2), differentiable=False),
]
SAMPLES = BESSEL + SOLUTIONS
