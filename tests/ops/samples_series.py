"""Samples of numpy.polynomial."""

from __future__ import annotations

import numpy as np
from table import Sample, complex_normal, distinct, normal, positive

from tracejit.ops.calculus.series import KINDS
from tracejit.trace.tensor.namespaces import recordable

INTEGERS = np.array([3, -1, 4, 8], np.int16)
SINGLE = np.array([0.3, -1.2, 0.7], np.float32)
PLACES = np.array([-0.9, -0.2, 0.1, 0.55, 0.8])


def samples(kind):
    """Every function of one kind of series."""

    def f(name):
        return recordable(kind.function(name))

    def op(name):
        return ("polynomial_" if kind.prefix == "poly" else "") + kind.prefix + name

    def each(name, *arrays, **fields):
        return [Sample(op(name), f(name), args, **fields) for args in arrays]

    val, der, integral, vander, fit = map(f, ("val", "der", "int", "vander", "fit"))
    many = {"holomorphic": False, "float32": False}
    return [
        *each(
            "val",
            (normal(3), normal(4)),
            (normal(2, 3), normal(4)),
            (normal(3), normal(4, 2)),
            (np.array(0.3), normal(3)),
            (np.float64(0.3), normal(3, 2)),
            (normal(3), normal(1)),
            (normal(3), normal(2)),
            (normal(2), complex_normal(3)),
            (complex_normal(2), normal(3)),
            (normal(2), INTEGERS),
            (INTEGERS, normal(3)),
        ),
        *each("val", (SINGLE, SINGLE), order=1),
        Sample(op("val"), lambda x, c: val(x, c, tensor=False), (normal(3), normal(4, 3))),
        Sample(op("val"), lambda x, c: val(x, c, False), (normal(2, 3), normal(4, 3))),
        Sample(op("val"), lambda x, c: val(x, c, False), (normal(3), normal(4, 2, 3))),
        Sample(op("val"), lambda c: val([0.3, 2.0], c), (normal(4),)),
        Sample(op("val"), lambda x: val(x, [1, 2, 3]), (normal(4),), zero_size=(np.zeros(0),)),
        *(
            Sample(op("vander"), lambda x, deg=deg: vander(x, deg), (x,))
            for deg in (0, 1, 3)
            for x in (normal(3), normal(2, 2).T, complex_normal(2), np.float64(0.3), INTEGERS)
        ),
        *(
            Sample(op("der"), lambda c, call=call: call(c), (c,))
            for call in (
                der,
                lambda c: der(c, 2),
                lambda c: der(c, m=0),
                lambda c: der(c, 9, scl=2.0),
                lambda c: der(c, scl=0.5),
            )
            for c in (normal(4), normal(4, 2), complex_normal(3), INTEGERS)
        ),
        Sample(op("der"), lambda c: der(c, axis=-1), (normal(2, 4),)),
        *(
            Sample(op("int"), lambda c, call=call: call(c), (c,))
            for call in (
                integral,
                lambda c: integral(c, 2),
                lambda c: integral(c, 2, [1, 2.5], lbnd=0.5, scl=2.0),
                lambda c: integral(c, k=3, lbnd=-1),
                lambda c: integral(c, 0),
            )
            for c in (normal(4), normal(4, 2), complex_normal(3), INTEGERS)
        ),
        Sample(op("int"), lambda c: integral(c, axis=1), (normal(2, 4),)),
        *(
            sample
            for name in ("add", "sub", "mul")
            for sample in (
                *each(
                    name,
                    (normal(3), normal(2)),
                    (normal(2), normal(4)),
                    (normal(3), complex_normal(3)),
                    (INTEGERS, normal(2)),
                    (INTEGERS, INTEGERS[:2]),
                    (np.float64(0.7), normal(3)),
                ),
                Sample(op(name), lambda c, name=name: f(name)(c, [1.0, 2.0]), (normal(3),)),
            )
        ),
        Sample(op("vander"), lambda x, y: fit(x, y, 2), (PLACES, normal(5)), **many),
        Sample(op("vander"), lambda y: fit(PLACES, y, 1), (normal(5, 2),), **many),
        Sample(
            op("vander"),
            lambda x, y, w: fit(x, y, 1, w=w),
            (PLACES, normal(5), positive(5)),
            **many,
        ),
        Sample(
            op("vander"), lambda x, y: fit(x, y, 1, full=True)[1][:3], (PLACES, normal(5)), **many
        ),
        *(
            Sample(op("val"), f(name), args)
            for name in ("val2d", "grid2d")
            for args in (
                (normal(3), normal(3), normal(3, 2)),
                (normal(2, 2), normal(2, 2), normal(3, 2)),
                (normal(2), normal(2), normal(2, 3, 2)),
            )
        ),
        *(
            Sample(op("val"), f(name), (normal(2), normal(2), normal(2), normal(3, 2, 2)))
            for name in ("val3d", "grid3d")
        ),
        Sample(op("vander"), lambda x, y: f("vander2d")(x, y, [2, 1]), (normal(3), normal(3))),
        Sample(
            op("vander"),
            lambda x, y, z: f("vander3d")(x, y, z, (1, 2, 1)),
            (normal(2), normal(2), normal(2)),
        ),
        Sample(op("val"), lambda x: val(x, x), (distinct(3),)),
    ]


SAMPLES = [sample for kind in KINDS for sample in samples(kind)]
