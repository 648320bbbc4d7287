"""Rewriting of `if` and `for`: both sides of an `if` can run, in turn, and one step of
a `for` can run for all, in the user's frame.

`if test: A else: B`, which assign `x`, becomes

    .f1 = branch(test, where, 1, x)
    while True:
        try:
            if .f1:
                A
                if .f1 is not True:
                    (x,) = .f1.other(x)
            if .f1 is not True:
                B
                if .f1 is not False:
                    (x,) = .f1.merged(x)
            break
        except () if .f1 is True or .f1 is False else .f1.errors:
            (x,) = .f1.again()
            .f1 = .f1.outcome()

`branch` returns True or False, and Python takes that side, as it would; or an object, a fork, for
which A runs, then B, from what `x` was before. Where a side cannot run for both, the fork catches
what it raises, and Python takes one side. What is added has no line, so debuggers, coverage and
tracebacks see the user's statements alone.

`for x in xs: A`, which assigns `y`, becomes

    .i2 = xs
    .w2 = rounds(.i2, where, 2, ..., y)
    while True:
        try:
            for x in .i2 if .w2 is None else .w2:
                if .w2 is not None:
                    (y,) = .w2.begin()
                A
                if .w2 is not None:
                    (y,) = .w2.turned(y)
            break
        except () if .w2 is None else .w2.errors:
            (y,) = .w2.again()
            .w2 = .w2.outcome()

`rounds` returns None, and Python goes over the elements; or an object that gives one element for
all, with a `y` that stands for what each step begins with.

Two kinds of syntax become such statements first: `x = a if test else b`, and `continue` or `return`
at the end of a side, after which the rest moves into the other side. `and`, `or`, `not` and chains
in a test are asked part by part.

A statement stays as it is written where a side jumps, where a name is bound on one side alone and
read elsewhere, or where the function can look at its own names.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.convert.glue import (
    RESULT,
    Again,
    Dead,
    Give,
    Handler,
    Origin,
    Release,
    Round,
    Tell,
    Turn,
    Unbind,
    Way,
    called,
    constant,
    differs,
    given_by,
    holds,
    load,
    name_of,
    nowhere,
    released,
    store,
    way,
)
from tracejit.convert.lowering import (
    SUSPENDING,
    Lowering,
    ends_at,
    is_plain,
    jumps_by,
    returned_last,
    without_jumps,
)
from tracejit.convert.scopes import (
    COMPUTING,
    NONE,
    Places,
    is_between,
    names_at,
    names_of,
    needed_bound,
    parameters_of,
)
from tracejit.convert.syntax import at, children_of, nodes_in, operation

MOST_BLOCKS = 16
"""Blocks of Python's in one another; it takes 20."""


MOST_NAMES = 40
"""Names that the sides of one statement assign."""


DEEPEST = 60
"""Statements in one another in a function of which anything is rewritten."""

_FRAMES = frozenset(("locals", "eval", "exec", "vars", "dir"))
_SINGLE = (None, True, False, ...)


def with_branches(node: Any, where: int) -> None:
    """Rewrite the statements `if`, `while` and `for` of a function that can be rewritten."""
    if isinstance(node, ast.Lambda):
        return
    places = Places(node)
    if not _may_be_rewritten(node, places):
        return
    body = Lowering(places, needed_bound(node, places)).block(node.body)
    returns = any(isinstance(one, ast.If) and jumps_by(one, ast.Return) for one in body)
    is_whole = returns and not places.all(*SUSPENDING)
    ended = without_jumps(body, ast.Return, returned_last) if is_whole else None
    node.body = body if ended is None else [*ended, _returning(node)]
    _Branching(node, where, Places(node)).run()
    _place_nowhere(node)


def _returning(node: Any) -> ast.stmt:
    """The last statement of a function each of whose ends gives the result a name."""
    line = {"lineno": node.lineno, "end_lineno": node.lineno, "col_offset": 0, "end_col_offset": 0}
    place = ast.Pass(**line if _TAKES_LINES else {})
    made: ast.stmt = at(place, ast.Return(load(place, RESULT)))
    return made


_TAKES_LINES = sys.version_info[:2] == (3, 12)
"""Copies of an end at no place are at the line before it in the text, which may not have run."""


