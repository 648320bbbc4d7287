"""`export`: a function as a module, or several as a package, of NumPy alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tracejit.api.derived import callable_of, options_of
from tracejit.autodiff.request.request import Request, request_of
from tracejit.specialise.callee import Form
from tracejit.specialise.function import Function
from tracejit.support.errors import TracejitError, fail
from tracejit.support.imports import import_module
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
    """Write `f` to a Python module that imports only NumPy, and return its path.

    Parameters
    ----------
    f : callable or dict
        The function. A dict {name: (f, *specs)} writes a package with one function for each name. A
        list of such tuples gives a function several kernels.
    *specs : arrays, TensorSpecs, numbers, or containers of them
        Descriptions of the arguments of `f`. A number that is given is an argument of the module. A
        number that is left to its default becomes a constant.
    path : str or path
        The file to write. A package is a folder.
    grad : bool, default True
        If True, the module computes the value and the gradient. The result of a transform such as
        `tj.grad` is exported directly.
    check : bool, default True
        If True, `call` checks its arguments and raises a TypeError that names the wrong one.
    argnums : int or tuple of int, default 0
        The positions of the arguments to differentiate with respect to.
    argnames : str or tuple of str, default None
        The names of these arguments. Give either names or positions.
    overwrite : bool, default False
        If True, replace any file. If False, replace only files that tracejit wrote and nobody
        edited.
    **keywords : arrays, TensorSpecs, numbers, or containers of them
        Descriptions of keyword arguments of `f`.

    Returns
    -------
    Path
        The path of the module. Beside it are a stub (`.pyi`) with the shapes, and large constants
        (`.npz`).

    Raises
    ------
    UnsupportedError
        If `f` assigns Variables or attributes, writes to its arguments, or uses a callback. A
        TypeError.
    GradientError
        If `grad` is True and the result is not one real number. A TypeError.
    ExportError
        If a file is in the way. A FileExistsError.

    Notes
    -----
    `module.call` takes the arguments of `f`. `module.misfit` returns the reason why
    arguments do not fit, or None. `module.forward`, `backward` and `value_and_grad` are the bare
    functions. Everything that `f` reads besides its arguments becomes part of the module, which
    lists it. The module is imported and called once before it is put in place. `tj.load` reads it
    back.

    Examples
    --------
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
    TypeError: loss: x has to be an array of dtype float64 and shape (10, 3); it is: ndarray of dtype float64 and shape (12, 3)
    >>> folder.cleanup()
    """  # noqa: E501
    exporter: Any = import_module("tracejit.exporting.exporter")

    def made(f: Any, specs: Any, keywords: Any, name: str | None = None) -> Any:
        request = request_of("value_and_grad", argnums, argnames) if grad else Request()
        source = _source(exporter.Source, f, request)
        try:
            return exporter.exported(source, specs, keywords, check, name)
        except TracejitError as error:
            if error.row != "not-scalar" or source.request is not request:
                raise
            fix = f"export only the value with grad=False; or {error.words['fix']}"
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
        raise fail(
            "export-path", places.here(), problem=f"{path} is not the name of a module", fix=fix
        )
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
