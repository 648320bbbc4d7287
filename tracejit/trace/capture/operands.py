"""Arrays that a function uses only as operands of recorded arrays: a proof from its bytecode.

Such an array is a hidden argument, read at each call, and nothing of it is frozen into a kernel:
its contents need no comparison. The proof follows what is on Python's stack, instruction by
instruction: a parameter that is recorded, an array by name, what an operation on a recorded array
answers, which is one. Whatever it does not know takes all arrays on the stack for read. So it knows
little, and what it says is so: that every load of a name is followed by one operation with a
recorded array, or by a look at the shape.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.ops.base.op import DIRECT
from tracejit.trace.source.bytecode import instructions

# Names by which code may reach what it does not spell.
REACHING = frozenset(
    "globals vars eval exec locals __closure__ cell_contents __globals__ modules gc inspect "
    "_getframe currentframe f_locals f_globals f_back import_module __import__ get_referents "
    "get_referrers getclosurevars __dict__ settrace setprofile".split()
)
_METADATA = frozenset("shape ndim dtype size itemsize nbytes".split())
_METHODS = frozenset("sum mean max min dot reshape ravel astype copy transpose".split())
_SYMBOLS = frozenset("+ - * / @ += -= *= /=".split())
_OLD_SYMBOLS = {
    "BINARY_ADD": "+", "BINARY_SUBTRACT": "-", "BINARY_MULTIPLY": "*", "BINARY_TRUE_DIVIDE": "/",
    "BINARY_MATRIX_MULTIPLY": "@", "INPLACE_ADD": "+=", "INPLACE_SUBTRACT": "-=",
    "INPLACE_MULTIPLY": "*=", "INPLACE_TRUE_DIVIDE": "/=",
}  # fmt: skip
_NOTHING = frozenset("RESUME NOP CACHE PRECALL COPY_FREE_VARS MAKE_CELL EXTENDED_ARG".split())
_NULL_LAST = sys.version_info >= (3, 13)
_CALLS_BY_ATTRIBUTE = sys.version_info >= (3, 12)


class Item(NamedTuple):
    """An item on the stack. Its `kind` is "tensor", "array", "number", "module", "function",
    "method", "null" or "other"; an array has a name."""

    kind: str
    name: str = ""
    value: Any = None


OTHER, TENSOR, NUMBER, NULL = Item("other"), Item("tensor"), Item("number"), Item("null")


def arrays_read(
    code: CodeType, recorded: frozenset[str], resolve: Callable[[str], Any]
) -> frozenset[str]:
    """The names of those arrays that `code` may do more with than combine them with recorded ones.
    `recorded` are the parameters that are recorded arrays whenever it runs, `resolve` answers what
    a global or a variable of the closure holds."""
    read: set[str] = set()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            read |= _all_names(inner)
    tensors = frozenset(code.co_varnames) - _parameters(code) | recorded
    tensors -= frozenset(code.co_cellvars)
    while True:
        scan = _Scan(code, tensors, resolve)
        scan.run()
        if scan.tensors == tensors:
            return frozenset(read | scan.read)
        tensors = scan.tensors


def _parameters(code: CodeType) -> frozenset[str]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    return frozenset(code.co_varnames[:count])


def _all_names(code: CodeType) -> set[str]:
    """Every name that occurs in `code` and in the code inside."""
    found = {*code.co_names, *code.co_freevars, *code.co_cellvars}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _all_names(inner)
    return found


class _Scan:
    """One pass over the instructions. `tensors` are the local variables that are only ever bound to
    recorded arrays, `read` the names of arrays that are more than operands."""

    def __init__(
        self, code: CodeType, tensors: frozenset[str], resolve: Callable[[str], Any]
    ) -> None:
        self.code = code
        self.tensors = tensors
        self.resolve = resolve
        self.read: set[str] = set()
        self.stack: list[Item] = []

    def run(self) -> None:
        """Follow the stack from the first instruction to the last."""
        for instruction in instructions(self.code):
            if instruction.is_jump_target:
                self._forget()
            if not self._step(instruction):
                self._forget()
                if instruction.opname.startswith(("STORE_", "DELETE_")):
                    self._bind(instruction.argval, OTHER)

    def _pop(self) -> Item:
        return self.stack.pop() if self.stack else OTHER

    def _reads(self, *items: Item) -> Item:
        """Anything may be done with the items; what comes of it is unknown."""
        self.read.update(item.name for item in items if item.kind == "array")
        return OTHER

    def _forget(self) -> None:
        """Know nothing of the stack any more."""
        self._reads(*self.stack)
        self.stack.clear()

    def _bind(self, names: Any, item: Item) -> None:
        """A variable is bound to an item."""
        self._reads(item)
        for name in names if isinstance(names, tuple) else (names,):
            if item.kind != "tensor":
                self.tensors -= {name}
            self.read.add(name)  # if it names an array, that is rebound

    def _step(self, instruction: dis.Instruction) -> bool:
        """Follow one instruction; False where it is not known."""
        name, value = instruction.opname, instruction.argval
        if name in _NOTHING:
            return True
        if name.startswith("LOAD_FAST") and name != "LOAD_FAST_AND_CLEAR":
            for one in value if isinstance(value, tuple) else (value,):
                self.stack.append(TENSOR if one in self.tensors else OTHER)
        elif name == "STORE_FAST":
            self._bind(value, self._pop())
        elif name == "STORE_FAST_STORE_FAST":
            self._bind(value[0], self._pop())
            self._bind(value[1], self._pop())
        elif name == "STORE_FAST_LOAD_FAST":
            self._bind(value[0], self._pop())
            self.stack.append(TENSOR if value[1] in self.tensors else OTHER)
        elif name == "LOAD_CONST":
            is_number = type(value) in (int, float, bool)
            self.stack.append(NUMBER if is_number else OTHER)
        elif name == "LOAD_GLOBAL":
            calls = instruction.arg is not None and instruction.arg & 1
            self._push(self._named(value), bool(calls) and sys.version_info >= (3, 11))
        elif name == "LOAD_DEREF":
            own = value in self.code.co_cellvars
            self.stack.append(OTHER if own else self._named(value))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            part = self._attribute(self._pop(), value)
            by_arg = _CALLS_BY_ATTRIBUTE and bool((instruction.arg or 0) & 1)
            self._push(part, name == "LOAD_METHOD" or by_arg)
        elif name == "PUSH_NULL":
            self.stack.append(NULL)
        elif name in ("CALL", "CALL_METHOD", "CALL_FUNCTION"):
            self._call(value, 1 if name == "CALL_FUNCTION" else 2)
        elif name == "COMPARE_OP" or name == "BINARY_OP" or name in _OLD_SYMBOLS:
            symbol = _OLD_SYMBOLS.get(name, instruction.argrepr)
            b, a = self._pop(), self._pop()
            if name == "COMPARE_OP":
                known = not symbol.startswith("bool(")
            else:
                writes = symbol.endswith("=") and a.kind == "array"
                known = symbol in _SYMBOLS and not writes
            self.stack.append(self._together(a, b) if known else self._reads(a, b))
        elif name == "UNARY_NEGATIVE":
            item = self._pop()
            self.stack.append(TENSOR if item.kind == "tensor" else self._reads(item))
        elif name == "POP_TOP":
            self._pop()
        elif name in ("RETURN_VALUE", "RETURN_CONST"):
            self._forget()
        else:
            return False
        return True

    def _push(self, item: Item, calls: bool) -> None:
        """Push an item, with the null beside it where it is about to be called."""
        if not calls:
            self.stack.append(item)
        else:
            self.stack += [item, NULL] if _NULL_LAST else [NULL, item]

    def _named(self, name: str) -> Item:
        """The item for a global or a variable of the closure."""
        value = self.resolve(name)
        if type(value) is np.ndarray:
            return Item("array", name)
        if value is np:
            return Item("module", name, value)
        if type(value) in (int, float, bool):
            return NUMBER
        if value is len or _combines(value):
            return Item("function", name, value)
        return OTHER

    def _attribute(self, item: Item, word: str) -> Item:
        if item.kind == "module" and isinstance(item.value, ModuleType):
            value = getattr(item.value, word, None)
            return Item("function", word, value) if _combines(value) else OTHER
        if item.kind == "array" and word in _METADATA:
            return OTHER
        if item.kind in ("array", "tensor") and word in ("T", "mT"):
            return item
        if item.kind == "tensor" and word in _METHODS:
            return Item("method", word)
        return self._reads(item)

    def _call(self, count: int, slots: int) -> None:
        """A call of what lies below `count` arguments, in one slot or two."""
        args = [self._pop() for _ in range(count)]
        called = [item for item in (self._pop() for _ in range(slots)) if item.kind != "null"]
        answer = None
        if len(called) == 1:
            answer = self._answer(called[0], args)
        self.stack.append(self._reads(*args, *called) if answer is None else answer)

    def _answer(self, called: Item, args: list[Item]) -> Item | None:
        """The item that a call returns; None where the call may look into its arguments."""
        if called.kind == "method":
            plain = all(arg.kind in ("tensor", "number") for arg in args)
            return TENSOR if plain or (called.name == "dot" and len(args) == 1) else None
        if called.kind != "function":
            return None
        if called.value is len:
            return OTHER if len(args) == 1 else None
        if len(args) not in (1, 2) or (len(args) == 1 and args[0].kind != "tensor"):
            return None
        if called.value in DIRECT and len(args) != called.value.nin:
            return None
        found = TENSOR if len(args) == 1 else self._together(*args)
        return found if found is TENSOR else None

    def _together(self, a: Item, b: Item) -> Item:
        """The item that an operation on two items gives. It looks into neither if one is a recorded
        array, and the other an array or a number."""
        kinds = {a.kind, b.kind}
        if "tensor" in kinds and kinds <= {"tensor", "array", "number"}:
            return TENSOR
        return self._reads(a, b)


def _combines(value: Any) -> bool:
    """Return whether a function of NumPy records its operands as they are."""
    try:
        return value in DIRECT or value is np.matmul or value is np.dot
    except TypeError:
        return False
