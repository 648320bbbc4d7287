"""The checks of arguments, as the body of `misfit`: statements that return a sentence where an
argument is not what the kernel was made for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.exporting.parameters import PARAMETER, Parameters
from tracejit.exporting.spelling import has_text, inside, numpy_name, scalar_name
from tracejit.ir.dims import Dim
from tracejit.ir.types import ArrayType
from tracejit.runtime.dispatch import Entry, numpy_generator
from tracejit.support.words import a
from tracejit.trace.arguments.signature import NUMBERS, Leaf
from tracejit.trace.guards.descriptions import described
from tracejit.trace.guards.guards import is_told_by_equality
from tracejit.trace.structure.sparse_products import is_sparse
from tracejit.trace.structure.trees import MAPPINGS, SEQUENCES, Structure

UNLIKE = '''
def _unlike(name, given, wanted):
    """Say what an argument has to be, and what it is."""
    kind = type(given).__name__
    if isinstance(given, ndarray):
        kind = f"{kind} of dtype {given.dtype} and shape {given.shape}"
    elif isinstance(given, dict):
        kind = f"{kind} with the keys {list(given)}"
    elif isinstance(given, (list, tuple)):
        kind = f"{kind} of length {len(given)}"
    else:
        kind = f"{kind}, {' '.join(repr(given).split())[:60]}"
    return f"{name} has to be {wanted}; it is: {kind}"
'''


class Checks:
    """Writes the checks of the arguments of a kernel."""

    def __init__(self, entry: Entry, parameters: Parameters) -> None:
        """Nothing is written yet."""
        self.entry = entry
        self.parameters = parameters
        self.names = parameters.names
        self.texts = parameters.texts

    def lines(self) -> Iterator[str]:
        """All statements."""
        for parameter, leaves in self.parameters.leaves.items():
            kind = self.entry.signature.parameters[parameter].kind
            yield from self._container(self.entry.call.structures[parameter], parameter, kind)
            for leaf in leaves:
                yield from self._leaf(leaf)
        yield from self._between()

    def _between(self) -> Iterator[str]:
        """The statements that check what holds between arguments: sizes, and which are one."""
        tests: list[str] = []
        if self.entry.free_sizes is not None:
            symbols = self.entry.free_sizes.sizes
            is_free = self.names.taken.isdisjoint(symbol.name for symbol in symbols.symbols)
            prefix = "" if is_free else "size_of_"
            tests += self.entry.free_sizes.spelling(self.texts, prefix)
            holds = ", ".join(dict.fromkeys([*symbols.ranges(), *symbols.conditions()]))
            free = [leaf for leaf in self.entry.call.leaves if leaf.type and leaf.type.sizes]
            wanted = ", ".join(f"{self.texts[leaf.name]} {leaf.type!r}" for leaf in free)
            shapes = ", ".join(f"{self.texts[leaf.name]}.shape" for leaf in free)
            problem = f"the sizes must match {wanted}, with {holds}; the shapes are: "
            yield f"if not ({' and '.join(tests)}):"
            yield f"    return {problem!r} + {self.names.known('repr')}(({shapes},))"
        if self.entry.identity is not None:
            own = self.entry.identity._replace(captured=frozenset())
            found = [*own.spelling(self.texts, lambda thing: self.names.known(thing.__name__))]
            if found:
                wanted = "other arguments are one object than those that it was exported for"
                yield f"if not ({' and '.join(found)}):"
                yield f"    return {wanted!r}"

    def _unlike(self, test: str, text: str, wanted: str) -> Iterator[str]:
        yield f"if {test}:"
        yield f"    return {self.names.known('_unlike')}({text!r}, {text}, {wanted!r})"

    def _container(self, structure: Structure, text: str, kind: Any = None) -> Iterator[str]:
        cls = structure.cls
        if cls is None:
            return
        type_is_not = f"{self.names.known('type')}({text}) is not "
        if cls in MAPPINGS:
            keys = f"[{', '.join(map(self.names.key, structure.order))}]"
            test = f"{self.names.known('list')}({text}) != {keys}"
            if kind is not PARAMETER.VAR_KEYWORD:
                origin = "" if cls is dict else "collections"
                test = f"{type_is_not}{self.names.known(cls.__name__, origin)} or {test}"
            yield from self._unlike(
                test, text, f"{a(cls.__name__)} with the keys {keys} in this order"
            )
        elif cls in SEQUENCES:
            test = f"{self.names.known('len')}({text}) != {len(structure.keys)}"
            if kind is not PARAMETER.VAR_POSITIONAL:
                test = f"{type_is_not}{self.names.known(cls.__name__)} or {test}"
            yield from self._unlike(
                test, text, f"{a(cls.__name__)} of length {len(structure.keys)}"
            )
        elif is_sparse(cls):
            shape = structure.beside[0][2]
            test = type_is_not + self.names.known(cls.__name__, "scipy.sparse")
            wanted = f"{a(cls.__name__)} of shape {shape}"
            yield from self._unlike(f"{test} or {text}.shape != {shape}", text, wanted)
        elif cls is slice:
            yield from self._unlike(type_is_not + self.names.known("slice"), text, "a slice")
        elif cls is set:
            items = ", ".join(map(self.names.key, structure.order))
            wanted = f"{{{items}}}" if items else f"{self.names.known('set')}()"
            test = f"{type_is_not}{self.names.known('set')} or {text} != {wanted}"
            yield from self._unlike(test, text, f"the set {wanted}")
        else:
            if structure.order:
                names = ", ".join(structure.order)
                raise self.names.refused(
                    f"{text} has attributes that are not fields of it ({names})",
                    "make them fields of the dataclass.",
                )
            test = f"{self.names.known('type')}({text}).__name__ != {cls.__name__!r}"
            yield from self._unlike(test, text, a(cls.__name__))
        for key, child in zip(structure.keys, structure.children, strict=True):
            yield from self._container(child, inside(structure, text, key, self.names))

    def _leaf(self, leaf: Leaf) -> Iterator[str]:
        text, type_ = self.texts[leaf.name], leaf.type
        kind = f"{self.names.known('type')}({text})"
        if leaf.name in self.entry.fixed and leaf.role in NUMBERS:
            yield from self._value(text, self.entry.fixed[leaf.name])
        elif leaf.role == "static":
            if not has_text(leaf):
                raise self.names.refused(
                    f"{text} is {described(leaf.value)}, which cannot be written as text",
                    "pass it as an argument of its own, which is left out of `call`.",
                )
            yield from self._value(text, leaf.value)
        elif leaf.role == "variable":
            raise self.names.refused(
                f"{text} is a Variable in a container",
                "pass its value, v.numpy().",
            )
        elif leaf.role in ("generator", "sparse"):
            value = numpy_generator(leaf.value) if leaf.role == "generator" else leaf.value
            cls = type(value)
            origin = "numpy.random" if leaf.role == "generator" else "scipy.sparse"
            test = f"{kind} is not {self.names.known(cls.__name__, origin)}"
            wanted = a(cls.__name__)
            if leaf.role == "sparse":
                dtype = self.names.known(scalar_name(value.dtype), "numpy")
                test += f" or {text}.shape != {tuple(value.shape)} or {text}.dtype != {dtype}"
                wanted += f" of dtype {value.dtype} and shape {tuple(value.shape)}"
            yield from self._unlike(test, text, wanted)
        elif leaf.role in NUMBERS:
            cls = type(leaf.value)
            origin = "numpy" if isinstance(leaf.value, np.generic) else ""
            name = scalar_name(leaf.value.dtype) if origin else cls.__name__
            wanted = a(f"numpy.{name}" if origin else name)
            yield from self._unlike(f"{kind} is not {self.names.known(name, origin)}", text, wanted)
        else:
            assert type_ is not None
            yield from self._unlike(*self._array(leaf, text, type_))

    def _array(self, leaf: Leaf, text: str, type_: ArrayType) -> tuple[str, str, str]:
        dtype = self.names.known(scalar_name(type_.dtype), "numpy")
        tests = [
            f"{self.names.known('type')}({text}) is not {self.names.known('ndarray', 'numpy')}",
            f"{text}.dtype != {dtype}",
        ]
        sizes: Sequence[Any] = type_.shape
        if any(type(size) is Dim for size in sizes):
            tests.append(f"{text}.ndim != {len(sizes)}")
            tests += [
                f"{text}.shape[{axis}] != {size}"
                for axis, size in enumerate(sizes)
                if type(size) is not Dim
            ]
        else:
            tests.append(f"{text}.shape != {tuple(sizes)}")
        written = ["any size" if type(size) is Dim else str(size) for size in sizes]
        shape = f"({', '.join(written)}{',' * (len(written) == 1)})"
        wanted = f"an array of dtype {type_.dtype} and shape {shape}"
        if leaf.name in self.entry.in_order:
            tests.append(f"not {text}.flags.c_contiguous")
            wanted += " in C order (numpy.ascontiguousarray)"
        return " or ".join(tests), text, wanted

    def _value(self, text: str, value: Any) -> Iterator[str]:
        """The check that an argument has the value that it had when the module was exported."""
        library = numpy_name(value)
        if library is not None:
            known = self.names.known(library, "numpy")
            test, shown = f"{text} is not {known}", f"numpy.{library}"
        elif isinstance(value, np.dtype):
            shown = f"numpy.{value!r}"
            test = f"{text} != {self.names.known('dtype', 'numpy')}({value.str!r})"
        elif value is None or value is Ellipsis or type(value) is bool:
            test, shown = f"{text} is not {self.names.spelled(value)}", repr(value)
        else:
            shown = repr(value)
            cls = type(value)
            origin = "numpy" if isinstance(value, np.generic) else ""
            word = scalar_name(value.dtype) if isinstance(value, np.generic) else cls.__name__
            test = f"{self.names.known('type')}({text}) is not {self.names.known(word, origin)} or "
            if is_told_by_equality(value):
                test += f"{text} != {self.names.spelled(value)}"
            else:
                test += f"{self.names.known('repr')}({text}) != {shown!r}"
        yield from self._unlike(test, text, f"{shown}, as it was when this module was exported")
