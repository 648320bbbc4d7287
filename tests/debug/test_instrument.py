"""Instrumented copies of generated modules."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

import tracejit as tj
from tests.support.running import kernel_of
from tracejit.debug.instrument import Instrumented, own_function, resolved

X = np.ones(3)


def exponentials(x: Any) -> Any:
    return np.sum(np.exp(x))


def nothing(function: ast.FunctionDef, prefix: str) -> None:
    """Leave a function as it is."""


def test_a_copy_shares_constants_and_not_functions() -> None:
    kernel = kernel_of(exponentials, X)
    module = kernel.module
    copied = Instrumented(module, nothing, {"hook": 1}).copy()
    assert copied.ones_3 is module.ones_3
    assert copied.forward is not module.forward
    assert copied.forward.__globals__ is copied.__dict__
    assert copied.backward.__defaults__ == module.backward.__defaults__
    assert copied.forward.__doc__ == module.forward.__doc__
    assert copied._tj_hook == 1 and not hasattr(module, "_tj_hook")
    assert copied.forward(X)[0] == module.forward(X)[0]


def test_lines_are_those_of_the_text() -> None:
    module = kernel_of(exponentials, X).module
    copied = Instrumented(module, nothing, {}).copy()

    def lines(function: Any) -> list[int | None]:
        return sorted({line for _, _, line in function.__code__.co_lines() if line})

    for name in ("forward", "backward", "value_and_grad"):
        assert lines(getattr(copied, name)) == lines(getattr(module, name))
        assert getattr(copied, name).__code__.co_filename == module.__file__


def test_names_of_hooks_are_free() -> None:
    kernel = tj.function(lambda _tj_x: _tj_x * 2.0, cache=False).kernel(X)
    assert "_tj_" in kernel.source
    (name,) = Instrumented(kernel.module, nothing, {"hook": 1}).hooks
    assert name == "__tj_hook"


def test_functions_that_others_put_there_are_not_of_the_text() -> None:
    module = kernel_of(exponentials, X).module
    assert own_function(module, "forward") is module.forward
    assert own_function(module, "exp") is None
    module.__dict__["forward"] = lambda x: x
    assert own_function(module, "forward") is None


def test_names_resolve_to_objects_of_libraries_unless_they_are_variables() -> None:
    node = ast.parse("np.add.reduce", mode="eval").body
    assert resolved(node, {"np": np}, set()) == np.add.reduce
    assert resolved(node, {"np": np}, {"np"}) is None
    assert resolved(ast.parse("range", mode="eval").body, {}, set()) is range
