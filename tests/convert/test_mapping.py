"""Code without usable source: its names are seen through a function of ours."""

from __future__ import annotations

import math
import statistics
from types import CodeType, SimpleNamespace
from typing import Any

import pytest

from tracejit.convert.converter import Converter
from tracejit.convert.mapping import RAW
from tracejit.convert.operators import Operators

SHIM = SimpleNamespace(exp=lambda x: ("exp", x), sqrt=math.sqrt)


def seen(code: CodeType, name: str, value: Any) -> Any:
    """`math` and `float` are ours, and so are functions inside."""
    if value is math:
        return SHIM
    return (lambda x: ("float", x)) if value is float else value


def ran(text: str, see: Any = seen, **names: Any) -> tuple[Any, Converter, dict[str, Any]]:
    """A function `f` without source, converted."""
    namespace = {"__name__": "program", **names}
    exec(text, namespace)
    converter = Converter(Operators(), see)
    return converter.convert(namespace["f"]), converter, namespace


PROGRAMS = {
    "global": "import math\ndef f(x): return math.exp(x)",
    "builtin": "def f(x): return float(x)",
    "imported": "def f(x):\n    import math\n    return math.exp(x)",
    "imported from": "def f(x):\n    from math import exp as e\n    return e(x)",
    "inner function": "import math\ndef f(x): return (lambda: math.exp(x))()",
    "comprehension": "import math\ndef f(x): return [math.exp(v) for v in [x]][0]",
    "cell": "import math as m\ndef make(math):\n    def f(x): return math.exp(x)\n    return f\n"
    "f = make(m)",
    "default": "import math\ndef f(x, *, m=1): return math.exp(x)",
    "generator": "import math\ndef f(x): return next(math.exp(v) for v in [x])",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_are_seen(name: str) -> None:
    f, _, namespace = ran(PROGRAMS[name])
    assert f(1) == (("float", 1) if name == "builtin" else ("exp", 1))
    assert f is not namespace["f"]


PLAIN = {
    "recursion": "def f(n): return n * f(n - 1) if n else 1",
    "unknown": "def f(n):\n    try: return unknown\n    except NameError as e: return str(e)",
    "named": "import collections\ndef f(n): return collections.namedtuple('P', 'a').__module__",
    "no builtins": "f = eval('lambda n: n + 1', {'__builtins__': {}})",
    "warning": "import warnings\ndef f(n):\n    with warnings.catch_warnings(record=True) as w:\n"
    "        warnings.simplefilter('always')\n        warnings.warn('old')\n    return len(w)",
    "unbound": "def make():\n    def f(n):\n        try: return late\n"
    "        except NameError as e: return str(e)\n    return f\n    late = 1\nf = make()",
    "nonlocal": "def make():\n    k = 0\n    def f(n):\n        nonlocal k\n        k += n\n"
    "        return k\n    return f\nf = make()",
    "enum": "import enum\ndef f(n): return enum.Enum('E', 'A B').__module__",
}


@pytest.mark.parametrize("name", PLAIN)
def test_all_else_is_pythons(name: str) -> None:
    exec(PLAIN[name], plain := {"__name__": "program"})
    f, converter, namespace = ran(PLAIN[name])
    assert f is not namespace["f"]
    assert f(3) == plain["f"](3)
    assert [one.name for one in converter.refusals.values()] == [f.__qualname__]


def test_globals_are_read_when_they_are_used() -> None:
    f, _, namespace = ran("G = 1\ndef f(): return G")
    namespace["G"] = 2
    assert f() == 2


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    global G\n    G = x\n    return G",
        "def f(x):\n    def g():\n        global G\n        G = x\n    g()\n    return G",
        "def f(x): return eval('x')",
        "G = 3\ndef f(x):\n    class C: y = G\n    return C.y",
        "def f(x): return sorted(globals())[0] and x",
    ],
)
def test_code_that_uses_its_namespace_runs_as_it_is(text: str) -> None:
    f, converter, namespace = ran(text)
    assert f is namespace["f"]
    assert [one.reason for one in converter.refusals.values()] == [RAW]
    assert f(3) == 3


def test_what_is_seen_is_known_by_the_users_code() -> None:
    seen: list[tuple[CodeType, str]] = []

    def see(code: CodeType, name: str, value: Any) -> Any:
        seen.append((code, name))
        return value

    f, _, namespace = ran("G = [1]\ndef f(): return len(G)", see)
    assert f() == 1
    code = namespace["f"].__code__
    assert seen == [(code, "len"), (code, "G")]


def test_a_library_without_its_file_sees_the_same() -> None:
    names = vars(statistics) | {"__name__": "copied"}
    exec("def f(xs): return mean(xs)", names)
    f = Converter(Operators(), seen).convert(names["f"])
    assert f([1, 2, 3]) == 2
