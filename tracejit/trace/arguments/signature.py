"""The signature of a call: its arguments bound to the function's parameters, taken apart into
leaves.

A leaf is an array, a NumPy scalar, a Python number, a random generator, a sparse matrix, a
Variable, which selects a kernel by identity, or static: anything else hashable, which selects one
by type and equality. Every leaf has a name, the one it has in graphs and generated code, and a
path, the Python expression that reaches it from the parameters.
"""

from __future__ import annotations

import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from tracejit.ir.types import HANDLE, ArrayType, type_of
from tracejit.support.errors import fail
from tracejit.support.options import nearest
from tracejit.support.words import a, identifier
from tracejit.trace.guards.conditions import contents_of
from tracejit.trace.guards.guards import (
    KIND,
    Difference,
    Guard,
    HasDtype,
    HasShape,
    InOrder,
    IsLikeMatrix,
    IsVariable,
    OfType,
    Static,
    kind_of,
    same_value,
)
from tracejit.trace.structure.draws import is_generator
from tracejit.trace.structure.sparse_products import is_sparse
from tracejit.trace.structure.trees import Structure, flatten, labels, paths, unflatten
from tracejit.trace.structure.wrapped import (
    dtype_refused,
    is_labelled,
    is_of_dask,
    not_an_array,
    of_dask,
)
from tracejit.trace.tensor.tensor import TENSORS

Role = Literal[
    "array", "scalar", "number", "static", "constant", "variable", "generator", "sparse", "labelled"
]


NUMBERS: Final = ("number", "scalar")
"""The roles of Python numbers and NumPy scalars, whose values Python may read."""
EXAMPLE: Final = 240


class TensorSpec:
    """A description of an array argument: its shape and dtype.

    Use it where an array is needed only for its type, as in `f.kernel(spec)`.

    Parameters
    ----------
    shape : iterable of int or None
        The shape. None means any size from 2 on.
    dtype : dtype, default float
        The dtype.
    name : str, default None
        A name for messages.

    Examples
    --------
    >>> TensorSpec((None, 3), np.float32)
    TensorSpec(shape=(None, 3), dtype=float32)
    """

    __slots__ = ("dtype", "name", "shape")
    __tracejit_class__ = np.ndarray

    def __init__(
        self, shape: Iterable[int | None], dtype: Any = float, name: str | None = None
    ) -> None:
        """An array of this shape and dtype; `name` is for the reader."""
        self.shape = tuple(None if size is None else operator.index(size) for size in shape)
        self.dtype = np.dtype(dtype)
        self.name = name

    @property
    def type(self) -> ArrayType:
        """The type of an array that fits: where any size does, one with many divisors."""
        sizes = (EXAMPLE if size is None else size for size in self.shape)
        return ArrayType(tuple(sizes), self.dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return False
        return self.shape == other.shape and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype})"


class Leaf(NamedTuple):
    """One leaf of a call; `given` is the class of an array that maps a file."""

    name: str
    path: str
    argument: str
    value: Any
    role: Role
    type: ArrayType | None
    given: Any = None

    def guards(self, fixed: Any = None, in_order: bool = False) -> list[Guard]:
        """The guards of a value that a kernel takes in its place: of any number, unless one is
        `fixed`; of an array, where the order of its elements matters, `in_order`."""
        match self.role:
            case "variable":
                return [IsVariable(self.value)]
            case "static":
                return [Static(self.value)]
            case "sparse":
                return [IsLikeMatrix(self.value)]
            case "constant":
                whole = HasDtype(self.value.dtype), HasShape(self.value.shape)
                return [OfType(np.ndarray), *whole, contents_of(self.value)]
        if fixed is not None:
            return [same_value(fixed)]
        if self.role != "array" or self.type is None or self.type.form == "weak":
            # Of np.int64 and np.longlong, which are one dtype and two classes, the type knows one.
            return [OfType(type(self.value), kind_of(self.value))]
        kind = OfType(np.ndarray, f"an array {self.type!r}")
        found = [kind, HasDtype(self.type.dtype), HasShape(self.type.shape)]
        return [*found, InOrder()] if in_order else found

    def constant(self) -> Leaf:
        """An array by its contents: a copy of its own, which nobody writes to."""
        copy = np.array(self.value)
        copy.flags.writeable = False
        return self._replace(role="constant", value=copy, type=None)

    def takes(self, other: Leaf, guards: Iterable[Guard]) -> bool:
        """Return whether another leaf in its place passes its guards."""
        return self.given is other.given and all(guard.check(other.value) for guard in guards)

    def difference(self, other: Leaf, guards: Iterable[Guard], what: str) -> Difference | None:
        """The first of its guards that another leaf, called `what`, fails; None if it passes."""
        if self.given is not other.given:
            return Difference(KIND, what, _noun(self), _noun(other), place=other.name)
        failing = next((guard for guard in guards if not guard.check(other.value)), None)
        return failing and failing.explain(what, other.value)._replace(place=other.name)


