"""Lowering: make each choice a separate statement, and let no side end early.

`x = a if test else b` becomes an `if`; `and`, `or`, `not` and chains in a test are asked part by
part. What follows `continue` or `return` at the end of a side moves into the other side. A loop
over elements that `break` or `return` leaves has a flag instead, after which its steps do nothing.
A name that a loop is the first to bind is bound before it, and unbound after it if no step ran.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import Any

from tracejit.convert.glue import (
    RESULT,
    UNBOUND,
    UNSET,
    Dead,
    Round,
    Turn,
    Unbind,
    constant,
    holds,
    load,
    store,
)
from tracejit.convert.scopes import (
    COMPREHENSIONS,
    COMPUTING,
    NONE,
    Places,
    is_between,
    mentioned_in,
    names_of,
    reads_unbound,
)
from tracejit.convert.syntax import at, nodes_in, operation

MOST_RETURNS = 7
"""Statements of one block that end early."""


_PLAIN_TESTS = frozenset(("isinstance", "issubclass", "hasattr", "callable"))


_BY_OBJECT = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


_THROUGH_ALL = frozenset(("sum", "max", "min", "list", "tuple"))
"""Builtins that go through all of what they are given, and call nothing of it."""


_SCOPED = (*COMPREHENSIONS, ast.Lambda, ast.NamedExpr)


SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await)


class Lowering:
    """Statements in which a choice is a statement of its own, and ends of sides are not jumps."""

    def __init__(self, places: Places, needed: Set[str]) -> None:
        """Begin with no names of its own. Of the user's, these are `needed` to be bound or not as
        Python has them."""
        self.count = 0
        self.needed = needed
        self.places = places
        self.declared = {one.arg for one in places.all(ast.arg)}
        self.declared.update(*[one.names for one in places.all(ast.Global, ast.Nonlocal)])
        self.open: list[tuple[Any, Any]] = []  # the first statement of each block, and this one
        self.loops = 0
        self.attempts = 0

    def name(self) -> str:
        """A new name that no function of the user's has."""
        self.count += 1
        return f".{self.count}"

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block, lowered."""
        found: list[ast.stmt] = []
        for statement in statements:
            self.open.append((statements[0], statement))
            found += self.statement(statement)
            self.open.pop()
        return found

    def is_mentioned(self, name: str) -> bool:
        """Return whether a name is one of the function's before the statement that is lowered."""
        return name in self.declared or any(
            is_between(numbers.get(name, ()), first.number, this.number - 1)
            for first, this in self.open
            for numbers in (self.places.names, self.places.others)
        )

    def statement(self, node: Any) -> list[ast.stmt]:
        """The statements in place of one."""
        before: list[ast.stmt] = []
        match node:
            case (
                ast.Assign()
                | ast.Expr()
                | ast.Return(value=ast.expr())
                | ast.AnnAssign(target=ast.Name(), value=ast.expr())
                | ast.AugAssign(target=ast.Name())
            ):
                assigned: Any = node
                if not _has_choices(assigned.value):
                    return [node]
                others = mentioned_in(assigned.value)
                assigned.value = self._lifted(assigned.value, before)
                own = sorted(mentioned_in(assigned.value) - others)
                is_over = isinstance(node, ast.Return)
                return [*before, node, *([] if is_over else _let_go(own))]
            case ast.If():
                node.test = self.lifted(node.test, before)
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                return before + self.asked(node)
            case ast.Assert():
                node.test = self.lifted(node.test, before)
                if not is_plain(node.test) and _has_parts(node.test):
                    name = self.name()
                    before += self.parts(node.test, name)
                    node.test = load(node.test, name)
            case ast.For() | ast.While():
                self.loops += 1
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                self.loops -= 1
                return self.loop(node)
            case ast.With() | ast.AsyncWith() | ast.AsyncFor() | ast.Try():
                self.inside(node)
            case ast.Match():
                for case in node.cases:
                    case.body = self.block(case.body)
            case _ if type(node).__name__ == "TryStar":
                self.inside(node)
        return [*before, node]

    def loop(self, node: Any) -> list[ast.stmt]:
        """A loop of whose body no step ends early; one over elements is not left, either."""
        self.end_steps(node, ast.Continue)
        written = node.body
        if isinstance(node, ast.While) and (suspends(node.test) or _assigns(node.test)):
            return [node]
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        flags: list[str] = []
        if any(jumps_by(one, ast.Return) for one in node.body):
            value, flag = self.name(), self.name()
            end = partial(_returned, value, flag)
            body = without_jumps(node.body, ast.Return, end, is_last=False)
            if body is not None:
                node.body = body
                flags.append(flag)
                before.append(at(node, ast.Assign([store(node, value)], _unbound(node))))
                ends = [at(node, ast.Return(load(node, value)))]
                after.append(at(node, ast.If(load(node, flag), ends, [])))
        if any(jumps_by(one, ast.Break) for one in node.body):
            flag = self.name()
            body = without_jumps(node.body, ast.Break, partial(_left, flag))
            if body is None and node.orelse:
                node.body = written
                return [node]
            if body is not None:
                node.body = body
                flags.append(flag)
                if node.orelse:
                    over: list[ast.stmt] = [at(node, ast.Pass())]
                    after.append(at(node, ast.If(load(node, flag), over, node.orelse)))
                    node.orelse = []
        after += node.orelse if flags else []
        node.orelse = [] if flags else node.orelse
        if node.orelse:
            return [node]
        bound_before, unbound_after = self.told_apart(node, flags)
        before += bound_before
        after[:0] = unbound_after
        if isinstance(node, ast.While):
            if not flags and is_plain(node.test):
                return [node]
            started = [at(node, ast.Assign([store(node, x)], constant(node, False))) for x in flags]
            return [*before, *started, self.turn(node, flags), *after]
        if flags:
            node = self.guard(node, flags, before)
        return [*before, node, *after]

    def told_apart(self, node: Any, flags: list[str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements before and after a loop by which the names that it binds first are unbound
        where no step has bound them. A step that may not bind one notes that it does."""
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        place = node.iter if isinstance(node, ast.For) else node.test
        is_endless = isinstance(place, ast.Constant)
        has_steps = isinstance(node, ast.For) or is_endless
        found = self.first_bound(node)
        sure = (reads_unbound(node.body, NONE)[1] or NONE) if found and has_steps else NONE
        if isinstance(node, ast.For):
            sure |= names_of(node.target, NONE)[0]
            found -= NONE if flags else sure
        for name in sorted(found):
            is_unbound: ast.expr = holds(name, UNSET)
            before.append(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(UNSET)))
            if name not in sure:
                noted = self.name()
                if not _note_bound(node.body, name, noted):
                    del before[-1]
                    continue
                before.append(at(node, ast.Assign([store(node, noted)], constant(node, False))))
                is_unbound = at(place, ast.UnaryOp(ast.Not(), load(place, noted)))
            gone: list[ast.stmt] = [ast.Delete([ast.Name(name, ast.Del())])]
            after.append(Unbind(is_unbound, gone, []))
        return before, after

    def turn(self, node: ast.While, flags: list[str]) -> Turn:
        """A loop whose test is asked part by part, after the flags."""
        name = self.name()
        negated: list[Any] = [
            at(node.test, ast.UnaryOp(ast.Not(), load(node.test, flag))) for flag in flags
        ]
        test = node.test
        if isinstance(test, ast.Constant) and test.value and len(negated) == 1:
            test = negated[0]
        elif negated:
            test = at(test, ast.BoolOp(ast.And(), [*negated, test]))
        kind: Any = Turn
        turn = at(node, kind(self.block(self.parts(test, name)), node.body))
        turn.answer, turn.flags = name, flags
        made: Turn = turn
        return made

    def guard(self, node: ast.For, flags: list[str], before: list[ast.stmt]) -> Round:
        """A loop whose steps do nothing from one on that sets a flag; where Python knows the flag,
        it leaves the loop there."""
        element, iterable = self.name(), self.name()
        given = at(node.target, ast.Assign([node.target], load(node.target, element)))
        body = [given, *_let_go([element]), *node.body]
        before.append(at(node.iter, ast.Assign([store(node.iter, iterable)], node.iter)))
        for flag in flags:
            started = operation("flag", node.iter, load(node.iter, iterable))
            before.append(at(node.iter, ast.Assign([store(node.iter, flag)], started)))
            over = _let_go([element])  # as the other side does
            body = [ast.If(at(node.target, load(node.target, flag)), over, body)]
        kind: Any = Round
        given_to, element_of = store(node.target, element), load(node.iter, iterable)
        made: Round = at(node, kind(given_to, element_of, body, []))
        made.iterable, made.flags = iterable, flags
        return made

    def end_steps(self, node: Any, jump: type[ast.stmt]) -> None:
        """Let no step of a loop end early."""
        if any(jumps_by(one, jump) for one in node.body):
            node.body = without_jumps(node.body, jump, _nothing) or node.body

    def first_bound(self, loop: Any) -> set[str]:
        """The names that a loop binds first, and others read after it."""
        if self.loops or self.attempts:  # the loop around may have, a handler may see them
            return set()
        parts = [*loop.body, loop.target] if isinstance(loop, ast.For) else loop.body
        stored = set[str]().union(*[names_of(part, NONE)[0] for part in parts])
        found: set[str] = set()
        for name in stored & self.needed:
            numbers = self.places.names.get(name, ())
            if numbers and not loop.number <= numbers[0] <= numbers[-1] <= loop.last:
                found |= NONE if self.is_mentioned(name) else {name}
        if not found:
            return set()
        unsure = reads_unbound([loop], NONE)[0]
        return found - unsure

    def inside(self, node: Any) -> None:
        """Lower the blocks of a statement, which may end early."""
        self.attempts += 1
        for field in ("body", "orelse", "finalbody"):
            if hasattr(node, field):
                setattr(node, field, self.block(getattr(node, field)))
        for handler in getattr(node, "handlers", ()):
            handler.body = self.block(handler.body)
        self.attempts -= 1

    def asked(self, node: ast.If) -> list[ast.stmt]:
        """A statement whose test is asked part by part."""
        while isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
            node.test = node.test.operand
            sides = node.orelse or [at(node.body[-1], ast.Pass())], node.body
            node.body, node.orelse = sides
        node.test = _as_pairs(node.test)
        if is_plain(node.test) or not isinstance(node.test, ast.BoolOp):
            return [node]
        name = self.name()
        found = self.parts(node.test, name)
        node.test = load(node.test, name)
        return [*found, node]

    def parts(self, test: Any, name: str, is_negated: bool = False) -> list[ast.stmt]:
        """Statements that give a name the answer of a test, or of its negation."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, is_negated = test.operand, not is_negated
        test = _as_pairs(test)
        if not isinstance(test, ast.BoolOp):
            asked = operation("ask", test, test, constant(test, is_negated))
            return [at(test, ast.Assign([store(test, name)], asked))]
        found = self.parts(test.values[0], name, is_negated)
        for one in test.values[1:]:
            rest = self.parts(one, name, is_negated)
            nothing: list[ast.stmt] = [at(one, ast.Pass())]
            is_and = isinstance(test.op, ast.And) is not is_negated
            sides = (rest, []) if is_and else (nothing, rest)
            found.append(at(one, ast.If(load(one, name), *sides)))
        return found

    # Expressions

    def lifted(self, node: Any, before: list[ast.stmt]) -> Any:
        """An expression without its choices, which statements `before` make."""
        return self._lifted(node, before) if _has_choices(node) else node

    def _lifted(self, node: Any, before: list[ast.stmt]) -> Any:
        if isinstance(node, ast.IfExp):
            return node if is_plain(node.test) else self.chosen(node, before)
        if isinstance(node, ast.ListComp):
            return self.listed(node, before) if _has_choice(node) else node
        node = self.of_list(node)
        parts = _evaluated(node)
        last = max((i for i, (_, _, one) in enumerate(parts) if _has_choice(one)), default=-1)
        for holder, field, one in parts[: last + 1]:
            is_last = one is parts[last][2]
            new = self._lifted(one, before)
            if not is_last and not isinstance(new, ast.Name | ast.Constant):
                name = self.name()
                before.append(at(new, ast.Assign([store(new, name)], new)))
                new = load(new, name)
            if isinstance(field, int):
                holder[field] = new
            else:
                setattr(holder, field, new)
        return node

    def of_list(self, node: Any) -> Any:
        """An expression; a call of a builtin that goes through a generator, with a list of its
        elements, if these are choices."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as one], keywords=[]):
                is_own = name in self.declared or name in self.places.others
                named = self.places.all(ast.Name)
                is_own |= any(x.id == name and isinstance(x.ctx, ast.Store) for x in named)
                listed = at(one, ast.ListComp(one.elt, one.generators))
                if name in _THROUGH_ALL and not is_own and _has_choice(listed):
                    return at(node, ast.Call(node.func, [listed], []))
        return node

    def listed(self, node: ast.ListComp, before: list[ast.stmt]) -> ast.Name:
        """The name of a list that statements make, an element in each step of a loop."""
        (one,), name = node.generators, self.name()
        names = {x.id: self.name() for x in nodes_in(one.target) if isinstance(x, ast.Name)}
        for inside in [*nodes_in(one.target), *nodes_in(node.elt)]:
            if isinstance(inside, ast.Name):
                inside.id = names.get(inside.id, inside.id)
        append = at(node.elt, ast.Attribute(load(node.elt, name), "append", ast.Load()))
        added = at(node.elt, ast.Expr(at(node.elt, ast.Call(append, [node.elt], []))))
        body = [added, *_let_go([*names.values()])]
        made = at(node, ast.List([], ast.Load()))
        before.append(at(node, ast.Assign([store(node, name)], made)))
        before += self.statement(at(node, ast.For(one.target, one.iter, body, [])))
        return load(node, name)

    def chosen(self, node: ast.IfExp, before: list[ast.stmt]) -> ast.Name:
        """The name of what one of two expressions is, which a statement makes."""
        name = self.name()
        sides = [
            [at(side, ast.Assign([store(side, name)], side))] for side in (node.body, node.orelse)
        ]
        before += self.statement(at(node, ast.If(node.test, *sides)))
        return load(node, name)


def _note_bound(block: list[ast.stmt], name: str, noted: str) -> bool:
    """Let a block note that it binds a name; return whether it can."""
    places: list[tuple[list[ast.stmt], int]] = []
    waiting = [block]
    while waiting:
        inside = waiting.pop()
        for index, node in enumerate(inside):
            blocks = [getattr(node, field, None) or [] for field in ("body", "orelse")]
            is_block = isinstance(node, ast.If | ast.While | ast.For)
            if is_block:
                waiting += blocks
            if name not in names_of(node, NONE, is_deep=not is_block)[0]:
                continue
            if is_block and not isinstance(node, ast.For):
                return False
            places.append((blocks[0], 0) if is_block else (inside, index + 1))
            if not isinstance(node, (ast.For, *COMPUTING)):
                return False
    for inside, index in sorted(places, key=lambda one: -one[1]):
        inside.insert(index, ast.Assign([ast.Name(noted, ast.Store())], ast.Constant(True)))
    return True


def _let_go(names: Sequence[str]) -> list[ast.stmt]:
    """Statements after which names of no user's hold nothing."""
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    none = ast.Constant(None)
    return [ast.Assign(targets, none)] if targets else []


def _assigns(node: ast.AST) -> bool:
    return any(isinstance(one, ast.NamedExpr) for one in nodes_in(node))


def _has_choices(node: ast.AST) -> bool:
    """Return whether an expression has choices, which statements can make."""
    kinds = {type(one) for one in nodes_in(node)}
    return ast.IfExp in kinds and kinds.isdisjoint((ast.NamedExpr, *SUSPENDING))


def _evaluated(node: Any) -> list[tuple[Any, Any, Any]]:
    """The parts of an expression that Python evaluates once each, in that order: (holder, field or
    index, part). Nothing where it may not evaluate them."""
    match node:
        case ast.BinOp():
            return [(node, "left", node.left), (node, "right", node.right)]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert()):
            return [(node, "operand", node.operand)]
        case ast.Compare(ops=[_], comparators=[right]):
            return [(node, "left", node.left), (node.comparators, 0, right)]
        case ast.Tuple() | ast.List() if not _has_star(node.elts):
            return [(node.elts, i, one) for i, one in enumerate(node.elts)]
        case ast.Subscript():
            return [(node, "value", node.value), (node, "slice", node.slice)]
        case ast.Attribute():
            return [(node, "value", node.value)]
        case ast.Call() if not _has_star(node.args) and all(one.arg for one in node.keywords):
            found: list[tuple[Any, Any, Any]] = [(node, "func", node.func)]
            found += [(node.args, i, one) for i, one in enumerate(node.args)]
            return found + [(one, "value", one.value) for one in node.keywords]
    return []


def _has_star(nodes: Sequence[ast.expr]) -> bool:
    return any(isinstance(one, ast.Starred) for one in nodes)


def _has_choice(node: Any) -> bool:
    match node:
        case ast.IfExp():
            return not is_plain(node.test)
        case ast.ListComp(elt=elt, generators=[ast.comprehension(ifs=[], is_async=0) as one]):
            is_simple = not any(isinstance(x, _SCOPED) for x in nodes_in(elt))
            targets = (ast.Name, ast.Tuple, ast.List)
            is_simple &= all(isinstance(x, targets) for x in nodes_in(one.target))
            return is_simple and _has_choice(elt)
        case ast.Call(args=[ast.GeneratorExp(elt=elt, generators=generators)], keywords=[]):
            return _has_choice(ast.ListComp(elt, generators))
    return any(_has_choice(one) for _, _, one in _evaluated(node))


def _has_parts(test: Any) -> bool:
    """Return whether the parts of a test are asked one by one."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return isinstance(_as_pairs(test), ast.BoolOp)


def _as_pairs(test: Any) -> Any:
    """A chain of comparisons as comparisons of pairs, where what is in two of them is a name."""
    match test:
        case ast.Compare(left=left, ops=ops, comparators=others) if len(ops) > 1:
            if all(isinstance(one, ast.Name | ast.Constant) for one in others[:-1]):
                firsts = [left, *others[:-1]]
                pairs = zip(firsts, ops, others, strict=True)
                values = [at(test, ast.Compare(a, [op], [b])) for a, op, b in pairs]
                return at(test, ast.BoolOp(ast.And(), values))
    return test


def is_plain(test: Any) -> bool:
    """Return whether the text of a test says that nothing recorded answers it."""
    match test:
        case ast.Constant():
            return True
        case ast.Compare(left=left, ops=ops, comparators=others):
            texts = [isinstance(one, ast.Constant) and type(one.value) is str for one in others]
            is_text = isinstance(left, ast.Constant) and type(left.value) is str
            return is_text or any(texts) or all(isinstance(op, _BY_OBJECT) for op in ops)
        case ast.Call(func=ast.Name(id=name)):
            return name in _PLAIN_TESTS
        case ast.BoolOp(values=values):
            return all(map(is_plain, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return is_plain(operand)
    return False


def jumps_by(node: ast.AST, jump: type[ast.stmt]) -> bool:
    """Return whether a statement ends the block around it on a side of its own."""
    if isinstance(node, jump):
        return True
    if not isinstance(node, ast.If):
        return False
    return any(jumps_by(one, jump) for one in (*node.body, *node.orelse))


def ends_at(block: Sequence[ast.stmt], jump: type[ast.stmt]) -> bool:
    """Return whether a block always ends at a jump, or raises."""
    for node in block:
        if isinstance(node, (jump, ast.Raise)):
            return True
        if isinstance(node, ast.If) and ends_at(node.body, jump) and ends_at(node.orelse, jump):
            return True
    return False


def without_jumps(
    block: Sequence[ast.stmt],
    jump: type[ast.stmt],
    end: Callable[[Any], list[ast.stmt]],
    depth: int = 0,
    is_last: bool = True,
) -> list[ast.stmt] | None:
    """A block without jumps, in whose place `end` answers statements. What follows a statement one
    of whose sides jumps moves into the other side. None if it cannot be. Where a function
    returns, a block that `is_last` returns None after all."""
    found: list[ast.stmt] = []
    for index, node in enumerate(block):
        if isinstance(node, jump):
            rest = [*block[index + 1 :]]
            never = ast.Constant(False)
            return [*found, *end(node), *([Dead(never, rest, [])] if rest else [])]
        if isinstance(node, ast.If) and jumps_by(node, jump):
            sides = _with_rest(node, block[index + 1 :], jump)
            if sides is None or depth > MOST_RETURNS:
                return None
            body, other = (without_jumps(side, jump, end, depth + 1, is_last) for side in sides)
            if body is None or other is None:
                return None
            return [*found, at(node, ast.If(node.test, body or [at(node, ast.Pass())], other))]
        found.append(node)
    is_over = jump is not ast.Return or not is_last or ends_at(block, jump)
    return found if is_over else [*found, _no_result()]


def _with_rest(
    node: ast.If, rest: Sequence[ast.stmt], jump: type[ast.stmt]
) -> tuple[Sequence[ast.stmt], Sequence[ast.stmt]] | None:
    """The sides of a statement, with what follows it on the one that goes on."""
    if rest and ends_at(node.body, jump) == ends_at(node.orelse, jump):
        return None
    if rest and ends_at(node.body, jump):
        return node.body, [*node.orelse, *rest]
    return ([*node.body, *rest], node.orelse) if rest else (node.body, node.orelse)


def _nothing(node: ast.stmt) -> list[ast.stmt]:
    """The statements in place of `continue` at the end of a step."""
    return [at(node, ast.Pass())]


def _left(flag: str, node: ast.stmt) -> list[ast.stmt]:
    """The statements in place of `break` at the end of a step."""
    return [at(node, ast.Assign([store(node, flag)], constant(node, True)))]


def returned_last(node: Any) -> list[ast.stmt]:
    """The statements in place of `return` at the end of a function."""
    value = node.value or constant(node, None)
    return [at(node, ast.Assign([store(node, RESULT)], value))]


def _returned(name: str, flag: str, node: Any) -> list[ast.stmt]:
    """The statements in place of `return` at the end of a step."""
    value = node.value or constant(node, None)
    return [at(node, ast.Assign([store(node, name)], value)), *_left(flag, node)]


def _unbound(place: Any) -> ast.Constant:
    """A value that is read only where another was assigned."""
    return constant(place, UNBOUND)


def _no_result() -> ast.stmt:
    none = ast.Constant(None)
    return ast.Assign([ast.Name(RESULT, ast.Store())], none)


def suspends(node: ast.AST) -> bool:
    """Return whether a function or statement hands over to its caller."""
    return any(isinstance(one, SUSPENDING) for one in nodes_in(node))
