"""What instructions spell."""

from __future__ import annotations

import collections
import collections.abc
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracejit.trace.guards.reads import (
    LOOKUPS,
    is_foreign,
    is_foreign_module,
    is_installed,
    is_tool,
    keeps_elements,
    module_names,
    reads_of,
)

NUMBER: Any = 1
TABLE = np.arange(3.0)
UNREAD = [1, 2]


def test_names_are_globals_and_attributes() -> None:
    def f(local: Any) -> Any:
        free = NUMBER.real + local.attribute  # type: ignore[attr-defined]
        return lambda: (free, TABLE.method(), [UNREAD.of for _ in local])  # type: ignore[attr-defined]

    reads = reads_of(f.__code__)
    assert {"NUMBER", "TABLE", "UNREAD"} <= reads.names
    assert not {"local", "free", "attribute"} & reads.names
    assert reads.attributes == {"real", "attribute", "method", "of"}
    assert not (reads.modules or reads.shows or reads.matches)


def code_of(text: str) -> types.CodeType:
    """The code of a function with this body."""
    space: dict[str, Any] = {}
    exec("def f(x, y):\n    " + text.replace("\n", "\n    "), space)
    code: types.CodeType = space["f"].__code__
    return code


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import one.two", ["one", "one.two"]),
        ("import one.two as three", ["one", "one.two"]),
        ("from one import two", ["one", "one"]),
        ("from . import two", ["home", "home"]),
        ("from .one import two", ["home.one", "home.one"]),
        ("return lambda: __import__", []),
    ],
)
def test_modules_are_those_that_are_imported(text: str, names: list[str]) -> None:
    assert sorted(set(module_names(reads_of(code_of(text)), "home"))) == sorted(set(names))


def test_names_imported_from_a_module_are_attributes() -> None:
    assert "two" in reads_of(code_of("from one import two")).attributes


@pytest.mark.parametrize(
    "text", ["f'{x}'", "f'{x!r:>3}'", "str(x)", "'{}'.format(x)", "x.__repr__()"]
)
def test_code_that_shows_objects(text: str) -> None:
    assert reads_of(code_of(f"return {text}")).shows
    assert reads_of(code_of(f"return lambda: {text}")).shows


def test_code_that_takes_objects_apart() -> None:
    code = code_of("match x:\n    case y.Pair(first=a, second=b):\n        return a")
    assert reads_of(code).matches
    assert {"first", "second", "Pair"} <= reads_of(code).attributes


def test_code_that_looks_names_up() -> None:
    assert reads_of(code_of("return getattr(x, y)")).uses(LOOKUPS)
    assert reads_of(code_of("return x.__dict__[y]")).uses(LOOKUPS)
    assert not reads_of(code_of("return x.y")).uses(LOOKUPS)


def test_whose_code_is_whose() -> None:
    def own() -> None:
        pass

    assert is_foreign(np.__file__)
    assert is_foreign(collections.__file__)
    assert not is_foreign(__file__)
    assert not is_foreign(pytest.__file__)
    assert [is_foreign_module(name) for name in ("numpy", "random", "pytest", __name__)] == [
        True, True, True, False,
    ]  # fmt: skip
    made: Callable[..., Any] = own
    assert [is_tool(thing) for thing in (random.Random.choice, pytest.fixture, made, len)] == [
        True, True, False, False,
    ]  # fmt: skip
    assert not is_installed(own)
    fixture: Any = pytest.fixture
    assert is_installed(fixture)
    classes = (collections.UserDict, collections.ChainMap, collections.abc.Mapping, dict, Own)
    assert list(map(keeps_elements, classes)) == [True, True, False, False, False]


class Own:
    """A class of the user's."""
