"""Converted functions: the same in all that a program can see, and converted once."""

from __future__ import annotations

import functools
import gc
import inspect
import math
import sys
import threading
import weakref
from typing import Any

import pytest

from tests.convert.running import calls, calls_and_reads, converted, define, lines_of
from tracejit.convert.converter import Converter
from tracejit.convert.exclusions import MARKED, as_is
from tracejit.convert.operators import Operators
from tracejit.convert.source import TOO_DEEP
from tracejit.support.codes import as_written

MODULE = '''
import functools
G = 1
def f(x: int, y=[1], *more: str, k={"a": 1}, **rest) -> float:
    """Doc."""
    return len(y) + x + G
f.mark = "marked"
def outer(k):
    def inner(x): return len([k, x])
    return inner
class Model:
    def __init__(self, w): self.w = w
    def method(self, x): return abs(self.w) + x
    @classmethod
    def of(cls, x): return abs(x)
    @staticmethod
    def static(x): return abs(x)
    def __call__(self, x): return abs(x)
def wrapped(g):
    @functools.wraps(g)
    def wrapper(*args): return g(*args) + abs(-1)
    return wrapper
@wrapped
def decorated(x): return abs(x)
@functools.lru_cache
def cached(x): return abs(x)
'''
ATTRIBUTES = (
    "__name__", "__qualname__", "__module__", "__doc__", "__dict__", "__annotations__",
    "__defaults__", "__kwdefaults__", "__globals__", "__closure__",
)  # fmt: skip


def test_what_a_function_shows_is_the_users() -> None:
    names = define(MODULE)
    for function in (names["f"], names["outer"](1), names["Model"].method, names["decorated"]):
        new = converted(function, calls())
        assert new.__code__ is not function.__code__
        for name in ATTRIBUTES:
            assert getattr(new, name) is getattr(function, name) or name == "__qualname__"
        assert new.__qualname__ == function.__qualname__
        assert inspect.signature(new) == inspect.signature(function)
        code, old = new.__code__, function.__code__
        assert (code.co_flags, code.co_name, code.co_filename, code.co_firstlineno) == (
            old.co_flags, old.co_name, old.co_filename, old.co_firstlineno
        )  # fmt: skip
        assert (code.co_varnames, code.co_freevars) == (old.co_varnames, old.co_freevars)


def called(function: Any, *arguments: Any) -> tuple[Any, list[str]]:
    """The value of a converted callable, and the names of what was called in it."""
    names: list[str] = []

    def call(one: Any) -> Any:
        names.append(getattr(one, "__name__", type(one).__name__))
        return converter.convert(one)

    converter = Converter(Operators(call=call))
    return converter.convert(function)(*arguments), names


def test_whatever_is_called_is_converted_by_its_kind() -> None:
    names = define(MODULE)
    model, cls = names["Model"](-2), names["Model"]
    assert called(model.method, 1) == (3, ["abs"])
    assert called(cls.method, model, 1) == (3, ["abs"])
    assert called(cls.of, -1) == (1, ["abs"])
    assert called(cls.static, -1) == (1, ["abs"])
    assert called(vars(cls)["static"], -1) == (1, ["abs"])
    assert called(model, -1) == (1, ["abs"])
    assert called(functools.partial(cls.method, model), 1) == (3, ["abs"])
    assert called(names["outer"](1), 2) == (2, ["len"])
    assert called(names["decorated"], -3) == (4, ["decorated", "abs", "abs"])
    assert called(names["cached"], -3) == (3, [])
    assert called(abs, -3) == (3, [])


def test_what_there_is_nothing_to_convert_in_stays() -> None:
    names = define(MODULE)
    converter = calls()
    for one in (len, int, names["Model"], names["cached"], inspect.signature, "a", [].append):
        assert converter.convert(one) is one
    converted_once = converter.convert(names["f"])
    for each in (converter, calls(), calls_and_reads()):
        assert each.convert(converted_once) is converted_once
    assert not converter.refusals.values()


def test_equal_code_is_told_apart() -> None:
    text = "def f(x):\n    return len(x)\n"
    one, other = define(text)["f"], define(text)["f"]
    assert one.__code__ == other.__code__
    converter = calls()
    new = [converted(function, converter) for function in (one, other)]
    assert [f.__code__.co_filename for f in new] == [f.__code__.co_filename for f in (one, other)]


def test_functions_are_converted_once() -> None:
    converter = calls()
    names = define(MODULE)
    assert converter.convert(names["f"]) is converter.convert(names["f"])
    code = converter.convert(names["outer"](1)).__code__
    assert converter.convert(names["outer"](2)).__code__ is code


