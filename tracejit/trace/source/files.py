"""File names in generated code: the user's files, without the folders of a machine.

A module's file is named from its package on, `package/module.py`, any other by its last part. Cells
of a notebook and lines at a prompt have a number that changes each time they are run again: it
stands in errors (`words.file_name`), not in generated code, which would be made anew.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import sysconfig
from types import CodeType
from typing import Any

from tracejit.ir.location import Origin
from tracejit.support.words import file_name, is_cell

_COUNTED = re.compile(r"[-\[]\d.*(?=>$)")
CELL = "a notebook cell"


def shown_file(filename: str, module: str) -> str:
    """The name in generated code for the file of code in `module`. A program may write code to
    another file while it runs; the name for that is the one of the module's own file.

    >>> shown_file("/home/me/src/train/steps.py", "train.steps")
    'train/steps.py'
    >>> shown_file("/home/me/train/__init__.py", "train")
    'train/__init__.py'
    >>> shown_file("/tmp/a.py", "__main__"), shown_file("<python-input-3>", "__main__")
    ('a.py', '<python-input>')
    >>> shown_file("/tmp/generated_17.py", "train.steps")
    'train/steps.py'
    """
    if is_cell(filename):
        return CELL
    if filename.startswith("<"):
        return _COUNTED.sub("", filename)
    parts = re.split(r"[/\\]", filename)
    stem = parts[-1].partition(".")[0]
    wanted = [*module.split("."), *["__init__"] * (stem == "__init__")]
    if [*parts[-len(wanted) : -1], stem] == wanted:
        return "/".join(parts[-len(wanted) :])
    if module == "__main__" or getattr(sys.modules.get(module), "__file__", None) == filename:
        return parts[-1]
    return "/".join(wanted) + ".py"


@functools.cache
def is_library(filename: str) -> bool:
    """Return whether code in this file is Python's own, or of an installed package."""
    folders = (sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib"))
    return filename.startswith((*folders, "<frozen ")) or is_installed_file(filename)


def is_installed_file(filename: str) -> bool:
    """Return whether a file belongs to an installed package, in whatever environment.

    >>> is_installed_file(os.path.join(os.sep, "lib", "site-packages", "scipy", "__init__.py"))
    True
    """
    return any(folder in filename for folder in _SITE)


_SITE = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def origin_of(function: Any, name: str) -> Origin:
    """A callable as module.qualname, `name` where it has none, and the file of its code."""
    module = getattr(function, "__module__", None) or type(function).__module__
    qualified, code = f"{module}.{getattr(function, '__qualname__', name)}", code_of(function)
    if code is None:
        return Origin(qualified)
    filename, line = code.co_filename, code.co_firstlineno
    return Origin(qualified, shown_file(filename, str(module)), f"{file_name(filename)}:{line}")


def code_of(function: Any) -> CodeType | None:
    """The code of the user's that a callable runs, under what it is wrapped in."""
    while isinstance(function, functools.partial):
        function = function.func
    try:
        inner = inspect.unwrap(getattr(function, "__func__", function))
    except ValueError:  # it wraps itself
        inner = function
    if not hasattr(inner, "__code__"):
        inner = vars(type(inner)).get("__call__")
    code = getattr(inner, "__code__", None)
    return code if isinstance(code, CodeType) else None
