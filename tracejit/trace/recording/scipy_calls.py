"""Calls that no protocol dispatches, of SciPy, `math` and NumPy's iterators: which one the user's
line makes, and the line to write instead.

SciPy's functions ask a Tensor for its array, which is refused. The frames between the user's line
and the refusal tell the function: SciPy wraps many, and a wrapper holds what it wraps.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from pkgutil import iter_modules
from types import FrameType, FunctionType
from typing import Any

import numpy as np

from tracejit.ops.base.op import HANDLERS
from tracejit.support.errors import TracejitError, Where, fail
from tracejit.support.imports import import_module
from tracejit.trace.source import places
from tracejit.trace.source.instead import OUTSIDE, SOLVERS, TEXT, instead_of
from tracejit.trace.tensor.writes import PLAIN, USE_NAMESPACE

_FOLDER = str(Path(np.__file__).parents[1] / "scipy")
_AREAS = {one.name for one in iter_modules([str(Path(__file__).parents[2] / "scipy")])}
_RECORDS = {"fft": "fourier"}
"""The module of `tracejit.ops.scipy` that records a package, where it has another name."""
_MATH_CALL = re.compile(r"\bmath\.(\w+)\(")
# Functions of math that have another name in NumPy.
_OF_NUMPY = {"fabs": "abs", "fsum": "sum"}
ON_TAPE = "compute with NumPy's functions on the Tensor itself."
CONVERTED = "call it in a function that is converted, in a file and by tj.function"


def value_refused(
    row: str, where: Where | None, call: str, fix: str, **words: Any
) -> TracejitError:
    """The error `row` for `call` of Python's, which needs a value; where the user's line assigns
    an element of a plain array, or calls what no protocol dispatches, the error for that."""
    if elements := places.assigned_elements():
        return fail("write", where, call=f"{elements} = ...", target=PLAIN, fix=USE_NAMESPACE)
    foreign, instead = _foreign_call()
    if not foreign:
        foreign, instead = _as_written(where, call)
    return fail(row, where, call=foreign or call, fix=instead or fix, **words)


def _as_written(where: Where | None, call: str) -> tuple[str, str]:
    """The user's expression that asks for a number or an array, and what to do instead; empty for
    what is not known better than `call` says."""
    if library := places.library_behind(where):
        return f"{call} in {library}", instead_of(library)
    if not call.startswith(_ASKING):
        return "", ""
    if (text := places.written(ast.BinOp)) and text.lstrip("f").startswith(("'", '"')):
        return text, TEXT
    if text := places.written(ast.Subscript):
        return text, ""
    text, name = places.written(ast.Call), places.called()[0]
    if not text or name in _BUILTINS or name.partition(".")[0] in _NAMES_OF_NUMPY:
        return text, ""
    called = places.named(name)
    module = getattr(called, "__module__", None) or "builtins"
    if type(called) is FunctionType or module.partition(".")[0] in _RECORDED:
        return "", ""
    return text, OUTSIDE


_ASKING = ("float(", "int(", "complex(", "np.asarray(")
_BUILTINS = ("float", "int", "complex", "round")
_NAMES_OF_NUMPY = ("np", "numpy")
_RECORDED = ("builtins", "math", "cmath", "numpy", "scipy", "tracejit")


def _foreign_call() -> tuple[str, str]:
    """The function that the user's line calls, and what to do instead; empty for none that is
    known."""
    if called := scipy_called():
        return called, _instead_of(called)
    if kind := _made_by_numpy():
        return kind, _INSTEAD_OF[kind]
    line = places.where(places.user_frame())
    text = "" if line is None else line.text[line.column or 0 : line.end_column]
    found = _MATH_CALL.search(text)
    if found is None:
        return "", ""
    name = _OF_NUMPY.get(found[1], found[1])
    return f"math.{found[1]}", f"use np.{name}, which is recorded." if hasattr(np, name) else ""


_INSTEAD_OF = {
    "np.ndenumerate": "loop over np.ndindex(x.shape), and read x[index].",
    "np.vectorize": f"{CONVERTED}; elsewhere write it for whole arrays, with np.where for `if`.",
}


def _made_by_numpy() -> str:
    """The class of NumPy's, such as `np.vectorize`, of which the user's line makes or calls an
    object; empty for none."""
    frame, user = sys._getframe(1), places.user_frame()
    while frame is not user and frame.f_back is not None:
        kind = type(frame.f_locals.get("self"))
        if kind in (np.ndenumerate, np.vectorize):
            return f"np.{kind.__name__}"
        frame = frame.f_back
    return ""


def scipy_called() -> str:
    """The function of SciPy that the user's line calls, such as `scipy.linalg.cho_factor`, or its
    package where the function is not known; empty for none."""
    frames = _frames_of_scipy()
    for frame in frames:
        for thing in (*_named(frame), *frame.f_locals.values()):
            if (name := _public_name(thing)) and not name.startswith("scipy._"):
                return name
    package = ""
    for frame in reversed(frames):
        found = ".".join(str(frame.f_globals.get("__name__")).split(".")[:2])
        package = package or "scipy" if "._" in found else found
    return package


def _instead_of(called: str) -> str:
    """The advice for a call of this function or package of SciPy: what to do instead."""
    area, _, name = called.partition(".")[2].partition(".")
    if name in SOLVERS:
        return instead_of(called)
    if called != "scipy" and area not in _AREAS:
        return OUTSIDE
    if not name:
        return f"{CONVERTED}, or take it from tracejit.{called}; dir() lists what it records."
    import_module(f"tracejit.ops.scipy.{_RECORDS.get(area, area)}")
    if getattr(sys.modules[f"scipy.{area}"], name, None) in HANDLERS:
        line, module = _line(f"tracejit.{called}"), f"tracejit.scipy.{area}"
        return f"{CONVERTED}; elsewhere write {line}, after `import {module}`."
    return OUTSIDE


def _line(function: str) -> str:
    """The user's running call, with `function` for what it calls."""
    called, rest = places.called()
    return f"`{function}{rest}`" if called else f"`{function}(...)`"


def _frames_of_scipy() -> list[FrameType]:
    """The frames of SciPy's between the user's line and here, the first called first."""
    frame: FrameType | None = sys._getframe(1)
    user, found = places.user_frame(), list[FrameType]()
    while frame is not None and frame is not user:
        if frame.f_code.co_filename.startswith(_FOLDER):
            found.append(frame)
        frame = frame.f_back
    return found[::-1] if frame is user else []


def _named(frame: FrameType) -> list[Any]:
    """The function that a frame runs, if its module has it by name, or the class whose method it
    runs."""
    function = frame.f_globals.get(frame.f_code.co_name)
    return [type(frame.f_locals.get("self")) if function is None else function]


def _public_name(thing: Any) -> str:
    """The name by which a function or class of SciPy's is public; empty for anything else."""
    name = getattr(thing, "__name__", "")
    module = getattr(thing, "__module__", None)
    if not (callable(thing) and isinstance(name, str) and isinstance(module, str)):
        return ""
    for count in (2, 3):
        package = ".".join(module.split(".")[:count])
        public = getattr(sys.modules.get(package), name, None)
        known = public is not None and getattr(public, "__module__", "") == module
        if known and package.startswith("scipy.") and "._" not in package:
            return f"{package}.{name}"
    return ""
