"""Names that statements and expressions assign and read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from tracejit.convert.glue import Dead, Turn, constant
from tracejit.convert.syntax import at

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
NONE = frozenset[str]()
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPUTING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Pass, ast.Assert)
Bound = tuple[frozenset[str], frozenset[str] | None]


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


def names_of(
    node: ast.AST, bound: frozenset[str], is_deep: bool = True
) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a statement or expression assigns, and those that it reads where they may not
    be bound; `is_deep` says whether the blocks in it count."""
    stored, loaded = set[str](), set[str]()
    waiting: list[tuple[ast.AST, bool]] = [(node, True)]
    while waiting:
        one, is_own = waiting.pop()
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if is_own:
                stored.add(name)
            case ast.Name(id=name):
                loaded.add(name)
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
        for field, value in ast.iter_fields(one):
            is_block = field in ("body", "orelse", "finalbody", "handlers", "cases")
            if is_block and not is_deep and one is node:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    waiting.append((child, inside))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        loaded.add(node.target.id)
    if isinstance(node, COMPREHENSIONS):
        hidden = {name for one in node.generators for name in names_of(one.target, NONE)[0]}
        first = names_of(node.generators[0].iter, NONE)[1]
        loaded = (loaded - hidden) | first
    return frozenset(stored), frozenset(loaded - bound)


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
    return {name for one in ast.walk(node) for name in names_at(one)}