def _place_nowhere(node: ast.AST) -> None:
    """Let what was added to a function stand at no place; an expression has one with its parts."""
    waiting = [node]
    for one in waiting:  # which grows
        is_placed = hasattr(one, "lineno")
        if not is_placed:
            nowhere(one)
        if not (is_placed and isinstance(one, ast.expr)):
            waiting += children_of(one)


def _may_be_rewritten(node: Any, places: Places) -> bool:
    """Return whether a function has statements to rewrite, and cannot see that they are."""
    has_choice = bool(places.all(ast.If, ast.IfExp, ast.While, ast.For))
    if not has_choice or not _FRAMES.isdisjoint(places.names):
        return False
    for one in places.all(ast.Compare):
        for op, other in zip(one.ops, one.comparators, strict=True):
            is_single = isinstance(other, ast.Constant) and other.value in _SINGLE
            if isinstance(op, ast.Is | ast.IsNot) and not is_single:
                return False
    return _depth(node) <= DEEPEST


def _depth(node: Any) -> int:
    deepest, waiting = 0, [(node, 0)]
    while waiting:
        one, depth = waiting.pop()
        deepest = max(deepest, depth)
        for field in ("body", "orelse", "finalbody"):
            waiting += [(child, depth + 1) for child in getattr(one, field, ())]
    return deepest


def _place_of(node: Turn) -> Any:
    """The place of the test of a loop."""
    asked: Any = node.asking[0]
    return asked.value if isinstance(asked, ast.Assign) else asked


class _Block(NamedTuple):
    """A block with its statements rewritten. `bound` are the names that are bound after it, None if
    it never ends; `stored` those that it assigns; `unsure` those that it reads where they may not
    be bound; `height` is how many blocks of Python's are in one another in it."""

    statements: list[ast.stmt]
    bound: frozenset[str] | None
    stored: frozenset[str]
    unsure: frozenset[str]
    height: int
    jumps: bool
    is_computing: bool


