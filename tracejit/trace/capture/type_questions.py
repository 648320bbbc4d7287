"""Refuse `type(x)` of a recorded array, which would answer Tensor and not `np.ndarray`.

`isinstance(x, np.ndarray)` holds while recording. `type(x)` cannot be answered for the array, and a
program that compares it would be recorded on its other branch. Nothing in Python intercepts the
call, so functions whose code asks for a type are watched instruction by instruction while they are
recorded. Seen are the types of variables, of their attributes, and of elements of a variable.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tracejit.support.errors import fail
from tracejit.trace.source import places
from tracejit.trace.source.bytecode import instructions
from tracejit.trace.source.places import PACKAGE
from tracejit.trace.tensor.tensor import TENSORS

_LOCALS = ("LOAD_FAST", "LOAD_DEREF")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = ("LOAD_ATTR",)
_CALLS = ("CALL", "CALL_FUNCTION")
_BETWEEN = frozenset(("PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG", "NOP", "NULL"))
_MISSING = object()


class Question(NamedTuple):
    """One call `type(name.attribute)` or `type(name[...])` in some code."""

    name: str
    attributes: tuple[str, ...]

    def asks_a_tensor(self, frame: FrameType) -> bool:
        """Return whether the call, which is about to be made in `frame`, asks for the type of a
        Tensor."""
        value = frame.f_locals.get(self.name, _MISSING)
        for attribute in self.attributes:
            value = getattr(value, "__dict__", {}).get(attribute, _MISSING)
        return type(value) in TENSORS


@contextmanager
def refused_types() -> Iterator[None]:
    """Refuse `type(x)` of Tensors in code outside tracejit on this thread."""
    before = sys.gettrace()

    def trace(frame: FrameType, event: Any, argument: Any) -> Any:
        inner = before(frame, event, argument) if before is not None else None
        questions = _questions(frame.f_code)
        if not questions:
            return inner

        def watch(frame: FrameType, event: Any, argument: Any) -> Any:
            nonlocal inner
            if event == "opcode":
                question = questions.get(frame.f_lasti)
                if question is not None and question.asks_a_tensor(frame):
                    raise _refusal(question)
            elif inner is not None:
                inner = inner(frame, event, argument)
            return watch

        frame.f_trace = watch  # from Python 3.12 on, opcodes are traced in frames that have it
        frame.f_trace_opcodes = True
        return watch

    # Python 3.12 traces opcodes from the first settrace on that comes after a frame asked for it.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def _refusal(question: Question) -> Exception:
    asked = ".".join((question.name, *question.attributes))
    return fail(
        "unsupported-call",
        places.here(),
        function=f"type({asked})",
        problem="an array is a Tensor while it is recorded",
        fix=f"use isinstance({asked}, np.ndarray), which is True while it is recorded.",
    )


@functools.lru_cache(4096)
def _questions(code: CodeType) -> dict[int, Question]:
    """The calls of `type` with one argument, by the offset of the call."""
    if code.co_filename.startswith(PACKAGE) or "type" not in code.co_names:
        return {}
    found = {}
    kept = [one for one in instructions(code) if one.opname not in _BETWEEN]
    for number, one in enumerate(kept):
        if one.opname not in _GLOBALS or one.argval != "type":
            continue
        question, following = None, number + 1
        if following < len(kept) and kept[following].opname.startswith(_LOCALS):
            question = Question(str(kept[following].argval), ())
            following += 1
        while question is not None and kept[following].opname in _ATTRIBUTES:
            question = question._replace(attributes=(*question.attributes, kept[following].argval))
            following += 1
        if question is None:
            continue
        if kept[following].opname == "LOAD_CONST" and kept[following + 1].opname in (
            "BINARY_SUBSCR",
            "BINARY_OP",
        ):
            following += 2
        if kept[following].opname in _CALLS and kept[following].arg == 1:
            found[kept[following].offset] = question
    return found
