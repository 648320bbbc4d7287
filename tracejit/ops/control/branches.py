"""Control flow: decisions on values, and the ends of traces.

decide(x, outcome=True) is a decision: Python asked for a value while a function was recorded, and
got this outcome. Everything after it in the graph was recorded for that outcome alone. In a graph
that joins several traces (`passes/framework/join.py`), it has the `outcomes` of all, in the order
in which their segments stand, and a `number`.

leave(*values, path=0, results=2) is the end of a trace, whose number is `path`: its results, and
after them its residuals.

Both are written by `targets/numpy/text/branches.py`; neither has an expression of its own.

ensure(x) computes a value that nothing reads: it may raise for some numbers, and the user's program
may depend on that (`try: np.linalg.cholesky(a)`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Node
from tracejit.ir.types import WEAK_TYPES, ArrayType
from tracejit.ops.base.op import defop


def may_raise(node: Node) -> bool:
    """Return whether NumPy raises an error for some numbers of these types: functions of matrices
    do, and elements by indices that are recorded."""
    if node.op.elements == "taken":
        return any(not isinstance(index, Constant) for index in node.operands[1:])
    if node.op.statements is not None:
        return False
    return "linalg." in node.op.template([value.type for value in node.operands], node.params)


def raises_in_python(node: Node) -> bool:
    """Return whether Python raises an error for some numbers that an operation of its own gets."""
    operands = node.operands[-1:] if node.op.raises == "by divisor" else node.operands
    return node.op.raises is not None and not all(isinstance(x, Constant) for x in operands)


def _outcome(x: ArrayType, **params: Any) -> ArrayType:
    outcomes = params.get("outcomes") or (params["outcome"],)
    return WEAK_TYPES[type(outcomes[0])]


def _packed(x: ArrayType) -> str:
    return "np.packbits({0})" if x.dtype.kind == "b" else "{0}"


def of_pattern(number: int, x: ArrayType) -> np.ndarray:
    """The elements of an array of type `x` that AS_PATTERN has made `number` of."""
    if x.dtype.kind == "b":
        octets = np.frombuffer(number.to_bytes(-(-x.size // 8), "little"), np.uint8)
        bits: np.ndarray = np.unpackbits(octets)[: x.size].astype(bool)
        return bits.reshape(x.shape)
    packed = np.frombuffer(number.to_bytes(x.size * x.dtype.itemsize, "little"), x.dtype)
    data: np.ndarray = packed.reshape(x.shape).copy()
    return data


DECIDE = defop(name="decide", infer=_outcome, vjp=(), source="{0}", effect=True)
LEAVE = defop(
    name="leave",
    infer=lambda *values, **params: WEAK_TYPES[bool],
    vjp=(),
    source="{operands}",
    effect=True,
)


def _ensured(moved: Any, x: Any, **params: Any) -> None:
    """Compute the value for all elements of a batch."""
    ENSURE(x)


ENSURE = defop(
    name="ensure",
    infer=lambda x: WEAK_TYPES[bool],
    vjp=(),
    source="{0}",
    effect=True,
    batch=_ensured,
)
AS_PATTERN = defop(
    name="as_pattern",
    infer=lambda x: WEAK_TYPES[int],
    vjp=(),
    source=lambda types: f"int.from_bytes({_packed(types[0])}.tobytes(), 'little')",
)
"""All elements of an array of booleans or integers as one Python integer, to decide by."""

AS_DIGEST = defop(
    name="as_digest",
    infer=lambda x: WEAK_TYPES[int],
    vjp=(),
    source="int.from_bytes(hashlib.sha256({0}.tobytes()).digest()[:15], 'little')",
)
"""A number that tells all elements of an array, however large, to decide by."""

AS_INTEGER = defop(name="as_integer", infer=lambda x: WEAK_TYPES[int], vjp=(), source="int({0})")