class _Branching:
    """The statements of one function while they are rewritten."""

    def __init__(self, node: Any, where: int, places: Places) -> None:
        """Begin with its parameters."""
        self.node = node
        self.where = where
        self.number = 0
        self.places = places.ends()
        self.suspending = sorted(number for kind in SUSPENDING for number, _ in places.found[kind])
        self.checks: list[int] = []  # the statements that may raise, and else do nothing
        subscripts = places.found[ast.Subscript]
        self.writes = [number for number, one in subscripts if isinstance(one.ctx, ast.Store)]
        self.declared: set[str] = set()  # elsewhere, or unbound somewhere
        self.declared.update(*[one.names for one in places.all(ast.Global, ast.Nonlocal)])
        self.declared.update(one.name for one in places.all(ast.ExceptHandler) if one.name)
        for one in places.all(ast.Delete):
            if hasattr(one, "lineno"):  # the user's
                self.declared |= {x.id for x in one.targets if isinstance(x, ast.Name)}
        self.unbound = needed_bound(node, places)
        kinds = (ast.For, ast.While, Round, Turn)
        self.loops = sorted(number for kind in kinds for number, _ in places.found[kind])
        self.ifs = [number for number, _ in places.found[ast.If]]

    def run(self) -> None:
        """Rewrite the body."""
        bound = parameters_of(self.node)
        self.node.body = self.block(self.node.body, bound, 0).statements

    def block(self, statements: Sequence[ast.stmt], bound: frozenset[str], depth: int) -> _Block:
        """Rewrite a block, in which so many blocks of the user's are open."""
        made: list[ast.stmt] = []
        stored, unsure = set[str](), set[str]()
        height, jumps, is_computing = 0, False, True
        known: frozenset[str] | None = bound
        for one in statements:
            found = self.statement(one, bound if known is None else known, depth)
            made += found.statements
            stored |= found.stored
            unsure |= found.unsure
            height = max(height, found.height)
            jumps |= found.jumps
            is_computing &= found.is_computing
            known = None if known is None else found.bound
        return _Block(
            made, known, frozenset(stored), frozenset(unsure), height, jumps, is_computing
        )

    def statement(self, node: Any, bound: frozenset[str], depth: int) -> _Block:
        """Rewrite a statement."""
        match node:
            case Release():
                return _Block([node], bound, NONE, NONE, 0, False, True)
            case Dead():
                node.body = self.block(node.body, bound, depth + 1).statements
                return _Block([node], bound, NONE, NONE, 1, False, True)
            case Unbind():
                return _Block([node], bound - names_of(node, bound)[0], NONE, NONE, 0, False, True)
            case ast.If():
                return self.choice(node, bound, depth)
            case Turn():
                return self.turn(node, bound, depth)
            case ast.For() | ast.While():
                return self.loop(node, bound, depth)
            case ast.With() | ast.AsyncWith() | ast.AsyncFor():
                stored, unsure = names_of(node, bound, is_deep=False)
                inner = self.block(node.body, bound | stored, depth + 1)
                node.body = inner.statements
                after = inner.bound if isinstance(node, ast.With) else bound
                return self.other([node], [inner], after, stored, unsure)
            case ast.Match():
                inners = []
                for case in node.cases:
                    captured = frozenset(
                        name
                        for one in nodes_in(case.pattern)
                        if isinstance(one, ast.pattern)
                        for name in names_at(one)
                    )
                    inner = self.block(case.body, bound | captured, depth)
                    case.body = inner.statements
                    inners.append(inner._replace(stored=inner.stored | captured))
                return self.other([node], inners, bound, *names_of(node, bound, is_deep=False))
            case ast.Break() | ast.Continue():
                return _Block([node], None, NONE, NONE, 0, True, True)
            case ast.Return() | ast.Raise():
                return _Block([node], None, *names_of(node, bound), 0, False, False)
            case ast.Delete():
                gone, unsure = names_of(node, bound)
                gone |= {one.id for one in node.targets if isinstance(one, ast.Name)}
                return _Block([node], bound - gone, gone, unsure, 0, False, False)
        if type(node).__name__ in ("Try", "TryStar"):
            return self.attempt(node, bound, depth)
        stored, unsure = names_of(node, bound)
        if isinstance(node, ast.Assert):
            self.check(node, is_error=False)
        is_computing = isinstance(node, (*COMPUTING, ast.FunctionDef))
        is_computing = is_computing and not is_between(self.suspending, node.number, node.last)
        return _Block([node], _with(bound, stored), stored, unsure, 0, False, is_computing)

    def other(
        self,
        statements: list[ast.stmt],
        inner: Sequence[_Block],
        bound: frozenset[str] | None,
        stored: frozenset[str],
        unsure: frozenset[str],
    ) -> _Block:
        """A statement in which nothing may fork that is around it."""
        stored = stored.union(*[one.stored for one in inner])
        unsure = unsure.union(*[one.unsure for one in inner])
        height = 1 + max([one.height for one in inner], default=0)
        return _Block(statements, bound, stored, unsure, height, False, False)

    def attempt(self, node: Any, bound: frozenset[str], depth: int) -> _Block:
        """Rewrite the blocks of `try`, after any of whose statements a handler may run."""
        inners = []
        for handler in node.handlers:
            name = frozenset([handler.name] if handler.name else [])
            inner = self.block(handler.body, bound | name, depth + 1)
            handler.body = inner.statements
            inners.append(inner._replace(stored=inner.stored | name))
        for field in ("body", "orelse", "finalbody"):
            inner = self.block(getattr(node, field), bound, depth + 1)
            setattr(node, field, inner.statements)
            inners.append(inner)
        gone = {handler.name for handler in node.handlers}
        return self.other([node], inners, bound - gone, NONE, NONE)

    def loop(self, node: Any, bound: frozenset[str], depth: int) -> _Block:
        """Rewrite the body of a loop, which may run or not, after itself. One step of `for` can
        stand for all if it may."""
        stored, unsure = names_of(node, bound, is_deep=False)
        inside = _with(bound, stored) if isinstance(node, ast.For) else bound
        body = self.block(node.body, inside, depth + 1)
        other = self.block(node.orelse, bound, depth)
        place = _range([node])
        node.body, node.orelse = body.statements, other.statements
        height = 1 + max(body.height, other.height)
        statements: list[ast.stmt] = [node]
        is_computing = body.is_computing and other.is_computing
        may_turn = isinstance(node, ast.For) and not node.orelse and not body.jumps
        if may_turn and is_computing and depth + height + 1 <= MOST_BLOCKS:
            names = self.names_of_loop(node, body, bound, place)
            if names is not None:
                statements = self.rounds(node, *names, place)
                height += 2
        if len(statements) == 1 and isinstance(node, Round):
            node.body[:0] = [released([node.iterable])]
            node.body += [Way(holds(flag, True), [ast.Break()], []) for flag in node.flags]
        return _Block(
            statements,
            bound,
            stored | body.stored | other.stored,
            unsure | body.unsure | other.unsure,
            height,
            other.jumps,
            is_computing,
        )

    def names_of_loop(
        self, node: ast.For, body: _Block, bound: frozenset[str], place: tuple[int, int]
    ) -> tuple[list[str], list[str]] | None:
        """The names that the steps of a loop hand on, and those that every step binds and that are
        read after it. None if another may be."""
        targets = _names_in(node.target)
        if targets is None or body.bound is None:
            return None
        stored = targets | body.stored
        if not stored.isdisjoint(self.declared) or len(stored) > MOST_NAMES:
            return None
        carried, new = [], []
        for name in sorted(stored):
            is_inside = self.is_unread(name, bound, place)
            if name in bound and name not in targets:
                carried.append(name)
            elif name in body.unsure or not (is_inside or name in targets | body.bound):
                return None
            elif not is_inside:
                new.append(name)
        return carried, new

    def rounds(
        self, node: ast.For, carried: list[str], new: list[str], inside: tuple[int, int]
    ) -> list[ast.stmt]:
        """The statements in place of a loop over elements of which one step may stand for all."""
        self.number += 1
        has_loop, has_if = [is_between(x, inside[0] + 1, inside[1]) for x in (self.loops, self.ifs)]
        rounds, place = f".w{self.number}", node.iter
        flags = node.flags if isinstance(node, Round) else []
        if isinstance(node, Round):
            iterable, started = node.iterable, []
        else:
            iterable = f".i{self.number}"
            started = [at(place, ast.Assign([store(place, iterable)], node.iter))]
        carried = [*flags, *[name for name in carried if name not in flags]]
        numbers = [self.where, self.number, has_loop, has_if, len(flags), len(new)]
        asked = operation(
            "rounds",
            place,
            load(place, iterable),
            *[constant(place, one) for one in numbers],
            *[load(place, name) for name in carried],
        )
        started.append(at(place, ast.Assign([store(place, rounds)], asked)))
        no_rounds, some_rounds = holds(rounds, None), differs(rounds, None)
        test = at(place, ast.Compare(load(place, rounds), [ast.Is()], [constant(place, None)]))
        node.iter = at(place, Origin(test, load(place, iterable), load(place, rounds)))
        names = [*carried, *new]
        begin = given_by(place, rounds, "begin", carried, is_asked=False)
        turned = given_by(place, rounds, "turned", names)
        left: list[ast.expr] = [holds(flag, True) for flag in flags]
        leave = [Way(ast.BoolOp(ast.And(), [no_rounds, one]), [ast.Break()], []) for one in left]
        node.body = [
            *([Way(some_rounds, [begin], [])] if carried else []),
            *node.body,
            *leave,
            Way(some_rounds, [turned], []),
        ]
        steps = _attempted([node, ast.Break()], place, rounds, carried, no_rounds)
        at(place, steps.body[0])  # debuggers see one line from the iterable on
        return [*started, at(place, steps), released([iterable, rounds])]

    def turn(self, node: Turn, bound: frozenset[str], depth: int) -> _Block:
        """Rewrite `while`, so that one step can stand for all if it may."""
        asking = self.block(node.asking, bound, depth + 1)
        body = self.block(node.body, asking.bound or bound, depth + 1)
        stored, unsure = asking.stored | body.stored, asking.unsure | body.unsure
        place = _range([node])
        is_computing = asking.is_computing and body.is_computing
        node.asking, node.body = asking.statements, body.statements
        height = 1 + max(asking.height, body.height)
        carried = sorted(name for name in stored if name in bound)
        others = [name for name in stored if name not in bound and name != node.answer]
        may_turn = is_computing and not body.jumps and depth + height + 1 <= MOST_BLOCKS
        may_turn = may_turn and stored.isdisjoint(self.declared) and len(stored) <= MOST_NAMES
        for name in others:
            may_turn = may_turn and self.is_unread(name, bound, place) and name not in unsure
        if may_turn:
            statements = self.turned(node, carried)
            height += 1
        else:
            statements = [_written_out(node)]
        return _Block(statements, bound, stored, unsure, height, False, is_computing)

    def turned(self, node: Turn, carried: list[str]) -> list[ast.stmt]:
        """The statements in place of a loop of which one step may stand for all."""
        self.number += 1
        turns, answer, place = f".w{self.number}", node.answer, _place_of(node)
        asked_before = f".a{self.number}"
        started = released([turns, asked_before])
        numbers = [constant(place, self.where), constant(place, self.number)]
        names = [load(place, name) for name in carried]
        asked = operation("turns", place, load(place, answer), *numbers, *names)
        leave: list[ast.stmt] = [ast.Break()]
        begin: list[ast.stmt] = [
            given_by(place, turns, "begin", carried, is_asked=False),
            ast.Continue(),
        ]
        is_known = ast.BoolOp(ast.Or(), [holds(answer, True), holds(answer, False)])
        no_turns = holds(turns, None)
        some_turns = differs(turns, None)
        is_odd = ast.BoolOp(ast.And(), [some_turns, is_known])
        undecided = at(place, ast.UnaryOp(ast.Not(), load(place, answer)))
        is_over = ast.Attribute(name_of(turns), "is_over", ast.Load())
        recorded: list[ast.stmt] = [
            Way(
                no_turns,
                [
                    at(place, ast.Assign([store(place, turns)], asked)),
                    Way(some_turns, begin, []),
                    Way(undecided, leave, []),
                ],
                [at(place, Tell(called(place, turns, "tested", [answer])))],
            )
        ]
        turned = [
            given_by(place, turns, "turned", carried),
            Way(is_over, leave, []),
        ]
        known = ast.Assign([name_of(answer, ast.Store())], name_of(asked_before))
        steps: list[ast.stmt] = [
            Way(holds(asked_before, None), node.asking, [known, released([asked_before])]),
            Way(is_odd, [at(place, Tell(called(place, turns, "refuse")))], []),
            Way(holds(answer, False), leave, []),
            Way(differs(answer, True), recorded, []),
            *node.body,
            Way(some_turns, turned, []),
        ]
        for flag in node.flags:
            is_left = ast.BoolOp(ast.And(), [no_turns, holds(flag, True)])
            steps.append(Way(is_left, leave, []))
        loop = _attempted(steps, place, turns, carried, no_turns)
        asked_once = ast.Attribute(name_of(turns), "answer", ast.Load())
        answered = ast.Assign([name_of(asked_before, ast.Store())], asked_once)
        loop.body[0].handlers[0].body.insert(0, answered)  # type: ignore[attr-defined]
        return [started, loop]

    def choice(self, node: Any, bound: frozenset[str], depth: int) -> _Block:
        """Rewrite `if`, so that both sides can run if they may."""
        test_stored, test_unsure = names_of(node.test, bound)
        bound = _with(bound, test_stored)
        body = self.block(node.body, bound, depth)
        other = self.block(node.orelse, bound, depth)
        ranges = [_range(side) for side in (node.body, node.orelse)]
        node.body, node.orelse = body.statements, other.statements
        after = body.bound if other.bound is None else other.bound
        if body.bound is not None and other.bound is not None:
            after = body.bound & other.bound
        raising = [ends_at(side, ast.Raise) for side in (node.body, node.orelse)]
        height = max(body.height, other.height)
        statements: list[ast.stmt] = [node]
        going_on = [one for one, ends in zip((body, other), raising, strict=True) if not ends]
        is_computing = all(one.is_computing for one in going_on)
        jumps = any(one.jumps for one in going_on)
        if any(raising):
            self.check(node, is_error=raising[0])
        may_fork = is_computing and not jumps and not is_plain(node.test) and not any(raising)
        may_fork = may_fork and not is_between(self.suspending, node.number, node.number)
        writes = any(is_between(self.writes, *side) for side in ranges)
        writes = writes or any(is_between(self.checks, *side) for side in ranges)
        if may_fork and depth + height + 2 <= MOST_BLOCKS:
            names = self.names(body, other, bound, after, ranges)
            if names is not None and (any(names) or writes):
                statements = self.forked(node, *names)
                height += 2
        return _Block(
            statements,
            after,
            test_stored | body.stored | other.stored,
            test_unsure | body.unsure | other.unsure,
            height,
            jumps,
            is_computing,
        )

    def check(self, node: Any, is_error: bool) -> None:
        """Let what is recorded ask for the test of a statement that may raise."""
        self.checks.append(node.number)
        if not (is_plain(node.test) or is_between(self.suspending, node.number, node.number)):
            error = constant(node.test, is_error)
            node.test = operation("check", node.test, node.test, error)

    def names(
        self,
        body: _Block,
        other: _Block,
        bound: frozenset[str],
        after: frozenset[str] | None,
        ranges: Sequence[tuple[int, int]],
    ) -> tuple[list[str], list[str]] | None:
        """The names that are bound before and assigned on a side, and those that both sides bind.
        None if another may be read elsewhere."""
        stored = body.stored | other.stored
        if not stored.isdisjoint(self.declared) or len(stored) > MOST_NAMES or after is None:
            return None
        carried, new = [], []
        for name in sorted(stored):
            sides = [
                place
                for side, place in zip((body, other), ranges, strict=True)
                if name in side.stored
            ]
            is_sure = not any(name in side.unsure for side in (body, other))
            if name in bound:
                carried.append(name)
            elif name in after and is_sure and len(sides) == 2:
                new.append(name)
            elif not (is_sure and self.is_unread(name, bound, sides[0], len(sides) == 1)):
                return None
        return carried, new

    def is_unread(
        self, name: str, bound: frozenset[str], place: tuple[int, int], is_one: bool = True
    ) -> bool:
        """Return whether what a statement gives a name, at its `place` if it has but one, is read
        in it alone. So it is where the name is not `bound` before, and read nowhere else unless it
        was bound anew."""
        if name not in bound and name not in self.unbound:
            return True
        first, last = self.places[name]
        return is_one and place[0] <= first and last <= place[1]

    def forked(self, node: ast.If, carried: list[str], new: list[str]) -> list[ast.stmt]:
        """The statements in place of one that may fork."""
        self.number += 1
        fork = f".f{self.number}"
        numbers = [constant(node.test, self.where), constant(node.test, self.number)]
        given = [load(node.test, name) for name in carried]
        asked = operation("branch", node.test, node.test, *numbers, *given)
        test = at(node.test, ast.Assign([store(node.test, fork)], asked))
        names = [*carried, *new]
        body = [*node.body, way(fork, True, [given_by(node.test, fork, "other", names)])]
        merged = way(fork, False, [given_by(node.test, fork, "merged", names)])
        ways = [
            Way(name_of(fork), body, []),
            way(fork, True, [*node.orelse, merged]),
            ast.Break(),
        ]
        is_plain = ast.BoolOp(ast.Or(), [holds(fork, True), holds(fork, False)])
        return [test, _attempted(ways, node.test, fork, carried, is_plain)]


