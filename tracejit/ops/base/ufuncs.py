"""`elementwise`: the factory of records for NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.types import ArrayType
from tracejit.ops.base.infer import ufunc_type
from tracejit.ops.base.loops import with_keywords
from tracejit.ops.base.op import DIRECT, Op, Rule, Rules, defop


def elementwise(
    ufunc: np.ufunc,
    *,
    deriv: Rule | tuple[Rule | None, ...] | None = None,
    vjp: Rules = None,
    jvp: Rules = None,
    infix: str = "",
    source: str = "",
    out: str = "{out}",
    cost: int = 1,
    numpy: tuple[Any, ...] = (),
    module: str = "np",
    name: str = "",
    **traits: Any,
) -> Op:
    """The op of a ufunc with one result.

    `deriv` is the derivative (y, x) -> dy/dx, or one per operand, (z, x, y) -> dz/dx. It is used
    in VJP and in JVP. `vjp` replaces it where the product is better written out, and must then be
    g times the derivative, so that it serves as the JVP too; an op that is not holomorphic gives
    `jvp` as well. `infix` is the operator the user may have written; `out` is "out={out}" where
    NumPy wants the keyword. `module` is where the ufunc is found: `np`, or `scipy.special`;
    `name` what the op is called if not as the ufunc. `traits` are those of the record that do not
    follow from the ufunc and from how it is spelled.
    """
    places = ", ".join(f"{{{number}}}" for number in range(ufunc.nin))
    call = f"{module}.{ufunc.__name__}({places})"
    symbol = source or (f"{{0}} {infix} {{1}}" if infix else "")
    rules: Rules = vjp
    if deriv is not None:
        derivs = deriv if isinstance(deriv, tuple) else (deriv,)
        rules = tuple(None if rule is None else _chain(rule) for rule in derivs)
    op = defop(
        ufunc,
        *numpy,
        name=name,
        canonical=operands_of(ufunc),
        infer=ufunc_type(ufunc),
        vjp=rules,
        jvp=jvp,
        batch="elementwise",
        source=_by_symbol(symbol, call) if symbol else call,
        inplace=f"{module}.{ufunc.__name__}({places}, {out})",
        library=module.partition(".")[0],
        cost=lambda *types, **params: cost * max(type.size for type in types),
        uniform=module == "np" and any(kinds.startswith("ff->") for kinds in ufunc.types),
        arithmetic=infix in ("+", "-", "*", "/") or source in ("+{0}", "-{0}"),
        **traits,
    )
    DIRECT[ufunc] = op
    return op


def _by_symbol(symbol: str, call: str) -> Callable[..., str]:
    """The spelling by an operator; by a call where that would be arithmetic of Python numbers."""

    def source(types: Sequence[ArrayType], **params: Any) -> str:
        return call if all(type.form == "weak" for type in types) else symbol

    return source


def _chain(deriv: Rule) -> Rule:
    return lambda g, *values: g * deriv(*values)


def operands_of(ufunc: np.ufunc) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """The canonical form of a call of `ufunc`: exactly its operands, cast as keywords say."""

    def canonical(*operands: Any, **keywords: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return with_keywords(ufunc, operands, keywords), {}

    return canonical
