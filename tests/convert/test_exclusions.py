"""Functions that are never converted."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.convert.running import define
from tracejit.convert import exclusions
from tracejit.convert.exclusions import LIBRARY, MARKED, SET, as_is, exclusion
from tracejit.support.errors import ArgumentError


@pytest.fixture(autouse=True)
def no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exclusions, "_modules", set())


def functions(module: str) -> dict[str, Any]:
    text = "def f(): pass\nclass C:\n    def m(self): pass\n    @staticmethod\n    def s(): pass\n"
    return define(f"{text}    p = property(lambda self: 1)\n", __name__=module)


def test_libraries_are_never_converted() -> None:
    for function in (json.dumps, np.linalg.matrix_rank.__wrapped__, tracejit.function):
        assert exclusion(function) is LIBRARY
    assert exclusion(functions("program")["f"]) is None
    assert exclusion(functions("scipy.sparse._csr")["f"]) is LIBRARY
    assert exclusion(functions("scipy.sparse.linalg._isolve")["f"]) is None


def test_marks_are_of_functions_classes_modules_and_packages() -> None:
    names = functions("package.module")
    assert as_is(names["f"]) is names["f"]
    assert exclusion(names["f"]) is MARKED
    cls = as_is(names["C"])
    assert {exclusion(one) for one in (cls.m, cls.s, vars(cls)["p"].fget)} == {MARKED}
    other = functions("package.other")["f"]
    assert exclusion(other) is None
    as_is("package")
    assert exclusion(other) is MARKED
    assert exclusion(functions("packages")["f"]) is None


def test_the_setting_excludes_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_AS_IS", "json, package.inner")
    assert exclusion(functions("package.inner.module")["f"]) is SET
    assert exclusion(functions("package.other")["f"]) is None
    with tracejit.config(as_is=["package"]):
        assert exclusion(functions("package.other")["f"]) is SET


@pytest.mark.parametrize(
    "wrap",
    [functools.lru_cache, functools.cached_property, functools.partial, classmethod, property],
)
def test_a_mark_is_of_the_function_that_is_wrapped(wrap: Any) -> None:
    function = functions("package.module")["f"]
    wrapped = wrap(function)
    assert as_is(wrapped) is wrapped
    assert exclusion(function) is MARKED


def test_a_wrapper_and_what_it_wraps_are_marked() -> None:
    names = functions("package.module")
    function, wrapper = names["f"], functools.wraps(names["f"])(functions("package.other")["f"])
    as_is(wrapper)
    assert exclusion(function) is exclusion(wrapper) is MARKED


@pytest.mark.parametrize("value", [np.ones(3), 2.0, None])
def test_a_value_cannot_be_marked(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"tj\.as_is needs a function, got "):
        as_is(value)
