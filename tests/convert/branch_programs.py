"""Random programs of control flow on plain values: jumps of each kind in blocks of each kind, names
that are unbound on some ways, choices in each position. What they ask, and in which order, is
logged; what they ask has a truth of its own."""

from __future__ import annotations

import textwrap

from tests.convert.random_programs import Writer

HEAD = """
class Box:
    def __init__(self, v): self.v, self.log = v, log
    def __repr__(self): return f"Box({self.v!r})"
    def __setattr__(self, name, v):
        if name != "log" and "log" in vars(self): log.append((name, repr(v)[:60]))
        object.__setattr__(self, name, v)
    def __setitem__(self, k, v): log.append(("set", repr(k)[:60], repr(v)[:60]))
    def __getitem__(self, k): log.append(("get", repr(k)[:60])); return 1
    def __enter__(self): log.append("enter"); return self
    def __exit__(self, kind, error, trace): log.append(("exit", kind)); return kind is KeyError
class Truth:
    def __init__(self, v): self.v = v
    def __repr__(self): return f"Truth({self.v})"
    def __bool__(self):
        log.append(("asked", self.v))
        if self.v % 17 == 16: raise ValueError(self.v)
        return self.v % 3 != 0
    def __lt__(self, other): log.append(("lt", repr(other)[:60])); return Truth(self.v + 1)
    def __add__(self, other): log.append(("add", repr(other)[:60])); return 2
COUNT = [0]
def count():
    COUNT[0] += 1
    if COUNT[0] > 150: raise RuntimeError("too long")
def t(v=None):
    count()
    log.append(("t", COUNT[0], repr(v)[:60]))
    return Truth(COUNT[0] * SEED % 23)
def n(v=None, *more, k=None, **rest):
    count()
    log.append(("n", repr((v, more, k, rest))[:80]))
    return v
def each(v):
    try:
        yield v
        yield n(2)
        yield 3
    finally: log.append("closed")
TOTAL = 0
"""
NAMES = "abcdef"


