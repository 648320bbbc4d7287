"""The generated entry of a kernel: checks that a call fits, runs the kernel, builds the result.

The entry has the user's own parameters, so Python binds positions, keywords and defaults. It
answers MISS when the call is not the kernel's: another dtype, shape, structure, static value or
number that the recording read. Checks are written inline because they are the whole cost of a
cached call.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.dims import size_text, symbol_of
from tracejit.ir.sizes import Sizes
from tracejit.ir.types import PYTHON_TYPES, ArrayType
from tracejit.runtime.identity import Identity, NotApart
from tracejit.trace.capture.exactness import has_looser_equality, is_exactly
from tracejit.trace.draws import is_generator
from tracejit.trace.mutable_attributes import Attribute
from tracejit.trace.signature import Call, Leaf, has_type, is_alike
from tracejit.trace.trees import LEAF, Structure, conditions, construction

ENTRY = "<tracejit entry"
MISS: Any = type("Miss", (), {"__repr__": lambda self: "MISS"})()


class Output(NamedTuple):
    """How a result is built: its structure, and per leaf ("result", indices into what the kernel
    returns) or ("fixed", object).
    """

    structure: Structure
    leaves: Sequence[tuple[str, Any]]


class Answers(NamedTuple):
    """The answer of a call on one branch: the results, and what takes place after it (`commits`,
    each with values at its `places` in what the kernel returns)."""

    outputs: Sequence[Output]
    commits: Sequence[Any] = ()


class Entry(NamedTuple):
    """What the entry of one kernel checks, calls and returns.

    `parameters` are the leaves handed to the kernel's function `target`, with the leaf's value
    converted to a float64 scalar where its name is in `differentiated`. `fixed` maps leaves by name
    to the value they must have; those in `in_order` must lie in C order in memory. `hidden` are
    further arguments of the kernel, each an object and the path from it to the array; `captured`
    are all arrays from outside that Python may read. `identity` says which leaves are one object,
    where the function asks. `guard` decides whether captured names still hold, `sizes` know the
    free dimensions in the types of leaves. `answers` are those of every trace, by its number, which
    stands at `which` in what the kernel returns; of all traces, where they are the same. `traces`
    are those that the kernel has joined, or more by now, `decisions` the places where it parts
    them. `unwatched` says whether no tape has to see what Variables it reads.
    """

    signature: inspect.Signature
    call: Call
    target: Callable[..., Any]
    fixed: dict[str, Any]
    baked: frozenset[str]
    differentiated: frozenset[str]
    hidden: Sequence[tuple[Any, str]]
    guard: Callable[[], bool] | None
    answers: Sequence[Answers]
    which: Sequence[int] = ()
    traces: Any = None
    decisions: Sequence[Any] = ()
    in_order: frozenset[str] = frozenset()
    identity: Identity | None = None
    captured: Sequence[np.ndarray] = ()
    unwatched: Callable[[], bool] | None = None
    sizes: Sizes | None = None

    def fits(self, call: Call) -> bool:
        """Tell if a call like `call`, some of whose arrays may be specs, would be taken now."""
        return self.is_for(call) and (self.guard is None or self.guard())

    def is_for(self, call: Call) -> bool:
        """Tell if it would be, if all that is read besides is as it was."""
        if not is_alike(self.call, call):
            return False
        if self.identity is not None and not self.identity.is_of(call):
            return False
        pairs = zip(self.call.leaves, call.leaves, strict=True)
        numbers: dict[str, int] = {}
        if not all(self._takes(*pair, numbers) for pair in pairs):
            return False
        return self.sizes is None or not numbers or self.sizes.hold(numbers)

    def _takes(self, mine: Leaf, other: Leaf, numbers: dict[str, int]) -> bool:
        if not has_type(other, mine.type, numbers):
            return False
        if mine.name in self.in_order and not lies_in_order(other.value):
            return False
        if mine.role == "static":
            return is_same(mine.value, other.value)
        return mine.name not in self.fixed or repr(self.fixed[mine.name]) == repr(other.value)


class Space:
    """The globals of a generated entry: objects under names that no parameter of a user's has.

    Every name of the entry's own starts with `prefix`.
    """

    def __init__(self, parameters: Iterable[str] = ()) -> None:
        """Nothing bound yet; `parameters` are the user's."""
        self.names: dict[str, Any] = {}
        self.sizes: set[str] = set()
        self.prefix = "_tj_"
        while any(name.startswith(self.prefix) for name in parameters):
            self.prefix = "_" + self.prefix

    def size_names(self, text: str) -> str:
        """`text` over free dimensions, with the names that these have in the entry."""
        # No leaf has such a name: the first letter is a number.
        return re.sub(r"[A-Za-z]\w*", lambda found: f"{self.prefix}0{found[0]}", text)

    def bind(self, thing: Any) -> str:
        """A name for `thing`; the same thing has one name."""
        for name, known in self.names.items():
            if known is thing:
                return name
        name = f"{self.prefix}{len(self.names)}"
        self.names[name] = thing
        return name


