"""What a function reads besides its arguments, and the guard that notices when it changes.

From the function, code reaches outward by name: globals and closure cells, the functions they
hold, attributes of objects and modules, elements of containers. `Captures` walks all that is
reachable by names that occur in the code, and writes one guard: numbers and strings by type and
value, other objects by identity, containers by length, keys and elements, arrays by identity and
contents, functions and classes by what they are made of. A guard that fails makes the function
record again, so a kernel is never stale.

A captured array that is an operand becomes a hidden argument of the kernel, read at each call.
What NumPy computes from a captured array before that is a constant of the kernel; the comparison
of contents protects it. Arrays above SAMPLE_ABOVE bytes are compared at SAMPLES spread elements;
arrays that nobody can write to are not compared.

Attributes are those whose names the code spells; where it looks names up (`getattr`, `vars`), all
of them. What an iterator will answer nobody knows: a function that reaches one has kernels for one
call each. Not seen: what C code, modules and properties of foreign packages or the clock answer.
"""

from __future__ import annotations

import abc
import contextvars
import functools
import io
import operator
import os
import re
import sys
import weakref
from array import array as Array
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from types import (
    BuiltinMethodType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracejit.errors import fail
from tracejit.trace.contents import (
    ATOMS,
    array_sample,
    buffer_sample,
    can_change,
    owner_of,
    remembered,
)
from tracejit.trace.draws import is_random, refusing_draws
from tracejit.trace.guards import Guard
from tracejit.trace.reads import (
    ENVIRONMENT,
    LABELS,
    LOOKUPS,
    MAKERS,
    METHODS,
    MISSES,
    NAMESPACES,
    TAKERS,
    TESTERS,
    answers_once,
    functions_in,
    is_foreign_module,
    is_installed,
    is_tool,
    is_users_object,
    keeps_elements,
    module_names,
    reads_of,
)
from tracejit.words import attribute, quoted, word_of

LEAVES = 1000
CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType)
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
BUFFERS = (bytearray, memoryview, Array)
BUILTIN_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)
PARTIALS = (functools.partial, functools.partialmethod)
# Python calls these when an object is made or dropped, and those when it is shown.
ASIDE = frozenset(("__new__", "__init__", "__post_init__", "__del__"))
SHOWN = frozenset(("__repr__", "__str__", "__format__"))
_MEMORY = type(functools.lru_cache(int))
_MISSING = object()


