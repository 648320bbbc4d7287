"""Code objects that run in place of those that the user wrote."""

from __future__ import annotations

from types import CodeType

from tracejit.support.memo import ByIdentity

WRITTEN: ByIdentity[CodeType, CodeType] = ByIdentity()
"""The user's code objects, by those that were made of them; each recording makes its own."""


def as_written(code: CodeType) -> CodeType:
    """The user's code object that `code` was made of, or `code` itself."""
    return WRITTEN.get(code) or code
