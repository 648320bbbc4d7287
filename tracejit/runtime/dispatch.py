"""The generated entry of a kernel: checks that a call fits, runs the kernel, builds the result.

The entry has the user's own parameters, so Python binds positions, keywords and defaults. It
answers MISS when the call is not the kernel's: another dtype, shape, structure, static value or
number that the recording read. Checks are written inline because they are the whole cost of a
cached call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tracejit.ir.sizes import Sizes
from tracejit.ir.types import canonical
from tracejit.runtime.identity import Identity, NotApart
from tracejit.trace.arguments.free_dimensions import FreeSizes
from tracejit.trace.arguments.signature import Call, Leaf
from tracejit.trace.guards.conditions import Guards
from tracejit.trace.guards.guards import Difference, Guard, HasDtype, OfType
from tracejit.trace.recording.mutable_attributes import Attribute
from tracejit.trace.structure.draws import is_generator
from tracejit.trace.structure.trees import LEAF, HasStructure, Structure, construction

ENTRY = "<tracejit entry"
NO_LEAF = "0"
"""The prefix that the name of no leaf has."""
MISS: Any = type("Miss", (), {"__repr__": lambda self: "MISS"})()


class Output(NamedTuple):
    """The recipe for a result: its structure, and per leaf ("result", indices into the kernel's
    return value) or ("fixed", object).
    """

    structure: Structure
    leaves: Sequence[tuple[str, Any]]


class Answers(NamedTuple):
    """The answer of a call on one branch: the results, and what takes place after it (`commits`,
    each with values at its `places` in what the kernel returns)."""

    outputs: Sequence[Output]
    commits: Sequence[Any] = ()


@dataclass(frozen=True, eq=False)
class Entry:
    """A kernel with its checks: the record that the generated entry is compiled from.

    `parameters` are the leaves handed to the kernel's function `target`, with the leaf's value
    converted to a float64 scalar where its name is in `differentiated`. `fixed` maps leaves by name
    to the value they must have; those in `in_order` must lie in C order in memory. `hidden` are
    further arguments of the kernel, each an object and the path from it to the array; `captured`
    are all outer arrays that Python may read. `identity` says which leaves are one object,
    where the function asks. `guard` decides whether captured names still hold, `sizes` know the
    free dimensions in the types of leaves. `answers` are those of every trace, by its number, which
    stands at `which` in the kernel's return value; one alone is for all traces. `traces` are those
    that the kernel has joined, or more by now, `decisions` the points at which they branch.
    `unwatched` says whether no tape has to see what Variables it reads.
    """

    signature: inspect.Signature
    call: Call
    target: Callable[..., Any]
    fixed: dict[str, Any]
    baked: frozenset[str]
    differentiated: frozenset[str]
    hidden: Sequence[tuple[Any, str]]
    guard: Guards | None
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
        """Return whether a call like `call`, some of whose arrays may be specs, would be taken
        now."""
        return self.is_for(call) and self.holds()

    def holds(self) -> bool:
        """Return whether everything else that is read is unchanged."""
        return self.guard is None or self.guard()

    def is_for(self, call: Call) -> bool:
        """Return whether it would be taken if everything else that is read were unchanged."""
        if self.call.structures != call.structures:
            return False
        pairs = zip(self.call.leaves, call.leaves, strict=True)
        return all(mine.takes(its, self.guards[mine.name]) for mine, its in pairs) and all(
            guard.check(call) for guard in (self.identity, self.free_sizes) if guard is not None
        )

    @functools.cached_property
    def guards(self) -> dict[str, list[Guard]]:
        """The guards of every leaf, by name."""
        return {
            leaf.name: leaf.guards(self.fixed.get(leaf.name), leaf.name in self.in_order)
            for leaf in self.call.leaves
        }

    @functools.cached_property
    def free_sizes(self) -> FreeSizes | None:
        """The guard of the free dimensions; None if there are none."""
        return None if self.sizes is None else FreeSizes(self.call, self.sizes)

    def differences(self, call: Call, label: Callable[[Leaf], str]) -> list[Difference]:
        """The guards that a call fails, each with its sentence; `label` names a leaf."""
        found: list[Difference | None] = []
        for argument, structure in call.structures.items():
            container = HasStructure(self.call.structures[argument])
            if not container.check(structure):
                found.append(container.explain(argument, structure))
                continue
            sides = ([x for x in one.leaves if x.argument == argument] for one in (self.call, call))
            found += [
                mine.difference(its, self.guards[mine.name], label(its))
                for mine, its in zip(*sides, strict=True)
            ]
        told = [one for one in found if one is not None]
        if not told and self.identity is not None and not self.identity.check(call):
            return [self.identity.explain(call)]
        if not told and self.free_sizes is not None and not self.free_sizes.check(call):
            return [self.free_sizes.explain()]
        return told


class Space:
    """The globals of a generated entry: objects under names that no parameter of a user's has.

    Every name of the entry's own starts with `prefix`.
    """

    def __init__(self, parameters: Iterable[str] = ()) -> None:
        """Begin with nothing bound; `parameters` are the user's."""
        self.names: dict[str, Any] = {}
        self.prefix = "_tj_"
        while any(name.startswith(self.prefix) for name in parameters):
            self.prefix = "_" + self.prefix

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
        if structure.cls is not None:
            checks.append(HasStructure(structure).spelling(parameter, space.bind))
    spelled: dict[str, str] = {}
    for leaf in entry.call.leaves:
        spelled[leaf.name] = (
            leaf.path
            if leaf.path == leaf.argument and leaf.given is None
            else f"{space.prefix}{leaf.name}"
        )
        checks += _leaf_checks(leaf, spelled[leaf.name], entry, space)
    if entry.identity is not None:
        checks += entry.identity.spelling(spelled, space.bind)
    if entry.free_sizes is not None:
        checks += entry.free_sizes.spelling(spelled, f"{space.prefix}{NO_LEAF}")
    if entry.unwatched is not None:
        checks.append(f"{space.bind(entry.unwatched)}()")
    if entry.guard is not None:
        checks.append(f"{space.bind(entry.guard.holds)}()")
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
    arguments += [f"{space.bind(canonical(holder))}{path}" for holder, path in entry.hidden]
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
    run = list(_run(called, entry, space, spelled))
    lines.append(f"    if {' and '.join(checks) or 'True'}:")
    if len(entry.answers) == 1:
        lines[-1] += f" {'; '.join(run)}"  # which a debugger passes in one step
    else:
        lines += [f"        {line}" for line in run]
    lines.append(f"    return {space.bind(MISS)}")
    space.names["__name__"] = __name__  # by which a debugger may skip it
    exec(compile("\n".join(lines), f"{ENTRY} of {name}>", "exec"), space.names)
    made: Callable[..., Any] = space.names.pop(f"{space.prefix}entry")
    made.__name__ = made.__qualname__ = name
    return made