def test_nothing_outlives_the_code_and_the_recording() -> None:
    names = define(MODULE)
    made = names["outer"](1)
    with calls() as converter:
        converter.convert(names["f"])(1)
        converter.convert(made)(1)
    alive = [weakref.ref(one) for one in (names["f"], names["f"].__code__, made)]
    del made
    assert alive[2]() is None
    del names, converter
    gc.collect()
    assert [one() for one in alive] == [None, None, None]


def test_functions_that_call_each_other_die_with_the_recording() -> None:
    names = define("def f(n): return g(n - 1) if n else []\ndef g(n): return f(n)\n")
    with calls() as converter:
        converted(names["f"], converter)(4)
    alive = [weakref.ref(names[name]) for name in ("f", "g")]
    late = converter.convert(names["g"])
    assert late is names["g"]
    del names, late
    gc.collect()
    assert [one() for one in alive] == [None, None]


def test_functions_that_functions_make_die_as_they_do_in_python() -> None:
    names = define(
        """
        import weakref
        def f(x):
            found = []
            for k in range(3):
                def made(v): return abs(v) + k
                found.append(weakref.ref(made))
                made(x)
            del made
            return [one() for one in found]
        """
    )
    assert converted(names["f"], calls())(1) == [None, None, None]


def test_converted_code_leads_to_the_users() -> None:
    function = define(MODULE)["f"]
    code = converted(function, calls()).__code__
    assert code is not function.__code__
    assert as_written(code) is as_written(function.__code__) is function.__code__


def test_new_code_and_defaults_are_seen_by_the_next_recording() -> None:
    f, g = (define(f"def f(x={i}): return len([x]) + x + {i}")["f"] for i in range(2))
    assert converted(f, calls())() == 1
    f.__defaults__ = (5,)
    assert converted(f, calls())() == 6
    f.__code__ = g.__code__
    assert converted(f, calls())() == 7


def test_no_method_of_the_users_runs() -> None:
    log: list[str] = []
    names = define(
        """
        class C:
            def __eq__(self, other): log.append("eq")
            def __hash__(self): log.append("hash")
            def __getattr__(self, name): log.append(name)
            def __call__(self, x): return x
            def m(self, x): return x
        def f(c): return c(1), c.m(2)
        """,
        log=log,
    )
    assert converted(names["f"], calls())(names["C"]()) == (1, 2)
    assert log == []


def test_recursion_goes_as_deep_as_in_python() -> None:
    f = define(
        """
        def f(n): return 0 if n == 0 else 1 + f(n - 1)
        class C:
            def m(self, n): return 0 if n == 0 else 1 + self.m(n - 1)
        def deepest(f):
            n = 100
            while True:
                try: f(n)
                except RecursionError: return n
                n += 1
        """
    )
    new = converted(f["deepest"], calls())
    # Python counts the calls of C in the one frame of the operator, too.
    assert new(f["f"]) >= f["deepest"](f["f"]) - 1
    assert new(f["C"]().m) >= f["deepest"](f["C"]().m) - 2


def test_a_first_conversion_at_the_end_of_the_stack_runs_as_written() -> None:
    names = define(
        "def leaf(x): return len([x])\ndef f(n): return leaf(n) if n == 0 else f(n - 1)\n"
    )
    converter = calls()
    new = converted(names["f"], converter)
    depth = 0
    while True:
        depth += 1
        try:
            new(depth)
        except RecursionError:
            break
    assert all(one.reason is not TOO_DEEP for one in converter.refusals.values())
    assert converter.convert(names["leaf"]) is not names["leaf"]


def test_an_expression_too_deep_for_the_parser_runs_as_written() -> None:
    f = define(f"def f(x): return {'x + ' * 1_500}x")["f"]
    converter = calls()
    assert converter.convert(f)(1) == 1_501


def test_excluded_functions_run_as_written() -> None:
    names = define(MODULE)
    as_is(names["f"])
    converter = calls()
    assert converter.convert(names["f"]) is names["f"]
    assert [one.reason for one in converter.refusals.values()] == [MARKED]