def _noun(leaf: Leaf) -> str:
    """The user's words for the class of a leaf."""
    return kind_of(leaf.value) if leaf.given is None else a(leaf.given.__name__)


class Call(NamedTuple):
    """A call taken apart: its leaves in order, and the structure of each parameter."""

    leaves: list[Leaf]
    structures: dict[str, Structure]

    def rebuild(self, values: Iterable[Any]) -> dict[str, Any]:
        """The arguments by parameter name, with the leaves replaced by `values`."""
        remaining = iter(values)
        return {
            name: unflatten(structure, [next(remaining) for _ in range(structure.size)])
            for name, structure in self.structures.items()
        }


def is_alike(one: Call, other: Call) -> bool:
    """Return whether two calls have the same signature, whatever the numbers in them are."""
    return one.structures == other.structures and all(
        mine.takes(its, mine.guards()) for mine, its in zip(one.leaves, other.leaves, strict=True)
    )


# Annotations that name what is not there yet: from Python 3.14 on, asking evaluates them.
LAZILY: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    LAZILY["annotation_format"] = sys.modules["annotationlib"].Format.FORWARDREF  # of inspect's


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a callable; any positional arguments where Python knows none."""
    try:
        return inspect.signature(function, **LAZILY)
    except (ValueError, TypeError):
        parameter = inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)
        return inspect.Signature([parameter])


def static_names(
    signature: inspect.Signature,
    numbers: int | tuple[int, ...],
    names: str | tuple[str, ...],
    function: str,
) -> frozenset[str]:
    """The parameters of `function` that are chosen by number or name.

    Raises ArityError for one that is not there.
    """
    parameters = list(signature.parameters)
    named = (names,) if isinstance(names, str) else names
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in named:
            if name not in parameters:
                fix = nearest(name, parameters)
                raise fail("static-argument", None, function=function, name=name, fix=fix)
    try:
        chosen = [parameters[k] for k in ((numbers,) if isinstance(numbers, int) else numbers)]
    except IndexError:
        fix = f"number them from 0 to {len(parameters) - 1}." if parameters else "leave it out."
        raise fail("static-argument", None, function=function, name=numbers, fix=fix) from None
    return frozenset(chosen).union(named)


def inside_method(decorator: Callable[[Any], Any], f: Any) -> Any:
    """A staticmethod or classmethod object with the function in it decorated; None of anything
    else."""
    if isinstance(f, (staticmethod, classmethod)):
        return type(f)(decorator(f.__func__))
    return None


def is_no_spec(given: Any) -> bool:
    """Return whether the description of an argument was meant as a TensorSpec, or a structure of
    such, and is none."""
    if not isinstance(given, (tuple, list, type, np.dtype, np.ndarray)):
        return False
    return all(type(leaf) is not TensorSpec for leaf in flatten(given)[0])


def bind_arguments(
    signature: inspect.Signature, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by parameter, defaults filled in; ArityError if they do not fit."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        words = {"function": name, "problem": error, "signature": signature}
        raise fail("wrong-arity", None, **words) from None
    bound.apply_defaults()
    return dict(bound.arguments)


def call_arguments(
    signature: inspect.Signature, arguments: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments that pass `arguments` to the function, where they are
    not its own defaults."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    defaults: list[Any] = []
    for name, parameter in signature.parameters.items():
        value = arguments[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += [*defaults, *value] if value else []
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            keywords |= value
        elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            defaults.append(value)
            if value is not parameter.default:
                # Those before a positional argument must be passed, too.
                positional += defaults
                defaults = []
        elif value is not parameter.default:
            keywords[name] = value
    return positional, keywords


def take_apart(arguments: dict[str, Any], function: str, bind: Callable[[Any], str]) -> Call:
    """The leaves of a call of `function`; `bind` names objects that paths cannot spell."""
    found: list[tuple[tuple[str, ...], str, str, Any]] = []
    structures: dict[str, Structure] = {}
    for name, value in arguments.items():
        leaves, structure = flatten(value)
        structures[name] = structure
        places = zip(labels(structure, name), paths(structure, name, bind), leaves, strict=True)
        found += [(words, path, name, leaf) for words, path, leaf in places]
    names = leaf_names([words for words, *_ in found])
    return Call(
        [
            _leaf(name, path, argument, value, function)
            for name, (_, path, argument, value) in zip(names, found, strict=True)
        ],
        structures,
    )


def _leaf(name: str, path: str, argument: str, value: Any, function: str) -> Leaf:
    if type(value) is not np.memmap:
        return Leaf(name, path, argument, value, *_classify(value, path, function))
    array = np.asarray(value)
    return Leaf(name, path, argument, array, *_classify(array, path, function), type(value))


def leaf_names(words: list[tuple[str, ...]], whole: bool = False) -> list[str]:
    """A variable name per leaf: its last key if that is a name, with the keys that tell it from
    leaves of the same last key where there are such; `whole` joins all keys.

    >>> leaf_names([("params", "0", "w"), ("params", "0", "b"), ("params", "1", "w"), ("x",)])
    ['w_0', 'b', 'w_1', 'x']
    >>> leaf_names([("nets", "enc", "w"), ("nets", "dec", "w"), ("pair", "0"), ("pair", "1")])
    ['enc_w', 'dec_w', 'pair_0', 'pair_1']
    """
    alike: dict[str, list[tuple[str, ...]]] = {}
    for path in words:
        alike.setdefault(path[-1], []).append(path)
    names: dict[str, None] = {}
    for path in words:
        name = identifier(
            "_".join(path if whole or not path[-1].isidentifier() else _told(path, alike))
        )
        if name in names:
            numbered = (f"{name}_{number}" for number in itertools.count(len(names)))
            name = next(found for found in numbered if found not in names)
        names[name] = None
    return list(names)


def _told(path: tuple[str, ...], alike: dict[str, list[tuple[str, ...]]]) -> list[str]:
    """The last key of a path, after the words and before the numbers that tell it from others."""
    others = alike[path[-1]]
    if any(len(other) != len(path) for other in others):
        return list(path)
    columns = list(zip(*others, strict=True))
    telling = [key for key, column in zip(path, columns, strict=True) if len(set(column)) > 1]
    words = [key for key in telling if key.isidentifier()]
    return [*words, path[-1], *[key for key in telling if not key.isidentifier()]]


def _classify(value: Any, path: str, function: str) -> tuple[Role, ArrayType | None]:
    kind = type(value)
    if isinstance(value, TensorSpec):
        return "array", value.type
    if kind in TENSORS:
        return "array", value.type
    if hasattr(kind, "__tracejit_record__"):
        return "variable", None
    if is_generator(value) or hasattr(kind, "numpy_generator"):
        return "generator", HANDLE
    if is_sparse(kind):
        return "sparse", HANDLE
    known = type_of(value)
    if known is not None:
        if known.dtype.kind not in "biufc" or not known.dtype.isnative:
            raise dtype_refused(None, known.dtype, f"argument {path} of {function}", path)
        if known.form == "weak":
            return ("static", None) if kind is bool else ("number", known)
        return ("scalar" if known.form == "scalar" else "array"), known
    what = f"argument {path} of {function}"
    if is_of_dask(kind):
        raise of_dask(value, what, path)
    if is_labelled(kind):
        return "labelled", None
    try:
        hash(value)
    except TypeError:
        raise not_an_array(value, what, path) from None
    if isinstance(value, np.ndarray):
        raise not_an_array(value, what, path)
    return "static", None