class Captures:
    """Everything reachable from some functions and objects, as checks and captured arrays."""

    def __init__(self, roots: Iterable[Any], limit: int | None = LEAVES) -> None:
        """Walk from `roots`: the function, the objects among its arguments, and the classes of
        containers among them. Containers of more than `limit` elements in all are refused, or,
        where it is None, not walked.

        `arrays` are the arrays found, `labels` the names of Tensors and Variables, by id.
        """
        self.roots = list(roots)
        self._limit = limit
        self.arrays: dict[int, tuple[str, np.ndarray]] = {}
        self.labels: dict[int, str] = {}
        self._words: set[str] = set()
        self._habits: set[str] = set()
        before = None
        while before != (len(self._words), len(self._habits)):
            before = len(self._words), len(self._habits)
            self._begin()
            for root in self.roots:
                self._visit(root, self._bind(root), "an argument", check=False)

    def does(self, habit: str) -> bool:
        """Whether code that is read may "ask type" (`type`, `hasattr`) or "take gradients"."""
        return habit in self._habits

    def refusing_draws(self, function: str) -> AbstractContextManager[None]:
        """Raise UnsupportedError if meanwhile a random generator in reach was drawn from."""
        return refusing_draws(function, self.generators)

    def name_of(self, array: np.ndarray) -> str | None:
        """The name under which `array`, or what it is a view of, was captured; None if it was
        not."""
        base: Any = array
        while base is not None and id(base) not in self.arrays:
            base = getattr(base, "base", None)
        return None if base is None else self.arrays[id(base)][0]

    def guard(self) -> Callable[[], bool] | None:
        """One function that says whether everything is as it was; None where nothing was
        captured. Its attribute `checks` lists the conditions."""
        return self._guard.compiled()

    def _begin(self) -> None:
        self.arrays.clear()
        self.labels.clear()
        self.generators: dict[str, Any] = {}
        self._guard = Guard()
        self._bind = self._guard.bind
        self._check = self._guard.check
        self._visited: set[int] = set()
        self._leaves = 0

    def _visit(self, value: Any, place: str, name: str, check: bool = True) -> None:
        """Add the checks for `value`, which is read again by the expression `place`."""
        kind = type(value)
        if kind in ATOMS or issubclass(kind, np.generic):
            if check:
                self._guard.check_plain(value, place)
            return
        if check:
            self._guard.check_identity(value, place)
        if id(value) in self._visited:
            return
        self._visited.add(id(value))
        self._inside(value, self._bind(value), name)

    def _inside(self, value: Any, held: str, name: str) -> None:
        """Add the checks for what is inside of `value`, an object that the expression `held` is."""
        kind = type(value)
        if hasattr(kind, "__tracejit_record__"):
            self.labels[id(value)] = name
        elif issubclass(kind, np.ndarray):
            self._array(value, held, name)
        elif is_random(value):
            self.generators[name] = value
        elif hasattr(kind, "numpy_generator"):
            self.generators[name] = value.numpy_generator
        elif kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            for part in (value.__self__, value.__func__):
                self._visit(part, self._bind(part), name, check=False)
        elif kind in (BuiltinMethodType, MethodWrapperType):
            if not isinstance(value.__self__, (ModuleType, type)):
                self._visit(value.__self__, f"{held}.__self__", name, check=False)
        elif isinstance(value, PARTIALS):
            for part in ("func", "args", "keywords"):
                self._visit(getattr(value, part), f"{held}.{part}", part)
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self._words.update(re.findall(r"\w+", repr(value)))
        elif kind is _MEMORY:
            self._memory(value, held, name)
        elif isinstance(value, weakref.ref):
            # Not bound: whatever is referred to may go.
            self._check(f"({held}() is None) is {value() is None}")
            self._inside(value(), f"{held}()", name)
        elif kind is contextvars.ContextVar:
            missing = self._bind(_MISSING)
            self._visit(value.get(_MISSING), f"{held}.get({missing})", name)
        elif isinstance(value, BUFFERS):
            self._check(f"_buffer({held}, {self._bind(buffer_sample(value))})")
        elif isinstance(value, CONTAINERS):
            self._container(value, held, name)
            if kind not in CONTAINERS:
                self._instance(value, held)
        elif kind in VIEWS:
            self._container(value.mapping, self._bind(value.mapping), name)
        elif kind is ModuleType:
            self._module(value, held)
        elif isinstance(value, type):
            self._class(value)
        elif answers_once(kind):
            if not isinstance(value, io.IOBase) or value.readable():
                self._check("False")
        else:
            self._instance(value, held)

    def _array(self, array: np.ndarray, held: str, name: str) -> None:
        self.arrays[id(array)] = (name, array)
        if array.dtype == object:
            walked = self._count(array.size, array, name)
            for k in range(array.size if walked else 0):
                self._visit(array.item(k), f"{held}.item({k})", f"{name}_{k}")
        if can_change(array):
            if "flags" in self._words:
                self._check(f"{held}.flags.num == {array.flags.num}")
            self._check(f"{held}.dtype is {self._bind(array.dtype)}")
            self._check(f"{held}.shape == {array.shape}")
            self._check(f"_same({held}, {self._bind(array_sample(array))})")
        else:
            self._check(f"{self._bind(owner_of(array))}.flags.writeable is False")

    def _function(self, function: FunctionType) -> None:
        wrapped = vars(function).get("__wrapped__")
        held = self._bind(function)
        if wrapped is not None:
            self._visit(wrapped, f"{held}.__wrapped__", "function", check=False)
        if isinstance(vars(function).get("registry"), MappingProxyType):  # of singledispatch
            registry = vars(function)["registry"]
            self._visit(registry, f"{held}.registry", "function", check=False)
        if is_tool(function) and (wrapped is None or is_tool(wrapped)):
            return
        for word in sorted(self._spelled(vars(function))):
            self._visit(vars(function)[word], f"{held}.__dict__[{word!r}]", word)
        self._labels(function, held)
        if not is_installed(function):
            self._check(f"{held}.__code__ is {self._bind(function.__code__)}")
            if "miss" in self._habits:
                self._check(f"len({held}.__dict__) == {len(vars(function))}")
        self._defaults(function, held)
        self._globals(function)
        free = function.__code__.co_freevars
        for word, cell in zip(free, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # the variable is bound later, or not at all
                self._check(f"_empty({self._bind(cell)})")
                continue
            self._visit(value, f"{self._bind(cell)}.cell_contents", word)

    def _globals(self, function: FunctionType) -> None:
        """The names that the code of a function reads, and the modules that it imports."""
        reads, space = reads_of(function.__code__), function.__globals__
        self._words |= reads.attributes
        installed = is_installed(function)
        habits = {"take gradients": reads.uses(TAKERS)}
        if not installed:
            habits |= {
                "look up": reads.uses(LOOKUPS),
                "miss": reads.uses(MISSES),
                "show": reads.shows,
                "match": reads.matches,
                "make": reads.uses(MAKERS),
                "ask type": reads.asks_type,
            }
        self._habits.update(habit for habit, has in habits.items() if has)
        held, names = self._bind(space), reads.names & space.keys()
        for word in sorted(names):
            self._visit(space[word], f"{held}[{word!r}]", word)
        if NAMESPACES & reads.names and not installed:
            before, self._limit = (self._limit, self._leaves), None
            for word in sorted(word for word in space if word[:2] != "__" and word not in names):
                self._visit(space[word], f"{held}[{word!r}]", word)
            self._limit, self._leaves = before
        absent = reads.names - names
        builtin = space.get("__builtins__", {})
        builtin = vars(builtin) if isinstance(builtin, ModuleType) else builtin
        for word in sorted(absent & builtin.keys()):
            if not isinstance(builtin[word], (BuiltinMethodType, type)):
                self._visit(builtin[word], f"{self._bind(builtin)}[{word!r}]", word)
        if absent and not installed:
            self._guard.check_absent(absent, held)
        if reads.uses(ENVIRONMENT):
            environment = vars(os.environ)["_data"]
            self._check(f"{self._bind(environment)} == {self._bind(dict(environment))}")
        for name in module_names(reads, space.get("__package__") or ""):
            if not is_foreign_module(name):
                self._visit(sys.modules.get(name), f"_modules.get({name!r})", name)

    def _defaults(self, function: FunctionType, held: str) -> None:
        """The defaults of a helper; those of the function itself are arguments."""
        code, values = function.__code__, function.__defaults__
        if values is not None:
            self._check(f"{held}.__defaults__ is {self._bind(values)}")
        if function is getattr(self.roots[0], "__func__", self.roots[0]):
            for name, value in (function.__kwdefaults__ or {}).items():
                self._check(f"{held}.__kwdefaults__[{name!r}] is {self._bind(value)}")
            return
        names = code.co_varnames[code.co_argcount - len(values or ()) :]
        for name, value in zip(names, values or (), strict=False):
            self._visit(value, self._bind(value), name, check=False)
        if function.__kwdefaults__ is not None:
            self._visit(function.__kwdefaults__, f"{held}.__kwdefaults__", "default")

    def _memory(self, function: Any, held: str, name: str) -> None:
        """A function under lru_cache, and what it remembers: it answers that again."""
        self._visit(function.__wrapped__, f"{held}.__wrapped__", name, check=False)
        self._check(f"{held}.cache_info()[1:] == {tuple(function.cache_info()[1:])}")
        for answer in remembered(function):
            if type(answer) in (np.ndarray, list, tuple, dict, set) or is_users_object(answer):
                self._visit(answer, self._bind(answer), name, check=False)

    def _module(self, module: ModuleType, held: str) -> None:
        if is_foreign_module(module.__name__):
            return
        self._check(f"len({held}.__dict__) == {len(vars(module))}")
        for word in sorted((self._words | {"__getattr__"}) & vars(module).keys()):
            self._visit(vars(module)[word], attribute(held, word), word)

    def _container(self, value: Any, held: str, name: str) -> None:
        if isinstance(value, (set, frozenset)):
            self._guard.check_keys(value, held)
            others = [element for element in value if type(element) not in ATOMS]
            for element in others if self._count(len(others), value, name) else ():
                self._visit(element, self._bind(element), name, check=False)
            return
        keyed = isinstance(value, (dict, MappingProxyType))
        keys: Any = list(value) if keyed else range(len(value))
        if not self._count(len(keys), value, name):
            return
        fixed = type(value) is tuple
        if keyed:
            self._guard.check_keys(keys, held)
            for key in keys:
                self._visit(key, self._bind(key), name, check=False)
        elif not fixed:
            self._check(f"len({held}) == {len(keys)}")
        fields = getattr(type(value), "_fields", None)
        for key in keys:
            word = word_of(fields[key] if fields else key)
            element = word if word.isidentifier() else f"{name}_{word}"
            self._visit(value[key], f"{held}[{self._guard.key(key)}]", element, check=not fixed)

    def _count(self, elements: int, container: Any, name: str) -> bool:
        """Whether a container is walked: refuse it where there is a limit."""
        self._leaves += elements
        if self._limit is None:
            return self._leaves <= LEAVES
        if self._leaves > self._limit:
            what = f"the captured container {name}"
            kind = f"{type(container).__name__} of more than {LEAVES} elements"
            fix = "pass what is needed of it as an argument."
            raise fail("not-an-array", None, what=what, article="a", kind=kind, fix=fix)
        return True

    def _spelled(self, names: Collection[str]) -> set[str]:
        """Those of some attributes that the code reads."""
        if "look up" in self._habits:
            return {name for name in names if not name.startswith("__")}
        return self._words.intersection(names)

    def _labels(self, value: Any, held: str) -> None:
        """What a function or class is called, where the code asks for that."""
        for word in sorted(self._words & LABELS):
            self._visit(getattr(value, word, None), f"getattr({held}, {word!r}, None)", word)

    def _instance(self, value: Any, held: str) -> None:
        """Attributes and methods of an object that the code's names reach."""
        kind = type(value)
        own = getattr(value, "__dict__", {})
        for word in ("__wrapped__", "__gradient_rule__"):
            if own.get(word) is not None:
                self._visit(own[word], f"{held}.{word}", "function", check=False)
        if kind.__module__.partition(".")[0] in TESTERS | {"tracejit"}:
            return
        foreign = is_foreign_module(kind.__module__)
        if own or (hasattr(value, "__dict__") and not foreign):
            self._check(f"list({held}.__dict__) == {self._bind(list(own))}")
        words = self._spelled(own)
        if any(keeps_elements(cls) for cls in kind.__mro__):
            # Python's own containers (UserDict, ChainMap) keep in attributes what is read by index.
            words = set(own)
        elif foreign:
            words |= {word for word in own if type(own[word]) in (FunctionType, MethodType)}
        for word in sorted(words):
            self._visit(own[word], f"{held}.__dict__[{quoted(word)}]", word)
        if foreign:
            return
        self._check(f"type({held}) is {self._bind(kind)}")
        hidden = set(own)
        for cls in kind.__mro__:
            for word in sorted(self._spelled(vars(cls)) - hidden):
                if not isinstance(vars(cls)[word], MemberDescriptorType):
                    continue
                if hasattr(value, word):
                    self._visit(getattr(value, word), attribute(held, word), word)
                else:
                    self._check(f"not hasattr({held}, {word!r})")
        self._class(kind, hidden, is_made="make" in self._habits)

    def _class(self, cls: type, hidden: Collection[str] = (), is_made: bool = True) -> None:
        """Attributes and methods of a class, where instances do not hide them; `is_made` says
        whether the code may make instances."""
        if is_foreign_module(cls.__module__):
            return
        held = self._bind(cls)
        self._check(f"{held}.__mro__ is {self._bind(cls.__mro__)}")
        self._labels(cls, held)
        if isinstance(cls, abc.ABCMeta) and type(cls) is not type:
            self._check(f"_token() == {abc.get_cache_token()}")
        aside = frozenset() if is_made else ASIDE
        aside |= frozenset() if "show" in self._habits else SHOWN
        seen = set(hidden)
        for base in (*cls.__mro__, *type.mro(type(cls))):
            if not is_foreign_module(base.__module__):
                self._members(base, seen, aside)

    def _members(self, cls: type, hidden: set[str], aside: frozenset[str]) -> None:
        """What `cls` defines and the code spells, or Python calls unspelled; `hidden` are the
        names that come from elsewhere, those of `cls` from here on among them."""
        held = self._bind(cls)
        self._check(f"len({held}.__dict__) == {len(vars(cls))}")
        if "match" in self._habits:
            self._words.update(vars(cls).get("__match_args__", ()))
        implicit = {word for word in vars(cls) if word[:2] == word[-2:] == "__"} - aside
        for word in sorted(self._spelled(vars(cls)) | implicit):
            member = vars(cls)[word]
            if isinstance(member, BUILTIN_DESCRIPTORS) or word in LABELS:
                continue
            if isinstance(member, FunctionType):
                self._visit(member, attribute(held, word), word)
            elif isinstance(member, METHODS):
                self._check(f"{held}.__dict__[{word!r}] is {self._bind(member)}")
                for code in functions_in(member):
                    self._visit(code, self._bind(code), word, check=False)
                if isinstance(member, classmethod):
                    self._habits.add("make")
            elif hasattr(type(member), "__get__"):
                self._visit(member, f"{held}.__dict__[{word!r}]", word)
            elif word not in hidden | implicit:
                self._visit(member, attribute(held, word), word)
        hidden.update(vars(cls))
