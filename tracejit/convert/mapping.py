"""The fallback for code without usable source: run it with other globals, builtins and cells.

A function of the shell, of `exec` or of a `.pyc` file, or one whose file was edited, runs its own
code object; but what it reads under a name goes through `see(code, name, value)`, which answers
the value or another in its place. Python asks a mapping for globals and builtins wherever one of
the two is not exactly a `dict`. Cells are copied where `see` answers another value.

Python stores globals in the raw dict of such a mapping, and class bodies read them there. So code
that does either is not run this way, nor code that takes its namespace in hand.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from tracejit.convert.exclusions import Reason
from tracejit.convert.source import all_codes

See = Callable[[CodeType, str, Any], Any]

RAW = Reason(
    "its source is not usable, and it assigns to globals, defines a class or names its namespace",
    "Define it in a file that is there when it runs",
)
_USES_RAW = {dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_BUILD_CLASS")}
_CELL_STORES = ("STORE_DEREF", "DELETE_DEREF")
_NAMESPACES = frozenset(("globals", "eval", "exec", "vars", "__builtins__"))
_READ_BY_C = ("__name__", "__package__", "__spec__", "__path__", "__file__", "__loader__")
"""What C code reads from the globals of a frame, past `__getitem__`."""


class Names(dict[str, Any]):
    """A dict of which reads by key go to another dict, and through `see`."""

    def __init__(self, real: dict[str, Any], code: CodeType, see: See) -> None:
        """Look at `real` for a code object."""
        super().__init__()
        self.real, self.code, self.see = real, code, see

    def __getitem__(self, name: str) -> Any:
        return self.see(self.code, name, self.real[name])

    def __contains__(self, name: object) -> bool:
        return name in self.real

    def __iter__(self) -> Iterator[str]:
        return iter(self.real)

    def __len__(self) -> int:
        return len(self.real)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, as the user's dict has it: frames and classes are asked this way."""
        return self.real.get(name, default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The value of a name in the user's dict, which is given one if it has none."""
        return self.real.setdefault(name, default)

    def __setitem__(self, name: str, value: Any) -> None:
        self.real[name] = value

    def __delitem__(self, name: str) -> None:
        del self.real[name]


def seen_through(function: FunctionType, see: See) -> FunctionType | Reason:
    """A function of the same code that reads its names through `see`, or why there is none."""
    code = function.__code__
    codes = (code, *all_codes(code))
    if any(_NAMESPACES.intersection(one.co_names) or _uses_raw(one) for one in codes):
        return RAW
    names = namespace(function, see)
    cells = _cells(function, codes, see)
    return FunctionType(code, names, function.__name__, function.__defaults__, cells)


def real_globals(function: FunctionType) -> dict[str, Any]:
    """The user's globals of a function, also of one that was made by code seen through `see`."""
    namespace = function.__globals__
    return namespace.real if isinstance(namespace, Names) else namespace


def namespace(function: FunctionType, see: See) -> Names:
    """The globals of a function, with its builtins, seen through `see`."""
    code, real = function.__code__, real_globals(function)
    own: Any = real.get("__builtins__", builtins)
    own = getattr(own, "__dict__", own)

    def imported(name: str, *context: Any, **named: Any) -> Any:
        return see(code, name.split(".")[0], own["__import__"](name, *context, **named))

    def see_builtin(code: CodeType, name: str, value: Any) -> Any:
        return imported if name == "__import__" else see(code, name, value)

    beneath = Names(own, code, see_builtin)
    read_by_c = {"__import__": imported, "__build_class__": own.get("__build_class__")}
    dict.update(beneath, {name: one for name, one in read_by_c.items() if name in own})
    found = Names(real, code, see)
    raw = {name: real[name] for name in _READ_BY_C if name in real}
    shown_once = real.setdefault("__warningregistry__", {})
    dict.update(found, raw, __builtins__=beneath, __warningregistry__=shown_once)
    return found


def only_called(code: CodeType, name: str) -> bool:
    """Return whether code reads a global or builtin only to call it: `float(x)`, not `dtype=float`.
    Python 3.10 does not tell."""
    reads = [
        instruction.argrepr
        for one in (code, *all_codes(code))
        for instruction in dis.get_instructions(one)
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == name
    ]
    return bool(reads) and all("NULL" in read for read in reads)


def _uses_raw(code: CodeType) -> bool:
    return not _USES_RAW.isdisjoint(code.co_code[::2])


def _cells(
    function: FunctionType, codes: tuple[CodeType, ...], see: See
) -> tuple[CellType, ...] | None:
    """The cells of a function; those of which another value is seen, and that it never assigns,
    are copied."""
    if function.__closure__ is None:
        return None
    written = {
        instruction.argval
        for code in codes
        for instruction in dis.get_instructions(code)
        if instruction.opname in _CELL_STORES
    }
    named = zip(function.__code__.co_freevars, function.__closure__, strict=True)
    return tuple(
        cell if name in written else _cell(name, cell, codes[0], see) for name, cell in named
    )


def _cell(name: str, cell: CellType, code: CodeType, see: See) -> CellType:
    try:
        value = cell.cell_contents
    except ValueError:  # it is not bound yet
        return cell
    seen = see(code, name, value)
    return cell if seen is value else CellType(seen)