def _attempted(
    steps: list[ast.stmt], place: Any, fork: str, carried: Sequence[str], is_plain: ast.expr
) -> Again:
    """Statements that run again as Python runs them where a fork or loop gives up what it carries,
    unless it `is_plain`."""
    before = [given_by(place, fork, "again", carried, is_asked=False)] if carried else []
    outcome = at(place, Give([store(place, fork)], called(place, fork, "outcome")))
    caught = ast.Attribute(name_of(fork), "errors", ast.Load())
    errors = ast.IfExp(is_plain, ast.Tuple([], ast.Load()), caught)
    attempt = ast.Try(steps, [Handler(errors, None, [*before, outcome])], [], [])
    return Again(ast.Constant(True), [attempt], [])


def _names_in(target: ast.expr) -> frozenset[str] | None:
    """The names that a target of a loop binds; None if it is more than names."""
    parts = [one for one in ast.walk(target) if isinstance(one, ast.expr)]
    if not all(isinstance(one, ast.Name | ast.Tuple | ast.List) for one in parts):
        return None
    return frozenset(one.id for one in parts if isinstance(one, ast.Name))


def _with(bound: frozenset[str], names: frozenset[str]) -> frozenset[str]:
    return bound if names <= bound else bound | names


def _range(block: Sequence[Any]) -> tuple[int, int]:
    return (block[0].number, block[-1].last) if block else (0, -1)


def _written_out(node: Turn) -> ast.stmt:
    """A loop whose steps are recorded one by one."""
    place: Any = node.asking[0]
    test = at(place, ast.UnaryOp(ast.Not(), load(place, node.answer)))
    leave = Way(test, [ast.Break()], [])
    steps: list[ast.stmt] = [*node.asking, leave, *node.body]
    steps += [Way(holds(flag, True), [ast.Break()], []) for flag in node.flags]
    return Again(ast.Constant(True), steps, [])
