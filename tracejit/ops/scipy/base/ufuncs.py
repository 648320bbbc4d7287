"""`special`: the factory of records for the ufuncs of scipy.special, and its kin.

`special` declares a ufunc with one result, `several` one with several, `function` what SciPy
writes in Python. A derivative is a formula (y, *operands) as for `elementwise`, or

    None      the result is piecewise constant in this operand;
    UNKNOWN   no formula is known: to differentiate by this operand is an error.

Where a record has no derivatives, its values alone are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.creation import type_in_call
from tracejit.ops.base.forms import as_scalar
from tracejit.ops.base.infer import answered, broadcast_shapes, ufunc_dtypes
from tracejit.ops.base.op import Op, Rule, answer, defop
from tracejit.ops.base.ufuncs import elementwise, operands_of
from tracejit.support.errors import fail

SINGLE = ("float32", "complex64")
ORDINALS = ("first", "second", "third", "fourth", "fifth")


def UNKNOWN(*values: Any) -> Any:
    """In place of a derivative that no formula gives."""
    raise NotImplementedError


def refusal(problem: str) -> Rule:
    """A rule that refuses: no gradient is known for `problem`."""

    def rule(*values: Any, **params: Any) -> Any:
        raise fail("no-rule", None, op=problem)

    return rule


def is_complex(*values: Any) -> bool:
    """True if any of the values is complex."""
    return any(type_in_call(value).dtype.kind == "c" for value in values)


def number(value: float, x: Any) -> Any:
    """A number in the precision of `x`, for SciPy takes plain ones for doubles."""
    return np.float32(value) if x.dtype.name in SINGLE else value


def _in_precision(operand: Any, y: Any) -> Any:
    """An operand of a rule, a Python float in the precision of the result `y`."""
    kind = type_in_call(operand)
    if kind.form == "weak" and kind.dtype.kind == "f" and y.dtype.name in SINGLE:
        return as_scalar(operand, dtype=np.dtype(np.float32))
    return operand


def op_name(function: Any) -> str:
    """The name of the op of a SciPy function: the function's own, unless NumPy has one of that
    name."""
    name: str = function.__name__
    return f"scipy_{name}" if hasattr(np, name) else name


def _ready(name: str, derivs: Sequence[Rule | None], real: bool) -> tuple[Rule | None, ...]:
    """Derivatives in precision of the result, refusing where UNKNOWN, and with `real` where an
    operand is complex."""

    def ready(number: int, derivative: Rule | None) -> Rule | None:
        if derivative is None:
            return None
        if derivative is UNKNOWN:
            return refusal(f"{name} by its {ORDINALS[number]} argument")
        refuse = refusal(f"{name} of complex numbers")

        def of_operands(y: Any, *operands: Any, **params: Any) -> Any:
            if real and is_complex(*operands):
                return refuse()
            first = y[0] if isinstance(y, (tuple, list)) else y
            typed = [_in_precision(operand, first) for operand in operands]
            return derivative(y, *typed, **params)

        return of_operands

    return tuple(ready(number, derivative) for number, derivative in enumerate(derivs))


def _chain(derivative: Rule | None) -> Rule | None:
    """The rule of a derivative."""
    if derivative is None:
        return None
    return lambda g, *values, **params: g * derivative(*values, **params)


def _cost(times: int) -> Callable[..., int]:
    return lambda *types, **params: times * max(type.size for type in types)


# Ufuncs


def special(
    ufunc: np.ufunc,
    *,
    deriv: Rule | tuple[Rule | None, ...] | None = None,
    vjp: tuple[Rule, ...] | None = None,
    real: bool = False,
    cost: int = 60,
    **traits: Any,
) -> Op:
    """The op of a ufunc of scipy.special with one result.

    `real` says that the derivatives are those of real operands alone; `traits` are those of the
    record.
    """
    if deriv is not None:
        derivs = deriv if isinstance(deriv, tuple) else (deriv,)
        deriv = _ready(ufunc.__name__, derivs, real)
    return elementwise(
        ufunc,
        deriv=deriv,
        vjp=vjp,
        cost=cost,
        module="scipy.special",
        name=op_name(ufunc),
        **traits,
    )


def several(ufunc: np.ufunc, *, derivs: tuple[Any, ...], real: bool = False, cost: int = 100) -> Op:
    """The op of a ufunc with several results.

    `derivs` has per operand UNKNOWN, or a tuple of the derivatives (y, *operands) of the results, y
    being all of them.
    """
    places = ", ".join(f"{{{number}}}" for number in range(ufunc.nin))
    title = ufunc.__name__

    def infer(*types: ArrayType) -> tuple[ArrayType, ...]:
        shape = broadcast_shapes(*[type.shape for type in types])
        form: Any = "array" if shape else "scalar"
        return tuple(ArrayType(shape, dtype, form) for dtype in ufunc_dtypes(ufunc, *types))

    def vjp(parts: Sequence[Any]) -> Rule:
        def rule(g: Any, y: Any, *operands: Any) -> Any:
            terms = [
                cotangent * part(y, *operands)
                for cotangent, part in zip(g, parts, strict=True)
                if cotangent is not None
            ]
            return sum(terms[1:], terms[0])

        return rule

    refusals = _ready(title, (UNKNOWN,) * ufunc.nin, real)
    rules = [
        refusals[number] if parts is UNKNOWN else vjp(_ready(title, parts, real))
        for number, parts in enumerate(derivs)
    ]
    return defop(
        ufunc,
        name=op_name(ufunc),
        canonical=operands_of(ufunc),
        infer=infer,
        vjp=tuple(rules),
        batch="elementwise",
        source=f"scipy.special.{title}({places})",
        library="scipy",
        cost=_cost(cost),
    )


# What SciPy writes in Python


def function(
    called: Callable[..., Any],
    *,
    source: str | Callable[..., str],
    deriv: Rule | tuple[Rule | None, ...] | None = None,
    name: str = "",
    canonical: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]] | None = None,
    cost: int = 100,
) -> Op:
    """The op of an elementwise function that is not an ufunc. Without `canonical` it answers for no
    call of the user's."""
    derivs = (deriv,) if deriv is not None and not isinstance(deriv, tuple) else deriv
    title = name or called.__name__
    rules = None if derivs is None else tuple(map(_chain, _ready(title, derivs, real=False)))
    made = defop(
        name=title,
        infer=sampled_type(called),
        vjp=rules,
        batch="elementwise",
        source=source,
        library="scipy",
        cost=_cost(cost),
    )
    if canonical is not None:

        def handler(*args: Any, **keywords: Any) -> Any:
            operands, params = canonical(*args, **keywords)
            return made(*operands, **params)

        answer(called, handler)
    return made


def sampled_type(called: Callable[..., Any]) -> Callable[..., ArrayType]:
    """The infer of an elementwise function, by a call with ones in place of the operands."""

    def infer(*types: ArrayType, **params: Any) -> ArrayType:
        shape = broadcast_shapes(*[type.shape for type in types])
        small = [ArrayType((1,) * bool(type.shape), type.dtype, type.form) for type in types]
        kind = answered(called, *small, **params)
        return ArrayType(shape, kind.dtype, kind.form)

    return infer
