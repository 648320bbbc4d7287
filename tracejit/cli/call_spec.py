"""Arguments described on the command line: `--spec "w=f8[3], x=f8[10,3], rate=0.1"`.

A description is what stands between the parentheses of a call, with types for arrays: `f8[10,3]` or
`float64[10,3]` is an array, `f8[n,3]`, `f8[:,3]` and `f8[None,3]` have one dimension of any size,
`f8[]` is a 0-d array, `f8` a NumPy scalar, `float`, `int` and `bool` a Python number, `Generator` a
random generator of NumPy's. Containers are written as in Python, {"w": f8[3], "b": f8}; numbers and
strings stand for themselves.
"""

from __future__ import annotations

import argparse
import ast
import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.cli.output import Refusal
from tracejit.specialise.function import Function
from tracejit.support.options import nearest
from tracejit.trace.arguments.signature import EXAMPLE, TensorSpec, signature_of
from tracejit.trace.structure.trees import flatten, map_tree

SPEC_HELP = 'describe the arguments, as in a call: "w=f8[3], x=f8[10,3]"'
WRT_HELP = "differentiate these arguments: names or numbers (0)"
OBJECTS: dict[str, Callable[[], Any]] = {
    "float": lambda: 1.0,
    "int": lambda: 1,
    "bool": lambda: True,
    "complex": lambda: 1j,
    "Generator": lambda: np.random.default_rng(0),
}
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "c16", "c8", "b1"]


LONGEST = 10_000
"""The characters of a description, at most."""
SHOWN = 200
MOST_AXES = 64
MOST_BYTES = 2**40
MOST_DRAWN = 2**32
DOUBLE = 8


