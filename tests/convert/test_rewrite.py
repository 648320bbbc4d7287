"""Calls and reads, rewritten: every construct in every position, with the order of effects."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from tests.by_day import by_day, some_by_day
from tests.convert.converted_programs import NEWER, PROGRAMS
from tests.convert.random_programs import random_program
from tests.convert.running import CONVERTERS, calls, converted, define, outcome, without_columns
from tracejit.convert.converter import Converter
from tracejit.convert.operators import PLAIN, Operators

# Expressions with effects: `n` logs what it is given, objects log what is done to them.
CONSTRUCTS = {
    "name": "n",
    "constant": "1",
    "call": "n(1)",
    "call of a call": "k(n)(n(2))",
    "keywords": "k(n(1), b=n(2), **n({'c': 3}))",
    "starred arguments": "k(*n([1, 2]), *n([3]))",
    "method": "n(o).m(n(1))",
    "method on lines": "(o\n    .m(1)\n    .m(\n      n(2)))",
    "attribute": "n(o).a",
    "missing attribute": "n(o).missing",
    "property": "o.p",
    "item": "n(l)[n(0)]",
    "missing key": "n(d)[n('missing')]",
    "slice": "n(l)[n(0):n(2)]",
    "slices": "o[n(0):n(2), n(1), ...]",
    "starred index": "o[*n([1]), 2]",
    "in": "n(1) in n(l)",
    "not in": "n(1) not in n(o)",
    "is": "n(o) is n(o)",
    "is not None": "n(o) is not None",
    "chain": "n(1) < n(2) in n(l)",
    "and or": "n(b) and n(0) or n(1)",
    "not": "not n(b)",
    "if": "n(1) if n(b) else n(2)",
    "operators": "n(1) + n(2) * -n(3)",
    "walrus": "(w := n(1)) + w",
    "lambda": "(lambda v, k=n(1): n(v + k))(n(2))",
    "list": "[n(1), *n(l), n(2)]",
    "set": "{n(1), *n(l)}",
    "dict": "{n(1): n(2), **n({3: 4})}",
    "comprehension": "[n(v) for v in n(l) if n(v)]",
    "nested comprehension": "{v: {u for u in n([v])} for v in l for z in n([v])}",
    "generator": "list(n(v) for v in l)",
    "unpacking comprehension": "[u + v for u, (v, z) in n([(1, (2, 3))])]",
    "f-string": "f'{n(1)!r:>{n(4)}} {n(b)=}'",
    "global": "G + len(n('abc'))",
    "unknown name": "n(unknown)",
    "raises": "n(1 / n(0))",
    "not callable": "n(1)(n(2))",
    "too many": "len(n(1), n(2))",
    "super": "super",
    "private": "o.__a",
    "locals": "sorted(locals())",
    "eval": "eval('n(x)')",
    "dir": "[name for name in dir() if name != 'e']",
}
POSITIONS = {
    "statement": "{e}",
    "return": "return {e}",
    "value": "y = {e}",
    "values": "y, z = z, y = {e}, {e}",
    "unpacked": "(y, *z), w = [{e}], 1",
    "annotated": "y: n(5) = {e}",
    "test": "if {e}: n('then')\nelif {e}: n('elif')\nelse: n('else')",
    "loop": "while {e}:\n    n('body')\n    break\nelse: n('else')",
    "iterable": "for y in [{e}]: n(y)\nelse: n('else')",
    "loop over": "for y, z in {e}: n(y)",
    "assert": "assert {e}, {e}",
    "raise": "raise ValueError({e}) from None",
    "argument": "k({e}, *[{e}], b={e})",
    "index": "l[{e}]",
    "stored item": "d[{e}] = {e}",
    "stored attribute": "k(o).a = k(o).b = {e}",
    "augmented": "y = [1]; y += [{e}]; o.a += n(1); d['n'] += n(2); n(o)[n(0)] |= n(1)",
    "deleted": "d[1] = 2; del d[n(1)], n(o).c, {e}",
    "default": "def g(a={e}, *, b={e}): return n(a), n(b)\ng()",
    "decorator": "@k({e}) and n\ndef g(): pass\n@n\n@n\nclass C: pass",
    "class": "class C(*n([]), **{{'tag': {e}}}):\n    y = x\n    def m(self): return {e}\nC",
    "inner function": "def g(): return {e}\ng()",
    "element": "[({e}) for y in l]",
    "filter": "[y for y in l if {e}]",
    "context": "with n(c) as y, n(c) as (z): n({e})",
    "try": "try: n({e})\nexcept (n(KeyError), ZeroDivisionError) as y: n(type(y))\n"
    "else: n('else')\nfinally: n('finally')",
    "subject": "match [{e}]:\n    case [1]: n('one')\n    case [y] if n(y): n('other')",
    "yield": "def g():\n    y = yield {e}\n    yield from [{e}]\nlist(g())",
    "text": "f'{{n({e})}}'",
    "lambda": "(lambda: {e})()",
    "statements": "import math as y; from math import floor as z; n(z(y.pi)); n({e}); pass",
    "global": "global W\nW = {e}\nn(W)",
}
PROGRAM = """
G = 3
class Tagged:
    def __init_subclass__(cls, tag=None): log.append(('tag', repr(tag)))
