"""Rules of SciPy, and of other libraries that are C inside.

Functions are recorded by their records in `tracejit.ops.scipy`; classes by twins, distributions by
formulas. Solvers are refused by name where what they solve depends on something
recorded; so is C code, which knows nothing of Tensors.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from tracejit.ops.base.creation import as_array
from tracejit.ops.base.op import HANDLERS
from tracejit.ops.base.twins import TWINS, Twin
from tracejit.support.imports import import_module
from tracejit.trace.convert.numbers import python_number
from tracejit.trace.convert.rules import where_recorded
from tracejit.trace.guards.access_paths import ATTRIBUTE, PathStep
from tracejit.trace.guards.reads import module_name
from tracejit.trace.recording.numbers import origins_of
from tracejit.trace.recording.scipy_calls import scipy_called
from tracejit.trace.source import places
from tracejit.trace.source.instead import SOLVERS, is_closed, not_recorded
from tracejit.trace.structure.trees import flatten, unflatten
from tracejit.trace.tensor.call_errors import spelling
from tracejit.trace.tensor.namespaces import recordable, recorded_argument
from tracejit.trace.tensor.tensor import TENSORS


def without_overwriting(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` without the keywords by which SciPy may write into its arguments."""

    @functools.wraps(call)
    def without(*args: Any, **kwargs: Any) -> Any:
        if recorded_argument(*args, *kwargs.values()) is not None:
            kwargs = {k: v for k, v in kwargs.items() if not k.startswith("overwrite_")}
        return call(*args, **kwargs)

    return without


def is_foreign(called: Any, kind: type) -> bool:
    """Return whether what is called is C code of a library, which knows nothing of Tensors."""
    if type(getattr(kind, _CALL, None)) is FunctionType:
        return False
    module = getattr(called, "__module__", None) or getattr(kind, "__module__", "")
    package = str(module).partition(".")[0]
    return kind.__name__ == "fortran" or package not in _OWN


_CALL = "__call__"
_OWN = frozenset((*sys.stdlib_module_names, "numpy", "tracejit"))


def refusing(called: Any) -> Callable[..., Any]:
    """`called`, refused by the name that the user's line has for it where something recorded is
    given, unless that is made of constants and captured arrays alone: then it gets the numbers."""

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [leaf for leaf in flatten((args, kwargs))[0] if type(leaf) in TENSORS]
        numbers = {id(tensor): number_of(tensor) for tensor in tensors}
        if any(number is None for number in numbers.values()):
            name = scipy_called() or spelling(called)
            raise not_recorded(places.here(), name)
        before = {key: array.copy() for key, array in numbers.items()}
        given = [_with_numbers(one, numbers) for one in args]
        named = {name: _with_numbers(one, numbers) for name, one in kwargs.items()}
        result = called(*given, **named)
        for tensor in tensors:
            if not np.array_equal(numbers[id(tensor)], before[id(tensor)], equal_nan=True):
                tensor[...] = numbers[id(tensor)]
        return result

    return where_recorded(called, call)


def _with_numbers(given: Any, numbers: dict[int, Any]) -> Any:
    """An argument with the numbers of its Tensors; one that has none is itself, so that what C
    code writes into it is kept."""
    leaves, structure = flatten(given)
    if all(id(leaf) not in numbers for leaf in leaves):
        return given
    return unflatten(structure, [numbers.get(id(leaf), leaf) for leaf in leaves])


def refuse_closed(called: Any, args: Any, kwargs: Any) -> None:
    """UnsupportedError where a function or class that draws, or that makes tables, is given
    floating numbers that are recorded."""
    library = str(called.__module__).partition(".")[0]
    if is_closed(library):
        leaves = flatten((args, kwargs))[0]
        if any(type(leaf) in TENSORS and leaf.type.is_inexact for leaf in leaves):
            raise not_recorded(places.here(), spelling(called))


def number_of(tensor: Any) -> Any:
    """The number of a Tensor that is the same in all calls of a kernel, which then compares the
    arrays that it is computed from; None if it may not be."""
    origins = origins_of(tensor._value)
    if origins == set():
        return np.array(tensor)
    recording, reader = tensor._recording, _reader(tensor)
    if origins is None or reader is None:
        return None
    captured = {hidden.value: hidden.holder for hidden in recording.hidden.values()}
    arrays = [captured.get(origin) for origin in origins]
    if any(type(array) is not np.ndarray for array in arrays):
        return None
    for array in arrays:
        reader.hand_array(array)
    return np.array(recording.decisions.prefix[tensor._value])


@functools.cache
def import_records(module: str) -> None:
    """Have the records of the package of SciPy's that a module belongs to."""
    if module.startswith("scipy."):
        area = module.split(".")[1]
        with suppress(ImportError):
            import_module(f"tracejit.ops.scipy.{_RECORDS.get(area, area)}")


_RECORDS = {"fft": "fourier"}
"""The module of `tracejit.ops.scipy` that records a package, where it has another name."""


def of_class(cls: type) -> Callable[..., Any] | None:
    """The call of a class of SciPy's, which makes a twin of what is recorded; or None."""
    import_records(module_name(cls))
    return where_recorded(cls, recordable(cls)) if cls in HANDLERS else None


def of_object(made: Any) -> Callable[..., Any] | None:
    """The call of an object of SciPy's that has a twin, or of a distribution, which gives it
    parameters that are recorded; or None."""
    import_records(module_name(type(made)))
    kind = TWINS.get(type(made))
    if kind is not None:
        return where_recorded(
            made, lambda *args, **kwargs: _twin(made, args, kwargs)(*args, **kwargs)
        )
    is_distribution = hasattr(made, "_parse_args" if hasattr(made, "shapes") else "_logpdf")
    if not (_is_of_stats(made) and is_distribution):
        return None
    return where_recorded(made, lambda *args, **kwargs: FrozenDistribution(made, args, kwargs))


