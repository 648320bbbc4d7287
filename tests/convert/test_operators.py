"""The operators, each of which may be missing."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.convert.running import converted, define
from tracejit.convert.converter import Converter
from tracejit.convert.operators import PLAIN, Operators, Place

TEXT = """
class Box:
    def __init__(self): self.a = [1]
    def __enter__(self): return self
    def __exit__(self, *error): pass
def make(k):
    def f(o):
        with o as p:
            o.a, b = [*o.a], {**{1: k}}
            o.a += [len(o.a)]
            k2 = -k + 1
            k2 += k
            match o.a[0]:
                case 1 if o is p and 1 in b.copy(): return f"{k}"
    return f
"""


BRANCHES = ("branch", "ask", "turns", "rounds", "flag", "check")
"""The operators of control flow, which are there together."""


@pytest.mark.parametrize(
    "kind", [field.name for field in fields(Operators) if field.name not in BRANCHES]
)
def test_each_operator_stands_alone(kind: str) -> None:
    asked: list[Any] = []

    def operator(*arguments: Any) -> Any:
        asked.append(arguments)
        return getattr(PLAIN, kind)(*arguments)

    names = define(TEXT)
    f = converted(names["make"](2), Converter(Operators(**{kind: operator})))
    assert f(names["Box"]()) == "2"
    assert asked


class Unknown:
    """A truth value that is neither True nor False."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value


def test_the_operators_of_control_flow_stand_together() -> None:
    asked: list[str] = []

    def noting(kind: str) -> Any:
        def operator(*arguments: Any) -> Any:
            asked.append(kind)
            answer = getattr(PLAIN, kind)(*arguments)
            return Unknown(answer) if kind == "ask" else answer

        return operator

    names = define(
        """
        def f(n):
            if n < 3 or n > 5: n += 1
            while n < 7: n += 2
            for _ in range(4):
                if n > 8: break
                n += 1
            assert n > 0
            return n
        """
    )
    f = converted(names["f"], Converter(Operators(**{kind: noting(kind) for kind in BRANCHES})))
    assert [f(n) for n in range(9)] == [names["f"](n) for n in range(9)]
    assert {*asked} == {*BRANCHES}


def test_the_plain_ones_are_all_of_them() -> None:
    assert PLAIN.given().keys() == {field.name for field in fields(Operators)}
    assert Operators().given() == {}


PLACES = """
import math
def g(x): return x
def twice(x): return 2 * x
class Model:
    def m(self, x): return x
def name(x):
    return [g(x) for _ in range(3)]
def of_module(x):
    return [math.floor(x) for _ in range(3)]
def of_list(x):
    found = []
    for _ in range(3):
        found.append(x + 1)
    return found
"""
CHANGES = """
import types
library = types.ModuleType("library")
library.g = g = abs
class Model:
    def m(self, x): return x
def name(x):
    global g
    found = []
    for g in (abs, str, lambda v: 2 * v, abs):
        found.append(g(x))
    return found
def of_module(x):
    found = []
    for library.g in (abs, str, abs):
        found.append(library.g(x))
    return found
def of_instance(x):
    found = []
    for o in (Model(), Model(), {}):
        if found: o = Model(); o.m = str
        found.append(o.m(x))
    Model.m = lambda self, x: -x
    return [*found, [o.m(x) for o in (Model(), Model())]]
def of_types(x):
    return [o.count(x) for o in ([x], (x, x), [])]
"""


def site(called: Any, place: Place, holder: Any = None) -> Any:
    """Asked for what is called, and tells the place."""
    place.keep(called, called, holder)
    return called


@pytest.mark.parametrize("name", ["name", "of_module", "of_list"])
def test_a_place_asks_once(name: str) -> None:
    asked: list[Any] = []

    def noted(called: Any, place: Place, holder: Any = None) -> Any:
        asked.append(called.__name__)
        return site(called, place, holder)

    function = define(PLACES)[name]
    assert converted(function, Converter(Operators(site=noted)))(2.5) == function(2.5)
    assert len(asked) == len(set(asked)) == 2


@pytest.mark.parametrize("name", ["name", "of_module", "of_instance", "of_types"])
def test_a_place_is_never_stale(name: str) -> None:
    expected = define(CHANGES)[name](-2)
    assert converted(define(CHANGES)[name], Converter(Operators(site=site)))(-2) == expected
