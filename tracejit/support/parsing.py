"""Python's parser, asked by several threads."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Any

TRIES = 100


def parse(text: str, mode: str = "exec") -> Any:
    """The syntax tree of `text`, as `ast.parse` makes it, whatever other threads parse.

    In Python 3.11 all threads count the depth of the tree that they build in one place
    (https://github.com/python/cpython/issues/106905). Where another thread builds one in between,
    the counts do not match, and SystemError says so; the next tree is counted anew.

    >>> parse("x + 1", mode="eval").body.op
    <ast.Add object at 0x...>
    """
    for _ in range(TRIES - 1):
        with suppress(SystemError):
            return ast.parse(text, mode=mode)
    return ast.parse(text, mode=mode)