def _leaf_checks(leaf: Leaf, text: str, entry: Entry, space: Space) -> Iterator[str]:
    """The tests of one leaf in Python, the first of which gives it the name `text`. An array whose
    dtype object is not NumPy's own becomes one with it, unless the function asks for identity."""
    first = text if text == leaf.path else f"({text} := {leaf.path})"
    if leaf.given is not None:
        yield OfType(leaf.given).spelling(leaf.path, space.bind)
        first = f"({text} := {space.bind(np.asarray)}({leaf.path}))"
    for guard in entry.guards[leaf.name]:
        if type(guard) is HasDtype and entry.identity is None:
            dtype, settled = space.bind(guard.wanted), f"{space.bind(canonical)}({text})"
            yield f"({text}.dtype is {dtype} or ({text} := {settled}).dtype == {dtype})"
        else:
            yield guard.spelling(first, space.bind, text)
        first = text


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
            raise NotApart(
                "an argument that is written to has several elements in one place of memory"
            )
    return True


def _run(called: str, entry: Entry, space: Space, spelled: Mapping[str, str]) -> Iterator[str]:
    """The statements that call the kernel and return the user's result."""
    first = entry.answers[0]
    if entry.answers == [Answers([Output(LEAF, [("result", ())])])]:
        yield f"return {called}"
        return
    result = f"{space.prefix}{NO_LEAF}result"
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
