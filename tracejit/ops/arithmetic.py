"""Elementwise arithmetic, comparison, rounding and selection: NumPy's ufuncs and `where`.

For an elementwise op one derivative gives VJP, JVP, batching, in-place form and spelling.
"""

from __future__ import annotations

import numpy as np

from tracejit.ops.ufuncs import elementwise

add = elementwise(np.add, infix="+", vjp=(lambda g, z, x, y: g, lambda g, z, x, y: g))
subtract = elementwise(np.subtract, infix="-", vjp=(lambda g, z, x, y: g, lambda g, z, x, y: -g))
multiply = elementwise(np.multiply, infix="*", deriv=(lambda z, x, y: y, lambda z, x, y: x))
divide = elementwise(
    np.divide,
    infix="/",
    vjp=(lambda g, z, x, y: g / y, lambda g, z, x, y: -g * z / y),
    cost=4,
)
negative = elementwise(np.negative, source="-{0}", vjp=(lambda g, y, x: -g,))
exp = elementwise(np.exp, deriv=lambda y, x: y, cost=20)
tanh = elementwise(np.tanh, deriv=lambda y, x: 1.0 - y * y, cost=20)