def make_entry(entry: Entry, space: Space, name: str) -> Callable[..., Any]:
    """Compile the entry; `space` holds the objects that the call's paths already name."""
    checks: list[str] = []
    for parameter, structure in entry.call.structures.items():
        checks += conditions(structure, parameter, space.bind)
    spelled: dict[str, str] = {}
    for leaf in entry.call.leaves:
        spelled[leaf.name] = (
            leaf.path
            if leaf.path == leaf.argument and leaf.given is None
            else f"{space.prefix}{leaf.name}"
        )
        checks += _leaf_checks(leaf, spelled[leaf.name], entry.fixed, space)
        if leaf.name in entry.in_order:
            checks.append(f"{spelled[leaf.name]}.flags.c_contiguous")
    if entry.identity is not None:
        checks += entry.identity.checks(spelled, space.bind)
    if entry.sizes is not None:
        checks += [space.size_names(text) for text in entry.sizes.conditions()]
    for condition in (entry.unwatched, entry.guard):
        if condition is not None:
            checks.append(f"{space.bind(condition)}()")
    arguments = []
    for leaf in entry.call.leaves:
        if leaf.name in entry.baked:
            continue
        text = spelled[leaf.name]
        if leaf.role == "generator":
            text = f"{space.bind(numpy_generator)}({text})"
        if leaf.role == "number" and leaf.name in entry.differentiated:
            assert leaf.type is not None
            text = f"{space.bind(leaf.type.dtype.type)}({text})"
        arguments.append(text)
    arguments += [f"{space.bind(holder)}{path}" for holder, path in entry.hidden]
    generators = [space.bind(x) for x, _ in entry.hidden if is_generator(x)]
    generators += [spelled[leaf.name] for leaf in entry.call.leaves if leaf.role == "generator"]
    called = f"{space.bind(entry.target)}({', '.join(arguments)})"
    if generators:
        words = [space.bind(entry.target), f"({', '.join(generators)},)", *arguments]
        called = f"{space.bind(drawing)}({', '.join(words)})"
    commits = [commit for answer in entry.answers for commit in answer.commits]
    names = dict.fromkeys(one.event.argument for one in commits if one.event.argument)
    written = [spelled[name] for name in names]
    if written:
        arrays = [spelled[leaf.name] for leaf in entry.call.leaves if leaf.role == "array"]
        arrays += [space.bind(x) for x, _ in entry.hidden if type(x) is np.ndarray]
        arrays += [f"{space.bind(x)}{path}" for x, path in entry.hidden if type(x) is Attribute]
        arrays += [space.bind(x) for x in entry.captured]
        groups = f"({', '.join(written)},), ({', '.join(arrays)},)"
        checks.append(f"{space.bind(check_apart)}({groups})")
    lines = [f"def {space.prefix}entry({_parameters(entry.signature, space)}):"]
    lines.append(f"    if {' and '.join(checks) or 'True'}:")
    lines += [f"        {line}" for line in _run(called, entry, space, spelled)]
    lines.append(f"    return {space.bind(MISS)}")
    exec(compile("\n".join(lines), f"{ENTRY} of {name}>", "exec"), space.names)
    made: Callable[..., Any] = space.names.pop(f"{space.prefix}entry")
    made.__name__ = made.__qualname__ = name
    return made


