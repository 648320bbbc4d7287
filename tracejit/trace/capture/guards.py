"""Guard: conditions on what was read, written as one function of Python.

A condition is a Python expression. The objects in it have names of the guard's own, `_5`, under
which it holds them; what is plain is compared to the bit.
"""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable, Collection, Iterable
from types import CellType
from typing import Any

import numpy as np

from tracejit.trace.capture.contents import (
    array_copy,
    buffer_copy,
    is_in_one_piece,
    remembers,
    same_buffer,
    same_contents,
    whole_copy,
)
from tracejit.trace.capture.exactness import exact, is_normal, is_plain, kinds
from tracejit.trace.capture.libraries import kept_names


class Guard:
    """The conditions under which a kernel is still what the function computes."""

    def __init__(self) -> None:
        """No condition yet."""
        self.conditions: dict[str, None] = {}
        self._space: dict[str, Any] = {
            "_same": same_contents,
            "_buffer": same_buffer,
            "_remembers": remembers,
            "_kept": kept_names,
            "_exact": exact,
            "_kinds": kinds,
            "_empty": is_empty,
            "_token": abc.get_cache_token,
            "_modules": sys.modules,
        }
        self._names: dict[int, str] = {}
        self._absent: dict[str, set[str]] = {}
        self._things: dict[str, Any] = {}
        self._contents: dict[str, tuple[int, str]] = {}

    def bind(self, thing: Any) -> str:
        """The name of an object in conditions."""
        name = self._names.get(id(thing))
        if name is None:
            name = self._names[id(thing)] = f"_{len(self._space)}"
            self._space[name] = thing
        return name

    def objects(self) -> list[Any]:
        """The objects that conditions refer to by a name."""
        return list(self._space.values())

    def key(self, key: Any) -> str:
        """The expression for a key of a container."""
        return repr(key) if type(key) in (str, int) else self.bind(key)

    def check(self, condition: str) -> None:
        """Hold only where `condition` is true."""
        self.conditions[condition] = None

    def check_identity(self, value: Any, place: str) -> None:
        """Hold only where the expression `place` is the object `value`."""
        self.check(f"{place} is {self.bind(value)}")

    def check_plain(self, value: Any, place: str) -> None:
        """Hold only where `place` is the number or text `value`, of its type and to the bit."""
        if value is None or isinstance(value, bool):
            self.check(f"{place} is {value!r}")
            return
        kind = f"type({place}) is {self.bind(type(value))}"
        if isinstance(value, (np.number, np.bool_)):
            self.check(f"{kind} and {place}.tobytes() == {value.tobytes()!r}")
        elif isinstance(value, (str, bytes, int)) or (type(value) is float and is_normal(value)):
            self.check(f"{kind} and {place} == {self.bind(value)}")
        else:
            self.check(f"{kind} and repr({place}) == {repr(value)!r}")

    def check_keys(self, keys: Collection[Any], held: str) -> None:
        """Hold only where a set or the keys of a dict are these, in this order."""
        if not all(map(is_plain, keys)):
            self.check(f"_exact({held}) == {self.bind(exact(keys))}")
            return
        self.check(f"list({held}) == {self.bind(list(keys))}")
        if any(type(key) is not str for key in keys):
            self.check(f"_kinds({held}) == {self.bind(kinds(keys))}")

    def check_contents(self, thing: Any, held: str) -> None:
        """Hold only where `held`, an array of this dtype and shape or a buffer, has the contents
        that `thing` has when they are copied."""
        self._things[held] = thing

    def copy_contents(self, but: Collection[int] = ()) -> None:
        """Copy the contents that are compared: `but` not, by id, of what needs it not."""
        for held, thing in self._things.items():
            if id(thing) not in but and held not in self._contents:
                self._contents[held] = self._comparison(thing, held)

    def _comparison(self, thing: Any, held: str) -> tuple[int, str]:
        """The size of contents, and the condition that compares them with a copy made now."""
        if not isinstance(thing, np.ndarray):
            copy = buffer_copy(thing)
            return copy[1], f"_buffer({held}, {self.bind(copy)})"
        if is_in_one_piece(thing):
            return thing.nbytes, f"{self.bind(whole_copy(thing))} == {held}"
        return thing.nbytes, f"_same({held}, {self.bind(array_copy(thing))})"

    def check_absent(self, names: Iterable[str], held: str) -> None:
        """Hold only as long as the dict that `held` is has none of these keys."""
        self._absent.setdefault(held, set()).update(names)

    def compiled(self) -> Callable[[], bool] | None:
        """The function that says whether all conditions hold, and None where there are none. Its
        attribute `checks` lists them, `compared` the names of the arrays whose contents it
        compares."""
        checks = list(self.conditions)
        for held, names in self._absent.items():
            checks.append(f"{held}.keys().isdisjoint({self.bind(frozenset(names))})")
        # Contents last, large ones behind small ones: they cost most, and another kernel's guard
        # mostly fails before.
        checks += [condition for _, condition in sorted(self._contents.values())]
        if not checks:
            return None
        lines = ["def guards_hold():", "    try:", "        return (", "            True"]
        lines += [f"            and {check}" for check in checks]
        lines += ["        )", "    except Exception:  # what is read has no such part any more"]
        lines += ["        return False"]
        space = dict(self._space)
        exec(compile("\n".join(lines), "<tracejit guard>", "exec"), space)
        guard: Callable[[], bool] = space["guards_hold"]
        vars(guard).update(checks=tuple(checks), compared=tuple(self._contents))
        return guard


def is_empty(cell: CellType) -> bool:
    """Tell if the variable of a closure is bound to nothing.

    >>> is_empty(CellType()), is_empty(CellType(1))
    (True, False)
    """
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True
