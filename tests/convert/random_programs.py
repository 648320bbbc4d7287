"""Random programs on plain values: every statement and expression, with effects that are logged."""

from __future__ import annotations

import random
import textwrap

HEAD = """
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
"""
RAISED = ("ValueError(1)", "KeyError('k')", "note(ZeroDivisionError)")


class Programs:
    """A random program."""

    def __init__(self, seed: int) -> None:
        """Begin with a seed."""
        self.random = random.Random(seed)
        self.made = 0

    def of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def rarely(self) -> bool:
        return self.random.random() < 0.05

    def expression(self, depth: int = 3) -> str:
        """An expression; it may raise."""
        if depth == 0:
            return self.of("x", "a", "b", "1", "0", "2", "None", "'s'", "box", "xs", "total")
        e = [self.expression(depth - 1) for _ in range(3)]
        return self.of(
            f"note({e[0]})",
            f"note({e[0]}, {e[1]}, k={e[2]})",
            f"note(*[{e[0]}], **{{'k': {e[1]}}})",
            f"(n + {self.of('n', '1', 'box.count', e[1] if self.rarely() else '2')})",
            f"({e[0]} if {e[1]} else {e[2]})",
            f"({e[0]} and {e[1]} or {e[2]})",
            f"(not {e[0]})",
            f"({self.of('n', 'a', 'total')} {self.of('in', 'not in')} {self.of('xs', 'box')})",
            f"({e[0]} {self.of('in', 'not in')} {e[1] if self.rarely() else 'box'})",
            f"({e[0]} {self.of('is', 'is not')} {e[1]})",
            f"({e[0]} {self.of('<', '==') if self.rarely() else '!='} {e[1]} == {e[2]})",
            f"(n < {self.of('n', '3')} <= box.count)",
            f"box.get({e[0]})",
            "box.v",
            "box.twice",
            f"box[{e[0]}]",
            f"xs[{self.of('0', '-1', ':1', e[0] if self.rarely() else '1:')}]",
            f"[{e[0]}, *xs, {e[1]}]",
            f"{{{e[0] if self.rarely() else 'n'}: {e[1]}, **d}}",
            f"[{e[0]} for v in {self.of('xs', 'box', 'gen(1)')} if {e[1]}]",
            f"sum(v for v in (note(1), {self.of('x', 'a')}) if note({e[0]}) or 1)",
            f"(lambda v, k={e[0]}: note(v))({e[1]})",
            f"(y := {e[0]})",
            f"f'{{{self.of('x', 'a', 'box', 'box.v', 'note(x)')}!r:>4}}'",
            f"len({e[0] if self.rarely() else 'xs'})",
            f"len([{e[0]}])",
            f"list(map(note, [{e[0]}, {e[1]}]))",
            f"sorted([{self.of('x', '3', '1')}, 2], key=lambda v: -note(v))",
        )

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
    start = "    a, b, c, n, box, xs, d = 1, 2, 3, 4, Box(x), [x, 1], {1: 2, 2: 3}\n"
    return f"{HEAD}def f(x):\n{start}{body}\n    return note((a, b, c, n, xs, d))\n"