def lies_in_order(value: Any) -> bool:
    """Tell if an array lies in C order, as one that is only specified does."""
    return type(value) is not np.ndarray or value.flags.c_contiguous


def _leaf_checks(leaf: Leaf, text: str, fixed: dict[str, Any], space: Space) -> Iterator[str]:
    """Conditions on one leaf, the first of which gives it the name `text`."""
    first = text if text == leaf.path else f"({text} := {leaf.path})"
    if leaf.given is not None:
        yield f"{space.bind(type)}({leaf.path}) is {space.bind(leaf.given)}"
        first = f"({text} := {space.bind(np.asarray)}({leaf.path}))"
    if leaf.role == "generator":
        yield f"{space.bind(type)}({first}) is {space.bind(type(leaf.value))}"
        return
    if leaf.role == "sparse":
        yield f"{space.bind(type)}({first}) is {space.bind(type(leaf.value))}"
        yield f"{text}.shape == {leaf.value.shape!r}"
        yield f"{text}.dtype == {space.bind(leaf.value.dtype)}"
        return
    if leaf.role == "variable":
        yield f"{first} is {space.bind(leaf.value)}"
        return
    if leaf.role == "static":
        yield _fixed_check(first, text, leaf.value, space)
        return
    assert leaf.type is not None
    if leaf.role == "array":
        dtype = space.bind(leaf.type.dtype)
        yield f"{space.bind(type)}({first}) is {space.bind(np.ndarray)}"
        yield from shape_checks(text, leaf.type, space)
        yield f"({text}.dtype is {dtype} or {text}.dtype == {dtype})"
        return
    # Of np.int64 and np.longlong, which are one dtype and two classes, leaf.type knows one.
    kind = type(leaf.value) if leaf.role == "scalar" else PYTHON_TYPES[leaf.type.dtype.kind]
    yield f"{space.bind(type)}({first}) is {space.bind(kind)}"
    if leaf.name in fixed:
        check = _scalar_check if leaf.role == "scalar" else _number_check
        yield check(text, fixed[leaf.name], space)


def shape_checks(text: str, type: ArrayType, space: Space) -> Iterator[str]:
    """Conditions on the shape of the array `text`, which name its free dimensions."""
    if type.sizes is None and type.ndim > 1:
        yield f"{text}.shape == {type.shape!r}"
        return
    if type.sizes is None:  # without the tuple that shape makes
        yield f"{text}.ndim == {type.ndim}"
        yield from [f"{space.bind(len)}({text}) == {size}" for size in type.shape]
        return
    yield f"{text}.ndim == {type.ndim}"
    for axis, size in enumerate(type.shape):
        spelled = space.size_names(size_text(size))
        if symbol_of(size) is None or spelled in space.sizes:
            yield f"{text}.shape[{axis}] == {spelled}"
        else:
            space.sizes.add(spelled)
            yield f"({spelled} := {text}.shape[{axis}]) > {symbol_of(size).least - 1}"


def numpy_generator(generator: Any) -> Any:
    """NumPy's generator behind one of tj.random; NumPy's own itself."""
    return getattr(generator, "numpy_generator", generator)


def drawing(target: Callable[..., Any], generators: Sequence[Any], *args: Any) -> Any:
    """target(*args), which draws from `generators`: as if it had not, where it raises."""
    bits = [generator.bit_generator for generator in generators if hasattr(generator, "normal")]
    states = [one.state for one in bits]
    try:
        return target(*args)
    except BaseException:
        for one, state in zip(bits, states, strict=True):
            one.state = state
        raise