def test_threads_convert_at_once() -> None:
    names = define(MODULE)
    converter = calls_and_reads()
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(converter.convert(names["f"])(1)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [names["f"](1)] * 8


FRAMES = """
import collections, enum, inspect, io, logging, sys, typing, warnings
def warner(): warnings.warn("old", DeprecationWarning, stacklevel=2)
def warned(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warner()
    return found[0].filename, found[0].lineno
def logged(x):
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(filename)s:%(lineno)d %(funcName)s"))
    log = logging.getLogger("t"); log.addHandler(handler); log.propagate = False
    log.warning("m"); log.removeHandler(handler)
    return text.getvalue()
def tuples(x): return collections.namedtuple("P", "a b").__module__
def enums(x): return enum.Enum("E", "A B").__module__, typing.TypeVar("T").__module__
def names(x): return sys._getframe(0).f_code.co_name
def caller(): return inspect.stack()[1].function
def stack(x): return caller()
def up(): return sorted(sys._getframe(1).f_locals)
def variables(x):
    a = 2
    return up(), sorted(locals()), dir(), sorted(vars())
class Base:
    def m(self, x): return x
class Q(Base):
    def m(self, x): return super().m(x), super(Q, self).m(x), __class__.__name__
def supers(x): return Q().m(x)
def arity(x):
    def g(a, b): return a
    return g(x)
def texts(x): return (lambda v: v).__qualname__, [f.__qualname__ for f in [lambda: 1]]
def unbound(x):
    if x > 100: y = 1
    return y
def free(x):
    def g(): return z
    if x > 100: z = 1
    return g()
def notes(x):
    def g(a: int, b: float = 2.0) -> str: return "s"
    return sorted(g.__annotations__), str(inspect.signature(g))
def keyword(x, f=None): return (lambda x0, f: f(x0))(x, f=lambda v: v * 2)
"""


@pytest.mark.parametrize("make", [calls, calls_and_reads])
def test_frames_names_and_messages_are_the_users(make: Any) -> None:
    names = define(FRAMES)
    converter = make()
    for name in (
        "warned", "logged", "tuples", "enums", "names", "stack", "variables", "supers", "arity",
        "texts", "unbound", "free", "notes", "keyword",
    ):  # fmt: skip
        expected, found = (
            value_or_error(one) for one in (names[name], converted(names[name], converter))
        )
        assert found == expected, name


def value_or_error(function: Any) -> Any:
    try:
        return function(3)
    except Exception as error:
        return type(error), str(error)


STEPS = """
def g(x): return x
def f(x):
    y = 0
    if g(x) > 1:
        y = g(
            x
        )
    for k in range(2):
        if k:
            continue
        y += g(x).real + x.imag
    z = [g(v)
         for v in (1,)]
    with open(
        __file__
    ) as file:
        pass
    try:
        return g(y) + g(
            x)
    finally:
        y = 0
"""
CHAIN = """
def f(x):
    return (x
            .real
            .conjugate()
            .conjugate())
"""


METHODS = """
class C:
    def m(self, x): return x
def f(x):
    o = C()
    xs = []
    for k in range(3):
        xs.append(x)
        x += o.m(x).real
        o.m(1)
        x = [o.m(x) for y in 'a'][0]
        if o.m(x):
            xs.append(o.m(x))
    return o.m(x)
"""


@pytest.mark.parametrize("text", [STEPS, METHODS])
def test_debuggers_see_the_same_lines(text: str) -> None:
    assert_same_lines(text)


@pytest.mark.xfail(
    (3, 11) <= sys.version_info < (3, 13),
    reason="Python 3.11 and 3.12 prepare a call at the place of what is called",
)
def test_debuggers_see_the_same_lines_of_a_chain_of_methods() -> None:
    assert_same_lines(CHAIN)


def assert_same_lines(text: str) -> None:
    function = define(text, __file__=__file__)["f"]
    filename = function.__code__.co_filename
    for make in (calls, calls_and_reads):
        new = converted(function, make())
        assert lines_of(new, 5, filename) == lines_of(function, 5, filename)


def test_generators_and_coroutines_stay_what_they_are() -> None:
    names = define(
        """
        def generator(x): yield from (len([x]), len([x]))
        async def waits(x): return len([x])
        async def several(x):
            yield len([x])
        """
    )
    converter = calls()
    assert list(converted(names["generator"], converter)(1)) == [1, 1]
    assert inspect.iscoroutinefunction(converted(names["waits"], converter))
    assert inspect.isasyncgenfunction(converted(names["several"], converter))


def test_methods_of_pythons_own_types_are_asked_of_nobody() -> None:
    asked: list[Any] = []
    with Converter(Operators(), calls=True, route=asked.append) as converter:
        for method in ([].append, {}.get, "".join, (1).bit_length, (1.0).is_integer):
            assert converter.convert(method) is method
        assert asked == []
        converter.convert(math.exp)
    assert asked == [math.exp]
