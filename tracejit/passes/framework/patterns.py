'''Patterns: peephole rewrites, each written as an expression before and one after.

A pattern is a row of the table in `rewrites`. Its expressions are Python's, with the names of
operations for functions, and `x.mT` for the transpose of matrices. Another name is a hole: it
stands for one value or parameter, the same wherever it stands again. A number stands for itself,
`*rest` for all other operands, and `(e := exp(v))` gives a name to a part. A parameter that is not
mentioned may be anything. Operands of sums, products, logical operations and comparisons match in
either order.

>>> from tracejit.ir.printer import parse_graph, print_graph
>>> from tracejit.ops.base.op import OPS
>>> from tracejit.passes.framework.dce import drop_dead
>>> row = Pattern("x * x - y * y", "(x + y) * (x - y)", "4 ulp")
>>> graph = parse_graph("""graph f(a: f8[3], b: f8[3]) -> z: f8[3]
...   s  f8[3] = multiply a a
...   t  f8[3] = multiply b b
...   z  f8[3] = subtract s t
... """, OPS)
>>> print(print_graph(drop_dead(apply_patterns(graph, [row]))), end="")
graph f(a: f8[3], b: f8[3]) -> z: f8[3]
  z_1  f8[3] = add a b
  z_2  f8[3] = subtract a b
  z    f8[3] = multiply z_1 z_2
'''

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ops.base.op import OPS
from tracejit.passes.framework.emission import emit, number_of, readers_of
from tracejit.passes.framework.rebuild import rebuild

OPERATORS = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.MatMult: "matmul", ast.USub: "negative", ast.GtE: "greater_equal", ast.LtE: "less_equal",
    ast.Eq: "equal",
}  # fmt: skip
COMPARISONS = {"greater_equal": "less_equal", "less_equal": "greater_equal"}
SWAPPED = "the last two axes exchanged"


@cache
def mirrored(op: str) -> str | None:
    """The op that computes the same with the operands exchanged; None if there is none."""
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
        """The same with `name` for a value; None if it stands for another already."""
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


class Match:
    """A pattern that fits `node`, of the graph before: `match["x"]` is what x stands for, a value
    of the graph that is built or a parameter."""

    def __init__(self, graph: Graph, node: Node, operands: tuple[Value, ...], bound: Bound) -> None:
        """In `graph`, which is built, and where it has `operands`."""
        self.graph, self.node, self.operands, self.bound = graph, node, operands, bound

    def __getitem__(self, name: str) -> Any:
        return self.bound[name]

    @property
    def result(self) -> Value:
        """The value that is replaced."""
        return self.node.results[0]

    def emit(self, op: str, *operands: Value, **params: Any) -> Value:
        """The value of a new node in the place of the one that is replaced."""
        return emit(self.graph, self.node, op, operands, **params)

    def build(self, part: Part) -> Value:
        """The value of an expression."""
        if isinstance(part, Number):
            return self.graph.constant(part.number)
        if isinstance(part, Hole):
            value: Value = self.bound[part.name]
            return value
        operands: list[Value] = []
        for one in part.operands:
            if isinstance(one, Hole) and one.starred:
                operands.extend(self.bound[one.name])
            else:
                operands.append(self.build(one))
        params = {name: self._param(value, operands[0]) for name, value in part.params}
        value = self.emit(part.op, *operands, **params)
        if part.name:
            self.bound[part.name] = value
        return value

    def _param(self, value: Any, operand: Value) -> Any:
        if value is SWAPPED:
            return swapped_axes(operand)
        return self.bound[value.name] if isinstance(value, Hole) else value


Guard = Callable[[Match], bool]
Let = Mapping[str, Callable[[Match], Any]]


