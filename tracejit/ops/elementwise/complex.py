"""Complex numbers by parts, and the functions that treat real and complex numbers apart.

These functions are not holomorphic, so their rules state the convention: for a real loss L, the
cotangent g of a value z is the one with dL = Re(sum(g * dz)).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved
from tracejit.ops.base.forms import as_array
from tracejit.ops.base.infer import ufunc_type
from tracejit.ops.base.loops import with_keywords
from tracejit.ops.base.op import HANDLERS, OPS, Op, answer, composite, defop
from tracejit.ops.base.ufuncs import elementwise
from tracejit.ops.elementwise.lengths import limit_at_tip, unknown_slope, without_factor

conjugate = elementwise(np.conjugate, vjp=(lambda g, y, x: np.conjugate(g),))
# The function copies, the method does not.
answer(np.ndarray.conj, lambda x: np.conjugate(x) if x.dtype.kind == "c" else x)


# Parts


def _part_type(x: ArrayType) -> ArrayType:
    if x.form == "weak":
        return x.with_dtype(np.dtype(float))
    return x.with_dtype(x.dtype.type(0).real.dtype)


real = defop(
    name="real",
    infer=_part_type,
    vjp=lambda g, y, x: g,
    jvp="linear",
    batch="elementwise",
    source="{0}.real",
    view_of=0,
    view="parts",
)
imag = defop(
    name="imag",
    infer=_part_type,
    vjp=lambda g, y, x: g * -1j,  # not -1j * g: Python would multiply by a NumPy scalar itself
    jvp="linear",
    batch="elementwise",
    source="{0}.imag",
    view_of=0,
    view="parts",
)
real_imag = defop(
    name="real_imag",
    infer=lambda x: x,
    vjp=(),
    batch="elementwise",
    source="{0}.imag",
)
answer(np.real, lambda val: real(val) if val.dtype.kind == "c" else val)
answer(np.imag, lambda val: (imag if val.dtype.kind == "c" else real_imag)(val))


def _with_part(name: str, part: Callable[[Any], Any]) -> Op:
    """The op that puts real numbers in the place of a part of complex ones."""
    assignment = f"{{out}}.{name}[...] = {{1}}"

    def batch(moved: Moved, z: Any, v: Any) -> Any:
        return OPS[f"with_{name}"](z if moved[0] else np.broadcast_to(z, v.shape), v)

    return defop(
        name=f"with_{name}",
        infer=lambda z, v: z,
        vjp=(lambda g, y, z, v: OPS[f"with_{name}"](g, 0.0), lambda g, y, z, v: part(g)),
        jvp="linear",
        batch=batch,
        statements=lambda types: ("{out} = np.array({0})", assignment),
        inplace=assignment,
        order="kept",
        axes=axes.broadcasting,
    )


WITH_PART = {
    real: _with_part("real", np.real),
    imag: _with_part("imag", lambda g: -np.imag(g)),
}
"""The updates of each part."""


@composite(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """An array that is real anyway; whether a complex one is depends on its values."""
    if a.dtype.kind == "c":
        raise TypeError("its dtype depends on the values, which are not known yet; use np.real")
    return a if a.type.form == "array" else as_array(a)


# Modulus and direction


def _turn(v: Any, y: Any, x: Any) -> Any:
    """The tangent of x / |x| for the tangent v of x: what v moves across x, over |x|; 0 at 0."""
    modulus = np.absolute(x)
    return 1j * y * np.imag(np.conjugate(y) * v) / np.where(modulus == 0, np.inf, modulus)


sign = defop(
    name="sign",
    infer=ufunc_type(np.sign),
    vjp=(),
    batch="elementwise",
    source="np.sign({0})",
    inplace="np.sign({0}, {out})",
    bound=1.0,
    sign="kept",
)
complex_sign = defop(
    name="complex_sign",
    infer=ufunc_type(np.sign),
    vjp=lambda g, y, x: np.conjugate(_turn(np.conjugate(g), y, x)),
    jvp=_turn,
    batch="elementwise",
    source="np.sign({0})",
    inplace="np.sign({0}, {out})",
    cost=lambda x: 20 * x.size,
)


def _bent_by_x(v: Any, z: Any, g: Any, y: Any, x: Any) -> Any:
    """The limit of g / y at a kink times v, zero where it has none; elsewhere what v turns."""
    limit = limit_at_tip(g, y, x)
    if x.dtype.kind == "c":
        at_tip = unknown_slope(np.nan * y if limit is None else limit)
        return g * np.conj(_turn(v, np.sign(x), x)) + np.where(x == 0, at_tip, 0.0) * np.conj(v)
    if limit is None:
        return None
    return v * np.where((x == 0) & (g == 0), unknown_slope(limit), 0.0)


bent: Op = defop(
    name="bent",
    infer=lambda g, y, x: ufunc_type(np.multiply)(g, x),
    vjp=(lambda v, z, g, y, x: v * np.conj(np.sign(x)), None, _bent_by_x),
    batch="elementwise",
    source="{0} * np.conj(np.sign({2}))",
    linear_in=(0,),
)
"""The gradient of a function of y, the modulus of x, by x, where g is the gradient by y."""


def _along_modulus(g: Any, y: Any, x: Any) -> Any:
    known = without_factor(g, y)
    return bent(g, y, x) if known is None else known * np.conj(x)


absolute = defop(
    name="absolute",
    infer=ufunc_type(np.absolute),
    vjp=_along_modulus,
    batch="elementwise",
    source="np.absolute({0})",
    inplace="np.absolute({0}, {out})",
    sign="nonnegative",
)
complex_absolute = defop(
    name="complex_absolute",
    infer=ufunc_type(np.absolute),
    vjp=_along_modulus,
    jvp=lambda v, y, x: np.real(np.conjugate(np.sign(x)) * v),
    batch="elementwise",
    source="np.absolute({0})",
    cost=lambda x: 20 * x.size,
    sign="nonnegative",
)
scalar_absolute = defop(
    name="scalar_absolute",
    infer=ufunc_type(np.absolute),
    vjp=complex_absolute.vjp,
    jvp=complex_absolute.jvp,
    batch=lambda moved, x: complex_absolute(x),
    source="abs({0})",
    cost=complex_absolute.cost,
    sign="nonnegative",
)
"""`abs(z)` of a complex scalar, which NumPy rounds otherwise than `np.absolute(z)`."""
fabs = elementwise(np.fabs, deriv=lambda y, x: np.sign(x), sign="nonnegative")


def _by_kind(ufunc: np.ufunc, of_real: Op, of_complex: Op) -> None:
    """Let `ufunc` be recorded as one op on real, as another on complex operands."""

    def handler(*operands: Any, **keywords: Any) -> Any:
        (x,) = with_keywords(ufunc, operands, keywords)
        return (of_complex if x.dtype.kind == "c" else of_real)(x)

    answer(ufunc, handler)


_by_kind(np.sign, sign, complex_sign)
_by_kind(np.absolute, absolute, complex_absolute)


def _abs(x: Any) -> Any:
    is_complex_number = x.type.form == "scalar" and x.dtype.kind == "c"
    return scalar_absolute(x) if is_complex_number else HANDLERS[np.absolute](x)


answer(operator.abs, _abs)
