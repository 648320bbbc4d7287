"""The checked call of an exported kernel, as text.

`call` takes the arguments of the user's function, by the names and in the containers that this has,
hands their arrays to the kernel, and builds the user's result. `misfit` says what is wrong with
such arguments: a kernel is for the types that it was made for, and its own functions check nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.exporting.argument_checks import UNLIKE, Checks
from tracejit.exporting.parameters import Parameters
from tracejit.exporting.spelling import Names, inside, is_atom, scalar_name
from tracejit.ir.graph import Constant
from tracejit.ir.types import ArrayType
from tracejit.runtime.dispatch import Answers, Entry
from tracejit.support.words import a, is_name
from tracejit.targets.numpy.text.expressions import Expressions
from tracejit.text.source import to_source
from tracejit.trace.arguments.signature import NUMBERS, Leaf
from tracejit.trace.guards.descriptions import described
from tracejit.trace.structure.sparse_products import is_sparse, matrix_text
from tracejit.trace.structure.trees import LEAF, Structure


class CallText(NamedTuple):
    """The text of `call` and what it needs: imports as {name: module}, the constants that are too
    large for text, the parameters that it has, as {name: leaves}, and their `head` as written."""

    text: str
    imports: dict[str, str]
    constants: dict[str, np.ndarray]
    parameters: dict[str, list[Leaf]]
    head: list[str]


class Baked(NamedTuple):
    """An input of the kernel that is not an argument of the user's: its value is part of the
    module."""

    name: str
    type: ArrayType
    value: Any


def call_text(
    entry: Entry, name: str, target: str, given: Sequence[str], hidden: Sequence[Baked], check: bool
) -> CallText:
    """The text of `call` and `misfit` for the kernel of `entry`.

    `target` is the function of the module that is called, `given` are the parameters that the user
    described. `hidden` follow the user's arguments.
    """
    names = Names(name, entry.signature.parameters)
    parameters = Parameters(entry, given, names)
    checks = list(Checks(entry, parameters).lines())
    writer = _Writer(entry, parameters)
    leaves = [leaf for leaf in entry.call.leaves if leaf.name not in entry.baked]
    arguments = [*map(writer.argument, leaves), *map(writer.constant, hidden)]
    returned = list(writer.returned(target, arguments))
    words = parameters.words()
    head = ", ".join(words)
    does = "raise TypeError if they do not fit." if check else "they are not checked."
    lines = [
        f"def misfit({head}):",
        "    'Return why call refuses these arguments, or None.'",
        *[f"    {line}" for line in checks],
        "    return None",
        f"def call({head}):",
        f"    {f'Return the result of {name} for these arguments; {does}'!r}",
    ]
    if check:
        problem = names.free("problem")
        raised = f"raise {names.known('TypeError')}({name + ': '!r} + {problem})"
        lines.append(f"    {problem} = {names.known('misfit')}({parameters.passed()})")
        lines += [f"    if {problem} is not None:", f"        {raised}"]
    lines += [f"    {line}" for line in returned]
    if checks:
        names.imports["ndarray"] = "numpy"
    for word, alias in names.aliases.items():
        if alias != word:  # a parameter has this name
            place = lines.index(f"def {'call' if word == 'misfit' else 'misfit'}({head}):")
            lines.insert(place, f"{alias} = {word}")
    texts = [to_source("\n".join(writer.constant_lines())), UNLIKE * bool(checks)]
    texts.append(to_source("\n".join(lines)))
    text = "\n\n\n".join(part.strip("\n") for part in texts if part) + "\n"
    return CallText(text, names.imports, writer.large, parameters.leaves, words)


class _Writer:
    """Writes the call of the kernel and its results."""

    def __init__(self, entry: Entry, parameters: Parameters) -> None:
        """Begin without constants."""
        self.entry = entry
        self.parameters = parameters
        self.names = parameters.names
        self.large: dict[str, np.ndarray] = {}
        self._constants: dict[str, str] = {}
        self._tuples: dict[str, str] = {}

    def argument(self, leaf: Leaf) -> str:
        """The text of an argument of the kernel."""
        if leaf.argument not in self.parameters.leaves:
            if leaf.type is None or leaf.role not in ("array", *NUMBERS):
                raise self.names.refused(
                    f"the default of {leaf.argument} is {a(type(leaf.value).__name__)}",
                    f"pass {leaf.argument} to tj.export.",
                )
            return self.constant(Baked(leaf.name, leaf.type, leaf.value))
        text = self.parameters.texts[leaf.name]
        if leaf.role == "number" and leaf.name in self.entry.differentiated:
            assert leaf.type is not None
            return f"{self.names.known(scalar_name(leaf.type.dtype), 'numpy')}({text})"
        return text

    def constant(self, baked: Baked) -> str:
        """The text of a value that is part of the module: a number, or the name of an array."""
        value = baked.value
        if type(value) is not np.ndarray:
            return self.names.spelled(value)
        name = f"baked_{baked.name}"
        spell = Expressions(str, set())
        literal = spell.array_literal(Constant(value, baked.type))
        if literal is None:
            self.large[name] = value
        else:
            self._constants[name] = literal
            self.names.imports |= spell.imports
        return self.names.known(name)

    def constant_lines(self) -> list[str]:
        """The statements that make the arrays and classes that are part of the module."""
        lines = [f"{name} = {text}" for name, text in self._constants.items()]
        if self.large:
            self.names.imports["load"] = "numpy"
            lines.append("with load(__file__[:-3] + '.npz') as constants:")
            lines += [f"    {name} = constants[{name!r}]" for name in self.large]
        if lines:
            lines[:0] = ["#", "# The values that call() hands to the kernel besides its arguments."]
        for name, fields in self._tuples.items():
            self.names.imports["namedtuple"] = "collections"
            lines.append(f"{name} = namedtuple({fields})")
        return lines

    def returned(self, target: str, arguments: Sequence[str]) -> Iterator[str]:
        """The statements that call the kernel and return the user's result."""
        called = f"{self.names.known(target)}({', '.join(arguments)})"
        answers = self.entry.answers
        if len(answers) == 1 and _is_as_returned(answers[0]):
            yield f"return {called}"
            return
        found = self.names.free("found")
        yield f"{found} = {called}"
        which = found + "".join(f"[{k}]" for k in self.entry.which)
        for number, one in enumerate(answers[1:], 1):
            yield f"if {which} == {number}:"
            yield f"    return {self._result(one, found)}"
        yield f"return {self._result(answers[0], found)}"

    def _result(self, answers: Answers, found: str) -> str:
        parts = []
        for output in answers.outputs:
            leaves = (
                found + "".join(f"[{k}]" for k in value) if kind == "result" else self._fixed(value)
                for kind, value in output.leaves
            )
            parts.append(self._built(output.structure, leaves))
        return ", ".join(parts)

    def _fixed(self, value: Any) -> str:
        if is_atom(value) or isinstance(value, np.generic):
            return self.names.spelled(value)
        raise self.names.refused(
            f"it returns {described(value)}, which cannot be written as text",
            "return arrays, numbers, strings and containers of them.",
        )

    def _built(self, structure: Structure, leaves: Iterator[str]) -> str:
        """The text of a result with this structure."""
        cls = structure.cls
        if cls is None:
            return next(leaves)
        parts = [self._built(child, leaves) for child in structure.children]
        if cls in (dict, OrderedDict):
            by_key = dict(zip(structure.keys, parts, strict=True))
            items = [f"{self.names.key(key)}: {by_key[key]}" for key in structure.order]
            text = f"{{{', '.join(items)}}}"
            known = "" if cls is dict else self.names.known("OrderedDict", "collections")
            return f"{known}({text})" if known else text
        if cls is list:
            return f"[{', '.join(parts)}]"
        if cls is tuple:
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if cls is slice:
            return f"{self.names.known('slice')}({', '.join(parts)})"
        if is_sparse(cls):
            known = self.names.known(cls.__name__, "scipy.sparse")
            return matrix_text(known, structure.keys, parts, structure.beside[0][2])
        fields = ", ".join(f"{k}={part}" for k, part in zip(structure.keys, parts, strict=True))
        is_named = all(map(is_name, structure.keys)) and not structure.order
        holder = self._argument_of_class(cls)
        if holder is not None and is_named:
            return f"{self.names.known('type')}({holder})({fields})"
        if issubclass(cls, tuple) and is_named:  # such as NumPy's EighResult
            self._tuples[f"{cls.__name__}_"] = f"{cls.__name__!r}, {[*structure.keys]!r}"
            return f"{self.names.known(f'{cls.__name__}_')}({fields})"
        raise self.names.refused(
            f"it returns {a(cls.__name__)}, a class that the module would have to import",
            "return a dict or a tuple, or take the class from an argument of it.",
        )

    def _argument_of_class(self, cls: type) -> str | None:
        """The text of an argument that is a container of this class."""

        def search(structure: Structure, text: str) -> str | None:
            if structure.cls is cls:
                return text
            for key, child in zip(structure.keys, structure.children, strict=True):
                below = inside(structure, text, key, self.names)
                if child.cls is not None and (found := search(child, below)) is not None:
                    return found
            return None

        texts = (search(self.entry.call.structures[name], name) for name in self.parameters.leaves)
        return next((text for text in texts if text is not None), None)


def _is_as_returned(answers: Answers) -> bool:
    """Return whether the user's result is what the kernel returns."""
    outputs = answers.outputs
    if any(output.structure is not LEAF for output in outputs):
        return False
    expected: list[tuple[int, ...]] = (
        [()] if len(outputs) == 1 else [(k,) for k in range(len(outputs))]
    )
    return [output.leaves[0] for output in outputs] == [("result", place) for place in expected]
