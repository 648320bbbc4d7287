"""Matching: expressions as patterns, and the ways in which they fit nodes of a graph.

>>> parse("x + 1.0")
Call(op='add', operands=(Hole(name='x', starred=False), Number(number=1.0)), params=(), name='')
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from tracejit.ir.graph import Node, Value
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.emission import number_of

OPERATORS = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.MatMult: "matmul", ast.USub: "negative", ast.GtE: "greater_equal", ast.LtE: "less_equal",
    ast.Eq: "equal",
}  # fmt: skip
COMPARISONS = {"greater_equal": "less_equal", "less_equal": "greater_equal"}
SWAPPED = "the last two axes exchanged"


@cache
def mirrored(op: str) -> str | None:
    """The op that computes the same with the operands exchanged; None where there is none."""
    return op if op in OPS and OPS[op].commutative else COMPARISONS.get(op)


class Hole(NamedTuple):
    """Any value; all other operands where it is `starred`."""

    name: str
    starred: bool = False


class Number(NamedTuple):
    """The constant without axes that has this value and sign."""

    number: float


class Call(NamedTuple):
    """An operation on parts, with constants or holes as parameters. It may have a name."""

    op: str
    operands: tuple[Part, ...]
    params: tuple[tuple[str, Any], ...] = ()
    name: str = ""


Part = Hole | Number | Call
Bound = dict[str, Any]


@cache
def parse(text: str) -> Part:
    """The parts of an expression."""
    return _part(ast.parse(text, mode="eval").body)


def _part(tree: ast.expr) -> Part:
    match tree:
        case ast.Name("inf"):
            return Number(math.inf)
        case ast.Name(name):
            return Hole(name)
        case ast.Starred(ast.Name(name)):
            return Hole(name, starred=True)
        case ast.Constant(float(number)):
            return Number(number)
        case ast.UnaryOp(ast.USub(), ast.Name("inf")):
            return Number(-math.inf)
        case ast.UnaryOp(ast.USub(), ast.Constant(float(number))):
            return Number(-number)
        case ast.UnaryOp(operator, operand):
            return Call(OPERATORS[type(operator)], (_part(operand),))
        case ast.BinOp(left, operator, right) | ast.Compare(left, [operator], [right]):
            return Call(OPERATORS[type(operator)], (_part(left), _part(right)))
        case ast.NamedExpr(ast.Name(name), inner):
            return _part(inner)._replace(name=name)  # type: ignore[call-arg]
        case ast.Attribute(inner, "mT"):
            return Call("transpose", (_part(inner),), (("axes", SWAPPED),))
        case ast.Call(ast.Name(op), operands, keywords):
            params = tuple((str(one.arg), _param(one.value)) for one in keywords)
            return Call(op, tuple(map(_part, operands)), params)
    raise AssertionError(ast.unparse(tree))


def parse_call(text: str) -> Call:
    """The parts of an expression that is an operation."""
    call = parse(text)
    assert isinstance(call, Call), text
    return call


def _param(tree: ast.expr) -> Any:
    return Hole(tree.id) if isinstance(tree, ast.Name) else ast.literal_eval(tree)


class Matching(NamedTuple):
    """A way in which a pattern fits: what its names stand for, and the nodes of its parts."""

    bound: Bound
    nodes: tuple[Node, ...] = ()

    def bind(self, name: str, value: Any) -> Matching | None:
        """The same with `name` for a value; None where it stands for another already."""
        if not name or (name in self.bound and _is_same(self.bound[name], value)):
            return self
        return None if name in self.bound else Matching({**self.bound, name: value}, self.nodes)

    def with_part(self, part: Part, value: Value) -> Iterator[Matching]:
        """The ways in which `value` is a part as well."""
        if isinstance(part, Number):
            if is_number(value, part.number):
                yield self
        elif isinstance(part, Hole):
            if found := self.bind(part.name, value):
                yield found
        elif value.node is not None and (named := self.bind(part.name, value)):
            inner = Matching(named.bound, (*self.nodes, value.node))
            yield from inner.with_call(part, value.node, value.node.operands)

    def with_call(self, call: Call, node: Node, operands: tuple[Value, ...]) -> Iterator[Matching]:
        """The ways in which `node`, applied to `operands`, is a call as well."""
        name, other = node.op.name, mirrored(call.op)
        if name not in (call.op, other):
            return
        matching: Matching | None = self
        for parameter, wanted in call.params:
            value = node.params.get(parameter, False)
            if wanted is SWAPPED:
                wanted = swapped_axes(operands[0])
            if isinstance(wanted, Hole):
                matching = matching and matching.bind(wanted.name, value)
            elif value != wanted:
                return
        if matching is None:
            return
        if name == call.op:
            yield from matching.with_parts(call.operands, operands)
        if name == other:
            yield from matching.with_parts(call.operands, operands[::-1])

    def with_parts(self, parts: Sequence[Part], values: Sequence[Value]) -> Iterator[Matching]:
        """The ways in which values are these parts as well."""
        if not parts or not values:
            if len(parts) == len(values):
                yield self
            return
        first, *others = parts
        if isinstance(first, Hole) and first.starred:
            count = len(values) - len(others)
            if count >= 0 and (found := self.bind(first.name, tuple(values[:count]))):
                yield from found.with_parts(others, values[count:])
            return
        for found in self.with_part(first, values[0]):
            yield from found.with_parts(others, values[1:])


def holes_in(part: Part) -> Iterator[str]:
    """The holes of an expression, each as often as it is read."""
    if isinstance(part, Call):
        for one in part.operands:
            yield from holes_in(one)
    elif isinstance(part, Hole):
        yield part.name


def ops_in(part: Part) -> Iterator[str]:
    """The operations of an expression."""
    if isinstance(part, Call):
        yield part.op
        for one in part.operands:
            yield from ops_in(one)


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (not isinstance(one, Value) and bool(one == other))


def is_number(value: Value, wanted: float) -> bool:
    """Return whether a value is a constant of this value and sign."""
    number = number_of(value)
    return number == wanted and math.copysign(1.0, number) == math.copysign(1.0, wanted)


def swapped_axes(matrices: Value) -> tuple[int, ...]:
    """The order of axes that transposes matrices."""
    *stack, rows, columns = range(matrices.type.ndim)
    return (*stack, columns, rows)
