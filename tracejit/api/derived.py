"""Shared parts of the transforms: the differentiated arguments as Tensors of their own, and the
Functions that transforms return."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType, NoneType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from tracejit.autodiff.request.request import (
    Request,
    floating,
    is_option,
    selected,
    source_of,
    split_auxiliary,
    varying,
)
from tracejit.ir.graph import Node
from tracejit.ir.types import type_of
from tracejit.specialise.callee import Form
from tracejit.specialise.function import Function
from tracejit.support.errors import fail
from tracejit.support.memo import Memo
from tracejit.support.options import Options
from tracejit.trace.arguments.signature import (
    bind_arguments,
    call_arguments,
    leaf_names,
    signature_of,
)
from tracejit.trace.recording.active import OF_TRANSFORM, called
from tracejit.trace.recording.eager import EAGER
from tracejit.trace.recording.record import Recording, current_recording
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.unwritten import settle_unwritten
from tracejit.trace.recording.variable import read_argument
from tracejit.trace.rerolling.rerolling import reroll
from tracejit.trace.source import places
from tracejit.trace.structure.trees import (
    Structure,
    flatten,
    keep,
    labels,
    leaves_like,
    map_tree,
    tuple_of,
    unflatten,
)
from tracejit.trace.tensor.tensor import TENSORS

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
KEPT = 64


def callable_of(transform: str, f: Any) -> Any:
    """The callable to call while recording: of a compiled function the function itself."""
    if not callable(f):
        kind = type(f).__name__
        raise fail("not-callable", places.here(), decorator=f"tj.{transform}", kind=kind)
    return f.python if isinstance(f, Function) and not f.request.transform else f


def options_of(f: Any) -> Options:
    """The options of a compiled function; a plain one has the usual ones."""
    return f.options if isinstance(f, Function) else Options()


def with_options(f: Function[P, R], **options: Any) -> Function[P, R]:
    """The same function with these options."""
    return Function(f.python, f.request, f.options._replace(**options), f.form)


def dynamic_options_of(f: Any) -> Options:
    """The options of a compiled function without what they say of its parameters."""
    return options_of(f)._replace(static_argnums=(), static_argnames=(), input_signature=None)


def recorded_as(
    f: Callable[P, Any], python: Callable[..., R], form: Form = Form.TRANSFORM
) -> Function[P, R]:
    """The Function that records `python`, the body of a transform, and looks like `f`."""
    return Function(_looking_like(f, python), options=options_of(f), form=form)


def derived_from(f: Any, python: Callable[..., Any], names: Sequence[str]) -> Function[..., Any]:
    """The Function that records `python`, which calls `f` and takes arguments of these names."""
    told: list[str] = []
    for name in names:
        told.append(name + "_" * told.count(name))
    made: Any = _looking_like(f, python)
    only = inspect.Parameter.POSITIONAL_ONLY
    made.__signature__ = inspect.Signature([inspect.Parameter(name, only) for name in told])
    options = dynamic_options_of(f)
    return Function(made, options=options, form=Form.TRANSFORM, is_held=False)


def parameters_of(f: Any, count: int) -> list[str]:
    """The names of the first `count` parameters of `f`."""
    names: list[str] = []
    for name, parameter in signature_of(f).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{k}" for k in range(count - len(names))]
        elif parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            names.append(name)
    names += [f"argument_{k}" for k in range(len(names), count)]
    return names[:count]


def name_results(ys: Sequence[Any], structure: Structure) -> None:
    """Call the results in a structure, where they have no name, as if nothing else were
    answered."""
    for y, name in zip(ys, leaf_names(list(labels(structure, "out")), whole=True), strict=True):
        y._value.name_result(name)


def _looking_like(f: Any, python: Callable[..., Any]) -> Callable[..., Any]:
    made = functools.update_wrapper(python, f, updated=())
    made.__name__ = getattr(f, "__name__", type(f).__name__)
    vars(made)[OF_TRANSFORM] = "body"
    return made


class Sources:
    """The chosen arguments of a call, as Tensors that nothing else is treated as."""

    def __init__(self, f: Any, request: Request, args: Any, kwargs: dict[str, Any]) -> None:
        """The call f(*args, **kwargs) while a function is recorded, or one that cannot be is made
        eagerly."""
        self.recording: Recorder = EAGER
        if current_recording() is not None or not EAGER.follows:
            self.recording = running(request.transform)
        self.nodes: Sequence[Node] | None = None
        self.signature = signature_of(f)
        self.name = getattr(f, "__name__", type(f).__name__)
        self.f = f
        self.request = request
        arguments = bind_arguments(self.signature, self.name, args, kwargs)
        arguments = {name: map_tree(read_argument, value) for name, value in arguments.items()}
        arguments = floating(request, self.signature, arguments, self.name)
        flat = {name: flatten(value) for name, value in arguments.items()}
        leaves = [leaf for leaves, _ in flat.values() for leaf in leaves]
        labels = [name for name, (leaves, _) in flat.items() for _ in leaves]
        counted = iter(range(len(leaves)))
        numbered = {
            name: unflatten(structure, [next(counted) for _ in old])
            for name, (old, structure) in flat.items()
        }
        chosen = selected(request, self.signature, numbered, self.name)
        structures = []
        self.tensors: list[Any] = []
        self.varies: list[bool] = []
        for name, value in chosen:
            numbers, structure = flatten(value)
            for number in numbers:
                leaves[number] = self.recording.source(leaves[number], labels[number])
            found = [leaves[number] for number in numbers]
            varies = varying(found, structure, name, request, self.name)
            self.varies += varies
            structures.append(keep(structure, found, varies))
            chosen_leaves = itertools.compress(found, varies)
            self.tensors += map(source_of, chosen_leaves)
        self.structure = structures[0] if request.single else tuple_of(structures)
        remaining = iter(leaves)
        self.arguments = {
            name: unflatten(structure, [next(remaining) for _ in old])
            for name, (old, structure) in flat.items()
        }

    def call(self) -> tuple[list[Any], Structure, Any]:
        """The leaves of the result as Tensors, its structure, and what is auxiliary."""
        positional, keywords = call_arguments(self.signature, self.arguments)
        if self.recording is not EAGER:
            start = len(self.recording.graph.nodes)
            answer = called(self.f)(*positional, **keywords)
            assert isinstance(self.recording, Recording)
            found = [one for one in flatten(answer)[0] if type(one) in TENSORS]
            if self.recording.is_routed:
                settle_unwritten(self.recording, start, [one._value for one in found])
            reroll(self.recording, start, found)
        else:
            with EAGER.recording_from(self.tensors) as self.nodes:
                answer = called(self.f)(*positional, **keywords)
        answer = map_tree(read_argument, answer)
        result, auxiliary = split_auxiliary(answer, self.request, self.name)
        leaves, structure = flatten(result)
        if self.request.transform in ("hvp", "hessian"):  # `f` is the gradient
            structure = self.structure
            if self.f.request.single and not self.request.single:
                structure = structure.children[0]
            leaves = leaves_like(structure, result) or []
        else:
            varies = [type_of(leaf) is not None or not is_option(leaf) for leaf in leaves]
            structure = keep(structure, leaves, varies)
            leaves = [*itertools.compress(leaves, varies)]
        return [self.recording.strong(leaf) for leaf in leaves], structure, auxiliary

    def rebuilt(self, found: Sequence[Any]) -> Any:
        """One value per source in the structure of the chosen arguments."""
        return unflatten(self.structure, found)


def running(transform: str) -> Recording:
    """The recording that runs: transforms are called while one does."""
    recording = current_recording()
    if recording is None:
        raise fail("no-recording", places.here(), call=f"tj.{transform}")
    return recording


_kept: dict[Any, Any] = {}
_asked: WeakKeyDictionary[Any, set[Any]] = WeakKeyDictionary()


def remembered(transform: F) -> F:
    """`transform`, which answers one Function for the same Python function and options from the
    second call on: `tj.grad(f)(x)` in a loop records `f` twice, not at each step.

    The Python function holds what is kept, and both go together. The first call keeps nothing: a
    lambda in the loop is another function at each step. Methods, partials and other callables are
    not remembered: they hold nothing, and what is kept for one elsewhere would keep it alive.
    """

    @functools.wraps(transform)
    def called(*args: Any, **kwargs: Any) -> Any:
        f = args[0] if args else None
        given = (*args[1:], *kwargs.values())
        if not isinstance(f, (FunctionType, Function)) or not all(map(_is_spelled, given)):
            return transform(*args, **kwargs)
        key = transform, repr(args[1:]), repr(sorted(kwargs.items()))
        asked = _asked.setdefault(f, set())
        if key not in asked:
            asked.add(key)
            return transform(*args, **kwargs)
        return memoised_for(f, key, lambda: transform(*args, **kwargs))

    vars(called)[OF_TRANSFORM] = "transform"
    return called  # type: ignore[return-value]


def typed_as(other: F) -> Callable[[Callable[..., Any]], F]:
    """Give a transform, for type checkers, the signatures of `other`."""
    return lambda transform: transform  # type: ignore[return-value]


def _is_spelled(option: Any) -> bool:
    """Return whether the text of an option says all of it, and it cannot change."""
    if type(option) is tuple:
        return all(map(_is_spelled, option))
    return type(option) in (int, str, bool, NoneType)


def memoised_for(f: Any, key: Any, make: Callable[[], R]) -> R:
    """The object derived from `f` under `key`: made once while a Python function lives; for other
    callables the last few are kept."""
    if isinstance(f, (FunctionType, Function)):
        kept: R = Memo.of(f).get(key, make)
        return kept
    of_method = isinstance(f, MethodType)
    name = (id(f.__self__), f.__func__, key) if of_method else (id(f), key)
    if name not in _kept:
        for oldest in list(_kept)[: max(0, len(_kept) - KEPT + 1)]:
            _kept.pop(oldest, None)
    made = _kept.get(name)
    found: R = _kept.setdefault(name, make()) if made is None else made
    return found  # which holds f, so that no other takes its place
