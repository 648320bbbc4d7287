"""Expressions of nodes: an op's template with its operands filled in, and names from libraries.

Operands are put in parentheses here; astor drops the ones that are not needed. `np.tanh` becomes
`tanh`, `np.linalg.solve` becomes `linalg.solve`, and `scipy.special.erf` becomes `erf`; the names
needed at the head are gathered in `imports`, with the module each comes from.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.ir.graph import Constant, Node, Value
from tracejit.ir.printer import INLINE_ELEMENTS
from tracejit.ir.subgraph import bodies_of
from tracejit.ir.types import ArrayType
from tracejit.ops.base.creation import full
from tracejit.ops.base.op import literal
from tracejit.ops.shapes.shapes import broadcast_to
from tracejit.targets.numpy.text.constants import diagonal_of, is_identity
from tracejit.text.marks import marked

_LIBRARY_NAME = re.compile(r"\b(np\.lib\.stride_tricks|np|scipy\.\w+|helpers|math|hashlib)\.(\w+)")
_ARITHMETIC = re.compile(r"\{0\} ([-+*/%&|^]|//|\*\*|<<|>>) \{1\}")


class Expressions:
    """Spells nodes of one module; `name_of` gives the variable that holds a value."""

    def __init__(
        self,
        name_of: Callable[[Value], str],
        inlined: set[Node],
        number_name: Callable[[Node, int], str | None] = lambda node, position: None,
    ) -> None:
        """Nodes in `inlined` are spelled inside their users; `number_name` gives the name of a
        constant that a node reads, where it has one at the module's head. In a loop, `rows` spell
        the statements that stack the results of a step, and of the condition `over` only the
        second side is left: the first has ended the loop."""
        self.name_of = name_of
        self.number_name = number_name
        self.inlined = inlined
        self.imports: dict[str, str] = {}
        self.rows: Sequence[Callable[[str], str]] = ()
        self.over: Node | None = None
        self._templates: dict[tuple[Any, ...], str] = {}

    def operand(self, value: Value, strong: bool = True) -> str:
        """A value where it is used: a name, a literal, or the expression of an inlined node.

        A NumPy scalar constant may be written as a Python number where `strong` is False: where
        the other operands decide the dtype.
        """
        if isinstance(value, Constant):
            return self.constant(value, strong)
        if value.node is not None and value.node in self.inlined:
            return marked(value.node, f"({self.expression(value.node)})")
        return self.name_of(value)

    def test(self, value: Value) -> str:
        """A value where Python asks whether it is true."""
        if isinstance(value, Constant) or value.node not in self.inlined:
            return self.operand(value)
        return marked(value.node, f"({self.tested(value.node)})")

    def tested(self, node: Node) -> str:
        """The right-hand side of a node where Python asks whether it is true."""
        if not node.op.test or any(value.type.shape for value in node.operands):
            return self.expression(node)
        test: str = node.op.test
        return test.format(*map(self.test, node.operands))

    def result(self, value: Value) -> str:
        """A value as it is returned."""
        return self.operand(value)

    def operands(self, node: Node) -> list[str]:
        """The operands of a node, each as it is written."""
        strong = not _numbers_suffice(node)
        return [
            (isinstance(value, Constant) and self.number_name(node, position))
            or self.operand(self._assigned(node, position, value), strong)
            for position, value in enumerate(node.operands)
        ]

    def _assigned(self, node: Node, position: int, value: Value) -> Value:
        """`value`, or what it is spread of where an assignment spreads it."""
        spread = value.node
        if node.op.update != "put" or node.op.inplace or position or spread not in self.inlined:
            return value
        return spread.operands[0] if spread.op is broadcast_to else value

    def expression(self, node: Node) -> str:
        """The node's right-hand side."""
        return self._template(node).format(*self.operands(node))

    def _template(self, node: Node) -> str:
        """The template of the node's right-hand side."""
        types = [value.type for value in node.operands]
        if node.params:
            return self.bind(node.op.template(types, node.params))
        key = node.op.name, *types
        known = self._templates.get(key)
        if known is None:
            known = self._templates[key] = self.bind(node.op.template(types, node.params))
        return known

    def statements(self, node: Node, target: str) -> list[str]:
        """The lines of an op that no single expression spells, writing to `target`."""
        types = [value.type for value in node.operands]
        lines = node.op.statement_lines(types, node.params)
        made = node.operands[0].node if node.operands and node.op.inplace else None
        if made is not None and made.op is full:  # made again, it need not be copied
            lines = [f"{{out}} = {self._template(made)}", *lines[1:]]
        return [self.bind(line).format(*self.operands(node), out=target) for line in lines]

    def in_place(self, node: Node, buffer: Value, target: str) -> list[str]:
        """The statements that compute `node` into the buffer of its operand `buffer` and call it
        `target`."""
        operands = self.operands(node)
        into = self.name_of(buffer)
        types = [value.type for value in node.operands]
        written = self.bind(node.op.inplace_template(types, node.params))
        written = written.format(*operands, out=into)
        if node.op.statements is not None:
            lines = written.split("\n")
            return lines if target == into else [*lines, f"{target} = {into}"]
        infix = _ARITHMETIC.fullmatch(node.op.template(types, node.params))
        if infix is not None and target == into:
            first, second = operands
            if node.operands[0] is buffer:
                return [f"{into} {infix[1]}= {second}"]
            if infix[1] in ("+", "*") and node.operands[1] is buffer:
                return [f"{into} {infix[1]}= {first}"]
        return [written] if target == into else [f"{target} = {written}"]

    def constant(self, constant: Constant, strong: bool = True) -> str:
        """A constant where it is used: a literal, or the name it has at the module's head."""
        if constant.type.form == "array":
            if constant.made is None or constant.name:
                return constant.name
            return f"({self.expression(constant.made)})"
        text = self.number(constant.data)
        if constant.type.form == "scalar" and strong:
            return self.bind(f"{literal(constant.type.dtype)}({text})")
        return f"({text})" if text.startswith("-") else text

    def scalar(self, number: Any, strong: bool) -> str:
        """A NumPy scalar or 0-d array as source; a scalar of a Python dtype as a Python number,
        unless `strong`."""
        text = self.number(number[()])
        default = number.dtype == np.asarray(number.item()).dtype
        if isinstance(number, np.ndarray):
            dtype = "" if default else f", {literal(number.dtype)}"
            return self.bind(f"np.array({text}{dtype})")
        return text if default and not strong else self.bind(f"{literal(number.dtype)}({text})")

    def array_literal(self, constant: Constant) -> str | None:
        """The definition of an array constant that is small or regular; None for another."""
        data: Any = constant.data
        regular = self._regular(data)
        if regular is not None or data.size > INLINE_ELEMENTS or data.dtype.kind == "c":
            return regular
        if data.dtype.kind == "f" and data.dtype.itemsize > 8:
            return None
        text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(data.tolist()))
        default = np.asarray(data.tolist()).dtype == data.dtype and data.size > 0
        dtype = "" if default else f", {literal(data.dtype)}"
        shape = "" if data.size else f".reshape({data.shape})"
        return self.bind(f"np.array({text}{dtype}){shape}")

    def is_regular(self, constant: Constant) -> bool:
        """Return whether an array is made by one call without others."""
        return self._regular(constant.data) is not None

    def _regular(self, data: Any) -> str | None:
        """np.ones, np.zeros, np.full, np.eye, np.tri or np.arange, where it makes these bytes."""
        if data.size and data.dtype.kind == "f" and data.dtype.itemsize <= 8 and (data == 1).all():
            shape = data.shape[0] if data.ndim == 1 else data.shape
            dtype = "" if data.dtype == float else f", {literal(data.dtype)}"
            return self.bind(f"np.ones({shape}{dtype})")
        if data.size < 3 or data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
            return None
        flat = np.ascontiguousarray(data).reshape(-1)
        if (flat.view(np.uint8).reshape(flat.size, -1) == flat[:1].view(np.uint8)).all():
            shape = data.shape[0] if data.ndim == 1 else data.shape
            dtype = f", {literal(data.dtype)}"
            if not flat.view(np.uint8).any():
                return self.bind(f"np.zeros({shape}{dtype if data.dtype != float else ''})")
            default = np.asarray(flat[0].item()).dtype == data.dtype
            return self.bind(f"np.full({shape}, {self.number(flat[0])}{'' if default else dtype})")
        if is_identity(data):
            dtype = "" if data.dtype == float else f", dtype={literal(data.dtype)}"
            return self.bind(f"np.eye({data.shape[0]}{dtype})")
        diagonal = diagonal_of(data)
        if diagonal is not None:
            rows, columns = data.shape
            return self.bind(f"np.tri({rows}, {columns}, {diagonal}, {literal(data.dtype)})")
        if data.dtype == np.arange(1).dtype:
            start, step = int(flat[0]), int(flat[1]) - int(flat[0])
            stop = start + step * data.size
            if step and np.array_equal(np.arange(start, stop, step), flat):
                bounds = [start, stop, step] if step != 1 else [start, stop] if start else [stop]
                shape = "" if data.ndim == 1 else f".reshape({data.shape})"
                return self.bind(f"np.arange({', '.join(map(str, bounds))}){shape}")
        return None

    def number(self, number: Any) -> str:
        """A number as Python source; float32 in as few digits as it has."""
        if isinstance(number, np.generic):
            short = number.dtype.kind == "f" and number.dtype.itemsize < 8 and np.isfinite(number)
            number = float(str(number)) if short else number.item()
        if isinstance(number, float) and not math.isfinite(number):
            sign = "-" if number < 0 else ""
            return self.bind(sign + ("np.nan" if math.isnan(number) else "np.inf"))
        text = repr(number)
        if isinstance(number, complex) and (
            not cmath.isfinite(number) or (0 in (number.real, number.imag) and "-" in text)
        ):  # the real part of -1j is -0.0
            return f"complex({self.number(number.real)}, {self.number(number.imag)})"
        return self.bind(text)

    def bind(self, template: str) -> str:
        """`template` with np.NAME written NAME, the names noted for the module's head."""
        text, names = _bound(template)
        self.imports.update(names)
        return text


