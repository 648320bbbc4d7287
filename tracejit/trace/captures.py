"""What a function reads besides its arguments, and the guard that notices when it changes.

From the function, code reaches outward by name: globals and closure cells, the functions they
hold, attributes of objects and modules, elements of containers. `Captures` walks all that is
reachable by names that occur in the code, and writes one guard: numbers and strings by type and
value, other objects by identity, containers by length, keys and elements, arrays by identity and
contents. A guard that fails makes the function record again, so a kernel is never stale.

A captured array that is an operand becomes a hidden argument of the kernel, read at each call.
What NumPy computes from a captured array before that is a constant of the kernel; the comparison
of contents protects it. Arrays above SAMPLE_ABOVE bytes are compared at SAMPLES spread elements;
arrays that nobody can write to are not compared.

Attributes are those whose names the code spells; where it looks names up (`getattr`, `vars`), all
of them. Not seen: what C code, properties of foreign packages, the clock or the environment answer.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import (
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracejit.errors import fail
from tracejit.trace.places import PACKAGE

SAMPLE_ABOVE = 2**20
SAMPLES = 4096
LEAVES = 1000
PLAIN = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, tuple, dict, set, frozenset, deque, MappingProxyType)
# What tests are run by stands in the way of an `assert`, and is not what the function reads.
TOOLS = frozenset(("_pytest", "pytest", "pluggy", "hypothesis", "scipy"))
LOOKUPS = frozenset(("getattr", "hasattr", "vars", "attrgetter", "__dict__"))
# Python calls these when an object is made, shown or dropped, not when it is used.
ASIDE = frozenset(("__new__", "__init__", "__post_init__", "__del__", "__repr__", "__str__"))
_STDLIB = str(Path(os.__file__).parent)
_FOREIGN = (
    PACKAGE,
    str(Path(np.__file__).parent) + os.sep,
    _STDLIB,
    "<frozen ",
)
_SITE = (str(Path(_STDLIB, "site-packages")), str(Path(_STDLIB, "dist-packages")))


def is_foreign(filename: str) -> bool:
    """Whether code in this file is never read for names: tracejit, NumPy and the standard
    library."""
    return filename.startswith(_FOREIGN) and not (
        filename.startswith(_SITE) and not filename.startswith(_FOREIGN[:2])
    )


def _is_foreign_module(name: str) -> bool:
    """The same of a module; one without a file is the user's, unless Python comes with it."""
    if name.partition(".")[0] in TOOLS:
        return True
    filename = getattr(sys.modules.get(name), "__file__", None)
    return is_foreign(filename) if filename else name in sys.stdlib_module_names


