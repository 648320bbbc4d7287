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

from tracejit.support.words import attribute, quoted
from tracejit.trace.capture.exactness import is_own
from tracejit.trace.capture.libraries import is_of_library, kept_names, library_parts
from tracejit.trace.capture.reads import (
    LABELS,
    METHODS,
    TESTERS,
    functions_in,
    is_foreign_module,
    keeps_elements,
    module_name,
)
from tracejit.trace.capture.walk import Walk

BUILTIN_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
# Python calls these when an object is made or dropped, and those when it is shown.
ASIDE = frozenset(("__new__", "__init__", "__post_init__", "__del__"))
SHOWN = frozenset(("__repr__", "__str__", "__format__"))


def visit_instance(walk: Walk, value: Any, held: str) -> None:
    """Attributes and methods of an object that the code's names reach."""
    kind = type(value)
    own = getattr(value, "__dict__", {})
    for word in ("__wrapped__", "__gradient_rule__"):
        if own.get(word) is not None:
            walk.visit(own[word], f"{held}.{word}", "function", check=False)
    if module_name(kind).partition(".")[0] in TESTERS | {"tracejit"}:
        return
    foreign = is_foreign_module(module_name(kind))
    if is_of_library(kind):
        walk.check(f"_kept({held}) == {walk.bind(kept_names(value))}")
        for word, path, part in library_parts(value):
            walk.visit(part, f"{held}{path}", word)
        if foreign:
            return
    elif own or (hasattr(value, "__dict__") and not foreign):
        walk.check(f"list({held}.__dict__) == {walk.bind(list(own))}")
    words = walk.spelled(own)
    if any(keeps_elements(cls) for cls in kind.__mro__) or (foreign and is_own(kind, "__eq__")):
        # Python's own containers (UserDict, ChainMap) keep in attributes what is read by index,
        # and its records (SimpleNamespace) are compared and shown by them.
        words = set(own)
    elif foreign:
        words |= {word for word in own if type(own[word]) in (FunctionType, MethodType)}
    for word in sorted(words):
        place = f"{held}.__dict__[{quoted(word)}]"
        if foreign or is_of_library(kind):
            walk.visit(own[word], place, word)
        else:
            walk.visit_attribute(value, word, own[word], place)
    for word in sorted((walk.later_words & own.keys()) - words):
        walk.visit(own[word], f"{held}.__dict__[{quoted(word)}]", word, inside=False)
    if foreign:
        return
    walk.check(f"type({held}) is {walk.bind(kind)}")
    hidden = set(own)
    for cls in kind.__mro__:
        for word in sorted(walk.spelled(vars(cls)) - hidden):
            if not isinstance(vars(cls)[word], MemberDescriptorType):
                continue
            if hasattr(value, word):
                walk.visit(getattr(value, word), attribute(held, word), word)
            else:
                walk.check(f"not hasattr({held}, {word!r})")
    visit_class(walk, kind, hidden, is_made="make" in walk.habits)


def visit_class(walk: Walk, cls: type, hidden: Collection[str] = (), is_made: bool = True) -> None:
    """Attributes and methods of a class, where instances do not hide them; `is_made` says
    whether the code may make instances."""
    if is_foreign_module(module_name(cls)):
        return
    held = walk.bind(cls)
    walk.check(f"{held}.__mro__ is {walk.bind(cls.__mro__)}")
    walk.visit_labels(cls, held)
    if isinstance(cls, abc.ABCMeta) and type(cls) is not type:
        walk.check(f"_token() == {abc.get_cache_token()}")
    aside = frozenset() if is_made else ASIDE
    aside |= frozenset() if "show" in walk.habits else SHOWN
    seen = set(hidden)
    for base in (*cls.__mro__, *type.mro(type(cls))):
        if not is_foreign_module(module_name(base)):
            _visit_members(walk, base, seen, aside)


def _visit_members(walk: Walk, cls: type, hidden: set[str], aside: frozenset[str]) -> None:
    """Visit the members of `cls` that the code spells or that Python calls implicitly. `hidden`
    are the names that come from elsewhere; those of `cls` are added to it."""
    held = walk.bind(cls)
    walk.check(f"len({held}.__dict__) == {len(vars(cls))}")
    if "match" in walk.habits:
        walk.words.update(vars(cls).get("__match_args__", ()))
    implicit = {word for word in vars(cls) if word[:2] == word[-2:] == "__"} - aside
    for word in sorted(walk.spelled(vars(cls)) | implicit):
        member = vars(cls)[word]
        if isinstance(member, BUILTIN_DESCRIPTORS) or word in LABELS:
            continue
        if isinstance(member, FunctionType):
            walk.visit(member, attribute(held, word), word)
        elif isinstance(member, METHODS):
            walk.check(f"{held}.__dict__[{word!r}] is {walk.bind(member)}")
            for code in functions_in(member):
                walk.visit(code, walk.bind(code), word, check=False)
            if isinstance(member, classmethod):
                walk.habits.add("make")
        elif hasattr(type(member), "__get__"):
            walk.visit(member, f"{held}.__dict__[{quoted(word)}]", word)
        elif word not in hidden | implicit:
            walk.visit(member, attribute(held, word), word)
    for word in sorted((walk.later_words & vars(cls).keys()) - walk.words):
        if isinstance(vars(cls)[word], FunctionType):
            walk.visit(vars(cls)[word], attribute(held, word), word, inside=False)
    hidden.update(vars(cls))


def visit_module(walk: Walk, module: ModuleType, held: str) -> None:
    """The attributes of a module that the code spells."""
    if is_foreign_module(module.__name__):
        return
    walk.check(f"len({held}.__dict__) == {len(vars(module))}")
    for word in sorted((walk.words | {"__getattr__"}) & vars(module).keys()):
        walk.visit(vars(module)[word], attribute(held, word), word)
