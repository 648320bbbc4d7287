"""What Python looked at: decisions, and the ends of the ways through a function.

decide(x, outcome=True) is a place where Python asked for a value while a function was recorded, and
what the answer was. Everything after it in the graph was recorded for that answer alone. Where the
ways of several recordings are joined (`passes/join.py`), it has the `outcomes` of all, in the order
in which what follows them stands, and a `number`.

leave(*values, path=0, results=2) is the end of one way: its results, and after them what is kept.

keep(kept, *values) is what forward keeps for backward, one segment after another, each in a tuple
with what was kept before. move(*targets, *values) lets a way go on with other values in the place
of targets.

All are written by `codegen/branches.py`; none has an expression of its own.

ensure(x) is what nothing reads, computed all the same: it may raise for some numbers, and the
user's program may go by that (`try: np.linalg.cholesky(a)`).
"""

from __future__ import annotations

from typing import Any

from tracejit.ir.graph import Constant, Node
from tracejit.ir.types import HANDLE, WEAK_TYPES, ArrayType
from tracejit.ops.op import defop


def may_raise(node: Node) -> bool:
    """Tell if NumPy raises an error for some numbers of these types: functions of matrices do, and
    elements by indices that are recorded."""
    if node.op.elements == "taken":
        return any(not isinstance(index, Constant) for index in node.operands[1:])
    if node.op.statements is not None:
        return False
    return "linalg." in node.op.template([value.type for value in node.operands], node.params)


def _outcome(x: ArrayType, **params: Any) -> ArrayType:
    outcomes = params.get("outcomes") or (params["outcome"],)
    return WEAK_TYPES[type(outcomes[0])]


KEPT = "({operands})", "({operands},)"

DECIDE = defop(name="decide", infer=_outcome, vjp=(), source="{0}", effect=True)
LEAVE = defop(
    name="leave",
    infer=lambda *values, **params: WEAK_TYPES[bool],
    vjp=(),
    source="{operands}",
    effect=True,
)
KEEP = defop(
    name="keep", infer=lambda *values: HANDLE, vjp=(), source=lambda types: KEPT[len(types) == 1]
)
MOVE = defop(
    name="move",
    infer=lambda *values: WEAK_TYPES[bool],
    vjp=(),
    source="{operands}",
    effect=True,
)
ENSURE = defop(name="ensure", infer=lambda x: WEAK_TYPES[bool], vjp=(), source="{0}", effect=True)
AS_INTEGER = defop(name="as_integer", infer=lambda x: WEAK_TYPES[int], vjp=(), source="int({0})")
