"""Names that statements and expressions assign and read."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tracejit.convert.glue import Dead, Turn, Unbind, constant
from tracejit.convert.syntax import at, blocks_of, children_of, nodes_in

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
NONE = frozenset[str]()
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPUTING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Pass, ast.Assert)
Bound = tuple[frozenset[str], frozenset[str] | None]


class Places:
    """The nodes of a function by the statements that they are in.

    Statements, handlers and cases are numbered in the order of the text: `number` is that of one,
    and `last` that of the last inside it. `found` has the nodes of each kind, each with the number
    of the statement that it is in; `names` has these numbers for each name that is read or
    assigned, `others` for those of definitions, imports, handlers and patterns.
    """

    def __init__(self, node: Any) -> None:
        """Number the statements of a function."""
        self.found: dict[type[ast.AST], list[tuple[int, Any]]] = defaultdict(list)
        self.names: dict[str, list[int]] = defaultdict(list)
        self.others: dict[str, list[int]] = defaultdict(list)
        count = 0
        waiting: list[tuple[Any, bool]] = [(node, False)]
        while waiting:
            one, is_over = waiting.pop()
            if is_over:
                one.last = count
                continue
            count += 1
            one.number = count
            self._note(one, count)
            waiting.append((one, True))
            waiting += [(block, False) for block in reversed(blocks_of(one))]

    def _note(self, node: Any, number: int) -> None:
        """Note the nodes of a statement that are in no other."""
        nodes = [node]
        for one in nodes:  # which grows
            kind = type(one)
            self.found[kind].append((number, one))
            if kind is ast.Name:
                self.names[one.id].append(number)
                continue
            if kind in _NAMED:
                for name in names_at(one):
                    self.others[name].append(number)
            nodes += children_of(one, is_head=one is node)

    def all(self, *kinds: type[ast.AST]) -> list[Any]:
        """The nodes of some kinds."""
        return [one for kind in kinds for _, one in self.found.get(kind, ())]

    def ends(self) -> dict[str, tuple[int, int]]:
        """The first and the last number at which each name is."""
        ends = {name: (numbers[0], numbers[-1]) for name, numbers in self.names.items()}
        for name, numbers in self.others.items():
            first, last = ends.get(name, (numbers[0], numbers[-1]))
            ends[name] = min(first, numbers[0]), max(last, numbers[-1])
        return ends


def is_between(numbers: Sequence[int], first: int, last: int) -> bool:
    """Return whether one of some numbers in order is in a range."""
    index = bisect_left(numbers, first)
    return index < len(numbers) and numbers[index] <= last


_NAMED = frozenset(
    kind
    for kind in vars(ast).values()
    if isinstance(kind, type)
    and issubclass(kind, ast.AST)
    and not {"name", "rest"}.isdisjoint(kind._fields)
)
"""The kinds of syntax, besides `Name`, that `names_at` finds names at."""


def reads_unbound(block: Sequence[ast.stmt], bound: frozenset[str]) -> Bound:
    """The names that a block may read before it binds them, and those that are bound after it; None
    if it never ends."""
    unsure = frozenset[str]()
    for node in block:
        match node:
            case Dead():
                continue
            case Turn():
                read, after = reads_unbound(node.asking, bound)
                sides = [node.body, []]
                bound = bound if after is None else after
            case ast.If() | ast.While():
                stored, read = names_of(node.test, bound)
                bound |= stored
                sides = [node.body, node.orelse, *([[]] if isinstance(node, ast.While) else [])]
            case ast.For():
                stored, read = names_of(node.iter, bound)
                bound |= stored
                given: Any = at(node, ast.Assign([node.target], constant(node, None)))
                sides = [[given, *node.body], node.orelse, []]
            case _:
                stored, read = names_of(node, bound)
                unsure |= read
                if isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise):
                    return unsure, None
                if isinstance(node, ast.Delete):
                    bound -= stored
                elif isinstance(node, COMPUTING):
                    bound |= stored
                continue
        found = [reads_unbound(side, bound) for side in sides]
        unsure = unsure.union(read, *[names for names, _ in found])
        ends = [names for _, names in found if names is not None]
        if not ends:
            return unsure, None
        bound = ends[0].intersection(*ends[1:])
    return unsure, bound


def parameters_of(node: Any) -> frozenset[str]:
    """The names of the parameters of a function."""
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    given += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
    return frozenset(one.arg for one in given)


def needed_bound(node: Any, places: Places) -> frozenset[str]:
    """The names that a function reads where they may not be bound, deletes, or binds inside of an
    expression: of all others nobody sees if a statement has bound them that may not run."""
    others = places.all(ast.NamedExpr, ast.Delete, Unbind)
    unbound = reads_unbound(node.body, parameters_of(node))[0]
    return unbound.union(*[names_of(one, NONE)[0] for one in others])


def names_of(
    node: ast.AST, bound: frozenset[str], is_deep: bool = True
) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a statement or expression assigns, and those that it reads where they may not
    be bound; `is_deep` says whether the blocks in it count."""
    stored, loaded = set[str](), set[str]()
    waiting: list[tuple[ast.AST, bool]] = [(node, True)]
    while waiting:
        one, is_own = waiting.pop()
        if type(one) is ast.Name:
            is_read = type(one.ctx) is ast.Load or not is_own
            (loaded if is_read else stored).add(one.id)
            continue
        if type(one) not in _TELLING:
            is_head = one is node and not is_deep
            waiting += [(child, is_own) for child in children_of(one, is_head)]
            continue
        match one:
            case ast.AnnAssign(target=ast.Name(), value=None):
                continue  # which binds nothing
            case ast.comprehension() if isinstance(node, COMPREHENSIONS):
                waiting += [(x, is_own) for x in (one.iter, *one.ifs)]
                continue
            case _ if isinstance(one, COMPREHENSIONS) and one is not node:
                inner = names_of(one, NONE)
                stored |= inner[0] if is_own else NONE
                loaded |= inner[1]
                continue
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ) if is_own:
                stored.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                stored |= {(x.asname or x.name).split(".")[0] for x in names}
            case ast.arg():
                continue
        inside = is_own and not isinstance(one, SCOPES)
        is_head = one is node and not is_deep
        waiting += [(child, inside) for child in children_of(one, is_head)]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        loaded.add(node.target.id)
    if isinstance(node, COMPREHENSIONS):
        hidden = {name for one in node.generators for name in names_of(one.target, NONE)[0]}
        first = names_of(node.generators[0].iter, NONE)[1]
        loaded = (loaded - hidden) | first
    return frozenset(stored), frozenset(loaded - bound)


_TELLING = frozenset(
    (
        ast.AnnAssign,
        ast.comprehension,
        *COMPREHENSIONS,
        *SCOPES,
        ast.Import,
        ast.ImportFrom,
        ast.arg,
    )
)
"""The kinds of syntax, besides `Name`, that `names_of` does more with than go through."""


def names_at(node: Any) -> Iterator[str]:
    """The names that a node itself has."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield (other or name).partition(".")[0]
        case _:
            names = [getattr(node, field, None) for field in ("name", "rest")]
            yield from (name for name in names if isinstance(name, str))


def mentioned_in(node: ast.AST) -> set[str]:
    """The names in a statement."""
    return {name for one in nodes_in(node) for name in names_at(one)}
