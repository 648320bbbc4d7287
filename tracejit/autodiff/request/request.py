"""Requests: the value of a function, or its value and gradients with respect to some arguments.

A Request says which. At the top of a recording the cotangent of the result is an input of the
graph; inside a recorded function it is one.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tracejit.autodiff.forward.tangent import tangents
from tracejit.autodiff.reverse.adjoint import conjugate, gradients
from tracejit.autodiff.reverse.fitting import like as like
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, type_of
from tracejit.support.errors import fail
from tracejit.trace.recording.record import Recording
from tracejit.trace.recording.recorded_matrix import RecordedMatrix
from tracejit.trace.recording.recorder import Recorder
from tracejit.trace.recording.variable import read_leaf
from tracejit.trace.source import places
from tracejit.trace.structure.trees import (
    LEAF,
    Structure,
    flatten,
    is_constant,
    keep,
    map_tree,
    paths,
    tuple_of,
    unflatten,
)
from tracejit.trace.structure.wrapped import is_labelled, labelled, noun_of
from tracejit.trace.tensor.tensor import TENSORS, Tensor

FLOAT = np.dtype("f8")
FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc, np.dtype)


class Request(NamedTuple):
    """The transform to apply to a function; `transform` is its public name, "" for the value alone.

    A `Function` answers "value_and_grad" with both, any other with the gradients. A `transposed`
    one is as autograd has it: the gradient with respect to a complex z is df/d(Re z) - i df/d(Im
    z), and a result of one element is a number, whatever its shape."""

    transform: str = ""
    argnums: tuple[int, ...] = ()
    argnames: tuple[str, ...] = ()
    single: bool = True
    has_aux: bool = False
    transposed: bool = False


def request_of(transform: str, argnums: Any, argnames: Any, has_aux: bool = False) -> Request:
    """The request for the arguments that a user has chosen."""
    several = isinstance(argnums, (tuple, list)), isinstance(argnames, (tuple, list))
    names = () if argnames is None else tuple(argnames) if several[1] else (argnames,)
    try:
        numbers = tuple(map(operator.index, argnums if several[0] else (argnums,)))
    except TypeError:
        _refuse_choice(transform, "argnums", argnums, "0 for the first argument, (0, 2) for two")
    if not all(isinstance(name, str) for name in names):
        _refuse_choice(transform, "argnames", argnames, '"w", or ("w", "b") for two')
    if names and not several[0] and numbers == (0,):
        numbers = ()
    single = len(numbers) + len(names) == 1 and not (
        (several[0] and numbers) or (several[1] and names)
    )
    return Request(transform, numbers, names, single, has_aux)


def _refuse_choice(transform: str, option: str, given: Any, example: str) -> NoReturn:
    other = {"argnums": "argnames", "argnames": "argnums"}[option]
    kind = str if option == "argnums" else int
    chosen = given if isinstance(given, (tuple, list)) else (given,)
    is_other = all(isinstance(one, kind) for one in chosen)
    words = {
        "option": option,
        "given": given,
        "words": "the position of an argument" if kind is str else "the name of an argument",
        "fix": f"write {other}={given!r}." if is_other else f"write {option}={example}.",
    }
    raise fail("argument-choice", places.here(), transform=f"tj.{transform}", **words)


class Answer(NamedTuple):
    """Tensors (or other objects) of the value and of the gradients, with their structures."""

    value: list[Any]
    value_structure: Structure
    gradients: list[Tensor]
    gradient_structure: Structure
    sources: list[Tensor]
    seed: Tensor | None


def selected(
    request: Request, signature: inspect.Signature, arguments: dict[str, Any], function: str
) -> list[tuple[str, Any]]:
    """The arguments to differentiate, each as (name, what it is)."""
    positions: list[tuple[str, Any]] = []
    for name, parameter in signature.parameters.items():
        if name not in arguments:
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            positions += [(f"{name}[{k}]", value) for k, value in enumerate(arguments[name])]
        elif parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            positions.append((name, arguments[name]))
    named = dict(arguments)
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    try:
        found = [positions[number] for number in request.argnums]
        return found + [(name, named[name]) for name in request.argnames]
    except (IndexError, KeyError) as error:
        choices = [f"{number} ({name})" for number, (name, _) in enumerate(positions)]
        missing = error.args[0] if isinstance(error, KeyError) else max(map(abs, request.argnums))
        raise fail(
            "no-such-argument",
            None,
            transform=f"tj.{request.transform}",
            function=function,
            name=missing,
            choices=", ".join(choices),
        ) from None


def floating(
    request: Request, signature: inspect.Signature, arguments: dict[str, Any], function: str
) -> dict[str, Any]:
    """The arguments as a request takes them: a transposed one differentiates by arrays of integers
    as by floating ones."""
    if not request.transposed:
        return arguments
    flat = {name: flatten(value) for name, value in arguments.items()}
    leaves = [leaf for found, _ in flat.values() for leaf in found]
    counted = iter(range(len(leaves)))
    numbered = {
        name: unflatten(structure, [next(counted) for _ in found])
        for name, (found, structure) in flat.items()
    }
    chosen = selected(request, signature, numbered, function)
    wanted = {number for _, value in chosen for number in flatten(value)[0]}
    if not any(is_integers(leaves[number]) for number in wanted):
        return arguments
    cast = [
        leaf.astype(float) if number in wanted and is_integers(leaf) else leaf
        for number, leaf in enumerate(leaves)
    ]
    remaining = iter(cast)
    return {
        name: unflatten(structure, [next(remaining) for _ in found])
        for name, (found, structure) in flat.items()
    }


def is_integers(leaf: Any) -> bool:
    """Return whether a leaf is an array of integers."""
    known = leaf.type if type(leaf) in TENSORS else type_of(leaf)
    return known is not None and known.form == "array" and known.dtype.kind in "iu"


def derived(
    result: Any,
    sources: list[Tensor],
    structures: list[Structure],
    request: Request,
    name: str,
    recorder: Recorder,
    top: bool = False,
    nodes: Sequence[Node] | None = None,
) -> Answer:
    """The answer for a function `name` that has given `result`; `nodes` as `gradients` takes
    them."""
    result, auxiliary = split_auxiliary(map_tree(read_leaf, result), request, name)
    value = _number(result, request, name, recorder)
    target = value.reshape(()) if value.shape else value
    seed = _seed(target.type, recorder, top)
    found = gradients([target], sources, [seed], nodes)
    answers = [like(g, x) for g, x in zip(found, sources, strict=True)]
    if request.transposed:
        answers = [conjugate(g) for g in answers]
    leaves, structure = flatten((value, auxiliary)) if request.has_aux else ([value], LEAF)
    whole = structures[0] if request.single else tuple_of(structures)
    return Answer(leaves, structure, answers, whole, sources, seed if top else None)


def sources_of(
    request: Request, signature: inspect.Signature, arguments: dict[str, Any], function: str
) -> tuple[list[Tensor], list[Structure]]:
    """The Tensors to differentiate by, as they are before any write, and the structures of the
    chosen arguments. Raises as `varying` does."""
    sources: list[Tensor] = []
    structures = []
    for name, value in selected(request, signature, arguments, function):
        leaves, structure = flatten(value)
        varies = varying(leaves, structure, name, request, function)
        structures.append(keep(structure, leaves, varies))
        chosen = itertools.compress(leaves, varies)
        sources += [source_of(leaf) for leaf in chosen]
    return sources, structures


def source_of(leaf: Tensor) -> Tensor:
    """The Tensor to differentiate by for an argument: of a Python float, the scalar that it stands
    for."""
    value = leaf._value
    if value.type.form == "weak" and value.node is not None:
        value = value.node.operands[0]
    return Tensor(value, leaf._recording)


def varying(
    leaves: Sequence[Any], structure: Structure, name: str, request: Request, function: str
) -> list[bool]:
    """For each leaf of an argument, whether it is differentiated by: a floating Tensor. The others
    stay as they are.

    Raises GradientError if there is none among them, or one might hold floating numbers itself,
    and ArgumentError for what has labels.
    """
    varies = [type(leaf) in TENSORS and leaf.type.is_inexact for leaf in leaves]
    for number, leaf in enumerate(leaves):
        if not varies[number] and not (any(varies) and stays(leaf)):
            place = [*paths(structure, name, repr)][number]
            _refuse(leaf, place, request, function)
    return varies


def stays(leaf: Any) -> bool:
    """Return whether a leaf surely holds no floating number, and no array of such."""
    known = leaf.type if type(leaf) in TENSORS else type_of(leaf)
    return is_option(leaf) if known is None else not known.is_inexact


def is_option(leaf: Any) -> bool:
    """Return whether a leaf chooses what is computed: None, a string, an enum, a function, ..."""
    is_wrapper = "__wrapped__" in getattr(leaf, "__dict__", ())
    return is_wrapper or isinstance(leaf, FUNCTIONS) or is_constant(leaf)


def _refuse(leaf: Any, name: str, request: Request, function: str) -> NoReturn:
    """Raise GradientError for an argument that has no derivative."""
    if is_labelled(type(leaf)):
        raise labelled(leaf, f"argument {name} of {function}", name)
    kinds = {"b": "booleans", "i": "integers", "u": "integers"}
    what, letter = noun_of(leaf), ""
    fix = "pass its arrays, in a dict, a list or a dataclass"
    if isinstance(leaf, (str, NoneType, *FUNCTIONS)):
        fix = "pass it in another argument"
    elif type(leaf) is RecordedMatrix:
        what, fix = "a sparse matrix", "pass it as a csr_array, csc_array or coo_array of floats"
    elif hasattr(leaf, "__iter__") and not hasattr(leaf, "__dict__"):
        fix = f"pass np.array([*{name}], dtype=float)"
    known = leaf.type if type(leaf) in TENSORS else type_of(leaf)
    if known is not None and type(leaf) is not bool:
        is_number, letter = known.form == "weak", known.dtype.kind
        what = f"the int {leaf}" if is_number else repr(known)
        fix = "pass " + (f"float({name})" if is_number else f"{name}.astype(float)")
        fix += "" if name.isidentifier() else " or pass it in another argument"
    raise fail(
        "integer-input",
        None,
        transform=f"tj.{request.transform}",
        function=function,
        name=name,
        type=what,
        kind=kinds.get(letter, f"objects such as {what}"),
        fix=fix,
    )


def split_auxiliary(result: Any, request: Request, function: str) -> tuple[Any, Any]:
    """The value and what is auxiliary."""
    if not request.has_aux:
        return result, None
    if type(result) is tuple and len(result) == 2:
        return result
    raise fail(
        "not-scalar",
        None,
        transform=f"tj.{request.transform}(has_aux=True): tj.{request.transform}",
        function=function,
        type=f"{type(result).__name__} instead of (value, auxiliary)",
        fix="return a pair: the number, and the auxiliary value.",
    )


_NOT_REAL = (
    "only a real number has one direction of steepest ascent",
    "return a real number: np.real(...), or np.abs(...).",
)
_NOT_FLOATING = (
    "an integer or a truth value changes in jumps, so its slope is zero or does not exist",
    "return a number that varies smoothly, such as a mean or a sum of floats.",
)


def _number(result: Any, request: Request, function: str, recording: Recorder) -> Tensor:
    """The result as a Tensor, if it is one real floating number."""
    structure = flatten(result)[1]
    words = {"transform": f"tj.{request.transform}", "function": function}
    if structure is not LEAF or (type(result) not in TENSORS and type_of(result) is None):
        raise fail("not-scalar", None, type=_kind(result), fix=_number_of(result), **words)
    result = recording.strong(result)
    if result.shape != () and not (request.transposed and result.size == 1):
        fix = "reduce it (np.sum, np.mean), or use tj.jacobian or tj.vjp for functions of arrays."
        raise fail("not-scalar", None, type=repr(result.type), fix=fix, **words)
    if result.dtype.kind != "f":
        why, fix = _NOT_REAL if result.dtype.kind == "c" else _NOT_FLOATING
        raise fail("not-real", None, type=repr(result.type), why=why, fix=fix, **words)
    number: Tensor = result
    return number


def _kind(result: Any) -> str:
    return "None" if result is None else type(result).__name__


def _number_of(result: Any) -> str:
    """Advice on how to reduce a result to one number."""
    if result is None:
        return "return the number: `return loss`."
    if type(result) is tuple:
        return "return only the number, or (number, anything) with has_aux=True."
    return "return only the number."


def _seed(type: ArrayType, recording: Recorder, top: bool) -> Tensor:
    if top:
        assert isinstance(recording, Recording)
        seed = recording.argument("out_bar", type)
        recording.decisions.seeds.add(seed._value)
        return seed
    return Tensor(recording.lift(type.dtype.type(1.0)), recording)


def cotangents_of(
    ys: Sequence[Any],
    xs: Sequence[Any],
    seeds: Sequence[Any],
    nodes: Sequence[Node] | None = None,
) -> list[Any]:
    """The cotangents of the xs, zeros where unconnected; results without a seed have no part.
    `nodes` are as `gradients` takes them."""
    pairs = [(y, seed) for y, seed in zip(ys, seeds, strict=True) if seed is not None]
    found = gradients([y for y, _ in pairs], xs, [seed for _, seed in pairs], nodes)
    return [like(g, x) for g, x in zip(found, xs, strict=True)]


def tangents_of(
    ys: Sequence[Any],
    xs: Sequence[Any],
    dots: Sequence[Any],
    nodes: Sequence[Node] | None = None,
) -> list[Any]:
    """The tangents of the ys, zeros where they do not move; `nodes` are as `tangents` takes
    them."""
    found = tangents(ys, xs, dots, nodes)
    return [like(dot, y, "_dot") for dot, y in zip(found, ys, strict=True)]


def ones_like(tensor: Tensor) -> Any:
    """Ones of the type of `tensor`: the cotangent of what is differentiated."""
    one = Tensor(tensor._recording.graph.constant(tensor.dtype.type(1)), tensor._recording)
    if not tensor.shape:
        return like(one, tensor)
    return np.broadcast_to(one, tensor.shape)


def rebuild(answer: Answer, request: Request) -> Any:
    """The answer of a transform inside a recorded function, in the user's structure."""
    value = unflatten(answer.value_structure, answer.value)
    if not request.transform:
        return value
    found = unflatten(answer.gradient_structure, answer.gradients)
    if request.transform == "value_and_grad":
        return value, found
    return (found, value[1]) if request.has_aux else found
