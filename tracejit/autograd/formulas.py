"""Primitives that are formulas: their function is one expression of NumPy's functions.

Of such a function there is nothing that only Python can run. In a recording it is followed, so that
its operations are lines of the generated code, and what a rule computes again is computed once. Its
gradient is that of its rules.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from numbers import Number
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.api.callbacks import Callback, CheckedCall
from tracejit.api.registry import Primitive, library_function, settled
from tracejit.ops.areas import handler_of
from tracejit.ops.base.op import Each, Op
from tracejit.ops.control.marker_ops import OVERRIDE, Marker
from tracejit.support.errors import TracejitError
from tracejit.trace.recording.active import called
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.variable import current_recorder
from tracejit.trace.source import places
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.tensor import TENSORS

_COMPUTING = tuple(
    "BINARY_ BUILD_SLICE BUILD_TUPLE CACHE CALL KW_NAMES LOAD_ NOP PRECALL PUSH_NULL RESUME RETURN_"
    " STORE_FAST UNARY_".split()
)
"""How the names of bytecode instructions begin that only compute."""


def is_formula(f: Any) -> bool:
    """Return whether a function only computes, with functions that are recorded, and primitives.

    >>> is_formula(lambda x: np.log(np.sum(np.exp(x)))), is_formula(lambda x: print(x))
    (True, False)
    """
    if type(f) is not FunctionType or f.__code__.co_freevars or f.__code__.co_flags & 0x2AC:
        return False  # it captures variables, takes any number of arguments, or is a generator
    found: Any = None
    for instruction in dis.get_instructions(f):
        name = instruction.opname
        if not name.startswith(_COMPUTING) or instruction.argrepr.endswith("="):
            return False
        if name == "LOAD_GLOBAL":
            found = f.__globals__.get(instruction.argval)
        elif isinstance(found, ModuleType) and name in ("LOAD_ATTR", "LOAD_METHOD"):
            found = getattr(found, instruction.argval, None)
        else:
            continue
        if not isinstance(found, (ModuleType, Primitive, Number)):
            if not callable(found) or handler_of(library_function(found)) is None:
                return False
    return True


class Formula(Primitive):
    """A primitive that is followed where it is recorded, and has its own rules all the same."""

    @places.at_the_users_line
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = current_recorder()
        if not (isinstance(recorder, Recording) and isinstance(self.op.vjp, Each)):
            return super().__call__(*args, **kwargs)
        leaves, structure = flatten((args, kwargs))
        leaves = [settled(leaf) for leaf in leaves]
        args, kwargs = unflatten(structure, leaves)
        call = Callback(self.f, leaves, structure)
        operands = [recorder.strong(leaves[k]) for k in call.places]
        if not any(type(x) in TENSORS for x in operands):
            return super().__call__(*args, **kwargs)
        try:
            with recorder.inside_scope():
                values, result = flatten(called(self.f)(*args, **kwargs))
            values = [recorder.strong(value) for value in values]
            types = [value.type for value in values]
        except TracejitError:  # it is no formula of what is recorded
            return super().__call__(*args, **kwargs)
        ruled = _Ruled(self.op, CheckedCall(call, types, result), operands, recorder)
        push = ruled.push if isinstance(self.op.jvp, Each) else None
        reads = vars(self)["__gradient_rule__"]
        marker = Marker(self.op.name, "primitive", ruled.pull, pruned=True, push=push, reads=reads)
        ruled.out = OVERRIDE(*values, *operands, outputs=len(values), grad=marker)
        return unflatten(result, list(ruled.out) if len(values) > 1 else [ruled.out])


class _Ruled:
    """A call of a formula, for its rules: its operands and results."""

    def __init__(self, op: Op, call: CheckedCall, operands: Any, recorder: Recording) -> None:
        """The rules of `op` take the operands as they are now, and the results `out`."""
        self.op, self.operands, self.recorder = op, operands, recorder
        self.since = recorder.writes
        self.several = len(call.types) > 1
        self.out: Any = None
        self.params = {"results": tuple(map(repr, call.types)), "call": call}

    def pull(self, cotangents: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The cotangents of the operands, conjugated as those of the results are."""
        given = [None if g is None else np.conjugate(g) for g in cotangents]
        with self.recorder.reading_as_of(self.since):
            answers = [
                self._of(self.op.vjp_rule(k + 1), given) if is_wanted else None
                for k, is_wanted in enumerate(wanted)
            ]
        return [None if answer is None else np.conjugate(answer) for answer in answers]

    def push(self, tangents: Sequence[Any]) -> Sequence[Any]:
        """The tangents of the results."""
        with self.recorder.reading_as_of(self.since):
            parts = [
                self._of(self.op.jvp_rule(k + 1), [tangent])
                for k, tangent in enumerate(tangents)
                if tangent is not None
            ]
        rows = parts if self.several else [[part] for part in parts]
        return [sum(row[1:], start=row[0]) for row in zip(*rows, strict=True)]

    def _of(self, rule: Any, given: list[Any]) -> Any:
        g = given if len(given) > 1 else given[0]
        return rule(g, self.out, None, *self.operands, **self.params)
