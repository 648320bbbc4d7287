"""The operators, each of which may be missing."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.convert.running import converted, define
from tracejit.convert.converter import Converter
from tracejit.convert.operators import PLAIN, Operators

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
            match o.a[0]:
                case 1 if o is p and 1 in b: return f"{k}"
    return f
"""


@pytest.mark.parametrize("kind", [field.name for field in fields(Operators)])
def test_each_operator_stands_alone(kind: str) -> None:
    asked: list[Any] = []

    def operator(*arguments: Any) -> Any:
        asked.append(arguments)
        return getattr(PLAIN, kind)(*arguments)

    names = define(TEXT)
    f = converted(names["make"](2), Converter(Operators(**{kind: operator})))
    assert f(names["Box"]()) == "2"
    assert asked


def test_the_plain_ones_are_all_of_them() -> None:
    assert PLAIN.given().keys() == {field.name for field in fields(Operators)}
    assert Operators().given() == {}