class Captures:
    """Everything reachable from some functions and objects, as checks and captured arrays."""

    def __init__(self, roots: Iterable[Any], limit: int | None = LEAVES) -> None:
        """Walk from `roots`: the function, and the objects among its arguments. Containers of
        more than `limit` elements in all are refused, or, where it is None, not walked.

        `arrays` are the arrays found, `labels` the names of Tensors and Variables, by id.
        """
        self.roots = list(roots)
        self._limit = limit
        self.arrays: dict[int, tuple[str, np.ndarray]] = {}
        self.labels: dict[int, str] = {}
        self._words: set[str] = set()
        self._looks_up = False
        before = None
        while before != (len(self._words), self._looks_up):
            before = len(self._words), self._looks_up
            self._begin()
            for root in self.roots:
                self._visit(root, self._bind(root), "an argument", check=False)

    @contextmanager
    def refusing_draws(self, function: str) -> Iterator[None]:
        """Raise UnsupportedError if meanwhile a random generator in reach was drawn from."""
        sources = {
            "np.random": np.random.mtrand._rand,
            "the module random": sys.modules["random"],  # np.random has imported it
            **self.generators,
        }
        before = {name: _random_state(source) for name, source in sources.items()}
        yield
        for name, source in sources.items():
            if _random_state(source) != before[name]:
                raise fail("random", None, function=function, generator=name)

    def name_of(self, array: np.ndarray) -> str | None:
        """The name under which `array`, or what it is a view of, was captured; None if it was
        not."""
        base: Any = array
        while base is not None:
            if id(base) in self.arrays:
                return self.arrays[id(base)][0]
            base = getattr(base, "base", None)
        return None

    def guard(self) -> Callable[[], bool] | None:
        """One function that says whether everything is as it was; None where nothing was
        captured."""
        if not self._checks:
            return None
        # Contents last: they cost most, and another kernel's guard mostly fails before.
        checks = sorted(self._checks, key=lambda check: check.startswith("_same("))
        lines = ["def guards_hold():", "    try:", "        return (", "            True"]
        lines += [f"            and {check}" for check in checks]
        lines += ["        )", "    except (LookupError, AttributeError, TypeError, ValueError):"]
        lines += ["        return False"]
        space = dict(self._space)
        exec(compile("\n".join(lines), "<tracejit guard>", "exec"), space)
        guard: Callable[[], bool] = space["guards_hold"]
        vars(guard)["checks"] = tuple(checks)  # for whoever asks which of them fails
        return guard

    def _begin(self) -> None:
        self.arrays.clear()
        self.labels.clear()
        self.generators: dict[str, Any] = {}
        self._checks: dict[str, None] = {}
        self._space: dict[str, Any] = {"_same": same_contents}
        self._names: dict[int, str] = {}
        self._visited: set[int] = set()
        self._leaves = 0

    def _bind(self, thing: Any) -> str:
        name = self._names.get(id(thing))
        if name is None:
            name = self._names[id(thing)] = f"_{len(self._space)}"
            self._space[name] = thing
        return name

    def _visit(self, value: Any, place: str, name: str, check: bool = True) -> None:
        """Add the checks for `value`, which is read again by the expression `place`."""
        kind = type(value)
        if kind in PLAIN or issubclass(kind, np.generic):
            if check:
                self._checks[self._plain_check(value, place)] = None
            return
        if check:
            self._checks[f"{place} is {self._bind(value)}"] = None
        if id(value) in self._visited:
            return
        self._visited.add(id(value))
        if hasattr(kind, "__tracejit_record__"):
            self.labels[id(value)] = name
        elif issubclass(kind, np.ndarray):
            self._array(value, place, name)
        elif is_random(value):
            self.generators[name] = value
        elif hasattr(kind, "numpy_generator"):
            self.generators[name] = value.numpy_generator
        elif kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            for part in ("__self__", "__func__"):
                self._visit(getattr(value, part), f"{place}.{part}", name, check=False)
        elif kind is functools.partial:
            for part in ("func", "args", "keywords"):
                self._visit(getattr(value, part), f"{place}.{part}", part, check=False)
        elif isinstance(value, CONTAINERS):
            self._container(value, place, name)
            if kind not in CONTAINERS:
                self._instance(value, place)
        elif kind is ModuleType:
            self._module(value, place)
        elif isinstance(value, type):
            self._class(value, place)
        else:
            self._instance(value, place)

    def _plain_check(self, value: Any, place: str) -> str:
        kind = self._bind(type(value))
        if value is None or isinstance(value, bool):
            return f"{place} is {value!r}"
        if isinstance(value, (str, bytes)) or type(value) is int:
            return f"type({place}) is {kind} and {place} == {self._bind(value)}"
        return f"type({place}) is {kind} and repr({place}) == {repr(value)!r}"

    def _array(self, array: np.ndarray, place: str, name: str) -> None:
        self.arrays[id(array)] = (name, array)
        held = self._bind(array)
        if array.dtype == object:
            walked = self._count(array.size, array, name)
            for k in range(array.size if walked else 0):
                self._visit(array.item(k), f"{held}.item({k})", f"{name}_{k}")
        if can_change(array):
            self._checks[f"{held}.dtype is {self._bind(array.dtype)}"] = None
            self._checks[f"{held}.shape == {array.shape}"] = None
            self._checks[f"_same({held}, {self._bind(array_sample(array))})"] = None

    def _function(self, function: FunctionType) -> None:
        wrapped = vars(function).get("__wrapped__")
        if wrapped is not None:
            self._visit(wrapped, f"{self._bind(function)}.__wrapped__", "function", check=False)
        if _is_tool(function) and (wrapped is None or _is_tool(wrapped)):
            return
        for word in sorted(self._spelled(vars(function))):
            self._visit(vars(function)[word], f"{self._bind(function)}.__dict__[{word!r}]", word)
        names, attributes = code_names(function.__code__)
        self._words |= attributes
        if not function.__code__.co_filename.startswith(_SITE):
            self._looks_up |= not LOOKUPS.isdisjoint(names | attributes)
        self._defaults(function)
        held = self._bind(function.__globals__)
        for word in sorted(names & function.__globals__.keys()):
            self._visit(function.__globals__[word], f"{held}[{word!r}]", word)
        free = function.__code__.co_freevars
        for word, cell in zip(free, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # the variable is bound later, or not at all
                continue
            self._visit(value, f"{self._bind(cell)}.cell_contents", word)

    def _defaults(self, function: FunctionType) -> None:
        """The defaults of a helper; those of the function itself are arguments."""
        if any(function is getattr(root, "__func__", root) for root in self.roots):
            return
        code, own = function.__code__, self._bind(function)
        values = function.__defaults__ or ()
        first = code.co_argcount - len(values)
        for k, value in enumerate(values):
            if type(value) not in PLAIN:
                self._visit(value, f"{own}.__defaults__[{k}]", code.co_varnames[first + k])
        for word, value in (function.__kwdefaults__ or {}).items():
            if type(value) not in PLAIN:
                self._visit(value, f"{own}.__kwdefaults__[{word!r}]", word)

    def _module(self, module: ModuleType, place: str) -> None:
        if _is_foreign_module(module.__name__):
            return
        for word in sorted(self._words & vars(module).keys()):
            self._visit(vars(module)[word], f"{place}.{word}", word)

    def _container(self, value: Any, place: str, name: str) -> None:
        if isinstance(value, (set, frozenset)):
            self._checks[f"{place} == {self._bind(frozenset(value))}"] = None
            return
        keyed = isinstance(value, (dict, MappingProxyType))
        keys: Any = list(value) if keyed else range(len(value))
        if not self._count(len(keys), value, name):
            return
        known = self._bind(keys) if keyed else str(len(keys))
        self._checks[f"{'list' if keyed else 'len'}({place}) == {known}"] = None
        fields = getattr(type(value), "_fields", None)
        for key in keys:
            word = str(fields[key] if fields else key)
            element = word if word.isidentifier() else f"{name}_{word}"
            self._visit(value[key], f"{place}[{self._key(key)}]", element)

    def _count(self, elements: int, container: Any, name: str) -> bool:
        """Whether a container is walked: refuse it where there is a limit."""
        self._leaves += elements
        if self._limit is None:
            return self._leaves <= LEAVES
        if self._leaves > self._limit:
            raise fail(
                "not-an-array",
                None,
                what=f"the captured container {name}",
                article="a",
                kind=f"{type(container).__name__} of more than {LEAVES} elements",
                fix="pass what is needed of it as an argument.",
            )
        return True

    def _key(self, key: Any) -> str:
        return repr(key) if type(key) in (str, int) else self._bind(key)

    def _spelled(self, names: Collection[str]) -> set[str]:
        """Those of some attributes that the code reads."""
        if self._looks_up:
            return {name for name in names if not name.startswith("__")}
        return self._words.intersection(names)

    def _instance(self, value: Any, place: str) -> None:
        """Attributes and methods of an object that the code's names reach."""
        own = getattr(value, "__dict__", {})
        wrapped = own.get("__wrapped__")
        if wrapped is not None:
            self._visit(wrapped, f"{place}.__wrapped__", "function", check=False)
        if type(value).__module__.startswith("tracejit."):
            return
        if hasattr(value, "__dict__"):
            self._checks[f"len({place}.__dict__) == {len(own)}"] = None
        # Python's own containers (UserDict, ChainMap) keep in attributes what is read by index.
        indexed = hasattr(type(value), "__getitem__") and _is_foreign_module(type(value).__module__)
        for word in sorted(own if indexed else self._spelled(own)):
            self._visit(own[word], f"{place}.__dict__[{word!r}]", word)
        hidden = set(own)
        for cls in type(value).__mro__:
            for word in sorted(self._spelled(vars(cls)) - hidden):
                if isinstance(vars(cls)[word], MemberDescriptorType) and hasattr(value, word):
                    self._visit(getattr(value, word), f"{place}.{word}", word)
            self._members(cls, place, hidden, ASIDE)

    def _class(self, cls: type, place: str) -> None:
        """Attributes and methods of a class, of which the code may make instances."""
        hidden: set[str] = set()
        for base in cls.__mro__:
            self._members(base, place, hidden, frozenset())

    def _members(self, cls: type, place: str, hidden: set[str], aside: frozenset[str]) -> None:
        """What `cls` defines and the code spells, or Python calls unspelled; `hidden` are the
        names that come from elsewhere, those of `cls` from here on among them."""
        if _is_foreign_module(cls.__module__):
            return
        implicit = {word for word in vars(cls) if word[:2] == word[-2:] == "__"} - aside
        for word in sorted(self._spelled(vars(cls)) | implicit):
            member = vars(cls)[word]
            code = getattr(member, "fget", None) or getattr(member, "func", None)
            code = code or getattr(member, "__func__", member)
            if not isinstance(code, FunctionType):
                code = getattr(code, "__wrapped__", code)
            if isinstance(code, FunctionType):
                if isinstance(member, FunctionType) and word not in hidden | implicit:
                    self._checks[f"{self._bind(cls)}.{word} is {self._bind(member)}"] = None
                if id(code) not in self._visited:
                    self._visited.add(id(code))
                    self._function(code)
            elif word not in hidden | implicit and not hasattr(type(member), "__get__"):
                self._visit(member, f"{place}.{word}", word)
        hidden.update(vars(cls))


def _is_tool(function: Any) -> bool:
    """Whether a function is a library's, whose names nobody rebinds."""
    if not isinstance(function, FunctionType):
        return False
    module = function.__globals__.get("__name__", "")
    return is_foreign(function.__code__.co_filename) or module.partition(".")[0] in TOOLS


@functools.lru_cache(4096)
def code_names(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The global names and the attribute names that `code` and the functions inside it read."""
    names: set[str] = set()
    attributes: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            attributes.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_names, inner_attributes = code_names(constant)
            names |= inner_names
            attributes |= inner_attributes
    return frozenset(names), frozenset(attributes)


def can_change(array: Any) -> bool:
    """Whether the memory of `array` can be written to, through itself or what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return array is not None and not isinstance(array, bytes)


def is_random(value: Any) -> bool:
    """Whether `value` is a random generator: Python's, or NumPy's, which imports np.random on first
    use."""
    if isinstance(value, getattr(sys.modules.get("random"), "Random", ())):
        return True
    if "numpy.random" not in sys.modules:
        return False
    kinds = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
    return isinstance(value, kinds)


def is_generator(value: Any) -> bool:
    """Whether `value` is a Generator of NumPy's."""
    return "numpy.random" in sys.modules and type(value) is np.random.Generator


def _random_state(source: Any) -> str:
    """The state of a generator, comparable."""
    if hasattr(source, "getstate"):
        return str(hash(source.getstate()))
    if isinstance(source, np.random.RandomState):
        state: dict[str, Any] = source.get_state(legacy=False)
        return f"{hash(state['state']['key'].tobytes())} {state}"
    return repr(getattr(source, "bit_generator", source).state)


def array_sample(array: np.ndarray) -> bytes:
    """The bytes of the elements that are compared. One comparison of bytes costs less than any of
    NumPy's, up to a few hundred kilobytes."""
    if array.dtype.hasobject:
        array = np.array([id(element) for element in array.flat])
    if array.nbytes > SAMPLE_ABOVE and 0 in array.strides:
        # Broadcast: an axis holds one element many times.
        array = array[tuple(slice(None if stride else 1) for stride in array.strides)]
    if array.nbytes > SAMPLE_ABOVE:
        array = array.reshape(-1)[:: max(1, array.size // SAMPLES)]
    return array.tobytes()


def same_contents(array: np.ndarray, sample: bytes) -> bool:
    """Whether the compared elements of `array` have the bytes of `sample`."""
    return array_sample(array) == sample
