"""Random programs on plain values: every statement and expression, with effects that are logged."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable

HEAD = """
import types
from math import floor, gcd
class Box:
    count = 0
    def __init__(self, v): self.v = v
    def __repr__(self): return f"Box({self.v!r})"
    def get(self, k=1): log.append(("get", repr(k)[:60])); return self.v
    @property
    def twice(self): log.append("twice"); return self.v * 2
    def __getitem__(self, k): log.append(("item", repr(k)[:60])); return self.v
    def __setitem__(self, k, v): log.append(("set", repr(k)[:60], repr(v)[:60])); self.v = v
    def __contains__(self, v): log.append(("in", repr(v)[:60])); return v == self.v
    def __bool__(self): log.append("bool"); return bool(self.v)
    def __iter__(self): log.append("iter"); return iter((self.v, 1))
    def __enter__(self): log.append("enter"); return self
    def __exit__(self, kind, error, trace): log.append(("exit", kind)); return kind is KeyError
    def __add__(self, other): log.append("add"); return 3
def note(v, *more, k=0, **rest): log.append(repr((v, more, k, rest))[:60]); return v
def gen(v):
    try:
        yield v
        yield note(v)
    finally: log.append("closed")
total = 0
class Module(types.ModuleType):
    def __getattribute__(self, name): log.append(name); return super().__getattribute__(name)
