"""tj.callback: a Python function that a recorded function calls at every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TracejitError, fail, placed
from tracejit.ir.types import HANDLE, ArrayType, type_of
from tracejit.ops.effects import CALLBACK
from tracejit.trace import places
from tracejit.trace.eager import EAGER, eager_tensor
from tracejit.trace.record import Event, Recording, current_recording
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import Structure, flatten, unflatten
from tracejit.trace.variable import Variable, read_leaf


def callback(f: Callable[..., Any], *args: Any, result: Any = None) -> Any:
    """Call f(*args) with plain arrays, at every call of a recorded function, once and in order.

    Without `result` its answer is dropped, and it is called when the kernel has succeeded,
    interleaved with assignments as written. With `result`, a TensorSpec or a container of them, it
    is called where it stands, and its answer, which must have those shapes and dtypes, is an array
    to compute with; it has no gradient. Outside recorded functions it is called at once. What
    `recompute_grad` runs again calls nothing again.

    Raises CallbackError (a ValueError) where the answer is not what `result` says.

    >>> import numpy as np
    >>> import tracejit as tj
    >>> seen = []
    >>> @tj.function
    ... def loss(x):
    ...     y = np.sum(x * x)
    ...     tj.callback(seen.append, y)
    ...     return y
    >>> _ = loss(np.ones(2)), loss(np.ones(3))
    >>> [float(y) for y in seen]
    [2.0, 3.0]
    """
    recording = current_recording()
    if recording is None:
        return _called_now(f, args, result)
    leaves, structure = flatten(tuple(args))
    leaves = [read_leaf(leaf) for leaf in leaves]
    if result is None:
        values = [recording.lift(leaf) for leaf in leaves if _is_array(leaf)]
        run = Call(f, leaves, structure)
        recording.events.append(Event(None, run, values))
        return None
    return _recorded(Call(f, leaves, structure), leaves, result, recording)


class Call:
    """A call of `f`, whose arguments are a structure of arrays and of objects that stay."""

    def __init__(self, f: Callable[..., Any], leaves: Sequence[Any], structure: Structure) -> None:
        """The arrays among `leaves` are given at each call."""
        self.f = f
        self.fixed = [None if _is_array(leaf) else leaf for leaf in leaves]
        self.places = [k for k, leaf in enumerate(leaves) if _is_array(leaf)]
        self.structure = structure

    def __call__(self, *arrays: Any) -> Any:
        """f with these arrays, copies of its own."""
        leaves = list(self.fixed)
        for k, array in zip(self.places, arrays, strict=True):
            leaves[k] = array.copy() if type(array) is np.ndarray else array
        with EAGER.unwatched():
            return self.f(*unflatten(self.structure, leaves))


class CheckedCall:
    """A call whose answer is a structure of arrays of certain types."""

    def __init__(self, call: Call, types: Sequence[ArrayType], structure: Structure) -> None:
        """`types` are those of the leaves of the answer."""
        self.call = call
        self.types = list(types)
        self.structure = structure
        self.__name__ = getattr(call.f, "__name__", type(call.f).__name__)

    def __call__(self, *arrays: Any) -> Any:
        """The answer: an array, or a tuple of them."""
        found = self.answers(*arrays)
        return found[0] if len(found) == 1 else tuple(found)

    def answers(self, *arrays: Any) -> list[Any]:
        """The arrays of the answer, copied and checked; CallbackError where they do not fit."""
        leaves, structure = flatten(self.call(*arrays))
        if structure != self.structure:
            problem = f"{len(leaves)} arrays in another structure than its `result`"
            raise fail("callback", None, function=self.__name__, problem=problem)
        return [self._checked(leaf, type) for leaf, type in zip(leaves, self.types, strict=True)]

    def _checked(self, leaf: Any, wanted: ArrayType) -> Any:
        known = type_of(leaf)
        got = ""
        if known is None or known.shape != wanted.shape:
            got = type(leaf).__name__ if known is None else f"shape {known.shape}"
        elif known.form != "weak" and known.dtype != wanted.dtype:
            got = f"dtype {known.dtype}"
        if got:
            problem = f"{got} where {wanted!r} was expected"
            raise fail("callback", None, function=self.__name__, problem=problem)
        if wanted.form == "array":
            return np.array(leaf, wanted.dtype)
        return wanted.dtype.type(leaf)


def _recorded(call: Call, leaves: Sequence[Any], result: Any, recording: Recording) -> Any:
    """The answer of a call that takes place inside the kernel."""
    checked = _checked_call(call, result)
    name = checked.__name__
    handle = recording.hide(checked, name if name.isidentifier() else "callback", HANDLE)
    operands = [leaves[k] for k in call.places]
    types = tuple(map(repr, checked.types))
    found = CALLBACK(Tensor(handle, recording), *operands, results=types)
    return unflatten(checked.structure, [found] if len(types) == 1 else list(found))


def _checked_call(call: Call, result: Any) -> CheckedCall:
    """The call with the types that `result` says."""
    specs, structure = flatten(result)
    return CheckedCall(call, [spec.type for spec in specs], structure)


def _called_now(f: Callable[..., Any], args: tuple[Any, ...], result: Any) -> Any:
    """The eager call: Tensors are handed over as arrays."""
    leaves, structure = flatten(tuple(args))
    leaves = [read_leaf(leaf) for leaf in leaves]
    call = Call(f, leaves, structure)
    arrays = [leaf.numpy() if type(leaf) is Tensor else leaf for leaf in leaves if _is_array(leaf)]
    if result is None:
        EAGER.once(lambda: call(*arrays))
        return None
    checked = _checked_call(call, result)
    try:
        found = EAGER.once(lambda: checked.answers(*arrays))
    except TracejitError as error:
        raise placed(error, _here()) from None
    if any(type(leaf) is Tensor for leaf in leaves):
        found = [eager_tensor(array, ArrayType(array.shape, array.dtype)) for array in found]
    return unflatten(checked.structure, found)


def _is_array(leaf: Any) -> bool:
    """Whether a leaf is given anew at each call: a Python number stays what it is."""
    known = type_of(leaf)
    return type(leaf) in (Tensor, Variable) or (known is not None and known.form != "weak")


def _here() -> Any:
    return places.where(places.user_frame())
