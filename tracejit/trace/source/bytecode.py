"""Instructions of bytecode by the names that Python 3.13 has for them.

Python 3.14 has more than one instruction where there was one: LOAD_FAST_BORROW beside LOAD_FAST,
which takes no reference of its own, LOAD_SMALL_INT beside LOAD_CONST, and NOT_TAKEN after a jump,
which does nothing. What reads bytecode does not care.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Sequence
from types import CodeType

NAMES = {"LOAD_SMALL_INT": "LOAD_CONST", "NOT_TAKEN": "NOP"}
_BORROWS = "_BORROW"
_LOAD_GLOBAL, _LOAD_NAME = dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_NAME"]
_SHIFT = 1 if sys.version_info >= (3, 11) else 0
"""Of the argument of LOAD_GLOBAL, the lowest bit is no part of the name's number since then."""


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of `code`, not of the functions inside it."""
    found = dis.get_instructions(code)
    return found if sys.version_info < (3, 14) else map(named_as_before, found)


def has_any(code: CodeType, names: Sequence[str]) -> bool:
    """Return whether `code` has an instruction of these names, whose numbers in it are compared."""
    return not {dis.opmap.get(name) for name in names}.isdisjoint(code.co_code[::2])


def loaded_names(code: CodeType) -> set[str]:
    """The names of globals and builtins that `code` reads, found without its instructions."""
    found, extended, raw = set[str](), 0, code.co_code
    for number, argument in zip(raw[::2], raw[1::2], strict=True):
        if number == dis.EXTENDED_ARG:
            extended = (extended | argument) << 8
            continue
        if number == _LOAD_GLOBAL:
            found.add(code.co_names[(extended | argument) >> _SHIFT])
        elif number == _LOAD_NAME:
            found.add(code.co_names[extended | argument])
        extended = 0
    return found


def named_as_before(instruction: dis.Instruction) -> dis.Instruction:
    """An instruction by the name that Python 3.13 has for what it does.

    >>> old_name("LOAD_FAST_BORROW_LOAD_FAST_BORROW"), old_name("LOAD_SMALL_INT")
    ('LOAD_FAST_LOAD_FAST', 'LOAD_CONST')
    """
    name = old_name(instruction.opname)
    return instruction if name == instruction.opname else instruction._replace(opname=name)


def old_name(name: str) -> str:
    """The name that Python 3.13 has for an instruction."""
    return NAMES.get(name) or name.replace(_BORROWS, "")