class Programs(Writer):
    """A random program."""

    def test(self, depth: int = 1) -> str:
        """A condition."""
        name = self.of(*NAMES[:4])
        if depth == 0 or self.random.random() < 0.5:
            return self.of(
                "t()",
                "t()",
                "t()",
                f"t({name})",
                f"{name}",
                f"t() < {name}",
                f"x > {self.of('1', '2')}",
            )
        one, two = self.test(depth - 1), self.test(depth - 1)
        return self.of(
            f"({one} and {two})",
            f"({one} or {two})",
            f"not {one}",
            f"not ({one} or {two})",
            f"(t() < {name} < t())",
            f"0 < x < {self.of('2', 'n(3)')}",
            f"{name} is None",
            f"({one} if {two} else t())",
            f"n({one})",
            f"isinstance({name}, int)",
            f"({name} := n({one}))" if self.random.random() < 0.1 else one,
            "any(t() for _ in range(2))",
            f"{name} in (1, 2)",
            "True",
            "0",
        )

    def value(self, depth: int = 2) -> str:
        """An expression."""
        if depth == 0 or self.random.random() < 0.3:
            return self.of(*NAMES[:4], "1", "2", "None", "x", f"n({self.of(*NAMES)})")
        one, two, three = (self.value(depth - 1) for _ in range(3))
        return self.of(
            f"({one} if {self.test()} else {two})",
            f"({one} if {self.test()} else {two})",
            f"n({one}, {two}, k={three})",
            f"n({one}, *[{two}])",
            f"[{one}, {two}]",
            f"({one}, {two})",
            f"n({one}).real",
            f"xs[{self.of('0', '-1')}]",
            f"({self.test()} and {one})",
            f"({one} or {two})",
            f"[{one} for v in (1, 2) if {self.test(0)}]",
            f"(lambda v={one}: {two})()",
            f"{{1: {one}, n(2): {two}}}",
            f"-(1 if {self.test()} else n(2))",
            f"box[{one}]",
            f"f'{{{one}}}'",
            f"n({one} is None)",
        )

    def block(self, depth: int, loop: bool) -> str:
        statements = [self.statement(depth, loop) for _ in range(self.random.randint(1, 3))]
        return textwrap.indent("\n".join(statements), "    ")

    def statement(self, depth: int, loop: bool = False) -> str:
        """A statement, with blocks to some depth."""
        name, value = self.of(*NAMES), self.value()
        simple = [
            f"{name} = {value}",
            f"{name} = {value}",
            f"{name}, {self.of(*NAMES)} = {value}, n(1)",
            f"xs[{self.of('0', 'n(0)')}] = {value}",
            f"box.v = {value}",
            f"box[{self.value(1)}] = {value}",
            f"n({value})",
            f"{name} = xs[0] = {value}",
            "counted += 1",
            f"box.v = n(1) if {self.test()} else {value}",
            f"{name}: int = {value}",
            f"xs.append({value})",
        ]
        rare = [
            f"return {value}",
            "return",
            f"return {value}",
            f"assert {self.test()}, n({value})",
            f"raise ValueError({value})",
            f"del {name}",
            f"import math as {name}",
            f"[{name}, *{self.of(*NAMES)}] = [{value}, 1]",
            "raise KeyError(1)",
            "pass",
            f"n({name})",
        ]
        rare += ["break", "continue", "break", "continue"] * (2 if loop else 0)
        if depth == 0 or self.random.random() < 0.3:
            return self.of(*simple, *simple, *rare)
        one, two = self.block(depth - 1, loop), self.block(depth - 1, loop)
        body, test = self.block(depth - 1, True), self.test()
        self.made += 1
        ends = [f"return {value}", *(["break", "continue"] if loop else [])]
        choices = [
            f"if {test}:\n{one}",
            f"if {test}:\n{one}\nelse:\n{two}",
            f"if {test}:\n{one}\nelif {self.test()}:\n{two}\nelse:\n    {self.statement(0, loop)}",
            f"if {test}:\n    {self.of(*ends)}",
        ] * 3
        target = self.of(name, f"{name}, i{self.made}", "xs[0]", "box.v", f"i{self.made}")
        items = "(1, 2), (3, 4)" if "," in target else "1, 2, 3"
        choices += [
            f"for {target} in [{items}]:\n{body}",
            f"for {name} in each({value}):\n{body}",
            f"for {name} in range(3):\n{body}\nelse:\n{two}",
            f"while {test}:\n    n()\n{body}",
            f"while t():\n{body}",
            f"while True:\n    n()\n{body}\n    if t(): break",
            f"while {test}:\n    n()\n{body}\nelse:\n{two}",
        ] * 2
        choices += [
            (
                f"try:\n{one}\nexcept {self.of('KeyError', 'ValueError', 'Exception')} as {name}:\n"
                f"{two}\nfinally:\n    n('finally')"
            ),
            f"try:\n{one}\nexcept Exception:\n    n('caught')\nelse:\n{two}",
            f"try:\n{one}\nfinally:\n{two}",
            f"with box as {name}:\n{one}",
            (
                f"match {value}:\n    case int({self.of(*NAMES)}) if {self.test()}:\n"
                f"{textwrap.indent(one, '    ')}\n    case [{name}, *_]: n({name})\n    case _:\n"
                f"{textwrap.indent(two, '    ')}"
            ),
            (
                f"def g{self.made}(v={value}):\n    nonlocal {name}\n    {name} = v\n"
                f"    if t(): return {self.of(*NAMES)}\n    return 5\nn(g{self.made}())"
            ),
            f"g = lambda v=1: {value}\nn(g())",
            f"class C{self.made}:\n    y = {value}",
        ]
        return self.of(*choices)


def branch_program(seed: int) -> str:
    """The text of a module with a function `f` of one argument."""
    programs = Programs(seed)
    while True:
        text = _module(programs)
        try:
            compile(text, "program", "exec")
        except SyntaxError:  # among others a name that is used before `nonlocal`
            continue
        return text


def _module(programs: Programs) -> str:
    statements = [programs.statement(3) for _ in range(programs.random.randint(1, 5))]
    body = textwrap.indent("\n".join(statements), "    ")
    known = programs.random.randint(2, 6)
    start = "".join(f"    {name} = {k}\n" for k, name in enumerate(NAMES[:known]))
    if programs.random.random() < 0.5:
        start = "    if x > 5:\n        a = b = c = d = e = f = 0\n" + start
    else:
        start = "    def f(): return n(7)\n" + start
    head = HEAD.replace("SEED", str(programs.random.randint(1, 22)))
    last = programs.of(
        "return n((a, b, counted, xs))", "return n((a, b, c, d))", "n(a)", "return n((e, xs))"
    )
    return f"{head}def f(x):\n    xs, box, counted = [1], Box(1), 0\n{start}{body}\n    {last}\n"