def of_method(called: Any) -> Callable[..., Any] | None:
    """A method of an object or class of SciPy's that is recorded by a formula; or None."""
    owner = called.__self__
    import_records(module_name(owner if isinstance(owner, type) else type(owner)))
    if called in HANDLERS:
        return recordable(called)
    kind = TWINS.get(type(owner))
    if kind is None:
        return _of_frozen(called) if _is_of_stats(owner) else None

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(_twin(owner, args, kwargs), called.__name__)(*args, **kwargs)

    return where_recorded(called, call)


def beside_twins(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operation, an object of SciPy's beside a twin as one."""
    if TWINS.keys().isdisjoint(map(type, operands)):
        return operands
    if not any(issubclass(type(one), Twin) for one in operands):
        return operands
    return tuple([_twin(one, operands, {}) if type(one) in TWINS else one for one in operands])


def _twin(made: Any, args: Any, kwargs: Any) -> Any:
    """The twin of an object of SciPy's that is given something recorded: its attributes are noted
    as what converted code reads."""
    kind = TWINS[type(made)]
    reader = _reader(recorded_argument(*args, *kwargs.values()))
    names = kind.attributes(made)
    values = [getattr(made, name, None) for name in names]
    if reader is not None and not reader.is_made(made):
        for name, value in zip(names, values, strict=True):
            reader.note(made, ATTRIBUTE, name, value)
            reader.hand(value, mixed=True)
        for name in kind.calls:
            reader.note(made, _ANSWER, name, _answer_of(made, name))
    return kind.reading(*values, *[getattr(made, name)() for name in kind.calls])


def _answer_of(made: Any, name: str) -> bytes:
    """The numbers that a method answers."""
    numbers: bytes = getattr(made, name)().tobytes()
    return numbers


_ANSWER = PathStep(
    _answer_of,
    lambda held, name, bind: f"{held}.{name}().tobytes()",
    lambda held, name: f"{held}.{name}()",
)
"""The step from an object to the numbers that a method of its answers."""


def _reader(recorded: Any) -> Any:
    """The reader of the recording that a Tensor belongs to, which notes what is read; or None."""
    recording = getattr(recorded, "_recording", None)
    return getattr(getattr(recording, "captures", None), "reader", None)


def _is_of_stats(owner: Any) -> bool:
    return module_name(type(owner)).startswith("scipy.stats.")


def _of_frozen(called: Any) -> Callable[..., Any] | None:
    """A method of a distribution with given parameters, or None."""
    owner = called.__self__
    family = getattr(
        sys.modules["scipy.stats"], getattr(getattr(owner, "dist", None), "name", ""), None
    )
    method = getattr(family, called.__name__, None)
    if method is None or method not in HANDLERS:
        return None
    given, keywords = owner.args, owner.kwds
    recorded = recordable(method)

    def call(*args: Any, **kwargs: Any) -> Any:
        if recorded_argument(*args, *kwargs.values(), *given, *keywords.values()) is None:
            return called(*args, **kwargs)
        return recorded(*args, *given, **kwargs, **keywords)

    return call


class FrozenDistribution:
    """A distribution with its parameters, some of which are recorded."""

    def __init__(self, family: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """`args` and `keywords` are the parameters of `family`."""
        self.dist, self.args, self.kwds = family, args, keywords

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.dist, name)
        if not callable(method):
            return method
        if method not in HANDLERS:
            called = f"scipy.stats.{getattr(self.dist, 'name', type(self.dist).__name__)}.{name}"
            raise not_recorded(places.here(), called)
        recorded = recordable(method)
        return lambda *args, **kwargs: recorded(*args, *self.args, **kwargs, **self.kwds)


def of_norm(norm: Callable[..., Any]) -> Callable[..., Any]:
    """scipy.linalg.norm, which returns a Python float for what BLAS and LAPACK compute."""
    recorded = recordable(norm, as_array)

    def call(
        a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, **options: Any
    ) -> Any:
        found = recorded(a, ord, axis, keepdims, **options)
        a = as_array(a)
        by_blas = ord in (None, 2) and a.ndim == 1
        by_lapack = ord in (1, np.inf) and a.ndim == 2
        is_number = axis is None and not keepdims and (by_blas or by_lapack)
        return python_number(found, float) if is_number else found

    return where_recorded(norm, call)


def of_solver(solver: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A solver, refused where its arguments, or what its functions enclose, are recorded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        enclosed = [_enclosed(one) for one in given if type(one) is FunctionType]
        if recorded_argument(*given, *enclosed) is not None:
            raise not_recorded(places.here(), name)
        return solver(*args, **kwargs)

    return call


def _enclosed(function: FunctionType) -> list[Any]:
    """The objects that a function encloses."""
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            found.append(cell.cell_contents)
    return found


def of_function(called: Any) -> Callable[..., Any] | None:
    """The callable that records a function of SciPy's, or None."""
    import_records(called.__module__)
    area = called.__module__.split(".")[1]
    name = called.__name__
    if area == "linalg" and name == "norm":
        return of_norm(called)
    if area in ("optimize", "integrate") and name in SOLVERS:
        return of_solver(called, f"scipy.{area}.{name}")
    return without_overwriting(recordable(called)) if called in HANDLERS else None
