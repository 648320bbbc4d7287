"""numpy.polynomial: power, Chebyshev, Legendre, Hermite and Laguerre series, the lowest first.

The six kinds differ in the matrix that differentiates a series, and NumPy itself says what that is:
the derivative of the unit series. So every rule is written once. NumPy leaves out highest
coefficients that are zero of sums and products; here such a zero raises when the code runs.

These functions know no protocol: they are recorded where they are called by the names they have in
a namespace of tracejit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

from tracejit.ir.types import ArrayType
from tracejit.ops.base import axes
from tracejit.ops.base.batching import Moved, element_ndim, spread
from tracejit.ops.base.creation import as_array, cast, known, plain_number
from tracejit.ops.base.infer import broadcast_shapes, normalize_axis, promote
from tracejit.ops.base.op import HANDLERS, Op, answer, defop
from tracejit.ops.linalg.linalg import real_dtype
from tracejit.ops.linalg.numpy_code import as_written
from tracejit.ops.linalg.products import array_or_scalar
from tracejit.ops.shapes.joining import at_least

Call = tuple[tuple[Any, ...], dict[str, Any]]


def _inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _vector(c: Any) -> Any:
    return at_least(1, as_array(c))


def _unit(function: Callable[..., Any], size: int, **options: Any) -> Any:
    """The matrix of a linear function of series of `size` coefficients."""
    return function(np.eye(size), **options)


class Kind:
    """One kind of series: `prefix` starts the names in `module`."""

    def __init__(self, module: ModuleType, prefix: str) -> None:
        """Declare the operations of this kind."""
        self.module = module
        self.prefix = prefix
        self.path = f"np.polynomial.{module.__name__.rpartition('.')[2]}"
        self.vander = self._vander()
        self.der = self._calculus("der", self._der_call, lambda size, m: max(size - m, 1))
        self._calculus("int", self._int_call, lambda size, m: size + m)
        self.val = self._val()
        self._sum("add", 1.0)
        self._sum("sub", -1.0)
        self._mul()
        self._fit()
        for name in ("val2d", "val3d", "grid2d", "grid3d", "vander2d", "vander3d"):
            if (code := as_written(self.function(name))) is not None:
                answer(self.function(name), code)

    def function(self, name: str) -> Any:
        """NumPy's function of this kind."""
        return getattr(self.module, self.prefix + name)

    def _op(self, name: str, **fields: Any) -> Op:
        space = "polynomial_" if self.prefix == "poly" else ""
        return defop(name=f"{space}{self.prefix}{name}", **fields)

    # Values, and their matrix

    def slopes(self, size: int, dtype: np.dtype[Any]) -> Any:
        """The matrix that differentiates a series of `size` coefficients, two or more."""
        return _unit(self.function("der"), size).astype(real_dtype(dtype))

    def _vander(self) -> Op:
        def moved(y: Any, x: Any, deg: int) -> Any:
            """The derivative of each column by x."""
            if not deg:
                return np.zeros_like(y)
            return y[..., :deg] @ self.slopes(deg + 1, y.dtype)

        op: Op = self._op(
            "vander",
            axes=lambda types, deg: "...->..._" if types[0].ndim else "->__",
            infer=lambda x, deg: ArrayType((*(x.shape or (1,)), deg + 1), _inexact(x.dtype)),
            vjp=lambda g, y, x, deg: np.reshape(np.sum(g * moved(y, x, deg), axis=-1), x.shape),
            batch=lambda _, x, deg: op(x if x.ndim > 1 else x[:, None], deg=deg),
            source=f"{self.path}.{self.prefix}vander({{0}}, {{deg}})",
            cost=lambda x, deg: 5 * x.size * deg,
        )

        def handler(x: Any, deg: Any) -> Any:
            if operator.index(deg) < 0:
                raise ValueError("deg must be non-negative")
            return op(as_array(x), deg=operator.index(deg))

        answer(self.function("vander"), handler)
        return op

    def _val_type(self, x: ArrayType, c: ArrayType) -> ArrayType:
        dtype = promote(x, c.with_dtype(_inexact(c.dtype)))
        return array_or_scalar(broadcast_shapes(x.shape, c.shape[1:]), dtype)

    def _columns(self, g: Any, y: Any, x: Any, c: Any) -> Any:
        """The cotangent of the coefficients."""
        x = x if x.dtype.kind in "fc" else cast(x, real_dtype(y.dtype))
        columns = self.vander(x, deg=c.shape[0] - 1)
        if c.ndim == 1:
            return np.reshape(g, (-1,)) @ np.reshape(columns, (-1, c.shape[0]))
        rows = np.moveaxis(columns, -1, 0)
        return g * np.reshape(rows, (c.shape[0], *(1,) * (c.ndim - 1 - x.ndim), *x.shape))

    def _val(self) -> Op:
        def batch(moved: Moved, x: Any, c: Any) -> Any:
            rank = max(element_ndim(x, moved[0]), element_ndim(c, moved[1]) - 1)
            if moved[1] or c.ndim > 1:  # the coefficients first, then the batch
                c = np.moveaxis(c, 0, 1) if moved[1] else np.expand_dims(c, 1)
                c = np.expand_dims(c, tuple(range(2, rank - c.ndim + 4)))
            return op(spread(x, moved[0], rank), c)

        op: Op = self._op(
            "val",
            axes="...,_...->...",
            infer=self._val_type,
            vjp=(
                lambda g, y, x, c: g * op(x, self.der(c, m=1, axis=0)),
                lambda g, y, x, c: self._columns(g, y, x, c),
            ),
            jvp=(lambda v, y, x, c: v * op(x, self.der(c, m=1, axis=0)), None),
            linear_in=(1,),
            batch=batch,
            source=lambda types: (
                f"{self.path}.{self.prefix}val({{0}}, {{1}}"
                + (")" if types[1].ndim == 1 else ", tensor=False)")
            ),
            cost=lambda x, c: 4 * max(x.size, c.size) * c.shape[0],
        )

        def handler(x: Any, c: Any, tensor: Any = True) -> Any:
            x, c = as_array(x), _vector(c)
            more = np.ndim(x) if tensor else np.ndim(x) - (np.ndim(c) - 1)
            if np.ndim(c) > 1 and more > 0:
                size, *rest = np.shape(c)
                ones = (1,) * more
                c = np.reshape(c, (size, *rest, *ones) if tensor else (size, *ones, *rest))
            return op(x, c)

        answer(self.function("val"), handler)
        return op

    def _handler(self, name: str) -> Callable[..., Any]:
        function = self.function(name)
        from_table: Callable[..., Any] = HANDLERS[function]
        return from_table

    # Calculus

    @staticmethod
    def _der_call(c: Any, m: Any = 1, scl: Any = 1, axis: int = 0) -> Call:
        return _calculus_call(c, m, scl, axis)

    @staticmethod
    def _int_call(
        c: Any, m: Any = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: int = 0
    ) -> Call:
        operands, params = _calculus_call(c, m, scl, axis)
        if np.shape(operands[0])[params["axis"]] == 1:
            raise TypeError("the shape of the result depends on which coefficients are zero")
        constants = np.atleast_1d(known(k, "k"))
        if len(constants) > params["m"]:
            raise ValueError("Too many integration constants")
        if len(constants):
            params["k"] = tuple(map(plain_number, constants))
        start = plain_number(known(lbnd, "lbnd"))
        return operands, params | ({"lbnd": start} if start else {})

    def _calculus(
        self, name: str, canonical: Callable[..., Call], size: Callable[[int, int], int]
    ) -> Op:
        function = self.function(name)

        def matrix(y: Any, x: Any, m: int, axis: int, options: dict[str, Any]) -> Any:
            options = {key: value for key, value in options.items() if key != "k"}
            return _unit(function, x.shape[axis], m=m, **options).astype(real_dtype(y.dtype))

        def applied(rows: Any, v: Any, axis: int) -> Any:
            return np.moveaxis(np.tensordot(rows, v, axes=((1,), (axis,))), 0, axis)

        def infer(c: ArrayType, m: int, axis: int, **options: Any) -> ArrayType:
            count = size(c.shape[axis], m) if m else c.shape[axis]
            return ArrayType((*c.shape[:axis], count, *c.shape[axis + 1 :]), _inexact(c.dtype))

        def source(types: Any, m: int, axis: int, **options: Any) -> str:
            shown = ({"m": m} if m != 1 else {}) | options | ({"axis": axis} if axis else {})
            keywords = [f"{key}={value!r}" for key, value in shown.items()]
            return f"{self.path}.{self.prefix}{name}({', '.join(['{0}', *keywords])})"

        op: Op = self._op(
            name,
            axes=axes.along,
            infer=infer,
            vjp=lambda g, y, x, m, axis, **options: applied(
                matrix(y, x, m, axis, options).T, g, axis
            ),
            jvp=lambda v, y, x, k=(), **options: op(v, **options),
            batch=lambda _, x, **options: np.moveaxis(op(np.moveaxis(x, 0, -1), **options), -1, 0),
            source=source,
            cost=lambda c, m, axis, **options: 2 * c.size * m,
        )

        def handler(*args: Any, **keywords: Any) -> Any:
            operands, params = canonical(*args, **keywords)
            return op(*operands, **params)

        answer(function, handler)
        return op

    # Arithmetic

    def _checked(self, name: str, size: int) -> str:
        return f"np.reshape({self.path}.{self.prefix}{name}({{0}}, {{1}}), {size})"

    def _sum(self, name: str, sign: float) -> None:
        op = self._op(
            name,
            infer=lambda a, b: _series_type(max(a.size, b.size), a, b),
            vjp=(
                lambda g, y, a, b: g[: a.shape[0]],
                lambda g, y, a, b: sign * g[: b.shape[0]],
            ),
            linear_in="jointly",
            source=lambda types: self._checked(name, max(type.size for type in types)),
            assumes_shape=True,
        )
        answer(self.function(name), lambda c1, c2: op(_vector(c1), _vector(c2)))

    def _mul(self) -> None:
        multiply = self.function("mul")

        @lru_cache(64)
        def table(first: int, second: int) -> Any:
            """The products of unit series: [coefficient, first, second]."""
            products = np.zeros((first + second - 1, first, second))
            for i in range(first):
                for j in range(second):
                    found = multiply(np.eye(first)[i], np.eye(second)[j])
                    products[: len(found), i, j] = found
            return products

        @lru_cache(4096)
        def infer(a: ArrayType, b: ArrayType) -> ArrayType:
            result = _series_type(a.size + b.size - 1, a, b)
            return result.with_dtype(multiply(*(np.ones(x.size, x.dtype) for x in (a, b))).dtype)

        def times(y: Any, a: Any, b: Any, other: int) -> Any:
            """The matrix that multiplies by one of the two: operand `other`."""
            products = table(a.shape[0], b.shape[0]).astype(real_dtype(y.dtype))
            return np.tensordot(products, b if other else a, axes=((1 + other,), (0,)))

        op = self._op(
            "mul",
            infer=infer,
            vjp=(
                lambda g, y, a, b: g @ times(y, a, b, 1),
                lambda g, y, a, b: g @ times(y, a, b, 0),
            ),
            linear_in=(0, 1),
            source=lambda types: self._checked("mul", types[0].size + types[1].size - 1),
            assumes_shape=True,
            cost=lambda a, b: a.size * b.size,
        )
        answer(multiply, lambda c1, c2: op(_vector(c1), _vector(c2)))

    # Fitting

    def _fit(self) -> None:
        vander = self._handler("vander")

        def fit(
            x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None
        ) -> Any:
            x, y = as_array(x) + 0.0, as_array(y) + 0.0
            degree = operator.index(known(deg, "deg"))
            if degree < 0:
                raise ValueError("expected deg >= 0")
            if np.ndim(x) != 1 or not np.size(x):
                raise TypeError("expected non-empty vector for x")
            if not 1 <= np.ndim(y) <= 2:
                raise TypeError("expected 1D or 2D array for y")
            if np.shape(x)[0] != np.shape(y)[0]:
                raise TypeError("expected x and y to have same length")
            lhs, rhs = vander(x, degree).T, y.T
            if w is not None:
                w = as_array(w) + 0.0
                if np.shape(w) != np.shape(x):
                    raise TypeError("expected x and w to have same length")
                lhs, rhs = lhs * w, rhs * w
            limit = np.shape(x)[0] * np.finfo(x.dtype).eps if rcond is None else rcond
            if lhs.dtype.kind == "c":
                squares = np.square(np.real(lhs)) + np.square(np.imag(lhs))
            else:
                squares = np.square(lhs)
            scale = np.sqrt(np.sum(squares, axis=1))
            scale = np.where(scale == 0, cast(1.0, scale.dtype), scale)
            c, *rest = np.linalg.lstsq(lhs.T / scale, rhs.T, limit)
            c = (c.T / scale).T
            return (c, [*rest, limit]) if full else c

        answer(self.function("fit"), fit)


def _series_type(size: int, *types: ArrayType) -> ArrayType:
    for type in types:
        if type.ndim != 1:
            raise ValueError("Coefficient array is not 1-d")
        if not type.size:
            raise ValueError("Coefficient array is empty")
    dtypes = [np.zeros(0, type.dtype) for type in types]
    return ArrayType((size,), np.dtype(np.common_type(*dtypes)))


def _calculus_call(c: Any, m: Any, scl: Any, axis: int) -> Call:
    c = _vector(c)
    count = operator.index(known(m, "m"))
    if count < 0:
        raise ValueError("The order must be non-negative")
    factor = plain_number(known(scl, "scl"))
    params = {"m": count, "axis": normalize_axis(axis, np.ndim(c))}
    return (c,), params | ({"scl": factor} if factor != 1 else {})


KINDS = [
    Kind(polynomial, "poly"),
    Kind(chebyshev, "cheb"),
    Kind(legendre, "leg"),
    Kind(hermite, "herm"),
    Kind(hermite_e, "herme"),
    Kind(laguerre, "lag"),
]
