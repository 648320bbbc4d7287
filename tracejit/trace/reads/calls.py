"""Calls: the user's functions run converted, and objects that C code gets are noted whole.

A rule stands for each builtin that reads what it is given in a way of its own, and for those that
call the user's code. What has no rule gets its arguments as they are, after all that it may read of
them was noted.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import dis
import functools
import importlib.util
import operator
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tracejit.convert.exclusions import is_never_converted
from tracejit.convert.operators import Place, is_lasting
from tracejit.support.codes import code_of, is_made_of_another
from tracejit.support.memo import ByIdentity
from tracejit.trace.convert.routes import Routes, hands_over
from tracejit.trace.convert.standard import by_type
from tracejit.trace.guards.access_paths import (
    ATTRIBUTE,
    CALL,
    CELL,
    CONTEXT_VALUE,
    MODULE,
    NAME,
    AccessPath,
    PathStep,
    name_in,
)
from tracejit.trace.guards.guards import Is, IsAlive, Unbound, is_empty
from tracejit.trace.guards.reads import (
    TAKERS,
    is_foreign_module,
    is_installed,
    is_tool,
    module_name,
)
from tracejit.trace.reads.attributes import IN_CLASS, lookup
from tracejit.trace.reads.containers import (
    CONTAINERS,
    KEYED,
    VIEWS,
    holds_recorded,
)
from tracejit.trace.reads.frames import sees_frames
from tracejit.trace.reads.fresh import is_new
from tracejit.trace.reads.notes import MISSING, NUMBERS_AND_TEXT, PLAIN_KINDS, is_plain, is_users
from tracejit.trace.reads.writes import Writes
from tracejit.trace.recording.active import OF_TRANSFORM, PARTS
from tracejit.trace.recording.before import Before
from tracejit.trace.recording.mutable_attributes import dict_of
from tracejit.trace.recording.record import note_draw
from tracejit.trace.source.bytecode import has_any, loaded_names
from tracejit.trace.structure.draws import is_random
from tracejit.trace.structure.trees import flatten, is_named_tuple
from tracejit.trace.tensor.tensor import TENSORS

CALLBACKS = "tracejit.api.callbacks"
_CACHED = type(functools.lru_cache(int))
_OF_CYTHON = "cython_function_or_method"
_GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_BOUND = (BuiltinFunctionType, MethodWrapperType)
_WRITE = object.__setattr__
_ADDING = frozenset(("append", "add", "insert", "appendleft", "__setitem__"))
READING = frozenset(("keys", "values", "items", "copy", "index", "count", "union", "difference",
    "intersection", "symmetric_difference", "issubset", "issuperset", "isdisjoint",
    "__len__", "__iter__", "__eq__", "__contains__", "__repr__", "__str__"))  # fmt: skip
_FUNCTIONS = frozenset((FunctionType, BuiltinFunctionType))
_LOOKED_UP = frozenset((*_FUNCTIONS, np.ufunc, type(np.sum)))
_CALLED = (FunctionType, MethodType, functools.partial)
_DATA = (*CONTAINERS, *VIEWS, np.ndarray)
_DEFINED = frozenset((FunctionType, ModuleType, type))
_DISPATCHES = getattr(functools.singledispatch(repr), "__code__")  # noqa: B009
_NATIVE = frozenset((globals, locals, eval, exec, compile, __import__))


class Names(NamedTuple):
    """The names in the instructions of a function, beside its operators: the `loaded` globals, the
    globals and cells that it assigns, the modules that it imports, and classes that it defines."""

    loaded: frozenset[str]
    assigned: frozenset[str]
    cells: frozenset[str]
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]
    defines_classes: bool


_BINDING = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF", "IMPORT_NAME",
    "LOAD_BUILD_CLASS")  # fmt: skip
_names: ByIdentity[CodeType, Names] = ByIdentity()


def names_of(code: CodeType) -> Names:
    """The names of a code object, found once."""
    found = _names.get(code)
    if found is None:
        found = _names[code] = _found_names(code)
    return found


def _found_names(code: CodeType) -> Names:
    loaded, assigned, cells, imports = set[str](), set[str](), set[str](), list[Any]()
    defines = False
    level = 0
    loaded |= loaded_names(code)
    for one in dis.get_instructions(code) if has_any(code, _BINDING) else ():
        match one.opname:
            case "STORE_GLOBAL" | "DELETE_GLOBAL":
                assigned.add(one.argval)
            case "STORE_DEREF" | "DELETE_DEREF":
                cells.add(one.argval)
            case "LOAD_CONST" if type(one.argval) is int:
                level = one.argval
            case "LOAD_SMALL_INT":
                level = one.argval
            case "IMPORT_NAME":
                imports.append((one.argval, level, []))
            case "IMPORT_FROM":
                imports[-1][2].append(one.argval)
            case "LOAD_BUILD_CLASS":
                defines = True
    inner = [one for one in code.co_consts if type(one) is CodeType and one.co_name[0] == "<"]
    for names in map(names_of, inner):
        loaded |= names.loaded
        defines |= names.defines_classes
    taken = cells & set(code.co_freevars)
    found = tuple((name, level, tuple(words)) for name, level, words in imports)
    return Names(frozenset(loaded), frozenset(assigned), frozenset(taken), found, defines)


_CALL_WITH = PathStep(
    lambda held, args: held(*args[0], **dict(args[1])),
    lambda held, args, bind: f"{held}(*{bind(args[0])}, **{bind(dict(args[1]))})",
    lambda held, args: f"{held}(...)",
)


class Calls(Writes):
    """Calls of whatever is called.

    `rules` are those of builtins. The `routes` of the recording answer what stands for a function
    of a library, and its converter a function of the user's that runs through the operators, or the
    very function.
    """

    rules: ClassVar[Mapping[Any, Callable[..., Any]]] = {}
    routes: Routes

    def __init__(self, before: Before | None = None) -> None:
        """Begin with nothing."""
        super().__init__(before)
        self.spaces: dict[int, dict[int, dict[str, Any]]] = {}
        self.cells: dict[int, dict[int, tuple[str, Any]]] = {}
        self.inner: set[int] = set()
        self.outer_cells: dict[int, Any] = {}
        self.entered: dict[int, FunctionType] = {}
        self.stands: dict[Any, Any] = {}
        self.converted: dict[Any, Any] = {}
        self.leaves: set[int] = set()

    def instead(self, called: Any) -> Any:
        """The callable that records a function, class or method of a library; or that itself."""
        if not is_lasting(called):
            owner = type(getattr(called, "__self__", None))
            key = (owner, called.__name__) if owner in NUMBERS_AND_TEXT else None
            if key is None or key not in self.stands:  # what holds of one number holds of all
                found = self.routes.route(called)
                if key is None or found is not None:
                    return found or called
                self.stands[key] = None
            return called
        found = self.stands.get(called)
        if found is None:
            found = self.stands[called] = self.routes.route(called) or called
        return found

    def called(self, function: Any) -> Any:
        return self.call(function)

    def call(self, called: Any, /) -> Any:
        """The callable in place of `called`, in the user's frame."""
        kind = type(called)
        if kind is MethodType:
            known = self.converted.get(called.__func__)
            if known is not None:
                return MethodType(known, called.__self__)
            return called if sees_frames(called) else self._method(called)
        if kind not in _LOOKED_UP:
            return self._other(called, kind)
        found = self.converted.get(called)
        if found is None:
            first = self._function if kind in _FUNCTIONS else self._other
            found = first(called, kind)
            if is_lasting(called):
                self.converted[called] = found
        return found

    def at_place(self, called: Any, place: Place, holder: Any = None, word: str = "") -> Any:
        """The same at a place of the code, which may know it from then on: what lasts, under a name
        that was noted, or in a module of a library."""
        found = self.call(called)
        if place.is_new:
            kind = type(called)
            is_known = kind is type or (kind in _LOOKED_UP and called in self.converted)
            if holder is not None:
                is_known &= (id(holder), word) in self.settled
            if is_known and is_lasting(called):
                place.is_new, place.holder = False, holder
                place.called, place.instead = called, found
                self.places.append(place)
        return found

    def _function(self, called: Any, kind: type) -> Any:
        """A function of Python's or C's that is called for the first time."""
        if sees_frames(called):
            return called
        if kind is FunctionType:
            rule = self.rules.get(called)
            return self.of_function(called) if rule is None else functools.partial(rule, self)
        return self._of_c(called)

    def _other(self, called: Any, kind: type) -> Any:
        """The callable in place of one that is not a function."""
        if kind in _BOUND:
            return self._of_c(called)
        if called is _WRITE:
            return self.write_past_class
        if isinstance(called, type):
            rule = self.rules.get(called)
            if called is super:
                return called
            if rule is not None:
                return functools.partial(rule, self)
            return functools.partial(self.instance, called)
        if kind is functools.partial:
            return self._partial(called)
        if kind is _CACHED:
            return self._cached_function(called)
        if isinstance(called, weakref.ref):
            return self._reference(called)
        if isinstance(called, _GETTERS):
            return functools.partial(self._getter, called)
        if module_name(kind).partition(".")[0] == "tracejit":
            self.walk_rule((dict_of(called) or {}).get("__gradient_rule__"))
            is_function = hasattr(kind, PARTS)
            return self.handing_over(called, _DATA) if is_function else self.handing(called)
        if kind.__name__ == _OF_CYTHON and is_foreign_module(module_name(called)):
            return self._of_c(called)
        method = self.special(called, "__call__")
        found = called if method is not None else self.instead(called)
        if method is None and found is called:
            method = lookup(kind, "__call__")
        if type(method) is FunctionType:
            return MethodType(self.of_function(method), called)
        return self.handing(found, called)

    def walk(self, o: Any) -> None:
        super().walk(o)
        if isinstance(o, FunctionType):
            self.routes.lend_methods_around(o)
        elif isinstance(o, type) or is_users(type(o)):
            self.routes.lend_methods_of(o)

    def identical(self, a: Any, b: Any, /) -> bool:
        """Ask `a is b`."""
        raise NotImplementedError

    def extreme(self, is_largest: bool, elements: Any) -> Any:
        """The largest or smallest of recorded numbers."""
        raise NotImplementedError

    def ask(self, x: Any, is_negated: bool, /) -> Any:
        """Ask whether a part of a condition is true, or is not."""
        raise NotImplementedError

    def check(self, test: Any, is_error: bool, /) -> Any:
        """Ask for the test of what raises if it is true, or false."""
        raise NotImplementedError

    def identity(self, o: Any) -> int:
        """Read `id(o)`."""
        if type(o) in TENSORS:
            self.refuse("the identity of an array")
        self.compared.add(id(o))
        return id(o)

    def walk_rule(self, rule: Any) -> None:
        """Guard what a rule of the user's for a gradient reads, which runs later."""
        if rule is not None:
            self.walk(rule)

    # Functions of the user's

    def of_function(self, f: FunctionType) -> Any:
        """A function as it runs converted, or what stands for it."""
        self.walk_rule(f.__dict__.get("__gradient_rule__"))
        found = self.routes.of_table(f)
        if found is not None:
            self.names.add(f.__name__)
            return self.handing_over(found) if hands_over(f) else self.handing(found)
        if is_never_converted(f):
            return self._of_library(f)
        if is_installed(f):
            return self.routes.if_recorded(f, self.handing(f), None if is_tool(f) else _is_followed)
        return self.function(f)

    def function(self, f: FunctionType) -> Any:
        """A function as it runs converted, after what it is was noted."""
        if is_made_of_another(f):
            return f
        code = code_of(f)
        is_inner = id(code) in self.inner and id(f) not in self.known
        if not is_inner and not is_installed(f):
            self.note(f, ATTRIBUTE, "__code__", code)
            self.note(f, ATTRIBUTE, "__defaults__", f.__defaults__)
            if f.__kwdefaults__:
                self.whole(self.note(f, ATTRIBUTE, "__kwdefaults__", f.__kwdefaults__))
        converter = self.routes.converter
        converted = converter.convert(f)
        if code in converter.refusals or (converted is f and not converter.stays(f)):
            return self.as_written(f, converted)
        self.enter(f, is_inner)
        return converted

    def as_written(self, f: FunctionType, seen: Any = None) -> Any:
        """A function that runs as it is written, where it is `seen` with what names mean while it
        is recorded: all that it may read is noted."""
        self.walk(f)
        self._walk_dataclass(f)
        handing = self.handing(f if seen is None else seen)
        handing.__name__ = f.__name__
        return handing

    def enter(self, f: FunctionType, is_inner: bool = False) -> None:
        """Know that a function runs: the names that its code reads are those of its module, and the
        cells its own. What it assigns by these names is noted before."""
        if id(f) in self.entered:
            return
        self.entered[id(f)] = f
        code, space = code_of(f), f.__globals__
        if id(code) not in self.spaces:
            self.inner.update(map(id, _inner_codes(code)))
        names = names_of(code)
        if not TAKERS.isdisjoint(code.co_names):
            self.habits.add("take gradients")
        spaces = self.spaces.setdefault(id(code), {})
        if is_tool(f):
            return
        if id(space) not in spaces:
            self.unsettle()
        spaces[id(space)] = space
        closure = AccessPath(f).attribute("__closure__")
        for index, (word, cell) in enumerate(
            zip(code.co_freevars, f.__closure__ or (), strict=True)
        ):
            self.found_at.setdefault(id(cell), closure.item(index))
            if not is_inner or id(cell) in self.outer_cells:
                self.outer_cells[id(cell)] = cell
                self.unsettle()
                self.cells.setdefault(id(code), {})[id(cell)] = word, cell
                self._enter_cell(word, cell, word in names.cells)
        for word in names.loaded | names.assigned:
            if not self._has_name(space, word):
                self.add_absent(space, AccessPath(space), word)
        for word in names.assigned:
            if not self.wrote(space, word):
                if self._has_name(space, word):
                    self.note(space, NAME, word, name_in(space, word))
                self.write(space, word, NAME)
        for name, level, words in names.imports:
            self._imported(f, name, level, words)
        if names.defines_classes:
            self.walk(f)

    def _enter_cell(self, word: str, cell: Any, is_assigned: bool) -> None:
        """Note a variable of a function around that is not bound, or is about to be assigned."""
        if is_empty(cell) and not self.wrote(cell, word):
            self.add(cell, Unbound())
        if is_assigned and not self.wrote(cell, word):
            if not is_empty(cell):
                self.note(cell, CELL, word, cell.cell_contents)
            self.write(cell, word, CELL)

    def _has_name(self, space: dict[str, Any], word: str) -> bool:
        try:
            name_in(space, word)
        except KeyError:
            return False
        return True

    def _imported(self, f: FunctionType, name: str, level: int, words: tuple[str, ...]) -> None:
        """Note what a function imports, as it is before."""
        if level:
            package = f.__globals__.get("__package__") or ""
            name = importlib.util.resolve_name("." * level + name, package)
        if is_foreign_module(name):
            return
        module = sys.modules.get(name)
        self.note(sys.modules, MODULE, name, module)
        for word in words if module is not None else ():
            with contextlib.suppress(AttributeError):
                self.attribute(module, word)
        if module is None:
            self.refuse("an import of a module that was not there")

    def name(self, where: int, word: str, value: Any, /) -> Any:
        """Note what a global or builtin is."""
        if (where, word) in self.settled:
            return value
        spaces = self.spaces.get(where)
        if spaces is None:
            function = self.routes.converter.lent(where)
            if function is None:
                self.refuse("a function that nobody called")
                return value
            self.enter(function)
            spaces = self.spaces[where]
        if not spaces and type(value) not in _DEFINED:
            self.made(value)  # a constant of a library
        for key, space in spaces.items():
            is_noted = (key, NAME, word) in self.conditions
            if not is_noted and not self.wrote(space, word):
                found = (self.read if len(spaces) == 1 else self.note)(space, NAME, word, value)
                if found is not value:
                    return found
        self.settled.add((where, word))
        return value

    def cell(self, where: int, word: str, value: Any, /) -> Any:
        """Note what a variable of a function around is: of each that may be meant."""
        cells = [one for name, one in self.cells.get(where, {}).values() if name == word]
        for cell in cells:
            if not self.wrote(cell, word) and not is_empty(cell) and cell.cell_contents is value:
                found = (self.read if len(cells) == 1 else self.note)(cell, CELL, word, value)
                if found is not value:
                    return found
                self.settled.add((where, word))
        return value

    def _method(self, bound: MethodType) -> Any:
        if type(bound.__func__) is not FunctionType:
            if is_random(bound.__self__):
                note_draw()
            found = self.routes.route(bound)
            if found is not None:
                return self.handing(found, bound.__self__)
            return functools.partial(self.call(bound.__func__), bound.__self__)
        if type(bound.__self__) is os._Environ and bound.__name__ == "get":
            return functools.partial(self.variable, bound)
        found = self.routes.route(bound)
        if found is not None or is_never_converted(bound.__func__):
            return self.handing(found or bound, bound.__self__)
        converted = self.of_function(bound.__func__)
        if is_lasting(bound.__func__):
            self.converted[bound.__func__] = converted
        return MethodType(converted, bound.__self__)

    def variable(self, get: Any, word: Any, /, *default: Any, **named: Any) -> Any:
        """Read a variable of the environment."""
        self.note_variable(os.environ, word)
        return get(word, *default, **named)

    def _of_library(self, f: FunctionType) -> Any:
        """A function of a library that runs as it is, or what stands for it."""
        if (kind := f.__dict__.get(OF_TRANSFORM)) is not None:
            return f if kind == "body" else self.handing_over(f, _DATA, kind == "reader")
        wrapped = getattr(f, "__wrapped__", None)
        if code_of(f) is _DISPATCHES:
            return functools.partial(self._dispatched, f)
        if f.__globals__.get("__name__") == "contextlib" and type(wrapped) is FunctionType:
            manager = contextlib.contextmanager(self.of_function(wrapped))
            return lambda *args, **kwargs: self.made(manager(*args, **kwargs))
        self.names.add(f.__name__)
        if f.__module__ == CALLBACKS:
            return self._later(f)
        is_held = f.__closure__ and not is_foreign_module(str(f.__module__))
        if (wrapped is not None or is_held) and not self.is_made(f):
            self.walk(f)
        return self.handing(by_type(f, FunctionType) or f)

    def _dispatched(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function that `singledispatch` chooses by the class of the first argument."""
        if not args:
            return f(**kwargs)  # Python raises
        asked = (self.attribute(args[0], "__class__"),), ()
        chosen = self.note(f.dispatch, _CALL_WITH, asked, f.dispatch(*asked[0]))
        return self.call(chosen)(*args, **kwargs)

    def _later(self, f: FunctionType) -> Any:
        """`tj.callback`, whose function runs after the recording, and reads only then."""

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            self.goes_by_identity = True
            for one in (*args, *kwargs.values()):
                self.hand(one, mixed=True)
            return f(function, *args, **kwargs)

        return call

    def _walk_dataclass(self, f: FunctionType) -> None:
        """Guard what the function `__init__` of a dataclass, which has no source, calls."""
        for one in f.__closure__ or ():
            value = None if is_empty(one) else one.cell_contents
            if type(value) is FunctionType:
                self.walk(value)

    # C

    def handing(self, called: Any, *owners: Any) -> Any:
        """A function that notes all of what it is given, before it calls C code."""

        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*owners, *args, *kwargs.values()) if owners or kwargs else args
            for one in given:
                if type(one) not in PLAIN_KINDS:
                    mixed = any(map(holds_recorded, given))
                    for each in given:
                        self.hand(each, mixed)
                    break
            answer = called(*args, **kwargs)
            if type(answer) in PLAIN_KINDS:
                return answer
            if type(answer) is np.ndarray:
                return self.made_array(answer) if is_new(answer) else answer
            return self.made(answer) if is_new(answer) else answer

        return call

    def handing_over(self, called: Any, data: Any = object, only_reads: bool = False) -> Any:
        """The same for what calls functions that it is given by what is called in their place, and
        looks into arguments of these classes. One that `only_reads` changes no container."""

        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            self.only_reads, before = only_reads, self.only_reads
            for one in given:
                if isinstance(one, data) and not isinstance(one, _CALLED):
                    self.hand(one, not only_reads or holds_recorded(given))
            self.only_reads = before
            return called(*args, **kwargs)

        return call

    def _of_c(self, called: Any) -> Any:
        """A function of C, or a method of an object's."""
        owner = getattr(called, "__self__", None)
        if type(owner) in TENSORS or type(owner) in NUMBERS_AND_TEXT:
            return self.handing(self.instead(called))
        if isinstance(owner, CONTAINERS):
            return functools.partial(self._container_method, called, owner, called.__name__)
        if type(called) is MethodWrapperType and called.__name__ == _WRITE.__name__:
            if not isinstance(owner, type):
                return functools.partial(self.write_past_class, owner)
        if isinstance(owner, contextvars.ContextVar) and called.__name__ == "get":
            return functools.partial(self._context_value, owner)
        rule = self.rules.get(called)
        if rule is not None:
            return functools.partial(rule, self)
        if called in _NATIVE:
            if called is not globals:
                self.refuse(f"{called.__name__}()")
            return called
        if owner is None or isinstance(owner, (ModuleType, type)):
            return self.handing(self.instead(called))
        if is_random(owner):
            note_draw()
            self.refuse("a generator of random numbers")
        return self.handing(self.instead(called), owner)

    def _container_method(
        self, called: Any, o: Any, name: str, /, *args: Any, **kwargs: Any
    ) -> Any:
        """A method of a container that C has."""
        if type(o) not in CONTAINERS and is_users(type(o)):
            self.note_type(o)
        if "key" in kwargs:
            kwargs["key"] = self.called(kwargs["key"]) if kwargs["key"] is not None else None
        if name == "get" and isinstance(o, KEYED):
            if args and self.contains(args[0], o):
                return self._of_dict(o, args[0])
            return called(*args)
        if name == "__getitem__":
            if type(lookup(type(o), name)) is not FunctionType:
                return self.item(o, *args)
            self.whole(o)  # by a method of its class, which has asked for that of C
            return called(*args)
        if name in ("pop", "setdefault") and isinstance(o, KEYED) and args:
            return self._pop(called, o, name, args)
        if name in ("append", "extend") and type(o) is list:
            for one in args if name == "extend" else ():
                self.iterate(one, 1)
            if not self.is_own(o):
                self.keep(o)
            return called(*args)
        is_read = name in READING or isinstance(o, (tuple, frozenset))
        if name in _ADDING:
            for one in args:
                self.note_key(one)
        elif name not in ("keys", "values", "items", "copy", "pop", "clear", "popitem"):
            for one in args:
                self.hand(one)
        if is_read:
            self.whole(o)
            if name in ("index", "count", "__eq__"):
                self.hand(o)
        else:
            if name == "sort":
                self.hand(o)
            self.change(o)
        result = called(*args, **kwargs)
        is_of_read = is_read and type(result) in (*CONTAINERS, *VIEWS)
        return self.made(result) if is_of_read else result

    def _pop(self, called: Any, o: Any, name: str, args: tuple[Any, ...]) -> Any:
        if self.contains(args[0], o):
            if name == "setdefault":
                return self._of_dict(o, args[0])
            self._of_dict(o, args[0])
        if not self.is_own(o):
            self.store_item(o, args[0])
        return called(*args)

    def _context_value(self, variable: Any, /, *default: Any) -> Any:
        try:
            value = variable.get()
        except LookupError:
            self.note(variable, CONTEXT_VALUE, (None,), None)
            return variable.get(*default)
        return self.note(variable, CONTEXT_VALUE, (), value)

    def _partial(self, called: functools.partial[Any]) -> Any:
        if not self.is_made(called):
            for word in ("func", "args", "keywords"):
                self.note(called, ATTRIBUTE, word, getattr(called, word))
            self.whole(called.keywords)
        function = self.call(called.func)
        return functools.partial(function, *called.args, **called.keywords)

    def _cached_function(self, called: Any) -> Any:
        """A function under `lru_cache`: what counts is what it answers again."""

        def call(*args: Any, **kwargs: Any) -> Any:
            asked = args, tuple(kwargs.items())
            if self.is_made(called):
                if holds_recorded(asked):
                    return self.called(called.__wrapped__)(*args, **kwargs)
                for one in (*args, *kwargs.values()):
                    self.note_key(one)
                return called(*args, **kwargs)
            if holds_recorded(asked):
                if not is_tool(called.__wrapped__):
                    self.walk(called)
                return self.instead(called)(*args, **kwargs)
            if all(is_plain(type(one)) for one in (*args, *kwargs.values())):
                return self.note(called, _CALL_WITH, asked, called(*args, **kwargs))
            if not is_tool(called.__wrapped__):
                self.walk(called)
            return called(*args, **kwargs)

        return call

    def _reference(self, reference: Any) -> Any:
        """A weak reference: the guard does not keep its referent alive."""
        referent = reference()
        self.add(reference, Is(None) if referent is None else IsAlive(), CALL)
        if referent is not None:
            self.paths.setdefault(id(referent), AccessPath(reference).then(CALL))
            self.learn(referent)
        return reference

    def _getter(self, getter: Any, o: Any, /) -> Any:
        words = getter.__reduce__()[1]
        if isinstance(getter, operator.methodcaller):
            made = getter.__reduce__()
            if made[0] is not operator.methodcaller:
                self.hand(o)
                return getter(o)
            return self.call(self.attribute(o, words[0]))(*words[1:])
        if isinstance(getter, operator.itemgetter):
            found = tuple(self.item(o, word) for word in words)
        else:
            found = tuple(functools.reduce(self.attribute, word.split("."), o) for word in words)
        return found[0] if len(found) == 1 else found

    # Instances

    def instance(self, cls: type, /, *args: Any, **kwargs: Any) -> Any:
        """Make an instance; the methods that do it are converted."""
        if not is_users(cls):
            made = self.handing(self.instead(cls))(*args, **kwargs)
            is_made_anew = lookup(cls, "__new__") is object.__dict__["__new__"]
            is_other = type(made) is FunctionType  # what records in place of an instance
            return self.made(made) if is_other or (type(made) is cls and is_made_anew) else made
        if type(cls).__call__ is not type.__call__ or issubclass(cls, (Enum, BaseException)):
            if type(type(cls).__call__) is FunctionType and is_users(type(cls)):
                self.walk(cls)
            return self.handing(cls)(*args, **kwargs)
        new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
        self.note(cls, IN_CLASS, "__new__", new)
        self.note(cls, IN_CLASS, "__init__", init)
        if is_named_tuple(cls):
            self.note(new.__func__, ATTRIBUTE, "__defaults__", new.__func__.__defaults__)
            return self.made(cls(*args, **kwargs))
        if new is object.__dict__["__new__"]:
            if type(init) is not FunctionType:
                return self.made(cls(*args, **kwargs))
            o = self.made(object.__new__(cls))
        elif type(new) is staticmethod and type(new.__func__) is FunctionType:
            o = self.call(new.__func__)(cls, *args, **kwargs)
        else:
            for one in (*args, *kwargs.values()):
                self.iterate(one, 1)
            o = self.made(cls.__new__(cls, *args, **kwargs))
        if isinstance(o, cls) and type(init) is FunctionType:
            self._initialise(o, init, args, kwargs)
        elif isinstance(o, cls) and not isinstance(new, staticmethod) and init is not MISSING:
            init(o, *args, **kwargs)
        return o

    def _initialise(self, o: Any, init: FunctionType, args: Any, kwargs: Any) -> None:
        if not dataclasses.is_dataclass(o) or init.__code__.co_filename != "<string>":
            self.call(init)(o, *args, **kwargs)
            return
        for word in ("__code__", "__defaults__", "__kwdefaults__"):
            self.note(init, ATTRIBUTE, word, getattr(init, word))
        given = code_of(init).co_varnames[1 : 1 + len(args)]
        for field in dataclasses.fields(o):
            if field.default_factory is dataclasses.MISSING:
                continue
            if field.init and field.name not in (*given, *kwargs):
                kwargs |= {field.name: self.made(self.called(field.default_factory)())}
            else:
                self.hand(field.default_factory)
        after = lookup(type(o), "__post_init__")
        if type(after) is FunctionType:
            self.note(type(o), IN_CLASS, "__post_init__", after)
            self.walk(after)
            self.routes.converter.lend(after)
        init(o, *args, **kwargs)

    def given(self, arguments: Iterable[Any]) -> None:
        """Know the containers among the arguments, whatever is a tree, to be made for this call."""
        for one in arguments:
            if is_plain(type(one)) or type(one) is np.ndarray or isinstance(one, type):
                continue
            if any(leaf is one for leaf in flatten(one)[0]):
                continue
            self.made(one)
            self.given(one.values() if isinstance(one, dict) else (dict_of(one) or {}).values())
            self.given(one if isinstance(one, (list, tuple)) else ())


def _is_followed(one: Any) -> bool:
    """Return whether more than a number, a text or an array of NumPy's is given to a function."""
    return not (is_plain(type(one)) or type(one) is np.ndarray)


def _inner_codes(code: CodeType) -> Iterable[CodeType]:
    for one in code.co_consts:
        if type(one) is CodeType:
            yield one
            yield from _inner_codes(one)
