"""Samples of scipy.fft."""

from __future__ import annotations

from table import Sample, complex_normal, low, normal

from tracejit.scipy import fft as sf

C = complex_normal


def call(name, **keywords):
    """A transform with keywords."""
    return lambda x: getattr(sf, name)(x, **keywords)


FOURIER = [
    *[
        Sample(f"scipy_{name}", call(name, **keywords), (x,), holomorphic=False)
        for name in ("fft", "ifft")
        for keywords in (
            {}, {"n": 3}, {"n": 7, "axis": 0}, {"axis": -2, "norm": "ortho"}, {"norm": "forward"},
        )
        for x in (normal(4, 5), C(4, 5))
    ],
    *[
        Sample("scipy_rfft", call("rfft", **keywords), (normal(4, 5),), holomorphic=False)
        for keywords in ({}, {"n": 4}, {"n": 7, "axis": 0}, {"norm": "ortho"}, {"norm": "forward"})
    ],
    *[
        Sample("scipy_irfft", call("irfft", **keywords), (C(4, 5),), holomorphic=False)
        for keywords in ({}, {"n": 4}, {"n": 7, "axis": 0}, {"norm": "ortho"}, {"norm": "forward"})
    ],
    *[
        Sample(f"scipy_{name}", call(name, **keywords), (C(2, 4, 3),), holomorphic=False)
        for name in ("fftn", "ifftn", "irfftn")
        for keywords in ({}, {"s": (3, 5)}, {"axes": (0, 2)}, {"s": (4, 4), "axes": (1, 0)},
                         {"norm": "ortho"})
    ],
    *[
        Sample("scipy_rfftn", call("rfftn", **keywords), (normal(2, 4, 3),), holomorphic=False)
        for keywords in ({}, {"s": (3, 5)}, {"axes": (0, 2)}, {"norm": "forward"})
    ],
    Sample("scipy_fftn", sf.fft2, (C(2, 4, 3),), holomorphic=False),
    Sample("scipy_ifftn", sf.ifft2, (C(2, 4, 3),), holomorphic=False),
    Sample("scipy_rfftn", sf.rfft2, (normal(2, 4, 3),), holomorphic=False),
    Sample("scipy_irfftn", sf.irfft2, (C(2, 4, 3),), holomorphic=False),
    Sample("scipy_fft", sf.fft, (low(normal(4)),), holomorphic=False),
]  # fmt: skip
TRIGONOMETRIC = [
    *[
        Sample(name, call(name, type=type, norm=norm), (normal(3, 5),), holomorphic=False)
        for name in ("dct", "idct", "dst", "idst")
        for type in (1, 2, 3, 4)
        for norm in (None, "ortho", "forward")
    ],
    *[
        Sample(name, call(name, **keywords), (normal(3, 5),), holomorphic=False)
        for name in ("dct", "idct", "dst", "idst")
        for keywords in ({"n": 4}, {"n": 5, "axis": 0})
    ],
    *[
        Sample(name, call(name, **keywords), (normal(3, 5),), holomorphic=False)
        for name in ("dctn", "idctn", "dstn", "idstn")
        for keywords in ({}, {"type": 3, "norm": "ortho"}, {"s": (4, 4)}, {"axes": (0,)})
    ],
    Sample("dct", sf.dct, (low(normal(4)),), holomorphic=False),
    Sample("dct", sf.dct, (C(4),), holomorphic=False),
]

SAMPLES = FOURIER + TRIGONOMETRIC
