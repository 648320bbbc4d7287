"""Find the functions that code only hands to `tj.callback`. They run later, and read only then.

In `tj.callback(seen.append, y)` the list is not read while the function is recorded, so that a
kernel need not know what is in it. Found are calls whose first argument is a name, with attributes,
or a lambda. The effect of each instruction on the stack tells whether anything but the call takes
that argument.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import NamedTuple

from tracejit.trace.source.bytecode import instructions

WORD = "callback"
NAMES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
# What makes a lambda with its closure; from Python 3.13 on a cell is loaded as a local variable.
MAKING = ("LOAD_CLOSURE", "LOAD_FAST", "BUILD_TUPLE", "LOAD_CONST", "LOAD_FAST_LOAD_FAST")
MADE = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")
SKIPPED = ("CACHE", "EXTENDED_ARG", "NOP", "KW_NAMES")
SHUFFLING = ("SWAP", "COPY", "ROT_", "DUP_", "UNPACK_", "YIELD_", "SEND", "FOR_ITER", "GEN_START")
JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


class HandedOver(NamedTuple):
    """A call of what is named `callback`: the name and attributes that lead there, where the
    instructions of its first argument stand, and the code of a lambda."""

    callee: tuple[str, ...]
    offsets: frozenset[int]
    code: CodeType | None


def handed_over(code: CodeType) -> list[HandedOver]:
    """The calls in this very code, not in the functions inside it."""
    if WORD not in code.co_names and WORD not in code.co_freevars:
        return []
    steps = [one for one in instructions(code) if one.opname not in SKIPPED]
    found = []
    for place, step in enumerate(steps):
        if step.argval == WORD and step.opname in (*NAMES, *ATTRIBUTES):
            callee = _callee(steps, place)
            start = place + 1 + (steps[place + 1].opname == "PUSH_NULL")
            end = _argument_end(steps, start)
            if callee and end and _is_taken_by_the_call(steps, end):
                argument = steps[start:end]
                inner = [one.argval for one in argument if isinstance(one.argval, CodeType)]
                offsets = frozenset(one.offset for one in argument)
                found.append(HandedOver(callee, offsets, inner[0] if inner else None))
    return found


def _callee(steps: list[dis.Instruction], place: int) -> tuple[str, ...]:
    """The names that lead to what is called; nothing where it does not begin with a name."""
    words = [steps[place].argval]
    while steps[place].opname in ATTRIBUTES and place:
        place -= 1
        words.append(steps[place].argval)
    return tuple(reversed(words)) if steps[place].opname in ("LOAD_GLOBAL", "LOAD_NAME") else ()


def _argument_end(steps: list[dis.Instruction], start: int) -> int:
    """The place after the first argument, which begins at `start`. 0 if the argument is neither a
    name with attributes nor a lambda."""
    end = start
    if steps[end].opname in NAMES and steps[end + 1].opname not in (*MAKING[2:3], *MADE):
        end += 1
        while steps[end].opname in ATTRIBUTES:
            end += 1
        return end
    while steps[end].opname in MAKING:
        end += 1
    if steps[end].opname != MADE[0]:
        return 0
    while steps[end].opname in MADE:
        end += 1
    return end


def _is_taken_by_the_call(steps: list[dis.Instruction], place: int) -> bool:
    """Return whether the top of the stack at `place` stays there until the call below it."""
    depth = 1
    for step in steps[place:]:
        if step.opcode in JUMPS or step.opname.startswith(SHUFFLING):
            return False
        argument = step.arg if step.opcode >= dis.HAVE_ARGUMENT else None
        given = depth - step.opname.endswith("_KW")  # whose names lie on top
        depth += dis.stack_effect(step.opcode, argument)
        if depth <= 0:  # with all that lies there, or another has been called before
            return step.opname.startswith(("CALL", "PRECALL")) and step.arg == given
        if depth == 1 and not step.opname.startswith("LOAD_"):
            return False
    return False
