"""Code objects that run in place of those that the user wrote."""

from __future__ import annotations

from types import CodeType, FunctionType

from tracejit.support.memo import ByIdentity

WRITTEN: ByIdentity[CodeType, CodeType] = ByIdentity()
"""The user's code objects, by those that were made of them; each recording makes its own."""

LENT: ByIdentity[FunctionType, CodeType] = ByIdentity()
"""The functions of the user's that run another code meanwhile, with their own."""


def as_written(code: CodeType) -> CodeType:
    """The user's code object that `code` was made of, or `code` itself."""
    return WRITTEN.get(code) or code


def code_of(function: FunctionType) -> CodeType:
    """The code of a function as the user wrote it, whatever runs in its place."""
    return as_written(function.__code__)


def is_made_of_another(function: FunctionType) -> bool:
    """Return whether a function is not a function of the user's, but was made of one."""
    return function.__code__ in WRITTEN and function not in LENT