class O:
    def __init__(self): self.a, self.c, self.__a = 1, 2, 3
    def m(self, x): log.append('m'); return self
    @property
    def p(self): log.append('p'); return 1
    def __getitem__(self, key): log.append(('get', key)); return 1
    def __setitem__(self, key, value): log.append(('set', key, value))
    def __iter__(self): log.append('iter'); return iter([1, 2])
    def __repr__(self): return 'O()'
    def __add__(self, other): log.append('add'); return self
    def __bool__(self): log.append('bool'); return True
class C:
    def __enter__(self): log.append('enter'); return 1
    def __exit__(self, *error): log.append('exit')
    def __repr__(self): return 'C()'
def n(v): log.append(repr(v)[:40].split(' at 0x')[0]); return v
def k(v=None, *a, b=None, **more): log.append((repr(a), more)); return v
class B:
    def __init__(self, v): self.v = v
    def __bool__(self): log.append('asked'); return self.v
    def __repr__(self): return f'B({self.v})'
def f(x):
    o, l, d, b, c = O(), [1, 2], {1: 2, 'n': 1}, B(True), C()
"""
SINCE = {"starred index": (3, 11)}


@pytest.mark.parametrize("position", some_by_day(POSITIONS, 4))
def test_each_construct_in_each_position(position: str) -> None:
    for construct, expression in CONSTRUCTS.items():
        if sys.version_info < SINCE.get(construct, (3, 10)):
            continue
        body = POSITIONS[position].format(e=expression)
        text = PROGRAM + "".join(f"    {line}\n" for line in body.splitlines())
        try:
            log: list[Any] = []
            function = define(text, log=log)["f"]
        except SyntaxError:  # `w := 1` in an iterable, among others
            continue
        expected, effects = outcome(function, 7), list(log)
        for kind, make in CONVERTERS.items():
            log.clear()
            with make() as converter:
                assert_same(outcome(converted(function, converter), 7), expected, kind, text)
            assert log == effects, (kind, text)


def assert_same(found: Any, expected: Any, kind: str, text: str) -> None:
    """Compare outcomes; columns too, where only calls are rewritten."""
    if kind != "calls":
        found, expected = without_columns(found), without_columns(expected)
    assert found == expected, (kind, text)


@pytest.mark.parametrize("kind", CONVERTERS)
@pytest.mark.parametrize("seed", range(by_day(25, 100)))
def test_random_programs(seed: int, kind: str) -> None:
    check_program(seed, kind)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1_000, 21_000, 500))
def test_nightly_random_programs(first: int) -> None:
    for seed in range(first, first + 500):
        check_program(seed, "calls" if seed % 2 else "calls and reads")


def check_program(seed: int, kind: str) -> None:
    text = random_program(seed)
    log: list[Any] = []
    function = define(text, log=log)["f"]
    expected, effects = outcome(function, 2), list(log)
    log.clear()
    with CONVERTERS[kind]() as converter:
        assert_same(outcome(converted(function, converter), 2), expected, kind, text)
    assert log == effects, (kind, text)


@pytest.mark.parametrize("kind", CONVERTERS)
@pytest.mark.parametrize("name", [*PROGRAMS, *NEWER])
def test_programs(name: str, kind: str) -> None:
    version, text = NEWER.get(name, ((3, 10), PROGRAMS.get(name, "")))
    if sys.version_info < version:
        pytest.skip("the syntax is newer than this Python")
    plain, other = (define(text, __file__=__file__)["f"] for _ in range(2))
    with CONVERTERS[kind]() as converter:
        expected, found = outcome(plain, 3), outcome(converted(other, converter), 3)
    assert_same(found, expected, kind, text)


STATEMENTS = {
    "assignments": "    x = g(x) + {i}\n",
    "ifs": "    if k > {i}:\n        x = g(x)\n",
    "loops": "    for i in range(1):\n        x = x + len([i])\n",
    "stores": "    d[{i}] = x\n    o.a = x\n",
    "tries": "    try: x = g(x)\n    except ValueError: pass\n",
    "comprehensions": "    x = [g(v) for v in (x,) if v is not None][0]\n",
}
CHAINS = {
    "elifs": "    if k == -1: x = 0\n{}".format(
        "".join(f"    elif k == {i}: x = g({i})\n" for i in range(300))
    ),
    "operators": "    x = {}\n".format(" + ".join(f"g({i})" for i in range(300))),
    "booleans": "    x = {}\n".format(" and ".join(f"g({i + 1})" for i in range(300))),
    "methods": "    x = 0\n    ''{}\n".format(".strip()" * 90),
}
LARGE = "def g(x): return x\nclass o: a = 1\nd = {}\ndef f(k, x):\n"


@pytest.mark.parametrize("name", [*STATEMENTS, *CHAINS])
def test_large_functions_are_converted_in_no_time(name: str) -> None:
    body = CHAINS.get(name) or "".join(STATEMENTS[name].format(i=i) for i in range(400))
    function = define(f"{LARGE}{body}    return x\n")["f"]
    start = time.process_time()
    new = converted(function, CONVERTERS["calls and reads"]())
    assert time.process_time() - start < 0.4  # 0.02 to 0.08 where nothing else runs
    assert outcome(new, 7, 0) == outcome(function, 7, 0)


def test_functions_inside_are_the_very_code_of_the_user() -> None:
    function = define(
        """
        def f(x):
            def g(v): return len(v)
            class C:
                def m(self): return g
            return [g, lambda: x, C.m, [lambda: y for y in 'a'][0]]
        """
    )["f"]
    for make in CONVERTERS.values():
        for plain, new in zip(function(1), converted(function, make())(1), strict=True):
            assert plain.__code__ is new.__code__
            assert plain.__qualname__ == new.__qualname__


def test_unpacking_announces_how_deep_it_goes() -> None:
    asked: list[Any] = []
    function = define(
        """
        def f(v):
            (a, b), c = v
            for d, (e, g) in []: pass
            [*v]
            yield from v
        """
    )["f"]

    def iterate(o: Any, depth: int) -> Any:
        asked.append((len(o), depth))
        return o

    assert list(converted(function, Converter(Operators(iterate=iterate)))(["ab", 1])) == ["ab", 1]
    assert asked == [(2, 2), (0, 3), (2, 1), (2, 1)]


def test_reads_tell_globals_and_cells_from_variables() -> None:
    seen: list[Any] = []
    module = define(
        """
        scale, v = 2, 3
        def outer(k):
            def f(x):
                global counter
                counter = 1
                [v for v in (1,)]
                return scale * k * x * v * len([x]) * counter
            return f
        """
    )
    function = module["outer"](5)

    def noted(kind: str) -> Any:
        def note(where: int, name: str, value: Any) -> Any:
            assert where == id(function.__code__)
            seen.append((kind, name))
            return value

        return note

    operators = Operators(name=noted("global"), cell=noted("cell"))
    assert converted(function, Converter(operators))(1) == function(1)
    assert seen == [("global", "scale"), ("cell", "k"), ("global", "v"), ("global", "len")]


def test_private_names_are_those_of_the_class() -> None:
    read: list[str] = []
    module = define(
        """
        class _Model:
            def __init__(self): self.__w = 1
            def m(self): return self.__w
        """
    )

    def attribute(o: Any, name: str) -> Any:
        read.append(name)
        return getattr(o, name)

    method = converted(module["_Model"]().m, Converter(Operators(attribute=attribute)))
    assert method() == 1
    assert read == ["_Model__w"]


def test_no_operators_leave_a_function_as_it_is() -> None:
    function = define("def f(x): return [x.a[0] is not x, *x]")["f"]
    new = Converter(Operators()).convert(function)
    assert new.__code__ == function.__code__


def test_calls_stay_in_the_users_frame() -> None:
    function = define(
        "import sys\ndef g(): return sys._getframe(1).f_code.co_name\ndef f(): return g()"
    )
    assert converted(function["f"], calls())() == "f"


def test_operations_are_those_of_the_module_operator() -> None:
    asked: list[Any] = []
    function = define(
        """
        def f(a, b, **rest):
            a += b
            a = -a * (a < b) if a != -1 else a @ b
            b &= 3
            return a, ~b, rest["k"]
        """
    )["f"]

    def operate(name: str) -> Any:
        def operation(*operands: Any) -> Any:
            asked.append((name, *operands))
            return PLAIN.operate(name)(*operands)  # type: ignore[misc]

        return operation

    def made(o: Any) -> Any:
        asked.append(o)
        return o

    new = converted(function, Converter(Operators(operate=operate, made=made)))
    assert new(1, 2, k=5) == function(1, 2, k=5)
    assert asked == [
        ("iadd", 1, 2), ("ne", 3, -1), ("neg", 3), ("lt", 3, 2), ("mul", -3, False),
        ("iand", 2, 3), ("invert", 2), {"k": 5},
    ]  # fmt: skip


def test_operands_of_what_is_no_operation_are_announced() -> None:
    asked: list[Any] = []
    function = define(
        """
        def f(a, b):
            a[0] = b
            a[0] += 3
            c = b
            c += 4
            return 5 < b < 7, a is None is None
        """
    )["f"]

    def operand(o: Any) -> Any:
        asked.append(o)
        return o

    new = converted(function, Converter(Operators(operand=operand)))
    assert new([0], 6) == function([0], 6)
    assert asked == [6, 3, 5, 6, 7]