class Given(NamedTuple):
    """Arguments of a call, with a TensorSpec for each array."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def add_spec(parser: argparse.ArgumentParser) -> None:
    """Let a command take descriptions of arguments."""
    parser.add_argument("--spec", action="append", metavar="ARGS", help=SPEC_HELP)


def parsed(texts: Sequence[str]) -> Given:
    """The arguments that one or several descriptions give.

    >>> parsed(["w=f8[3]", "x=f4[n,3], rate=0.1"]).kwargs["x"]
    TensorSpec(shape=(None, 3), dtype=float32)
    """
    text = ", ".join(part.strip().rstrip(",") for part in texts)
    written = re.sub(r"(\w)\[\s*\]", r"\1[()]", text)
    try:
        if len(written) > LONGEST:
            raise MemoryError
        call = ast.parse(f"f({written})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refusal(_explained(text, "it cannot be read as the arguments of a call.")) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise Refusal(_explained(text, "it cannot be read as the arguments of a call."))
    try:
        args = tuple(map(_value, call.args))
        given = {each.arg: _value(each.value) for each in call.keywords if each.arg}
    except ValueError as error:
        raise Refusal(_explained(text, str(error))) from None
    if len(given) < len(call.keywords):
        raise Refusal(_explained(text, "it has an argument without a name, or a name twice."))
    return Given(args, given)


def _explained(text: str, problem: str) -> str:
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return f'--spec "{shown}": {problem} Write it as in a call: --spec "w=f8[3], x=f8[10,3]".'


def _value(node: ast.expr, depth: int = 0) -> Any:
    """The argument that an expression describes, inside of so many others."""
    if depth > MOST_AXES:
        raise ValueError("it is nested too deeply.")
    inner = functools.partial(_value, depth=depth + 1)
    match node:
        case ast.Name(id=name) if name in OBJECTS:
            return OBJECTS[name]()
        case ast.Name(id=name):
            return _dtype(name).type(1)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Tuple(elts=sizes)):
            return _spec(name, sizes)
        case ast.Subscript(value=ast.Name(id=name), slice=size):
            return _spec(name, [size])
        case ast.Dict(keys=keys, values=values) if None not in keys:
            names = [_key(key) for key in keys if key is not None]
            return dict(zip(names, map(inner, values), strict=True))
        case ast.List(elts=parts):
            return list(map(inner, parts))
        case ast.Tuple(elts=parts):
            return tuple(map(inner, parts))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise ValueError(f"{ast.unparse(node)} does not describe an argument.") from None


def _spec(name: str, nodes: Sequence[ast.expr]) -> TensorSpec:
    """The array that a type and sizes describe."""
    sizes, dtype = list(map(_size, nodes)), _dtype(name)
    if len(sizes) > MOST_AXES:
        raise ValueError(f"an array has at most {MOST_AXES} axes.")
    if math.prod(1 if size is None else size for size in sizes) * dtype.itemsize > MOST_BYTES:
        raise ValueError(f"{name}{sizes} is larger than any array in memory.")
    return TensorSpec(sizes, dtype)


def _key(node: ast.expr) -> Any:
    """The key of a dict that an expression stands for."""
    try:
        key = ast.literal_eval(node)
        hash(key)
        return key
    except (ValueError, TypeError):
        text = ast.unparse(node)
        raise ValueError(f"{text} is not a key of a dict: write {text!r}, in quotes.") from None


def _dtype(name: str) -> np.dtype[Any]:
    try:
        found = np.dtype(name)
    except (TypeError, DeprecationWarning):
        raise ValueError(f"{name} is not a NumPy dtype. {nearest(name, DTYPES)}") from None
    if found.kind not in "biufc":
        raise ValueError(f"{name} is not a dtype of numbers. {nearest(name, DTYPES)}")
    return found


def _size(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as size) if type(size) is int:
            return size
        case ast.Constant(value=None) | ast.Name() | ast.Slice(lower=None, upper=None, step=None):
            return None
    raise ValueError(f"{ast.unparse(node)} is not a size.")


def with_arrays(given: Given) -> Given:
    """The arguments with a random array for each TensorSpec."""
    rng = np.random.default_rng(0)
    specs = [leaf.type for leaf in flatten(given)[0] if type(leaf) is TensorSpec]
    if sum(math.prod(one.shape) for one in specs) * DOUBLE > MOST_DRAWN:
        raise MemoryError

    def drawn(leaf: Any) -> Any:
        if type(leaf) is not TensorSpec:
            return leaf
        shape = [EXAMPLE if size is None else size for size in leaf.shape]
        return np.asarray(rng.standard_normal(shape)).astype(leaf.dtype)

    args, kwargs = map_tree(drawn, given)
    return Given(args, kwargs)


def given_for(f: Function[..., Any], texts: Sequence[str] | None, command: str) -> Given:
    """The arguments for `f`: those of `--spec`, or of its input_signature, or none where it needs
    none. Else a refusal that shows how to write `command`."""
    if texts:
        given = parsed(texts)
        try:
            signature_of(f).bind(*given.args, **given.kwargs)
        except TypeError as error:
            raise Refusal(f"{f.name}: {error}, by its --spec. {_shown(f, command)}") from None
        return given
    if f.options.input_signature is not None:
        return Given(tuple(f.options.input_signature), {})
    if not _needed(f):
        return Given((), {})
    raise Refusal(
        f"{f.name} has arguments, and their shapes are not known. {_shown(f, command)}\n"
        "with the shapes that you call it with. f8[10,3] is a float64 array of that shape, f8[n,3] "
        'has any number of rows, f8 is a number, {"w": f8[3]} a dict.'
    )


def _needed(f: Function[..., Any]) -> list[str]:
    """The parameters without a default; `*args` as one of any name."""
    parameters = signature_of(f).parameters.values()
    return [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    ]


def _shown(f: Function[..., Any], command: str) -> str:
    """A command with a description of the arguments of `f`."""
    if _needed(f)[:1] == ["self"]:
        return "It is a method: name it through an object of the class, as in MODULE:OBJECT.METHOD."
    words = ", ".join(f"{name}=f8[10,3]" for name in _needed(f)) or "x=f8[10,3]"
    return f'Describe them:\n  tracejit {command} --spec "{words}"'


def chosen(text: str | None) -> dict[str, Any]:
    """The arguments to differentiate, as transforms take them: numbers or names."""
    words = [] if text is None else [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        return {}
    if all(word.isdecimal() for word in words):
        numbers = tuple(map(int, words))
        return {"argnums": numbers[0] if len(numbers) == 1 else numbers}
    return {"argnums": (), "argnames": words[0] if len(words) == 1 else tuple(words)}