@lru_cache(4096)
def _bound(template: str) -> tuple[str, dict[str, str]]:
    names: dict[str, str] = {}

    def bind(found: re.Match[str]) -> str:
        library, name = found.groups()
        taken = library != "np" and hasattr(np, name)
        bound = f"{library.rpartition('.')[2]}_{name}" if taken else name
        names[bound] = library.replace("np", "numpy")
        return bound

    return _LIBRARY_NAME.sub(bind, template), names


def _aliased(name: str, prefix: str) -> str:
    return f"{name.removeprefix(prefix)} as {name}" if name.startswith(prefix) else name


def import_lines(imports: Mapping[str, str]) -> list[str]:
    """The statements that bind these names, numpy's first."""
    lines = []
    for library in sorted({*imports.values()} - {"helpers"}):
        names = sorted(name for name, origin in imports.items() if origin == library)
        prefix = f"{library.rpartition('.')[2]}_"
        if library != "numpy":
            names = [_aliased(name, prefix) for name in names]
        lines.append(f"from {library} import {', '.join(names)}")
    return lines


def _numbers_suffice(node: Node) -> bool:
    """Return whether the scalar constants of a node may be written as Python numbers: where NumPy
    then computes the same in the same dtype."""
    scalars = [v for v in node.operands if isinstance(v, Constant) and v.type.form == "scalar"]
    if not scalars or any(bodies_of(node)):
        return False
    types = [
        ArrayType((), np.dtype(type(value.data.item())), "weak") if value in scalars else value.type
        for value in node.operands
    ]
    if node.op.result_types(types, node.params) != tuple(v.type for v in node.results):
        return False
    if not node.op.elementwise:
        return all(np.dtype(type(v.data.item())) == v.type.dtype for v in scalars)
    if all(type.form == "weak" for type in types):
        return False
    if any(v.type.dtype.kind == "c" for v in scalars) and all(t.form != "array" for t in types):
        return False  # Python's complex takes np.float64 for a float: 1j * x is no NumPy scalar
    result = node.results[0].type.dtype
    deciding = {v.type.dtype for v in node.operands if v not in scalars and v.type.form != "weak"}
    return all(v.type.dtype == result or {v.type.dtype} == deciding for v in scalars)
