"""What the transforms share: the arguments that are differentiated, as Tensors of their own, and
the Functions that transforms are."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.differentiate import Request, selected
from tracejit.errors import fail
from tracejit.function import Function
from tracejit.ops.forms import as_scalar
from tracejit.trace import places
from tracejit.trace.record import Recording, current_recording
from tracejit.trace.signature import bind_arguments, call_arguments, signature_of
from tracejit.trace.tensor import Tensor
from tracejit.trace.trees import Structure, flatten, map_tree, unflatten
from tracejit.trace.variable import read_leaf


def recorded_as(transform: str, f: Any, python: Callable[..., Any]) -> Function:
    """The Function that records `python`, and looks like `f`."""
    if not callable(f):
        kind = type(f).__name__
        raise fail("not-callable", places.here(), decorator=f"tj.{transform}", kind=kind)
    return Function(functools.wraps(f)(python))


def python_of(f: Any) -> Any:
    """What is called while recording: of a compiled function the function itself."""
    return f.python if isinstance(f, Function) and not f.request.transform else f


def strong(leaf: Any, recording: Recording) -> Any:
    """A result as a Tensor of NumPy's, if it is an array or number."""
    tensor: Any = Tensor(recording.lift(leaf), recording)
    return as_scalar(tensor, dtype=tensor.dtype) if tensor.type.form == "weak" else tensor


class Sources:
    """The chosen arguments of a call, as Tensors that nothing else is taken for."""

    def __init__(
        self, f: Any, request: Request, transform: str, args: Any, kwargs: dict[str, Any]
    ) -> None:
        """The call f(*args, **kwargs) while a function is recorded."""
        self.recording = running(transform)
        self.signature = signature_of(f)
        self.name = getattr(f, "__name__", type(f).__name__)
        self.f = f
        arguments = bind_arguments(self.signature, self.name, args, kwargs)
        arguments = {name: map_tree(read_leaf, value) for name, value in arguments.items()}
        flat = {name: flatten(value) for name, value in arguments.items()}
        count = [0]
        numbered = {
            name: unflatten(structure, [_next(count) for _ in leaves])
            for name, (leaves, structure) in flat.items()
        }
        chosen = selected(request, self.signature, numbered, self.name)
        self.structures = [flatten(value)[1] for _, value in chosen]
        numbers = [number for _, value in chosen for number in flatten(value)[0]]
        leaves = [leaf for leaves, _ in flat.values() for leaf in leaves]
        labels = [name for name, (leaves, _) in flat.items() for _ in leaves]
        self.tensors: list[Any] = []
        for number in numbers:
            source = self.recording.source(leaves[number], labels[number])
            if not (type(source) is Tensor and source.type.is_inexact):
                raise fail(
                    "integer-input",
                    None,
                    transform=f"tj.{transform}",
                    function=self.name,
                    name=labels[number],
                    type=repr(getattr(source, "type", type(source).__name__)),
                    kind="values that have no derivative",
                )
            self.tensors.append(Tensor(source._value, self.recording))
            leaves[number] = source
        remaining = iter(leaves)
        self.arguments = {
            name: unflatten(structure, [next(remaining) for _ in old])
            for name, (old, structure) in flat.items()
        }

    def call(self, has_aux: bool = False) -> tuple[list[Any], Structure, Any]:
        """The leaves of the result as Tensors, its structure, and what is auxiliary."""
        positional, keywords = call_arguments(self.signature, self.arguments)
        result = map_tree(read_leaf, self.f(*positional, **keywords))
        auxiliary = None
        if has_aux:
            result, auxiliary = result
        leaves, structure = flatten(result)
        return [strong(leaf, self.recording) for leaf in leaves], structure, auxiliary

    def rebuilt(self, found: Sequence[Any], single: bool) -> Any:
        """One value per source in the structure of the chosen arguments."""
        remaining = iter(found)
        parts = [
            unflatten(structure, [next(remaining) for _ in range(structure.size)])
            for structure in self.structures
        ]
        return parts[0] if single else tuple(parts)


def _next(count: list[int]) -> int:
    count[0] += 1
    return count[0] - 1


def running(transform: str) -> Recording:
    """The recording that runs: transforms are called while one does."""
    recording = current_recording()
    if recording is None:
        raise fail("no-recording", places.here(), call=f"tj.{transform}")
    return recording


def request_of(argnums: Any, argnames: Any) -> Request:
    """Which arguments are meant."""
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if names and argnums == 0:
        numbers = ()
    single = len(numbers) + len(names) == 1 and not (
        (isinstance(argnums, tuple) and numbers) or (isinstance(argnames, tuple) and names)
    )
    return Request("grad", numbers, names, single)


_derived: weakref.WeakKeyDictionary[Any, dict[Any, Function]] = weakref.WeakKeyDictionary()


def kept_for(f: Any, key: Any, make: Callable[[], Function]) -> Function:
    """The Function derived from `f` that `key` names, made once as long as `f` lives."""
    try:
        known = _derived.setdefault(f, {})
    except TypeError:  # no weak reference, or not hashable
        return make()
    if key not in known:
        known[key] = make()
    return known[key]


def named(f: Any, python: Callable[..., Any]) -> Callable[..., Any]:
    """`python` called as `f`, with parameters of its own."""
    name = getattr(f, "__name__", type(f).__name__)
    python.__name__ = python.__qualname__ = name
    python.__module__ = getattr(f, "__module__", python.__module__)
    return python
