"""The walk over objects, classes and modules: the attributes that code spells, and the methods that
Python calls implicitly."""

from __future__ import annotations

import abc
from collections.abc import Collection
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from tracejit.trace.capture.libraries import KEPT_NAMES, is_of_library, kept_names, library_parts
from tracejit.trace.capture.walk import Walk
from tracejit.trace.guards.access_paths import CALL, AccessPath
from tracejit.trace.guards.exactness import is_own
from tracejit.trace.guards.guards import Equal, HasKeys, Is, Length, OfType, WithoutAttribute
from tracejit.trace.guards.reads import (
    LABELS,
    METHODS,
    TESTERS,
    functions_in,
    is_foreign_module,
    keeps_elements,
    module_name,
)

BUILTIN_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
# Python calls these when an object is made or dropped, and those when it is shown.
ASIDE = frozenset(("__new__", "__init__", "__post_init__", "__del__"))
SHOWN = frozenset(("__repr__", "__str__", "__format__"))


def visit_instance(walk: Walk, value: Any, held: AccessPath) -> None:
    """Attributes and methods of an object that the code's names reach."""
    kind = type(value)
    own = getattr(value, "__dict__", {})
    for word in ("__wrapped__", "__gradient_rule__"):
        if own.get(word) is not None:
            walk.visit_object(own[word], "function")
    if module_name(kind).partition(".")[0] in TESTERS | {"tracejit"}:
        return
    foreign = is_foreign_module(module_name(kind))
    if is_of_library(kind):
        walk.add(held.then(KEPT_NAMES), HasKeys(tuple(kept_names(value)), "attributes"))
        for step, word, part in library_parts(value):
            walk.visit(part, held.then(step, word), word)
        if foreign:
            return
    elif own or (hasattr(value, "__dict__") and not foreign):
        walk.add(held.attribute("__dict__"), HasKeys(tuple(own), "attributes"))
    words = walk.spelled(own)
    if any(keeps_elements(cls) for cls in kind.__mro__) or (foreign and is_own(kind, "__eq__")):
        # Python's own containers (UserDict, ChainMap) keep in attributes what is read by index,
        # and its records (SimpleNamespace) are compared and shown by them.
        words = set(own)
    elif foreign:
        words |= {word for word in own if type(own[word]) in (FunctionType, MethodType)}
    keys: list[Any] = sorted(words, key=str)
    for word in keys:
        if not isinstance(word, str):  # that only `vars` leads to
            walk.visit(own[word], held.attribute("__dict__").item(word), str(word))
            continue
        walk.visit(own[word], held.own(word), word)
    if foreign:
        return
    walk.add(held, OfType(kind))
    hidden = set(own)
    for cls in kind.__mro__:
        for word in sorted(walk.spelled(vars(cls)) - hidden):
            if not isinstance(vars(cls)[word], MemberDescriptorType):
                continue
            if hasattr(value, word):
                walk.visit(getattr(value, word), held.attribute(word), word)
            else:
                walk.add(held, WithoutAttribute(word))
    visit_class(walk, kind, hidden, is_made="make" in walk.habits)


def visit_class(walk: Walk, cls: type, hidden: Collection[str] = (), is_made: bool = True) -> None:
    """Attributes and methods of a class, where instances do not hide them; `is_made` says
    whether the code may make instances."""
    if is_foreign_module(module_name(cls)):
        return
    held = AccessPath(cls)
    walk.add(held.attribute("__mro__"), Is(cls.__mro__))
    walk.visit_labels(cls, held)
    if isinstance(cls, abc.ABCMeta) and type(cls) is not type:
        walk.add(AccessPath(abc.get_cache_token).then(CALL), Equal(abc.get_cache_token()))
    aside = frozenset() if is_made else ASIDE
    aside |= frozenset() if "show" in walk.habits else SHOWN
    seen = set(hidden)
    for base in (*cls.__mro__, *type.mro(type(cls))):
        if not is_foreign_module(module_name(base)):
            _visit_members(walk, base, seen, aside)


def _visit_members(walk: Walk, cls: type, hidden: set[str], aside: frozenset[str]) -> None:
    """Visit the members of `cls` that the code spells or that Python calls implicitly. `hidden`
    are the names that come from elsewhere; those of `cls` are added to it."""
    held = AccessPath(cls)
    walk.add(held.attribute("__dict__"), Length(len(vars(cls)), "attributes"))
    if "match" in walk.habits:
        walk.words.update(vars(cls).get("__match_args__", ()))
    implicit = {word for word in vars(cls) if word[:2] == word[-2:] == "__"} - aside
    for word in sorted(walk.spelled(vars(cls)) | implicit):
        member = vars(cls)[word]
        if isinstance(member, BUILTIN_DESCRIPTORS) or word in LABELS:
            continue
        if isinstance(member, FunctionType):
            walk.visit(member, held.attribute(word), word)
        elif isinstance(member, METHODS):
            walk.add(held.own(word), Is(member))
            for code in functions_in(member):
                walk.visit_object(code, word)
            if isinstance(member, classmethod):
                walk.habits.add("make")
        elif hasattr(type(member), "__get__"):
            walk.visit(member, held.own(word), word)
        elif word not in hidden | implicit:
            walk.visit(member, held.attribute(word), word)
    hidden.update(vars(cls))


def visit_module(walk: Walk, module: ModuleType, held: AccessPath) -> None:
    """The attributes of a module that the code spells."""
    if is_foreign_module(module.__name__):
        return
    walk.add(held.attribute("__dict__"), Length(len(vars(module)), "attributes"))
    for word in sorted((walk.words | {"__getattr__"}) & vars(module).keys()):
        walk.visit(vars(module)[word], held.attribute(word), word)