math = {of_modules}("math")
math.floor, math.gcd, math.hook = floor, gcd, note
"""
RAISED = ("ValueError(1)", "KeyError('k')", "note(ZeroDivisionError)")


class Writer:
    """A writer of random programs."""

    def __init__(self, seed: int) -> None:
        """Begin with a seed."""
        self.random = random.Random(seed)
        self.made = 0

    def of(self, *choices: str) -> str:
        return self.random.choice(choices)


class Programs(Writer):
    """A random program."""

    def rarely(self) -> bool:
        return self.random.random() < 0.05

    def expression(self, depth: int = 3) -> str:
        """An expression; it may raise."""
        if depth == 0:
            return self.of("x", "a", "b", "1", "0", "2", "None", "'s'", "box", "xs", "total")

        def e() -> str:
            return self.expression(depth - 1)

        kinds: tuple[Callable[[], str], ...] = (
            lambda: f"note({e()})",
            lambda: f"note({e()}, {e()}, k={e()})",
            lambda: f"note(*[{e()}], **{{'k': {e()}}})",
            lambda: f"(n + {self.of('n', '1', 'box.count', e() if self.rarely() else '2')})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: f"({e()} and {e()} or {e()})",
            lambda: f"(not {e()})",
            lambda: (
                f"({self.of('n', 'a', 'total')} {self.of('in', 'not in')} {self.of('xs', 'box')})"
            ),
            lambda: f"({e()} {self.of('in', 'not in')} {e() if self.rarely() else 'box'})",
            lambda: f"({e()} {self.of('is', 'is not')} {e()})",
            lambda: f"({e()} {self.of('<', '==') if self.rarely() else '!='} {e()} == {e()})",
            lambda: f"(n < {self.of('n', '3')} <= box.count)",
            lambda: f"box.get({e()})",
            lambda: "box.v",
            lambda: "box.twice",
            lambda: f"box[{e()}]",
            lambda: f"xs[{self.of('0', '-1', ':1', e() if self.rarely() else '1:')}]",
            lambda: f"[{e()}, *xs, {e()}]",
            lambda: f"{{{e() if self.rarely() else 'n'}: {e()}, **d}}",
            lambda: f"[{e()} for v in {self.of('xs', 'box', 'gen(1)')} if {e()}]",
            lambda: f"sum(v for v in (note(1), {self.of('x', 'a')}) if note({e()}) or 1)",
            lambda: f"(lambda v, k={e()}: note(v))({e()})",
            lambda: f"(y := {e()})",
            lambda: f"f'{{{self.of('x', 'a', 'box', 'box.v', 'note(x)')}!r:>4}}'",
            lambda: f"len({e() if self.rarely() else 'xs'})",
            lambda: f"len([{e()}])",
            lambda: f"h({self.of('xs', 'x', e())})",
            lambda: f"ys.{self.of('append', 'count', 'remove')}({self.of('n', e())})",
            lambda: f"math.{self.of('floor', 'gcd', 'hook')}({self.of('n', 'n + 1', 'note(n)')})",
            lambda: f"(h if {e()} else note)({self.of('xs', 'd')})",
            lambda: f"list(map(note, [{e()}, {e()}]))",
            lambda: f"sorted([{self.of('x', '3', '1')}, 2], key=lambda v: -note(v))",
        )
        return self.random.choice(kinds)()

    def target(self) -> str:
        e = self.expression(1)
        return self.of(
            "a",
            "b",
            "c",
            "c, *b" if self.rarely() else "b",
            f"box[{e}]",
            "box.v",
            "d['k']",
            "xs[0]",
            "box.w",
        )

    def block(self, depth: int, loop: bool) -> str:
        statements = [self.statement(depth, loop) for _ in range(self.random.randint(1, 3))]
        return textwrap.indent("\n".join(statements), "    ")

    def statement(self, depth: int, loop: bool = False) -> str:
        """A statement, with blocks to some depth."""
        e = self.expression()
        simple = [
            f"{self.target()} = {e}",
            f"{self.target()} = {self.of('a', 'c')} = ({e}, {self.expression(1)})",
            f"{self.of('n', 'box.count', 'd[2]')} {self.of('+=', '-=', '*=')} {self.of('n', '2')}",
            f"{self.of('a', 'box.v', 'd[1]', 'xs[0]')} += {e if self.rarely() else 'n'}",
            f"note({e})",
            f"return {e}",
            f"assert {e}{'' if self.rarely() else ' or 1'}, {self.expression(1)}",
            f"raise {self.of(*RAISED)}" if self.rarely() else f"d[n] = {e}",
            "del " + self.of("a", "box.v", "d[1]", "xs[0]") if self.rarely() else "pass",
            f"b: note(1) = {e}",
            "pass",
            "note(sorted(locals()))",
            f"h = {self.of('note', 'len', 'repr', 'box.get', 'xs.count', 'Box', 'lambda v: 1')}",
            f"math.hook = {self.of('note', 'abs', 'Box(n).get')}",
            f"box.get = {self.of('note', 'repr', 'box.get')}",
            *(["break", "continue"] if loop else []),
        ]
        if depth == 0 or self.random.random() < 0.4:
            return self.of(*simple[:4], *simple)
        one, two = self.block(depth - 1, loop), self.block(depth - 1, loop)
        body = self.block(depth - 1, True)
        self.made += 1
        return self.of(
            f"if {e}:\n{one}\nelif {self.expression(1)}:\n{two}\nelse:\n    pass",
            f"for {self.of('a', 'b', 'c')} in {self.of('xs', 'box', 'gen(x)', e)}:\n{body}\n"
            f"else:\n{two}",
            f"for w{self.made} in range(2):\n{body}",
            f"try:\n{one}\nexcept {self.of('KeyError', 'note(Exception)')} as error:\n{two}\n"
            f"finally:\n    note('finally')",
            f"try:\n{one}\nexcept Exception:\n    note('caught')\nelse:\n{two}",
            f"with box as c, {self.of('box', e)}:\n{one}",
            f"match {e}:\n    case int(v) if {self.expression(1)}:\n"
            f"{textwrap.indent(one, '    ')}\n"
            f"    case [v, *_]: note(v)\n    case _:\n{textwrap.indent(two, '    ')}",
            f"def g{self.made}(v, k={e}):\n    nonlocal_ = v\n    return note(({e}))\n"
            f"note(g{self.made}(1))",
            f"class C{self.made}:\n    y = note({self.of('1', '2')})\n"
            f"    def m(self): return note(x)\nC{self.made}().m()",
            f"if {e}:\n{one}\n{self.statement(0, loop)}",
        )


def random_program(seed: int) -> str:
    """The text of a module with a function `f` of one argument."""
    programs = Programs(seed)
    statements = [programs.statement(2) for _ in range(programs.random.randint(2, 6))]
    body = textwrap.indent("\n".join(statements), "    ")
    start = "    a, b, c, n, box, xs, d, h = 1, 2, 3, 4, Box(x), [x, 1], {1: 2, 2: 3}, note\n"
    start += "    ys, math.hook = [4, x], note\n"
    head = HEAD.replace("{of_modules}", programs.of("types.ModuleType", "Module"))
    return f"{head}def f(x):\n{start}{body}\n    return note((a, b, c, n, xs, d))\n"
