"""Conditions, compiled: a function for each module, which runs in its globals.

A global, or a builtin that none hides, is read there as the module's own code reads it, at the cost
of a variable. Objects that are wanted are defaults of the function's parameters. The first function
calls the next, and the one with contents is last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

from tracejit.trace.guards.access_paths import NAME, AccessPath
from tracejit.trace.guards.conditions import TEXT_OF_GUARD, Condition, Guards
from tracejit.trace.guards.guards import HasContents

PREFIX = "__tracejit_"


def compiled(conditions: Iterable[Condition], kept: Any = None) -> Guards | None:
    """The conditions as one function, which keeps an object; None where there are none."""
    found = list(conditions)
    if not found:
        return None
    groups: dict[int, tuple[dict[str, Any], list[Condition]]] = {}
    last: list[Condition] = []
    spaces = [_space_of(condition.path) for condition in found]
    for space in spaces:
        if space is not None:
            groups.setdefault(id(space), (space, []))
    rest: list[Condition] = []
    for condition, space in zip(found, spaces, strict=True):
        if space is not None:
            groups[id(space)][1].append(condition)
        elif isinstance(condition.guard, HasContents):
            last.append(condition)
        else:
            rest.append(condition)
    if groups:
        next(iter(groups.values()))[1].extend(rest)
    if not groups:
        groups[0] = {"__name__": __name__}, rest
    holds: Callable[[], bool] | None = None
    tested = set[int]()
    for space, tests in reversed(groups.values()):
        holds = _function(space, [*tests, *last], holds, kept, tested)
        last, kept = [], None
    assert holds is not None
    return Guards(holds, tuple([condition for condition in found if id(condition) in tested]))


def _space_of(path: AccessPath) -> dict[str, Any] | None:
    """The globals among which a path begins with a name."""
    while path.step is not None:
        if path.step is NAME:
            return path.root  # type: ignore[no-any-return]
        path = path.held
    return None


def _function(
    space: dict[str, Any],
    tests: list[Condition],
    then: Callable[[], bool] | None,
    kept: Any,
    tested: set[int],
) -> Callable[[], bool]:
    """The function of one module. Of conditions that are spelled alike one is `tested`."""
    names: dict[int, str] = {}
    things: list[Any] = []

    def bind(thing: Any) -> str:
        if id(thing) not in names:
            names[id(thing)] = f"{PREFIX}{len(things)}"
            things.append(thing)
        return names[id(thing)]

    spelled: dict[str, int] = {}
    for test in tests:
        spelled.setdefault(test.spelling(bind), id(test))
    tested.update(spelled.values())
    if then is not None:
        spelled[f"{bind(then)}()"] = 0
    if kept is not None:
        bind(kept)
    body = f"    try: return True and {' and '.join(spelled)}"
    body += f"\n    except {bind(Exception)}: return False"
    text = f"def guards_hold({', '.join(names.values())}):\n{body}"
    return FunctionType(_code(text), space, "guards_hold", tuple(things))


@functools.lru_cache(256)
def _code(text: str) -> CodeType:
    """The code of a guard. Objects are in it by name, so a function that is recorded once more
    mostly has the same."""
    module = compile(text, TEXT_OF_GUARD, "exec")
    return next(one for one in module.co_consts if type(one) is CodeType)
