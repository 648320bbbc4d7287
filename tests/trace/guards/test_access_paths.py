"""Access paths read a value, are written as Python that reads it, and are told to the user."""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable
from types import CellType, SimpleNamespace
from typing import Any

import pytest

from tracejit.trace.capture.ambient import STATES
from tracejit.trace.capture.libraries import KEPT_NAMES
from tracejit.trace.guards.access_paths import (
    ATTRIBUTE_IF_ANY,
    CALL,
    CELL,
    CONTEXT_VALUE,
    GLOBAL,
    MODULE,
    STATE,
    AccessPath,
    Labels,
)

space = SimpleNamespace(w=1.0, inner=SimpleNamespace(k=2))
setattr(space, "two words", 3)
table = {"a": [1, 2], (1, 2): "pair"}
variable = contextvars.ContextVar("variable", default=5)
geterr = STATES[0].ambient

# A path, what it reads, and how the user calls it.
PATHS: dict[str, tuple[AccessPath, Any, str]] = {
    "an object": (AccessPath(space), space, "space"),
    "an attribute": (AccessPath(space).attribute("w"), 1.0, "space.w"),
    "an attribute of no name": (AccessPath(space).attribute("two words"), 3, "space.two words"),
    "an attribute past the class": (AccessPath(space).own("w"), 1.0, "space.w"),
    "an attribute that may be missing": (
        AccessPath(space).then(ATTRIBUTE_IF_ANY, "missing"), None, "space.missing",
    ),
    "attributes": (AccessPath(space).attribute("__dict__"), vars(space), "space"),
    "two steps": (AccessPath(space).own("inner").own("k"), 2, "space.inner.k"),
    "an item": (AccessPath(table).item("a").item(1), 2, "table['a'][1]"),
    "an item of any key": (AccessPath(table).item((1, 2)), "pair", "table[(1, 2)]"),
    "a global": (AccessPath(globals()).then(GLOBAL, "table"), table, "the global table"),
    "a variable of a closure": (AccessPath(CellType(3)).then(CELL, "rate"), 3, "rate"),
    "a call": (AccessPath(functools.partial(int, "7")).then(CALL), 7, "a partial()"),
    "a context variable": (
        AccessPath(variable).then(CONTEXT_VALUE, ()), 5, "a ContextVar.get()",
    ),
    "a module": (AccessPath(sys.modules).then(MODULE, "sys"), sys, "the module sys"),
    "a state": (AccessPath(geterr).then(STATE, geterr.label), geterr.read(), "np.geterr()"),
    "kept names": (AccessPath(space).then(KEPT_NAMES), ["w", "inner", "two words"], "space"),
}  # fmt: skip


def binder(names: dict[str, Any]) -> Callable[[Any], str]:
    """A function that gives objects names in `names`."""

    def bind(thing: Any) -> str:
        names[f"_{len(names)}"] = thing
        return f"_{len(names) - 1}"

    return bind


@pytest.mark.parametrize("name", PATHS)
def test_a_path_reads_what_its_spelling_does(name: str) -> None:
    path, value, label = PATHS[name]
    names: dict[str, Any] = {}
    assert path.value() == eval(path.spelling(binder(names)), names) == value
    assert Labels({id(space): "space", id(table): "table"}).of(path) == label


def test_paths_of_the_same_steps_have_one_key() -> None:
    assert AccessPath(space).own("w").key() == AccessPath(space).own("w").key()
    assert AccessPath(space).own("w").key() != AccessPath(space).own("v").key()
    assert AccessPath(space).own("w").key() != AccessPath(table).own("w").key()


def test_an_object_is_called_by_the_path_under_which_it_was_found() -> None:
    inner = space.inner
    labels = Labels({id(space): "self"}, {id(inner): AccessPath(space).own("inner")})
    assert labels.of(AccessPath(inner).own("k")) == "self.inner.k"
    around = Labels({}, {id(inner): AccessPath(inner).own("k")})
    assert around.of_object(inner) == "a SimpleNamespace.k"


def test_parts_are_told_by_their_object_and_name() -> None:
    thing = SimpleNamespace(w=1.0)
    path = AccessPath(thing)
    assert path.attribute("w").place_key() == path.own("w").place_key() == (id(thing), "w")
    assert path.item("w").place_key() == (id(thing), "['w']")
    assert path.place_key() is None
