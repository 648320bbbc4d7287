"""Instructions of bytecode by the names that Python 3.13 has for them.

Python 3.14 has more than one instruction where there was one: LOAD_FAST_BORROW beside LOAD_FAST,
which takes no reference of its own, LOAD_SMALL_INT beside LOAD_CONST, and NOT_TAKEN after a jump,
which does nothing. What reads bytecode does not care.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType

NAMES = {"LOAD_SMALL_INT": "LOAD_CONST", "NOT_TAKEN": "NOP"}
_BORROWS = "_BORROW"


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of `code`, not of the functions inside it."""
    found = dis.get_instructions(code)
    return found if sys.version_info < (3, 14) else map(named_as_before, found)


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