@dataclass(frozen=True, eq=False)
class Pattern:
    """One rewrite: what is `before` is replaced by what is `after`, of the same type.

    `keeps` is its contract: the bits, or how many ulp of the largest term; the same infinities and
    nan unless it says otherwise. `where` it holds, and `pays` where it is faster. `let` computes
    what other names of `after` stand for. What is `there` has to be computed anyway, earlier or
    later. A pattern that is `closed` makes its parts unnecessary: nothing else reads them. One that
    asks for its surroundings so has no place in a graph with decisions: what is computed on one
    branch may not depend on the others.
    """

    before: str
    after: str | Callable[[Match], str]
    keeps: str
    where: Sequence[Guard] = ()
    pays: Guard | None = None
    let: Let = field(default_factory=dict)
    there: str = ""
    closed: bool = False

    @cached_property
    def pattern(self) -> Call:
        """`before`, parsed when it is first asked for."""
        return parse_call(self.before)

    @cached_property
    def calls(self) -> frozenset[str]:
        """The operations that are called by name, known before anything is parsed."""
        return frozenset(re.findall(r"(\w+)\(", f"{self.before} {self.there}"))

    @cached_property
    def root(self) -> str:
        """The operation that is replaced."""
        return self.pattern.op

    @cached_property
    def ops(self) -> frozenset[str]:
        """The operations without which it fits nowhere. Comparisons may be mirrored."""
        found = {*ops_in(self.pattern), *(ops_in(parse(self.there)) if self.there else ())}
        return frozenset(op for op in found if mirrored(op) in (op, None))

    @cached_property
    def names_there(self) -> tuple[str, ...]:
        """The holes of `there`, each as often as it is read."""
        return tuple(holes_in(parse(self.there))) if self.there else ()

    @property
    def asks(self) -> bool:
        """True if it depends on more than its parts."""
        return self.closed or bool(self.there)

    def __call__(
        self, graph: Graph, node: Node, operands: tuple[Value, ...], around: Around | None = None
    ) -> Value | None:
        """The replacement for the result of `node`, as a rule of any pass; None if that
        stays."""
        if not self.may_fit(operands):
            return None
        for found in Matching({}).with_call(self.pattern, node, operands):
            match = Match(graph, node, operands, dict(found.bound))
            if not all(guard(match) for guard in self.where) or (
                self.pays and not self.pays(match)
            ):
                continue
            if around is not None and not around.allows(self, match, found.nodes):
                continue
            for name, make in self.let.items():
                match.bound[name] = make(match)
            after = self.after if isinstance(self.after, str) else self.after(match)
            value = match.build(parse(after))
            if value.type is node.results[0].type:
                return value
        return None

    @cached_property
    def _heads(self) -> list[tuple[slice, tuple[str, ...], float]]:
        """The operands that must be made by one of some operations, or be a number."""
        heads: list[tuple[slice, tuple[str, ...], float]] = []
        for place, part in enumerate(self.pattern.operands):
            where = slice(None) if mirrored(self.root) else slice(place, place + 1)
            if isinstance(part, Call):
                heads.append((where, (part.op, mirrored(part.op) or part.op), 0.0))
            elif isinstance(part, Number):
                heads.append((where, (), part.number))
        return heads

    @cached_property
    def _is_of_one(self) -> bool:
        """True if both operands are the same."""
        parts = self.pattern.operands
        return len(parts) == 2 and parts[0] == parts[1]

    def may_fit(self, operands: tuple[Value, ...]) -> bool:
        """A quick look, which most operands do not stand."""
        if self._is_of_one and operands[0] is not operands[1]:
            return False
        for where, ops, number in self._heads:
            for value in operands[where]:
                if value.node.op.name in ops if value.node else is_number(value, number):
                    break
            else:
                return False
        return True


class Around:
    """The graph before, which patterns may ask about while it is rewritten."""

    def __init__(self, graph: Graph) -> None:
        """`origin` is to map values of the new graph that stand for others to these."""
        self.graph = graph
        self.origin: dict[Value, Value] = {}
        self._there: set[Hashable] = set()
        self._readers: Counter[Value] = Counter()

    def may_fit(self, pattern: Pattern) -> bool:
        """Return whether a graph has anything that a pattern asks for."""
        if not pattern.asks:
            return True
        if self.graph.branches.decisions:
            return False
        self._readers = self._readers or readers_of(self.graph)
        if not pattern.there:
            return True
        wanted = set(self._keys(pattern, pattern.pattern))
        if not wanted:
            return False
        self._there.update(self._keys(pattern, parse_call(pattern.there)))
        return not self._there.isdisjoint(wanted)

    def _keys(self, pattern: Pattern, call: Call) -> Iterator[Hashable]:
        """The nodes that are a call, by what the holes of `there` stand for in them."""
        for node in self.graph.nodes:
            if node.op.name != call.op:
                continue
            if call is not pattern.pattern or pattern.may_fit(node.operands):
                for found in Matching({}).with_call(call, node, node.operands):
                    yield self._key(pattern, found.bound, node)

    def allows(self, pattern: Pattern, match: Match, nodes: Sequence[Node]) -> bool:
        """Return whether all that a pattern asks for is there. Its parts are made by `nodes`."""
        if pattern.there and self._key(pattern, match.bound, match.node) not in self._there:
            return False
        return not pattern.closed or self._is_closed(pattern, match, {*nodes})

    def _is_closed(self, pattern: Pattern, match: Match, nodes: set[Node]) -> bool:
        """Return whether the parts are in one place, and only read by each other and the match."""
        node = match.node
        if any(
            (one.region, one.segment, one.tapes) != (node.region, node.segment, node.tapes)
            for one in nodes
        ):
            return False
        reads = Counter(match.operands)
        reads.update(match.bound[name] for name in pattern.names_there)
        for one in nodes:
            reads.update(one.operands)
        parts = [one.results[0] for one in nodes]
        return all(self._readers[self.origin.get(part, part)] <= reads[part] for part in parts)

    def _key(self, pattern: Pattern, bound: Bound, node: Node) -> Hashable:
        values = [bound[name] for name in pattern.names_there]
        found = [self.origin.get(value, value) for value in values]
        return pattern, *found, node.region, node.tapes


def apply_patterns(graph: Graph, patterns: Sequence[Pattern]) -> Graph:
    """`graph` with the first of the patterns that fits a node applied to it."""
    names = {node.op.name for node in graph.nodes}
    for pattern in patterns:
        if pattern.calls <= names and isinstance(pattern.after, str):
            names.update(ops_in(parse(pattern.after)))
    around = Around(graph)
    by_root: dict[str, list[Pattern]] = defaultdict(list)
    for pattern in patterns:
        if pattern.calls <= names and pattern.ops <= names and around.may_fit(pattern):
            by_root[pattern.root].append(pattern)
    if not by_root:
        return graph

    def rewrite(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        for pattern in by_root[node.op.name]:
            value = pattern(new, node, operands, around)
            if value is not None:
                return (value,)
        return None

    return rebuild(graph, rewrite, ops=by_root, origin=around.origin)