def check_apart(written: Sequence[Any], arrays: Sequence[Any]) -> bool:
    """True; NotApart where a kernel, which works on arrays that do not change, would not answer
    what NumPy does in place."""
    for target in written:
        if not target.flags.writeable:
            raise NotApart("an argument that is written to is read-only")
        if sum(np.may_share_memory(target, other) for other in arrays) > 1:
            raise NotApart("an argument that is written to shares memory with another")
        pairs = zip(target.strides, target.shape, strict=True)
        if target.size and any(step == 0 < size - 1 for step, size in pairs):
            raise NotApart("an argument that is written to repeats elements of its own")
    return True


def _fixed_check(first: str, text: str, value: Any, space: Space) -> str:
    if value is None or isinstance(value, bool):
        return f"{first} is {value!r}"
    held = space.bind(value)
    same = f"{space.bind(type)}({text}) is {space.bind(type(value))} and {text} == {held}"
    if has_looser_equality(value):
        same += f" and {space.bind(is_exactly)}({text}, {held})"
    return f"({first} is {held} or ({same}))"


def is_same(mine: Any, other: Any) -> bool:
    """Tell if a kernel for the static value `mine` is one for `other`."""
    if type(mine) is not type(other) or not mine == other:
        return False
    return not has_looser_equality(mine) or is_exactly(mine, other)


def _number_check(text: str, value: Any, space: Space) -> str:
    """Equality of numbers to the bit: 0.0 is not -0.0, nan is nan."""
    if isinstance(value, complex) or value != value or (value == 0 and isinstance(value, float)):
        return f"{space.bind(repr)}({text}) == {repr(value)!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{text} == {space.bind(value)}"
    return f"{text} == {value!r}"


def _scalar_check(text: str, value: Any, space: Space) -> str:
    """The same of NumPy scalars."""
    if value == value and value != 0 and value.dtype.kind != "c":
        return f"{text} == {space.bind(value)}"
    return f"{text}.tobytes() == {value.tobytes()!r}"


def _run(called: str, entry: Entry, space: Space, spelled: Mapping[str, str]) -> Iterator[str]:
    """The statements that call the kernel and return the user's result."""
    first = entry.answers[0]
    if entry.answers == [Answers([Output(LEAF, [("result", ())])])]:
        yield f"return {called}"
        return
    result = space.size_names("result")
    yield f"{result} = {called}"
    for number, answers in enumerate(entry.answers[1:], 1):
        yield f"if {result}{_indexed(entry.which)} == {number}:"
        for line in _answer(answers, result, space, spelled):
            yield f"    {line}"
    yield from _answer(first, result, space, spelled)


def _answer(
    answers: Answers, result: str, space: Space, spelled: Mapping[str, str]
) -> Iterator[str]:
    """The statements that follow the call on one branch."""
    for commit in answers.commits:
        array = f"{spelled[commit.event.argument]}, " if commit.event.argument else ""
        values = array + ", ".join(result + _indexed(indices) for indices in commit.places)
        yield f"{space.bind(commit)}.run({values})"
    parts = []
    for output in answers.outputs:
        leaves = (
            result + _indexed(value) if kind == "result" else space.bind(value)
            for kind, value in output.leaves
        )
        parts.append(construction(output.structure, leaves, space.bind))
    yield f"return {', '.join(parts)}"


def _indexed(indices: Sequence[int]) -> str:
    return "".join(f"[{k}]" for k in indices)


def _parameters(signature: inspect.Signature, space: Space) -> str:
    """The user's parameter list, defaults bound by name."""
    words: list[str] = []
    star = False
    kinds = inspect.Parameter
    parameters = list(signature.parameters.values())
    for number, parameter in enumerate(parameters):
        text = parameter.name
        if parameter.default is not kinds.empty:
            text += f"={space.bind(parameter.default)}"
        if parameter.kind is kinds.VAR_POSITIONAL:
            text, star = "*" + text, True
        elif parameter.kind is kinds.VAR_KEYWORD:
            text = "**" + text
        elif parameter.kind is kinds.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        words.append(text)
        following = parameters[number + 1].kind if number + 1 < len(parameters) else None
        if parameter.kind is kinds.POSITIONAL_ONLY and following is not kinds.POSITIONAL_ONLY:
            words.append("/")
    return ", ".join(words)
