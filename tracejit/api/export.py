"""`export`: a function as a module, or several as a package, of NumPy alone."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tracejit.api.derived import callable_of, options_of
from tracejit.autodiff.request.request import Request, request_of
from tracejit.specialise.callee import Form
from tracejit.specialise.function import Function
from tracejit.support.errors import TracejitError, fail
from tracejit.trace.source import places


@places.at_the_users_line
def export(
    f: Callable[..., Any] | Mapping[str, Any],
    /,
    *specs: Any,
    path: str | os.PathLike[str],
    grad: bool = True,
    check: bool = True,
    argnums: int | tuple[int, ...] = 0,
    argnames: str | tuple[str, ...] | None = None,
    overwrite: bool = False,
    **keywords: Any,
) -> Path:
    """Write `f` to `path` as a module that imports NumPy alone, and return the path.

    `specs` and `keywords` describe the arguments of `f`: arrays, TensorSpecs, numbers, and
    containers of them. A number that is passed is an argument of the module; one that is left to
    its default is part of it, and so is all that `f` reads besides its arguments. The module says
    what that is. Its `call` takes the arguments of `f` and answers what `f` does, or, with `grad`,
    what `tj.value_and_grad(f, argnums)` does; what a transform has made is exported as it is. With
    `check`, `call` raises a TypeError that names the argument where dtype, shape, keys or a fixed
    value are others; `misfit` says what is wrong without raising. `forward`, `backward` and
    `value_and_grad` are the bare functions.

    Before the module is put in place it is imported and called once, with arguments like these.
    Beside it are written a stub (`.pyi`) with the shapes, and large constants (`.npz`). `tj.load`
    reads the module back. Existing files are replaced only where tracejit has written them and
    nobody has edited them, or with `overwrite`.

    A dict {name: (f, *specs)}, or of a name with a list of such tuples, becomes a package: a folder
    whose functions choose the kernel that takes the arguments.

    Raises UnsupportedError where `f` assigns Variables or attributes, writes to its arguments, or
    calls Python back, GradientError where `grad` asks for the gradient of what is no number, and
    ExportError (a FileExistsError) where a file is in the way.

    >>> import tempfile
    >>> import numpy as np
    >>> import tracejit as tj
    >>> def loss(w, x):
    ...     return np.mean((x @ w) ** 2)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = tj.export(loss, np.ones(3), tj.TensorSpec((10, 3)), path=folder.name + "/loss.py")
    >>> module = tj.load(path).module
    >>> value, gradient = module.call(np.ones(3), np.ones((10, 3)))
    >>> module.call(np.ones(3), np.ones((12, 3)))
    Traceback (most recent call last):
    TypeError: loss: x has to be an array of dtype float64 and shape (10, 3); it is: ndarray of \
dtype float64 and shape (12, 3)
    >>> folder.cleanup()
    """
    exporter: Any = importlib.import_module("tracejit.exporting.exporter")

    def made(f: Any, specs: Any, keywords: Any, name: str | None = None) -> Any:
        request = request_of("value_and_grad", argnums, argnames) if grad else Request()
        source = _source(exporter.Source, f, request)
        try:
            return exporter.exported(source, specs, keywords, check, name)
        except TracejitError as error:
            if error.row != "not-scalar" or source.request is not request:
                raise
            fix = f"export the value alone, grad=False; or {error.words['fix']}"
            raise fail(error.row, error.where, **{**error.words, "fix": fix}) from None

    file = Path(path).absolute()
    if isinstance(f, Mapping):
        if specs or keywords or file.suffix:
            problem = "a package is a folder" if file.suffix else "the dict has the specs"
            fix = "write tj.export({'loss': (loss, spec, spec)}, path='kernels/')."
            raise fail("export-path", places.here(), problem=problem, fix=fix)
        exporter.write_package(f, file, made, overwrite)
        return file
    if file.suffix != ".py":
        fix = f"write path={str(file / 'loss.py')!r}, or export a dict of functions as a package."
        raise fail("export-path", places.here(), problem=f"{path} is no name of a module", fix=fix)
    exporter.write_module(file, made(f, specs, keywords), overwrite)
    return file


def _source(make: Callable[..., Any], f: Any, request: Request) -> Any:
    """The `Source` of a function: a plain one under `request`, or what a transform has made."""
    python = callable_of("export", f)
    if not isinstance(f, Function) or not f.is_derived:
        does = f"tj.{request.transform}({{}})" if request.transform else "{}"
        known = f if isinstance(f, Function) and not request.transform else None
        return make(python, request, None, options_of(f), does, known)
    transform = f.request.transform or (f.recipe.name if f.recipe else "")
    does = f"tj.{transform}({{}})" if transform else "{}"
    form = None if f.request.transform else Form.TRANSFORM
    return make(f.python, f.request, form, f.options, does, f)
