"""Rehearsal of an exported module: it is run and called once before its files are put in place.

Its `call` must pass the same arguments to the kernel as a call of the function, and build the same
result from the kernel's results. The kernel itself is called once for both.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tracejit.cache.modules import load_text
from tracejit.runtime.dispatch import numpy_generator
from tracejit.specialise.kernel_table import CompiledCall
from tracejit.support.errors import TracejitError, fail
from tracejit.support.parsing import parse
from tracejit.trace.arguments.signature import Call, Leaf, TensorSpec, call_arguments, signature_of
from tracejit.trace.guards.exactness import is_exactly
from tracejit.trace.structure.sparse_products import PARTS, format_of, is_sparse
from tracejit.trace.structure.trees import Structure, flatten

SIZE = 12
"""The size of a dimension that may have any."""
MOST_BYTES = 2**28
"""The memory of made arguments beyond which the module is not called."""


def rehearse(
    name: str, files: Mapping[str, bytes], target: str, found: CompiledCall, call: Call
) -> None:
    """Raise NotImportableError if a module with these files, by suffix, cannot be imported, or
    where its `call` does something else than `found` in a call like `call`."""
    try:
        parse(files[".pyi"].decode())
        module: Any = load_text(name, files[".py"].decode(), None, files.get(".npz"))
        parameters = signature_of(module.call).parameters
    except Exception as error:
        raise _mistake(name, f"cannot be imported: {type(error).__name__}: {error}") from error
    specs = [leaf.value for leaf in call.leaves if type(leaf.value) is TensorSpec]
    if sum(math.prod(_shape(one)) * one.dtype.itemsize for one in specs) > MOST_BYTES:
        return
    values = list(map(_value, call.leaves))
    signature = found.entry.signature
    args, kwargs = call_arguments(signature, call.rebuild(values))
    passed = call.rebuild(map(numpy_generator, values))
    own = call_arguments(signature_of(module.call), {x: passed[x] for x in parameters})
    kernel = _Kernel(getattr(module, target))
    names = [word for word, thing in vars(module).items() if thing is kernel.function]
    vars(module).update(dict.fromkeys(names, kernel))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = found.arrays(tuple(args), kwargs)
        except LookupError:
            return  # it takes other sizes than these
        try:
            answer = module.call(*own[0], **own[1])
        except Exception as error:
            if error is kernel.raised:  # as a call of the function does with such arguments
                return
            problem = f"cannot be called: {type(error).__name__}: {error}"
            raise _mistake(name, problem) from error
        expected = found.with_target(lambda *_: kernel.answer)(*args, **kwargs)
    if not _is_alike(kernel.given, given):
        raise _mistake(name, f"does not hand the arguments of {name} to its kernel")
    if not _is_alike(answer, expected):
        raise _mistake(name, f"returns another result than {name}")


class _Kernel:
    """The function of a module that computes, and what it was given, answered or raised."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.given: tuple[Any, ...] = ()
        self.answer: Any = None
        self.raised: Exception | None = None

    def __call__(self, *arrays: Any) -> Any:
        self.given = arrays
        try:
            self.answer = self.function(*arrays)
        except Exception as error:
            self.raised = error
            raise
        return self.answer


def _mistake(name: str, problem: str) -> TracejitError:
    return fail("not-importable", None, name=name, problem=problem)


def _shape(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(SIZE if size is None else size for size in spec.shape)


def _value(leaf: Leaf) -> Any:
    """An argument of the call: the one that was given, a copy of a generator, or an array like the
    one that was described."""
    if type(leaf.value) is TensorSpec:
        return np.full(_shape(leaf.value), 0.5).astype(leaf.value.dtype)
    return copy.deepcopy(leaf.value) if leaf.role == "generator" else leaf.value


def _is_alike(one: Any, other: Any) -> bool:
    """Return whether two values are the same to the bit, but for the bits of a nan. A class of
    tuples that the module has made has the name of the function's."""
    leaves, others = flatten(one), flatten(other)
    kinds, its = ([_kind(part) for part in tree.parts()] for _, tree in (leaves, others))
    return kinds == its and all(map(_is_leaf_alike, leaves[0], others[0]))


def _kind(part: Structure) -> tuple[Any, ...]:
    name = getattr(part.cls, "__name__", "")
    return name, part.keys, part.order, part.kinds, [child.cls is None for child in part.children]


def _is_leaf_alike(one: Any, other: Any) -> bool:
    if is_sparse(type(one)):
        names = ("shape", *PARTS[format_of(type(one))])
        pairs = [(getattr(one, name), getattr(other, name)) for name in names]
        return type(one) is type(other) and all(_is_leaf_alike(*pair) for pair in pairs)
    if one is other or not isinstance(one, (np.ndarray, np.generic)):
        return one is other or is_exactly(one, other)
    if type(one) is not type(other) or one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return one.tobytes() == other.tobytes()
    parts = [(one.real, other.real), (one.imag, other.imag)]
    return all(
        np.array_equal(mine, its, equal_nan=True)
        and np.array_equal(np.signbit(mine) & (mine == mine), np.signbit(its) & (its == its))
        for mine, its in parts
    )
